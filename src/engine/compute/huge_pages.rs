//! The allocator of the program: the system's, with huge pages for large blocks, and with those that were freed last at
//! hand for the next ones.

use super::memory::is_limited;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a huge page on x86-64 and on most AArch64 systems, bytes.
const HUGE_PAGE: usize = 2 << 20;
/// Smaller blocks gain little.
const LARGE: usize = 2 * HUGE_PAGE;
/// Blocks from this size on are kept when they are freed.
const KEPT: usize = LARGE;
/// A block of `KEPT` bytes or more is at most an eighth larger than requested, so that the result of a moved region fits
/// into the block of the one before.
const PARTS: usize = 8;
/// At most this many freed blocks are kept,
const MAX_BLOCKS: usize = 64;
/// and together at most this share of the machine's memory.
const MAX_SHARE: usize = 8;

/// Requests huge pages for large blocks where the system grants them only on request, as most Linux distributions do. The
/// first access to fresh memory then interrupts the program once for 2 MB instead of once for 4 kB: on a machine with an
/// H200, 16 threads fill a gigabyte in 36 ms instead of 64 ms, one thread in 0.2 s instead of 0.5 s.
///
/// A result that follows a slider replaces one of about the same size, and filling a block for the first time takes longer
/// than copying the result into it. Freed blocks are therefore kept for the next one of their size. The system may take
/// their pages whenever it needs memory, and counts them as available. Where the user limits the memory of the program, no
/// block is kept.
#[derive(Debug)]
pub struct HugePages;

/// A freed block.
#[derive(Clone, Copy)]
struct Block {
    address: usize,
    layout: Layout,
}

/// The freed blocks, the earliest first.
struct Freed {
    blocks: [Option<Block>; MAX_BLOCKS],
    bytes: usize,
}

static FREED: Mutex<Freed> = Mutex::new(Freed {
    blocks: [None; MAX_BLOCKS],
    bytes: 0,
});

/// Whether the system's allocator has a block of this size, which is not kept.
pub(super) fn can_allocate(bytes: usize) -> bool {
    let Ok(layout) = Layout::array::<u8>(bytes.max(1)) else {
        return false;
    };
    // SAFETY: the layout is not empty, and the block goes back with the same one.
    #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
    unsafe {
        // Otherwise the compiler may omit both calls.
        let block = black_box(System.alloc(layout));
        if !block.is_null() {
            System.dealloc(block, layout);
        }
        !block.is_null()
    }
}

fn freed() -> MutexGuard<'static, Freed> {
    FREED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Freed {
    /// The block of this layout that was freed last.
    fn take(&mut self, layout: Layout) -> Option<*mut u8> {
        let fits = |block: &Option<Block>| block.is_some_and(|block| block.layout == layout);
        let at = self.blocks.iter().rposition(fits)?;
        let block = self.remove(at)?;
        Some(std::ptr::with_exposed_provenance_mut(block.address))
    }

    fn remove(&mut self, at: usize) -> Option<Block> {
        let block = self.blocks[at].take()?;
        self.blocks[at..].rotate_left(1);
        self.bytes -= block.layout.size();
        Some(block)
    }

    /// Keeps a block; returns the blocks that are no longer kept.
    fn keep(&mut self, block: Block, max_bytes: usize) -> [Option<Block>; MAX_BLOCKS] {
        let mut dropped = [None; MAX_BLOCKS];
        for place in &mut dropped {
            let fits = self.bytes + block.layout.size() <= max_bytes;
            if fits && self.blocks[MAX_BLOCKS - 1].is_none() {
                break;
            }
            *place = self.remove(0);
        }
        if let Some(place) = self.blocks.iter_mut().find(|place| place.is_none()) {
            *place = Some(block);
            self.bytes += block.layout.size();
        }
        dropped
    }
}

/// The layout that the system's allocator gets for a requested one; `None` if it is too large for any machine.
fn stored(layout: Layout) -> Option<Layout> {
    if !cfg!(target_os = "linux") || layout.size() < KEPT {
        return Some(layout);
    }
    let step = (1 << layout.size().ilog2()) / PARTS;
    let size = layout.size().checked_next_multiple_of(step)?;
    Layout::from_size_align(size, layout.align()).ok()
}

/// Bytes of freed blocks that are kept at most.
fn max_bytes() -> usize {
    static MAX_BYTES: AtomicUsize = AtomicUsize::new(0);
    match MAX_BYTES.load(Ordering::Relaxed) {
        0 => {
            let bytes = memory_bytes() / MAX_SHARE;
            MAX_BYTES.store(bytes.max(1), Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}

/// The machine's memory; 0 if the system does not report it.
fn memory_bytes() -> usize {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a query without arguments in memory.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        let [pages, bytes] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE]
            .map(|name| unsafe { usize::try_from(libc::sysconf(name)).unwrap_or(0) });
        pages.saturating_mul(bytes)
    }
    #[cfg(not(target_os = "linux"))]
    0
}

// SAFETY: every block comes from the system's allocator and goes back to it with the layout that `stored` gives, which is a
// function of the requested one and at least as large. A block that is kept meanwhile belongs to nobody, and is handed out
// once.
#[allow(
    unsafe_code,
    reason = "an allocator; sound for the reason given as SAFETY"
)]
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(stored) = stored(layout) else {
            return std::ptr::null_mut();
        };
        if stored.size() >= KEPT
            && let Some(block) = freed().take(stored)
        {
            return block;
        }
        // SAFETY: the caller's obligations are those of the system's allocator, here and in the functions below.
        let block = unsafe { System.alloc(stored) };
        advise(block, stored.size(), Advice::HugePages);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(stored) = stored(layout) else {
            return std::ptr::null_mut();
        };
        // Fresh pages are zero, kept ones would have to be cleared.
        // SAFETY: as in `alloc`.
        let block = unsafe { System.alloc_zeroed(stored) };
        advise(block, stored.size(), Advice::HugePages);
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let requested = Layout::from_size_align(new_size, layout.align()).ok();
        let (Some(from), Some(to)) = (stored(layout), requested.and_then(stored)) else {
            return std::ptr::null_mut();
        };
        if from == to {
            return block;
        }
        // SAFETY: as in `alloc`.
        let block = unsafe { System.realloc(block, from, to.size()) };
        advise(block, to.size(), Advice::HugePages);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Only such layouts were allocated.
        let stored = stored(layout).unwrap_or(layout);
        let size = stored.size();
        if size < KEPT || size > max_bytes() || is_limited() {
            // SAFETY: as in `alloc`.
            unsafe { System.dealloc(block, stored) };
            return;
        }
        advise(block, size, Advice::MayBeTaken);
        let block = Block {
            address: block.expose_provenance(),
            layout: stored,
        };
        let dropped = freed().keep(block, max_bytes());
        for Block { address, layout } in dropped.into_iter().flatten() {
            // SAFETY: as in `alloc`; the block is no longer kept.
            unsafe { System.dealloc(std::ptr::with_exposed_provenance_mut(address), layout) };
        }
    }
}

#[derive(Clone, Copy)]
enum Advice {
    HugePages,
    /// The contents are not needed: the system may take the pages until they are written again.
    MayBeTaken,
}

/// Advises the system about the part of a large block that consists of whole huge pages. The rest keeps pages of the usual
/// size, so a block that is filled takes no more memory than before; one of which little is used may.
#[inline]
fn advise(block: *mut u8, bytes: usize, advice: Advice) {
    #[cfg(target_os = "linux")]
    if bytes >= LARGE && !block.is_null() {
        let before = block.addr().next_multiple_of(HUGE_PAGE) - block.addr();
        let whole = (bytes - before) / HUGE_PAGE * HUGE_PAGE;
        let advice = match advice {
            Advice::HugePages => libc::MADV_HUGEPAGE,
            Advice::MayBeTaken => libc::MADV_FREE,
        };
        // SAFETY: advice about pages within the block. If the system refuses it, pages have the usual size, or stay. The
        // contents may be lost only where nobody needs them.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        unsafe {
            libc::madvise(block.add(before).cast(), whole, advice);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, bytes, advice);
}
