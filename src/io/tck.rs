//! MRtrix streamlines: a text header, then points in world RAS+ mm, a NaN triplet after each
//! streamline and an infinite one at the end.

use super::source::{CHUNK_BYTES, Source};
use super::{Error, FibreInfo, atomic, little_endian};
use crate::compute::Control;
use crate::data::Tractogram;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const MAGIC: &str = "mrtrix tracks";
/// A header without END within this is none.
const HEADER_LIMIT_BYTES: usize = 1 << 20;

/// The `key: value` lines of a file's header.
pub fn read_properties(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut source = Source::open(path, &Control::new())?;
    let (header, ..) = header_text(&mut source)?;
    properties(path, &header)
}

#[derive(Clone, Copy)]
struct Numbers {
    double: bool,
    big_endian: bool,
}

impl Numbers {
    fn bytes(self) -> usize {
        if self.double { 8 } else { 4 }
    }
}

/// Reads all streamlines in their order, those without points included: weights by index still
/// match.
pub fn read(path: &Path, control: &Control) -> Result<(Tractogram, FibreInfo), Error> {
    let mut source = Source::open(path, control)?;
    let (header, header_bytes, consumed) = header_text(&mut source)?;
    let mut info = FibreInfo {
        properties: properties(path, &header)?,
        warnings: Vec::new(),
    };
    let numbers = numbers(path, &info)?;
    let offset = offset(path, &info, header_bytes as u64)?;
    let mut points = Points::default();
    // What was read with the header may already hold points.
    let pending = match (consumed.len() as u64).checked_sub(offset) {
        Some(n) => consumed[consumed.len() - n as usize..].to_vec(),
        None => {
            source.skip(offset - consumed.len() as u64)?;
            Vec::new()
        }
    };
    points.read(path, &mut source, numbers, pending)?;
    points.finish(&mut info);
    let (kept, cuts) = (points.points, points.offsets);
    let tractogram = Tractogram::new(kept, cuts);
    let announced = info.property("count").and_then(|c| c.parse().ok());
    info.check(&tractogram, announced);
    Ok((tractogram, info))
}

/// The header up to and with its END line, its bytes in the file (a letter that is not UTF-8 takes
/// more in the text), and everything that was read.
fn header_text(source: &mut Source) -> Result<(String, usize, Vec<u8>), Error> {
    const PIECE: usize = 4096;
    let path = source.path().to_owned();
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        bytes.resize(before + PIECE, 0);
        let n = source.read(&mut bytes[before..])?;
        bytes.truncate(before + n);
        if !bytes.starts_with(MAGIC.as_bytes()) {
            let found = "a file that does not start with “mrtrix tracks”";
            return Err(Error::malformed(&path, found, "a TCK file"));
        }
        let mut starts = bytes.windows(4).enumerate().filter(|(_, w)| *w == b"\nEND");
        let end = starts.find_map(|(at, _)| {
            let rest = &bytes[at + 4..];
            let line = rest.iter().position(|&b| b == b'\n')?;
            // `ENDING: 1` is a line like any other.
            rest[..line]
                .iter()
                .all(u8::is_ascii_whitespace)
                .then_some(at + 4 + line + 1)
        });
        if let Some(end) = end {
            let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
            return Ok((text, end, bytes));
        }
        if n < PIECE || bytes.len() > HEADER_LIMIT_BYTES {
            let found = "a header without its END line";
            return Err(Error::malformed(
                &path,
                found,
                "a whole TCK file; copy it again",
            ));
        }
    }
}

fn properties(path: &Path, header: &str) -> Result<Vec<(String, String)>, Error> {
    let mut lines = header.lines();
    if lines.next().map(str::trim_end) != Some(MAGIC) {
        return Err(Error::malformed(
            path,
            "a first line other than “mrtrix tracks”",
            "a TCK file",
        ));
    }
    let mut properties: Vec<(String, String)> = Vec::new();
    for line in lines.take_while(|l| l.trim_end() != "END") {
        match line.split_once(':') {
            Some((key, value)) => properties.push((key.trim().into(), value.trim().into())),
            // A line of its own continues the one before.
            None => {
                if let Some((_, value)) = properties.last_mut() {
                    value.push('\n');
                    value.push_str(line.trim_end());
                }
            }
        }
    }
    Ok(properties)
}

fn numbers(path: &Path, info: &FibreInfo) -> Result<Numbers, Error> {
    let name = info.property("datatype").unwrap_or("none");
    let (double, big_endian) = match name.to_ascii_lowercase().as_str() {
        "float32le" => (false, false),
        "float32be" => (false, true),
        "float64le" => (true, false),
        "float64be" => (true, true),
        _ => {
            return Err(Error::malformed(
                path,
                format!("datatype {name}"),
                "Float32LE, Float32BE, Float64LE or Float64BE",
            ));
        }
    };
    Ok(Numbers { double, big_endian })
}

/// Where the points begin, from the line `file: . offset`.
fn offset(path: &Path, info: &FibreInfo, header_bytes: u64) -> Result<u64, Error> {
    let line = info.property("file").unwrap_or("no file line");
    let offset = line.strip_prefix('.').and_then(|o| o.trim().parse().ok());
    match offset {
        Some(offset) if offset >= header_bytes => Ok(offset),
        Some(offset) => Err(Error::malformed(
            path,
            format!("points that begin at byte {offset}, inside the header"),
            format!("at least {header_bytes}"),
        )),
        None => Err(Error::malformed(
            path,
            format!("“{line}” where the header names the points"),
            "“. ” and the byte they begin at; points in another file are not read",
        )),
    }
}

/// Streamlines while they are read.
struct Points {
    points: Vec<[f32; 3]>,
    offsets: Vec<u64>,
    ended: bool,
    /// Bytes behind the last whole point.
    torn: bool,
}

impl Default for Points {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            offsets: vec![0],
            ended: false,
            torn: false,
        }
    }
}

impl Points {
    fn read(
        &mut self,
        path: &Path,
        source: &mut Source,
        numbers: Numbers,
        pending: Vec<u8>,
    ) -> Result<(), Error> {
        let size = 3 * numbers.bytes();
        let mut bytes = pending;
        loop {
            let before = bytes.len();
            bytes.resize(before + CHUNK_BYTES, 0);
            let n = source.read(&mut bytes[before..])?;
            bytes.truncate(before + n);
            let whole = bytes.len() / size * size;
            self.take(path, &bytes[..whole], numbers)?;
            bytes.drain(..whole);
            if self.ended || n < CHUNK_BYTES {
                self.torn = !self.ended && !bytes.is_empty();
                return Ok(());
            }
        }
    }

    fn take(&mut self, path: &Path, bytes: &[u8], numbers: Numbers) -> Result<(), Error> {
        match (numbers.double, numbers.big_endian) {
            (false, false) => self.take_as(path, bytes, f32::from_le_bytes),
            (false, true) => self.take_as(path, bytes, f32::from_be_bytes),
            (true, false) => self.take_as(path, bytes, |b| f64::from_le_bytes(b) as f32),
            (true, true) => self.take_as(path, bytes, |b| f64::from_be_bytes(b) as f32),
        }
    }

    fn take_as<const N: usize>(
        &mut self,
        path: &Path,
        bytes: &[u8],
        number: impl Fn([u8; N]) -> f32,
    ) -> Result<(), Error> {
        for &triplet in bytes.as_chunks::<N>().0.as_chunks::<3>().0 {
            let point = triplet.map(&number);
            if point.iter().all(|c| c.is_finite()) {
                self.points.push(point);
            } else if point.iter().all(|c| c.is_nan()) {
                self.offsets.push(self.points.len() as u64);
            } else if point.iter().all(|c| c.is_infinite()) {
                self.ended = true;
                return Ok(());
            } else {
                return Err(Error::malformed(
                    path,
                    format!("the point {point:?} in streamline {}", self.offsets.len()),
                    "three finite coordinates",
                ));
            }
        }
        Ok(())
    }

    /// Closes the last streamline and tells of an end that is missing.
    fn finish(&mut self, info: &mut FibreInfo) {
        let last = self.offsets.last().copied().unwrap_or(0);
        if self.points.len() as u64 > last {
            self.offsets.push(self.points.len() as u64);
        }
        if self.torn {
            info.warnings
                .push("The file ends within a point; it was cut off".to_owned());
        } else if !self.ended {
            info.warnings
                .push("The file has no end mark; it may have been cut off".to_owned());
        }
    }
}

/// Writes Float32LE with `command` as its history, reads it back and compares every point.
pub fn save(
    path: &Path,
    tractogram: &Tractogram,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    if super::extension(path) != "tck" {
        return Err(Error::unsupported(
            path,
            "a name that is not a TCK file's",
            "end it in .tck",
        ));
    }
    if let Some(i) = tractogram
        .streamlines()
        .position(|s| s.iter().flatten().any(|c| !c.is_finite()))
    {
        return Err(Error::malformed(
            path,
            format!("a coordinate in streamline {} that is not finite", i + 1),
            "points, which alone TCK can hold",
        ));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    control.begin(&format!("Writing {name}"), tractogram.len() as u64);
    let header = header(tractogram.len(), command);
    atomic::write_verified(
        path,
        |file| {
            file.write_all(header.as_bytes())?;
            for (i, streamline) in tractogram.streamlines().enumerate() {
                if i.is_multiple_of(1024) {
                    control.check()?;
                    control.advance(1024.min(tractogram.len() - i) as u64);
                }
                file.write_all(&little_endian(streamline.as_flattened()))?;
                file.write_all(&little_endian(&[f32::NAN; 3]))?;
            }
            Ok(file.write_all(&little_endian(&[f32::INFINITY; 3]))?)
        },
        |written| {
            let (found, _) = read(written, &Control::new()).map_err(|e| e.to_string())?;
            let same = |a: &[f32; 3], b: &[f32; 3]| a.map(f32::to_bits) == b.map(f32::to_bits);
            let points = found.points.iter().zip(&*tractogram.points);
            if found.offsets == tractogram.offsets && points.into_iter().all(|(a, b)| same(a, b)) {
                Ok(())
            } else {
                Err("its streamlines differ".to_owned())
            }
        },
    )
}

fn header(count: usize, command: &str) -> String {
    // What a TSF or weights file repeats to say which TCK it belongs to.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let command = command.replace(['\n', '\r'], " ");
    let start = format!(
        "{MAGIC}\ntimestamp: {}.{:09}\ncommand_history: {command}\ndatatype: Float32LE\n\
         count: {count:010}\n",
        now.as_secs(),
        now.subsec_nanos(),
    );
    ended(start)
}

/// A header with its last lines, which name the byte after it.
pub fn ended(start: String) -> String {
    // The offset's own digits count; one more digit can be needed once, never twice.
    let line = |offset: usize| format!("file: . {offset}\nEND\n");
    let mut offset = start.len();
    while start.len() + line(offset).len() != offset {
        offset = start.len() + line(offset).len();
    }
    start + &line(offset)
}
