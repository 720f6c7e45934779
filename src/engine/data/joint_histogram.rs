//! How often two values occur together in an image: value and gradient magnitude or curvature, or the values of two
//! images; if need be only where a third value lies within limits.

use super::Volume;
use crate::data::keyed;
use glam::{DMat3, DVec3};

/// A value that an image has at each voxel besides its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DerivedValue {
    /// Gradient magnitude of the image, units per mm: see [`gradient_magnitude`].
    Gradient,
    /// Mean curvature of the surface of constant value, 1/mm: see [`mean_curvature`].
    Curvature,
}

keyed!(DerivedValue, serde {
    Gradient = "gradient",
    Curvature = "curvature",
});

impl DerivedValue {
    /// All derived values, in the order of choices.
    pub const ALL: [Self; 2] = [Self::Gradient, Self::Curvature];

    /// The value at a voxel; `None` where it is missing.
    pub fn at(self, volume: &Volume, frame: usize, voxel: [usize; 3]) -> Option<f32> {
        match self {
            Self::Gradient => gradient_magnitude(volume, frame, voxel),
            Self::Curvature => mean_curvature(volume, frame, voxel),
        }
    }

    /// A window that nearly all values lie in: gradients from 0 to the value that 0.2 % exceed, curvatures of both signs
    /// up to the absolute value that 5 % exceed, because noise in flat regions has large curvatures.
    pub fn window(self, volume: &Volume, frame: usize) -> (f32, f32) {
        let values = spread_voxels(volume).filter_map(|i| {
            let value = volume.frame(frame)[i];
            let derived = self.at(volume, frame, volume.grid.voxel(i));
            derived.filter(|_| value.is_finite())
        });
        self.window_of(values)
    }

    fn window_of(self, values: impl Iterator<Item = f32>) -> (f32, f32) {
        let mut sizes: Vec<f32> = values.map(f32::abs).collect();
        sizes.sort_by(f32::total_cmp);
        let last = sizes.len().saturating_sub(1);
        let high = sizes.get(match self {
            Self::Gradient => last * 998 / 1000,
            Self::Curvature => last * 95 / 100,
        });
        let high = high.copied().filter(|v| *v > 0.0).unwrap_or(1.0);
        match self {
            Self::Gradient => (0.0, high),
            Self::Curvature => (-high, high),
        }
    }
}

/// The axis of a histogram besides the value of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JointAxis {
    /// A value derived from the image itself.
    Own(DerivedValue),
    /// The value of another image, interpolated linearly in world space.
    Image,
}

/// Voxels that a histogram counts at most, evenly spread.
const MAX_SAMPLES: usize = 50_000;

/// Gradient magnitude at a voxel, units per mm, by central differences; edges are continued. `None` if a value is
/// missing.
pub fn gradient_magnitude(volume: &Volume, frame: usize, voxel: [usize; 3]) -> Option<f32> {
    let values = volume.frame(frame);
    let grid = &volume.grid;
    let at = |axis: usize, step: isize| {
        let mut moved = voxel;
        moved[axis] = voxel[axis]
            .saturating_add_signed(step)
            .min(grid.shape[axis] - 1);
        f64::from(values[grid.index(moved)])
    };
    let slope = DVec3::from_array([0, 1, 2].map(|a| 0.5 * (at(a, 1) - at(a, -1))));
    let length = (grid.voxel_from_world.matrix3.transpose() * slope).length() as f32;
    length.is_finite().then_some(length)
}

/// Mean curvature of the surface of constant value through a voxel, 1/mm, by central differences; edges are continued.
/// Positive where a region of higher values bulges towards lower ones: 1 / radius on a bright ball. `None` where the image
/// is flat, so that there is no such surface, and where a value is missing.
pub fn mean_curvature(volume: &Volume, frame: usize, voxel: [usize; 3]) -> Option<f32> {
    let values = volume.frame(frame);
    let grid = &volume.grid;
    let at = |steps: [isize; 3]| {
        let moved = [0, 1, 2].map(|a| {
            let to = voxel[a].saturating_add_signed(steps[a]);
            to.min(grid.shape[a] - 1)
        });
        f64::from(values[grid.index(moved)])
    };
    let along = |axis: usize, step: isize| {
        let mut steps = [0; 3];
        steps[axis] = step;
        at(steps)
    };
    let both = |a: usize, b: usize, step: [isize; 2]| {
        let mut steps = [0; 3];
        steps[a] = step[0];
        steps[b] = step[1];
        at(steps)
    };
    let slope = DVec3::from_array([0, 1, 2].map(|a| 0.5 * (along(a, 1) - along(a, -1))));
    let second = |a: usize| along(a, 1) - 2.0 * at([0; 3]) + along(a, -1);
    let mixed = |a: usize, b: usize| {
        let same = both(a, b, [1, 1]) + both(a, b, [-1, -1]);
        0.25 * (same - both(a, b, [1, -1]) - both(a, b, [-1, 1]))
    };
    let [xy, xz, yz] = [mixed(0, 1), mixed(0, 2), mixed(1, 2)];
    let hessian = DMat3::from_cols(
        DVec3::new(second(0), xy, xz),
        DVec3::new(xy, second(1), yz),
        DVec3::new(xz, yz, second(2)),
    );
    let to_voxels = grid.voxel_from_world.matrix3;
    let slope = to_voxels.transpose() * slope;
    let hessian = to_voxels.transpose() * hessian * to_voxels;
    let squared = slope.length_squared();
    // H = ½ ∇·(−∇v / |∇v|).
    let trace = hessian.x_axis.x + hessian.y_axis.y + hessian.z_axis.z;
    let bent = slope.dot(hessian * slope) - trace * squared;
    let curvature = (0.5 * bent / squared.powf(1.5)) as f32;
    (squared > MIN_SQUARED_SLOPE && curvature.is_finite()).then_some(curvature)
}

/// Where the squared gradient per mm is not above this, the image counts as flat, as in shaders/volume_image.wgsl.
const MIN_SQUARED_SLOPE: f64 = 1e-24;

/// The value at a place by linear interpolation; `None` outside the grid or next to a missing value.
fn linear(volume: &Volume, world: DVec3) -> Option<f32> {
    let grid = &volume.grid;
    let at = grid.voxel_at(world);
    let last = DVec3::from_array(grid.shape.map(|n| n as f64 - 1.0));
    if at.cmplt(DVec3::splat(-0.5)).any() || at.cmpgt(last + 0.5).any() {
        return None;
    }
    let at = at.clamp(DVec3::ZERO, last);
    let (base, values) = (at.floor(), volume.frame(0));
    let part = at - base;
    let mut sum = 0.0;
    for corner in 0..8usize {
        let up = [corner & 1, corner >> 1 & 1, corner >> 2];
        let weight: f64 = (0..3)
            .map(|a| if up[a] == 1 { part[a] } else { 1.0 - part[a] })
            .product();
        let voxel = [0, 1, 2].map(|a| (base[a] as usize + up[a]).min(grid.shape[a] - 1));
        if weight > 0.0 {
            sum += weight * f64::from(values[grid.index(voxel)]);
        }
    }
    let value = sum as f32;
    value.is_finite().then_some(value)
}

/// Evenly spread voxels of an image.
fn spread_voxels(volume: &Volume) -> impl Iterator<Item = usize> {
    let count = volume.grid.voxel_count();
    // An odd step, so that columns of even grids are not counted alone.
    let step = count.div_ceil(MAX_SAMPLES) | 1;
    (0..count).step_by(step)
}

/// The values of evenly spread voxels, from which histograms over any axes and windows are counted within a frame.
#[derive(Clone, Debug)]
pub struct JointSamples {
    /// The value, and each of [`DerivedValue::ALL`]; NaN where it is missing.
    voxels: Vec<(f32, [f32; 2])>,
    /// Values of another image; NaN outside its grid and where they are missing.
    others: Option<Vec<f32>>,
    windows: [(f32, f32); 2],
    other_window: Option<(f32, f32)>,
}

impl JointSamples {
    /// Measures a volume of an image, and another image at the same places; `None` once it is cancelled. Takes tens of
    /// milliseconds.
    pub fn measure(
        volume: &Volume,
        frame: usize,
        other: Option<&Volume>,
        is_cancelled: impl Fn() -> bool,
    ) -> Option<Self> {
        /// Voxels between two checks: about a millisecond.
        const CHECK_EVERY: usize = 2000;
        let mut voxels = Vec::new();
        let mut others = other.map(|_| Vec::new());
        for (n, i) in spread_voxels(volume).enumerate() {
            if n.is_multiple_of(CHECK_EVERY) && is_cancelled() {
                return None;
            }
            let value = volume.frame(frame)[i];
            if !value.is_finite() {
                continue;
            }
            let voxel = volume.grid.voxel(i);
            let derived = DerivedValue::ALL.map(|derived| derived.at(volume, frame, voxel));
            voxels.push((value, derived.map(|v| v.unwrap_or(f32::NAN))));
            if let (Some(others), Some(other)) = (&mut others, other) {
                let at = DVec3::from_array(voxel.map(|n| n as f64));
                others.push(linear(other, volume.grid.world(at)).unwrap_or(f32::NAN));
            }
        }
        let windows = DerivedValue::ALL.map(|derived| {
            let values = voxels.iter().map(|(_, all)| all[derived as usize]);
            derived.window_of(values.filter(|v| v.is_finite()))
        });
        Some(Self {
            voxels,
            others,
            windows,
            other_window: other.map(|image| image.percentiles(0, 0.0, 1.0)),
        })
    }

    /// A window that nearly all values of an axis lie in; `None` for an image that was not measured.
    pub fn window(&self, axis: JointAxis) -> Option<(f32, f32)> {
        match axis {
            JointAxis::Own(derived) => Some(self.windows[derived as usize]),
            JointAxis::Image => self.other_window,
        }
    }

    /// Counts in `bins` × `bins` cells over the windows of the value and of `second`, row by row from the lowest second
    /// value; with `third`, only voxels whose third value lies within these limits.
    pub fn counts(
        &self,
        second: JointAxis,
        windows: [(f32, f32); 2],
        third: Option<(DerivedValue, (f32, f32))>,
        bins: usize,
    ) -> Vec<u32> {
        let mut counts = vec![0; bins * bins];
        let bin = |value: f32, (low, high): (f32, f32)| {
            let at = (value - low) / (high - low) * bins as f32;
            // False for NaN, too.
            (at >= 0.0 && at <= bins as f32).then(|| (at as usize).min(bins - 1))
        };
        for (i, (value, derived)) in self.voxels.iter().enumerate() {
            let other = match (second, &self.others) {
                (JointAxis::Own(which), _) => derived[which as usize],
                (JointAxis::Image, Some(others)) => others[i],
                (JointAxis::Image, None) => f32::NAN,
            };
            let is_counted = third.is_none_or(|(which, (low, high))| {
                let value = derived[which as usize];
                low <= value && value <= high
            });
            if let (true, Some(x), Some(y)) =
                (is_counted, bin(*value, windows[0]), bin(other, windows[1]))
            {
                counts[y * bins + x] += 1;
            }
        }
        counts
    }
}
