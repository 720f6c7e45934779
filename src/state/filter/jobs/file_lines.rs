//! The streamlines of a fit that are read from their file in each pass.

use super::ESTIMATE;
use crate::compute::{Backend, Control};
use crate::data::{DataId, Grid, Sentence};
use crate::io;
use crate::io::InPlace;
use crate::io::pieces::Pieces;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::Error;
use crate::solvers::commit::lines::{Lines, Survey, Take};
use crate::state::job_end::for_command_line;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a job that waits for a survey checks whether it was cancelled.
const CHECK: Duration = Duration::from_millis(20);

/// Streamlines of a file that need not fit into memory.
#[derive(Clone, Debug)]
pub struct FileLines {
    pieces: Arc<Pieces>,
    count: usize,
    has_groups: bool,
    /// Identity of the points of the file.
    points: DataId,
    survey: Arc<SharedSurvey>,
}

/// The survey of a file, which all requests on it share.
#[derive(Debug, Default)]
struct SharedSurvey {
    state: Mutex<SurveyState>,
    /// A job has ended its survey, with or without a result.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct SurveyState {
    /// The counts of the last survey, and the grid that it was made for.
    known: Option<(Grid, Survey)>,
    /// Whether a job counts at present.
    is_counting: bool,
}

/// The turn of one job to count; the next one has it once this is dropped.
struct Turn<'a>(&'a SharedSurvey);

impl SharedSurvey {
    fn state(&self) -> MutexGuard<'_, SurveyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, grid: &Grid) -> Option<Survey> {
        let state = self.state();
        let known = state.known.as_ref().filter(|(known, _)| known == grid);
        known.map(|(_, survey)| *survey)
    }

    /// Waits until no other job counts.
    fn turn(&self, control: &Control) -> Result<Turn<'_>, Error> {
        let mut state = self.state();
        while state.is_counting {
            control.check()?;
            let woken = self.ended.wait_timeout(state, CHECK);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_counting = true;
        Ok(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().is_counting = false;
        self.0.ended.notify_all();
    }
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
        Ok(self.lines.count(&self.grid, &worker.backend(), control)?)
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

    /// The survey, made once: a job that needs it while another one counts waits for the result. For the thread of a job,
    /// not for a thread of the pool, on which those that count depend.
    pub fn count(
        &self,
        grid: &Grid,
        backend: &Backend,
        control: &Control,
    ) -> Result<Survey, Error> {
        if let Some(survey) = self.survey.known(grid) {
            return Ok(survey);
        }
        let _turn = self.survey.turn(control)?;
        backend.install(|| self.survey(grid, control))
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
        if let Some(survey) = self.survey.known(grid) {
            return Ok(survey);
        }
        let mut survey = Survey::default();
        self.pass(control, &mut |_, piece| {
            survey.add(piece, grid);
            Ok(())
        })?;
        self.survey.state().known = Some((grid.clone(), survey));
        Ok(survey)
    }

    fn pass(&self, control: &Control, take: &mut Take) -> Result<(), Error> {
        let passed = self.pieces.pass(control, |piece| {
            take(piece.first, &piece.tractogram).map_err(PassError::Solver)
        });
        Ok(passed.map(drop)?)
    }
}
