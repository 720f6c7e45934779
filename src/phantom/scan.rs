//! A diffusion scan of the head.
//!
//! Signal of a voxel: S(b, g) = Σᵢ fᵢ S₀ᵢ exp(−b gᵀ Dᵢ g) over the tissues and, within white
//! matter, over the bundles and what lies between them; then Rician noise |S + n₁ + i n₂| with
//! n ~ N(0, σ²) (Gudbjartsson and Patz 1995).

use super::directions::half_sphere;
use super::head::{Head, Sample};
use super::random::Random;
use super::tissue::Tissue;
use crate::compute::{Cancelled, Control};
use crate::data::{Gradients, Grid, Volume, VolumeKind};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Diffusivity along and across the fibres of a bundle, mm²/s.
pub const BUNDLE_MM2_PER_S: [f64; 2] = [1.7e-3, 0.3e-3];
/// The same where no bundle runs and all fibres agree: less, since small fibres mingle there.
pub const REST_MM2_PER_S: [f64; 2] = [1.25e-3, 0.55e-3];
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
        Tissue::Grey | Tissue::CerebellarGrey => (1270.0, 0.8e-3),
        Tissue::DeepGrey => (1080.0, 0.8e-3),
        Tissue::White | Tissue::CerebellarWhite | Tissue::BrainStem => (WHITE_SIGNAL, 0.7e-3),
    }
}

/// Volumes of one diffusion weighting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shell {
    pub b_s_per_mm2: f64,
    pub directions: usize,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ScanOptions {
    pub grid: Arc<Grid>,
    /// Volumes without weighting, which come first.
    pub b0_count: usize,
    pub shells: Vec<Shell>,
    /// White matter's b = 0 signal over σ; `None` for no noise.
    pub snr: Option<f64>,
    /// Seeds the noise.
    pub noise_seed: u64,
}

impl ScanOptions {
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
    pub signal: f64,
    pub tensor: [f64; 6],
}

/// Collects the compartments of a voxel from its parts.
struct Collector {
    tissues: [f64; Tissue::COUNT],
    /// Bundle, share, dyad.
    strands: Vec<(usize, f64, [f64; 6])>,
    rest: f64,
    rest_dyad: [f64; 6],
}

fn add(to: &mut [f64; 6], weight: f64, what: &[f64; 6]) {
    for (t, w) in to.iter_mut().zip(what) {
        *t += weight * w;
    }
}

fn dyad(v: DVec3) -> [f64; 6] {
    [
        v.x * v.x,
        v.x * v.y,
        v.x * v.z,
        v.y * v.y,
        v.y * v.z,
        v.z * v.z,
    ]
}

/// across · I + (along − across) · dyad
fn tensor([along, across]: [f64; 2], dyad: &[f64; 6]) -> [f64; 6] {
    let mut tensor = [across, 0.0, 0.0, across, 0.0, across];
    add(&mut tensor, along - across, dyad);
    tensor
}

impl Collector {
    fn take(&mut self, sample: &Sample, weight: f64) {
        for (sum, f) in self.tissues.iter_mut().zip(sample.fractions.0) {
            *sum += weight * f64::from(f);
        }
        let white = weight * f64::from(sample.fractions.white());
        if white == 0.0 {
            return;
        }
        for strand in &sample.strands {
            let share = white * strand.share;
            let known = self.strands.iter().position(|s| s.0 == strand.bundle);
            let at = known.unwrap_or_else(|| {
                self.strands.push((strand.bundle, 0.0, [0.0; 6]));
                self.strands.len() - 1
            });
            self.strands[at].1 += share;
            add(&mut self.strands[at].2, share, &dyad(strand.direction));
        }
        self.rest += white * sample.rest;
        add(&mut self.rest_dyad, white * sample.rest, &sample.rest_dyad);
    }

    fn compartments(mut self, out: &mut Vec<Compartment>) {
        out.clear();
        for tissue in Tissue::ALL {
            let (strength, diffusivity) = signal(tissue);
            let signal = strength * self.tissues[tissue as usize];
            if signal > 0.0 && !tissue.is_white() {
                let d = diffusivity;
                out.push(Compartment {
                    signal,
                    tensor: [d, 0.0, 0.0, d, 0.0, d],
                });
            }
        }
        let mut fibres = |eigenvalues: [f64; 2], share: f64, dyad: &mut [f64; 6]| {
            if share > 0.0 {
                dyad.iter_mut().for_each(|d| *d /= share);
                out.push(Compartment {
                    signal: WHITE_SIGNAL * share,
                    tensor: tensor(eigenvalues, dyad),
                });
            }
        };
        for (_, share, dyad) in &mut self.strands {
            fibres(BUNDLE_MM2_PER_S, *share, dyad);
        }
        fibres(REST_MM2_PER_S, self.rest, &mut self.rest_dyad);
    }
}

impl Head {
    /// What a voxel with these edges (mm) around a world point gives to a diffusion scan.
    pub fn compartments(&self, world: DVec3, edges: [DVec3; 3]) -> Vec<Compartment> {
        let mut out = Vec::new();
        self.compartments_into(world, edges, &mut out);
        out
    }

    fn compartments_into(&self, world: DVec3, edges: [DVec3; 3], out: &mut Vec<Compartment>) {
        let mut collector = Collector {
            tissues: [0.0; Tissue::COUNT],
            strands: Vec::new(),
            rest: 0.0,
            rest_dyad: [0.0; 6],
        };
        self.supersample(world, edges, |sample, weight| {
            collector.take(sample, weight)
        });
        collector.compartments(out);
    }

    /// The scan, frame slowest: the b = 0 volumes, then shell by shell. Noise is counted by voxel
    /// and volume, so the bytes do not depend on the number of threads.
    pub fn diffusion_scan(
        &self,
        options: &ScanOptions,
        control: &Control,
    ) -> Result<(Volume, Gradients), Cancelled> {
        let gradients = options.gradients();
        let grid = &options.grid;
        let (frames, voxels) = (gradients.len(), grid.voxel_count());
        let slice = grid.shape[0] * grid.shape[1];
        let m = grid.world_from_voxel.matrix3;
        let edges = [m.x_axis, m.y_axis, m.z_axis];
        // b g gᵀ with the off-diagonal terms doubled, so that b gᵀ D g is a product of six.
        let weights: Vec<[f64; 6]> = (0..frames)
            .map(|f| {
                let b = gradients.b_s_per_mm2[f];
                let d = dyad(gradients.directions[f]);
                [1.0, 2.0, 2.0, 1.0, 2.0, 1.0]
                    .iter()
                    .zip(d)
                    .map(|(twice, d)| b * twice * d)
                    .collect::<Vec<_>>()
                    .try_into()
                    .unwrap_or_default()
            })
            .collect();
        let noise = options.snr.map(|snr| (WHITE_SIGNAL / snr) as f32);
        let random: Vec<Random> = (0..frames as u64)
            .map(|f| Random::new(options.noise_seed).stream(f))
            .collect();
        control.begin("Scanning the made-up head", grid.shape[2] as u64);
        let mut values = vec![0f32; frames * voxels];
        let mut slices: Vec<Vec<&mut [f32]>> = (0..grid.shape[2]).map(|_| Vec::new()).collect();
        for frame in values.chunks_mut(voxels) {
            for (z, part) in frame.chunks_mut(slice).enumerate() {
                slices[z].push(part);
            }
        }
        slices
            .into_par_iter()
            .enumerate()
            .try_for_each(|(z, mut frames)| {
                let mut compartments = Vec::new();
                for i in 0..slice {
                    if i % grid.shape[0] == 0 {
                        control.check()?;
                    }
                    let voxel = grid.voxel(z * slice + i).map(|v| v as f64);
                    let world = grid.world(DVec3::from_array(voxel));
                    self.compartments_into(world, edges, &mut compartments);
                    for (f, frame) in frames.iter_mut().enumerate() {
                        let clean = attenuated(&compartments, &weights[f]) as f32;
                        frame[i] = match noise {
                            None => clean,
                            Some(sigma) => {
                                let (a, b) = random[f].normal_pair((z * slice + i) as u64);
                                (clean + sigma * a).hypot(sigma * b)
                            }
                        };
                    }
                }
                control.advance(1);
                Ok(())
            })?;
        let volume = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values);
        Ok((volume, gradients))
    }
}

/// Noise-free signal for `weights` = b (g gᵀ) with doubled off-diagonal terms.
fn attenuated(compartments: &[Compartment], weights: &[f64; 6]) -> f64 {
    compartments
        .iter()
        .map(|c| {
            let exponent: f64 = c.tensor.iter().zip(weights).map(|(d, w)| d * w).sum();
            c.signal * (-exponent).exp()
        })
        .sum()
}

/// Noise-free signal of compartments at one weighting.
pub fn noise_free(compartments: &[Compartment], b_s_per_mm2: f64, direction: DVec3) -> f64 {
    let [xx, xy, xz, yy, yz, zz] = dyad(direction);
    let twice = [xx, 2.0 * xy, 2.0 * xz, yy, 2.0 * yz, zz];
    attenuated(compartments, &twice.map(|d| b_s_per_mm2 * d))
}
