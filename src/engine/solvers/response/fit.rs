//! Response functions from chosen voxels.

use super::error::InputError;
use super::quadratic::minimise;
use crate::data::spherical_harmonics::{at_pole, zonal};
use crate::data::{Gradients, Response, ShellVolumes, Shells, Volume};
use crate::solvers::Error;
use glam::DVec3;

/// The signal of fibres: R_l of each shell from every sample of the voxels, by its angle to the voxel's direction, with
/// a signal that is not negative and rises with the angle. Samples that are not finite are left out.
pub fn fibres(
    dwi: &Volume,
    gradients: &Gradients,
    shells: &Shells,
    voxels: &[usize],
    directions: &[DVec3],
    order: usize,
) -> Result<Response, Error> {
    let rows = shells
        .shells
        .iter()
        .map(|shell| match shell.b_s_per_mm2 == 0.0 {
            true => mean_coefficient(dwi, shell, voxels).map(|r_0| vec![r_0]),
            false => weighted_shell(dwi, gradients, shell, (voxels, directions), order),
        });
    let rows = rows.collect::<Result<Vec<_>, Error>>()?;
    Ok(Response::new(Some(b_values(shells)), rows))
}

/// The signal of a tissue without fibres: the mean of each shell.
pub fn isotropic(dwi: &Volume, shells: &Shells, voxels: &[usize]) -> Result<Response, Error> {
    let rows = shells
        .shells
        .iter()
        .map(|shell| mean_coefficient(dwi, shell, voxels).map(|r_0| vec![r_0]));
    let rows = rows.collect::<Result<Vec<_>, Error>>()?;
    Ok(Response::new(Some(b_values(shells)), rows))
}

fn b_values(shells: &Shells) -> Vec<f64> {
    shells
        .shells
        .iter()
        .map(|shell| shell.b_s_per_mm2)
        .collect()
}

/// R_0 of the mean signal of a shell.
fn mean_coefficient(dwi: &Volume, shell: &ShellVolumes, voxels: &[usize]) -> Result<f64, Error> {
    let (mut sum, mut count) = (0.0, 0usize);
    for &volume in &shell.volumes {
        let frame = dwi.frame(volume);
        for sample in voxels.iter().map(|v| frame[*v]).filter(|s| s.is_finite()) {
            sum += f64::from(sample);
            count += 1;
        }
    }
    match count > 0 && sum > 0.0 {
        true => Ok(sum / count as f64 / at_pole(0)),
        false => Err(without_signal(shell, voxels.len())),
    }
}

fn without_signal(shell: &ShellVolumes, voxels: usize) -> Error {
    InputError::NoSignal {
        b_s_per_mm2: shell.b_s_per_mm2,
        voxels,
    }
    .into()
}

/// Normal equations of all samples, then the constrained minimum.
fn weighted_shell(
    dwi: &Volume,
    gradients: &Gradients,
    shell: &ShellVolumes,
    (voxels, directions): (&[usize], &[DVec3]),
    order: usize,
) -> Result<Vec<f64>, Error> {
    let n = order / 2 + 1;
    let mean = mean_coefficient(dwi, shell, voxels)? * at_pole(0);
    let (mut h, mut g) = (vec![0.0; n * n], vec![0.0; n]);
    for &volume in &shell.volumes {
        let (frame, gradient) = (dwi.frame(volume), gradients.directions[volume]);
        for (&voxel, direction) in voxels.iter().zip(directions) {
            let sample = f64::from(frame[voxel]) / mean;
            if !sample.is_finite() || *direction == DVec3::ZERO {
                continue;
            }
            let functions = zonal(order, direction.dot(gradient));
            for (i, a) in functions.iter().enumerate() {
                g[i] += a * sample;
                for (j, b) in functions.iter().enumerate() {
                    h[i * n + j] += a * b;
                }
            }
        }
    }
    if !(h[0] > 0.0) {
        return Err(without_signal(shell, voxels.len()));
    }
    let by_degree: Vec<Vec<f64>> = (0..=90)
        .map(|degree| zonal(order, f64::from(degree).to_radians().cos()))
        .collect();
    let mut constraints = vec![by_degree[0].clone()];
    for pair in by_degree.windows(2) {
        constraints.push(pair[1].iter().zip(&pair[0]).map(|(a, b)| a - b).collect());
    }
    // A signal that rises from 0.56 of the mean along the fibres satisfies all strictly.
    let mut start = vec![0.0; n];
    start[0] = 1.0 / at_pole(0);
    if n > 1 {
        start[1] = -0.2 * start[0];
    }
    let r = minimise(&h, &g, &constraints, &start);
    Ok(r.into_iter().map(|r| r * mean).collect())
}
