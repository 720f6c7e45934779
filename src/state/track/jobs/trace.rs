//! Geodesic rays: traced in a metric, which is prepared if it does not exist yet, then cut by their measure.

use crate::compute::{Backend, Control};
use crate::data::{Grid, LineDrawing, Region, Shared, TensorField, Tractogram, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, ValueNames, Worker,
    memory_for_curves,
};
use crate::solvers::{curves, geodesic, tractogram};
use crate::state::files::jobs::open::with_target_names;
use crate::state::job_end::ended;
use crate::state::track::jobs::drawing::{self, measured};
use crate::state::track::jobs::{LIVE, live_unfinished};
use crate::state::track::rays;
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::Instant;

/// Traces geodesic rays; `fa` is sampled along them.
#[derive(Clone, Debug)]
pub struct TraceRays {
    pub field: TensorField,
    /// Prepared earlier with the same field, sharpening, precision and interpolation.
    pub metric: Option<geodesic::RayMetric>,
    pub sharpening: geodesic::Sharpening,
    pub precision: geodesic::Precision,
    pub fa: Volume,
    pub regions: Vec<Region>,
    pub params: geodesic::Params,
    pub cut: geodesic::Cut,
    /// Fewer seeds: a drag is in progress.
    pub coarse: bool,
    /// How the window draws them, if it can draw them from a card.
    pub drawing: Option<LineDrawing>,
}

/// Rays after the cut, with the metric that was prepared for them.
#[derive(Clone, Debug)]
pub struct RayOutput<M = geodesic::RayMetric> {
    /// All outcomes; the kept rays are those after the cut.
    pub output: curves::Output,
    /// All rays that pass the regions, before the cut, and their measures.
    pub all: Tractogram,
    pub measures: Shared<f32>,
    /// The least measure after the cut.
    pub min_measure: Option<f32>,
    pub seeds: u64,
    pub directions: u64,
    pub kernel_s: Option<f64>,
    /// Wall time of the rays alone, without preparing the metric.
    pub trace_ms: f64,
    /// To be passed to the next job; its precision may differ from the requested one.
    pub metric: M,
}

impl TraceRays {
    pub fn trace(self, backend: &Backend, control: &Control) -> Result<RayOutput, JobError> {
        let (field, regions, params) = (&self.field, &self.regions, &self.params);
        let interpolation = params.curves.interpolation;
        let metric = match self.metric {
            Some(metric) => metric,
            None => geodesic::RayMetric::new(
                field,
                self.sharpening,
                self.precision,
                interpolation,
                backend,
                control,
            )?,
        };
        let started = Instant::now();
        let memory = memory_for_curves();
        let mut traced =
            geodesic::trace_within(&metric, regions, params, memory, backend, control)?;
        let mut output = Arc::unwrap_or_clone(traced.rays);
        output.explain_no_starts(field, regions, &params.curves, backend, control)?;
        let along = backend.install(|| tractogram::sampled(&self.fa, &output.kept));
        output.kept = output.kept.with_per_point("fa", along);
        traced.rays = Arc::new(output);
        let ranking = Ranking {
            regions,
            grid: &field.grid,
            coarse: self.coarse,
        };
        RayOutput::new(traced, (&ranking, self.cut), metric, started, backend)
    }
}

impl<M> RayOutput<M> {
    /// Rays that were traced in a metric since `started`, after the cut.
    pub fn new(
        traced: geodesic::Output,
        (ranking, cut): (&Ranking<'_>, geodesic::Cut),
        metric: M,
        started: Instant,
        backend: &Backend,
    ) -> Result<Self, JobError> {
        let ranked = ranking.ranked(Arc::unwrap_or_clone(traced.rays), cut, backend)?;
        Ok(Self {
            output: ranked.output,
            all: ranked.all,
            measures: ranked.measures,
            min_measure: ranked.min_measure,
            seeds: traced.seeds,
            directions: traced.directions,
            kernel_s: traced.kernel_s,
            trace_ms: started.elapsed().as_secs_f64() * 1e3,
            metric,
        })
    }

    /// Writes rays on a card into the window's memory. Those that the window cannot draw from there are copied to the
    /// host.
    pub fn for_window(
        mut self,
        drawing: Option<&LineDrawing>,
        worker: &Worker,
    ) -> Result<Self, JobError> {
        let on_card = !self.all.points.is_on_host();
        if let Some(drawing) = drawing.filter(|_| on_card) {
            drawing::for_window(&mut self.output.kept, drawing, worker)?;
            drawing::for_window(&mut self.output.missed, &drawing::SHAPE, worker)?;
        }
        if self.output.kept.drawn.is_none() {
            worker.backend().install(|| {
                self.all.on_host()?;
                self.output.on_host()
            })?;
        }
        Ok(self)
    }
}

/// The regions that name values of rays, their grid, and whether their cut is that of coarse rays.
pub struct Ranking<'a> {
    pub regions: &'a [Region],
    pub grid: &'a Arc<Grid>,
    /// Whether the rays are coarse, which changes their cut.
    pub coarse: bool,
}

/// Rays before and after a cut, and their measures.
pub struct RankedRays {
    pub output: curves::Output,
    pub all: Tractogram,
    pub measures: Shared<f32>,
    pub min_measure: Option<f32>,
}

impl Ranking<'_> {
    /// Applies a cut to rays that were traced.
    pub fn ranked(
        &self,
        output: curves::Output,
        cut: geodesic::Cut,
        backend: &Backend,
    ) -> Result<RankedRays, JobError> {
        let measures = output.kept.per_streamline.get("cm").cloned();
        let measures = measures.unwrap_or_default();
        let all = ValueNames::shown(measured(output.kept, backend)?);
        let all = with_target_names(all, self.regions).with_grid(self.grid.clone());
        let cut = rays::cut_of(cut, self.coarse, &measures);
        let (kept, min_measure) = geodesic::rank(&all, cut);
        Ok(RankedRays {
            output: curves::Output { kept, ..output },
            all,
            measures,
            min_measure,
        })
    }
}

impl Job for TraceRays {
    type Output = Box<RayOutput>;

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

impl Receive<State> for TraceRays {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, rays, wall_ms, _| {
            rays::show(state, self, *rays, wall_ms);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        live_unfinished(end, state)
    }
}
