//! Jobs of streamlines and rays.

pub mod bootstrap;
pub mod cut;
pub mod shoot;
pub mod stopped;
pub mod streamlines;

use crate::compute::BackendKind;
use crate::jobs::{Slot, Unfinished};
use crate::state::{State, track};

/// Streamlines or rays of the regions.
pub const LIVE: Slot = Slot::latest_wins("live");

/// The end of a job of live curves without an output, of which the curves' own panel says why. Curves that a
/// graphics card failed are those of the document as it is when they are tried again.
fn live_unfinished(end: &Unfinished, state: &mut State) -> bool {
    let session = &mut state.session;
    match end {
        // Stopped by the user, or replaced by another one.
        Unfinished::Cancelled => {}
        Unfinished::Failed(why) => track::update::failed(state, why),
        // The last that was under way when the CPU was chosen.
        Unfinished::DeviceFailed(_) if session.backend_kind == BackendKind::Cpu => {
            session.tracking.stop();
        }
        Unfinished::DeviceFailed(failure) => {
            session.stranded.live = true;
            track::update::failed(state, &failure.found);
        }
    }
    true
}
