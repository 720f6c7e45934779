//! Frees the memory of streamlines and of jobs on a thread of its own: a gigabyte takes a tenth of a second, and the
//! last owner, usually the window, would block for that time.

use super::{Event, JobState};
use crate::compute::thread;
use crate::data::Tractogram;
use std::any::Any;
use std::sync::mpsc::{Sender, channel};

/// Fewer points are freed within a millisecond.
const MANY_POINTS: usize = 1 << 20;

/// Streamlines that jobs have returned, kept until this is their only owner.
pub(super) struct Disposal {
    tractograms: Vec<Tractogram>,
    sender: Sender<Box<dyn Any + Send>>,
}

impl Disposal {
    pub fn new() -> Self {
        let (sender, unwanted) = channel::<Box<dyn Any + Send>>();
        // Without the thread nothing receives, and memory is freed by the sender.
        let _ = thread::start("reclaim", move || unwanted.into_iter().for_each(drop));
        Self {
            tractograms: Vec::new(),
            sender,
        }
    }

    /// Also keeps the streamlines of an event, and frees the remains of its job.
    pub fn retain<S: JobState>(&mut self, event: &mut Event<S>) {
        event.disposal = Some(self.sender.clone());
        for tractogram in event.curves() {
            let same = |kept: &Tractogram| kept.points.is_same(&tractogram.points);
            if tractogram.points.len() >= MANY_POINTS && !self.tractograms.iter().any(same) {
                self.tractograms.push(tractogram.clone());
            }
        }
    }

    /// Frees the streamlines that have no other owner left.
    pub fn free_unused(&mut self) {
        for tractogram in self
            .tractograms
            .extract_if(.., |kept| kept.points.is_unshared())
        {
            // The thread lives as long as this struct.
            let _ = self.sender.send(Box::new(tractogram));
        }
    }
}
