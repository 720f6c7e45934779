//! Density maps of the streamlines of a file.

use super::{Coverage, FileSummary, for_each_piece};
use crate::compute::Control;
use crate::io::pieces::Pieces;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker, memory_for_curves};
use crate::solvers::density::{Counting, DensityGrid, Output, Params};
use crate::state::density::jobs::DENSITY;
use crate::state::job_end::for_command_line;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct MapDensityOfFile {
    pub pieces: Arc<Pieces>,
    pub grid: DensityGrid,
    pub params: Params,
    pub coverages: Vec<Coverage>,
}

#[derive(Clone, Debug)]
pub struct DensityOfFile {
    pub summary: FileSummary,
    pub output: Output,
}

impl Job for MapDensityOfFile {
    type Output = DensityOfFile;

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
        _: &PartialSender<DensityOfFile>,
    ) -> Result<DensityOfFile, JobError> {
        let (backend, silent) = (worker.backend(), control.silent());
        let bounds = match self.grid {
            DensityGrid::Around(_) => {
                let read =
                    for_each_piece(&self.pieces, Vec::new(), &backend, control, |_, _| Ok(()));
                read?.outline.bounds
            }
            DensityGrid::Grid(_) | DensityGrid::Within(..) => None,
        };
        let grid = self.grid.grid(bounds)?;
        let mut counting = Counting::new(&grid, &self.params, memory_for_curves())?;
        let summary = for_each_piece(
            &self.pieces,
            self.coverages,
            &backend,
            control,
            |_, piece| Ok(counting.add(&piece, &backend, &silent)?),
        )?;
        let output = counting.output(&backend)?;
        Ok(DensityOfFile { summary, output })
    }
}

for_command_line!(MapDensityOfFile);
