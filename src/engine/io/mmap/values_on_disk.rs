//! Values that do not fit in memory, in a file without a name.
//!
//! The system keeps as much of the file in memory as there is space for, and writes the rest to the disk. Nobody else can
//! open the file, and it vanishes with the last of its values, also if the process is killed. All its space on the disk
//! is reserved before the first value is written: a full disk is noticed here, and not by a later write to a page.

use crate::data::Shared;
use std::path::PathBuf;

/// The environment variable with the folder for such files, or `none`.
const FOLDER: &str = "ARCUATE_SCRATCH";

/// Smaller values belong in memory: a limit that they exceed is too low for any work.
const MIN_BYTES: u64 = 256 << 20;

/// The share of the free disk that a file may take: one over this number.
const SHARE: u64 = 2;

/// The folder for files without a name, and for indices of files: `$ARCUATE_SCRATCH`, otherwise `$XDG_CACHE_HOME/arcuate`, usually
/// `~/.cache/arcuate`; `None` if there is none or the user wants none.
pub fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|text| !text.is_empty());
    match set(FOLDER) {
        Some(none) if none == "none" => None,
        Some(folder) => Some(folder.into()),
        None => {
            let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.filter(|folder| folder.is_absolute());
            let home = || set("HOME").map(|home| PathBuf::from(home).join(".cache"));
            Some(cache.or_else(home)?.join("arcuate"))
        }
    }
}

/// Values of a new file.
pub struct ValuesOnDisk {
    #[cfg(target_os = "linux")]
    values: memmap2::MmapMut,
}

#[cfg(not(target_os = "linux"))]
impl ValuesOnDisk {
    /// Only Linux has files without a name.
    pub fn zeros(_count: usize) -> Option<Self> {
        let _ = (MIN_BYTES, SHARE);
        None
    }

    pub fn places(&mut self) -> &mut [f32] {
        &mut []
    }

    pub fn finish(self) -> std::io::Result<Shared<f32>> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::super::super::atomic;
    use super::super::super::disk::File;
    use super::{MIN_BYTES, SHARE, Shared, ValuesOnDisk, folder};
    use memmap2::{MmapMut, MmapOptions, UncheckedAdvice};
    use std::os::fd::AsRawFd as _;
    use std::sync::Arc;

    impl ValuesOnDisk {
        /// This many zeros; `None` if they are few, or the disk has no room for them.
        pub fn zeros(count: usize) -> Option<Self> {
            let bytes = count.checked_mul(size_of::<f32>())?;
            if (bytes as u64) < MIN_BYTES {
                return None;
            }
            let folder = folder()?;
            atomic::make_folder(&folder).ok()?;
            let file = File::create_unnamed(&folder).ok()?;
            if !reserve(&file, bytes as u64) {
                return None;
            }
            let mut options = MmapOptions::new();
            options.len(bytes);
            // SAFETY: the file has no name, so that only this process has it, and the process neither shortens it nor
            // writes to it by another way.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            let values = unsafe { options.map_mut(file.inner()) }.ok()?;
            Some(Self { values })
        }

        /// All values.
        pub fn places(&mut self) -> &mut [f32] {
            bytemuck::cast_slice_mut(&mut self.values)
        }

        /// The values, which no longer change.
        pub fn finish(self) -> std::io::Result<Shared<f32>> {
            release(&self.values);
            let bytes = self.values.len();
            let pages = self.values.make_read_only()?;
            // A mapping begins at a page and has whole values.
            Shared::view(Arc::new(pages), 0..bytes)
                .ok_or_else(|| std::io::ErrorKind::InvalidData.into())
        }
    }

    /// Reserves space for the file on a disk, of which it may take a share; on `false` there is none.
    fn reserve(file: &File, bytes: u64) -> bool {
        let descriptor = file.inner().as_raw_fd();
        let Ok(length) = libc::off_t::try_from(bytes) else {
            return false;
        };
        // SAFETY: calls on an open file; both structures are plain numbers, which the calls fill.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        unsafe {
            let mut system: libc::statfs = std::mem::zeroed();
            let mut space: libc::statvfs = std::mem::zeroed();
            if libc::fstatfs(descriptor, &raw mut system) != 0
                || libc::fstatvfs(descriptor, &raw mut space) != 0
            {
                return false;
            }
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            // Files of a temporary file system lie in memory.
            system.f_type != libc::TMPFS_MAGIC
                && bytes <= free / SHARE
                && libc::posix_fallocate(descriptor, 0, length) == 0
        }
    }

    /// Releases the pages; they are mapped again when they are next read.
    fn release(pages: &MmapMut) {
        // SAFETY: the pages of a shared mapping are those of the file, which keeps what was written to them.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        // A hint, which may be refused.
        let _ = unsafe { pages.unchecked_advise(UncheckedAdvice::DontNeed) };
    }
}
