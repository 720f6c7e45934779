//! The sensitivity of a pathway: against finite differences, Euler's relation, and independence from threads.

use super::between;
use crate::eikonal::{cube, oblique, swirl};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::solvers::eikonal::{LocalSolver, derivative_by_log_cost};
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway::{Pathway, Sensitivity};
use glam::DMat3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "pathway::sensitivities equal finite differences",
            differences,
        ),
        test("pathway::sensitivities add up to the cost", sums),
        test(
            "pathway::a straight path depends evenly on its voxels",
            straight,
        ),
    ]
}

const SIDE: usize = 21;
const ENDS: [[i64; 3]; 2] = [[2, 3, 4], [17, 16, 13]];
/// A larger step crosses to other simplices, above all those of the hybrid; a smaller one loses digits of single
/// precision.
const STEP: f64 = 0.003;

fn sensitivity(pathway: &Pathway, threads: usize) -> Sensitivity {
    let control = Control::new();
    pathway.sensitivity(&backend(threads), &control).unwrap()
}

/// Speeds that turn in space, whose size varies by this factor from voxel to voxel, with holes.
fn rough(random: &mut Random, anisotropy: f64) -> Vec<Option<DMat3>> {
    let grid = cube(SIDE);
    let speed = swirl(random, &grid, anisotropy);
    let voxels = 0..grid.voxel_count();
    let ends = ENDS.map(|end| grid.index(end.map(|c| c as usize)));
    voxels
        .map(|v| {
            let hole = random.uniform(0.0, 1.0) < 0.05;
            let size = random.uniform(0.6, 1.6);
            (!hole || ends.contains(&v)).then(|| speed(grid.voxel(v)) * size)
        })
        .collect()
}

fn solved(speeds: &[Option<DMat3>], local: LocalSolver) -> Pathway {
    let grid = cube(SIDE);
    let metric = Metric::from_speed(&grid, |v| speeds[grid.index(v)]).unwrap();
    between(&metric, local, &ENDS[..1], &ENDS[1..]).unwrap()
}

/// 20 random voxels among those that matter, with each local solver.
fn differences() {
    let mut random = Random::fresh("sensitivity");
    for local in LocalSolver::ALL {
        let speeds = rough(&mut random, 5.0);
        let pathway = solved(&speeds, local);
        let found = sensitivity(&pathway, 2);
        let mut candidates: Vec<usize> = (0..found.shares.len())
            .filter(|p| found.shares[*p] > 4e-3)
            .collect();
        assert!(candidates.len() >= 20, "{local:?}: {}", candidates.len());
        let (mut sums, mut worst) = ([0.0; 2], 0.0f64);
        for _ in 0..20 {
            let chosen = random.uniform(0.0, candidates.len() as f64) as usize;
            let place = candidates.swap_remove(chosen.min(candidates.len() - 1));
            let voxel = pathway.metric().voxels[place] as usize;
            // A cost c times as high is a speed matrix divided by c².
            let cost = |factor: f64| {
                let mut speeds = speeds.clone();
                speeds[voxel] = speeds[voxel].map(|w| w * factor.powi(-2));
                solved(&speeds, local).min_cost
            };
            let slope = (cost(STEP.exp()) / cost((-STEP).exp())).ln() / (2.0 * STEP);
            let share = f64::from(found.shares[place]);
            worst = worst.max((slope / share - 1.0).abs());
            sums[0] += (slope - share).abs();
            sums[1] += share;
        }
        println!(
            "{}: mean {:.4}, largest {worst:.4}",
            local.key(),
            sums[0] / sums[1]
        );
        assert!(
            worst < 0.05,
            "{local:?}: {worst:.3} of the share of a voxel"
        );
    }
}

/// Costs that are c times as high give a cost that is c times as high: the derivatives of a field add up to its value
/// (Euler). They are the same on any number of threads.
fn sums() {
    let mut random = Random::fresh("sums of sensitivities");
    for local in LocalSolver::ALL {
        for anisotropy in [1.5, 18.0] {
            let pathway = solved(&rough(&mut random, anisotropy), local);
            let found = sensitivity(&pathway, 1);
            assert!(found.shares.iter().all(|s| *s >= 0.0));
            assert_eq!(found.shares, sensitivity(&pathway, 3).shares);
            for field in &pathway.fields {
                let value = f64::from(field.values[pathway.middle]);
                let control = Control::new();
                let parts = derivative_by_log_cost(field, pathway.middle, &control);
                let sum: f64 = parts.unwrap().unwrap().iter().sum();
                // The solver works in single precision, the adjoint repeats its steps in double precision.
                let limit = 1e-4 * pathway.min_cost;
                assert!((sum - value).abs() <= limit, "{local:?}: {sum} {value}");
            }
            // Half of the cost lies in fewer voxels than 95 % of it.
            let (half, most) = (found.voxels_with(0.5), found.voxels_with(0.95));
            assert!(0 < half && half < most && most <= found.shares.len());
            let image = found.percent(pathway.metric());
            let voxels = pathway.metric().voxels.iter().zip(found.shares.iter());
            for (voxel, share) in voxels {
                assert_eq!(image.values[*voxel as usize], 100.0 * share);
            }
        }
    }
}

/// Along a row of voxels each inner one decides the same part, and the others none.
fn straight() {
    let mut random = Random::fresh("a straight sensitivity");
    let speed = oblique(&mut random, 2.0);
    let grid = cube(SIDE);
    let row = |v: [usize; 3]| (v[1] == 5 && v[2] == 5).then_some(speed);
    let metric = Metric::from_speed(&grid, row).unwrap();
    let ends = [[0, 5, 5], [SIDE as i64 - 1, 5, 5]];
    let pathway = between(&metric, LocalSolver::Hybrid, &ends[..1], &ends[1..]).unwrap();
    let found = sensitivity(&pathway, 2);
    // The balls at the ends are charged at their two ends only.
    let inner = &found.shares[5..SIDE - 5];
    let each = 1.0 / (SIDE - 1) as f32;
    for share in inner {
        // The voxel in which both fields meet is charged by both.
        assert!((0.98..2.02).contains(&(share / each)), "{inner:?}");
    }
    let mean = inner.iter().sum::<f32>() / inner.len() as f32;
    assert!((mean / each - 1.0).abs() < 0.1, "{mean} {each}");
}
