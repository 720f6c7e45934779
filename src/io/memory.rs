//! How much memory this process may still take.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the user allows the whole process, bytes.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// From now on [`available_bytes`] leaves no more than this to the whole process.
pub fn limit_memory(bytes: Option<u64>) {
    LIMIT.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Whether the user has said how much memory the process may take.
pub(super) fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != u64::MAX
}

/// What the user allows the whole process, where that leaves less than the machine.
pub(super) fn allowed() -> Option<u64> {
    let most = LIMIT.load(Ordering::Relaxed);
    if most == u64::MAX {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = field(&status, "VmRSS:").map_or(0, |kib| kib << 10);
    let free = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = field(&free, "MemAvailable:").map_or(u64::MAX, |kib| kib << 10);
    (most.saturating_sub(held) <= free).then_some(most)
}

/// Bytes: what the machine has free, what the process's own limit leaves, and the user's; `None` where
/// the system does not say (all but Linux).
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
    // What the process holds in memory counts against what the user allows.
    let held = || field(&read("/proc/self/status"), "VmRSS:").map_or(0, |kib| kib << 10);
    let allowed = match LIMIT.load(Ordering::Relaxed) {
        u64::MAX => None,
        most => Some(most.saturating_sub(held())),
    };
    free.into_iter().chain(left).chain(allowed).min()
}

/// Bytes that the process holds now, and the most that it has held since [`forget_peak`]; `None` where the
/// system does not say.
pub fn held_bytes() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |name| field(&status, name).map(|kib| kib << 10);
    Some((bytes("VmRSS:")?, bytes("VmHWM:")?))
}

/// Signals that the process was started to ignore, as bits from the first on; `None` where the system does not
/// say.
pub fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let bits = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(bits.trim(), 16).ok()
}

/// Counts the most that the process holds anew, where the system can.
pub fn forget_peak() {
    // 5 resets the peak (proc(5)); elsewhere there is no such file.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The number after a line's name; `None` for `unlimited`.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}
