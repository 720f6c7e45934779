//! How much memory this process may still take.

/// Bytes: what the machine has free, and what the process's own limit leaves; `None` where the
/// system does not say (all but Linux).
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
    free.into_iter().chain(left).min()
}

/// The number after a line's name; `None` for `unlimited`.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}
