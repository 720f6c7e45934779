//! Fibre orientation distributions of a scan: response functions, deconvolution, peaks and maps of lobes.

use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, PeakField, Response, Shells, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::{csd, peaks, response, tensor_fit, uncertainty};
use crate::state::job_end::ended;
use crate::state::tensors::fods;
use crate::state::tensors::types::fods::{FodKey, Fods};
use crate::state::{Effect, State};
use std::sync::Arc;

mod error;
mod files;
mod images;
mod read;
pub mod report;
mod responses;
mod stages;

use error::FodError;
pub use files::{ENDING, FodFiles, SaveFods};
pub use images::map_image;
pub use read::{MovedImage, ReadFods};
pub use responses::{CheckResponses, RESPONSES, ResponseInput, Responses, used_responses};
use stages::Stages;
pub use stages::{repetition_ms, shares_of_curves};

pub const FOD: Slot = Slot::latest_wins("fod");

/// Finds a brain mask if none is given, estimates response functions if none are given, deconvolves, and computes what
/// is requested of peaks and lobes.
#[derive(Clone, Debug)]
pub struct EstimateFods {
    /// The document's request; `None` for the command line.
    pub key: Option<FodKey>,
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    pub mask: Option<Mask>,
    pub responses: Responses,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
    pub wants_peaks: bool,
    pub wants_lobes: bool,
}

impl Job for EstimateFods {
    type Output = Box<Fods>;

    fn slot(&self) -> Slot {
        FOD
    }

    fn label(&self) -> String {
        "Estimating fibre orientations".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Box<Fods>>,
    ) -> Result<Box<Fods>, JobError> {
        self.estimate(&worker.backend(), control)
    }
}

impl EstimateFods {
    pub(crate) fn estimate(
        self,
        backend: &Backend,
        control: &Control,
    ) -> Result<Box<Fods>, JobError> {
        let stages = Stages::new(&self);
        stages.begin(control);
        let (mask, mask_report) = match &self.mask {
            Some(mask) => (mask.clone().in_order(&self.dwi.grid), None),
            None => {
                let brain = tensor_fit::brain_mask(&self.dwi, &self.gradients, backend, control)?;
                (brain.mask, Some(brain.report))
            }
        };
        let shells = Shells::new(&self.gradients);
        if shells.weighted().next().is_none() {
            let volumes = self.dwi.frames;
            return Err(FodError::NoShell { volumes }.into());
        }
        stages.begin_responses(control);
        let in_use = self.responses(&shells, &mask, backend, control)?;
        let responses: Vec<Response> = in_use.used.iter().map(|(_, r)| r.clone()).collect();
        let used_shells = match responses.first() {
            Some(first) if first.shell_count() > 1 && self.params.method != csd::Method::Paper => {
                0..shells.shells.len()
            }
            _ => shells.shells.len() - 1..shells.shells.len(),
        };
        stages.begin_fit(control);
        let output = csd::fit(
            &self.dwi,
            &self.gradients,
            &mask,
            &responses,
            &self.params,
            backend,
            control,
        )?;
        let counts = &output.counts;
        if counts.not_finite + counts.without_signal >= mask.count() {
            return Err(FodError::NoSignal {
                voxels: mask.count(),
                not_finite: counts.not_finite,
            }
            .into());
        }
        let field_if = |is_needed: bool| is_needed.then_some(&output.field);
        let has_bootstrap = self.params.repetitions.is_some();
        let peak_field = match field_if(self.wants_peaks || has_bootstrap) {
            Some(field) => Some(peaks::find(field, &self.peak_params, backend, control)?),
            None => None,
        };
        let maps = match field_if(self.wants_lobes) {
            Some(field) => Some(peaks::maps(field, &self.peak_params, backend, control)?),
            None => None,
        };
        let uncertainty = match &peak_field {
            Some(peaks) => {
                let order = output.order.order;
                self.uncertainty(&mask, &responses, order, peaks, backend, control)?
            }
            None => None,
        };
        let fractions = output.fractions();
        if self.key.is_some() {
            // Computed here to keep it off the window's thread.
            for map in maps.iter().flat_map(|maps| [&maps.total, &maps.complexity]) {
                map.precompute_windows();
            }
            let cones = uncertainty.iter();
            for map in cones.flat_map(|maps| [&maps.cone, &maps.dispersion]) {
                map.precompute_windows();
            }
        }
        let mut used = in_use.used;
        // The method of the paper has one tissue.
        used.truncate(1 + output.tissues.len());
        Ok(Box::new(Fods {
            output,
            responses: used,
            measured: in_use.measured,
            algorithm: in_use.algorithm,
            used_shells,
            mask,
            mask_report,
            high_peak: peak_field.as_ref().and_then(images::high_peak),
            peaks: peak_field,
            maps,
            fractions,
            uncertainty,
        }))
    }

    /// Maps of the uncertainty of the peaks, if a bootstrap is requested.
    fn uncertainty(
        &self,
        mask: &Mask,
        responses: &[Response],
        order: usize,
        peaks: &PeakField,
        backend: &Backend,
        control: &Control,
    ) -> Result<Option<uncertainty::Maps>, JobError> {
        let Some(repetitions) = self.params.repetitions else {
            return Ok(None);
        };
        let params = csd::Params {
            order: Some(order),
            ..self.params.clone()
        };
        let (dwi, gradients) = (&self.dwi, &self.gradients);
        let residuals = csd::residuals(dwi, gradients, mask, responses, &params, backend, control)?;
        let seed = self.params.random_seed;
        let maps = uncertainty::maps(&residuals, peaks, repetitions, seed, backend, control)?;
        Ok(Some(maps))
    }
}

/// Applies distributions that were estimated or read, if a document requests them: the command line has none.
fn receive(
    job: &impl Receive<State, Output = Box<Fods>>,
    key: Option<&FodKey>,
    delivery: Delivery<Box<Fods>>,
    state: &mut State,
    effects: &mut Vec<Effect>,
) {
    ended(state, job, delivery, effects, |state, fods, wall_ms, _| {
        if let Some(key) = key {
            fods::estimated(state, key, *fods, wall_ms);
        }
    });
}

/// Reports the end of either job without distributions, except for a failure of the device.
fn unfinished(key: Option<&FodKey>, end: &Unfinished, state: &mut State) -> bool {
    if let Some(key) = key {
        fods::not_estimated(state, key, end);
    }
    key.is_some() && !matches!(end, Unfinished::DeviceFailed(_))
}

impl Receive<State> for EstimateFods {
    fn receive(&self, delivery: Delivery<Box<Fods>>, state: &mut State, effects: &mut Vec<Effect>) {
        receive(self, self.key.as_ref(), delivery, state, effects);
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        unfinished(self.key.as_ref(), end, state)
    }
}
