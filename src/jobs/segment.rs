//! Segmentation by a level set, and surfaces of it as files.

use super::Slot;
use super::error::JobError;
use super::pathway::Found;
use super::request::{Output, Saved};
use super::steer::{Beside, Leaked};
use crate::compute::{Backend, Control};
use crate::data::{Grid, Mask, Shape, Surface, Volume};
use crate::io;
use crate::solvers::Error;
use crate::solvers::level_set::{
    Agreement, Ended, Evolution, Field, Inputs, Measures, Probe, Script, Size, Start, agreement,
    measures, surface,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A run from its start.
#[derive(Clone, Debug)]
pub struct Segment {
    pub image: Volume,
    pub frame: usize,
    pub start: Start,
    /// What gives speeds beside the image, by the numbers of the script.
    pub beside: Vec<Beside>,
    pub script: Script,
    /// Up to the script's last step, whatever happens; else it may end sooner.
    pub again: bool,
    /// A leak ends it.
    pub watched: bool,
    pub reference: Option<Mask>,
}

/// What came out, and what is said about it.
#[derive(Clone, Debug)]
pub struct Segmented {
    pub field: Field,
    pub mask: Mask,
    pub surface: Surface,
    pub measures: Measures,
    pub agreement: Option<Agreement>,
    pub ended: Ended,
    pub leak: Option<Leaked>,
    /// Of what was done.
    pub script: Script,
    /// Voxels inside after each step.
    pub growth: Vec<u64>,
    pub size: Size,
    /// Voxels of the image without a value.
    pub missing: usize,
    pub run_ms: f64,
}

/// What voxels are to be counted out of.
#[derive(Clone, Debug)]
pub enum Counted {
    Shape(Arc<Shape>, Arc<Grid>),
    /// Of so much width.
    Pathway(Arc<Found>, f64),
}

impl Counted {
    pub(super) fn mask(&self) -> Mask {
        match self {
            Self::Shape(shape, grid) => shape.mask_on(grid),
            Self::Pathway(found, epsilon) => found.mask(*epsilon),
        }
    }
}

/// Work for segmentation.
#[derive(Clone, Debug)]
pub enum ForSegment {
    Run(Box<Segment>),
    /// What a surface is to begin with; its name comes back.
    Begin {
        name: String,
        with: Counted,
    },
    /// Target and tolerance, from sampled voxels of an image.
    Probe {
        image: Volume,
        frame: usize,
        voxels: Vec<usize>,
    },
    SaveSurface {
        surface: Surface,
        path: PathBuf,
        command: String,
    },
    /// The surface of φ as a file.
    SaveField {
        field: Arc<Field>,
        path: PathBuf,
        command: String,
    },
    /// A script and the masks that it names.
    SaveScript {
        text: String,
        path: PathBuf,
        masks: Vec<(Mask, PathBuf)>,
    },
}

impl ForSegment {
    pub(super) fn slot(&self) -> Slot {
        match self {
            Self::Run(_) => Slot::Segment,
            Self::Begin { .. } => Slot::Begin,
            Self::Probe { .. } => Slot::Probe,
            Self::SaveSurface { .. } | Self::SaveField { .. } | Self::SaveScript { .. } => {
                Slot::Save
            }
        }
    }

    pub(super) fn label(&self) -> String {
        match self {
            Self::Run(_) => "Segmenting".to_owned(),
            Self::Begin { name, .. } => format!("Counting the voxels of {name}"),
            Self::Probe { .. } => "Looking around the sample".to_owned(),
            Self::SaveSurface { path, .. }
            | Self::SaveField { path, .. }
            | Self::SaveScript { path, .. } => {
                let name = path.file_name().map(Path::new);
                format!("Saving {}", name.unwrap_or(path).display())
            }
        }
    }

    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        match self {
            Self::Run(wanted) => Ok(Output::Segmented(Box::new(wanted.run(backend, control)?))),
            Self::Begin { name, with } => {
                let mask = backend.install(|| with.mask());
                Ok(Output::Begun(name, mask))
            }
            Self::Probe {
                image,
                frame,
                voxels,
            } => {
                let probe = backend.install(|| Probe::new(&image, frame, &voxels))?;
                Ok(Output::Probed(image.id(), probe))
            }
            Self::SaveSurface {
                surface,
                path,
                command,
            } => save_surface(&surface, path, &command, control),
            Self::SaveField {
                field,
                path,
                command,
            } => save_surface(&surface(&field), path, &command, control),
            Self::SaveScript { text, path, masks } => {
                let command = format!("arcuate segment --script {}", path.display());
                for (mask, to) in masks {
                    let saved = io::nifti::save_mask(&to, &mask.whole(), &command, control);
                    saved.map_err(|e| e.to_string())?;
                }
                io::atomic::write_text(&path, &text).map_err(|e| e.to_string())?;
                Ok(Output::Saved(Saved {
                    path,
                    what: "run script".to_owned(),
                    whole: None,
                    losses: Vec::new(),
                }))
            }
        }
    }
}

fn save_surface(
    surface: &Surface,
    path: PathBuf,
    command: &str,
    control: &Control,
) -> Result<Output, JobError> {
    let saved = io::surface::save(&path, surface, command, control);
    saved.map_err(|e| e.to_string())?;
    Ok(Output::Saved(Saved {
        path,
        what: "surface".to_owned(),
        whole: None,
        losses: Vec::new(),
    }))
}

impl Segment {
    fn run(self, backend: &Backend, control: &Control) -> Result<Segmented, Error> {
        let (image, inputs) = backend
            .install(|| {
                let image = Inputs::new(&self.image, self.frame)?;
                let inputs = Beside::all(&self.beside, &image);
                Ok((image, inputs))
            })
            .map_err(Error::Input)?;
        let (start, script) = (&self.start, &self.script);
        script.check(inputs.len()).map_err(Error::Input)?;
        let begun = Instant::now();
        let (made, ended) = if self.again {
            Evolution::replay(&inputs, start, script, backend, control)?
        } else {
            let (params, layout) = (&script.params, script.layout);
            let first = inputs.first().unwrap_or(&image);
            let mut made = Evolution::new(first, start, params, layout, backend, control)?;
            made.watched = self.watched;
            let ended = made.run(script.steps, backend, control)?;
            (made, ended)
        };
        let run_ms = begun.elapsed().as_secs_f64() * 1e3;
        control.check()?;
        let field = made.field()?;
        let mask = backend.install(|| field.mask());
        let reference = self.reference.as_ref();
        let compared = reference.map(|r| backend.install(|| agreement(&mask, r)));
        Ok(Segmented {
            measures: backend.install(|| measures(&field)),
            surface: surface(&field),
            agreement: compared.transpose().map_err(Error::Input)?,
            leak: Leaked::of(&made, &field, ended),
            mask,
            field,
            ended,
            script: made.script(),
            growth: made.growth().to_vec(),
            size: made.size(),
            missing: image.missing,
            run_ms,
        })
    }
}
