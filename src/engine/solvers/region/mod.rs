//! Creates regions from images and from other regions.
//!
//! *Threshold and label.* Voxels selected by their values; NaN belongs to no region.
//!
//! *Flood fill.* Voxels connected to a first one through faces whose values differ from its value by at most a
//! tolerance. Voxels fewer steps away come first, so that a limit leaves a ball around the first voxel, not a single
//! branch.
//!
//! *Grow and shrink.* A voxel belongs to a region grown by r if its centre is within r of a centre inside: dilation
//! by a ball in world millimetres, whatever the grid. Shrinking is the same for the outside; the space beyond the
//! grid does not count as outside, so that a region at the grid's edge does not shrink from there. On orthogonal
//! grids, distances come from an exact transform (Felzenszwalb and Huttenlocher 2012, "Distance transforms of sampled
//! functions", eq. 5) in time linear in the voxels, on sheared ones from balls around every voxel.
//!
//! *Smooth.* The fraction of a Gaussian in world millimetres that is inside, thresholded at one half; at the grid's
//! edge, relative to the part of the Gaussian inside the grid. Plane borders stay in place, details finer than its
//! width vanish.
//!
//! *Islands and holes.* Connected parts, by 6, 18 or 26 neighbours: all but the largest are removed, or those with few
//! voxels; holes are filled.
//!
//! *Interpolation.* Slices between drawn ones get the shape between their shapes.
//!
//! *Union, intersection, difference.* Computed on the voxels of the first region; the other one is tested at their
//! centres.
//!
//! # Example
//!
//! Voxels above a threshold, grown by 1 mm:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::{Grid, Volume};
//! use arcuate_engine::solvers::region::{Change, change, threshold};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let control = Control::new();
//! let grid = Grid::axis_aligned([7, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let image = Volume::scalar(Arc::new(grid), vec![0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0]);
//! let bright = threshold(&image, 0, (5.0, f32::INFINITY), &control)?;
//! assert_eq!(bright.count(), 1);
//! let grow = Change {
//!     grow_mm: 1.0,
//!     ..Change::defaults()
//! };
//! assert_eq!(change(&bright, &grow, &control)?.count(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod distance;
mod error;
mod fill;
mod interpolate;
mod islands;
mod parameters;
mod smooth;
mod statistics;
mod values;

pub use distance::distances_around;
pub use fill::{FilledMask, fill};
pub use interpolate::{SliceAxis, interpolate};
pub use islands::{Connectivity, fill_holes, remove_islands};
pub use parameters::{Change, DEFAULT_MAX_ML, DEFAULT_TOLERANCE, Fill};
pub use statistics::{ValueStatistics, statistics};
pub use values::{LabelCount, Numbers, label, numbers, threshold};

use super::Error;
use crate::compute::Control;
use crate::data::keyed;
use crate::data::mask::Block;
use crate::data::{Grid, Mask, Shape};
use glam::DVec3;
use std::sync::Arc;

/// Full width at half maximum of a Gaussian with standard deviation 1.
pub const WIDTH_OF_SIGMA: f64 = 2.354_820_045_030_949;

/// Set operation on two regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// In either region.
    Union,
    /// In both regions.
    Intersection,
    /// In the first region but not in the other.
    Difference,
}

keyed!(Combine, serde {
    Union = "union",
    Intersection = "intersection",
    Difference = "difference",
});

impl Combine {
    /// All operations in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Union, Self::Intersection, Self::Difference];
}

/// Interpolates between slices, grows or shrinks, smooths, removes islands and fills holes, in this order. Needs the
/// backend's threads installed.
pub fn change(mask: &Mask, change: &Change, control: &Control) -> Result<Mask, Error> {
    change.check()?;
    let mut mask = mask.clone();
    if let Some(slices) = change.interpolate {
        mask = interpolate(&mask, slices, control)?;
    }
    match change.grow_mm {
        mm if mm > 0.0 => mask = distance::dilate(&mask, mm, control)?,
        mm if mm < 0.0 => mask = distance::erode(&mask, -mm, control)?,
        _ => {}
    }
    if change.smooth_mm > 0.0 {
        mask = smooth::smooth(&mask, change.smooth_mm / WIDTH_OF_SIGMA, control)?;
    }
    let smallest = change.smallest_voxels.unwrap_or(0);
    if change.only_largest || smallest > 0 {
        let only_largest = change.only_largest;
        mask = remove_islands(&mask, smallest, only_largest, change.connectivity, control)?;
    }
    if change.fill_holes {
        mask = fill_holes(&mask, change.connectivity, control)?;
    }
    Ok(mask)
}

/// The combination of two shapes, on the voxels of `a` if it is a mask, otherwise on those of `grid`.
pub fn combine(how: Combine, a: &Shape, b: &Shape, grid: &Arc<Grid>) -> Mask {
    let mut mask = match a {
        Shape::Mask(mask) => mask.on_whole_grid(),
        _ => a.mask_on(grid),
    };
    let grid = mask.grid.clone();
    // Grids that are equal up to rounding have the same voxels.
    let same = match b {
        Shape::Mask(other) => Some(other.on_whole_grid()).filter(|o| o.grid.matches(&grid)),
        _ => None,
    };
    let inside = |voxel: [usize; 3]| match &same {
        Some(other) => other.inside[grid.index(voxel)] != 0,
        None => b.contains(grid.world(DVec3::from_array(voxel.map(|v| v as f64)))),
    };
    let whole = ([0; 3], grid.shape.map(|n| n - 1));
    let of_b = match &same {
        Some(other) => other.block_inside(),
        None => bounded(&grid, b),
    };
    let (block, value, take_inside) = match how {
        Combine::Union => (of_b, true, true),
        Combine::Difference => (of_b, false, true),
        Combine::Intersection => (mask.block_inside().or(Some(whole)), false, false),
    };
    if let Some((low, high)) = block {
        mask.edit((low, high), value, |y, z, set| {
            (low[0]..=high[0])
                .filter(|&x| inside([x, y, z]) == take_inside)
                .for_each(set);
        });
    }
    mask
}

/// The voxels of a grid whose centres a shape contains; for a mask on that grid, its own voxels.
pub fn voxels(shape: &Shape, grid: &Grid) -> Vec<[usize; 3]> {
    if let Shape::Mask(mask) = shape
        && mask.frame().matches(grid)
    {
        return mask.voxels_in_frame().collect();
    }
    let Some((low, high)) = bounded(grid, shape) else {
        return Vec::new();
    };
    let rows = (low[2]..=high[2]).flat_map(|z| (low[1]..=high[1]).map(move |y| (y, z)));
    rows.flat_map(|(y, z)| (low[0]..=high[0]).map(move |x| [x, y, z]))
        .filter(|v| shape.contains(grid.world(DVec3::from_array(v.map(|v| v as f64)))))
        .collect()
}

/// The block of voxels that may contain a shape.
fn bounded(grid: &Grid, shape: &Shape) -> Option<Block> {
    let (low, high) = match shape {
        Shape::Mask(mask) => mask.bounds_inside()?,
        shape => shape.bounds(),
    };
    let (centre, half) = (grid.voxel_at((low + high) * 0.5), (high - low) * 0.5);
    let rows = grid.voxel_from_world.matrix3;
    let reach = [0, 1, 2].map(|a| rows.row(a).abs().dot(half));
    let reach = DVec3::from_array(reach);
    grid.block_around(centre - reach, centre + reach)
}

/// A block of a grid with its own values.
struct PaddedBlock {
    low: [usize; 3],
    shape: [usize; 3],
}

impl PaddedBlock {
    /// The block of the voxels inside, enlarged by this many voxels along each axis.
    fn around(mask: &Mask, margin: DVec3) -> Option<Self> {
        let (low, high) = mask.block_inside()?;
        let margin = margin.to_array().map(|m| m.ceil() as usize + 1);
        let low = [0, 1, 2].map(|a| low[a].saturating_sub(margin[a]));
        let last = [0, 1, 2].map(|a| (high[a] + margin[a]).min(mask.grid.shape[a] - 1));
        Some(Self {
            low,
            shape: [0, 1, 2].map(|a| last[a] - low[a] + 1),
        })
    }

    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The values of the mask's voxels in the block.
    fn inside<T>(&self, mask: &Mask, value: impl Fn(bool) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.count());
        for z in 0..self.shape[2] {
            for y in 0..self.shape[1] {
                let [x0, y0, z0] = self.low;
                let row = mask.grid.index([x0, y0 + y, z0 + z]);
                let row = &mask.inside[row..row + self.shape[0]];
                values.extend(row.iter().map(|&v| value(v != 0)));
            }
        }
        values
    }

    /// The mask on the grid of the voxels of this part whose values satisfy `inside`.
    fn mask<T>(&self, grid: &Arc<Grid>, values: &[T], inside: impl Fn(&T) -> bool) -> Mask {
        let mut all = vec![0; grid.voxel_count()];
        for (i, row) in values.chunks_exact(self.shape[0]).enumerate() {
            let (y, z) = (i % self.shape[1], i / self.shape[1]);
            let at = grid.index([self.low[0], self.low[1] + y, self.low[2] + z]);
            for (to, from) in all[at..at + row.len()].iter_mut().zip(row) {
                *to = u8::from(inside(from));
            }
        }
        Mask::new(grid.clone(), all)
    }
}

/// Whether the grid's axes are orthogonal, up to rounding of affines in single precision.
fn has_right_angles(grid: &Grid) -> bool {
    let m = grid.world_from_voxel.matrix3;
    let leans = |a: usize, b: usize| {
        let (a, b) = (m.col(a), m.col(b));
        a.dot(b).abs() > 1e-5 * a.length() * b.length()
    };
    !(leans(0, 1) || leans(0, 2) || leans(1, 2))
}

/// Voxel offsets no longer than `mm`, with their length in mm.
fn ball(grid: &Grid, mm: f64) -> Vec<([i64; 3], f64)> {
    let reach = (grid.voxels_per_mm() * mm).to_array();
    let reach = reach.map(|r| (r + 1e-6).floor() as i64);
    let mut offsets = Vec::new();
    for z in -reach[2]..=reach[2] {
        for y in -reach[1]..=reach[1] {
            for x in -reach[0]..=reach[0] {
                let offset = DVec3::new(x as f64, y as f64, z as f64);
                let length = (grid.world_from_voxel.matrix3 * offset).length();
                if length <= mm * (1.0 + TIE_TOLERANCE) {
                    offsets.push(([x, y, z], length));
                }
            }
        }
    }
    offsets
}

/// Distances that differ by less than this share count as equal: voxels at exactly the requested distance are
/// included, however their coordinates round.
const TIE_TOLERANCE: f64 = 1e-9;
