//! Starting points of streamlines.

use crate::support::fields::{
    backend, cube, cuboid, fibre, field, odd_grid, params, points, region, run, sphere, try_run,
};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Mask, Region, Role, Shape, TensorField};
use arcuate::solvers::curves::{Params, SeedOutcome, Seeding};
use arcuate::solvers::tracking::track;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "tracking::random seeds are uniform in a union",
            uniform_in_union,
        ),
        test(
            "tracking::random seeds are uniform over masks",
            uniform_over_masks,
        ),
        test("tracking::seeds per voxel", per_voxel),
        test("tracking::seeds on a grid", on_grid),
        test(
            "tracking::too many seeds on a grid are counted first",
            counted_first,
        ),
        test("tracking::seeds outside do not start", no_start),
        test(
            "tracking::seeds differ by the random seed only",
            reproducible,
        ),
        test("tracking::bad input is refused in a sentence", refusals),
    ]
}

/// The seed points: the first points of streamlines of one step, too short to leave the volume.
fn seeds(field: &TensorField, regions: &[Region], seeding: Seeding) -> Vec<DVec3> {
    let params = Params {
        seeding,
        step_mm: 1e-7,
        max_steps: 1,
        both_ways: false,
        ..params()
    };
    let output = run(field, regions, &params);
    (0..output.kept.len())
        .map(|i| points(&output, i)[0])
        .collect()
}

/// Fails about once in a million runs on correct numbers (Wilson and Hilferty 1931).
fn assert_chi_square(observed: &[f64], expected: &[f64]) {
    let used: Vec<usize> = (0..expected.len())
        .filter(|&i| expected[i] >= 5.0)
        .collect();
    assert!(used.len() > 10, "too few cells to decide");
    let chi: f64 = used
        .iter()
        .map(|&i| (observed[i] - expected[i]).powi(2) / expected[i])
        .sum();
    let degrees = used.len() as f64;
    let spread = 2.0 / (9.0 * degrees);
    let limit = degrees * (1.0 - spread + 4.75 * spread.sqrt()).powi(3);
    assert!(chi < limit, "chi² {chi} of {degrees} cells, limit {limit}");
}

fn uniform_in_union() {
    let mut random = Random::fresh("union");
    let everywhere = field(cube(21, 2.0), |_| Some(fibre(DVec3::Z)));
    let centre = random.direction() * 3.0;
    let regions = [
        sphere(Role::Seed, centre, 6.0),
        // Overlaps the first, so that counting its volume twice would show.
        sphere(Role::Seed, centre + random.direction() * 4.0, 5.0),
        cuboid(
            Role::Seed,
            centre + random.direction() * 9.0,
            DVec3::new(2.0, 5.0, 3.0),
        ),
    ];
    const COUNT: usize = 60_000;
    let found = seeds(&everywhere, &regions, Seeding::Random { count: COUNT });
    assert_eq!(found.len(), COUNT);
    // Cells of 3 mm; their fraction of the union by a grid of points 0.15 mm apart.
    let cell = |p: DVec3| {
        let c = ((p - centre + 24.0) / 3.0).floor();
        (c.x + 16.0 * (c.y + 16.0 * c.z)) as usize
    };
    let mut expected = vec![0.0; 16 * 16 * 16];
    let mut observed = expected.clone();
    let n = 320;
    for i in 0..n * n * n {
        let step = DVec3::new((i % n) as f64, (i / n % n) as f64, (i / (n * n)) as f64);
        let p = centre - 24.0 + (step + 0.5) * (48.0 / n as f64);
        if regions.iter().any(|r| r.shape.contains(p)) {
            expected[cell(p)] += 1.0;
        }
    }
    let total: f64 = expected.iter().sum();
    for e in &mut expected {
        *e *= COUNT as f64 / total;
    }
    // Cells at the surface have the error of the counting grid; those mostly outside are skipped.
    let full = COUNT as f64 * (20f64.powi(3) / total);
    for p in &found {
        observed[cell(*p)] += 1.0;
    }
    let (expected, observed): (Vec<f64>, Vec<f64>) = expected
        .into_iter()
        .zip(observed)
        .filter(|(e, _)| *e > 0.3 * full)
        .unzip();
    assert_chi_square(&observed, &expected);
    // f32 rounds a point on the surface by less than 1e-5 mm.
    let near = |p: &DVec3| {
        regions.iter().any(|r| match &*r.shape {
            Shape::Sphere { centre, radius_mm } => p.distance(*centre) < radius_mm + 1e-5,
            Shape::Box { centre, half_mm } => (*p - *centre).abs().cmplt(*half_mm + 1e-5).all(),
            Shape::Mask(_) => false,
        })
    };
    assert!(found.iter().all(near));
}

fn uniform_over_masks() {
    let mut random = Random::fresh("masks");
    let grid = odd_grid(&mut random);
    let everywhere = field(grid.clone(), |x| {
        (x.length() < 12.0).then(|| fibre(DVec3::Y))
    });
    let grid = Arc::new(grid);
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|_| u8::from(random.uniform(0.0, 1.0) < 0.3))
        .collect();
    let some = Mask::new(grid.clone(), inside);
    const COUNT: usize = 20_000;
    for (mask, regions) in [
        // Seeds outside the interpolated mask do not start, so the mask is the whole volume here.
        (some.clone(), vec![region(Role::Seed, Shape::Mask(some))]),
        (everywhere.mask(), vec![]),
    ] {
        let whole = field((*grid).clone(), |_| Some(fibre(DVec3::Y)));
        let source = if regions.is_empty() {
            &everywhere
        } else {
            &whole
        };
        let found = seeds(source, &regions, Seeding::Random { count: COUNT });
        let mut octants = vec![0.0; 8 * grid.voxel_count()];
        for p in &found {
            let v = grid.voxel_at(*p);
            let voxel = grid.nearest(*p).unwrap();
            let high = (0..3)
                .map(|a| usize::from(v[a] > voxel[a] as f64) << a)
                .sum::<usize>();
            octants[8 * grid.index(voxel) + high] += 1.0;
        }
        let share = COUNT as f64 / mask.count() as f64;
        if regions.is_empty() {
            // At the mask's surface some do not start; none may lie outside it.
            let outside = (0..grid.voxel_count()).filter(|&i| mask.inside[i] == 0);
            assert!(
                outside
                    .into_iter()
                    .all(|i| octants[8 * i..8 * i + 8].iter().sum::<f64>() == 0.0)
            );
            continue;
        }
        assert_eq!(found.len(), COUNT);
        let per_voxel: Vec<f64> = octants.chunks(8).map(|o| o.iter().sum()).collect();
        let expected: Vec<f64> = mask.inside.iter().map(|&v| f64::from(v) * share).collect();
        let cells: Vec<usize> = (0..expected.len()).filter(|&i| expected[i] > 0.0).collect();
        let pick = |v: &[f64]| cells.iter().map(|&i| v[i]).collect::<Vec<_>>();
        assert_eq!(pick(&per_voxel).iter().sum::<f64>(), COUNT as f64);
        assert_chi_square(&pick(&per_voxel), &pick(&expected));
        // Uniform within the voxels too: octants over all voxels.
        let mut sum = [0.0; 8];
        for (i, n) in octants.iter().enumerate() {
            sum[i % 8] += n;
        }
        let worst = sum
            .map(|n| (n - COUNT as f64 / 8.0).abs())
            .into_iter()
            .fold(0.0, f64::max);
        assert!(worst < 6.0 * (COUNT as f64 / 8.0).sqrt());
    }
}

fn per_voxel() {
    let mut random = Random::fresh("per voxel");
    let grid = odd_grid(&mut random);
    let whole = field(grid.clone(), |_| Some(fibre(DVec3::X)));
    let ball = sphere(Role::Seed, random.direction() * 2.0, 5.0);
    for regions in [vec![], vec![ball]] {
        let found = seeds(&whole, &regions, Seeding::PerVoxel { count: 3 });
        let mut counts = vec![0; grid.voxel_count()];
        for p in found {
            counts[grid.index(grid.nearest(p).unwrap())] += 1;
        }
        for (i, count) in counts.into_iter().enumerate() {
            let centre = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            let requested = regions.is_empty() || regions.iter().any(|r| r.shape.contains(centre));
            assert_eq!(count, if requested { 3 } else { 0 });
        }
    }
}

fn on_grid() {
    let mut random = Random::fresh("grid");
    let everywhere = field(cube(21, 2.0), |_| Some(fibre(DVec3::Z)));
    let centre = random.direction() * 5.0;
    let regions = [
        sphere(Role::Seed, centre, 6.3),
        cuboid(Role::Seed, centre + 8.0, DVec3::new(3.0, 2.0, 4.0)),
    ];
    let spacing_mm = random.uniform(0.9, 1.6);
    let found = seeds(&everywhere, &regions, Seeding::Grid { spacing_mm });
    let range = -20..=20;
    let mut expected = Vec::new();
    for z in range.clone() {
        for y in range.clone() {
            for x in range.clone() {
                let p = centre + DVec3::new(x.into(), y.into(), z.into()) * spacing_mm;
                if regions.iter().any(|r| r.shape.contains(p)) {
                    expected.push(p);
                }
            }
        }
    }
    assert_eq!(found.len(), expected.len());
    assert!(
        found
            .iter()
            .zip(&expected)
            .all(|(a, b)| a.distance(*b) < 1e-4)
    );
}

/// A grid of 17 million points is refused with the exact number.
fn counted_first() {
    let everywhere = field(cube(21, 2.0), |_| Some(fibre(DVec3::Z)));
    // 258 points per side about the middle; spacing 0.125 is exact.
    let half = DVec3::splat(128.5 * 0.125);
    let regions = [cuboid(Role::Seed, DVec3::ZERO, half)];
    let params = Params {
        seeding: Seeding::Grid { spacing_mm: 0.125 },
        ..params()
    };
    let error = track(&everywhere, &regions, &params, &backend(2), &Control::new());
    let sentence = error.expect_err("refused").to_string();
    let count = "16\u{202F}974\u{202F}593";
    assert_eq!(257usize.pow(3), 16_974_593);
    assert!(sentence.contains(count), "{sentence}");
}

fn no_start() {
    // Half of the ball lies outside the volume (x > 20).
    let everywhere = field(cube(21, 2.0), |_| Some(fibre(DVec3::Z)));
    let edge = everywhere.grid.bounds().1.x;
    let ball = [sphere(Role::Seed, DVec3::new(edge, 0.0, 0.0), 5.0)];
    let count = 4000;
    let params = Params {
        seeding: Seeding::Random { count },
        ..params()
    };
    let output = run(&everywhere, &ball, &params);
    let outside = output.seed_outcomes[SeedOutcome::NoStart as usize] as f64;
    // Binomial: five standard deviations.
    assert!((outside - 2000.0).abs() < 5.0 * (count as f64 / 4.0).sqrt());
    // Low FA and mask regions prevent a start too.
    let picky = Params {
        min_fa: Some(0.9),
        ..params.clone()
    };
    assert_eq!(
        run(&everywhere, &[], &picky).seed_outcomes,
        [0, 0, 0, 0, 0, 4000, 0, 0]
    );
    let elsewhere = [
        sphere(Role::Seed, DVec3::ZERO, 3.0),
        sphere(Role::Mask, DVec3::splat(10.0), 3.0),
    ];
    assert_eq!(
        run(&everywhere, &elsewhere, &params).seed_outcomes,
        [0, 0, 0, 0, 0, 4000, 0, 0]
    );
}

fn reproducible() {
    let everywhere = field(cube(21, 2.0), |_| Some(fibre(DVec3::Z)));
    let ball = [sphere(Role::Seed, DVec3::ZERO, 5.0)];
    let run = |random_seed, count, threads| {
        let params = Params {
            random_seed,
            seeding: Seeding::Random { count },
            ..params()
        };
        let output = track(
            &everywhere,
            &ball,
            &params,
            &backend(threads),
            &Control::new(),
        );
        output.unwrap().kept.points.to_vec()
    };
    let first = run(1, 300, 1);
    assert_eq!(first, run(1, 300, 3));
    assert_ne!(first, run(2, 300, 1));
    // A seed draws by its index: a smaller number gives the same first seeds.
    assert!(first.starts_with(&run(1, 100, 1)));
}

fn refusals() {
    let everywhere = field(cube(11, 2.0), |_| Some(fibre(DVec3::Z)));
    let nowhere = field(cube(11, 2.0), |_| None);
    let ball = |radius| sphere(Role::Seed, DVec3::ZERO, radius);
    let far = sphere(Role::Seed, DVec3::splat(500.0), 3.0);
    let empty = Mask::new(everywhere.grid.clone(), vec![0; everywhere.tensors.len()]);
    let seeding = |seeding| Params {
        seeding,
        ..params()
    };
    let flat = cuboid(Role::Seed, DVec3::ZERO, DVec3::new(5.0, 5.0, 0.0));
    let between = DVec3::new(0.9, 0.9, 0.9);
    let cases: Vec<(&TensorField, Vec<Region>, Params, &str)> = vec![
        (
            &everywhere,
            vec![],
            Params {
                step_mm: 0.0,
                ..params()
            },
            "Found 0 for Step",
        ),
        (
            &everywhere,
            vec![],
            Params {
                step_mm: f64::NAN,
                ..params()
            },
            "Found NaN for Step",
        ),
        (
            &everywhere,
            vec![],
            Params {
                step_mm: f64::INFINITY,
                ..params()
            },
            "Found inf for Step",
        ),
        (
            &everywhere,
            vec![],
            Params {
                max_angle_rad: Some(-1.0),
                ..params()
            },
            "for Maximum angle",
        ),
        (
            &everywhere,
            vec![],
            Params {
                max_angle_rad: Some(4.0),
                ..params()
            },
            "for Maximum angle",
        ),
        (
            &everywhere,
            vec![],
            Params {
                min_fa: Some(f64::NAN),
                ..params()
            },
            "Found NaN for Stop below FA",
        ),
        (
            &everywhere,
            vec![],
            Params {
                max_length_mm: Some(0.0),
                ..params()
            },
            "Found 0 for Maximum length",
        ),
        (
            &everywhere,
            vec![],
            Params {
                min_length_mm: -1.0,
                ..params()
            },
            "Found -1 for Minimum length",
        ),
        (
            &everywhere,
            vec![],
            Params {
                min_length_mm: 50.0,
                max_length_mm: Some(40.0),
                ..params()
            },
            "Found the minimum length 50 mm",
        ),
        (
            &everywhere,
            vec![],
            Params {
                max_steps: 0,
                ..params()
            },
            "Found 0 for Step limit",
        ),
        (
            &everywhere,
            vec![],
            seeding(Seeding::Random { count: 0 }),
            "Found 0 in --seeds (Streamlines)",
        ),
        (
            &everywhere,
            vec![],
            seeding(Seeding::Random { count: usize::MAX }),
            "in --seeds (Streamlines), expected a whole number from 1 to 16777216",
        ),
        (
            &everywhere,
            vec![],
            seeding(Seeding::PerVoxel { count: usize::MAX }),
            "in --seeds (Seeds per voxel), expected a whole number from 1 to 16777216",
        ),
        (
            &everywhere,
            vec![],
            seeding(Seeding::Grid { spacing_mm: 0.0 }),
            "Found 0 in --seeds (Seed spacing)",
        ),
        (
            &everywhere,
            vec![],
            seeding(Seeding::Grid { spacing_mm: 1e-9 }),
            "choose a larger spacing",
        ),
        (
            &everywhere,
            vec![ball(0.0)],
            params(),
            "The region “Seed” is empty",
        ),
        (
            &everywhere,
            vec![ball(f64::NAN)],
            params(),
            "The region “Seed” is empty",
        ),
        (
            &everywhere,
            vec![region(Role::Seed, Shape::Mask(empty))],
            params(),
            "The region “Seed” is empty",
        ),
        (
            &everywhere,
            vec![flat],
            params(),
            "no volume to draw random seeds from",
        ),
        (&everywhere, vec![far], params(), "lie outside the volume"),
        (
            &everywhere,
            vec![sphere(Role::Seed, between, 0.1)],
            seeding(Seeding::PerVoxel { count: 1 }),
            "No voxel's centre lies in the seed regions",
        ),
        (&nowhere, vec![], params(), "no voxel to seed from"),
        (
            &nowhere,
            vec![],
            seeding(Seeding::PerVoxel { count: 1 }),
            "no voxel to seed from",
        ),
        (
            &nowhere,
            vec![],
            seeding(Seeding::Grid { spacing_mm: 1.0 }),
            "no voxel to seed from",
        ),
    ];
    for (field, regions, params, expected) in cases {
        let error = try_run(field, &regions, &params).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
        let one_sentence = !error.contains(". ") && !error.ends_with('.') && !error.contains('\n');
        assert!(one_sentence && !error.contains("  "), "{error}");
    }
}
