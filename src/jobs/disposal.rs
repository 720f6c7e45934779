//! Memory of streamlines and of jobs is given back where nobody waits for it: a gigabyte takes a tenth of a second, and
//! whoever lets go last, as a rule the window, would stand still for it.

use super::{Event, JobState};
use crate::compute::thread;
use crate::data::Tractogram;
use std::any::Any;
use std::sync::mpsc::{Sender, channel};

/// Fewer points are gone in a millisecond.
const MANY_POINTS: usize = 1 << 20;

/// Streamlines that jobs have brought, until nobody else has them.
pub(super) struct Reclaim {
    kept: Vec<Tractogram>,
    gone: Sender<Box<dyn Any + Send>>,
}

impl Reclaim {
    pub fn new() -> Self {
        let (gone, unwanted) = channel::<Box<dyn Any + Send>>();
        // Without the thread nothing receives, and memory is freed where it is sent.
        let _ = thread::start("reclaim", move || unwanted.into_iter().for_each(drop));
        Self {
            kept: Vec::new(),
            gone,
        }
    }

    /// Holds what an event brings, too, and frees what is left of its job.
    pub fn hold<S: JobState>(&mut self, event: &mut Event<S>) {
        event.disposal = Some(self.gone.clone());
        for tractogram in event.curves() {
            let same = |kept: &Tractogram| std::ptr::eq(&*kept.points, &*tractogram.points);
            if tractogram.points.len() >= MANY_POINTS && !self.kept.iter().any(same) {
                self.kept.push(tractogram.clone());
            }
        }
    }

    /// Lets go of what nobody else holds any more.
    pub fn sweep(&mut self) {
        for tractogram in self.kept.extract_if(.., |kept| kept.points.is_sole()) {
            // The thread lives as long as this does.
            let _ = self.gone.send(Box::new(tractogram));
        }
    }
}
