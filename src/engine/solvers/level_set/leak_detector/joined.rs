//! Whether the voxels that joined a surface belong to the structure inside it.
//!
//! A structure that continues beyond a narrow part differs from a leak in two ways. It has the same values: a leak
//! follows voxels that are partly another tissue, or enters that tissue. And it is wider than the narrow part that
//! slowed the surface down, so volume grows by more than area: a leak spreads in thin sheets, such as sulci.
//!
//! Measured at the first suspicion of each run, with the probe of 2 mm and the sphere of 3 mm of window and command
//! line:
//!
//! | head | range | volume then, ml | alike | thicker | it is |
//! | --- | --- | --- | --- | --- | --- |
//! | t1_a, -16, -32, 6.5 mm | default, 53 to 163 | 4.4 | 1.16 | 1.30 | the ventricle, which ends at 16.7 ml |
//! | | 55 to 145 | 3.9 | 1.09 | 1.33 | the ventricle, 14.9 ml |
//! | | 63 to 137 | 3.5 | 1.02 | 1.35 | one side of it, 6.6 ml |
//! | | 53 to 129 | 3.1 | 1.05 | 1.32 | one side of it, 7.4 ml |
//! | | 38 to 129 | 3.3 | 1.02 | 1.32 | one side of it, 7.6 ml |
//! | | 53 to 180 | 8.4 | 0.98 | 1.10 | the ventricle, 18.3 ml |
//! | | 38 to 163 | 22.9 | 0.67 | 0.91 | cisterns and sulci, beyond 740 ml |
//! | | 38 to 147 | 20.5 | 0.66 | 0.95 | cisterns and sulci |
//! | t1_b, -22.2, -3.5, 27.5 mm | 11 to 65 | 18.7 | 0.96 | 0.93 | sulci |
//! | t1_b, 12.8, -1.5, 30.6 mm | 11 to 65 | 38.5 | 0.10 | 0.76 | cortex |
//! | t1_c, 15, 72, 35 mm | default, 6 to 46 | 28.6 | 0.84 | 1.05 | all fluid of the crop, and tissue |
//! | t1_c, 57, 69, 42 mm | 3 to 50 | 49.6 | 0.42 | 1.13 | caudate |
//! | t1_a, 24.5, 6.8, 24.2 mm | 35 to 138, early | 24.7 | 0.70 | 1.10 | cisterns |
//! | t1_a, -16, -32, 6.5 mm | 63 to 137, early | 2.2 | 1.07 | 1.21 | one side of the ventricle |
//! | made-up head 3 | -199 to 761 | 70.8 | 0.84 | 1.50 | white matter |

use super::super::bricks::Field;
use super::super::measure::area_mm2;
use super::super::surface::surface;
use crate::data::Mask;
use crate::data::statistics::quantile;

/// A value is alike if it is closer to the middle than this share of the distance to the end of the range on its
/// side.
const NEAR: f64 = 1.0 / 3.0;
/// It also resembles the start unless it lies beyond this share of the smallest or largest values at the start.
const TAIL_SHARE: f64 = 0.1;
/// Voxels that joined belong where the share of alike ones is at least this multiple of that before, …
const MIN_ALIKE_RATIO: f64 = 0.9;
/// … and at least this multiple of the volume by area.
const THICKER: f64 = 1.0;

/// The voxels that joined a surface, compared with those inside before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Joined {
    /// Share of voxels with values near the middle of those inside before, or as at the start, relative to that share
    /// before.
    pub alike: f64,
    /// Volume per area, relative to that before.
    pub thicker: f64,
}

impl Joined {
    /// `start`: the spheres or the mask that the user placed; `others`: structures outside which `before` has grown; they are
    /// not compared; `range`: the values of the structure. Needs the backend's threads installed.
    pub fn new(
        start: &Field,
        others: Option<&Field>,
        [before, now]: [&Field; 2],
        values: &[f32],
        range: [f64; 2],
    ) -> Option<Self> {
        let (old, new) = (before.mask(), now.mask());
        let values_where = |inside: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let all = (0..values.len()).filter(|i| inside(*i));
            let inside_values = all.map(|i| f64::from(values[i]));
            inside_values.filter(|v| v.is_finite()).collect()
        };
        // Where nothing has grown outside the others, all of them are compared.
        let has_grown = |others: &Mask| (0..values.len()).any(|i| old.inside[i] > others.inside[i]);
        let others = others.map(|field| (field, field.mask()));
        let others = others.filter(|(_, mask)| has_grown(mask));
        let is_own = |i: usize| {
            let other = others.as_ref().is_some_and(|(_, mask)| mask.inside[i] != 0);
            old.inside[i] != 0 && !other
        };
        let own = values_where(&is_own);
        let joined = values_where(&|i| old.inside[i] == 0 && new.inside[i] != 0);
        // Border voxels are partly another tissue.
        let mut deep = values_where(&|i| is_own(i) && is_deep(&old, i));
        if deep.is_empty() {
            deep.clone_from(&own);
        }
        let seed = start.mask();
        let mut seed = values_where(&|i| seed.inside[i] != 0);
        let middle = quantile(&mut deep, 0.5)?;
        let [low, high] = [TAIL_SHARE, 1.0 - TAIL_SHARE].map(|share| quantile(&mut seed, share));
        let share = |values: &[f64], [low, high]: [f64; 2]| {
            let near = values.iter().filter(|v| (low..=high).contains(*v)).count();
            near as f64 / values.len().max(1) as f64
        };
        let alike = |near: [f64; 2]| share(&joined, near) / share(&own, near);
        // In a wide range, another tissue is near the middle, too, but not near the values at the start.
        let in_range = alike(range.map(|end| middle + NEAR * (end - middle)));
        let in_seed_range = alike([low?, high?]);
        let area = area_mm2(&surface(before));
        let wider = area_mm2(&surface(now)) - area;
        let other_area = others.map_or(0.0, |(field, _)| area_mm2(&surface(field)));
        // Structures that have met have less area together.
        let own_area = if other_area < area {
            area - other_area
        } else {
            area
        };
        let thickness = own.len() as f64 / own_area;
        // Growth that does not increase the area fills holes.
        let thicker = if wider > 0.0 {
            joined.len() as f64 / wider / thickness
        } else {
            f64::INFINITY
        };
        (!joined.is_empty()).then(|| Self {
            alike: in_range.min(in_seed_range),
            thicker,
        })
    }

    /// Whether the joined voxels continue the structure: alike in value and not thinner.
    pub fn belongs(&self) -> bool {
        self.is_alike() && self.thicker >= THICKER
    }

    /// Whether their values are those of the structure.
    pub fn is_alike(&self) -> bool {
        self.alike >= MIN_ALIKE_RATIO
    }
}

/// Whether all voxels that share a face with this one are inside too.
fn is_deep(mask: &Mask, index: usize) -> bool {
    let (grid, at) = (&mask.grid, mask.grid.voxel(index));
    (0..3).all(|a| {
        let mut next = at;
        let mut inside = |c: usize| {
            next[a] = c;
            mask.inside[grid.index(next)] != 0
        };
        (at[a] == 0 || inside(at[a] - 1)) && (at[a] + 1 == grid.shape[a] || inside(at[a] + 1))
    })
}
