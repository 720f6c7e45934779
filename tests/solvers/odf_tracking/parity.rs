//! The graphics card against the CPU: the same streamlines from the same random numbers.
//!
//! Both evaluate the same expressions in single precision, so that the shares of candidates differ by some 1e-6. A
//! step chooses another candidate where its random number lies within this of one of 32 limits: once in some 10,000
//! steps, or once in a hundred streamlines of 100 steps. Up to there the points differ by rounding; beyond it the
//! streamline is another draw from the same law.

use super::rules::{CENTRE, check_ends, head, white_matter_alone, with_tissues};
use super::{field, grid, lobes, params, run, sphere};
use crate::support::cuda_test;
use arcuate::compute::{Backend, Control};
use arcuate::data::spherical_harmonics::{count, evaluate, quadrature};
use arcuate::data::{OdfField, Region, Role, TissueMap};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{Match, Output, SeedOutcome, Seeding, StopReason};
use arcuate::solvers::odf_tracking::{Fibres, Method, Params, track};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("odf_tracking::card and CPU draw the same", same),
        cuda_test("odf_tracking::card in every order", orders),
        cuda_test("odf_tracking::card and regions", regions),
        cuda_test("odf_tracking::card and anatomical rules", tissues),
        cuda_test("odf_tracking::card and a last step", last_step),
        cuda_test("odf_tracking::card at limits", limits),
        cuda_test("odf_tracking::card selects the first", select),
        cuda_test("odf_tracking::card gives equal bytes", equal_bytes),
        cuda_test("odf_tracking::card stops and refuses", stops),
        cuda_test("odf_tracking::orders above 12 run on the CPU", on_cpu),
    ]
}

/// Largest share of streamlines that are not the same: an H100 measured 0.00 to 0.14 %, and 0.05 % of 20,000 with 128
/// points each.
const OTHERS: f64 = 0.03;

/// Bundles along x that fan out, crossed by others.
fn fan() -> Fibres {
    let fibres = field(&grid([40, 40, 20], 1.0), |p| {
        let along = DVec3::new(1.0, 0.03 * (p.y - 20.0), 0.1).normalize();
        match p.y < 38.0 {
            true => lobes(&[(along, 1.0), (DVec3::Y, 0.5)]),
            false => vec![0.0; count(8)],
        }
    });
    Fibres::Distributions(fibres)
}

const METHODS: [Method; 2] = [Method::Probabilistic, Method::Deterministic];

fn arcs(seeds: usize) -> Params {
    params(Method::Probabilistic, seeds)
}

fn on(
    cuda: &Backend,
    fibres: &Fibres,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
) -> Output {
    let result = track(
        fibres,
        tissues,
        regions,
        params,
        None,
        cuda,
        &Control::new(),
    );
    let output = result.unwrap();
    assert!(output.kernel_s.is_some());
    output
}

fn seed(output: &Output, i: usize) -> u32 {
    output.kept.per_streamline["seed"][i] as u32
}

/// The output of the card: nearly all streamlines are those of the CPU, and the others are alike on average.
fn compare(
    cuda: &Backend,
    fibres: &Fibres,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
) -> Output {
    let card = on(cuda, fibres, tissues, regions, params);
    let cpu = run(fibres, tissues, regions, params, 8).unwrap();
    let seeds: Vec<u32> = (0..card.kept.len()).map(|i| seed(&card, i)).collect();
    assert!(seeds.is_sorted_by(|a, b| a < b));
    let mut same = 0;
    let mut largest = 0f32;
    for i in 0..cpu.kept.len() {
        let Ok(j) = seeds.binary_search(&seed(&cpu, i)) else {
            continue;
        };
        let (a, b) = (cpu.kept.streamline(i), card.kept.streamline(j));
        let gap_mm = a
            .iter()
            .zip(b)
            .flat_map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).abs()));
        let gap_mm = gap_mm.fold(0f32, f32::max);
        // Far above rounding, far below the distance of candidates.
        if a.len() == b.len() && gap_mm < 1e-2 {
            same += 1;
            largest = largest.max(gap_mm);
        }
    }
    let total = |o: &Output| o.seed_outcomes.iter().sum::<u64>();
    assert_eq!(total(&cpu), total(&card));
    let all = cpu.kept.len().max(card.kept.len()) as f64;
    // Nothing kept by either is the same, too.
    let others = if all == 0.0 {
        0.0
    } else {
        1.0 - f64::from(same) / all
    };
    println!(
        "{} and {} streamlines, {:.2} % others, largest distance of the same {largest:.1e} mm",
        cpu.kept.len(),
        card.kept.len(),
        100.0 * others
    );
    println!("{:?}\n{:?}", cpu.seed_outcomes, card.seed_outcomes);
    println!("{:?}\n{:?}", cpu.stops, card.stops);
    assert!(others < OTHERS, "{others}");
    // Streamlines that differ do so at random, so counts differ by at most their number.
    let most = (2.0 * OTHERS * total(&cpu) as f64) as u64;
    let off = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>();
    assert!(off(&cpu.seed_outcomes, &card.seed_outcomes) <= most);
    assert!(off(&cpu.stops, &card.stops) <= 2 * most);
    assert!(off(&cpu.per_target, &card.per_target) <= most);
    // Below a step, no step is taken and nothing is kept.
    let relative = |a: f64, b: f64| (a - b).abs() / b.max(f64::MIN_POSITIVE);
    let steps = relative(cpu.steps as f64, card.steps as f64);
    assert!(steps < OTHERS, "{} and {} steps", cpu.steps, card.steps);
    let mean = |o: &Output| {
        let lengths = (0..o.kept.len()).map(|i| f64::from(o.kept.length_mm(i)));
        lengths.sum::<f64>() / o.kept.len().max(1) as f64
    };
    let lengths = relative(mean(&cpu), mean(&card));
    assert!(lengths < OTHERS, "{} and {} mm", mean(&cpu), mean(&card));
    card
}

fn same(cuda: Backend) {
    for method in METHODS {
        for seeds in [1, 33, 5000] {
            let card = compare(&cuda, &fan(), None, &[], &params(method, seeds));
            assert!(seeds < 5000 || card.kept.len() > 4000);
        }
        let one_way = Params {
            both_ways: false,
            samples: 1,
            step_mm: 1.7,
            max_angle_rad: 1.2,
            ..params(method, 2000)
        };
        compare(&cuda, &fan(), None, &[], &one_way);
        let per_voxel = Params {
            seeding: Seeding::PerVoxel { count: 1 },
            samples: 8,
            ..params(method, 1)
        };
        let corner = sphere(Role::Seed, DVec3::new(2.0, 20.0, 10.0), 4.0);
        compare(&cuda, &fan(), None, &[corner], &per_voxel);
    }
    // Bundles that fan out bend by up to 1.2° in such a step.
    let strict = Params {
        max_angle_rad: 0.8f64.to_radians(),
        step_mm: 1.9,
        min_length_mm: 0.0,
        ..params(Method::Deterministic, 2000)
    };
    let card = compare(&cuda, &fan(), None, &[], &strict);
    assert!(card.stops[StopReason::Angle as usize] > 100);
}

fn orders(cuda: Backend) {
    for order in [2, 4, 6, 10, 12] {
        let grid = grid([21, 12, 9], 1.0);
        let n = grid.voxel_count();
        let power = order as i32;
        let mut values = vec![0f32; n * count(order)];
        let mut lobe = vec![0.0; count(order)];
        for (u, weight) in quadrature(2 * order) {
            let f = u.dot(DVec3::new(0.9, 0.3, -0.2).normalize()).powi(power);
            for (sum, y) in lobe.iter_mut().zip(evaluate(order, u)) {
                *sum += weight * f * y;
            }
        }
        for (i, c) in lobe.iter().enumerate() {
            values[i * n..(i + 1) * n].fill(*c as f32);
        }
        let fibres = Fibres::Distributions(OdfField::new(grid, order, values));
        for method in METHODS {
            let card = compare(&cuda, &fibres, None, &[], &params(method, 1000));
            assert!(card.kept.len() > 300, "order {order}");
        }
    }
}

fn regions(cuda: Backend) {
    let at = |x: f64, y: f64| DVec3::new(x, y, 10.0);
    let middle = sphere(Role::Seed, at(20.0, 20.0), 6.0);
    let targets = [
        sphere(Role::Target, at(33.0, 20.0), 5.0),
        sphere(Role::Target, at(7.0, 20.0), 5.0),
    ];
    let others = [
        sphere(Role::Exclude, at(28.0, 26.0), 2.0),
        sphere(Role::Terminate, at(20.0, 33.0), 3.0),
        sphere(Role::Include, at(25.0, 20.0), 5.0),
        sphere(Role::Mask, at(20.0, 20.0), 17.0),
    ];
    let rules = [(Match::Any, Match::All), (Match::All, Match::Any)];
    for (method, (targets_rule, includes)) in
        METHODS.into_iter().flat_map(|m| rules.map(|r| (m, r)))
    {
        let params = Params {
            targets: targets_rule,
            includes,
            ..params(method, 6000)
        };
        let all: Vec<Region> = [middle.clone()]
            .into_iter()
            .chain(targets.clone())
            .chain(others.clone())
            .collect();
        let card = compare(&cuda, &fan(), None, &all, &params);
        assert!(card.kept.len() > 300, "{:?}", card.seed_outcomes);
        for outcome in [SeedOutcome::MissedTargets, SeedOutcome::TouchedExclude] {
            assert!(card.seed_outcomes[outcome as usize] > 20);
        }
        assert!(!card.missed.is_empty());
    }
    // Seeds in a target, which cuts both halves there.
    let inside = sphere(Role::Target, at(20.0, 20.0), 3.0);
    for method in METHODS {
        let regions = [middle.clone(), inside.clone()];
        compare(&cuda, &fan(), None, &regions, &params(method, 2000));
    }
}

fn tissues(cuda: Backend) {
    let (fibres, map) = head();
    for (method, back_track, at_interface) in [
        (Method::Probabilistic, true, false),
        (Method::Probabilistic, false, false),
        (Method::Probabilistic, true, true),
        (Method::Deterministic, false, false),
        (Method::Deterministic, false, true),
    ] {
        let params = Params {
            back_track,
            at_interface,
            ..with_tissues(method, 4000)
        };
        let card = compare(&cuda, &fibres, Some(&map), &[], &params);
        assert!(card.kept.len() > 800, "{:?}", card.seed_outcomes);
        check_ends(&card, &map);
        let csf = card.stops[StopReason::EnteredCsf as usize];
        assert_eq!(csf, card.seed_outcomes[SeedOutcome::EndsInCsf as usize]);
    }
    let region = sphere(Role::Exclude, CENTRE + DVec3::X * 9.0, 4.0);
    for method in METHODS {
        let params = with_tissues(method, 4000);
        compare(
            &cuda,
            &fibres,
            Some(&map),
            std::slice::from_ref(&region),
            &params,
        );
    }
}

/// Amplitudes end before grey matter, which a last step enters. Peaks are followed on the CPU.
fn last_step(cuda: Backend) {
    let ([distributions, _], map) = white_matter_alone();
    for method in METHODS {
        let params = Params {
            at_interface: true,
            seeding: Seeding::Random { count: 2000 },
            ..Params::defaults_for(method, 2.0, true)
        };
        let card = compare(&cuda, &distributions, Some(&map), &[], &params);
        let entered = card.stops[StopReason::CorticalGrey as usize];
        assert!(entered > 2000, "{:?}", card.seed_outcomes);
        let between = between_grey_matter(card);
        assert!(between.kept.len() > 800, "{}", between.kept.len());
        check_ends(&between, &map);
    }
}

/// Streamlines within the voxel centres of the map, with both ends in grey matter: others leave through white matter at the
/// lower face of the map, as through the brain stem.
fn between_grey_matter(output: Output) -> Output {
    let ends = ["stop_start", "stop_end"].map(|name| output.kept.per_streamline[name].clone());
    let is_grey = |reason: f32| reason == f32::from(StopReason::CorticalGrey as u8);
    // Beyond the outermost voxel centres, the fractions of the map fade.
    let is_within = |p: &[f32; 3]| p[1..].iter().all(|c| (0.0..=14.0).contains(c));
    let is_between = |(i, line): (usize, &[[f32; 3]])| {
        let are_grey = ends.iter().all(|reasons| is_grey(reasons[i]));
        are_grey && line.iter().all(is_within)
    };
    let marks: Vec<bool> = output
        .kept
        .streamlines()
        .enumerate()
        .map(is_between)
        .collect();
    Output {
        kept: output.kept.filtered(&marks),
        ..output
    }
}

fn limits(cuda: Backend) {
    let (head, map) = head();
    let all = [Some(20.0), Some(0.7), Some(0.2), None];
    for (method, max_length_mm) in METHODS.into_iter().flat_map(|m| all.map(|mm| (m, mm))) {
        let params = Params {
            max_length_mm,
            min_length_mm: 0.0,
            ..params(method, 1500)
        };
        let card = compare(&cuda, &fan(), None, &[], &params);
        let longest = (0..card.kept.len()).map(|i| card.kept.length_mm(i));
        let longest = longest.fold(0f32, f32::max);
        assert!(max_length_mm != Some(20.0) || longest < 20.001, "{longest}");
        let params = Params {
            max_length_mm,
            min_length_mm: 0.0,
            ..with_tissues(method, 500)
        };
        if max_length_mm != Some(0.2) && max_length_mm != Some(0.7) {
            compare(&cuda, &head, Some(&map), &[], &params);
        }
    }
}

/// The first streamlines by their numbers, whatever batches they are followed in.
fn select(cuda: Backend) {
    let exclude = || sphere(Role::Exclude, DVec3::new(20.0, 20.0, 10.0), 5.0);
    for (method, requested) in METHODS
        .into_iter()
        .flat_map(|m| [1, 150, 3000].map(|n| (m, n)))
    {
        let all = on(&cuda, &fan(), None, &[exclude()], &params(method, 6000));
        let select = Params {
            select: Some(requested),
            ..params(method, 7)
        };
        let some = on(&cuda, &fan(), None, &[exclude()], &select);
        assert_eq!(some.kept.len(), requested);
        for i in 0..requested {
            assert_eq!(some.kept.streamline(i), all.kept.streamline(i));
        }
        let last = seed(&some, requested - 1);
        assert_eq!(last, seed(&all, requested - 1));
        assert_eq!(some.seed_outcomes.iter().sum::<u64>(), u64::from(last) + 1);
    }
    let nowhere = sphere(Role::Target, DVec3::new(500.0, 0.0, 0.0), 1.0);
    let select = Params {
        select: Some(2),
        ..arcs(1)
    };
    let none = on(&cuda, &fan(), None, &[nowhere], &select);
    assert!(none.kept.is_empty());
    assert_eq!(none.seed_outcomes.iter().sum::<u64>(), 2000);
}

/// More streamlines than are followed at a time, twice, and with more after them.
fn equal_bytes(cuda: Backend) {
    for method in METHODS {
        equal_bytes_of(&cuda, method);
    }
}

fn equal_bytes_of(cuda: &Backend, method: Method) {
    let short = |count: usize| Params {
        max_length_mm: Some(12.0),
        ..params(method, count)
    };
    let targets = [12.0, 28.0].map(|x| sphere(Role::Target, DVec3::new(x, 20.0, 10.0), 7.0));
    for regions in [&[][..], &targets] {
        let one = on(cuda, &fan(), None, regions, &short(140_000));
        let repeated = on(cuda, &fan(), None, regions, &short(140_000));
        let few = on(cuda, &fan(), None, regions, &short(900));
        for (one, repeated, few) in [
            (&one.kept, &repeated.kept, &few.kept),
            (&one.missed, &repeated.missed, &few.missed),
        ] {
            assert_eq!(one.points.as_ref(), repeated.points.as_ref());
            assert_eq!(one.offsets, repeated.offsets);
            assert_eq!(one.per_streamline, repeated.per_streamline);
            assert_eq!(one.is_empty(), few.is_empty());
            for i in 0..few.len() {
                assert_eq!(few.streamline(i), one.streamline(i));
            }
            for (name, values) in &few.per_streamline {
                assert_eq!(values[..], one.per_streamline[name][..few.len()], "{name}");
            }
            let seeds = &one.per_streamline["seed"];
            assert!(seeds.is_sorted_by(|a, b| a < b));
        }
        assert!(one.kept.len() > 1000);
        assert_eq!(one.missed.is_empty(), regions.is_empty());
        assert_eq!(one.seed_outcomes, repeated.seed_outcomes);
        assert_eq!(one.stops, repeated.stops);
        assert_eq!(one.steps, repeated.steps);
        assert_eq!(one.per_target, repeated.per_target);
        assert!(one.per_target.iter().all(|count| *count > 100));
    }
}

fn stops(cuda: Backend) {
    let control = Control::new();
    control.cancel();
    let result = track(&fan(), None, &[], &arcs(10), None, &cuda, &control);
    assert_eq!(result.unwrap_err(), Error::Cancelled);
    let small = grid([3, 3, 3], 1.0);
    let empty = Fibres::Distributions(field(&small, |_| vec![0.0; count(8)]));
    let refused = |backend: &Backend| {
        let result = track(&empty, None, &[], &arcs(10), None, backend, &Control::new());
        result.unwrap_err().to_string()
    };
    assert_eq!(refused(&cuda), refused(&super::super::csd::backend(1)));
    let full = track(
        &fan(),
        None,
        &[],
        &arcs(5000),
        Some(10_000),
        &cuda,
        &Control::new(),
    );
    assert!(full.unwrap_err().to_string().contains(';'));
}

fn on_cpu(cuda: Backend) {
    let grid = grid([12, 6, 6], 1.0);
    let n = grid.voxel_count();
    let mut values = vec![0f32; n * count(14)];
    for (i, c) in lobes(&[(DVec3::X, 1.0)]).iter().enumerate() {
        values[i * n..(i + 1) * n].fill(*c as f32);
    }
    let fibres = Fibres::Distributions(OdfField::new(grid, 14, values));
    for method in METHODS {
        let params = params(method, 20);
        let output = track(&fibres, None, &[], &params, None, &cuda, &Control::new()).unwrap();
        assert!(output.kernel_s.is_none() && !output.kept.is_empty());
    }
}
