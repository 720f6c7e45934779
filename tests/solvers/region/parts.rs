//! Islands, holes and slices in between: closed forms, brute force, and counts that scipy.ndimage gives.

use super::any_grid;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Outline, Shape, Volume};
use arcuate::solvers::region::{
    Change, Connectivity, SliceAxis, change, fill_holes, interpolate, remove_islands, statistics,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("region::parts and holes as scipy counts them", as_scipy),
        test("region::parts by brute force", by_brute_force),
        test(
            "region::a hollow ball is filled, an open one is not",
            hollow,
        ),
        test("region::of equal parts the first is kept", ties),
        test("region::between discs lie discs", between_discs),
        test("region::slices are interpolated as defined", as_defined),
        test("region::slices of sheared grids are refused", sheared),
        test(
            "region::figures of a linear image in a ball",
            linear_in_ball,
        ),
    ]
}

const ALL: [Connectivity; 3] = Connectivity::ALL;

fn grid(shape: [usize; 3], mm: f64) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, DVec3::splat(mm), DVec3::ZERO).unwrap())
}

/// The voxels of a scattered set, for which the numbers below were computed.
fn scattered(below: usize) -> Mask {
    let grid = grid([17, 13, 11], 1.0);
    let inside = (0..grid.voxel_count()).map(|i| {
        let [x, y, z] = grid.voxel(i);
        let scatter = (x * 73_856_093) ^ (y * 19_349_663) ^ (z * 83_492_791);
        u8::from(scatter % 101 < below)
    });
    let inside: Vec<u8> = inside.collect();
    Mask::new(grid, inside)
}

/// Voxels in all, in the largest part, in parts with at least 5, and with holes filled: `scipy.ndimage.label` with
/// `generate_binary_structure(3, 1..3)`, and `binary_fill_holes` with that of rank 3 for 6 neighbours, else of rank 1.
fn as_scipy() {
    use Connectivity::{Corners, Edges, Faces};
    let known = [
        (18, Faces, [440, 13, 116, 440]),
        (18, Edges, [440, 244, 377, 440]),
        (18, Corners, [440, 418, 429, 440]),
        (30, Faces, [732, 70, 499, 732]),
        (30, Edges, [732, 720, 720, 732]),
        (30, Corners, [732, 732, 732, 732]),
        (62, Faces, [1525, 1521, 1521, 1525]),
        (62, Edges, [1525, 1525, 1525, 1569]),
        (62, Corners, [1525, 1525, 1525, 1569]),
        (88, Faces, [2133, 2133, 2133, 2154]),
        (88, Edges, [2133, 2133, 2133, 2293]),
        (88, Corners, [2133, 2133, 2133, 2293]),
    ];
    let control = Control::new();
    for (below, connectivity, expected) in known {
        let mask = scattered(below);
        let largest = remove_islands(&mask, 0, true, connectivity, &control).unwrap();
        let large = remove_islands(&mask, 5, false, connectivity, &control).unwrap();
        let filled = fill_holes(&mask, connectivity, &control).unwrap();
        let found = [&mask, &largest, &large, &filled].map(Mask::count);
        assert_eq!(found, expected, "{below} {connectivity:?}");
    }
}

/// The parts by labels that spread until nothing changes.
fn spread(mask: &Mask, connectivity: Connectivity) -> Vec<usize> {
    let grid = &mask.grid;
    let most = ALL.iter().position(|c| *c == connectivity).unwrap() + 1;
    let voxels: Vec<[usize; 3]> = mask.voxels_inside().collect();
    let joined = |a: &[usize; 3], b: &[usize; 3]| {
        let off = [0, 1, 2].map(|axis| a[axis].abs_diff(b[axis]));
        off.iter().all(|o| *o <= 1) && (1..=most).contains(&off.iter().sum())
    };
    let mut labels: Vec<usize> = (0..voxels.len()).collect();
    loop {
        let before = labels.clone();
        for (i, a) in voxels.iter().enumerate() {
            for (j, b) in voxels.iter().enumerate() {
                if joined(a, b) {
                    labels[i] = labels[i].min(labels[j]);
                }
            }
        }
        if labels == before {
            break;
        }
    }
    let mut all = vec![usize::MAX; grid.voxel_count()];
    for (voxel, label) in voxels.iter().zip(labels) {
        all[grid.index(*voxel)] = label;
    }
    all
}

fn by_brute_force() {
    let mut random = Random::fresh("parts of regions");
    for connectivity in ALL {
        let grid = any_grid(&mut random, [7, 6, 5], 0.2);
        let inside = (0..grid.voxel_count()).map(|_| u8::from(random.uniform(0.0, 1.0) < 0.25));
        let inside: Vec<u8> = inside.collect();
        let mask = Mask::new(grid, inside);
        let labels = spread(&mask, connectivity);
        let size = |label: usize| labels.iter().filter(|l| **l == label).count();
        let found = remove_islands(&mask, 3, false, connectivity, &Control::new()).unwrap();
        for (i, label) in labels.iter().enumerate() {
            let expected = *label != usize::MAX && size(*label) >= 3;
            assert_eq!(
                found.inside[i] != 0,
                expected,
                "{connectivity:?}, voxel {i}"
            );
        }
    }
}

fn hollow() {
    let grid = grid([31, 31, 31], 1.0);
    let centre = DVec3::splat(15.0);
    let ball = |radius_mm: f64| Shape::Sphere { centre, radius_mm }.mask_on(&grid);
    let (outer, inner) = (ball(12.0), ball(9.0));
    let walls = outer.inside.iter().zip(inner.inside.iter());
    let shell: Vec<u8> = walls.map(|(o, i)| o - i).collect();
    let control = Control::new();
    for connectivity in ALL {
        let shell = Mask::new(grid.clone(), shell.clone());
        let filled = fill_holes(&shell, connectivity, &control).unwrap();
        assert_eq!(filled.inside, outer.inside, "{connectivity:?}");
        // A channel through the wall opens it.
        let mut open = shell.clone();
        open.edit(([15, 15, 15], [30, 15, 15]), false, |_, _, set| {
            (15..=30).for_each(set);
        });
        let filled = fill_holes(&open, connectivity, &control).unwrap();
        assert_eq!(filled.inside, open.inside, "{connectivity:?}");
    }
    // A cavity that is open at the edge of the grid is not a hole.
    let half = Mask::cut_to(&grid, ([15, 0, 0], [30, 30, 30]), |i| shell[i] != 0);
    let half = Mask::new(half.grid.clone(), half.inside.clone());
    let filled = fill_holes(&half, Connectivity::Corners, &control).unwrap();
    assert_eq!(filled.count(), half.count());
}

fn ties() {
    let grid = grid([9, 1, 1], 1.0);
    let mask = Mask::new(grid.clone(), vec![1, 1, 0, 1, 1, 0, 1, 0, 0]);
    let keep = Change {
        only_largest: true,
        ..Change::defaults()
    };
    let found = change(&mask, &keep, &Control::new()).unwrap();
    assert_eq!(*found.inside, [1, 1, 0, 0, 0, 0, 0, 0, 0]);
    let remove = Change {
        smallest_voxels: Some(2),
        ..Change::defaults()
    };
    let found = change(&mask, &remove, &Control::new()).unwrap();
    assert_eq!(*found.inside, [1, 1, 0, 1, 1, 0, 0, 0, 0]);
    let empty = Mask::empty(&grid);
    assert_eq!(change(&empty, &keep, &Control::new()).unwrap().count(), 0);
}

/// Discs of 4 and 9 mm are 12 slices apart: each slice in between has a disc whose radius is interpolated linearly.
fn between_discs() {
    let grid = grid([41, 41, 15], 0.5);
    let centre = |slice: f64| DVec3::new(10.0, 10.0, 0.5 * slice);
    let radius = |slice: usize| 4.0 + (slice as f64 - 1.0) / 12.0 * 5.0;
    let mut mask = Mask::empty(&grid);
    for slice in [1usize, 13] {
        let around = (0..720).map(|i| {
            let (sin, cos) = (f64::from(i) * std::f64::consts::PI / 360.0).sin_cos();
            centre(slice as f64) + DVec3::new(cos, sin, 0.0) * radius(slice)
        });
        let disc = Outline {
            points: around.collect(),
            normal: DVec3::Z,
            thickness_mm: None,
        };
        disc.apply(&mut mask, true);
    }
    let found = interpolate(&mask, SliceAxis::Axial, &Control::new()).unwrap();
    for slice in 0..15 {
        let voxels = found.voxels_inside().filter(|v| v[2] == slice);
        let area = voxels.count() as f64 * 0.25;
        if !(1..=13).contains(&slice) {
            assert_eq!(area, 0.0);
            continue;
        }
        // The border of a set of voxels is within a voxel of that of the disc.
        let radius_mm = (area / std::f64::consts::PI).sqrt();
        assert!(
            (radius_mm - radius(slice)).abs() < 0.5,
            "slice {slice}: {radius_mm} for {}",
            radius(slice)
        );
    }
    let drawn = |m: &Mask| -> Vec<[usize; 3]> {
        m.voxels_inside()
            .filter(|v| v[2] == 1 || v[2] == 13)
            .collect()
    };
    assert_eq!(drawn(&found), drawn(&mask), "drawn slices stay");
}

/// Random slices on grids in any orientation; distances to the voxels' boxes one by one.
fn as_defined() {
    let mut random = Random::fresh("slices in between");
    for round in 0..6 {
        let grid = any_grid(&mut random, [9, 8, 7], 0.0);
        let slices = SliceAxis::ALL[round % 3];
        let axis = slices.voxel_axis(&grid);
        let drawn = [1usize, 2, 6];
        let mut inside = vec![0; grid.voxel_count()];
        for (i, inside) in inside.iter_mut().enumerate() {
            let voxel = grid.voxel(i);
            let is_drawn = drawn.contains(&voxel[axis]);
            *inside = u8::from(is_drawn && random.uniform(0.0, 1.0) < 0.4);
        }
        let mask = Mask::new(grid.clone(), inside.clone());
        let distance = |voxel: [usize; 3], slice: usize| {
            let mut from = voxel;
            from[axis] = slice;
            let own = inside[grid.index(from)];
            let others = (0..grid.voxel_count()).map(|i| (grid.voxel(i), inside[i]));
            let others = others.filter(|(v, value)| v[axis] == slice && *value != own);
            let mm = others.map(|(v, _)| {
                let gap = |a: usize| match a == axis {
                    true => 0.0,
                    false => (v[a].abs_diff(from[a]) as f64 - 0.5).max(0.0),
                };
                (DVec3::new(gap(0), gap(1), gap(2)) * grid.spacing()).length()
            });
            let mm = mm.fold(f64::INFINITY, f64::min);
            if own != 0 { -mm } else { mm }
        };
        let found = interpolate(&mask, slices, &Control::new()).unwrap();
        for (i, inside) in inside.iter().enumerate() {
            let voxel = grid.voxel(i);
            let slice = voxel[axis];
            if !(3..6).contains(&slice) {
                assert_eq!(found.inside[i], *inside);
                continue;
            }
            let share = (slice - 2) as f64 / 4.0;
            let mm = (1.0 - share) * distance(voxel, 2) + share * distance(voxel, 6);
            // Ties round either way.
            if mm.abs() > 1e-6 {
                assert_eq!(found.inside[i] != 0, mm < 0.0, "voxel {voxel:?}: {mm} mm");
            }
        }
    }
}

fn sheared() {
    let mut random = Random::fresh("sheared slices");
    let grid = any_grid(&mut random, [6, 6, 6], 0.3);
    let mut inside = vec![0; grid.voxel_count()];
    inside[0] = 1;
    inside[grid.voxel_count() - 1] = 1;
    let mask = Mask::new(grid, inside);
    let refused = interpolate(&mask, SliceAxis::Axial, &Control::new());
    let sentence = refused.unwrap_err().to_string();
    assert!(sentence.contains("not at right angles"), "{sentence}");
}

/// In a ball, a + b·x has the mean and the median a + b·x₀ and the variance (b·r)²/5.
fn linear_in_ball() {
    let grid = grid([61, 61, 61], 0.8);
    let (centre, radius_mm) = (DVec3::splat(24.0), 20.1);
    let ball = Shape::Sphere { centre, radius_mm };
    let mask = ball.mask_on(&grid);
    let slope = DVec3::new(0.3, -0.2, 0.5);
    let values = (0..grid.voxel_count()).map(|i| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        (5.0 + slope.dot(at)) as f32
    });
    let image = Volume::scalar(grid.clone(), values.collect::<Vec<f32>>());
    let found = statistics((&image, 0), &mask, 64, &Control::new()).unwrap();
    let volume_ml = ball.volume_mm3() * 1e-3;
    // Voxels at the surface count as a whole or not at all.
    assert!((found.volume_ml / volume_ml - 1.0).abs() < 5e-3);
    let expected = 5.0 + slope.dot(centre);
    assert!((found.mean - expected).abs() < 1e-4, "{}", found.mean);
    assert!((found.median - expected).abs() < 1e-3);
    let sd = slope.length() * radius_mm / 5f64.sqrt();
    assert!((found.sd / sd - 1.0).abs() < 5e-3, "{} {sd}", found.sd);
    let half = slope.length() * radius_mm;
    let (low, high) = found.range;
    // The outermost centre lies within a voxel of the surface.
    assert!((low - (expected - half)).abs() < 0.8 && (high - (expected + half)).abs() < 0.8);
    assert_eq!(found.histogram.iter().sum::<u64>(), found.values as u64);
}
