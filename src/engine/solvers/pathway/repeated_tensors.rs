//! Repetitions of a pathway of tensors: the tensors are refitted to the scan with the signs of its residuals drawn at
//! random (wild bootstrap, [`tensor_fit::Residuals`]), and the cost fields of both regions are solved again. The tensors of
//! a repetition are those of the same repetition in tracking.

use super::joint::{joining_places, limit, minimum};
use super::repetitions::{Repeat, Repetition, Repetitions};
use super::trace::path_through;
use super::{Pathway, TOLERANCE};
use crate::compute::{Backend, Control, memory};
use crate::data::{Gradients, Volume};
use crate::solvers::Error;
use crate::solvers::eikonal::{self, CostField, CostSource, LocalSolver, Prepared, solve_alone};
use crate::solvers::metric::{self, Metric};
use crate::solvers::tensor_fit::{self, Residuals};
use std::sync::Arc;

/// The scan to which the tensors of a pathway were fitted.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// Diffusion scan, on the grid of the tensors.
    pub dwi: &'a Volume,
    /// Its gradients.
    pub gradients: &'a Gradients,
    /// Parameters of the fit.
    pub fit: &'a tensor_fit::Params,
}

/// Everything that the repetitions of a pathway of tensors share.
#[derive(Debug)]
struct Tensors {
    metric_params: metric::Params,
    local: LocalSolver,
    /// Metric of the voxels that a path reaches.
    part: Metric,
    /// Their places in the metric of the pathway.
    places: Vec<u32>,
    /// Names of the regions, and their places in the part.
    ends: [(String, Vec<u32>); 2],
    residuals: Residuals,
}

impl Repetitions {
    /// Prepares the repetitions of a pathway of tensors that were fitted to a scan; none is solved yet. `epsilon` is the
    /// width of the pathways that are counted.
    pub fn of_tensors(
        pathway: &Pathway,
        scan: Scan<'_>,
        (metric_params, epsilon): (&metric::Params, f64),
        random_seed: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let metric = pathway.metric();
        let is_reached = |place: &u32| pathway.total[*place as usize].is_finite();
        let places = (0..metric.len() as u32).filter(is_reached);
        let places: Vec<u32> = places.collect();
        let part = metric.within(&places);
        let own = |place: &u32| places.binary_search(place).ok().map(|p| p as u32);
        let ends = [0, 1].map(|field: usize| {
            let source = &pathway.fields[field].source;
            (
                source.name.clone(),
                source.zero.iter().filter_map(own).collect(),
            )
        });
        let residuals = tensor_fit::residuals(
            scan.dwi,
            scan.gradients,
            &part.mask,
            scan.fit,
            None,
            backend,
            control,
        )?;
        let tensors = Tensors {
            metric_params: *metric_params,
            local: pathway.fields[0].prepared.local,
            part,
            places,
            ends,
            residuals,
        };
        Ok(Self::of_model(
            Arc::new(tensors),
            pathway,
            epsilon,
            random_seed,
        ))
    }
}

impl Repeat for Tensors {
    fn begin(&self, backend: &Backend) -> Result<usize, Error> {
        let threads = backend.threads();
        // Metric, weights and layout with both fields, for each thread.
        memory::claim_for::<u8>(
            "The repetitions of a pathway",
            self.places.len(),
            600 * threads,
        )?;
        // A few for each thread, so that not all pathways need be stored at once.
        Ok(4 * threads)
    }

    fn repetition(
        &self,
        number: u64,
        epsilon: f64,
        random_seed: u64,
        _: &Backend,
        control: &Control,
    ) -> Result<Repetition, Error> {
        let tensors = self.residuals.tensors(random_seed, number);
        let metric = self.part.with_tensors(&tensors, &self.metric_params);
        self.solved(&metric, epsilon, control)
    }
}

impl Tensors {
    /// The pathway in a metric of the part, on the calling thread.
    fn solved(
        &self,
        metric: &Metric,
        epsilon: f64,
        control: &Control,
    ) -> Result<Repetition, Error> {
        let prepared = Prepared::alone(metric, self.local, control)?;
        let source = |field: usize| {
            let (name, zero) = &self.ends[field];
            Arc::new(CostSource::places(metric, name, zero.clone()))
        };
        let params = eikonal::Params {
            tolerance: TOLERANCE,
            schedule: None,
        };
        let fields = solve_alone(&prepared, &[source(0), source(1)], &params, control)?;
        Ok(self.joined(&fields, epsilon))
    }

    fn joined(&self, fields: &[CostField], epsilon: f64) -> Repetition {
        let [a, b] = fields else {
            unreachable!("one cost field for each source")
        };
        let total = |place: usize| a.values[place] + b.values[place];
        let (middle, least) = minimum((0..a.values.len()).map(total));
        let least = f64::from(least);
        let path = least
            .is_finite()
            .then(|| path_through([a, b], middle))
            .flatten();
        let limit = limit(least, epsilon);
        let within = |place: usize| f64::from(total(place)) <= limit;
        let joined = path.as_ref().and_then(|_| {
            let ends = [&*self.ends[0].1, &*self.ends[1].1];
            joining_places(&self.part, ends, within)
        });
        let is_joined = joined.is_some() || path.is_none();
        let all = || (0..a.values.len()).filter(|place| within(*place)).collect();
        let pathway: Vec<usize> = match path {
            Some(_) => joined.unwrap_or_else(all),
            None => Vec::new(),
        };
        Repetition {
            path: path.map(|path| (least, path)),
            pathway: pathway.into_iter().map(|own| self.places[own]).collect(),
            is_joined,
        }
    }
}
