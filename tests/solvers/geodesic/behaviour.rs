//! Behaviour of the solver: cancelled, short of memory, in half precision.

use super::{Error, metric, params, run_on, sampled, try_run};
use crate::support::fields::{backend, cube, odd_grid, sphere};
use crate::support::{Random, cuda_test, cuda_test_alone, test, thread_time, wait_for};
use crate::tracking::parity::hausdorff;
use arcuate::compute::{Backend, Control};
use arcuate::data::Role;
use arcuate::phantom::fields::PulledBack;
use arcuate::solvers::curves::{Interpolation, Seeding};
use arcuate::solvers::geodesic::{Directions, Form, Precision, trace, trace_within};
use glam::DVec3;
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    type Case = (&'static str, fn(&Backend));
    let all: [Case; 3] = [
        ("more than fits is refused", full),
        ("what would not fit is foretold", sampled_memory),
        ("half precision stays near single", precision),
    ];
    let both = |(name, run): Case| {
        let on_card = format!("parity::geodesic {name}");
        [
            test(&format!("geodesic::{name}"), move || run(&backend(2))),
            cuda_test(&on_card, move |cuda| run(&cuda)),
        ]
    };
    // Alone on the card: 16 ms; up to 1.9 s while other tests ran there.
    let cancelling = [
        test("geodesic::cancelled while rays run", || {
            cancelled(&backend(1))
        }),
        cuda_test_alone("parity::geodesic cancelled while rays run", |cuda| {
            cancelled(&cuda)
        }),
    ];
    all.into_iter().flat_map(both).chain(cancelling).collect()
}

const LINEAR: Interpolation = Interpolation::Trilinear;

fn bent() -> PulledBack {
    PulledBack {
        a: 2.0,
        b: 3.0,
        k: 0.2,
    }
}

/// Cancelling ends the work within a second of CPU time, before it begins and in the middle of minutes of work.
fn cancelled(backend: &Backend) {
    let on_card = !backend.devices().is_empty();
    let metric = metric(&sampled(cube(20, 1.0), &bent()), LINEAR, Precision::Single);
    let seed = [sphere(Role::Seed, DVec3::ZERO, 2.0)];
    for form in [Form::Hamiltonian, Form::Christoffel] {
        let mut params = params(LINEAR);
        params.form = form;
        // A card's kernels may have to be loaded first, which is not interrupted.
        trace(&metric, &seed, &params, backend, &Control::new()).unwrap();
        let control = Control::new();
        control.cancel();
        let output = trace(&metric, &seed, &params, backend, &control);
        assert!(matches!(output, Err(Error::Cancelled)));
        // Rays that circle in a small volume, each up to the limit.
        params.curves.seeding = Seeding::Random { count: 4000 };
        params.directions = Directions::Sphere { count: 1000 };
        params.curves.step_mm = 1e-4;
        params.curves.max_steps = 100_000;
        params.keep_every = 1000;
        let control = Control::new();
        let (output, felt) = std::thread::scope(|scope| {
            let started = Instant::now();
            let tracing = scope.spawn(|| {
                backend.install(|| {
                    let before = thread_time();
                    let output = trace(&metric, &seed, &params, backend, &control);
                    (output, thread_time() - before)
                })
            });
            wait_for("rays", || (control.progress().total > 0).then_some(()));
            std::thread::sleep(Duration::from_millis(100));
            let cancelled = Instant::now();
            control.cancel();
            let most = started.elapsed();
            let (output, worked) = tracing.join().unwrap();
            // Before the cancellation the thread cannot have worked longer than the elapsed time. The clock may be used
            // for a card, which no other test uses meanwhile.
            match on_card {
                true => (output, cancelled.elapsed()),
                false => (output, worked.saturating_sub(most)),
            }
        });
        println!("{form:?}: felt after {:.0} ms", felt.as_secs_f64() * 1e3);
        assert!(matches!(output, Err(Error::Cancelled)), "it ended before");
        // Some 20 ms on an otherwise idle machine.
        assert!(felt < Duration::from_secs(1), "{form:?} {felt:?}");
    }
}

fn full(backend: &Backend) {
    let metric = metric(&sampled(cube(20, 1.0), &bent()), LINEAR, Precision::Single);
    let mut params = params(LINEAR);
    params.curves.seeding = Seeding::Random { count: 500 };
    let control = Control::new();
    let refused = trace_within(&metric, &[], &params, Some(10_000), backend, &control);
    let sentence = refused.unwrap_err().to_string();
    assert!(
        sentence.contains("rays") && sentence.contains("ask for fewer"),
        "{sentence}"
    );
    let fits = trace_within(&metric, &[], &params, Some(1 << 30), backend, &control);
    assert!(fits.is_ok());
}

/// A sample of many rays shows that they would not fit before the others are computed.
fn sampled_memory(backend: &Backend) {
    let metric = metric(&sampled(cube(20, 1.0), &bent()), LINEAR, Precision::Single);
    let mut params = params(LINEAR);
    params.curves.seeding = Seeding::Random { count: 20_000 };
    params.directions = Directions::Sphere { count: 20 };
    params.curves.max_length_mm = Some(2.0);
    let control = Control::new();
    let within = |bytes| trace_within(&metric, &[], &params, Some(bytes), backend, &control);
    let sentence = within(50_000_000).unwrap_err().to_string();
    assert!(sentence.contains("would take about"), "{sentence}");
    // 400,000 rays of at most 5 points.
    let output = within(400_000 * (150 + 5 * 52)).unwrap();
    assert_eq!(output.rays.seed_outcomes.iter().sum::<u64>(), 400_000);
}

/// Rays from equal seeds through tensors rounded to 11 bits and through unrounded ones.
fn precision(backend: &Backend) {
    let mut random = Random::fresh("precision");
    let field = sampled(odd_grid(&mut random), &bent());
    let mut params = params(LINEAR);
    params.curves.seeding = Seeding::Random { count: 2000 };
    params.curves.max_length_mm = Some(40.0);
    params.curves.step_mm = 0.2;
    let [single, half] = [Precision::Single, Precision::Half]
        .map(|precision| run_on(backend, &metric(&field, LINEAR, precision), &[], &params));
    let (single, half) = (&single.rays.kept, &half.rays.kept);
    let mut distances = Vec::new();
    let mut measures = Vec::new();
    for (i, seed) in single.per_streamline["seed"].iter().enumerate() {
        let counterpart = half.per_streamline["seed"].binary_search_by(|s| s.total_cmp(seed));
        let Ok(j) = counterpart else { continue };
        distances.push(hausdorff(
            single.streamline(i),
            half.streamline(j),
            &field.grid,
        ));
        let [a, b] = [(single, i), (half, j)].map(|(all, i)| all.per_streamline["cm"][i]);
        measures.push(f64::from((a / b - 1.0).abs()));
    }
    assert!(distances.len() * 100 >= single.len() * 99 && distances.len() > 1000);
    let [distances, measures] = [distances, measures].map(|mut all| {
        all.sort_by(f64::total_cmp);
        [all.len() / 2, all.len() * 99 / 100].map(|i| all[i])
    });
    println!(
        "{} rays, half against single: Hausdorff distance median {:.1e}, 99 % {:.1e} voxels; measure \
         median {:.1e}, 99 % {:.1e}",
        single.len(),
        distances[0],
        distances[1],
        measures[0],
        measures[1],
    );
    // Eleven bits of a tensor turn a ray by some 1e-4 per voxel; neighbours diverge where space is bent most.
    assert!(distances[0] < 0.02 && distances[1] < 0.5, "{distances:?}");
    assert!(measures[1] < 2e-3, "{measures:?}");
    assert_ne!(single.points, half.points);
    assert!(try_run(&metric(&field, LINEAR, Precision::Half), &[], &params).is_ok());
}
