//! Rewinding a surface, together with its parameters.

use crate::solvers::level_set::{Ended, Sphere};
use crate::state::core::layer::LayerId;
use crate::state::core::notices::{Status, StatusSubject};
use crate::state::core::text::count;
use crate::state::edit::edit;
use crate::state::segment::jobs::{Rewind, RunControl, RunRequest, SurfaceUpdate};
use crate::state::segment::update::run_request;
use crate::state::segment::{EarlierRun, SegmentRuntime, Segmentation};
use crate::state::{State, Task};

/// Rewinds to the state after this many steps.
pub(in crate::state) fn rewind(state: &mut State, step: u64) {
    let runtime = &mut state.runtime.segment;
    let Some(live) = runtime.live.clone() else {
        return;
    };
    let step = step.min(live.step);
    let after = live.growth.iter().filter(|(at, _)| *at >= step);
    let growth: Vec<(u64, u64)> = after.copied().collect();
    if growth.len() > 1 {
        runtime.plotted.earlier_runs.push(EarlierRun { growth });
    }
    let number = runtime.rewind.map_or(1, |b| b.number + 1);
    runtime.rewind = Some(Rewind { number, step });
    // Changes on the abandoned branch do not belong to the one that continues.
    runtime.plotted.changes.retain(|change| *change < step);
    runtime.play = RunControl::Rest;
    let before = state.document.segment.clone();
    let after = settings_at_step(state, &live, step);
    let changes = crate::state::segment::changes::segment(&state.document, &before, &after);
    if !before.steers_as(&after) {
        edit(state, "Go back", false, |d| d.segment = after);
    }
    let back = format!("Back at step {}", count(step));
    let parts: Vec<String> = [back].into_iter().chain(changes).collect();
    // No other task shows the surface.
    let subject = StatusSubject::ResultOf(Task::Segment);
    state.runtime.notices.status = Status::about(subject, parts.join(", "));
}

/// The settings in effect after this many steps, before the user changed them there: parameters, additional inputs of
/// the speed, spheres. Cuts made at the step from which the surface leaked are kept: they did not cause the leak, and are
/// often meant to stop it.
fn settings_at_step(state: &State, live: &SurfaceUpdate, step: u64) -> Segmentation {
    let document = &state.document;
    let mut then = document.segment.clone();
    let leaked_from = live.leak.map(|leaked| leaked.leak.rewind_step);
    let is_later = |number: u64, sphere: &Sphere| {
        let stays = |at: u64| at < step || !sphere.add && at == step && leaked_from == Some(step);
        live.placed
            .iter()
            .any(|(n, at)| *n == number && !stays(*at))
    };
    then.spheres
        .retain(|(number, sphere)| !is_later(*number, sphere));
    let (params, number) = live.script.params_at(step);
    let layer = then.settings.params.layer;
    then.settings.params = params.clone();
    // It stays unchanged if it has no effect.
    then.settings.params.layer = params.layer.or(layer);
    let now = run_request(state).map(|request| request.speed_sources);
    let speed_sources = live.speed_sources.get(number);
    if let Some(speed_sources) = speed_sources.filter(|then| now.as_ref() != Some(then)) {
        then.layer = speed_sources.layer.as_ref().map(|(id, ..)| LayerId(*id));
        for (which, painted) in then.painted.iter_mut().enumerate() {
            let mut regions = document.regions.iter();
            let own = regions.find(|region| speed_sources.paints(which, &region.shape));
            *painted = own.map(|region| region.id);
        }
    }
    then
}

/// A cancelled rewind did not happen: the surface is unchanged, with its spheres.
pub(in crate::state) fn rewind_cancelled(state: &mut State, live: &SurfaceUpdate) {
    let runtime = &mut state.runtime.segment;
    if let Some(back) = runtime
        .rewind
        .as_mut()
        .filter(|b| b.number > live.last_rewind)
    {
        back.step = u64::MAX;
        let left = runtime.plotted.earlier_runs.last();
        if left.is_some_and(|left| left.growth.last() == live.growth.last()) {
            runtime.plotted.earlier_runs.pop();
        }
    }
    let spheres = &state.document.segment.spheres;
    if spheres.starts_with(&live.spheres) {
        return;
    }
    let is_known = |number: u64| live.spheres.iter().any(|(n, _)| *n == number);
    let later = spheres.iter().filter(|(n, _)| !is_known(*n));
    let spheres = live.spheres.iter().chain(later).copied().collect();
    edit(state, "Spheres of the surface", false, |d| {
        d.segment.spheres = spheres;
    });
}

/// Whether a request changes the motion of the same run.
fn steers(before: &RunRequest, requested: &RunRequest) -> bool {
    let same_run = (before.run, before.rewind) == (requested.run, requested.rewind);
    let is_changed = before.params != requested.params
        || before.speed_sources != requested.speed_sources
        || before.spheres != requested.spheres;
    same_run && is_changed
}

impl SegmentRuntime {
    /// Whether the surface of this run has come to rest.
    pub(in crate::state) fn rests(&self) -> bool {
        let live = self.live.as_ref();
        let ended = live
            .filter(|live| live.run == self.run)
            .map(|live| live.ended);
        !self.running && ended == Some(Ended::Converged)
    }

    /// Whether a request changes the motion.
    pub(in crate::state) fn is_changed_by(&self, requested: &RunRequest) -> bool {
        let before = self.requested.as_deref();
        before.is_some_and(|before| steers(before, requested))
    }

    /// Records where a change of the motion begins, and returns whether one does; `dragged`: it belongs to a drag whose
    /// start is recorded.
    pub(in crate::state) fn begins_change(
        &mut self,
        requested: &RunRequest,
        dragged: bool,
    ) -> bool {
        let (Some(live), Some(query)) = (&self.live, self.requested.as_deref()) else {
            return false;
        };
        let begins = steers(query, requested) && !dragged;
        if begins {
            // During a rewind the surface still shows the step that it leaves.
            let back = self.rewind.filter(|back| live.last_rewind < back.number);
            let step = back.map_or(live.step, |back| back.step.min(live.step));
            self.plotted.changes.retain(|before| *before < step);
            self.plotted.changes.push(step);
        }
        begins
    }

    /// The earlier state that the button returns to: before the leak, else before the last change by the user, else the
    /// start.
    pub fn earlier(&self) -> u64 {
        let Some(live) = &self.live else { return 0 };
        if let Some(leaked) = live.leak {
            return leaked.leak.rewind_step;
        }
        let events = live.script.events.iter().map(|e| e.step);
        let events = events.filter(|step| *step < live.step);
        let last = events.clone().next_back().unwrap_or(0);
        let started = self.plotted.changes.iter().rfind(|step| **step <= last);
        // A drag takes effect at or after the step that is known when it begins.
        started.map_or(last, |started| {
            events
                .into_iter()
                .find(|step| step >= started)
                .unwrap_or(last)
        })
    }
}
