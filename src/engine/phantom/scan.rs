//! A diffusion scan of the head.
//!
//! Signal of a voxel: S(b, g) = Σᵢ fᵢ S₀ᵢ exp(−b gᵀ Dᵢ g) over the tissues and, within white matter, over the bundles
//! and the fibres between them; then Rician noise |S + n₁ + i n₂| with n ~ N(0, σ²) (Gudbjartsson and Patz 1995).

use super::directions::half_sphere;
use super::head::Head;
use super::tissue::{Fractions, Tissue};
use crate::compute::{Cancelled, Control};
use crate::data::random::Random;
use crate::data::tensor_field::dyad;
use crate::data::{Gradients, Grid, Mask, Volume, VolumeKind};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Diffusivity along and across the fibres of a bundle, mm²/s.
pub const BUNDLE_MM2_PER_S: [f64; 2] = [1.7e-3, 0.3e-3];
/// Diffusivity along and across the fibres outside bundles: less anisotropic, because small fibres intermingle there.
pub const REST_MM2_PER_S: [f64; 2] = [1.35e-3, 0.45e-3];
/// Signal of white matter at b = 0; the SNR of a scan is relative to it.
pub const WHITE_SIGNAL: f64 = 1000.0;

/// Signal at b = 0 (T2-weighted, fat suppressed) and diffusivity (mm²/s) of tissues without fibres.
pub fn signal(tissue: Tissue) -> (f64, f64) {
    match tissue {
        Tissue::Air => (0.0, 0.0),
        Tissue::Scalp => (230.0, 0.4e-3),
        Tissue::Muscle => (330.0, 1.4e-3),
        Tissue::Skull => (35.0, 0.5e-3),
        Tissue::Marrow => (150.0, 0.4e-3),
        Tissue::Eye => (2600.0, 3.0e-3),
        Tissue::Csf | Tissue::Ventricle => (2700.0, 3.0e-3),
        Tissue::Grey | Tissue::CerebellarGrey => (1380.0, 0.8e-3),
        Tissue::DeepGrey => (1080.0, 0.8e-3),
        Tissue::White | Tissue::CerebellarWhite | Tissue::BrainStem => (WHITE_SIGNAL, 0.7e-3),
    }
}

/// Volumes of one diffusion weighting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shell {
    /// b-value of the shell, s/mm².
    pub b_s_per_mm2: f64,
    /// Number of directions, spread over the half sphere.
    pub directions: usize,
}

/// Parameters of a simulated scan.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanOptions {
    /// Grid of the scan.
    pub grid: Arc<Grid>,
    /// Volumes without weighting, which come first.
    pub b0_count: usize,
    /// Shells with diffusion weighting.
    pub shells: Vec<Shell>,
    /// Ratio of white matter's b = 0 signal to σ; `None` for no noise.
    pub snr: Option<f64>,
    /// Random seed of the noise.
    pub noise_seed: u64,
}

impl ScanOptions {
    /// Gradient table of the scan, in the order of its volumes.
    pub fn gradients(&self) -> Gradients {
        let mut b_s_per_mm2 = vec![0.0; self.b0_count];
        let mut directions = vec![DVec3::ZERO; self.b0_count];
        for shell in &self.shells {
            b_s_per_mm2.extend(std::iter::repeat_n(shell.b_s_per_mm2, shell.directions));
            directions.extend(half_sphere(shell.directions));
        }
        Gradients {
            b_s_per_mm2,
            directions,
        }
    }
}

/// One kind of water in a voxel: its b = 0 signal and tensor xx xy xz yy yz zz (mm²/s).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Compartment {
    /// Signal at b = 0.
    pub signal: f64,
    /// xx xy xz yy yz zz, mm²/s.
    pub tensor: [f64; 6],
}

/// across · I + (along − across) · dyad; the remainder of the dyad's trace to 1 is distributed evenly, so that the
/// mean diffusivity is preserved.
fn tensor([along, across]: [f64; 2], dyad: &[f64; 6]) -> [f64; 6] {
    let missing = 1.0 - dyad[0] - dyad[3] - dyad[5];
    let even = across + (along - across) * missing / 3.0;
    let mut tensor = [even, 0.0, 0.0, even, 0.0, even];
    for (t, d) in tensor.iter_mut().zip(dyad) {
        *t += (along - across) * d;
    }
    tensor
}

impl Head {
    /// The compartments of a voxel with these edges (mm) around a world point.
    pub fn compartments(&self, world: DVec3, edges: [DVec3; 3]) -> Vec<Compartment> {
        let mut out = Vec::new();
        self.compartments_into(world, edges, &mut out);
        out
    }

    fn compartments_into(&self, world: DVec3, edges: [DVec3; 3], out: &mut Vec<Compartment>) {
        out.clear();
        let (fractions, _) = self.voxel(world, edges);
        for tissue in Tissue::ALL {
            let (strength, d) = signal(tissue);
            let share = f64::from(fractions.fraction(tissue));
            if share > 0.0 && !tissue.is_white() {
                out.push(Compartment {
                    signal: strength * share,
                    tensor: [d, 0.0, 0.0, d, 0.0, d],
                });
            }
        }
        let width = edges.iter().map(|e| e.length()).sum::<f64>() / 3.0;
        self.fibre_compartments(world, width, f64::from(fractions.white()), out);
    }

    /// Adds the compartments of a fraction `white` of white matter. Directions vary slowly: those at the voxel's
    /// centre are used for all of it.
    fn fibre_compartments(&self, world: DVec3, width: f64, white: f64, out: &mut Vec<Compartment>) {
        if white == 0.0 {
            return;
        }
        let fibres = self.fibres(world, width);
        out.extend(fibres.shares.iter().map(|s| Compartment {
            signal: WHITE_SIGNAL * white * s.share,
            tensor: tensor(BUNDLE_MM2_PER_S, &dyad(s.direction)),
        }));
        if fibres.rest > 0.0 {
            out.push(Compartment {
                signal: WHITE_SIGNAL * white * fibres.rest,
                tensor: tensor(REST_MM2_PER_S, &fibres.rest_dyad),
            });
        }
    }

    /// The scan, frame slowest: the b = 0 volumes, then shell by shell. Noise is indexed by voxel and volume, so the
    /// bytes do not depend on the number of threads.
    pub fn diffusion_scan(
        &self,
        options: &ScanOptions,
        control: &Control,
    ) -> Result<(Volume, Gradients), Cancelled> {
        let (volume, gradients, _) = self.scan_and_mask(options, control)?;
        Ok((volume, gradients))
    }

    /// The scan and the voxels that are at least half brain.
    pub(super) fn scan_and_mask(
        &self,
        options: &ScanOptions,
        control: &Control,
    ) -> Result<(Volume, Gradients, Mask), Cancelled> {
        let gradients = options.gradients();
        let grid = &options.grid;
        let (frames, voxels) = (gradients.len(), grid.voxel_count());
        let [nx, ny, nz] = grid.shape;
        let m = grid.world_from_voxel.matrix3;
        let edges = [m.x_axis, m.y_axis, m.z_axis];
        let width = grid.spacing().element_sum() / 3.0;
        let weights: Vec<[f64; 6]> = (0..frames)
            .map(|f| weights(gradients.b_s_per_mm2[f], gradients.directions[f]))
            .collect();
        // Signal in each frame of a full voxel of each tissue without fibres.
        let plain: Vec<[f32; Tissue::COUNT]> = gradients
            .b_s_per_mm2
            .iter()
            .map(|b| {
                Tissue::ALL.map(|tissue| match tissue.is_white() {
                    true => 0.0,
                    false => {
                        let (strength, d) = signal(tissue);
                        (strength * (-b * d).exp()) as f32
                    }
                })
            })
            .collect();
        let sigma = options.snr.map(|snr| (WHITE_SIGNAL / snr) as f32);
        let random: Vec<Random> = (0..frames as u64)
            .map(|f| Random::new(options.noise_seed).stream(f))
            .collect();
        control.begin("Simulating the scan", nz as u64);
        let mut values = vec![0f32; frames * voxels];
        let mut inside = vec![0u8; voxels];
        let mut slices: Vec<Vec<&mut [f32]>> = (0..nz).map(|_| Vec::new()).collect();
        for frame in values.chunks_mut(voxels) {
            for (z, part) in frame.chunks_mut(nx * ny).enumerate() {
                slices[z].push(part);
            }
        }
        slices
            .into_par_iter()
            .zip(inside.par_chunks_mut(nx * ny))
            .enumerate()
            .try_for_each(|(z, (mut frames, inside))| {
                let mut row = Row::default();
                let mut fibres = Vec::new();
                for y in 0..ny {
                    control.check()?;
                    let at = |x: usize| grid.world(DVec3::new(x as f64, y as f64, z as f64));
                    row.fill(nx, m.x_axis.length(), |x| self.voxel(at(x), edges));
                    for x in 0..nx {
                        let fractions = &row.fractions[x];
                        let i = y * nx + x;
                        inside[i] = u8::from(fractions.brain() >= 0.5);
                        if fractions.fraction(Tissue::Air) == 1.0 {
                            continue;
                        }
                        fibres.clear();
                        let white = f64::from(fractions.white());
                        self.fibre_compartments(at(x), width, white, &mut fibres);
                        for (f, frame) in frames.iter_mut().enumerate() {
                            let still: f32 =
                                plain[f].iter().zip(fractions.0).map(|(s, f)| s * f).sum();
                            frame[i] = still + attenuated(&fibres, &weights[f]) as f32;
                        }
                    }
                }
                if let Some(sigma) = sigma {
                    for (frame, random) in frames.iter_mut().zip(&random) {
                        random.add_rician(sigma, (z * nx * ny) as u64, frame);
                    }
                }
                control.advance(1);
                Ok(())
            })?;
        let volume = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values);
        Ok((volume, gradients, Mask::new(grid.clone(), inside)))
    }
}

/// The tissues of one row of voxels, computed with large steps where they are constant.
#[derive(Default)]
pub(super) struct Row {
    pub fractions: Vec<Fractions>,
}

impl Row {
    /// `look(x)` returns the fractions of a voxel and the distance over which they are constant, mm, by a first-order
    /// estimate; half of it is used.
    pub fn fill(&mut self, count: usize, step_mm: f64, look: impl Fn(usize) -> (Fractions, f64)) {
        self.fractions.clear();
        while self.fractions.len() < count {
            let x = self.fractions.len();
            let (fractions, clear_mm) = look(x);
            let leap = 1 + (0.5 * clear_mm / step_mm).max(0.0) as usize;
            self.fractions.resize((x + leap).min(count), fractions);
        }
    }
}

/// b g gᵀ as xx xy xz yy yz zz with the off-diagonal terms doubled, so that b gᵀ D g is a product of six-vectors.
fn weights(b_s_per_mm2: f64, direction: DVec3) -> [f64; 6] {
    let [xx, xy, xz, yy, yz, zz] = dyad(direction);
    [xx, 2.0 * xy, 2.0 * xz, yy, 2.0 * yz, zz].map(|d| b_s_per_mm2 * d)
}

/// Noise-free signal for these weights.
fn attenuated(compartments: &[Compartment], weights: &[f64; 6]) -> f64 {
    compartments
        .iter()
        .map(|c| {
            let exponent: f64 = c.tensor.iter().zip(weights).map(|(d, w)| d * w).sum();
            c.signal * (-exponent).exp()
        })
        .sum()
}

/// Noise-free signal of compartments with one weighting.
pub fn noise_free(compartments: &[Compartment], b_s_per_mm2: f64, direction: DVec3) -> f64 {
    attenuated(compartments, &weights(b_s_per_mm2, direction))
}
