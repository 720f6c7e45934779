//! Messages and the status line.

use crate::io::Remark;
use crate::jobs::Slot;
use crate::state::core::task::Task;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Information,
    Warning,
    Error,
}

impl From<&Remark> for Severity {
    fn from(remark: &Remark) -> Self {
        match remark.is_note {
            true => Self::Information,
            false => Self::Warning,
        }
    }
}

/// One sentence for the user, shown next to its cause until dismissed.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub severity: Severity,
    pub text: String,
    /// The kind of job that failed; its next success removes the message or, if several can queue, the next request.
    pub slot: Option<Slot>,
    /// The failure happened on a graphics card: the CPU is offered.
    pub on_card: bool,
    /// The subject of a message that the program updates or removes by itself.
    pub topic: Option<Topic>,
}

/// A state that messages describe as long as it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Kept results are not stored next to the session.
    NotStored,
    /// The recovery copy is kept.
    CopyKept,
    /// Unsaved work of an earlier window was recovered.
    Recovered,
    /// The tour has ended.
    TourEnds,
    /// The fit cannot use a mask on another grid than the scan.
    MaskOnOtherGrid,
    /// This version does not know a part of the session that is being opened, or that is open.
    UnknownParts,
    /// The surface of Segment vanished, or filled the image, with its present parameters.
    SurfaceEnded,
}

/// Statuses about results that another task, or the next result, does not show.
#[derive(Clone, Debug, Default)]
pub struct StatusAbout {
    /// About the live result.
    pub live: Option<String>,
    /// About a result that only this task shows.
    pub task: Option<(Task, String)>,
    /// The step that was undone or redone last.
    pub step: Option<ShownStep>,
    /// About a turntable that was stopped.
    pub turntable: Option<String>,
}

/// An undone or redone step in the status line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownStep {
    pub step: String,
    /// The result that was recomputed after it.
    pub result: Option<String>,
}

impl ShownStep {
    pub fn new(step: String) -> Self {
        Self { step, result: None }
    }

    /// The status line that shows it.
    pub fn status(&self) -> String {
        let Self { step, result } = self;
        match result {
            None => step.clone(),
            Some(result) => format!("{step}. Result: {result}"),
        }
    }
}

/// Messages and the status line.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    pub messages: Vec<Message>,
    /// The last completed action, for the status line.
    pub status: String,
    pub about: StatusAbout,
}

impl Notices {
    /// Whether the status says that a turntable was stopped; that matters more than that its last picture was saved.
    pub fn is_about_stopped_turntable(&self) -> bool {
        let stopped = self.about.turntable.as_deref();
        stopped.is_some_and(|stopped| self.status.starts_with(stopped))
    }
}
