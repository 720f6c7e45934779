//! Recognising the basis and the frame of fibre orientation distributions.

use crate::support::fields::backend;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::axis_change::world_from_fsl;
use arcuate::data::spherical_harmonics::{Basis, count, evaluate};
use arcuate::data::{
    Grid, OdfLayout, TensorField, TensorFrame, TensorLayout, TensorOrder, Volume, VolumeKind,
};
use arcuate::io::image;
use arcuate::phantom::{Head, scan_grid, scan_options};
use arcuate::solvers::odf_check::{self, Params, Verdict};
use arcuate::solvers::tensor_fit::{self, eigen_symmetric};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("odf_check::basis_and_frame_are_found", found),
        test("odf_check::other_images", others),
        test("odf_check::tensors", tensors),
        test(
            "odf_check::random_numbers_are_no_distributions",
            random_numbers,
        ),
        data_test(
            "odf_check::noisy_distributions_of_mrtrix",
            "mrtrix_reference/fod.mif",
            noisy,
        ),
        data_test(
            "odf_check::bases_of_dipy",
            "mrtrix_reference/dipy_bases",
            dipy,
        ),
    ]
}

/// The order of the planted distributions.
const ORDER: usize = 4;

/// The tensors of a synthetic head.
fn head(random: &mut Random) -> TensorField {
    let head = Head::new(random.bits() % 1000);
    let grid = scan_grid(3.0).expect("a grid");
    let (backend, control) = (backend(2), Control::new());
    let options = scan_options(grid.clone(), random.bits());
    let scan = backend.install(|| head.diffusion_scan(&options, &control));
    let (dwi, gradients) = scan.expect("a scan");
    let mask = backend.install(|| head.brain_mask(&grid, &control));
    let params = tensor_fit::Params::defaults_for(Some(&gradients));
    let mask = mask.expect("a mask");
    let fit = tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control);
    fit.expect("fitted").field
}

/// Tensors in all orders and frames are recognised, and distributions of their number of volumes are not tensors.
fn tensors() {
    let mut random = Random::fresh("tensors instead of distributions");
    let field = head(&mut random);
    let verdict = |volume: &Volume| {
        let (backend, control) = (backend(2), Control::new());
        odf_check::verdict(volume, OdfLayout::MRTRIX, &backend, &control).expect("compared")
    };
    let image = field.volume();
    let n = image.grid.voxel_count();
    for order in TensorOrder::ALL {
        let mut values = vec![0f32; image.values.len()];
        for (from, to) in TensorOrder::Mrtrix
            .volumes()
            .into_iter()
            .zip(order.volumes())
        {
            values[to * n..][..n].copy_from_slice(&image.values[from * n..][..n]);
        }
        let frames = TensorLayout::VOLUMES;
        let ordered = Volume::new(image.grid.clone(), frames, VolumeKind::Scalar, values);
        assert_eq!(verdict(&ordered), Verdict::Tensors, "{order:?}");
    }
    for basis in Basis::ALL {
        let frame = TensorFrame::World;
        let image = image_in(&field, OdfLayout { basis, frame });
        let n = image.grid.voxel_count();
        let values = image.values[..TensorLayout::VOLUMES * n].to_vec();
        let frames = TensorLayout::VOLUMES;
        let second = Volume::new(image.grid.clone(), frames, VolumeKind::Scalar, values);
        assert_ne!(verdict(&second), Verdict::Tensors, "{basis:?}");
    }
}

/// A lobe along the first axis of each tensor, the larger the longer it is, in a layout.
fn image_in(field: &TensorField, layout: OdfLayout) -> Volume {
    let grid: &Arc<Grid> = &field.grid;
    let frame_from_world = match layout.frame {
        TensorFrame::Voxel => world_from_fsl(grid).transpose(),
        TensorFrame::World => DMat3::IDENTITY,
    };
    let (n, size) = (grid.voxel_count(), count(ORDER));
    let mut values = vec![0f32; n * size];
    for (voxel, tensor) in field.tensors.iter().enumerate() {
        if tensor.inside < 0.5 {
            continue;
        }
        let (lengths, axes) = eigen_symmetric(tensor.d.map(f64::from));
        let share = 1.0 - lengths[2] / lengths[0];
        let mut own = evaluate(ORDER, frame_from_world * axes[0]);
        own[1..].iter_mut().for_each(|c| *c *= share);
        for (i, c) in layout
            .basis
            .from_mrtrix(ORDER, &own)
            .into_iter()
            .enumerate()
        {
            values[i * n + voxel] = c as f32;
        }
    }
    Volume::new(grid.clone(), size, VolumeKind::Scalar, values)
}

fn found() {
    let mut random = Random::fresh("odf basis");
    let field = head(&mut random);
    for (basis, frame) in [
        (Basis::MRtrix, TensorFrame::World),
        (Basis::MRtrixLegacy, TensorFrame::Voxel),
        (Basis::Dipy, TensorFrame::World),
        (Basis::DipyLegacy, TensorFrame::Voxel),
        (Basis::Camino, TensorFrame::Voxel),
    ] {
        let planted = OdfLayout { basis, frame };
        let volume = image_in(&field, planted);
        let output = odf_check::compare(&volume, &Params::defaults(), &backend(2), &Control::new());
        let output = output.expect("compared");
        println!("{}: {}", planted.description(), output.sentence());
        assert_eq!(output.clear_layout(), Some(planted));
        assert!(output.is_plausible);
        assert_eq!(output.ranked.len(), 10);
        let verdict = |read| {
            let verdict = odf_check::verdict(&volume, read, &backend(2), &Control::new());
            verdict.expect("compared")
        };
        assert_eq!(verdict(planted), Verdict::Agrees);
        if planted != OdfLayout::MRTRIX {
            assert_eq!(verdict(OdfLayout::MRTRIX), Verdict::Other(planted));
        }
        let best = &output.ranked[0];
        assert!(best.symmetry > 0.9 && best.slice.rgb.iter().any(|v| *v > 100));
    }
}

/// Other numbers of volumes are refused with a sentence.
fn others() {
    let mut random = Random::fresh("odf noise");
    let grid = Grid::axis_aligned([12; 3], DVec3::splat(2.0), DVec3::ZERO).expect("regular");
    let grid = Arc::new(grid);
    let mut compare = |volumes: usize| {
        let values = (0..volumes * 1728).map(|i| match i / 1728 {
            0 => 1.0,
            _ => 0.3 * random.normal() as f32,
        });
        let values: Vec<f32> = values.collect();
        let volume = Volume::new(grid.clone(), volumes, VolumeKind::Scalar, values);
        odf_check::compare(&volume, &Params::defaults(), &backend(2), &Control::new())
    };
    for volumes in [1, 3, 7, 44] {
        let error = compare(volumes).expect_err("no distributions").to_string();
        assert!(
            error.contains(&format!("Found {volumes} volume")),
            "{error}"
        );
    }
    assert_eq!(compare(15).expect("compared").ranked.len(), 10);
    // Camino's two values before the coefficients leave one basis.
    let camino = compare(17).expect("compared");
    assert!(
        camino
            .ranked
            .iter()
            .all(|c| c.layout.basis == Basis::Camino)
    );
}

/// Random numbers are called no distributions, also where one basis leads because their mean is not 0.
fn random_numbers() {
    let mut random = Random::fresh("odf random numbers");
    let grid = Grid::axis_aligned([12; 3], DVec3::splat(2.0), DVec3::ZERO).expect("regular");
    let grid = Arc::new(grid);
    for volumes in [15, 45] {
        for of_one_sign in [true, false] {
            let mut number = || match of_one_sign {
                true => random.uniform(0.0, 1000.0) as f32,
                false => random.normal() as f32,
            };
            let values: Vec<f32> = (0..volumes * 1728).map(|_| number()).collect();
            let volume = Volume::new(grid.clone(), volumes, VolumeKind::Scalar, values);
            let params = Params::defaults();
            let output = odf_check::compare(&volume, &params, &backend(2), &Control::new());
            let output = output.expect("compared");
            assert!(!output.is_plausible, "{volumes}, one sign: {of_one_sign}");
            assert_eq!(output.clear_layout(), None);
            let sentence = output.sentence();
            assert!(sentence.contains("does not look like"), "{sentence}");
        }
    }
}

/// Distributions from a noisy shell, with many negative values, are still distributions.
fn noisy(path: PathBuf) {
    let (volume, _) = image::read(&path, &Control::new()).expect("an image");
    let output = odf_check::compare(&volume, &Params::defaults(), &backend(2), &Control::new());
    assert!(output.expect("compared").is_plausible);
}

/// A real block in each of DIPY's bases: too small for its axes, but the right basis is the most symmetric.
fn dipy(folder: PathBuf) {
    for (name, basis) in [
        ("mrtrix", Basis::MRtrix),
        ("tournier07_legacy", Basis::MRtrixLegacy),
        ("descoteaux07_new", Basis::Dipy),
        ("descoteaux07_legacy", Basis::DipyLegacy),
    ] {
        let path = folder.join(format!("wm_{name}.nii.gz"));
        let (volume, _) = image::read(&path, &Control::new()).expect("an image");
        let output = odf_check::compare(&volume, &Params::defaults(), &backend(2), &Control::new());
        let output = output.expect("compared");
        println!("{name}: {}", output.sentence());
        assert_eq!(output.ranked[0].layout.basis, basis, "{name}");
        assert!(output.basis_is_clear && output.is_plausible, "{name}");
        let verdict = odf_check::verdict(&volume, OdfLayout::MRTRIX, &backend(2), &Control::new());
        let other = match verdict.expect("compared") {
            Verdict::Other(layout) => Some(layout.basis),
            _ => None,
        };
        assert_eq!(other, (basis != Basis::MRtrix).then_some(basis), "{name}");
    }
}
