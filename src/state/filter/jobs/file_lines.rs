//! The streamlines of a fit that are read from their file in each pass.

use super::ESTIMATE;
use crate::compute::Control;
use crate::data::{DataId, Grid, Sentence};
use crate::io;
use crate::io::InPlace;
use crate::io::pieces::Pieces;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::Error;
use crate::solvers::commit::lines::{Lines, Survey, Take};
use crate::state::job_end::for_command_line;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Streamlines of a file that need not fit into memory.
#[derive(Clone, Debug)]
pub struct FileLines {
    pieces: Arc<Pieces>,
    count: usize,
    has_groups: bool,
    /// Identity of the points of the file.
    points: DataId,
    /// The counts of the last survey, and the grid that it was made for.
    survey: Arc<Mutex<Option<(Grid, Survey)>>>,
}

/// Counts the points and records of streamlines that stay in their file, which a fit needs before it begins.
#[derive(Clone, Debug)]
pub struct SurveyFile {
    pub lines: FileLines,
    /// The grid of the scan.
    pub grid: Arc<Grid>,
}

impl Job for SurveyFile {
    type Output = Survey;

    fn slot(&self) -> Slot {
        ESTIMATE
    }

    fn label(&self) -> String {
        "Counting segments".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.lines.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Survey>,
    ) -> Result<Survey, JobError> {
        let survey = || self.lines.survey(&self.grid, control);
        Ok(worker.backend().install(survey)?)
    }
}

for_command_line!(SurveyFile);

/// Why a pass ended early.
enum PassError {
    Reading(io::Error),
    Solver(Error),
}

impl From<io::Error> for PassError {
    fn from(error: io::Error) -> Self {
        Self::Reading(error)
    }
}

impl From<PassError> for Error {
    fn from(error: PassError) -> Self {
        match error {
            PassError::Reading(io::Error::Cancelled) => Self::Cancelled,
            PassError::Reading(error) => Self::Input(Sentence::new(&error)),
            PassError::Solver(error) => error,
        }
    }
}

impl FileLines {
    /// The streamlines of a file.
    pub fn new(file: &InPlace) -> Self {
        let pieces = file.pieces().clone();
        Self {
            count: file.len(),
            has_groups: !pieces.groups().is_empty(),
            points: file.id(),
            pieces,
            survey: Arc::default(),
        }
    }

    /// Takes over the survey of earlier streamlines if these have the same points.
    pub fn with_survey_of(self, earlier: Option<&Self>) -> Self {
        let same = earlier.filter(|earlier| earlier.points == self.points);
        Self {
            survey: same.map_or(self.survey, |earlier| earlier.survey.clone()),
            ..self
        }
    }

    /// The file as it is read in passes.
    pub fn pieces(&self) -> &Arc<Pieces> {
        &self.pieces
    }
}

impl Lines for FileLines {
    fn count(&self) -> usize {
        self.count
    }

    fn has_groups(&self) -> bool {
        self.has_groups
    }

    fn survey(&self, grid: &Grid, control: &Control) -> Result<Survey, Error> {
        let known = || self.survey.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, survey)) = known().as_ref().filter(|(known, _)| known == grid) {
            return Ok(*survey);
        }
        let mut survey = Survey::default();
        self.pass(control, &mut |_, piece| {
            survey.add(piece, grid);
            Ok(())
        })?;
        *known() = Some((grid.clone(), survey));
        Ok(survey)
    }

    fn pass(&self, control: &Control, take: &mut Take) -> Result<(), Error> {
        let passed = self.pieces.pass(control, |piece| {
            take(piece.first, &piece.tractogram).map_err(PassError::Solver)
        });
        Ok(passed.map(drop)?)
    }
}
