//! The GPU against the CPU.

use super::behaviour::in_noise;
use super::invariants::{body, everything, inputs, with_added_inputs};
use super::keep_out::{cut, within};
use super::{CURVATURE, DEFAULTS, GROWTH, axes, grid, ones, sphere};
use crate::pathway::card::shared;
use crate::support::fields::backend;
use crate::support::panes::scene;
use crate::support::{Random, cuda_test};
use arcuate::compute::{Backend, Control};
use arcuate::data::{BrickImage, ImageExporter, Mask};
use arcuate::render::offscreen::Offscreen;
use arcuate::scene::draw_list::{BrickSurface, ById, ScenePane};
use arcuate::solvers::level_set;
use arcuate::solvers::level_set::{
    Ended, Evolution, Inputs, Layout, Mode, Params, ScriptEvent, Sphere, Start,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("parity::level_set every term on every grid", terms),
        cuda_test("parity::level_set what is cut away stays away", cut_away),
        cuda_test("parity::level_set long runs come and go", long),
        cuda_test("parity::level_set many bricks", many),
        cuda_test(
            "parity::level_set edits, ways back, the same bits",
            repeated,
        ),
        cuda_test("parity::level_set outcomes and refusals", conduct),
        shared("parity::level_set pictures without a copy", pictures),
    ]
}

/// The GPU draws the surface that it holds while the run continues: the bricks stay there.
fn pictures(cuda: Backend, mut offscreen: Offscreen, lend: ImageExporter) {
    let (image, place) = in_noise(&mut Random::fresh("level set pictures without a copy"));
    let control = Control::new();
    let inputs = cuda.install(|| Inputs::new(&image, 0)).unwrap();
    let params = level_set::Params::defaults_for(1.0, 0.5);
    let start = start(&[place]);
    let new = Evolution::new(&inputs, &start, &params, Layout::BEST, &cuda, &control);
    let mut evolution = new.unwrap();
    evolution.watched = false;
    let shown = |phi: BrickImage| ScenePane {
        surfaces: vec![BrickSurface {
            phi: ById(phi),
            colour: [255, 200, 40],
            opacity: 1.0,
            lit: true,
            fade: None,
            coloured_by: None,
        }],
        ..scene(160, DVec3::new(60.0, -90.0, 50.0))
    };
    let mut kept = Vec::new();
    for round in 0..8 {
        evolution.run_unchecked(37, &cuda, &control).unwrap();
        let exported = evolution.image(Some(&lend)).unwrap();
        assert!(exported.device_copy().is_some() && exported.pages().is_none());
        let fetched = evolution.image(None).unwrap();
        assert!(fetched.device_copy().is_none());
        // The run has continued when the picture is drawn.
        evolution.run_unchecked(5, &cuda, &control).unwrap();
        let before = offscreen.renderer.uploaded_bytes();
        let found = offscreen.scene(&shown(exported.clone())).unwrap();
        assert_eq!(offscreen.renderer.uploaded_bytes(), before);
        let expected = offscreen.scene(&shown(fetched)).unwrap();
        assert_eq!(found.rgba, expected.rgba, "round {round}");
        assert!(found.rgba.chunks(4).filter(|p| p[0] > 60).count() > 500);
        kept.push((exported, found.rgba));
    }
    // Surfaces that are still referenced are unchanged.
    for (exported, before) in kept {
        let repeated = offscreen.scene(&shown(exported)).unwrap();
        assert_eq!(repeated.rgba, before);
    }
}

fn start(spheres: &[Sphere]) -> Start {
    Start {
        mask: None,
        spheres: spheres.to_vec(),
    }
}

/// After this many steps on both: the largest difference of φ, and the fraction of the band's voxels that differ by
/// more than a hundredth of a voxel.
fn compare(
    name: &str,
    inputs: &Inputs,
    start: &Start,
    params: &Params,
    steps: u64,
    cuda: &Backend,
) -> (f32, f64) {
    let control = Control::new();
    let [cpu, gpu] = [&backend(4), cuda].map(|backend| {
        let new = Evolution::new(inputs, start, params, Layout::BEST, backend, &control);
        let mut evolution = new.unwrap();
        evolution.watched = false;
        evolution.run_unchecked(steps, backend, &control).unwrap();
        evolution
    });
    let fields = [&cpu, &gpu].map(|evolution| evolution.field().unwrap());
    let (mut worst, mut far, mut band, mut signs) = (0.0f32, 0, 0, 0);
    for (a, b) in fields[0]
        .values_by_voxel()
        .iter()
        .zip(fields[1].values_by_voxel())
    {
        let off = (a - b).abs();
        worst = if off > worst || off.is_nan() {
            off
        } else {
            worst
        };
        band += usize::from(a.abs() < 1.5);
        far += usize::from(a.abs() < 1.5 && off > 0.01);
        signs += usize::from((*a > 0.0) != (b > 0.0));
    }
    let share = far as f64 / band.max(1) as f64;
    println!(
        "{name}: {worst:.1e} at most, {far} of {band} voxels by a hundredth, {signs} on other sides; {:?}, \
         {:?}",
        cpu.size(),
        gpu.size()
    );
    // The count kept during the run equals the voxels of the result.
    let inside = fields[1].mask().count() as u64;
    assert_eq!(gpu.growth().last(), Some(&inside), "{name}");
    assert_eq!(gpu.growth().len(), cpu.growth().len());
    let differences = gpu
        .growth()
        .iter()
        .zip(cpu.growth())
        .map(|(a, b)| a.abs_diff(*b));
    let most = differences.max().unwrap_or(0);
    assert!(
        most as f64 <= 2.0 + 1e-3 * inside as f64,
        "{name}: {most} of {inside}"
    );
    (worst, share)
}

fn terms(cuda: Backend) {
    let mut random = Random::fresh("parity level set terms");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, random.uniform(34.0, 40.0));
        let image = body(&mut random, &grid, 0.2);
        let inputs = inputs(&mut random, &image);
        let place = start(&[sphere(random.direction() * 2.0, 6.0)]);
        let paper = Params {
            mode: Mode::Paper,
            ..DEFAULTS
        };
        let plain = Params {
            redistance_every: 0,
            ..DEFAULTS
        };
        for (what, params) in [
            ("curvature", &CURVATURE),
            ("growth", &GROWTH),
            ("without redistancing", &plain),
            ("usual", &DEFAULTS),
            ("all", &everything()),
            ("paper", &paper),
        ] {
            for steps in [1, 23, 80] {
                let label = format!("{name}, {what}, {steps} steps");
                let (worst, share) = compare(&label, &inputs, &place, params, steps, &cuda);
                // One step rounds; later, voxels whose neighbours change sides a step sooner or later are pulled
                // towards other slopes for a while.
                if steps == 1 {
                    assert!(worst < 1e-4, "{label}: {worst}");
                }
                assert!(worst.is_finite() && share < 0.01, "{label}: {share}");
            }
        }
    }
}

/// A cut at the start and one on the way: the surface stays out of both, on the GPU as elsewhere.
fn cut_away(cuda: Backend) {
    let mut random = Random::fresh("parity level set cut away");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, 36.0);
        let image = body(&mut random, &grid, 0.1);
        let inputs = inputs(&mut random, &image);
        let first = cut(random.direction() * 4.0, 2.5);
        let begin = start(&[sphere(DVec3::ZERO, 8.0), first]);
        for (what, params) in [("usual", &DEFAULTS), ("all", &everything())] {
            let label = format!("{name}, {what}, cut");
            let (_, share) = compare(&label, &inputs, &begin, params, 60, &cuda);
            assert!(share < 0.01, "{label}: {share}");
            let control = Control::new();
            let new = Evolution::new(&inputs, &begin, params, Layout::BEST, &cuda, &control);
            let mut evolution = new.unwrap();
            evolution.run_unchecked(20, &cuda, &control).unwrap();
            let second = cut(random.direction() * 4.0, 1.5);
            evolution.apply_sphere(&second, &cuda).unwrap();
            evolution.run_unchecked(120, &cuda, &control).unwrap();
            let field = evolution.field().unwrap();
            assert_eq!(within(&field, &first).0, 0, "{label}");
            assert_eq!(within(&field, &second).0, 0, "{label}");
        }
    }
}

/// Bricks are allocated and freed over and over.
fn long(cuda: Backend) {
    let mut random = Random::fresh("parity level set long");
    let grid = grid(DMat3::IDENTITY, 70.0);
    let image = ones(&grid);
    let inputs = backend(4).install(|| Inputs::new(&image, 0)).unwrap();
    let place = start(&[sphere(random.direction() * 3.0, 8.0)]);
    let growing = Params {
        rescaling: 0.1,
        redistance_every: 20,
        ..GROWTH
    };
    for (name, params, steps) in [("growing", growing, 70), ("shrinking", CURVATURE, 90)] {
        let (worst, share) = compare(name, &inputs, &place, &params, steps, &cuda);
        assert!(worst < 0.05 && share < 1e-3, "{name}: {worst} {share}");
    }
}

/// Enough bricks for the kernels that assign a warp to each.
fn many(cuda: Backend) {
    let mut random = Random::fresh("parity level set many");
    for turn in [
        DMat3::IDENTITY,
        DMat3::from_diagonal(DVec3::new(1.0, 1.3, 1.7)),
    ] {
        let grid = grid(turn, 150.0);
        let wave = random.uniform(0.35, 0.45);
        let within = |i: usize| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))) * wave;
            let folds = at.x.sin() * at.y.cos() + at.y.sin() * at.z.cos() + at.z.sin() * at.x.cos();
            u8::from(folds > 0.3)
        };
        let mask: Vec<u8> = (0..grid.voxel_count()).map(within).collect();
        let start = Start {
            mask: Some(Mask::new(grid.clone(), mask)),
            spheres: Vec::new(),
        };
        let image = body(&mut random, &grid, 0.3);
        let inputs = backend(4).install(|| Inputs::new(&image, 0)).unwrap();
        let (worst, share) = compare("many", &inputs, &start, &DEFAULTS, 45, &cuda);
        assert!(worst.is_finite() && share < 0.01, "{worst} {share}");
    }
}

fn repeated(cuda: Backend) {
    let mut random = Random::fresh("parity level set again");
    let grid = grid(DMat3::IDENTITY, 40.0);
    let image = body(&mut random, &grid, 0.3);
    let inputs = inputs(&mut random, &image);
    let control = Control::new();
    let begin = start(&[sphere(DVec3::ZERO, 5.0)]);
    let new = Evolution::new(&inputs, &begin, &DEFAULTS, Layout::BEST, &cuda, &control);
    let mut evolution = new.unwrap();
    evolution.watched = false;
    let exactly = |evolution: &mut Evolution, steps: u64| {
        let end = evolution.step() + steps;
        while evolution.step() < end {
            evolution
                .run(end - evolution.step(), &cuda, &control)
                .unwrap();
        }
    };
    exactly(&mut evolution, 33);
    evolution.set(&everything(), &cuda).unwrap();
    exactly(&mut evolution, 24);
    let at_57 = evolution.field().unwrap().values_by_voxel();
    let cut = Sphere {
        add: false,
        ..sphere(random.direction() * 6.0, 3.0)
    };
    evolution.apply_sphere(&cut, &cuda).unwrap();
    exactly(&mut evolution, 71);
    // Other inputs on the way.
    let other = with_added_inputs(&mut random, &inputs);
    evolution.set_inputs(&other, &everything(), &cuda).unwrap();
    exactly(&mut evolution, 30);
    let end = evolution.field().unwrap().values_by_voxel();
    let script = evolution.script();
    let all = evolution.all_inputs().to_vec();
    let replayed = Evolution::replay(&all, &begin, &script, &cuda, &control);
    let (replayed, ended) = replayed.unwrap();
    assert_eq!(ended, Ended::Steps);
    assert!(
        replayed.field().unwrap().values_by_voxel() == end,
        "a replay differs"
    );
    // A stopped rewind changes nothing.
    let stopped = Control::new();
    stopped.cancel();
    assert!(evolution.rewind(57, &cuda, &stopped).is_err());
    assert!(evolution.field().unwrap().values_by_voxel() == end && evolution.script() == script);
    evolution.rewind(57, &cuda, &control).unwrap();
    assert!(
        evolution.field().unwrap().values_by_voxel() == at_57,
        "the rewind differs"
    );
    assert!(matches!(
        evolution.script().events[0].event,
        ScriptEvent::Params(_)
    ));
    evolution.apply_sphere(&cut, &cuda).unwrap();
    exactly(&mut evolution, 71);
    evolution.set_inputs(&other, &everything(), &cuda).unwrap();
    exactly(&mut evolution, 30);
    assert!(
        evolution.field().unwrap().values_by_voxel() == end,
        "the same again differs"
    );
}

fn conduct(cuda: Backend) {
    let grid = grid(DMat3::IDENTITY, 18.0);
    let image = ones(&grid);
    let inputs = backend(2).install(|| Inputs::new(&image, 0)).unwrap();
    let control = Control::new();
    let begin = start(&[sphere(DVec3::ZERO, 6.0)]);
    let new = |layout: Layout| Evolution::new(&inputs, &begin, &CURVATURE, layout, &cuda, &control);
    let mut evolution = new(Layout::BEST).unwrap();
    assert_eq!(
        evolution.run(1000, &cuda, &control).unwrap(),
        Ended::Vanished
    );
    let inside = evolution.field().unwrap().mask().count() as u64;
    assert!(inside > 0 && evolution.growth().last() == Some(&inside));
    let sixteen = Layout {
        brick: 16,
        ..Layout::BEST
    };
    let error = new(sixteen).err().unwrap().to_string();
    assert!(error.contains("bricks of 8"), "{error}");
    // A surface that comes to rest on one comes to rest on the other.
    let (image, place) = in_noise(&mut Random::fresh("parity level set at rest"));
    let fields = [&backend(4), &cuda].map(|backend| {
        let inputs = backend.install(|| Inputs::new(&image, 0)).unwrap();
        let params = level_set::Params::defaults_for(1.0, 0.5);
        let new = Evolution::new(
            &inputs,
            &start(&[place]),
            &params,
            Layout::BEST,
            backend,
            &control,
        );
        let mut evolution = new.unwrap();
        assert_eq!(
            evolution.run(3000, backend, &control).unwrap(),
            Ended::Converged
        );
        evolution.field().unwrap()
    });
    let distance = fields[1].moved(&fields[0]);
    println!("at rest: {distance:.4} voxels apart");
    assert!(distance < 0.02, "{distance}");
    control.cancel();
    assert!(evolution.run(10, &cuda, &control).is_err());
}
