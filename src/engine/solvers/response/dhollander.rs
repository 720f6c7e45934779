//! White matter, grey matter and fluid without any other image.
//!
//! The decay of the signal with b, ln(S_0 / S_b) averaged over the volumes of all shells, is largest in fluid and
//! smallest in white matter; anisotropy tells white matter from the rest. Within each tissue, the voxels that represent
//! it best give its response.

use super::error::InputError;
use super::threshold::{eroded, optimal_threshold};
use super::{
    Error, Estimate, Params, Tensors, TissueResponse, checked_shells, fibres, isotropic, mask_of,
    principal_directions,
};
use crate::compute::{Backend, Control, memory};
use crate::data::odf_field::Tissue;
use crate::data::spherical_harmonics::at_pole;
use crate::data::{Gradients, Mask, Response, Shells, Volume};
use crate::solvers::csd::{self, Directions, Precision, Problem};
use crate::solvers::peaks::{Params as PeakParams, Search};
use glam::DVec3;
use rayon::prelude::*;

/// Decays above this are those of noise.
const MAX_DECAY: f64 = 10.0;
/// Standard deviations of a normal distribution by its median absolute deviation.
const DEVIATIONS: f64 = 1.4826;
/// White matter farther from its median than this is fluid mixed with it.
const OUTLIERS: f64 = 2.0;

/// Response functions of three tissues, white matter first.
pub fn dhollander(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Estimate, Error> {
    params.check()?;
    let shells = checked_shells(dwi, gradients, mask, None)?;
    if !shells.has_b0() {
        return Err(InputError::NoB0(shells.summary()).into());
    }
    let n = dwi.grid.voxel_count();
    memory::claim_for::<f64>("The choice of tissues", n, shells.shells.len() + 4)?;
    let means = backend.install(|| shell_means(dwi, &shells, control))?;
    let decay = Decay::new(&shells, &means, &eroded(mask, params.erode));
    let safe = decay.voxels();
    if safe.is_empty() {
        let inside = eroded(mask, params.erode);
        return Err(match voxels_with_signal(&means, &inside) {
            0 => InputError::NoSafeVoxel(params.erode),
            voxels => InputError::NoDecay { voxels },
        }
        .into());
    }
    let tensors = principal_directions(dwi, gradients, &mask_of(mask, &safe), backend, control)?;
    let refined = Refined::new(&decay, &safe, &tensors, params.fa)?;
    let csf = refined.purest_csf(&decay, params.csf_share);
    let grey = refined.central_grey(&decay, params.grey_share);
    let csf_response = isotropic(dwi, &shells, &csf)?;
    let scan = (dwi, gradients, &shells);
    let white = single_fibres(
        scan,
        &refined.white,
        &means,
        &csf_response,
        params,
        backend,
        control,
    )?;
    let axes: Vec<DVec3> = white.iter().map(|v| tensors.directions[*v]).collect();
    let white_response = fibres(dwi, gradients, &shells, &white, &axes, params.order)?;
    let grey_response = isotropic(dwi, &shells, &grey)?;
    let tissue_response = |tissue, response, voxels: &[usize], candidates: usize| TissueResponse {
        tissue,
        response,
        voxels: mask_of(mask, voxels),
        candidates: Some(candidates),
    };
    let tissues = vec![
        tissue_response(
            Tissue::WhiteMatter,
            white_response,
            &white,
            refined.white.len(),
        ),
        tissue_response(Tissue::GreyMatter, grey_response, &grey, refined.grey.len()),
        tissue_response(Tissue::Csf, csf_response, &csf, refined.csf.len()),
    ];
    Ok(Estimate { tissues, shells })
}

/// The mean of each shell in each voxel. Runs on the current rayon pool.
fn shell_means(dwi: &Volume, shells: &Shells, control: &Control) -> Result<Vec<Vec<f64>>, Error> {
    let n = dwi.grid.voxel_count();
    let mean = |shell: &crate::data::ShellVolumes| {
        let mut sums = vec![0.0; n];
        for &volume in &shell.volumes {
            control.check()?;
            let samples = dwi.frame(volume).par_iter();
            let sums = sums.par_iter_mut().zip(samples);
            sums.for_each(|(sum, s)| *sum += if *s < 0.0 { 0.0 } else { f64::from(*s) });
        }
        sums.iter_mut()
            .for_each(|sum| *sum /= shell.volumes.len() as f64);
        Ok(sums)
    };
    shells.shells.iter().map(mean).collect()
}

/// Number of voxels inside with a signal in all shells.
fn voxels_with_signal(means: &[Vec<f64>], inside: &[u8]) -> usize {
    let has_signal = |voxel: usize| inside[voxel] != 0 && has_signal(means, voxel);
    (0..inside.len()).filter(|voxel| has_signal(*voxel)).count()
}

fn has_signal(means: &[Vec<f64>], voxel: usize) -> bool {
    means
        .iter()
        .all(|mean| mean[voxel] > 0.0 && mean[voxel].is_finite())
}

/// ln(S_0 / S_b), averaged over the volumes with weighting; NaN outside, and where the signal does not decay.
struct Decay(Vec<f64>);

impl Decay {
    fn new(shells: &Shells, means: &[Vec<f64>], inside: &[u8]) -> Self {
        let weighted = &shells.shells[1..];
        let total: usize = weighted.iter().map(|shell| shell.volumes.len()).sum();
        let at = |voxel: usize| {
            if inside[voxel] == 0 || !has_signal(means, voxel) {
                return f64::NAN;
            }
            let ratios = weighted.iter().zip(&means[1..]).map(|(shell, mean)| {
                (means[0][voxel] / mean[voxel]).ln() * shell.volumes.len() as f64 / total as f64
            });
            match ratios.sum::<f64>() {
                decay if decay > 0.0 => decay.min(MAX_DECAY),
                _ => f64::NAN,
            }
        };
        Self((0..inside.len()).map(at).collect())
    }

    fn voxels(&self) -> Vec<usize> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, d)| d.is_finite())
            .map(|(voxel, _)| voxel)
            .collect()
    }

    fn values(&self, voxels: &[usize]) -> Vec<f64> {
        voxels.iter().map(|v| self.0[*v]).collect()
    }

    fn median(&self, voxels: &[usize]) -> f64 {
        median_of(self.values(voxels))
    }
}

/// The mean of the two middle values for an even number; 0 without values.
fn median_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(upper), 0) => 0.5 * (values[middle - 1] + upper),
        (Some(value), _) => *value,
        (None, _) => 0.0,
    }
}

/// Voxels of each tissue, ascending.
struct Refined {
    white: Vec<usize>,
    grey: Vec<usize>,
    csf: Vec<usize>,
}

impl Refined {
    fn new(decay: &Decay, safe: &[usize], tensors: &Tensors, fa: f64) -> Result<Self, InputError> {
        let d = |voxel: &usize| decay.0[*voxel];
        let is_white = |voxel: &usize| f64::from(tensors.fa.values[*voxel]) > fa;
        let (white, rest): (Vec<usize>, Vec<usize>) = safe.iter().copied().partition(is_white);
        let limit = optimal_threshold(&mut decay.values(&rest)).unwrap_or(f64::INFINITY);
        let (csf, grey): (Vec<usize>, Vec<usize>) =
            rest.iter().copied().partition(|v| d(v) > limit);
        if white.is_empty() || grey.is_empty() || csf.is_empty() {
            return Err(InputError::NoTissue(
                match (white.is_empty(), grey.is_empty()) {
                    (true, _) => Tissue::WhiteMatter,
                    (_, true) => Tissue::GreyMatter,
                    _ => Tissue::Csf,
                },
            ));
        }
        let centre = decay.median(&white);
        let deviation = median_of(white.iter().map(|v| (d(v) - centre).abs()).collect());
        let highest = centre + OUTLIERS * DEVIATIONS * deviation;
        let (outliers, white): (Vec<usize>, Vec<usize>) =
            white.iter().copied().partition(|v| d(v) > highest);
        let min_decay = csf.iter().map(d).fold(f64::INFINITY, f64::min);
        // Fluid hidden among white matter, without the part that is mixed with other tissues.
        let mixed = csf
            .iter()
            .copied()
            .chain(outliers.into_iter().filter(|v| d(v) > min_decay));
        let mut fluid: Vec<usize> = mixed.collect();
        fluid.sort_unstable();
        if let Some(limit) = optimal_threshold(&mut decay.values(&fluid)) {
            fluid.retain(|v| d(v) > limit);
        }
        let grey = central(decay, &grey);
        if grey.is_empty() {
            return Err(InputError::NoTissue(Tissue::GreyMatter));
        }
        Ok(Self {
            white,
            grey,
            csf: fluid,
        })
    }

    /// The share of fluid with the largest decay.
    fn purest_csf(&self, decay: &Decay, share: f64) -> Vec<usize> {
        best(&self.csf, count_of(&self.csf, share), |v| -decay.0[v])
    }

    /// The share of grey matter nearest to its median decay.
    fn central_grey(&self, decay: &Decay, share: f64) -> Vec<usize> {
        let middle = decay.median(&self.grey);
        best(&self.grey, count_of(&self.grey, share), |v| {
            (decay.0[v] - middle).abs()
        })
    }
}

/// Grey matter without the parts far from its median on either side.
fn central(decay: &Decay, grey: &[usize]) -> Vec<usize> {
    let middle = decay.median(grey);
    let (high, low): (Vec<usize>, Vec<usize>) =
        grey.iter().copied().partition(|v| decay.0[*v] > middle);
    let upper = optimal_threshold(&mut decay.values(&high)).unwrap_or(f64::INFINITY);
    let lower = optimal_threshold(&mut decay.values(&low)).unwrap_or(f64::NEG_INFINITY);
    let within = |v: &usize| (lower..=upper).contains(&decay.0[*v]);
    grey.iter().copied().filter(within).collect()
}

fn count_of(voxels: &[usize], share: f64) -> usize {
    ((voxels.len() as f64 * share).round() as usize).max(1)
}

/// The `n` voxels with the smallest key, ascending.
fn best(voxels: &[usize], n: usize, key: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut ranked: Vec<(f64, usize)> = voxels.iter().map(|&v| (key(v), v)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = ranked.into_iter().take(n).map(|(_, v)| v).collect();
    chosen.sort_unstable();
    chosen
}

/// White matter with one bundle: deconvolution with a sharp response and the fluid's at order 2, then 6, keeps the
/// voxels with the largest peak relative to all signal.
fn single_fibres(
    (dwi, gradients, shells): (&Volume, &Gradients, &Shells),
    white: &[usize],
    means: &[Vec<f64>],
    csf: &Response,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Vec<usize>, Error> {
    // One amplitude for all shells, the mean of all volumes: a bundle without diffusion across it.
    let volumes = shells.volume_count() as f64;
    let mean_of = |voxel: &usize| {
        let sums = shells.shells.iter().zip(means);
        sums.map(|(shell, mean)| mean[*voxel] * shell.volumes.len() as f64)
            .sum::<f64>()
            / volumes
    };
    let r = median_of(white.iter().map(mean_of).collect()) / at_pole(0);
    let rows = shells
        .shells
        .iter()
        .map(|shell| match shell.b_s_per_mm2 == 0.0 {
            true => vec![r],
            false => vec![r, -r, r, -r],
        });
    let sharp = Response::new(csf.b_s_per_mm2.clone(), rows.collect());
    let target = count_of(white, params.single_fibre_share);
    let mut kept = white.to_vec();
    // The sharpness of the best voxels hardly differs, so the constraint decides among them: in the 320 directions of low
    // orders, which are symmetric, 0.89 of the voxels are those of MRtrix (Dice), in these 0.94; two sets of MRtrix's own
    // kind agree in 0.95.
    let directions = Directions::for_order(csd::MAX_ORDER);
    for (order, n) in [(2, 2 * target), (6, target)] {
        let responses = [sharp.clone(), csf.clone()];
        let problem = Problem::new(gradients, shells, &responses, order, directions.clone())?;
        let mask = Mask::new(dwi.grid.clone(), marks(dwi.grid.voxel_count(), &kept));
        let single = Precision::Single;
        let (field, fluid, _) = csd::fit_problem(dwi, &mask, &problem, single, backend, control)?;
        let single_peak = PeakParams {
            count: 1,
            min_amplitude: 0.0,
            min_share: 0.0,
        };
        let search = Search::new(order, single_peak);
        let peaks = backend.install(|| {
            let pieces = kept
                .par_chunks(256)
                .map(|piece| search.of_voxels(&field, piece));
            pieces.collect::<Vec<_>>().concat()
        });
        control.check()?;
        let mut sharpness = vec![0.0; mask.inside.len()];
        for (&voxel, peaks) in kept.iter().zip(&peaks) {
            let sum = f64::from(field.coefficients[voxel]) + f64::from(fluid[0].values[voxel]);
            let peak = peaks.first().map_or(0.0, |peak| peak.amplitude);
            sharpness[voxel] = if sum > 0.0 { peak / sum } else { 0.0 };
        }
        kept = best(&kept, n, |v| -sharpness[v]);
    }
    Ok(kept)
}

fn marks(n: usize, voxels: &[usize]) -> Vec<u8> {
    let mut marks = vec![0; n];
    for &voxel in voxels {
        marks[voxel] = 1;
    }
    marks
}
