//! Requested numbers of streamlines, threads, cancellation, refusals.

use super::{field, grid, lobes, params, run, sphere};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::odf_field::InvalidOdf;
use arcuate::data::{OdfField, PeakField, Role, TissueMap, TissueType, Tractogram};
use arcuate::solvers::Error;
use arcuate::solvers::curves::Output;
use arcuate::solvers::odf_tracking::{Fibres, InputError, Method, Params, track};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "odf_tracking::any number of threads gives equal bytes",
            threads,
        ),
        test("odf_tracking::the first that are kept", first_kept),
        test(
            "odf_tracking::the first that reach targets",
            first_at_targets,
        ),
        test("odf_tracking::fewer than requested", too_few),
        test("odf_tracking::cancelled", cancelled),
        test("odf_tracking::refusals", refusals),
    ]
}

fn fan() -> Fibres {
    let fibres = field(&grid([24, 24, 12], 1.0), |p| {
        let along = DVec3::new(1.0, 0.05 * (p.y - 12.0), 0.1).normalize();
        lobes(&[(along, 1.0), (DVec3::Y, 0.4)])
    });
    Fibres::Distributions(fibres)
}

fn equal(a: &Output, b: &Output) {
    for (a, b) in [(&a.kept, &b.kept), (&a.missed, &b.missed)] {
        assert_eq!(a.points.as_ref(), b.points.as_ref());
        assert_eq!(a.offsets, b.offsets);
        assert_eq!(a.per_streamline, b.per_streamline);
    }
    assert_eq!(a.seed_outcomes, b.seed_outcomes);
    assert_eq!(a.stops, b.stops);
    assert_eq!(a.per_target, b.per_target);
    assert_eq!(a.starts, b.starts);
    assert_eq!(a.steps, b.steps);
}

fn threads() {
    for method in [Method::Probabilistic, Method::Deterministic] {
        let params = params(method, 300);
        let one = run(&fan(), None, &[], &params, 1).unwrap();
        assert!(one.kept.len() > 100);
        for threads in [2, 3] {
            equal(&one, &run(&fan(), None, &[], &params, threads).unwrap());
        }
    }
}

/// The kept set and the counts are those of the first seeds, on any number of threads.
fn first_kept() {
    let exclude = || sphere(Role::Exclude, DVec3::new(12.0, 12.0, 6.0), 4.0);
    let all = params(Method::Probabilistic, 2000);
    let all = run(&fan(), None, &[exclude()], &all, 2).unwrap();
    let requested = 150;
    assert!(
        all.kept.len() > 300 && all.kept.len() < 1900,
        "{}",
        all.kept.len()
    );
    let select = Params {
        select: Some(requested),
        ..params(Method::Probabilistic, 7)
    };
    let one = run(&fan(), None, &[exclude()], &select, 1).unwrap();
    assert_eq!(one.kept.len(), requested);
    for i in 0..requested {
        assert_eq!(one.kept.streamline(i), all.kept.streamline(i));
    }
    let seed = |output: &Output, i: usize| output.kept.per_streamline["seed"][i];
    let last = seed(&one, requested - 1);
    assert_eq!(last, seed(&all, requested - 1));
    // Every seed up to the last one has an outcome.
    assert_eq!(one.seed_outcomes.iter().sum::<u64>(), last as u64 + 1);
    for threads in [2, 3] {
        equal(
            &one,
            &run(&fan(), None, &[exclude()], &select, threads).unwrap(),
        );
    }
}

/// Many batches, of which the last one is cut within a part: kept and missed streamlines, their values and the counts
/// are those of the first seeds of a run of one batch.
fn first_at_targets() {
    let at = |x: f64| DVec3::new(x, 12.0, 6.0);
    let regions = [
        sphere(Role::Target, at(21.0), 4.0),
        sphere(Role::Target, at(3.0), 4.0),
    ];
    for method in [Method::Probabilistic, Method::Deterministic] {
        let all = run(&fan(), None, &regions, &params(method, 4000), 2).unwrap();
        let requested = all.kept.len() * 3 / 4;
        // On one thread a batch has 128 streamlines.
        assert!(requested > 150, "{requested}");
        let select = Params {
            select: Some(requested),
            ..params(method, 7)
        };
        let some = run(&fan(), None, &regions, &select, 1).unwrap();
        let seed = |tractogram: &Tractogram, i: usize| tractogram.per_streamline["seed"][i];
        let last = seed(&some.kept, requested - 1);
        let missed = (0..all.missed.len()).take_while(|i| seed(&all.missed, *i) < last);
        let missed = missed.count();
        assert!(missed > 20, "{missed}");
        for (some, all, count) in [
            (&some.kept, &all.kept, requested),
            (&some.missed, &all.missed, missed),
        ] {
            assert_eq!(some.len(), count);
            for i in 0..count {
                assert_eq!(some.streamline(i), all.streamline(i));
            }
            assert!(some.per_streamline.keys().eq(all.per_streamline.keys()));
            for (name, values) in &some.per_streamline {
                assert_eq!(values[..], all.per_streamline[name][..count], "{name}");
            }
        }
        assert_eq!(some.seed_outcomes.iter().sum::<u64>(), last as u64 + 1);
        assert!(some.per_target.iter().all(|count| *count > 20));
        let ends = |target: f32| {
            let targets = some.kept.per_streamline["target"].iter();
            targets.filter(|t| **t == target).count() as u64
        };
        // One with both ends in targets ends in the first and counts for both.
        assert_eq!(some.per_target[0], ends(0.0));
        assert!(some.per_target[1] >= ends(1.0));
        assert_eq!(ends(0.0) + ends(1.0), requested as u64);
        for threads in [2, 3] {
            equal(
                &some,
                &run(&fan(), None, &regions, &select, threads).unwrap(),
            );
        }
    }
}

/// After 1000 seeds for each, it stops; every seed has an outcome.
fn too_few() {
    let target = sphere(Role::Target, DVec3::new(500.0, 0.0, 0.0), 1.0);
    let select = Params {
        select: Some(2),
        ..params(Method::Deterministic, 1)
    };
    let output = run(&fan(), None, &[target], &select, 2).unwrap();
    assert!(output.kept.is_empty());
    assert_eq!(output.seed_outcomes.iter().sum::<u64>(), 2000);
}

fn cancelled() {
    let control = Control::new();
    control.cancel();
    let backend = crate::csd::backend(1);
    let params = params(Method::Probabilistic, 10);
    let result = track(&fan(), None, &[], &params, None, &backend, &control);
    assert_eq!(result.unwrap_err(), Error::Cancelled);
}

fn sentence(result: Result<Output, Error>) -> String {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(error) => error.to_string(),
    }
}

fn refusals() {
    let arcs = params(Method::Probabilistic, 10);
    let refused = |fibres: &Fibres,
                   map: Option<&TissueMap>,
                   params: &Params,
                   error: &dyn std::fmt::Display| {
        let found = sentence(run(fibres, map, &[], params, 1));
        assert_eq!(found, error.to_string());
        assert!(found.contains(';'), "{found}");
    };
    let small = grid([3, 3, 3], 1.0);
    let flat = Fibres::Distributions(OdfField::new(small.clone(), 0, vec![1f32; 27]));
    refused(&flat, None, &arcs, &InvalidOdf::NoDirections);
    let empty = Fibres::Distributions(field(&small, |_| vec![0.0; 45]));
    refused(&empty, None, &arcs, &InputError::Empty);
    let wild = Fibres::Distributions(field(&small, |_| {
        let mut c = vec![0.0; 45];
        c[0] = -0.1;
        c[7] = 0.5;
        c
    }));
    let implausible = InvalidOdf::Implausible { share: 1.0 };
    refused(&wild, None, &arcs, &implausible);
    let peaks = Fibres::Peaks(PeakField::new(small.clone(), 1, vec![0.5f32; 81]));
    refused(&peaks, None, &arcs, &InputError::ArcsInPeaks);
    let long = Params {
        step_mm: 3.0,
        ..arcs.clone()
    };
    let step = InputError::Step {
        step_mm: 3.0,
        max_mm: 2.0,
    };
    refused(&fan(), None, &long, &step);
    let at_interface = Params {
        at_interface: true,
        ..arcs.clone()
    };
    refused(
        &fan(),
        None,
        &at_interface,
        &InputError::InterfaceWithoutTissues,
    );
    let white = |shape: [usize; 3]| {
        let grid = grid(shape, 1.0);
        let mut fractions = [0f32; 8];
        fractions[TissueType::White as usize] = 1.0;
        TissueMap::new(grid.clone(), vec![fractions; grid.voxel_count()])
    };
    refused(
        &fan(),
        Some(&white([24, 24, 12])),
        &at_interface,
        &InputError::NoInterface,
    );
    let elsewhere = InputError::TissuesElsewhere { share: 0.5 };
    refused(&fan(), Some(&white([12, 24, 12])), &arcs, &elsewhere);
    let outside = sphere(Role::Seed, DVec3::splat(900.0), 2.0);
    let found = sentence(run(&fan(), None, &[outside], &arcs, 1));
    assert_eq!(found, InputError::SeedsOutside.to_string());
    let short = Params {
        min_length_mm: 300.0,
        ..arcs
    };
    let found = sentence(run(&fan(), None, &[], &short, 1));
    assert!(found.contains("250 mm"), "{found}");
}
