//! The live result: how it relates to the controls, and which of its curves are shown.

use crate::data::Tractogram;
use crate::jobs::{JobHandle, Slot};
use crate::state::State;
use crate::state::core::live::LAG;
use crate::state::tensors::jobs::fit::FIT;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::cut::CUT;
use crate::state::track::types::{CurveResult, Standing, StopFilterKey};

impl State {
    /// Standing of the live result; `None` if there is none.
    pub fn standing(&self) -> Option<Standing> {
        let live = self.session.track.live.value()?;
        let of = |slots: &[Slot]| {
            self.session
                .jobs
                .running
                .iter()
                .any(|j| slots.contains(&j.slot))
        };
        let cut = live.rays.as_ref().map(|rays| rays.cut);
        let uncut = cut.is_some_and(|cut| cut != self.document.track.rays.cut);
        // New tensors are being fitted.
        let fitting = self.session.tensors.fitting.is_some();
        Some(match (self.is_current(live), live.coarse) {
            (true, _) if uncut && of(&[CUT]) => Standing::Updating,
            (true, _) if uncut => Standing::OutOfDate,
            (true, false) => Standing::Final,
            (true, true) => Standing::Coarse,
            // During a drag a coarse result may lag a little.
            (false, true) if self.session.track.live.waits_for_rest() => Standing::Coarse,
            (false, _) if fitting || of(&[LIVE, FIT]) => Standing::Updating,
            (false, _) => Standing::OutOfDate,
        })
    }

    /// Whether a live result belongs to the present tensors, regions and parameters, with no new fit running.
    fn is_current(&self, live: &CurveResult) -> bool {
        self.session.tensors.fitting.is_none() && live.key.is_current(&self.document)
    }

    /// Whether the live result is stale, and will be for longer than a coarse one takes. A cut needs no new curves.
    pub fn live_is_stale(&self) -> bool {
        let Some(live) = self.session.track.live.value() else {
            return false;
        };
        if self.is_current(live) {
            return false;
        }
        let mut jobs = self.session.jobs.running.iter();
        let late = |j: &JobHandle| j.slot == LIVE && j.started.elapsed() > LAG;
        self.standing() != Some(Standing::Coarse) || jobs.any(late)
    }

    /// Whether the live result is not final although no job is running: one was stopped.
    pub fn stalled(&self) -> bool {
        let waits = |slot| matches!(slot, LIVE | FIT) || slot == CUT;
        let session = &self.session;
        let follows = session.track.live.waits_for_rest();
        let busy = follows || session.jobs.running.iter().any(|j| waits(j.slot));
        let standing = self.standing();
        standing.is_some_and(|standing| standing != Standing::Final) && !busy
    }

    /// The curves shown instead of the live ones: those with an end that stopped for one reason.
    pub fn stopped(&self) -> Option<(&StopFilterKey, &[Tractogram; 2])> {
        let live = self.session.track.live.value()?;
        let known = self.session.bundle.stopped.shown();
        known.filter(|(key, _)| key.curves == [live.output.kept.id(), live.output.missed.id()])
    }

    /// The live result, if it is final.
    pub fn final_live(&self) -> Option<&CurveResult> {
        let live = self.session.track.live.value();
        live.filter(|_| self.standing() == Some(Standing::Final))
    }
}
