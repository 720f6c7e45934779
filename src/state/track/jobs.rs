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

/// Ends a job of live curves without an output, for which the curves' own panel gives the reason. Curves that failed on
/// a graphics card are those of the present document when they are repeated.
fn live_unfinished(end: &Unfinished, state: &mut State) -> bool {
    let session = &mut state.session;
    match end {
        // Stopped by the user, or replaced by another one.
        Unfinished::Cancelled => {}
        Unfinished::Failed(why) => track::update::failed(state, why),
        // The last job that was running when the CPU was chosen.
        Unfinished::DeviceFailed(_) if session.device.kind == BackendKind::Cpu => {
            session.track.live.stop();
        }
        Unfinished::DeviceFailed(failure) => {
            session.device.fallback.live = true;
            track::update::failed(state, &failure.found);
        }
    }
    true
}
