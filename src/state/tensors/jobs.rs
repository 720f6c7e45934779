//! Fitting tensors, and checking their inputs: the axes of the gradients, the order of six volumes.

pub mod fit;
pub mod fod;
pub mod input;

use crate::compute::Control;
use crate::data::{DataId, TensorField, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::tensor_fit::{self, FitMap};
use crate::solvers::{gradient_check, odf_check, tensor_check};
use crate::state::job_end::ended;
use crate::state::tensors::types::FitKey;
use crate::state::tensors::{self, axes, shapes};
use crate::state::{Effect, State};
use std::sync::Arc;

/// Both checks: the newest wins.
pub const CHECK: Slot = Slot::latest_wins("check");

pub const SHAPES: Slot = Slot::queue("shape maps");

/// Computes maps of the shape of the tensors of a fit.
#[derive(Clone, Debug)]
pub struct ComputeShapes {
    /// The fit of the tensors; `None` on the command line.
    pub key: Option<FitKey>,
    pub field: TensorField,
    pub maps: Vec<FitMap>,
}

impl Job for ComputeShapes {
    type Output = Vec<(FitMap, Volume)>;

    fn slot(&self) -> Slot {
        SHAPES
    }

    fn label(&self) -> String {
        "Computing maps of tensors".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let maps = tensor_fit::shape_maps(&self.field, &self.maps, &backend, control)?;
        for (_, map) in &maps {
            map.precompute_windows();
        }
        Ok(maps)
    }
}

impl Receive<State> for ComputeShapes {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, maps, _, _| {
            if let Some(key) = &self.key {
                shapes::computed(state, key, &maps);
            }
        });
    }
}

/// Compares the 24 permutations and flips of the axes of the tensors' gradients.
#[derive(Clone, Debug)]
pub struct CheckGradients {
    /// The scan's image.
    pub scan: DataId,
    pub field: TensorField,
    pub params: gradient_check::Params,
}

impl Job for CheckGradients {
    type Output = gradient_check::Output;

    fn slot(&self) -> Slot {
        CHECK
    }

    fn label(&self) -> String {
        "Comparing gradient axes".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        Ok(gradient_check::check(
            &self.field,
            &self.params,
            &backend,
            control,
        )?)
    }
}

impl Receive<State> for CheckGradients {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, output, _, _| {
            axes::checked(state, self.scan, Arc::new(output));
        });
    }
}

/// Reads six volumes as tensors in every known way.
#[derive(Clone, Debug)]
pub struct CompareTensors {
    pub volume: Volume,
    pub params: tensor_check::Params,
}

impl Job for CompareTensors {
    type Output = tensor_check::Output;

    fn slot(&self) -> Slot {
        CHECK
    }

    fn label(&self) -> String {
        "Comparing tensor orders".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        Ok(tensor_check::compare(
            &self.volume,
            &self.params,
            &backend,
            control,
        )?)
    }
}

impl Receive<State> for CompareTensors {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, output, _, _| {
            tensors::orders::compared(state, self.volume.id(), Arc::new(output));
        });
    }
}

/// Reads fibre orientation distributions in every known basis and frame.
#[derive(Clone, Debug)]
pub struct CompareDistributions {
    pub volume: Volume,
    pub params: odf_check::Params,
}

impl Job for CompareDistributions {
    type Output = odf_check::Output;

    fn slot(&self) -> Slot {
        CHECK
    }

    fn label(&self) -> String {
        "Comparing bases of distributions".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let output = odf_check::compare(&self.volume, &self.params, &backend, control);
        Ok(output?)
    }
}

impl Receive<State> for CompareDistributions {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, output, _, _| {
            tensors::fod_images::compared(state, self.volume.id(), Arc::new(output));
        });
    }
}
