//! Density maps of streamlines.

use crate::compute::{Backend, Control};
use crate::data::{Tractogram, Volume};
use crate::io;
use crate::io::pieces::{Outline, Piece, Pieces};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Worker, memory_for_curves,
};
use crate::solvers::density::{self, Counting, DensityGrid, Output, Params};
use crate::solvers::drawn_lines::LinesOnCard;
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use glam::{DAffine3, DVec3};
use std::path::Path;
use std::sync::Arc;

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
        let (memory, backend) = (memory_for_curves(), worker.backend());
        let bounds = match self.grid {
            DensityGrid::Around(_) => bounds(&self.tractogram, &backend)?,
            DensityGrid::Grid(_) | DensityGrid::Within(..) => None,
        };
        let grid = self.grid.grid(bounds)?;
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

/// Bounds of streamlines, mm, computed where their points are.
fn bounds(
    tractogram: &Tractogram,
    backend: &Backend,
) -> Result<Option<(DVec3, DVec3)>, density::Error> {
    if !tractogram.points.is_on_host() {
        let known = match LinesOnCard::new(tractogram) {
            Some(lines) => backend.install(|| lines.facts())?,
            None => None,
        };
        if let Some(known) = known {
            return Ok(known.bounds_mm);
        }
        backend.install(|| tractogram.points.on_host())?;
    }
    Ok(tractogram.bounds())
}

/// Maps the density of streamlines that stay in their file.
#[derive(Clone, Debug)]
pub struct MapDensityInPlace {
    pub pieces: Arc<Pieces>,
    pub grid: DensityGrid,
    pub params: Params,
    /// The layer of the streamlines, which is returned with the map.
    pub layer: u64,
}

impl Job for MapDensityInPlace {
    type Output = MappedDensity;

    fn slot(&self) -> Slot {
        DENSITY
    }

    fn label(&self) -> String {
        "Mapping density".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<MappedDensity>,
    ) -> Result<MappedDensity, JobError> {
        let backend = worker.backend();
        let (pieces, params) = (&self.pieces, &self.params);
        let output: Result<_, JobError> =
            density_in_place(pieces, &self.grid, params, &backend, control);
        let output = output?;
        let picture = output.picture();
        picture.precompute_windows();
        Ok(MappedDensity {
            layer: self.layer,
            transform: DAffine3::IDENTITY,
            grid: self.grid,
            params: self.params,
            output,
            picture,
        })
    }
}

impl Receive<State> for MapDensityInPlace {
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

/// Maps the density of the streamlines of a file, which is read in pieces.
pub fn density_in_place<E: From<io::Error> + From<density::Error> + Send>(
    pieces: &Pieces,
    on: &DensityGrid,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, E> {
    let bounds = match on {
        DensityGrid::Around(_) => {
            let mut outline = Outline::new(pieces.empty().clone());
            pieces.pass(control, |piece: Piece| -> Result<(), E> {
                backend.install(|| outline.add(&piece.tractogram));
                Ok(())
            })?;
            outline.bounds
        }
        DensityGrid::Grid(_) | DensityGrid::Within(..) => None,
    };
    let grid = on.grid(bounds)?;
    let silent = control.silent();
    let mut counting = Counting::new(&grid, params, memory_for_curves())?;
    pieces.pass(control, |piece: Piece| -> Result<(), E> {
        Ok(counting.add(&piece.tractogram, backend, &silent)?)
    })?;
    Ok(counting.output(backend)?)
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
