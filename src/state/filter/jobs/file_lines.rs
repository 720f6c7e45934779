//! The streamlines of a fit that are read from their file in each pass.

use crate::compute::Control;
use crate::data::{Grid, Sentence, Tractogram};
use crate::io;
use crate::io::pieces::Pieces;
use crate::solvers::Error;
use crate::solvers::commit::lines::{Lines, Survey, Take};
use std::sync::{Arc, OnceLock};

/// Streamlines of a file that need not fit into memory.
#[derive(Clone, Debug)]
pub struct FileLines {
    pieces: Arc<Pieces>,
    count: usize,
    has_groups: bool,
    /// The counts of the last survey, and the grid that it was made for.
    survey: Arc<OnceLock<(Grid, Survey)>>,
}

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
    /// The streamlines of a file that has this many.
    pub fn new(pieces: Arc<Pieces>, count: usize) -> Self {
        Self {
            count,
            has_groups: !pieces.groups().is_empty(),
            pieces,
            survey: Arc::default(),
        }
    }

    /// A tractogram with the groups of the file and its number of streamlines, which have no points: all that a fit
    /// needs besides the points.
    pub fn without_points(&self) -> Tractogram {
        let mut lines = Tractogram::new(Vec::new(), vec![0; self.count + 1]);
        lines.groups = self.pieces.groups();
        lines.timestamp = self.pieces.empty().timestamp.clone();
        lines.grid = self.pieces.empty().grid.clone();
        lines
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
        if let Some((_, survey)) = self.survey.get().filter(|(known, _)| known == grid) {
            return Ok(*survey);
        }
        let mut survey = Survey::default();
        self.pass(control, &mut |_, piece| {
            survey.add(piece, grid);
            Ok(())
        })?;
        // One survey suffices: a fit has one grid.
        let _ = self.survey.set((grid.clone(), survey));
        Ok(survey)
    }

    fn pass(&self, control: &Control, take: &mut Take) -> Result<(), Error> {
        let passed = self.pieces.pass(control, |piece| {
            take(piece.first, &piece.tractogram).map_err(PassError::Solver)
        });
        Ok(passed.map(drop)?)
    }
}
