//! The grid's metric in the difference formulas.
//!
//! Lengths are in units of the shortest voxel edge h: φ, speeds and times are dimensionless. With M from voxel to
//! world, gradients along voxel axes have the length √(∇φᵀ W ∇φ), W = h² M⁻¹ M⁻ᵀ. On orthogonal grids W is diagonal;
//! on sheared ones W = Σ ρₖ eₖ eₖᵀ over integer offsets, ρₖ ≥ 0 (Selling 1874), so that upwinding along the eₖ is
//! monotone and consistent (as in the cost fields; Mirebeau 2018).

use super::error::InputError;
use crate::data::Grid;
use glam::{DMat3, DVec3, I64Vec3};

/// Largest off-diagonal entry of W, relative to its diagonal, for which the axes count as orthogonal.
const STRAIGHT: f64 = 1e-5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Cubic voxels.
    Isotropic,
    /// Orthogonal axes.
    Orthogonal,
    Sheared,
}

/// A pair of neighbours ±e that a gradient uses, and its weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offset {
    pub e: [i32; 3],
    pub rho: f32,
}

#[derive(Clone, Debug)]
pub struct Stencil {
    pub kind: Kind,
    /// mm.
    pub h_mm: f64,
    /// W: xx yy zz xy xz yz.
    pub w: [f32; 6],
    /// Three on orthogonal grids, up to six on sheared ones.
    pub offsets: Vec<Offset>,
    /// φ is limited to ± this.
    pub clamp: f32,
    /// √ Σ ρ, the largest number of cells that a front of speed 1 crosses per unit of time.
    pub crossing: f64,
    /// The contribution of curvature with weight 1 to the stability limit.
    pub diffusing: f64,
}

impl Stencil {
    pub fn new(grid: &Grid, band: f32) -> Result<Self, InputError> {
        let spacing = grid.spacing();
        let h_mm = spacing.min_element();
        let inverse = grid.voxel_from_world.matrix3;
        let w = inverse * inverse.transpose() * (h_mm * h_mm);
        let entry = |i: usize, j: usize| w.col(j)[i];
        let leans =
            |i: usize, j: usize| entry(i, j).abs() > STRAIGHT * (entry(i, i) * entry(j, j)).sqrt();
        let sheared = leans(0, 1) || leans(0, 2) || leans(1, 2);
        let diagonal = [0, 1, 2].map(|i| entry(i, i));
        let kind = match sheared {
            true => Kind::Sheared,
            false if diagonal.iter().all(|d| (d - 1.0).abs() < STRAIGHT) => Kind::Isotropic,
            false => Kind::Orthogonal,
        };
        let axis = |i: usize| [0, 1, 2].map(|j| i32::from(i == j));
        let offsets: Vec<Offset> = match kind {
            Kind::Isotropic => (0..3)
                .map(|i| Offset {
                    e: axis(i),
                    rho: 1.0,
                })
                .collect(),
            Kind::Orthogonal => (0..3)
                .map(|i| Offset {
                    e: axis(i),
                    rho: diagonal[i] as f32,
                })
                .collect(),
            Kind::Sheared => selling(w),
        };
        if offsets.iter().any(|o| o.e.iter().any(|c| c.abs() > 1)) {
            return Err(InputError::LeaningAxes);
        }
        let shares = |values: [f64; 6]| values.map(|v| v as f32);
        let w6 = match kind {
            Kind::Isotropic => [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            Kind::Orthogonal => shares([diagonal[0], diagonal[1], diagonal[2], 0.0, 0.0, 0.0]),
            Kind::Sheared => shares([
                diagonal[0],
                diagonal[1],
                diagonal[2],
                entry(0, 1),
                entry(0, 2),
                entry(1, 2),
            ]),
        };
        let total: f64 = offsets.iter().map(|o| f64::from(o.rho)).sum();
        let adjacent: f64 = w6[3..].iter().map(|v| f64::from(v.abs())).sum();
        Ok(Self {
            kind,
            h_mm,
            w: w6,
            offsets,
            clamp: (f64::from(band) * spacing.max_element() / h_mm) as f32,
            crossing: total.sqrt(),
            diffusing: 2.0 * diagonal.iter().sum::<f64>() + 2.0 * adjacent,
        })
    }

    /// Values closer to the clamp than this are set to it, so that the band has no tails.
    pub const SNAP: f32 = 1e-3;

    /// The longest stable step for speeds up to `speed`, drifts (cells per unit of time, summed over axes), and
    /// weights of curvature and rescaling.
    ///
    /// The rescaling is a speed of at most w at the band's end; next to the surface, where its differences are
    /// central, explicit steps of more than a twentieth of 1/w roughen a resting surface.
    pub fn step(&self, speed: f64, drift: f64, curvature: f64, rescaling: f64) -> f32 {
        let speed = speed + rescaling * f64::from(self.clamp);
        let limit = self.crossing * speed + drift + self.diffusing * curvature;
        (0.9 / limit.max(18.0 * rescaling)) as f32
    }
}

/// Offsets of an obtuse superbase (Selling 1874; Fehrenbach and Mirebeau 2014, section 1).
fn selling(w: DMat3) -> Vec<Offset> {
    let [x, y, z] = [I64Vec3::X, I64Vec3::Y, I64Vec3::Z];
    let mut base = [x, y, z, -(x + y + z)];
    let product = |a: I64Vec3, b: I64Vec3| a.as_dvec3().dot(w * b.as_dvec3());
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let others = |i: usize, j: usize| {
        let mut rest = (0..4).filter(|k| *k != i && *k != j);
        (rest.next().unwrap_or(0), rest.next().unwrap_or(0))
    };
    let largest = w.x_axis.x.max(w.y_axis.y).max(w.z_axis.z);
    // Each iteration lowers the sum of squared lengths; a few suffice for any scanner's grid.
    for _ in 0..200 {
        let acute = pairs
            .into_iter()
            .find(|&(i, j)| product(base[i], base[j]) > 1e-9 * largest);
        let Some((i, j)) = acute else { break };
        let (k, l) = others(i, j);
        let (a, b) = (base[i], base[j]);
        base = [-a, b, base[k] + a, base[l] + a];
    }
    let mut offsets = Vec::new();
    for (i, j) in pairs {
        let rho = -product(base[i], base[j]);
        if rho > 1e-6 * largest {
            let (k, l) = others(i, j);
            let e = base[k].cross(base[l]);
            offsets.push(Offset {
                e: [e.x as i32, e.y as i32, e.z as i32],
                rho: rho as f32,
            });
        }
    }
    offsets
}

/// World distances in units of h.
pub fn distance(grid: &Grid, h_mm: f64, voxel: [usize; 3], centre: DVec3) -> f64 {
    let at = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
    at.distance(centre) / h_mm
}
