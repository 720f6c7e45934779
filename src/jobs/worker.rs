//! Where jobs run: one backend for all of them, which may change between jobs, and the memory that they share.

use crate::compute::{Backend, BackendChoice, BackendError, BackendKind, cuda};
use crate::data::ImageExporter;
use crate::data::text::capitalised;
use crate::io;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The environment in which a job runs.
pub struct Worker {
    /// The backend of the next job; running jobs keep theirs.
    backend: Mutex<Backend>,
    memories: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// Set by the window once it exists.
    pub(super) exporter: OnceLock<ImageExporter>,
}

/// A backend that was opened.
#[derive(Clone, PartialEq, Debug)]
pub struct BackendOpened {
    /// The kind that was requested.
    pub kind: BackendKind,
    /// `CPU 16 threads · AVX2`.
    pub label: String,
    /// Why this backend was chosen.
    pub reason: String,
    /// Whether it runs on a graphics card.
    pub on_card: bool,
    /// The error that prevents it, unless the user chose the CPU.
    pub no_card: Option<cuda::Error>,
}

impl Worker {
    pub(super) fn new(backend: Backend) -> Self {
        Self {
            backend: Mutex::new(backend),
            memories: Mutex::default(),
            exporter: OnceLock::new(),
        }
    }

    /// Memory that survives between jobs: one value of each type.
    pub fn memory<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let memories = self.memories.lock();
        let mut memories = memories.unwrap_or_else(PoisonError::into_inner);
        let memory = memories
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        let of_type = memory.clone().downcast::<T>();
        // Values are stored by their type.
        of_type.unwrap_or_default()
    }

    /// Exports images of the window's graphics card, if there is a window.
    pub fn image_exporter(&self) -> Option<&ImageExporter> {
        self.exporter.get()
    }

    pub fn backend(&self) -> Backend {
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner);
        backend.clone()
    }

    /// Opens another backend with as many threads, and tests it; on failure nothing changes.
    pub fn change(&self, kind: BackendKind) -> Result<BackendOpened, BackendError> {
        let threads = Some(self.backend().threads());
        let choice = BackendChoice { kind, threads };
        let backend = Backend::choose(&choice)?;
        let placed = BackendOpened {
            kind,
            label: backend.label(),
            reason: backend.reason(),
            on_card: backend.accelerator().is_some(),
            no_card: backend.no_card().cloned(),
        };
        *self.backend.lock().unwrap_or_else(PoisonError::into_inner) = backend;
        Ok(placed)
    }
}

/// A device's error for a window, which offers the CPU by a button: without the options of the command line.
pub fn sentence(error: &cuda::Error) -> String {
    let problem = error.problem();
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
    capitalised(&problem) + advice
}

/// Bytes available to a result with many curves; some memory is left for the steps that follow: the file, the window.
pub fn memory_for_curves() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}
