//! Session files (`.arcuate`): JSON with the files a session refers to (by relative paths and checksums), the data it
//! contains (masks), the results (their checksums), and the window's state.

mod compare;
mod entry;
mod masks;
mod numbers;
mod store;

pub use compare::{Match, RecomputedResult, compare};
pub use entry::{
    Change, Difference, Entry, FileComparison, Missing, Stamp, check, companions, describe,
    find_moved,
};
pub use masks::{PackedMask, PackedMaskError};
pub use numbers::{PackedNumbers, PackedNumbersError};
pub use store::{STORED_MAX_BYTES, folder_of, is_stored_name, remove_unreferenced, restore, store};

use super::source::plain_file;
use super::{Error, atomic, checksum};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;

/// Extension of session files.
pub const EXTENSION: &str = "arcuate";

/// The version of the format. Sessions of other versions are refused: newer ones have an unknown meaning, and older ones
/// are not converted.
pub const VERSION: u64 = 2;

/// No session is longer; hundreds of painted regions take a few megabytes.
const MAX_BYTES: u64 = 64 << 20;
/// Largest number of bytes of packed numbers; the other contents need room, too.
pub const MAX_NUMBERS: usize = 40 << 20;
/// Largest number of values in a session: in memory, each takes up to a hundred bytes.
const MAX_VALUES: usize = 2_000_000;

/// A result of a solver.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// `tensors`, `live`, or `layer_7`.
    pub result: String,
    /// The checksum of all its numbers, in native byte order.
    pub sha256: String,
    /// Streamlines, or voxels with a tensor.
    pub count: u64,
    /// A few of its numbers, evenly spaced, to distinguish small differences from large ones.
    pub sample: Vec<Vec<f32>>,
    /// The file next to the session that stores its streamlines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A session file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionFile {
    /// Version of the session's format.
    pub arcuate_session: u64,
    /// Such as `Arcuate 0.1.0`.
    pub program: String,
    /// Seconds since 1970.
    pub saved_s: u64,
    /// Such as `CPU 2 threads · AVX2`.
    pub computed_on: String,
    /// Files to which the session refers, in the order of their numbers.
    pub files: Vec<Entry>,
    /// Masks that no file holds.
    #[serde(default)]
    pub masks: Vec<PackedMask>,
    /// Weights of streamlines and values of voxels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<PackedNumbers>,
    /// Checksums and samples of the results.
    #[serde(default)]
    pub results: Vec<Sum>,
    /// The window's state.
    pub content: Value,
}

#[derive(Deserialize)]
struct Version {
    arcuate_session: u64,
}

/// Reads a session file without examining any file that it refers to.
pub fn read(path: &Path) -> Result<SessionFile, Error> {
    parse(path, &text(path)?)
}

/// Parses the text of a session file. `path` is used in error sentences.
pub fn parse(path: &Path, text: &str) -> Result<SessionFile, Error> {
    const EXPECTED: &str = "a session saved by Arcuate";
    if values_in(text) > MAX_VALUES {
        return Err(Error::malformed(
            path,
            "more values than any session holds",
            EXPECTED,
        ));
    }
    let why = |e: serde_json::Error| {
        let expected = (EXPECTED, "open a copy of it");
        Error::malformed(path, super::json::problem(&e), expected)
    };
    let version = serde_json::from_str::<Version>(text).map_err(why)?;
    match version.arcuate_session {
        VERSION => serde_json::from_str(text).map_err(why),
        newer if newer > VERSION => Err(Error::unsupported(
            path,
            format!("a session of format {newer}, newer than this Arcuate, which reads {VERSION}"),
            "open it with a newer Arcuate",
        )),
        older @ 1.. => Err(Error::unsupported(
            path,
            format!(
                "a session of format {older}, written by an older Arcuate; this one reads format {VERSION}"
            ),
            "open it with the version that wrote it",
        )),
        other => Err(Error::malformed(
            path,
            format!("a session of format {other}, while this Arcuate reads format {VERSION}"),
            EXPECTED,
        )),
    }
}

fn text(path: &Path) -> Result<String, Error> {
    let failed = |e: std::io::Error| Error::reading(path, &e);
    let metadata = plain_file(path, "a session file")?;
    if metadata.len() > MAX_BYTES {
        let found = format!("{} MB", metadata.len() >> 20);
        let expected = format!("a session, which has at most {}", MAX_BYTES >> 20);
        return Err(Error::malformed(path, found, expected));
    }
    let mut bytes = Vec::new();
    let file = super::disk::File::open(path).map_err(failed)?;
    // It may grow meanwhile.
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    String::from_utf8(bytes)
        .map_err(|_| Error::malformed(path, "bytes that are not text", "a session file"))
}

/// An upper bound on the number of values in a JSON text; it counts separators in strings, too.
fn values_in(text: &str) -> usize {
    let opens = |b: &&u8| matches!(b, b',' | b'[' | b'{' | b':');
    text.as_bytes().iter().filter(opens).count()
}

/// Writes a session file, and returns its checksum.
pub fn write(path: &Path, session: &SessionFile) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(session);
    let text = text.map_err(|e| Error::ReadBack {
        path: path.to_owned(),
        difference: atomic::ReadBackDifference::NotJson(e.to_string()),
    })?;
    let text = text + "\n";
    atomic::write_text(path, &text)?;
    Ok(checksum::of_text(&text))
}
