//! Speeds that do not depend on the surface.

use super::background::Background;
use super::bricks::{counts, origin};
use super::error::InputError;
use super::painted::Painted;
use super::parameters::{Layout, Mode, Params};
use super::row::KEPT_OUT;
use super::start::Sphere;
use super::stencil::Stencil;
use crate::data::{Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Numbers per voxel where there are more terms than the static speed: speed, g, A (x y z), grey value.
pub const PLANES: usize = 6;
/// Standard deviation of the Gaussian applied before edge detection, voxels.
const SMOOTHED: f64 = 1.0;
/// Number of parts of the image's range in which grey values are summed: sums of integers do not depend on the order.
const QUANTA: f64 = (1u32 << 20) as f64;

/// The image and other inputs from which speeds are computed.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Image whose values define the intensity speed.
    pub image: Volume,
    /// Volume of the image that is used, from 0.
    pub frame: usize,
    /// Sampled on the image's grid.
    layer: Option<Arc<[f32]>>,
    painted: Option<Painted>,
    /// Voxels without a value.
    pub missing: usize,
    low: f32,
    high: f32,
    smoothed: Arc<OnceLock<Vec<f32>>>,
    background: Arc<OnceLock<Option<Background>>>,
}

impl Inputs {
    /// Needs the backend's threads installed.
    pub fn new(image: &Volume, frame: usize) -> Result<Self, InputError> {
        let values = image.frame(frame);
        let missing = values.par_iter().filter(|v| !v.is_finite()).count();
        if missing == values.len() {
            return Err(InputError::NoValue);
        }
        let (low, high) = image.range(frame);
        if !(high > low) {
            return Err(InputError::NoContrast(low));
        }
        Ok(Self {
            image: image.clone(),
            frame,
            layer: None,
            painted: None,
            missing,
            low,
            high,
            smoothed: Arc::default(),
            background: Arc::default(),
        })
    }

    /// Adds another image whose values define a speed; the speed is 0 where it has none.
    pub fn with_layer(mut self, layer: &Volume, frame: usize) -> Self {
        let grid = &self.image.grid;
        let values: Vec<f32> = if layer.grid.matches(grid) {
            layer.frame(frame).to_vec()
        } else {
            let at = |i| {
                let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
                layer.nearest(frame, world).unwrap_or(f32::NAN)
            };
            (0..grid.voxel_count()).into_par_iter().map(at).collect()
        };
        self.layer = Some(values.into());
        self
    }

    /// Adds painted regions: where to grow and where not to.
    pub fn with_painted(mut self, grow: Option<&Mask>, hold: Option<&Mask>) -> Self {
        let grid = &self.image.grid;
        let same = [grow, hold].map(|mask| mask.is_some_and(|m| m.grid.matches(grid)));
        let has = |which: usize, i: usize| match [grow, hold][which] {
            None => false,
            Some(mask) if same[which] => mask.inside[i] != 0,
            Some(mask) => {
                let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
                mask.contains(grid.world(voxel))
            }
        };
        let any = grow.is_some() || hold.is_some();
        let at = |i: usize| i8::from(has(0, i)) - i8::from(has(1, i));
        self.painted = any.then(|| Painted::new(grid.voxel_count(), at));
        self
    }

    /// Whether everything besides the image shares the same memory.
    pub fn is(&self, other: &Self) -> bool {
        let layer = match (&self.layer, &other.layer) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let painted = match (&self.painted, &other.painted) {
            (Some(a), Some(b)) => a.is(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        layer && painted
    }

    /// Least and largest grey value.
    pub fn bounds(&self) -> (f32, f32) {
        (self.low, self.high)
    }

    /// The background, computed once. Needs the backend's threads installed.
    pub fn background(&self) -> Option<&Background> {
        let estimate = || Background::from_image(&self.image, self.frame);
        self.background.get_or_init(estimate).as_ref()
    }

    /// Whether a second image defines a speed.
    pub(crate) fn has_layer(&self) -> bool {
        self.layer.is_some()
    }

    /// Values of the used volume, x fastest.
    pub fn values(&self) -> &[f32] {
        self.image.frame(self.frame)
    }

    /// Voxels with a value.
    pub fn present(&self) -> u64 {
        (self.values().len() - self.missing) as u64
    }

    /// A grey value as a whole number, for sums; 0 if missing.
    #[inline]
    pub fn quantum(&self, i: usize) -> i64 {
        let v = self.values()[i];
        let share = f64::from(v - self.low) / f64::from(self.high - self.low);
        if (0.0..=1.0).contains(&share) {
            (share * QUANTA).round() as i64
        } else {
            0
        }
    }

    /// Sum of the grey values in a mask, in quanta.
    pub fn sum_inside(&self, mask: &Mask) -> i64 {
        let voxels = mask.inside.par_iter().enumerate().with_min_len(1 << 14);
        voxels
            .filter(|(_, v)| **v != 0)
            .map(|(i, _)| self.quantum(i))
            .sum()
    }

    /// Checks that there is a layer if the parameters use its speed.
    pub fn have_layer(&self, params: &Params) -> Result<(), InputError> {
        if params.layer.is_some() && !self.has_layer() {
            return Err(InputError::NoLayer);
        }
        Ok(())
    }

    /// All quanta, brick by brick.
    pub fn quanta(&self, brick: usize) -> Vec<i32> {
        let grid = &self.image.grid;
        let shape = counts(grid.shape, brick);
        let page = brick.pow(3);
        let mut quanta = vec![0i32; shape.iter().product::<usize>() * page];
        quanta
            .par_chunks_exact_mut(page)
            .enumerate()
            .for_each(|(b, page)| {
                let first = origin(b, shape, brick);
                for (i, value) in page.iter_mut().enumerate() {
                    let in_brick = [i % brick, i / brick % brick, i / brick / brick];
                    let voxel = [0, 1, 2].map(|a| first[a] + in_brick[a]);
                    if (0..3).all(|a| voxel[a] < grid.shape[a]) {
                        *value = self.quantum(grid.index(voxel)) as i32;
                    }
                }
            });
        quanta
    }

    /// The mean grey value of `voxels` voxels with this sum of quanta.
    pub fn mean(&self, sum: i64, voxels: u64) -> f64 {
        let share = sum as f64 / QUANTA / voxels.max(1) as f64;
        f64::from(self.low) + share * f64::from(self.high - self.low)
    }

    fn smoothed(&self) -> &[f32] {
        self.smoothed
            .get_or_init(|| smooth(self.values(), self.image.grid.shape))
    }
}

/// The part of the speeds that does not depend on the surface.
#[derive(Debug)]
pub struct Speeds {
    pub inputs: Inputs,
    pub params: Params,
    /// −1 where spheres were cut away.
    kept_out: Option<Painted>,
    w: [f32; 6],
    /// g by voxel.
    edges: Option<Vec<f32>>,
    /// Largest |speed| of any voxel, and largest drift: cells per unit of time, summed over axes.
    pub max_speed: f64,
    pub drift: f64,
}

impl Speeds {
    /// `spheres`: all spheres of the run so far, in their order. Needs the backend's threads installed.
    pub fn new(inputs: &Inputs, params: &Params, stencil: &Stencil, spheres: &[Sphere]) -> Self {
        let mut speeds = Self {
            inputs: inputs.clone(),
            params: params.clone(),
            kept_out: Painted::cut_by(spheres, &inputs.image.grid, stencil.h_mm),
            w: stencil.w,
            edges: None,
            max_speed: 0.0,
            drift: 0.0,
        };
        let voxels = inputs.values().len();
        let max_speed = (0..voxels)
            .into_par_iter()
            .with_min_len(1 << 14)
            .map(|i| speeds.at(i).abs());
        let max_speed = max_speed.reduce(|| 0.0, f32::max);
        speeds.max_speed = f64::from(max_speed) + f64::from(params.advection() * speeds.region());
        if params.mode == Mode::Scaled && params.edge > 0.0 {
            speeds.edges = Some(speeds.stopping(params.edge_contrast, stencil.h_mm as f32));
            let drift = (0..voxels).into_par_iter().with_min_len(1 << 14);
            let drift = drift.map(|i| speeds.drift(i).iter().map(|a| a.abs()).sum::<f32>());
            speeds.drift = f64::from(drift.reduce(|| 0.0, f32::max));
        }
        speeds
    }

    /// Weight of the region term.
    pub fn region(&self) -> f32 {
        match self.params.mode {
            Mode::Scaled => self.params.region,
            Mode::Paper => 0.0,
        }
    }

    fn is_kept_out(&self, i: usize) -> bool {
        self.kept_out.as_ref().is_some_and(|cut| cut.at(i) < 0)
    }

    /// The number that solvers read: the speed of a voxel, or the mark that φ does not rise there.
    #[inline]
    fn or_kept_out(&self, i: usize) -> f32 {
        match self.is_kept_out(i) {
            true => KEPT_OUT,
            false => self.at(i),
        }
    }

    /// Speed of a voxel, without the factor g. A voxel without a value keeps the surface out, whatever the other
    /// terms are, unless it is painted.
    #[inline]
    pub fn at(&self, i: usize) -> f32 {
        let params = &self.params;
        let off = (self.inputs.values()[i] - params.target).abs();
        let raw = params.tolerance - off;
        if params.mode == Mode::Paper {
            let raw = if off.is_finite() {
                raw
            } else {
                -params.tolerance
            };
            return params.advection() * raw;
        }
        let mut speed = if off.is_finite() {
            let mut speed = params.intensity * (raw / params.tolerance).clamp(-1.0, 1.0);
            if let (Some(layer), Some(values)) = (params.layer, &self.inputs.layer) {
                let share = (values[i] - layer.low) / (layer.high - layer.low);
                if share.is_finite() {
                    speed += params.layer_weight * (2.0 * share - 1.0).clamp(-1.0, 1.0);
                }
            }
            speed
        } else {
            // The region's statistics add at most their weight.
            let layer = params.layer.map_or(0.0, |_| params.layer_weight.abs());
            -(params.intensity + layer + 2.0 * params.region)
        };
        speed *= params.advection();
        if let Some(painted) = &self.inputs.painted {
            speed += params.bias * f32::from(painted.at(i));
        }
        speed
    }

    /// The region speed: clamp(p₀ + p₁ I, ±1) times the third number. With means m inside and n outside it is ((I −
    /// n)² − (I − m)²) / (m − n)², +1 at m and −1 at n. `all`: over the voxels with a value.
    pub fn region_rule(&self, inside: (i64, u64), all: (i64, u64)) -> [f32; 3] {
        // The surface may contain voxels without a value.
        let outside = (all.0 - inside.0, all.1.saturating_sub(inside.1));
        if self.region() == 0.0 || inside.1 == 0 || outside.1 == 0 {
            return [0.0; 3];
        }
        let [m, n] = [inside, outside].map(|(sum, voxels)| self.inputs.mean(sum, voxels));
        let difference = m - n;
        if difference.abs() < 1e-6 * f64::from(self.inputs.high - self.inputs.low) {
            return [0.0; 3];
        }
        let weight = self.params.advection() * self.region();
        [
            (-(m + n) / difference) as f32,
            (2.0 / difference) as f32,
            weight,
        ]
    }

    /// Planes of a brick's page.
    pub fn fill(&self, first: [usize; 3], brick: usize, extra: bool, out: &mut [f32]) {
        let shape = self.inputs.image.grid.shape;
        let page = brick * brick * brick;
        let [nx, ny, nz] = shape;
        for z in 0..brick.min(nz - first[2]) {
            for y in 0..brick.min(ny - first[1]) {
                let from = first[0] + nx * (first[1] + y + ny * (first[2] + z));
                let to = brick * (y + brick * z);
                for x in 0..brick.min(nx - first[0]) {
                    out[to + x] = self.or_kept_out(from + x);
                    if extra {
                        let planes = self.extra(from + x);
                        for (k, value) in planes.into_iter().enumerate() {
                            out[(k + 1) * page + to + x] = value;
                        }
                    }
                }
            }
        }
    }

    /// The planes of all bricks.
    pub fn bricks(&self, brick: usize, extra: bool) -> Vec<f32> {
        let shape = counts(self.inputs.image.grid.shape, brick);
        let page = brick.pow(3) * if extra { PLANES } else { 1 };
        let mut all = vec![0.0f32; shape.iter().product::<usize>() * page];
        let pages = all.par_chunks_exact_mut(page).enumerate();
        pages.for_each(|(b, page)| self.fill(origin(b, shape, brick), brick, extra, page));
        all
    }

    /// g, A and the grey value, which is the target if missing.
    pub fn extra(&self, i: usize) -> [f32; 5] {
        let weight = self.params.edge;
        let stop = self
            .edges
            .as_ref()
            .map_or(1.0, |g| 1.0 - weight + weight * g[i]);
        let [x, y, z] = match self.edges {
            Some(_) => self.drift(i),
            None => [0.0; 3],
        };
        let value = self.inputs.values()[i];
        let value = if value.is_finite() {
            value
        } else {
            self.params.target
        };
        [stop, x, y, z, value]
    }

    /// A = weight W ∇g along voxel axes.
    fn drift(&self, i: usize) -> [f32; 3] {
        let Some(g) = &self.edges else {
            return [0.0; 3];
        };
        let slope = central_differences(g, self.inputs.image.grid.shape, i);
        raised(&self.w, slope).map(|v| v * self.params.edge)
    }

    fn stopping(&self, contrast: f32, h_mm: f32) -> Vec<f32> {
        let smoothed = self.inputs.smoothed();
        let shape = self.inputs.image.grid.shape;
        let at = |i: usize| {
            let slope = central_differences(smoothed, shape, i);
            let up = raised(&self.w, slope);
            let squared: f32 = (0..3).map(|a| slope[a] * up[a]).sum();
            // W includes h².
            1.0 / (1.0 + squared.max(0.0) / (h_mm * contrast).powi(2))
        };
        (0..smoothed.len())
            .into_par_iter()
            .with_min_len(1 << 12)
            .map(at)
            .collect()
    }
}

/// Speeds at each voxel, including edges and, if the sum and number of the voxels inside are known, region
/// statistics, but not the curvature: positive values grow. In mode `Paper` in units of the tolerance. The surface
/// stays out of spheres that are cut away. Needs the backend's threads installed.
pub fn speed_picture(
    inputs: &Inputs,
    params: &Params,
    spheres: &[Sphere],
    inside: Option<(i64, u64)>,
) -> Result<Volume, InputError> {
    let grid = &inputs.image.grid;
    let stencil = Stencil::new(grid, Layout::BEST.band)?;
    let speeds = Speeds::new(inputs, params, &stencil, spheres);
    let total = || {
        (0..grid.voxel_count())
            .into_par_iter()
            .with_min_len(1 << 14)
    };
    let all = match inside {
        Some(_) if speeds.region() > 0.0 => total().map(|i| inputs.quantum(i)).sum(),
        _ => 0,
    };
    let all = (all, inputs.present());
    let [p0, p1, weight] = inside.map_or([0.0; 3], |inside| speeds.region_rule(inside, all));
    let unit = match params.mode {
        Mode::Scaled => 1.0,
        Mode::Paper => params.tolerance.max(f32::MIN_POSITIVE),
    };
    let at = |i: usize| {
        if speeds.is_kept_out(i) {
            return -1.0;
        }
        let own = speeds.at(i) / unit;
        if !params.extra() {
            return own;
        }
        let [stop, .., value] = speeds.extra(i);
        stop * (own + weight * (p0 + p1 * value).clamp(-1.0, 1.0))
    };
    let values: Vec<f32> = total().map(at).collect();
    Ok(Volume::scalar(grid.clone(), values))
}

fn raised([xx, yy, zz, xy, xz, yz]: &[f32; 6], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [
        xx * x + xy * y + xz * z,
        xy * x + yy * y + yz * z,
        xz * x + yz * y + zz * z,
    ]
}

/// Central differences along voxel axes; 0 across the grid's border.
fn central_differences(values: &[f32], shape: [usize; 3], i: usize) -> [f32; 3] {
    let [nx, ny, nz] = shape;
    let at = [i % nx, i / nx % ny, i / (nx * ny)];
    let steps = [1, nx, nx * ny];
    [0, 1, 2].map(|a| {
        let n = [nx, ny, nz][a];
        let before = if at[a] > 0 {
            values[i - steps[a]]
        } else {
            values[i]
        };
        let behind = if at[a] + 1 < n {
            values[i + steps[a]]
        } else {
            values[i]
        };
        0.5 * (behind - before)
    })
}

/// A Gaussian along each axis in turn, with the border repeated; missing values count as 0.
fn smooth(values: &[f32], shape: [usize; 3]) -> Vec<f32> {
    let reach = (3.0 * SMOOTHED).ceil() as usize;
    let weight = |k: usize| (-0.5 * (k as f64 / SMOOTHED).powi(2)).exp();
    let total: f64 = weight(0) + 2.0 * (1..=reach).map(weight).sum::<f64>();
    let weights: Vec<f32> = (0..=reach).map(|k| (weight(k) / total) as f32).collect();
    let mut now: Vec<f32> = values
        .iter()
        .map(|v| if v.is_finite() { *v } else { 0.0 })
        .collect();
    let steps = [1, shape[0], shape[0] * shape[1]];
    for axis in 0..3 {
        let (n, step) = (shape[axis], steps[axis]);
        let from = &now;
        let at = |i: usize| {
            let place = i / step % n;
            let mut sum = weights[0] * from[i];
            for (k, w) in weights.iter().enumerate().skip(1) {
                let before = i - step * k.min(place);
                let behind = i + step * k.min(n - 1 - place);
                sum += w * (from[before] + from[behind]);
            }
            sum
        };
        now = (0..values.len())
            .into_par_iter()
            .with_min_len(1 << 12)
            .map(at)
            .collect();
    }
    now
}
