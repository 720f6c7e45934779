//! Distances of repetitions from a mask, as a table.

use crate::compute::Control;
use crate::io::atomic::write_rows;
use crate::jobs::{JobError, Saved, Worker};
use crate::solvers::pathway::Distances;
use crate::state::files::jobs::{WriteFile, saved};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Saves one row per position along the shown curve.
#[derive(Clone, Debug)]
pub struct SaveDistances {
    pub path: PathBuf,
    pub distances: Arc<Distances>,
    /// Whether the repetitions suffice for percentiles; otherwise these columns are empty.
    pub has_percentiles: bool,
}

impl WriteFile for SaveDistances {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        write_rows(&self.path, control, |to| {
            writeln!(to, "along_mm,median_mm,p5_mm,p95_mm")?;
            for (mm, range) in &self.distances.along {
                control.check()?;
                match self.has_percentiles {
                    true => writeln!(to, "{mm},{},{},{}", range.median, range.low, range.high)?,
                    false => writeln!(to, "{mm},{},,", range.median)?,
                }
            }
            Ok(())
        })?;
        Ok(saved(self.path, "distances".to_owned(), None))
    }
}
