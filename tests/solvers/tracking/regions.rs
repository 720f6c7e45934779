//! Regions: exact cuts, and the logic of roles against brute force.

use crate::support::fields::{
    Helix, cube, cuboid, fibre, field, odd_grid, one_seed, params, points, region, run, sphere,
    stops,
};
use crate::support::{Random, test};
use arcuate::data::{Mask, Region, Role, Shape, TensorField};
use arcuate::solvers::curves::{Match, Params, SeedOutcome, Seeding, StopReason};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tracking::targets cut exactly at their surface", exact_cut),
        test(
            "tracking::a target thinner than a step is not missed",
            thin_target,
        ),
        test("tracking::mask targets cut at a voxel's face", mask_cut),
        test("tracking::two targets at two ends", two_ends),
        test("tracking::roles as brute force says", brute_force),
        test("tracking::hidden regions count", hidden),
        test(
            "tracking::any or all of several targets and includes",
            any_and_all,
        ),
        test(
            "tracking::all targets as brute force says",
            all_by_brute_force,
        ),
    ]
}

fn helices(random: &mut Random) -> TensorField {
    let helix = Helix::random(random);
    field(cube(31, 2.0), |x| Some(fibre(helix.direction(x))))
}

/// The distance of a point outside a region in mm; negative inside.
fn outside(shape: &Shape, p: DVec3) -> f64 {
    match shape {
        Shape::Sphere { centre, radius_mm } => p.distance(*centre) - radius_mm,
        Shape::Box { centre, half_mm } => {
            let d = (p - *centre).abs() - *half_mm;
            d.max(DVec3::ZERO).length() + d.max_element().min(0.0)
        }
        Shape::Mask(_) => f64::NAN,
    }
}

/// Points every twentieth of a step along a line, with the index of their segment.
fn finely(line: &[DVec3]) -> impl Iterator<Item = (usize, DVec3)> {
    const PARTS: usize = 20;
    let within = |k: usize, a: DVec3, b: DVec3| {
        (0..PARTS).map(move |i| (k, a.lerp(b, i as f64 / PARTS as f64)))
    };
    let segments = line.windows(2).enumerate();
    let inner = segments.flat_map(move |(k, w)| within(k, w[0], w[1]));
    inner.chain(line.last().map(|p| (line.len().saturating_sub(2), *p)))
}

/// Single precision at 50 mm, with a small margin.
const SURFACE_MM: f64 = 2e-5;

fn exact_cut() {
    let mut random = Random::fresh("exact cut");
    let mut cuts = 0;
    for _ in 0..10 {
        let curved = helices(&mut random);
        let target = random.direction() * 15.0;
        let shape = if random.uniform(0.0, 1.0) < 0.5 {
            sphere(Role::Target, target, random.uniform(2.0, 6.0))
        } else {
            let half = DVec3::from_array([0; 3].map(|_| random.uniform(1.0, 6.0)));
            cuboid(Role::Target, target, half)
        };
        let params = Params {
            seeding: Seeding::Random { count: 2000 },
            step_mm: random.uniform(0.2, 2.0),
            max_length_mm: Some(80.0),
            ..params()
        };
        let output = run(&curved, std::slice::from_ref(&shape), &params);
        for i in 0..output.kept.len() {
            let line = points(&output, i);
            assert_eq!(stops(&output, i)[1], StopReason::ReachedTarget);
            if outside(&shape.shape, line[line.len() - 1]) < -SURFACE_MM {
                panic!("ends inside the target");
            }
            let before = finely(&line).map(|(_, p)| outside(&shape.shape, p));
            assert!(before.fold(f64::INFINITY, f64::min) > -SURFACE_MM);
            assert!(outside(&shape.shape, line[line.len() - 1]).abs() < SURFACE_MM);
            cuts += 1;
        }
        // No streamline dropped as a miss touches the target.
        for line in output.missed.streamlines() {
            let line: Vec<DVec3> = line
                .iter()
                .map(|p| glam::Vec3::from(*p).as_dvec3())
                .collect();
            assert!(finely(&line).all(|(_, p)| outside(&shape.shape, p) > -SURFACE_MM));
        }
    }
    assert!(cuts > 100, "{cuts}");
}

fn thin_target() {
    let constant = field(cube(31, 2.0), |_| Some(fibre(DVec3::X)));
    let wall = cuboid(Role::Target, DVec3::X * 7.3, DVec3::new(0.01, 20.0, 20.0));
    let (seed, params) = one_seed(
        DVec3::ZERO,
        &Params {
            step_mm: 2.0,
            ..params()
        },
    );
    let output = run(&constant, &[seed, wall], &params);
    let line = points(&output, 0);
    assert!((line[line.len() - 1].x - 7.29).abs() < SURFACE_MM);
}

fn mask_cut() {
    let mut random = Random::fresh("mask cut");
    for _ in 0..10 {
        let e = random.direction();
        let up = if e.z < 0.0 { -e } else { e };
        let constant = field(cube(41, 2.0), |_| Some(fibre(e)));
        let grid = Arc::new(odd_grid(&mut random));
        let inside: Vec<u8> = (0..grid.voxel_count())
            .map(|_| u8::from(random.uniform(0.0, 1.0) < 0.05))
            .collect();
        let shape = Shape::Mask(Mask::new(grid, inside));
        // Away from the origin, where corners of voxels may lie.
        let from = random.direction() * 3.0 - up * 35.0;
        let base = Params {
            both_ways: false,
            step_mm: 1.3,
            ..params()
        };
        let (seed, params) = one_seed(from, &base);
        // First voxel on the straight line, by brute force in steps of 1 µm.
        let first = (0..70_000)
            .map(|i| from + up * (f64::from(i) * 1e-3))
            .find(|p| shape.contains(*p));
        let output = run(&constant, &[seed, region(Role::Target, shape)], &params);
        match first {
            Some(expected) => {
                // The step of the search, plus single precision over some 30 steps.
                let end = *points(&output, 0).last().unwrap();
                assert!(end.distance(expected) < 2e-3, "{end} {expected}");
            }
            None => assert_eq!(output.seed_outcomes[SeedOutcome::MissedTargets as usize], 1),
        }
    }
}

fn two_ends() {
    let constant = field(cube(31, 2.0), |_| Some(fibre(DVec3::Z)));
    let targets = [
        sphere(Role::Target, DVec3::Z * 15.0, 4.0),
        sphere(Role::Target, -DVec3::Z * 15.0, 4.0),
    ];
    let (seed, params) = one_seed(DVec3::ZERO, &params());
    let ends = |regions: Vec<Region>| {
        let output = run(&constant, &regions, &params);
        let line = points(&output, 0);
        let target = output.kept.per_streamline["target"][0];
        (
            line[0].z,
            line[line.len() - 1].z,
            stops(&output, 0),
            target,
            output.per_target,
        )
    };
    let [up, down] = targets;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4, "{a} {b}");
    // Both: cut at both ends, the end in the first-named target comes first, counted for both.
    let (start, end, why, target, per_target) = ends(vec![seed.clone(), up.clone(), down.clone()]);
    near(start, -11.0);
    near(end, 11.0);
    assert_eq!(
        (why, target, per_target),
        ([StopReason::ReachedTarget; 2], 0.0, vec![1, 1])
    );
    let (start, end, why, target, per_target) = ends(vec![seed.clone(), down.clone(), up]);
    near(start, 11.0);
    near(end, -11.0);
    assert_eq!(
        (why, target, per_target),
        ([StopReason::ReachedTarget; 2], 0.0, vec![1, 1])
    );
    // The backward half alone: the streamline is reversed to end in it.
    let far = sphere(Role::Target, DVec3::X * 20.0, 1.0);
    let (start, end, why, target, per_target) = ends(vec![seed, far, down]);
    near(end, -11.0);
    assert!(start > 29.0);
    assert_eq!(why, [StopReason::LeftVolume, StopReason::ReachedTarget]);
    assert_eq!((target, per_target), (1.0, vec![0, 1]));
}

/// The expected outcome of a seed, from the streamline without regions; `grow` enlarges every region. `None` where
/// sampling cannot decide.
fn expected_outcome(halves: [&[DVec3]; 2], regions: &[Region], grow: f64) -> Option<SeedOutcome> {
    let is_in = |r: &Region, p| outside(&r.shape, p) <= grow;
    let mut touched = vec![false; regions.len()];
    let mut reached = false;
    let mut length = 0.0;
    for half in halves {
        let mut last = half[0];
        for (_, p) in finely(half) {
            length += p.distance(last);
            last = p;
            let here: Vec<usize> = (0..regions.len())
                .filter(|&i| is_in(&regions[i], p))
                .collect();
            let new = here.iter().filter(|&&i| !touched[i]).count();
            for &i in &here {
                touched[i] = true;
            }
            let has = |role| here.iter().any(|&i| regions[i].role == role);
            if has(Role::Target) {
                reached = true;
            }
            if has(Role::Target) || has(Role::Terminate) {
                // Their order is beyond this resolution.
                if new > 1 {
                    return None;
                }
                break;
            }
        }
    }
    let all = |role| {
        regions
            .iter()
            .zip(&touched)
            .filter(move |(r, _)| r.role == role)
            .map(|(_, t)| *t)
    };
    Some(
        if regions.iter().any(|r| r.role == Role::Target) && !reached {
            SeedOutcome::MissedTargets
        } else if !all(Role::Include).all(|t| t) {
            SeedOutcome::MissedInclude
        } else if all(Role::Exclude).any(|t| t) {
            SeedOutcome::TouchedExclude
        } else if length < 10.0 {
            SeedOutcome::TooShort
        } else {
            SeedOutcome::Kept
        },
    )
}

fn brute_force() {
    let mut random = Random::fresh("brute force");
    let mut seen = [0usize; 5];
    let mut compared = 0;
    for round in 0..60 {
        let curved = helices(&mut random);
        const SEEDS: usize = 60;
        let seed = sphere(Role::Seed, random.direction() * 6.0, 6.0);
        let mut regions = Vec::new();
        let roles = [
            Role::Target,
            Role::Target,
            Role::Include,
            Role::Exclude,
            Role::Terminate,
        ];
        for role in roles {
            // Every other round has no targets, so that the other roles decide more.
            let likely = match role {
                Role::Target => 0.8 * (round % 2) as f64,
                Role::Exclude => 0.9,
                _ => 0.4,
            };
            if random.uniform(0.0, 1.0) < likely {
                let centre = random.direction() * random.uniform(5.0, 20.0);
                let half = DVec3::from_array([0; 3].map(|_| random.uniform(2.0, 8.0)));
                regions.push(if random.uniform(0.0, 1.0) < 0.5 {
                    sphere(role, centre, random.uniform(3.0, 10.0))
                } else {
                    cuboid(role, centre, half)
                });
            }
        }
        let plain = Params {
            seeding: Seeding::Random { count: SEEDS },
            random_seed: round,
            max_steps: 60,
            ..params()
        };
        let forward = Params {
            both_ways: false,
            ..plain.clone()
        };
        let with_length = Params {
            min_length_mm: 10.0,
            ..plain.clone()
        };
        let seed_only = std::slice::from_ref(&seed);
        let (raw, ahead) = (
            run(&curved, seed_only, &plain),
            run(&curved, seed_only, &forward),
        );
        assert_eq!((raw.kept.len(), ahead.kept.len()), (SEEDS, SEEDS));
        let all: Vec<Region> = std::iter::once(seed.clone())
            .chain(regions.iter().cloned())
            .collect();
        let output = run(&curved, &all, &with_length);
        let kept: Vec<usize> = output.kept.per_streamline["seed"]
            .iter()
            .map(|s| *s as usize)
            .collect();
        let mut counts = [0u64; 6];
        let mut doubtful = 0;
        for i in 0..SEEDS {
            let line = points(&raw, i);
            let at = line.len() - points(&ahead, i).len();
            let back: Vec<DVec3> = line[..=at].iter().rev().copied().collect();
            let halves = [&line[at..], &back[..]];
            // Sampling misses a region grazed by less than this.
            const GRAZE_MM: f64 = 0.02;
            let [outcome, larger, smaller] =
                [0.0, GRAZE_MM, -GRAZE_MM].map(|grow| expected_outcome(halves, &regions, grow));
            let Some(outcome) = outcome.filter(|_| outcome == larger && outcome == smaller) else {
                doubtful += 1;
                continue;
            };
            counts[outcome as usize] += 1;
            seen[outcome as usize] += 1;
            compared += 1;
            assert_eq!(
                kept.contains(&i),
                outcome == SeedOutcome::Kept,
                "seed {i}: {outcome:?}"
            );
        }
        for (found, expected) in output.seed_outcomes.iter().zip(counts) {
            assert!(*found >= expected && *found <= expected + doubtful);
        }
    }
    // Each outcome must have been tested.
    println!("fates compared: {seen:?}");
    assert!(compared > 1500 && seen.iter().all(|n| *n > 10), "{seen:?}");
}

fn hidden() {
    let constant = field(cube(31, 2.0), |_| Some(fibre(DVec3::Z)));
    let (mut seed, params) = one_seed(DVec3::ZERO, &params());
    let mut wall = sphere(Role::Exclude, DVec3::Z * 15.0, 4.0);
    seed.visible = false;
    wall.visible = false;
    let output = run(&constant, &[seed, wall], &params);
    assert_eq!(
        output.seed_outcomes[SeedOutcome::TouchedExclude as usize],
        1
    );
}

/// A straight line along x from the origin, and regions on it and next to it.
fn any_and_all() {
    let constant = field(cube(31, 2.0), |_| Some(fibre(DVec3::X)));
    let (seed, one) = one_seed(DVec3::ZERO, &params());
    let at = |role, x: f64, y: f64| sphere(role, DVec3::new(x, y, 0.0), 3.0);
    let rules = |targets, includes| Params {
        targets,
        includes,
        ..one.clone()
    };
    let outcome = |regions: &[Region], params: &Params| {
        let regions: Vec<Region> = std::iter::once(&seed).chain(regions).cloned().collect();
        let output = run(&constant, &regions, params);
        let outcome = output
            .seed_outcomes
            .iter()
            .position(|n| *n == 1)
            .expect("one seed");
        (outcome, output)
    };
    let (target, include) = (Role::Target, Role::Include);
    let line = [at(target, 10.0, 0.0), at(target, -15.0, 0.0)];
    // Any: cut at both. All: met on the way, nothing is cut.
    let (kept, output) = outcome(&line, &rules(Match::Any, Match::All));
    let cut = points(&output, 0);
    assert_eq!(kept, SeedOutcome::Kept as usize);
    assert!(cut.iter().all(|p| p.x > -12.1 && p.x < 7.1));
    let (kept, output) = outcome(&line, &rules(Match::All, Match::All));
    assert_eq!(
        (kept, &*output.per_target),
        (SeedOutcome::Kept as usize, &[1u64, 1][..])
    );
    let whole = points(&output, 0);
    assert!(whole.iter().any(|p| p.x > 25.0) && whole.iter().any(|p| p.x < -25.0));
    assert!(!output.kept.per_streamline.contains_key("target"));
    assert!(!stops(&output, 0).contains(&StopReason::ReachedTarget));
    // One next to the line.
    let adjacent = [at(target, 10.0, 0.0), at(target, 0.0, 20.0)];
    assert_eq!(
        outcome(&adjacent, &rules(Match::Any, Match::All)).0,
        SeedOutcome::Kept as usize
    );
    let (missed, output) = outcome(&adjacent, &rules(Match::All, Match::All));
    assert_eq!(
        (missed, output.per_target.iter().sum()),
        (SeedOutcome::MissedTargets as usize, 0)
    );
    let gates = [at(include, 10.0, 0.0), at(include, 0.0, 20.0)];
    assert_eq!(
        outcome(&gates, &rules(Match::Any, Match::All)).0,
        SeedOutcome::MissedInclude as usize
    );
    assert_eq!(
        outcome(&gates, &rules(Match::Any, Match::Any)).0,
        SeedOutcome::Kept as usize
    );
    assert_eq!(
        outcome(&gates[1..], &rules(Match::Any, Match::Any)).0,
        SeedOutcome::MissedInclude as usize
    );
    assert_eq!(
        outcome(&[], &rules(Match::All, Match::Any)).0,
        SeedOutcome::Kept as usize
    );
}

/// Compares curved lines with a test of all points of the uncut ones.
fn all_by_brute_force() {
    let mut random = Random::fresh("all targets");
    let (mut met_all, mut compared) = (0, 0);
    for _ in 0..12 {
        let curved = helices(&mut random);
        let params = Params {
            seeding: Seeding::Random { count: 300 },
            max_length_mm: Some(80.0),
            ..params()
        };
        let targets: Vec<Region> = (0..2)
            .map(|_| {
                sphere(
                    Role::Target,
                    random.direction() * 12.0,
                    random.uniform(5.0, 11.0),
                )
            })
            .collect();
        let free = run(&curved, &[], &params);
        let all = Params {
            targets: Match::All,
            ..params.clone()
        };
        let output = run(&curved, &targets, &all);
        let (mut sure, mut doubtful) = (0, 0);
        for i in 0..free.kept.len() {
            let line = points(&free, i);
            let nearest = |t: &Region| {
                let each = finely(&line).map(|(_, p)| outside(&t.shape, p));
                each.fold(f64::INFINITY, f64::min)
            };
            let far = targets
                .iter()
                .map(nearest)
                .fold(f64::NEG_INFINITY, f64::max);
            // Between two tested points a line may still touch by less than this.
            if far.abs() < 1e-3 {
                doubtful += 1;
            } else if far < 0.0 {
                sure += 1;
            }
        }
        let kept = output.seed_outcomes[SeedOutcome::Kept as usize];
        assert!(
            (sure..=sure + doubtful).contains(&kept),
            "{kept} kept, {sure} by brute force"
        );
        assert_eq!(output.seed_outcomes.iter().sum::<u64>(), 300);
        met_all += sure;
        compared += free.kept.len();
    }
    println!("{met_all} of {compared} meet all");
    assert!(met_all > 5 && compared > 2000, "{met_all} of {compared}");
}
