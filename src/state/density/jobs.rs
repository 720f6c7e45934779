//! Density maps of streamlines.

use crate::compute::Control;
use crate::data::{Tractogram, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Worker, memory_for_curves,
};
use crate::solvers::density::{self, DensityGrid, Output, Params};
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use glam::DAffine3;

pub const DENSITY: Slot = Slot::queue("density");

#[derive(Clone, Debug)]
pub struct MapDensity {
    pub tractogram: Tractogram,
    pub grid: DensityGrid,
    pub params: Params,
    /// The layer of the streamlines, and its transform; both are returned with the map.
    pub layer: u64,
    pub transform: DAffine3,
}

#[derive(Clone, Debug)]
pub struct MappedDensity {
    pub layer: u64,
    pub transform: DAffine3,
    pub grid: DensityGrid,
    pub params: Params,
    pub output: Output,
    /// The image to display.
    pub picture: Volume,
}

impl Job for MapDensity {
    type Output = MappedDensity;

    fn slot(&self) -> Slot {
        DENSITY
    }

    fn label(&self) -> String {
        "Mapping density".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<MappedDensity>,
    ) -> Result<MappedDensity, JobError> {
        let grid = self.grid.grid(self.tractogram.bounds())?;
        let (memory, backend) = (memory_for_curves(), worker.backend());
        let (tractogram, params) = (&self.tractogram, &self.params);
        let output = density::density(tractogram, &grid, params, memory, &backend, control)?;
        let picture = output.picture();
        picture.precompute_windows();
        Ok(MappedDensity {
            layer: self.layer,
            transform: self.transform,
            grid: self.grid,
            params: self.params,
            output,
            picture,
        })
    }
}

impl Receive<State> for MapDensity {
    fn receive(
        &self,
        delivery: Delivery<MappedDensity>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, mapped, _, _| {
            super::update::done(state, mapped);
        });
    }
}
