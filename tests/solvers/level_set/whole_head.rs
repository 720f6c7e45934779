//! Whole synthetic heads, with scalp, skull and air: a probe yields the structure, ordinary growth is not a leak, and
//! leaks are found.

use super::{begin, sphere};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Mask, Shape, Volume};
use arcuate::phantom::{Head, Imaging, PictureOptions, Weighting, WholeHead, scan_grid};
use arcuate::solvers::level_set::{
    self, Cause, Ended, Evolution, Layout, Params, Probe, Start, agreement,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::OnceLock;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "level_set::whole heads: a probe gives the ventricle",
            ventricles,
        ),
        test(
            "level_set::whole heads: a probe gives the ventricle of other heads",
            others,
        ),
        test("level_set::whole heads: a probe gives a tumour", tumours),
        test(
            "level_set::whole heads: a probe gives a bright lesion",
            lesions,
        ),
        test(
            "level_set::whole heads: air that counts as tissue is a leak",
            into_air,
        ),
        test(
            "level_set::whole heads: a range too wide is a leak",
            widened,
        ),
    ]
}

/// In the body of the left lateral ventricle of the drawn head.
const VENTRICLE: DVec3 = DVec3::new(-7.5, 8.0, 16.0);

fn fitted_head(head: &Head) -> WholeHead {
    let grid = scan_grid(1.0).expect("a grid");
    let head = backend(2).install(|| WholeHead::new(head, &grid, &Control::new()));
    head.expect("a head")
}

fn demo_head() -> &'static (Head, WholeHead) {
    static DEMO: OnceLock<(Head, WholeHead)> = OnceLock::new();
    DEMO.get_or_init(|| {
        let head = Head::new(3);
        let whole = fitted_head(&head);
        (head, whole)
    })
}

/// Sampled like the window and the command do: a ball of 2 mm.
fn sampled(image: &Volume, at: DVec3) -> Probe {
    let ball = Shape::Sphere {
        centre: at,
        radius_mm: 2.0,
    }
    .mask_on(&image.grid);
    let voxels: Vec<usize> = ball.voxels_inside().map(|v| image.grid.index(v)).collect();
    let probe = backend(2).install(|| Probe::new(image, 0, &voxels));
    probe.expect("a probe")
}

/// Started like the window and the command do: a sample, and a sphere of 3 mm.
pub fn probed(image: &Volume, at: DVec3) -> (Params, Evolution) {
    let probe = sampled(image, at);
    let params = level_set::Params::defaults_for(probe.target, probe.tolerance);
    let run = begin(image, &[sphere(at, 3.0)], &params, Layout::BEST);
    (params, run)
}

pub fn advance(run: &mut Evolution, steps: u64) -> Ended {
    run.run(steps, &backend(2), &Control::new()).expect("a run")
}

pub fn millilitres(run: &Evolution) -> f64 {
    run.growth().last().copied().unwrap_or(0) as f64 * 1e-3
}

/// The smallest Dice of the results of probes in a ventricle. The septum is thinner than a voxel: where it opens, both
/// lateral ventricles are one.
fn least(head: &Head, whole: &WholeHead, noises: &[f64]) -> f64 {
    let at = head.world(VENTRICLE);
    let one = whole.ventricle(at);
    let other = whole.ventricle(at * DVec3::new(-1.0, 1.0, 1.0));
    let pair = one.inside.iter().zip(other.inside.iter());
    let pair: Vec<u8> = pair.map(|(a, b)| a | b).collect();
    let both = Mask::new(whole.grid.clone(), pair);
    assert!(one.volume_ml() > 4.0, "{}", one.volume_ml());
    let mut least: f64 = 1.0;
    for weighting in [Weighting::T1, Weighting::T2] {
        for (noise, bias) in noises.iter().flat_map(|n| [(*n, 0.2), (*n, 0.4)]) {
            let seed = 7;
            let image = whole.image(&Imaging {
                weighting,
                noise,
                bias,
                seed,
            });
            let (params, mut run) = probed(&image, at);
            let ended = advance(&mut run, 1000);
            let found = run.field().expect("a field").mask();
            let dice = |truth| agreement(&found, truth).expect("one grid").dice;
            let dice = dice(&one).max(dice(&both));
            println!(
                "head {} {weighting:?} noise {noise} bias {bias}: T {:.0} ε {:.0}, {:.2} of {:.2} ml, Dice {dice:.3}, \
                 {ended:?} after {}",
                head.seed,
                params.target,
                params.tolerance,
                millilitres(&run),
                one.volume_ml(),
                run.step()
            );
            assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
            least = least.min(dice);
        }
    }
    least
}

fn ventricles() {
    let (head, whole) = demo_head();
    let found = least(head, whole, &[0.01, 0.03, 0.05, 0.07, 0.09]);
    assert!(found >= 0.9, "{found}");
}

fn others() {
    for seed in [5, 8] {
        let head = Head::new(seed);
        let found = least(&head, &fitted_head(&head), &[0.01, 0.05, 0.09]);
        assert!(found >= 0.9, "head {seed}: {found}");
    }
}

fn tumours() {
    for seed in 1..5 {
        let head = Head::new(seed);
        let grid = scan_grid(1.5).expect("a grid");
        let options = PictureOptions {
            snr: Some(25.0),
            shading: 0.2,
            noise_seed: seed,
        };
        let tumour = backend(2).install(|| head.tumour_t1(&grid, &options, &Control::new()));
        let tumour = tumour.expect("a head");
        let image = &tumour.picture.image;
        let (params, mut run) = probed(image, tumour.centre);
        let ended = advance(&mut run, 600);
        let found = run.field().expect("a field").mask();
        let dice = agreement(&found, &tumour.core).expect("one grid").dice;
        println!("{seed}: {params:?} {ended:?} Dice {dice:.3}");
        assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
        assert!(dice > 0.9, "{seed}: {dice}");
    }
}

/// Noise-free T2, or the same with suppressed fluid, with a bright ball in white matter; and the ball's place.
fn lesion(whole: &WholeHead, suppressed: bool) -> (Vec<f32>, Mask, DVec3) {
    const RADIUS_MM: f64 = 9.0;
    let clean = whole.image(&Imaging {
        weighting: Weighting::T2,
        noise: 0.0,
        bias: 0.0,
        seed: 1,
    });
    let ball = |centre: DVec3| {
        let shape = Shape::Sphere {
            centre,
            radius_mm: RADIUS_MM,
        };
        shape.mask_on(&whole.grid)
    };
    let values = clean.frame(0);
    let white = |mask: &Mask| {
        let stored = mask.voxels_inside().map(|v| values[whole.grid.index(v)]);
        stored.filter(|v| (320.0..360.0).contains(v)).count() * 10 > mask.count() * 9
    };
    let places = (0..5 * 9 * 9).map(|i| {
        let [x, y, z] = [i % 5, i / 5 % 9, i / 45].map(|n| n as f64);
        DVec3::new(20.0 + 3.0 * x, -40.0 + 6.0 * y, 20.0 + 3.0 * z)
    });
    let mut places = places.map(|at| (at, ball(at)));
    let (at, mask) = places.find(|(_, m)| white(m)).expect("white matter");
    let value = |(i, v): (usize, &f32)| {
        let fluid = if suppressed {
            (*v - 480.0).max(0.0) * (880.0 / 520.0)
        } else {
            0.0
        };
        let voxel = whole.grid.voxel(i).map(|v| v as f64);
        let off = whole.grid.world(DVec3::from_array(voxel)).distance(at) - RADIUS_MM;
        let share = (0.5 - off).clamp(0.0, 1.0) as f32;
        let bright = if suppressed { 800.0 } else { 720.0 };
        (*v - fluid).max(0.0) * (1.0 - share) + bright * share
    };
    (values.iter().enumerate().map(value).collect(), mask, at)
}

fn lesions() {
    let (_, whole) = demo_head();
    let mut random = Random::fresh("level set lesions");
    for suppressed in [false, true] {
        let (values, mask, at) = lesion(whole, suppressed);
        for noise in [10.0, 30.0, 90.0] {
            let noisy = values.iter().map(|v| {
                let [real, other] = [f64::from(*v), 0.0].map(|m| m + noise * random.normal());
                real.hypot(other) as f32
            });
            let image = Volume::scalar(whole.grid.clone(), noisy.collect::<Vec<f32>>());
            let (params, mut run) = probed(&image, at);
            let ended = advance(&mut run, 1000);
            let found = run.field().expect("a field").mask();
            let dice = agreement(&found, &mask).expect("one grid").dice;
            println!(
                "fluid suppressed {suppressed}, noise {noise}: T {:.0} ε {:.0}, {:.2} of {:.2} ml, Dice {dice:.3}, \
                 {ended:?} after {}",
                params.target,
                params.tolerance,
                millilitres(&run),
                mask.volume_ml(),
                run.step()
            );
            assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
            assert!(dice > 0.9, "{suppressed} {noise}: {dice}");
        }
    }
}

/// T − ε below 0, as a quarter of the image's range once was.
fn into_air() {
    let (head, whole) = demo_head();
    let at = head.world(VENTRICLE);
    let imaging = Imaging {
        weighting: Weighting::T1,
        noise: 0.03,
        bias: 0.2,
        seed: 8,
    };
    let image = whole.image(&imaging);
    // The range warns of it before the run, and a default never reaches it.
    let probe = sampled(&image, at);
    let range = |half: f32| [probe.target - half, probe.target + half].map(f64::from);
    assert!(probe.background_within(range(480.0)), "{probe:?}");
    assert!(
        !probe.background_within(range(probe.tolerance)),
        "{probe:?}"
    );
    let (params, _) = probed(&image, at);
    let wide = Params {
        tolerance: 480.0,
        ..params.clone()
    };
    let mut run = begin(&image, &[sphere(at, 3.0)], &wide, Layout::BEST);
    let ended = advance(&mut run, 2000);
    println!("{ended:?} with {:.1} ml", millilitres(&run));
    let Ended::Leaked(leak) = ended else {
        panic!("{ended:?} with {:.0} ml", millilitres(&run));
    };
    assert!(
        matches!(
            leak.cause,
            Cause::Background | Cause::Border | Cause::Growth
        ),
        "{leak:?}"
    );
    assert!(leak.rewind_step < leak.noticed);
    assert!(millilitres(&run) < 150.0, "{}", millilitres(&run));
    // A session paused there is restored: the growth up to there is not judged again, and a narrower range does not
    // leak.
    let started = Start {
        mask: None,
        spheres: vec![sphere(at, 3.0)],
    };
    let (script, threads, control) = (run.script(), backend(2), Control::new());
    let replayed = Evolution::replay(run.all_inputs(), &started, &script, &threads, &control);
    let (mut repeated, _) = replayed.expect("a replay");
    assert_eq!(repeated.growth(), run.growth());
    assert_eq!(repeated.leak_detector().suspected_since(), None);
    repeated.set(&params, &threads).expect("set");
    let ended = advance(&mut repeated, 10);
    assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
    // It stays paused; once continued, it is stopped again only by more growth.
    assert_eq!(advance(&mut run, 10), Ended::Leaked(leak));
    run.continue_past_leak(&backend(2)).expect("a field");
    assert_ne!(advance(&mut run, 10), Ended::Leaked(leak));
}

/// The brain alone, in zeros: a range at which the surface rests, then one that also includes the surroundings.
fn widened() {
    let (head, whole) = demo_head();
    let at = head.world(VENTRICLE);
    let imaging = Imaging {
        weighting: Weighting::T1,
        noise: 0.03,
        bias: 0.2,
        seed: 9,
    };
    let image = whole.image(&imaging);
    let brain = backend(2).install(|| head.brain_mask(&whole.grid, &Control::new()));
    let image = stripped(&image, &brain.expect("a mask"));
    let (params, mut run) = probed(&image, at);
    let ended = advance(&mut run, 500);
    assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
    let (rests, settled) = (run.step(), millilitres(&run));
    let threads = backend(2);
    let wide = Params {
        tolerance: 700.0,
        ..params.clone()
    };
    for repeated in [false, true] {
        run.set(&wide, &threads).expect("set");
        let ended = advance(&mut run, 2000);
        println!(
            "{settled:.2} ml, then {ended:?} with {:.1} ml",
            millilitres(&run)
        );
        let Ended::Leaked(leak) = ended else {
            panic!("{ended:?} with {:.0} ml", millilitres(&run));
        };
        assert_eq!(
            leak.rewind_step, rests,
            "back to before the change: {leak:?}"
        );
        assert!(millilitres(&run) < 20.0 * settled, "{}", millilitres(&run));
        // One click back: the surface and its speeds are as they were, and the leak detector is armed as before.
        run.rewind(leak.rewind_step, &threads, &Control::new())
            .expect("back");
        assert_eq!(
            (millilitres(&run), run.params()),
            (settled, &params),
            "{repeated}"
        );
    }
    // A slightly wider range is not a leak.
    let wider = Params {
        tolerance: 1.15 * params.tolerance,
        ..params
    };
    run.set(&wider, &threads).expect("set");
    let ended = advance(&mut run, 300);
    assert!(!matches!(ended, Ended::Leaked(_)), "{ended:?}");
}

pub fn stripped(image: &Volume, brain: &Mask) -> Volume {
    let values = image.frame(0).iter().zip(brain.inside.iter());
    let values: Vec<f32> = values
        .map(|(v, b)| if *b != 0 { *v } else { 0.0 })
        .collect();
    Volume::scalar(image.grid.clone(), values)
}
