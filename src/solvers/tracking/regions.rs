//! Where a streamline meets the regions, exactly on its segments.

use super::StopReason;
use crate::data::{Grid, Mask, Region, Role, Shape};
use glam::DVec3;

/// A region's points; closed sets for spheres and boxes, unions of voxel boxes for masks.
pub enum Solid<'a> {
    Sphere { centre: DVec3, radius_mm: f64 },
    Box { low: DVec3, high: DVec3 },
    Mask(&'a Mask),
}

impl<'a> Solid<'a> {
    pub fn new(shape: &'a Shape) -> Self {
        match shape {
            Shape::Sphere { centre, radius_mm } => Self::Sphere {
                centre: *centre,
                radius_mm: *radius_mm,
            },
            Shape::Box { centre, half_mm } => Self::Box {
                low: *centre - *half_mm,
                high: *centre + *half_mm,
            },
            Shape::Mask(mask) => Self::Mask(mask),
        }
    }

    /// Smallest t in 0..=1 with `from + t (to − from)` in the region.
    pub fn entry(&self, from: DVec3, to: DVec3) -> Option<f64> {
        let along = to - from;
        match self {
            Self::Sphere { centre, radius_mm } => {
                let out = from - *centre;
                let c = out.length_squared() - radius_mm * radius_mm;
                if c <= 0.0 {
                    return Some(0.0);
                }
                // a t² + 2 b t + c = 0; the smaller root in the form that loses no digits.
                let (a, b) = (along.length_squared(), out.dot(along));
                let under_root = b * b - a * c;
                let approaches = b < 0.0 && under_root >= 0.0;
                let t = c / (under_root.max(0.0).sqrt() - b);
                (approaches && t <= 1.0).then_some(t)
            }
            Self::Box { low, high } => {
                let (mut enter, mut leave) = (0.0f64, 1.0f64);
                for axis in 0..3 {
                    let (a, d) = (from[axis], along[axis]);
                    if d == 0.0 {
                        if a < low[axis] || a > high[axis] {
                            return None;
                        }
                        continue;
                    }
                    let (t, u) = ((low[axis] - a) / d, (high[axis] - a) / d);
                    enter = enter.max(t.min(u));
                    leave = leave.min(t.max(u));
                }
                (enter <= leave).then_some(enter)
            }
            Self::Mask(mask) => first_voxel(mask, from, to),
        }
    }

    pub fn contains(&self, point: DVec3) -> bool {
        self.entry(point, point).is_some()
    }

    /// World bounds, mm.
    fn bounds(&self) -> (DVec3, DVec3) {
        match self {
            Self::Sphere { centre, radius_mm } => (*centre - *radius_mm, *centre + *radius_mm),
            Self::Box { low, high } => (*low, *high),
            Self::Mask(mask) => mask.grid.bounds(),
        }
    }
}

/// Walks the voxels that a segment crosses, in order (Amanatides and Woo 1987), to the first of
/// the mask.
fn first_voxel(mask: &Mask, from: DVec3, to: DVec3) -> Option<f64> {
    let grid: &Grid = &mask.grid;
    // Voxel i covers i..i + 1 here.
    let start = grid.voxel_at(from) + 0.5;
    let along = grid.voxel_from_world.transform_vector3(to - from);
    let mut voxel = [0, 1, 2].map(|a| start[a].floor() as i64);
    let ahead = [0, 1, 2].map(|a| if along[a] < 0.0 { -1 } else { 1 });
    let wall = |voxel: &[i64; 3], a: usize| {
        let face = voxel[a] + i64::from(ahead[a] > 0);
        let t = (face as f64 - start[a]) / along[a];
        // NaN where the segment runs along the face.
        if t >= 0.0 { t } else { f64::INFINITY }
    };
    let mut t = 0.0;
    loop {
        let index = [0, 1, 2].map(|a| usize::try_from(voxel[a]).unwrap_or(usize::MAX));
        let in_grid = (0..3).all(|a| index[a] < grid.shape[a]);
        if in_grid && mask.inside[grid.index(index)] != 0 {
            return Some(t);
        }
        let next = [0, 1, 2].map(|a| wall(&voxel, a));
        let axis = (0..3).min_by(|&a, &b| next[a].total_cmp(&next[b]))?;
        // Also ends the walk of a segment that is not finite.
        if !(next[axis] <= 1.0) {
            return None;
        }
        t = next[axis];
        voxel[axis] += ahead[axis];
    }
}

/// What happens where a streamline meets a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Cut there; index among the targets.
    Target(u32),
    /// Cut there.
    Terminate,
    Include,
    Exclude,
}

pub struct Gate<'a> {
    pub effect: Effect,
    pub solid: Solid<'a>,
    /// Bounds grown by a step: only a point inside can end a segment that meets the region.
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Gate<'_> {
    /// Whether a segment of a step that ends here may meet the region.
    pub fn is_near(&self, to: [f32; 3]) -> bool {
        (0..3).all(|a| self.low[a] <= to[a] && to[a] <= self.high[a])
    }
}

/// All regions but the seeds, ready for tests on segments.
pub struct Gates<'a> {
    pub gates: Vec<Gate<'a>>,
    /// Streamlines stay in the union of these, if there are any.
    masks: Vec<Solid<'a>>,
    pub targets: usize,
}

impl<'a> Gates<'a> {
    pub fn new(regions: &'a [Region], step_mm: f64) -> Self {
        let mut targets = 0;
        let mut gates = Vec::new();
        let mut masks = Vec::new();
        for region in regions {
            let solid = Solid::new(&region.shape);
            let effect = match region.role {
                Role::Seed => continue,
                Role::Mask => {
                    masks.push(solid);
                    continue;
                }
                Role::Target => {
                    targets += 1;
                    Effect::Target(targets - 1)
                }
                Role::Terminate => Effect::Terminate,
                Role::Include => Effect::Include,
                Role::Exclude => Effect::Exclude,
            };
            // A thousandth more than the step, and more than f32 rounds.
            let margin = 1.001 * step_mm + 0.01;
            let (low, high) = solid.bounds();
            gates.push(Gate {
                effect,
                solid,
                low: (low - margin).as_vec3().into(),
                high: (high + margin).as_vec3().into(),
            });
        }
        Self {
            gates,
            masks,
            targets: targets as usize,
        }
    }

    pub fn has_masks(&self) -> bool {
        !self.masks.is_empty()
    }

    /// Whether a point lies in the union of the mask regions; yes where there are none.
    pub fn allows(&self, point: [f32; 3]) -> bool {
        self.masks.is_empty() || self.masks.iter().any(|m| m.contains(world(point)))
    }
}

pub fn world(point: [f32; 3]) -> DVec3 {
    glam::Vec3::from(point).as_dvec3()
}

/// Of two cuts at the same place a target counts before a terminate region, and the earlier target
/// before the later.
pub fn stronger(
    cut: Option<(StopReason, Option<u32>)>,
    effect: Effect,
) -> Option<(StopReason, Option<u32>)> {
    match (cut, effect) {
        (Some((StopReason::ReachedTarget, Some(old))), Effect::Target(new)) => {
            Some((StopReason::ReachedTarget, Some(old.min(new))))
        }
        (_, Effect::Target(new)) => Some((StopReason::ReachedTarget, Some(new))),
        (None, Effect::Terminate) => Some((StopReason::Terminated, None)),
        (cut, _) => cut,
    }
}
