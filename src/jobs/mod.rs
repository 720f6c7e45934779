//! When work runs: the only threads. The window submits a [`Job`], a worker answers with an [`Event`]; neither waits
//! for the other.

mod disposal;
mod error;
mod export;
pub mod film;
mod job;
mod paths;
mod quick;
mod saved;
mod slot;
mod worker;

/// For files that the window keeps for itself.
pub use crate::io::atomic::make_private_folder;
/// The contents of a folder.
pub use crate::io::bids::{Folder, Visit};
pub use error::{DeviceFailure, JobError};
pub use export::{ValueNames, save_contents, save_tractogram, save_with_values};
pub use film::{Ffmpeg, NoFfmpeg};
pub use job::{
    AnyJob, Delivery, Event, Job, JobState, Outcome, PartialSender, Receive, Unfinished,
};
pub use paths::{
    CheckDestination, CheckReadable, CompletePath, Completed, Destination, PathAnswer, PathError,
    PathQuestion,
};
pub use saved::{CompleteData, Saved};
pub use slot::Slot;
pub use worker::{BackendOpened, Worker, memory_for_curves, sentence};

/// Errors of graphics cards, for the window's state.
pub use crate::compute::cuda::Error as CardError;
/// The keys of `--backend`, for the window's state.
pub use crate::compute::{BackendKind, DeviceChoice};

use crate::compute::thread::{self, ThreadError};
use crate::compute::{Backend, Cancelled, Control, Progress};
use crate::data::ImageExporter;
use disposal::Disposal;
use job::Run;
use quick::{Arrivals, FirstResult};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A submitted job, as the status line shows it.
#[derive(Clone, Debug)]
pub struct JobHandle {
    pub slot: Slot,
    /// Ascending across all slots.
    pub ticket: u64,
    /// `Fitting tensors`.
    pub label: String,
    pub control: Control,
    pub started: Instant,
}

struct Pending<S: JobState> {
    handle: JobHandle,
    job: Box<dyn AnyJob<S>>,
}

struct Queue<S: JobState> {
    waiting: VecDeque<Pending<S>>,
    running: Option<JobHandle>,
    /// The latest partial output of the running job, until it is taken.
    partial: Option<Event<S>>,
    first_result: FirstResult,
    has_worker: bool,
    closed: bool,
}

struct Lane<S: JobState> {
    queue: Mutex<Queue<S>>,
    changed: Condvar,
}

impl<S: JobState> Lane<S> {
    fn new() -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                running: None,
                partial: None,
                first_result: FirstResult::default(),
                has_worker: false,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job that a worker has started.
struct Running<'a, S: JobState> {
    lane: &'a Lane<S>,
    worker: &'a Worker,
    handle: &'a JobHandle,
    started: Instant,
    wake: &'a (dyn Fn() + Send + Sync),
}

impl<S: JobState> Run<S> for Running<'_, S> {
    fn worker(&self) -> &Worker {
        self.worker
    }

    fn control(&self) -> &Control {
        &self.handle.control
    }

    fn ticket(&self) -> u64 {
        self.handle.ticket
    }

    fn wall_ms(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1e3
    }

    fn send_partial(&self, event: Event<S>) {
        {
            let mut queue = self.lane.lock();
            queue.partial = Some(event);
            queue.first_result.arrive();
        }
        (self.wake)();
    }

    fn is_partial_taken(&self) -> bool {
        self.lane.lock().partial.is_none()
    }
}

/// The workers of one window (or of one test).
pub struct Jobs<S: JobState> {
    worker: Arc<Worker>,
    /// One per slot ever used, with a thread of its own.
    lanes: Vec<(Slot, Arc<Lane<S>>)>,
    events: Receiver<Event<S>>,
    /// For workers not yet started, and for jobs whose worker cannot be started.
    sender: Sender<Event<S>>,
    wake: Arc<dyn Fn() + Send + Sync>,
    arrivals: Arc<Arrivals>,
    next_ticket: u64,
    /// The job that the window does itself.
    window_job: Option<JobHandle>,
    /// Newest ticket of each slot in which the latest wins; older events are dropped.
    newest: Vec<(Slot, u64)>,
    /// Threads that write files; joined on closing.
    saving_threads: Vec<JoinHandle<()>>,
    disposal: Disposal,
}

impl<S: JobState> Jobs<S> {
    /// `wake` is called from a worker whenever an event is ready (it asks for a repaint).
    pub fn new(backend: Backend, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (sender, events) = channel();
        let arrivals = Arc::new(Arrivals::default());
        let counted = arrivals.clone();
        Self {
            worker: Arc::new(Worker::new(backend)),
            lanes: Vec::new(),
            events,
            sender,
            wake: Arc::new(move || {
                counted.add();
                wake();
            }),
            arrivals,
            next_ticket: 1,
            window_job: None,
            newest: Vec::new(),
            saving_threads: Vec::new(),
            disposal: Disposal::new(),
        }
    }

    /// Sets the exporter of images on the window's graphics card, for results that the window draws.
    pub fn set_image_exporter(&self, exporter: ImageExporter) {
        // There is only one window.
        let _ = self.worker.exporter.set(exporter);
    }

    fn lane(&self, slot: Slot) -> Option<&Arc<Lane<S>>> {
        let mut lanes = self.lanes.iter();
        lanes.find(|(s, _)| *s == slot).map(|(_, lane)| lane)
    }

    fn handle(&mut self, slot: Slot, label: String) -> JobHandle {
        self.next_ticket += 1;
        JobHandle {
            slot,
            ticket: self.next_ticket - 1,
            label,
            control: Control::new(),
            started: Instant::now(),
        }
    }

    /// A job that the window does itself, one at a time; [`Jobs::cancel`] cancels it like any other.
    pub fn window_job(&mut self, slot: Slot, label: String) -> JobHandle {
        let handle = self.handle(slot, label);
        self.window_job = Some(handle.clone());
        handle
    }

    pub fn submit(&mut self, job: impl Into<Box<dyn AnyJob<S>>>) -> JobHandle {
        let job = job.into();
        let slot = job.slot();
        let handle = self.handle(slot, job.label());
        if let Some(name) = job.named_file().and_then(Path::file_name) {
            let name = name.to_string_lossy().into_owned();
            handle.control.set_named_file(name);
        }
        if !slot.queues() {
            self.newest.retain(|(s, _)| *s != slot);
            self.newest.push((slot, handle.ticket));
        }
        let lane = match self.lane(slot) {
            Some(lane) => lane.clone(),
            None => {
                let lane = Arc::new(Lane::new());
                self.lanes.push((slot, lane.clone()));
                lane
            }
        };
        if let Err(error) = self.start(slot, &lane) {
            let event = job.not_started(handle.ticket, error.to_string());
            // This struct owns the receiver.
            let _ = self.sender.send(event);
            (self.wake)();
            return handle;
        }
        let mut queue = lane.lock();
        if !slot.queues() {
            queue.waiting.clear();
            if let Some(running) = &queue.running {
                running.control.cancel();
            }
        }
        queue.waiting.push_back(Pending {
            handle: handle.clone(),
            job,
        });
        lane.changed.notify_one();
        drop(queue);
        handle
    }

    /// Starts the thread of a slot unless it is running.
    fn start(&mut self, slot: Slot, lane: &Arc<Lane<S>>) -> Result<(), ThreadError> {
        let mut queue = lane.lock();
        if queue.has_worker {
            return Ok(());
        }
        let (worker, sender) = (self.worker.clone(), self.sender.clone());
        let (own, wake) = (lane.clone(), self.wake.clone());
        let thread = thread::start("job", move || work(&own, &worker, &sender, &*wake))?;
        queue.has_worker = true;
        if slot.finishes_on_exit() {
            self.saving_threads.push(thread);
        }
        Ok(())
    }

    /// Limit for the memory of jobs and window together, bytes; estimates stay within it.
    pub fn limit_memory(&self, bytes: Option<u64>) {
        crate::io::limit_memory(bytes);
    }

    /// Requests the running job of a slot, and the waiting ones, to stop.
    pub fn cancel(&self, slot: Slot) {
        self.cancel_where(|s| s == slot);
    }

    /// Requests all jobs about the document to stop.
    pub fn cancel_of_document(&self) {
        self.cancel_where(Slot::is_of_document);
    }

    fn cancel_where(&self, is_chosen: impl Fn(Slot) -> bool) {
        if let Some(own) = self.window_job.as_ref().filter(|own| is_chosen(own.slot)) {
            own.control.cancel();
        }
        for (_, lane) in self.lanes.iter().filter(|(slot, _)| is_chosen(*slot)) {
            let queue = lane.lock();
            queue.waiting.iter().for_each(|p| p.handle.control.cancel());
            if let Some(running) = &queue.running {
                running.control.cancel();
            }
        }
    }

    /// Waits for a job, for callers without a window; `tick` is called about twenty times a second.
    pub fn wait(&mut self, job: &JobHandle, mut tick: impl FnMut(&Progress)) -> Event<S> {
        loop {
            match self.events.recv_timeout(Duration::from_millis(50)) {
                Ok(event) if event.ticket == job.ticket => return event,
                Ok(_) => {}
                // This struct owns the sender, so the only error is a timeout.
                Err(_) => tick(&job.control.progress()),
            }
        }
    }

    /// Waits, for `limit` at most, for the first results of jobs that follow the controls, where the last job of the slot
    /// took about that long or less to its first result: the picture that is drawn next shows them already.
    pub fn wait_for_quick(&self, limit: Duration) {
        let is_awaited = |(slot, lane): &(Slot, Arc<Lane<S>>)| {
            let mut queue = lane.lock();
            let is_queued = !queue.waiting.is_empty();
            !slot.queues()
                && !slot.is_in_background()
                && queue.first_result.is_awaited(is_queued, limit)
        };
        self.arrivals
            .wait_while(limit, || self.lanes.iter().any(is_awaited));
    }

    /// The events since the last call, without those of replaced jobs.
    pub fn poll(&mut self) -> Vec<Event<S>> {
        let lanes = self.lanes.iter();
        let partial: Vec<Event<S>> = lanes.filter_map(|(_, l)| l.lock().partial.take()).collect();
        let newest = |slot: Slot| {
            self.newest
                .iter()
                .find(|(s, _)| *s == slot)
                .map_or(0, |(_, t)| *t)
        };
        let mut events: Vec<Event<S>> = partial.into_iter().chain(self.events.try_iter()).collect();
        events.iter_mut().for_each(|e| self.disposal.retain(e));
        events.retain(|e| e.ticket >= newest(e.slot));
        self.disposal.free_unused();
        events
    }
}

impl<S: JobState> Drop for Jobs<S> {
    fn drop(&mut self) {
        for (slot, lane) in &self.lanes {
            let mut queue = lane.lock();
            queue.closed = true;
            // A file being written is finished; everything else may stop.
            if !slot.finishes_on_exit() {
                queue.waiting.clear();
                if let Some(running) = &queue.running {
                    running.control.cancel();
                }
            }
            lane.changed.notify_all();
        }
        for saver in self.saving_threads.drain(..) {
            // Its panics were already caught and reported.
            let _ = saver.join();
        }
    }
}

/// Waits for this long, unless the job is cancelled before.
pub fn wait(time: Duration, control: &Control) -> Result<(), Cancelled> {
    /// Interval at which cancellation is checked.
    const CHECK: Duration = Duration::from_millis(10);
    let started = Instant::now();
    while let Some(left) = time.checked_sub(started.elapsed()) {
        control.check()?;
        std::thread::sleep(left.min(CHECK));
    }
    control.check()
}

/// The work of a slot's thread.
fn work<S: JobState>(
    lane: &Lane<S>,
    worker: &Worker,
    events: &Sender<Event<S>>,
    wake: &(dyn Fn() + Send + Sync),
) {
    loop {
        let pending = {
            let mut queue = lane.lock();
            loop {
                if let Some(pending) = queue.waiting.pop_front() {
                    queue.running = Some(pending.handle.clone());
                    queue.first_result.begin();
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
        let Pending { handle, job } = pending;
        let event = job.run(&Running {
            lane,
            worker,
            handle: &handle,
            started: Instant::now(),
            wake,
        });
        let is_done = matches!(event.ending(), Outcome::Done(()));
        {
            let mut queue = lane.lock();
            queue.running = None;
            // The event that follows supersedes it.
            queue.partial = None;
        }
        // The receiver may no longer exist; waiting jobs are done nevertheless.
        let _ = events.send(event);
        {
            let first_result = &mut lane.lock().first_result;
            if is_done {
                first_result.arrive();
            }
            first_result.end();
        }
        wake();
    }
}
