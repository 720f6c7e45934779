//! The parts of a TRX: members of a zip archive, or files of a folder.

use super::super::atomic::{Sum, VerifyFailure};
use super::super::file_bytes::{self, FileBytes};
use super::super::numbers::Type;
use super::super::source::{READING, Source, max_unpacked_bytes, too_expanded};
use super::super::{Error, disk};
use crate::compute::{Control, memory};
use crate::data::Shared;
use crate::data::shared_slice::Bytes;
use std::io::{BufReader, Cursor, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// More arrays than the groups of a connectome with 128 regions: each requires a search in the archive's directory.
const MAX_ARRAYS: usize = 1 << 14;

/// Depth of nested folders examined: `dpg/group/value.float32` needs two.
const DEEPEST: usize = 3;

/// One array, or the header, by its path inside the TRX.
#[derive(Clone)]
pub(super) struct StoredArray {
    pub name: String,
    pub length: usize,
    location: Location,
}

#[derive(Clone)]
enum Location {
    /// A range of these bytes.
    Bytes(Bytes, Range<usize>),
    /// In this file from this offset on.
    File(PathBuf, u64),
}

impl StoredArray {
    fn new(name: String, bytes: Bytes, range: Range<usize>) -> Self {
        Self {
            name,
            length: range.len(),
            location: Location::Bytes(bytes, range),
        }
    }

    /// Its file and the offset of its first byte; `None` if it is in memory.
    pub fn place(&self) -> Option<(&Path, u64)> {
        match &self.location {
            Location::Bytes(..) => None,
            Location::File(path, start) => Some((path, *start)),
        }
    }

    /// Its contents as a range of bytes.
    pub fn bytes(&self, control: &Control) -> Result<(Bytes, Range<usize>), Error> {
        match &self.location {
            Location::Bytes(bytes, range) => Ok((bytes.clone(), range.clone())),
            Location::File(path, start) => {
                let bytes =
                    file_bytes::file_part(path, *start..start + self.length as u64, control)?;
                control.advance(self.length as u64);
                Ok((bytes, 0..self.length))
            }
        }
    }

    /// Fills `out` with numbers of this type, from the one with index `first` on, as float32.
    pub fn read_floats(
        &self,
        number: Type,
        first: u64,
        out: &mut [f32],
        control: &Control,
    ) -> Result<(), Error> {
        let before = first * number.bytes() as u64;
        match &self.location {
            Location::Bytes(bytes, range) => {
                let bytes = &(**bytes).as_ref()[range.clone()][before as usize..];
                number.fill(bytes, false, out);
                control.advance((out.len() * number.bytes()) as u64);
                Ok(control.check()?)
            }
            Location::File(path, start) => {
                file_bytes::read_floats(path, start + before, (number, false), out, control)
            }
        }
    }

    /// Compares the stored bytes with a sum.
    pub fn verify(&self, sum: &Sum, control: &Control) -> Result<(), VerifyFailure> {
        match &self.location {
            Location::File(path, start) => {
                sum.verify(path, *start..start + self.length as u64, control)
            }
            Location::Bytes(bytes, range) => sum.verify_bytes(&(**bytes).as_ref()[range.clone()]),
        }
    }

    /// The points, stored as little-endian numbers of this type: in place if possible, otherwise as float32.
    pub fn points(
        &self,
        number: Type,
        count: usize,
        control: &Control,
    ) -> Result<Shared<[f32; 3]>, Error> {
        if let Location::File(path, start) = &self.location
            && !(number.is_single(false) && start.is_multiple_of(number.bytes() as u64))
        {
            return file_bytes::floats(path, *start, (number, false), count, control);
        }
        let (bytes, range) = self.bytes(control)?;
        let in_place = number.is_single(false);
        let view = in_place.then(|| Shared::view(bytes.clone(), range.clone()));
        Ok(view.flatten().unwrap_or_else(|| {
            file_bytes::filled(count, |points: &mut [[f32; 3]]| {
                let bytes = &(*bytes).as_ref()[range];
                number.fill(bytes, false, points.as_flattened_mut());
            })
        }))
    }
}

pub(super) fn parts(path: &Path, control: &Control) -> Result<Vec<StoredArray>, Error> {
    if path.is_dir() {
        let mut parts = Vec::new();
        folder(path, "", DEEPEST, control, &mut parts)?;
        parts.sort_by(|a, b| a.name.cmp(&b.name));
        return Ok(parts);
    }
    // A regular uncompressed archive: its arrays are read one by one on request.
    let source = Source::open(path, control)?;
    if let Some(bytes) = source.known_bytes() {
        let file = disk::File::open(path).map_err(|e| Error::reading(path, &e))?;
        let from = |range: Range<usize>| Location::File(path.to_owned(), range.start as u64);
        return archive(path, BufReader::new(file), bytes, from, control);
    }
    let contents = FileBytes::open(path, control)?;
    let all = contents.bytes().len();
    contents.advance(all)?;
    let bytes = contents.shared();
    let from = |range: Range<usize>| Location::Bytes(bytes.clone(), range);
    archive(
        path,
        Cursor::new((*bytes).as_ref()),
        all as u64,
        from,
        control,
    )
}

fn folder(
    path: &Path,
    prefix: &str,
    depth: usize,
    control: &Control,
    parts: &mut Vec<StoredArray>,
) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::reading(path, &e);
    for entry in disk::list(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        let metadata = disk::metadata(&path).map_err(|e| Error::reading(&path, &e))?;
        if metadata.is_dir() && depth > 1 {
            folder(&path, &format!("{name}/"), depth - 1, control, parts)?;
        } else if metadata.is_file() && is_array(&name) {
            if parts.len() == MAX_ARRAYS {
                return Err(too_many(&path));
            }
            parts.push(match Source::open(&path, control)?.known_bytes() {
                Some(length) => StoredArray {
                    name,
                    length: length as usize,
                    location: Location::File(path, 0),
                },
                None => {
                    let bytes = FileBytes::open(&path, control)?.shared();
                    let range = 0..(*bytes).as_ref().len();
                    StoredArray::new(name, bytes, range)
                }
            });
        }
    }
    Ok(())
}

fn too_many(path: &Path) -> Error {
    Error::malformed(
        path,
        format!("more than {MAX_ARRAYS} arrays"),
        ("at most that many", "keep fewer groups and values"),
    )
}

/// Excludes hidden files and files that other programs leave behind.
fn is_array(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    !last.starts_with('.') && last.contains('.')
}

/// The members of an archive of `length` bytes; `from` locates those stored without compression.
fn archive(
    path: &Path,
    reader: impl Read + Seek,
    length: u64,
    from: impl Fn(Range<usize>) -> Location,
    control: &Control,
) -> Result<Vec<StoredArray>, Error> {
    let damaged = |why: &dyn std::fmt::Display| {
        Error::malformed(
            path,
            format!("a zip archive that cannot be read ({why})"),
            ("a whole TRX file", "copy it again"),
        )
    };
    // A disk failure is not damage to the archive.
    let unread = |e: ZipError| match e {
        ZipError::Io(e) if e.raw_os_error().is_some() => Error::reading(path, &e),
        e => damaged(&e),
    };
    let mut archive = ZipArchive::new(reader).map_err(|e| match e {
        ZipError::InvalidArchive(_) => {
            damaged(&"it has no directory, so it was cut off or is not an archive")
        }
        other => unread(other),
    })?;
    if archive.len() > MAX_ARRAYS {
        return Err(too_many(path));
    }
    let mut parts = Vec::new();
    let (mut stored, mut unpacked) = (0u64, 0u64);
    for index in 0..archive.len() {
        control.check()?;
        let (name, method, size, range) = {
            let entry = archive.by_index_raw(index).map_err(unread)?;
            let name = entry.name().map_err(|e| damaged(&e))?.into_owned();
            if !entry.is_file() || !is_array(&name) {
                continue;
            }
            if entry.encrypted() {
                return Err(Error::unsupported(
                    path,
                    format!("an encrypted TRX ({name})"),
                    "unpack it and pack it again without a password",
                ));
            }
            let start = entry.data_start().unwrap_or(u64::MAX);
            let end = start.checked_add(entry.compressed_size());
            let end = end.filter(|&end| end <= length);
            let Some(end) = end else {
                return Err(Error::malformed(
                    path,
                    format!("an archive that ends within {name}"),
                    ("a whole TRX file", "it was cut off: copy it again"),
                ));
            };
            let range = start as usize..end as usize;
            (name, entry.compression(), entry.size(), range)
        };
        match method {
            CompressionMethod::Stored => {
                // Overlapping members would be read as more than the file contains.
                stored += range.len() as u64;
                if stored > length {
                    return Err(damaged(&"its members overlap"));
                }
                parts.push(StoredArray {
                    name,
                    length: range.len(),
                    location: from(range),
                });
            }
            CompressionMethod::Deflated => {
                unpacked = unpacked.saturating_add(size);
                if unpacked > max_unpacked_bytes(length) {
                    return Err(too_expanded(path));
                }
                memory::claim(READING, size).map_err(|e| Error::memory(path, e))?;
                let entry = archive.by_index(index).map_err(unread)?;
                let mut content = Vec::new();
                let failed = |why: &dyn std::fmt::Display| Error::Damaged {
                    path: path.to_owned(),
                    reason: format!("{name}: {why}"),
                };
                // One byte more than announced, to detect a surplus.
                let read = entry.take(size + 1).read_to_end(&mut content);
                read.map_err(|e| failed(&e))?;
                if content.len() as u64 != size {
                    return Err(failed(&format!("{} of {size} bytes", content.len())));
                }
                let range = 0..content.len();
                parts.push(StoredArray::new(name, Arc::new(content), range));
            }
            _ => {
                return Err(Error::unsupported(
                    path,
                    format!("a TRX whose {name} is packed neither stored nor deflated"),
                    "pack it again as stored or deflated zip",
                ));
            }
        }
    }
    Ok(parts)
}
