//! Values that belong to a streamline file: MRtrix track scalars (TSF, one value per point) and weights (text, one
//! line with a value per streamline). A value NAME of `fibres.tck` is in `fibres.NAME.tsf` or
//! `fibres.NAME.weights.txt`; a single value may omit NAME. Both repeat the TCK's `timestamp`, weights in a comment,
//! so that values of earlier streamlines are not mistaken for those of the present ones.

mod values_file;

pub use values_file::{FileValues, open_values};

use super::atomic::ReadBackDifference;
use super::atomic::WriteStop;
use super::file_bytes::FileBytes;
use super::format::Format;
use super::pieces::Outline;
use super::source::read_text;
use super::streamlines::{FibreInfo, free_name, property};
use super::surface::one_line;
use super::text::{self, counted};
use super::{DISCLAIMER, Error, atomic, disk, little_endian, tck, with_extension};
use crate::compute::Control;
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::data::tractogram::key_line;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::io::Write;
use std::path::{Path, PathBuf};

const MAGIC: &str = "mrtrix track scalars";
/// The key that states to which streamlines values belong.
pub(super) const STAMP: &str = "timestamp";
/// Letters per number, with room for blanks: limits the length of a weights file.
const LETTERS: u64 = 64;

/// Why values do not belong to the streamlines: a part of a sentence.
enum ValuesError {
    /// The file cannot be read.
    File(Error),
    /// The stamp of the values and that of the streamlines.
    OtherStreamlines {
        found: Option<String>,
        expected: Option<String>,
    },
    /// The streamline with this number, from 1, has too few values.
    FewValues(usize),
    /// The streamline with this number, from 1, has too many values.
    ManyValues(usize),
    /// There are values after those of the last streamline.
    Continues,
    NotANumber(String),
    Count {
        numbers: usize,
        streamlines: usize,
    },
}

impl fmt::Display for ValuesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::OtherStreamlines { found, expected } => {
                let shown = |stamp: &Option<String>| stamp.clone().unwrap_or("none".to_owned());
                write!(
                    f,
                    "it belongs to other streamlines ({STAMP} {}, expected {})",
                    shown(found),
                    shown(expected)
                )
            }
            Self::FewValues(line) => write!(f, "streamline {line} has more points than values"),
            Self::ManyValues(line) => write!(f, "streamline {line} has more values than points"),
            Self::Continues => f.write_str("it continues after the last streamline"),
            Self::NotANumber(word) => write!(f, "“{word}” is not a number"),
            Self::Count {
                numbers,
                streamlines,
            } => write!(
                f,
                "{} for {}",
                counted(*numbers, "number"),
                counted(*streamlines, "streamline")
            ),
        }
    }
}

impl From<Error> for ValuesError {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

/// The destination of one of a TCK's values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompanionFile {
    /// The name of the values.
    pub name: String,
    /// Path of the file with the values.
    pub path: PathBuf,
    /// Whether it holds values per point, as TSF, instead of one number per streamline, as text.
    pub per_point: bool,
}

impl CompanionFile {
    /// Whether a file can hold these values: in TSF a NaN ends a streamline. Examines every value.
    pub fn holds(&self, tractogram: &Tractogram) -> bool {
        let values = tractogram.per_point.get(&self.name);
        let values = values.filter(|_| self.per_point);
        values.is_none_or(|v| v.iter().all(|v| v.is_finite()))
    }

    /// Why it cannot.
    pub fn refusal(&self) -> String {
        format!(
            "TSF holds finite numbers only, and {} has NaN or infinity; it is left out",
            self.name
        )
    }

    /// Whether a file can hold these values of streamlines that are not in memory.
    pub(super) fn holds_outlined(&self, outline: &Outline) -> bool {
        !(self.per_point && outline.values_not_finite.contains(&self.name))
    }

    /// The part of the file with the values of these streamlines, which follow each other in the file.
    pub(super) fn encode(&self, piece: &Tractogram) -> Vec<u8> {
        match self.per_point {
            true => encode_points(piece, &self.name),
            false => encode_weights(piece, &self.name),
        }
    }

    /// Writes the file beside a TCK, without renaming it; `body` writes the encoded values.
    pub(super) fn prepare(
        &self,
        tck: &Path,
        outline: &Outline,
        control: &Control,
        body: impl FnOnce(&mut dyn Write) -> Result<(), WriteStop>,
    ) -> Result<atomic::PreparedFile, Error> {
        let properties = tck::read_properties(tck)?;
        let (start, end) = match self.per_point {
            true => (
                points_start(tck, &properties, outline.streamlines, &self.name)?,
                POINTS_END,
            ),
            false => {
                let stamp = property(&properties, STAMP);
                (
                    weights_start(&outline.empty, &self.name, stamp),
                    [].as_slice(),
                )
            }
        };
        atomic::prepare_checked(&self.path, control, |file| {
            file.write_all(start.as_bytes())?;
            body(file)?;
            Ok(file.write_all(end)?)
        })
    }
}

/// Writes the per-point values `name` as TSF next to their streamlines; the header repeats the TCK's `timestamp` and
/// count, by which MRtrix recognises that they match; a TCK with another count gives an error. The file is read back
/// and compared.
pub fn save_points(
    path: &Path,
    adjacent: &Path,
    tractogram: &Tractogram,
    name: &str,
) -> Result<(), Error> {
    prepare_points(path, adjacent, tractogram, name)?.rename_into_place()
}

fn prepare_points(
    path: &Path,
    adjacent: &Path,
    tractogram: &Tractogram,
    name: &str,
) -> Result<atomic::PreparedFile, Error> {
    let Some(values) = tractogram.per_point.get(name) else {
        return Err(missing(path, name));
    };
    if let Some(i) = values.iter().position(|v| !v.is_finite()) {
        return Err(Error::malformed(
            path,
            format!("a value of {name} at point {} that is not finite", i + 1),
            "finite numbers, as TSF requires",
        ));
    }
    let properties = tck::read_properties(adjacent)?;
    let start = points_start(adjacent, &properties, tractogram.len(), name)?;
    let bytes = [
        start.as_bytes(),
        &encode_points(tractogram, name),
        POINTS_END,
    ];
    write(path, &bytes.concat())
}

/// The header of a TSF file for this many streamlines.
fn points_start(
    adjacent: &Path,
    properties: &[(String, String)],
    streamlines: usize,
    name: &str,
) -> Result<String, Error> {
    let stamp = property(properties, STAMP).unwrap_or("0");
    let count = property(properties, "count");
    let count = count.and_then(|value| value.trim().parse::<usize>().ok());
    if let Some(count) = count.filter(|count| *count != streamlines) {
        let (found, expected) = (
            counted(count, "streamline"),
            format!(
                "{}, the number that has values",
                text::count(streamlines as u64)
            ),
        );
        return Err(Error::malformed(adjacent, found, expected));
    }
    let start = format!(
        "{MAGIC}\n{STAMP}: {stamp}\nname: {name}\ncomments: {DISCLAIMER}\ndatatype: Float32LE\ncount: {streamlines:010}\n"
    );
    Ok(tck::ended(start))
}

/// The values along some streamlines, with a NaN after each.
fn encode_points(tractogram: &Tractogram, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(values) = tractogram.per_point.get(name) else {
        return bytes;
    };
    bytes.reserve_exact(4 * (values.len() + tractogram.len()));
    for range in tractogram.offsets.windows(2) {
        let line = &values[range[0] as usize..range[1] as usize];
        bytes.extend_from_slice(&little_endian(line));
        bytes.extend_from_slice(&f32::NAN.to_le_bytes());
    }
    bytes
}

/// The end of a TSF file.
const POINTS_END: &[u8] = &f32::INFINITY.to_le_bytes();

/// Writes the per-streamline values `name`, one number per line, in the order of the streamlines, after comments
/// (`#`), which MRtrix and NumPy skip. One of them is the timestamp of their TCK.
pub fn save_weights(path: &Path, tractogram: &Tractogram, name: &str) -> Result<(), Error> {
    prepare_weights(path, tractogram, name, tractogram.timestamp.as_deref())?.rename_into_place()
}

fn prepare_weights(
    path: &Path,
    tractogram: &Tractogram,
    name: &str,
    stamp: Option<&str>,
) -> Result<atomic::PreparedFile, Error> {
    if !tractogram.per_streamline.contains_key(name) {
        return Err(missing(path, name));
    }
    let start = weights_start(tractogram, name, stamp);
    let bytes = [start.as_bytes(), &encode_weights(tractogram, name)];
    write(path, &bytes.concat())
}

/// The comments at the start of a file of values per streamline.
fn weights_start(tractogram: &Tractogram, name: &str, stamp: Option<&str>) -> String {
    let mut text = format!("# {DISCLAIMER}\n");
    if let Some(stamp) = stamp {
        text += &format!("# {STAMP}: {}\n", one_line(stamp));
    }
    if let Some(meanings) = tractogram.codes.get(name) {
        text += &format!("# {}\n", one_line(&key_line(name, meanings)));
    }
    text
}

/// The values of some streamlines, one number per line.
fn encode_weights(tractogram: &Tractogram, name: &str) -> Vec<u8> {
    let values = tractogram.per_streamline.get(name);
    let mut text = String::new();
    for value in values.into_iter().flat_map(|all| all.iter()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{value}");
    }
    text.into_bytes()
}

fn missing(path: &Path, name: &str) -> Error {
    Error::malformed(
        path,
        format!("streamlines without values named {name}"),
        "one for each",
    )
}

fn write(path: &Path, bytes: &[u8]) -> Result<atomic::PreparedFile, Error> {
    atomic::prepare(
        path,
        |file| Ok(file.write_all(bytes)?),
        |written| match disk::read(written) {
            Ok(stored) if stored == bytes => Ok(()),
            Ok(_) => Err(ReadBackDifference::Values),
            Err(error) => Err(error.into()),
        },
    )
}

/// Destinations of a TCK's values by their names: per point, per streamline; no two share a file.
pub fn files<'a>(
    tck: &Path,
    points: impl Iterator<Item = &'a String>,
    lines: impl Iterator<Item = &'a String>,
) -> Vec<CompanionFile> {
    let plain = |name: &str| {
        let plain = |c: char| match c {
            c if c.is_control() || "./\\:*?\"<>|".contains(c) => '_',
            c => c,
        };
        name.chars().map(plain).collect::<String>()
    };
    let mut taken = BTreeSet::new();
    let mut place = |name: &String, per_point: bool, ending: &str| {
        let plain = plain(name);
        let numbered = (2u64..).map(|n| format!("{plain}_{n}"));
        let mut candidates = std::iter::once(plain.clone()).chain(numbered);
        // Some disks do not distinguish lower from upper case.
        let free = |candidate: &String| taken.insert((per_point, candidate.to_lowercase()));
        let candidate = candidates.find(free).unwrap_or_default();
        CompanionFile {
            name: name.clone(),
            path: with_extension(tck, &format!("{candidate}.{ending}")),
            per_point,
        }
    };
    let mut all: Vec<CompanionFile> = points.map(|name| place(name, true, "tsf")).collect();
    all.extend(lines.map(|name| place(name, false, "weights.txt")));
    all
}

/// The name of a TCK up to the dot before its extension.
fn stem_with_dot(name: &str) -> String {
    let extension = super::extension(Path::new(name));
    format!(
        "{}.",
        name[..name.len() - extension.len()].trim_end_matches('.')
    )
}

/// Names of files beside a TCK that begin like its own and may hold its values.
fn adjacent_names(tck: &Path) -> Vec<String> {
    let stem = stem_with_dot(&file_name(tck));
    let folder = tck.parent().filter(|f| !f.as_os_str().is_empty());
    // A folder that cannot be listed adds nothing.
    let entries = disk::list(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .flatten();
    let names = entries
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|n| n.starts_with(&stem)).collect();
    // `whole.sorted.fa.tsf` belongs to `whole.sorted.tck`, not to `whole.tck`.
    let is_tck = |n: &&String| Format::named(Path::new(n)) == Some(Format::Tck);
    let others: Vec<String> = names
        .iter()
        .filter(is_tck)
        .map(|n| stem_with_dot(n))
        .collect();
    let is_of_other = |n: &str| {
        let mut longer = others.iter().filter(|other| other.len() > stem.len());
        longer.any(|other| n.starts_with(other.as_str()))
    };
    names.retain(|n| !is_of_other(n));
    names.sort();
    names
}

/// The part of a companion file's name that names its values, after the stem of the TCK, and whether these are values
/// per point; `None` for other files.
fn named_values(rest: &str) -> Option<(&str, bool)> {
    let per_point = rest.strip_suffix("tsf").map(|rest| (rest, true));
    let per_line = || {
        let mut endings = ["weights.txt", "weights.csv"].into_iter();
        endings.find_map(|ending| Some((rest.strip_suffix(ending)?, false)))
    };
    // A name of values has no dot.
    let is_name = |rest: &str| !rest.trim_end_matches('.').contains('.');
    per_point
        .or_else(per_line)
        .filter(|(rest, _)| is_name(rest))
}

/// Whether files beside a TCK have the names of companion files.
pub(super) fn has_companion_values(tck: &Path) -> bool {
    let stem = stem_with_dot(&file_name(tck));
    let names = adjacent_names(tck);
    names
        .iter()
        .any(|name| named_values(&name[stem.len()..]).is_some())
}

/// Adds the values in companion files of a TCK. Those of other streamlines are reported and left out.
pub(super) fn with_companion_values(
    tck: &Path,
    mut tractogram: Tractogram,
    info: &mut FibreInfo,
    control: &Control,
) -> Result<Tractogram, Error> {
    let stem = stem_with_dot(&file_name(tck));
    let mut replaced = Vec::new();
    for name in adjacent_names(tck) {
        control.check()?;
        let Some((rest, per_point)) = named_values(&name[stem.len()..]) else {
            continue;
        };
        let path = tck.with_file_name(&name);
        let named = |default: &str| match rest.trim_end_matches('.') {
            "" => default.to_owned(),
            name => name.to_owned(),
        };
        let refused = if per_point {
            let stamp = info.property(STAMP);
            let read =
                |path: &Path| points(path, &tractogram, |own| same_stamp(own, stamp), control);
            match now_or_before(&path, read, &mut replaced) {
                Ok((own, values)) => {
                    let own = own.unwrap_or_else(|| named("tsf"));
                    let name = free_name(&own, &tractogram.per_point);
                    tractogram = tractogram.with_per_point(&name, values);
                    None
                }
                Err(why) => Some(why),
            }
        } else {
            let read = |path: &Path| {
                weights(path, tractogram.len()).and_then(|(values, stamp)| match stamp {
                    Some(stamp) => same_stamp(Some(&stamp), info.property(STAMP)).map(|()| values),
                    // Other programs write none.
                    None => Ok(values),
                })
            };
            match now_or_before(&path, read, &mut replaced) {
                Ok(values) => {
                    let name = free_name(&named("weights"), &tractogram.per_streamline);
                    tractogram = tractogram.with_per_streamline(&name, values);
                    None
                }
                Err(why) => Some(why),
            }
        };
        if let Some(why) = refused {
            info.warn_unread(format!(
                "{name} was not used: {why}; write it again or move it elsewhere"
            ));
        }
    }
    // A cancelled read is not an unused file.
    control.check()?;
    if !replaced.is_empty() {
        let replaced: Vec<&Path> = replaced.iter().map(PathBuf::as_path).collect();
        info.warn(atomic::previous_files_note(&replaced));
    }
    Ok(tractogram)
}

/// Values of a file; if they do not match the streamlines, those it had before a process that began to replace both
/// was killed: the file is then added to `replaced`.
fn now_or_before<T>(
    path: &Path,
    read: impl Fn(&Path) -> Result<T, ValuesError>,
    replaced: &mut Vec<PathBuf>,
) -> Result<T, ValuesError> {
    let why = match read(path) {
        Ok(values) => return Ok(values),
        Err(why) => why,
    };
    let before = atomic::previous_name(path);
    match before.is_file().then(|| read(&before)) {
        Some(Ok(values)) => {
            replaced.push(path.to_owned());
            Ok(values)
        }
        _ => Err(why),
    }
}

/// Returns an error if values with this stamp do not belong to the streamlines.
fn same_stamp(own: Option<&str>, expected: Option<&str>) -> Result<(), ValuesError> {
    // A moment may be written with more or fewer digits.
    let moment = |stamp: Option<&str>| {
        let text = stamp?.trim();
        let number = text.parse::<f64>().map(|n| n.to_string());
        Some(number.unwrap_or_else(|_| text.to_owned()))
    };
    let (found, expected) = (moment(own), moment(expected));
    match found == expected {
        true => Ok(()),
        false => Err(ValuesError::OtherStreamlines { found, expected }),
    }
}

/// Values of a TSF file and the name it gives them; `check` refuses the stamp of other streamlines.
fn points(
    path: &Path,
    tractogram: &Tractogram,
    check: impl Fn(Option<&str>) -> Result<(), ValuesError>,
    control: &Control,
) -> Result<(Option<String>, Vec<f32>), ValuesError> {
    let file = FileBytes::open(path, control)?;
    let bytes = file.bytes();
    let (header, header_bytes) = tck::header_text(path, bytes, MAGIC)?;
    let info = FibreInfo {
        properties: tck::properties(path, &header, MAGIC)?,
        ..FibreInfo::default()
    };
    check(info.property(STAMP))?;
    let numbers = tck::numbers(path, &info)?;
    let offset = tck::offset(path, &info, header_bytes as u64)?;
    let body = usize::try_from(offset).ok().and_then(|at| bytes.get(at..));
    let mut body = body.unwrap_or_default().chunks_exact(numbers.bytes());
    let mut next = || body.next().and_then(|b| numbers.first(b));
    let mut values = Vec::new();
    for (line, ends) in tractogram.offsets.windows(2).enumerate() {
        for _ in ends[0]..ends[1] {
            match next() {
                Some(value) if value.is_finite() => values.push(value),
                _ => return Err(ValuesError::FewValues(line + 1)),
            }
        }
        if !next().is_some_and(f32::is_nan) {
            return Err(ValuesError::ManyValues(line + 1));
        }
    }
    if next().is_some_and(|v| !v.is_infinite()) {
        return Err(ValuesError::Continues);
    }
    Ok((info.property("name").map(str::to_owned), values))
}

/// Reads a file with one number per streamline. Numbers that belong to another TCK give an error.
pub fn open_weights(path: &Path, tractogram: &Tractogram) -> Result<Vec<f32>, Error> {
    open_weights_for(path, tractogram.len(), tractogram.timestamp.as_deref())
}

/// Does the same as [`open_weights`] for this many streamlines, which need not be in memory, with the time stamp of
/// their file if it has one.
pub fn open_weights_for(
    path: &Path,
    streamlines: usize,
    timestamp: Option<&str>,
) -> Result<Vec<f32>, Error> {
    let text = read_text(path, max_bytes(streamlines))?;
    let read =
        weights_in(&text, streamlines).and_then(|(values, stamp)| match (stamp, timestamp) {
            (Some(own), Some(theirs)) => same_stamp(Some(&own), Some(theirs)).map(|()| values),
            // Other programs write none, other formats have none.
            _ => Ok(values),
        });
    read.map_err(|error| {
        let expected = "one number for each streamline, in their order";
        Error::malformed(path, error.to_string(), expected)
    })
}

/// Largest size of a text with one number per streamline.
fn max_bytes(streamlines: usize) -> u64 {
    (streamlines as u64).saturating_mul(LETTERS) + (1 << 16)
}

fn weights(path: &Path, streamlines: usize) -> Result<(Vec<f32>, Option<String>), ValuesError> {
    let text = read_text(path, max_bytes(streamlines))?;
    weights_in(&text, streamlines)
}

/// Numbers separated by blanks, commas or line ends; text after a `#` is a comment. Also returns the stamp of their
/// streamlines, if there is one.
fn weights_in(text: &str, streamlines: usize) -> Result<(Vec<f32>, Option<String>), ValuesError> {
    let lines = text
        .lines()
        .map(|l| l.split('#').next().unwrap_or_default());
    let fields = lines.flat_map(|l| l.split(|c: char| c.is_whitespace() || c == ','));
    let fields = fields.filter(|w| !w.is_empty());
    let number = |w: &str| w.parse().map_err(|_| ValuesError::NotANumber(w.to_owned()));
    let values: Result<Vec<f32>, ValuesError> = fields.map(number).collect();
    let values = values?;
    if values.len() != streamlines {
        return Err(ValuesError::Count {
            numbers: values.len(),
            streamlines,
        });
    }
    let remarks = text.lines().filter_map(|l| l.strip_prefix('#'));
    let mut remarks = remarks.filter_map(|r| r.trim().strip_prefix(STAMP)?.strip_prefix(':'));
    let stamp = remarks.next().map(|s| s.trim().to_owned());
    Ok((values, stamp))
}
