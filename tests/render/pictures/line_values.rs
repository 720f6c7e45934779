//! Values of streamlines as colours: logarithmic scales, limits that hide parts, and colours of their own.

use super::{colour_difference, lines, offscreen, tractogram};
use crate::support::panes::{pane, scene};
use crate::support::test;
use arcuate::data::Tractogram;
use arcuate::data::appearance::ColourMap;
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{LineColour, LineStyle};
use arcuate::solvers::tractogram::line_values::packed;
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::logarithms_are_colours", logarithms),
        test("render::limits_hide_points", limits_on_slices),
        test("render::limits_hide_parts_in_3d", limits_in_scene),
        test("render::packed_colours_are_themselves", packed_colours),
    ]
}

const WIDE: LineStyle = LineStyle::Lines { width_px: 4.0 };

fn colour(range: (f32, f32), logarithmic: bool, limits: Option<(f32, f32)>) -> LineColour {
    LineColour::Scalar {
        name: "value".to_owned(),
        range,
        colour_map: ColourMap::Viridis,
        logarithmic,
        limits,
    }
}

/// A line along x, from 0 to 40 mm, at each of these places.
fn along_x(places: &[f64]) -> Tractogram {
    let line = |y: &f64| {
        (0..=40)
            .map(|x| DVec3::new(f64::from(x), *y, 0.0))
            .collect()
    };
    tractogram(&places.iter().map(line).collect::<Vec<_>>())
}

fn on_slice(tractogram: &Tractogram, colour: LineColour) -> Picture {
    let mut list = pane(41, DVec3::new(20.0, 20.0, 0.0), DVec3::X, DVec3::Y, 1.0);
    list.lines = vec![lines(tractogram, colour, WIDE)];
    offscreen().slice(&list).expect("a picture")
}

/// Equal ratios are equal steps of colour; what has no logarithm has the first colour, and missing values are grey.
fn logarithms() {
    let values = [0.01f32, 0.1, 1.0, -5.0, f32::NAN];
    let all = along_x(&[4.0, 12.0, 20.0, 28.0, 36.0]);
    let all = all.with_per_streamline("value", values.to_vec());
    let picture = on_slice(&all, colour((0.01, 1.0), true, None));
    let map = ColourMap::Viridis;
    let expected = [map.at(0.0), map.at(0.5), map.at(1.0), map.at(0.0), [128; 3]];
    for (y, expected) in [4, 12, 20, 28, 36].into_iter().zip(expected) {
        let found = picture.pixel(20, y);
        assert!(
            colour_difference(found, expected) <= 1,
            "{y}: {found:?} {expected:?}"
        );
    }
}

/// Points outside the limits are hidden, and where a value lies between two points is found by linear interpolation.
fn limits_on_slices() {
    let all = along_x(&[10.0, 20.0, 30.0]);
    let mut values: Vec<f32> = (0..41).map(|x| x as f32 / 40.0).collect();
    values.extend([0.5; 41]);
    values.extend([f32::NAN; 41]);
    let all = all.with_per_point("value", values);
    let picture = on_slice(&all, colour((0.0, 1.0), false, Some((0.25, 0.75))));
    for x in 0..41 {
        let is_lit = picture.pixel(x, 10)[..3].iter().any(|c| *c > 60);
        // The limits are 10 and 30 mm.
        match x {
            11..=29 => assert!(is_lit, "{x}"),
            0..=8 | 32..=40 => assert!(!is_lit, "{x}"),
            _ => {}
        }
    }
    let found = picture.pixel(20, 20);
    assert!(colour_difference(found, ColourMap::Viridis.at(0.5)) <= 1);
    assert_eq!(picture.pixel(20, 30)[..3], [0; 3], "no value is no limit");
    // Without limits all of them are drawn.
    let picture = on_slice(&all, colour((0.0, 1.0), false, None));
    for (x, y) in [(2, 10), (38, 10), (20, 20), (20, 30)] {
        assert!(picture.pixel(x, y)[..3].iter().any(|c| *c > 60), "{x} {y}");
    }
}

/// Opaque and translucent lines of the 3-D view lose what lies outside the limits.
fn limits_in_scene() {
    let points = (-20..=20).map(|x| DVec3::X * f64::from(x)).collect();
    let line = tractogram(&[points]);
    let count = line.points.len();
    let values: Vec<f32> = (0..count).map(|i| i as f32 / (count - 1) as f32).collect();
    let line = line.with_per_point("value", values);
    let lit = |limits, opacity| {
        let mut list = scene(160, DVec3::new(0.0, -300.0, 0.0));
        let tube = LineStyle::Tubes { radius_mm: 1.0 };
        list.lines = vec![lines(&line, colour((0.0, 1.0), false, limits), tube)];
        list.lines[0].opacity = opacity;
        let picture = offscreen().scene(&list).expect("a picture");
        let column = |x: u32| (0..160).any(|y| picture.pixel(x, y)[..3] != [0; 3]);
        (0..160).filter(|x| column(*x)).collect::<Vec<u32>>()
    };
    for opacity in [1.0, 0.5] {
        let (all, half) = (lit(None, opacity), lit(Some((0.5, 1.0)), opacity));
        let share = half.len() as f64 / all.len() as f64;
        assert!((share - 0.5).abs() < 0.06, "{opacity}: {share}");
        assert!(half.iter().all(|x| all.contains(x)));
        assert!(lit(Some((2.0, 3.0)), opacity).is_empty());
    }
}

/// Values that are colours give exactly these.
fn packed_colours() {
    let colours = [[255, 0, 7], [1, 254, 128], [90, 91, 255]];
    let values: Vec<f32> = colours.iter().map(|c| packed(*c)).collect();
    let all = along_x(&[10.0, 20.0, 30.0]).with_per_streamline("colours", values);
    let name = "colours".to_owned();
    let picture = on_slice(&all, LineColour::Packed { name });
    for (y, expected) in [10, 20, 30].into_iter().zip(colours) {
        let found = picture.pixel(20, y);
        assert!(
            colour_difference(found, expected) <= 1,
            "{y}: {found:?} {expected:?}"
        );
    }
}
