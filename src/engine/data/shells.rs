//! Shells of a scan: volumes of nearly equal b.
//!
//! # Example
//!
//! The volumes of each shell, although b-values scatter:
//!
//! ```
//! use arcuate_engine::data::{Gradients, Shells};
//! use glam::DVec3;
//!
//! let gradients = Gradients {
//!     b_s_per_mm2: vec![5.0, 995.0, 1005.0],
//!     directions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
//! };
//! let shells = Shells::new(&gradients);
//! assert!(shells.has_b0());
//! assert_eq!(shells.shells[1].volumes, [1, 2]);
//! ```

use super::Gradients;
use super::gradients::Weighting;

/// b-values of one shell differ from their neighbours by at most this, s/mm²: scanners report 1199 for 1200, and
/// gradients of imaging change b by some tens.
const MAX_STEP_S_PER_MM2: f64 = 80.0;

/// Volumes that form one shell.
#[derive(Clone, PartialEq, Debug)]
pub struct ShellVolumes {
    /// Mean b-value, s/mm²; 0 for the volumes without weighting.
    pub b_s_per_mm2: f64,
    /// Ascending.
    pub volumes: Vec<usize>,
}

impl ShellVolumes {
    /// Whether these volumes have diffusion weighting.
    pub fn is_weighted(&self) -> bool {
        self.b_s_per_mm2 > 0.0
    }
}

/// The volumes of a scan by shell.
#[derive(Clone, PartialEq, Debug)]
pub struct Shells {
    /// By ascending b; the volumes without weighting, if any, come first.
    pub shells: Vec<ShellVolumes>,
    /// Volumes with b above the limit of b = 0 but without a direction: in no shell.
    pub without_direction: Vec<usize>,
}

impl Shells {
    /// Sorted b-values are divided where a step is larger than 80 s/mm².
    pub fn new(gradients: &Gradients) -> Self {
        let volumes_with = |kind: Weighting| -> Vec<usize> {
            let volumes = 0..gradients.len();
            volumes
                .filter(|v| gradients.weighting(*v) == kind)
                .collect()
        };
        let b_of = |v: usize| gradients.b_s_per_mm2[v];
        let mut shells = Vec::new();
        let b0 = volumes_with(Weighting::B0);
        if !b0.is_empty() {
            shells.push(ShellVolumes {
                b_s_per_mm2: 0.0,
                volumes: b0,
            });
        }
        let mut weighted = volumes_with(Weighting::Diffusion);
        weighted.sort_by(|&a, &b| b_of(a).total_cmp(&b_of(b)));
        let near = |a: &usize, b: &usize| b_of(*b) - b_of(*a) <= MAX_STEP_S_PER_MM2;
        for group in weighted.chunk_by(near) {
            let mut volumes = group.to_vec();
            volumes.sort_unstable();
            let sum: f64 = volumes.iter().map(|&v| b_of(v)).sum();
            shells.push(ShellVolumes {
                b_s_per_mm2: sum / volumes.len() as f64,
                volumes,
            });
        }
        Self {
            shells,
            without_direction: volumes_with(Weighting::NoDirection),
        }
    }

    /// The shells with diffusion weighting.
    pub fn weighted(&self) -> impl Iterator<Item = &ShellVolumes> {
        self.shells.iter().filter(|shell| shell.is_weighted())
    }

    /// Number of volumes in all shells.
    pub fn volume_count(&self) -> usize {
        self.shells.iter().map(|shell| shell.volumes.len()).sum()
    }

    /// Whether there are volumes without diffusion weighting.
    pub fn has_b0(&self) -> bool {
        self.shells
            .first()
            .is_some_and(|shell| shell.b_s_per_mm2 == 0.0)
    }

    /// Shells as text for sentences: `8 × b 0, 45 × b 1200`.
    pub fn summary(&self) -> String {
        let shell = |s: &ShellVolumes| format!("{} × b {:.0}", s.volumes.len(), s.b_s_per_mm2);
        let all: Vec<String> = self.shells.iter().map(shell).collect();
        all.join(", ")
    }
}
