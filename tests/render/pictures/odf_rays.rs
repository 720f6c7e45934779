//! Large glyphs of fibre orientation distributions, by a ray per pixel: against meshes, closed forms, and rays followed
//! step by step.

use super::odf_glyphs::{lobes, row, shown};
use super::{lines, offscreen, tractogram};
use crate::support::panes::{pane, scene};
use crate::support::{Random, test};
use arcuate::data::OdfField;
use arcuate::data::spherical_harmonics::{Polynomials, Series, count};
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{Glyphs, LineColour, LineStyle, OdfGlyphs, ScenePane, SlicePane};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::rays draw what a mesh draws", as_meshes),
        test(
            "render::rays draw spheres and peanuts exactly",
            closed_forms,
        ),
        test("render::rays miss no thin lobe", thin_lobes),
        test("render::rays have the depth of their surface", depth),
        test("render::glyphs are ray-cast from a size on", switch),
        test("render::each glyph is ray-cast or a mesh", each_once),
    ]
}

const SIZE: u32 = 240;
/// Width of the view, mm.
const WIDTH_MM: f64 = 40.0;
const MM: f64 = WIDTH_MM / SIZE as f64;

/// Sizes from which glyphs are cast: all of them are, or none.
const CAST: f32 = 0.0;
const MESH: f32 = f32::INFINITY;

/// One distribution at the origin between two empty voxels.
fn single(random: &mut Random, order: usize, coefficients: &[f64]) -> OdfField {
    let none = vec![0.0; count(order)];
    row(random, order, [&none, coefficients, &none])
}

fn glyph(field: &OdfField, radius: f64, normal: DVec3, cast_from_px: f32) -> Option<Glyphs> {
    Some(Glyphs::Odfs(OdfGlyphs {
        cast_from_px,
        ..shown(field, radius, normal)
    }))
}

fn is_dark([r, g, b, _]: [u8; 4]) -> bool {
    u32::from(r) + u32::from(g) + u32::from(b) < 60
}

fn pixels(size: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..size * size).map(move |i| (i % size, i / size))
}

/// Pixels drawn in only one of two pictures, and among those drawn in both the ones whose colours differ by more than
/// 24 of 255; each as a fraction of the pixels drawn.
fn differences(a: &Picture, b: &Picture) -> (f64, f64) {
    let (mut drawn, mut only_one, mut coloured) = (0, 0, 0);
    for (x, y) in pixels(SIZE) {
        let (left, right) = (a.pixel(x, y), b.pixel(x, y));
        match (is_dark(left), is_dark(right)) {
            (true, true) => continue,
            (false, false) => {
                let off = (0..3).any(|c| left[c].abs_diff(right[c]) > 24);
                coloured += u32::from(off);
            }
            _ => only_one += 1,
        }
        drawn += 1;
    }
    assert!(drawn > 1000, "{drawn}");
    (
        f64::from(only_one) / f64::from(drawn),
        f64::from(coloured) / f64::from(drawn),
    )
}

/// The finest mesh, of 2562 vertices, differs by little in outline and shading.
fn as_meshes() {
    let mut random = Random::fresh("rays and meshes");
    let mut offscreen = offscreen();
    for order in [0, 2, 4, 8, 12, 16] {
        let directions: Vec<DVec3> = (0..3).map(|_| random.direction()).collect();
        let sizes = [1.0, random.uniform(0.5, 1.0), random.uniform(0.3, 0.8)];
        let along: Vec<(DVec3, f64)> = directions.into_iter().zip(sizes).collect();
        let field = single(&mut random, order, &lobes(order, &along));
        let radius = random.uniform(12.0, 16.0);
        // The mesh cuts across the tips of narrow lobes.
        let (most, most_coloured) = if order > 8 {
            (0.04, 0.06)
        } else {
            (0.02, 0.03)
        };
        let check = |mesh: &Picture, rays: &Picture, what: &str| {
            let (outline, coloured) = differences(mesh, rays);
            assert!(
                outline <= most && coloured <= most_coloured,
                "{what}, order {order}: {outline} {coloured}"
            );
        };
        let turn = DMat3::from_quat(random.rotation());
        let mut slice = |from_px| {
            let list = SlicePane {
                glyphs: glyph(&field, radius, turn.z_axis, from_px),
                ..pane(SIZE, DVec3::ZERO, turn.x_axis, turn.y_axis, MM)
            };
            offscreen.slice(&list).expect("a picture")
        };
        check(&slice(MESH), &slice(CAST), "slice");
        // Near, so that perspective matters.
        let direction = random.direction();
        let eye = direction.with_z(direction.z * 0.7).normalize() * 80.0;
        let mut picture = |from_px| {
            let list = ScenePane {
                glyphs: glyph(&field, radius, DVec3::Z, from_px),
                ..scene(SIZE, eye)
            };
            offscreen.scene(&list).expect("a picture")
        };
        check(&picture(MESH), &picture(CAST), "scene");
    }
}

/// A sphere, its shading, and r = a + b P2 about an axis in the picture's plane, whose outline is that curve itself.
fn closed_forms() {
    let mut random = Random::fresh("rays closed forms");
    let mut offscreen = offscreen();
    for b in [0.0, 0.4, 0.9] {
        let turn = DMat3::from_quat(random.rotation());
        let angle = random.uniform(0.0, 3.0);
        let axis = turn.x_axis * angle.cos() + turn.y_axis * angle.sin();
        // P2 is a zonal harmonic; its coefficients follow from projection of cos² alone.
        let radius = random.uniform(12.0, 18.0);
        let a = 1.0;
        // a + b P2 = (a - b/2) + 3/2 b cos².
        let square = lobes(2, &[(axis, 1.5 * b)]);
        let constant = (a - 0.5 * b) * (4.0 * std::f64::consts::PI).sqrt();
        let mut coefficients = square;
        coefficients[0] += constant;
        let field = single(&mut random, 2, &coefficients);
        let mut list = pane(SIZE, DVec3::ZERO, turn.x_axis, turn.y_axis, MM);
        // With a common amplitude, the peak at the vertices of the mesh has no effect.
        let full = OdfGlyphs {
            full_amplitude: Some((a + b) as f32),
            cast_from_px: CAST,
            ..shown(&field, radius, turn.z_axis)
        };
        list.glyphs = Some(Glyphs::Odfs(full));
        let picture = offscreen.slice(&list).expect("a picture");
        let profile = |cosine: f64| radius * (a + b * (1.5 * cosine * cosine - 0.5)) / (a + b);
        let middle = f64::from(SIZE) * 0.5 - 0.5;
        let to_viewer = turn.y_axis.cross(turn.x_axis);
        let light = (to_viewer - turn.y_axis * 0.55 - turn.x_axis * 0.35).normalize();
        for (x, y) in pixels(SIZE) {
            let [right, down] = [x, y].map(|v| (f64::from(v) - middle) * MM);
            let at = turn.x_axis * right + turn.y_axis * down;
            let distance = at.length().max(1e-9);
            let cosine = at.dot(axis) / distance;
            let off = distance - profile(cosine);
            // At the curve, distances along its normal are shorter than those from the centre.
            let turned = (cosine.clamp(-1.0, 1.0).acos() + 1e-4).cos();
            let slope = (profile(turned) - profile(cosine)) / 1e-4 / profile(cosine);
            let drawn = !is_dark(picture.pixel(x, y));
            if off.abs() > 0.5 * MM * (1.0 + slope * slope).sqrt() {
                assert_eq!(drawn, off < 0.0, "b {b}, {x} {y}: {off}");
            }
            if b == 0.0 && off < -MM {
                let up = (radius * radius - distance * distance).sqrt();
                let u = (at + to_viewer * up) / radius;
                let shine = u.dot((light + to_viewer).normalize()).max(0.0).powi(36);
                let lit = u.abs() * (0.36 + 0.74 * u.dot(light).max(0.0)) + 0.18 * shine;
                let expected = lit.clamp(DVec3::ZERO, DVec3::ONE) * 255.0;
                let found = picture.pixel(x, y);
                for c in 0..3 {
                    let off = (expected[c] - f64::from(found[c])).abs();
                    assert!(off <= 3.0, "{x} {y}: {expected} {found:?}");
                }
            }
        }
    }
}

/// Whether a ray across the picture passes through the surface, by its values at many points.
fn passes(series: &Series, scale: f64, at: DVec3, d: DVec3) -> bool {
    let b = at.length().max(1e-9);
    let e = at / b;
    (1..1500).any(|i| {
        let (sine, cosine) = (std::f64::consts::PI * f64::from(i) / 1500.0).sin_cos();
        scale * series.value(e * sine - d * cosine) * sine > b
    })
}

/// A single fibre of order 12 and a crossing of two, from many sides and nearly along a lobe: every pixel off the
/// outline is as found by rays that are followed step by step.
fn thin_lobes() {
    // Each pixel is checked by many points along its ray.
    const SIZE: u32 = 120;
    const MM: f64 = WIDTH_MM / SIZE as f64;
    let mut random = Random::fresh("rays thin lobes");
    let mut offscreen = offscreen();
    let order = 12;
    let polynomials = Polynomials::new(order);
    let middle = f64::from(SIZE) * 0.5 - 0.5;
    for case in 0..10 {
        let fibre = random.direction();
        let mut along = vec![(fibre, 1.0)];
        if case % 2 == 1 {
            let other = (random.direction() + fibre * 0.5).normalize();
            along.push((other, 0.7));
        }
        let coefficients = lobes(order, &along);
        let field = single(&mut random, order, &coefficients);
        let mut turn = DMat3::from_quat(random.rotation());
        if case < 4 {
            // Nearly along the lobe.
            let z = (fibre + random.direction() * 0.05 * f64::from(case)).normalize();
            let x = z.any_orthonormal_vector();
            turn = DMat3::from_cols(x, z.cross(x), z);
        }
        let radius = 18.0;
        let list = SlicePane {
            glyphs: Some(Glyphs::Odfs(OdfGlyphs {
                full_amplitude: Some(1.0),
                cast_from_px: CAST,
                ..shown(&field, radius, turn.z_axis)
            })),
            ..pane(SIZE, DVec3::ZERO, turn.x_axis, turn.y_axis, MM)
        };
        let picture = offscreen.slice(&list).expect("a picture");
        let series = polynomials.series(&coefficients);
        let inside: Vec<bool> = pixels(SIZE)
            .map(|(x, y)| {
                let [right, down] = [x, y].map(|v| (f64::from(v) - middle) * MM);
                let at = turn.x_axis * right + turn.y_axis * down;
                passes(&series, radius, at, turn.z_axis)
            })
            .collect();
        let is_inside = |x: u32, y: u32| inside[(y * SIZE + x) as usize];
        let mut compared = 0;
        for (x, y) in pixels(SIZE) {
            if !(1..SIZE - 1).contains(&x) || !(1..SIZE - 1).contains(&y) {
                continue;
            }
            let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
            let here = is_inside(x, y);
            if around.iter().any(|&(i, j)| is_inside(i, j) != here) {
                continue;
            }
            compared += 1;
            let drawn = !is_dark(picture.pixel(x, y));
            assert_eq!(drawn, here, "case {case}, {x} {y}");
        }
        assert!(compared > 10_000, "{compared}");
    }
}

/// A line through a sphere shows where it leaves the sphere, and in front of a lobe as far as in front of a mesh.
fn depth() {
    let mut random = Random::fresh("rays depth");
    let mut offscreen = offscreen();
    let radius = 12.0;
    // Rising towards the viewer, who looks along -y.
    let rise = 0.8;
    let line = [-19.0, 19.0].map(|x| DVec3::new(x, -rise * x, 0.0));
    let thin = LineStyle::Lines { width_px: 2.0 };
    let white = LineColour::Fixed([255; 3]);
    let mut picture = |field: &OdfField, from_px| {
        let list = ScenePane {
            glyphs: glyph(field, radius, DVec3::Y, from_px),
            lines: vec![lines(&tractogram(&[line.to_vec()]), white.clone(), thin)],
            ..scene(SIZE, DVec3::new(0.0, -5000.0, 0.0))
        };
        offscreen.scene(&list).expect("a picture")
    };
    let is_white = |p: [u8; 4]| {
        let darkest = p[..3].iter().min().expect("three");
        let brightest = p[..3].iter().max().expect("three");
        *darkest > 90 && brightest - darkest < 24
    };
    let shows = |picture: &Picture, x: u32| {
        let rows = SIZE / 2 - 2..SIZE / 2 + 2;
        rows.into_iter().any(|y| is_white(picture.pixel(x, y)))
    };
    let ball = single(&mut random, 0, &[1.0]);
    let found = picture(&ball, CAST);
    let enters = radius / (1.0 + rise * rise).sqrt();
    for x in 0..SIZE {
        let at = (f64::from(x) + 0.5 - f64::from(SIZE) * 0.5) * MM;
        let expected = at.abs() < 18.5 && (at > enters || at < -radius);
        let near = [enters, -radius, 18.5, -18.5, 19.0, -19.0];
        if near.iter().all(|edge| (at - edge).abs() > 1.0) && at.abs() < 18.5 {
            assert_eq!(shows(&found, x), expected, "{at}");
        }
    }
    let lobe = (DVec3::new(1.0, -0.2, 0.1).normalize(), 1.0);
    let lobe = single(&mut random, 8, &lobes(8, &[lobe, (DVec3::Y, 0.8)]));
    let (mesh, rays) = (picture(&lobe, MESH), picture(&lobe, CAST));
    let other = (0..SIZE).filter(|&x| shows(&mesh, x) != shows(&rays, x));
    assert!(
        other.clone().count() <= 3,
        "{:?}",
        other.collect::<Vec<_>>()
    );
}

/// One pixel below the limit a glyph is a mesh, one above it is cast, and the difference is small.
fn switch() {
    let mut random = Random::fresh("rays switch");
    let mut offscreen = offscreen();
    let order = 8;
    let along = [(random.direction(), 1.0), (random.direction(), 0.8)];
    let field = single(&mut random, order, &lobes(order, &along));
    let turn = DMat3::from_quat(random.rotation());
    let limit = OdfGlyphs::CAST_FROM_PX;
    for over in [-1.0, 1.0] {
        let radius = 0.5 * (f64::from(limit) + over) * MM;
        let mut slice = |from_px| {
            let list = SlicePane {
                glyphs: glyph(&field, radius, turn.z_axis, from_px),
                ..pane(SIZE, DVec3::ZERO, turn.x_axis, turn.y_axis, MM)
            };
            offscreen.slice(&list).expect("a picture")
        };
        let (by_default, mesh, cast) = (slice(limit), slice(MESH), slice(CAST));
        let expected = if over > 0.0 { &cast } else { &mesh };
        let other = if over > 0.0 { &mesh } else { &cast };
        let same =
            |a: &Picture, b: &Picture| pixels(SIZE).all(|(x, y)| a.pixel(x, y) == b.pixel(x, y));
        assert!(same(&by_default, expected), "{over}");
        assert!(!same(&by_default, other), "{over}");
        let (outline, coloured) = differences(&mesh, &cast);
        assert!(outline <= 0.02 && coloured <= 0.03, "{outline} {coloured}");
        // In the 3-D view the size is that in front of the eye.
        let eye = DVec3::new(30.0, -80.0, 20.0);
        let mut picture = |from_px| {
            let list = ScenePane {
                glyphs: glyph(&field, radius, DVec3::Y, from_px),
                ..scene(SIZE, eye)
            };
            offscreen.scene(&list).expect("a picture")
        };
        let (by_default, expected) = (
            picture(limit),
            picture(if over > 0.0 { CAST } else { MESH }),
        );
        assert!(same(&by_default, &expected), "{over}");
    }
}

/// Three glyphs at different distances, of which the limit casts none to all: each is drawn once.
fn each_once() {
    let mut random = Random::fresh("rays and meshes together");
    let mut offscreen = offscreen();
    let order = 8;
    let mut crossing = || {
        lobes(
            order,
            &[(random.direction(), 1.0), (random.direction(), 0.8)],
        )
    };
    let voxels = [crossing(), crossing(), crossing()];
    let field = row(&mut random, order, [&voxels[0], &voxels[1], &voxels[2]]);
    // 34 to 38 pixels, the nearest the largest.
    let radius = 3.0;
    let along = field.grid.world_from_voxel.matrix3.x_axis.normalize();
    let eye = (along + along.any_orthonormal_vector()).normalize() * 80.0;
    let mut picture = |from_px| {
        let list = ScenePane {
            glyphs: glyph(&field, radius, along.any_orthonormal_vector(), from_px),
            ..scene(SIZE, eye)
        };
        offscreen.scene(&list).expect("a picture")
    };
    let mesh = picture(MESH);
    let drawn = pixels(SIZE)
        .filter(|&(x, y)| !is_dark(mesh.pixel(x, y)))
        .count();
    for from_px in [0.0, 34.0, 35.0, 35.5, 36.0, 36.5, 37.0, 38.0] {
        let some = picture(from_px);
        let other = |&(x, y): &(u32, u32)| is_dark(mesh.pixel(x, y)) != is_dark(some.pixel(x, y));
        let other = pixels(SIZE).filter(other).count();
        assert!(other * 6 <= drawn, "{from_px}: {other} of {drawn}");
    }
}
