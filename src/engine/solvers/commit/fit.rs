//! Fits the weights of a prepared problem.

use super::maps::Maps;
use super::parameters::Params;
use super::prepare::Prepared;
use super::solver::{Curve, Ended, Group, Penalty, Problem, Solution, solve};
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::solvers::Error;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Result of a fit: weights, maps and the quality of the solution.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Weight of each streamline in the order of the tractogram, summed over its columns: share of the signal at b =
    /// 0 per mm of its length. 0 where it crosses no used voxel.
    pub weights: Arc<[f32]>,
    /// The weights of each column, if there are several.
    pub columns: Vec<Arc<[f32]>>,
    /// Sums of the weights times the lengths (mm) over named groups of streamlines.
    pub bundles: BTreeMap<String, f64>,
    /// Compartments and errors by voxel.
    pub maps: Maps,
    /// Value of the minimised function at the solution, penalty included.
    pub objective: f64,
    /// Relative to the root of the mean square over all samples.
    pub rmse: f64,
    /// Iterations that were run.
    pub iterations: u32,
    /// Residual of the optimality conditions at the solution, as limited by `Stop::kkt`.
    pub kkt: f64,
    /// Criterion that ended the fit.
    pub ended: Ended,
    /// All unknowns, for a warm start with the same operator.
    pub x: Arc<[f32]>,
}

impl Prepared {
    /// λ as shares of the smallest values that leave no streamline.
    pub fn penalty(
        &self,
        params: &Params,
        groups: &BTreeMap<String, Arc<[u32]>>,
    ) -> Result<Penalty, Error> {
        if params.lasso == 0.0 && params.group == 0.0 {
            return Ok(Penalty::default());
        }
        let mut pull = vec![0.0; self.operator.columns()];
        self.operator.adjoint(&self.y, &mut pull)?;
        let shape = self.operator.shape();
        let pull = &pull[..shape.intra()];
        let lasso = params.lasso * pull.iter().copied().fold(0.0, f32::max);
        let mut taken = vec![false; shape.streamlines];
        let mut measured = Vec::new();
        for members in groups.values().filter(|_| params.group > 0.0) {
            let own = members
                .iter()
                .filter(|f| !std::mem::replace(&mut taken[**f as usize], true));
            let streamlines: Vec<u32> = own.copied().collect();
            let square = |f: &u32| -> f64 {
                let begin = *f as usize * shape.atoms;
                let all = pull[begin..begin + shape.atoms].iter();
                all.map(|v| f64::from(v.max(0.0)).powi(2)).sum()
            };
            let size = (streamlines.len() as f64).sqrt();
            let weight = streamlines.iter().map(square).sum::<f64>().sqrt() / size.max(1.0);
            measured.push((streamlines, size, weight));
        }
        let max_weight = measured.iter().map(|m| m.2).fold(0.0, f64::max);
        let group = |(streamlines, size, _): (Vec<u32>, f64, f64)| Group {
            streamlines,
            weight: (f64::from(params.group) * max_weight * size) as f32,
        };
        Ok(Penalty {
            lasso,
            groups: measured.into_iter().map(group).collect(),
        })
    }

    /// Fits from known weights or from zero, optionally without some streamlines. When cancelled it returns the last
    /// weights, if there are any.
    #[allow(
        clippy::too_many_arguments,
        reason = "one argument each for the problem, the method, the start and the duration"
    )]
    pub fn fit(
        &self,
        tractogram: &Tractogram,
        params: &Params,
        start: Option<&[f32]>,
        without: Option<&[bool]>,
        curve: &Curve,
        backend: &Backend,
        control: &Control,
    ) -> Result<Fit, Error> {
        control.check()?;
        let columns = self.operator.columns();
        let start = start.filter(|x| x.len() == columns);
        backend.install(|| {
            let penalty = self.penalty(params, &tractogram.groups)?;
            let problem = Problem {
                operator: &self.operator,
                metric: &self.metric,
                y: &self.y,
                penalty: &penalty,
                without,
            };
            let solution = solve(&problem, start, &params.stop, curve, control)?;
            Ok(self.finish(tractogram, solution))
        })
    }

    /// Unknowns that give streamlines these weights, divided evenly over the columns of each, with 0 in the voxels.
    pub fn unknowns_from_weights(&self, weights: &[f32]) -> Vec<f32> {
        let (atoms, scale) = (self.operator.shape().atoms, &self.responses.scale[0]);
        let mut x = vec![0.0; self.operator.columns()];
        for (own, weight) in x.chunks_exact_mut(atoms).zip(weights) {
            for (x, scale) in own.iter_mut().zip(scale) {
                *x = weight / atoms as f32 * *scale as f32;
            }
        }
        x
    }

    fn finish(&self, tractogram: &Tractogram, solution: Solution) -> Fit {
        let shape = self.operator.shape();
        let scale = &self.responses.scale[0];
        let column = |atom: usize| -> Arc<[f32]> {
            let weight = |f: usize| solution.x[f * shape.atoms + atom] / scale[atom] as f32;
            (0..shape.streamlines).map(weight).collect()
        };
        let columns: Vec<Arc<[f32]>> = (0..shape.atoms).map(column).collect();
        let sum = |f: usize| columns.iter().map(|c| c[f]).sum::<f32>();
        let weights: Arc<[f32]> = (0..shape.streamlines).map(sum).collect();
        let lengths = self.dictionary.lengths_mm();
        let weight_mm = |members: &Arc<[u32]>| -> f64 {
            let each = members.iter().map(|f| *f as usize);
            each.map(|f| f64::from(weights[f]) * lengths[f]).sum()
        };
        let bundles = tractogram.groups.iter();
        let bundles = bundles
            .map(|(name, members)| (name.clone(), weight_mm(members)))
            .collect();
        let maps = Maps::new(self, &weights, &solution);
        let squares = maps.squares;
        let samples = self.dictionary.voxels.len() * self.samples.count();
        Fit {
            columns,
            bundles,
            rmse: (squares / samples.max(1) as f64).sqrt(),
            maps,
            objective: solution.objective,
            iterations: solution.iterations,
            kkt: solution.kkt,
            ended: solution.ended,
            x: solution.x.into(),
            weights,
        }
    }
}
