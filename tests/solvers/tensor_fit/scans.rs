//! Real scans: another program's fit of the same scan, and one head scanned on two grids.

use super::brain_mask::dice;
use super::{backend, fa, params};
use crate::support::data_test;
use arcuate::compute::Control;
use arcuate::data::{Gradients, Mask, TensorField, Volume};
use arcuate::io::{gradients, nifti};
use arcuate::solvers::tensor_fit::{self, Maps, Method, Output, eigen_symmetric};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        data_test(
            "tensor_fit::agrees_with_dipy_wls",
            "dwi_a_philips32",
            |folder| {
                agrees_with_dipy_wls(&folder);
            },
        ),
        data_test("tensor_fit::finds_the_brain", "dwi_a_philips32", |folder| {
            finds_the_brain(&folder);
        }),
        data_test(
            "tensor_fit::oblique_agrees_with_straight",
            "dwi_b_oblique_pair",
            |folder| {
                oblique_agrees_with_straight(&folder);
            },
        ),
    ]
}

fn volume(path: &Path) -> Volume {
    nifti::read(path, &Control::new()).unwrap().0
}

fn mask(path: &Path) -> Mask {
    let volume = volume(path);
    let inside: Vec<u8> = volume.values.iter().map(|v| u8::from(*v > 0.5)).collect();
    Mask::new(volume.grid, inside)
}

fn scan(path: &Path) -> (Volume, Gradients) {
    let dwi = volume(path);
    let table = gradients::for_scan(path, &[], &dwi.grid, dwi.frames).unwrap();
    (dwi, table.unwrap().gradients)
}

fn fit(path: &Path, mask: &Mask) -> (Output, Maps) {
    let (dwi, table) = scan(path);
    let (backend, control) = (backend(2), Control::new());
    let params = params(Method::Wls);
    let output = tensor_fit::fit(&dwi, &table, mask, &params, &backend, &control).unwrap();
    let maps = tensor_fit::maps(&output.field, &backend, &control).unwrap();
    (output, maps)
}

fn vector(volume: &Volume, voxel: usize) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|f| f64::from(volume.frame(f)[voxel])))
}

/// Angle between two lines in degrees.
fn angle_deg(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b).abs()).to_degrees()
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn agrees_with_dipy_wls(folder: &Path) {
    let brain = mask(&folder.join("brain_mask.nii.gz"));
    let (output, maps) = fit(&folder.join("dwi.nii.gz"), &brain);
    let reference = folder.join("reference_dipy_wls");
    let their_fa = volume(&reference.join("FA.nii.gz"));
    let their_direction = volume(&reference.join("V1_fsl_frame.nii.gz"));
    // FSL's frame: voxel axes, x reversed where the affine is right-handed (here it is not).
    let voxel_axes = their_direction.grid.world_from_voxel.matrix3;
    assert!(voxel_axes.determinant() < 0.0, "this scan is stored LAS");
    let unit = [0, 1, 2].map(|axis| voxel_axes.col(axis).normalize());
    let world_from_fsl = DMat3::from_cols(unit[0], unit[1], unit[2]);

    let inside = (0..brain.inside.len()).filter(|v| brain.inside[*v] == 1);
    let mut fa_off = Vec::new();
    let mut angles = Vec::new();
    for voxel in inside {
        // Repairs differ: the other program raises eigenvalues to a smaller limit.
        if output.repaired.inside[voxel] == 0 {
            fa_off.push(f64::from(maps.fa.values[voxel] - their_fa.values[voxel]).abs());
        }
        if their_fa.values[voxel] > 0.3 {
            let theirs = world_from_fsl * vector(&their_direction, voxel);
            angles.push(angle_deg(vector(&maps.direction, voxel), theirs));
        }
    }
    let within = fa_off.iter().filter(|off| **off < 0.01).count() as f64 / fa_off.len() as f64;
    let (repaired, unfitted) = (output.repaired.count(), output.unfitted);
    let (voxels, angle, fa_off) = (angles.len(), median(angles), median(fa_off));
    println!(
        "FA off by {fa_off:.1e} median, within 0.01 in {within:.4}; direction off by {angle:.4} deg \
         over {voxels}; {repaired} repaired, {unfitted} not fitted"
    );
    assert!(voxels > 10_000 && fa_off < 0.01 && angle < 1.0);
    assert!(within > 0.999, "FA within 0.01 in only {within}");
}

fn finds_the_brain(folder: &Path) {
    let (dwi, table) = scan(&folder.join("dwi.nii.gz"));
    let theirs = mask(&folder.join("brain_mask.nii.gz"));
    let begin = std::time::Instant::now();
    let found = tensor_fit::brain_mask(&dwi, &table, &backend(2), &Control::new());
    let found = found.unwrap().mask;
    let dice = dice(&found, &theirs);
    let (wall, ours, theirs) = (begin.elapsed(), found.count(), theirs.count());
    println!("Dice {dice:.4}, {ours} voxels and {theirs}, {wall:.1?}");
    assert!(dice > 0.96, "Dice {dice}");
}

/// Tensor at a world point by trilinear interpolation; `None` where a corner is outside. (The
/// nearest voxel, up to 2.6 mm away, would add 1.5 degrees to the median.)
fn interpolated(field: &TensorField, world: DVec3) -> Option<[f64; 6]> {
    let at = field.grid.voxel_at(world);
    let (base, part) = (at.floor(), at - at.floor());
    let mut d = [0.0; 6];
    for corner in 0..8 {
        let step = DVec3::from_array([0, 1, 2].map(|a| f64::from(corner >> a & 1)));
        let tensor = field.nearest(field.grid.world(base + step))?;
        let weights = step * part + (1.0 - step) * (1.0 - part);
        for (sum, value) in d.iter_mut().zip(tensor.d) {
            *sum += weights.element_product() * f64::from(value);
        }
    }
    Some(d)
}

fn oblique_agrees_with_straight(folder: &Path) {
    let both = ["straight", "oblique"].map(|name| {
        let brain = mask(&folder.join(format!("{name}_mask.nii.gz")));
        let (output, _) = fit(&folder.join(format!("{name}.nii.gz")), &brain);
        output.field
    });
    let [straight, oblique] = both;
    let mut angles = Vec::new();
    for (voxel, tensor) in straight.tensors.iter().enumerate() {
        let place = DVec3::from_array(straight.grid.voxel(voxel).map(|v| v as f64));
        let Some(b) = interpolated(&oblique, straight.grid.world(place)) else {
            continue;
        };
        let a = tensor.d.map(f64::from);
        if tensor.inside == 1.0 && fa(a).min(fa(b)) > 0.4 {
            angles.push(angle_deg(eigen_symmetric(a).1[0], eigen_symmetric(b).1[0]));
        }
    }
    let (voxels, angle) = (angles.len(), median(angles));
    println!("directions {angle:.2} deg apart, median over {voxels} voxels");
    // Any flipped axis gives more than 45 degrees, ignoring the tilt 33.
    assert!(
        voxels > 1000 && angle < 8.0,
        "{angle} deg over {voxels} voxels"
    );
}
