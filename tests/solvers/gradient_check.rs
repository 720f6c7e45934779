//! Exchanged or flipped axes of a gradient table: a planted fault is found, and correct tables are left unchanged.

use crate::support::{Random, data_test, test};
use arcuate::compute::{Backend, BackendChoice, BackendKind, Control};
use arcuate::data::axis_change::AxisChange;
use arcuate::data::{Gradients, Grid, Mask, TensorField, Volume, VolumeKind};
use arcuate::io::{self, Opened};
use arcuate::phantom::{Head, scan_grid, scan_options};
use arcuate::solvers::gradient_check::{Output, Params, Verdict, check};
use arcuate::solvers::tensor_fit::{self, Method};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("gradient_check::turns_are_a_group", turns),
        test(
            "gradient_check::turned_tensors_are_those_of_a_turned_table",
            equivariance,
        ),
        test("gradient_check::planted_faults_are_found", planted),
        data_test(
            "gradient_check::real_tables_are_right_as_they_are",
            "dwi_a_philips32/dwi.nii.gz",
            real,
        ),
    ]
}

fn backend() -> Backend {
    let choice = BackendChoice {
        kind: BackendKind::Cpu,
        threads: Some(2),
    };
    Backend::choose(&choice).expect("the CPU")
}

fn params() -> Params {
    Params {
        seeds: 1500,
        min_fa: 0.2,
    }
}

fn fit_params() -> tensor_fit::Params {
    tensor_fit::Params {
        method: Method::Wls,
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: 1e-5,
    }
}

fn fitted(dwi: &Volume, gradients: &Gradients, mask: &Mask) -> TensorField {
    let (backend, control) = (backend(), Control::new());
    let fit = tensor_fit::fit(dwi, gradients, mask, &fit_params(), &backend, &control);
    fit.expect("fitted").field
}

fn compared(field: &TensorField) -> Output {
    check(field, &params(), &backend(), &Control::new()).expect("compared")
}

fn random_turn(random: &mut Random) -> AxisChange {
    let all = AxisChange::all();
    all[1 + (random.bits() % (all.len() as u64 - 1)) as usize]
}

fn turns() {
    let all = AxisChange::all();
    assert_eq!((all.len(), all[0]), (24, AxisChange::NONE));
    let mut random = Random::fresh("turns");
    let v = random.direction();
    // The sign of a gradient has no meaning.
    let same = |a: DMat3, b: DMat3| a.abs_diff_eq(b, 1e-12) || a.abs_diff_eq(-b, 1e-12);
    for (i, a) in all.iter().enumerate() {
        assert!((a.matrix() * v).length() > 0.99);
        assert!(same(a.inverse().matrix(), a.matrix().inverse()), "{a}");
        assert_eq!(a.inverse().after(*a), AxisChange::NONE, "{a}");
        assert_eq!(a.to_string().parse(), Ok(*a));
        assert_eq!(a.description() == "as they are", *a == AxisChange::NONE);
        for b in &all[..i] {
            assert!(!same(a.matrix(), b.matrix()), "{a} and {b}");
            let both = a.after(*b);
            assert!(same(both.matrix(), a.matrix() * b.matrix()), "{a} {b}");
            assert!(all.contains(&both));
        }
    }
    // y of the new table is minus x of the old.
    let turn: AxisChange = "y,-x,z".parse().expect("a turn");
    assert_eq!(
        turn.matrix() * DVec3::new(1.0, 2.0, 3.0),
        DVec3::new(2.0, -1.0, 3.0)
    );
    assert_eq!(
        "-x,-y,z".parse(),
        Ok("x,y,-z".parse::<AxisChange>().expect("a turn"))
    );
    for faulty in ["", "x,y", "x,x,z", "x,y,w", "x y z", "x,y,z,x"] {
        assert!(faulty.parse::<AxisChange>().is_err(), "{faulty}");
    }
}

/// The fit only depends on scalar products: a rotated table gives QDQᵀ, on any oblique grid.
fn equivariance() {
    let mut random = Random::fresh("equivariance");
    let rotation = DMat3::from_quat(random.rotation());
    let flip = if random.bits() & 1 == 0 { -1.0 } else { 1.0 };
    let axes = rotation * DMat3::from_diagonal(DVec3::new(2.0 * flip, 2.5, 3.0));
    let affine = DAffine3::from_mat3_translation(axes, random.direction() * 30.0);
    let grid = Grid::new([3, 3, 3], affine, arcuate::data::AffineSource::Sform);
    let grid = Arc::new(grid.expect("regular"));
    let n = grid.voxel_count();
    let directions: Vec<DVec3> = (0..20)
        .map(|i| {
            if i == 0 {
                DVec3::ZERO
            } else {
                random.direction()
            }
        })
        .collect();
    let b: Vec<f64> = (0..20).map(|i| if i == 0 { 0.0 } else { 1000.0 }).collect();
    let gradients = Gradients {
        b_s_per_mm2: b,
        directions,
    };
    let values: Vec<f32> = (0..20 * n)
        .map(|i| {
            if i < n {
                1000.0
            } else {
                random.uniform(250.0, 700.0) as f32
            }
        })
        .collect();
    let dwi = Volume::new(grid.clone(), 20, VolumeKind::Scalar, values);
    let mask = Mask::new(grid.clone(), vec![1; n]);
    let plain = fitted(&dwi, &gradients, &mask);
    let turn = random_turn(&mut random);
    let q = turn.in_world(&grid);
    let turned = fitted(&dwi, &gradients.rotated(q), &mask);
    for (a, b) in plain.tensors.iter().zip(&*turned.tensors) {
        let expected = q * a.matrix() * q.transpose();
        // Single precision of the solver.
        assert!(expected.abs_diff_eq(b.matrix(), 2e-7), "{turn}");
    }
}

/// Heads, faults and noise are new on every run.
fn planted() {
    let mut random = Random::fresh("planted");
    for round in 0..3 {
        let head = Head::new(random.bits() % 1000);
        let grid = scan_grid(3.0).expect("a grid");
        let (backend, control) = (backend(), Control::new());
        let options = scan_options(grid.clone(), random.bits());
        let scan = backend.install(|| head.diffusion_scan(&options, &control));
        let (dwi, gradients) = scan.expect("a scan");
        let mask = backend.install(|| head.brain_mask(&grid, &control));
        let mask = mask.expect("a mask");
        let axis_error = if round == 0 {
            AxisChange::NONE
        } else {
            random_turn(&mut random)
        };
        let faulty = gradients.rotated(axis_error.in_world(&grid));
        let output = compared(&fitted(&dwi, &faulty, &mask));
        println!("{axis_error}: {}", output.sentence());
        assert_eq!(output.ranked.len(), 24);
        let scores: Vec<f64> = output
            .ranked
            .iter()
            .map(|c| c.mean_length_mm * c.coherence)
            .collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        match output.verdict() {
            Verdict::AsTheyAre => assert_eq!(axis_error, AxisChange::NONE),
            Verdict::Better(turn, factor) => {
                assert_eq!(turn, axis_error.inverse(), "{axis_error}");
                assert!(factor > 1.0);
            }
            Verdict::Undecided => panic!("{axis_error}: undecided"),
        }
    }
}

fn scan_of(path: &Path) -> (Volume, Gradients) {
    let Ok(Opened::Volume(dwi, _)) = io::open(path, &Control::new()) else {
        panic!("{}", path.display());
    };
    let table = io::gradients::for_scan(path, &[], &dwi.grid, dwi.frames);
    (dwi, table.expect("readable").expect("a table").gradients)
}

/// Three scans of two scanners, straight and oblique; and the same with a fault.
fn real(one: PathBuf) {
    let mut random = Random::fresh("real");
    let root = one.parent().and_then(Path::parent).expect("a folder");
    let mut scans = vec![one.clone()];
    for name in ["straight.nii.gz", "oblique.nii.gz"] {
        let path = root.join("dwi_b_oblique_pair").join(name);
        scans.extend(path.exists().then_some(path));
    }
    assert!(scans.len() > 1, "{scans:?}");
    for (i, path) in scans.iter().enumerate() {
        let (dwi, gradients) = scan_of(path);
        let mask = tensor_fit::brain_mask(&dwi, &gradients, &backend(), &Control::new());
        let mask = mask.expect("a mask").mask;
        let output = compared(&fitted(&dwi, &gradients, &mask));
        println!("{}: {}", path.display(), output.sentence());
        assert_eq!(output.verdict(), Verdict::AsTheyAre, "{}", path.display());
        if i == 0 {
            let axis_error = random_turn(&mut random);
            let faulty = gradients.rotated(axis_error.in_world(&dwi.grid));
            let found = compared(&fitted(&dwi, &faulty, &mask)).verdict();
            assert!(
                matches!(found, Verdict::Better(t, _) if t == axis_error.inverse()),
                "{axis_error}"
            );
        }
    }
}
