//! Tensors: fitted to a scan, or read from an image.

use crate::compute::{Backend, Control};
use crate::data::text::counted;
use crate::data::{Gradients, Mask, Sentence, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::tensor_fit::{self, FitMap, Maps, MaskReport, Output, Params};
use crate::state::job_end::ended;
use crate::state::tensors::types::FitKey;
use crate::state::tensors::{update, withdraw};
use crate::state::{Effect, State};
use std::fmt;
use std::sync::Arc;

pub const FIT: Slot = Slot::latest_wins("fit");

/// Finds a brain mask if none is given, fits tensors and computes their maps; an image of tensors is used as it is.
#[derive(Clone, Debug)]
pub struct FitTensors {
    pub dwi: Volume,
    /// `None` for an image of tensors.
    pub gradients: Option<Arc<Gradients>>,
    pub mask: Option<Mask>,
    pub params: Params,
    /// The maps of the shape of tensors that documents show.
    pub shapes: Vec<FitMap>,
}

/// Tensors, their maps, and their mask.
#[derive(Clone, Debug)]
pub struct TensorFit {
    pub fit: Output,
    pub maps: Maps,
    pub shapes: Vec<(FitMap, Volume)>,
    pub mask: Mask,
    /// Reliability of the mask, if it was computed from the scan.
    pub mask_report: Option<MaskReport>,
}

impl FitTensors {
    pub fn key(&self) -> FitKey {
        FitKey {
            scan: self.dwi.id(),
            mask: self.mask.as_ref().map(Mask::id),
            params: self.params.clone(),
        }
    }
}

impl Job for FitTensors {
    type Output = Box<TensorFit>;

    fn slot(&self) -> Slot {
        FIT
    }

    fn label(&self) -> String {
        match self.gradients {
            None => "Reading tensors".to_owned(),
            Some(_) => "Fitting tensors".to_owned(),
        }
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Box<TensorFit>>,
    ) -> Result<Box<TensorFit>, JobError> {
        let (gradients, params) = (self.gradients.as_deref(), &self.params);
        let backend = worker.backend();
        let mut fitted = fitted(&self.dwi, gradients, self.mask, params, &backend, control)?;
        fitted.shapes = tensor_fit::shape_maps(&fitted.fit.field, &self.shapes, &backend, control)?;
        // Computed here to keep it off the window's thread.
        let (maps, shapes) = (&fitted.maps, &fitted.shapes);
        let scalars = shapes.iter().map(|(_, map)| map);
        for map in [&maps.fa, &maps.md, &maps.ad, &maps.rd]
            .into_iter()
            .chain(scalars)
        {
            map.precompute_windows();
        }
        fitted.mask.bounds_inside();
        fitted.fit.repaired.bounds_inside();
        Ok(Box::new(fitted))
    }
}

impl Receive<State> for FitTensors {
    fn receive(
        &self,
        delivery: Delivery<Box<TensorFit>>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // Not if a newer fit has replaced it.
        if !state.runtime.jobs.is_replaced(FIT, delivery.ticket) {
            state.runtime.tensors.live.stop();
        }
        ended(
            state,
            self,
            delivery,
            effects,
            |state, fitted, wall_ms, effects| {
                let result = update::FinishedFit {
                    key: self.key(),
                    fit: &fitted.fit,
                    maps: &fitted.maps,
                    shapes: &fitted.shapes,
                    mask: fitted.mask,
                    mask_report: fitted.mask_report,
                    wall_ms,
                };
                update::fitted(state, &result);
                update::fit(state, effects);
            },
        );
    }

    /// The message about a failure is that of every job.
    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        if let Unfinished::Failed(_) = end {
            withdraw::fit(state, &self.key());
        }
        false
    }
}

/// Why tensors are of no use: one sentence.
#[derive(Clone, PartialEq, Debug)]
enum FitError {
    /// None of the mask's voxels has enough signal.
    NoSignal { voxels: usize },
    /// None of the fitted voxels has a positive definite tensor.
    NotPositiveDefinite {
        voxels: usize,
        is_tensor_image: bool,
    },
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSignal { voxels } => write!(
                f,
                "None of the mask's {} has enough signal for a tensor, expected values above 0; check that the scan \
                 is whole and that the mask belongs to it",
                counted(*voxels, "voxel")
            ),
            Self::NotPositiveDefinite {
                voxels,
                is_tensor_image,
            } => {
                let check = match is_tensor_image {
                    true => "the order and the axes of the image's tensors",
                    false => "that the gradients belong to this scan, with b-values in s/mm²",
                };
                write!(
                    f,
                    "None of {} has a positive definite tensor, which is impossible in tissue; check {check}",
                    counted(*voxels, "voxel")
                )
            }
        }
    }
}

impl std::error::Error for FitError {}

impl From<FitError> for JobError {
    fn from(error: FitError) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

/// A mask of the scan's voxels in the scan's order; solvers refuse any other.
pub fn in_order(mask: Mask, scan: &Volume) -> Mask {
    match scan.grid.matches(&mask.grid) {
        true => mask,
        false => mask.in_the_order_of(&scan.grid).unwrap_or(mask),
    }
}

/// Fits within a mask, which is found if none is given.
pub fn fitted(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<TensorFit, JobError> {
    let mask = mask.map(|mask| in_order(mask, dwi));
    let mut mask_report = None;
    let (fit, mask) = match gradients.filter(|_| dwi.tensors.is_none()) {
        Some(gradients) => {
            let mask = match mask {
                Some(mask) => mask,
                None => {
                    let brain = tensor_fit::brain_mask(dwi, gradients, backend, control)?;
                    mask_report = Some(brain.report);
                    brain.mask
                }
            };
            let fit = tensor_fit::fit(dwi, gradients, &mask, params, backend, control)?;
            (fit, mask)
        }
        None => {
            let mask = match mask {
                Some(mask) => mask,
                None => tensor_fit::given_mask(dwi)?,
            };
            let fit = tensor_fit::imported_field(dwi, &mask, params, backend, control)?;
            (fit, mask)
        }
    };
    let fitted = mask.count() - fit.unfitted;
    if fitted == 0 {
        let voxels = mask.count();
        return Err(FitError::NoSignal { voxels }.into());
    }
    let meant = params.min_eigenvalue_mm2_per_s > tensor_fit::MAX_FLOOR_MM2_PER_S;
    if fit.repaired.count() == fitted && !meant {
        let is_tensor_image = dwi.tensors.is_some();
        return Err(FitError::NotPositiveDefinite {
            voxels: fitted,
            is_tensor_image,
        }
        .into());
    }
    let maps = tensor_fit::maps(&fit.field, backend, control)?;
    // The interface must not wait for copies from a graphics card.
    backend.install(|| {
        fit.on_host()?;
        maps.on_host()
    })?;
    Ok(TensorFit {
        fit,
        maps,
        shapes: Vec::new(),
        mask,
        mask_report,
    })
}
