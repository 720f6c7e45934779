//! The voxels that a segment crosses, with the points of entry and exit.

use crate::data::Grid;
use glam::{DAffine3, DVec3};

/// Traversal of a grid, reusable for many segments.
pub struct Walk {
    /// Transform to coordinates in which voxel i is the half-open interval from i to i + 1.
    cells_from_world: DAffine3,
    shape: [usize; 3],
    /// Face crossings of the current segment, 0..=1.
    cuts: Vec<f64>,
}

impl Walk {
    /// Prepares the traversal of a grid; the voxel of a point is the one whose centre is nearest along each axis.
    pub fn new(grid: &Grid) -> Self {
        let half = DAffine3::from_translation(DVec3::splat(0.5));
        Self {
            cells_from_world: half * grid.voxel_from_world,
            shape: grid.shape,
            cuts: Vec::new(),
        }
    }

    /// The transform from world mm to coordinates in which voxel i is the half-open interval from i to i + 1.
    pub(super) fn cells_from_world(&self) -> DAffine3 {
        self.cells_from_world
    }

    fn index(&self, cell: DVec3) -> Option<usize> {
        let [nx, ny, nz] = self.shape;
        let cell = cell.floor();
        let inside = |c: f64, n: usize| c >= 0.0 && c < n as f64;
        (inside(cell.x, nx) && inside(cell.y, ny) && inside(cell.z, nz))
            .then(|| cell.x as usize + nx * (cell.y as usize + ny * cell.z as usize))
    }

    /// The voxel that contains a world point.
    pub fn point(&self, at: DVec3) -> Option<usize> {
        self.index(self.cells_from_world.transform_point3(at))
    }

    /// Calls `passes` with each voxel that a streamline crosses, each time that it enters it. Segments with a non-finite end
    /// are left out; a single point lies in its voxel.
    pub fn line(&mut self, line: &[[f32; 3]], mut passes: impl FnMut(usize)) {
        let world = |point: [f32; 3]| DVec3::from_array(point.map(f64::from));
        for pair in line.windows(2) {
            let (from, to) = (world(pair[0]), world(pair[1]));
            if from.is_finite() && to.is_finite() {
                self.segment(from, to, |voxel, _| passes(voxel));
            }
        }
        if let [point] = line
            && let Some(voxel) = self.point(world(*point))
        {
            passes(voxel);
        }
    }

    /// Calls `passes` with each voxel on the way and the shares of the segment at which it begins and
    /// ends there; on a face, those of the voxel that the middle between two cuts lies in.
    pub fn segment(&mut self, from: DVec3, to: DVec3, mut passes: impl FnMut(usize, (f64, f64))) {
        let from = self.cells_from_world.transform_point3(from);
        let to = self.cells_from_world.transform_point3(to);
        if from.floor() == to.floor() {
            if let Some(voxel) = self.index(from) {
                passes(voxel, (0.0, 1.0));
            }
            return;
        }
        let along = to - from;
        // The part outside the grid is removed first: a distant end would cross countless faces.
        let (mut begin, mut end) = (0.0f64, 1.0f64);
        for axis in 0..3 {
            let (a, d, n) = (from[axis], along[axis], self.shape[axis] as f64);
            if d == 0.0 {
                if !(a >= 0.0 && a < n) {
                    return;
                }
                continue;
            }
            let (low, high) = (-a / d, (n - a) / d);
            begin = begin.max(low.min(high));
            end = end.min(low.max(high));
        }
        if !(begin < end) {
            return;
        }
        self.cuts.clear();
        self.cuts.extend([begin, end]);
        for axis in 0..3 {
            let (a, d, n) = (from[axis], along[axis], self.shape[axis] as f64);
            if d == 0.0 {
                continue;
            }
            let (b, e) = (a + begin * d, a + end * d);
            let first = b.min(e).ceil().clamp(0.0, n) as i64;
            let last = b.max(e).floor().clamp(0.0, n) as i64;
            let cuts = (first..=last).map(|face| (face as f64 - a) / d);
            self.cuts.extend(cuts.filter(|t| *t > begin && *t < end));
        }
        self.cuts.sort_unstable_by(f64::total_cmp);
        for pair in self.cuts.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            if begin < end
                && let Some(voxel) = self.index(from + along * (0.5 * (begin + end)))
            {
                passes(voxel, (begin, end));
            }
        }
    }
}
