//! Marks at the ends of streamlines: their shapes, their sizes, and what hides them.

use super::{offscreen, tractogram};
use crate::support::panes::{pane, scene};
use crate::support::{Random, test};
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{
    ById, EndMarks, Mark, MarkShape, ScenePane, SlicePane, Solid, SolidShape,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::each mark has its shape and area", shapes),
        test("render::marks show at their ends only", places),
    ]
}

const SIZE: u32 = 120;
const MM: f64 = 40.0 / SIZE as f64;
const VALUES: [&str; 2] = ["stop_start", "stop_end"];
const ALL: [MarkShape; 4] = [
    MarkShape::Disc,
    MarkShape::Diamond,
    MarkShape::Square,
    MarkShape::Triangle,
];

fn mark(shape: MarkShape, radius_px: f32) -> Option<Mark> {
    Some(Mark {
        shape,
        colour: [255; 3],
        radius_px,
    })
}

/// One streamline whose ends have the values 0 and 1.
fn ends(line: [DVec3; 2], marks: Vec<Option<Mark>>) -> EndMarks {
    let lines = tractogram(&[line.to_vec()]);
    let lines = lines.with_per_streamline(VALUES[0], vec![0.0]);
    EndMarks {
        tractogram: ById(lines.with_per_streamline(VALUES[1], vec![1.0])),
        values: VALUES,
        marks,
        opacity: 1.0,
        every: 1,
    }
}

/// How much of a pixel is covered.
fn covered(picture: &Picture, (x, y): (u32, u32)) -> f64 {
    (f64::from(picture.pixel(x, y)[0]) / (0.35 * 255.0)).min(1.0)
}

/// Covered pixels, and how much of each is covered: edges are soft, and their pixels have the dark colour of the rim.
fn marked(picture: &Picture) -> Vec<([f64; 2], f64)> {
    let all = (0..SIZE * SIZE).map(|i| (i % SIZE, i / SIZE));
    let marked = |(x, y): (u32, u32)| {
        let share = covered(picture, (x, y));
        (share > 0.0).then_some(([f64::from(x), f64::from(y)], share))
    };
    all.filter_map(marked).collect()
}

fn area<'a>(pixels: impl IntoIterator<Item = &'a ([f64; 2], f64)>) -> f64 {
    pixels.into_iter().map(|(_, share)| share).sum()
}

/// Distance from the outline of a shape, px, negative inside; `at` is to the right of its middle, and above it.
fn from_outline(shape: MarkShape, radius: f64, at: [f64; 2]) -> f64 {
    let corners = shape.corners();
    let corners = corners.iter().map(|c| c.map(|v| f64::from(v) * radius));
    let corners: Vec<[f64; 2]> = corners.collect();
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let beyond = edges.map(|(a, b)| {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        // Corners go clockwise: the outside is on the left.
        ((at[1] - a[1]) * dx - (at[0] - a[0]) * dy) / dx.hypot(dy)
    });
    match shape {
        MarkShape::Disc => at[0].hypot(at[1]) - radius,
        _ => beyond.fold(f64::MIN, f64::max),
    }
}

/// All shapes have the area of a disc to 10 %, and cover the pixels within their outlines, point up.
fn shapes() {
    let mut random = Random::fresh("marks");
    let mut offscreen = offscreen();
    for radius in [5.0, 8.0, 14.0] {
        for shape in ALL {
            let turn = DMat3::from_quat(random.rotation());
            // The other end is out of view.
            let line = [DVec3::ZERO, DVec3::ONE * 500.0];
            let all = vec![ends(line, vec![mark(shape, radius as f32), None])];
            let slice = SlicePane {
                ends: all.clone(),
                ..pane(SIZE, DVec3::ZERO, turn.x_axis, turn.y_axis, MM)
            };
            let direction = random.direction();
            let eye = direction.with_z(direction.z * 0.7).normalize() * 80.0;
            let in_scene = ScenePane {
                ends: all,
                ..scene(SIZE, eye)
            };
            let pictures = [
                offscreen.slice(&slice).expect("a picture"),
                offscreen.scene(&in_scene).expect("a picture"),
            ];
            for (i, picture) in pictures.iter().enumerate() {
                let pixels = marked(picture);
                let (area, expected) = (area(&pixels), PI * radius * radius);
                assert!(
                    (area / expected - 1.0).abs() <= 0.1,
                    "{shape:?} {radius} {i}: {area} {expected}"
                );
                // Each pixel is covered as far as the outline says.
                let centre = f64::from(SIZE) * 0.5 - 0.5;
                for y in 0..SIZE {
                    for x in 0..SIZE {
                        let at = [f64::from(x) - centre, centre - f64::from(y)];
                        let expected = (0.5 - from_outline(shape, radius, at)).clamp(0.0, 1.0);
                        let found = covered(picture, (x, y));
                        assert!(
                            (found - expected).abs() <= 0.35,
                            "{shape:?} {radius} {i} {at:?}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}

/// A mark at each end, by its value; on slices only within the slab, in the 3-D view not behind a surface.
fn places() {
    let mut offscreen = offscreen();
    let line = [DVec3::new(-10.0, 0.3, 0.0), DVec3::new(10.0, -0.2, 0.0)];
    let both = vec![mark(MarkShape::Disc, 4.0), mark(MarkShape::Square, 6.0)];
    let centre = f64::from(SIZE) * 0.5 - 0.5;
    let at = |x: f64| centre + x / MM;
    let areas = |picture: &Picture| {
        let pixels = marked(picture);
        let near = |x: f64| {
            let close = |(p, _): &&([f64; 2], f64)| {
                (p[0] - at(x)).abs() < 12.0 && (p[1] - centre).abs() < 12.0
            };
            area(pixels.iter().filter(close))
        };
        let found = [near(-10.0), near(10.0)];
        assert!(
            (found[0] + found[1] - area(&pixels)).abs() < 1e-9,
            "no others"
        );
        found
    };
    let near = |found: f64, expected: f64| {
        assert!(
            (found - expected).abs() <= 0.12 * expected,
            "{found} {expected}"
        );
    };
    let mut slice = |offset: f64, all: &[Option<Mark>]| {
        let list = SlicePane {
            ends: vec![ends(line, all.to_vec())],
            ..pane(SIZE, DVec3::Z * offset, DVec3::X, DVec3::NEG_Y, MM)
        };
        areas(&offscreen.slice(&list).expect("a picture"))
    };
    let [first, second] = slice(0.3, &both);
    near(first, PI * 16.0);
    near(second, PI * 36.0);
    // Beyond the slab of 1 mm, and without a mark for the value.
    assert_eq!(slice(0.6, &both), [0.0, 0.0]);
    let [first, second] = slice(0.0, &both[..1]);
    near(first, PI * 16.0);
    assert_eq!(second, 0.0);
    // Seen along y: a ball in front of the first end hides its mark.
    let mut in_scene = |solids: Vec<Solid>| {
        let list = ScenePane {
            ends: vec![ends(line, both.clone())],
            solids,
            ..scene(SIZE, DVec3::new(0.0, -5000.0, 0.0))
        };
        offscreen.scene(&list).expect("a picture")
    };
    let [first, second] = areas(&in_scene(Vec::new()));
    near(first, PI * 16.0);
    near(second, PI * 36.0);
    let ball = |y: f64| Solid {
        shape: SolidShape::Sphere {
            centre: DVec3::new(-10.0, y, 0.0),
            radius_mm: 4.0,
        },
        // Darker than any mark.
        colour: [40; 3],
        opacity: 1.0,
        selected: false,
    };
    let brightest = |picture: &Picture, x: f64| {
        let (x, y) = (at(x).round() as u32, SIZE / 2);
        picture.pixel(x, y)[0]
    };
    assert!(brightest(&in_scene(vec![ball(-20.0)]), -10.0) < 120);
    assert!(brightest(&in_scene(vec![ball(20.0)]), -10.0) > 200);
}
