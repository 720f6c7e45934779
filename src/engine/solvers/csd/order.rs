//! The order of the harmonics, from the directions and the noise of the scan.

use super::parameters::{DEFAULT_ORDER, MAX_ORDER};
use crate::data::spherical_harmonics::{count, evaluate};
use crate::data::statistics::upper_median;
use crate::data::text::counted;
use crate::data::{Gradients, Mask, Response, ShellVolumes, Shells, Volume};

/// Directions times SNR² with which order 12 finds crossings at 45° without more spurious peaks than order 8: 75
/// directions at an SNR of 20.
const ENOUGH: f64 = 75.0 * 400.0;

/// Largest number of voxels whose noise is measured.
const SAMPLED_VOXELS: usize = 2000;

/// An order, and why it was chosen: half a sentence.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderChoice {
    /// Highest degree of the harmonics, even.
    pub order: usize,
    /// The limit that decided it, as half a sentence.
    pub reason: String,
}

/// The default order for a scan. `noise` is the standard deviation of its samples, if it could be measured.
pub fn default_order(shells: &Shells, responses: &[Response], noise: Option<f64>) -> OrderChoice {
    let (Some(outer), Some(fibres)) = (shells.shells.last(), responses.first()) else {
        let reason = "there is no shell".to_owned();
        return OrderChoice { order: 0, reason };
    };
    let directions = outer.volumes.len();
    let at = format!(
        "{} at b {:.0}",
        counted(directions, "direction"),
        outer.b_s_per_mm2
    );
    let snr = noise
        .filter(|sigma| *sigma > 0.0)
        .map(|sigma| fibres.mean_signal(0) / sigma);
    let capped = |order: usize, reason: String| match order > fibres.order() {
        false => OrderChoice { order, reason },
        true => OrderChoice {
            order: fibres.order(),
            reason: format!("that of the response function of white matter; {reason}"),
        },
    };
    // The SNR of the first row: without weighting, or in the outer shell alone.
    let first = match fibres.shell_count() {
        1 => outer.b_s_per_mm2,
        _ => shells.shells[0].b_s_per_mm2,
    };
    let with_snr =
        |snr: f64| format!("{at}, where white matter has an SNR of {snr:.0} (b {first:.0}),");
    let determined = count(MAX_ORDER) + responses.len() - 1 < shells.volume_count();
    if let Some(snr) = snr {
        let enough = directions as f64 * snr * snr >= ENOUGH;
        if enough && determined && shells.has_b0() {
            return capped(
                MAX_ORDER,
                format!("{} suffice for order {MAX_ORDER}", with_snr(snr)),
            );
        }
    }
    let orders = (2..=DEFAULT_ORDER).rev().step_by(2);
    let order = orders.into_iter().find(|&order| count(order) <= directions);
    match (order, snr) {
        (Some(DEFAULT_ORDER), Some(snr)) => capped(
            DEFAULT_ORDER,
            format!("{} do not suffice for order {MAX_ORDER}", with_snr(snr)),
        ),
        (Some(DEFAULT_ORDER), None) => capped(DEFAULT_ORDER, "the noise is not known".to_owned()),
        (order, _) => {
            let order = order.unwrap_or(2);
            let reason = format!(
                "{at} are fewer than the {} coefficients of order {}",
                count(order + 2),
                order + 2
            );
            capped(order, reason)
        }
    }
}

/// The standard deviation of the samples of the outer shell: residuals of a series of harmonics with half as many
/// coefficients as directions. `None` for too few directions.
pub fn noise(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    shell: &ShellVolumes,
) -> Option<f64> {
    let directions: Vec<_> = shell
        .volumes
        .iter()
        .map(|&v| gradients.directions[v])
        .collect();
    // A higher order than 6 has no signal that noise would not hide.
    let order = [6, 4, 2]
        .into_iter()
        .find(|&order| 2 * count(order) <= directions.len())?;
    let basis = orthonormal(directions.iter().map(|u| evaluate(order, *u)).collect());
    let inside: Vec<usize> = (0..mask.inside.len())
        .filter(|i| mask.inside[*i] != 0)
        .collect();
    let step = inside.len().div_ceil(SAMPLED_VOXELS).max(1);
    let free = (directions.len() - basis.len()) as f64;
    let variance = |voxel: &usize| {
        let samples = shell
            .volumes
            .iter()
            .map(|&v| f64::from(dwi.frame(v)[*voxel]));
        let samples: Vec<f64> = samples.collect();
        let square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        let explained = |column: &Vec<f64>| {
            let product: f64 = column.iter().zip(&samples).map(|(a, b)| a * b).sum();
            product * product
        };
        let rest = square(&samples) - basis.iter().map(explained).sum::<f64>();
        (rest / free).max(0.0)
    };
    let variances = inside
        .iter()
        .step_by(step)
        .map(variance)
        .filter(|v| v.is_finite());
    upper_median(&mut variances.collect::<Vec<_>>()).map(f64::sqrt)
}

/// Orthonormal columns with the span of those of a matrix given row by row (Gram and Schmidt, twice).
fn orthonormal(rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..rows.first().map_or(0, Vec::len) {
        let mut column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
        let length = |column: &[f64]| column.iter().map(|v| v * v).sum::<f64>().sqrt();
        let before = length(&column);
        for known in columns.iter().chain(&columns) {
            let product: f64 = known.iter().zip(&column).map(|(a, b)| a * b).sum();
            for (value, k) in column.iter_mut().zip(known) {
                *value -= product * k;
            }
        }
        let after = length(&column);
        // A column in the span of those before adds nothing.
        if after > 1e-8 * before {
            columns.push(column.into_iter().map(|v| v / after).collect());
        }
    }
    columns
}
