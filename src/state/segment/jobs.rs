//! Segmentation by a level set, and files of its surface.

mod proximity;
mod run;
mod run_state;
mod run_worker;
mod speed_sources;

pub use proximity::{Distance, PathwayVoxels, Proximity, ProximityTarget, WithinMargin};
pub use run::{
    AwaitedSpeedImage, InitialSurface, MeasuredField, PlacedSphere, Rewind, RunCheckpoint,
    RunControl, RunRequest, RunUpdate, SurfaceStatistics, SurfaceUpdate,
};
pub use speed_sources::SpeedSources;

use crate::compute::{Backend, Control};
use crate::data::{Grid, Mask, Shape, Surface, Volume};
use crate::io;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Saved, Slot, Worker};
use crate::solvers::Error;
use crate::solvers::level_set::{
    Agreement, Ended, Evolution, Field, Inputs, Measures, Probe, RunHistory, Size, Start,
    agreement, measures, surface,
};
use crate::state::files::jobs::{WriteFile, saved};
use crate::state::job_end::{ended, for_command_line};
use crate::state::pathways::PathwayResult;
use crate::state::segment::LeakNotice;
use crate::state::{Effect, State, segment};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A level set.
pub const SEGMENT: Slot = Slot::latest_wins("segment");
/// Rasterizing the initial surface.
pub const BEGIN: Slot = Slot::latest_wins("begin");
/// Estimating target and range from a sample.
pub const PROBE: Slot = Slot::queue("probe");

/// A run from its start.
#[derive(Clone, Debug)]
pub struct Segment {
    pub image: Volume,
    pub frame: usize,
    pub start: Start,
    /// Additional inputs of the speed, by the numbers of the script.
    pub speed_sources: Vec<SpeedSources>,
    pub script: RunHistory,
    /// Runs to the script's last step unconditionally; otherwise it may end earlier.
    pub is_repeat: bool,
    /// Whether a leak ends it.
    pub watched: bool,
    pub reference: Option<Mask>,
}

/// The result and its description.
#[derive(Clone, Debug)]
pub struct SegmentOutput {
    pub field: Field,
    pub mask: Mask,
    pub surface: Surface,
    pub measures: Measures,
    pub agreement: Option<Agreement>,
    pub ended: Ended,
    pub leak: Option<LeakNotice>,
    /// The history of the run.
    pub script: RunHistory,
    /// Voxels inside after each step.
    pub growth: Vec<u64>,
    pub size: Size,
    /// Voxels of the image without a value.
    pub missing: usize,
    pub run_ms: f64,
}

/// Source of the voxels to rasterize.
#[derive(Clone, Debug)]
pub enum MaskSource {
    Shape(Arc<Shape>, Arc<Grid>),
    /// The voxels of a pathway of this width.
    Pathway(Arc<PathwayResult>, f64),
}

impl MaskSource {
    fn mask(&self) -> Mask {
        match self {
            Self::Shape(shape, grid) => shape.mask_on(grid),
            Self::Pathway(pathway, epsilon) => pathway.mask(*epsilon),
        }
    }
}

impl Job for Segment {
    type Output = Box<SegmentOutput>;

    fn slot(&self) -> Slot {
        SEGMENT
    }

    fn label(&self) -> String {
        "Segmenting".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        Ok(Box::new(self.segmented(&worker.backend(), control)?))
    }
}

for_command_line!(Segment);

/// Rasterizes the initial surface.
#[derive(Clone, Debug)]
pub struct CountVoxels {
    pub name: String,
    pub source: MaskSource,
}

impl Job for CountVoxels {
    type Output = Mask;

    fn slot(&self) -> Slot {
        BEGIN
    }

    fn label(&self) -> String {
        format!("Counting the voxels of {}", self.name)
    }

    fn run(self, worker: &Worker, _: &Control, _: &PartialSender<Mask>) -> Result<Mask, JobError> {
        Ok(worker.backend().install(|| self.source.mask()))
    }
}

impl Receive<State> for CountVoxels {
    fn receive(&self, delivery: Delivery<Mask>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, mask, _, _| {
            segment::update::initial_surface_ready(state, self.name.clone(), mask);
        });
    }
}

/// Estimates target and tolerance from sampled voxels of an image.
#[derive(Clone, Debug)]
pub struct ProbeSample {
    pub image: Volume,
    pub frame: usize,
    pub voxels: Vec<usize>,
}

impl Job for ProbeSample {
    type Output = Probe;

    fn slot(&self) -> Slot {
        PROBE
    }

    fn label(&self) -> String {
        "Examining the sample".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        _: &Control,
        _: &PartialSender<Probe>,
    ) -> Result<Probe, JobError> {
        let backend = worker.backend();
        let probe = || Probe::new(&self.image, self.frame, &self.voxels);
        Ok(backend.install(probe).map_err(Error::from)?)
    }
}

impl Receive<State> for ProbeSample {
    fn receive(&self, delivery: Delivery<Probe>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, probe, _, _| {
            segment::update::probed(state, self.image.id(), &probe);
        });
    }
}

#[derive(Clone, Debug)]
pub struct SaveSurface {
    pub surface: Surface,
    pub path: PathBuf,
    pub command: String,
}

impl WriteFile for SaveSurface {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        save_surface(&self.surface, self.path, &self.command, control)
    }
}

/// Saves the surface of φ to a file.
#[derive(Clone, Debug)]
pub struct SaveField {
    pub field: Arc<Field>,
    pub path: PathBuf,
    pub command: String,
}

impl WriteFile for SaveField {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        save_surface(&surface(&self.field), self.path, &self.command, control)
    }
}

/// Saves a script and the masks that it refers to.
#[derive(Clone, Debug)]
pub struct SaveScript {
    pub text: String,
    pub path: PathBuf,
    pub masks: Vec<(Mask, PathBuf)>,
}

impl WriteFile for SaveScript {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let command = format!("arcuate segment --script {}", self.path.display());
        for (mask, to) in self.masks {
            io::image::save_mask(&to, &mask.on_whole_grid(), &command, control)?;
        }
        io::atomic::write_text(&self.path, &self.text)?;
        Ok(saved(self.path, "run script", None))
    }
}

fn save_surface(
    surface: &Surface,
    path: PathBuf,
    command: &str,
    control: &Control,
) -> Result<Saved, JobError> {
    io::surface::save(&path, surface, command, control)?;
    Ok(saved(path, "surface", None))
}

impl Segment {
    fn segmented(self, backend: &Backend, control: &Control) -> Result<SegmentOutput, Error> {
        let (image, inputs) = backend.install(|| -> Result<_, Error> {
            let image = Inputs::new(&self.image, self.frame)?;
            let inputs = SpeedSources::all(&self.speed_sources, &image);
            Ok((image, inputs))
        })?;
        let (start, script) = (&self.start, &self.script);
        script.check(inputs.len())?;
        let started = Instant::now();
        let (evolution, ended) = if self.is_repeat {
            Evolution::replay(&inputs, start, script, backend, control)?
        } else {
            let (params, layout) = (&script.params, script.layout);
            let first = inputs.first().unwrap_or(&image);
            let mut evolution = Evolution::new(first, start, params, layout, backend, control)?;
            evolution.watched = self.watched;
            let ended = evolution.run(script.steps, backend, control)?;
            (evolution, ended)
        };
        let run_ms = started.elapsed().as_secs_f64() * 1e3;
        control.check()?;
        let field = evolution.field()?;
        let mask = backend.install(|| field.mask());
        let reference = self.reference.as_ref();
        let compared = reference.map(|r| backend.install(|| agreement(&mask, r)));
        Ok(SegmentOutput {
            measures: backend.install(|| measures(&field)),
            surface: surface(&field),
            agreement: compared.transpose()?,
            leak: LeakNotice::from_run(&evolution, &field, ended),
            mask,
            field,
            ended,
            script: evolution.script(),
            growth: evolution.growth().to_vec(),
            size: evolution.size(),
            missing: image.missing,
            run_ms,
        })
    }
}
