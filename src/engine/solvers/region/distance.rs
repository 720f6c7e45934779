//! Grows and shrinks regions by a distance.

use super::{Error, PaddedBlock, TIE_TOLERANCE, ball, has_right_angles};
use crate::compute::{Control, memory};
use crate::data::{AffineSource, Grid, Mask, Volume};
use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Voxels whose centres are within `mm` of a centre inside.
pub fn dilate(mask: &Mask, mm: f64, control: &Control) -> Result<Mask, Error> {
    let mask = &mask.on_whole_grid();
    let Some(part) = PaddedBlock::around(mask, mask.grid.voxels_per_mm() * mm) else {
        return Ok(mask.clone());
    };
    within_distance(mask, &part, true, mm, control)
        .map(|near| part.mask(&mask.grid, &near, |near| *near))
}

/// Voxels inside whose centres are farther than `mm` from every centre outside.
pub fn erode(mask: &Mask, mm: f64, control: &Control) -> Result<Mask, Error> {
    let mask = &mask.on_whole_grid();
    // Only the outside near the region matters; its margin is larger on sheared grids.
    let margin = match has_right_angles(&mask.grid) {
        true => DVec3::ONE,
        false => mask.grid.voxels_per_mm() * mm,
    };
    let Some(part) = PaddedBlock::around(mask, margin) else {
        return Ok(mask.clone());
    };
    let near = within_distance(mask, &part, false, mm, control)?;
    let inside = part.inside(mask, |inside| inside);
    let left: Vec<bool> = inside.iter().zip(&near).map(|(i, n)| *i && !n).collect();
    Ok(part.mask(&mask.grid, &left, |left| *left))
}

/// Distances of voxel centres from the voxels of a mask, up to at least `max_mm`, mm. Inside they are minus half a
/// voxel's edge, so that interpolated distances are about 0 at the faces of the mask. Needs the backend's threads
/// installed. `None` for an empty mask, and on sheared grids.
pub fn distances_around(
    mask: &Mask,
    max_mm: f64,
    control: &Control,
) -> Result<Option<Volume>, Error> {
    let mask = &mask.on_whole_grid();
    let spacing = mask.grid.spacing();
    // From a voxel's face.
    let margin = mask.grid.voxels_per_mm() * max_mm + 0.5;
    let Some(part) = PaddedBlock::around(mask, margin).filter(|_| has_right_angles(&mask.grid))
    else {
        return Ok(None);
    };
    memory::claim_for::<f64>("The distances around the mask", part.count(), 2)?;
    control.begin("Measuring distances", part.count() as u64 * 3);
    let squared = squared_distances(mask, &part, (true, Extent::Voxels), control)?;
    let inside = -0.5 * spacing.element_sum() / 3.0;
    let distance = |squared: &f64| {
        if *squared > 0.0 {
            squared.sqrt()
        } else {
            inside
        }
    };
    let values: Vec<f32> = squared.iter().map(|s| distance(s) as f32).collect();
    let first = DVec3::from_array(part.low.map(|v| v as f64));
    let moved = mask.grid.world_from_voxel * DAffine3::from_translation(first);
    let grid = Grid::new(part.shape, moved, AffineSource::Computed);
    Ok(grid.map(|grid| Volume::scalar(Arc::new(grid), values)))
}

/// The place of a voxel to which distances are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Its centre.
    Centres,
    /// All of it.
    Voxels,
}

/// Squared distances of the voxel centres of a part, on a grid with right angles, from the nearest voxel inside the
/// mask (`is_inside`) or outside it.
fn squared_distances(
    mask: &Mask,
    part: &PaddedBlock,
    (is_inside, extent): (bool, Extent),
    control: &Control,
) -> Result<Vec<f64>, Error> {
    let spacing = mask.grid.spacing();
    let start = |inside| {
        if inside == is_inside {
            0.0
        } else {
            f64::INFINITY
        }
    };
    let mut squared = part.inside(mask, start);
    for axis in 0..3 {
        let along = (axis, spacing[axis]);
        distances_along_axis(&mut squared, part.shape, along, extent, control)?;
    }
    Ok(squared)
}

/// For each voxel of a part, whether a voxel lies within `mm` that is inside the mask (`is_inside`) or outside it.
fn within_distance(
    mask: &Mask,
    part: &PaddedBlock,
    is_inside: bool,
    mm: f64,
    control: &Control,
) -> Result<Vec<bool>, Error> {
    memory::claim_for::<f64>("The distance to the region", part.count(), 2)?;
    control.begin("Measuring distances", part.count() as u64 * 3);
    if has_right_angles(&mask.grid) {
        let from = (is_inside, Extent::Centres);
        let squared = squared_distances(mask, part, from, control)?;
        let max_squared = mm * mm * (1.0 + 2.0 * TIE_TOLERANCE);
        return Ok(squared.into_iter().map(|d| d <= max_squared).collect());
    }
    let offsets: Vec<[i64; 3]> = ball(&mask.grid, mm).into_iter().map(|(o, _)| o).collect();
    let from = part.inside(mask, |i| i == is_inside);
    let mut near = vec![false; part.count()];
    let [nx, ny, nz] = part.shape.map(|n| n as i64);
    for (i, _) in from.iter().enumerate().filter(|(_, is)| **is) {
        if i % 64 == 0 {
            control.check()?;
        }
        let i = i as i64;
        let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
        for [dx, dy, dz] in &offsets {
            let (x, y, z) = (x + dx, y + dy, z + dz);
            if (0..nx).contains(&x) && (0..ny).contains(&y) && (0..nz).contains(&z) {
                near[(x + nx * (y + ny * z)) as usize] = true;
            }
        }
    }
    Ok(near)
}

/// Squared distances after one more axis: for each line, the lower envelope of the parabolas at its voxels.
pub fn distances_along_axis(
    squared: &mut [f64],
    shape: [usize; 3],
    (axis, spacing): (usize, f64),
    extent: Extent,
    control: &Control,
) -> Result<(), Error> {
    let stride: usize = shape[..axis].iter().product();
    let length = shape[axis];
    // Slabs that contain whole lines.
    let slabs = squared.par_chunks_mut(stride * length);
    let work = |slab: &mut [f64], envelope: &mut Envelope| -> Result<(), Error> {
        control.check()?;
        for first in 0..stride {
            let line = slab[first..].iter().step_by(stride).copied();
            envelope.read(line.take(length), extent, spacing);
            for (i, value) in slab[first..]
                .iter_mut()
                .step_by(stride)
                .take(length)
                .enumerate()
            {
                *value = match extent {
                    Extent::Centres => envelope.at(i, spacing),
                    // In its own plane a voxel's extent adds nothing.
                    Extent::Voxels => value.min(envelope.at(i, spacing)),
                };
            }
        }
        control.advance(slab.len() as u64);
        Ok(())
    };
    slabs.try_for_each_init(Envelope::default, |envelope, slab| work(slab, envelope))
}

/// The lower envelope of parabolas f(q) + (x − q)² over the positions q on a line.
#[derive(Default)]
struct Envelope {
    /// Position of a parabola in mm, its height, and the position from which on it is the lowest.
    pieces: Vec<(f64, f64, f64)>,
    /// Index of the piece used last.
    now: usize,
}

impl Envelope {
    /// Parabolas at the centres of a line of voxels, or at their faces: the distance from a voxel is that from its
    /// nearer face.
    fn read(&mut self, heights: impl Iterator<Item = f64>, extent: Extent, spacing: f64) {
        self.pieces.clear();
        self.now = 0;
        match extent {
            Extent::Centres => self.extend(heights, 0.0, spacing),
            Extent::Voxels => {
                let mut before = f64::INFINITY;
                let faces = heights.chain([f64::INFINITY]).map(|height| {
                    let lower = height.min(before);
                    before = height;
                    lower
                });
                self.extend(faces, -0.5 * spacing, spacing);
            }
        }
    }

    fn extend(&mut self, heights: impl Iterator<Item = f64>, first_mm: f64, spacing: f64) {
        for (i, height) in heights.enumerate().filter(|(_, h)| h.is_finite()) {
            let at = first_mm + i as f64 * spacing;
            let mut from = f64::NEG_INFINITY;
            while let Some(&(q, h, begins)) = self.pieces.last() {
                // Intersection of the two parabolas.
                from = ((height + at * at) - (h + q * q)) / (2.0 * (at - q));
                if from > begins {
                    break;
                }
                self.pieces.pop();
                from = f64::NEG_INFINITY;
            }
            self.pieces.push((at, height, from));
        }
    }

    /// Must be called with ascending positions.
    fn at(&mut self, i: usize, spacing: f64) -> f64 {
        let x = i as f64 * spacing;
        while self.pieces.get(self.now + 1).is_some_and(|p| p.2 <= x) {
            self.now += 1;
        }
        let piece = self.pieces.get(self.now);
        piece.map_or(f64::INFINITY, |(q, h, _)| h + (x - q) * (x - q))
    }
}
