//! Simulated voxels, and the fixture with MRtrix's results.

use crate::support::root;
use arcuate::data::spherical_harmonics::{gauss_legendre, zonal};
use arcuate::data::{AffineSource, Gradients, Grid, Mask, Response, Volume, VolumeKind};
use glam::{DAffine3, DVec3};
use std::f64::consts::PI;
use std::sync::Arc;

/// Diffusivity along and across fibres, of grey matter and of fluid, mm²/s.
pub const ALONG: f64 = 1.7e-3;
pub const ACROSS: f64 = 0.25e-3;
pub const GREY: f64 = 0.8e-3;
pub const FLUID: f64 = 3e-3;
/// Signals without weighting.
pub const SIGNALS: [f64; 3] = [1000.0, 1380.0, 2700.0];
pub const SHELLS: [f64; 4] = [0.0, 700.0, 1200.0, 2800.0];

/// Four shells; directions are those of a spiral, which is even enough.
pub fn gradients() -> Gradients {
    let mut gradients = Gradients {
        b_s_per_mm2: Vec::new(),
        directions: Vec::new(),
    };
    for (b, count) in SHELLS.into_iter().zip([4, 20, 40, 60]) {
        for i in 0..count {
            let z = (f64::from(i) + 0.5) / f64::from(count);
            let (radius, turn) = ((1.0 - z * z).sqrt(), 2.399_963 * f64::from(i) + b);
            let u = DVec3::new(radius * turn.cos(), radius * turn.sin(), z);
            gradients
                .directions
                .push(if b > 0.0 { u } else { DVec3::ZERO });
            gradients.b_s_per_mm2.push(b);
        }
    }
    gradients
}

/// The signal of fibres along a direction.
pub fn fibre_signal(b: f64, cosine: f64) -> f64 {
    SIGNALS[0] * (-b * (ACROSS + (ALONG - ACROSS) * cosine * cosine)).exp()
}

/// R_l of an even function of the cosine, by quadrature.
pub fn zonal_coefficients(order: usize, signal: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut out = vec![0.0; order / 2 + 1];
    for (z, weight) in gauss_legendre(64) {
        for (sum, y) in out.iter_mut().zip(zonal(order, z)) {
            *sum += 2.0 * PI * weight * signal(z) * y;
        }
    }
    out
}

/// White matter, grey matter, fluid.
pub fn responses(order: usize) -> [Response; 3] {
    let fibres = SHELLS.map(|b| zonal_coefficients(order, |z| fibre_signal(b, z)));
    let isotropic = |signal: f64, d: f64| {
        Response::isotropic(&SHELLS, &SHELLS.map(|b| signal * (-b * d).exp()))
    };
    [
        Response::new(Some(SHELLS.to_vec()), fibres.to_vec()),
        isotropic(SIGNALS[1], GREY),
        isotropic(SIGNALS[2], FLUID),
    ]
}

/// Samples of fibres along some directions with these fractions, of grey matter and of fluid.
pub fn samples(gradients: &Gradients, fibres: &[(DVec3, f64)], grey: f64, fluid: f64) -> Vec<f32> {
    let volumes = gradients.b_s_per_mm2.iter().zip(&gradients.directions);
    let sample = |(&b, &g): (&f64, &DVec3)| {
        let white = fibres
            .iter()
            .map(|(u, share)| share * fibre_signal(b, u.dot(g)));
        let other = grey * SIGNALS[1] * (-b * GREY).exp() + fluid * SIGNALS[2] * (-b * FLUID).exp();
        (white.sum::<f64>() + other) as f32
    };
    volumes.map(sample).collect()
}

/// A row of voxels, and a mask of all of them.
pub fn row(voxels: &[Vec<f32>]) -> (Volume, Mask) {
    let n = voxels.len();
    let grid = Grid::new([n, 1, 1], DAffine3::IDENTITY, AffineSource::Computed).unwrap();
    let grid = Arc::new(grid);
    let frames = voxels[0].len();
    let values = (0..frames).flat_map(|frame| voxels.iter().map(move |voxel| voxel[frame]));
    let values: Vec<f32> = values.collect();
    let dwi = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values);
    (dwi, Mask::new(grid, vec![1u8; n]))
}

/// The tables of tests/fixtures/mrtrix/deconvolution.txt, which its head describes.
pub struct Fixture(Vec<(String, Vec<Vec<f64>>)>);

impl Fixture {
    pub fn read() -> Self {
        let path = root().join("tests/fixtures/mrtrix/deconvolution.txt");
        let text = std::fs::read_to_string(path).unwrap();
        let mut tables: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix('[') {
                Some(name) => tables.push((name.trim_end_matches(']').to_owned(), Vec::new())),
                None => {
                    let numbers = line.split_whitespace().map(|n| n.parse().unwrap());
                    tables.last_mut().unwrap().1.push(numbers.collect());
                }
            }
        }
        Self(tables)
    }

    pub fn table(&self, name: &str) -> &[Vec<f64>] {
        &self.0.iter().find(|(known, _)| known == name).unwrap().1
    }

    pub fn gradients(&self) -> Gradients {
        let rows = self.table("gradients");
        Gradients {
            b_s_per_mm2: rows.iter().map(|row| row[3]).collect(),
            directions: rows
                .iter()
                .map(|row| DVec3::new(row[0], row[1], row[2]))
                .collect(),
        }
    }

    pub fn responses(&self) -> [Response; 3] {
        ["wm", "gm", "csf"]
            .map(|name| Response::new(None, self.table(&format!("response {name}")).to_vec()))
    }

    pub fn scan(&self) -> (Volume, Mask) {
        let rows = self.table("samples").iter();
        let voxels = rows.map(|row| row.iter().map(|v| *v as f32).collect());
        row(&voxels.collect::<Vec<_>>())
    }
}
