//! Statistics of groups of streamlines.

use super::Error;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::{Grid, Tractogram};
use crate::solvers::density::Walk;
use rayon::prelude::*;
use std::sync::Arc;

/// A voxel that no group of this piece of work has passed.
const NOT_PASSED: u32 = u32::MAX;
/// Pieces of work for each thread, so that all threads end at about the same time.
const PIECES: usize = 4;

/// Statistics of a group of streamlines.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct GroupStatistics {
    /// Number of its streamlines that count.
    pub count: usize,
    /// Mean of their lengths, mm; NaN without streamlines.
    pub length_mm: f64,
    /// Standard deviation of their lengths (n − 1), mm; NaN with fewer than two.
    pub length_sd_mm: f64,
    /// Volume of the voxels that they pass, mm³; `None` without a grid.
    pub volume_mm3: Option<f64>,
    /// Mean of their values; `None` without values, NaN if no streamline has a finite one.
    pub value: Option<f64>,
}

/// Statistics of groups, each given by its streamlines, of which the marked ones count, or all. `values`, if given, holds one
/// value per streamline, and volumes are those of voxels of the grid.
pub fn group_statistics(
    tractogram: &Tractogram,
    groups: &[&[u32]],
    among: Option<&[bool]>,
    (values, grid): (Option<&[f32]>, Option<&Arc<Grid>>),
    backend: &Backend,
    control: &Control,
) -> Result<Vec<GroupStatistics>, Error> {
    if let Some(grid) = grid {
        memory::claim_for::<u32>("The volumes", grid.voxel_count(), backend.threads())?;
    }
    let all: usize = groups.iter().map(|group| group.len()).sum();
    control.begin("Measuring groups", all as u64);
    let piece = groups.len().div_ceil(PIECES * backend.threads()).max(1);
    let of_piece = |groups: &[&[u32]]| {
        let mut passed = grid.map(|grid| Passed::new(grid));
        let of_group = |group: &&[u32]| {
            control.check()?;
            let counts = |line: &usize| among.is_none_or(|marks| marks[*line]);
            let lines: Vec<usize> = group.iter().map(|i| *i as usize).filter(counts).collect();
            let volume = match &mut passed {
                Some(passed) => Some(passed.volume_mm3(tractogram, &lines, control)?),
                None => None,
            };
            control.advance(group.len() as u64);
            let lengths = lines.iter().map(|line| tractogram.length_mm(*line));
            let (length_mm, length_sd_mm) = moments(lengths);
            let value = values.map(|values| {
                let own = lines.iter().map(|line| values[*line]);
                moments(own).0
            });
            Ok(GroupStatistics {
                count: lines.len(),
                length_mm,
                length_sd_mm,
                volume_mm3: volume,
                value,
            })
        };
        groups.iter().map(of_group).collect()
    };
    let statistics: Result<Vec<Vec<_>>, Cancelled> =
        backend.install(|| groups.par_chunks(piece).map(of_piece).collect());
    Ok(statistics?.concat())
}

/// Mean and standard deviation of the finite values.
fn moments(values: impl Iterator<Item = f32>) -> (f64, f64) {
    let finite: Vec<f64> = values.filter(|v| v.is_finite()).map(f64::from).collect();
    let n = finite.len() as f64;
    let mean = finite.iter().sum::<f64>() / n;
    let squares: f64 = finite.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// The voxels that a group passes.
struct Passed<'a> {
    walk: Walk,
    grid: &'a Grid,
    /// By voxel: the number of the last group that passed it.
    last: Vec<u32>,
    group: u32,
}

impl<'a> Passed<'a> {
    fn new(grid: &'a Grid) -> Self {
        Self {
            walk: Walk::new(grid),
            grid,
            last: vec![NOT_PASSED; grid.voxel_count()],
            group: 0,
        }
    }

    fn volume_mm3(
        &mut self,
        tractogram: &Tractogram,
        lines: &[usize],
        control: &Control,
    ) -> Result<f64, Cancelled> {
        /// Streamlines between two checks for cancellation.
        const CHUNK: usize = 1024;
        let (group, last, mut voxels) = (self.group, &mut self.last, 0u64);
        self.group += 1;
        for lines in lines.chunks(CHUNK) {
            control.check()?;
            for line in lines {
                self.walk.line(tractogram.streamline(*line), |voxel| {
                    voxels += u64::from(last[voxel] != group);
                    last[voxel] = group;
                });
            }
        }
        let axes = self.grid.world_from_voxel.matrix3;
        Ok(voxels as f64 * axes.determinant().abs())
    }
}
