//! Fibre orientation distributions of a scan: response functions, deconvolution, peaks and maps of lobes.

use crate::compute::{Backend, Control};
use crate::data::odf_field::Tissue;
use crate::data::{Gradients, Mask, PeakField, Response, Shells, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::{csd, peaks, response, tensor_fit, uncertainty};
use crate::state::job_end::ended;
use crate::state::tensors::fods;
use crate::state::tensors::jobs::fit::in_order;
use crate::state::tensors::types::fods::{FodKey, Fods};
use crate::state::{Effect, State};
use std::path::Path;
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

/// Below this share of a tissue's signal that the other tissues do not have, the noise decides between them: at an SNR
/// of 20, the amount of a tissue from 100 volumes is then known to half a voxel of it.
const MINIMUM_OWN_SIGNAL: f64 = 0.01;

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
            Some(mask) => (in_order(mask.clone(), &self.dwi), None),
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
        let fractions = images::fractions(&output);
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

/// Returns an error if the mean signal of a tissue, shell by shell, is a sum of those of the others.
fn check_tissues<'a>(
    responses: &[(Tissue, Response)],
    shells: &Shells,
    file_of: impl Fn(Tissue) -> Option<&'a Path>,
) -> Result<(), FodError> {
    // Other numbers of rows are refused with the reason later.
    let rows = shells.shells.len();
    if responses.len() < 2 || responses.iter().any(|(_, r)| r.shell_count() != rows) {
        return Ok(());
    }
    let column = |response: &Response| -> Vec<f64> {
        let shells = shells.shells.iter().enumerate();
        shells
            .map(|(k, s)| response.mean_signal(k) * (s.volumes.len() as f64).sqrt())
            .collect()
    };
    let columns: Vec<Vec<f64>> = responses.iter().map(|(_, r)| column(r)).collect();
    for (k, (tissue, _)) in responses.iter().enumerate() {
        let others = (0..columns.len()).filter(|other| *other != k);
        let others: Vec<&Vec<f64>> = others.map(|other| &columns[other]).collect();
        let own = own_share(&columns[k], &others);
        if own < MINIMUM_OWN_SIGNAL {
            return Err(FodError::NotSeparable {
                tissue: *tissue,
                own,
                file: file_of(*tissue).map(Path::to_owned),
            });
        }
    }
    Ok(())
}

/// The length of a column without its projection onto others, relative to its own (Gram and Schmidt, twice).
fn own_share(column: &[f64], others: &[&Vec<f64>]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let without = |mut values: Vec<f64>, basis: &[Vec<f64>]| {
        for unit in basis.iter().chain(basis) {
            let along = dot(&values, unit);
            for (value, u) in values.iter_mut().zip(unit) {
                *value -= along * u;
            }
        }
        values
    };
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for other in others {
        let rest = without((*other).clone(), &basis);
        let (length, whole) = (dot(&rest, &rest).sqrt(), dot(other, other).sqrt());
        if length > 1e-9 * whole {
            basis.push(rest.into_iter().map(|v| v / length).collect());
        }
    }
    let rest = without(column.to_vec(), &basis);
    (dot(&rest, &rest) / dot(column, column)).sqrt()
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
