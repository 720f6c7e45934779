//! Graphics cards that are opened while other work runs.

use super::backend::NoCard;
use super::choice::DeviceChoice;
use super::cuda::{self, Device};
use super::thread;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Time that opening a card takes, seconds: on an H200, the driver starts in 0.1 s and its context in another 0.1 s.
const START_S: f64 = 0.23;

type Opened = Result<Arc<[Device]>, NoCard>;

/// Cards that are being opened on a thread of their own.
#[derive(Debug)]
pub(super) struct Opening {
    started: Instant,
    /// Whether the result has arrived.
    is_known: Arc<AtomicBool>,
    opened: OnceLock<Opened>,
    result: Mutex<Receiver<Opened>>,
}

impl Opening {
    pub(super) fn begin(which: DeviceChoice) -> Arc<Self> {
        let (send, result) = channel();
        let opened = OnceLock::new();
        let is_known = Arc::new(AtomicBool::new(false));
        let known = is_known.clone();
        let open = move || {
            let opened: Opened = match cuda::open(which) {
                Ok(devices) => Ok(devices.into()),
                Err(error) => Err(error.into()),
            };
            // Nobody receives it if the work has ended before.
            let _ = send.send(opened);
            known.store(true, Ordering::Release);
        };
        let started = thread::start("card", open);
        if let Err(error) = started {
            let _ = opened.set(Err(NoCard::because(&error.to_string())));
        }
        Arc::new(Self {
            started: Instant::now(),
            is_known,
            opened,
            result: Mutex::new(result),
        })
    }

    /// The cards, or why there are none; waits until this is known.
    pub(super) fn wait(&self) -> &Opened {
        self.opened.get_or_init(|| {
            let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = result.recv();
            opened.unwrap_or_else(|_| Err(NoCard::because("the driver ended without an answer")))
        })
    }

    /// The cards, or why there are none; `None` while this is unknown.
    pub(super) fn known(&self) -> Option<&Opened> {
        let is_known = self.is_known.load(Ordering::Acquire) || self.opened.get().is_some();
        is_known.then(|| self.wait())
    }

    /// Seconds until the cards are expected to be open; 0 once they are.
    pub(super) fn remaining_s(&self) -> f64 {
        match self.known() {
            Some(_) => 0.0,
            None => (START_S - self.started.elapsed().as_secs_f64()).max(0.0),
        }
    }
}
