//! Aligning images, transforms from files, and transforming streamlines.

use crate::compute::Control;
use crate::data::gradients::Weighting;
use crate::data::text::file_name;
use crate::data::{Gradients, Grid, Sentence, Tractogram, Volume};
use crate::io;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::Error;
use crate::solvers::alignment::{self, Params};
use crate::solvers::tractogram::selection;
use crate::state::alignment::TransformKey;
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use glam::DAffine3;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Alignments and transforms from files: the newest wins.
pub const ALIGN: Slot = Slot::latest_wins("align");
/// Transforming streamlines.
pub const MOVE_STREAMLINES: Slot = Slot::latest_wins("move");

/// The target of an alignment.
#[derive(Clone, Debug)]
pub enum AlignmentTarget {
    /// The mean of a scan's volumes without diffusion weighting.
    Scan {
        dwi: Volume,
        gradients: Arc<Gradients>,
    },
    Image(Volume),
}

impl AlignmentTarget {
    fn image(self, control: &Control) -> Result<Volume, Error> {
        let (dwi, gradients) = match self {
            Self::Image(volume) => return Ok(volume),
            Self::Scan { dwi, gradients } => (dwi, gradients),
        };
        let all = 0..dwi.frames.min(gradients.len());
        let mut frames: Vec<usize> = all
            .filter(|&v| gradients.weighting(v) == Weighting::B0)
            .collect();
        if frames.is_empty() {
            frames.push(0);
        }
        let share = 1.0 / frames.len() as f32;
        let mut mean = vec![0f32; dwi.grid.voxel_count()];
        for frame in frames {
            control.check()?;
            for (sum, value) in mean.iter_mut().zip(dwi.frame(frame)) {
                *sum += share * value;
            }
        }
        Ok(Volume::scalar(dwi.grid.clone(), mean))
    }
}

#[derive(Clone, Debug)]
pub struct AlignImages {
    pub moving: Volume,
    pub fixed: AlignmentTarget,
    pub params: Params,
    /// The layer to be moved; returned with the result.
    pub layer: u64,
}

#[derive(Clone, Debug)]
pub struct Aligned {
    pub layer: u64,
    pub output: alignment::Output,
}

impl Job for AlignImages {
    type Output = Aligned;

    fn slot(&self) -> Slot {
        ALIGN
    }

    fn label(&self) -> String {
        "Aligning".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Aligned>,
    ) -> Result<Aligned, JobError> {
        control.begin("Preparing images", 0);
        let backend = worker.backend();
        let fixed = self.fixed.image(control)?;
        let output = alignment::align(&self.moving, &fixed, &self.params, &backend, control)?;
        Ok(Aligned {
            layer: self.layer,
            output,
        })
    }
}

impl Receive<State> for AlignImages {
    fn receive(&self, delivery: Delivery<Aligned>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, aligned, _, effects| {
                super::update::aligned(state, &aligned, effects);
            },
        );
    }
}

/// An affine from a file, for a layer.
#[derive(Clone, Debug)]
pub struct ReadAffine {
    pub path: PathBuf,
    /// Grid of the layer as it was opened.
    pub moving: Option<Arc<Grid>>,
    /// Grid of the scan, assumed to be FLIRT's reference.
    pub fixed: Option<Arc<Grid>>,
    pub layer: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct AffineRead {
    pub layer: u64,
    pub transform: DAffine3,
}

impl Job for ReadAffine {
    type Output = AffineRead;

    fn slot(&self) -> Slot {
        ALIGN
    }

    fn label(&self) -> String {
        let name = file_name(&self.path);
        format!("Opening {name}")
    }

    fn run(
        self,
        _: &Worker,
        _: &Control,
        _: &PartialSender<AffineRead>,
    ) -> Result<AffineRead, JobError> {
        let affine = io::affine::read(&self.path)?;
        let transform = affine.in_world(self.moving.as_deref(), self.fixed.as_deref());
        let transform = transform.ok_or(MissingGrid(self.path))?;
        Ok(AffineRead {
            layer: self.layer,
            transform,
        })
    }
}

/// A FLIRT matrix without the grid of the moving or of the fixed image. Its file.
#[derive(Clone, PartialEq, Debug)]
struct MissingGrid(PathBuf);

impl fmt::Display for MissingGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "A FLIRT matrix refers to the voxels of two images, found a layer without a grid or no scan; open the scan \
             that it was aligned to, or convert the matrix: {}",
            self.0.display()
        )
    }
}

impl std::error::Error for MissingGrid {}

impl From<MissingGrid> for JobError {
    fn from(error: MissingGrid) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

impl Receive<State> for ReadAffine {
    fn receive(
        &self,
        delivery: Delivery<AffineRead>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, read, _, effects| {
            super::update::read(state, read, effects);
        });
    }
}

/// Applies a transform to a layer's streamlines, starting from their file.
#[derive(Clone, Debug)]
pub struct MoveStreamlines {
    pub key: TransformKey,
    pub tractogram: Tractogram,
}

impl Job for MoveStreamlines {
    type Output = Tractogram;

    fn slot(&self) -> Slot {
        MOVE_STREAMLINES
    }

    fn label(&self) -> String {
        "Moving streamlines".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        _: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let moved =
            selection::copy_transformed(&self.tractogram, self.key.transform, memory_for_curves())?;
        moved.bounds();
        moved.stop_counts();
        Ok(moved)
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![output]
    }
}

impl Receive<State> for MoveStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, moved, _, _| {
            super::update::shifted(state, self.key, moved);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        // Unless a newer job, possibly with the same key, has replaced it.
        if !state.runtime.jobs.is_running(&[MOVE_STREAMLINES]) {
            let pending = &mut state.runtime.pending_transforms;
            pending.live.stop();
            pending.requested.retain(|s| s.layer != self.key.layer);
        }
        false
    }
}
