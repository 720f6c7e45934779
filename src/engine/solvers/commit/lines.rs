//! The streamlines of a fit, in memory or read from a file piece by piece.

use super::dictionary::{Estimate, count_segments, estimate};
use crate::compute::Control;
use crate::data::{Grid, Tractogram};
use crate::solvers::Error;
use glam::DVec3;
use rayon::prelude::*;

/// Streamlines of a fit, which need not be in memory.
pub trait Lines: Sync {
    /// Number of streamlines.
    fn count(&self) -> usize;

    /// Whether some of them belong to groups.
    fn has_groups(&self) -> bool;

    /// The counts over all of them that a fit needs before it begins.
    fn survey(&self, grid: &Grid, control: &Control) -> Result<Survey, Error>;

    /// Passes all of them on in their order, piece by piece, each with the number of its first streamline.
    fn pass(&self, control: &Control, take: &mut Take) -> Result<(), Error>;
}

/// Receives streamlines and the number of the first of them.
pub type Take<'a> = dyn FnMut(usize, &Tractogram) -> Result<(), Error> + Send + 'a;

/// Counts of points and of records, found in a pass over streamlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// Number of points with finite coordinates.
    pub finite: u64,
    /// Number of points in the box of the scan.
    pub inside: u64,
    /// Upper bound on the number of records without copies, to within a few percent.
    pub segments: u64,
}

impl Survey {
    /// Adds more streamlines.
    pub fn add(&mut self, tractogram: &Tractogram, grid: &Grid) {
        let inside = |p: &[f32; 3]| {
            let world = DVec3::from_array(p.map(f64::from));
            let is_inside = grid.nearest(world).is_some();
            (u64::from(is_inside), u64::from(world.is_finite()))
        };
        let points = tractogram.points.par_iter().map(inside);
        let (inside, finite) = points.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.inside += inside;
        self.finite += finite;
        self.segments += count_segments(tractogram, grid);
    }

    /// The share of the finite points that lie inside.
    pub fn share_inside(&self) -> f64 {
        self.inside as f64 / self.finite.max(1) as f64
    }

    /// Records and memory of a dictionary.
    pub fn estimate(&self, grid: &Grid, blur_mm: Option<f64>) -> Estimate {
        estimate(self.segments, grid, blur_mm)
    }
}

impl Lines for Tractogram {
    fn count(&self) -> usize {
        self.len()
    }

    fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    fn survey(&self, grid: &Grid, _: &Control) -> Result<Survey, Error> {
        let mut survey = Survey::default();
        survey.add(self, grid);
        Ok(survey)
    }

    fn pass(&self, _: &Control, take: &mut Take) -> Result<(), Error> {
        take(0, self)
    }
}
