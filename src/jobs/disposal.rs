//! Memory of streamlines is given back where nobody waits for it: a gigabyte takes a tenth of a second, and
//! whoever lets go last, as a rule the window, would stand still for it.

use super::session::{Restored, SessionOutput};
use super::{Event, Loaded, Outcome, Output, bundle::OfBundle};
use crate::compute::thread;
use crate::data::Tractogram;
use std::sync::mpsc::{Sender, channel};

/// Fewer points are gone in a millisecond.
const MANY_POINTS: usize = 1 << 20;

/// Streamlines that jobs have brought, until nobody else has them.
pub(super) struct Reclaim {
    held: Vec<Tractogram>,
    gone: Sender<Tractogram>,
}

impl Reclaim {
    pub fn new() -> Self {
        let (gone, unwanted) = channel::<Tractogram>();
        // Without the thread nothing receives, and memory is freed where it is sent.
        let _ = thread::start("reclaim", move || unwanted.into_iter().for_each(drop));
        Self {
            held: Vec::new(),
            gone,
        }
    }

    /// Holds what an event brings, too.
    pub fn hold(&mut self, event: &Event) {
        let (Outcome::Done(output) | Outcome::Partial(output)) = &event.outcome else {
            return;
        };
        for tractogram in brought(output) {
            let same = |held: &Tractogram| std::ptr::eq(&*held.points, &*tractogram.points);
            if tractogram.points.len() >= MANY_POINTS && !self.held.iter().any(same) {
                self.held.push(tractogram.clone());
            }
        }
    }

    /// Lets go of what nobody else holds any more.
    pub fn sweep(&mut self) {
        for tractogram in self.held.extract_if(.., |held| held.points.is_sole()) {
            // The thread lives as long as this does.
            let _ = self.gone.send(tractogram);
        }
    }
}

/// The streamlines of a result.
fn brought(output: &Output) -> Vec<&Tractogram> {
    match output {
        Output::Opened {
            loaded: Loaded::Tractogram(opened),
            ..
        } => vec![opened],
        Output::Tracked { output, .. } => vec![&output.kept, &output.missed],
        Output::Shot(shot) => vec![&shot.all, &shot.output.kept, &shot.output.missed],
        Output::Ranked { kept, .. } => vec![kept],
        Output::Bundle(OfBundle::Filtered { shown, .. }) => vec![shown],
        Output::Bundle(OfBundle::Extracted(some)) => vec![some],
        Output::Bundle(OfBundle::Stopped(some)) => some.iter().collect(),
        Output::Bundle(
            OfBundle::Edited { tractogram, .. } | OfBundle::Shifted { tractogram, .. },
        ) => vec![tractogram],
        Output::Session(SessionOutput::Remade { tractogram, .. }) => vec![tractogram],
        Output::Session(SessionOutput::Loaded(restored)) => {
            let read = restored.iter().filter_map(|(_, one)| one.as_ref().ok());
            read.flat_map(Restored::all_curves).collect()
        }
        _ => Vec::new(),
    }
}
