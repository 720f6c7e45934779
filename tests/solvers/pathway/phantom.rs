//! Pathways in the synthetic head against its true bundles; with more noise they outperform streamlines from the same
//! regions by more.

use crate::eikonal::PARAMS;
use crate::support::fields::{backend, params as track_params, run, sphere};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Role};
use arcuate::phantom::{
    Bundle, Head, Placement, ScanOptions, scan_grid, scan_options, suggestions,
};
use arcuate::solvers::curves::{Params as TrackParams, Seeding};
use arcuate::solvers::eikonal::{LocalSolver, Prepared, solve};
use arcuate::solvers::metric::Metric;
use arcuate::solvers::pathway;
use arcuate::solvers::pathway::{Domain, Pathway};
use arcuate::solvers::tensor_fit::{self, Output};
use glam::DVec3;
use libtest_mimic::Trial;
use rayon::prelude::*;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![test("pathway::bundles of noisy heads", bundles)]
}

/// The smallest is that of a scan that no one would keep.
const SNR: [f64; 4] = [3.0, 10.0, 20.0, 30.0];
const EPSILON: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.4];

/// 2.5 mm and 30 directions, at the given noise.
pub(super) fn fitted(head: &Head, grid: &Arc<Grid>, snr: f64, noise_seed: u64) -> Output {
    let (backend, control) = (backend(2), Control::new());
    let options = ScanOptions {
        snr: Some(snr),
        ..scan_options(grid.clone(), noise_seed)
    };
    let scan = backend.install(|| head.diffusion_scan(&options, &control));
    let (dwi, gradients) = scan.unwrap();
    let mask = backend.install(|| head.brain_mask(grid, &control)).unwrap();
    let params = tensor_fit::Params::defaults();
    tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control).unwrap()
}

/// The bundle's voxels between two of its cross-sections.
fn truth(bundle: &Bundle, grid: &Arc<Grid>, between: [f64; 2]) -> Mask {
    let [low, high] = between;
    let inside = (0..grid.voxel_count()).into_par_iter().map(|i| {
        let at = bundle.coordinates(grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))));
        u8::from(at.inside() && (low..=high).contains(&at.t))
    });
    Mask::new(grid.clone(), inside.collect::<Vec<u8>>())
}

fn dice(a: &Mask, b: &Mask) -> f64 {
    let both = a.inside.iter().zip(b.inside.iter());
    let both = both.filter(|(a, b)| **a > 0 && **b > 0).count();
    2.0 * both as f64 / (a.count() + b.count()) as f64
}

/// The mask without the regions themselves, whose inside costs nothing and carries no information.
fn outside(mask: &Mask, ends: &[&Placement]) -> Mask {
    let keep = mask.inside.iter().enumerate().map(|(i, inside)| {
        let voxel = mask.grid.voxel(i).map(|v| v as f64);
        let at = mask.grid.world(DVec3::from_array(voxel));
        let in_end = ends.iter().any(|e| at.distance(e.centre) <= e.radius_mm);
        *inside * u8::from(!in_end)
    });
    Mask::new(mask.grid.clone(), keep.collect::<Vec<u8>>())
}

fn bundles() {
    let mut random = Random::fresh("noisy pathways");
    let head = Head::new(random.bits());
    let grid = scan_grid(2.5).unwrap();
    let (backend, control) = (backend(2), Control::new());
    let requested = pathway::Params::defaults();
    let mut fractions = Vec::new();
    for snr in SNR {
        let fit = fitted(&head, &grid, snr, random.bits());
        let fa = tensor_fit::maps(&fit.field, &backend, &control).unwrap().fa;
        let prepared = |domain: Domain| {
            let within = domain.mask().unwrap();
            let metric = Metric::new(
                &fit.field,
                &requested.metric,
                Some(&within),
                &backend,
                &control,
            )
            .unwrap();
            Prepared::new(&metric, requested.local, &backend, &control).unwrap()
        };
        for suggestion in suggestions(&head) {
            let bundle = head.bundle(&suggestion.bundle).unwrap();
            let seed = &suggestion.placements[0];
            let region = |p: &Placement| sphere(p.role, p.centre, p.radius_mm);
            let target = &suggestion.placements[1];
            let regions = [region(seed), region(target)];
            let domain = Domain::of_tensors(&fa, requested.min_fa, &regions);
            let prepared = prepared(domain);
            let metric = &prepared.metric;
            let source = |role| domain.source(metric, role).unwrap();
            let sources = [source(Role::Seed), source(Role::Target)];
            let mut fields = solve(&prepared, &sources, &PARAMS, &backend, &control).unwrap();
            let second = fields.remove(1);
            let pathway = Pathway::new(fields.remove(0), second).unwrap();
            let t = [seed, target].map(|p| bundle.coordinates(p.centre).t);
            let between = [t[0].min(t[1]), t[0].max(t[1])];
            let ends = [seed, target];
            let truth = outside(&truth(bundle, &grid, between), &ends);
            let found = EPSILON.map(|e| dice(&outside(&pathway.mask(e), &ends), &truth));
            // The fraction of the cheapest path in the bundle.
            let path = pathway.minimal_path().unwrap();
            let off = path.points.iter().map(|p| {
                let at = bundle.coordinates(*p);
                at.u.hypot(at.v)
            });
            let stored = off.filter(|o| *o <= 1.0).count() as f64;
            let stored = stored / path.points.len() as f64;
            let track = TrackParams {
                seeding: Seeding::Random { count: 2000 },
                min_fa: Some(0.15),
                max_angle_rad: Some(45f64.to_radians()),
                max_length_mm: Some(300.0),
                ..track_params()
            };
            let tracked = run(&fit.field, &regions, &track);
            let reached = tracked.kept.len() as f64 / 2000.0;
            let within = EPSILON.map(|e| {
                let set = outside(&pathway.mask(e), &ends);
                let both = set.inside.iter().zip(truth.inside.iter());
                let both = both.filter(|(a, b)| **a > 0 && **b > 0).count();
                both as f64 / set.count().max(1) as f64
            });
            let sizes = EPSILON.map(|e| outside(&pathway.mask(e), &ends).count());
            println!(
                "SNR {snr}: {}: Dice {found:.2?}, {sizes:?} voxels of {}, of which inside {within:.2?}, at \
                 ε {EPSILON:?}, joined from {:.3}; path in the bundle {stored:.3}; {:.1} % of streamlines reach the target",
                bundle.name,
                truth.count(),
                pathway.joining_epsilon,
                100.0 * reached
            );
            fractions.push(reached);
            if snr < 10.0 {
                continue;
            }
            assert!(stored > 0.9, "the cheapest path leaves the bundle");
            // Steps of several voxels cost what they cost along their way: charged by the voxel where they end they
            // came to 78 to 93 % of the cost with neighbours only.
            if snr == 30.0 {
                let near = LocalSolver::HopfLax26;
                let prepared = Prepared::new(metric, near, &backend, &control).unwrap();
                let mut fields = solve(&prepared, &sources, &PARAMS, &backend, &control).unwrap();
                let second = fields.remove(1);
                let least = Pathway::new(fields.remove(0), second).unwrap().min_cost;
                let share = pathway.min_cost / least;
                println!("E* of steps to neighbours alone: {least:.3}, times {share:.3}");
                assert!((0.93..1.001).contains(&share), "{share}");
            }
            // A narrow set is too small to overlap the whole width, and lies in it; the narrowest contain a few voxels,
            // so one on the rim weighs much.
            let outliers = (1.0 - within[1]) * sizes[1] as f64;
            assert!(sizes[1] > 0 && outliers < 1.5, "{sizes:?} {within:?}");
            assert!(within[2] > 0.8, "{within:?}");
            assert!(sizes[2] > 2 && found[2] > 0.02, "{sizes:?} {found:?}");
            assert!(found[4] > 0.3 && found[3] > 0.1, "{found:?}");
        }
    }
    // Noise diverts streamlines where the cheapest path stays on course.
    let (noisy, clear) = (&fractions[..2], &fractions[fractions.len() - 2..]);
    let [noisy, clear] = [noisy, clear].map(|both| both.iter().sum::<f64>());
    assert!(noisy < 0.85 * clear, "{fractions:?}");
}
