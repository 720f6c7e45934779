//! Jobs, and how their results reach the state: each job defines both next to each other, so there is no list
//! of jobs or of outputs.

use super::error::{DeviceFailure, JobError};
use super::slot::Slot;
use super::worker::Worker;
use crate::compute::Control;
use crate::data::{Sentence, Tractogram};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Interval at which it is checked whether a partial output was taken.
const TAKEN_POLL: Duration = Duration::from_millis(2);

/// A unit of work for a thread.
pub trait Job: Clone + fmt::Debug + Send + Sync + 'static {
    type Output: Clone + fmt::Debug + Send + 'static;

    fn slot(&self) -> Slot;

    /// Text for the status line while it runs: `Fitting tensors`.
    fn label(&self) -> String;

    /// The file that the label names, if it names one.
    fn named_file(&self) -> Option<&Path> {
        None
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError>;

    /// Streamlines of an output; a worker frees their memory when no other owner is left.
    fn curves(_: &Self::Output) -> Vec<&Tractogram> {
        Vec::new()
    }
}

/// A state that results of jobs change.
pub trait JobState: Sized + 'static {
    /// The effects that it requests, including other jobs.
    type Effect;
}

/// A job that applies its result to a state.
pub trait Receive<S: JobState>: Job {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut S,
        effects: &mut Vec<S::Effect>,
    );

    /// Changes the state after an end without an output, and returns whether the job reports that end itself: if not,
    /// the report that is the same for all jobs follows.
    fn unfinished(&self, _end: &Unfinished, _state: &mut S) -> bool {
        false
    }
}

/// An end of a job without an output.
#[derive(Clone, Copy, Debug)]
pub enum Unfinished<'a> {
    /// The user stopped it, or a newer job replaced it.
    Cancelled,
    /// One sentence, for the window.
    Failed(&'a str),
    DeviceFailed(&'a DeviceFailure),
}

impl<'a> Unfinished<'a> {
    /// The sentence about a failure.
    pub fn sentence(&self) -> Option<&'a str> {
        match self {
            Self::Cancelled => None,
            Self::Failed(sentence) => Some(sentence),
            Self::DeviceFailed(failure) => Some(&failure.cause),
        }
    }
}

/// The outcome of a job, and the submission that it belongs to.
#[derive(Clone, Debug)]
pub struct Delivery<T> {
    pub slot: Slot,
    pub ticket: u64,
    /// Time of the work itself, without waiting.
    pub wall_ms: f64,
    pub outcome: Outcome<T>,
}

#[allow(
    clippy::large_enum_variant,
    reason = "few exist at a time, so the size difference between variants is harmless"
)]
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// An intermediate output; the job goes on.
    Partial(T),
    Done(T),
    Cancelled,
    Failed(Sentence),
    /// Another backend may succeed.
    DeviceFailed(DeviceFailure),
}

impl<T> Outcome<T> {
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Partial(output) => Outcome::Partial(change(output)),
            Self::Done(output) => Outcome::Done(change(output)),
            Self::Cancelled => Outcome::Cancelled,
            Self::Failed(sentence) => Outcome::Failed(sentence),
            Self::DeviceFailed(failure) => Outcome::DeviceFailed(failure),
        }
    }

    /// The end, if it came without an output.
    pub fn unfinished(&self) -> Option<Unfinished<'_>> {
        match self {
            Self::Partial(_) | Self::Done(_) => None,
            Self::Cancelled => Some(Unfinished::Cancelled),
            Self::Failed(sentence) => Some(Unfinished::Failed(sentence.for_window())),
            Self::DeviceFailed(failure) => Some(Unfinished::DeviceFailed(failure)),
        }
    }

    /// How the job ended, without the output.
    fn ending(&self) -> Outcome<()> {
        match self {
            Self::Partial(_) => Outcome::Partial(()),
            Self::Done(_) => Outcome::Done(()),
            Self::Cancelled => Outcome::Cancelled,
            Self::Failed(sentence) => Outcome::Failed(sentence.clone()),
            Self::DeviceFailed(failure) => Outcome::DeviceFailed(failure.clone()),
        }
    }

    fn output(&self) -> Option<&T> {
        match self {
            Self::Partial(output) | Self::Done(output) => Some(output),
            Self::Cancelled | Self::Failed(_) | Self::DeviceFailed(_) => None,
        }
    }
}

/// Sends partial outputs of a running job.
pub struct PartialSender<'a, T> {
    pub(super) send: &'a dyn Fn(T),
    pub(super) is_taken: &'a dyn Fn() -> bool,
}

impl<T> PartialSender<'_, T> {
    /// Whether the last partial output was taken; until then, sending another is pointless.
    pub fn is_taken(&self) -> bool {
        (self.is_taken)()
    }

    /// Waits until the last partial output was taken, unless the job is cancelled.
    pub fn wait_until_taken(&self, control: &Control) {
        while !self.is_taken() && !control.is_cancelled() {
            std::thread::sleep(TAKEN_POLL);
        }
    }

    pub fn send(&self, output: T) {
        (self.send)(output);
    }
}

/// A job of any type, to be submitted.
pub trait AnyJob<S: JobState>: Send + Sync {
    fn slot(&self) -> Slot;
    fn label(&self) -> String;
    fn named_file(&self) -> Option<&Path>;
    fn clone_box(&self) -> Box<dyn AnyJob<S>>;
    fn as_any(&self) -> &dyn Any;
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// Does the work; partial outputs go to `run` meanwhile.
    fn run(self: Box<Self>, run: &dyn Run<S>) -> Event<S>;
    /// The event of a job that never ran.
    fn not_started(self: Box<Self>, ticket: u64, sentence: String) -> Event<S>;
}

/// Where a job runs, for [`AnyJob::run`].
pub trait Run<S: JobState> {
    fn worker(&self) -> &Worker;
    fn control(&self) -> &Control;
    fn ticket(&self) -> u64;
    /// Time since the work began.
    fn wall_ms(&self) -> f64;
    fn send_partial(&self, event: Event<S>);
    fn is_partial_taken(&self) -> bool;
}

impl<S: JobState, J: Receive<S>> AnyJob<S> for J {
    fn slot(&self) -> Slot {
        Job::slot(self)
    }

    fn label(&self) -> String {
        Job::label(self)
    }

    fn named_file(&self) -> Option<&Path> {
        Job::named_file(self)
    }

    fn clone_box(&self) -> Box<dyn AnyJob<S>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }

    fn run(self: Box<Self>, run: &dyn Run<S>) -> Event<S> {
        let (slot, label, job) = (Job::slot(&*self), Job::label(&*self), (*self).clone());
        let delivery = |outcome| Delivery {
            slot,
            ticket: run.ticket(),
            wall_ms: run.wall_ms(),
            outcome,
        };
        let send = |output| {
            let delivery = delivery(Outcome::Partial(output));
            run.send_partial(Event::new(job.clone(), delivery));
        };
        let partial = PartialSender {
            send: &send,
            is_taken: &|| run.is_partial_taken(),
        };
        let control = run.control();
        let work = || Job::run(*self, run.worker(), control, &partial);
        // A panic is a bug; the document and the other jobs stay intact.
        let outcome = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(output)) => Outcome::Done(output),
            Ok(Err(error)) => error.outcome(),
            Err(_) => Outcome::Failed(format!("{label} failed: a fault in the program").into()),
        };
        let outcome = match outcome {
            Outcome::Done(output) if slot.keeps_result() => Outcome::Done(output),
            _ if control.is_cancelled() => Outcome::Cancelled,
            outcome => outcome,
        };
        let delivery = delivery(outcome);
        Event::new(job, delivery)
    }

    fn not_started(self: Box<Self>, ticket: u64, sentence: String) -> Event<S> {
        let delivery = Delivery {
            slot: Job::slot(&*self),
            ticket,
            wall_ms: 0.0,
            outcome: Outcome::Failed(sentence.into()),
        };
        Event::new(*self, delivery)
    }
}

impl<S: JobState, J: Receive<S>> From<J> for Box<dyn AnyJob<S>> {
    fn from(job: J) -> Self {
        Box::new(job)
    }
}

impl<S: JobState> Clone for Box<dyn AnyJob<S>> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

impl<S: JobState> fmt::Debug for dyn AnyJob<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AnyJob::fmt(self, f)
    }
}

impl<S: JobState> dyn AnyJob<S> {
    /// The job itself, if it is of this type.
    pub fn job<J: Job>(&self) -> Option<&J> {
        self.as_any().downcast_ref()
    }
}

/// The outcome of a job, until the state receives it.
pub struct Event<S: JobState> {
    pub slot: Slot,
    pub ticket: u64,
    /// Time of the work itself, without waiting.
    pub wall_ms: f64,
    content: Option<Box<dyn AnyContent<S>>>,
    /// The thread that frees the remains of the job: its inputs may be large.
    pub(super) disposal: Option<Sender<Box<dyn Any + Send>>>,
}

impl<S: JobState> Event<S> {
    pub fn new<J: Receive<S>>(job: J, delivery: Delivery<J::Output>) -> Self {
        let outcome = Some(delivery.outcome);
        Self {
            slot: delivery.slot,
            ticket: delivery.ticket,
            wall_ms: delivery.wall_ms,
            content: Some(Box::new(Content { job, outcome })),
            disposal: None,
        }
    }

    /// Changes the state as defined by the job.
    pub fn receive(mut self, state: &mut S, effects: &mut Vec<S::Effect>) {
        let (slot, ticket, wall_ms) = (self.slot, self.ticket, self.wall_ms);
        if let Some(content) = &mut self.content {
            content.receive((slot, ticket, wall_ms), state, effects);
        }
    }

    /// How the job ended, without the output.
    pub fn ending(&self) -> Outcome<()> {
        let content = self.content.as_ref();
        content.map_or(Outcome::Cancelled, |content| content.ending())
    }

    /// The outcome of a job of this type.
    pub fn outcome<J: Job>(&self) -> Option<&Outcome<J::Output>> {
        let content = self.content.as_ref()?.as_any();
        content.downcast_ref::<Content<J>>()?.outcome.as_ref()
    }

    pub fn outcome_mut<J: Job>(&mut self) -> Option<&mut Outcome<J::Output>> {
        let content = self.content.as_mut()?.as_any_mut();
        content.downcast_mut::<Content<J>>()?.outcome.as_mut()
    }

    /// The outcome of a job of this type, moved out of the event.
    pub fn into_outcome<J: Job>(mut self) -> Option<Outcome<J::Output>> {
        let content = self.content.as_mut()?.as_any_mut();
        content.downcast_mut::<Content<J>>()?.outcome.take()
    }

    /// The streamlines in its output.
    pub(super) fn curves(&self) -> Vec<&Tractogram> {
        let content = self.content.as_ref();
        content.map_or_else(Vec::new, |content| content.curves())
    }
}

impl<S: JobState> Clone for Event<S> {
    fn clone(&self) -> Self {
        Self {
            slot: self.slot,
            ticket: self.ticket,
            wall_ms: self.wall_ms,
            content: self.content.as_ref().map(|content| content.clone_box()),
            disposal: self.disposal.clone(),
        }
    }
}

impl<S: JobState> Drop for Event<S> {
    fn drop(&mut self) {
        if let (Some(content), Some(disposal)) = (self.content.take(), &self.disposal) {
            // Without the thread it is freed here.
            let _ = disposal.send(content.into_any());
        }
    }
}

impl<S: JobState> fmt::Debug for Event<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Event");
        shown
            .field("slot", &self.slot)
            .field("ticket", &self.ticket);
        if let Some(content) = &self.content {
            shown.field("outcome", &content.debug());
        }
        shown.finish_non_exhaustive()
    }
}

/// A job with its outcome, moved out when the state receives it.
#[derive(Clone)]
struct Content<J: Job> {
    job: J,
    outcome: Option<Outcome<J::Output>>,
}

trait AnyContent<S: JobState>: Send {
    fn receive(&mut self, ended: (Slot, u64, f64), state: &mut S, effects: &mut Vec<S::Effect>);
    fn clone_box(&self) -> Box<dyn AnyContent<S>>;
    fn ending(&self) -> Outcome<()>;
    fn curves(&self) -> Vec<&Tractogram>;
    fn debug(&self) -> &dyn fmt::Debug;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

impl<S: JobState, J: Receive<S>> AnyContent<S> for Content<J> {
    fn receive(
        &mut self,
        (slot, ticket, wall_ms): (Slot, u64, f64),
        state: &mut S,
        effects: &mut Vec<S::Effect>,
    ) {
        if let Some(outcome) = self.outcome.take() {
            let delivery = Delivery {
                slot,
                ticket,
                wall_ms,
                outcome,
            };
            self.job.receive(delivery, state, effects);
        }
    }

    fn clone_box(&self) -> Box<dyn AnyContent<S>> {
        Box::new(self.clone())
    }

    fn ending(&self) -> Outcome<()> {
        let outcome = self.outcome.as_ref();
        outcome.map_or(Outcome::Cancelled, Outcome::ending)
    }

    fn curves(&self) -> Vec<&Tractogram> {
        let output = self.outcome.as_ref().and_then(Outcome::output);
        output.map_or_else(Vec::new, J::curves)
    }

    fn debug(&self) -> &dyn fmt::Debug {
        &self.outcome
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
