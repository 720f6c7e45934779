//! MRtrix streamlines: a text header, then points in world RAS+ mm, a NaN triplet after each
//! streamline and an infinite one at the end.
//!
//! Memory: at most the size of the file (a triplet of twelve bytes becomes a point, or eight bytes).

mod index;
mod pieces;

pub(super) use index::Index;
pub use index::stored_path as stored_index_path;
pub(super) use pieces::Reader;

use super::file_bytes::FileBytes;
use super::numbers::Type;
use super::pieces::Contents;
use super::source::Source;
use super::{DISCLAIMER, Error, FibreInfo, atomic, little_endian, scalars};
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::text::{counted, singular_or_plural};
use crate::data::{Shared, Tractogram};
use rayon::prelude::*;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const MAGIC: &str = "mrtrix tracks";
/// A file without END within this is no TCK.
const HEADER_LIMIT_BYTES: usize = 1 << 20;
/// Triplets that one thread processes at a time.
const BATCH: usize = 1 << 16;
/// Bytes of a point in memory.
const POINT: usize = size_of::<[f32; 3]>();

/// The `key: value` lines of a file's header.
pub fn read_properties(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut source = Source::open(path, &Control::new())?;
    let mut bytes = vec![0; HEADER_LIMIT_BYTES];
    let read = source.read(&mut bytes)?;
    let (header, _) = header_text(path, &bytes[..read], MAGIC)?;
    properties(path, &header, MAGIC)
}

#[derive(Clone, Copy)]
pub(super) struct Numbers {
    double: bool,
    big_endian: bool,
}

impl Numbers {
    pub fn bytes(self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// The type of the numbers, and whether their first byte is the most significant one.
    pub fn form(self) -> (Type, bool) {
        let number = if self.double { Type::F64 } else { Type::F32 };
        (number, self.big_endian)
    }

    /// Whether the numbers are float32 in native byte order.
    fn is_native(self) -> bool {
        !self.double && self.big_endian == cfg!(target_endian = "big")
    }

    /// The first number in some bytes.
    pub fn first(self, bytes: &[u8]) -> Option<f32> {
        Some(match (self.double, self.big_endian) {
            (false, false) => f32::from_le_bytes(*bytes.first_chunk()?),
            (false, true) => f32::from_be_bytes(*bytes.first_chunk()?),
            (true, false) => f64::from_le_bytes(*bytes.first_chunk()?) as f32,
            (true, true) => f64::from_be_bytes(*bytes.first_chunk()?) as f32,
        })
    }
}

/// Reads all streamlines in their order, including those without points, and the values in companion files: TSF files
/// and weights.
pub fn read_with_values(path: &Path, control: &Control) -> Result<(Tractogram, FibreInfo), Error> {
    let (tractogram, mut info) = read(path, control)?;
    let tractogram = scalars::with_companion_values(path, tractogram, &mut info, control)?;
    Ok((tractogram, info))
}

/// Reads all streamlines in their order, including those without points, so that weights by index still match.
pub fn read(path: &Path, control: &Control) -> Result<(Tractogram, FibreInfo), Error> {
    let file = FileBytes::open(path, control)?;
    let head = Head::parse(path, file.bytes())?;
    let (mut info, numbers) = (head.info, head.numbers);
    let start = usize::try_from(head.start).unwrap_or(usize::MAX);
    let start = start.min(file.bytes().len());
    file.advance(head.bytes)?;
    let (points, offsets) = read_body(path, file, start, numbers, &mut info)?;
    let mut tractogram = Tractogram::new(points, offsets);
    tractogram.timestamp = timestamp(&info);
    let announced = announced(&mut info);
    info.check(&tractogram, announced);
    Ok((tractogram, info))
}

/// The header of a file.
struct Head {
    info: FibreInfo,
    numbers: Numbers,
    /// Its number of bytes.
    bytes: usize,
    /// The offset of the points in the file.
    start: u64,
}

impl Head {
    /// Reads the header at the start of these bytes.
    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let (header, bytes) = header_text(path, bytes, MAGIC)?;
        let mut info = FibreInfo {
            properties: properties(path, &header, MAGIC)?,
            ..FibreInfo::default()
        };
        let numbers = numbers(path, &info)?;
        info.is_rounded = numbers.double;
        let start = offset(path, &info, bytes as u64)?;
        Ok(Self {
            info,
            numbers,
            bytes,
            start,
        })
    }
}

fn timestamp(info: &FibreInfo) -> Option<Arc<str>> {
    info.property(scalars::STAMP).map(Arc::from)
}

/// The number of streamlines that the header announces.
fn announced(info: &mut FibreInfo) -> Option<u64> {
    match first_line(info, "count") {
        None | Some("") => None,
        Some(count) => {
            let number = count.parse().ok();
            if number.is_none() {
                let count = count.to_owned();
                info.warn(format!(
                    "The header announces “{count}” streamlines, which is not a number"
                ));
            }
            number
        }
    }
}

/// The header up to and including its END line, and its number of bytes in the file (a letter that is not UTF-8 takes
/// more in the text).
pub(super) fn header_text(
    path: &Path,
    bytes: &[u8],
    magic: &str,
) -> Result<(String, usize), Error> {
    let kind = if magic == MAGIC { "TCK" } else { "TSF" };
    if !bytes.starts_with(magic.as_bytes()) {
        let found = format!("a file that does not start with “{magic}”");
        return Err(Error::other_format(path, found, &format!("a {kind} file")));
    }
    let mut end = 0;
    for line in bytes[..bytes.len().min(HEADER_LIMIT_BYTES)].split_inclusive(|&b| b == b'\n') {
        end += line.len();
        if line.ends_with(b"\n") && line.trim_ascii() == b"END" {
            return Ok((String::from_utf8_lossy(&bytes[..end]).into_owned(), end));
        }
    }
    Err(Error::malformed(
        path,
        "a header without its END line",
        (format!("a whole {kind} file"), "copy it again"),
    ))
}

pub(super) fn properties(
    path: &Path,
    header: &str,
    magic: &str,
) -> Result<Vec<(String, String)>, Error> {
    let mut lines = header.lines();
    if lines.next().map(str::trim_end) != Some(magic) {
        return Err(Error::malformed(
            path,
            format!("a first line other than “{magic}”"),
            "that line alone",
        ));
    }
    let mut properties: Vec<(String, String)> = Vec::new();
    for line in lines.take_while(|l| l.trim() != "END") {
        match line.split_once(':') {
            Some((key, value)) => properties.push((key.trim().into(), value.trim().into())),
            // A line without a key continues the previous one.
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

/// The value of a single-line header entry, without continuation lines.
fn first_line<'a>(info: &'a FibreInfo, key: &str) -> Option<&'a str> {
    info.property(key)?.split('\n').next().map(str::trim_end)
}

pub(super) fn numbers(path: &Path, info: &FibreInfo) -> Result<Numbers, Error> {
    let name = first_line(info, "datatype").unwrap_or("none");
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

/// The offset of the points, from the line `file: . offset`.
pub(super) fn offset(path: &Path, info: &FibreInfo, header_bytes: u64) -> Result<u64, Error> {
    let line = first_line(info, "file").unwrap_or("no file line");
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
            (
                "“. ” and the byte they begin at",
                "write the file again with its points in it, since those in another are not read",
            ),
        )),
    }
}

/// Counts of points and ends in some triplets.
#[derive(Clone, Copy, Default)]
struct Counts {
    points: usize,
    streamlines: usize,
    ended: bool,
    /// A triplet that is neither a point nor a mark.
    invalid: Option<[f32; 3]>,
    /// Triplets before the end mark or the invalid one.
    used: usize,
}

/// A triplet is a point, the end of a streamline, or the end of all.
enum Delimiter {
    Point,
    Streamline,
    All,
    Invalid,
}

fn delimiter(point: &[f32; 3]) -> Delimiter {
    if point.iter().all(|c| c.is_finite()) {
        Delimiter::Point
    } else if point.iter().all(|c| c.is_nan()) {
        Delimiter::Streamline
    } else if point.iter().all(|c| c.is_infinite()) {
        Delimiter::All
    } else {
        Delimiter::Invalid
    }
}

type Lines = (Shared<[f32; 3]>, Vec<u64>);

/// The bytes from `start` on.
fn read_body(
    path: &Path,
    whole: FileBytes,
    start: usize,
    numbers: Numbers,
    info: &mut FibreInfo,
) -> Result<Lines, Error> {
    match (numbers.double, numbers.big_endian) {
        (false, false) => lines(path, whole, start, f32::from_le_bytes, info),
        (false, true) => lines(path, whole, start, f32::from_be_bytes, info),
        (true, false) => lines(path, whole, start, |b| f64::from_le_bytes(b) as f32, info),
        (true, true) => lines(path, whole, start, |b| f64::from_be_bytes(b) as f32, info),
    }
}

/// Counts first, then compacts the points in the memory into which the file was read: all parts at once, each towards
/// its own start, and then part by part towards the start of all.
fn lines<const N: usize>(
    path: &Path,
    mut whole: FileBytes,
    start: usize,
    number: impl Fn([u8; N]) -> f32 + Sync,
    info: &mut FibreInfo,
) -> Result<Lines, Error> {
    let body = &whole.bytes()[start..];
    let body_bytes = body.len();
    let (triplets, _) = body.as_chunks::<N>().0.as_chunks::<3>();
    let point = |triplet: &[[u8; N]; 3]| triplet.map(&number);
    let count = |part: &[[[u8; N]; 3]]| {
        let mut stored = Counts::default();
        for triplet in part {
            match delimiter(&point(triplet)) {
                Delimiter::Point => stored.points += 1,
                Delimiter::Streamline => stored.streamlines += 1,
                Delimiter::All => {
                    stored.ended = true;
                    return stored;
                }
                Delimiter::Invalid => {
                    stored.invalid = Some(point(triplet));
                    return stored;
                }
            }
            stored.used += 1;
        }
        stored
    };
    let mut parts: Vec<Counts> = triplets.par_chunks(BATCH).map(count).collect();
    whole.advance(body_bytes / 2)?;
    if let Some(last) = parts.iter().position(|p| p.ended || p.invalid.is_some()) {
        parts.truncate(last + 1);
    }
    let streamlines: usize = parts.iter().map(|p| p.streamlines).sum();
    if let Some(point) = parts.last().and_then(|p| p.invalid) {
        return Err(invalid_point(path, point, streamlines + 1));
    }
    let total: usize = parts.iter().map(|p| p.points).sum();
    let mut ends = vec![0u64; streamlines + 1];
    let part_bytes = 3 * N * BATCH;
    let bytes = whole.bytes_mut();
    let mut ends_left = &mut ends[1..];
    let mut before = 0;
    let mut jobs = Vec::with_capacity(parts.len());
    for (part, bytes) in parts.iter().zip(bytes[start..].chunks_mut(part_bytes)) {
        let (own, others) = ends_left.split_at_mut(part.streamlines);
        jobs.push((part, bytes, own, before));
        before += part.points as u64;
        ends_left = others;
    }
    jobs.into_par_iter()
        .for_each(|(part, bytes, ends, before)| {
            let (mut points_done, mut ends_done) = (0, 0);
            for i in 0..part.used {
                // A point is no longer than its triplet: none is overwritten before it is read.
                let (triplet, _) = bytes[3 * N * i..][..3 * N].as_chunks::<N>();
                let point = [triplet[0], triplet[1], triplet[2]].map(&number);
                if point[0].is_finite() {
                    bytes[POINT * points_done..][..POINT]
                        .copy_from_slice(bytemuck::bytes_of(&point));
                    points_done += 1;
                } else {
                    ends[ends_done] = before + points_done as u64;
                    ends_done += 1;
                }
            }
        });
    let mut end = 0;
    for (i, part) in parts.iter().enumerate() {
        let (from, length) = (start + i * part_bytes, POINT * part.points);
        bytes.copy_within(from..from + length, end);
        end += length;
    }
    whole.advance(body_bytes - body_bytes / 2)?;
    // The last streamline may lack its mark.
    if ends.last() != Some(&(total as u64)) {
        ends.push(total as u64);
    }
    let ended = parts.last().is_some_and(|p| p.ended);
    let used: usize = parts.iter().map(|p| p.used).sum();
    let behind = body_bytes - (3 * N * (used + usize::from(ended))).min(body_bytes);
    let torn = !body_bytes.is_multiple_of(3 * N);
    warn_of_end(info, ended.then_some(behind as u64), torn);
    Ok((whole.first_values(total), ends))
}

/// The error for a triplet that is neither a point nor a mark.
fn invalid_point(path: &Path, point: [f32; 3], streamline: usize) -> Error {
    Error::malformed(
        path,
        format!("the point {point:?} in streamline {streamline}"),
        "three finite coordinates",
    )
}

/// Warns of bytes after the end mark, or that there is none: `behind` is their number if there is one; `torn`: the file
/// ends within a point.
fn warn_of_end(info: &mut FibreInfo, behind: Option<u64>, torn: bool) {
    match behind {
        Some(0) => {}
        Some(behind) => {
            let behind = usize::try_from(behind).unwrap_or(usize::MAX);
            info.warn_unread(format!(
                "The file continues for {} after its end mark, which {} not used",
                counted(behind, "byte"),
                singular_or_plural(behind, "was", "were")
            ));
        }
        None => info.warn_unread(match torn {
            true => "The file ends within a point; it was cut off",
            false => "The file has no end mark; it may have been cut off",
        }),
    }
}

/// Writes Float32LE with `command` as its history, reads it back and compares every byte.
pub fn save(
    path: &Path,
    tractogram: &Tractogram,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    Contents::whole(tractogram, |contents| {
        prepare(path, contents, command, control)?.rename_into_place()
    })
}

/// Does everything except renaming it.
pub(super) fn prepare(
    path: &Path,
    contents: &mut Contents,
    command: &str,
    control: &Control,
) -> Result<atomic::PreparedFile, Error> {
    if super::extension(path) != "tck" {
        return Err(Error::unsupported(
            path,
            "a name that is not a TCK file's",
            "end it in .tck",
        ));
    }
    let outline = contents.outline;
    if let Some(i) = outline.first_not_finite {
        return Err(Error::malformed(
            path,
            format!("a coordinate in streamline {} that is not finite", i + 1),
            "finite coordinates, as TCK requires",
        ));
    }
    let name = file_name(path);
    control.begin_file("Writing", &name, outline.streamlines as u64);
    let header = header(outline.streamlines, command);
    atomic::prepare_checked(path, control, |file| {
        file.write_all(header.as_bytes())?;
        (contents.pass)(&mut |piece| {
            for (i, streamline) in piece.streamlines().enumerate() {
                if i.is_multiple_of(1024) {
                    control.check()?;
                    control.advance(1024.min(piece.len() - i) as u64);
                }
                file.write_all(&little_endian(streamline.as_flattened()))?;
                file.write_all(&little_endian(&[f32::NAN; 3]))?;
            }
            Ok(())
        })?;
        Ok(file.write_all(&little_endian(&[f32::INFINITY; 3]))?)
    })
}

fn header(count: usize, command: &str) -> String {
    // A TSF or weights file repeats it to state to which TCK it belongs.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let command = command.replace(['\n', '\r'], " ");
    let start = format!(
        "{MAGIC}\ntimestamp: {}.{:09}\ncommand_history: {command}\ncomments: {DISCLAIMER}\ndatatype: Float32LE\n\
         count: {count:010}\n",
        now.as_secs(),
        now.subsec_nanos(),
    );
    ended(start)
}

/// A header with its last lines, which state the offset of the byte after it.
pub fn ended(start: String) -> String {
    // The offset's own digits count; they can add one more digit only once.
    let line = |offset: usize| format!("file: . {offset}\nEND\n");
    let mut offset = start.len();
    while start.len() + line(offset).len() != offset {
        offset = start.len() + line(offset).len();
    }
    start + &line(offset)
}
