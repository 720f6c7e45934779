//! Jobs of streamlines and rays.

pub mod bootstrap;
pub mod copy;
pub mod cut;
pub mod drawing;
pub mod lobes;
pub mod odf_streamlines;
pub mod orientations;
pub mod stopped;
pub mod streamlines;
pub mod trace;

use crate::compute::BackendKind;
use crate::jobs::{Slot, Unfinished};
use crate::state::{State, track};

/// Streamlines or rays of the regions.
pub const LIVE: Slot = Slot::latest_wins("live");

/// Ends a job of live curves that has no output; the panel of the curves shows the reason. After a failure of a
/// graphics card, the user may repeat the curves of the current document.
fn live_unfinished(end: &Unfinished, state: &mut State) -> bool {
    let runtime = &mut state.runtime;
    match end {
        // The user stopped the job, or another one replaced it.
        Unfinished::Cancelled => {}
        Unfinished::Failed(why) => track::update::failed(state, why),
        // This job was still running when the user chose the CPU.
        Unfinished::DeviceFailed(_) if runtime.device.kind == BackendKind::Cpu => {
            runtime.track.live.stop();
        }
        Unfinished::DeviceFailed(failure) => {
            runtime.device.fallback.live = true;
            track::update::failed(state, &failure.cause);
        }
    }
    true
}
