//! Streamlines on slices: slab, colours, and which of them are drawn.

use super::{colour_difference, fresh_offscreen, lines, offscreen, tractogram, world};
use crate::support::panes::pane;
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{LineColour, LineStyle, Lines};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::slabs_cut_streamlines", slabs_cut),
        test("render::directions_are_colours", directions_are_colours),
        test("render::values_are_colours", values_are_colours),
        test("render::streamlines_are_not_joined", not_joined),
        test("render::through_plane_is_a_dot", through_plane),
        test("render::one_in_so_many", one_in_so_many),
        test(
            "render::finely_sampled_curves_keep_their_shape",
            fine_curves,
        ),
        test("render::points_stay_where_they_are", exact_points),
        test("render::curves_have_their_directions", curved_colours),
        test("render::points_are_small", small_points),
    ]
}

const WHITE: LineColour = LineColour::Fixed([255; 3]);
const THIN: LineStyle = LineStyle::Lines { width_px: 2.0 };

fn lit(picture: &Picture) -> Vec<(u32, u32)> {
    let [w, h] = picture.size_px;
    let all = (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
    all.filter(|&(x, y)| picture.pixel(x, y)[..3].iter().any(|&c| c > 127))
        .collect()
}

/// A straight line through an oblique slab is drawn exactly where it lies within the slab.
fn slabs_cut() {
    let mut random = Random::fresh("slabs_cut");
    let mut offscreen = offscreen();
    for _ in 0..5 {
        let axes = DMat3::from_quat(random.rotation());
        let centre = random.direction() * 50.0;
        // 40 mm along the plane for each 10 mm through it.
        let slope = (axes.x_axis * 4.0 + axes.z_axis).normalize();
        let points = (-30..=30).map(|i| centre + slope * f64::from(i)).collect();
        let mut list = pane(101, centre, axes.x_axis, axes.y_axis, 0.5);
        list.lines = vec![lines(&tractogram(&[points]), WHITE, THIN)];
        list.slab_mm = 6.0;
        let picture = offscreen.slice(&list).expect("a picture");
        for x in 0..101 {
            let along = (world(&list, x, 50) - centre).dot(axes.x_axis);
            let bright = picture.pixel(x, 50)[0];
            // ±3 mm through the plane is ±12 mm along it; the round end is a pixel long.
            if along.abs() < 11.5 {
                assert!(bright > 200, "{along} {bright}");
            } else if along.abs() > 13.2 {
                assert_eq!(bright, 0, "{along}");
            }
        }
        // Two pixels wide: nothing at a distance of three pixels.
        assert!(lit(&picture).iter().all(|&(_, y)| (48..=52).contains(&y)));
    }
}

/// abs(x, y, z) of a line's direction is its colour.
fn directions_are_colours() {
    let mut random = Random::fresh("directions");
    let mut offscreen = offscreen();
    for _ in 0..8 {
        let direction = random.direction();
        let across = direction.cross(random.direction()).normalize();
        let points = (-30..=30).map(|i| direction * f64::from(i)).collect();
        let mut list = pane(41, DVec3::ZERO, direction, across, 0.5);
        let style = LineStyle::Lines { width_px: 4.0 };
        list.lines = vec![lines(&tractogram(&[points]), LineColour::Direction, style)];
        let picture = offscreen.slice(&list).expect("a picture");
        let expected = direction
            .abs()
            .to_array()
            .map(|c| (c * 255.0).round() as u8);
        for x in 0..41 {
            let found = picture.pixel(x, 20);
            assert!(
                colour_difference(found, expected) <= 1,
                "{found:?} {expected:?}"
            );
        }
    }
}

/// Values per point, otherwise per streamline, through the colour map; grey where missing.
fn values_are_colours() {
    let mut offscreen = offscreen();
    let streamline = |y: f64| (0..=40).map(|x| DVec3::new(f64::from(x), y, 0.0)).collect();
    let both = tractogram(&[streamline(10.0), streamline(20.0), streamline(30.0)]);
    let both = both
        .with_per_streamline("length", vec![0.25, 0.75, f32::NAN])
        .with_per_point(
            "fa",
            (0..123).map(|i| (i % 41) as f32 / 40.0).collect::<Vec<_>>(),
        );
    let mut colours = |name: &str| {
        let colour = LineColour::Scalar {
            name: name.to_owned(),
            range: (0.0, 1.0),
            colour_map: ColourMap::Viridis,
            logarithmic: false,
            limits: None,
        };
        let mut list = pane(41, DVec3::new(20.0, 20.0, 0.0), DVec3::X, DVec3::Y, 1.0);
        list.lines = vec![lines(&both, colour, LineStyle::Lines { width_px: 4.0 })];
        offscreen.slice(&list).expect("a picture")
    };
    let length = colours("length");
    for x in 1..40 {
        assert!(colour_difference(length.pixel(x, 10), ColourMap::Viridis.at(0.25)) <= 1);
        assert!(colour_difference(length.pixel(x, 20), ColourMap::Viridis.at(0.75)) <= 1);
        assert!(colour_difference(length.pixel(x, 30), [128; 3]) <= 1);
    }
    let fa = colours("fa");
    for x in 1..40 {
        let found = fa.pixel(x, 20);
        let expected = ColourMap::Viridis.at(x as f32 / 40.0);
        // Joints overlap by a pixel and continue their colour linearly; where the map bends most, from -3 to +39 per
        // seventh of the range, the error is up to 7.
        assert!(
            colour_difference(found, expected) <= 7,
            "{x}: {found:?} {expected:?}"
        );
    }
    // A name that does not exist gives grey, not a crash.
    assert!(colour_difference(colours("none").pixel(20, 20), [128; 3]) <= 1);
}

/// Nothing is drawn from the end of one streamline to the start of the next, nor across points
/// that are not finite, and single points draw nothing.
fn not_joined() {
    let mut offscreen = offscreen();
    let row = |y: f64, x: [f64; 2]| vec![DVec3::new(x[0], y, 0.0), DVec3::new(x[1], y, 0.0)];
    let mut broken = row(25.0, [5.0, 15.0]);
    broken.push(DVec3::NAN);
    broken.extend(row(25.0, [25.0, 35.0]));
    let all = [
        row(10.0, [5.0, 35.0]),
        vec![DVec3::new(20.0, 15.0, 0.0)],
        vec![],
        row(20.0, [35.0, 5.0]),
        broken,
    ];
    let mut list = pane(41, DVec3::new(20.0, 20.0, 0.0), DVec3::X, DVec3::Y, 1.0);
    list.lines = vec![lines(&tractogram(&all), WHITE, THIN)];
    let picture = offscreen.slice(&list).expect("a picture");
    let on = |x: u32, y: u32| picture.pixel(x, y)[0] > 127;
    assert!(
        lit(&picture)
            .iter()
            .all(|&(_, y)| [9, 10, 11, 19, 20, 21, 24, 25, 26].contains(&y))
    );
    assert!((6..35).all(|x| on(x, 10) && on(x, 20)));
    assert!((6..15).all(|x| on(x, 25)) && (26..35).all(|x| on(x, 25)));
    assert!((17..24).all(|x| !on(x, 25)));
}

/// A line perpendicular to the plane is a round dot of its width.
fn through_plane() {
    let mut offscreen = offscreen();
    let points = (-5..=5)
        .map(|z| DVec3::new(20.0, 20.0, f64::from(z)))
        .collect();
    let mut list = pane(41, DVec3::new(20.0, 20.0, 0.0), DVec3::X, DVec3::Y, 1.0);
    list.lines = vec![lines(
        &tractogram(&[points]),
        WHITE,
        LineStyle::Tubes { radius_mm: 3.0 },
    )];
    let picture = offscreen.slice(&list).expect("a picture");
    assert!(picture.pixel(20, 20)[0] > 250);
    let area = lit(&picture).len() as f64;
    let expected = std::f64::consts::PI * 9.0;
    // The dark border covers a little of it.
    assert!((0.7..1.1).contains(&(area / expected)), "{area} {expected}");
}

/// `every` keeps streamlines 0, n, 2n, …
fn one_in_so_many() {
    let mut offscreen = offscreen();
    let row = |y: u32| {
        let point = |x: f64| DVec3::new(x, f64::from(y), 0.0);
        vec![point(0.0), point(40.0)]
    };
    let all: Vec<_> = (0..20).map(|i| row(i * 2 + 1)).collect();
    let all = tractogram(&all);
    for every in [1, 3, 7, 100] {
        let mut list = pane(41, DVec3::new(20.0, 20.0, 0.0), DVec3::X, DVec3::Y, 1.0);
        list.lines = vec![Lines {
            every,
            ..lines(&all, WHITE, LineStyle::Lines { width_px: 1.0 })
        }];
        let picture = offscreen.slice(&list).expect("a picture");
        for i in 0..20 {
            let visible = picture.pixel(20, i * 2 + 1)[0] > 200;
            assert_eq!(visible, (i as usize).is_multiple_of(every), "{every} {i}");
        }
    }
}

/// A circle of 5000 points is drawn with fewer of them, and stays a circle to within a quarter of a pixel, however
/// tight it is.
fn fine_curves() {
    let mut offscreen = fresh_offscreen();
    for radius in [30.0, 12.0, 5.0, 2.0] {
        let point = |i: i32| {
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 5000.0).sin_cos();
            DVec3::new(cos, sin, 0.0) * radius
        };
        let circle = tractogram(&[(0..=5000).map(point).collect()]);
        let mut list = pane(401, DVec3::ZERO, DVec3::X, DVec3::Y, 0.2);
        list.lines = vec![lines(&circle, WHITE, THIN)];
        let picture = offscreen.slice(&list).expect("a picture");
        let mut lit = 0;
        for y in 0..401 {
            for x in 0..401 {
                let off_px = (world(&list, x, y).length() - radius).abs() / 0.2;
                let bright = picture.pixel(x, y)[0];
                if off_px < 0.25 {
                    assert!(bright > 250, "{radius} {x} {y}");
                    lit += 1;
                } else if off_px > 1.75 {
                    assert_eq!(bright, 0, "{radius} {x} {y}");
                }
            }
        }
        assert!(f64::from(lit) > 10.0 * radius, "{lit}");
    }
}

/// However far away other points are, even the ends of the same streamline, a line is within a step of 4 µm, here a
/// pixel, of its true place.
fn exact_points() {
    let mut random = Random::fresh("exact_points");
    let mut offscreen = fresh_offscreen();
    for far in [0.0, 1e3, 1e6, 1e30] {
        let centre = random.direction() * random.uniform(20.0, 80.0);
        let (along, normal) = (random.direction(), random.direction());
        let across = along.cross(normal).normalize();
        // None crosses the 0.4 mm of the picture: one in 1500 runs would have one.
        let adjacent = |a: DVec3, b: DVec3| {
            let share = (centre - a).dot(b - a) / (b - a).length_squared().max(1e-9);
            (a + (b - a) * share.clamp(0.0, 1.0)).distance(centre) > 1.0
        };
        let mut other = |points: usize, mm: f64| loop {
            let line: Vec<_> = (0..points).map(|_| random.direction() * mm).collect();
            if line.windows(2).all(|w| adjacent(w[0], w[1])) {
                break line;
            }
        };
        // A head is 200 mm long; the outlying points fill blocks of their own.
        let wild = other(40, far);
        let through: Vec<_> = [-100.0, -1.0, 1.0, 90.0].map(|t| centre + along * t).into();
        let mut all: Vec<Vec<DVec3>> = (0..20).map(|_| other(3, 80.0)).collect();
        all.insert(0, wild);
        all.insert(11, through);
        let mut list = pane(101, centre, along, across, 1.0 / 256.0);
        list.slab_mm = 0.02;
        list.lines = vec![lines(&tractogram(&all), WHITE, THIN)];
        let picture = offscreen.slice(&list).expect("a picture");
        for x in 10..90 {
            let column = (0..101).map(|y| f64::from(picture.pixel(x, y)[0]));
            let sum: f64 = column.clone().sum();
            let middle = (0..101)
                .zip(column)
                .map(|(y, c)| f64::from(y) * c)
                .sum::<f64>()
                / sum;
            let placed = world(&list, x, 50);
            let expected = 50.0 - (placed - centre).dot(across) * 256.0;
            assert!(
                (middle - expected).abs() < 1.0,
                "{far} {x}: {middle} {expected}"
            );
        }
    }
}

/// The direction at a point is that of the curve, however unevenly it is sampled.
fn curved_colours() {
    let mut random = Random::fresh("curved_colours");
    let mut offscreen = fresh_offscreen();
    for radius in [8.0, 25.0, 60.0] {
        let mut angle = 0.0;
        let mut points = Vec::new();
        while angle < 3.0 {
            points.push(DVec3::new(f64::cos(angle), f64::sin(angle), 0.0) * radius);
            let long = [0.4, 1.5][usize::from(random.uniform(0.0, 1.0) < 0.5)];
            angle += f64::min(long / radius, 0.12);
        }
        let mut list = pane(401, DVec3::ZERO, DVec3::X, DVec3::Y, radius / 180.0);
        let style = LineStyle::Lines { width_px: 4.0 };
        list.lines = vec![lines(&tractogram(&[points]), LineColour::Direction, style)];
        let picture = offscreen.slice(&list).expect("a picture");
        let mut seen = 0;
        for (x, y) in (0..401 * 401).map(|i| (i % 401, i / 401)) {
            let at = world(&list, x, y);
            let (off_px, around) = ((at.length() / radius - 1.0) * 180.0, at.y.atan2(at.x));
            let expected = [around.sin(), around.cos(), 0.0];
            // Where a component of the direction changes sign along a chord, its colour does not reach 0.
            let turns = expected[..2].iter().any(|c| c.abs() < 0.18);
            if off_px.abs() > 0.4 || turns || !(0.2..2.8).contains(&around) {
                continue;
            }
            let expected = expected.map(|c| (c.abs() * 255.0).round() as u8);
            let found = picture.pixel(x, y);
            // Chords turn by at most 0.17, which is one level in their middle and one at their ends; the ends of a
            // short one are rounded by 2 µm each along each axis, 4 levels, which joints continue by a half. With a
            // plain mean of the chords' directions the error is 17 levels.
            assert!(
                colour_difference(found, expected) <= 10,
                "{radius}: {found:?} {expected:?}"
            );
            seen += 1;
        }
        assert!(seen > 200, "{seen}");
    }
}

/// On the device a point takes no more than 6.6 bytes; in memory it takes 12.
fn small_points() {
    let mut random = Random::fresh("small_points");
    let mut offscreen = fresh_offscreen();
    let mut list = pane(16, DVec3::ZERO, DVec3::X, DVec3::Y, 1.0);
    offscreen.slice(&list).expect("a picture");
    let before = offscreen.renderer.device_bytes();
    // Steps in all directions, so that none can be left out.
    let mut steps = |_| (0..100).map(|_| random.direction() * 50.0).collect();
    let many: Vec<Vec<DVec3>> = (0..3000).map(&mut steps).collect();
    list.lines = vec![lines(&tractogram(&many), WHITE, THIN)];
    offscreen.slice(&list).expect("a picture");
    let a_point = (offscreen.renderer.device_bytes() - before) as f64 / 300_000.0;
    assert!(a_point > 6.0 && a_point < 6.6, "{a_point}");
}
