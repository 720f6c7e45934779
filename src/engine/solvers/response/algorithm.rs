//! The algorithms by which response functions are estimated, and the choice among them.

use super::{Error, Estimate, Params, dhollander, tournier};
use crate::compute::{Backend, Control};
use crate::data::odf_field::Tissue;
use crate::data::{Gradients, Mask, Response, Shells, Volume, keyed};
use crate::solvers::csd;
use std::fmt;

/// How response functions are estimated from a whole scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseAlgorithm {
    /// White matter, grey matter and CSF.
    Dhollander,
    /// White matter, in the shell with the highest b.
    Tournier,
}

keyed!(ResponseAlgorithm, serde {
    Dhollander = "dhollander",
    Tournier = "tournier",
});

impl ResponseAlgorithm {
    /// The algorithm for a scan with these shells, unless one is chosen.
    pub fn default_for(shells: &Shells, method: csd::Method) -> Self {
        let several = shells.weighted().count() > 1 && shells.has_b0();
        match several && method == csd::Method::Constrained {
            true => Self::Dhollander,
            false => Self::Tournier,
        }
    }

    /// The rows of [`Params`] that it uses.
    pub fn rows(self) -> &'static [&'static str] {
        match self {
            Self::Dhollander => &[
                "response-order",
                "erode",
                "white-fa",
                "single-fibre-share",
                "grey-share",
                "csf-share",
            ],
            Self::Tournier => &["response-order", "single-fibre-voxels"],
        }
    }

    /// The response functions by this algorithm.
    pub fn estimate(
        self,
        dwi: &Volume,
        gradients: &Gradients,
        mask: &Mask,
        params: &Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<Estimate, Error> {
        let estimate = match self {
            Self::Dhollander => dhollander,
            Self::Tournier => tournier,
        };
        estimate(dwi, gradients, mask, params, backend, control)
    }
}

/// The estimated response functions that a deconvolution of these shells uses.
pub fn used(estimate: &Estimate, shells: &Shells) -> Vec<(Tissue, Response)> {
    let all = estimate.tissues.iter();
    let mut used: Vec<(Tissue, Response)> = all.map(|t| (t.tissue, t.response.clone())).collect();
    if used.len() > shells.shells.len() {
        // Two numbers without a direction determine two tissues.
        used.retain(|(tissue, _)| *tissue != Tissue::GreyMatter);
    }
    used
}

/// Below this share of a tissue's signal that the other tissues do not have, the noise decides between them: at an SNR
/// of 20, the amount of a tissue from 100 volumes is then known to half a voxel of it.
const MINIMUM_OWN_SIGNAL: f64 = 0.01;

/// The signal of a tissue that the other tissues do not have is too small a share of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NotSeparable {
    /// The tissue.
    pub tissue: Tissue,
    /// The share of its signal.
    pub own: f64,
}

impl fmt::Display for NotSeparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "The response function of {} differs from a sum of the others by {:.2} % of its signal, expected at \
             least {:.0} % to separate these tissues; leave one out, or measure them in other voxels",
            self.tissue.name(),
            100.0 * self.own,
            100.0 * MINIMUM_OWN_SIGNAL,
        )
    }
}

impl std::error::Error for NotSeparable {}

/// Returns an error if the mean signal of a tissue, shell by shell, is a sum of those of the others.
pub fn check_separable(
    responses: &[(Tissue, Response)],
    shells: &Shells,
) -> Result<(), NotSeparable> {
    // Other numbers of rows are refused with the reason later.
    let rows = shells.shells.len();
    if responses.len() < 2 || responses.iter().any(|(_, r)| r.shell_count() != rows) {
        return Ok(());
    }
    let column = |response: &Response| -> Vec<f64> {
        let shells = shells.shells.iter().enumerate();
        shells
            .map(|(k, s)| response.mean_signal(k) * (s.volumes.len() as f64).sqrt())
            .collect()
    };
    let columns: Vec<Vec<f64>> = responses.iter().map(|(_, r)| column(r)).collect();
    for (k, (tissue, _)) in responses.iter().enumerate() {
        let others = (0..columns.len()).filter(|other| *other != k);
        let others: Vec<&Vec<f64>> = others.map(|other| &columns[other]).collect();
        let own = own_share(&columns[k], &others);
        if own < MINIMUM_OWN_SIGNAL {
            let tissue = *tissue;
            return Err(NotSeparable { tissue, own });
        }
    }
    Ok(())
}

/// The length of a column without its projection onto others, relative to its own (Gram and Schmidt, twice).
fn own_share(column: &[f64], others: &[&Vec<f64>]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let without = |mut values: Vec<f64>, basis: &[Vec<f64>]| {
        for unit in basis.iter().chain(basis) {
            let along = dot(&values, unit);
            for (value, u) in values.iter_mut().zip(unit) {
                *value -= along * u;
            }
        }
        values
    };
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for other in others {
        let rest = without((*other).clone(), &basis);
        let (length, whole) = (dot(&rest, &rest).sqrt(), dot(other, other).sqrt());
        if length > 1e-9 * whole {
            basis.push(rest.into_iter().map(|v| v / length).collect());
        }
    }
    let rest = without(column.to_vec(), &basis);
    (dot(&rest, &rest) / dot(column, column)).sqrt()
}

/// Signals of a tissue and of the scan in the same shell differ by less than this factor: by a few times between tissues,
/// and by a few times with the coil and with air in the mask. Beyond it amplitudes, which are near 1 in a coherent
/// bundle, are below 0.01 or above 100, where no threshold of peaks or of tracking applies.
const MAX_SCALE: f64 = 100.0;

/// The mean signals of a response function and of the scan are not of the same magnitude.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OtherScale {
    /// The tissue.
    pub tissue: Tissue,
    /// Mean signal of the response function.
    pub signal: f64,
    /// Mean signal of the scan.
    pub scan: f64,
    /// b-value of the shell, s/mm².
    pub b_s_per_mm2: f64,
}

impl fmt::Display for OtherScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Found a mean signal of {:.3e} at b = {:.0} s/mm² in the response function of {}, expected about that of \
             the scan, {:.3e}; scale one to the other, or estimate the response function from this scan",
            self.signal,
            self.b_s_per_mm2,
            self.tissue.name(),
            self.scan,
        )
    }
}

impl std::error::Error for OtherScale {}

/// Returns an error if the signal of a response function is not of the magnitude of the scan's.
pub fn check_scale(
    dwi: &Volume,
    shells: &Shells,
    mask: &Mask,
    (tissue, response): (Tissue, &Response),
) -> Result<(), OtherScale> {
    let all = &shells.shells;
    // A single row is that of the shell with the highest b.
    let first = all.len().checked_sub(response.shell_count());
    let Some(shell) = first.and_then(|i| all.get(i)) else {
        return Ok(());
    };
    let Some(scan) = mean_sample(dwi, &shell.volumes, mask) else {
        return Ok(());
    };
    let signal = response.mean_signal(0);
    let ratio = signal / scan;
    if ratio.max(1.0 / ratio) <= MAX_SCALE {
        return Ok(());
    }
    Err(OtherScale {
        tissue,
        signal,
        scan,
        b_s_per_mm2: shell.b_s_per_mm2,
    })
}

/// The mean of the positive samples of a shell in a mask; `None` without any.
fn mean_sample(dwi: &Volume, volumes: &[usize], mask: &Mask) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for &volume in volumes {
        let samples = dwi.frame(volume).iter().zip(&mask.inside[..]);
        let positive = samples.filter(|(s, inside)| **inside != 0 && **s > 0.0 && s.is_finite());
        for (sample, _) in positive {
            sum += f64::from(*sample);
            count += 1;
        }
    }
    (count > 0).then(|| sum / count as f64)
}
