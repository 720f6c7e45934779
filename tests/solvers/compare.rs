//! Comparisons: closed forms of pairs, the consensus against an iteration over all voxels, known rates, streamlines in a
//! pathway, refusals.

use crate::support::fields::backend;
use crate::support::{Random, lines, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Tractogram};
use arcuate::solvers::Error;
use arcuate::solvers::compare::{
    Consensus, InputError, MAX_MASKS, Pair, PathwayAgreement, agreement, pairs, precision, staple,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("compare::pairs of known masks", known_pairs),
        test("compare::distances between balls", balls),
        test("compare::precision of operators", operators),
        test("compare::a consensus of equal masks", equal),
        test("compare::a complement is always wrong", complement),
        test("compare::a consensus as over all voxels", over_all_voxels),
        test("compare::a consensus within a mask", within_mask),
        test("compare::known rates are found again", known_rates),
        test("compare::masks at their limits", limits),
        test("compare::no number of threads changes it", threads),
        test("compare::streamlines in a pathway", in_a_pathway),
        test("compare::streamlines that are left out", omitted),
        test("compare::data that cannot be compared", refused),
    ]
}

fn grid(shape: [usize; 3]) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).unwrap())
}

fn compared(masks: &[Mask]) -> Vec<Pair> {
    pairs(masks, &backend(2), &Control::new()).unwrap()
}

fn consensus(masks: &[Mask]) -> Consensus {
    staple(masks, None, &backend(2), &Control::new()).unwrap()
}

fn row(inside: &[u8]) -> Mask {
    Mask::new(grid([inside.len(), 1, 1]), inside.to_vec())
}

fn known_pairs() {
    let grid = grid([6, 1, 1]);
    let masks = [[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1]];
    let masks = masks.map(|inside| Mask::new(grid.clone(), inside.to_vec()));
    let found = compared(&masks);
    let indices: Vec<[usize; 2]> = found.iter().map(|pair| pair.masks).collect();
    assert_eq!(indices, [[0, 1], [0, 2], [1, 2]]);
    let [first, distant, next] = [&found[0], &found[1], &found[2]];
    assert_eq!((first.voxels, first.shared), ([3, 4], 2));
    // 2 · 2 / (3 + 4), and 2 / 5.
    assert!((first.dice() - 4.0 / 7.0).abs() < 1e-15);
    assert!((first.jaccard() - 0.4).abs() < 1e-15);
    assert_eq!((distant.dice(), distant.jaccard()), (0.0, 0.0));
    // In a row, every voxel is a border voxel. From 0 1 2 to the nearest of 1 2 3 4: 1 0 0; back: 0 0 1 2.
    let distances = first.distances;
    assert!((distances.mean_mm - 4.0 / 7.0).abs() < 1e-6);
    assert_eq!((distances.percentile95_mm, distances.max_mm), (2.0, 2.0));
    // From 1 2 3 4 to 5: 4 3 2 1; back: 1.
    assert_eq!(
        (next.distances.mean_mm, next.distances.max_mm),
        (11.0 / 5.0, 4.0)
    );
}

fn ball(grid: &Arc<Grid>, centre: DVec3, radius: f64) -> Mask {
    let voxels =
        (0..grid.voxel_count()).map(|i| DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let inside = voxels.map(|at| u8::from(grid.world(at).distance(centre) <= radius));
    Mask::new(grid.clone(), inside.collect::<Vec<_>>())
}

fn balls() {
    let grid = grid([40, 40, 40]);
    let centre = DVec3::splat(19.5);
    let found = compared(&[ball(&grid, centre, 8.0), ball(&grid, centre, 12.0)]);
    let pair = &found[0];
    let ratio = (8f64 / 12.0).powi(3);
    // The smaller ball lies in the larger one; voxels approximate volumes within 2 %.
    assert!((pair.jaccard() - ratio).abs() < 0.02, "{}", pair.jaccard());
    assert!((pair.dice() - 2.0 * ratio / (1.0 + ratio)).abs() < 0.02);
    // All of either border is 4 mm from the other, within the diagonal of a voxel.
    let distances = pair.distances;
    for mm in [
        distances.mean_mm,
        distances.percentile95_mm,
        distances.max_mm,
    ] {
        assert!((mm - 4.0).abs() < 1.74, "{mm}");
    }
    assert!(distances.mean_mm <= distances.percentile95_mm);
    assert!(distances.percentile95_mm <= distances.max_mm);
}

fn operators() {
    let masks = [
        [1, 1, 1, 1, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],
    ];
    let found = compared(&masks.map(|inside| row(&inside)));
    let names = ["a", "a", "b", "b"];
    let same = |[a, b]: [usize; 2]| names[a] == names[b];
    let within = precision(&found, same).unwrap();
    // 3/4 by the first operator, 1 by the second.
    assert_eq!((within.pairs, within.jaccard), (2, 0.875));
    let between = precision(&found, |pair| !same(pair)).unwrap();
    // 2/4 twice, 2/3 twice.
    assert_eq!(between.pairs, 4);
    assert!((between.jaccard - 7.0 / 12.0).abs() < 1e-15);
    let all = precision(&found, |_| true).unwrap();
    assert!((all.dice * 6.0 - within.dice * 2.0 - between.dice * 4.0).abs() < 1e-12);
    assert_eq!(precision(&found, |_| false), None);
}

fn equal() {
    let inside = [0, 1, 1, 1, 0, 0, 0, 0, 0, 0];
    let found = consensus(&[row(&inside), row(&inside), row(&inside)]);
    assert!(found.converged);
    assert_eq!(found.prior, 0.3);
    for rate in found.sensitivity.iter().chain(&found.specificity) {
        assert!((rate - 1.0).abs() < 1e-9, "{rate}");
    }
    let expected: Vec<f32> = inside.iter().map(|v| f32::from(*v)).collect();
    assert_eq!(found.probability.values.to_vec(), expected);
    let pair = &compared(&[row(&inside), row(&inside)])[0];
    assert_eq!(
        (pair.dice(), pair.jaccard(), pair.distances.max_mm),
        (1.0, 1.0, 0.0)
    );
}

fn complement() {
    let inside = [0, 1, 1, 1, 0, 0, 0, 1, 0, 0];
    let other = inside.map(|v| 1 - v);
    let found = consensus(&[row(&inside), row(&other), row(&inside)]);
    let near = |values: &[f64], expected: [f64; 3]| {
        let pairs = values.iter().zip(expected);
        assert!(
            pairs.clone().all(|(a, b)| (a - b).abs() < 1e-9),
            "{values:?}"
        );
    };
    near(&found.sensitivity, [1.0, 0.0, 1.0]);
    near(&found.specificity, [1.0, 0.0, 1.0]);
    let pair = &compared(&[row(&inside), row(&other)])[0];
    assert_eq!((pair.dice(), pair.jaccard()), (0.0, 0.0));
}

/// Masks of one structure by raters with known rates; also the structure.
fn rated(random: &mut Random, rates: &[(f64, f64)]) -> (Vec<Mask>, Vec<bool>) {
    let grid = grid([50, 40, 30]);
    let n = grid.voxel_count();
    let truth: Vec<bool> = (0..n).map(|_| random.uniform(0.0, 1.0) < 0.2).collect();
    let masks = rates.iter().map(|(p, q)| {
        let decides = truth.iter().map(|is_structure| {
            let chance = if *is_structure { *p } else { 1.0 - q };
            u8::from(random.uniform(0.0, 1.0) < chance)
        });
        Mask::new(grid.clone(), decides.collect::<Vec<_>>())
    });
    (masks.collect(), truth)
}

const RATES: [(f64, f64); 5] = [
    (0.95, 0.98),
    (0.9, 0.99),
    (0.8, 0.95),
    (0.7, 0.9),
    (0.85, 0.97),
];

/// The iteration of the paper, voxel by voxel.
fn voxelwise(masks: &[Mask], iterations: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (n, count) = (masks[0].inside.len(), masks.len());
    let decides = |mask: usize, voxel: usize| masks[mask].inside[voxel] != 0;
    let marked: usize = masks.iter().map(Mask::count).sum();
    let prior = marked as f64 / (n * count) as f64;
    let (mut p, mut q) = (vec![0.99999; count], vec![0.99999; count]);
    let expect = |p: &[f64], q: &[f64]| -> Vec<f64> {
        let weight = |voxel: usize| {
            let (mut a, mut b) = (prior, 1.0 - prior);
            for mask in 0..count {
                a *= if decides(mask, voxel) {
                    p[mask]
                } else {
                    1.0 - p[mask]
                };
                b *= if decides(mask, voxel) {
                    1.0 - q[mask]
                } else {
                    q[mask]
                };
            }
            a / (a + b)
        };
        (0..n).map(weight).collect()
    };
    for _ in 0..iterations {
        let w = expect(&p, &q);
        let all: f64 = w.iter().sum();
        for mask in 0..count {
            let inside = (0..n).filter(|v| decides(mask, *v)).map(|v| w[v]);
            let outside = (0..n).filter(|v| !decides(mask, *v)).map(|v| 1.0 - w[v]);
            p[mask] = inside.sum::<f64>() / all;
            q[mask] = outside.sum::<f64>() / (n as f64 - all);
        }
    }
    let w = expect(&p, &q);
    (w, p, q)
}

fn over_all_voxels() {
    let mut random = Random::fresh("voxelwise");
    let (masks, _) = rated(&mut random, &RATES);
    let found = consensus(&masks);
    assert!(
        found.converged && found.iterations < 1000,
        "{}",
        found.iterations
    );
    let (weights, p, q) = voxelwise(&masks, found.iterations);
    // The sums of 60 000 terms differ in their order.
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(
        near(&found.sensitivity, &p),
        "{:?} {p:?}",
        found.sensitivity
    );
    assert!(
        near(&found.specificity, &q),
        "{:?} {q:?}",
        found.specificity
    );
    for (found, expected) in found.probability.values.iter().zip(&weights) {
        assert!((f64::from(*found) - expected).abs() < 1e-6);
    }
}

fn known_rates() {
    let mut random = Random::fresh("rates");
    let (masks, truth) = rated(&mut random, &RATES);
    let found = consensus(&masks);
    for (number, (p, q)) in RATES.iter().enumerate() {
        // A share of 12 000 voxels has a standard deviation of at most 0.005, and of the 48 000 others of 0.0015. That the
        // structure itself is estimated adds less than as much again; four of these.
        let off = [found.sensitivity[number] - p, found.specificity[number] - q];
        assert!(
            off[0].abs() < 0.03 && off[1].abs() < 0.01,
            "{number}: {off:?}"
        );
    }
    let agrees = |(w, is_structure): (&f32, &bool)| (*w >= 0.5) == *is_structure;
    let values = &found.probability.values;
    let right = values
        .iter()
        .zip(&truth)
        .filter(|pair| agrees(*pair))
        .count();
    let share = |number: usize| {
        let inside = masks[number].inside.iter().zip(&truth);
        inside.filter(|(a, b)| (**a != 0) == **b).count()
    };
    let best = (0..masks.len()).map(share).max().unwrap();
    assert!(
        right > best,
        "the consensus is better than any mask: {right} {best}"
    );
    // Each pair that the consensus orders by sensitivity is ordered as the raters are.
    let mut order: Vec<usize> = (0..5).collect();
    order.sort_by(|a, b| found.sensitivity[*b].total_cmp(&found.sensitivity[*a]));
    assert_eq!(order, [0, 1, 4, 2, 3]);
}

fn limits() {
    // Everything is inside every mask: nothing was wrongly marked.
    let found = consensus(&[row(&[1, 1, 1]), row(&[1, 1, 1])]);
    assert_eq!(found.sensitivity, [1.0, 1.0]);
    assert!(found.specificity.iter().all(|q| (0.0..=1.0).contains(q)));
    assert!(found.probability.values.iter().all(|w| *w == 1.0));
    // The largest permitted number of masks.
    let mut random = Random::fresh("many masks");
    let masks: Vec<Mask> = (0..MAX_MASKS)
        .map(|_| {
            let noisy = (0..200).map(|i| u8::from((i < 60) != (random.uniform(0.0, 1.0) < 0.1)));
            row(&noisy.collect::<Vec<_>>())
        })
        .collect();
    let found = consensus(&masks);
    assert!(found.converged);
    for (i, w) in found.probability.values.iter().enumerate() {
        assert_eq!(*w > 0.5, i < 60, "{i}: {w}");
    }
    assert_eq!(compared(&masks).len(), MAX_MASKS * (MAX_MASKS - 1) / 2);
    // A mask in another order of its axes is the same mask.
    let grid = grid([4, 3, 1]);
    let inside: Vec<u8> = (0..12).map(|i| u8::from(i % 4 < 2)).collect();
    let mask = Mask::new(grid.clone(), inside.clone());
    let block = mask.block_inside().unwrap();
    let cut = Mask::cut_to(&grid, block, |i| inside[i] == 1);
    assert_eq!(compared(&[mask, cut])[0].dice(), 1.0);
}

/// Within a mask the consensus is that of the masks cut to it.
fn within_mask() {
    let mut random = Random::fresh("consensus within a mask");
    let (masks, _) = rated(&mut random, &RATES);
    let voxels = masks[0].inside.len();
    let kept: Vec<u8> = (0..voxels).map(|_| (random.bits() & 1) as u8).collect();
    let within = Mask::new(masks[0].grid.clone(), kept.clone());
    let run = |masks: &[Mask], within: Option<&Mask>| {
        staple(masks, within, &backend(2), &Control::new()).unwrap()
    };
    let found = run(&masks, Some(&within));
    let cut = masks.iter().map(|mask| {
        let all = mask.inside.iter().zip(&kept);
        let inside: Vec<u8> = all.filter(|(_, k)| **k != 0).map(|(v, _)| *v).collect();
        row(&inside)
    });
    let expected = run(&cut.collect::<Vec<_>>(), None);
    assert_eq!(found.sensitivity, expected.sensitivity);
    assert_eq!(found.specificity, expected.specificity);
    assert_eq!(
        (found.prior, found.iterations),
        (expected.prior, expected.iterations)
    );
    let values = found.probability.values.iter().zip(&kept);
    let inside: Vec<f32> = values
        .clone()
        .filter(|(_, k)| **k != 0)
        .map(|(v, _)| *v)
        .collect();
    assert_eq!(inside, expected.probability.values.to_vec());
    assert!(values.filter(|(_, k)| **k == 0).all(|(v, _)| *v == 0.0));
    // A mask elsewhere, and one without a common voxel.
    let refused = |within: &Mask| {
        let masks = [row(&[1, 0, 1]), row(&[1, 0, 0])];
        staple(&masks, Some(within), &backend(1), &Control::new()).map(|_| ())
    };
    assert_eq!(refused(&row(&[1, 1])), Err(InputError::WithinGrid.into()));
    assert_eq!(
        refused(&row(&[0, 1, 0])),
        Err(InputError::NothingWithin.into())
    );
}

fn threads() {
    let mut random = Random::fresh("threads");
    let (masks, _) = rated(&mut random, &RATES);
    let run = |threads| {
        let (backend, control) = (backend(threads), Control::new());
        let found = staple(&masks, None, &backend, &control).unwrap();
        let pairs = pairs(&masks, &backend, &control).unwrap();
        let values = found.probability.values.to_vec();
        (values, found.sensitivity, found.specificity, pairs)
    };
    let alone = run(1);
    assert!(run(2) == alone && run(5) == alone);
}

fn measured(pathway: &Mask, tractogram: &Tractogram) -> PathwayAgreement {
    agreement(pathway, tractogram, &backend(2), &Control::new()).unwrap()
}

/// A pathway of the voxels 2 to 7 along x in the middle row of 10 × 5 × 1 voxels.
fn pathway() -> Mask {
    let grid = grid([10, 5, 1]);
    let inside = (0..50).map(|i| {
        let [x, y, _] = grid.voxel(i);
        u8::from(y == 2 && (2..=7).contains(&x))
    });
    let inside: Vec<u8> = inside.collect();
    Mask::new(grid, inside)
}

fn in_a_pathway() {
    let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
    let pathway = pathway();
    // The first stays within, the second leaves it after half of its length, the third is elsewhere.
    let all = [
        vec![at(2.0, 2.0), at(4.0, 2.0)],
        vec![at(5.5, 2.0), at(7.5, 2.0), at(9.5, 2.0)],
        vec![at(0.0, 4.0), at(1.0, 4.0)],
    ];
    let found = measured(&pathway, &lines(&all));
    assert_eq!(
        (found.streamlines, found.within, found.not_finite),
        (3, 1, 0)
    );
    assert!((found.length_mm - 7.0).abs() < 1e-6);
    assert!((found.length_within_mm - 4.0).abs() < 1e-6);
    // Voxels 2 3 4, 6 7 8 9 (5.5 is the lower face of voxel 6) and two elsewhere.
    assert_eq!((found.passed_voxels, found.pathway_voxels), (9, 6));
    // All but voxel 5, which has passed neighbours.
    assert_eq!((found.shared_voxels, found.near_voxels), (5, 6));
    assert!((found.dice() - 10.0 / 15.0).abs() < 1e-15);
    assert_eq!((found.passed_share(), found.near_share()), (5.0 / 6.0, 1.0));
    assert!((found.within_share() - 1.0 / 3.0).abs() < 1e-15);
    assert!((found.length_share() - 4.0 / 7.0).abs() < 1e-7);
    // A single streamline at the end of the pathway: voxel 2, and voxel 3 beside it.
    let end = measured(&pathway, &lines(&[vec![at(2.0, 2.0), at(2.2, 2.0)]]));
    assert_eq!((end.within, end.shared_voxels, end.near_voxels), (1, 1, 2));
    // A streamline beside the pathway passes none of it, and comes near.
    let adjacent = measured(&pathway, &lines(&[vec![at(2.0, 3.0), at(7.0, 3.0)]]));
    assert_eq!(
        (
            adjacent.within,
            adjacent.shared_voxels,
            adjacent.near_voxels
        ),
        (0, 0, 6)
    );
    assert_eq!((adjacent.dice(), adjacent.length_share()), (0.0, 0.0));
    // Neither the order nor the direction of streamlines matters.
    let turned: Vec<Vec<DVec3>> = all
        .iter()
        .rev()
        .map(|l| l.iter().rev().copied().collect())
        .collect();
    let reversed = measured(&pathway, &lines(&turned));
    assert_eq!(reversed.within, found.within);
    assert!((reversed.length_within_mm - found.length_within_mm).abs() < 1e-9);
}

fn omitted() {
    let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
    let pathway = pathway();
    let nan = DVec3::new(f64::NAN, 2.0, 0.0);
    let all = [
        vec![at(2.0, 2.0), nan, at(4.0, 2.0)],
        vec![at(3.0, 2.0)],
        // It leaves the grid and returns.
        vec![at(5.0, 2.0), at(5.0, 20.0), at(5.0, 2.0)],
    ];
    let found = measured(&pathway, &lines(&all));
    assert_eq!((found.streamlines, found.not_finite), (2, 1));
    // A single point lies in its voxel; what is outside the grid is outside the pathway.
    assert_eq!(found.within, 1);
    assert!((found.length_mm - 36.0).abs() < 1e-4);
    assert!((found.length_within_mm - 1.0).abs() < 1e-4);
    let alone = [vec![nan, nan]];
    let error = agreement(&pathway, &lines(&alone), &backend(1), &Control::new());
    assert_eq!(error, Err(InputError::NoStreamlines.into()));
}

fn refused() {
    let (mask, other) = (row(&[1, 0, 1]), row(&[1, 0, 1, 1]));
    let control = Control::new();
    let fails = |masks: &[Mask], expected: InputError| {
        let found = pairs(masks, &backend(1), &control).map(|_| ());
        assert_eq!(found, Err(Error::from(expected.clone())));
        let found = staple(masks, None, &backend(1), &control).map(|_| ());
        assert_eq!(found, Err(expected.into()));
    };
    fails(&[], InputError::Count(0));
    fails(std::slice::from_ref(&mask), InputError::Count(1));
    fails(
        &vec![mask.clone(); MAX_MASKS + 1],
        InputError::Count(MAX_MASKS + 1),
    );
    fails(&[mask.clone(), mask.clone(), other], InputError::Grid(3));
    fails(&[mask.clone(), row(&[0; 3])], InputError::Empty(2));
    let none = agreement(&mask, &lines(&[]), &backend(1), &control);
    assert_eq!(none, Err(InputError::NoStreamlines.into()));
    let empty = agreement(&row(&[0; 3]), &lines(&[]), &backend(1), &control);
    assert_eq!(empty, Err(InputError::EmptyPathway.into()));
    control.cancel();
    let found = pairs(&[mask.clone(), mask.clone()], &backend(1), &control);
    assert_eq!(found, Err(Error::Cancelled));
}
