//! Where requests run: one backend for all workers, which may change between two jobs.

use super::error::Fault;
use super::request::Output;
use crate::compute::{Backend, BackendChoice, BackendError, BackendKind, Control, cuda, kernels};
use crate::data::LendImage;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The backend that the next job runs on, jobs that run keep theirs; and what is remembered of
/// sessions and of the surface in the hand.
pub(super) struct Place {
    backend: Mutex<Backend>,
    pub sessions: super::session::Memory,
    pub steered: super::steer::Memory,
    /// Of the window, once it is there.
    pub lends: OnceLock<LendImage>,
}

/// A backend that was opened, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// What was asked for.
    pub kind: BackendKind,
    /// `CPU 16 threads · AVX2`.
    pub label: String,
    /// Why that one.
    pub reason: String,
    /// Not on the CPU.
    pub on_card: bool,
}

impl Place {
    pub fn new(backend: Backend) -> Self {
        Self {
            backend: Mutex::new(backend),
            sessions: super::session::Memory::default(),
            steered: super::steer::Memory::default(),
            lends: OnceLock::new(),
        }
    }

    pub fn backend(&self) -> Backend {
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner);
        backend.clone()
    }

    /// Opens another backend, with as many threads, and tests it; else all stays as it was. An error
    /// is a sentence.
    pub fn change(&self, kind: BackendKind) -> Result<Placed, String> {
        let threads = Some(self.backend().threads());
        let choice = BackendChoice { kind, threads };
        let backend = Backend::choose(&choice).map_err(|error| match error {
            BackendError::Cuda(error) => sentence(&error),
            error @ BackendError::Threads { .. } => error.to_string(),
        })?;
        let placed = Placed {
            kind,
            label: backend.label(),
            reason: backend.reason(),
            on_card: !backend.devices().is_empty(),
        };
        *self.backend.lock().unwrap_or_else(PoisonError::into_inner) = backend;
        Ok(placed)
    }
}

/// On every card in use.
pub(super) fn load_kernels(backend: &Backend, control: &Control) -> Result<Output, Fault> {
    let files = kernels::ALL.iter();
    for (file, device) in files.flat_map(|file| backend.devices().iter().map(move |d| (file, d))) {
        if control.is_cancelled() {
            break;
        }
        device.load(*file).map_err(Fault::Card)?;
    }
    Ok(Output::KernelsLoaded)
}

/// The names of all cards, in the driver's order; an error says why there are none, to follow a colon.
pub(super) fn cards() -> Result<Vec<String>, String> {
    cuda::names().map_err(|error| error.found())
}

/// What went wrong on a card, for a window that offers the CPU by a button: without the options of
/// the command line.
pub fn sentence(error: &cuda::Error) -> String {
    let found = error.found();
    let (first, rest) = found.split_at(found.chars().next().map_or(0, char::len_utf8));
    let advice = match error {
        cuda::Error::OutOfMemory { lower, .. } => {
            &format!("; {lower}, or close other programs on the card")
        }
        cuda::Error::TooMany { lower, .. } => &format!("; {lower}"),
        cuda::Error::Lost { .. } => "; nothing more runs on it until Arcuate is started again",
        cuda::Error::NoDriver | cuda::Error::Incomplete { .. } | cuda::Error::OldDriver { .. } => {
            "; install NVIDIA driver 535 or newer"
        }
        _ => "",
    };
    format!("{}{rest}{advice}", first.to_uppercase())
}
