//! Geodesic rays along the lobes of fibre orientation distributions, cut by their measure.

use crate::compute::{Backend, Control};
use crate::data::{LineDrawing, OdfField, Region, Tractogram};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::geodesic;
use crate::state::job_end::ended;
use crate::state::track::jobs::trace::{Ranking, RayOutput};
use crate::state::track::jobs::{LIVE, live_unfinished};
use crate::state::track::rays;
use crate::state::{Effect, State};
use std::time::Instant;

/// Traces rays along lobes.
#[derive(Clone, Debug)]
pub struct TraceLobes {
    pub field: OdfField,
    /// Prepared earlier from the same distributions, for any speed.
    pub metric: Option<geodesic::OdfMetric>,
    pub speed: geodesic::OdfSpeed,
    pub regions: Vec<Region>,
    pub params: geodesic::Params,
    pub cut: geodesic::Cut,
    /// Fewer seeds: a drag is in progress.
    pub coarse: bool,
    /// How the window draws them, if it can draw them from a card.
    pub drawing: Option<LineDrawing>,
}

impl TraceLobes {
    pub fn trace(
        self,
        backend: &Backend,
        control: &Control,
    ) -> Result<RayOutput<geodesic::OdfMetric>, JobError> {
        let metric = match self.metric {
            Some(metric) => metric.with_speed(self.speed)?,
            None => geodesic::OdfMetric::new(&self.field, self.speed, backend, control)?,
        };
        let started = Instant::now();
        let traced = geodesic::trace_lobes(
            &metric,
            &self.regions,
            &self.params,
            memory_for_curves(),
            backend,
            control,
        )?;
        let ranking = Ranking {
            regions: &self.regions,
            grid: &self.field.grid,
            coarse: self.coarse,
        };
        RayOutput::new(traced, (&ranking, self.cut), metric, started, backend)
    }
}

impl Job for TraceLobes {
    type Output = Box<RayOutput<geodesic::OdfMetric>>;

    fn slot(&self) -> Slot {
        LIVE
    }

    fn label(&self) -> String {
        "Tracing rays".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let drawing = self.drawing.clone();
        let rays = self.trace(&worker.backend(), control)?;
        Ok(Box::new(rays.for_window(drawing.as_ref(), worker)?))
    }

    fn curves(rays: &Self::Output) -> Vec<&Tractogram> {
        vec![&rays.all, &rays.output.kept, &rays.output.missed]
    }
}

impl Receive<State> for TraceLobes {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, rays, wall_ms, _| {
            rays::show_lobes(state, self, *rays, wall_ms);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        live_unfinished(end, state)
    }
}
