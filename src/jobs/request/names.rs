//! Where each request runs, and what it is called meanwhile.

use super::Request;
use crate::jobs::Slot;
use std::path::Path;

impl Request {
    pub fn slot(&self) -> Slot {
        match self {
            Self::Open { .. } | Self::OpenTold { .. } | Self::Demo { .. } => Slot::Load,
            Self::Fit { .. } => Slot::Fit,
            Self::Track {
                whole_brain: false, ..
            } => Slot::Live,
            Self::Track {
                whole_brain: true, ..
            } => Slot::Track,
            Self::Regions(work) => work.slot(),
            Self::Shoot(_) => Slot::Live,
            Self::Rank { .. } => Slot::Rank,
            Self::Select { .. } => Slot::Select,
            Self::Bundle(work) => work.slot(),
            Self::Session(request) => request.slot(),
        }
    }

    /// For the status line while it runs.
    pub fn label(&self) -> String {
        let file = |p: &Path| {
            p.file_name()
                .map_or_else(String::new, |n| n.to_string_lossy().into_owned())
        };
        match self {
            Self::Open { path, .. } | Self::OpenTold { path, .. } => {
                format!("Opening {}", file(path))
            }
            Self::Demo { .. } => "Making the demo head".to_owned(),
            Self::Fit {
                gradients: None, ..
            } => "Reading tensors".to_owned(),
            Self::Fit { .. } => "Fitting tensors".to_owned(),
            Self::Track { .. } => "Tracking".to_owned(),
            Self::Shoot(_) => "Shooting rays".to_owned(),
            Self::Rank { .. } => "Cutting rays".to_owned(),
            Self::Select { .. } => "Selecting streamlines".to_owned(),
            Self::Bundle(work) => work.label(),
            Self::Regions(work) => work.label(),
            Self::Session(request) => request.label(),
        }
    }
}
