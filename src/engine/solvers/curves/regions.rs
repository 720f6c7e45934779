//! Intersections of streamlines with regions, exact on their segments.

use super::{Match, Params, SeedOutcome, StopReason};
use crate::data::{Grid, Mask, Region, Role, Shape};
use glam::{DVec3, I64Vec3};

/// The points of a region; closed sets for spheres and boxes, unions of voxel boxes for masks.
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

    /// Smallest t in 0..=1 for which `from + t (to − from)` lies in the region.
    pub fn entry_fraction(&self, from: DVec3, to: DVec3) -> Option<f64> {
        let along = to - from;
        match self {
            Self::Sphere { centre, radius_mm } => {
                let out = from - *centre;
                let c = out.length_squared() - radius_mm * radius_mm;
                if c <= 0.0 {
                    return Some(0.0);
                }
                // a t² + 2 b t + c = 0; the smaller root in the form without cancellation.
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
        self.entry_fraction(point, point).is_some()
    }

    /// World bounds, mm; for an empty mask, bounds that contain no point.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        match self {
            Self::Sphere { centre, radius_mm } => (*centre - *radius_mm, *centre + *radius_mm),
            Self::Box { low, high } => (*low, *high),
            // Nothing is near an empty mask.
            Self::Mask(mask) => mask
                .bounds_inside()
                .unwrap_or((DVec3::INFINITY, DVec3::NEG_INFINITY)),
        }
    }
}

/// Visits the voxels that a segment crosses, in order (Amanatides and Woo 1987), until the first one in the mask.
fn first_voxel(mask: &Mask, from: DVec3, to: DVec3) -> Option<f64> {
    let grid: &Grid = &mask.grid;
    // Voxel i covers i..i + 1 here.
    let start = grid.voxel_at(from) + 0.5;
    let along = grid.voxel_from_world.transform_vector3(to - from);
    if is_clear(mask, start, start + along) {
        return None;
    }
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
        // This also ends the loop for a segment that is not finite.
        if !(next[axis] <= 1.0) {
            return None;
        }
        t = next[axis];
        voxel[axis] += ahead[axis];
    }
}

/// Whether no voxel around a short segment is in the mask; in voxels, voxel i covers i..i + 1. Most segments near a
/// mask meet none, and this needs no division.
fn is_clear(mask: &Mask, from: DVec3, to: DVec3) -> bool {
    /// The segment of a step crosses few voxels.
    const FEW_VOXELS: i64 = 27;
    /// Faces belong to both adjacent voxels, however coordinates are rounded.
    const FACE: f64 = 1e-9;
    let grid: &Grid = &mask.grid;
    let low = (from.min(to) - FACE).floor().as_i64vec3();
    let high = (from.max(to) + FACE).floor().as_i64vec3();
    let shape = I64Vec3::from_array(grid.shape.map(|n| n as i64));
    let (low, high) = (low.max(I64Vec3::ZERO), high.min(shape - 1));
    let size = high.saturating_sub(low).saturating_add(I64Vec3::ONE);
    if size.cmple(I64Vec3::ZERO).any() {
        return true;
    }
    if size.max_element() > FEW_VOXELS || size.element_product() > FEW_VOXELS {
        return false;
    }
    let row = |y: i64, z: i64| {
        let first = grid.index([low.x, y, z].map(|v| v as usize));
        let inside = &mask.inside[first..first + size.x as usize];
        inside.iter().all(|v| *v == 0)
    };
    (low.z..=high.z).all(|z| (low.y..=high.y).all(|y| row(y, z)))
}

/// The effect of a region on a streamline that meets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Cuts the streamline; index among the targets.
    Target(u32),
    /// One of several targets that must all be met; does not cut.
    AllTargets,
    /// Cuts the streamline.
    Terminate,
    Include,
    Exclude,
}

pub struct Gate<'a> {
    pub effect: Effect,
    pub solid: Solid<'a>,
    /// Bounds enlarged by a step: only a segment that ends inside them can meet the region.
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Gate<'_> {
    /// Whether a segment of a step that ends here may meet the region.
    pub fn is_near(&self, to: [f32; 3]) -> bool {
        (0..3).all(|a| self.low[a] <= to[a] && to[a] <= self.high[a])
    }
}

/// All regions except the seeds, prepared for tests on segments.
pub struct RegionTests<'a> {
    pub gates: Vec<Gate<'a>>,
    /// Streamlines stay in the union of these mask regions, if there are any.
    masks: Vec<Solid<'a>>,
    pub targets: usize,
    /// Whether all targets must be met.
    pub all_targets: bool,
    /// Whether one include region suffices.
    any_include: bool,
}

impl<'a> RegionTests<'a> {
    pub fn new(regions: &'a [Region], step_mm: f64, params: &Params) -> Self {
        let all_targets = params.targets == Match::All;
        let mut targets = 0;
        let mut gates = Vec::new();
        let mut masks = Vec::new();
        for region in regions {
            let solid = Solid::new(&region.shape);
            let effect = match region.role {
                Role::Seed | Role::Costly | Role::Region => continue,
                Role::Mask => {
                    masks.push(solid);
                    continue;
                }
                Role::Target => {
                    targets += 1;
                    match params.targets {
                        Match::Any => Effect::Target(targets - 1),
                        Match::All => Effect::AllTargets,
                    }
                }
                Role::Terminate => Effect::Terminate,
                Role::Include => Effect::Include,
                Role::Exclude => Effect::Exclude,
            };
            // A thousandth more than the step, and more than the rounding error of f32.
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
            all_targets,
            any_include: params.includes == Match::Any,
        }
    }

    /// Whether curves end in a target.
    pub fn cut_at_targets(&self) -> bool {
        self.targets > 0 && !self.all_targets
    }

    pub fn has_masks(&self) -> bool {
        !self.masks.is_empty()
    }

    /// Whether a point lies in the union of the mask regions; true if there are none.
    pub fn allows(&self, point: [f32; 3]) -> bool {
        self.masks.is_empty() || self.masks.iter().any(|m| m.contains(world(point)))
    }

    /// 1 in lanes whose point may end a segment that meets a region; 1 in all lanes if there are mask regions.
    #[inline(always)]
    pub fn gates_near<const N: usize>(&self, [x, y, z]: [&[f32; N]; 3]) -> [u32; N] {
        let mut near = [u32::from(self.has_masks()); N];
        for gate in &self.gates {
            let ([lx, ly, lz], [hx, hy, hz]) = (gate.low, gate.high);
            for lane in 0..N {
                let (x, y, z) = (x[lane], y[lane], z[lane]);
                let inside = (x >= lx) & (x <= hx) & (y >= ly) & (y <= hy) & (z >= lz) & (z <= hz);
                near[lane] |= u32::from(inside);
            }
        }
        near
    }

    /// The gates that contain a point, and the resulting cut of a curve that starts there.
    pub fn gates_containing(&self, point: [f32; 3]) -> (Vec<bool>, Cut) {
        let point = world(point);
        let inside: Vec<bool> = self.gates.iter().map(|g| g.solid.contains(point)).collect();
        let holding = self
            .gates
            .iter()
            .zip(&inside)
            .filter(|(_, inside)| **inside);
        let cut = holding.fold(None, |cut, (gate, _)| stronger(cut, gate.effect));
        (inside, cut)
    }

    /// Where a segment of a step meets the gates that are `open`.
    pub fn crossed(&self, from: [f32; 3], to: [f32; 3], open: impl Fn(usize) -> bool) -> Crossing {
        let ends = [world(from), world(to)];
        let mut entries: Vec<(f64, usize)> = Vec::new();
        for (i, gate) in self.gates.iter().enumerate() {
            if open(i) && gate.is_near(to) {
                entries.extend(gate.solid.entry_fraction(ends[0], ends[1]).map(|t| (t, i)));
            }
        }
        let cuts = |gate: usize| {
            let effect = self.gates[gate].effect;
            matches!(effect, Effect::Target(_) | Effect::Terminate)
        };
        let first = entries.iter().filter(|(_, i)| cuts(*i));
        let cut_at = first.map(|(t, _)| *t).fold(f64::INFINITY, f64::min);
        entries.retain(|(t, _)| *t <= cut_at);
        let effects = entries.iter().map(|(_, i)| self.gates[*i].effect);
        Crossing {
            ends,
            cut: effects.fold(None, stronger),
            cut_at,
            met: entries.into_iter().map(|(_, i)| i).collect(),
        }
    }

    /// The outcome of a curve that may have `reached` a target, from the other gates it meets.
    pub fn outcome(&self, reached: bool, meets: impl Fn(usize) -> bool) -> SeedOutcome {
        let met = |effect| {
            let gates = self.gates.iter().enumerate();
            let gates = gates.filter(move |(_, g)| g.effect == effect);
            gates.map(|(i, _)| meets(i))
        };
        let reached = match self.all_targets {
            true => met(Effect::AllTargets).all(|met| met),
            false => self.targets == 0 || reached,
        };
        let included = match self.any_include {
            true => met(Effect::Include).any(|met| met) || met(Effect::Include).count() == 0,
            false => met(Effect::Include).all(|met| met),
        };
        if !reached {
            SeedOutcome::MissedTargets
        } else if !included {
            SeedOutcome::MissedInclude
        } else if met(Effect::Exclude).any(|met| met) {
            SeedOutcome::TouchedExclude
        } else {
            SeedOutcome::Kept
        }
    }
}

/// Why a region ends a curve, and the target if it is one.
pub type Cut = Option<(StopReason, Option<u32>)>;

/// How a segment meets the regions.
pub struct Crossing {
    ends: [DVec3; 2],
    pub cut: Cut,
    /// Fraction of the segment before the cut; infinite without a cut.
    pub cut_at: f64,
    /// Gates met before the cut.
    pub met: Vec<usize>,
}

impl Crossing {
    /// The end of the remaining segment.
    pub fn end(&self) -> [f32; 3] {
        let [from, to] = self.ends;
        let end = if self.cut_at <= 1.0 {
            from.lerp(to, self.cut_at)
        } else {
            to
        };
        end.as_vec3().into()
    }
}

fn world(point: [f32; 3]) -> DVec3 {
    glam::Vec3::from(point).as_dvec3()
}

/// Between two cuts at the same point, a target precedes a terminate region, and an earlier target a later one.
fn stronger(cut: Cut, effect: Effect) -> Cut {
    match (cut, effect) {
        (Some((StopReason::ReachedTarget, Some(old))), Effect::Target(new)) => {
            Some((StopReason::ReachedTarget, Some(old.min(new))))
        }
        (_, Effect::Target(new)) => Some((StopReason::ReachedTarget, Some(new))),
        (None, Effect::Terminate) => Some((StopReason::Terminated, None)),
        (cut, _) => cut,
    }
}
