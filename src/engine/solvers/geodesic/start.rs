//! Initial positions and momenta p of rays.

use super::Params;
use super::half_ray::root;
use super::join::Ray;
use super::ray_metric::{FA, RayMetric};
use crate::compute::kernel_struct;
use crate::solvers::curves::cells::{INSIDE, Record};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::spline::cubic_weights;
use crate::solvers::tensor_fit::eigen_symmetric;
use glam::{DMat3, DVec3};

/// A ray at its seed: voxel coordinates, p with pᵀDp = 1, and the direction of D p in the axes of [`root`], of length
/// 1.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Start {
    pub x: [f32; 3],
    pub p: [f32; 3],
    pub direction: [f32; 3],
}
kernel_struct!(Start as "floats of `starts` in kernels/rays.cuh", 36 { x: 0, p: 12, direction: 24 });

/// Rays with their seeds, in order; those that cannot start are omitted.
pub struct Rays {
    pub starts: Vec<Start>,
    pub seeds: Vec<Ray>,
}

/// The rays of a seed point (world mm), in the order of the fan; `None` outside volume or mask, or below the FA
/// limit.
pub fn starts(
    metric: &RayMetric,
    region_tests: &RegionTests,
    params: &Params,
    seed: [f32; 3],
) -> Option<Vec<Start>> {
    let world = DVec3::from_array(seed.map(f64::from));
    let grid = &metric.field.grid;
    let at = grid.voxel_at(world);
    let in_volume = (0..3).all(|a| at[a] >= -0.5 && at[a] <= grid.shape[a] as f64 - 0.5)
        && region_tests.allows(seed);
    let record = interpolated(metric, at);
    let anisotropic = params.curves.min_fa.is_none_or(|fa| record[FA] >= fa);
    if !(in_volume && record[INSIDE] >= 0.5 && anisotropic) {
        return None;
    }
    let d = matrix(&record);
    let inverse = d.inverse();
    let world_from_voxel = grid.world_from_voxel.matrix3;
    let axis = match params.directions.depend_on_axis() {
        true => principal(world_from_voxel * d * world_from_voxel.transpose()),
        false => DVec3::Z,
    };
    let root = root(world_from_voxel);
    let start = |direction: DVec3| {
        let v = grid.voxel_from_world.matrix3 * direction;
        let p = inverse * v;
        Start {
            x: at.as_vec3().into(),
            p: (p / p.dot(v).sqrt()).as_vec3().into(),
            direction: (root * v).as_vec3().into(),
        }
    };
    let fan = params.directions.fan(params.curves.both_ways, axis);
    let starts: Vec<Start> = fan.into_iter().map(start).collect();
    // A tensor that is not positive definite has no metric.
    let valid = starts.iter().all(|s| s.p.iter().all(|c| c.is_finite()));
    valid.then_some(starts)
}

fn matrix([xx, xy, xz, yy, yz, zz, ..]: &[f64; 8]) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(*xx, *xy, *xz),
        DVec3::new(*xy, *yy, *yz),
        DVec3::new(*xz, *yz, *zz),
    )
}

/// The principal direction, in the sense with positive z, then y, then x.
fn principal(d: DMat3) -> DVec3 {
    let [x, y, z] = [d.x_axis, d.y_axis, d.z_axis];
    let (_, vectors) = eigen_symmetric([x.x, x.y, x.z, y.y, y.z, z.z]);
    let v = vectors[0];
    let up = v.z > 0.0 || (v.z == 0.0 && (v.y > 0.0 || (v.y == 0.0 && v.x >= 0.0)));
    if up { v } else { -v }
}

/// The record at voxel coordinates, in double precision.
fn interpolated(metric: &RayMetric, at: DVec3) -> [f64; 8] {
    weighted::<false>(metric, at, |weight| f64::from(weight as f32)).0
}

/// Weights of the samples of a cell along an axis, as `round` rounds them, and their derivatives per voxel.
fn axis_weights(
    t: f64,
    is_spline: bool,
    round: impl Fn(f64) -> f64,
) -> ([f64; 4], [f64; 4], usize) {
    if !is_spline {
        let t = round(t);
        return ([round(1.0 - t), t, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0], 2);
    }
    let weights = cubic_weights(t as f32).map(f64::from);
    let u = 1.0 - t;
    let slopes = [
        -0.5 * u * u,
        t * (1.5 * t - 2.0),
        0.5 + t * (1.0 - 1.5 * t),
        0.5 * t * t,
    ];
    (weights, slopes, 4)
}

/// The record at voxel coordinates and its derivatives per voxel along the three axes, in double precision. Beyond the
/// outer samples the field is constant.
pub fn sampled(metric: &RayMetric, at: DVec3) -> ([f64; 8], [[f64; 8]; 3]) {
    weighted::<true>(metric, at, |weight| weight)
}

/// The sum of [`sampled`], with weights that `round` rounds; derivatives only if `SLOPES` requests them.
fn weighted<const SLOPES: bool>(
    metric: &RayMetric,
    at: DVec3,
    round: impl Fn(f64) -> f64,
) -> ([f64; 8], [[f64; 8]; 3]) {
    let last = metric.shape.map(|n| (n - 1) as f64);
    let inner = at.clamp(DVec3::ZERO, DVec3::from_array(last));
    let cell = [0, 1, 2].map(|a| inner[a].floor().min(last[a] - 1.0));
    let is_spline = metric.margin() > 0;
    let axes = [0, 1, 2].map(|a| {
        let (weights, mut slopes, count) = axis_weights(inner[a] - cell[a], is_spline, &round);
        if at[a] != inner[a] {
            slopes = [0.0; 4];
        }
        (weights, slopes, count)
    });
    let [sy, sz] = metric.strides();
    let [x, y, z] = cell.map(|c| c as usize);
    let base = x + sy * y + sz * z;
    let [(wx, dx, nx), (wy, dy, ny), (wz, dz, nz)] = &axes;
    let (mut sum, mut slopes) = ([0.0; 8], [[0.0; 8]; 3]);
    for k in 0..*nz {
        for j in 0..*ny {
            for i in 0..*nx {
                let record: &Record = &metric.records[base + i + sy * j + sz * k];
                let weight = wx[i] * wy[j] * wz[k];
                let by = [
                    dx[i] * wy[j] * wz[k],
                    wx[i] * dy[j] * wz[k],
                    wx[i] * wy[j] * dz[k],
                ];
                for (number, value) in record.iter().enumerate() {
                    let value = f64::from(*value);
                    sum[number] += weight * value;
                    if !SLOPES {
                        continue;
                    }
                    for (slope, by) in slopes.iter_mut().zip(by) {
                        slope[number] += by * value;
                    }
                }
            }
        }
    }
    (sum, slopes)
}
