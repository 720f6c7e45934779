//! Weights of streamlines by the signal that they explain.

use super::fault::Fault;
use super::fitting::fitted;
use super::request::memory_for_curves;
use crate::compute::{Backend, Control, DataId};
use crate::data::{Gradients, Mask, Tractogram, Volume};
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::solver::Curve;
use crate::solvers::commit::{Fit, Inputs, Params, Prepared};
use crate::solvers::tensor_fit;
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct FitCommit {
    pub tractogram: Tractogram,
    /// A diffusion scan, or for the density model an image without gradients.
    pub scan: Volume,
    pub gradients: Option<Arc<Gradients>>,
    /// None, one for all volumes, or one each.
    pub timing: Vec<Timing>,
    pub mask: Option<Mask>,
    /// `None`: those of the tensors, which are fitted first where the model needs them.
    pub peaks: Option<Volume>,
    pub tensors: tensor_fit::Params,
    pub params: Params,
    /// What an earlier fit of the same streamlines, scan and model built.
    pub prepared: Option<Arc<Prepared>>,
    /// All unknowns of that fit.
    pub start: Option<Arc<[f32]>>,
    /// Streamlines that stay at 0.
    pub without: Option<Arc<[bool]>>,
    /// The objective, for whoever watches.
    pub curve: Curve,
}

#[derive(Clone, Debug)]
pub struct Committed {
    pub tractogram: DataId,
    pub fit: Fit,
    pub prepared: Arc<Prepared>,
    /// After each iteration, from the start's on.
    pub curve: Vec<f64>,
    pub prepare_ms: f64,
    pub fit_ms: f64,
}

impl FitCommit {
    pub(super) fn run(mut self, backend: &Backend, control: &Control) -> Result<Committed, Fault> {
        let begun = Instant::now();
        let known = self.prepared.take().filter(|p| p.is_for(backend));
        let prepared = match known {
            Some(prepared) => prepared,
            None => Arc::new(self.prepare(backend, control)?),
        };
        let prepare_ms = begun.elapsed().as_secs_f64() * 1e3;
        let begun = Instant::now();
        let fit = prepared.fit(
            &self.tractogram,
            &self.params,
            self.start.as_deref(),
            self.without.as_deref(),
            &self.curve,
            backend,
            control,
        )?;
        Ok(Committed {
            tractogram: self.tractogram.id(),
            fit,
            prepared,
            curve: self.curve.values(),
            prepare_ms,
            fit_ms: begun.elapsed().as_secs_f64() * 1e3,
        })
    }

    fn prepare(&mut self, backend: &Backend, control: &Control) -> Result<Prepared, Fault> {
        // What can be refused is refused before tensors are fitted.
        let missing = self.peaks.is_none() && !self.params.model.extra.is_empty();
        if missing {
            let mut params = self.params.clone();
            params.model.extra.clear();
            backend.install(|| self.inputs().check(&params))?;
            if let Some(gradients) = self.gradients.as_deref() {
                let (scan, tensors) = (&self.scan, &self.tensors);
                let mask = self.mask.clone();
                let (_, maps, _) = fitted(scan, Some(gradients), mask, tensors, backend, control)?;
                self.peaks = Some(maps.direction);
            }
        }
        let memory = memory_for_curves();
        Ok(Prepared::new(
            &self.inputs(),
            &self.params,
            memory,
            backend,
            control,
        )?)
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            tractogram: &self.tractogram,
            scan: &self.scan,
            gradients: self.gradients.as_deref(),
            timing: &self.timing,
            mask: self.mask.as_ref(),
            peaks: self.peaks.as_ref(),
        }
    }
}
