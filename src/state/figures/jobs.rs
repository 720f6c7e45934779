//! Measuring an image, and tables of all its volumes.

use crate::compute::Control;
use crate::data::{Grid, Mask, Shape, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Saved, Slot, Unfinished, Worker,
};
use crate::solvers::level_set::Field;
use crate::solvers::region::{ValueStatistics, statistics};
use crate::state::figures::{BINS, FigureTable, FiguresKey, update};
use crate::state::files::jobs::WriteFile;
use crate::state::job_end::ended;
use crate::state::pathways::PathwayResult;
use crate::state::regions::jobs::csv::{NamedStatistics, SaveHistograms, SaveStatistics};
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Figures follow the region, however often it changes: their job is not shown.
pub const FIGURES: Slot = Slot::latest_wins("figures").in_background();

/// The voxels in which an image is measured.
#[derive(Clone, Debug)]
pub enum MeasuredVoxels {
    /// A region or a mask.
    Shape(Arc<Shape>),
    /// A pathway of this width.
    Pathway(Arc<PathwayResult>, f64),
    /// The inside of a surface.
    Surface(Arc<Field>),
}

impl MeasuredVoxels {
    /// The voxels; a sphere or a box has those of the image.
    fn mask(&self, image: &Arc<Grid>, worker: &Worker) -> Mask {
        let backend = worker.backend();
        backend.install(|| match self {
            Self::Shape(shape) => shape.mask_on(image),
            Self::Pathway(pathway, epsilon) => pathway.mask(*epsilon),
            Self::Surface(field) => field.mask(),
        })
    }
}

/// Measures one volume of an image.
#[derive(Clone, Debug)]
pub struct MeasureFigures {
    pub key: FiguresKey,
    pub voxels: MeasuredVoxels,
    pub volume: Volume,
}

impl Job for MeasureFigures {
    type Output = ValueStatistics;

    fn slot(&self) -> Slot {
        FIGURES
    }

    fn label(&self) -> String {
        "Measuring the region".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<ValueStatistics>,
    ) -> Result<ValueStatistics, JobError> {
        let mask = self.voxels.mask(&self.volume.grid, worker);
        let image = (&self.volume, self.key.frame);
        Ok(statistics(image, &mask, BINS, control)?)
    }
}

impl Receive<State> for MeasureFigures {
    fn receive(
        &self,
        delivery: Delivery<ValueStatistics>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, figures, _, _| {
            update::receive(state, &self.key, figures);
        });
    }

    /// The section gives the reason where the figures would be.
    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        let live = &mut state.runtime.figures.live;
        live.end_without_result(&self.key, end.sentence());
        matches!(end, Unfinished::Failed(_))
    }
}

/// Measures all volumes of an image and writes a table of them.
#[derive(Clone, Debug)]
pub struct SaveFigures {
    pub table: FigureTable,
    /// Name of the image.
    pub name: String,
    pub voxels: MeasuredVoxels,
    pub volume: Volume,
    pub path: PathBuf,
}

impl WriteFile for SaveFigures {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, worker: &Worker, control: &Control) -> Result<Saved, JobError> {
        let mask = self.voxels.mask(&self.volume.grid, worker);
        let mut images = Vec::new();
        for volume in 0..self.volume.frames {
            let image = (&self.volume, volume);
            images.push(NamedStatistics {
                name: self.name.clone(),
                volume,
                statistics: statistics(image, &mask, BINS, &control.silent())?,
            });
        }
        let (path, images) = (self.path, images.into());
        match self.table {
            FigureTable::Statistics => SaveStatistics { path, images }.write(worker, control),
            FigureTable::Histograms => SaveHistograms { path, images }.write(worker, control),
        }
    }
}
