//! Tensors fitted by other programs: every order and frame on rotated and mirrored grids, our own export, units, holes.

use super::{MIN_EIGENVALUE, backend, components, params, random_tensor};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{
    AffineSource, Grid, Mask, TensorField, TensorFrame, TensorLayout, TensorOrder, Volume,
    VolumeKind,
};
use arcuate::io::{self, Opened, Reading, nifti};
use arcuate::phantom::{Head, scan_grid, scan_options};
use arcuate::solvers::tensor_fit::{Error, Method, Output, fit, given_mask, imported_field};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tensor_fit::given_in_every_order_and_frame", orders),
        test("tensor_fit::our_own_tensors_come_back", own),
        test("tensor_fit::given_in_other_units", units),
        test("tensor_fit::given_with_holes", holes),
    ]
}

/// A grid in any orientation, of either handedness, with unequal edges.
fn turned_grid(random: &mut Random, shape: [usize; 3]) -> (Arc<Grid>, DMat3) {
    let rotation = DMat3::from_quat(random.rotation());
    let flip = if random.bits() & 1 == 0 { -1.0 } else { 1.0 };
    let mirror = DMat3::from_diagonal(DVec3::new(flip, 1.0, 1.0));
    let edges = DMat3::from_diagonal(DVec3::new(1.7, 2.0, 2.6));
    let affine = DAffine3::from_mat3_translation(rotation * mirror * edges, random.direction());
    let grid = Grid::new(shape, affine, AffineSource::Sform).expect("regular");
    (Arc::new(grid), rotation * mirror)
}

/// The six volumes as another program would write them.
pub fn image(grid: &Arc<Grid>, world: &[DMat3], layout: TensorLayout, axes: DMat3) -> Volume {
    // FSL: along the image's axes, x reversed where those are right-handed.
    let right_handed = axes.determinant() > 0.0;
    let x = if right_handed { -1.0 } else { 1.0 };
    let fsl = axes * DMat3::from_diagonal(DVec3::new(x, 1.0, 1.0));
    let frame = match layout.frame {
        TensorFrame::Voxel => fsl,
        TensorFrame::World => DMat3::IDENTITY,
    };
    let names = match layout.order {
        TensorOrder::Fsl => [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)],
        TensorOrder::Lower => [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)],
        TensorOrder::Mrtrix => [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)],
    };
    let values = names.iter().flat_map(|&(row, column)| {
        world
            .iter()
            .map(move |d| (frame.transpose() * *d * frame).col(column)[row] as f32)
    });
    Volume::new(
        grid.clone(),
        6,
        VolumeKind::Scalar,
        values.collect::<Vec<_>>(),
    )
}

fn taken(volume: &Volume) -> Result<Output, Error> {
    let mask = given_mask(volume)?;
    imported_field(
        volume,
        &mask,
        &params(Method::Ols),
        &backend(2),
        &Control::new(),
    )
}

fn reopened(volume: &Volume, layout: TensorLayout) -> Volume {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dti.nii.gz");
    nifti::save_volume(&path, volume, "made", &Control::new()).expect("saved");
    let reported = Reading {
        tensors: Some(layout),
        ..Reading::default()
    };
    match io::open_with_reading(&path, &reported, &Control::new()) {
        Ok(Opened::Volume(volume, _)) => volume,
        other => panic!("{other:?}"),
    }
}

fn orders() {
    let mut random = Random::fresh("orders");
    for layout in TensorLayout::all() {
        let (grid, axes) = turned_grid(&mut random, [5, 3, 2]);
        let tensor = |_| random_tensor(&mut random);
        let world: Vec<DMat3> = (0..grid.voxel_count()).map(tensor).collect();
        let volume = reopened(&image(&grid, &world, layout, axes), layout);
        let output = taken(&volume).expect("tensors");
        assert_eq!((output.unfitted, output.repaired.count()), (0, 0));
        for (tensor, expected) in output.field.tensors.iter().zip(&world) {
            for (found, expected) in tensor.d.into_iter().zip(components(expected)) {
                // Single precision of the file, and of a header's affine.
                let off = f64::from(found) - expected;
                assert!(off.abs() < 3e-9, "{}: {off}", layout.description());
            }
        }
    }
    // Anything but six volumes is refused, with the number found.
    let (grid, _) = turned_grid(&mut random, [2, 2, 2]);
    let five = Volume::new(grid, 5, VolumeKind::Scalar, vec![1e-3; 40]);
    let five = five.with_tensors(Some(TensorLayout::MRTRIX));
    let error = given_mask(&five).expect_err("five volumes").to_string();
    assert!(error.contains("5 volumes"), "{error}");
}

/// A noisy head at 4 mm: many tensors are repaired.
pub fn head(random: &mut Random, spacing: f64) -> (TensorField, Mask) {
    let head = Head::new(random.bits() % 1000);
    let grid = scan_grid(spacing).expect("a grid");
    let (backend, control) = (backend(2), Control::new());
    let options = scan_options(grid.clone(), random.bits());
    let scan = backend.install(|| head.diffusion_scan(&options, &control));
    let (dwi, gradients) = scan.expect("a scan");
    let mask = backend.install(|| head.brain_mask(&grid, &control));
    let mask = mask.expect("a mask");
    let params = params(Method::Wls);
    let fit = fit(&dwi, &gradients, &mask, &params, &backend, &control).expect("fitted");
    (fit.field, mask)
}

fn own() {
    let mut random = Random::fresh("own");
    let (field, mask) = head(&mut random, 4.0);
    let volume = reopened(&field.volume(), TensorLayout::MRTRIX);
    let output = taken(&volume).expect("tensors");
    assert_eq!(output.field.tensors, field.tensors, "identical numbers");
    assert_eq!(given_mask(&volume).expect("a mask").inside, mask.inside);
    assert_eq!(output.repaired.count(), 0);
}

fn units() {
    let mut random = Random::fresh("units");
    let (field, _) = head(&mut random, 6.0);
    let scaled = |factor: f32| {
        let volume = field.volume();
        let values: Vec<f32> = volume.values.iter().map(|v| v * factor).collect();
        Volume::new(volume.grid.clone(), 6, VolumeKind::Scalar, values)
            .with_tensors(Some(TensorLayout::MRTRIX))
    };
    for (factor, name) in [(1.0, None), (1e3, Some("µm²/ms")), (1e-6, Some("m²/s"))] {
        let output = taken(&scaled(factor)).expect("tensors");
        assert_eq!(output.other_unit, name);
        for (a, b) in output.field.tensors.iter().zip(&*field.tensors) {
            for (a, b) in a.d.iter().zip(b.d) {
                // Two roundings of the largest component.
                assert!((a - b).abs() < 2e-9, "{a} {b}");
            }
        }
    }
    let error = taken(&scaled(1e9)).expect_err("no tissue").to_string();
    assert!(error.contains("mm²/s"), "{error}");
}

fn holes() {
    let mut random = Random::fresh("holes");
    let (grid, _) = turned_grid(&mut random, [4, 2, 1]);
    let layout = TensorLayout {
        order: TensorOrder::Fsl,
        frame: TensorFrame::World,
    };
    let mut world: Vec<DMat3> = (0..8).map(|_| random_tensor(&mut random)).collect();
    world[2] = DMat3::ZERO;
    // One negative eigenvalue along a known axis.
    let rotation = DMat3::from_quat(random.rotation());
    let values = DVec3::new(1.5e-3, 0.4e-3, -0.2e-3);
    world[5] = rotation * DMat3::from_diagonal(values) * rotation.transpose();
    let mut volume = image(&grid, &world, layout, DMat3::IDENTITY);
    let mut values = volume.values.to_vec();
    values[3 * 8 + 6] = f32::NAN;
    volume = Volume::new(grid, 6, VolumeKind::Scalar, values).with_tensors(Some(layout));
    let output = taken(&volume).expect("tensors");
    let inside: Vec<bool> = output
        .field
        .tensors
        .iter()
        .map(|t| t.inside > 0.5)
        .collect();
    assert_eq!(inside, [true, true, false, true, true, true, false, true]);
    let repaired: Vec<usize> = (0..8).filter(|&v| output.repaired.inside[v] != 0).collect();
    assert_eq!(repaired, [5]);
    let least = rotation.z_axis;
    let across = least.dot(output.field.tensors[5].matrix() * least);
    assert!((across - MIN_EIGENVALUE).abs() < 1e-9, "{across}");
    // Within a mask, voxels without a tensor are counted.
    let all = Mask::new(volume.grid.clone(), vec![1; 8]);
    let control = Control::new();
    let within = imported_field(&volume, &all, &params(Method::Ols), &backend(1), &control);
    assert_eq!(within.expect("tensors").unfitted, 2);
}
