//! The 3-D view: occlusion, translucency, and cut-outs.

use super::{ball, colour_difference, image, lines, offscreen, project, tractogram};
use crate::support::panes::scene;
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Grid, Mask, Volume, VolumeKind};
use arcuate::render::offscreen::Offscreen;
use arcuate::scene::draw_list::{
    ById, LineColour, LineStyle, Lines, Outline, ScenePane, SliceQuad, Solid, SolidShape,
};
use glam::{DMat4, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "render::lines_before_and_behind_a_sphere",
            before_and_behind,
        ),
        test("render::spheres_have_their_size", spheres_have_their_size),
        test("render::boxes_and_masks_are_solid", boxes_and_masks),
        test("render::thin masks are drawn", thin_masks),
        test("render::nearer_tubes_hide_farther", nearer_hides),
        test("render::tube_colours_by_direction", tube_colours),
        test(
            "render::values_keep_the_lightness_of_their_scale",
            lightness,
        ),
        test("render::slices_lose_their_black", lose_black),
        test("render::faint slices have faint hollows", faint_hollows),
        test("render::slices_lose_their_air", lose_air),
        test("render::outline_is_a_rim", outline_is_a_rim),
        test("render::outline_ends_at_slices", outline_ends_at_slices),
        test("render::faint_lines_blend", faint_lines),
        test(
            "render::faint_lines_leave_the_background_light",
            light_background,
        ),
        test("render::context_lies_under_everything", context),
    ]
}

const GREEN: LineColour = LineColour::Fixed([0, 255, 0]);
const TUBE: LineStyle = LineStyle::Tubes { radius_mm: 1.5 };

fn sphere(centre: DVec3, radius_mm: f64, opacity: f32) -> Solid {
    Solid {
        shape: SolidShape::Sphere { centre, radius_mm },
        colour: [255, 0, 0],
        opacity,
        selected: false,
    }
}

fn straight(from: DVec3, to: DVec3) -> Vec<DVec3> {
    (0..=20)
        .map(|i| from.lerp(to, f64::from(i) / 20.0))
        .collect()
}

/// A line through a sphere: hidden behind it, dim inside, fully visible in front.
fn before_and_behind() {
    let mut random = Random::fresh("before_and_behind");
    let mut offscreen = offscreen();
    let eye = random.direction().with_z(0.3).normalize() * 300.0;
    let toward = eye.normalize();
    let across = toward.cross(DVec3::Z).normalize();
    for (offset, opacity, green, red) in [
        (10.0, 1.0, 100..=255, 0..=60),
        (-10.0, 1.0, 0..=40, 90..=255),
        (0.0, 0.6, 20..=110, 60..=255),
    ] {
        let middle = toward * offset;
        let line = straight(middle - across * 15.0, middle + across * 15.0);
        let mut list = scene(160, eye);
        list.lines = vec![lines(&tractogram(&[line]), GREEN, TUBE)];
        list.solids = vec![sphere(DVec3::ZERO, 8.0, opacity)];
        let picture = offscreen.scene(&list).expect("a picture");
        let [r, g, ..] = picture.pixel(80, 80);
        assert!(green.contains(&g) && red.contains(&r), "{offset}: {r} {g}");
        // Next to the sphere the line has its own colour.
        let [x, y] = project(&list, middle + across * 12.0);
        let [r, g, ..] = picture.pixel(x, y);
        assert!(g > 150 && r < 70, "{offset}: {r} {g}");
    }
}

/// The number of pixels of the sphere's disc, in perspective and in parallel projection.
fn spheres_have_their_size() {
    let mut offscreen = offscreen();
    let perspective = scene(200, DVec3::new(120.0, -250.0, 90.0));
    // 40 mm across, looking along y.
    let (near, far) = (-100.0, 100.0);
    let parallel = ScenePane {
        clip_from_world: DMat4::from_cols(
            DVec3::new(0.05, 0.0, 0.0).extend(0.0),
            DVec3::new(0.0, 0.0, 1.0 / (far - near)).extend(0.0),
            DVec3::new(0.0, 0.05, 0.0).extend(0.0),
            DVec3::new(0.0, 0.0, -near / (far - near)).extend(1.0),
        ),
        ..scene(200, DVec3::new(0.0, -1000.0, 0.0))
    };
    for mut list in [perspective, parallel] {
        list.solids = vec![sphere(DVec3::ZERO, 10.0, 1.0)];
        let picture = offscreen.scene(&list).expect("a picture");
        let sum: f64 = (0..200 * 200)
            .map(|i| f64::from(picture.pixel(i % 200, i / 200)[0] > 60))
            .sum();
        let expected = std::f64::consts::PI * 50.0 * 50.0;
        // Up to an edge pixel.
        assert!((sum / expected - 1.0).abs() < 0.05, "{sum} {expected}");
    }
}

/// A box covers exactly its faces; a ball of voxels is as large as the sphere from which it was made.
fn boxes_and_masks() {
    let mut offscreen = offscreen();
    let eye = DVec3::new(0.0, -400.0, 0.001);
    let mut list = scene(160, eye);
    let half_mm = DVec3::new(10.0, 1.0, 5.0);
    let shape = SolidShape::Box {
        centre: DVec3::ZERO,
        half_mm,
    };
    list.solids = vec![Solid {
        shape,
        ..sphere(DVec3::ZERO, 1.0, 1.0)
    }];
    let picture = offscreen.scene(&list).expect("a picture");
    let red = |x: u32, y: u32| picture.pixel(x, y)[0] > 60;
    // 4 px per mm.
    assert!((42..118).all(|x| red(x, 80)) && !red(38, 80) && !red(122, 80));
    assert!((62..98).all(|y| red(80, y)) && !red(80, 58) && !red(80, 102));

    list.solids[0].shape = SolidShape::Mask(ById(ball(12.0, 1.5)));
    let picture = offscreen.scene(&list).expect("a picture");
    let count = (0..160 * 160)
        .filter(|i| picture.pixel(i % 160, i / 160)[0] > 60)
        .count();
    let expected = std::f64::consts::PI * 48.0 * 48.0;
    let share = count as f64 / expected;
    // The blur moves a convex mask's surface a little, far less than a voxel (12 %).
    assert!((share - 1.0).abs() < 0.06, "{count} {expected}");
}

/// A sheet one voxel thick along each axis, a rod and a single voxel appear at their true size.
fn thin_masks() {
    const N: usize = 24;
    let mut offscreen = offscreen();
    let origin = DVec3::splat(-(N as f64 - 1.0) * 0.5);
    let grid = Grid::axis_aligned([N; 3], DVec3::ONE, origin).expect("regular");
    let grid = Arc::new(grid);
    let block = |low: [usize; 3], high: [usize; 3]| {
        let within = |i: usize| {
            let voxel = grid.voxel(i);
            (0..3).all(|a| (low[a]..=high[a]).contains(&voxel[a]))
        };
        let inside = (0..grid.voxel_count()).map(|i| u8::from(within(i)));
        Mask::new(grid.clone(), inside.collect::<Vec<_>>())
    };
    let mut seen = |mask: Mask, eye: DVec3| {
        let mut list = scene(160, eye);
        list.solids = vec![Solid {
            shape: SolidShape::Mask(ById(mask)),
            ..sphere(DVec3::ZERO, 1.0, 1.0)
        }];
        let picture = offscreen.scene(&list).expect("a picture");
        let red = (0..160 * 160).filter(|i| picture.pixel(i % 160, i / 160)[0] > 40);
        // 4 px per mm.
        red.count() as f64 / 16.0
    };
    for axis in 0..3 {
        let eye = (DVec3::AXES[axis] + DVec3::new(1e-5, 2e-5, 1e-5)) * 400.0;
        let (mut low, mut high) = ([6; 3], [17; 3]);
        (low[axis], high[axis]) = (11, 11);
        let face = seen(block(low, high), eye);
        assert!(
            (100.0..=160.0).contains(&face),
            "axis {axis}: {face} of 144 mm²"
        );
        let next = (axis + 1) % 3;
        let edge = DVec3::AXES[next] * 400.0 + DVec3::splat(1e-3);
        let side = seen(block(low, high), edge);
        assert!(
            (6.0..=16.0).contains(&side),
            "axis {axis}: {side} of 12 mm²"
        );
        (low[next], high[next]) = (11, 11);
        let rod = seen(block(low, high), eye);
        assert!((5.0..=16.0).contains(&rod), "axis {axis}: {rod} of 12 mm²");
    }
    let voxel = seen(block([11; 3], [11; 3]), DVec3::new(0.001, -400.0, 0.001));
    assert!((0.2..=1.3).contains(&voxel), "{voxel} of 1 mm²");
    // A block of two voxels per side, which the blur alone would hide as well.
    let block = seen(block([11; 3], [12; 3]), DVec3::new(0.001, -400.0, 0.001));
    assert!((2.0..=5.0).contains(&block), "{block} of 4 mm²");
}

/// The nearer of two crossing tubes is visible, in whichever order they are listed.
fn nearer_hides() {
    let mut offscreen = offscreen();
    let near = tractogram(&[straight(
        DVec3::new(-15.0, -5.0, 0.0),
        DVec3::new(15.0, -5.0, 0.0),
    )]);
    let far = tractogram(&[straight(
        DVec3::new(0.0, 5.0, -15.0),
        DVec3::new(0.0, 5.0, 15.0),
    )]);
    let near = lines(&near, GREEN, TUBE);
    let far = lines(&far, LineColour::Fixed([255, 0, 0]), TUBE);
    for order in [[&near, &far], [&far, &near]] {
        let mut list = scene(120, DVec3::new(0.0, -300.0, 0.01));
        list.lines = order.map(Lines::clone).to_vec();
        let picture = offscreen.scene(&list).expect("a picture");
        let [r, g, ..] = picture.pixel(60, 60);
        assert!(g > 150 && r < 90, "{r} {g}");
        let [r, g, ..] = picture.pixel(60, 40);
        assert!(r > 120 && g < 90, "{r} {g}");
    }
}

/// Lit tubes keep the hue of their direction.
fn tube_colours() {
    let mut offscreen = offscreen();
    let eye = DVec3::new(170.0, -200.0, 150.0);
    for (axis, channel) in [(DVec3::X, 0), (DVec3::Y, 1), (DVec3::Z, 2)] {
        let mut list = scene(120, eye);
        let line = tractogram(&[straight(axis * -10.0, axis * 10.0)]);
        list.lines = vec![lines(&line, LineColour::Direction, TUBE)];
        let picture = offscreen.scene(&list).expect("a picture");
        let found = picture.pixel(60, 60);
        let others = (0..3).filter(|&c| c != channel).map(|c| found[c]);
        let next = others.max().unwrap_or(0);
        assert!(
            found[channel] > 120 && next < found[channel] / 2,
            "{axis} {found:?}"
        );
    }
}

/// Relative luminance of sRGB bytes (IEC 61966-2-1).
fn luminance(colour: &[u8]) -> f64 {
    let linear = |c: u8| match f64::from(c) / 255.0 {
        c if c <= 0.04045 => c / 12.92,
        c => ((c + 0.055) / 1.055).powf(2.4),
    };
    0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
}

/// A lit tube is compared with a colour bar: from any viewpoint it is read as its own value, not as a lower one.
fn lightness() {
    let mut random = Random::fresh("lightness");
    let mut offscreen = offscreen();
    for _ in 0..12 {
        let eye = random.direction().with_z(0.4).normalize() * 300.0;
        let along = eye.cross(random.direction()).normalize() * 15.0;
        let value = random.uniform(0.1, 0.9) as f32;
        let line = tractogram(&[straight(-along, along)]);
        let line = line.with_per_streamline("measure", vec![value]);
        let colour = LineColour::Scalar {
            name: "measure".to_owned(),
            range: (0.0, 1.0),
            colour_map: ColourMap::Viridis,
            logarithmic: false,
            limits: None,
        };
        for radius_mm in [0.35, 1.5] {
            let mut list = scene(160, eye);
            let tube = LineStyle::Tubes { radius_mm };
            list.lines = vec![lines(&line, colour.clone(), tube)];
            let picture = offscreen.scene(&list).expect("a picture");
            // The lighter half of the covered pixels: edges are mixed with the background.
            let all = (0..160 * 160).map(|i| picture.pixel(i % 160, i / 160));
            let mut lit: Vec<[u8; 4]> = all.filter(|p| p[..3] != [0; 3]).collect();
            lit.sort_by(|a, b| luminance(b).total_cmp(&luminance(a)));
            let half = &lit[..lit.len() / 2];
            assert!(half.len() > 100, "{}", half.len());
            let mean = half.iter().map(|p| luminance(p)).sum::<f64>() / half.len() as f64;
            // Read off the bar: wrong by less than a tenth of its range.
            let read = |t: f32| (luminance(&ColourMap::Viridis.at(t)) - mean).abs();
            let steps = (0..=1000).map(|i| i as f32 / 1000.0);
            let read = steps.min_by(|a, b| read(*a).total_cmp(&read(*b)));
            let read = read.unwrap_or(f32::NAN);
            assert!(
                (read - value).abs() < 0.1,
                "{radius_mm} mm: {value} looks like {read}"
            );
        }
    }
}

pub(super) fn quad(volume: &Volume, cut_out: Option<Mask>) -> SliceQuad {
    let (low, high) = volume.grid.bounds();
    SliceQuad {
        origin: DVec3::new(low.x, 0.0, low.z),
        edge_u: DVec3::X * (high.x - low.x),
        edge_v: DVec3::Z * (high.z - low.z),
        images: vec![image(volume, (0.0, 1.0))],
        contours: Vec::new(),
        cut_out: cut_out.map(ById),
    }
}

pub(super) fn grey_block(value: f32) -> Volume {
    let origin = DVec3::new(-15.5, -1.0, -15.5);
    let grid = Grid::axis_aligned([32, 3, 32], DVec3::ONE, origin).expect("regular");
    let count = grid.voxel_count();
    Volume::scalar(Arc::new(grid), vec![value; count])
}

/// Without a mask the image's black is discarded.
fn lose_black() {
    let mut offscreen = offscreen();
    let mut list = scene(80, DVec3::new(0.0, -300.0, 0.001));
    list.background = [10, 20, 30];
    for (value, expected) in [(0.0, [10, 20, 30]), (0.5, [128; 3])] {
        list.slices = vec![quad(&grey_block(value), None)];
        let picture = offscreen.scene(&list).expect("a picture");
        let found = picture.pixel(40, 40);
        assert!(colour_difference(found, expected) <= 1, "{value} {found:?}");
    }
}

/// The corner between two slices is darkened in proportion to their opacity: white on white.
fn faint_hollows() {
    let mut offscreen = offscreen();
    let origin = DVec3::splat(-15.5);
    let grid = Grid::axis_aligned([32; 3], DVec3::ONE, origin).expect("regular");
    let count = grid.voxel_count();
    let white = Volume::scalar(Arc::new(grid), vec![1.0; count]);
    let darkest = |opacity: f32, offscreen: &mut Offscreen| {
        let mut list = scene(160, DVec3::new(-180.0, -230.0, 60.0));
        list.background = [255; 3];
        let along = quad(&white, None);
        let across = SliceQuad {
            origin: DVec3::new(0.0, along.origin.x, along.origin.z),
            edge_u: DVec3::Y * along.edge_u.x,
            ..along.clone()
        };
        list.slices = vec![along, across];
        for image in list.slices.iter_mut().flat_map(|s| &mut s.images) {
            image.opacity = opacity;
        }
        let picture = offscreen.scene(&list).expect("a picture");
        let all = (0..160 * 160).map(|i| picture.pixel(i % 160, i / 160)[0]);
        all.min().expect("pixels")
    };
    let [whole, faint] = [1.0, 0.3].map(|opacity| darkest(opacity, &mut offscreen));
    assert!(whole < 235, "{whole}");
    // The fraction of the light equals that of the slice.
    let expected = 255.0 - 0.3 * (255.0 - f64::from(whole));
    assert!(
        (f64::from(faint) - expected).abs() < 2.0,
        "{faint} {expected}"
    );
}

/// Around a head there is air, whose noise is cut away like black; the head stays whole.
fn lose_air() {
    let mut random = Random::fresh("air");
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
    list.background = [255; 3];
    let grid = grey_block(0.0).grid.clone();
    let head = |i: usize| {
        let [x, _, z] = grid.voxel(i).map(|v| v as f64 - 15.5);
        x.hypot(z) < 8.0
    };
    // Rayleigh-distributed, like a magnitude without signal: 0.038 on average, one in ten above 0.064.
    let values = (0..grid.voxel_count()).map(|i| match head(i) {
        true => 0.5,
        false => 0.03 * (-2.0 * (1.0 - random.uniform(0.0, 1.0)).ln()).sqrt() as f32,
    });
    let values: Vec<f32> = values.collect();
    let nothing = vec![0.0; values.len()];
    let green = [&*nothing, &*values, &*nothing].concat();
    let directions = Volume::new(grid.clone(), 3, VolumeKind::Rgb, green);
    for (block, within, colour) in [
        (Volume::scalar(grid, values), None, [128; 3]),
        (directions, None, [0, 128, 0]),
    ] {
        list.slices = vec![quad(&block, within)];
        let picture = offscreen.scene(&list).expect("a picture");
        let (mut air, mut left) = (0, 0);
        for (x, y) in (0..160u32).flat_map(|y| (0..160u32).map(move |x| (x, y))) {
            let mm = (f64::from(x) + 0.5 - 80.0).hypot(f64::from(y) + 0.5 - 80.0) / 4.0;
            let found = picture.pixel(x, y);
            if mm < 6.5 {
                assert!(colour_difference(found, colour) <= 1, "{mm} {found:?}");
            } else if mm > 12.0 {
                air += 1;
                left += usize::from(colour_difference(found, [255; 3]) > 0);
            }
        }
        // The mean of five such values exceeds 0.08 in less than one place of a thousand.
        assert!(left * 100 < air, "{left} of {air}");
    }
}

fn outlined(size: u32) -> ScenePane {
    let mut list = scene(size, DVec3::new(130.0, -240.0, 80.0));
    list.outline = Some(Outline {
        mask: ById(ball(15.0, 1.5)),
        colour: [120, 160, 240],
        opacity: 1.0,
    });
    list
}

/// The outline is bright where the ball is seen edge-on, and clear in its middle and outside.
fn outline_is_a_rim() {
    let mut offscreen = offscreen();
    let list = outlined(160);
    let picture = offscreen.scene(&list).expect("a picture");
    assert!(colour_difference(picture.pixel(80, 80), [0; 3]) <= 6);
    for turn in 0..16 {
        let (sin, cos) = (f64::from(turn) * std::f64::consts::TAU / 16.0).sin_cos();
        // Brightness (blue) along a ray from the middle, by millimetres.
        let at = |mm: f64| {
            let px = |part: f64| (80.0 + part * mm * 4.0) as u32;
            i32::from(picture.pixel(px(cos), px(sin))[2])
        };
        let rim = (130..165).map(|tenth| at(f64::from(tenth) * 0.1)).max();
        assert!(rim > Some(110), "{turn}: {rim:?}");
        assert!(at(7.0) < 25, "{turn}: {}", at(7.0));
        assert!(at(18.5) < 12, "{turn}: {}", at(18.5));
    }
}

/// A slice in front hides the rim, a slice behind does not.
fn outline_ends_at_slices() {
    let mut offscreen = offscreen();
    let eye = DVec3::new(0.0, -300.0, 0.001);
    for (y, hidden) in [(-25.0, true), (25.0, false)] {
        let mut list = outlined(160);
        let turned = scene(160, eye);
        (list.clip_from_world, list.eye) = (turned.clip_from_world, turned.eye);
        let mut slice = quad(&grey_block(0.3), None);
        slice.origin.y = y;
        list.slices = vec![slice];
        // A slice shows nothing outside its own grid, so it gets one that reaches there.
        let origin = DVec3::new(-15.5, y - 1.0, -15.5);
        let grid = Grid::axis_aligned([32, 3, 32], DVec3::ONE, origin).expect("regular");
        let values = vec![0.3; grid.voxel_count()];
        list.slices[0].images = vec![image(&Volume::scalar(Arc::new(grid), values), (0.0, 1.0))];
        let picture = offscreen.scene(&list).expect("a picture");
        let most = (0..160).map(|x| picture.pixel(x, 80)[2]).max();
        assert_eq!(most < Some(90), hidden, "{y}: {most:?}");
    }
}

/// A faint line over a white slice leaves most of it white.
fn faint_lines() {
    let mut offscreen = offscreen();
    let mut list = scene(80, DVec3::new(0.0, -300.0, 0.001));
    list.slices = vec![quad(&grey_block(1.0), None)];
    let line = straight(DVec3::new(-10.0, -3.0, 0.0), DVec3::new(10.0, -3.0, 0.0));
    list.lines = vec![Lines {
        opacity: 0.25,
        ..lines(&tractogram(&[line]), LineColour::Fixed([0; 3]), TUBE)
    }];
    let picture = offscreen.scene(&list).expect("a picture");
    let found = picture.pixel(40, 40);
    // A quarter of black over white, with a highlight of at most a quarter of 22 %.
    assert!((180..=215).contains(&found[1]), "{found:?}");
    assert!(picture.pixel(40, 60)[1] > 240);
}

/// Lines at random depths, crossing the middle of the picture.
fn brush(random: &mut Random, count: usize) -> Vec<Vec<DVec3>> {
    let mut end = || random.direction() * 15.0;
    (0..count).map(|_| straight(end(), end())).collect()
}

/// The background's grey over white is a light grey, however many lines overlap.
fn light_background() {
    let mut random = Random::fresh("light_background");
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(120.0, -250.0, 90.0));
    list.background = [255; 3];
    list.lines = vec![Lines {
        opacity: 0.25,
        context: true,
        ..lines(
            &tractogram(&brush(&mut random, 60)),
            LineColour::Fixed([128; 3]),
            LineStyle::Tubes { radius_mm: 0.4 },
        )
    }];
    let picture = offscreen.scene(&list).expect("a picture");
    let all = (0..160 * 160).map(|i| picture.pixel(i % 160, i / 160)[1]);
    let (darkest, marked) = all.fold((255, 0), |(least, marked), c| {
        (c.min(least), marked + usize::from(c < 250))
    });
    // The darkest shade of a line is black: at a quarter of opacity it takes away 64.
    assert!(darkest >= 255 - 64 - 2, "{darkest}");
    assert!(marked > 1000, "{marked} pixels of lines");
}

/// Context in front of a line or of a sphere changes neither.
fn context() {
    let mut random = Random::fresh("context");
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(0.0, -300.0, 40.0));
    let line = straight(DVec3::new(-14.0, 0.0, 6.0), DVec3::new(14.0, 0.0, 6.0));
    list.lines = vec![lines(&tractogram(&[line]), GREEN, TUBE)];
    list.solids = vec![sphere(DVec3::new(0.0, 0.0, -6.0), 5.0, 1.0)];
    let before: Vec<Vec<DVec3>> = brush(&mut random, 60)
        .into_iter()
        .map(|line| line.into_iter().map(|p| p - DVec3::Y * 40.0).collect())
        .collect();
    list.lines.push(Lines {
        opacity: 0.0,
        context: true,
        ..lines(&tractogram(&before), LineColour::Fixed([200; 3]), TUBE)
    });
    let alone = offscreen.scene(&list).expect("a picture");
    list.lines[1].opacity = 0.25;
    let both = offscreen.scene(&list).expect("a picture");
    let (mut same, mut shown) = (0, 0);
    for (x, y) in (0..160 * 160).map(|i| (i % 160, i / 160)) {
        let (a, b) = (alone.pixel(x, y), both.pixel(x, y));
        // Inside the line or the sphere: the background shows through their edges.
        let inside = (0..9).all(|i| {
            let (x, y) = ((x + i % 3).clamp(1, 160) - 1, (y + i / 3).clamp(1, 160) - 1);
            let near = alone.pixel(x, y);
            near[0].max(near[1]) > 60
        });
        if inside {
            assert!(
                colour_difference(a, [b[0], b[1], b[2]]) <= 2,
                "{x} {y}: {a:?} {b:?}"
            );
            same += 1;
        } else if a[..3] == [0; 3] && b[0] > 10 {
            shown += 1;
        }
    }
    assert!(same > 300 && shown > 2000, "{same} {shown}");
}
