//! Drawing on the voxels of a mask: brush strokes, and outlines with a thickness.
//!
//! A voxel belongs to a drawn shape if its centre does; so does the voxel under the pointer, however thin the brush.
//! All lengths are world mm, whatever the grid's axes are.

use super::{Grid, Mask};
use glam::{DVec2, DVec3};

/// A layer of voxels is included if the plane touches its boxes; of two layers that meet in the plane, the one ahead
/// by this much.
const TIE_MM: f64 = 1e-7;

/// A path of the brush, world mm.
#[derive(Clone, PartialEq, Debug)]
pub struct Stroke {
    /// Points of the path: a single point is a dab.
    pub points: Vec<DVec3>,
    /// Radius of the brush, world mm.
    pub radius_mm: f64,
    /// A disc in the plane with this unit normal, one voxel thick; `None`: a ball.
    pub disc: Option<DVec3>,
}

/// A filled polygon in a plane.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// Corners, world mm; closed automatically. Overlaps follow the even-odd rule.
    pub points: Vec<DVec3>,
    /// Unit normal of the plane of all points.
    pub normal: DVec3,
    /// Extent across the plane; `None`: one voxel.
    pub thickness_mm: Option<f64>,
}

impl Stroke {
    /// Paints or erases; returns the number of changed voxels.
    pub fn apply(&self, mask: &mut Mask, paint: bool) -> usize {
        self.apply_where(mask, paint, &|_| true)
    }

    /// Paints or erases the voxels that `allowed` accepts; returns the number of changed voxels.
    pub fn apply_where(
        &self,
        mask: &mut Mask,
        paint: bool,
        allowed: &dyn Fn([usize; 3]) -> bool,
    ) -> usize {
        let mut changed = 0;
        if let [point] = self.points.as_slice() {
            changed += self.paint_segment(mask, (*point, *point), paint, allowed);
        }
        for ends in self.points.windows(2) {
            changed += self.paint_segment(mask, (ends[0], ends[1]), paint, allowed);
        }
        changed
    }

    /// How far centres of voxels of a disc lie from its plane, along each voxel axis: those of a disc that is oblique to
    /// the voxels may lie beyond its radius.
    fn half_layer_voxels(&self, grid: &Grid) -> DVec3 {
        const NONE: f64 = 1e-6;
        let Some(normal) = self.disc else {
            return DVec3::ZERO;
        };
        let along = grid.voxel_from_world.transform_vector3(normal);
        let across = (along * half_layer_mm(grid, normal)).abs();
        let is_oblique = across.to_array().iter().filter(|v| **v > NONE).count() > 1;
        if is_oblique { across } else { DVec3::ZERO }
    }

    /// Paints a piece of the path from one point to another: a capsule, or a flat one.
    fn paint_segment(
        &self,
        mask: &mut Mask,
        (from, to): (DVec3, DVec3),
        paint: bool,
        allowed: &dyn Fn([usize; 3]) -> bool,
    ) -> usize {
        let grid = mask.grid.clone();
        let reach = grid.voxels_per_mm() * self.radius_mm + self.half_layer_voxels(&grid);
        let (a, b) = (grid.voxel_at(from), grid.voxel_at(to));
        let mut changed = 0;
        if let Some((low, high)) = grid.block_around(a.min(b) - reach, a.max(b) + reach) {
            let along = to - from;
            let length2 = along.length_squared();
            let radius2 = self.radius_mm * self.radius_mm;
            let layer = self
                .disc
                .map(|normal| (normal, half_layer_mm(&grid, normal)));
            let step = grid.world_from_voxel.matrix3.x_axis;
            let inside = |centre: DVec3| {
                let mut off = centre - from;
                if let Some((normal, half)) = layer {
                    let above = off.dot(normal);
                    if !in_layer(above, half) {
                        return false;
                    }
                    off -= normal * above;
                }
                let share = off.dot(along) / length2;
                // NaN for a dab.
                let share = if share > 0.0 { share.min(1.0) } else { 0.0 };
                (off - along * share).length_squared() <= radius2
            };
            changed += mask.edit((low, high), paint, |y, z, set| {
                let first = grid.world(DVec3::new(low[0] as f64, y as f64, z as f64));
                for x in low[0]..=high[0] {
                    if inside(first + step * (x - low[0]) as f64) && allowed([x, y, z]) {
                        set(x);
                    }
                }
            });
        }
        // Voxels under the pointer: a brush may be thinner than they are.
        let steps = ((b - a).abs().max_element() * 4.0).ceil().min(1e5) as usize;
        for i in 0..=steps {
            let at = from.lerp(to, i as f64 / steps.max(1) as f64);
            if let Some(voxel) = grid.nearest(at)
                && (mask.inside[grid.index(voxel)] != 0) != paint
                && allowed(voxel)
            {
                changed += mask.edit((voxel, voxel), paint, |_, _, set| set(voxel[0]));
            }
        }
        changed
    }
}

impl Outline {
    /// Fills or clears; returns the number of changed voxels.
    pub fn apply(&self, mask: &mut Mask, fill: bool) -> usize {
        let Some(first) = self.points.first() else {
            return 0;
        };
        let grid = mask.grid.clone();
        let half = match self.thickness_mm {
            Some(mm) => mm * 0.5,
            None => half_layer_mm(&grid, self.normal),
        };
        let across = grid
            .voxel_from_world
            .transform_vector3(self.normal * half)
            .abs();
        let corners = self.points.iter().map(|p| grid.voxel_at(*p));
        let (low, high) = corners.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), c| {
            (l.min(c), h.max(c))
        });
        let mut changed = 0;
        if let Some((low, high)) = grid.block_around(low - across, high + across) {
            // Coordinates in the plane.
            let right = self.normal.any_orthonormal_vector();
            let up = self.normal.cross(right);
            let flat = |p: DVec3| DVec2::new((p - *first).dot(right), (p - *first).dot(up));
            let corners: Vec<DVec2> = self.points.iter().map(|p| flat(*p)).collect();
            let step = grid.world_from_voxel.matrix3.x_axis;
            let (step_flat, step_up) = (
                DVec2::new(step.dot(right), step.dot(up)),
                step.dot(self.normal),
            );
            changed += mask.edit((low, high), fill, |y, z, set| {
                let start = grid.world(DVec3::new(0.0, y as f64, z as f64));
                let (at, above) = (flat(start), (start - *first).dot(self.normal));
                let spans = inside_ranges(&corners, at, step_flat);
                for (from, to) in spans {
                    let from = from.ceil().max(low[0] as f64);
                    let to = to.ceil().min(high[0] as f64 + 1.0);
                    let mut x = from;
                    while x < to {
                        if in_layer(above + x * step_up, half) {
                            set(x as usize);
                        }
                        x += 1.0;
                    }
                }
            });
        }
        if changed == 0 {
            // Too small to contain a voxel centre: the voxel that contains it is used.
            let sum: DVec3 = self.points.iter().sum();
            let middle = sum / self.points.len() as f64;
            let inside = |p: &&DVec3| p.distance(middle) < grid.spacing().max_element();
            if self.points.iter().filter(inside).count() == self.points.len()
                && let Some(voxel) = grid.nearest(middle)
            {
                changed += mask.edit((voxel, voxel), fill, |_, _, set| set(voxel[0]));
            }
        }
        changed
    }
}

/// Half the extent of a voxel's box along a direction, mm.
fn half_layer_mm(grid: &Grid, normal: DVec3) -> f64 {
    let m = grid.world_from_voxel.matrix3;
    (0..3).map(|a| m.col(a).dot(normal).abs()).sum::<f64>() * 0.5
}

fn in_layer(above_mm: f64, half_mm: f64) -> bool {
    above_mm > -half_mm + TIE_MM && above_mm <= half_mm + TIE_MM
}

/// Ranges of t in which the line at + t · step runs inside a polygon, by the even-odd rule.
fn inside_ranges(corners: &[DVec2], at: DVec2, step: DVec2) -> Vec<(f64, f64)> {
    let across = DVec2::new(-step.y, step.x);
    let length2 = step.length_squared();
    // A line perpendicular to the plane is a point in it.
    let is_point = length2 < 1e-18;
    let (along, across) = if is_point {
        (DVec2::X, DVec2::Y)
    } else {
        (step / length2, across)
    };
    let mut crossings: Vec<f64> = Vec::new();
    for (i, &p) in corners.iter().enumerate() {
        let q = corners[(i + 1) % corners.len()];
        let (side_p, side_q) = ((p - at).dot(across), (q - at).dot(across));
        // Half open: a corner on the line counts for one of its two edges.
        if (side_p > 0.0) != (side_q > 0.0) {
            let crossing = p.lerp(q, side_p / (side_p - side_q));
            crossings.push((crossing - at).dot(along));
        }
    }
    crossings.sort_by(f64::total_cmp);
    if is_point {
        let before = crossings.iter().filter(|t| **t < 0.0).count();
        return if before % 2 == 1 {
            vec![(f64::NEG_INFINITY, f64::INFINITY)]
        } else {
            Vec::new()
        };
    }
    crossings.chunks_exact(2).map(|c| (c[0], c[1])).collect()
}
