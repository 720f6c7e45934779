//! Geodesic rays along the lobes of fibre orientation distributions, cut by their measure.

use crate::compute::Control;
use crate::data::{OdfField, Region, Tractogram};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker, memory_for_curves};
use crate::solvers::geodesic;
use crate::state::job_end::for_command_line;
use crate::state::track::jobs::trace::{Named, RayOutput};
use std::sync::Arc;
use std::time::Instant;

const LOBES: Slot = Slot::latest_wins("lobes");

/// Traces rays along lobes.
#[derive(Clone, Debug)]
pub struct TraceLobes {
    pub field: OdfField,
    pub speed: geodesic::OdfSpeed,
    pub regions: Vec<Region>,
    pub params: geodesic::Params,
    pub cut: geodesic::Cut,
}

impl Job for TraceLobes {
    type Output = Box<RayOutput<geodesic::OdfMetric>>;

    fn slot(&self) -> Slot {
        LOBES
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
        let backend = worker.backend();
        let metric = geodesic::OdfMetric::new(&self.field, self.speed, &backend, control)?;
        let started = Instant::now();
        let traced = geodesic::trace_lobes(
            &metric,
            &self.regions,
            &self.params,
            memory_for_curves(),
            &backend,
            control,
        )?;
        let named = Named {
            regions: &self.regions,
            grid: &self.field.grid,
        };
        let ranked = named.ranked(Arc::unwrap_or_clone(traced.rays), self.cut);
        Ok(Box::new(RayOutput {
            output: ranked.output,
            all: ranked.all,
            measures: ranked.measures,
            min_measure: ranked.min_measure,
            seeds: traced.seeds,
            directions: traced.directions,
            kernel_s: traced.kernel_s,
            trace_ms: started.elapsed().as_secs_f64() * 1e3,
            metric,
        }))
    }

    fn curves(rays: &Self::Output) -> Vec<&Tractogram> {
        vec![&rays.all, &rays.output.kept, &rays.output.missed]
    }
}

for_command_line!(TraceLobes);
