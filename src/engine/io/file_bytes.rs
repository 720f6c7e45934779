//! A whole file as bytes in memory.
//!
//! The bytes are our own copy: a program that writes to the file changes nothing here. Large files are read by all
//! threads at once, into large pages if the system has them. Parts that are used in place need not be read first
//! ([`file_part`]).

use super::numbers::Type;
use super::source::Source;
use super::{Error, disk, mmap};
use crate::compute::{Control, memory};
use crate::data::Shared;
use crate::data::shared_slice::Bytes;
use rayon::prelude::*;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Files of at least this size are read by several threads.
const LARGE_BYTES: u64 = 4 << 20;
/// Bytes that one thread reads at a time.
const PIECE_BYTES: usize = 2 << 20;
/// Numbers converted at a time, while they are in the processor's cache.
const CONVERTED_AT_ONCE: usize = 1 << 15;

/// A file's bytes, unpacked if they were compressed, and the job to which reading reports progress.
pub(super) struct FileBytes {
    storage: Storage,
    /// If the unpacked size was unknown until unpacking ended, this control reports no progress, but still cancels.
    pub control: Control,
    silent: bool,
}

enum Storage {
    Pages(memmap2::MmapMut),
    Bytes(Vec<u8>),
}

impl FileBytes {
    pub fn open(path: &Path, control: &Control) -> Result<Self, Error> {
        let source = Source::open(path, control)?;
        let (storage, silent) = match source.known_bytes() {
            Some(length) if length >= LARGE_BYTES => {
                (Storage::Pages(pages(path, 0..length, control)?), false)
            }
            _ => (Storage::Bytes(source.whole()?), true),
        };
        Ok(Self {
            storage,
            control: control.clone(),
            silent,
        })
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::Pages(pages) => pages,
            Storage::Bytes(bytes) => bytes,
        }
    }

    /// The bytes, to be modified in place.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.storage {
            Storage::Pages(pages) => pages,
            Storage::Bytes(bytes) => bytes,
        }
    }

    pub fn shared(self) -> Bytes {
        match self.storage {
            Storage::Pages(pages) => Arc::new(pages),
            Storage::Bytes(bytes) => Arc::new(bytes),
        }
    }

    /// The first `count` values of the bytes: in place, unless that would waste more than a third of the memory.
    pub fn first_values<T: bytemuck::Pod>(self, count: usize) -> Shared<T> {
        let (used, length) = (count * size_of::<T>(), self.bytes().len());
        let bytes = self.shared();
        if length - used <= length / 3
            && let Some(values) = Shared::view(bytes.clone(), 0..used)
        {
            return values;
        }
        filled(count, |values: &mut [T]| {
            bytemuck::cast_slice_mut(values).copy_from_slice(&(*bytes).as_ref()[..used]);
        })
    }

    /// Checks for cancellation and reports processed bytes.
    pub fn advance(&self, bytes: usize) -> Result<(), Error> {
        if !self.silent {
            self.control.advance(bytes as u64);
        }
        Ok(self.control.check()?)
    }
}

/// Anonymous memory in large pages if the system has them: allocation in small pages takes longer than filling them.
/// `None` if the system has no memory.
fn allocate_large_pages(bytes: usize) -> Option<memmap2::MmapMut> {
    let own = memmap2::MmapMut::map_anon(bytes).ok()?;
    // A hint, which may be ignored.
    #[cfg(target_os = "linux")]
    let _ = own.advise(memmap2::Advice::HugePage);
    Some(own)
}

/// `count` values, initially zero, filled by `fill`.
pub(super) fn filled<T: bytemuck::Pod>(count: usize, fill: impl FnOnce(&mut [T])) -> Shared<T> {
    let bytes = count.saturating_mul(size_of::<T>());
    let Some(mut own) = allocate_large_pages(bytes).filter(|_| bytes as u64 >= LARGE_BYTES) else {
        let mut values = vec![T::zeroed(); count];
        fill(&mut values);
        return values.into();
    };
    // Mapped memory begins at a page, which is aligned for every number type.
    fill(bytemuck::cast_slice_mut(&mut own));
    let own: Bytes = Arc::new(own);
    Shared::view(own, 0..bytes).unwrap_or_default()
}

/// A part of a file, for use in place: mapped while that is safe, otherwise copied to page-aligned memory. A file
/// that ends early was shortened meanwhile and gives an error.
pub(super) fn file_part(path: &Path, range: Range<u64>, control: &Control) -> Result<Bytes, Error> {
    if range.is_empty() {
        return Ok(Arc::new(Vec::new()));
    }
    let length = range.end - range.start;
    if length >= LARGE_BYTES {
        check_memory(path, length)?;
        if let Some(mapped) = mmap::part(path, range.clone(), control)? {
            return Ok(mapped);
        }
    }
    Ok(Arc::new(pages(path, range, control)?))
}

fn short_of_memory(path: &Path, bytes: u64) -> Error {
    Error::Memory {
        path: path.to_owned(),
        bytes,
    }
}

/// Checks that this many bytes are available.
fn check_memory(path: &Path, bytes: u64) -> Result<(), Error> {
    memory::claim(super::source::READING, bytes).map_err(|e| Error::memory(path, e))
}

fn pages(path: &Path, range: Range<u64>, control: &Control) -> Result<memmap2::MmapMut, Error> {
    let length = range.end - range.start;
    check_memory(path, length)?;
    let bytes = usize::try_from(length).map_err(|_| short_of_memory(path, length))?;
    let mut own = allocate_large_pages(bytes).ok_or_else(|| short_of_memory(path, length))?;
    let pieces = own.par_chunks_mut(PIECE_BYTES).enumerate();
    pieces.try_for_each(|(i, piece)| {
        control.check()?;
        let mut reader = FileReader::at(path, range.start + (i * PIECE_BYTES) as u64)?;
        reader.read(piece)
    })?;
    Ok(own)
}

/// A file opened at a byte offset, for one of several readers.
struct FileReader<'a> {
    path: &'a Path,
    file: disk::File,
}

impl<'a> FileReader<'a> {
    fn at(path: &'a Path, byte: u64) -> Result<Self, Error> {
        let file = disk::File::open(path).map_err(|e| Error::reading(path, &e))?;
        let mut reader = Self { path, file };
        reader.seek(byte)?;
        Ok(reader)
    }

    /// The next bytes are those from this offset on.
    fn seek(&mut self, byte: u64) -> Result<(), Error> {
        let sought = self.file.seek(SeekFrom::Start(byte));
        sought.map(drop).map_err(|e| Error::reading(self.path, &e))
    }

    /// Reads the next bytes. A file that ends early was shortened meanwhile.
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact(bytes).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Error::malformed(
                self.path,
                "a file that became shorter while it was read",
                ("a file that no program is writing", "open it again"),
            ),
            _ => Error::reading(self.path, &e),
        })
    }
}

/// Reads numbers at any offsets of one file.
pub(super) struct RangeReader<'a> {
    file: FileReader<'a>,
    buffer: Vec<u8>,
}

impl<'a> RangeReader<'a> {
    pub fn open(path: &'a Path) -> Result<Self, Error> {
        Ok(Self {
            file: FileReader::at(path, 0)?,
            buffer: Vec::new(),
        })
    }

    /// Parts of the file that will be read next, so that the system may read all of them at once.
    pub fn expect(&self, parts: impl Iterator<Item = Range<u64>>) {
        mmap::expect(&self.file.file, parts);
    }

    /// Fills `out` with numbers from an offset on, as float32.
    pub fn floats(
        &mut self,
        start: u64,
        (number, big_endian): (Type, bool),
        out: &mut [f32],
    ) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        self.file.seek(start)?;
        if number.is_single(big_endian) {
            return self.file.read(bytemuck::cast_slice_mut(out));
        }
        for out in out.chunks_mut(CONVERTED_AT_ONCE) {
            self.buffer.resize(number.bytes() * out.len(), 0);
            self.file.read(&mut self.buffer)?;
            number.fill_alone(&self.buffer, big_endian, out);
        }
        Ok(())
    }
}

/// Reads some bytes of a file.
pub(super) fn read_range(path: &Path, start: u64, bytes: usize) -> Result<Vec<u8>, Error> {
    let mut all = vec![0; bytes];
    FileReader::at(path, start)?.read(&mut all)?;
    Ok(all)
}

/// Passes a range of a file in pieces that contain whole numbers of any type.
pub(super) fn for_each_piece(
    path: &Path,
    mut range: Range<u64>,
    control: &Control,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Error> {
    let mut reader = FileReader::at(path, range.start)?;
    let mut buffer = vec![0; PIECE_BYTES];
    while !range.is_empty() {
        control.check()?;
        let bytes = (range.end - range.start).min(PIECE_BYTES as u64);
        let piece = &mut buffer[..bytes as usize];
        reader.read(piece)?;
        take(piece);
        control.advance(bytes);
        range.start += bytes;
    }
    Ok(())
}

/// Numbers in a file from an offset on, as `count` values of float32.
pub(super) fn floats<T: bytemuck::Pod>(
    path: &Path,
    start: u64,
    form: (Type, bool),
    count: usize,
    control: &Control,
) -> Result<Shared<T>, Error> {
    check_memory(path, count.saturating_mul(size_of::<T>()) as u64)?;
    let mut outcome = Ok(());
    let values = filled(count, |values: &mut [T]| {
        let out = bytemuck::cast_slice_mut(values);
        outcome = read_floats(path, start, form, out, control);
    });
    outcome.map(|()| values)
}

/// Fills `out` with numbers in a file from an offset on, converting each piece while it is in the processor's cache.
pub(super) fn read_floats(
    path: &Path,
    start: u64,
    (number, big_endian): (Type, bool),
    out: &mut [f32],
    control: &Control,
) -> Result<(), Error> {
    let pieces = out.par_chunks_mut(PIECE_BYTES / 4).enumerate();
    pieces.try_for_each(|(i, piece)| {
        control.check()?;
        let at = start + (i * PIECE_BYTES / 4 * number.bytes()) as u64;
        let mut reader = FileReader::at(path, at)?;
        control.advance((piece.len() * number.bytes()) as u64);
        if number.is_single(big_endian) {
            return reader.read(bytemuck::cast_slice_mut(piece));
        }
        let mut buffer = vec![0; number.bytes() * CONVERTED_AT_ONCE];
        for out in piece.chunks_mut(CONVERTED_AT_ONCE) {
            let bytes = &mut buffer[..number.bytes() * out.len()];
            reader.read(bytes)?;
            number.fill_alone(bytes, big_endian, out);
        }
        Ok(())
    })
}
