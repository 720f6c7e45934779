//! Fields, regions and parameters that the tracking tests share.

use crate::Random;
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::region::RegionId;
use arcuate::data::{AffineSource, Grid, Mask, Region, Role, Shape, Tensor, TensorField};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{
    DirectionField, Integrator, Interpolation, Output, Params, Seeding, StopReason,
};
use arcuate::solvers::tracking::track;
use glam::{DAffine3, DMat3, DVec3};
use std::sync::Arc;

/// White matter: 1.7 and 0.3 · 10⁻³ mm²/s along and across.
pub fn fibre(e: DVec3) -> DMat3 {
    prolate(1.7e-3, 0.3e-3, e)
}

/// across I + (along − across) e eᵀ.
pub fn prolate(along: f64, across: f64, e: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(e * e.x, e * e.y, e * e.z);
    DMat3::from_diagonal(DVec3::splat(across)) + outer * (along - across)
}

pub fn components(d: DMat3) -> [f32; 6] {
    let (x, y, z) = (d.x_axis, d.y_axis, d.z_axis);
    [x.x, x.y, x.z, y.y, y.z, z.z].map(|v| v as f32)
}

/// Tensors by world position; `None` is outside the mask.
pub fn field(grid: Grid, tensor: impl Fn(DVec3) -> Option<DMat3>) -> TensorField {
    let at = |i| {
        let centre = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        tensor(centre).map_or(Tensor::default(), |d| Tensor::new(components(d)))
    };
    let tensors: Vec<Tensor> = (0..grid.voxel_count()).map(at).collect();
    TensorField::new(Arc::new(grid), tensors)
}

/// `n` voxels of `spacing` mm a side around the origin, along the world's axes.
pub fn cube(n: usize, spacing: f64) -> Grid {
    let origin = DVec3::splat(-0.5 * (n - 1) as f64 * spacing);
    Grid::axis_aligned([n; 3], DVec3::splat(spacing), origin).unwrap()
}

/// A rotated, sheared, anisotropic grid around the origin.
pub fn odd_grid(random: &mut Random) -> Grid {
    let spacing = DVec3::from_array([0; 3].map(|_| random.uniform(0.8, 3.0)));
    let mut shear = DMat3::IDENTITY;
    shear.y_axis.x = random.uniform(-0.3, 0.3);
    shear.z_axis.y = random.uniform(-0.3, 0.3);
    let linear = DMat3::from_quat(random.rotation()) * shear * DMat3::from_diagonal(spacing);
    let shape = [0; 3].map(|_| random.uniform(8.0, 20.0) as usize);
    let middle = (DVec3::from_array(shape.map(|n| n as f64)) - 1.0) * 0.5;
    let affine = DAffine3::from_mat3_translation(linear, -(linear * middle));
    Grid::new(shape, affine, AffineSource::Computed).unwrap()
}

/// A helix: e = (cos kz, sin kz, c) / √(1 + c²), smooth everywhere and a function of z alone, in rotated axes.
#[derive(Clone, Copy)]
pub struct Helix {
    pub k_per_mm: f64,
    pub c: f64,
    /// World from the helix's own axes.
    pub turn: DMat3,
}

impl Helix {
    pub fn random(random: &mut Random) -> Self {
        Self {
            k_per_mm: random.uniform(0.1, 0.15),
            c: random.uniform(0.5, 1.0),
            turn: DMat3::from_quat(random.rotation()),
        }
    }

    pub fn direction(&self, at: DVec3) -> DVec3 {
        let angle = self.k_per_mm * (self.turn.transpose() * at).z;
        self.turn * DVec3::new(angle.cos(), angle.sin(), self.c).normalize()
    }

    /// The point `length` mm further along the field line.
    pub fn follow(&self, from: DVec3, length: f64) -> DVec3 {
        let start = self.turn.transpose() * from;
        let rise = length * self.c / (1.0 + self.c * self.c).sqrt();
        let (a, b) = (self.k_per_mm * start.z, self.k_per_mm * (start.z + rise));
        let across = DVec3::new(b.sin() - a.sin(), a.cos() - b.cos(), 0.0);
        self.turn * (start + across / (self.k_per_mm * self.c) + DVec3::Z * rise)
    }
}

impl DirectionField for Helix {
    type Vector = DVec3;
    type Scalar = f64;

    fn direction(&self, at: DVec3, along: DVec3) -> DVec3 {
        let e = Helix::direction(self, at);
        if e.dot(along) < 0.0 { -e } else { e }
    }
}

pub fn region(role: Role, shape: Shape) -> Region {
    Region {
        id: RegionId(0),
        name: role.name().to_owned(),
        role,
        shape: Arc::new(shape),
        colour: None,
        visible: true,
        label_number: None,
    }
}

pub fn sphere(role: Role, centre: DVec3, radius_mm: f64) -> Region {
    region(role, Shape::Sphere { centre, radius_mm })
}

pub fn cuboid(role: Role, centre: DVec3, half_mm: DVec3) -> Region {
    region(role, Shape::Box { centre, half_mm })
}

/// Every stop that can be switched off is off.
pub fn params() -> Params {
    Params {
        integrator: Integrator::Rk4,
        interpolation: Interpolation::Trilinear,
        seeding: Seeding::Random { count: 50 },
        random_seed: 7,
        step_mm: 0.5,
        max_angle_rad: None,
        min_fa: None,
        min_length_mm: 0.0,
        max_length_mm: None,
        max_steps: 100_000,
        targets: arcuate::solvers::curves::Match::Any,
        includes: arcuate::solvers::curves::Match::All,
        both_ways: true,
        deflection: None,
        repetitions: None,
    }
}

/// A seed region and the parameters that start one streamline exactly at `at`.
pub fn one_seed(at: DVec3, params: &Params) -> (Region, Params) {
    let seeding = Seeding::Grid { spacing_mm: 1.0 };
    let params = Params {
        seeding,
        ..params.clone()
    };
    (sphere(Role::Seed, at, 1e-3), params)
}

pub fn backend(threads: usize) -> Backend {
    let threads = Some(threads);
    Backend::choose(&BackendChoice::cpu(threads)).unwrap()
}

pub fn try_run(field: &TensorField, regions: &[Region], params: &Params) -> Result<Output, Error> {
    track(field, regions, params, &backend(2), &Control::new())
}

/// Tracks, and checks what must hold for every output.
pub fn run(field: &TensorField, regions: &[Region], params: &Params) -> Output {
    let output = try_run(field, regions, params).unwrap();
    let any = params.targets == arcuate::solvers::curves::Match::Any;
    let (kept, cuts) = (&output.kept, any && !output.per_target.is_empty());
    let started = output.seed_outcomes[..5].iter().sum::<u64>();
    assert_eq!(output.stops.iter().sum::<u64>(), 2 * started);
    assert_eq!(output.seed_outcomes[0], kept.len() as u64);
    assert_eq!(kept.per_streamline.contains_key("target"), cuts);
    for i in 0..kept.len() {
        let reached = stops(&output, i).contains(&StopReason::ReachedTarget);
        assert_eq!(reached, cuts);
        assert!(kept.length_mm(i) >= params.min_length_mm as f32);
        assert!(kept.streamline(i).iter().flatten().all(|v| v.is_finite()));
    }
    let missed_all = output.seed_outcomes[1] as usize;
    assert!(output.missed.len() <= missed_all && output.missed_every == 7);
    output
}

/// Why the two ends of a kept streamline stopped.
pub fn stops(output: &Output, streamline: usize) -> [StopReason; 2] {
    const ALL: [StopReason; 9] = [
        StopReason::ReachedTarget,
        StopReason::Terminated,
        StopReason::LeftVolume,
        StopReason::LeftMask,
        StopReason::LowFa,
        StopReason::Angle,
        StopReason::MaxLength,
        StopReason::MaxSteps,
        StopReason::Seed,
    ];
    ["stop_start", "stop_end"].map(|name| {
        let number = output.kept.per_streamline[name][streamline];
        ALL[number as usize]
    })
}

pub fn points(output: &Output, streamline: usize) -> Vec<DVec3> {
    let line = output.kept.streamline(streamline);
    line.iter()
        .map(|p| glam::Vec3::from(*p).as_dvec3())
        .collect()
}

/// Largest distance between points of the same index.
pub fn max_distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| a.distance(*b))
        .fold(0.0, f64::max)
}

/// The voxels whose centres lie in a ball.
pub fn ball(grid: &Arc<Grid>, centre: DVec3, radius: f64) -> Mask {
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|i| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            u8::from(at.distance(centre) < radius)
        })
        .collect();
    Mask::new(grid.clone(), inside)
}
