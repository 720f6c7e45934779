//! Signal models of a streamline, the water around it and free water.

use super::cylinder::{GammaRadii, Timing, across};
use super::harmonics::{DEGREES, zonal};
use super::model_error::ModelError;
use super::samples::{Samples, Shell};
use crate::parameters::{self, Limits, Unit};
use serde::{Deserialize, Serialize};

/// The intra-axonal compartment. Diffusivities in mm²/s.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intra {
    /// Diffusion only along the fibre.
    Stick {
        /// Diffusivity along the fibre, mm²/s.
        along: f64,
    },
    /// One column per radius.
    Cylinders {
        /// Diffusivity of the water along and within the cylinders, mm²/s.
        along: f64,
        /// Radius of each column, µm.
        radii_um: Vec<f64>,
    },
    /// One column per distribution.
    GammaCylinders {
        /// Diffusivity of the water along and within the cylinders, mm²/s.
        along: f64,
        /// Distribution of each column.
        radii: Vec<GammaRadii>,
    },
    /// One number per segment, its length: the data are one image, as in SIFT2 (Smith et al. 2015, NeuroImage
    /// 119:338). Uses neither directions nor other compartments.
    Density,
}

/// Hindered water around fibres, mm²/s.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Zeppelin {
    /// Diffusivity along the fibre, mm²/s.
    pub along: f64,
    /// Diffusivity across the fibre, mm²/s.
    pub across: f64,
}

/// Compartments of the signal, each with one column per entry.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Model {
    /// Compartment of the streamlines, whose weights are fitted.
    pub intra: Intra,
    /// Each of them at every peak.
    pub extra: Vec<Zeppelin>,
    /// Free water, mm²/s.
    pub free: Vec<f64>,
}

/// The columns: r_l for each shell and each atom.
#[derive(Clone, PartialEq, Debug)]
pub struct Responses {
    /// `intra[atom][shell][degree]`.
    pub intra: Vec<Vec<[f64; DEGREES]>>,
    /// Columns of each peak, `extra[atom][shell][degree]`.
    pub extra: Vec<Vec<[f64; DEGREES]>>,
    /// Columns of free water, `free[atom][shell][degree]`; only degree 0 differs from 0.
    pub free: Vec<Vec<[f64; DEGREES]>>,
    /// At b = 0: 1, unless columns were scaled.
    pub flat: [Vec<f64>; 3],
    /// The divisor of each column; weights are divided by it, too, before they are returned.
    pub scale: [Vec<f64>; 3],
}

/// Permitted diffusivities, 10⁻³ mm²/s. None in a head is larger: such a value is most likely in another unit.
pub(super) const DIFFUSIVITIES: Limits = Limits::above(0.0, 10.0);
/// The series of the signal underflows for thinner cylinders; axons are far thicker.
pub(super) const MIN_RADIUS_UM: f64 = 1e-3;
pub(super) const MAX_RADIUS_UM: f64 = 50.0;
pub(super) const MIN_SHAPE: f64 = 0.01;

impl Model {
    /// The model's name in COMMIT, such as `StickZeppelinBall`.
    pub fn name(&self) -> String {
        let intra = match self.intra {
            Intra::Stick { .. } => "Stick",
            Intra::Cylinders { .. } => "Cylinder",
            Intra::GammaCylinders { .. } => "GammaCylinder",
            Intra::Density => "Density",
        };
        let extra = if self.extra.is_empty() {
            ""
        } else {
            "Zeppelin"
        };
        let free = if self.free.is_empty() { "" } else { "Ball" };
        format!("{intra}{extra}{free}")
    }

    /// Columns per streamline.
    pub fn atoms(&self) -> usize {
        match &self.intra {
            Intra::Stick { .. } | Intra::Density => 1,
            Intra::Cylinders { radii_um, .. } => radii_um.len(),
            Intra::GammaCylinders { radii, .. } => radii.len(),
        }
    }

    /// Whether the model depends on pulse durations, so that `Inputs::timing` is required.
    pub fn needs_timing(&self) -> bool {
        matches!(
            self.intra,
            Intra::Cylinders { .. } | Intra::GammaCylinders { .. }
        )
    }

    /// Checks the parameters by themselves.
    pub fn check(&self) -> Result<(), ModelError> {
        let valid = |d: f64| DIFFUSIVITIES.contains(Unit::Diffusivity.displayed(d));
        let along = match &self.intra {
            Intra::Stick { along }
            | Intra::Cylinders { along, .. }
            | Intra::GammaCylinders { along, .. } => Some(*along),
            Intra::Density => None,
        };
        let each = self.extra.iter().flat_map(|z| [z.along, z.across]);
        let all = along.into_iter().chain(each).chain(self.free.clone());
        for d in all {
            if !valid(d) {
                return Err(ModelError::Diffusivity(d));
            }
        }
        if let Some(z) = self.extra.iter().find(|z| z.across >= z.along) {
            return Err(ModelError::Zeppelin {
                across: z.across,
                along: z.along,
            });
        }
        match &self.intra {
            Intra::Cylinders { radii_um, .. } => {
                if let Some(r) = radii_um
                    .iter()
                    .find(|r| !(MIN_RADIUS_UM..=MAX_RADIUS_UM).contains(*r))
                {
                    return Err(ModelError::Radius(*r));
                }
            }
            Intra::GammaCylinders { radii, .. } => {
                if let Some(g) = radii.iter().find(|g| parameters::check(*g).is_err()) {
                    return Err(ModelError::Radii(*g));
                }
            }
            Intra::Density if !(self.extra.is_empty() && self.free.is_empty()) => {
                return Err(ModelError::DensityAlone);
            }
            _ => {}
        }
        if self.atoms() == 0 {
            return Err(ModelError::NoRadius);
        }
        Ok(())
    }

    /// The part of the model that the scan does not determine, as a clause.
    pub fn undetermined(&self, samples: &Samples) -> Option<String> {
        let single_shell =
            (!self.free.is_empty() && samples.shells.len() == 1).then(|| &samples.shells[0]);
        single_shell.map(|shell| {
            format!(
                "Ball needs at least two shells, the scan has one ({} × b {:.0}), on which its weight cannot be \
                 separated from those of the other compartments",
                shell.volumes.len(),
                shell.b_s_per_mm2
            )
        })
    }

    /// Checks whether a scan supports the model; `forced` also accepts scans that do not determine all of it.
    pub fn check_scan(&self, samples: &Samples, forced: bool) -> Result<(), ModelError> {
        if self.intra == Intra::Density {
            return Ok(());
        }
        if samples.shells.is_empty() {
            return Err(ModelError::NoShell);
        }
        if let Some(what) = self.undetermined(samples).filter(|_| !forced) {
            return Err(ModelError::Undetermined(what));
        }
        if self.needs_timing() && samples.shells.iter().any(|s| s.timing.is_none()) {
            return Err(ModelError::NoTiming);
        }
        Ok(())
    }

    /// The signal of one atom of a streamline at this cosine to its direction, relative to b = 0.
    pub fn intra_signal(&self, atom: usize, shell: &Shell, cosine: f64) -> f64 {
        let b = shell.b_s_per_mm2;
        let along = |d: f64| (-b * d * cosine * cosine).exp();
        let sine2 = 1.0 - cosine * cosine;
        let inside = |d: f64, timing: Option<Timing>, radius: f64| match timing {
            Some(timing) => (-across(b, timing, d, radius) * sine2).exp(),
            None => f64::NAN,
        };
        match &self.intra {
            Intra::Stick { along: d } => along(*d),
            Intra::Cylinders { along: d, radii_um } => {
                along(*d) * inside(*d, shell.timing, radii_um[atom])
            }
            Intra::GammaCylinders { along: d, radii } => {
                along(*d) * radii[atom].mean(|r| inside(*d, shell.timing, r))
            }
            Intra::Density => 1.0,
        }
    }

    /// Columns as they are, or each divided by its length at unit weight, so that a penalty treats them equally.
    pub fn responses(&self, samples: &Samples, normalise: bool) -> Responses {
        let shells = &samples.shells;
        let intra = |atom: usize| -> Vec<[f64; DEGREES]> {
            let shell_response = |shell: &Shell| match (&self.intra, shell.timing) {
                // The attenuation across the fibre depends on the angle only by sin²: computed once per radius.
                (Intra::Cylinders { along, radii_um }, Some(timing)) => {
                    let b = shell.b_s_per_mm2;
                    let across = across(b, timing, *along, radii_um[atom]);
                    let d = b * along;
                    zonal(|t| (-d * t * t - across * (1.0 - t * t)).exp())
                }
                (Intra::GammaCylinders { along, radii }, Some(timing)) => {
                    let b = shell.b_s_per_mm2;
                    let gamma = radii[atom];
                    let value = |t: f64| {
                        let inside = |r: f64| (-across(b, timing, *along, r) * (1.0 - t * t)).exp();
                        (-b * along * t * t).exp() * gamma.mean(inside)
                    };
                    zonal(value)
                }
                _ => zonal(|t| self.intra_signal(atom, shell, t)),
            };
            shells.iter().map(shell_response).collect()
        };
        let extra = |z: &Zeppelin| -> Vec<[f64; DEGREES]> {
            let shell_response = |shell: &Shell| {
                let b = shell.b_s_per_mm2;
                zonal(|t| (-b * (z.across + (z.along - z.across) * t * t)).exp())
            };
            shells.iter().map(shell_response).collect()
        };
        let free = |d: &f64| -> Vec<[f64; DEGREES]> {
            let shell_response = |shell: &Shell| zonal(|_| (-shell.b_s_per_mm2 * d).exp());
            shells.iter().map(shell_response).collect()
        };
        let mut all = Responses {
            intra: (0..self.atoms()).map(intra).collect(),
            extra: self.extra.iter().map(extra).collect(),
            free: self.free.iter().map(free).collect(),
            flat: [(); 3].map(|()| Vec::new()),
            scale: [(); 3].map(|()| Vec::new()),
        };
        let kinds = [&mut all.intra, &mut all.extra, &mut all.free];
        for (kind, atoms) in kinds.into_iter().enumerate() {
            for atom in atoms {
                let scale = if normalise {
                    mean_square(atom, 1.0, samples).sqrt()
                } else {
                    1.0
                };
                atom.iter_mut().flatten().for_each(|r| *r /= scale);
                all.flat[kind].push(1.0 / scale);
                all.scale[kind].push(scale);
            }
        }
        all
    }
}

/// The product of two columns of unit weight in one voxel, averaged over all directions.
pub fn product(
    a: &[[f64; DEGREES]],
    flat_a: f64,
    b: &[[f64; DEGREES]],
    flat_b: f64,
    samples: &Samples,
) -> f64 {
    use std::f64::consts::PI;
    let b0 = samples.b0.len() as f64 * flat_a * flat_b;
    let shells = a.iter().zip(b).zip(&samples.shells).map(|((a, b), shell)| {
        let terms = a.iter().zip(b).enumerate();
        let power: f64 = terms.map(|(h, (a, b))| (4 * h + 1) as f64 * a * b).sum();
        shell.volumes.len() as f64 * power / (16.0 * PI * PI)
    });
    b0 + shells.sum::<f64>()
}

/// The mean square of one column.
pub fn mean_square(atom: &[[f64; DEGREES]], flat: f64, samples: &Samples) -> f64 {
    product(atom, flat, atom, flat, samples)
}
