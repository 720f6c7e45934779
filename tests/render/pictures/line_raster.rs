//! Streamlines drawn by compute shaders have the pixels of those drawn as triangles.

use super::{curve, lines, offscreen, tractogram};
use crate::support::panes::scene;
use crate::support::{Random, test};
use arcuate::data::Tractogram;
use arcuate::data::clip::{Clip, ClipShape};
use arcuate::render::LineRaster;
use arcuate::render::offscreen::{Offscreen, Picture};
use arcuate::scene::draw_list::{LineColour, LineStyle, Lines, ScenePane, Slab, Solid, SolidShape};
use glam::{DMat3, DMat4, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::computed lines equal triangles", styles),
        test("render::computed lines wider than the picture", wide),
        test("render::computed lines are cut alike", cuts),
        test("render::computed lines around the eye", around_the_eye),
        test(
            "render::computed lines and solids hide each other",
            with_solids,
        ),
    ]
}

const SIZE: u32 = 160;
/// Shares of pixels that may differ by more than 2 and by more than 24.
const EDGES: [f64; 2] = [0.015, 0.004];
/// These shares for lines that are cut. They are larger, because a cut removes whole pixels of triangles, but single
/// samples of computed lines.
const CUT_EDGES: [f64; 2] = [0.06, 0.03];

/// Whether the device can draw lines by compute shaders; prints a sentence if it cannot.
pub(super) fn can_compute(offscreen: &Offscreen) -> bool {
    let can = offscreen.renderer.can_compute_lines();
    if !can {
        println!("Not run: the device has no 64-bit atomics in shaders");
    }
    can
}

pub(super) fn any_eye(random: &mut Random) -> DVec3 {
    random.direction().with_z(0.3).normalize() * 110.0
}

pub(super) fn curves(random: &mut Random, count: usize, points: usize, step_mm: f64) -> Tractogram {
    let all: Vec<_> = (0..count).map(|_| curve(random, points, step_mm)).collect();
    tractogram(&all)
}

/// A list drawn as triangles, and by compute shaders: these draw its opaque lines in one pass and the others in one.
pub(super) fn in_both_ways(offscreen: &mut Offscreen, list: &ScenePane) -> [Picture; 2] {
    let is_opaque = |lines: &Lines| lines.opacity == 1.0;
    let ranks = [true, false].map(|rank| list.lines.iter().any(|l| is_opaque(l) == rank));
    let passes = ranks.iter().filter(|any| **any).count() as u64;
    let draw = |when| {
        let before = offscreen.renderer.computed_passes();
        offscreen.renderer.set_line_raster(when);
        // Draw something else first, so that the renderer does not return the picture before.
        let mut other = list.clone();
        other.background = [9; 3];
        other.lines.clear();
        offscreen.scene(&other).expect("a picture");
        let picture = offscreen.scene(list).expect("a picture");
        let computed = offscreen.renderer.computed_passes() - before;
        let expected = if when == LineRaster::Never { 0 } else { passes };
        assert_eq!(computed, expected, "{when:?}");
        picture
    };
    let both = [LineRaster::Never, LineRaster::Always].map(draw);
    offscreen.renderer.set_line_raster(LineRaster::Automatic);
    both
}

/// Number of pixels that differ from the background by more than this.
pub(super) fn drawn_pixels(picture: &Picture, background: [u8; 3], more_than: u8) -> usize {
    pixels(picture)
        .filter(|p| (0..3).any(|c| p[c].abs_diff(background[c]) > more_than))
        .count()
}

/// Largest difference of the colours of each pixel.
pub(super) fn differences([a, b]: &[Picture; 2]) -> Vec<u8> {
    let largest = |(a, b): (&[u8; 4], &[u8; 4])| (0..3).map(|c| a[c].abs_diff(b[c])).max();
    pixels(a)
        .zip(pixels(b))
        .map(|both| largest(both).unwrap_or(0))
        .collect()
}

/// Draws a list in both ways. They differ by rounding where an edge meets a sample, in at most these shares of the pixels.
fn compare(offscreen: &mut Offscreen, list: &ScenePane, what: &str, edges: [f64; 2]) {
    let both = in_both_ways(offscreen, list);
    let drawn = drawn_pixels(&both[0], list.background, 8);
    assert!(drawn > 500, "{what}: {drawn} pixels");
    let differences = differences(&both);
    let share = |more_than: u8| {
        let some = differences.iter().filter(|d| **d > more_than).count();
        // A few pixels are no share of a small picture.
        some.saturating_sub(4) as f64 / drawn as f64
    };
    println!(
        "{what}: {drawn} pixels, {:.4} differ, {:.4} by more than 24",
        share(2),
        share(24)
    );
    assert!(share(2) < edges[0] && share(24) < edges[1], "{what}");
}

pub(super) fn pixels(picture: &Picture) -> impl Iterator<Item = &[u8; 4]> {
    picture.rgba.as_chunks::<4>().0.iter()
}

/// Thin and wide lines and tubes.
pub(super) const STYLES: [LineStyle; 5] = [
    LineStyle::Lines { width_px: 1.0 },
    LineStyle::Lines { width_px: 3.0 },
    LineStyle::Lines { width_px: 17.0 },
    LineStyle::Tubes { radius_mm: 0.3 },
    LineStyle::Tubes { radius_mm: 2.0 },
];

/// Thin and wide lines and tubes, by direction and of one colour.
fn styles() {
    let mut random = Random::fresh("computed_styles");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let tangle = curves(&mut random, 60, 70, 0.5);
    let straight = curves(&mut random, 12, 4, 9.0);
    for (name, tractogram) in [("tangle", &tangle), ("long segments", &straight)] {
        for style in STYLES {
            for colour in [LineColour::Direction, LineColour::Fixed([200, 120, 40])] {
                let mut list = scene(SIZE, any_eye(&mut random));
                let what = format!("{name}, {style:?}, {colour:?}");
                list.lines = vec![lines(tractogram, colour, style)];
                compare(&mut offscreen, &list, &what, EDGES);
            }
        }
    }
}

/// A tube that is wider than the picture fills all of it, wherever its axis is.
fn wide() {
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    for (axis, other) in [(DVec3::X, DVec3::Z), (DVec3::Z, DVec3::X)] {
        for shift_mm in [-12.0, 0.0, 12.0] {
            let line = [-25.0, 0.0, 25.0].map(|mm| axis * mm + other * shift_mm);
            let tube = tractogram(&[line.to_vec()]);
            for opacity in [1.0, 0.9] {
                // 40 mm of the axis's plane are in the picture.
                let mut list = scene(SIZE, DVec3::new(0.0, -300.0, 0.001));
                let style = LineStyle::Tubes { radius_mm: 34.0 };
                list.lines = vec![Lines {
                    opacity,
                    ..lines(&tube, LineColour::Fixed([255; 3]), style)
                }];
                let both = in_both_ways(&mut offscreen, &list);
                let drawn = both.map(|picture| drawn_pixels(&picture, list.background, 8));
                let all = (SIZE * SIZE) as usize;
                assert_eq!(drawn, [all; 2], "{axis} {shift_mm} {opacity}");
            }
        }
    }
}

/// A slab and clips hide the same parts of lines in both ways.
fn cuts() {
    let mut random = Random::fresh("computed_cuts");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let tangle = curves(&mut random, 150, 60, 0.5);
    for style in [
        LineStyle::Lines { width_px: 2.0 },
        LineStyle::Tubes { radius_mm: 0.6 },
    ] {
        let mut list = scene(SIZE, any_eye(&mut random));
        list.lines = vec![lines(&tangle, LineColour::Direction, style)];
        list.slab = Some(Slab {
            point: DVec3::ZERO,
            normal: random.direction(),
            half_mm: 6.0,
        });
        compare(
            &mut offscreen,
            &list,
            &format!("slab, {style:?}"),
            CUT_EDGES,
        );
        list.slab = None;
        let shape = ClipShape::plane_through(DVec3::ZERO, random.direction()).expect("a plane");
        list.clips.streamlines = vec![Clip {
            shape,
            hides_inside: true,
        }];
        compare(
            &mut offscreen,
            &list,
            &format!("plane, {style:?}"),
            CUT_EDGES,
        );
    }
}

/// Segments from before the eye to behind it are cut at the near plane.
fn around_the_eye() {
    let mut random = Random::fresh("computed_near");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let tangle = curves(&mut random, 200, 12, 4.0);
    for distance_mm in [1.0, 6.0, 14.0] {
        let mut list = scene(SIZE, any_eye(&mut random));
        look_from_within(&mut list, distance_mm);
        let style = LineStyle::Tubes { radius_mm: 0.2 };
        list.lines = vec![lines(&tangle, LineColour::Direction, style)];
        let what = format!("eye at {distance_mm} mm");
        compare(&mut offscreen, &list, &what, EDGES);
    }
}

/// Moves the eye of a list, which looks at the origin, to a distance from it, with a near plane at 0.5 mm.
fn look_from_within(list: &mut ScenePane, distance_mm: f64) {
    let backward = list.eye.normalize();
    list.eye = backward * distance_mm;
    let right = DVec3::Z.cross(backward).normalize();
    let axes = DMat3::from_cols(right, backward.cross(right), backward);
    let view = DMat4::from_mat3(axes.transpose()) * DMat4::from_translation(-list.eye);
    let (near, far) = (0.5, 200.0);
    let depth = far / (near - far);
    let projection = DMat4::from_cols_array_2d(&[
        [1.5, 0.0, 0.0, 0.0],
        [0.0, 1.5, 0.0, 0.0],
        [0.0, 0.0, depth, -1.0],
        [0.0, 0.0, near * depth, 0.0],
    ]);
    list.clip_from_world = projection * view;
}

/// Several tractograms, and a solid among them.
fn with_solids() {
    let mut random = Random::fresh("computed_solids");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let mut list = scene(SIZE, any_eye(&mut random));
    let colours = [[220, 60, 60], [60, 220, 60], [60, 60, 220]];
    list.lines = colours
        .map(|colour| {
            let some = curves(&mut random, 40, 60, 0.5);
            let style = LineStyle::Tubes { radius_mm: 0.5 };
            lines(&some, LineColour::Fixed(colour), style)
        })
        .to_vec();
    list.solids = vec![Solid {
        shape: SolidShape::Sphere {
            centre: random.direction() * 4.0,
            radius_mm: 6.0,
        },
        colour: [200, 200, 80],
        opacity: 1.0,
        selected: false,
    }];
    compare(&mut offscreen, &list, "three tractograms and a ball", EDGES);
}
