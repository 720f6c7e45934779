//! The measured values of a voxel, in the order of the operator: b = 0 first, then shell by shell.

use super::cylinder::Timing;
use super::error::InputError;
use crate::data::gradients::Weighting;
use crate::data::{Gradients, Mask, Volume};
use crate::solvers::Error;
use glam::DVec3;
use rayon::prelude::*;

/// Volumes of (nearly) the same b-value.
#[derive(Clone, PartialEq, Debug)]
pub struct Shell {
    /// Mean over its volumes.
    pub b_s_per_mm2: f64,
    /// Pulse durations; `None` if the model does not depend on them.
    pub timing: Option<Timing>,
    /// Unit vectors, world axes.
    pub directions: Vec<DVec3>,
    /// Volumes of the scan, one per direction.
    pub volumes: Vec<usize>,
}

/// How signals are prepared, with COMMIT's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Switches {
    /// One sample for all b = 0 volumes, their mean.
    pub merge_b0: bool,
    /// Divide signals by the voxel's signal at b = 0.
    pub normalise_signal: bool,
    /// Scale columns to equal length, so that a penalty treats them equally.
    pub normalise_kernels: bool,
}

/// Volumes of the scan by b-value, in the order of the operator's rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Samples {
    /// The volumes that each b = 0 sample averages.
    pub b0: Vec<Vec<usize>>,
    /// Shells with diffusion weighting, by ascending b.
    pub shells: Vec<Shell>,
    /// Weighted volumes without a direction.
    pub excluded: Vec<usize>,
}

/// Largest step between sorted b-values of one shell: scanners write 995, 1000, 1005.
const GAP_S_PER_MM2: f64 = 50.0;
const GAP: f64 = 0.05;

impl Samples {
    /// One number per voxel, as at b = 0.
    pub fn one_per_voxel() -> Self {
        Self {
            b0: vec![vec![0]],
            shells: Vec::new(),
            excluded: Vec::new(),
        }
    }

    /// `timing` is empty if unknown, or holds one entry for all volumes, or one per volume.
    pub fn new(
        gradients: &Gradients,
        timing: &[Timing],
        switches: &Switches,
    ) -> Result<Self, Error> {
        let n = gradients.len();
        if timing.len() > 1 && timing.len() != n {
            let (timed, volumes) = (timing.len(), n);
            return Err(InputError::TimingCount { timed, volumes }.into());
        }
        for pulses in timing {
            pulses.check()?;
        }
        let volumes_with =
            |weighting: Weighting| (0..n).filter(move |&v| gradients.weighting(v) == weighting);
        let b0: Vec<usize> = volumes_with(Weighting::B0).collect();
        if b0.is_empty() {
            return Err(InputError::NoB0(gradients.summary()).into());
        }
        let b0 = if switches.merge_b0 {
            vec![b0]
        } else {
            b0.into_iter().map(|v| vec![v]).collect()
        };
        let timing_of = |v: usize| {
            timing
                .get(v)
                .or(timing.first().filter(|_| timing.len() == 1))
        };
        let mut weighted: Vec<usize> = volumes_with(Weighting::Diffusion).collect();
        let key = |v: usize| {
            let t = timing_of(v).map_or((0.0, 0.0), |t| (t.pulse_ms, t.between_ms));
            (t, gradients.b_s_per_mm2[v])
        };
        weighted.sort_by(|&u, &v| {
            let ((tu, bu), (tv, bv)) = (key(u), key(v));
            let time = tu.0.total_cmp(&tv.0).then(tu.1.total_cmp(&tv.1));
            time.then(bu.total_cmp(&bv)).then(u.cmp(&v))
        });
        let mut shells: Vec<Shell> = Vec::new();
        let mut last: Option<usize> = None;
        for v in weighted {
            let b = gradients.b_s_per_mm2[v];
            let joins = last.is_some_and(|u| {
                let gap = b - gradients.b_s_per_mm2[u];
                timing_of(u) == timing_of(v) && gap <= (GAP * b).max(GAP_S_PER_MM2)
            });
            if !joins {
                shells.push(Shell {
                    b_s_per_mm2: 0.0,
                    timing: timing_of(v).copied(),
                    directions: Vec::new(),
                    volumes: Vec::new(),
                });
            }
            if let Some(shell) = shells.last_mut() {
                shell.directions.push(gradients.directions[v]);
                shell.volumes.push(v);
            }
            last = Some(v);
        }
        for shell in &mut shells {
            let sum: f64 = shell
                .volumes
                .iter()
                .map(|&v| gradients.b_s_per_mm2[v])
                .sum();
            shell.b_s_per_mm2 = sum / shell.volumes.len() as f64;
        }
        Ok(Self {
            b0,
            shells,
            excluded: volumes_with(Weighting::NoDirection).collect(),
        })
    }

    /// Samples per voxel.
    pub fn count(&self) -> usize {
        self.b0.len() + self.shells.iter().map(|s| s.volumes.len()).sum::<usize>()
    }

    /// The volumes that a sample averages.
    pub fn volumes(&self, sample: usize) -> &[usize] {
        if let Some(volumes) = self.b0.get(sample) {
            return volumes;
        }
        let mut rest = sample - self.b0.len();
        for shell in &self.shells {
            if rest < shell.volumes.len() {
                return &shell.volumes[rest..rest + 1];
            }
            rest -= shell.volumes.len();
        }
        &[]
    }

    /// The mean of the b = 0 volumes in a voxel.
    pub fn at_b0(&self, scan: &Volume, voxel: usize) -> f32 {
        let all = self.b0.iter().flatten();
        let n = all.clone().count() as f32;
        all.map(|&v| scan.frame(v)[voxel]).sum::<f32>() / n
    }

    /// Voxels of a mask whose signal is finite, and positive at b = 0.
    pub fn usable(&self, scan: &Volume, mask: Option<&Mask>) -> Vec<u8> {
        let n = scan.grid.voxel_count();
        let usable = |voxel: usize| {
            let inside = mask.is_none_or(|m| m.inside[voxel] != 0);
            let valid = |sample: usize| {
                let mut volumes = self.volumes(sample).iter();
                volumes.all(|&v| scan.frame(v)[voxel].is_finite())
            };
            inside && (0..self.count()).all(valid) && self.at_b0(scan, voxel) > 0.0
        };
        (0..n)
            .into_par_iter()
            .map(|v| u8::from(usable(v)))
            .collect()
    }

    /// The samples of some voxels (grid indices of the scan), voxel after voxel.
    pub fn signals(&self, scan: &Volume, voxels: &[u32], switches: &Switches) -> Vec<f32> {
        let count = self.count();
        let mut out = vec![0.0; count * voxels.len()];
        let each = out.par_chunks_mut(count).zip(voxels);
        each.for_each(|(values, &voxel)| {
            let voxel = voxel as usize;
            let scale = match switches.normalise_signal {
                true => 1.0 / self.at_b0(scan, voxel),
                false => 1.0,
            };
            for (sample, value) in values.iter_mut().enumerate() {
                let volumes = self.volumes(sample);
                let sum: f32 = volumes.iter().map(|&v| scan.frame(v)[voxel]).sum();
                *value = scale * sum / volumes.len() as f32;
            }
        });
        out
    }
}

/// How much the signal differs between directions: its standard deviation over the shell of the largest b-value,
/// relative to b = 0. For a single population of sticks it is proportional to their share, as is the signal that LiFE
/// explains (Pestilli et al. 2014, Nat Methods 11:1058); it is smaller where fibres cross.
pub fn anisotropic(scan: &Volume, samples: &Samples) -> Volume {
    let largest = samples
        .shells
        .iter()
        .max_by(|a, b| a.b_s_per_mm2.total_cmp(&b.b_s_per_mm2));
    let spread = |voxel: usize| -> f32 {
        let Some(shell) = largest else { return 0.0 };
        let b0 = f64::from(samples.at_b0(scan, voxel));
        let values = shell
            .volumes
            .iter()
            .map(|&v| f64::from(scan.frame(v)[voxel]) / b0);
        let n = shell.volumes.len() as f64;
        let mean = values.clone().sum::<f64>() / n;
        let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        match variance.sqrt() {
            sd if b0 > 0.0 && sd.is_finite() => sd as f32,
            _ => 0.0,
        }
    };
    let values: Vec<f32> = (0..scan.grid.voxel_count())
        .into_par_iter()
        .map(spread)
        .collect();
    Volume::scalar(scan.grid.clone(), values)
}
