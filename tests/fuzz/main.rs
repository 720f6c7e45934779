//! The fuzzers: libFuzzer with the entry that `ARCUATE_FUZZ` names. `tests/fuzz/run` builds and starts it.

#![no_main]

mod entries;

use entries::Entry;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Allocated bytes, and their peak since it was last read.
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn more(bytes: usize) {
    let stored = ALLOCATED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK_BYTES.fetch_max(stored, Ordering::Relaxed);
}

// SAFETY: the system's allocator does the work; this one counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may exist for a moment.
        more(size);
        let moved = unsafe { System.realloc(at, layout, size) };
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        moved
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The entry, and a folder of this process in memory.
fn chosen() -> &'static (&'static Entry, PathBuf) {
    static CHOSEN: OnceLock<(&Entry, PathBuf)> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("ARCUATE_FUZZ").unwrap_or_default();
        let Some(entry) = Entry::named(&name) else {
            let names: Vec<&str> = entries::ENTRIES.iter().map(|e| e.name).collect();
            eprintln!(
                "Found ARCUATE_FUZZ={name}, expected one of {}",
                names.join(", ")
            );
            std::process::exit(2);
        };
        let shared = PathBuf::from("/dev/shm");
        let root = if shared.is_dir() {
            shared
        } else {
            std::env::temp_dir()
        };
        let folder = root.join(format!("arcuate-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        entries::prepare(&folder);
        (entry, folder)
    })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (entry, folder) = chosen();
    let before = ALLOCATED.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    entry.run(folder, input);
    let taken = PEAK_BYTES.load(Ordering::Relaxed).saturating_sub(before) as u64;
    let allowed = entry.allowed_bytes(input);
    assert!(
        taken <= allowed,
        "{} bytes took {taken} of memory, {allowed} are allowed",
        input.len()
    );
});
