//! Voxels on their way from a file to memory.
//!
//! Memory of every image: four bytes per value (twelve per colour), so at most four times the unpacked file, and
//! twice that while an NRRD's axes are reordered. Deflate expands at most 1,032 times; masks come near that, so there
//! is no lower limit, but no more is allocated than the machine has free. Large values that do not fit in memory lie in
//! a file on the disk ([`ValuesOnDisk`]).

use super::Error;
use super::mmap::ValuesOnDisk;
use super::numbers::Type;
use super::source::{CHUNK_BYTES, READING, Source};
use crate::compute::memory;
use crate::data::Shared;
use std::path::Path;

/// New values of an image in the form that `Volume` stores, so that they are never copied.
pub(super) enum NewValues {
    InMemory(Vec<f32>),
    OnDisk(ValuesOnDisk),
}

impl NewValues {
    /// All values.
    pub fn places(&mut self) -> &mut [f32] {
        match self {
            Self::InMemory(values) => values,
            Self::OnDisk(values) => values.places(),
        }
    }

    /// The values, which no longer change.
    pub fn finish(self, path: &Path) -> Result<Shared<f32>, Error> {
        match self {
            Self::InMemory(values) => Ok(values.into()),
            Self::OnDisk(values) => values.finish().map_err(|e| Error::reading(path, &e)),
        }
    }
}

/// This many zeros: in memory or, if they do not fit there, on the disk. Returns an error if neither has room for them.
pub(super) fn zeros(path: &Path, count: usize) -> Result<NewValues, Error> {
    match memory::claim_for::<f32>(READING, count, 1) {
        Ok(()) => Ok(NewValues::InMemory(vec![0.0; count])),
        Err(shortage) => match ValuesOnDisk::zeros(count) {
            Some(values) => Ok(NewValues::OnDisk(values)),
            None => Err(Error::memory(path, shortage)),
        },
    }
}

/// Reserves this many bytes in a vector; returns an error if the system lacks the memory.
pub(super) fn reserve(path: &Path, bytes: &mut Vec<u8>, count: usize) -> Result<(), Error> {
    let memory_error = |e| Error::memory(path, e);
    memory::claim(READING, count as u64).map_err(memory_error)?;
    let (work, claimed) = (READING, count as u64);
    let reserved = bytes.try_reserve_exact(count);
    reserved.map_err(|_| {
        memory_error(memory::Shortage {
            work,
            bytes: claimed,
        })
    })
}

/// `count` numbers of `size` bytes from the current position of the stream, least byte first; otherwise as
/// [`scalars`].
pub(super) fn bytes(
    source: &mut Source,
    size: usize,
    big_endian: bool,
    count: usize,
    before: u64,
) -> Result<Vec<u8>, Error> {
    let all = count * size;
    let mut bytes = Vec::new();
    reserve(source.path(), &mut bytes, all)?;
    bytes.resize(all, 0);
    let bytes_read = source.read(&mut bytes)?;
    if bytes_read < all {
        return Err(Error::Short {
            path: source.path().to_owned(),
            found_bytes: before + bytes_read as u64,
            expected_bytes: before + all as u64,
        });
    }
    if big_endian {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}

/// `count` values of one number type from the current position of the stream, which is `before` bytes after its
/// start. The stream must be known to hold them.
pub(super) fn scalars(
    source: &mut Source,
    number: Type,
    big_endian: bool,
    count: usize,
    before: u64,
) -> Result<Shared<f32>, Error> {
    let mut values = zeros(source.path(), count)?;
    let size = number.bytes();
    let mut bytes = vec![0; (CHUNK_BYTES / size).min(count) * size];
    let mut done = 0;
    for places in values.places().chunks_mut(CHUNK_BYTES / size) {
        let chunk = &mut bytes[..places.len() * size];
        let bytes_read = source.read(chunk)?;
        if bytes_read < chunk.len() {
            return Err(Error::Short {
                path: source.path().to_owned(),
                found_bytes: before + (done + bytes_read) as u64,
                expected_bytes: before + (count * size) as u64,
            });
        }
        number.fill(chunk, big_endian, places);
        done += chunk.len();
    }
    values.finish(source.path())
}

/// The number of values of an image of these sizes; `None` if no memory could hold them.
pub(super) fn value_count(sizes: &[usize], number: Type) -> Option<usize> {
    let count = sizes.iter().try_fold(1usize, |p, &n| p.checked_mul(n))?;
    // The bytes that the machine can address, with room for every value as float32.
    let bytes = count.checked_mul(number.bytes().max(12))?;
    (bytes <= isize::MAX as usize / 2).then_some(count)
}
