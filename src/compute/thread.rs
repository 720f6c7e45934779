//! Threads where the operating system may refuse one (a limit of processes, no memory): `std::thread::spawn`
//! panics there.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Starts a thread; one sentence where none can be started.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, String> {
    Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|e| refused(&e))
}

/// Lets this thread sleep.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// The sentence for a thread that the operating system refused.
pub fn refused(error: &io::Error) -> String {
    format!(
        "Could not start a thread ({error}); close other programs, or raise the limit of processes (ulimit -u)"
    )
}

/// Runs `work` on a thread of its own, or at once on this one where none can be started.
pub fn beside(name: &str, work: impl FnOnce() + Send + 'static) {
    fn run(once: &Mutex<Option<impl FnOnce()>>) {
        let work = once.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            work();
        }
    }
    let once = Arc::new(Mutex::new(Some(work)));
    let shared = once.clone();
    if start(name, move || run(&shared)).is_err() {
        run(&once);
    }
}

/// The result of `work` if it comes within `limit`; otherwise `None`, and the thread is left behind. For calls
/// into libraries that may never return.
pub fn within<R: Send + 'static>(
    limit: Duration,
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<Option<R>, String> {
    let (sender, receiver) = channel();
    start(name, move || {
        // The receiver is gone after the limit.
        let _ = sender.send(work());
    })?;
    match receiver.recv_timeout(limit) {
        Ok(result) => Ok(Some(result)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err("The thread ended without a result".to_owned()),
    }
}
