//! Where each request runs, and what it is called meanwhile.

use super::Request;
use crate::jobs::Slot;

impl Request {
    pub fn slot(&self) -> Slot {
        match self {
            Self::Session(request) => request.slot(),
        }
    }

    /// For the status line while it runs.
    pub fn label(&self) -> String {
        match self {
            Self::Session(request) => request.label(),
        }
    }
}
