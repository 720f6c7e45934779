//! Memory: how much the process may still allocate, and the single check before large allocations.
//!
//! Large means more than a byte per voxel of a grid, or growing with voxels times volumes, or with the number of
//! streamlines. Code about to allocate that much first calls [`claim`] with its peak number of bytes: a job that does
//! not fit ends with a sentence before it has allocated anything, where the system would otherwise end the whole
//! program later. A test can make any of these claims fail ([`watch`]).
//!
//! # Example
//!
//! A claim that no machine can satisfy:
//!
//! ```
//! use arcuate_engine::compute::memory;
//!
//! assert!(memory::claim("A small table", 1024).is_ok());
//! let refused = memory::claim("A table of everything", u64::MAX / 2);
//! assert!(refused.is_err_and(|shortage| shortage.to_string().starts_with("A table of everything")));
//! ```

use bytemuck::Zeroable;
use rayon::prelude::*;
use std::fmt::{Display, Formatter};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Below this many bytes the system is not queried: querying takes longer than allocating.
const LARGE_BYTES: u64 = 1 << 20;

/// A claim that was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// The work that needs the memory; begins a sentence: `Fitting tensors`.
    pub work: &'static str,
    /// Memory needed, bytes.
    pub bytes: u64,
}

impl Display for Shortage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.work)?;
        against_limit(f, self.bytes, "take fewer voxels or streamlines")
    }
}

impl std::error::Error for Shortage {}

/// Decides on a claim before the system does: `false` refuses it.
pub type Watcher = Arc<dyn Fn(&'static str, u64) -> bool + Send + Sync>;

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCHER: RwLock<Option<Watcher>> = RwLock::new(None);

/// Ends the observation when dropped.
pub struct Watch(());

/// From now on `watcher` is called before each claim of this process: for tests.
pub fn watch(watcher: Watcher) -> Watch {
    *WATCHER.write().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
    WATCHED.store(true, Ordering::Relaxed);
    Watch(())
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::Relaxed);
        *WATCHER.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cold]
fn is_refused(what: &'static str, bytes: u64) -> bool {
    let watcher = WATCHER.read().unwrap_or_else(PoisonError::into_inner);
    watcher
        .as_ref()
        .is_some_and(|watcher| !watcher(what, bytes))
}

/// Checks that this much memory is available; `work` begins the error sentence. Allocates nothing.
pub fn claim(work: &'static str, bytes: u64) -> Result<(), Shortage> {
    let shortage = Shortage { work, bytes };
    if WATCHED.load(Ordering::Relaxed) && is_refused(work, bytes) {
        return Err(shortage);
    }
    // The user's own limit is exact to the byte.
    if bytes < LARGE_BYTES && !is_limited() {
        return Ok(());
    }
    let count = usize::try_from(bytes).map_err(|_| shortage)?;
    let is_free = available_bytes().is_none_or(|free| bytes <= free);
    match is_free && Vec::<u8>::new().try_reserve_exact(count).is_ok() {
        true => Ok(()),
        false => Err(shortage),
    }
}

/// [`claim`] for `count` items of `each` values of type `T`.
pub fn claim_for<T>(what: &'static str, count: usize, each: usize) -> Result<(), Shortage> {
    let bytes = (count as u64).saturating_mul(each as u64);
    claim(what, bytes.saturating_mul(size_of::<T>() as u64))
}

/// `n` zeros in untouched memory: the operating system provides each page when it is first written, on the thread
/// that writes it.
pub fn zeroed<T: Zeroable>(n: usize) -> Arc<[T]> {
    let slice = Arc::<[T]>::new_zeroed_slice(n);
    // SAFETY: for a `Zeroable` type all-zero bytes are a valid value.
    #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
    unsafe {
        slice.assume_init()
    }
}

/// Appends parts one after the other, copied on all threads of the installed pool: most of the time goes into the
/// first access to fresh memory. Each part is dropped as soon as it is copied.
pub fn append<T: Copy + Send + Sync, P: AsRef<[T]> + Send>(all: &mut Vec<T>, parts: Vec<P>) {
    /// Values that a thread copies at a time.
    const PIECE: usize = 1 << 16;
    let count = parts.iter().map(|part| part.as_ref().len()).sum();
    match all.is_empty() {
        true => all.reserve_exact(count),
        false => all.reserve(count),
    }
    let mut rest = &mut all.spare_capacity_mut()[..count];
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, more) = rest.split_at_mut(part.as_ref().len());
        places.push((place, part));
        rest = more;
    }
    assert!(rest.is_empty(), "parts keep their lengths");
    places.into_par_iter().for_each(|(place, part)| {
        assert_eq!(place.len(), part.as_ref().len(), "parts keep their lengths");
        let pieces = part.as_ref().par_chunks(PIECE);
        let pieces = place.par_chunks_mut(PIECE).zip(pieces);
        pieces.for_each(|(place, piece)| _ = place.write_copy_of_slice(piece));
    });
    // SAFETY: the parts have `count` values in all, as asserted, and each is written into its place behind the former end.
    #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
    unsafe {
        all.set_len(all.len() + count);
    }
}

/// The user's limit for the whole process, bytes.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// The limit with which the window was started, which its settings cannot raise, bytes.
static LIMIT_AT_START: AtomicU64 = AtomicU64::new(u64::MAX);

/// From now on [`available_bytes`] leaves no more than this to the whole process.
pub fn limit_memory(bytes: Option<u64>) {
    let at_start = LIMIT_AT_START.load(Ordering::Relaxed);
    LIMIT.store(bytes.unwrap_or(u64::MAX).min(at_start), Ordering::Relaxed);
}

/// Does the same as [`limit_memory`], and later limits cannot exceed this one.
pub fn limit_memory_for_good(bytes: u64) {
    LIMIT_AT_START.store(bytes, Ordering::Relaxed);
    limit_memory(Some(bytes));
}

/// Whether the user has limited the memory of the process.
pub fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != u64::MAX
}

/// The user's limit for the whole process, if it is tighter than the machine's free memory.
fn allowed() -> Option<u64> {
    let limit = LIMIT.load(Ordering::Relaxed);
    if limit == u64::MAX {
        return None;
    }
    let free = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = field(&free, "MemAvailable:").map_or(u64::MAX, |kib| kib << 10);
    (limit.saturating_sub(private_bytes()) <= free).then_some(limit)
}

/// The process's memory without pages of files, which the system takes back when it needs them.
pub fn private_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |name| field(&status, name).map_or(0, |kib| kib << 10);
    bytes("RssAnon:") + bytes("RssShmem:")
}

/// Available bytes: the minimum of the machine's free memory, the process's own limit and the user's; `None` if the
/// system does not report it (all but Linux).
pub fn available_bytes() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let free = read("/proc/meminfo");
    let free = field(&free, "MemAvailable:").map(|kib| kib << 10);
    let limit = field(&read("/proc/self/limits"), "Max address space");
    let used = field(&read("/proc/self/status"), "VmSize:").map(|kib| kib << 10);
    let left = limit
        .zip(used)
        .map(|(limit, used)| limit.saturating_sub(used));
    // Memory already used by the process counts against the user's limit.
    let allowed = match LIMIT.load(Ordering::Relaxed) {
        u64::MAX => None,
        limit => Some(limit.saturating_sub(private_bytes())),
    };
    free.into_iter().chain(left).chain(allowed).min()
}

/// Bytes that the process holds now, and the peak since [`forget_peak`]; `None` if the system does not report it.
pub fn resident_bytes() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |name| field(&status, name).map(|kib| kib << 10);
    Some((bytes("VmRSS:")?, bytes("VmHWM:")?))
}

/// Resets the peak reported by [`resident_bytes`], if the system can.
pub fn forget_peak() {
    // 5 resets the peak (proc(5)); on other systems there is no such file.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The number after a line's name; `None` for `unlimited`.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// `12.5 GB`, `480 MB`, `3.1 kB`: in a suitable unit; 1 kB is 1000 bytes.
pub fn size(bytes: u64) -> String {
    let (value, unit) = match bytes as f64 {
        b if b >= 0.95e12 => (b / 1e12, "TB"),
        b if b >= 0.95e9 => (b / 1e9, "GB"),
        b if b >= 0.95e6 => (b / 1e6, "MB"),
        b if b >= 0.95e3 => (b / 1e3, "kB"),
        1.0 => return "1 byte".to_owned(),
        b => return format!("{b} bytes"),
    };
    match value < 99.5 {
        true => format!("{value:.1} {unit}"),
        false => format!("{value:.0} {unit}"),
    }
}

/// Writes how much a job needs and that the process may not allocate it; `then` adds further advice.
pub fn against_limit(f: &mut Formatter<'_>, needed: u64, then: &str) -> std::fmt::Result {
    let needed = size(needed);
    match allowed() {
        // The limit is the user's own.
        Some(limit) => write!(
            f,
            "needs {needed} of memory, and the limit for the program is {}, with {} in use; raise the \
             limit ({}) or {then}",
            size(limit),
            size(private_bytes()),
            if f.alternate() {
                "Settings"
            } else {
                "--memory, or Settings"
            }
        ),
        None => write!(
            f,
            "needs {needed} of memory, more than is available; close other programs or {then}"
        ),
    }
}
