//! Where each request runs, and what it is called meanwhile.

use super::Request;
use crate::jobs::Slot;
use std::path::Path;

impl Request {
    pub fn slot(&self) -> Slot {
        match self {
            Self::ReadScheme(_) => Slot::Load,
            Self::Pathway(wanted) => match wanted.kept {
                None => Slot::Pathway,
                Some(_) => Slot::Pathways,
            },
            Self::Compare(_) => Slot::Compare,
            Self::Commit(_) => Slot::Commit,
            Self::CommitNeeds(_) => Slot::Needs,
            Self::SumBundles(_) => Slot::Sums,
            Self::Steer(_) => Slot::Segment,
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
            Self::Pathway(_) => "Solving costs".to_owned(),
            Self::Compare(_) => "Comparing with random pairs".to_owned(),
            Self::Commit(_) => "Fitting weights".to_owned(),
            Self::CommitNeeds(_) => "Counting segments".to_owned(),
            Self::SumBundles(_) => "Summing weights".to_owned(),
            Self::ReadScheme(wanted) => format!("Opening {}", file(&wanted.path)),
            Self::Steer(_) => "Segmenting".to_owned(),
            Self::Session(request) => request.label(),
        }
    }
}
