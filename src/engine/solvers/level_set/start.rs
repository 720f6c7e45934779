//! The initial surface, and spheres that the user adds or cuts away.

use super::bricks::{Field, INSIDE, OUTSIDE, origin};
use super::error::InputError;
use super::leak_detector::SphereEdit;
use super::parameters::Layout;
use super::stencil::{Stencil, distance};
use crate::data::{Grid, Mask};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::sync::Arc;

/// A sphere that is added or cut away. The surface stays out of a cut sphere until a later sphere is added in its
/// place.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sphere {
    /// Whether it is added instead of cut away.
    pub add: bool,
    /// World mm.
    pub centre: DVec3,
    /// Radius, world mm.
    pub radius_mm: f64,
}

impl Sphere {
    /// An error if the radius is not above 0 or no voxel centre lies inside.
    pub fn check(&self, grid: &Grid) -> Result<(), InputError> {
        if !(self.radius_mm > 0.0 && self.radius_mm.is_finite() && self.centre.is_finite()) {
            return Err(InputError::Radius(self.radius_mm));
        }
        let within = |voxel| distance(grid, 1.0, voxel, self.centre) < self.radius_mm;
        let meets = self.voxels_in_block(grid).any(within);
        if !meets {
            return Err(InputError::SphereOutside(self.centre));
        }
        Ok(())
    }

    /// The voxels that it may contain.
    pub(super) fn voxels_in_block(&self, grid: &Grid) -> impl Iterator<Item = [usize; 3]> + use<> {
        let reach = grid.voxels_per_mm() * self.radius_mm;
        let at = grid.voxel_at(self.centre);
        let block = grid.block_around(at - reach, at + reach);
        block.into_iter().flat_map(|(low, high)| {
            (low[2]..=high[2]).flat_map(move |k| {
                (low[1]..=high[1]).flat_map(move |j| (low[0]..=high[0]).map(move |i| [i, j, k]))
            })
        })
    }

    /// Whether it contains a voxel.
    pub(super) fn contains_voxel(&self, grid: &Grid, h_mm: f64, voxel: [usize; 3]) -> bool {
        self.value(grid, h_mm, voxel) > 0.0
    }

    /// φ of the sphere alone.
    fn value(&self, grid: &Grid, h_mm: f64, voxel: [usize; 3]) -> f32 {
        (self.radius_mm / h_mm - distance(grid, h_mm, voxel, self.centre)) as f32
    }

    fn phi_with_sphere(&self, phi: f32, own: f32) -> f32 {
        if self.add {
            phi.max(own)
        } else {
            phi.min(-own)
        }
    }
}

impl Sphere {
    /// About how many voxels it has.
    fn voxels(&self, grid: &Grid) -> u64 {
        let voxel_mm3 = grid.world_from_voxel.matrix3.determinant().abs();
        (4.0 / 3.0 * PI * self.radius_mm.powi(3) / voxel_mm3).ceil() as u64
    }

    pub(super) fn placed(&self, grid: &Grid) -> SphereEdit {
        match self.add {
            true => SphereEdit::Added(self.voxels(grid)),
            false => SphereEdit::Cut,
        }
    }
}

/// The surface at step 0.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Voxels inside, on the image's grid or any other: from a threshold, a fill, a label or a pathway.
    pub mask: Option<Mask>,
    /// Applied in this order, after the mask.
    pub spheres: Vec<Sphere>,
}

impl Start {
    /// φ of the initial surface, in bricks.
    pub fn field(&self, grid: &Arc<Grid>, stencil: &Stencil, layout: &Layout) -> Field {
        let (h, clamp) = (stencil.h_mm, stencil.clamp);
        if self.mask.is_none() && !layout.everywhere {
            // Computing values only near spheres gives the same field.
            let nothing = Field::outside(grid, h, clamp, layout.brick);
            return self
                .spheres
                .iter()
                .fold(nothing, |field, sphere| edited(&field, sphere));
        }
        let same = self.mask.as_ref().is_some_and(|m| m.grid.matches(grid));
        let within = |voxel: [usize; 3]| match &self.mask {
            None => false,
            Some(mask) if same => mask.inside[grid.index(voxel)] != 0,
            Some(mask) => mask.contains(grid.world(DVec3::from_array(voxel.map(|v| v as f64)))),
        };
        let value = |voxel: [usize; 3]| {
            // Redistancing smooths the mask's staircase: half a voxel from its border.
            let mut phi = match (&self.mask, within(voxel)) {
                (None, _) => -clamp,
                (Some(_), true) => self.depth(grid, voxel, &within, clamp),
                (Some(_), false) => -self.depth(grid, voxel, &|v| !within(v), clamp),
            };
            for sphere in &self.spheres {
                phi = sphere.phi_with_sphere(phi, sphere.value(grid, h, voxel));
            }
            phi
        };
        Field::from_fn(grid, h, clamp, (layout.brick, layout.everywhere), value)
    }

    /// Half an edge next to the border, otherwise the clamp.
    fn depth(
        &self,
        grid: &Grid,
        voxel: [usize; 3],
        within: &impl Fn([usize; 3]) -> bool,
        clamp: f32,
    ) -> f32 {
        let spacing = grid.spacing();
        let h = spacing.min_element();
        let mut depth = clamp;
        for axis in 0..3 {
            let edge = (0.5 * spacing[axis] / h) as f32;
            let mut next = voxel;
            let before = voxel[axis].checked_sub(1);
            let behind = Some(voxel[axis] + 1).filter(|v| *v < grid.shape[axis]);
            for at in before.into_iter().chain(behind) {
                next[axis] = at;
                if !within(next) {
                    depth = depth.min(edge);
                }
            }
        }
        depth
    }
}

/// The field with a sphere added or cut away.
pub fn edited(field: &Field, sphere: &Sphere) -> Field {
    let mut out = field.clone();
    let grid = &field.grid;
    let (b, volume) = (field.brick, field.brick.pow(3));
    let shape = field.counts();
    // Everything closer to the sphere than the band's end.
    let reach_mm = sphere.radius_mm + f64::from(field.clamp) * field.h_mm;
    let half = grid.voxels_per_mm() * reach_mm;
    let at = grid.voxel_at(sphere.centre);
    let Some((low, high)) = grid.block_around(at - half, at + half) else {
        return out;
    };
    let [first, last] = [low, high].map(|v| v.map(|c| c / b));
    for z in first[2]..=last[2] {
        for y in first[1]..=last[1] {
            for x in first[0]..=last[0] {
                let brick = x + shape[0] * (y + shape[1] * z);
                let start = origin(brick, shape, b);
                let slot = out.table[brick] as usize;
                let mut page = out.pages[slot * volume..(slot + 1) * volume].to_vec();
                for (i, phi) in page.iter_mut().enumerate() {
                    let at = [i % b, i / b % b, i / b / b];
                    let voxel = [0, 1, 2].map(|a| (start[a] + at[a]).min(grid.shape[a] - 1));
                    let own = sphere.value(grid, field.h_mm, voxel);
                    *phi = sphere
                        .phi_with_sphere(*phi, own)
                        .clamp(-field.clamp, field.clamp);
                }
                if slot > INSIDE as usize {
                    out.pages[slot * volume..(slot + 1) * volume].copy_from_slice(&page);
                    continue;
                }
                let side = if slot == OUTSIDE as usize {
                    -field.clamp
                } else {
                    field.clamp
                };
                if page.iter().any(|v| *v != side) {
                    out.table[brick] = (out.pages.len() / volume) as u32;
                    out.pages.extend(page);
                }
            }
        }
    }
    out.canonical()
}
