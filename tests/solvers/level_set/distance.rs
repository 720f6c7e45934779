//! Distance of a surface from streamlines and other surfaces: closed forms, brute force on random fields.

use super::{axes, grid};
use crate::support::{Random, lines, test};
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::solvers::level_set::Field;
use arcuate::solvers::level_set::distance::{
    Approach, Isosurface, overlap, through, to_streamlines, to_surface, within,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::distance: a plane and segments", planes),
        test("level_set::distance: a sphere and lines", spheres),
        test("level_set::distance: brute force", brute_force),
        test("level_set::distance: between surfaces", surfaces),
        test("level_set::distance: what goes through", crossing),
        test("level_set::distance: a tube around a line", tube),
        test("level_set::distance: nothing and no numbers", nothing),
        test("level_set::distance: voxels within a margin", margins),
    ]
}

/// No nearer point is missed by more than this.
const EXACT_MM: f64 = 1e-3;

fn shortest_edge(grid: &Grid) -> f64 {
    grid.spacing().min_element()
}

/// A field of world distances, positive inside.
fn field(grid: &Arc<Grid>, inside_mm: impl Fn(DVec3) -> f64 + Sync) -> Field {
    let h = shortest_edge(grid);
    let phi = |v: [usize; 3]| {
        let at = grid.world(DVec3::from_array(v.map(|c| c as f64)));
        (inside_mm(at) / h) as f32
    };
    Field::from_fn(grid, h, 4.0, (8, false), phi)
}

fn voxel(grid: &Grid, index: [i64; 3]) -> usize {
    grid.index(index.map(|v| v as usize))
}

/// φ as drawn, at a point in voxels within the grid.
fn phi(dense: &[f32], grid: &Grid, at: DVec3) -> f64 {
    let low = at.floor();
    let t = at - low;
    (0..8)
        .map(|k| {
            let bit = |a: usize| (k >> a & 1) as i64;
            let corner = [0, 1, 2].map(|a| (low[a] as i64 + bit(a)).min(grid.shape[a] as i64 - 1));
            let weight = |a: usize| if bit(a) == 1 { t[a] } else { 1.0 - t[a] };
            weight(0) * weight(1) * weight(2) * f64::from(dense[voxel(grid, corner)])
        })
        .sum()
}

fn to_segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let way = b - a;
    let t = ((p - a).dot(way) / way.length_squared().max(1e-30)).clamp(0.0, 1.0);
    p.distance(a + t * way)
}

fn to_lines(p: DVec3, lines: &Tractogram) -> f64 {
    let each = lines.streamlines().flat_map(|line| {
        let points: Vec<DVec3> = line
            .iter()
            .map(|p| glam::Vec3::from(*p).as_dvec3())
            .collect();
        let pairs: Vec<[DVec3; 2]> = points.windows(2).map(|w| [w[0], w[1]]).collect();
        pairs
    });
    each.map(|[a, b]| to_segment(p, a, b))
        .fold(f64::INFINITY, f64::min)
}

/// Points of the drawn surface: its crossings of the edges of `n`³ parts of every cell, at most a part's diagonal from
/// any of its points.
fn points_of(field: &Field, n: usize) -> Vec<DVec3> {
    let (grid, dense) = (&field.grid, field.values_by_voxel());
    let mut found = Vec::new();
    let [nx, ny, nz] = grid.shape.map(|v| v - 1);
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                let cell = [x, y, z];
                let corner = |k: usize| [0, 1, 2].map(|a| (cell[a] + (k >> a & 1)) as i64);
                let inside = (0..8)
                    .filter(|k| dense[voxel(grid, corner(*k))] > 0.0)
                    .count();
                if inside == 0 || inside == 8 {
                    continue;
                }
                let base = DVec3::from_array(cell.map(|v| v as f64));
                let at = |i: [usize; 3]| base + DVec3::from_array(i.map(|v| v as f64 / n as f64));
                let all = (0..(n + 1).pow(3))
                    .map(|i| [i % (n + 1), i / (n + 1) % (n + 1), i / (n + 1).pow(2)]);
                for place in all {
                    for axis in 0..3 {
                        let mut next = place;
                        next[axis] += 1;
                        if next[axis] > n {
                            continue;
                        }
                        let [p, q] = [at(place), at(next)];
                        // The last part's corners are the cell's own.
                        let inner = |p: DVec3| p.min(base + 1.0 - 1e-12);
                        let [u, v] = [p, q].map(|p| phi(&dense, grid, inner(p)));
                        if (u > 0.0) != (v > 0.0) {
                            found.push(grid.world(p.lerp(q, u / (u - v))));
                        }
                    }
                }
            }
        }
    }
    found
}

/// Properties of every answer: both points are where they should be, and the bounds are tight.
fn check_approach(found: &Approach, field: &Field, lines: Option<&Tractogram>) {
    let Approach {
        mm,
        at_most_mm,
        point,
        surface,
    } = *found;
    assert!(mm <= at_most_mm && at_most_mm - mm <= EXACT_MM, "{found:?}");
    assert!(
        (point.distance(surface) - at_most_mm).abs() < 1e-9,
        "{found:?}"
    );
    let value = phi(
        &field.values_by_voxel(),
        &field.grid,
        field.grid.voxel_at(surface),
    );
    assert!(value.abs() < 1e-5, "φ = {value} on the surface");
    if let Some(lines) = lines {
        let off = to_lines(point, lines);
        assert!(off < 1e-5, "{off} mm from the streamlines");
    }
}

/// φ of a plane is linear, so the drawn surface is the plane itself.
fn planes() {
    let mut random = Random::fresh("distance plane");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, 40.0);
        for _ in 0..10 {
            let normal = random.direction();
            let off = random.uniform(-2.0, 2.0);
            let field = field(&grid, |p| normal.dot(p) - off);
            let surface = Isosurface::of_field(&field);
            // Long segments whose ends are far and whose middle is near.
            let along = normal.cross(random.direction()).normalize();
            let near = random.uniform(0.5, 6.0);
            let middle = normal * (off - near);
            let bent = [
                middle - 9.0 * along - 3.0 * normal,
                middle,
                middle + 9.0 * along - 2.0 * normal,
            ];
            let tilt = random.uniform(0.0, 0.05);
            let straight = [
                middle - 9.0 * (along + tilt * normal),
                middle + 9.0 * (along + tilt * normal),
            ];
            let bent = lines(&[bent.to_vec()]);
            let found = to_streamlines(&surface, &bent, None, EXACT_MM).unwrap();
            check_approach(&found, &field, Some(&bent));
            assert!(
                (found.mm - near).abs() < EXACT_MM + 1e-5,
                "{name}: {near} {found:?}"
            );
            let straight = lines(&[straight.to_vec()]);
            let found = to_streamlines(&surface, &straight, None, EXACT_MM).unwrap();
            let least = near - 9.0 * tilt;
            assert!(
                (found.mm - least).abs() < EXACT_MM + 1e-5,
                "{name}: {least} {found:?}"
            );
        }
    }
}

/// A streamline of two points 60 mm apart passes a sphere: the distance of its points alone is not a guide.
fn spheres() {
    let mut random = Random::fresh("distance sphere");
    for (name, axes) in axes(&mut random) {
        for scale in [0.5, 1.0] {
            let grid = grid(axes * scale, 26.0);
            let (centre, radius) = (random.direction() * 0.7, random.uniform(6.0, 9.0));
            let field = field(&grid, |p| radius - p.distance(centre));
            let surface = Isosurface::of_field(&field);
            // Trilinear between the exact values of a distance, whose second derivatives are below 1 / R.
            let edges = [0, 1, 2].map(|a| grid.world_from_voxel.matrix3.col(a).length_squared());
            let drawn = 1.1 * edges.iter().sum::<f64>() / 8.0 / (radius - 2.0);
            for _ in 0..20 {
                let out = random.direction();
                let along = out.cross(random.direction()).normalize();
                let away = random.uniform(0.2, 35.0);
                let middle = centre + (radius + away) * out;
                let line = lines(&[vec![middle - 30.0 * along, middle + 30.0 * along]]);
                let found = to_streamlines(&surface, &line, None, EXACT_MM).unwrap();
                check_approach(&found, &field, Some(&line));
                let off = found.mm - away;
                assert!(off.abs() < drawn + EXACT_MM, "{name}: {away} {found:?}");
                assert_eq!(through(&field, &surface, &line).count, 0);
                // From a point that was near before, the result is the same.
                let known = Some(middle + random.uniform(-5.0, 5.0) * along);
                let repeated = to_streamlines(&surface, &line, known, EXACT_MM).unwrap();
                assert!(
                    (repeated.mm - found.mm).abs() <= EXACT_MM,
                    "{found:?} {repeated:?}"
                );
            }
        }
    }
}

/// Some overlapping blobs, an irregular surface.
fn blobs(grid: &Arc<Grid>, random: &mut Random, side: f64) -> Field {
    let blobs: Vec<(DVec3, f64)> = (0..6)
        .map(|_| {
            let at = DVec3::from_array([0; 3].map(|_| random.uniform(-0.3, 0.3) * side));
            (at, random.uniform(1.5, 3.5))
        })
        .collect();
    let cut = random.uniform(0.3, 0.6);
    field(grid, move |p| {
        let all = blobs
            .iter()
            .map(|(at, r)| (-p.distance_squared(*at) / (2.0 * r * r)).exp());
        4.0 * (all.sum::<f64>() - cut)
    })
}

/// Wiggling lines outside a box of this half side.
fn wiggles(random: &mut Random, count: usize, half: f64) -> Tractogram {
    let line = |random: &mut Random| -> Vec<DVec3> {
        let out = random.direction();
        let along = out.cross(random.direction()).normalize();
        let start = out * random.uniform(half, half + 6.0);
        let steps = 3 + (random.bits() % 60) as usize;
        let step = random.uniform(0.2, 4.0);
        let bend = random.uniform(-0.3, 0.3);
        (0..steps)
            .map(|i| {
                let s = step * (i as f64 - 0.5 * steps as f64);
                start + s * along + bend * (0.7 * s).sin() * out
            })
            .collect()
    };
    let all: Vec<Vec<DVec3>> = (0..count).map(|_| line(random)).collect();
    lines(&all)
}

fn brute_force() {
    let mut random = Random::fresh("distance brute force");
    const PARTS: usize = 4;
    for round in 0..2 {
        for (name, axes) in axes(&mut random) {
            let grid = grid(axes, 26.0);
            let field = blobs(&grid, &mut random, 12.0);
            let surface = Isosurface::of_field(&field);
            let all = points_of(&field, PARTS);
            if all.is_empty() {
                continue;
            }
            let some = wiggles(&mut random, 25, 9.0);
            if through(&field, &surface, &some).count > 0 {
                continue;
            }
            let found = to_streamlines(&surface, &some, None, EXACT_MM).unwrap();
            check_approach(&found, &field, Some(&some));
            let brute = all
                .iter()
                .map(|p| to_lines(*p, &some))
                .fold(f64::INFINITY, f64::min);
            let axes = grid.world_from_voxel.matrix3;
            let diagonal =
                (axes.col(0).length() + axes.col(1).length() + axes.col(2).length()) / PARTS as f64;
            println!(
                "{round} {name}: {:.4} mm, brute force {brute:.4} mm",
                found.mm
            );
            assert!(found.mm <= brute + 1e-9, "{brute} is nearer than {found:?}");
            assert!(found.mm >= brute - diagonal, "{brute} and {found:?}");
        }
    }
}

/// The distance image of a sphere's centre: the voxels within a given distance are another sphere.
fn ball(grid: &Arc<Grid>, centre: DVec3) -> Volume {
    let away = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        at.distance(centre) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(away).collect();
    Volume::scalar(grid.clone(), values)
}

fn surfaces() {
    let mut random = Random::fresh("distance surfaces");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, 44.0);
        let out = random.direction();
        let [own, other] = [-9.0 * out, 9.0 * out];
        let radius = random.uniform(4.0, 6.0);
        let field = field(&grid, |p| radius - p.distance(own));
        let surface = Isosurface::of_field(&field);
        let second = self::grid(axes * 0.8, 44.0);
        let volume = ball(&second, other);
        let edges = [0, 1, 2].map(|a| grid.world_from_voxel.matrix3.col(a).length_squared());
        for level in [2.5f32, 5.0, 7.0] {
            let set = Isosurface::at_most(&volume, level);
            let found = to_surface(&surface, &set, None, EXACT_MM).unwrap();
            check_approach(&found, &field, None);
            let true_mm = 18.0 - radius - f64::from(level);
            let drawn = edges.iter().sum::<f64>() / 8.0
                * (1.0 / (radius - 2.0) + 1.0 / f64::from(level - 1.2));
            println!("{name}: {:.3} mm for {true_mm:.3}", found.mm);
            assert!(
                (found.mm - true_mm).abs() < drawn + EXACT_MM,
                "{name}: {true_mm} {found:?}"
            );
            let repeated = to_surface(&surface, &set, Some(found.point), EXACT_MM).unwrap();
            assert!(
                (repeated.mm - found.mm).abs() <= EXACT_MM,
                "{found:?} {repeated:?}"
            );
            // A rougher distance is never too large.
            let rough = to_surface(&surface, &set, None, 0.1).unwrap();
            let below = found.mm - rough.mm;
            assert!((-EXACT_MM..=0.1).contains(&below), "{found:?} {rough:?}");
            assert_eq!(overlap(&field, &surface, &volume, level).count, 0);
        }
        // They overlap, one is within the other, and the other way round.
        let met = overlap(&field, &surface, &volume, 20.0);
        let at = met.point.expect("a place");
        assert!(met.count > 0 && at.distance(own) < radius && at.distance(other) < 20.0);
        let inner = ball(&second, own);
        assert!(overlap(&field, &surface, &inner, 2.0).count > 0);
        assert!(overlap(&field, &surface, &inner, 15.0).count > 0);
        // So few voxels that none lies within: only the surface shows that it lies among them.
        let small = self::field(&grid, |p| 0.4 - p.distance(own));
        let tiny = Isosurface::of_field(&small);
        let coarse = ball(&self::grid(axes * 7.0, 44.0), own);
        if has_tiny(&small) {
            assert!(overlap(&small, &tiny, &coarse, 15.0).count > 0);
        }
    }
}

fn has_tiny(field: &Field) -> bool {
    field.count_voxels(1.0).inside > 0
}

/// Dense samples along every streamline decide whether it enters.
fn crossing() {
    let mut random = Random::fresh("distance through");
    let mut counted = [0; 2];
    for (name, axes) in axes(&mut random) {
        for _ in 0..3 {
            let grid = grid(axes, 26.0);
            let field = blobs(&grid, &mut random, 12.0);
            let surface = Isosurface::of_field(&field);
            let dense = field.values_by_voxel();
            let some = wiggles(&mut random, 150, 1.0);
            let (mut sure, mut perhaps) = (0, 0);
            for line in some.streamlines() {
                let points: Vec<DVec3> = line
                    .iter()
                    .map(|p| grid.voxel_at(glam::Vec3::from(*p).as_dvec3()))
                    .collect();
                let most = points.windows(2).flat_map(|w| {
                    let (a, b) = (w[0], w[1]);
                    (0..=400).map(move |i| a.lerp(b, f64::from(i) / 400.0))
                });
                let last = DVec3::from_array(grid.shape.map(|n| (n - 1) as f64));
                let within = |p: &DVec3| p.cmpge(DVec3::ZERO).all() && p.cmple(last).all();
                let most = most.filter(within).map(|p| phi(&dense, &grid, p));
                let most = most.fold(f64::NEG_INFINITY, f64::max);
                sure += u64::from(most > 0.0);
                // Between two samples it may be higher by the part they miss.
                perhaps += u64::from(most > -0.01);
            }
            let found = through(&field, &surface, &some);
            println!(
                "{name}: {} of {} go through, {sure} by samples",
                found.count,
                some.len()
            );
            assert!(
                (sure..=perhaps).contains(&found.count),
                "{sure} {found:?} {perhaps}"
            );
            if let Some(at) = found.point {
                assert!(
                    phi(&dense, &grid, grid.voxel_at(at)) > 0.0,
                    "{at} is outside"
                );
                assert!(to_lines(at, &some) < 1e-5);
            }
            counted[0] += found.count;
            counted[1] += some.len() as u64 - found.count;
        }
    }
    assert!(counted.iter().all(|n| *n > 20), "both kinds: {counted:?}");
    // A long segment through the middle, whose ends are outside.
    let grid = grid(DMat3::IDENTITY, 30.0);
    let field = field(&grid, |p| 5.0 - p.length());
    let surface = Isosurface::of_field(&field);
    let across = lines(&[
        vec![DVec3::new(-40.0, 4.9, 0.0), DVec3::new(40.0, 4.9, 0.0)],
        vec![DVec3::new(-40.0, 5.1, 0.0), DVec3::new(40.0, 5.1, 0.0)],
        vec![DVec3::ZERO, DVec3::X],
        vec![DVec3::ZERO],
    ]);
    assert_eq!(through(&field, &surface, &across).count, 3);
}

/// The distance is the same all along the line, so no part can be left out early.
fn tube() {
    let grid = grid(DMat3::IDENTITY, 60.0);
    let axis = DVec3::new(1.0, 0.2, -0.1).normalize();
    let radius = 6.0;
    let field = field(&grid, |p| {
        let across = p - p.dot(axis) * axis;
        // The inside surrounds the hollow.
        across.length() - radius
    });
    let surface = Isosurface::of_field(&field);
    let line = lines(&[(-20..=20).map(|i| f64::from(i) * axis).collect()]);
    let started = std::time::Instant::now();
    let found = to_streamlines(&surface, &line, None, EXACT_MM).unwrap();
    println!("{found:?} in {:?}", started.elapsed());
    assert!(
        found.mm <= found.at_most_mm && found.at_most_mm < radius + 0.05,
        "{found:?}"
    );
    assert!(found.mm > radius - 0.1, "{found:?}");
    assert_eq!(through(&field, &surface, &line).count, 0);
}

fn nothing() {
    let grid = grid(DMat3::IDENTITY, 20.0);
    let field = field(&grid, |p| 5.0 - p.length());
    let surface = Isosurface::of_field(&field);
    let none = Isosurface::of_field(&self::field(&grid, |_| -1.0));
    let line = lines(&[vec![DVec3::new(8.0, 0.0, 0.0), DVec3::new(8.0, 1.0, 0.0)]]);
    assert!(to_streamlines(&none, &line, None, EXACT_MM).is_none());
    assert_eq!(through(&field, &none, &line).count, 0);
    assert!(to_streamlines(&surface, &Tractogram::empty(), None, EXACT_MM).is_none());
    assert!(to_surface(&surface, &none, None, EXACT_MM).is_none());
    assert!(to_surface(&none, &surface, None, EXACT_MM).is_none());
    // NaN is skipped; a single point counts.
    let nan = f64::NAN;
    let odd = lines(&[
        vec![
            DVec3::new(7.0, 0.0, 0.0),
            DVec3::new(nan, 0.0, 0.0),
            DVec3::new(7.5, 0.0, 0.0),
        ],
        vec![DVec3::new(0.0, 6.5, 0.0)],
        vec![DVec3::splat(nan)],
        vec![],
    ]);
    let found = to_streamlines(&surface, &odd, Some(DVec3::splat(nan)), EXACT_MM).unwrap();
    // Trilinear between the distances of a sphere this small.
    let drawn = 3.0 / 8.0 / (5.0 - 3f64.sqrt());
    assert!((found.mm - 1.5).abs() < drawn, "{found:?}");
    // A surface that reaches the grid's border is closed half a voxel beyond it.
    let full = self::field(&grid, |_| 1.0);
    let closed = Isosurface::of_field(&full);
    let last = grid.world(DVec3::from_array(grid.shape.map(|n| n as f64 - 1.0)));
    let far = lines(&[vec![
        DVec3::new(last.x + 3.0, 0.0, 0.0),
        DVec3::new(last.x + 3.0, 1.0, 0.0),
    ]]);
    let found = to_streamlines(&closed, &far, None, EXACT_MM).unwrap();
    assert!((found.mm - 2.5).abs() < EXACT_MM + 1e-5, "{found:?}");
}

/// Voxels within a margin of a plane and of a sphere: by their distances, but for those that lie on the margin itself.
fn margins() {
    let mut random = Random::fresh("margins");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, 30.0);
        // No nearest point lies beyond the grid of the surface.
        let image = grid_of_voxels(&super::grid(axes, 16.0));
        let centre = 2.0 * random.direction();
        let normal = random.direction();
        let plane = |at: DVec3| -(at - centre).dot(normal);
        let ball = |at: DVec3| 8.0 - at.distance(centre);
        // The drawn surface of a sphere lies inside it, between the voxels.
        type Inside<'a> = &'a (dyn Fn(DVec3) -> f64 + Sync);
        let cases: [(&str, Inside, f64); 2] = [("plane", &plane, 0.01), ("ball", &ball, 0.3)];
        for (shape, inside_mm, off_mm) in cases {
            let field = field(&grid, inside_mm);
            let surface = Isosurface::of_field(&field);
            for margin_mm in [0.0, 0.7, 3.0, 6.5] {
                let found = within(&field, &surface, (&image, 0.5), margin_mm);
                let nearer = |mm: f64| {
                    let grid = &image.grid;
                    let voxels = (0..grid.voxel_count()).filter(|v| image.frame(0)[*v] <= 0.5);
                    let at = voxels
                        .map(|v| grid.world(DVec3::from_array(grid.voxel(v).map(|c| c as f64))));
                    at.filter(|at| -inside_mm(*at) < mm).count() as u64
                };
                let (least, most) = (nearer(margin_mm - off_mm), nearer(margin_mm + off_mm));
                assert!(
                    (least..=most).contains(&found),
                    "{name}, {shape}, {margin_mm} mm: {found}, expected {least} to {most}"
                );
                assert!(
                    most - least < most / 3,
                    "{name}, {shape}: {least} to {most} says little"
                );
            }
        }
    }
    let grid = grid(DMat3::IDENTITY, 8.0);
    let outside = field(&grid, |_| -1.0);
    let image = grid_of_voxels(&grid);
    let surface = Isosurface::of_field(&outside);
    assert_eq!(within(&outside, &surface, (&image, 0.5), 5.0), 0);
}

/// An image whose voxels alternate between 0 and 1.
fn grid_of_voxels(grid: &Arc<Grid>) -> Volume {
    let value = |v: usize| (grid.voxel(v).iter().sum::<usize>() % 2) as f32;
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(grid.clone(), values)
}
