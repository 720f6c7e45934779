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

/// Rounded to a micrometre, which is finer than any scan resolves.
fn rounded(mm: f64) -> f64 {
    (mm * 1e3).round() / 1e3
}

/// Rounded down to a micrometre: a distance is never given as larger than it is.
fn rounded_down(mm: f64) -> f64 {
    (mm * 1e3).floor() / 1e3
}

impl WriteFile for SaveDistances {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        write_rows(&self.path, control, |to| {
            writeln!(to, "along_mm,x_mm,y_mm,z_mm,median_mm,p5_mm,p95_mm")?;
            let Distances { along, places, .. } = &*self.distances;
            for ((mm, range), place) in along.iter().zip(places) {
                control.check()?;
                let [x, y, z] = place.to_array().map(rounded);
                let [median, low, high] = [range.median, range.low, range.high].map(rounded_down);
                write!(to, "{mm},{x},{y},{z},{median},")?;
                match self.has_percentiles {
                    true => writeln!(to, "{low},{high}")?,
                    false => writeln!(to, ",")?,
                }
            }
            Ok(())
        })?;
        Ok(saved(self.path, "distances".to_owned(), None))
    }
}
