//! Where each request runs, and what it is called meanwhile.

use super::Request;
use crate::jobs::Slot;

impl Request {
    pub fn slot(&self) -> Slot {
        match self {
            Self::Select { .. } => Slot::Select,
            Self::Bundle(work) => work.slot(),
            Self::Session(request) => request.slot(),
        }
    }

    /// For the status line while it runs.
    pub fn label(&self) -> String {
        match self {
            Self::Select { .. } => "Selecting streamlines".to_owned(),
            Self::Bundle(work) => work.label(),
            Self::Session(request) => request.label(),
        }
    }
}
