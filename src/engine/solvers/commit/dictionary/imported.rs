//! Segments and tables made by another program.

use super::{Counts, Dictionary, Segment};
use crate::data::Grid;
use std::sync::Arc;

/// A dictionary as lists in any order; directions are rows of the table that comes with it.
pub struct ImportedDictionary<'a> {
    /// Streamline of each segment, an index below `streamlines`.
    pub streamline: &'a [u32],
    /// Voxel of each segment, an index below `voxels`.
    pub voxel: &'a [u32],
    /// Direction of each segment, a row of the imported table.
    pub direction: &'a [u16],
    /// Length of each segment, in the unit of the other program; rounded to 2⁻¹⁶ of the longest.
    pub length: &'a [f32],
    /// Voxel of each peak, an index below `voxels`.
    pub peak_voxel: &'a [u32],
    /// Direction of each peak, a row of the imported table.
    pub peak_direction: &'a [u16],
    /// Number of streamlines, including those without segments.
    pub streamlines: usize,
    /// Number of voxels, including those without segments.
    pub voxels: usize,
}

impl ImportedDictionary<'_> {
    /// The dictionary, with lengths rounded to 2⁻¹⁶ of the longest and voxels on a one-dimensional grid; `None` if there
    /// are not voxels.
    pub fn dictionary(&self) -> Option<Dictionary> {
        let longest = self.length.iter().copied().fold(0.0, f32::max);
        let unit_mm = f64::from(longest) / f64::from(u16::MAX);
        let spacing = glam::DVec3::ONE;
        let grid = Grid::axis_aligned([self.voxels, 1, 1], spacing, glam::DVec3::ZERO)?;
        let mut offsets = vec![0u64; self.voxels + 1];
        self.voxel
            .iter()
            .for_each(|&v| offsets[v as usize + 1] += 1);
        for i in 0..self.voxels {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut segments = vec![Segment::default(); self.voxel.len()];
        for i in 0..self.voxel.len() {
            let place = &mut next[self.voxel[i] as usize];
            segments[*place as usize] = Segment {
                streamline: self.streamline[i],
                direction: self.direction[i],
                length: (f64::from(self.length[i]) / unit_mm).round() as u16,
            };
            *place += 1;
        }
        let mut peak_counts = vec![0u8; self.voxels];
        self.peak_voxel
            .iter()
            .for_each(|&v| peak_counts[v as usize] += 1);
        let places = peak_counts.iter().copied().max().map_or(0, usize::from);
        let mut peaks = vec![0u16; places * self.voxels];
        peak_counts.fill(0);
        for (&voxel, &direction) in self.peak_voxel.iter().zip(self.peak_direction) {
            let count = &mut peak_counts[voxel as usize];
            peaks[voxel as usize * places + usize::from(*count)] = direction;
            *count += 1;
        }
        Some(Dictionary {
            grid: Arc::new(grid),
            voxels: (0..self.voxels as u32).collect(),
            offsets,
            segments,
            unit_mm,
            streamlines: self.streamlines,
            places,
            peaks,
            peak_counts,
            counts: Counts::default(),
        })
    }
}
