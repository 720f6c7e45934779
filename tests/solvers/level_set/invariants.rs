//! Independence of bricks, threads, the band's width, how a run is divided, and rewinding.

use super::{DEFAULTS, axes, begin_on, crossings, grid, run, sphere};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Volume};
use arcuate::solvers::level_set::{
    Ended, Evolution, Inputs, LayerSpeed, Layout, Mode, Params, RunHistory, ScriptEvent, Sphere,
    Start,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::bricks and threads do not matter", bricks),
        test("level_set::the band's width does not matter", band),
        test(
            "level_set::rewinding and replaying give the same bits",
            repeated,
        ),
        test("level_set::speed inputs change on the way", inputs_change),
        test("level_set::a run switches to another", switched),
        test(
            "level_set::a stopped rewind changes nothing",
            stopped_way_back,
        ),
        test("level_set::every speed acts as documented", speeds),
    ]
}

/// A bright, bumpy body in noise.
pub fn body(random: &mut Random, grid: &Arc<Grid>, noise: f64) -> Volume {
    let waves: [(DVec3, f64); 3] = [0; 3].map(|_| {
        (
            random.direction() * random.uniform(0.2, 0.5),
            random.uniform(0.0, 6.0),
        )
    });
    let reach = (grid.corners()[7] - grid.corners()[0]).length() / 3f64.sqrt();
    let value = |i: usize, random: &mut Random| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let bumps: f64 = waves.iter().map(|(k, p)| (k.dot(at) + p).sin()).sum();
        let inside = at.length() < reach * (0.3 + 0.04 * bumps);
        (f64::from(u8::from(inside)) + noise * random.normal()) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(|i| value(i, random)).collect();
    Volume::scalar(grid.clone(), values)
}

/// All terms at once.
pub fn everything() -> Params {
    Params {
        region: 0.5,
        edge: 0.7,
        edge_contrast: 0.3,
        layer: Some(LayerSpeed {
            low: 0.2,
            high: 0.9,
        }),
        layer_weight: 0.4,
        bias: 0.5,
        ..DEFAULTS
    }
}

/// Inputs with a layer, and with painted places to grow and not to grow.
pub fn inputs(random: &mut Random, image: &Volume) -> Inputs {
    let plain = backend(2).install(|| Inputs::new(image, 0)).unwrap();
    with_added_inputs(random, &plain)
}

/// Adds a layer and painted places to the inputs of an image alone.
pub fn with_added_inputs(random: &mut Random, plain: &Inputs) -> Inputs {
    let grid = &plain.image.grid;
    let layer = body(random, grid, 0.2);
    let ball = |centre: DVec3| {
        let within = |i: usize| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            u8::from(at.distance(centre) < 4.0)
        };
        Mask::new(
            grid.clone(),
            (0..grid.voxel_count()).map(within).collect::<Vec<_>>(),
        )
    };
    let (grow, hold) = (
        ball(random.direction() * 8.0),
        ball(random.direction() * 8.0),
    );
    let layered = || plain.clone().with_layer(&layer, 0);
    backend(2).install(|| layered().with_painted(Some(&grow), Some(&hold)))
}

fn start(spheres: &[Sphere]) -> Start {
    Start {
        mask: None,
        spheres: spheres.to_vec(),
    }
}

fn bricks() {
    let mut random = Random::fresh("level set bricks");
    for (name, axes) in axes(&mut random) {
        // No side is a multiple of a brick's.
        let grid = grid(axes, random.uniform(33.0, 39.0));
        let image = body(&mut random, &grid, 0.3);
        let inputs = inputs(&mut random, &image);
        let paper = Params {
            mode: Mode::Paper,
            ..DEFAULTS
        };
        for (terms, params) in [("usual", DEFAULTS), ("all", everything()), ("paper", paper)] {
            let small = start(&[sphere(random.direction() * 3.0, 5.0)]);
            let outcome = |threads: usize, layout: Layout, pieces: u64| {
                let (backend, control) = (backend(threads), Control::new());
                let mut evolution =
                    Evolution::new(&inputs, &small, &params, layout, &backend, &control).unwrap();
                for _ in 0..pieces {
                    evolution.run(44 / pieces, &backend, &control).unwrap();
                }
                (
                    evolution.field().unwrap().values_by_voxel(),
                    evolution.growth().to_vec(),
                )
            };
            let reference = outcome(1, Layout::BEST, 1);
            assert!(
                reference.1.iter().any(|n| *n != reference.1[0]),
                "{name} {terms}: at rest"
            );
            let other = |brick: usize, everywhere: bool| Layout {
                brick,
                everywhere,
                ..Layout::BEST
            };
            for (threads, layout, pieces) in [
                (3, Layout::BEST, 4),
                (2, other(16, false), 11),
                (2, other(8, true), 2),
            ] {
                let repeated = outcome(threads, layout, pieces);
                assert_eq!(repeated.1, reference.1, "{name} {terms} {layout:?}");
                let differ = repeated
                    .0
                    .iter()
                    .zip(&reference.0)
                    .filter(|(a, b)| a != b)
                    .count();
                assert_eq!(differ, 0, "{name} {terms} {layout:?} on {threads} threads");
            }
        }
    }
}

/// Bands of 3, 6 and 16 voxels, the last as wide as the volume.
fn band() {
    const BODIES: usize = 8;
    let mut random = Random::fresh("level set band");
    let all: Vec<[f64; 2]> = (0..BODIES).map(|_| bands(&mut random)).collect();
    for band in 0..2 {
        // Grey values keep the surface between the same voxels; its place between them changes with each redistancing,
        // which uses slopes up to the band's end. The difference depends on the body: with a band of 6 voxels its mean
        // over 170 bodies is 0.033, it exceeds 0.05 for one in 40, and is 0.088 at most. The mean over eight bodies is
        // therefore limited.
        let mean = all.iter().map(|means| means[band]).sum::<f64>() / BODIES as f64;
        assert!(mean < 0.05, "{mean}");
    }
}

/// Mean distance in voxels between a body's surface computed with a band of 3 and of 6 voxels and the surface computed
/// everywhere.
fn bands(random: &mut Random) -> [f64; 2] {
    let grid = grid(DMat3::IDENTITY, 34.0);
    let image = body(random, &grid, 0.15);
    let place = [sphere(random.direction() * 2.0, 6.0)];
    let outcome = |band: f32, everywhere: bool| {
        let layout = Layout {
            band,
            everywhere,
            ..Layout::BEST
        };
        let mut evolution = begin_on(2, &image, &place, &DEFAULTS, layout);
        // The step's length follows the band's width through the rescaling.
        super::run_for(&mut evolution, 18.0);
        evolution.field().unwrap()
    };
    let whole = outcome(16.0, true);
    [3.0, 6.0].map(|band| {
        let field = outcome(band, false);
        let [a, b] = [&whole, &field].map(crossings);
        let away = |from: &[DVec3], to: &[DVec3]| {
            let least = |p: &DVec3| {
                to.iter()
                    .map(|q| p.distance(*q))
                    .fold(f64::INFINITY, f64::min)
            };
            let all: Vec<f64> = from.iter().map(least).collect();
            (
                all.iter().sum::<f64>() / all.len() as f64,
                all.iter().copied().fold(0.0, f64::max),
            )
        };
        let (mean, worst) = away(&b, &a);
        println!(
            "band {band}: {} crossings, mean {mean:.4}, at most {worst:.3} voxels",
            b.len()
        );
        mean
    })
}

fn repeated() {
    let mut random = Random::fresh("level set again");
    let grid = grid(DMat3::IDENTITY, 34.0);
    let image = body(&mut random, &grid, 0.3);
    let inputs = inputs(&mut random, &image);
    let (backend, control) = (backend(2), Control::new());
    let begin = start(&[sphere(DVec3::ZERO, 5.0)]);
    let new =
        || Evolution::new(&inputs, &begin, &DEFAULTS, Layout::BEST, &backend, &control).unwrap();
    let mut evolution = new();
    evolution.watched = false;
    let smoother = Params {
        smoothness: 0.6,
        ..everything()
    };
    let cut = Sphere {
        add: false,
        ..sphere(random.direction() * 6.0, 3.0)
    };
    run(&mut evolution, 30);
    evolution.set(&smoother, &backend).unwrap();
    run(&mut evolution, 17);
    let at_47 = evolution.field().unwrap().values_by_voxel();
    evolution.apply_sphere(&cut, &backend).unwrap();
    evolution
        .apply_sphere(&sphere(random.direction() * 7.0, 3.0), &backend)
        .unwrap();
    run(&mut evolution, 40);
    let end = evolution.field().unwrap().values_by_voxel();
    // A script can be written and read back.
    let script = evolution.script();
    let text = serde_json::to_string(&script).unwrap();
    assert_eq!(serde_json::from_str::<RunHistory>(&text).unwrap(), script);
    let all = [inputs.clone()];
    let repeated = Evolution::replay(&all, &begin, &script, &backend, &control);
    let (replayed, ended) = repeated.unwrap();
    assert_eq!(ended, Ended::Steps);
    assert_eq!(replayed.field().unwrap().values_by_voxel(), end);
    assert_eq!(replayed.growth(), evolution.growth());
    // Back to before the cut; then the same run again.
    evolution.rewind(47, &backend, &control).unwrap();
    assert_eq!(
        (
            evolution.step(),
            evolution.field().unwrap().values_by_voxel() == at_47
        ),
        (47, true)
    );
    assert_eq!(evolution.params(), &smoother);
    assert_eq!(evolution.script().events.len(), 1);
    for event in &script.events[1..] {
        let ScriptEvent::Sphere(sphere) = &event.event else {
            unreachable!("the last two were spheres")
        };
        evolution.apply_sphere(sphere, &backend).unwrap();
    }
    run(&mut evolution, 40);
    assert_eq!(evolution.field().unwrap().values_by_voxel(), end);
    evolution.rewind(0, &backend, &control).unwrap();
    assert_eq!(
        evolution.field().unwrap().values_by_voxel(),
        new().field().unwrap().values_by_voxel()
    );
    assert_eq!(evolution.params(), &DEFAULTS);
}

fn with(evolution: &Evolution) -> (Vec<f32>, Vec<u64>, RunHistory, Params, f64) {
    (
        evolution.field().unwrap().values_by_voxel(),
        evolution.growth().to_vec(),
        evolution.script(),
        evolution.params().clone(),
        evolution.time(),
    )
}

/// Another layer and other painted places while the surface moves: φ is kept, and every change can be repeated.
fn inputs_change() {
    let mut random = Random::fresh("level set inputs change");
    let grid = grid(DMat3::IDENTITY, 34.0);
    let image = body(&mut random, &grid, 0.3);
    let (backend, control) = (backend(2), Control::new());
    let plain = backend.install(|| Inputs::new(&image, 0)).unwrap();
    let others = [0; 2].map(|_| with_added_inputs(&mut random, &plain));
    let begin = start(&[sphere(DVec3::ZERO, 5.0)]);
    let new = Evolution::new(&plain, &begin, &DEFAULTS, Layout::BEST, &backend, &control);
    let mut evolution = new.unwrap();
    evolution.watched = false;
    let numbers = |evolution: &Evolution| -> Vec<(u64, usize)> {
        let events = evolution.script().events;
        let inputs = events.iter().filter_map(|e| match e.event {
            ScriptEvent::Inputs(number) => Some((e.step, number)),
            _ => None,
        });
        inputs.collect()
    };
    run(&mut evolution, 30);
    let at_30 = evolution.field().unwrap().values_by_voxel();
    // Its speed is set only now: before there is no layer.
    assert!(evolution.set(&everything(), &backend).is_err());
    evolution
        .set_inputs(&others[0], &everything(), &backend)
        .unwrap();
    assert_eq!(
        evolution.field().unwrap().values_by_voxel(),
        at_30,
        "φ stays"
    );
    assert_eq!(evolution.script().events.len(), 2);
    run(&mut evolution, 17);
    let before = with(&evolution);
    // A refused change leaves everything as it was.
    assert!(
        evolution
            .set_inputs(&plain, &everything(), &backend)
            .is_err()
    );
    assert!(with(&evolution) == before && evolution.inputs().is(&others[0]));
    assert_eq!(evolution.all_inputs().len(), 2);
    evolution
        .set_inputs(&others[1], &everything(), &backend)
        .unwrap();
    run(&mut evolution, 13);
    let at_60 = with(&evolution);
    // Known inputs keep their number.
    evolution
        .set_inputs(&others[0], &everything(), &backend)
        .unwrap();
    run(&mut evolution, 5);
    evolution.set_inputs(&plain, &DEFAULTS, &backend).unwrap();
    run(&mut evolution, 20);
    assert_eq!(numbers(&evolution), [(30, 1), (47, 2), (60, 1), (65, 0)]);
    assert_eq!(evolution.all_inputs().len(), 3);
    let end = with(&evolution);
    // Without the changes the surface would be elsewhere.
    let mut alone =
        Evolution::new(&plain, &begin, &DEFAULTS, Layout::BEST, &backend, &control).unwrap();
    alone.watched = false;
    run(&mut alone, 85);
    assert!(alone.field().unwrap().values_by_voxel() != end.0);
    let text = serde_json::to_string(&end.2).unwrap();
    let script: RunHistory = serde_json::from_str(&text).unwrap();
    assert_eq!(script, end.2);
    let all = evolution.all_inputs().to_vec();
    let repeated = Evolution::replay(&all, &begin, &script, &backend, &control);
    let (replayed, ended) = repeated.unwrap();
    assert!(with(&replayed) == end && ended == Ended::Steps);
    let fewer = Evolution::replay(&all[..2], &begin, &script, &backend, &control);
    let sentence = fewer.err().unwrap().to_string();
    assert!(
        sentence.contains("with number 2, expected a number below 2"),
        "{sentence}"
    );
    // Back between two changes; forward again as before.
    evolution.rewind(60, &backend, &control).unwrap();
    assert!(with(&evolution) == at_60 && evolution.inputs().is(&others[1]));
    assert_eq!(evolution.all_inputs().len(), 3);
    evolution
        .set_inputs(&others[0], &everything(), &backend)
        .unwrap();
    run(&mut evolution, 5);
    evolution.set_inputs(&plain, &DEFAULTS, &backend).unwrap();
    run(&mut evolution, 20);
    assert!(with(&evolution) == end);
    // Forgotten inputs have no number.
    evolution.rewind(40, &backend, &control).unwrap();
    assert!(evolution.inputs().is(&others[0]));
    assert_eq!(
        (numbers(&evolution), evolution.all_inputs().len()),
        (vec![(30, 1)], 2)
    );
    evolution.rewind(30, &backend, &control).unwrap();
    assert_eq!(evolution.field().unwrap().values_by_voxel(), at_30);
    assert!(evolution.inputs().is(&plain) && evolution.all_inputs().len() == 1);
    assert_eq!(evolution.params(), &DEFAULTS);
}

/// Three runs with one start: whichever the run is, it becomes another one exactly as a replay would.
fn switched() {
    let mut random = Random::fresh("level set switched");
    let grid = grid(DMat3::IDENTITY, 34.0);
    let image = body(&mut random, &grid, 0.3);
    let (backend, control) = (backend(2), Control::new());
    let plain = backend.install(|| Inputs::new(&image, 0)).unwrap();
    let other = with_added_inputs(&mut random, &plain);
    let begin = start(&[sphere(DVec3::ZERO, 5.0)]);
    let new = Evolution::new(&plain, &begin, &DEFAULTS, Layout::BEST, &backend, &control);
    let mut evolution = new.unwrap();
    evolution.watched = false;
    run(&mut evolution, 30);
    let smoother = Params {
        smoothness: 0.6,
        ..DEFAULTS
    };
    evolution.set(&smoother, &backend).unwrap();
    run(&mut evolution, 20);
    let cut = Sphere {
        add: false,
        ..sphere(random.direction() * 6.0, 3.0)
    };
    evolution.apply_sphere(&cut, &backend).unwrap();
    run(&mut evolution, 15);
    let long = (with(&evolution), evolution.all_inputs().to_vec());
    // It parts from the first one at a step of its events.
    evolution.rewind(30, &backend, &control).unwrap();
    evolution
        .set_inputs(&other, &everything(), &backend)
        .unwrap();
    run(&mut evolution, 25);
    let branch = (with(&evolution), evolution.all_inputs().to_vec());
    evolution.rewind(12, &backend, &control).unwrap();
    let short = (with(&evolution), evolution.all_inputs().to_vec());
    assert_eq!((short.0.2.steps, branch.1.len()), (12, 2));
    for (end, inputs) in [&long, &branch, &long, &short, &branch, &branch, &short] {
        let script = &end.2;
        let replayed = Evolution::replay(inputs, &begin, script, &backend, &control);
        assert!(with(&replayed.unwrap().0) == *end);
        let ended = evolution
            .switch_to(inputs, script, &backend, &control)
            .unwrap();
        assert!(with(&evolution) == *end && ended == Ended::Steps);
        assert_eq!(evolution.all_inputs().len(), inputs.len());
    }
    let fewer = evolution.switch_to(&branch.1[..1], &branch.0.2, &backend, &control);
    assert!(fewer.is_err());
    // It goes on like the replayed one.
    evolution
        .switch_to(&branch.1, &branch.0.2, &backend, &control)
        .unwrap();
    let replayed = Evolution::replay(&branch.1, &begin, &branch.0.2, &backend, &control);
    let mut replayed = replayed.unwrap().0;
    replayed.watched = false;
    for run_on in [&mut evolution, &mut replayed] {
        run(run_on, 40);
    }
    assert!(with(&evolution) == with(&replayed));
}

/// A stopped rewind changes nothing, not even the later course.
fn stopped_way_back() {
    let mut random = Random::fresh("level set stopped way back");
    let grid = grid(DMat3::IDENTITY, 34.0);
    let image = body(&mut random, &grid, 0.3);
    let (backend, control) = (backend(2), Control::new());
    let inputs = inputs(&mut random, &image);
    let other = backend.install(|| inputs.clone().with_painted(None, None));
    let begin = start(&[sphere(DVec3::ZERO, 5.0)]);
    let spheres = [6.0, 7.0].map(|far| sphere(random.direction() * far, 3.0));
    let new = || {
        let new = Evolution::new(&inputs, &begin, &DEFAULTS, Layout::BEST, &backend, &control);
        let mut evolution = new.unwrap();
        evolution.watched = false;
        run(&mut evolution, 37);
        evolution
            .set_inputs(&other, &everything(), &backend)
            .unwrap();
        run(&mut evolution, 33);
        evolution.apply_sphere(&spheres[0], &backend).unwrap();
        run(&mut evolution, 41);
        evolution
    };
    let (mut evolution, mut counterpart) = (new(), new());
    let before = with(&evolution);
    let stopped = Control::new();
    stopped.cancel();
    // From one and from several stored states, across the sphere and the change.
    for step in [110, 74, 44, 12] {
        let error = evolution.rewind(step, &backend, &stopped).unwrap_err();
        assert!(
            matches!(error, arcuate::solvers::Error::Cancelled),
            "{error}"
        );
        assert!(with(&evolution) == before, "stopped on its way to {step}");
        let kept = [&evolution, &counterpart].map(|evolution| evolution.size().kept_bytes);
        assert_eq!(kept[0], kept[1], "states are kept as they were");
        assert_eq!(
            (evolution.inside(), evolution.all_inputs().len()),
            (counterpart.inside(), 2)
        );
    }
    for evolution in [&mut evolution, &mut counterpart] {
        evolution.apply_sphere(&spheres[1], &backend).unwrap();
        run(evolution, 40);
    }
    assert!(with(&evolution) == with(&counterpart));
    for evolution in [&mut evolution, &mut counterpart] {
        evolution.rewind(52, &backend, &control).unwrap();
    }
    assert!(with(&evolution) == with(&counterpart) && evolution.step() == 52);
}

/// Each term alone moves the surface to the right place.
fn speeds() {
    let mut random = Random::fresh("level set speeds");
    let grid = grid(DMat3::IDENTITY, 40.0);
    let centre = random.direction() * 1.5;
    // A smooth edge at 11 voxels, at half the height.
    let value = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        (1.0 / (1.0 + ((at.distance(centre) - 11.0) / 0.7).exp())) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let image = Volume::scalar(grid.clone(), values);
    let (backend, control) = (backend(2), Control::new());
    let plain = backend.install(|| Inputs::new(&image, 0)).unwrap();
    let layered = backend.install(|| plain.clone().with_layer(&image, 0));
    let off = Params {
        intensity: 0.0,
        smoothness: 0.1,
        ..DEFAULTS
    };
    let cases = [
        (
            "intensity",
            Params {
                intensity: 1.0,
                ..off.clone()
            },
        ),
        (
            "region",
            Params {
                region: 1.0,
                ..off.clone()
            },
        ),
        (
            "layer",
            Params {
                layer: Some(LayerSpeed {
                    low: 0.0,
                    high: 1.0,
                }),
                ..off.clone()
            },
        ),
        (
            "edge",
            Params {
                edge: 1.0,
                edge_contrast: 0.03,
                // Outwards everywhere: only g stops it.
                intensity: 0.3,
                tolerance: 10.0,
                smoothness: 0.0,
                ..off
            },
        ),
    ];
    for (name, params) in cases {
        for from in [7.0, 9.5] {
            let begin = start(&[sphere(centre, from)]);
            let mut evolution =
                Evolution::new(&layered, &begin, &params, Layout::BEST, &backend, &control)
                    .unwrap();
            run(&mut evolution, 400);
            let (mean, worst) = super::radius(&evolution.field().unwrap(), centre, 11.0);
            println!("{name} from {from}: {mean:.3}, off by {worst:.3} at most");
            assert!(worst < 0.6, "{name}: {mean} {worst}");
        }
    }
}
