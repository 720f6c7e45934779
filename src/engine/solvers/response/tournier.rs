//! Single-fibre voxels of one shell by their two largest lobes.
//!
//! A deconvolution with a crude response and a penalty on negative values gives the lobes of each voxel; the voxels
//! with the largest √a (1 − b/a)², with a and b the amplitudes of the two largest, give the next response, until they
//! repeat.

use super::error::InputError;
use super::threshold::dilated;
use super::{Error, Estimate, Params, TissueResponse, checked_shells, fibres, inside, mask_of};
use crate::compute::{Backend, Control};
use crate::data::odf_field::Tissue;
use crate::data::spherical_harmonics::{at_pole, count};
use crate::data::{Gradients, Mask, OdfField, Response, Shells, Volume};
use crate::solvers::csd::{self, Directions, Problem};
use crate::solvers::peaks::{Params as PeakParams, Peak, Search};
use glam::DVec3;
use rayon::prelude::*;

const LOOPS: usize = 10;
/// Candidates of the next loop, as a multiple of the voxels chosen.
const CANDIDATES: usize = 10;
/// Order of the first response function.
const FIRST_ORDER: usize = 4;
/// Order of the deconvolutions.
const ORDER: usize = 8;
const PIECE: usize = 256;

/// White matter's response from single-fibre voxels of the shell with the highest b, which all shells then use.
pub fn tournier(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Estimate, Error> {
    params.check()?;
    let shells = checked_shells(dwi, gradients, mask, None)?;
    let outer = Shells {
        shells: shells.shells[shells.shells.len() - 1..].to_vec(),
        without_direction: Vec::new(),
    };
    let directions = outer.volume_count();
    let orders = (2..=ORDER).rev().step_by(2);
    let Some(order) = orders.into_iter().find(|&order| count(order) <= directions) else {
        let b_s_per_mm2 = outer.shells[0].b_s_per_mm2;
        return Err(InputError::FewDirections {
            directions,
            b_s_per_mm2,
        }
        .into());
    };
    // The scale has no effect on the ranks.
    let mean = super::isotropic(dwi, &outer, &inside(mask))?.mean_signal(0);
    let r_0 = mean / at_pole(0);
    let mut response = Response::new(None, vec![vec![r_0, -r_0, r_0]]);
    let mut candidates = mask.clone();
    let mut chosen: Vec<(usize, DVec3)> = Vec::new();
    for round in 0..LOOPS {
        let response_now = std::slice::from_ref(&response);
        let sphere = Directions::for_order(order);
        let problem = Problem::new(gradients, &outer, response_now, order, sphere)?;
        let r_0 = response.rows[0][0];
        let (field, _) = csd::fit_paper(dwi, &candidates, &problem, r_0, backend, control)?;
        let mut ranked = backend.install(|| ranked(&field, &inside(&candidates)));
        control.check()?;
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let best = |n: usize| {
            let best = ranked.iter().take(n);
            best.map(|&(_, voxel, u)| (voxel, u)).collect::<Vec<_>>()
        };
        let before: Vec<usize> = sorted(&chosen);
        chosen = best(params.voxels);
        if chosen.is_empty() {
            return Err(InputError::NoFibre.into());
        }
        let (voxels, axes): (Vec<usize>, Vec<DVec3>) = chosen.iter().copied().unzip();
        let degrees = if round == 0 {
            FIRST_ORDER
        } else {
            params.order
        };
        response = fibres(dwi, gradients, &outer, &voxels, &axes, degrees)?;
        if before == sorted(&chosen) {
            break;
        }
        let next: Vec<usize> = sorted(&best(CANDIDATES * params.voxels));
        let wide = dilated(&mask_of(mask, &next));
        let within = wide
            .iter()
            .zip(mask.inside.iter())
            .map(|(a, b)| a & u8::from(*b != 0));
        candidates = Mask::new(mask.grid.clone(), within.collect::<Vec<u8>>());
    }
    let (voxels, axes): (Vec<usize>, Vec<DVec3>) = chosen.iter().copied().unzip();
    let response = fibres(dwi, gradients, &shells, &voxels, &axes, params.order)?;
    let tissues = vec![TissueResponse {
        tissue: Tissue::WhiteMatter,
        response,
        voxels: mask_of(mask, &voxels),
        candidates: Some(mask.count()),
    }];
    Ok(Estimate { tissues, shells })
}

fn sorted(chosen: &[(usize, DVec3)]) -> Vec<usize> {
    let mut voxels: Vec<usize> = chosen.iter().map(|(voxel, _)| *voxel).collect();
    voxels.sort_unstable();
    voxels
}

/// The rank, the voxel and the direction of the largest lobe; voxels without a lobe are left out. Runs on the current
/// rayon pool.
fn ranked(field: &OdfField, voxels: &[usize]) -> Vec<(f64, usize, DVec3)> {
    let two = PeakParams {
        count: 2,
        min_amplitude: 0.0,
        min_share: 0.0,
    };
    let search = Search::new(field.order(), two);
    let rank = |peaks: &[Peak]| {
        let largest = peaks.first()?;
        let second = peaks.get(1).map_or(0.0, |peak| peak.amplitude);
        let single = 1.0 - second / largest.amplitude;
        Some((
            largest.amplitude.sqrt() * single * single,
            largest.direction,
        ))
    };
    let piece = |voxels: &[usize]| {
        let peaks = search.of_voxels(field, voxels);
        let ranked = voxels.iter().zip(peaks);
        ranked
            .filter_map(|(&voxel, peaks)| rank(&peaks).map(|(rank, u)| (rank, voxel, u)))
            .collect::<Vec<_>>()
    };
    let pieces: Vec<Vec<_>> = voxels.par_chunks(PIECE).map(piece).collect();
    pieces.concat()
}
