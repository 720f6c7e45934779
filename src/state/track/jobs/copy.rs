//! The copy of live curves from a graphics card to the host. A card that draws needs none, so the copy is made once the
//! controls rest.

use crate::compute::{BackendKind, Control};
use crate::data::{DataId, Tractogram};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::state::job_end::ended;
use crate::state::{CurveResult, Effect, State};

/// Curves that are copied.
pub const COPY: Slot = Slot::latest_wins("copy of live curves").in_background();

/// Copies points and values of the live curves to the host.
#[derive(Clone, Debug)]
pub struct CopyLive {
    /// The curves that are shown.
    kept: DataId,
    curves: Vec<Tractogram>,
}

impl CopyLive {
    pub fn new(live: &CurveResult) -> Self {
        let [kept, missed] = [&live.output.kept, &live.output.missed];
        let before_cut = live.rays.as_ref().map(|rays| &rays.all);
        let all = [kept, missed].into_iter().chain(before_cut);
        Self {
            kept: kept.id(),
            curves: all.cloned().collect(),
        }
    }
}

impl Job for CopyLive {
    type Output = ();

    fn slot(&self) -> Slot {
        COPY
    }

    fn label(&self) -> String {
        "Copying curves from the graphics card".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<()>,
    ) -> Result<(), JobError> {
        worker.backend().install(|| {
            self.curves.iter().try_for_each(|curves| {
                control.check()?;
                Ok(curves.on_host().map_err(Error::from)?)
            })
        })
    }
}

impl Receive<State> for CopyLive {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |_, (), _, _| {});
    }

    /// Curves that the host cannot have are no longer shown; the panel of the curves gives the reason.
    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        let runtime = &mut state.runtime;
        let is_shown = |live: &CurveResult| live.output.kept.id() == self.kept;
        if !runtime.track.live.value().is_some_and(is_shown) {
            return true;
        }
        match end {
            // The next follow-up requests it once more.
            Unfinished::Cancelled => runtime.track.copied = None,
            Unfinished::Failed(why) => runtime.track.live.fail_shown(why),
            // The user chose the CPU, which traces the curves again.
            Unfinished::DeviceFailed(_) if runtime.device.kind == BackendKind::Cpu => {
                runtime.track.live.clear_shown();
            }
            Unfinished::DeviceFailed(failure) => {
                runtime.device.fallback.live = true;
                runtime.track.live.fail_shown(&failure.cause);
            }
        }
        true
    }
}
