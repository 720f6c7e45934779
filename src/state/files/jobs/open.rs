//! Opens a file: its content determines the kind of layer.

use super::label;
use crate::compute::{Control, memory};
use crate::data::odf_field::order_of_distributions;
use crate::data::tractogram::LENGTH;
use crate::data::{Gradients, Grid, Mask, OdfLayout, Region, Role, Tractogram, Volume, VolumeKind};
use crate::io::orientations::OpenedPeaks;
use crate::io::{self, InPlace, SampleLimits};
use crate::jobs::{
    Delivery, Folder, Job, JobError, PartialSender, Receive, Slot, ValueNames, Worker,
};
use crate::state::core::layer::StreamlinesInPlace;
use crate::state::files::jobs::LOAD;
use crate::state::files::opening;
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opened file.
#[derive(Clone, Debug)]
pub enum Loaded {
    Scan {
        dwi: Volume,
        gradients: Option<Arc<Gradients>>,
        /// Gradient files that are not next to it: one `.b`, or bval and bvec.
        gradient_files: Vec<PathBuf>,
    },
    Image(Volume),
    /// An image that has only the values 0 and 1.
    Mask(Mask),
    Tractogram(Tractogram),
    InPlace(Arc<StreamlinesInPlace>),
}

/// The condition under which streamlines stay in their file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StayInFile {
    /// Commands read files in pieces of their own.
    Never,
    /// If the file takes more than a share of the free memory.
    #[default]
    IfLarge,
    /// If the file has more bytes than this.
    Above(u64),
}

/// Opens one file, with the gradients given, or those next to it.
#[derive(Clone, Debug)]
pub struct OpenFile {
    pub path: PathBuf,
    pub gradients: Vec<PathBuf>,
    /// The user's reading where the file leaves something open.
    pub reading: io::Reading,
    pub stay: StayInFile,
}

impl OpenFile {
    pub fn new(path: PathBuf) -> Self {
        Self::with_gradients(path, Vec::new())
    }

    pub fn with_gradients(path: PathBuf, gradients: Vec<PathBuf>) -> Self {
        let reading = io::Reading::default();
        Self {
            path,
            gradients,
            reading,
            stay: StayInFile::Never,
        }
    }

    /// Lets the streamlines of a large file stay there.
    pub fn staying(self, stay: StayInFile) -> Self {
        Self { stay, ..self }
    }

    /// Opens the file with the user's reading.
    pub fn with_reading(path: PathBuf, reading: io::Reading) -> Self {
        Self {
            reading,
            ..Self::new(path)
        }
    }
}

/// The contents of a path.
#[derive(Clone, Debug)]
pub enum Opened {
    File(Box<OpenedFile>),
    /// The path is a folder, which was searched.
    Folder(Folder),
}

#[derive(Clone, Debug)]
pub struct OpenedFile {
    pub path: PathBuf,
    pub loaded: Loaded,
    /// The assumptions made where the file leaves something open; the window may ask about them.
    pub reading: io::Reading,
    pub notes: Vec<io::Remark>,
    /// A file next to a scan that appears to be its brain mask.
    pub companion_mask: Option<PathBuf>,
    /// Why a scan has no gradients although there are gradient files next to it: one sentence with the name of a file;
    /// `notes` have it without the name.
    pub gradients_refused: Option<String>,
}

impl Job for OpenFile {
    type Output = Opened;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        label("Opening", &self.path)
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<Opened>,
    ) -> Result<Opened, JobError> {
        if let Some(file) = open_in_place(&self.path, &self.reading, self.stay, control)? {
            return Ok(Opened::File(Box::new(file)));
        }
        Ok(open(&self.path, &self.gradients, &self.reading, control)?)
    }

    fn curves(opened: &Opened) -> Vec<&Tractogram> {
        match opened {
            Opened::File(file) => file.loaded.curves().into_iter().collect(),
            Opened::Folder(_) => Vec::new(),
        }
    }
}

impl Receive<State> for OpenFile {
    fn receive(&self, delivery: Delivery<Opened>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, opened, _, effects| match opened {
                Opened::File(file) => opening::opened(state, *file, effects),
                Opened::Folder(folder) => opening::open_folder(state, folder, effects),
            },
        );
    }
}

impl Loaded {
    fn curves(&self) -> Option<&Tractogram> {
        match self {
            Self::Tractogram(tractogram) => Some(tractogram),
            Self::InPlace(lines) => Some(&lines.first.tractogram),
            Self::Scan { .. } | Self::Image(_) | Self::Mask(_) => None,
        }
    }
}

/// Adds each streamline's total length, mm, for colouring. Bounds are computed here to keep that off the interface
/// thread.
pub fn with_lengths(tractogram: Tractogram) -> Tractogram {
    tractogram.bounds();
    tractogram.stop_counts();
    // A file may have its own lengths.
    if tractogram.per_streamline.contains_key(LENGTH) {
        return tractogram;
    }
    let lengths: Vec<f32> = (0..tractogram.len())
        .map(|i| tractogram.length_mm(i))
        .collect();
    tractogram.with_per_streamline(LENGTH, lengths)
}

/// Adds the names of the targets that its numbers denote.
pub fn with_target_names(tractogram: Tractogram, regions: &[Region]) -> Tractogram {
    let targets = regions.iter().filter(|r| r.role == Role::Target);
    let names: Vec<String> = targets.map(|r| r.name.clone()).collect();
    match names.is_empty() {
        true => tractogram,
        false => tractogram.with_codes("target", names),
    }
}

/// The gradients of a scan.
#[derive(Default)]
pub struct ScanGradients {
    pub gradients: Option<Arc<Gradients>>,
    /// Their files, if they are not next to the scan.
    pub files: Vec<PathBuf>,
    pub notes: Vec<io::Remark>,
    /// Why the scan has none although there are gradient files next to it: one sentence with the name of a file. It is
    /// also among `notes`.
    pub refused: Option<String>,
}

/// The gradients of a scan. A faulty table that the user did not name must not prevent opening its scan.
pub fn table(
    path: &Path,
    named: &[PathBuf],
    grid: &Grid,
    volumes: usize,
) -> Result<ScanGradients, io::Error> {
    let table = match io::gradients::for_scan(path, named, grid, volumes) {
        Err(error) if named.is_empty() && error != io::Error::Cancelled => {
            let text = error.sentence();
            let sentence = format!("{text}; until then the scan has no gradients");
            return Ok(ScanGradients {
                notes: vec![sentence.into()],
                refused: Some(error.to_string()),
                ..ScanGradients::default()
            });
        }
        table => table?,
    };
    let Some(table) = table else {
        let half = io::gradients::unpaired_table(path);
        return Ok(ScanGradients {
            refused: half
                .as_ref()
                .map(|half| format!("{half}: {}", path.display())),
            notes: half.into_iter().map(io::Remark::from).collect(),
            ..ScanGradients::default()
        });
    };
    let adjacent = io::gradients::find_companion(path).map_or(Vec::new(), |t| t.paths());
    let elsewhere = Some(table.files).filter(|files| *files != adjacent);
    Ok(ScanGradients {
        gradients: Some(Arc::new(table.gradients)),
        files: elsewhere.unwrap_or_default(),
        notes: table.remarks,
        refused: None,
    })
}

/// Fraction of the work that remains once a file has been read: the display windows of an image of 256³ voxels take
/// longer than reading its bytes. For streamlines it is less, but the content is unknown before reading.
const PREPARING: f32 = 0.6;

/// A series of images that appear to be the coefficients of distributions. The window and commands add how to compare
/// bases.
fn distributions(volumes: usize, order: usize, known: Option<OdfLayout>) -> io::Remark {
    let read = known.map(|layout| format!("; read as {}", layout.description()));
    let sentence = format!(
        "The {volumes} volumes appear to be fibre orientation distributions (harmonics of order {order}){}",
        read.unwrap_or_default()
    );
    io::Remark {
        topic: Some(io::RemarkTopic::Distributions),
        ..io::Remark::note(sentence)
    }
}

/// A file stays on the disk if it has more bytes than the free memory divided by this: read as a whole it takes about
/// twice its size, and drawing it as much again.
const SHARE_OF_MEMORY: u64 = 4;
/// Smaller files are read as a whole, however little memory is free.
const MIN_IN_PLACE_BYTES: u64 = 16 << 20;

impl StayInFile {
    fn applies_to(self, bytes: u64) -> bool {
        match self {
            Self::Never => false,
            Self::Above(limit) => bytes > limit,
            Self::IfLarge => {
                let free = memory::available_bytes().unwrap_or(u64::MAX);
                bytes > (free / SHARE_OF_MEMORY).max(MIN_IN_PLACE_BYTES)
            }
        }
    }
}

/// Opens a file of streamlines that stay there; `None` if it is of another kind, or small enough to be read as a whole.
pub fn open_in_place(
    path: &Path,
    reading: &io::Reading,
    stay: StayInFile,
    control: &Control,
) -> Result<Option<OpenedFile>, io::Error> {
    if stay == StayInFile::Never || !InPlace::can_open(path) {
        return Ok(None);
    }
    if !stay.applies_to(InPlace::stored_bytes(path)) {
        return Ok(None);
    }
    let Some(file) = InPlace::open(path, reading, control)? else {
        return Ok(None);
    };
    // A few streamlines of all parts of the file, at once.
    let limits = SampleLimits {
        points: 0,
        tolerance_mm: 0.0,
        view: None,
    };
    let first = file.sample(&limits, None, control, |_| {})?;
    first.tractogram.bounds();
    let names = ValueNames::shown(file.pieces().empty().clone());
    let notes = io::Remark::all(&file.info().warnings, &file.info().notes);
    let lines = StreamlinesInPlace {
        file: Arc::new(file),
        first,
        names,
    };
    Ok(Some(OpenedFile {
        path: path.to_owned(),
        loaded: Loaded::InPlace(Arc::new(lines)),
        reading: reading.clone(),
        notes,
        companion_mask: None,
        gradients_refused: None,
    }))
}

/// The fixels of a path; `None` for other files, and where the user states another content.
fn fixels(
    path: &Path,
    reading: &io::Reading,
    control: &Control,
) -> Result<Option<(Volume, OpenedPeaks)>, io::Error> {
    let affine = reading.affine.as_deref();
    let is_plain = io::Reading {
        affine: None,
        ..reading.clone()
    }
    .is_empty();
    match is_plain {
        true => io::orientations::open_fixels(path, affine, control),
        false => Ok(None),
    }
}

/// Opens a file; a NIfTI with several volumes is a scan, one with values 0 and 1 only is a mask.
pub fn open(
    path: &Path,
    gradients: &[PathBuf],
    reading: &io::Reading,
    control: &Control,
) -> Result<Opened, io::Error> {
    if let Some((volume, opened)) = fixels(path, reading, control)? {
        return Ok(Opened::File(Box::new(OpenedFile {
            path: path.to_owned(),
            notes: io::Remark::all(&opened.warnings, &opened.notes),
            loaded: Loaded::Image(volume),
            reading: reading.clone(),
            companion_mask: None,
            gradients_refused: None,
        })));
    }
    if io::bids::is_folder(path) {
        return io::bids::find(path).map(Opened::Folder);
    }
    if path.is_dir() && !io::trx::is_folder(path) {
        return Err(io::bids::refusal(path));
    }
    control.plan_last(PREPARING);
    let opened = io::open_with_reading(path, reading, control)?;
    // One step to determine the content, one to colour it.
    control.begin_last("Preparing the views", 2 + Volume::PRECOMPUTE_STEPS);
    let windows = |volume: &Volume| {
        control.advance(1);
        volume.precompute_windows_in_steps(|| control.advance(1));
    };
    let mut reading = reading.clone();
    let mut notes = opened.remarks();
    let mut refused = None;
    let loaded = match opened {
        io::Opened::Tractogram(tractogram, info) => {
            reading.vtk_space = info.taken;
            notes.extend(io::streamlines::not_finite(&tractogram).map(io::Remark::from));
            control.advance(1);
            let tractogram = with_lengths(tractogram);
            control.advance(Volume::PRECOMPUTE_STEPS);
            let tractogram = ValueNames::shown(tractogram);
            // Computed here to keep it off the interface thread.
            tractogram.bounds();
            tractogram.stop_counts();
            Loaded::Tractogram(tractogram)
        }
        io::Opened::Volume(volume, _) if volume.kind == VolumeKind::Rgb => {
            windows(&volume);
            Loaded::Image(volume)
        }
        io::Opened::Volume(volume, _) if volume.tensors.is_some() => {
            windows(&volume);
            Loaded::Scan {
                dwi: volume,
                gradients: None,
                gradient_files: Vec::new(),
            }
        }
        io::Opened::Volume(volume, _) if volume.frames > 1 => {
            // Gradients that are opened together with distributions belong to their scan, even if the numbers of volumes
            // agree.
            let order = order_of_distributions(&volume);
            let table = match order {
                Some(_) => ScanGradients::default(),
                None => table(path, gradients, &volume.grid, volume.frames)?,
            };
            notes.extend(table.notes);
            if order.is_some() && reading.distributions.is_none() {
                reading.distributions = io::orientations::implied_layout(path);
            }
            let known = reading.distributions;
            notes.extend(order.map(|order| distributions(volume.frames, order, known)));
            refused = table.refused;
            windows(&volume);
            Loaded::Scan {
                dwi: volume,
                gradients: table.gradients,
                gradient_files: table.files,
            }
        }
        io::Opened::Volume(volume, _) if reading.colours.is_some() => {
            volume.picture();
            Loaded::Image(volume)
        }
        io::Opened::Volume(volume, _) => match io::as_mask(&volume) {
            Some(mask) => {
                mask.bounds_inside();
                Loaded::Mask(mask)
            }
            None => {
                windows(&volume);
                volume.picture();
                Loaded::Image(volume)
            }
        },
    };
    let companion_mask = match &loaded {
        Loaded::Scan { dwi, .. } => io::companion_mask(path, &dwi.grid),
        _ => None,
    };
    Ok(Opened::File(Box::new(OpenedFile {
        companion_mask,
        path: path.to_owned(),
        loaded,
        reading,
        notes,
        gradients_refused: refused,
    })))
}
