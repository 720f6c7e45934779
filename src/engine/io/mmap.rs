//! A part of a file in private memory, available without waiting for a copy.
//!
//! Mapped bytes belong to the file: a program that writes to it changes them; one that shortens it kills every
//! process that reads the missing part, as does unplugging the drive. Here a lease (fcntl(2), `F_SETLEASE`) delays
//! every program that wants to write to the file or shorten it, all pages are loaded before they are read, and a
//! thread soon replaces them by copies, piece by piece. The lease ends with the last piece: a program that must wait
//! for it waits less than half a second per GB.
//!
//! Where leases are unavailable (other systems, network drives, files of other users or files open for writing)
//! nothing is mapped, and the file is read instead.

mod values_on_disk;

pub(super) use values_on_disk::{ValuesOnDisk, folder as cache_folder};

use super::Error;
use crate::compute::Control;
use crate::data::shared_slice::Bytes;
use std::ops::Range;
use std::path::Path;

/// A part of a file; `None` if it cannot be protected from changes.
pub(super) fn part(
    path: &Path,
    range: Range<u64>,
    control: &Control,
) -> Result<Option<Bytes>, Error> {
    #[cfg(target_os = "linux")]
    return leased::part(path, range, control);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (path, range, control);
        Ok(None)
    }
}

/// Asks the system to read these parts of a file soon, all of them at once. On a disk, parts that are far apart are then
/// there several times sooner than if each is requested when it is needed.
pub(super) fn expect(file: &super::disk::File, parts: impl Iterator<Item = Range<u64>>) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let descriptor = file.inner().as_raw_fd();
        let advise = |start: u64, bytes: u64, advice| {
            let (Ok(start), Ok(bytes)) = (start.try_into(), bytes.try_into()) else {
                return;
            };
            // SAFETY: a hint about an open file, which may be refused.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            let _ = unsafe { libc::posix_fadvise(descriptor, start, bytes, advice) };
        };
        // The system does not read beyond these parts.
        advise(0, 0, libc::POSIX_FADV_RANDOM);
        parts.for_each(|part| {
            advise(part.start, part.end - part.start, libc::POSIX_FADV_WILLNEED);
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, parts);
}

#[cfg(target_os = "linux")]
mod leased {
    use super::super::disk::File;
    use super::{Bytes, Control, Error, Path, Range};
    use memmap2::{Advice, Mmap, MmapMut, MmapOptions};
    use rayon::prelude::*;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::FileExt as _;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    /// Bytes copied at a time. Large pages stay whole if both sides begin at one.
    const PIECE_BYTES: usize = 16 << 20;
    const LARGE_PAGE_BYTES: usize = 2 << 20;
    /// An opened file is displayed first; copies are made afterwards.
    const COPY_DELAY: Duration = Duration::from_millis(100);
    /// asm-generic/fcntl.h: selects the signal that reports a process waiting for a lease.
    const F_SETSIG: libc::c_int = 10;
    /// Local file systems (statfs(2)): on others a lease does not delay other programs.
    const LOCAL: [libc::c_long; 5] = [
        libc::EXT4_SUPER_MAGIC,
        libc::XFS_SUPER_MAGIC,
        libc::BTRFS_SUPER_MAGIC,
        libc::F2FS_SUPER_MAGIC,
        libc::TMPFS_MAGIC,
    ];

    struct Leased {
        pages: Mmap,
        /// Offset in the file.
        start: u64,
        /// Open for as long as its lease is needed.
        file: Mutex<Option<File>>,
    }

    impl AsRef<[u8]> for Leased {
        fn as_ref(&self) -> &[u8] {
            &self.pages
        }
    }

    pub fn part(path: &Path, range: Range<u64>, control: &Control) -> Result<Option<Bytes>, Error> {
        let Some(leased) = Leased::open(path, range) else {
            return Ok(None);
        };
        if !leased.load_pages(control)? {
            return Ok(None);
        }
        let leased = Arc::new(leased);
        let copied = leased.clone();
        let copier = std::thread::Builder::new().name("copy of a file".to_owned());
        // A part that cannot be copied now may be copied later: until then the lease stays.
        let started = copier.spawn(move || {
            while Arc::strong_count(&copied) > 1 {
                std::thread::sleep(COPY_DELAY);
                if copied.copy() {
                    return;
                }
            }
        });
        Ok(started.is_ok().then_some(leased as Bytes))
    }

    /// Takes a lease: nobody else may write to the file or shorten it until it is closed.
    fn take_lease(file: &File) -> bool {
        let descriptor = file.inner().as_raw_fd();
        // SAFETY: calls on an open file; `statfs` is plain numbers, which the call fills. SIGURG is a signal that is
        // ignored by default.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        unsafe {
            let mut system: libc::statfs = std::mem::zeroed();
            libc::fstatfs(descriptor, &raw mut system) == 0
                && LOCAL.contains(&system.f_type)
                && libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_RDLCK) == 0
        }
    }

    impl Leased {
        fn open(path: &Path, range: Range<u64>) -> Option<Self> {
            let file = File::open(path).ok().filter(take_lease)?;
            // From here on the file does not change.
            let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            if file.inner().metadata().ok()?.len() < range.end || length == 0 {
                return None;
            }
            let mut options = MmapOptions::new();
            options.offset(range.start).len(length);
            // SAFETY: the lease prevents changes to the file until copies have replaced its pages.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            let pages = unsafe { options.map(file.inner()) }.ok()?;
            Some(Self {
                pages,
                start: range.start,
                file: Mutex::new(Some(file)),
            })
        }

        /// Loads all pages into memory: an unreadable page is reported here, by `false`, instead of killing the
        /// process later.
        fn load_pages(&self, control: &Control) -> Result<bool, Error> {
            let pieces = (0..self.pages.len())
                .into_par_iter()
                .step_by(LARGE_PAGE_BYTES);
            let fetched: Vec<bool> = pieces
                .map(|at| {
                    control.check()?;
                    let bytes = LARGE_PAGE_BYTES.min(self.pages.len() - at);
                    let fetched = self.pages.advise_range(Advice::PopulateRead, at, bytes);
                    Ok(fetched.is_ok())
                })
                .collect::<Result<_, Error>>()?;
            Ok(fetched.into_iter().all(|done| done))
        }

        /// Replaces the file's pages by copies and ends the lease, unless that fails or the pages are no longer
        /// needed.
        fn copy(self: &Arc<Self>) -> bool {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let copied = file.as_ref().and_then(|file| self.copy_from(file));
            if copied.is_some() {
                // Closing ends the lease.
                *file = None;
            }
            copied.is_some()
        }

        fn copy_from(self: &Arc<Self>, file: &File) -> Option<()> {
            // The mapping begins with the page that contains the start of the part.
            let address = self.pages.as_ptr() as usize;
            let before = (self.start % page_bytes()) as usize;
            let (first, end) = (address - before, address + self.pages.len());
            let mut own = MmapMut::map_anon(PIECE_BYTES + LARGE_PAGE_BYTES).ok()?;
            // A hint, which may be ignored.
            let _ = own.advise(Advice::HugePage);
            let mut at = first;
            while at < end {
                if Arc::strong_count(self) == 1 {
                    return None;
                }
                let next = (at + PIECE_BYTES) / PIECE_BYTES * PIECE_BYTES;
                let next = next.min(end.next_multiple_of(page_bytes() as usize));
                // The copy lies at the offset from the start of a large page that it has in the mapping.
                let place = own.as_ptr() as usize;
                let skip = at.wrapping_sub(place) % LARGE_PAGE_BYTES;
                let from = self.start - before as u64 + (at - first) as u64;
                let piece = &mut own[skip..][..next - at];
                let used = (end - at).min(piece.len());
                file.inner().read_exact_at(&mut piece[..used], from).ok()?;
                replace_pages(piece, at)?;
                at = next;
            }
            Some(())
        }
    }

    fn page_bytes() -> u64 {
        // SAFETY: only queries a number.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        u64::try_from(bytes).unwrap_or(4096)
    }

    /// Moves whole pages to an address whose pages have the same content, and replaces those atomically; zeros remain
    /// at the source.
    fn replace_pages(pages: &mut [u8], address: usize) -> Option<()> {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
        let bytes = pages.len();
        // SAFETY: both are ranges of whole pages mapped only here; readers of the address see the same bytes before
        // and after, and the system permits no read in between.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        let moved = unsafe {
            let (old, new) = (pages.as_mut_ptr().cast(), address as *mut libc::c_void);
            libc::mremap(old, bytes, bytes, flags, new)
        };
        (moved as usize == address).then_some(())
    }
}
