//! Converts tensors fitted by another program to a tensor field.
//!
//! The six components D of a voxel, in our order, become QDQᵀ, where Q maps the file's axes to world axes.
//! Eigenvalues below the smallest permitted value are raised as after our own fit. Diffusivities are in mm²/s; the
//! other common units, µm²/ms and m²/s, differ by factors of a thousand and a million, far outside the range of
//! tissue, so the median identifies them.

use super::error::InputError;
use super::{Error, Output, Params, check_mask, check_params, cpu::repair};
use crate::compute::{Backend, Control};
use crate::data::statistics::upper_median;
use crate::data::{Mask, Tensor, TensorField, TensorLayout, Volume};
use glam::DMat3;
use rayon::prelude::*;

/// Median mean diffusivities accepted as mm²/s: water at body temperature has 3e-3, fixed tissue about 1e-4.
const PLAUSIBLE_MM2_PER_S: std::ops::Range<f64> = 2e-5..2e-2;
/// Other units with their factors to mm²/s: µm²/ms and m²/s.
const UNITS: [(f64, &str); 2] = [(1e-3, "µm²/ms"), (1e6, "m²/s")];
/// A tensor that was repaired before it was written has lost its last digits to single precision: about 1e-10 mm²/s
/// of 1e-5.
const ROUNDING: f64 = 1e-4;

/// Six values of a voxel, reordered to xx xy xz yy yz zz.
fn components(volume: &Volume, layout: TensorLayout, voxel: usize) -> [f32; 6] {
    let n = volume.grid.voxel_count();
    layout.order.volumes().map(|v| volume.values[v * n + voxel])
}

fn is_defined(d: &[f32; 6]) -> bool {
    d.iter().all(|v| v.is_finite()) && d.iter().any(|v| *v != 0.0)
}

fn check_volumes(volume: &Volume) -> Result<TensorLayout, InputError> {
    match volume.tensors {
        Some(layout) if volume.frames == TensorLayout::VOLUMES => Ok(layout),
        Some(_) => Err(InputError::TensorVolumes(volume.frames)),
        None => Err(InputError::NoLayout),
    }
}

/// Voxels that contain a tensor.
pub fn given_mask(volume: &Volume) -> Result<Mask, Error> {
    let layout = check_volumes(volume)?;
    let inside = |voxel| u8::from(is_defined(&components(volume, layout, voxel)));
    let inside: Vec<u8> = (0..volume.grid.voxel_count()).map(inside).collect();
    let mask = Mask::new(volume.grid.clone(), inside);
    match mask.count() {
        0 => Err(InputError::NoTensor.into()),
        _ => Ok(mask),
    }
}

/// Unit of the file as a factor to mm²/s, and its name if it is another unit.
fn unit_factor(
    volume: &Volume,
    layout: TensorLayout,
    mask: &Mask,
) -> Result<(f64, Option<&'static str>), InputError> {
    let mean = |voxel: usize| {
        let d = components(volume, layout, voxel);
        let [xx, _, _, yy, _, zz] = d.map(f64::from);
        is_defined(&d).then_some((xx + yy + zz) / 3.0)
    };
    let inside = (0..volume.grid.voxel_count()).filter(|v| mask.inside[*v] != 0);
    // A few thousand voxels suffice for the median.
    let step = mask.count().div_ceil(20_000).max(1);
    let mut means: Vec<f64> = inside.step_by(step).filter_map(mean).collect();
    let median = upper_median(&mut means).unwrap_or(0.0);
    if PLAUSIBLE_MM2_PER_S.contains(&median) {
        return Ok((1.0, None));
    }
    let other = UNITS.iter();
    let mut other = other.filter(|(factor, _)| PLAUSIBLE_MM2_PER_S.contains(&(median * factor)));
    match other.next() {
        Some(&(factor, name)) => Ok((factor, Some(name))),
        None => Err(InputError::Diffusivity(median)),
    }
}

/// The field of a tensor image, in its mask or in all voxels that contain a tensor.
pub fn imported_field(
    volume: &Volume,
    mask: &Mask,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let layout = check_volumes(volume)?;
    check_mask(mask, &volume.grid)?;
    let min_eigenvalue = check_params(params)?.min_eigenvalue_mm2_per_s;
    let (factor, other_unit) = unit_factor(volume, layout, mask)?;
    let turn = layout.frame.world_from_frame(&volume.grid);
    let n = volume.grid.voxel_count();
    control.begin("Reading tensors", n as u64);
    let (tensors, repaired): (Vec<Tensor>, Vec<u8>) = backend.install(|| {
        (0..n)
            .into_par_iter()
            .with_min_len(4096)
            .map(|voxel| {
                let d = components(volume, layout, voxel);
                if mask.inside[voxel] == 0 || !is_defined(&d) {
                    return (Tensor::default(), 0);
                }
                let d = in_world(d, turn, factor);
                match repair(d, min_eigenvalue, min_eigenvalue * (1.0 - ROUNDING)) {
                    Some(d) => (Tensor::new(d), 1),
                    None => (Tensor::new(d), 0),
                }
            })
            .unzip()
    });
    control.check()?;
    let field = TensorField::new(volume.grid.clone(), tensors);
    let fitted = field.tensors.iter().filter(|t| t.inside > 0.5).count();
    Ok(Output {
        field,
        s0: None,
        repaired: Mask::new(volume.grid.clone(), repaired),
        without_direction: Vec::new(),
        outside_range: Vec::new(),
        without_signal: Vec::new(),
        unfitted: mask.count() - fitted,
        other_unit,
        kernel_s: None,
    })
}

/// QDQᵀ; exactly the same numbers if nothing is rotated.
fn in_world(d: [f32; 6], q: DMat3, factor: f64) -> [f32; 6] {
    if factor == 1.0 && q == DMat3::IDENTITY {
        return d;
    }
    let m = q * Tensor::new(d).matrix() * q.transpose() * factor;
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis];
    [x.x, x.y, x.z, y.y, y.z, z.z].map(|v| v as f32)
}
