//! Messages and the status line.

use crate::io::Remark;
use crate::jobs::Slot;
use crate::state::core::task::Task;
use std::fmt;
use std::ops::Deref;

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

impl Message {
    /// Whether a task shows what the message concerns.
    pub fn is_shown_in(&self, task: Task) -> bool {
        self.topic != Some(Topic::SurfaceEnded) || task == Task::Segment
    }
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
    /// The surface of Segment vanished, or filled the image, with its current parameters.
    SurfaceEnded,
    /// The volumes of an opened image are distributions whose basis and axes the user may state.
    DistributionsOpened,
    /// The files of the truth against which streamlines are scored.
    Truth,
    /// A refused point of the tool that aligns the slices to the commissures.
    Commissures,
}

/// The subject of a status, which is removed once it is no longer shown or true.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StatusSubject {
    /// An action, whose status stays until the next one.
    #[default]
    Action,
    /// The live result, which some tasks do not show.
    LiveResult,
    /// A result that only this task shows.
    ResultOf(Task),
    /// A turntable that was stopped.
    StoppedTurntable,
    /// A session that was opened, whose files are still being verified.
    OpenedSession,
    /// The rotation of the slices, until they are turned again.
    SliceTurn,
}

impl StatusSubject {
    /// Whether a task shows what the status concerns.
    pub fn is_shown_in(self, task: Task) -> bool {
        match self {
            Self::LiveResult => task.shows_live(),
            Self::ResultOf(other) => other == task,
            Self::Action | Self::StoppedTurntable | Self::OpenedSession | Self::SliceTurn => true,
        }
    }
}

/// The last completed action, for the status line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// The whole line.
    line: String,
    subject: StatusSubject,
    /// The undone or redone step with which the line begins.
    step: Option<ShownStep>,
}

/// An undone or redone step in the status line.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ShownStep {
    step: String,
    /// The result that was recomputed after it.
    result: Option<String>,
}

impl ShownStep {
    fn line(&self) -> String {
        let Self { step, result } = self;
        match result {
            None => step.clone(),
            Some(result) => format!("{step}. Result: {result}"),
        }
    }
}

impl Status {
    pub fn about(subject: StatusSubject, line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            subject,
            step: None,
        }
    }

    /// A step was undone or redone: the results recomputed after it are appended.
    pub fn of_step(step: String) -> Self {
        Self {
            line: step.clone(),
            subject: StatusSubject::Action,
            step: Some(ShownStep { step, result: None }),
        }
    }

    pub fn subject(&self) -> StatusSubject {
        self.subject
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Shows the result of an action. An undone step stays readable: the results recomputed after it follow at once.
    pub fn add_result(&mut self, subject: StatusSubject, result: String) {
        self.subject = subject;
        self.line = match &mut self.step {
            Some(step) => {
                step.result = Some(result);
                step.line()
            }
            None => result,
        };
    }

    /// Adds a remark about the same subject.
    pub fn add_remark(&mut self, remark: &str) {
        if let Some(ShownStep { step, result }) = &mut self.step {
            result.as_mut().unwrap_or(step).push_str(remark);
        }
        self.line.push_str(remark);
    }

    /// Removes an undone or redone step; the result after it stays.
    pub fn forget_step(&mut self) {
        if let Some(step) = self.step.take() {
            self.line = step.result.unwrap_or_default();
        }
    }

    /// Removes the result; an undone step before it stays.
    pub fn forget_result(&mut self) {
        self.subject = StatusSubject::Action;
        self.line = match &mut self.step {
            Some(step) => {
                step.result = None;
                step.line()
            }
            None => String::new(),
        };
    }
}

impl From<String> for Status {
    fn from(line: String) -> Self {
        Self::about(StatusSubject::Action, line)
    }
}

impl From<&str> for Status {
    fn from(line: &str) -> Self {
        Self::from(line.to_owned())
    }
}

impl Deref for Status {
    type Target = str;

    fn deref(&self) -> &str {
        &self.line
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl PartialEq<str> for Status {
    fn eq(&self, line: &str) -> bool {
        self.line == line
    }
}

impl PartialEq<&str> for Status {
    fn eq(&self, line: &&str) -> bool {
        self.line == *line
    }
}

impl PartialEq<String> for Status {
    fn eq(&self, line: &String) -> bool {
        self.line == *line
    }
}

/// Messages and the status line.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    pub messages: Vec<Message>,
    pub status: Status,
}
