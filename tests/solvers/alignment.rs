//! Alignment: random displacements recovered across contrasts; files of FLIRT and ITK against closed forms.

pub mod files;
mod layers;
mod warps;

use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::gradients::Weighting;
use arcuate::data::{BuiltInPhantom, Grid, Mask, Volume};
use arcuate::phantom::Demo;
use arcuate::solvers::Error;
use arcuate::solvers::alignment::{Output, Params, align};
use glam::{DAffine3, DQuat, DVec3};
use libtest_mimic::Trial;
use std::sync::{Arc, OnceLock};

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("alignment::random moves are found across contrasts", || {
            recovered(&MOVES[2..])
        }),
        test("alignment::all random moves are found", || {
            recovered(&MOVES)
        })
        .with_ignored_flag(true),
        test(
            "alignment::random moves of the same image are found",
            same_image,
        ),
        test("alignment::images in place are not moved", unmoved),
        test("alignment::threads give the same answer", threads),
        test("alignment::what cannot be aligned is refused", refused),
        test("alignment::unrelated images are doubtful", doubtful),
    ];
    own.into_iter()
        .chain(files::tests())
        .chain(layers::tests())
        .chain(warps::tests())
        .collect()
}

/// The built-in head: T1 on an oblique grid, mean of the volumes without weighting, brain.
pub struct Head {
    pub t1: Volume,
    pub b0: Volume,
    pub brain: Mask,
}

pub fn head() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| {
        let demo = backend(2)
            .install(|| Demo::new(BuiltInPhantom::plain(3), &Control::new()))
            .unwrap();
        let b0 = (0..demo.dwi.frames)
            .find(|&v| demo.gradients.weighting(v) == Weighting::B0)
            .unwrap();
        Head {
            b0: Volume::scalar(demo.dwi.grid.clone(), demo.dwi.frame(b0).to_vec()),
            t1: demo.t1.clone(),
            brain: demo.mask.clone(),
        }
    })
}

/// Up to this many mm along and degrees about any axis.
pub fn random_move(random: &mut Random, mm: f64, degrees: f64) -> DAffine3 {
    let angle = random.uniform(0.3, 1.0) * degrees.to_radians();
    let turn = DQuat::from_axis_angle(random.direction(), angle);
    let shift = random.direction() * mm * random.uniform(0.3, 1.0);
    DAffine3::from_rotation_translation(turn, shift)
}

pub fn moved(volume: &Volume, by: DAffine3) -> Volume {
    volume.on_grid(Arc::new(volume.grid.moved(by).unwrap()))
}

fn run(moving: &Volume, fixed: &Volume, threads: usize) -> Output {
    let params = Params {
        from: DAffine3::IDENTITY,
        wide: true,
    };
    align(moving, fixed, &params, &backend(threads), &Control::new()).unwrap()
}

/// The largest distance in the brain between the found and the true positions, in voxels of the scan, and the angle
/// between the two, in degrees.
fn error(found: &DAffine3, put: &DAffine3, head: &Head) -> (f64, f64) {
    let rest = *found * *put;
    let grid = &head.brain.grid;
    let voxel = grid.spacing().min_element();
    let far = head
        .brain
        .voxels_inside()
        .map(|v| grid.world(DVec3::from_array(v.map(|v| v as f64))))
        .map(|p| rest.transform_point3(p).distance(p) / voxel)
        .fold(0.0, f64::max);
    let angle = DQuat::from_mat3(&rest.matrix3).to_axis_angle().1;
    (far, angle.min(std::f64::consts::TAU - angle).to_degrees())
}

/// Sizes of random moves, mm and degrees.
const MOVES: [(f64, f64); 3] = [(3.0, 3.0), (8.0, 8.0), (15.0, 12.0)];

/// The required bounds: 0.3 voxel everywhere in the brain, half a degree. The largest move is the hardest to find; the
/// others run apart.
fn recovered(moves: &[(f64, f64)]) {
    let mut random = Random::fresh("alignment");
    let head = head();
    for &(mm, degrees) in moves {
        let put = random_move(&mut random, mm, degrees);
        let output = run(&moved(&head.t1, put), &head.b0, 2);
        let (voxels, angle) = error(&output.moved, &put, head);
        println!(
            "{mm} mm, {degrees}°: off by {voxels:.3} voxel, {angle:.3}°; {} evaluations",
            output.evaluations
        );
        assert!(voxels < 0.3 && angle < 0.5, "{voxels} voxel, {angle}°");
        assert!(output.after > output.before);
    }
}

fn same_image() {
    let mut random = Random::fresh("alignment same");
    let head = head();
    let put = random_move(&mut random, 10.0, 10.0);
    let output = run(&moved(&head.b0, put), &head.b0, 2);
    let (voxels, angle) = error(&output.moved, &put, head);
    assert!(voxels < 0.15 && angle < 0.25, "{voxels} voxel, {angle}°");
}

fn unmoved() {
    let head = head();
    let params = Params {
        from: DAffine3::IDENTITY,
        wide: false,
    };
    let output = align(&head.t1, &head.b0, &params, &backend(2), &Control::new()).unwrap();
    let (voxels, angle) = error(&output.moved, &DAffine3::IDENTITY, head);
    assert!(voxels < 0.3 && angle < 0.5, "{voxels} voxel, {angle}°");
}

fn threads() {
    let mut random = Random::fresh("alignment threads");
    let head = head();
    let put = random_move(&mut random, 6.0, 6.0);
    let moving = moved(&head.b0, put);
    assert_eq!(run(&moving, &head.b0, 1), run(&moving, &head.b0, 3));
}

fn refused() {
    let head = head();
    let grid = Arc::new(Grid::axis_aligned([9; 3], DVec3::ONE, DVec3::ZERO).unwrap());
    let flat = Volume::scalar(grid.clone(), vec![5.0; grid.voxel_count()]);
    let params = Params {
        from: DAffine3::IDENTITY,
        wide: true,
    };
    for (moving, fixed) in [(&flat, &head.b0), (&head.b0, &flat)] {
        let refused = align(moving, fixed, &params, &backend(1), &Control::new());
        assert!(matches!(refused, Err(Error::Input(_))));
    }
    let control = Control::new();
    control.cancel();
    let cancelled = align(&head.t1, &head.b0, &params, &backend(1), &control);
    assert_eq!(cancelled.err(), Some(Error::Cancelled));
}

/// A best position exists for any two images: noise is doubtful, white or smooth, and a head in two contrasts is not.
fn doubtful() {
    let mut random = Random::fresh("alignment doubt");
    let mut noise = |rounds: usize| {
        let grid = Grid::axis_aligned([48; 3], DVec3::splat(2.0), DVec3::ZERO).unwrap();
        let mut values: Vec<f32> = (0..48usize.pow(3))
            .map(|_| random.normal() as f32)
            .collect();
        for axis in (0..3).cycle().take(3 * rounds) {
            let stride = 48usize.pow(axis);
            let before = values.clone();
            for (i, value) in values.iter_mut().enumerate() {
                let at = i / stride % 48;
                let below = before[if at > 0 { i - stride } else { i }];
                let above = before[if at < 47 { i + stride } else { i }];
                *value = 0.5 * before[i] + 0.25 * (below + above);
            }
        }
        Volume::scalar(Arc::new(grid), values)
    };
    for rounds in [0, 12] {
        let (moving, fixed) = (noise(rounds), noise(rounds));
        let output = run(&moving, &fixed, 2);
        assert!(output.is_doubtful(), "{rounds}: {output:?}");
    }
    let head = head();
    let put = random_move(&mut Random::fresh("alignment no doubt"), 8.0, 8.0);
    for fixed in [&head.b0, &head.t1] {
        let output = run(&moved(&head.t1, put), fixed, 2);
        assert!(!output.is_doubtful(), "{output:?}");
    }
    let noisy = run(&head.t1, &noise(0), 2);
    assert!(noisy.is_doubtful(), "{noisy:?}");
}
