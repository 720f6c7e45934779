//! Anatomical rules on a made-up head: white matter, a cortex around it, CSF outside and in a ventricle, a nucleus.

use super::{field, grid, lobes, params, run, sphere};
use crate::support::test;
use arcuate::data::{Grid, PeakField, Role, TissueMap, TissueType};
use arcuate::solvers::curves::{Output, SeedOutcome, Seeding, StopReason};
use arcuate::solvers::odf_tracking::{Fibres, Method, Params, tissue_doubt};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("odf_tracking::rules of a cortex", cortex),
        test("odf_tracking::rules from the interface", interface),
        test("odf_tracking::a last step into grey matter", last_step),
        test("odf_tracking::doubts about tissues", doubts),
        test("odf_tracking::rules of a nucleus", nucleus),
        test("odf_tracking::rules of other tissue", other_tissue),
        test("odf_tracking::the brain stem", brain_stem),
        test("odf_tracking::going back", going_back),
    ]
}

pub const CENTRE: DVec3 = DVec3::new(24.0, 24.0, 24.0);
const VENTRICLE: DVec3 = DVec3::new(24.0, 31.0, 24.0);
const NUCLEUS: DVec3 = DVec3::new(24.0, 15.0, 24.0);

fn tissue(p: DVec3) -> Option<TissueType> {
    let r = p.distance(CENTRE);
    if p.distance(VENTRICLE) < 4.0 {
        Some(TissueType::Csf)
    } else if p.distance(NUCLEUS) < 4.0 {
        Some(TissueType::DeepGrey)
    } else if r < 17.0 {
        Some(TissueType::White)
    } else if r < 20.0 {
        Some(TissueType::CorticalGrey)
    } else if r < 23.0 {
        Some(TissueType::Csf)
    } else {
        None
    }
}

fn map_of(grid: &Arc<Grid>, tissue: impl Fn(DVec3) -> Option<TissueType>) -> TissueMap {
    let at = |voxel: usize| {
        let mut fractions = [0f32; 8];
        let centre = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        if let Some(tissue) = tissue(centre) {
            fractions[tissue as usize] = 1.0;
        }
        fractions
    };
    TissueMap::new(
        grid.clone(),
        (0..grid.voxel_count()).map(at).collect::<Vec<_>>(),
    )
}

/// The largest interpolated fraction, computed without the solver.
fn tissue_at(map: &TissueMap, at: [f32; 3]) -> Option<TissueType> {
    let v = map.grid.voxel_at(DVec3::from_array(at.map(f64::from)));
    let low = v.floor();
    let mut sums = [0f64; 5];
    for k in 0..8 {
        let corner = low + DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64);
        let away = (v - corner).abs();
        let weight = (1.0 - away.x) * (1.0 - away.y) * (1.0 - away.z);
        let is_inside = |axis: usize| (0.0..map.grid.shape[axis] as f64).contains(&corner[axis]);
        if !(0..3).all(is_inside) {
            continue;
        }
        let index = map.grid.index(corner.to_array().map(|c| c as usize));
        for (sum, f) in sums.iter_mut().zip(&map.fractions[index]) {
            *sum += weight * f64::from(*f);
        }
    }
    let best = (0..5).max_by(|a, b| sums[*a].total_cmp(&sums[*b]))?;
    (sums.iter().sum::<f64>() >= 0.5).then_some(TissueType::ALL[best])
}

pub fn head() -> (Fibres, TissueMap) {
    let grid = grid([49, 49, 49], 1.0);
    let straight = lobes(&[(DVec3::X, 1.0)]);
    let empty = vec![0.0; 45];
    let fibres = field(&grid, |p| match p.distance(CENTRE) < 24.0 {
        true => straight.clone(),
        false => empty.clone(),
    });
    let map = map_of(&grid, tissue);
    (Fibres::Distributions(fibres), map)
}

pub fn with_tissues(method: Method, seeds: usize) -> Params {
    Params {
        seeding: Seeding::Random { count: seeds },
        ..Params::defaults_for(method, 1.0, true)
    }
}

/// Both ends of every streamline are in grey matter, and none of its points is in CSF.
pub fn check_ends(output: &Output, map: &TissueMap) {
    for line in output.kept.streamlines() {
        for end in [line[0], line[line.len() - 1]] {
            let tissue = tissue_at(map, end);
            let grey = matches!(
                tissue,
                Some(TissueType::CorticalGrey | TissueType::DeepGrey)
            );
            assert!(grey, "{tissue:?} at {end:?}");
        }
        for p in line {
            assert_ne!(tissue_at(map, *p), Some(TissueType::Csf), "{p:?}");
        }
    }
}

fn cortex() {
    let (fibres, map) = head();
    for method in [Method::Probabilistic, Method::Deterministic] {
        let output = run(&fibres, Some(&map), &[], &with_tissues(method, 2000), 2).unwrap();
        assert_eq!(output.seed_outcomes.iter().sum::<u64>(), 2000);
        assert!(output.kept.len() > 400, "{:?}", output.seed_outcomes);
        check_ends(&output, &map);
        let without = run(&fibres, None, &[], &params(method, 2000), 2).unwrap();
        let elsewhere = without.kept.streamlines().filter(|l| {
            let tissues = [l[0], l[l.len() - 1]].map(|end| tissue_at(&map, end));
            tissues.iter().any(|t| *t != Some(TissueType::CorticalGrey))
        });
        // The test could not fail otherwise.
        assert!(elsewhere.count() > 500);
        let csf = output.stops[StopReason::EnteredCsf as usize];
        let rejected = output.seed_outcomes[SeedOutcome::EndsInCsf as usize];
        assert_eq!(csf, rejected);
        if method == Method::Deterministic {
            assert!(rejected > 20, "{rejected}");
        }
    }
}

fn interface() {
    let (fibres, map) = head();
    for method in [Method::Probabilistic, Method::Deterministic] {
        let params = Params {
            at_interface: true,
            ..with_tissues(method, 1000)
        };
        let output = run(&fibres, Some(&map), &[], &params, 2).unwrap();
        assert!(output.kept.len() > 300, "{:?}", output.seed_outcomes);
        check_ends(&output, &map);
        for line in output.kept.streamlines() {
            let start = [line[0], line[line.len() - 1]];
            // One end is the seed, on the surface between white and grey matter.
            let on_surface = start.iter().any(|p| {
                let r = DVec3::from_array(p.map(f64::from)).distance(CENTRE);
                (r - 17.0).abs() < 1.0
            });
            assert!(on_surface);
        }
    }
    let seed = sphere(Role::Seed, CENTRE - DVec3::X * 17.0, 3.0);
    let params = Params {
        at_interface: true,
        ..with_tissues(Method::Probabilistic, 200)
    };
    let output = run(&fibres, Some(&map), &[seed], &params, 2).unwrap();
    assert!(output.kept.len() > 100);
    for line in output.kept.streamlines() {
        let ends = [line[0], line[line.len() - 1]];
        let near = |p: &[f32; 3]| {
            DVec3::from_array(p.map(f64::from)).distance(CENTRE - DVec3::X * 17.0) < 3.01
        };
        assert!(ends.iter().any(near));
    }
}

/// Fibres of white matter alone, as distributions and as peaks, between two flat interfaces at a whole number of steps: a
/// seed's nearest voxel has no fibres, and the last step ends where there is hardly any amplitude.
pub fn white_matter_alone() -> ([Fibres; 2], TissueMap) {
    let grid = grid([8, 8, 8], 2.0);
    let is_white = |p: DVec3| (3.0..11.0).contains(&p.x);
    let (straight, empty) = (lobes(&[(DVec3::X, 1.0)]), vec![0.0; 45]);
    let distributions = field(&grid, |p| match is_white(p) {
        true => straight.clone(),
        false => empty.clone(),
    });
    let n = grid.voxel_count();
    let mut values = vec![0f32; 3 * n];
    for (voxel, value) in values[..n].iter_mut().enumerate() {
        let centre = DVec3::from_array(grid.voxel(voxel).map(|v| v as f64));
        *value = f32::from(u8::from(is_white(grid.world(centre))));
    }
    let peaks = PeakField::new(grid.clone(), 1, values);
    let map = map_of(&grid, |p| match is_white(p) {
        true => Some(TissueType::White),
        false => Some(TissueType::CorticalGrey),
    });
    let fibres = [Fibres::Distributions(distributions), Fibres::Peaks(peaks)];
    (fibres, map)
}

/// MRtrix, too, keeps all streamlines between these interfaces.
fn last_step() {
    let (all, map) = white_matter_alone();
    for fibres in all {
        let params = Params {
            at_interface: true,
            seeding: Seeding::Random { count: 100 },
            ..Params::defaults_for(Method::Deterministic, 2.0, true)
        };
        let output = run(&fibres, Some(&map), &[], &params, 2).unwrap();
        assert_eq!(output.kept.len(), 100, "{:?}", output.seed_outcomes);
        assert_eq!(output.stops[StopReason::CorticalGrey as usize], 200);
        check_ends(&output, &map);
    }
}

/// A map that is displaced, or whose volumes are in another order, is doubted; one in its place is not.
fn doubts() {
    let fibres_grid = grid([49, 49, 49], 1.0);
    // Grey matter has fibres of many directions.
    let (white, grey) = (lobes(&[(DVec3::X, 1.0)]), lobes(&[(DVec3::X, 0.1)]));
    let fibres = Fibres::Distributions(field(&fibres_grid, |p| match tissue(p) {
        Some(TissueType::White) => white.clone(),
        _ => grey.clone(),
    }));
    let doubt = |map: &TissueMap| tissue_doubt(&fibres, map);
    assert_eq!(doubt(&map_of(&fibres_grid, tissue)), None);
    assert_eq!(doubt(&map_of(&fibres_grid, |p| tissue(p - DVec3::X))), None);
    for (by, parts) in [
        (DVec3::new(4.0, 0.0, 0.0), "farther to the left"),
        (DVec3::new(0.0, 0.0, -3.0), "3 mm farther to the top"),
    ] {
        let found = doubt(&map_of(&fibres_grid, |p| tissue(p - by)));
        let found = found.expect("a doubt");
        assert!(
            found.contains("displaced") && found.contains(parts),
            "{found}"
        );
    }
    let reversed = map_of(&fibres_grid, |p| {
        tissue(p).map(|t| TissueType::ALL[TissueType::COUNT - 1 - t as usize])
    });
    let found = doubt(&reversed).expect("a doubt");
    assert!(found.contains("order of its volumes"), "{found}");
}

/// Streamlines that leave a nucleus are cut back to it; those that start inside leave once.
fn nucleus() {
    let (fibres, map) = head();
    let at_nucleus = |p: [f32; 3]| DVec3::from_array(p.map(f64::from)).distance(NUCLEUS) < 5.0;
    let aside = sphere(Role::Seed, NUCLEUS - DVec3::X * 7.0, 1.0);
    let params = with_tissues(Method::Deterministic, 50);
    let output = run(&fibres, Some(&map), &[aside], &params, 1).unwrap();
    assert_eq!(output.kept.len(), 50);
    assert_eq!(output.stops[StopReason::DeepGrey as usize], 50);
    for line in output.kept.streamlines() {
        let furthest = line.iter().map(|p| p[0]).fold(0f32, f32::max);
        // It ends on the far side of the nucleus, inside.
        assert!((26.0..=28.0).contains(&furthest), "{furthest}");
        assert!(at_nucleus(line[line.len() - 1]) || at_nucleus(line[0]));
    }
    check_ends(&output, &map);
    let inside = sphere(Role::Seed, NUCLEUS, 2.0);
    let output = run(&fibres, Some(&map), &[inside], &params, 1).unwrap();
    assert_eq!(output.kept.len(), 50);
    assert_eq!(output.stops[StopReason::DeepGrey as usize], 50);
    assert_eq!(output.stops[StopReason::CorticalGrey as usize], 50);
}

/// Nothing is rejected in pathological tissue.
fn other_tissue() {
    let grid = grid([49, 49, 49], 1.0);
    let straight = lobes(&[(DVec3::X, 1.0)]);
    let fibres = Fibres::Distributions(field(&grid, |p| match p.x < 24.0 {
        true => straight.clone(),
        false => vec![0.0; 45],
    }));
    let with = |lesion: TissueType| {
        map_of(&grid, move |p| match tissue(p) {
            Some(_) if p.distance(CENTRE) < 8.0 => Some(lesion),
            other => other,
        })
    };
    let seed = || sphere(Role::Seed, CENTRE - DVec3::X * 12.0, 1.0);
    let params = with_tissues(Method::Deterministic, 40);
    let white = run(
        &fibres,
        Some(&with(TissueType::White)),
        &[seed()],
        &params,
        1,
    )
    .unwrap();
    assert_eq!(white.seed_outcomes[SeedOutcome::EndsInWhite as usize], 40);
    let other = run(
        &fibres,
        Some(&with(TissueType::Other)),
        &[seed()],
        &params,
        1,
    )
    .unwrap();
    assert_eq!(other.seed_outcomes[SeedOutcome::Kept as usize], 40);
}

/// White matter that reaches the lower end of the map ends there.
fn brain_stem() {
    let grid = grid([21, 21, 40], 1.0);
    let fibres = Fibres::Distributions(field(&grid, |_| lobes(&[(DVec3::Z, 1.0)])));
    let map = map_of(&grid, |p| {
        let r = DVec3::new(p.x - 10.0, p.y - 10.0, 0.0).length();
        match (p.z, r) {
            (z, r) if z < 5.0 || r > 8.0 => None,
            (z, _) if z > 33.0 => Some(TissueType::CorticalGrey),
            _ => Some(TissueType::White),
        }
    });
    let seed = sphere(Role::Seed, DVec3::new(10.0, 10.0, 20.0), 2.0);
    let params = with_tissues(Method::Deterministic, 40);
    let output = run(&fibres, Some(&map), &[seed], &params, 1).unwrap();
    assert_eq!(output.kept.len(), 40);
    assert_eq!(output.stops[StopReason::BrainStem as usize], 40);
    assert_eq!(output.stops[StopReason::CorticalGrey as usize], 40);
}

/// Streamlines that may go back are valid more often, and as valid.
fn going_back() {
    let (fibres, map) = head();
    let params = with_tissues(Method::Probabilistic, 1000);
    let aside = || sphere(Role::Seed, VENTRICLE - DVec3::X * 6.0, 2.0);
    let back = run(&fibres, Some(&map), &[aside()], &params, 2).unwrap();
    let straight = Params {
        back_track: false,
        ..params
    };
    let once = run(&fibres, Some(&map), &[aside()], &straight, 2).unwrap();
    check_ends(&back, &map);
    check_ends(&once, &map);
    assert!(
        back.kept.len() as f64 > 1.3 * once.kept.len() as f64,
        "{} and {}",
        back.kept.len(),
        once.kept.len()
    );
}
