//! Fewer columns that span the same responses.
//!
//! Cylinders of different radii give nearly the same responses: for nine radii, three or four combinations hold all
//! but a millionth. With the eigenvectors E of the atoms' products ⟨L_i, L_j⟩ (mean over all directions), L_j = Σ_n
//! E_jn u_n, and the operator works on z_n = Σ_j E_jn x_j, for those eigenvalues that exceed the square of a
//! tolerance.

use super::dense::Table;
use crate::solvers::commit::harmonics::DEGREES;
use crate::solvers::commit::model::{Responses, product};
use crate::solvers::commit::samples::Samples;
use rayon::prelude::*;

/// Maps atoms to fewer combinations.
#[derive(Clone, PartialEq, Debug)]
pub struct Mixing {
    /// Columns per streamline before mixing.
    pub atoms: usize,
    /// Columns per streamline after mixing, at most `atoms`.
    pub rank: usize,
    /// E, `rank` numbers per row.
    e: Vec<f32>,
}

/// Fibres per work item.
const PIECE: usize = 4096;

impl Mixing {
    /// The mixing and the responses that remain; `None` if it saves nothing.
    pub fn new(
        responses: &Responses,
        samples: &Samples,
        tolerance: f64,
    ) -> Option<(Self, Responses)> {
        let (atoms, flat) = (&responses.intra, &responses.flat[0]);
        let row = |i: usize| -> Vec<f64> {
            let each = atoms.iter().zip(flat);
            each.map(|(atom, at_b0)| product(&atoms[i], flat[i], atom, *at_b0, samples))
                .collect()
        };
        let (mixing, factors) =
            Self::from_products((0..atoms.len()).map(row).collect(), tolerance)?;
        let mut fewer = responses.clone();
        let combined = |factors: &Vec<f64>| {
            let mut sum = vec![[0.0; DEGREES]; samples.shells.len()];
            for (factor, atom) in factors.iter().zip(atoms) {
                for (to, from) in sum.iter_mut().flatten().zip(atom.iter().flatten()) {
                    *to += factor * from;
                }
            }
            sum
        };
        fewer.intra = factors.iter().map(combined).collect();
        let at_b0 = |factors: &Vec<f64>| factors.iter().zip(flat).map(|(f, v)| f * v).sum();
        fewer.flat[0] = factors.iter().map(at_b0).collect();
        Some((mixing, fewer))
    }

    /// The mixing of a table; the table is returned unchanged if mixing saves nothing.
    pub fn from_table(table: Table, tolerance: f64) -> (Option<Self>, Table) {
        match Self::from_products(table.products(), tolerance) {
            Some((mixing, factors)) => (Some(mixing), table.with_combined_columns(&factors)),
            None => (None, table),
        }
    }

    /// The mixing from products of atoms, and the factors of all atoms in each combination.
    fn from_products(gram: Vec<Vec<f64>>, tolerance: f64) -> Option<(Self, Vec<Vec<f64>>)> {
        let atoms = gram.len();
        let (values, vectors) = eigen(gram);
        let mut order: Vec<usize> = (0..atoms).collect();
        order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
        let largest = order.first().map_or(0.0, |&i| values[i]);
        order.retain(|&i| values[i] > tolerance * tolerance * largest);
        let rank = order.len();
        // Atoms without any signal span nothing.
        if rank == 0 || rank >= atoms {
            return None;
        }
        let factors: Vec<Vec<f64>> = order
            .iter()
            .map(|&v| vectors.iter().map(|row| row[v]).collect())
            .collect();
        let e = (0..atoms).flat_map(|j| factors.iter().map(move |f| f[j] as f32));
        let e = e.collect();
        Some((Self { atoms, rank, e }, factors))
    }

    /// E for one atom.
    pub fn row(&self, atom: usize) -> &[f32] {
        &self.e[atom * self.rank..(atom + 1) * self.rank]
    }

    /// z = Eᵀ x, streamline by streamline; the columns after the streamlines' are copied.
    pub fn mix(&self, x: &[f32], streamlines: usize, z: &mut Vec<f32>) {
        let (intra, own) = x.split_at(streamlines * self.atoms);
        z.resize(streamlines * self.rank + own.len(), 0.0);
        let (mixed, rest) = z.split_at_mut(streamlines * self.rank);
        rest.copy_from_slice(own);
        let pieces = mixed
            .par_chunks_mut(PIECE * self.rank)
            .zip(intra.par_chunks(PIECE * self.atoms));
        pieces.for_each(|(z, x)| {
            for (z, x) in z
                .chunks_exact_mut(self.rank)
                .zip(x.chunks_exact(self.atoms))
            {
                z.fill(0.0);
                for (x, e) in x.iter().zip(self.e.chunks_exact(self.rank)) {
                    z.iter_mut().zip(e).for_each(|(z, e)| *z += e * x);
                }
            }
        });
    }

    /// x = E z.
    pub fn unmix(&self, z: &[f32], streamlines: usize, x: &mut [f32]) {
        let (mixed, rest) = z.split_at(streamlines * self.rank);
        let (intra, own) = x.split_at_mut(streamlines * self.atoms);
        own.copy_from_slice(rest);
        let pieces = intra
            .par_chunks_mut(PIECE * self.atoms)
            .zip(mixed.par_chunks(PIECE * self.rank));
        pieces.for_each(|(x, z)| {
            for (x, z) in x
                .chunks_exact_mut(self.atoms)
                .zip(z.chunks_exact(self.rank))
            {
                for (x, e) in x.iter_mut().zip(self.e.chunks_exact(self.rank)) {
                    *x = z.iter().zip(e).map(|(z, e)| z * e).sum();
                }
            }
        });
    }
}

/// Jacobi's eigenvalue algorithm: eigenvalues, and eigenvectors as columns.
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut v = vec![vec![0.0; n]; n];
    (0..n).for_each(|i| v[i][i] = 1.0);
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                // Already 0; the angle would be a division by it.
                if a[p][q].abs() <= f64::MIN_POSITIVE {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (kp, kq) = (a[k][p], a[k][q]);
                    (a[k][p], a[k][q]) = (c * kp - s * kq, s * kp + c * kq);
                }
                for k in 0..n {
                    let (pk, qk) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (c * pk - s * qk, s * pk + c * qk);
                }
                for row in &mut v {
                    let (kp, kq) = (row[p], row[q]);
                    (row[p], row[q]) = (c * kp - s * kq, s * kp + c * kq);
                }
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), v)
}
