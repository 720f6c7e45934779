//! Threads that the operating system may refuse (a limit of processes, no memory): `std::thread::spawn` would panic.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use std::{fmt, io};

/// Why a thread gave no result.
#[derive(Debug)]
pub enum ThreadError {
    /// The operating system refused to start it.
    Refused(io::Error),
    /// It ended without a result.
    Ended,
}

impl fmt::Display for ThreadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => f.write_str(&start_error(error)),
            Self::Ended => f.write_str("The thread ended without a result"),
        }
    }
}

impl std::error::Error for ThreadError {}

/// Starts a thread.
pub fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, ThreadError> {
    Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(ThreadError::Refused)
}

/// A thread that is waited for when this value is dropped, because the library that it calls must not be unloaded
/// meanwhile.
#[derive(Debug)]
pub struct Awaited(Option<JoinHandle<()>>);

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // Whether it panicked does not matter here.
            let _ = thread.join();
        }
    }
}

/// Starts a thread that ends before the result is dropped.
pub fn start_awaited(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<Awaited, ThreadError> {
    start(name, work).map(|thread| Awaited(Some(thread)))
}

/// Number of threads that run at the same time on this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Suspends this thread.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// The sentence for a thread that the operating system refused.
fn start_error(error: &io::Error) -> String {
    format!(
        "Could not start a thread ({}); close other programs, or raise the limit of processes (ulimit -u)",
        without_os_error(&error.to_string())
    )
}

/// The system's message without Rust's `(os error 11)`, for use within a sentence.
pub(super) fn without_os_error(error: &str) -> String {
    let text = error.split(" (os error").next().unwrap_or(error);
    text.trim_end_matches('.').to_lowercase()
}

/// Starts the threads for rayon calls outside every backend (files are read on them), once per process: at most this
/// many, fewer if the operating system refuses some; an error if it refuses all. rayon itself starts them at the
/// first call, wherever that is, and panics at the first refusal.
pub(super) fn start_common(max_threads: usize) -> io::Result<()> {
    static STARTED: Mutex<bool> = Mutex::new(false);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *started {
        return Ok(());
    }
    let (sender, receiver) = channel::<rayon::ThreadBuilder>();
    let receiver = Arc::new(Mutex::new(receiver));
    let mut count = 0;
    while count < max_threads.max(1) {
        let receiver = receiver.clone();
        let work = move || {
            let next = receiver
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            // No message arrives for a refused thread.
            if let Ok(thread) = next {
                thread.run();
            }
        };
        match Builder::new().name(format!("files-{count}")).spawn(work) {
            Ok(_) => count += 1,
            Err(e) if count == 0 => return Err(e),
            Err(_) => break,
        }
    }
    if count < max_threads.max(1) {
        // Later work needs threads, too.
        count = count.div_ceil(2);
    }
    let gone = |_| io::Error::other("the thread is gone");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .spawn_handler(|thread| sender.send(thread).map_err(gone))
        .build_global();
    // Another library may have started them before.
    drop((pool, sender));
    if count < max_threads {
        // Surplus threads count until they have ended.
        pause(Duration::from_millis(50));
    }
    *started = true;
    Ok(())
}

/// Whether this many more threads could be started now; none of them is kept.
pub(super) fn has_room(count: usize) -> bool {
    let (sender, receiver) = channel::<()>();
    let receiver = Arc::new(Mutex::new(receiver));
    let waits = |_| {
        let receiver = receiver.clone();
        let wait = move || {
            // Ends with the sender: until then all of them count.
            let _ = receiver
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
        };
        Builder::new().name("room".to_owned()).spawn(wait)
    };
    let started: Vec<_> = (0..count).map(waits).take_while(Result::is_ok).collect();
    drop(sender);
    let has_room = started.len() == count;
    for thread in started.into_iter().flatten() {
        let _ = thread.join();
    }
    has_room
}

/// Runs `work` on its own thread, or immediately on this one if none can be started.
pub fn spawn_or_run(name: &str, work: impl FnOnce() + Send + 'static) {
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

/// The result of `work` if it arrives within `limit`; otherwise `None`, and the thread is abandoned. For calls into
/// libraries that may never return.
pub fn within<R: Send + 'static>(
    limit: Duration,
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<Option<R>, ThreadError> {
    let (sender, receiver) = channel();
    start(name, move || {
        // The receiver no longer exists after the limit.
        let _ = sender.send(work());
    })?;
    match receiver.recv_timeout(limit) {
        Ok(result) => Ok(Some(result)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(ThreadError::Ended),
    }
}
