//! Streamlines and voxels that lie entirely or partly within a surface.

use super::isosurface::{Bounds, Isosurface, trilinear};
use super::{pieces_within, segments};
use crate::data::{Tractogram, Volume};
use crate::solvers::level_set::bricks::Field;
use crate::solvers::level_set::surface::value;
use glam::DVec3;
use rayon::prelude::*;

/// Streamlines that cross a surface, or voxels of a set within it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Crossings {
    /// Number of streamlines or voxels.
    pub count: u64,
    /// A point deep inside, world mm.
    pub point: Option<DVec3>,
    /// φ there.
    value: f64,
}

impl Crossings {
    fn with(self, other: Self) -> Self {
        let deeper = if other.value > self.value {
            other
        } else {
            self
        };
        Self {
            count: self.count + other.count,
            ..deeper
        }
    }

    fn single(at: DVec3, value: f64) -> Self {
        Self {
            count: 1,
            point: Some(at),
            value,
        }
    }
}

/// φ at the corners of the cell that contains a point in voxels, and the position of the point in the cell.
fn cell_at(field: &Field, at: DVec3) -> ([f32; 8], DVec3) {
    let low = at.floor();
    let base = low.to_array().map(|v| v as i64);
    let corner = |k: usize| [0, 1, 2].map(|a| base[a] + (k >> a & 1) as i64);
    (std::array::from_fn(|k| value(field, corner(k))), low)
}

/// φ at a point in voxels.
fn phi(field: &Field, at: DVec3) -> f64 {
    let (values, low) = cell_at(field, at);
    trilinear(&values, (at - low).to_array())
}

/// The maximum of a cubic through four equally spaced values, and its position, from 0 to 1.
fn highest(values: [f64; 4]) -> (f64, f64) {
    let [a, b, c, d] = values;
    // Coefficients of the powers of t (Lagrange, nodes at 0, ⅓, ⅔ and 1).
    let first = (-11.0 * a + 18.0 * b - 9.0 * c + 2.0 * d) / 2.0;
    let second = (18.0 * a - 45.0 * b + 36.0 * c - 9.0 * d) / 2.0;
    let third = (-9.0 * a + 27.0 * b - 27.0 * c + 9.0 * d) / 2.0;
    let cubic = |t: f64| a + t * (first + t * (second + t * third));
    // 3 third t² + 2 second t + first = 0, without cancellation.
    let half = (second * second - 3.0 * third * first).max(0.0).sqrt();
    let q = -(second + half.copysign(second));
    let ends = [0.0, 1.0, q / (3.0 * third), first / q];
    let within = ends.into_iter().filter(|t| (0.0..=1.0).contains(t));
    let candidates = within.map(|t| (cubic(t), t));
    candidates.fold((f64::NEG_INFINITY, 0.0), |best, candidate| {
        if candidate.0 > best.0 {
            candidate
        } else {
            best
        }
    })
}

/// The point where φ first exceeds 0 on a segment between two points in voxels, if it does: along a line, a trilinear
/// function is a cubic from one cell face to the next.
fn enters(field: &Field, [a, b]: [DVec3; 2]) -> Option<(f64, DVec3)> {
    let way = b - a;
    let mut cuts = vec![0.0, 1.0];
    for axis in 0..3 {
        let (low, high) = (a[axis].min(b[axis]), a[axis].max(b[axis]));
        let mut face = low.floor() + 1.0;
        while face < high {
            cuts.push((face - a[axis]) / way[axis]);
            face += 1.0;
        }
    }
    cuts.sort_unstable_by(f64::total_cmp);
    cuts.windows(2).find_map(|ends| {
        let at = |t: f64| a + (ends[0] + t * (ends[1] - ends[0])) * way;
        let (values, low) = cell_at(field, at(0.5));
        if values.iter().all(|v| *v <= 0.0) {
            return None;
        }
        let value_at = |t: f64| trilinear(&values, (at(t) - low).to_array());
        let (value, t) = highest([
            value_at(0.0),
            value_at(1.0 / 3.0),
            value_at(2.0 / 3.0),
            value_at(1.0),
        ]);
        (value > 0.0).then(|| (value, at(t)))
    })
}

/// Streamlines of which any part, however short, lies within φ > 0. Needs the backend's threads installed.
pub fn through(field: &Field, surface: &Isosurface, lines: &Tractogram) -> Crossings {
    let Some(bounds) = surface.bounds() else {
        return Crossings::default();
    };
    let requested = pieces_within(&bounds, 0.0);
    let pieces = lines.pieces();
    let grid = &field.grid;
    let of_line = |line: usize| {
        let points = lines.streamline(line);
        let mut near = pieces.pieces_near(line, points.len(), requested);
        let crossing = near.find_map(|range| {
            let mut segments = segments(&points[range]);
            segments.find_map(|ends| enters(field, ends.map(|p| grid.voxel_at(p))))
        });
        crossing.map_or_else(Crossings::default, |(value, at)| {
            Crossings::single(grid.world(at), value)
        })
    };
    let each = (0..lines.len()).into_par_iter();
    each.map(of_line)
        .reduce(Crossings::default, Crossings::with)
}

/// φ at a point inside a surface with these bounds; `None` outside.
pub(super) fn depth(field: &Field, bounds: &Bounds, at: DVec3) -> Option<f64> {
    let may_be_inside = at.cmpge(bounds.low).all() && at.cmple(bounds.high).all();
    let value = may_be_inside.then(|| phi(field, field.grid.voxel_at(at)))?;
    (value > 0.0).then_some(value)
}

/// The voxels of an image with at most this value whose centres lie within φ > 0; if there are none, a point of the
/// surface that lies among them still counts as one. Needs the backend's threads installed.
pub fn overlap(field: &Field, surface: &Isosurface, volume: &Volume, level: f32) -> Crossings {
    let Some(bounds) = surface.bounds() else {
        return Crossings::default();
    };
    let (grid, values) = (&volume.grid, volume.frame(0));
    let of_voxel = |index: usize| {
        if !(values[index] <= level) {
            return Crossings::default();
        }
        let at = grid.world(DVec3::from_array(grid.voxel(index).map(|v| v as f64)));
        match depth(field, &bounds, at) {
            Some(value) => Crossings::single(at, value),
            None => Crossings::default(),
        }
    };
    let each = (0..values.len()).into_par_iter();
    let inside = each
        .map(of_voxel)
        .reduce(Crossings::default, Crossings::with);
    if inside.count > 0 {
        return inside;
    }
    let within = |at: &DVec3| {
        let corner = |low: DVec3, k: usize| {
            let voxel = [0, 1, 2].map(|a| low[a] as i64 + (k >> a & 1) as i64);
            let inside = (0..3).all(|a| (0..grid.shape[a] as i64).contains(&voxel[a]));
            let value = || values[grid.index(voxel.map(|v| v as usize))];
            if inside { value() - level } else { 1.0 }
        };
        let voxel = grid.voxel_at(*at);
        let low = voxel.floor();
        let corners: [f32; 8] = std::array::from_fn(|k| corner(low, k));
        trilinear(&corners, (voxel - low).to_array()) <= 0.0
    };
    let of_cell = |cell: u32| surface.crossings(cell.into()).find(within);
    let crossing = surface.cells().into_par_iter().find_map_any(of_cell);
    crossing.map_or_else(Crossings::default, |at| {
        Crossings::single(at, f64::MIN_POSITIVE)
    })
}
