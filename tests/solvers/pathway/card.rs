//! The window draws the output of a kernel without a copy between them.

use super::between;
use crate::eikonal::{cube, swirl};
use crate::support::panes::{pane, scene};
use crate::support::{Random, cuda_test};
use arcuate::compute::Backend;
use arcuate::data::appearance::ColourMap;
use arcuate::data::{ImageExporter, Volume};
use arcuate::render::offscreen::Offscreen;
use arcuate::scene::draw_list::{
    ById, Image, Interpolation, ScenePane, Transfer, VolumeDraw, VolumeStyle,
};
use arcuate::solvers::eikonal::LocalSolver;
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway::excess_on_card;
use glam::DVec3;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeSet;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![shared("parity::pathway pictures without a copy", pictures)]
}

/// A test for a card that both draws and computes; elsewhere it is reported as ignored, with the reason.
pub fn shared(name: &str, run: fn(Backend, Offscreen, ImageExporter)) -> Trial {
    let Some(backend) = crate::support::cuda_backend() else {
        return cuda_test(name, move |_| unreachable!("there is none"));
    };
    let card = backend.devices()[0].uuid().expect("a name");
    let drawing = Offscreen::new().ok().and_then(|offscreen| {
        let lend = offscreen.lender()?;
        let same = lend.card == card && lend.image([1; 3]).is_some();
        same.then_some((offscreen, lend))
    });
    match drawing {
        Some((offscreen, lend)) => cuda_test(name, move |backend| run(backend, offscreen, lend)),
        None => Trial::test(
            format!(
                "{name} (not run: {} does not draw)",
                backend.devices()[0].name()
            ),
            || Err(Failed::from("the card does not draw")),
        )
        .with_ignored_flag(true),
    }
}

const MAXIMUM_EXCESS: f32 = 1.0;

fn drawn(excess: &Volume) -> (ScenePane, Image) {
    let cloud = VolumeDraw {
        volume: ById(excess.clone()),
        frame: 0,
        window: (0.0, 0.5),
        transfer: Transfer::cost(),
        reference_mm: 2.0,
        style: VolumeStyle::Cloud,
        interpolation: Interpolation::Linear,
        lit: true,
        cut: None,
        inside: None,
        fade: None,
        coloured_by: None,
        shapes: None,
    };
    let image = Image {
        volume: ById(excess.clone()),
        frame: 0,
        window: (0.0, 0.5),
        colour_map: ColourMap::Cost,
        opacity: 1.0,
        interpolation: Interpolation::Linear,
        brightness: 1.0,
        hide_below: None,
        transparent_below: false,
        fades: false,
        limits: None,
        is_symmetric: false,
        opacity_by_value: false,
        is_outlined: false,
    };
    let scene = ScenePane {
        volumes: vec![cloud],
        ..scene(320, DVec3::new(60.0, -90.0, 50.0))
    };
    (scene, image)
}

fn pictures(backend: Backend, mut offscreen: Offscreen, lend: ImageExporter) {
    let mut random = Random::fresh("pictures without a copy");
    for round in 0..3 {
        let n = 24 + 5 * round;
        let grid = cube(n);
        let speed = swirl(&mut random, &grid, 5.0);
        let hole = random.direction() * 3.0 + n as f64 * 0.5;
        let open = |v: [usize; 3]| DVec3::from_array(v.map(|c| c as f64)).distance(hole) > 4.0;
        let metric = Metric::from_speed(&grid, |v| open(v).then(|| speed(v))).unwrap();
        let end = n as i64 - 3;
        let ends = [[2, 3, 2], [end, end - 1, end]];
        let pathway = between(&metric, LocalSolver::Hybrid, &ends[..1], &ends[1..]).unwrap();

        let started = Instant::now();
        let uploaded = pathway.excess(MAXIMUM_EXCESS);
        let dense_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        let image = lend.image(grid.shape.map(|n| n as u32)).expect("an image");
        let lent_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        let copy = excess_on_card(&pathway, MAXIMUM_EXCESS, image, &backend.devices()[0]).unwrap();
        let written_ms = started.elapsed().as_secs_f64() * 1e3;
        println!(
            "{n}³: made dense {dense_ms:.2} ms; lent {lent_ms:.2} ms, written {written_ms:.2} ms"
        );
        // The host's own values are wrong, so the picture can only come from the card.
        let faulty = vec![0.3; grid.voxel_count()];
        let on_card = Volume::scalar(grid.clone(), faulty).with_device_copy(copy);
        let centre = DVec3::splat(n as f64 * 0.5 - 0.5);
        let mut seen = |excess: &Volume| {
            let (mut scene, image) = drawn(excess);
            scene.eye += centre;
            scene.clip_from_world *= glam::DMat4::from_translation(-centre);
            let mut slice = pane(200, centre, DVec3::X, DVec3::Y, n as f64 / 200.0);
            slice.images.push(image);
            [
                offscreen.scene(&scene).expect("a picture"),
                offscreen.slice(&slice).expect("a picture"),
            ]
        };
        let (plain, shared) = (seen(&uploaded), seen(&on_card));
        for (plain, shared) in plain.iter().zip(&shared) {
            let colours: BTreeSet<&[u8]> = plain.rgba.chunks(4).collect();
            assert!(colours.len() > 50, "there is something to see");
            assert!(plain == shared, "the pictures differ");
        }
    }
}
