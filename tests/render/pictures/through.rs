//! Translucent streamlines, and streamlines cut to a slab, in the 3-D view.

use super::{colour_difference, lines, offscreen, project, tractogram};
use crate::support::panes::scene;
use crate::support::{Random, test};
use arcuate::scene::draw_list::{LineColour, LineStyle, Lines, Slab};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::transmittances multiply", background_left),
        test("render::layers count by depth", nearer_counts_more),
        test("render::transparent in any order", any_order),
        test("render::a slab cuts streamlines in 3-D", slab),
    ]
}

const WIDE: LineStyle = LineStyle::Tubes { radius_mm: 8.0 };

/// A line across the picture, `depth` mm nearer to the eye than the origin.
fn layer(toward: DVec3, depth: f64) -> Vec<DVec3> {
    let across = toward.cross(DVec3::Z).normalize() * 30.0;
    let at = |i: i32| toward * depth + across * (f64::from(i) / 10.0);
    (-10..=10).map(at).collect()
}

/// Black layers over white: white times the product of their transmittances, at any depths.
fn background_left() {
    let mut random = Random::fresh("background_left");
    let mut offscreen = offscreen();
    for count in [1, 2, 5, 12] {
        let eye = random.direction().with_z(0.3).normalize() * 300.0;
        let opacity = random.uniform(0.05, 0.4);
        let mut list = scene(60, eye);
        list.background = [255; 3];
        let toward = eye.normalize();
        let depths: Vec<f64> = (0..count).map(|_| random.uniform(-30.0, 30.0)).collect();
        let layers: Vec<_> = depths.iter().map(|depth| layer(toward, *depth)).collect();
        list.lines = vec![Lines {
            opacity: opacity as f32,
            ..lines(&tractogram(&layers), LineColour::Fixed([0; 3]), WIDE)
        }];
        let found = offscreen.scene(&list).expect("a picture").pixel(30, 30);
        let left = (1.0 - opacity).powi(count);
        // A highlight adds at most 0.22 to black, and white haze all the diffuse light there is.
        let glow = 0.22 + (0.32 + 0.80) * haze(toward, &depths, &layers.concat());
        let (least, most) = (
            255.0 * left - 2.0,
            255.0 * (left + glow * (1.0 - left)) + 2.0,
        );
        let found = f64::from(found[1]);
        assert!(
            found >= least && found <= most,
            "{count}: {least} {found} {most}"
        );
    }
}

/// The fraction of haze in layers of the same opacity, each of which counts by its depth among all points.
fn haze(toward: DVec3, depths: &[f64], points: &[DVec3]) -> f64 {
    let ends = |(low, high): (DVec3, DVec3), p: &DVec3| (low.min(*p), high.max(*p));
    let (low, high) = points.iter().fold((DVec3::MAX, DVec3::MIN), ends);
    let (middle, extent) = ((low + high) * 0.5, (high - low).length());
    let cue = |depth: &f64| {
        let farther = toward.dot(middle) - depth;
        (0.5 + farther / (0.8 * extent)).clamp(0.0, 1.0)
    };
    let counts = |cue: f64| 2f64.powf(-12.0 * cue);
    let cues = || depths.iter().map(cue);
    let all: f64 = cues().map(counts).sum();
    0.42 * cues().map(|c| c * counts(c)).sum::<f64>() / all
}

/// The share of a layer halves over a twelfth of the visible depth, whichever comes first.
fn nearer_counts_more() {
    let mut offscreen = offscreen();
    let mut list = scene(60, DVec3::new(0.0, -1000.0, 0.001));
    let toward = DVec3::NEG_Y;
    let opacity = 0.5;
    let mut shares = |depth: f64| {
        let one = |colour: [u8; 3], depth: f64| Lines {
            opacity,
            ..lines(
                &tractogram(&[layer(toward, depth)]),
                LineColour::Fixed(colour),
                WIDE,
            )
        };
        // The bounds contain the same points at any depth.
        let ends = [layer(toward, 30.0), layer(toward, -30.0)];
        let unseen = Lines {
            opacity: 1e-6,
            ..lines(&tractogram(&ends), LineColour::Fixed([0; 3]), WIDE)
        };
        list.lines = vec![one([200, 0, 0], depth), one([0, 0, 200], -depth), unseen];
        let found = offscreen.scene(&list).expect("a picture").pixel(30, 30);
        [found[0], found[2]].map(f64::from)
    };
    let same = shares(0.0);
    assert!((same[0] - same[1]).abs() <= 2.0, "{same:?}");
    let extent = (60f64.powi(2) * 2.0).sqrt();
    for depth in [3.0, -3.0, 6.0] {
        let found = shares(depth);
        // Haze and light are the same for both except for their depth.
        let expected = 2f64.powf(12.0 * 2.0 * depth / (0.8 * extent));
        let ratio = found[0] / found[1].max(1.0);
        println!("{depth} mm nearer: {ratio} times, {expected} by weight");
        assert!((ratio / expected).ln().abs() < 0.35, "{found:?} {expected}");
    }
}

/// The picture does not depend on the order of streamlines.
fn any_order() {
    let mut random = Random::fresh("any_order");
    let mut offscreen = offscreen();
    let mut end = || random.direction() * 15.0;
    let mut all: Vec<Vec<DVec3>> = (0..80)
        .map(|_| {
            let (from, to) = (end(), end());
            (0..=20)
                .map(|i| from.lerp(to, f64::from(i) / 20.0))
                .collect()
        })
        .collect();
    let mut picture = |all: &[Vec<DVec3>]| {
        let mut list = scene(120, DVec3::new(120.0, -250.0, 90.0));
        list.lines = vec![Lines {
            opacity: 0.3,
            ..lines(
                &tractogram(all),
                LineColour::Direction,
                LineStyle::Tubes { radius_mm: 0.8 },
            )
        }];
        offscreen.scene(&list).expect("a picture")
    };
    let forward = picture(&all);
    all.reverse();
    let backward = picture(&all);
    let mut seen = 0;
    for (x, y) in (0..120 * 120).map(|i| (i % 120, i / 120)) {
        let (a, b) = (forward.pixel(x, y), backward.pixel(x, y));
        // Sums in half precision are rounded.
        assert!(
            colour_difference(a, [b[0], b[1], b[2]]) <= 3,
            "{x} {y}: {a:?} {b:?}"
        );
        seen += usize::from(a[0].max(a[1]).max(a[2]) > 30);
    }
    assert!(seen > 2000, "{seen}");
}

/// The part of a line that lies within an oblique slab is drawn, opaque or not.
fn slab() {
    let mut random = Random::fresh("slab");
    let mut offscreen = offscreen();
    for opacity in [1.0, 0.9] {
        let eye = DVec3::new(40.0, -300.0, 60.0);
        let mut list = scene(200, eye);
        let line: Vec<DVec3> = (-40..=40).map(|i| DVec3::X * f64::from(i) * 0.4).collect();
        list.lines = vec![Lines {
            opacity,
            ..lines(
                &tractogram(&[line]),
                LineColour::Fixed([255; 3]),
                LineStyle::Tubes { radius_mm: 0.5 },
            )
        }];
        let normal = (DVec3::X + random.direction() * 0.5).normalize();
        let (half_mm, at) = (random.uniform(2.0, 5.0), random.uniform(-5.0, 5.0));
        list.slab = Some(Slab {
            point: DVec3::X * at,
            normal,
            half_mm,
        });
        let picture = offscreen.scene(&list).expect("a picture");
        let (mut drawn, mut excluded) = (0, 0);
        for i in -150..=150 {
            let x = f64::from(i) * 0.1;
            let across = (x - at) * normal.x;
            let [u, v] = project(&list, DVec3::X * x);
            let bright = picture.pixel(u, v)[1];
            // A tube is as thick as 0.5 mm / normal.x along the line.
            if across.abs() < half_mm - 0.8 {
                assert!(bright > 60, "{x}: {bright}");
                drawn += 1;
            } else if across.abs() > half_mm + 0.8 {
                assert_eq!(bright, 0, "{x}");
                excluded += 1;
            }
        }
        assert!(drawn > 10 && excluded > 50, "{drawn} {excluded}");
    }
}
