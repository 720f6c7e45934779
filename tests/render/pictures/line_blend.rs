//! Translucent streamlines drawn by compute shaders have the pixels of those drawn as triangles.

use super::line_raster::{
    STYLES, any_eye, can_compute, curves, differences, drawn_pixels, in_both_ways,
};
use super::loading::{PANE, at_rest, pause};
use super::{fresh_offscreen, lines, offscreen, tractogram};
use crate::support::panes::scene;
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::clip::{Clip, ClipShape};
use arcuate::data::{Tractogram, Volume};
use arcuate::render::offscreen::Offscreen;
use arcuate::render::{LineRaster, Renderer};
use arcuate::scene::draw_list::{
    ById, Interpolation, LineColour, LineStyle, Lines, ScenePane, Slab, Solid, SolidShape,
    Transfer, VolumeDraw, VolumeStyle,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::blended lines equal triangles", styles),
        test("render::blended lines are cut alike", cuts),
        test("render::blended lines with hidden values", hidden_values),
        test("render::blended lines among other objects", among_objects),
        test("render::blended lines in many layers", many_layers),
        test("render::lines whose pipelines a thread creates", ahead),
    ]
}

const SIZE: u32 = 160;

/// Limits of differences in levels of 255.
struct Limits {
    /// Mean over the pixels drawn.
    mean: f64,
    /// Shares of pixels that may differ by more than 4 and by more than 24.
    shares: [f64; 2],
}

/// Triangles add layers in half precision, so that each sum is rounded to a part in 2048, which is an eighth of a level,
/// once per layer; edges that meet the centre of a pixel are rounded in either way.
const ROUNDED: Limits = Limits {
    mean: 0.5,
    shares: [0.01, 0.002],
};

fn compare(offscreen: &mut Offscreen, list: &ScenePane, what: &str, limits: &Limits) {
    let both = in_both_ways(offscreen, list);
    // A layer of opacity 0.05 changes a pixel by a few levels.
    let drawn = drawn_pixels(&both[0], list.background, 1);
    assert!(drawn > 300, "{what}: {drawn} pixels");
    let differences = differences(&both);
    let sum: f64 = differences.iter().map(|d| f64::from(*d)).sum();
    let mean = sum / drawn as f64;
    let share = |more_than: u8| {
        let some = differences.iter().filter(|d| **d > more_than).count();
        // A few pixels are no share of a small picture.
        some.saturating_sub(4) as f64 / drawn as f64
    };
    let (most, shares) = (differences.iter().max(), [share(4), share(24)]);
    println!("{what}: {drawn} pixels, mean difference {mean:.3}, largest {most:?}, {shares:.4?}");
    assert!(mean < limits.mean, "{what}");
    assert!((0..2).all(|i| shares[i] <= limits.shares[i]), "{what}");
}

fn translucent(
    tractogram: &Tractogram,
    colour: LineColour,
    (style, opacity): (LineStyle, f32),
) -> Lines {
    Lines {
        opacity,
        ..lines(tractogram, colour, style)
    }
}

/// Thin and wide lines and tubes at several opacities, over a background that is not black, with a depth cue.
fn styles() {
    let mut random = Random::fresh("blended_styles");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let tangle = curves(&mut random, 120, 70, 0.5);
    let straight = curves(&mut random, 12, 4, 9.0);
    for (name, tractogram) in [("tangle", &tangle), ("long segments", &straight)] {
        for style in STYLES {
            for opacity in [0.05, 0.3, 0.9] {
                let mut list = scene(SIZE, any_eye(&mut random));
                list.background = [30, 60, 90];
                list.depth_cue = 0.5;
                let what = format!("{name}, {style:?}, {opacity}");
                let colour = LineColour::Direction;
                list.lines = vec![translucent(tractogram, colour, (style, opacity))];
                compare(&mut offscreen, &list, &what, &ROUNDED);
            }
        }
    }
}

/// A slab and clips hide the same pixels in both ways.
fn cuts() {
    let mut random = Random::fresh("blended_cuts");
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
        let colour = LineColour::Direction;
        list.lines = vec![translucent(&tangle, colour, (style, 0.4))];
        list.slab = Some(Slab {
            point: DVec3::ZERO,
            normal: random.direction(),
            half_mm: 6.0,
        });
        compare(&mut offscreen, &list, &format!("slab, {style:?}"), &ROUNDED);
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
            &ROUNDED,
        );
    }
}

/// Values as colours, some of which limits hide.
fn hidden_values() {
    let mut random = Random::fresh("blended_values");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let tangle = curves(&mut random, 150, 60, 0.5);
    let values: Vec<f32> = (0..tangle.points.len())
        .map(|i| (i % 60) as f32 / 59.0)
        .collect();
    let tangle = tangle.with_per_point("value", values);
    for limits in [None, Some((0.2, 0.7))] {
        let mut list = scene(SIZE, any_eye(&mut random));
        let colour = LineColour::Scalar {
            name: "value".to_owned(),
            range: (0.0, 1.0),
            colour_map: ColourMap::Viridis,
            logarithmic: false,
            limits,
        };
        let style = LineStyle::Lines { width_px: 2.0 };
        list.lines = vec![translucent(&tangle, colour, (style, 0.5))];
        let what = format!("limits {limits:?}");
        compare(&mut offscreen, &list, &what, &ROUNDED);
    }
}

/// Tractograms of several opacities, opaque lines and a ball that hide parts of them, and a cloud around them.
fn among_objects() {
    let mut random = Random::fresh("blended_objects");
    let mut offscreen = offscreen();
    if !can_compute(&offscreen) {
        return;
    }
    let mut list = scene(SIZE, any_eye(&mut random));
    let colours = [[220, 60, 60], [60, 220, 60], [60, 60, 220]];
    list.lines = (0..3)
        .map(|i| {
            let some = curves(&mut random, 40, 60, 0.5);
            let style = LineStyle::Tubes { radius_mm: 0.5 };
            let opacity = [0.15, 1.0, 0.7][i];
            translucent(&some, LineColour::Fixed(colours[i]), (style, opacity))
        })
        .collect();
    list.solids = vec![Solid {
        shape: SolidShape::Sphere {
            centre: random.direction() * 4.0,
            radius_mm: 6.0,
        },
        colour: [200, 200, 80],
        opacity: 1.0,
        selected: false,
    }];
    // The opaque lines also differ, at their own edges.
    let limits = Limits {
        mean: 1.0,
        shares: [0.015, 0.006],
    };
    compare(&mut offscreen, &list, "lines and a ball", &limits);
    list.solids.clear();
    list.lines.remove(1);
    let grid = super::plain_grid([24; 3]);
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| {
            let at = DVec3::from_array(grid.voxel(i).map(|v| v as f64 - 11.5));
            (1.0 - at.length() / 12.0).max(0.0) as f32
        })
        .collect();
    list.volumes = vec![VolumeDraw {
        volume: ById(Volume::scalar(grid, values)),
        frame: 0,
        window: (0.0, 1.0),
        transfer: Transfer::rising(),
        reference_mm: 2.0,
        style: VolumeStyle::Cloud,
        interpolation: Interpolation::Linear,
        lit: false,
        cut: None,
        inside: None,
        fade: None,
        coloured_by: None,
        shapes: None,
    }];
    compare(&mut offscreen, &list, "lines in a cloud", &ROUNDED);
}

/// The background shows nothing through thousands of equal layers, and their colour is that of one. Their weights exceed
/// half precision, alone and in two chunks, and also if the picture is drawn in parts.
fn many_layers() {
    let mut shared = offscreen();
    if !can_compute(&shared) {
        return;
    }
    let opacity = 0.9;
    let background = [255, 0, 255];
    // The nearest layers of a deep view have the largest weight, 16 times their opacity.
    let [near, far] = [(-50.0, 0.0), (50.0, 12.0)]
        .map(|(y, z)| [-2.0, 2.0].map(|x| DVec3::new(x, y, z)).to_vec());
    let layers = |count: usize| tractogram(&vec![near.clone(); count]);
    let far = tractogram(&[far]);
    let list = |tractograms: &[Tractogram]| {
        let mut list = scene(80, DVec3::new(0.0, -300.0, 0.001));
        list.background = background;
        let colour = LineColour::Fixed([40, 200, 90]);
        let style = LineStyle::Tubes { radius_mm: 2.0 };
        let all = tractograms.iter().chain([&far]);
        list.lines = all
            .map(|one| translucent(one, colour.clone(), (style, opacity)))
            .collect();
        list
    };
    let [one, some, two] = [
        list(&[layers(1)]),
        list(&[layers(10_000)]),
        list(&[layers(10_000), layers(12_000)]),
    ];
    let one = in_both_ways(&mut shared, &one)[1].pixel(40, 40);
    let opacity = f64::from(opacity);
    let check = |many: [u8; 4], what: &str| {
        for c in 0..3 {
            let from_background = f64::from(background[c]) * (1.0 - opacity);
            let expected = (f64::from(one[c]) - from_background) / opacity;
            // A level of one layer is several of many, and this is half a level more or less.
            let found = f64::from(many[c]);
            assert!(
                (found - expected).abs() <= 0.5 / opacity + 1.0,
                "{what}: {one:?} {many:?} {expected}"
            );
        }
    };
    for (what, list) in [("one chunk", &some), ("two chunks", &two)] {
        let [_, computed] = in_both_ways(&mut shared, list);
        check(computed.pixel(40, 40), what);
    }
    drop(shared);
    let mut fresh = fresh_offscreen();
    let renderer = &mut fresh.renderer;
    renderer.set_line_raster(LineRaster::Always);
    renderer.load_in_pieces();
    // Makes everything count as slow.
    renderer.set_patience_ms(0.0);
    let draw = |renderer: &mut Renderer, list: &ScenePane| {
        renderer.scene(list, PANE);
        pause();
        let before = renderer.computed_passes();
        at_rest(renderer, list);
        renderer.computed_passes() - before
    };
    let passes = draw(renderer, &two);
    assert!(passes > 2, "{passes} parts");
    let parts = renderer.read(PANE).expect("a picture");
    check(parts.pixel(40, 40), "in parts");
}

/// Pictures that need the pipelines before the thread has created them are the same; a renderer ends with its thread.
fn ahead() {
    let mut random = Random::fresh("pipelines_ahead");
    let mut patient = offscreen();
    if !can_compute(&patient) {
        return;
    }
    let mut list = scene(SIZE, any_eye(&mut random));
    let style = LineStyle::Lines { width_px: 2.0 };
    let tangle = curves(&mut random, 60, 70, 0.5);
    list.lines = [1.0, 0.4]
        .map(|opacity| translucent(&tangle, LineColour::Direction, (style, opacity)))
        .to_vec();
    let [_, expected] = in_both_ways(&mut patient, &list);
    let mut offscreen = fresh_offscreen();
    offscreen.renderer.set_line_raster(LineRaster::Always);
    offscreen.renderer.create_ahead();
    let found = offscreen.scene(&list).expect("a picture");
    assert_eq!(found, expected);
    let mut offscreen = fresh_offscreen();
    offscreen.renderer.set_line_raster(LineRaster::Always);
    offscreen.renderer.create_ahead();
    drop(offscreen);
}
