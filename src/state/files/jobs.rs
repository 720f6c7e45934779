//! Jobs that open, write and convert files. Each written file is read back and compared.

pub mod csv;
pub mod open;
mod orientations;
mod paths;

pub use orientations::{OpenOrientations, OrientationReading};
pub use paths::{CHECK_PATH, PathCheck};

use crate::compute::{Control, memory};
use crate::data::text::file_name;
use crate::data::{Mask, OdfLayout, Shape, Surface, Tractogram, Volume};
use crate::io::convert::{Converted, Plan};
use crate::io::{self, Format};
use crate::jobs::{
    CompleteData, Delivery, Job, JobError, PartialSender, Receive, Saved, Slot, ValueNames, Worker,
    memory_for_curves, save_tractogram, save_with_values,
};
use crate::solvers::odf_check::{self, Verdict};
use crate::solvers::tractogram::selection;
use crate::state::files::update;
use crate::state::job_end::{ended, for_command_line};
use crate::state::{Effect, State};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opening files and reading sessions.
pub const LOAD: Slot = Slot::queue("load").beyond_document().keeping_failures();
/// Writing files and sessions.
pub const SAVE: Slot = Slot::queue("save").writing().keeping_failures();

/// A job that writes one file, as [`Job`] and [`Receive`].
pub trait WriteFile: Clone + Debug + Send + Sync + 'static {
    fn path(&self) -> &Path;

    /// Text for the status line: `Saving a.tck`.
    fn title(&self) -> String {
        label("Saving", self.path())
    }

    fn write(self, worker: &Worker, control: &Control) -> Result<Saved, JobError>;
}

impl<W: WriteFile> Job for W {
    type Output = Saved;

    fn slot(&self) -> Slot {
        SAVE
    }

    fn label(&self) -> String {
        self.title()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Saved>,
    ) -> Result<Saved, JobError> {
        self.write(worker, control)
    }
}

impl<W: WriteFile> Receive<State> for W {
    fn receive(&self, delivery: Delivery<Saved>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, saved, _, _| {
            update::saved(state, saved);
        });
    }
}

/// `Saving a.tck`.
pub fn label(what: &str, path: &Path) -> String {
    let name = file_name(path);
    format!("{what} {name}")
}

/// A written file that contains all of its data.
pub fn saved(path: PathBuf, what: impl Into<String>, complete: Option<CompleteData>) -> Saved {
    Saved {
        path,
        content: what.into(),
        complete,
        masks: Vec::new(),
        losses: Vec::new(),
    }
}

/// Saves as a surface if the file name says so, else as a mask; returns "surface" for the former.
pub fn save_shape(
    shape: &Shape,
    path: &Path,
    command: &str,
    control: &Control,
) -> Result<Option<&'static str>, JobError> {
    let (saved, what) = match shape {
        Shape::Mask(mask) if !io::surface::is_named(path) => {
            (io::image::save_mask(path, mask, command, control), None)
        }
        shape => {
            let voxels = match shape {
                Shape::Mask(mask) => mask.grid.voxel_count(),
                Shape::Sphere { .. } | Shape::Box { .. } => 0,
            };
            memory::claim_for::<u32>("The surface of the mask", voxels, 1)?;
            let surface = Surface::of_shape(shape);
            let saved = io::surface::save(path, &surface, command, control);
            (saved, Some("surface"))
        }
    };
    saved?;
    Ok(what)
}

/// Saves streamlines: all files or none.
#[derive(Clone, Debug)]
pub struct SaveTractogram {
    pub tractogram: Tractogram,
    pub path: PathBuf,
    pub command: String,
    /// Files written next to a TCK.
    pub values: ValueNames,
}

impl WriteFile for SaveTractogram {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let all = CompleteData::from(&self.tractogram);
        let (lines, values, path) = (self.tractogram, self.values, self.path);
        let (what, whole) = save_tractogram(lines, &values, &path, &self.command, control)?;
        Ok(saved(path, what, whole.then_some(all)))
    }
}

/// Saves one value per streamline as text, in their order.
#[derive(Clone, Debug)]
pub struct SaveValues {
    pub tractogram: Tractogram,
    pub name: String,
    pub path: PathBuf,
}

impl WriteFile for SaveValues {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, _: &Control) -> Result<Saved, JobError> {
        let (path, tractogram) = (self.path, self.tractogram);
        io::scalars::save_weights(&path, &tractogram, &self.name)?;
        let what = io::text::counted(tractogram.len(), "weight");
        let values = tractogram.per_streamline.get(&self.name).cloned();
        let named = values.map(|values| (self.name, values));
        let complete = CompleteData {
            ids: Vec::new(),
            per_streamline: named.into_iter().collect(),
        };
        Ok(saved(path, what, Some(complete)))
    }
}

#[derive(Clone, Debug)]
pub struct SaveVolume {
    pub volume: Volume,
    /// The file from which it was opened, whose data type is preserved.
    pub source: Option<PathBuf>,
    pub path: PathBuf,
    pub command: String,
}

impl WriteFile for SaveVolume {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let (path, volume, from) = (self.path, self.volume, self.source.as_deref());
        let losses = io::convert::save_volume(&path, &volume, from, &self.command, control)?;
        let what = match io::label_table::save_of(&path, volume.labels.as_deref())? {
            Some(_) => "label map, with its names beside it",
            None => "volume",
        };
        Ok(Saved {
            losses,
            ..saved(path, what, Some(volume.id().into()))
        })
    }
}

#[derive(Clone, Debug)]
pub struct SaveMask {
    pub mask: Mask,
    pub path: PathBuf,
    pub command: String,
}

impl WriteFile for SaveMask {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let (path, id) = (self.path, self.mask.id());
        let what = save_shape(&Shape::Mask(self.mask), &path, &self.command, control)?;
        // A surface does not hold the mask's voxels.
        let whole = what.is_none().then(|| id.into());
        Ok(saved(path, what.unwrap_or("mask"), whole))
    }
}

/// Saves images and texts that belong together: all files or none.
#[derive(Clone, Debug)]
pub struct SaveSet {
    /// The file to which the others belong, and its text; it receives its name last.
    pub first: (PathBuf, String),
    pub images: Vec<(PathBuf, Volume)>,
    pub texts: Vec<(PathBuf, String)>,
    /// The command in the headers of the images.
    pub command: String,
}

impl WriteFile for SaveSet {
    fn path(&self) -> &Path {
        &self.first.0
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let (path, text) = &self.first;
        let prepare = || -> Result<(), io::Error> {
            let mut files = vec![io::atomic::prepare_text(path, text)?];
            for (path, text) in &self.texts {
                files.push(io::atomic::prepare_text(path, text)?);
            }
            for (path, volume) in &self.images {
                control.check()?;
                let image = io::image::prepare_volume(path, volume, &self.command, control)?;
                files.extend(image);
            }
            control.check()?;
            io::atomic::rename_together(files)
        };
        prepare()?;
        let count = 1 + self.images.len() + self.texts.len();
        Ok(saved(path.clone(), io::text::counted(count, "file"), None))
    }
}

/// The files written, and the data that the first of them holds in full.
#[derive(Clone, Debug)]
pub struct ConvertedFiles {
    pub converted: Converted,
    pub whole: Option<CompleteData>,
}

/// The sentence about the grid of streamlines if the format of a path cannot hold it.
pub fn unsupported_grid(path: &Path, tractogram: &Tractogram) -> Option<String> {
    Format::named(path).and_then(|format| format.unsupported_grid(tractogram))
}

impl ConvertedFiles {
    /// Files that hold `all` in full, unless something was lost. The document provides the grid; it is not part of the
    /// streamlines' own data.
    pub fn new(converted: Converted, grid: Option<&str>, all: Option<CompleteData>) -> Self {
        let mut losses = converted.unsupported_contents.iter();
        let is_whole = losses.all(|loss| Some(loss.as_str()) == grid);
        let whole = all.filter(|_| is_whole);
        Self { converted, whole }
    }
}

/// Streamlines with all their values; those that a TCK cannot hold are written next to it.
#[derive(Clone, Debug)]
pub struct SaveWithValues {
    pub tractogram: Tractogram,
    /// Only these streamlines.
    pub only: Option<Arc<[bool]>>,
    pub path: PathBuf,
    pub command: String,
    /// Files next to it may be replaced.
    pub replace: bool,
}

impl Job for SaveWithValues {
    type Output = ConvertedFiles;

    fn slot(&self) -> Slot {
        SAVE
    }

    fn label(&self) -> String {
        label("Saving", &self.path)
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<ConvertedFiles>,
    ) -> Result<ConvertedFiles, JobError> {
        let all = self
            .only
            .is_none()
            .then(|| CompleteData::from(&self.tractogram));
        let tractogram = match self.only {
            Some(marks) => selection::copy_marked(&self.tractogram, &marks, memory_for_curves())?,
            None => self.tractogram,
        };
        let grid = unsupported_grid(&self.path, &tractogram);
        let converted =
            save_with_values(tractogram, &self.path, &self.command, self.replace, control)?;
        Ok(ConvertedFiles::new(converted, grid.as_deref(), all))
    }
}

impl Receive<State> for SaveWithValues {
    fn receive(
        &self,
        delivery: Delivery<ConvertedFiles>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, done, _, _| {
            update::converted(state, &done);
        });
    }
}

/// Reads the file to be converted; the result lists what would be left out.
#[derive(Clone, Debug)]
pub struct PlanToConvert {
    pub input: PathBuf,
    pub output: PathBuf,
    /// The image that gives the grid of the streamlines.
    pub reference: Option<PathBuf>,
    /// The reading of the input.
    pub reading: io::Reading,
}

impl Job for PlanToConvert {
    type Output = Box<Plan>;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        label("Opening", &self.input)
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.input)
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Box<Plan>>,
    ) -> Result<Box<Plan>, JobError> {
        let reference = self.reference.as_deref();
        let plan = io::convert::plan(&self.input, &self.output, reference, &self.reading, control);
        let mut plan = plan?;
        if let Some(volume) = plan.distributions_for_mrtrix() {
            let verdict =
                odf_check::verdict(&volume, OdfLayout::MRTRIX, &worker.backend(), control)?;
            plan.notes.extend(basis_in_mif(verdict));
        }
        Ok(Box::new(plan))
    }
}

/// About coefficients that are written into a MIF as they are.
fn basis_in_mif(verdict: Verdict) -> Option<io::Remark> {
    const READ: &str = "which programs read from a MIF in MRtrix's basis and world axes";
    match verdict {
        Verdict::Agrees | Verdict::Tensors => None,
        Verdict::Other(layout) => Some(io::Remark::from(format!(
            "The image seems to hold fibre orientation distributions, most likely {}, {READ}: convert them with{layout}",
            layout.description()
        ))),
        Verdict::AxesUndecided | Verdict::Undecided => Some(io::Remark::note(format!(
            "The image seems to hold fibre orientation distributions, {READ}; if they are in others, state these with \
             --odf-basis and --odf-frame, which “arcuate gradients distributions” compares"
        ))),
    }
}

for_command_line!(PlanToConvert);

#[derive(Clone, Debug)]
pub struct Convert {
    pub plan: Box<Plan>,
    pub command: String,
    /// Files next to the output may be replaced.
    pub replace: bool,
}

impl Job for Convert {
    type Output = ConvertedFiles;

    fn slot(&self) -> Slot {
        SAVE
    }

    fn label(&self) -> String {
        label("Converting", self.plan.input())
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.plan.input())
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<ConvertedFiles>,
    ) -> Result<ConvertedFiles, JobError> {
        let converted = self.plan.write(self.replace, &self.command, control)?;
        Ok(ConvertedFiles {
            converted,
            whole: None,
        })
    }
}

impl Receive<State> for Convert {
    fn receive(
        &self,
        delivery: Delivery<ConvertedFiles>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, done, _, _| {
            update::converted(state, &done);
        });
    }
}
