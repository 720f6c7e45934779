//! Signals by which the user or the system asks the program to end: temporary files are removed, one sentence reports
//! it, and the exit code is 128 plus the signal's number, as shells expect. A second signal ends it at once.

#[cfg(unix)]
pub fn watch() {
    use crate::compute::thread;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    // With this, a file that exceeds the user's limit is an ordinary write error.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let ignored = ignored();
    let caught = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let caught = caught.filter(move |signal| ignored & (1 << (signal - 1)) == 0);
    let waits = move || {
        let Ok(mut signals) = Signals::new(caught) else {
            return;
        };
        let mut ending = false;
        for signal in signals.forever() {
            let was_ending = std::mem::replace(&mut ending, true);
            let started = thread::start("end", move || end(signal));
            if was_ending || started.is_err() {
                signal_hook::low_level::exit(128 + signal);
            }
        }
    };
    // Without the thread the system ends the program as usual.
    let _ = thread::start("signals", waits);
}

#[cfg(not(unix))]
pub fn watch() {}

#[cfg(unix)]
fn end(signal: i32) {
    use signal_hook::consts::{SIGHUP, SIGINT};
    use std::io::{IsTerminal as _, Write as _};

    crate::io::ending::run_end_actions();
    let by = match signal {
        SIGINT => "Interrupted",
        SIGHUP => "The terminal was closed",
        _ => "Ended by SIGTERM",
    };
    if std::io::stderr().is_terminal() {
        // Clears a progress bar.
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
    let sentence = format!("{by}: unfinished files were removed, and earlier files are unchanged");
    super::output::end_by_signal(&sentence);
    signal_hook::low_level::exit(128 + signal);
}

/// Signals that the parent process has set to be ignored (nohup, a shell's background jobs), as bits starting with the
/// first signal: they stay ignored.
#[cfg(unix)]
fn ignored() -> u64 {
    // proc(5); without it none is known to be ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .unwrap_or_default()
}
