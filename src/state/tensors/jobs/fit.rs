//! Tensors: fitted to a scan, or read from an image.

use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::solvers::tensor_fit::{self, FitMap, Maps, MaskReport, Output, Params};
use crate::state::job_end::ended;
use crate::state::tensors::types::FitKey;
use crate::state::tensors::{update, withdraw};
use crate::state::{Effect, State};
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

/// Fits within a mask, which is found if none is given.
pub fn fitted(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<TensorFit, Error> {
    let whole = tensor_fit::whole_fit(dwi, gradients, mask, params, backend, control)?;
    Ok(TensorFit {
        fit: whole.fit,
        maps: whole.maps,
        shapes: Vec::new(),
        mask: whole.mask,
        mask_report: whole.mask_report,
    })
}
