//! Agreement of a pathway with streamlines.

use super::Error;
use super::error::InputError;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::{Mask, Tractogram};
use crate::solvers::density::Walk;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Streamlines per work item.
const PIECE: usize = 64;

/// Agreement of a pathway with streamlines.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathwayAgreement {
    /// Streamlines that were compared: those with finite points only.
    pub streamlines: usize,
    /// Streamlines of which every part lies in voxels of the pathway.
    pub within: usize,
    /// Their length, mm.
    pub length_mm: f64,
    /// Length within the pathway, mm; cut exactly at the faces of voxels.
    pub length_within_mm: f64,
    /// Voxels that a streamline passes: the visit map.
    pub passed_voxels: u64,
    /// Voxels of the pathway.
    pub pathway_voxels: u64,
    /// Voxels of both.
    pub shared_voxels: u64,
    /// Voxels of the pathway that a streamline passes, or of which it passes one of the 26 neighbours.
    pub near_voxels: u64,
    /// Streamlines with a point that is not finite, which are left out.
    pub not_finite: usize,
}

impl PathwayAgreement {
    /// Share of the streamlines that stay within the pathway, 0..=1.
    pub fn within_share(&self) -> f64 {
        self.within as f64 / self.streamlines as f64
    }

    /// Share of the length within the pathway, 0..=1; 0 without length.
    pub fn length_share(&self) -> f64 {
        match self.length_mm > 0.0 {
            true => self.length_within_mm / self.length_mm,
            false => 0.0,
        }
    }

    /// Share of the pathway that streamlines pass, 0..=1.
    pub fn passed_share(&self) -> f64 {
        self.shared_voxels as f64 / self.pathway_voxels as f64
    }

    /// Share of the pathway within one voxel of a streamline, 0..=1.
    pub fn near_share(&self) -> f64 {
        self.near_voxels as f64 / self.pathway_voxels as f64
    }

    /// Dice coefficient of the pathway and the visit map, 0..=1.
    pub fn dice(&self) -> f64 {
        2.0 * self.shared_voxels as f64 / (self.passed_voxels + self.pathway_voxels) as f64
    }
}

/// Compares a pathway with streamlines.
pub fn agreement(
    pathway: &Mask,
    tractogram: &Tractogram,
    backend: &Backend,
    control: &Control,
) -> Result<PathwayAgreement, Error> {
    let pathway = pathway.on_whole_grid();
    if pathway.count() == 0 {
        return Err(InputError::EmptyPathway.into());
    }
    let voxels = pathway.inside.len();
    let bytes = voxels + tractogram.len() * size_of::<Followed>();
    memory::claim("The comparison with streamlines", bytes as u64)?;
    control.begin("Comparing with streamlines", tractogram.len() as u64);
    backend.install(|| {
        let passed: Vec<AtomicBool> = (0..voxels).map(|_| AtomicBool::new(false)).collect();
        let followed = follow_all(&pathway, tractogram, &passed, control)?;
        let passed: Vec<bool> = passed.into_iter().map(AtomicBool::into_inner).collect();
        let mut found = PathwayAgreement {
            pathway_voxels: pathway.count() as u64,
            passed_voxels: passed.iter().filter(|passed| **passed).count() as u64,
            ..PathwayAgreement::default()
        };
        // In the order of the streamlines, so that the sums do not depend on the threads.
        for line in followed {
            let Some(line) = line else {
                found.not_finite += 1;
                continue;
            };
            found.streamlines += 1;
            found.within += usize::from(line.stays);
            found.length_mm += line.length_mm;
            found.length_within_mm += line.within_mm;
        }
        if found.streamlines == 0 {
            return Err(InputError::NoStreamlines.into());
        }
        let own: Vec<[usize; 3]> = pathway.voxels_inside().collect();
        let grid = &pathway.grid;
        let shared = own.par_iter().filter(|voxel| passed[grid.index(**voxel)]);
        found.shared_voxels = shared.count() as u64;
        let is_near = |voxel: &&[usize; 3]| {
            let [x, y, z] = [0, 1, 2].map(|axis| {
                let last = grid.shape[axis] - 1;
                voxel[axis].saturating_sub(1)..=last.min(voxel[axis] + 1)
            });
            let rows = z.flat_map(|z| y.clone().map(move |y| (y, z)));
            let mut rows = rows.map(|(y, z)| grid.index([*x.start(), y, z]));
            rows.any(|row| passed[row..=row + (x.end() - x.start())].contains(&true))
        };
        found.near_voxels = own.par_iter().filter(is_near).count() as u64;
        Ok(found)
    })
}

/// The course of one streamline.
#[derive(Clone, Copy)]
struct Followed {
    stays: bool,
    length_mm: f64,
    within_mm: f64,
}

/// The course of each streamline, `None` if a point is not finite; marks the voxels passed.
fn follow_all(
    pathway: &Mask,
    tractogram: &Tractogram,
    passed: &[AtomicBool],
    control: &Control,
) -> Result<Vec<Option<Followed>>, Cancelled> {
    let pieces = tractogram.len().div_ceil(PIECE);
    let followed = (0..pieces).into_par_iter().map_init(
        || Walk::new(&pathway.grid),
        |walk, piece| {
            control.check()?;
            let lines = piece * PIECE..tractogram.len().min((piece + 1) * PIECE);
            control.advance(lines.len() as u64);
            let lines =
                lines.map(|line| follow(tractogram.streamline(line), pathway, walk, passed));
            Ok(lines.collect::<Vec<_>>())
        },
    );
    Ok(followed.collect::<Result<Vec<_>, Cancelled>>()?.concat())
}

fn follow(
    line: &[[f32; 3]],
    pathway: &Mask,
    walk: &mut Walk,
    passed: &[AtomicBool],
) -> Option<Followed> {
    if line.is_empty() || !line.iter().flatten().all(|c| c.is_finite()) {
        return None;
    }
    let world = |point: &[f32; 3]| DVec3::from_array(point.map(f64::from));
    let mut followed = Followed {
        stays: line.iter().all(|point| walk.point(world(point)).is_some()),
        length_mm: 0.0,
        within_mm: 0.0,
    };
    let mut enter = |voxel: usize, mm: f64| {
        passed[voxel].store(true, Ordering::Relaxed);
        match pathway.inside[voxel] != 0 {
            true => followed.within_mm += mm,
            false => followed.stays = false,
        }
    };
    for pair in line.windows(2) {
        let (from, to) = (world(&pair[0]), world(&pair[1]));
        let mm = from.distance(to);
        walk.segment(from, to, |voxel, (begin, end)| {
            enter(voxel, mm * (end - begin))
        });
    }
    if let [point] = line
        && let Some(voxel) = walk.point(world(point))
    {
        enter(voxel, 0.0);
    }
    let ends = line
        .windows(2)
        .map(|pair| [world(&pair[0]), world(&pair[1])]);
    followed.length_mm = ends.map(|[from, to]| from.distance(to)).sum();
    Some(followed)
}
