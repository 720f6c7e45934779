//! Density maps of streamlines.

use super::error::JobError;
use super::request::memory_for_curves;
use crate::compute::{Backend, Control};
use crate::data::{Grid, Tractogram, Volume};
use crate::solvers::density::{self, On, Output, Params};
use glam::DAffine3;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct MapDensity {
    pub tractogram: Tractogram,
    pub on: On,
    pub params: Params,
    /// The layer that the streamlines are of, and where it was moved; both come back with the map.
    pub layer: u64,
    pub by: DAffine3,
}

#[derive(Clone, Debug)]
pub struct Mapped {
    pub layer: u64,
    pub by: DAffine3,
    pub on: On,
    pub params: Params,
    pub output: Output,
    /// What is shown of it.
    pub picture: Volume,
}

impl MapDensity {
    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<Mapped, JobError> {
        let grid = self.on.grid(self.tractogram.bounds())?;
        let output = map(&self.tractogram, &grid, &self.params, backend, control)?;
        let picture = output.picture();
        picture.usual_windows();
        Ok(Mapped {
            layer: self.layer,
            by: self.by,
            on: self.on,
            params: self.params,
            output,
            picture,
        })
    }
}

/// As it is, within the memory that is free.
pub fn map(
    tractogram: &Tractogram,
    grid: &Arc<Grid>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, crate::solvers::Error> {
    let memory = memory_for_curves();
    density::density(tractogram, grid, params, memory, backend, control)
}
