//! Diffusion weighting of the volumes of a scan.
//!
//! # Example
//!
//! The shells of a table with one volume at b = 0 and two at b = 1000 s/mm²:
//!
//! ```
//! use arcuate_engine::data::Gradients;
//! use glam::DVec3;
//!
//! let gradients = Gradients {
//!     b_s_per_mm2: vec![0.0, 1000.0, 1000.0],
//!     directions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
//! };
//! assert_eq!(gradients.shells(), [(0, 1), (1000, 2)]);
//! ```

use glam::{DMat3, DVec3};

/// Volumes with a b-value up to this count as b = 0, whatever their vector (s/mm²).
pub const B0_LIMIT_S_PER_MM2: f64 = 50.0;

/// One b-value and one direction per volume.
#[derive(Clone, PartialEq, Debug)]
pub struct Gradients {
    /// s/mm²; one per volume.
    pub b_s_per_mm2: Vec<f64>,
    /// Unit vectors in *world* axes; zero for b = 0 volumes and for unusable vectors.
    pub directions: Vec<DVec3>,
}

/// How a volume is used in a fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighting {
    /// b at most the limit: no diffusion weighting.
    B0,
    /// b above the limit, and a direction.
    Diffusion,
    /// b above the limit but a zero or non-finite vector: usually the scanner's trace image. Left out of the fit,
    /// counted and reported.
    NoDirection,
}

/// Volume numbers for display: from 0, like the slider "Volume": `4, 20`.
pub fn volume_numbers(volumes: &[usize]) -> String {
    let numbers: Vec<String> = volumes.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

impl Gradients {
    /// Number of volumes.
    pub fn len(&self) -> usize {
        self.b_s_per_mm2.len()
    }

    /// Whether the table has no volume.
    pub fn is_empty(&self) -> bool {
        self.b_s_per_mm2.is_empty()
    }

    /// Class of a volume, from its b-value and its vector.
    pub fn weighting(&self, volume: usize) -> Weighting {
        if self.b_s_per_mm2[volume] <= B0_LIMIT_S_PER_MM2 {
            Weighting::B0
        } else if self.directions[volume] == DVec3::ZERO {
            Weighting::NoDirection
        } else {
            Weighting::Diffusion
        }
    }

    /// The table with directions multiplied by an orthogonal matrix in world axes.
    pub fn rotated(&self, matrix: DMat3) -> Self {
        Self {
            b_s_per_mm2: self.b_s_per_mm2.clone(),
            directions: self.directions.iter().map(|&d| matrix * d).collect(),
        }
    }

    /// Shells as `(b rounded to 100, number of volumes)`, ascending; b = 0 first as `(0, n)`.
    pub fn shells(&self) -> Vec<(u32, usize)> {
        let mut shells = std::collections::BTreeMap::new();
        for v in 0..self.len() {
            let b = match self.weighting(v) {
                Weighting::B0 => 0,
                _ => ((self.b_s_per_mm2[v] / 100.0).round() * 100.0) as u32,
            };
            *shells.entry(b).or_insert(0) += 1;
        }
        shells.into_iter().collect()
    }

    /// Shells as text for sentences: `1 × b 0, 32 × b 1000`.
    pub fn summary(&self) -> String {
        let shell = |(b, n): (u32, usize)| format!("{n} × b {b}");
        self.shells()
            .into_iter()
            .map(shell)
            .collect::<Vec<_>>()
            .join(", ")
    }
}
