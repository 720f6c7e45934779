//! Repetitions of a pathway of tensors: the tensors are refitted to the scan with the signs of its residuals drawn at
//! random (wild bootstrap, [`tensor_fit::Residuals`]), and the cost fields of both regions are solved again. The tensors of
//! a repetition are those of the same repetition in tracking.
//!
//! On the CPU each thread solves a repetition of its own. On a graphics card the metrics and cost fields of several
//! repetitions are computed as one, in copies of the mask side by side ([`Copies`]), since a front leaves most of a card
//! idle; tensors are refitted and paths traced on the CPU meanwhile. Both agree within the tolerance of the solver.

use super::joint::{joining_places, limit, minimum};
use super::repetitions::{Repeat, Repetition, Repetitions, Tasks};
use super::trace::path_through;
use super::{Pathway, TOLERANCE};
use crate::compute::{Backend, Control, memory};
use crate::data::{Gradients, Tensor, Volume};
use crate::solvers::Error;
use crate::solvers::eikonal::{
    self, Copies, CostField, CostSource, LocalSolver, Prepared, solve, solve_alone,
};
use crate::solvers::metric::{self, Metric};
use crate::solvers::tensor_fit::{self, Residuals};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

const PARAMS: eikonal::Params = eikonal::Params {
    tolerance: TOLERANCE,
    schedule: None,
};
/// Calibrated on synthetic heads: see [`super::repetitions`].
const BAND_FACTOR: f64 = 2.2;
/// Voxels that a card solves together, in as many repetitions: fewer do not fill it.
const TOGETHER: usize = 300_000;
/// Most repetitions of a task, and most tasks at a time, on a card.
const MOST_COPIES: usize = 32;
const MOST_TASKS: usize = 8;

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
    /// Copies of the part that a card solves together, made on first use.
    copies: OnceLock<Option<Copies>>,
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
            copies: OnceLock::new(),
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
    fn begin(&self, repetitions: usize, backend: &Backend) -> Result<Tasks, Error> {
        const WORK: &str = "The repetitions of a pathway";
        let (places, threads) = (self.places.len(), backend.threads());
        if backend.accelerator().is_none() {
            // Metric, weights and layout with both fields, for each thread.
            memory::claim_for::<u8>(WORK, places, 600 * threads)?;
            // A few for each thread, so that not all pathways need be stored at once.
            return Ok(Tasks {
                at_once: 4 * threads,
                together: 1,
            });
        }
        // A task prepares all of its copies, even if it has fewer repetitions.
        let tasks = self.on_card(threads);
        let copies = tasks.at_once.min(repetitions) * tasks.together;
        let on_grid = self.part.places.grid.voxel_count() * tasks.together;
        memory::claim(WORK, (600 * places * copies + 5 * on_grid) as u64)?;
        Ok(tasks)
    }

    fn at_once(&self, backend: &Backend) -> usize {
        let threads = backend.threads();
        match backend.accelerator() {
            None => threads,
            Some(_) => {
                let Tasks { at_once, together } = self.on_card(threads);
                at_once * together
            }
        }
    }

    fn band_factor(&self) -> Option<f64> {
        Some(BAND_FACTOR)
    }

    fn repetitions(
        &self,
        numbers: Range<usize>,
        epsilon: f64,
        random_seed: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<Repetition>, Error> {
        if backend.accelerator().is_none() {
            let solved = numbers.map(|number| {
                control.check()?;
                let tensors = self
                    .residuals
                    .tensors(random_seed, number as u64, control)?;
                let metric = self.part.with_tensors(&tensors, &self.metric_params);
                self.alone(&metric, epsilon, control)
            });
            return solved.collect();
        }
        let numbers = numbers.start as u64..numbers.end as u64;
        let residuals = &self.residuals;
        let tensors = residuals.tensors_of_all(random_seed, numbers, control)?;
        self.together(&tensors, epsilon, backend, control)
    }
}

impl Tensors {
    /// How repetitions are divided on a card, with this many threads of the host.
    fn on_card(&self, threads: usize) -> Tasks {
        Tasks {
            // Some tasks are prepared, and paths traced, while the card solves another.
            at_once: (threads / 2).clamp(1, MOST_TASKS),
            together: (TOGETHER / self.places.len().max(1)).clamp(1, MOST_COPIES),
        }
    }

    /// The pathway in a metric of the part, on the calling thread.
    fn alone(&self, metric: &Metric, epsilon: f64, control: &Control) -> Result<Repetition, Error> {
        let prepared = Prepared::alone(metric, self.local, control)?;
        let sources = [0, 1].map(|end| self.source(end, metric, self.ends[end].1.clone()));
        let fields = solve_alone(&prepared, &sources, &PARAMS, control)?;
        Ok(self.joined(&fields, 0, epsilon))
    }

    /// The pathways in several tensor fields of the part, by place, whose cost fields are solved as one: on a card, as many
    /// fronts advance at the same time.
    fn together(
        &self,
        tensors: &[Vec<Tensor>],
        epsilon: f64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<Repetition>, Error> {
        let quiet = control.silent();
        let most = self.on_card(backend.threads()).together;
        let copies = self
            .copies
            .get_or_init(|| Copies::new(&self.part, most, self.local));
        let Some(copies) = copies else {
            unreachable!("a pathway has a voxel")
        };
        let stack = &copies.stack;
        let prepared = copies.prepared(tensors, &self.metric_params, backend, &quiet)?;
        let solved = stack.first(tensors.len()) as u32;
        let sources = [0, 1].map(|end| {
            let mut zero = stack.places(&self.ends[end].1);
            // Nothing is solved in copies without tensors of their own.
            zero.retain(|place| *place < solved);
            self.source(end, &prepared.metric, zero)
        });
        let fields = solve(&prepared, &sources, &PARAMS, backend, &quiet)?;
        let copy = |copy: usize| {
            control.check()?;
            let mut repetition = self.joined(&fields, stack.first(copy), epsilon);
            if let Some((_, path)) = &mut repetition.path {
                for point in &mut path.points {
                    *point = stack.in_mask(copy, *point);
                }
            }
            Ok(repetition)
        };
        (0..tensors.len()).into_par_iter().map(copy).collect()
    }

    fn source(&self, end: usize, metric: &Metric, zero: Vec<u32>) -> Arc<CostSource> {
        Arc::new(CostSource::places(metric, &self.ends[end].0, zero))
    }

    /// The pathway between both fields in the copy of the part whose places are numbered from `first`.
    fn joined(&self, fields: &[CostField], first: usize, epsilon: f64) -> Repetition {
        let [a, b] = fields else {
            unreachable!("one cost field for each source")
        };
        let own = 0..self.places.len();
        let total = |own: usize| a.values[first + own] + b.values[first + own];
        let (middle, least) = minimum(own.clone().map(total));
        let least = f64::from(least);
        let path = least
            .is_finite()
            .then(|| path_through([a, b], first + middle))
            .flatten();
        let limit = limit(least, epsilon);
        let within = |own: usize| f64::from(total(own)) <= limit;
        let joined = path.as_ref().and_then(|_| {
            let ends = [&*self.ends[0].1, &*self.ends[1].1];
            joining_places(&self.part, ends, within)
        });
        let is_joined = joined.is_some() || path.is_none();
        let all = || own.filter(|own| within(*own)).collect();
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
