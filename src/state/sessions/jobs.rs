//! Work on sessions: writing, reading and recovering them, and recomputing their layers.

mod examine;
pub mod head;
mod load;
mod memory;
mod read;
mod recompute_curves;
mod recovery;
mod save;

pub use examine::{ExamineSession, ExaminedSession};
pub use load::{LayerToRestore, LoadLayers, RestoredLayer, RestoredLayers};
pub use read::{OpenSession, RelocateFiles, VerifyFiles};
pub use recompute_curves::{CurveMethod, RECOMPUTE_CURVES, RecomputeCurves, RecomputedCurves};
pub use recovery::{
    Autosave, FindRecoverable, ForgetRecoverable, RECOVERY, Recoverable, RemoveRecoveryCopy,
};
pub use save::{SaveOutcome, SaveSession};

use crate::jobs::{Delivery, Outcome, Receive};
use crate::state::job_end::ended;
use crate::state::sessions::update::{self, arriving};
use crate::state::{Effect, State};

/// The end of a job that opens a session: without an output none is opened. Other files are opened in the same slot,
/// and their failure does not end the reading of a session. If the session cannot be opened, the files that waited for
/// it are opened on their own.
fn opened<J: Receive<State>>(
    state: &mut State,
    job: &J,
    delivery: Delivery<J::Output>,
    effects: &mut Vec<Effect>,
    receive: impl FnOnce(&mut State, J::Output, f64, &mut Vec<Effect>),
) {
    let is_unread = delivery.outcome.unfinished().is_some();
    let is_stopped = matches!(delivery.outcome, Outcome::Cancelled);
    ended(state, job, delivery, effects, receive);
    if !is_unread {
        return;
    }
    update::not_read(state);
    // The user is still asked about the session.
    if state.runtime.sessions.opening.is_some() {
        return;
    }
    match is_stopped {
        true => state.runtime.sessions.arriving = None,
        false => arriving::open_waiting(state, effects),
    }
}
