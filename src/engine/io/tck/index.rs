//! The index of a TCK: the number of points of each streamline, by which single streamlines can be read.
//!
//! Building the index reads the whole file once. The cache folder keeps it for later openings, as long as the length of
//! the file and the time of its last change stay the same. A damaged or outdated index is rebuilt. If the cache folder
//! cannot be written to, each opening builds the index.

use super::{HEADER_LIMIT_BYTES, Head, Numbers, Reader};
use crate::compute::{Control, memory};
use crate::io::pieces::{PieceReader, state};
use crate::io::source::{READING, Source};
use crate::io::text::in_line;
use crate::io::{Error, FibreInfo, atomic, checksum, disk, mmap};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Points read at a time.
const POINTS_AT_ONCE: usize = 1 << 20;
/// The index of a smaller file is built faster than a person notices.
const MIN_STORED_BYTES: u64 = 1 << 20;
/// Number of indices that stay in the cache folder; the oldest ones go.
const MAX_STORED: usize = 32;
/// First line of the stored index; a later version has another.
const MAGIC: &[u8] = b"arcuate tck index 1\n";
/// Longest second line: it holds a few sentences.
const MAX_HEAD_BYTES: u64 = 1 << 20;

/// The places of the streamlines in a file.
pub(in crate::io) struct Index {
    /// Offset of the first triplet in the file.
    pub start: u64,
    pub numbers: Numbers,
    /// Streamline `i` has the points `offsets[i]..offsets[i + 1]`; before each of them, and of its mark, are as many
    /// marks as streamlines before it.
    pub offsets: Arc<[u64]>,
    /// Remarks about the file after all of it was read.
    pub info: FibreInfo,
}

/// The second line of a stored index; the numbers of points follow as little-endian uint32.
#[derive(Serialize, Deserialize)]
struct StoredHead {
    bytes: u64,
    modified_ns: u64,
    streamlines: usize,
    warnings: Vec<String>,
    notes: Vec<String>,
    unread: Vec<String>,
}

impl Index {
    /// Reads the stored index of a file, or builds and stores it. `None` for a compressed file, in which no point can
    /// be read alone.
    pub fn open(path: &Path, control: &Control) -> Result<Option<Self>, Error> {
        let mut source = Source::open(path, &control.silent())?;
        if source.known_bytes().is_none() {
            return Ok(None);
        }
        let mut start = vec![0; HEADER_LIMIT_BYTES];
        let read = source.read(&mut start)?;
        start.truncate(read);
        let head = Head::parse(path, &start).map_err(|e| source.cause(e))?;
        let known = identity(path);
        let place = known.and_then(|_| stored_path(path));
        let stored = place.as_deref().zip(known);
        let stored = stored.and_then(|(place, known)| read_stored(place, known));
        let is_new = stored.is_none();
        let (offsets, info) = match stored {
            Some((offsets, remarks)) => {
                let info = FibreInfo {
                    warnings: remarks.warnings,
                    notes: remarks.notes,
                    unread: remarks.unread,
                    ..head.info
                };
                (offsets, info)
            }
            None => build(path, control)?,
        };
        let index = Self {
            start: head.start,
            numbers: head.numbers,
            offsets: offsets.into(),
            info,
        };
        if let (true, Some(place), Some(known)) = (is_new, place, known)
            && known.0 >= MIN_STORED_BYTES
            && identity(path) == Some(known)
        {
            // The index is complete in memory; the file only saves time.
            let _ = index.store(&place, known);
            remove_oldest(&place);
        }
        Ok(Some(index))
    }

    fn store(&self, place: &Path, (bytes, modified_ns): (u64, u64)) -> Result<(), Error> {
        if let Some(folder) = place.parent() {
            atomic::make_private_folder(folder)?;
        }
        let head = StoredHead {
            bytes,
            modified_ns,
            streamlines: self.offsets.len() - 1,
            warnings: self.info.warnings.clone(),
            notes: self.info.notes.clone(),
            unread: self.info.unread.clone(),
        };
        let mut content = MAGIC.to_vec();
        serde_json::to_writer(&mut content, &head).map_err(|e| Error::writing(place, &e.into()))?;
        content.push(b'\n');
        for ends in self.offsets.windows(2) {
            let Ok(points) = u32::try_from(ends[1] - ends[0]) else {
                return Ok(());
            };
            content.extend(points.to_le_bytes());
        }
        atomic::write_verified(
            place,
            |file| Ok(file.write_all(&content)?),
            |written| match disk::read(written) {
                Ok(stored) if stored == content => Ok(()),
                Ok(_) => Err(atomic::ReadBackDifference::File),
                Err(e) => Err(e.into()),
            },
        )
    }
}

/// Removes the oldest indices if there are too many beside this one.
fn remove_oldest(place: &Path) {
    let entries = place.parent().and_then(|folder| disk::list(folder).ok());
    let paths = entries.into_iter().flatten().filter_map(Result::ok);
    let dated =
        paths.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    let mut dated: Vec<_> = dated.collect();
    dated.sort();
    for (_, path) in dated.iter().rev().skip(MAX_STORED) {
        let _ = disk::remove_file(path);
    }
}

/// Length of a file and the time of its last change, ns since 1970.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let (bytes, modified) = state(path)?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    Some((bytes, u64::try_from(since.as_nanos()).ok()?))
}

/// The place of the index of a file in the cache folder.
pub fn stored_path(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let name = checksum::of_text(&path.to_string_lossy());
    Some(mmap::cache_folder()?.join("tck-index").join(name))
}

/// The stored index of a file of this identity, if there is one that fits.
fn read_stored(place: &Path, (bytes, modified_ns): (u64, u64)) -> Option<(Vec<u64>, StoredHead)> {
    let mut file = disk::File::open(place).ok()?;
    let length = disk::metadata(place).ok()?.len();
    let mut start = vec![0; MAX_HEAD_BYTES.min(length) as usize];
    file.read_exact(&mut start).ok()?;
    let rest = start.strip_prefix(MAGIC)?;
    let end = rest.iter().position(|b| *b == b'\n')?;
    let head: StoredHead = serde_json::from_slice(&rest[..end]).ok()?;
    let before = (MAGIC.len() + end + 1) as u64;
    let count = head.streamlines as u64;
    let is_same = (head.bytes, head.modified_ns) == (bytes, modified_ns);
    if !is_same || before.checked_add(count.checked_mul(4)?)? != length {
        return None;
    }
    memory::claim_for::<u64>(READING, head.streamlines, 2).ok()?;
    let mut numbers = rest[end + 1..].to_vec();
    file.read_to_end(&mut numbers).ok()?;
    let mut offsets = Vec::with_capacity(head.streamlines + 1);
    let mut points = 0u64;
    offsets.push(0);
    for number in numbers.as_chunks::<4>().0 {
        points += u64::from(u32::from_le_bytes(*number));
        offsets.push(points);
    }
    // All points and marks have to be in the file.
    let triplets = points.checked_add(count.saturating_sub(1))?;
    let is_within_file =
        offsets.len() == head.streamlines + 1 && triplets.checked_mul(12)? <= bytes;
    let lines = [&head.warnings, &head.notes, &head.unread];
    let is_plain = lines
        .iter()
        .all(|l| l.iter().all(|s| in_line(s, '·') == *s));
    (is_within_file && is_plain).then_some((offsets, head))
}

/// Reads all of a file.
fn build(path: &Path, control: &Control) -> Result<(Vec<u64>, FibreInfo), Error> {
    let mut reader = Reader::open(path, POINTS_AT_ONCE, control)?;
    let mut offsets = vec![0u64];
    while let Some(piece) = reader.next(control)? {
        let before = offsets.last().copied().unwrap_or(0);
        if offsets.capacity() - offsets.len() < piece.len() {
            let more = offsets.len().max(piece.len());
            memory::claim_for::<u64>(READING, more, 2).map_err(|e| Error::memory(path, e))?;
            offsets.reserve(more);
        }
        offsets.extend(piece.offsets[1..].iter().map(|end| before + end));
    }
    Ok((offsets, Box::new(reader).info()))
}
