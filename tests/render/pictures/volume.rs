//! Volumes in the 3-D view: how much light a cloud transmits, where a surface lies and how it is lit, which objects
//! hide which, and what is cut away.

mod bricks;
mod coloured;
mod hiding;
mod projections;
mod shapes;

use super::{colour_difference, offscreen};
use crate::support::panes::scene;
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{AffineSource, Grid, Volume};
use arcuate::render::March;
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{
    ById, Colours, Interpolation, ScenePane, Transfer, VolumeDraw, VolumeStyle,
};
use arcuate::state::Display;
use arcuate::state::core::volume_look::{VolumeCut, VolumeLook, VolumeStyle as Style};
use glam::{DAffine3, DMat3, DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("render::a cloud's opacity is its closed form", opacity),
        test("render::a cloud does not depend on the step", steps),
        test("render::empty bricks change no pixel", skipping),
        test("render::voxels without a number are invisible", missing),
        test("render::volumes in software do not take minutes", speed),
        test(
            "render::transfer functions keep their points",
            transfer_points,
        ),
        test("render::how a volume is shown is kept in sessions", kept),
    ];
    let rest = hiding::tests().into_iter().chain(bricks::tests());
    let rest = rest.chain(coloured::tests()).chain(shapes::tests());
    let rest = rest.chain(projections::tests());
    own.into_iter().chain(rest).collect()
}

const SIZE: u32 = 96;
/// The fields are distances from a centre, in mm, up to this value.
const WIDE: f32 = 20.0;

/// A rotated, mirrored, stretched and sheared grid about the origin.
fn any_grid(random: &mut Random, n: usize, reach_mm: f64) -> Grid {
    let edge = 2.0 * reach_mm / n as f64;
    let spacing = DVec3::from_array([0; 3].map(|_| edge * random.uniform(0.8, 1.4)));
    let mirror = DVec3::from_array([0; 3].map(|_| [-1.0, 1.0][(random.bits() & 1) as usize]));
    let mut shear = DMat3::IDENTITY;
    shear.y_axis.x = random.uniform(-0.3, 0.3);
    shear.z_axis.y = random.uniform(-0.3, 0.3);
    let matrix =
        DMat3::from_quat(random.rotation()) * shear * DMat3::from_diagonal(spacing * mirror);
    let middle = matrix * DVec3::splat((n as f64 - 1.0) * 0.5);
    let affine = DAffine3::from_mat3_translation(matrix, -middle);
    Grid::new([n; 3], affine, AffineSource::Computed).expect("a regular affine")
}

fn field(grid: Grid, value: impl Fn(DVec3) -> f32) -> Volume {
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| value(super::voxel_centre(&grid, i)))
        .collect();
    Volume::scalar(Arc::new(grid), values)
}

/// Distance from a centre, mm.
fn distances(grid: Grid, centre: DVec3) -> Volume {
    field(grid, |at| at.distance(centre) as f32)
}

/// White wherever the value is at most this fraction of the range, nothing beyond.
fn up_to(share: f32, opacity: f32) -> Transfer {
    Transfer::new(
        &[(0.0, opacity), (share, opacity), (share, 0.0), (1.0, 0.0)],
        Colours::Fixed([255; 3]),
    )
}

fn cloud(volume: &Volume, transfer: Transfer) -> VolumeDraw {
    VolumeDraw {
        volume: ById(volume.clone()),
        frame: 0,
        window: (0.0, WIDE),
        transfer,
        reference_mm: 2.0,
        style: VolumeStyle::Cloud,
        interpolation: Interpolation::Linear,
        lit: false,
        cut: None,
        inside: None,
        fade: None,
        coloured_by: None,
        shapes: None,
    }
}

fn ball_surface(volume: &Volume, radius: f32, colour: [u8; 3]) -> VolumeDraw {
    VolumeDraw {
        style: VolumeStyle::Surface {
            level: radius,
            below: true,
            colour,
            opacity: 1.0,
        },
        lit: true,
        ..cloud(volume, up_to(0.5, 0.5))
    }
}

fn shown(volumes: Vec<VolumeDraw>, eye: DVec3) -> ScenePane {
    ScenePane {
        volumes,
        ..scene(SIZE, eye)
    }
}

fn any_eye(random: &mut Random) -> DVec3 {
    let direction = random.direction();
    direction.with_z(direction.z * 0.7).normalize() * random.uniform(150.0, 400.0)
}

/// Origin and unit direction.
type Ray = (DVec3, DVec3);

/// The ray through a pixel's centre.
fn ray(list: &ScenePane, x: u32, y: u32) -> Ray {
    let at = DVec2::new(f64::from(x) + 0.5, f64::from(y) + 0.5) / f64::from(SIZE);
    let ndc = DVec3::new(at.x * 2.0 - 1.0, 1.0 - at.y * 2.0, 1.0);
    let far = list.clip_from_world.inverse().project_point3(ndc);
    (list.eye, (far - list.eye).normalize())
}

/// Where a ray enters and leaves a ball, mm from its origin.
fn chord((origin, direction): Ray, centre: DVec3, radius: f64) -> Option<(f64, f64)> {
    let along = (centre - origin).dot(direction);
    let off = (origin + direction * along).distance(centre);
    let half = (radius * radius - off * off).max(0.0).sqrt();
    (off < radius).then_some((along - half, along + half))
}

/// Asserts that every pixel of a lit ball about the origin, of colour (0, 160, 0), has the brightness of its true
/// normal, and that the ball has its true outline.
fn lit_ball(picture: &Picture, list: &ScenePane, radius: f64) {
    let forward = -list.eye.normalize();
    let right = forward.cross(DVec3::Z).normalize();
    let light = (-forward + right.cross(forward) * 0.55 - right * 0.35).normalize();
    let (mut worst, mut sum, mut count) = (0.0f64, 0.0, 0);
    for (x, y) in pixels() {
        let ray = ray(list, x, y);
        let off = ray.0.cross(ray.1).length();
        let found = f64::from(picture.pixel(x, y)[1]);
        if off > radius + 0.6 {
            assert_eq!(found, 0.0, "{x} {y}");
        }
        // Near the outline the rays of a pixel meet very different normals.
        if off > radius * 0.92 {
            continue;
        }
        let (enters, _) = chord(ray, DVec3::ZERO, radius).expect("a hit");
        let normal = (ray.0 + ray.1 * enters).normalize();
        let diffuse = normal.dot(light).max(0.0);
        let shine = normal.dot((light - ray.1).normalize()).max(0.0).powi(40);
        let expected = 160.0 * (0.42 + 0.66 * diffuse) + 255.0 * 0.2 * shine;
        worst = worst.max((found - expected).abs());
        sum += (found - expected).abs();
        count += 1;
    }
    let mean = sum / f64::from(count);
    println!("{worst:.1} at most, {mean:.2} on average over {count}");
    // An error of one degree changes the brightness by up to 2.7, and the highlight by up to 8.
    assert!(
        count > 1500 && worst <= 8.0 && mean <= 1.2,
        "{worst} {mean}"
    );
}

fn pixels() -> impl Iterator<Item = (u32, u32)> {
    (0..SIZE * SIZE).map(|i| (i % SIZE, i / SIZE))
}

/// A ball of uniform density transmits (1 − α)^(chord / reference), on any grid, in any direction, for steps of any
/// length.
fn opacity() {
    let mut random = Random::fresh("volume opacity");
    let mut offscreen = offscreen();
    for step in [None, Some(0.25), Some(1.0), Some(2.0)] {
        // The ball lies within the grid at any shear.
        let radius = random.uniform(9.0, 10.5);
        let centre = random.direction() * 1.5;
        let alpha = random.uniform(0.05, 0.3);
        let volume = distances(any_grid(&mut random, 60, 19.0), centre);
        let share = radius as f32 / WIDE;
        let list = shown(
            vec![cloud(&volume, up_to(share, alpha as f32))],
            any_eye(&mut random),
        );
        offscreen.renderer.set_march(March {
            step_texels: step,
            ..March::default()
        });
        let picture = offscreen.scene(&list).expect("a picture");
        offscreen.renderer.set_march(March::default());
        let (mut worst, mut inside) = (0.0f64, 0);
        for (x, y) in pixels() {
            let found = f64::from(picture.pixel(x, y)[0]);
            let run = chord(ray(&list, x, y), centre, radius).map_or(0.0, |(a, b)| b - a);
            // Near the silhouette an error of the radius counts more than four times, and just outside it the table's
            // steps of 0.02 mm show some of the ball to a ray that just misses it.
            let misses = chord(ray(&list, x, y), centre, radius + 0.1).is_none();
            if run < radius && !misses {
                continue;
            }
            inside += usize::from(run > 0.0);
            let expected = 255.0 * (1.0 - (1.0 - alpha).powf(run / 2.0));
            worst = worst.max((found - expected).abs());
        }
        println!("step {step:?}: {worst:.2} of 255 over {inside} pixels");
        // Linear interpolation between voxels bends the ball by h² / 4 r, 0.02 mm: 0.4 % of a cloud of which a
        // millimetre absorbs a sixth, at either end.
        assert!(inside > 800 && worst <= 2.5, "{step:?} {worst} {inside}");
    }
}

/// A soft, coloured, lit cloud looks the same in long steps and in short ones.
fn steps() {
    let mut random = Random::fresh("volume steps");
    let mut offscreen = offscreen();
    let centre = random.direction() * 3.0;
    let wave = random.uniform(0.5, 0.8);
    let volume = field(any_grid(&mut random, 40, 19.0), |at| {
        let r = at.distance(centre);
        (r + 1.5 * (at.x * wave).sin() * (at.y * wave).cos()) as f32
    });
    let transfer = Transfer::new(
        &[(0.0, 0.0), (0.2, 0.3), (0.3, 0.02), (0.5, 0.4), (0.6, 0.0)],
        Colours::Map(ColourMap::Viridis),
    );
    let list = shown(vec![cloud(&volume, transfer)], any_eye(&mut random));
    let mut picture = |step| {
        offscreen.renderer.set_march(March {
            step_texels: Some(step),
            ..March::default()
        });
        offscreen.scene(&list).expect("a picture")
    };
    let fine = picture(0.125);
    // Second order: a step twice as long has four times the error.
    for (step, tolerance) in [(0.25, 2), (0.5, 3), (1.0, 12)] {
        let other = picture(step);
        let off = |(x, y)| {
            let [r, g, b, _] = fine.pixel(x, y);
            colour_difference(other.pixel(x, y), [r, g, b])
        };
        let worst = pixels().map(off).max().unwrap_or(0);
        println!("step {step}: {worst} of 255");
        assert!(worst <= tolerance, "{step}: {worst}");
    }
    offscreen.renderer.set_march(March::default());
    let seen = pixels().filter(|&(x, y)| fine.pixel(x, y)[1] > 40).count();
    assert!(seen > 1500, "{seen}");
}

/// Pictures agree for any transfer function, interpolation and style, with scattered missing voxels.
fn skipping() {
    let mut random = Random::fresh("volume skipping");
    let mut offscreen = offscreen();
    for case in 0..6 {
        let blobs: Vec<(DVec3, f64)> = (0..6)
            .map(|_| {
                (
                    random.direction() * random.uniform(0.0, 14.0),
                    random.uniform(2.0, 5.0),
                )
            })
            .collect();
        let hole = random.direction() * 8.0;
        let volume = field(any_grid(&mut random, 44, 20.0), |at| {
            if at.distance(hole) < 3.0 {
                return f32::NAN;
            }
            let near = blobs.iter().map(|(c, r)| at.distance(*c) / r);
            near.fold(20.0, f64::min) as f32
        });
        let transfer = Transfer::new(
            &[
                (0.0, 0.6),
                (0.04, 0.3),
                (0.05, 0.0),
                (0.3, 0.0),
                (0.32, 0.1),
                (0.35, 0.0),
            ],
            Colours::Map(ColourMap::Cost),
        );
        let mut draw = cloud(&volume, transfer);
        draw.interpolation = [Interpolation::Linear, Interpolation::Cubic][case % 2];
        draw.lit = case > 1;
        if case > 3 {
            draw = VolumeDraw {
                interpolation: draw.interpolation,
                ..ball_surface(&volume, 1.0, [200, 120, 40])
            };
        }
        let list = shown(vec![draw], any_eye(&mut random));
        let mut picture = |skips| {
            offscreen.renderer.set_march(March {
                skips,
                ..March::default()
            });
            offscreen.scene(&list).expect("a picture")
        };
        let (without, with) = (picture(false), picture(true));
        offscreen.renderer.set_march(March::default());
        let differ = pixels().filter(|&(x, y)| with.pixel(x, y) != without.pixel(x, y));
        // Where a sample lies within a rounding error of a brick's wall, a byte may be rounded the other way.
        let differ: Vec<_> = differ.collect();
        let most = differ.iter().map(|&(x, y)| {
            let [r, g, b, _] = without.pixel(x, y);
            colour_difference(with.pixel(x, y), [r, g, b])
        });
        let most = most.max().unwrap_or(0);
        let seen = pixels().filter(|&(x, y)| with.pixel(x, y)[0] > 20).count();
        println!(
            "case {case}: {} pixels differ by up to {most}, {seen} seen",
            differ.len()
        );
        assert!(seen > 300, "{seen}");
        assert!(
            most <= 1 && differ.len() < 20,
            "{case}: {most} {}",
            differ.len()
        );
    }
}

/// NaN and infinities are holes with the shape that slices show: no value spreads from them.
fn missing() {
    let mut random = Random::fresh("volume missing");
    let mut offscreen = offscreen();
    for hole in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let (radius, alpha): (f64, f64) = (9.0, 0.1);
        let volume = field(any_grid(&mut random, 48, 19.0), |at| {
            if at.length() < radius { 5.0 } else { hole }
        });
        let even = Transfer::new(
            &[(0.0, alpha as f32), (1.0, alpha as f32)],
            Colours::Fixed([255; 3]),
        );
        let list = shown(vec![cloud(&volume, even)], any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        let (mut worst, mut sum, mut beyond, mut count) = (0.0f64, 0.0, 0, 0);
        for (x, y) in pixels() {
            let ray = ray(&list, x, y);
            let found = f64::from(picture.pixel(x, y)[0]);
            let off = ray.0.cross(ray.1).length();
            // The ball ends within a voxel's diagonal, 2 mm, of its radius.
            if off > radius + 1.2 {
                assert_eq!(found, 0.0, "{x} {y}");
            }
            if off < radius * 0.7 {
                let (a, b) = chord(ray, DVec3::ZERO, radius).expect("a hit");
                let expected = 255.0 * (1.0 - (1.0 - alpha).powf((b - a) / 2.0));
                worst = worst.max((found - expected).abs());
                sum += found - expected;
                beyond += usize::from((found - expected).abs() > 9.0);
                count += 1;
            }
        }
        let mean = sum / count as f64;
        println!("{hole}: {worst:.1}, on average {mean:.2} over {count}");
        // Half a millimetre of 12, twice: 255 · 0.9⁶ · 0.05 · 1 = 7. Where the ray leaves through voxel corners at both
        // ends, 1.2 mm as above, it is 16; those rays are few, and lie on both sides.
        assert!(count > 400 && worst <= 16.0, "{worst} {count}");
        assert!(
            beyond * 100 <= count,
            "{beyond} of {count} are off by more than 9"
        );
        assert!(mean.abs() < 3.0, "{mean}");
        // The surface of the values that exist, whichever side is called inside.
        let list = shown(
            vec![ball_surface(&volume, 12.0, [0, 255, 0])],
            any_eye(&mut random),
        );
        let picture = offscreen.scene(&list).expect("a picture");
        let seen = pixels()
            .filter(|&(x, y)| picture.pixel(x, y)[1] > 60)
            .count();
        let px_per_mm = f64::from(SIZE) / 40.0;
        let expected = std::f64::consts::PI * (radius * px_per_mm).powi(2);
        let share = seen as f64 / expected;
        assert!((share - 1.0).abs() < 0.12, "{seen} {expected}");
    }
}

/// The CPU draws a whole picture of an ordinary volume within seconds.
fn speed() {
    let mut offscreen = offscreen();
    let grid =
        Grid::axis_aligned([96; 3], DVec3::splat(0.4), DVec3::splat(-19.0)).expect("regular");
    let volume = distances(grid, DVec3::ZERO);
    let draw = VolumeDraw {
        lit: true,
        ..cloud(&volume, Transfer::cost())
    };
    let mut list = shown(vec![draw], DVec3::new(200.0, -220.0, 150.0));
    list.size_px = [200, 150];
    let mut seconds = || {
        list.eye.x += 1e-9;
        let began = std::time::Instant::now();
        offscreen.scene(&list).expect("a picture");
        began.elapsed().as_secs_f64()
    };
    let first = seconds();
    // Tests run in parallel: the machine may be busy with others for some of the pictures.
    let mut pictures = (0..5).map(|_| seconds());
    let later = pictures.find(|seconds| *seconds < 5.0);
    println!("200 × 150 of 96³: {first:.2} s with the pipelines, then {later:.2?} s");
    // About 0.1 s on two idle cores.
    assert!(later.is_some());
}

/// A written transfer function is read back; a document of an older program has no volume; infinities are not written.
fn kept() {
    let voxels = Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::ZERO);
    let volume = distances(voxels.expect("regular"), DVec3::ZERO);
    let look = VolumeLook {
        style: Style::Surface,
        cut: VolumeCut::Side(DVec3::X),
        ..VolumeLook::default_for(&volume, (0.0, 8.0))
    };
    assert_eq!((look.level, look.reference_mm), (4.0, 4.0));
    let display = Display {
        volume: Some(look.clone()),
        ..Display::default()
    };
    let text = serde_json::to_string(&display).expect("text");
    let mut older: serde_json::Value = serde_json::from_str(&text).expect("a value");
    assert_eq!(serde_json::from_str::<Display>(&text).ok(), Some(display));
    older.as_object_mut().expect("fields").remove("volume");
    let older: Display = serde_json::from_value(older).expect("a display");
    assert_eq!(older.volume, None);
    let endless = VolumeLook {
        level: f32::INFINITY,
        reference_mm: f32::NAN,
        ..look
    };
    let finite = endless.finite();
    assert!(finite.level.is_finite() && finite.reference_mm.is_finite());
}

fn transfer_points() {
    let transfer = Transfer::new(
        &[(0.7, 0.4), (f32::NAN, 0.1), (-1.0, 2.0), (0.2, 0.5)],
        Colours::Map(ColourMap::Grey),
    );
    assert_eq!(transfer.points(), [(0.0, 1.0), (0.2, 0.5), (0.7, 0.4)]);
    for (share, opacity) in [
        (-5.0, 1.0),
        (0.1, 0.75),
        (0.2, 0.5),
        (0.45, 0.45),
        (9.0, 0.4),
    ] {
        assert!((transfer.opacity(share) - opacity).abs() < 1e-6, "{share}");
    }
    assert_eq!(transfer.opacity(f32::NAN), 0.0);
    // Points stop at their neighbours.
    let moved = transfer.with_moved(1, 0.9, -3.0);
    assert_eq!(moved.points()[1], (0.7, 0.0));
    let (more, at) = transfer.with_point(0.5, 0.2).expect("room");
    assert_eq!((at, more.points().len()), (2, 4));
    assert_eq!(more.without(2), Some(transfer.clone()));
    let mut full = transfer;
    while let Some((more, _)) = full.with_point(0.5, 0.5) {
        full = more;
    }
    assert_eq!(full.points().len(), Transfer::MAX_POINTS);
    while let Some(fewer) = full.without(0) {
        full = fewer;
    }
    assert_eq!(full.points().len(), Transfer::MIN_POINTS);
    // A transfer function from a file of another program.
    let text = r#"{"points":[[0.9,0.1],[0.1,7.0]],"colours":{"map":"cost"}}"#;
    let read: Transfer = serde_json::from_str(text).expect("a transfer function");
    assert_eq!(read.points(), [(0.1, 1.0), (0.9, 0.1)]);
    let text = serde_json::to_string(&Transfer::cost()).expect("text");
    assert_eq!(
        serde_json::from_str::<Transfer>(&text).ok(),
        Some(Transfer::cost())
    );
}
