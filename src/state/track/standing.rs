//! The live result: how it relates to the controls, and which of its curves are shown.

use crate::data::Tractogram;
use crate::jobs::Slot;
use crate::state::State;
use crate::state::core::live::{LAG, Relation};
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::jobs::fod::FOD;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::cut::CUT;
use crate::state::track::types::odf::Model;
use crate::state::track::types::{CurveResult, Standing, StopFilterKey};

impl State {
    /// Standing of the live result; `None` if there is none.
    pub fn standing(&self) -> Option<Standing> {
        self.live_relation().map(Relation::standing)
    }

    /// Whether the live result is stale, and will be for longer than a coarse one takes. A cut needs no new curves.
    pub fn live_is_stale(&self) -> bool {
        self.live_relation().is_some_and(Relation::is_stale)
    }

    /// How the live result relates to the document, its tensors and the running jobs; `None` if there is none.
    fn live_relation(&self) -> Option<Relation> {
        let live = self.runtime.track.live.value()?;
        let jobs = &self.runtime.jobs;
        let (is_fitting, fit) = self.fitting();
        let document = &self.document;
        let has_other_field = document.lacks_requested(document.track.kind().model());
        let is_current = !is_fitting && !has_other_field && live.key.is_current(document);
        let cut = live.rays.as_ref().map(|rays| rays.cut);
        let lacks_step = cut.is_some_and(|cut| cut != document.track.chosen_rays().cut);
        Some(Relation {
            detail: live.detail(),
            is_current,
            lacks_step,
            is_updating: match is_current && lacks_step {
                true => jobs.is_running(&[CUT]),
                false => is_fitting || jobs.is_running(&[LIVE, fit]),
            },
            // During a drag a coarse result may lag a little.
            may_lag: self.runtime.track.live.waits_for_rest(),
            exceeds_lag: jobs.is_older(LIVE, LAG),
        })
    }

    /// Whether the tensors or the distributions of the live result are being computed, and the slot of that job.
    fn fitting(&self) -> (bool, Slot) {
        let tensors = &self.runtime.tensors;
        match self.document.track.kind().model() {
            Model::Tensors => (tensors.is_fitting(), FIT),
            Model::Distributions => (tensors.fods.running().is_some(), FOD),
        }
    }

    /// Whether the live result is not final although no job is running: one was stopped.
    pub fn stalled(&self) -> bool {
        let runtime = &self.runtime;
        let follows = runtime.track.live.waits_for_rest();
        let busy = follows || runtime.jobs.is_running(&[LIVE, self.fitting().1, CUT]);
        let standing = self.standing();
        standing.is_some_and(|standing| standing != Standing::Final) && !busy
    }

    /// The curves shown instead of the live ones: those with an end that stopped for one reason.
    pub fn stopped(&self) -> Option<(&StopFilterKey, &[Tractogram; 2])> {
        let live = self.runtime.track.live.value()?;
        let known = self.runtime.streamlines.stopped.shown();
        known.filter(|(key, _)| key.curves == [live.output.kept.id(), live.output.missed.id()])
    }

    /// The live result, if it is final and the host has it. The window draws curves of a graphics card before, during a
    /// whole drag, and the card may fail in between.
    pub fn final_live(&self) -> Option<&CurveResult> {
        let live = self.runtime.track.live.value();
        live.filter(|live| {
            let [kept, missed] = [&live.output.kept, &live.output.missed];
            let is_on_host = kept.points.is_on_host() && missed.points.is_on_host();
            is_on_host && self.standing() == Some(Standing::Final)
        })
    }
}
