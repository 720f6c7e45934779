//! Maps of a fit, one value per voxel.

use super::prepare::Prepared;
use super::solver::Solution;
use crate::data::{Grid, Volume};
use std::sync::Arc;

/// Maps on the scan's grid, 0 where nothing was fitted.
#[derive(Clone, Debug)]
pub struct Maps {
    /// Share of water in fibres in the fitted signal; the three shares sum to 1.
    pub intra: Volume,
    /// Share of water around fibres in the fitted signal.
    pub extra: Volume,
    /// Share of free water in the fitted signal.
    pub free: Volume,
    /// Root mean square of the residual, in units of the fitted signal.
    pub rmse: Volume,
    /// The sum of squared residuals over all voxels.
    pub squares: f64,
}

impl Maps {
    pub(super) fn new(prepared: &Prepared, weights: &[f32], solution: &Solution) -> Self {
        let dictionary = &prepared.dictionary;
        let (operator, shape) = (&prepared.operator, prepared.operator.shape());
        let n = dictionary.grid.voxel_count();
        let mut values = [(); 4].map(|()| vec![0f32; n]);
        let samples = prepared.samples.count();
        let mut squares = 0.0;
        for (i, &voxel) in dictionary.voxels.iter().enumerate() {
            let voxel = voxel as usize;
            let weight = |s: &super::dictionary::Segment| {
                dictionary.length_mm(s) * f64::from(weights[s.streamline as usize])
            };
            let intra: f64 = dictionary.in_voxel(i).iter().map(weight).sum();
            let own = |place: usize, kind: usize, atom: usize| {
                f64::from(solution.x[operator.own_column(i, place)])
                    / prepared.responses.scale[kind][atom]
            };
            let peaks = 0..shape.peaks * shape.extra;
            let extra: f64 = peaks.map(|place| own(place, 1, place % shape.extra)).sum();
            let first = shape.peaks * shape.extra;
            let free: f64 = (0..shape.free).map(|atom| own(first + atom, 2, atom)).sum();
            let sum = (intra + extra + free).max(f64::MIN_POSITIVE);
            let square: f64 = (0..samples)
                .map(|s| {
                    let row = operator.row(i, s);
                    f64::from(solution.predicted[row] - prepared.y[row]).powi(2)
                })
                .sum();
            squares += square;
            let rmse = (square / samples as f64).sqrt();
            for (map, value) in values
                .iter_mut()
                .zip([intra / sum, extra / sum, free / sum, rmse])
            {
                map[voxel] = value as f32;
            }
        }
        let grid: &Arc<Grid> = &dictionary.grid;
        let [intra, extra, free, rmse] = values.map(|v| Volume::scalar(grid.clone(), v));
        Self {
            intra,
            extra,
            free,
            rmse,
            squares,
        }
    }
}
