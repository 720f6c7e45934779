//! Recomputes kept streamlines and rays.

use crate::compute::{Backend, Control};
use crate::data::{Region, Tractogram};
use crate::io::session::{self, Match, Sum};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Worker, memory_for_curves,
};
use crate::solvers::Error;
use crate::solvers::tractogram::selection::{Edit, apply_edits};
use crate::solvers::{curves, geodesic, odf_tracking};
use crate::state::document::Document;
use crate::state::files::jobs::open::{with_lengths, with_target_names};
use crate::state::job_end::ended;
use crate::state::sessions::update::restore_missing;
use crate::state::tensors::inputs::{MissingInput, distributions, tensors};
use crate::state::tensors::jobs::input::{Distributions, Tensors};
use crate::state::track::inputs::tissues;
use crate::state::track::jobs::lobes::TraceLobes;
use crate::state::track::jobs::odf_streamlines::TrackOdfStreamlines;
use crate::state::track::jobs::streamlines::{Streamlines as _, TrackStreamlines};
use crate::state::track::jobs::trace::TraceRays;
use crate::state::track::recipe::CurveRecipe;
use crate::state::track::types::CurveParams;
use crate::state::track::types::odf::{OdfInput, TissueInput, TissueKey};
use crate::state::{Effect, State};

/// Recomputing kept streamlines of a session, one after the other.
pub const RECOMPUTE_CURVES: Slot = Slot::queue("recompute_curves").keeping_failures();

/// Kept streamlines or rays to be recomputed.
#[derive(Clone, Debug)]
pub struct RecomputeCurves {
    /// Number of their layer in the session.
    pub layer: u64,
    pub name: String,
    pub regions: Vec<Region>,
    pub curves: CurveMethod,
    /// Edits made to them since.
    pub edits: Vec<Edit>,
    /// Their checksum in the session.
    pub stored_sum: Option<Sum>,
}

#[derive(Clone, Debug)]
pub enum CurveMethod {
    Streamlines(Tensors, curves::Params),
    Rays {
        tensors: Tensors,
        sharpening: geodesic::Sharpening,
        precision: geodesic::Precision,
        params: geodesic::Params,
        cut: geodesic::Cut,
    },
    OdfStreamlines {
        distributions: Box<Distributions>,
        tissues: Option<(TissueKey, TissueInput)>,
        params: odf_tracking::Params,
    },
    OdfRays {
        distributions: Box<Distributions>,
        speed: geodesic::OdfSpeed,
        params: geodesic::Params,
        cut: geodesic::Cut,
    },
}

/// Recomputed streamlines or rays.
#[derive(Clone, Debug)]
pub struct RecomputedCurves {
    pub tractogram: Tractogram,
    /// Comparison with those of the session.
    pub outcome: Option<Match>,
}

impl Job for RecomputeCurves {
    type Output = RecomputedCurves;

    fn slot(&self) -> Slot {
        RECOMPUTE_CURVES
    }

    fn label(&self) -> String {
        format!("Recomputing {}", self.name)
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<RecomputedCurves>,
    ) -> Result<RecomputedCurves, JobError> {
        let stored_sum = self.stored_sum.clone();
        let tractogram = self.compute(&worker.backend(), control)?;
        let recomputed = session::RecomputedResult::Curves(&tractogram);
        let outcome = stored_sum.map(|sum| session::compare(&sum, &recomputed).0);
        Ok(RecomputedCurves {
            tractogram,
            outcome,
        })
    }

    fn curves(output: &RecomputedCurves) -> Vec<&Tractogram> {
        vec![&output.tractogram]
    }
}

impl Receive<State> for RecomputeCurves {
    fn receive(
        &self,
        delivery: Delivery<RecomputedCurves>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, output, wall_ms, effects| {
                restore_missing::recomputed(state, self.layer, output, wall_ms, effects);
            },
        );
    }
}

impl RecomputeCurves {
    /// The job that recomputes kept curves.
    pub fn new(
        document: &Document,
        layer: u64,
        name: &str,
        recipe: &CurveRecipe,
    ) -> Result<Self, MissingInput> {
        let tensors = || tensors(document, name, recipe.fit);
        let distributions = || distributions(document, name, recipe.fit).map(Box::new);
        let curves = match recipe.curves.clone() {
            CurveParams::Streamlines(params) => CurveMethod::Streamlines(tensors()?, params),
            CurveParams::OdfStreamlines(params) => CurveMethod::OdfStreamlines {
                distributions: distributions()?,
                tissues: recipe
                    .tissues
                    .map(|input| tissues(document, name, input))
                    .transpose()?,
                params,
            },
            CurveParams::Rays(metric, params) => CurveMethod::Rays {
                tensors: tensors()?,
                sharpening: metric.sharpening,
                precision: metric.precision,
                params,
                cut: recipe.cut,
            },
            CurveParams::OdfRays(speed, params) => CurveMethod::OdfRays {
                distributions: distributions()?,
                speed,
                params,
                cut: recipe.cut,
            },
        };
        Ok(Self {
            layer,
            name: name.to_owned(),
            regions: recipe.regions.clone(),
            curves,
            edits: Vec::new(),
            stored_sum: None,
        })
    }

    fn compute(self, backend: &Backend, control: &Control) -> Result<Tractogram, JobError> {
        let regions = self.regions.clone();
        let tractogram = match self.curves {
            CurveMethod::Streamlines(tensors, params) => {
                let (field, fa, resample) = tensors.fitted(backend, control)?;
                let track = TrackStreamlines {
                    field,
                    fa,
                    regions: self.regions,
                    params,
                    resample,
                    coarse: false,
                    drawing: None,
                };
                track.track(backend, control)?.kept
            }
            CurveMethod::OdfStreamlines {
                distributions,
                tissues,
                params,
            } => {
                let (field, resample) = distributions.estimated(backend, control)?;
                let track = TrackOdfStreamlines {
                    distributions: OdfInput::new(field),
                    resample,
                    tissues,
                    regions: self.regions,
                    params,
                    coarse: false,
                };
                track.track(backend, control)?.kept
            }
            CurveMethod::Rays {
                tensors,
                sharpening,
                precision,
                params,
                cut,
            } => {
                let (field, fa, _) = tensors.fitted(backend, control)?;
                let trace = TraceRays {
                    field,
                    metric: None,
                    sharpening,
                    precision,
                    fa,
                    regions: self.regions,
                    params,
                    cut,
                    coarse: false,
                    drawing: None,
                };
                trace.trace(backend, control)?.output.kept
            }
            CurveMethod::OdfRays {
                distributions,
                speed,
                params,
                cut,
            } => {
                let (field, _) = distributions.estimated(backend, control)?;
                let trace = TraceLobes {
                    field,
                    metric: None,
                    speed,
                    regions: self.regions,
                    params,
                    cut,
                    coarse: false,
                    drawing: None,
                };
                trace.trace(backend, control)?.output.kept
            }
        };
        backend.install(|| tractogram.on_host().map_err(Error::from))?;
        let all = with_target_names(with_lengths(tractogram), &regions);
        let tractogram = apply_edits(&all, &self.edits, memory_for_curves(), backend, control)?;
        tractogram.bounds();
        tractogram.stop_counts();
        Ok(tractogram)
    }
}
