//! What happens meanwhile: jobs, messages, the live result. Not undone and not saved.

use super::Recipe;
use super::document::LayerId;
use crate::data::region::RegionId;
use crate::jobs::{FitKey, Job, Slot};
use crate::solvers::tracking;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Information,
    Warning,
    Error,
}

/// One sentence for the user, shown beside what caused it until dismissed.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub severity: Severity,
    pub text: String,
    /// The kind of job that failed; its next success takes the message away.
    pub slot: Option<Slot>,
}

/// The streamlines of the regions as they are now; kept only on request.
#[derive(Clone, Debug)]
pub struct Live {
    pub output: Arc<tracking::Output>,
    /// Fewer seeds while something is dragged.
    pub coarse: bool,
    /// Seeds asked for.
    pub seeds: usize,
    pub wall_ms: f64,
    pub recipe: Recipe,
    /// Names of the target regions in the order of `output.per_target`.
    pub targets: Vec<RegionId>,
}

/// A file opened before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recent {
    pub path: PathBuf,
    /// What it was: `81 × 105 × 60 × 33, 1 × b 0, 32 × b 1000`.
    pub summary: String,
    /// Seconds since 1970.
    pub opened: u64,
}

/// Steps of the guide, in order; each advances when its act is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuideStep {
    ClickSlice,
    PlaceSeed,
    DragSeed,
    PlaceTarget,
    Save,
}

impl GuideStep {
    pub const ALL: [Self; 5] = [
        Self::ClickSlice,
        Self::PlaceSeed,
        Self::DragSeed,
        Self::PlaceTarget,
        Self::Save,
    ];

    pub fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|&s| s == self)?;
        Self::ALL.get(at + 1).copied()
    }
}

#[derive(Clone, Debug)]
pub struct Session {
    /// Last field of the status line: `CPU 2 threads · AVX2`.
    pub backend: String,
    /// Why that one: `CPU: no NVIDIA driver found`.
    pub backend_reason: String,
    pub jobs: Vec<Job>,
    pub messages: Vec<Message>,
    /// What last finished, for the status line.
    pub status: String,
    pub live: Option<Live>,
    /// A full result has to follow the coarse one as soon as the pointer rests.
    pub unsettled: bool,
    /// Why there is no live result although there are seeds.
    pub live_error: Option<String>,
    pub recent: Vec<Recent>,
    pub selected_region: Option<RegionId>,
    pub selected_layer: Option<LayerId>,
    pub guide: Option<GuideStep>,
    /// Regions or results changed since the last export.
    pub unsaved: bool,
    /// Counts the changes of the document: a file that was asked for before a change lacks it.
    pub revision: u64,
    /// The fit that was asked for and has not ended.
    pub fitting: Option<FitKey>,
    /// Files that were asked for together.
    pub together: Vec<PathBuf>,
}

impl Session {
    pub fn new(backend: String) -> Self {
        Self {
            backend,
            backend_reason: String::new(),
            jobs: Vec::new(),
            messages: Vec::new(),
            status: String::new(),
            live: None,
            unsettled: false,
            live_error: None,
            recent: Vec::new(),
            selected_region: None,
            selected_layer: None,
            guide: None,
            unsaved: false,
            revision: 0,
            fitting: None,
            together: Vec::new(),
        }
    }

    pub fn say(&mut self, severity: Severity, text: impl Into<String>) {
        self.add(Message {
            severity,
            text: text.into(),
            slot: None,
        });
    }

    /// A job failed.
    pub fn failed(&mut self, slot: Slot, why: String) {
        self.add(Message {
            severity: Severity::Error,
            text: why,
            slot: Some(slot),
        });
    }

    /// A job of this kind went well, or is tried anew: older failures are no news.
    pub fn forget_failures(&mut self, slot: Slot) {
        self.messages.retain(|m| m.slot != Some(slot));
    }

    fn add(&mut self, message: Message) {
        if !self.messages.contains(&message) {
            self.messages.push(message);
        }
    }

    /// Ends a guide step if it is the current one.
    pub fn guide_done(&mut self, step: GuideStep) {
        if self.guide == Some(step) {
            self.guide = step.next();
        }
    }
}
