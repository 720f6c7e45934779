//! Glyphs of fibre orientation distributions: their outline, their sizes, and what hides what.

use super::{offscreen, random_grid};
use crate::support::panes::{pane, scene};
use crate::support::{Random, test};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{OdfField, Volume};
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{
    ById, CutPlane, GlyphPlace, GlyphScale, Glyphs, OdfGlyphs, ScenePane,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::a distribution has its outline", outline),
        test(
            "render::near lobes hide far ones over slices",
            near_hides_far,
        ),
        test(
            "render::distributions share a scale or have their own",
            sizes,
        ),
        test("render::distributions grow with an image", scaled),
    ]
}

const SIZE: u32 = 160;
/// Width of the view, mm.
const WIDTH_MM: f64 = 40.0;

/// Distributions in a row of three voxels, the middle one at the origin.
pub(super) fn row(random: &mut Random, order: usize, voxels: [&[f64]; 3]) -> OdfField {
    let grid = random_grid(random, [3, 1, 1]);
    let middle = grid.world(DVec3::X);
    let grid = grid.moved(glam::DAffine3::from_translation(-middle));
    let values = (0..count(order)).flat_map(|c| voxels.map(|v| v[c] as f32));
    let values: Vec<f32> = values.collect();
    OdfField::new(Arc::new(grid.expect("regular")), order, values)
}

/// One distribution, whose peak is `radius` mm away from the origin.
pub(super) fn shown(field: &OdfField, radius: f64, normal: DVec3) -> OdfGlyphs {
    let point = DVec3::ZERO;
    OdfGlyphs {
        field: ById(field.clone()),
        place: GlyphPlace::Planes(vec![CutPlane { point, normal }]),
        size: (2.0 * radius / field.grid.spacing().min_element()) as f32,
        every: 1,
        full_amplitude: None,
        min_peak: 0.0,
        cast_from_px: OdfGlyphs::CAST_FROM_PX,
        clips: Vec::new(),
        scale: None,
    }
}

/// Coefficients of lobes (cos θ)^(order) along directions.
pub(super) fn lobes(order: usize, along: &[(DVec3, f64)]) -> Vec<f64> {
    let mut sum = vec![0.0; count(order)];
    for (u, weight) in quadrature(2 * order) {
        let value: f64 = along
            .iter()
            .map(|(v, size)| size * u.dot(*v).powi(order as i32))
            .sum();
        for (s, y) in sum.iter_mut().zip(evaluate(order, u)) {
            *s += weight * value * y;
        }
    }
    sum
}

fn amplitude(coefficients: &[f64], order: usize, u: DVec3) -> f64 {
    let at = evaluate(order, u);
    at.iter().zip(coefficients).map(|(y, c)| y * c).sum()
}

/// Greatest extent of what is drawn along each of 24 directions of the picture, mm.
fn extents(picture: &Picture) -> [f64; 24] {
    let mm = WIDTH_MM / f64::from(SIZE);
    let middle = f64::from(SIZE) * 0.5 - 0.5;
    let mut extents = [0.0f64; 24];
    for (x, y) in (0..SIZE * SIZE).map(|i| (i % SIZE, i / SIZE)) {
        if is_dark(picture.pixel(x, y)) {
            continue;
        }
        let at = [f64::from(x) - middle, middle - f64::from(y)].map(|v| v * mm);
        for (i, extent) in extents.iter_mut().enumerate() {
            let (s, c) = (i as f64 * std::f64::consts::TAU / 24.0).sin_cos();
            *extent = extent.max(at[0] * c + at[1] * s);
        }
    }
    extents
}

fn is_dark([r, g, b, _]: [u8; 4]) -> bool {
    u32::from(r) + u32::from(g) + u32::from(b) < 60
}

/// In each direction of the picture the surface extends as far as the largest amplitude times the cosine, over slices
/// and in the 3-D view, for any order, grid and view.
fn outline() {
    let mut random = Random::fresh("odf outline");
    let mut offscreen = offscreen();
    for order in [2, 4, 8, 12] {
        let directions: Vec<DVec3> = (0..3).map(|_| random.direction()).collect();
        let sizes = [1.0, random.uniform(0.5, 1.0), random.uniform(0.3, 0.8)];
        let along: Vec<(DVec3, f64)> = directions.iter().copied().zip(sizes).collect();
        let coefficients = lobes(order, &along);
        let none = vec![0.0; count(order)];
        let field = row(&mut random, order, [&none, &coefficients, &none]);
        let radius = random.uniform(10.0, 14.0);
        // Some 10,000 directions and their opposites, 1° apart.
        let sphere: Vec<(DVec3, f64)> = quadrature(140)
            .into_iter()
            .map(|(u, _)| (u, amplitude(&coefficients, order, u)))
            .collect();
        let peak = sphere.iter().fold(0.0f64, |most, (_, f)| most.max(*f));
        let check = |picture: &Picture, right: DVec3, up: DVec3, what: &str| {
            for (i, found) in extents(picture).iter().enumerate() {
                let (s, c) = (i as f64 * std::f64::consts::TAU / 24.0).sin_cos();
                let d = right * c + up * s;
                let extent = |(u, f): &(DVec3, f64)| f.max(0.0) / peak * u.dot(d).abs() * radius;
                let expected = sphere.iter().map(extent).fold(0.0, f64::max);
                // Half a pixel is 0.13 mm.
                assert!(
                    (found - expected).abs() <= 0.3 + 0.012 * radius,
                    "{what}, order {order}, {i}: {found} {expected}"
                );
            }
        };
        let turn = DMat3::from_quat(random.rotation());
        let mm = WIDTH_MM / f64::from(SIZE);
        let mut list = pane(SIZE, DVec3::ZERO, turn.x_axis, turn.y_axis, mm);
        list.glyphs = Some(Glyphs::Odfs(shown(&field, radius, turn.z_axis)));
        let picture = offscreen.slice(&list).expect("a picture");
        check(&picture, turn.x_axis, -turn.y_axis, "slice");
        let direction = random.direction();
        // So far away that perspective is negligible.
        let eye = direction.with_z(direction.z * 0.7).normalize() * 5000.0;
        let list = ScenePane {
            glyphs: Some(Glyphs::Odfs(shown(&field, radius, DVec3::Z))),
            ..scene(SIZE, eye)
        };
        let picture = offscreen.scene(&list).expect("a picture");
        let right = DVec3::Z.cross(eye).normalize();
        check(&picture, right, eye.normalize().cross(right), "scene");
    }
}

/// A lobe towards the viewer covers the middle, in the colour of its direction, from both sides of the slice.
fn near_hides_far() {
    let mut random = Random::fresh("odf depth");
    let mut offscreen = offscreen();
    let order = 8;
    for (axis, right, down) in [
        (0, DVec3::Y, DVec3::NEG_Z),
        (1, DVec3::NEG_X, DVec3::NEG_Z),
        (2, DVec3::X, DVec3::NEG_Y),
    ] {
        for right in [right, -right] {
            let towards = DVec3::AXES[axis];
            // The other lobes are longer and cross the middle below it.
            let others = [(right, 1.3), (down, 1.3)];
            let along: Vec<(DVec3, f64)> = others.into_iter().chain([(towards, 1.0)]).collect();
            let coefficients = lobes(order, &along);
            let none = vec![0.0; count(order)];
            let field = row(&mut random, order, [&none, &coefficients, &none]);
            let mm = WIDTH_MM / f64::from(SIZE);
            let mut list = pane(SIZE, DVec3::ZERO, right, down, mm);
            list.glyphs = Some(Glyphs::Odfs(shown(&field, 14.0, towards)));
            let picture = offscreen.slice(&list).expect("a picture");
            let seen = picture.pixel(SIZE / 2, SIZE / 2);
            let others = (0..3).filter(|&c| c != axis).map(|c| seen[c]);
            let brightest = others.max().expect("two");
            assert!(
                seen[axis] > 90 && seen[axis] > brightest,
                "{axis}: {seen:?}"
            );
        }
    }
}

/// A distribution has the size that the value of an image gives it, as a mesh and ray-cast.
fn scaled() {
    let mut random = Random::fresh("odf scale");
    let mut offscreen = offscreen();
    let order = 8;
    let one = lobes(order, &[(DVec3::X, 1.0)]);
    let nothing = vec![f64::NAN; count(order)];
    let field = row(&mut random, order, [&nothing, &one, &nothing]);
    let (radius, mm) = (12.0, WIDTH_MM / f64::from(SIZE));
    let mut reach = |value: f32, cast_from_px: f32| {
        let image = Volume::scalar(field.grid.clone(), vec![9.0, value, 9.0]);
        let mut list = pane(SIZE, DVec3::ZERO, DVec3::X, DVec3::NEG_Y, mm);
        list.glyphs = Some(Glyphs::Odfs(OdfGlyphs {
            cast_from_px,
            scale: Some(GlyphScale {
                image: ById(image),
                frame: 0,
                window: (0.2, 0.6),
            }),
            ..shown(&field, radius, DVec3::Z)
        }));
        extents(&offscreen.slice(&list).expect("a picture"))[0]
    };
    for cast_from_px in [OdfGlyphs::CAST_FROM_PX, 1.0] {
        for (value, share) in [(0.1, 0.0), (0.3, 0.25), (0.4, 0.5), (0.6, 1.0), (2.0, 1.0)] {
            let found = reach(value, cast_from_px);
            let expected = share * radius;
            assert!(
                (found - expected).abs() < 0.4,
                "{value}: {found} {expected}"
            );
        }
        assert_eq!(reach(f32::NAN, cast_from_px), 0.0);
    }
}

/// Each peak at the full size, or amplitudes on one scale; low distributions, and voxels without one, are not drawn.
fn sizes() {
    let mut random = Random::fresh("odf sizes");
    let mut offscreen = offscreen();
    let order = 8;
    let (right, down) = (DVec3::X, DVec3::NEG_Y);
    let one = lobes(order, &[(DVec3::X, 1.0)]);
    let nothing = vec![f64::NAN; count(order)];
    let field = row(&mut random, order, [&nothing, &one, &nothing]);
    let radius = 12.0;
    let mm = WIDTH_MM / f64::from(SIZE);
    let mut reach = |full_amplitude: Option<f32>, min_peak: f32| {
        let mut list = pane(SIZE, DVec3::ZERO, right, down, mm);
        list.glyphs = Some(Glyphs::Odfs(OdfGlyphs {
            full_amplitude,
            min_peak,
            ..shown(&field, radius, DVec3::Z)
        }));
        extents(&offscreen.slice(&list).expect("a picture"))[0]
    };
    // The peak is 1.
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 0.4, "{found} {expected}");
    };
    near(reach(None, 0.0), radius);
    near(reach(Some(1.0), 0.0), radius);
    near(reach(Some(2.0), 0.0), 0.5 * radius);
    near(reach(Some(0.75), 0.0), radius / 0.75);
    near(reach(None, 0.9), radius);
    near(reach(None, 1.1), 0.0);
    // The spacing does not change the size, which is that of the surface.
    let field = row(&mut random, order, [&one, &nothing, &nothing]);
    let first = field.grid.world(DVec3::ZERO);
    for every in [1, 2] {
        let plane = CutPlane {
            point: first,
            normal: DVec3::Z,
        };
        let mut list = pane(SIZE, first, right, down, mm);
        list.glyphs = Some(Glyphs::Odfs(OdfGlyphs {
            place: GlyphPlace::Planes(vec![plane]),
            every,
            ..shown(&field, radius, DVec3::Z)
        }));
        let picture = offscreen.slice(&list).expect("a picture");
        near(extents(&picture)[0], radius);
    }
}
