//! When work runs: the only threads. The window submits a [`Request`], a worker answers with an
//! [`Event`]; nobody waits.

mod align;
pub mod bundle;
mod bundle_sums;
mod commit;
mod compare;
mod density;
mod disposal;
mod error;
mod export;
mod film;
mod fitting;
mod head;
mod making;
mod open;
mod pathway;
mod request;
mod resample;
mod segment;
pub mod session;
mod shoot;
mod steer;
mod trace;
mod worker;

/// For what the window keeps for itself.
pub use crate::io::atomic::make_private_folder;
/// What was found in a folder.
pub use crate::io::bids::{Folder, Visit};
pub use align::{AffineRead, AlignImages, Aligned, Fixed, ReadAffine};
pub use bundle_sums::{BundleSums, SumBundles, Summed};
pub use commit::{
    CommitNeeds, Committed, FitCommit, ReadScheme, Scheme, StartFrom, There, Without,
};
pub use compare::{ComparePathway, Compared, KnownPairs, RANDOM_PAIRS};
pub use density::{MapDensity, Mapped};
pub use error::CardFailure;
pub use export::{Completed, SavePlace, Values};
pub use film::Ffmpeg;
pub use making::{ForRegions, Made, Make, Making, OfRegions, SaveLabels, SaveMasks};
pub use open::{Loaded, table};
pub use pathway::{
    FindPathway, Found as FoundPathway, Known as KnownPathway, Trace as TracePath,
    Traced as TracedPath, Weakest,
};
pub use request::{FitKey, Output, Request, Saved, Whole};
pub use resample::{Kept, Resample};
pub use segment::{Counted, ForSegment, Segment, Segmented};
pub use shoot::{Shoot, Shot};
pub use steer::{
    Back, Beside, Figures, Hand, Leaked, Met, Near, Origin, Play, Resume, Steer, Steered, Surfaced,
    Thing,
};
pub use trace::Trace;
pub use worker::{Placed, sentence};

/// In the words of `--backend`, for the window's state.
pub use crate::compute::{BackendKind, Which};

use crate::compute::{Backend, Control, Progress, thread};
use crate::data::LendImage;
use disposal::Reclaim;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use worker::Place;

/// One thread each, but for `Picture`. In `Load`, `Pathways`, `Labels`, `Density`, `Edit`, `Device`, `Save`, `Remake`,
/// `Verify` and `Recovery` requests queue. In the others the newest wins: it cancels the running one and replaces
/// those that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Slot {
    /// Opening files.
    Load,
    Fit,
    /// Streamlines of the regions, while they are dragged.
    Live,
    /// Whole-brain tracking.
    Track,
    /// Rays that a cut leaves, where there are many.
    Rank,
    /// The pathway between the regions, while they are dragged.
    Pathway,
    /// Pathways that were kept, solved again.
    Pathways,
    /// The pathway beside those of random pairs.
    Compare,
    /// The best path through the voxel under the pointer.
    Trace,
    /// Comparing the axes of gradients.
    Check,
    /// A region by computation.
    Region,
    /// Label maps, counted and taken apart.
    Labels,
    /// Streamlines that rules leave.
    Select,
    /// Maps of where streamlines pass.
    Density,
    /// A level set.
    Segment,
    /// What it is to begin with.
    Begin,
    /// What is looked for, from a sample.
    Probe,
    /// Weights of streamlines.
    Commit,
    /// What such a fit would take.
    Needs,
    /// What bundles of such streamlines explain.
    Sums,
    /// One image to another.
    Align,
    /// Values of streamlines.
    Columns,
    /// The rows of a table, sorted.
    Order,
    /// Streamlines under the pointer.
    Pick,
    /// Streamlines that were chosen, to be drawn.
    Extract,
    /// Streamlines that are deleted or kept.
    Edit,
    /// Live curves that stopped for one reason.
    Stopped,
    /// Streamlines that are moved.
    Shift,
    /// Values along a bundle.
    Profile,
    /// Connections of a label map.
    Connect,
    /// Finding and opening graphics cards.
    Device,
    Save,
    /// Kept streamlines of a session that are made again, one after the other.
    Remake,
    /// Whether files are those of a session, byte by byte.
    Verify,
    /// What a window leaves behind should it end without a word.
    Recovery,
    /// A picture: the window draws it itself, a piece a frame.
    Picture,
}

impl Slot {
    const ALL: [Self; 35] = [
        Self::Load,
        Self::Fit,
        Self::Live,
        Self::Track,
        Self::Rank,
        Self::Pathway,
        Self::Pathways,
        Self::Compare,
        Self::Trace,
        Self::Check,
        Self::Region,
        Self::Labels,
        Self::Select,
        Self::Density,
        Self::Segment,
        Self::Begin,
        Self::Probe,
        Self::Commit,
        Self::Needs,
        Self::Sums,
        Self::Align,
        Self::Columns,
        Self::Order,
        Self::Pick,
        Self::Extract,
        Self::Edit,
        Self::Stopped,
        Self::Shift,
        Self::Profile,
        Self::Connect,
        Self::Device,
        Self::Save,
        Self::Remake,
        Self::Verify,
        Self::Recovery,
    ];

    /// Whether requests wait for those before them; else the newest stands for all.
    pub fn queues(self) -> bool {
        !self.latest_wins()
    }

    /// Whether the work is about the document: nobody wants it once another takes its place.
    pub fn is_of_document(self) -> bool {
        !(matches!(self, Self::Load | Self::Device | Self::Picture) || self.writes())
    }

    /// All of which that holds.
    pub fn of_document() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|slot| slot.is_of_document())
    }

    /// What was asked for is done even when the window closes.
    fn writes(self) -> bool {
        matches!(self, Self::Save | Self::Recovery)
    }

    /// What a job gives back although somebody stopped it stands: a file that was finished, a backend, the
    /// last weights of a fit.
    fn stands(self) -> bool {
        self.writes() || matches!(self, Self::Device | Self::Commit)
    }

    fn latest_wins(self) -> bool {
        matches!(
            self,
            Self::Fit
                | Self::Live
                | Self::Track
                | Self::Rank
                | Self::Pathway
                | Self::Compare
                | Self::Trace
                | Self::Check
                | Self::Region
                | Self::Select
                | Self::Segment
                | Self::Begin
                | Self::Commit
                | Self::Needs
                | Self::Sums
                | Self::Align
                | Self::Columns
                | Self::Order
                | Self::Pick
                | Self::Extract
                | Self::Stopped
                | Self::Shift
                | Self::Profile
                | Self::Connect
        )
    }
}

/// A submitted job, for the status line.
#[derive(Clone, Debug)]
pub struct Job {
    pub slot: Slot,
    /// Ascending over all slots.
    pub ticket: u64,
    /// `Fitting tensors`.
    pub label: String,
    pub control: Control,
    pub started: Instant,
}

/// A job ended.
#[derive(Clone, Debug)]
pub struct Event {
    pub slot: Slot,
    pub ticket: u64,
    /// Of the work itself, without waiting.
    pub wall_ms: f64,
    pub outcome: Outcome,
}

// A handful of them exist at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Outcome {
    /// How it stands; the job goes on.
    Partial(Output),
    Done(Output),
    Cancelled,
    /// One sentence.
    Failed(String),
    /// Another backend may do it.
    CardFailed(CardFailure),
}

struct Pending {
    job: Job,
    request: Request,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Pending>,
    running: Option<Job>,
    /// How the running job stands, until somebody looks.
    partial: Option<Event>,
    has_worker: bool,
    closed: bool,
}

#[derive(Default)]
struct Lane {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Lane {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells how a job stands that goes on.
struct Voice<'a> {
    lane: &'a Lane,
    job: &'a Job,
    started: Instant,
    wake: &'a (dyn Fn() + Send + Sync),
}

impl Voice<'_> {
    /// Whether what was told last was looked at: nobody waits for what is told meanwhile.
    fn is_heard(&self) -> bool {
        self.lane.lock().partial.is_none()
    }

    fn tell(&self, output: Output) {
        self.lane.lock().partial = Some(Event {
            slot: self.job.slot,
            ticket: self.job.ticket,
            wall_ms: self.started.elapsed().as_secs_f64() * 1e3,
            outcome: Outcome::Partial(output),
        });
        (self.wake)();
    }
}

/// The workers of one window (or of one test).
pub struct Jobs {
    place: Arc<Place>,
    lanes: Vec<(Slot, Arc<Lane>)>,
    events: Receiver<Event>,
    /// For the workers that are still to be started, and for jobs whose worker cannot be.
    sender: Sender<Event>,
    wake: Arc<dyn Fn() + Send + Sync>,
    next_ticket: u64,
    /// What the window does itself.
    own: Option<Job>,
    /// Newest ticket of each slot where the latest wins; older events are dropped.
    newest: Vec<(Slot, u64)>,
    /// Those that write files; waited for on closing.
    savers: Vec<JoinHandle<()>>,
    reclaim: Reclaim,
}

impl Jobs {
    /// `wake` is called from a worker whenever an event is ready (it asks for a repaint).
    pub fn new(backend: Backend, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (sender, events) = channel();
        Self {
            place: Arc::new(Place::new(backend)),
            lanes: Slot::ALL.map(|slot| (slot, Arc::default())).into(),
            events,
            sender,
            wake,
            next_ticket: 1,
            own: None,
            newest: Vec::new(),
            savers: Vec::new(),
            reclaim: Reclaim::new(),
        }
    }

    /// Who lends images of the window's card, for results that it draws.
    pub fn lend_images(&self, lend: LendImage) {
        // There is one window.
        let _ = self.place.lends.set(lend);
    }

    fn lane(&self, slot: Slot) -> Option<&Arc<Lane>> {
        self.lanes
            .iter()
            .find(|(s, _)| *s == slot)
            .map(|(_, lane)| lane)
    }

    fn job(&mut self, slot: Slot, label: String) -> Job {
        self.next_ticket += 1;
        Job {
            slot,
            ticket: self.next_ticket - 1,
            label,
            control: Control::new(),
            started: Instant::now(),
        }
    }

    /// A job that the window does itself, one at a time; [`Jobs::cancel`] reaches it as any other.
    pub fn own(&mut self, slot: Slot, label: String) -> Job {
        let job = self.job(slot, label);
        self.own = Some(job.clone());
        job
    }

    pub fn submit(&mut self, request: Request) -> Job {
        let slot = request.slot();
        let job = self.job(slot, request.label());
        if slot.latest_wins() {
            self.newest.retain(|(s, _)| *s != slot);
            self.newest.push((slot, job.ticket));
        }
        if let Some(lane) = self.lane(slot).cloned() {
            if let Err(sentence) = self.start(slot, &lane) {
                // The receiver is this struct's own.
                let _ = self.sender.send(Event {
                    slot,
                    ticket: job.ticket,
                    wall_ms: 0.0,
                    outcome: Outcome::Failed(sentence),
                });
                (self.wake)();
                return job;
            }
            let mut queue = lane.lock();
            if slot.latest_wins() {
                queue.waiting.clear();
                if let Some(running) = &queue.running {
                    running.control.cancel();
                }
            }
            queue.waiting.push_back(Pending {
                job: job.clone(),
                request,
            });
            lane.changed.notify_one();
        }
        job
    }

    /// Starts the worker of a slot unless it runs.
    fn start(&mut self, slot: Slot, lane: &Arc<Lane>) -> Result<(), String> {
        let mut queue = lane.lock();
        if queue.has_worker {
            return Ok(());
        }
        let (place, sender) = (self.place.clone(), self.sender.clone());
        let (own, wake) = (lane.clone(), self.wake.clone());
        let worker = thread::start("job", move || work(&own, &place, &sender, &*wake))?;
        queue.has_worker = true;
        if slot.writes() {
            self.savers.push(worker);
        }
        Ok(())
    }

    /// What jobs take together with the window, bytes; estimates keep within it.
    pub fn limit_memory(&self, bytes: Option<u64>) {
        crate::io::limit_memory(bytes);
    }

    /// Asks the running job of a slot, and those that wait, to stop.
    pub fn cancel(&self, slot: Slot) {
        if let Some(job) = self.own.as_ref().filter(|j| j.slot == slot) {
            job.control.cancel();
        }
        if let Some(lane) = self.lane(slot) {
            let queue = lane.lock();
            queue.waiting.iter().for_each(|p| p.job.control.cancel());
            if let Some(running) = &queue.running {
                running.control.cancel();
            }
        }
    }

    /// Waits for a job, for those without a window; `tick` is called about twenty times a second.
    pub fn wait(&mut self, job: &Job, mut tick: impl FnMut(&Progress)) -> Event {
        loop {
            match self.events.recv_timeout(Duration::from_millis(50)) {
                Ok(event) if event.ticket == job.ticket => return event,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => tick(&job.control.progress()),
                Err(RecvTimeoutError::Disconnected) => {
                    let outcome = Outcome::Failed(format!("{}: the worker is gone", job.label));
                    return Event {
                        slot: job.slot,
                        ticket: job.ticket,
                        wall_ms: 0.0,
                        outcome,
                    };
                }
            }
        }
    }

    /// The events since the last call, without those of replaced jobs.
    pub fn poll(&mut self) -> Vec<Event> {
        let lanes = self.lanes.iter();
        let partial: Vec<Event> = lanes.filter_map(|(_, l)| l.lock().partial.take()).collect();
        let newest = |slot: Slot| {
            self.newest
                .iter()
                .find(|(s, _)| *s == slot)
                .map_or(0, |(_, t)| *t)
        };
        let mut events: Vec<Event> = partial.into_iter().chain(self.events.try_iter()).collect();
        events.iter().for_each(|e| self.reclaim.hold(e));
        events.retain(|e| e.ticket >= newest(e.slot));
        self.reclaim.sweep();
        events
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        for (slot, lane) in &self.lanes {
            let mut queue = lane.lock();
            queue.closed = true;
            // A file that is being written is finished; everything else may stop.
            if !slot.writes() {
                queue.waiting.clear();
                if let Some(running) = &queue.running {
                    running.control.cancel();
                }
            }
            lane.changed.notify_all();
        }
        for saver in self.savers.drain(..) {
            // Its panics were caught and told already.
            let _ = saver.join();
        }
    }
}

/// A worker's life.
fn work(lane: &Lane, place: &Place, events: &Sender<Event>, wake: &(dyn Fn() + Send + Sync)) {
    loop {
        let pending = {
            let mut queue = lane.lock();
            loop {
                if let Some(pending) = queue.waiting.pop_front() {
                    queue.running = Some(pending.job.clone());
                    break pending;
                }
                if queue.closed {
                    return;
                }
                queue = lane
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        };
        let Pending { job, request } = pending;
        let started = Instant::now();
        // A panic is a fault of ours; the document and the other jobs live on.
        let voice = Voice {
            lane,
            job: &job,
            started,
            wake,
        };
        let run = || request.run(place, &job.control, &voice);
        let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            Outcome::Failed(format!("{} failed: a fault in the program", job.label))
        });
        let outcome = match outcome {
            Outcome::Done(output) if job.slot.stands() => Outcome::Done(output),
            _ if job.control.is_cancelled() => Outcome::Cancelled,
            outcome => outcome,
        };
        {
            let mut queue = lane.lock();
            queue.running = None;
            // What follows says more.
            queue.partial = None;
        }
        let wall_ms = started.elapsed().as_secs_f64() * 1e3;
        let (slot, ticket) = (job.slot, job.ticket);
        // Nobody may listen any more; what waits is done all the same.
        let _ = events.send(Event {
            slot,
            ticket,
            wall_ms,
            outcome,
        });
        wake();
    }
}
