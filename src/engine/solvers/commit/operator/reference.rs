//! The plain sum in double precision, by Legendre functions of the cosines, independent of the production code.
//! Voxels and samples are in the dictionary's order, without padding.

use crate::solvers::commit::dictionary::Dictionary;
use crate::solvers::commit::directions;
use crate::solvers::commit::harmonics::{DEGREES, at_cosine};
use crate::solvers::commit::model::Responses;
use crate::solvers::commit::samples::Samples;
use glam::DVec3;

/// Slow evaluation of A in double precision, for tests and the check of a backend.
pub struct Reference<'a> {
    /// Segments and peaks by voxel.
    pub dictionary: &'a Dictionary,
    /// Coefficients of each column by shell and degree.
    pub responses: &'a Responses,
    /// Directions and shells of the measurement.
    pub samples: &'a Samples,
}

impl Reference<'_> {
    fn unknowns_per_voxel(&self) -> usize {
        self.dictionary.places * self.responses.extra.len() + self.responses.free.len()
    }

    /// Number of unknowns: the length of x.
    pub fn columns(&self) -> usize {
        self.dictionary.streamlines * self.responses.intra.len()
            + self.dictionary.voxels.len() * self.unknowns_per_voxel()
    }

    /// Number of measured values: voxels times samples.
    pub fn rows(&self) -> usize {
        self.dictionary.voxels.len() * self.samples.count()
    }

    /// All samples of one column in one voxel.
    fn column(&self, atom: &[[f64; DEGREES]], flat: f64, axis: Option<DVec3>) -> Vec<f64> {
        let mut out = vec![flat; self.samples.b0.len()];
        for (r, shell) in atom.iter().zip(&self.samples.shells) {
            let each = shell.directions.iter();
            out.extend(
                each.map(|g| at_cosine(r, axis.map_or(1.0, |o| o.dot(*g).clamp(-1.0, 1.0)))),
            );
        }
        out
    }

    /// Calls `each(voxel, column, samples)` for every entry of the matrix, some columns more than once.
    fn entries(&self, mut each: impl FnMut(usize, usize, &[f64])) {
        let (d, r) = (self.dictionary, self.responses);
        let axis = |code: u16| directions::middle(code, directions::SIDE);
        let first = d.streamlines * r.intra.len();
        for voxel in 0..d.voxels.len() {
            for segment in d.in_voxel(voxel) {
                let axis = Some(axis(segment.direction));
                for (j, atom) in r.intra.iter().enumerate() {
                    let mut values = self.column(atom, r.flat[0][j], axis);
                    values.iter_mut().for_each(|v| *v *= d.length_mm(segment));
                    each(
                        voxel,
                        segment.streamline as usize * r.intra.len() + j,
                        &values,
                    );
                }
            }
            let own = first + voxel * self.unknowns_per_voxel();
            for (p, code) in d.peaks_in(voxel).iter().enumerate() {
                for (j, atom) in r.extra.iter().enumerate() {
                    let values = self.column(atom, r.flat[1][j], Some(axis(*code)));
                    each(voxel, own + p * r.extra.len() + j, &values);
                }
            }
            for (j, atom) in r.free.iter().enumerate() {
                let values = self.column(atom, r.flat[2][j], None);
                each(voxel, own + d.places * r.extra.len() + j, &values);
            }
        }
    }

    /// Returns A x, sample fastest.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let n = self.samples.count();
        let mut y = vec![0.0; self.rows()];
        self.entries(|voxel, column, values| {
            let rows = y[voxel * n..].iter_mut().zip(values);
            rows.for_each(|(y, v)| *y += v * x[column]);
        });
        y
    }

    /// Returns Aᵀ y.
    pub fn adjoint(&self, y: &[f64]) -> Vec<f64> {
        let n = self.samples.count();
        let mut x = vec![0.0; self.columns()];
        self.entries(|voxel, column, values| {
            let products = y[voxel * n..].iter().zip(values).map(|(y, v)| y * v);
            x[column] += products.sum::<f64>();
        });
        x
    }
}
