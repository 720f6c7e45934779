//! Maps of lobes: apparent fibre density, complexity, directions.
//!
//! A lobe is the set of directions from which the steepest way uphill leads to its peak; its apparent fibre density is
//! the integral of the distribution over it (Smith 2013, NeuroImage 67:298). Complexity is 0 for one lobe and 1 for
//! equal ones (Riffert 2014, NeuroImage 84:1094).

use super::amplitudes::Amplitudes;
use super::{Params, Peak, Search, rows};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::spherical_harmonics::at_pole;
use crate::data::{HalfSphere, OdfField, Volume, VolumeKind};
use crate::solvers::Error;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Voxels of a piece.
const PIECE: usize = 64;

/// 1281 directions, 4° apart.
fn fine_sphere() -> &'static HalfSphere {
    HalfSphere::subdivided(4)
}

/// Maps of lobes on the grid of the distributions.
#[derive(Clone, Debug)]
pub struct Maps {
    /// Integral of the distribution over the sphere: √4π c_00.
    pub total: Volume,
    /// Integral over the lobe of each peak, one frame for each of the peaks of the parameters.
    pub density: Volume,
    /// Integral of each lobe divided by its peak: its solid angle, twice, if it were a box.
    pub dispersion: Volume,
    /// From 0 for one lobe to 1 for lobes of equal density; 0 without lobes.
    pub complexity: Volume,
    /// ∫ |u| f(u) du over positive values: red for x, green for y, blue for z, in world axes.
    pub dec: Volume,
}

/// Values of one voxel.
struct Values {
    total: f64,
    lobes: Vec<(f64, f64)>,
    complexity: f64,
    dec: [f64; 3],
}

/// Maps of the lobes whose peaks these parameters accept.
pub fn maps(
    field: &OdfField,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Maps, Error> {
    params.check()?;
    let n = field.grid.voxel_count();
    memory::claim_for::<f32>("The maps of lobes", n, 5 + 4 * params.count + 12)?;
    control.begin("Lobes", n as u64);
    let all = backend.install(|| every_voxel(field, params, control))?;
    let image = |frames: usize, value: &dyn Fn(&Values, usize) -> f64| {
        let frame = |k: usize| {
            all.iter()
                .map(move |v| v.as_ref().map_or(0.0, |v| value(v, k) as f32))
        };
        let values: Vec<f32> = (0..frames).flat_map(frame).collect();
        Volume::new(field.grid.clone(), frames, VolumeKind::Scalar, values)
    };
    let lobe = |v: &Values, k: usize| v.lobes.get(k).copied().unwrap_or_default();
    let dec = image(3, &|v, axis| v.dec[axis]);
    Ok(Maps {
        total: image(1, &|v, _| v.total),
        density: image(params.count, &|v, k| lobe(v, k).0),
        dispersion: image(params.count, &|v, k| lobe(v, k).1),
        complexity: image(1, &|v, _| v.complexity),
        dec: Volume::new(field.grid.clone(), 3, VolumeKind::Rgb, dec.values.clone()),
    })
}

fn every_voxel(
    field: &OdfField,
    params: &Params,
    control: &Control,
) -> Result<Vec<Option<Values>>, Cancelled> {
    let search = Search::new(field.order(), params.clone());
    let sphere = fine_sphere();
    let amplitudes = Amplitudes::new(field.order(), sphere);
    let n = field.grid.voxel_count();
    let pieces = (0..n.div_ceil(PIECE)).into_par_iter();
    let piece = |piece: usize| {
        control.check()?;
        let range = piece * PIECE..n.min((piece + 1) * PIECE);
        let is_used = |voxel: &usize| field.coefficients[*voxel] > 0.0;
        let used: Vec<usize> = range.clone().filter(is_used).collect();
        let mut values: Vec<Option<Values>> = range.clone().map(|_| None).collect();
        if !used.is_empty() {
            let rows = rows(field, &used);
            let all = amplitudes.values(&rows, used.len());
            let of_voxels = all.chunks_exact(sphere.vertices.len());
            for ((voxel, peaks), amplitudes) in used
                .iter()
                .zip(search.of_voxels(field, &used))
                .zip(of_voxels)
            {
                let mean = f64::from(field.coefficients[*voxel]);
                values[voxel - range.start] = Some(of_voxel(mean, &peaks, amplitudes));
            }
        }
        control.advance(range.len() as u64);
        Ok(values)
    };
    let all: Vec<Vec<Option<Values>>> = pieces.map(piece).collect::<Result<_, Cancelled>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// From c_00, the peaks and the amplitudes at the finer directions.
fn of_voxel(c_00: f64, peaks: &[Peak], amplitudes: &[f32]) -> Values {
    let sphere = fine_sphere();
    let mut dec = [0.0; 3];
    for ((u, weight), f) in sphere.vertices.iter().zip(&sphere.weights).zip(amplitudes) {
        let f = f64::from(f.max(0.0));
        for axis in 0..3 {
            dec[axis] += weight * f * u[axis].abs();
        }
    }
    let mut density = vec![0.0; peaks.len()];
    for (vertex, top) in summits(amplitudes).into_iter().enumerate() {
        let near = |peak: &Peak| peak.direction.dot(sphere.vertices[top]).abs();
        let nearest = (0..peaks.len()).max_by(|&a, &b| near(&peaks[a]).total_cmp(&near(&peaks[b])));
        // The summit of a lobe that does not count as a peak by the parameters is farther from all peaks than a grid step.
        if let Some(k) = nearest.filter(|&k| near(&peaks[k]) > OF_PEAK) {
            density[k] += sphere.weights[vertex] * f64::from(amplitudes[vertex].max(0.0));
        }
    }
    let sum: f64 = density.iter().sum();
    let largest = density.iter().copied().fold(0.0, f64::max);
    let lobes = density.len() as f64;
    let complexity = match density.len() > 1 && sum > 0.0 {
        true => lobes / (lobes - 1.0) * (1.0 - largest / sum),
        false => 0.0,
    };
    Values {
        total: c_00 * 4.0 * PI * at_pole(0),
        lobes: density
            .iter()
            .zip(peaks)
            .map(|(d, peak)| (*d, d / peak.amplitude))
            .collect(),
        complexity,
        dec,
    }
}

/// Cosine of 4°, the distance of the finer directions.
const OF_PEAK: f64 = 0.997_564;

/// The local maximum to which the steepest way leads from each direction.
fn summits(amplitudes: &[f32]) -> Vec<usize> {
    let sphere = fine_sphere();
    let uphill = |i: usize| {
        let around = sphere.neighbours[i].iter().copied();
        around.fold(i, |best, j| {
            if amplitudes[j] > amplitudes[best] {
                j
            } else {
                best
            }
        })
    };
    let next: Vec<usize> = (0..amplitudes.len()).map(uphill).collect();
    let mut summit = next.clone();
    // Pointer jumping: each round doubles the length of the ways.
    loop {
        let further: Vec<usize> = summit.iter().map(|&i| summit[i]).collect();
        if further == summit {
            return summit;
        }
        summit = further;
    }
}
