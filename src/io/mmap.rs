//! A whole file as bytes in memory: mapped where it is large, so that only what is looked at is
//! fetched and nothing is copied; read where it is small or compressed.
//!
//! Mapped bytes are the file's own. Programs that replace a file by renaming, as Arcuate does, leave
//! the old bytes to whoever maps them; one that writes into the file in place changes what we see,
//! as it does for every program that maps. Small files, which people edit, are therefore read.
#![allow(unsafe_code)]

use super::Error;
use super::source::Source;
use crate::compute::Control;
use crate::data::Shared;
use crate::data::shared::Bytes;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Files from this size on are mapped.
const MAPPED_FROM_BYTES: u64 = 4 << 20;

/// A file's bytes, unpacked if they were compressed, and the job to tell how far their reader is.
pub(super) struct Whole {
    pub bytes: Bytes,
    /// What it unpacks to was counted while it was unpacked: then this reports to nobody, but can
    /// still be cancelled.
    pub control: Control,
    silent: bool,
}

impl Whole {
    pub fn open(path: &Path, control: &Control) -> Result<Self, Error> {
        let source = Source::open(path, control)?;
        let (bytes, silent): (Bytes, bool) = match source.known_bytes() {
            Some(length) if length >= MAPPED_FROM_BYTES => (Arc::new(map(path)?), false),
            _ => (Arc::new(source.whole()?), true),
        };
        Ok(Self {
            bytes,
            control: control.clone(),
            silent,
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

/// `count` values that `fill` makes out of zeros. Many of them get memory of their own in large pages,
/// where the system has any: to be handed out in small ones takes longer than to be filled.
pub(super) fn filled<T: bytemuck::Pod>(count: usize, fill: impl FnOnce(&mut [T])) -> Shared<T> {
    let bytes = count.saturating_mul(size_of::<T>());
    let own = (bytes as u64 >= MAPPED_FROM_BYTES).then(|| memmap2::MmapMut::map_anon(bytes));
    let Some(Ok(mut own)) = own else {
        let mut values = vec![T::zeroed(); count];
        fill(&mut values);
        return values.into();
    };
    // A wish, which need not be granted.
    #[cfg(target_os = "linux")]
    let _ = own.advise(memmap2::Advice::HugePage);
    // Mapped memory begins with a page, which suits every number.
    fill(bytemuck::cast_slice_mut(&mut own));
    let own: Bytes = Arc::new(own);
    Shared::view(own, 0..bytes).unwrap_or_default()
}

fn map(path: &Path) -> Result<memmap2::Mmap, Error> {
    let file = File::open(path).map_err(|e| Error::reading(path, &e))?;
    // SAFETY: the bytes are only read, and as plain numbers, of which every pattern is one. That
    // another program may write into the file meanwhile is said above.
    let mapped = unsafe { memmap2::Mmap::map(&file) };
    mapped.map_err(|e| Error::reading(path, &e))
}
