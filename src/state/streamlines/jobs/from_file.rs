//! Streamlines of a file that need not fit into memory: it is read in pieces, by commands only.

pub mod connectome;
pub mod density;
pub mod describe;
pub mod select;
pub mod table;

use crate::compute::{Backend, Control};
use crate::data::{Grid, Tractogram, Volume};
use crate::io::pieces::{Outline, Pieces};
use crate::io::{self, Remark};
use crate::jobs::{Job, JobError, PartialSender, Slot, ValueNames, Worker};
use crate::solvers::tractogram::{points_outside, points_without_value};
use crate::state::core::layer::StreamlinesInPlace;
use crate::state::files::jobs::open::{Loaded, StayInFile, open_in_place};
use crate::state::files::jobs::{LOAD, label};
use crate::state::job_end::for_command_line;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens a streamline file without reading its streamlines, if its format permits that.
#[derive(Clone, Debug)]
pub struct OpenPieces {
    pub path: PathBuf,
    pub reading: io::Reading,
}

impl Job for OpenPieces {
    type Output = Arc<Pieces>;

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
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let pieces = Pieces::open(&self.path, &self.reading, control)?;
        Ok(Arc::new(pieces))
    }
}

for_command_line!(OpenPieces);

/// Opens a streamline file that is larger than a part of the memory, without reading its streamlines; `None` if it is
/// smaller, or if they cannot be read one by one.
#[derive(Clone, Debug)]
pub struct OpenLarge {
    pub path: PathBuf,
    pub reading: io::Reading,
    pub stay: StayInFile,
}

impl Job for OpenLarge {
    type Output = Option<Arc<StreamlinesInPlace>>;

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
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let open = || open_in_place(&self.path, &self.reading, self.stay, control);
        let opened = worker.backend().install(open)?;
        Ok(opened.and_then(|opened| match opened.loaded {
            Loaded::InPlace(lines) => Some(lines),
            _ => None,
        }))
    }
}

for_command_line!(OpenLarge);

/// The points of streamlines that an image does not cover.
#[derive(Clone, Debug)]
pub struct Coverage {
    grid: Arc<Grid>,
    /// The image whose values count, if any do.
    values: Option<Volume>,
    pub points: usize,
    /// Points in none of its voxels.
    pub outside: usize,
    /// Points in voxels without a number.
    pub without_value: usize,
}

impl Coverage {
    /// By the voxels of a grid.
    pub fn of_grid(grid: &Arc<Grid>) -> Self {
        Self {
            grid: grid.clone(),
            values: None,
            points: 0,
            outside: 0,
            without_value: 0,
        }
    }

    /// By the values of an image's first frame.
    pub fn of_values(volume: &Volume) -> Self {
        Self {
            values: Some(volume.clone()),
            ..Self::of_grid(&volume.grid)
        }
    }

    /// Counts the points of more streamlines.
    pub fn add(&mut self, tractogram: &Tractogram, backend: &Backend) {
        self.points += tractogram.points.len();
        backend.install(|| {
            self.outside += points_outside(&self.grid, tractogram);
            let values = self.values.as_ref();
            self.without_value += values.map_or(0, |v| points_without_value(v, tractogram));
        });
    }
}

/// Remarks, numbers and names of a file after a pass over all of it.
#[derive(Clone, Debug)]
pub struct FileSummary {
    pub outline: Outline,
    pub remarks: Vec<Remark>,
    /// In the order in which they were requested.
    pub coverages: Vec<Coverage>,
}

/// Passes all streamlines, with the values that commands name, to `work`, piece by piece.
pub fn for_each_piece(
    pieces: &Pieces,
    mut coverages: Vec<Coverage>,
    backend: &Backend,
    control: &Control,
    mut work: impl FnMut(usize, Tractogram) -> Result<(), JobError> + Send,
) -> Result<FileSummary, JobError> {
    let mut outline = Outline::new(ValueNames::shown(pieces.empty().clone()));
    outline.groups = pieces.groups();
    let info = pieces.pass(control, |piece| {
        let tractogram = ValueNames::shown(piece.tractogram);
        outline.add(&tractogram);
        for coverage in &mut coverages {
            coverage.add(&tractogram, backend);
        }
        work(piece.first, tractogram)
    })?;
    let mut remarks = Remark::all(&info.warnings, &info.notes);
    remarks.extend(io::streamlines::not_finite_points(outline.not_finite).map(Remark::from));
    Ok(FileSummary {
        outline,
        remarks,
        coverages,
    })
}
