//! The voxels of an image near a surface.

use super::crossings::depth;
use super::hull::Hull;
use super::isosurface::{Bounds, CellPart, Isosurface};
use crate::data::Volume;
use crate::solvers::level_set::Field;
use glam::DVec3;
use rayon::prelude::*;
use std::cell::Cell;

/// Number of times that a part of the surface is halved before the lower bound on its distance decides: its slab is
/// then a few thousandths of a voxel thick.
const HALVINGS: u32 = 4;

/// The number of voxels of an image with at most this value whose centres lie within φ > 0 or nearer to the surface
/// than `margin_mm`. Voxels on the margin itself count. Needs the backend's threads installed.
pub fn within(
    field: &Field,
    surface: &Isosurface,
    (volume, level): (&Volume, f32),
    margin_mm: f64,
) -> u64 {
    let Some(all) = surface.bounds() else {
        return 0;
    };
    let grid = &volume.grid;
    let values = volume.frame(0).par_iter().enumerate();
    let chosen = values.filter(|(_, value)| **value <= level);
    let near = chosen.filter(|(voxel, _)| {
        let at = grid.world(DVec3::from_array(grid.voxel(*voxel).map(|c| c as f64)));
        depth(field, &all, at).is_some() || is_near(surface, at, margin_mm)
    });
    near.count() as u64
}

fn is_near(surface: &Isosurface, at: DVec3, margin_mm: f64) -> bool {
    let bounds = Bounds::enclosing(std::iter::once(at));
    let is_found = Cell::new(false);
    // A limit of 0 ends the search.
    let limit = || if is_found.get() { 0.0 } else { margin_mm };
    surface.for_each_near(&bounds, limit, |cell| {
        let part = CellPart::from(cell);
        is_found.set(is_found.get() || reaches(surface, part, at, margin_mm, HALVINGS));
    });
    is_found.get()
}

/// Whether a part of the surface comes nearer to a point than the margin.
fn reaches(surface: &Isosurface, part: CellPart, at: DVec3, margin_mm: f64, halvings: u32) -> bool {
    let Some(Hull::Disc(disc)) = surface.hull(part) else {
        return false;
    };
    if Hull::Segment([at; 2]).min_distance(&disc) >= margin_mm {
        return false;
    }
    let mut points = surface.crossings(part);
    points.any(|point| point.distance(at) < margin_mm)
        || halvings == 0
        || (part.split()).any(|half| reaches(surface, half, at, margin_mm, halvings - 1))
}
