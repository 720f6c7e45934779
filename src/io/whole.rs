//! A whole file as bytes in memory.
//!
//! Files are read, never mapped: mapped bytes are the file's own, so that a program that writes into
//! the file changes data that never change here, and one that shortens it kills every process that
//! looks at what is gone. Large files are read by all threads at once, into large pages where the
//! system has any; that takes less than twice as long as to map them and look at every byte.

use super::Error;
use super::memory::available_bytes;
use super::source::Source;
use crate::compute::Control;
use crate::data::Shared;
use crate::data::shared::Bytes;
use rayon::prelude::*;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Files from this size on are read by several threads.
const LARGE_BYTES: u64 = 4 << 20;
/// What one thread reads at a time.
const PIECE_BYTES: usize = 4 << 20;

/// A file's bytes, unpacked if they were compressed, and the job to tell how far their reader is.
pub(super) struct Whole {
    held: Held,
    /// What it unpacks to was counted while it was unpacked: then this reports to nobody, but can
    /// still be cancelled.
    pub control: Control,
    silent: bool,
}

enum Held {
    Pages(memmap2::MmapMut),
    Bytes(Vec<u8>),
}

impl Whole {
    pub fn open(path: &Path, control: &Control) -> Result<Self, Error> {
        let source = Source::open(path, control)?;
        let (held, silent) = match source.known_bytes() {
            Some(length) if length >= LARGE_BYTES => {
                (Held::Pages(pages(path, 0..length, control)?), false)
            }
            _ => (Held::Bytes(source.whole()?), true),
        };
        Ok(Self {
            held,
            control: control.clone(),
            silent,
        })
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.held {
            Held::Pages(pages) => pages,
            Held::Bytes(bytes) => bytes,
        }
    }

    /// To be worked on where they are.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.held {
            Held::Pages(pages) => pages,
            Held::Bytes(bytes) => bytes,
        }
    }

    pub fn shared(self) -> Bytes {
        match self.held {
            Held::Pages(pages) => Arc::new(pages),
            Held::Bytes(bytes) => Arc::new(bytes),
        }
    }

    /// The `count` values that the bytes were made to begin with: where they are, unless a third of
    /// the memory would be held for nothing.
    pub fn beginning<T: bytemuck::Pod>(self, count: usize) -> Shared<T> {
        let (used, held) = (count * size_of::<T>(), self.bytes().len());
        let bytes = self.shared();
        if held - used <= held / 3
            && let Some(values) = Shared::view(bytes.clone(), 0..used)
        {
            return values;
        }
        filled(count, |values: &mut [T]| {
            bytemuck::cast_slice_mut(values).copy_from_slice(&(*bytes).as_ref()[..used]);
        })
    }

    /// Looks whether the job was cancelled and reports bytes that were worked through.
    pub fn advance(&self, bytes: usize) -> Result<(), Error> {
        if !self.silent {
            self.control.advance(bytes as u64);
        }
        Ok(self.control.check()?)
    }
}

/// Bytes of our own, in large pages where the system has any: to be handed out in small ones takes
/// longer than to be filled. `None` where the system has none to give.
fn own(bytes: usize) -> Option<memmap2::MmapMut> {
    let own = memmap2::MmapMut::map_anon(bytes).ok()?;
    // A wish, which need not be granted.
    #[cfg(target_os = "linux")]
    let _ = own.advise(memmap2::Advice::HugePage);
    Some(own)
}

/// `count` values that `fill` makes out of zeros.
pub(super) fn filled<T: bytemuck::Pod>(count: usize, fill: impl FnOnce(&mut [T])) -> Shared<T> {
    let bytes = count.saturating_mul(size_of::<T>());
    let Some(mut own) = own(bytes).filter(|_| bytes as u64 >= LARGE_BYTES) else {
        let mut values = vec![T::zeroed(); count];
        fill(&mut values);
        return values.into();
    };
    // Mapped memory begins with a page, which suits every number.
    fill(bytemuck::cast_slice_mut(&mut own));
    let own: Bytes = Arc::new(own);
    Shared::view(own, 0..bytes).unwrap_or_default()
}

/// A part of a file, in memory of its own that begins with a page. A file that ends before it was shortened
/// meanwhile, and is refused.
pub(super) fn part(path: &Path, range: Range<u64>, control: &Control) -> Result<Bytes, Error> {
    if range.is_empty() {
        return Ok(Arc::new(Vec::new()));
    }
    Ok(Arc::new(pages(path, range, control)?))
}

fn pages(path: &Path, range: Range<u64>, control: &Control) -> Result<memmap2::MmapMut, Error> {
    let length = range.end - range.start;
    let short_of_memory = || Error::Memory {
        path: path.to_owned(),
        bytes: length,
    };
    if available_bytes().is_some_and(|free| free < length) {
        return Err(short_of_memory());
    }
    let bytes = usize::try_from(length).map_err(|_| short_of_memory())?;
    let mut own = own(bytes).ok_or_else(short_of_memory)?;
    let pieces = own.par_chunks_mut(PIECE_BYTES).enumerate();
    pieces.try_for_each(|(i, piece)| {
        control.check()?;
        let at = range.start + (i * PIECE_BYTES) as u64;
        let mut file = File::open(path).map_err(|e| Error::reading(path, &e))?;
        let read = file
            .seek(SeekFrom::Start(at))
            .and_then(|_| file.read_exact(piece));
        read.map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Error::malformed(
                path,
                "a file that became shorter while it was read",
                "one that nobody writes into; open it again",
            ),
            _ => Error::reading(path, &e),
        })
    })?;
    Ok(own)
}
