//! Reasons to doubt a fit, as sentences shared by window and command line.

use super::Output;
use crate::data::gradients::volume_numbers;
use crate::data::text::{counted, singular_or_plural};

/// A floor above this is meant to raise the eigenvalues of tissue: any number of voxels may be repaired.
pub const MAX_FLOOR_MM2_PER_S: f64 = 1e-4;

impl Output {
    /// Reasons to doubt a fit within a mask of `in_mask` voxels with eigenvalues of at least `floor`, mm²/s; one
    /// sentence each.
    pub fn doubts(&self, in_mask: usize, floor: f64) -> Vec<String> {
        let mut doubts = Vec::new();
        let n = self.without_signal.len();
        if n > 0 {
            doubts.push(format!(
            "{} {} no sample above 0 in the mask and {} left out of the fit ({}); check that the scan is whole",
            counted(n, "volume"),
            singular_or_plural(n, "has", "have"),
            singular_or_plural(n, "is", "are"),
            volume_numbers(&self.without_signal)
        ));
        }
        let (fitted, repaired) = (in_mask - self.unfitted, self.repaired.count());
        if 2 * repaired > fitted && floor <= MAX_FLOOR_MM2_PER_S {
            let check = match self.s0 {
                Some(_) => {
                    "that the gradients belong to this scan, with b-values in s/mm², and that the mask fits it"
                }
                None => "the order and the axes of the image's tensors",
            };
            doubts.push(format!(
            "The tensors of {:.0} % of the fitted voxels have an eigenvalue below {floor:e} mm²/s and were \
             repaired; check {check}",
            100.0 * repaired as f64 / fitted as f64
        ));
        }
        doubts
    }
}
