//! Level sets: closed forms and orders, topology, invariants, leaks, refusals.

mod behaviour;
mod closed_forms;
mod distance;
mod invariants;
mod keep_out;
mod leak;
mod leak_allowance;
mod leak_second;
mod leak_small;
mod leak_starts;
mod parity;
mod probe;
mod real_heads;
mod small;
mod topology;
mod whole_head;

use crate::support::Random;
use crate::support::fields::backend;
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Volume};
use arcuate::solvers::level_set::{
    Ended, Evolution, Field, Inputs, Layout, Mode, Params, Sphere, Start,
};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let all = [
        closed_forms::tests(),
        topology::tests(),
        invariants::tests(),
        leak::tests(),
        leak_allowance::tests(),
        leak_second::tests(),
        leak_starts::tests(),
        behaviour::tests(),
        distance::tests(),
        keep_out::tests(),
        parity::tests(),
        probe::tests(),
        real_heads::tests(),
        small::tests(),
        whole_head::tests(),
    ];
    all.into_iter().flatten().collect()
}

/// Nothing moves.
pub const STILL: Params = Params {
    mode: Mode::Scaled,
    target: 1.0,
    tolerance: 0.5,
    smoothness: 0.0,
    intensity: 0.0,
    region: 0.0,
    edge: 0.0,
    edge_contrast: 0.1,
    layer: None,
    layer_weight: 1.0,
    bias: 0.0,
    rescaling: 0.0,
    redistance_every: 0,
};

/// Curvature alone.
pub const CURVATURE: Params = Params {
    smoothness: 1.0,
    ..STILL
};

/// Speed 1 on images that are 1.
pub const GROWTH: Params = Params {
    intensity: 1.0,
    ..STILL
};

/// All terms that keep a run well behaved, smoother than the window's defaults.
pub const DEFAULTS: Params = Params {
    smoothness: 0.3,
    intensity: 1.0,
    rescaling: 0.1,
    redistance_every: 20,
    ..STILL
};

pub fn sphere(centre: DVec3, radius_mm: f64) -> Sphere {
    Sphere {
        add: true,
        centre,
        radius_mm,
    }
}

/// A grid of about `side_mm` per side, with voxel axes as columns.
pub fn grid(axes: DMat3, side_mm: f64) -> Arc<Grid> {
    let shape = [0, 1, 2].map(|a| (side_mm / axes.col(a).length()).round() as usize);
    let middle = axes * (DVec3::from_array(shape.map(|n| n as f64)) - 1.0) * 0.5;
    let affine = DAffine3::from_mat3_translation(axes, -middle);
    Arc::new(Grid::new(shape, affine, AffineSource::Computed).unwrap())
}

/// Voxel axes of 1 mm: cubes, flat voxels, sheared voxels; each in a random orientation.
pub fn axes(random: &mut Random) -> [(&'static str, DMat3); 3] {
    let turn = DMat3::from_quat(random.rotation());
    let flat = DVec3::new(1.0, random.uniform(1.1, 1.5), random.uniform(1.5, 2.0));
    let (u, v) = (random.uniform(-0.4, 0.4), random.uniform(0.2, 0.5));
    let shear = DMat3::from_cols(
        DVec3::X,
        DVec3::new(u, 1.0, 0.0),
        DVec3::new(v, -0.5 * u, 1.2),
    );
    [
        ("cubes", turn),
        ("flat", turn * DMat3::from_diagonal(flat)),
        ("sheared", turn * shear),
    ]
}

/// 1 everywhere except in one corner, which nothing reaches.
pub fn ones(grid: &Arc<Grid>) -> Volume {
    let mut values = vec![1.0; grid.voxel_count()];
    values[0] = 0.0;
    Volume::scalar(grid.clone(), values)
}

pub fn begin(image: &Volume, spheres: &[Sphere], params: &Params, layout: Layout) -> Evolution {
    begin_on(2, image, spheres, params, layout)
}

pub fn begin_on(
    threads: usize,
    image: &Volume,
    spheres: &[Sphere],
    params: &Params,
    layout: Layout,
) -> Evolution {
    let backend = backend(threads);
    let inputs = backend.install(|| Inputs::new(image, 0)).unwrap();
    let start = Start {
        mask: None,
        spheres: spheres.to_vec(),
    };
    Evolution::new(&inputs, &start, params, layout, &backend, &Control::new()).unwrap()
}

/// A run that starts from a mask.
pub fn begin_from(image: &Volume, mask: Mask, params: &Params) -> Evolution {
    let backend = backend(2);
    let inputs = backend.install(|| Inputs::new(image, 0)).unwrap();
    let start = Start {
        mask: Some(mask),
        spheres: Vec::new(),
    };
    let control = Control::new();
    Evolution::new(&inputs, &start, params, Layout::BEST, &backend, &control).unwrap()
}

/// This many steps, even after the surface has come to rest.
pub fn run(evolution: &mut Evolution, steps: u64) -> Ended {
    let end = evolution.step() + steps;
    loop {
        let left = end - evolution.step();
        let ended = evolution.run(left, &backend(2), &Control::new()).unwrap();
        if ended != Ended::Converged || evolution.step() == end {
            return ended;
        }
    }
}

/// Steps until this much time of the equation has passed; returns the time that passed.
pub fn run_for(evolution: &mut Evolution, time: f64) -> f64 {
    while evolution.time() < time {
        run(evolution, 1);
    }
    evolution.time()
}

/// Points where the surface crosses edges between voxels, in world mm.
pub fn crossings(field: &Field) -> Vec<DVec3> {
    let values = field.values_by_voxel();
    let grid = &field.grid;
    let mut found = Vec::new();
    for i in 0..values.len() {
        let voxel = grid.voxel(i);
        for axis in 0..3 {
            if voxel[axis] + 1 == grid.shape[axis] {
                continue;
            }
            let mut next = voxel;
            next[axis] += 1;
            let (u, v) = (f64::from(values[i]), f64::from(values[grid.index(next)]));
            if (u > 0.0) != (v > 0.0) {
                let mut at = DVec3::from_array(voxel.map(|c| c as f64));
                at[axis] += u / (u - v);
                found.push(grid.world(at));
            }
        }
    }
    found
}

/// Mean distance of the surface from a point, and the largest deviation from a radius.
pub fn radius(field: &Field, centre: DVec3, expected: f64) -> (f64, f64) {
    let all: Vec<f64> = crossings(field)
        .iter()
        .map(|p| p.distance(centre))
        .collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let worst = all.iter().map(|r| (r - expected).abs()).fold(0.0, f64::max);
    (mean, worst)
}

/// Smallest and largest |∇φ| (central differences) where |φ| is below this many voxels.
pub fn slopes(field: &Field, within: f32) -> (f64, f64) {
    let values = field.values_by_voxel();
    let grid = &field.grid;
    let inverse = grid.voxel_from_world.matrix3.transpose();
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for (i, _) in values.iter().enumerate().filter(|(_, v)| v.abs() < within) {
        let voxel = grid.voxel(i);
        if (0..3).any(|a| voxel[a] == 0 || voxel[a] + 1 == grid.shape[a]) {
            continue;
        }
        let slope = [0, 1, 2].map(|a| {
            let step = [1, grid.shape[0], grid.shape[0] * grid.shape[1]][a];
            0.5 * f64::from(values[i + step] - values[i - step])
        });
        let length = (inverse * DVec3::from_array(slope)).length() * field.h_mm;
        low = low.min(length);
        high = high.max(length);
    }
    (low, high)
}
