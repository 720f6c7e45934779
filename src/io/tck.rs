//! MRtrix TCK streamlines: a text header, then triplets; NaN ends a streamline, infinity the file.

use super::{Error, atomic};
use crate::compute::Control;
use crate::data::Tractogram;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A text header longer than this is no header.
const MOST_HEADER: u64 = 1 << 20;

struct Header {
    wide: bool,
    big_endian: bool,
    count: Option<u64>,
    offset: u64,
}

/// Reads all streamlines, empty ones included, so that indices still match. Progress counts bytes.
pub fn read(path: &Path, control: &Control) -> Result<(Tractogram, Vec<String>), Error> {
    let length = std::fs::metadata(path)
        .map_err(|e| Error::system("read", path, &e))?
        .len();
    let header = header(path)?;
    let system = |e: std::io::Error| Error::system("read", path, &e);
    let mut reader = BufReader::with_capacity(1 << 18, atomic::reader(path)?);
    std::io::copy(
        &mut reader.by_ref().take(header.offset),
        &mut std::io::sink(),
    )
    .map_err(system)?;
    control.begin("Reading streamlines", length.saturating_sub(header.offset));

    let (mut points, mut offsets): (Vec<[f32; 3]>, Vec<u64>) = (Vec::new(), vec![0]);
    let size = if header.wide { 24 } else { 12 };
    let mut bytes = vec![0u8; size * 40_000];
    let (mut ended, mut damaged) = (false, 0usize);
    while !ended {
        control.check()?;
        let n = fill(&mut reader, &mut bytes).map_err(system)?;
        control.advance(n as u64);
        for raw in bytes[..n].chunks_exact(size) {
            let p = triplet(raw, &header);
            if p.iter().all(|v| v.is_finite()) {
                points.push(p);
            } else if p.iter().any(|v| v.is_infinite()) {
                ended = true;
                break;
            } else if p.iter().all(|v| v.is_nan()) {
                offsets.push(points.len() as u64);
            } else {
                damaged += 1;
            }
        }
        if n < bytes.len() {
            break;
        }
    }
    let mut notes = Vec::new();
    if offsets.last() != Some(&(points.len() as u64)) {
        offsets.push(points.len() as u64);
        notes.push("The last streamline was not closed: the file may be cut short".to_owned());
    } else if !ended {
        notes.push("The end mark is missing: the file may be cut short".to_owned());
    }
    if damaged > 0 {
        notes.push(format!(
            "{damaged} points with some coordinates that are not numbers were left out"
        ));
    }
    let found = offsets.len() as u64 - 1;
    if header.count.is_some_and(|c| c != found && c != 0) {
        let claimed = header.count.unwrap_or_default();
        notes.push(format!(
            "The header claims {claimed} streamlines, the file holds {found}"
        ));
    }
    Ok((Tractogram::new(points, offsets), notes))
}

/// Reads until the buffer is full or the file ends.
fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < bytes.len() {
        match reader.read(&mut bytes[n..])? {
            0 => break,
            more => n += more,
        }
    }
    Ok(n)
}

fn triplet(raw: &[u8], header: &Header) -> [f32; 3] {
    std::array::from_fn(|axis| {
        if header.wide {
            let b: [u8; 8] = std::array::from_fn(|i| raw[axis * 8 + i]);
            (if header.big_endian {
                f64::from_be_bytes(b)
            } else {
                f64::from_le_bytes(b)
            }) as f32
        } else {
            let b: [u8; 4] = std::array::from_fn(|i| raw[axis * 4 + i]);
            if header.big_endian {
                f32::from_be_bytes(b)
            } else {
                f32::from_le_bytes(b)
            }
        }
    })
}

fn header(path: &Path) -> Result<Header, Error> {
    let mut reader = BufReader::new(atomic::reader(path)?.take(MOST_HEADER));
    let mut header = Header {
        wide: false,
        big_endian: false,
        count: None,
        offset: 0,
    };
    let (mut line, mut first) = (Vec::new(), true);
    loop {
        line.clear();
        let n = reader
            .read_until(b'\n', &mut line)
            .map_err(|e| Error::system("read", path, &e))?;
        if n == 0 {
            return Err(Error::content(
                path,
                "The TCK header has no END line: the file is damaged or cut short",
            ));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if std::mem::take(&mut first) {
            if text != "mrtrix tracks" {
                return Err(Error::content(
                    path,
                    "Not a TCK file, expected it to start with \"mrtrix tracks\"",
                ));
            }
            continue;
        }
        if text == "END" {
            break;
        }
        let Some((key, value)) = text.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match key.trim() {
            "count" => header.count = value.parse().ok(),
            "datatype" => {
                (header.wide, header.big_endian) = match value.to_lowercase().as_str() {
                    "float32le" => (false, false),
                    "float32be" => (false, true),
                    "float64le" => (true, false),
                    "float64be" => (true, true),
                    _ => {
                        let sentence = format!(
                            "Points of type {value}, expected Float32 or Float64, LE or BE"
                        );
                        return Err(Error::content(path, sentence));
                    }
                };
            }
            "file" => {
                let offset = value.strip_prefix('.').and_then(|o| o.trim().parse().ok());
                header.offset = offset.ok_or_else(|| {
                    let sentence = format!(
                        "The header's \"file: {value}\" is not \". offset\": the file is damaged"
                    );
                    Error::content(path, sentence)
                })?;
            }
            _ => {}
        }
    }
    if header.offset == 0 {
        return Err(Error::content(
            path,
            "The TCK header does not say where the points start: the file is damaged",
        ));
    }
    Ok(header)
}

/// Writes Float32LE, reads it back and compares. `command` becomes `command_history`.
pub fn save(
    path: &Path,
    tractogram: &Tractogram,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    if path
        .extension()
        .is_none_or(|e| !e.eq_ignore_ascii_case("tck"))
    {
        return Err(Error::content(
            path,
            "Streamlines are written as TCK, expected a name ending in .tck",
        ));
    }
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let one_line = command.replace(['\n', '\r'], " ");
    let text = format!(
        "mrtrix tracks\ntimestamp: {}.{:09}\ndatatype: Float32LE\ncount: {}\ntotal_count: {}\n\
         command_history: {one_line}\nnotice: For research only: not a medical device\n",
        now.as_secs(),
        now.subsec_nanos(),
        tractogram.len(),
        tractogram.len()
    );
    // The offset counts its own digits.
    let mut offset = text.len();
    let head = loop {
        let head = format!("{text}file: . {offset}\nEND\n");
        if head.len() == offset {
            break head;
        }
        offset = head.len();
    };
    control.begin("Writing streamlines", tractogram.len() as u64);
    let mut cancelled = false;
    let written = atomic::write(path, |out| {
        out.write_all(head.as_bytes())?;
        let triplet = |p: [f32; 3]| p.map(f32::to_le_bytes);
        for (i, streamline) in tractogram.streamlines().enumerate() {
            if i % 256 == 0 {
                if control.is_cancelled() {
                    cancelled = true;
                    return Err(std::io::ErrorKind::Interrupted.into());
                }
                control.advance(256);
            }
            for &p in streamline {
                out.write_all(triplet(p).as_flattened())?;
            }
            out.write_all(triplet([f32::NAN; 3]).as_flattened())?;
        }
        out.write_all(triplet([f32::INFINITY; 3]).as_flattened())
    });
    if cancelled {
        return Err(Error::Cancelled);
    }
    written?;
    let (back, _) = read(path, &Control::new())?;
    if back.points == tractogram.points && back.offsets == tractogram.offsets {
        return Ok(());
    }
    Err(Error::content(
        path,
        "The file read back differs from what was written: the disk may be failing",
    ))
}
