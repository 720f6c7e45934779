//! Pathways that keep to their bundle through crossings: least costs over positions and directions, from fibre
//! orientation distributions.
//!
//! A state is a voxel x and a direction n. A path that moves forwards in its own direction costs
//! ∫ C(x, n) √(|x′|² + β² |n′|²) with x′ = |x′| n, and C = 1 / (δ + min(1, f(x, n) / f_ref)) for a distribution f:
//! turning by a radian costs as much as β mm along a fibre (Duits, Meesters, Mirebeau and Portegies 2018: the
//! Reeds-Shepp car without reverse gear). A path that turns into a crossing tract pays for the turn; one that goes
//! straight through the crossing does not. The least cost u of a path from a region solves
//! (n·∇u)₊² + ε² |∇u − n (n·∇u)|² + β⁻² |∇ₛu|² = C².
//!
//! *Scheme.* For each direction Selling's decomposition (Selling 1874; Mirebeau 2018) of n nᵀ + ε² (I − n nᵀ) into
//! steps turned towards n, which are read from behind only; neighbours on the sphere with weights that sum to twice the
//! identity; and Hopf-Lax vertices, the costs of straight steps, of steps that turn to a neighbouring direction, and of
//! turns on the spot. Each term is charged the mean of C over the voxels along its step, so that a path and its reverse
//! cost nearly the same. The scheme is monotone, causal and of first order. No step passes a voxel outside the mask.
//!
//! *Accuracy.* The course of a path is accurate, its cost u is rough: where C is constant, straight paths cost up to
//! 18 % too much, arcs on average 22 to 41 %, and some turns up to 11 % too little (tests/solvers/lifted.rs). To
//! compare paths, integrate C along the smoothed curve ([`Prepared::path`]) instead of reading u.
//!
//! *Two regions.* u₂(x, −n) is the cost from x onwards to region 2, so that u₁(x, n) + u₂(x, −n), least over n, is the
//! cost of the best path through x. [`LiftedPathway`] provides the same results from it as a [`Pathway`].
//!
//! [`RandomPairs`] compares it with the paths between random places, and [`LiftedPathway::sensitivity`] gives the voxels
//! on which its cost depends.
//!
//! *Order of updates.* On the CPU (`cpu`), states are updated in the order of their cost; results are the same bytes at
//! any number of threads. A graphics card (`cuda`) updates tiles of states; its results agree to 1e-4.
//!
//! *Cost.* About ten updates for each state reached; a cap on the cost limits their number. Measured: two regions 58 mm
//! apart among 94,000 voxels of 2 mm with 98 directions, up to 30 % above the least cost, take 0.3 s on one core,
//! 0.05 s on 16, and 7 ms of kernels on an H200 (60 to 80 ms with the copies to the host); 12,000 voxels of 4 mm with 42
//! directions take 50 ms on one core, and 2.2 ms of kernels on an H200 (7 ms).
//!
//! # Example
//!
//! A turn on the spot by a right angle costs β π / 2, if all of space costs 1 per mm:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::solvers::lifted::{Limits, Params, Prepared, Source, solve};
//! use arcuate_engine::solvers::metric::Places;
//! # use arcuate_engine::data::Grid;
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([9, 9, 9], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let voxels = (0..grid.voxel_count() as u32).collect();
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let places = Places::new(&grid, voxels);
//! let costs = |_, _| 1.0;
//! let prepared = Prepared::from_costs(places, &Params::defaults(), costs, &backend, &control)?;
//! let middle = prepared.places.place_of([4, 4, 4]).ok_or("a voxel")?;
//! let source = Arc::new(Source {
//!     name: "middle".to_owned(),
//!     zero: vec![middle as u32],
//!     direction: Some(0),
//! });
//! let field = solve(&prepared, &source, &Limits::unlimited(), &backend, &control)?;
//! let start = prepared.directions[0];
//! let aside = (0..prepared.directions.len()).min_by(|&a, &b| {
//!     let cosine = |d: usize| prepared.directions[d].dot(start).abs();
//!     cosine(a).total_cmp(&cosine(b))
//! });
//! let turn = field.value(aside.ok_or("a direction")?, middle);
//! assert!((f64::from(turn) / (12.0 * std::f64::consts::FRAC_PI_2) - 1.0).abs() < 0.08, "{turn}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Pathway`]: super::pathway::Pathway

mod between_regions;
mod costs;
mod cpu;
mod cuda;
mod directions;
mod error;
mod parameters;
mod random_pairs;
mod repetitions;
mod segments;
mod sensitivity;
mod solution;
mod stencil;
mod trace;

pub use between_regions::{LEAST_EXCESS, end, ends, joined};
pub use costs::{Amplitudes, halved_distributions, largest_amplitudes};
pub use directions::{DirectionSet, opposite};
pub use parameters::{Params, TOLERANCE};
pub use random_pairs::RandomPairs;
pub use repetitions::{Scan, repetitions};
pub use sensitivity::{LiftedSensitivity, SensitivityTo, derivative_by_log_cost};
pub use solution::LiftedPathway;
pub use stencil::{SIDEWAYS, Stencil, Step, Turn, Vertex, angle};

use super::Error;
use super::metric::{Places, multiplied};
use super::pathway::Path;
use crate::compute::cuda::Device;
use crate::compute::{Accelerator, Backend, Control, DataId, memory};
use crate::data::{Mask, OdfField, Volume};
use costs::Series;
use error::InputError;
use glam::DVec3;
use rayon::prelude::*;
use segments::Segments;
use std::sync::Arc;

/// Stands for a state that no path has reached.
pub const UNREACHED: f32 = 1e30;

/// Everything about the costs that does not depend on the regions; cheap to clone.
#[derive(Clone, Debug)]
pub struct Prepared {
    id: DataId,
    /// Voxels that paths may use.
    pub places: Places,
    /// Parameters for which the data are prepared.
    pub params: Params,
    /// Unit vectors in world axes; number 2i + 1 is the opposite of number 2i.
    pub directions: Arc<[DVec3]>,
    /// The scheme of each direction.
    pub stencils: Arc<[Stencil]>,
    segments: Arc<Segments>,
    /// C by pair of opposite directions and place.
    cost: Arc<[f32]>,
    /// The least of them.
    least_cost: f32,
    amplitudes: Option<Amplitudes>,
    /// Factor of the costs from amplitudes, by place; `None`: 1.
    factors: Option<Arc<[f32]>>,
    tolerance: f32,
}

impl Prepared {
    /// Costs from distributions in the voxels of a mask on their grid. Fails if the mask is on another grid or contains no
    /// distribution, if there are more than 4 billion states, or if a cost is not a positive number.
    pub fn new(
        field: &OdfField,
        mask: &Mask,
        params: &Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        if !mask.grid.matches(&field.grid) {
            return Err(InputError::MaskGrid.into());
        }
        let is_used =
            |v: &u32| mask.inside[*v as usize] != 0 && field.has_distribution(*v as usize);
        let voxels = (0..field.grid.voxel_count() as u32).into_par_iter();
        let voxels: Vec<u32> = backend.install(|| voxels.filter(is_used).collect());
        let places = Places::new(&field.grid, voxels);
        let directions = Self::directions(&places, params)?;
        let (amplitudes, cost) = backend.install(|| {
            let series = Series::Image(field.clone());
            costs::sampled(series, &places, &directions, None, params, control)
        })?;
        backend.install(|| Self::assembled(places, params, directions, cost, Some(amplitudes)))
    }

    /// Costs per mm of each place in each direction, equal in opposite ones. Fails if there are more than 4 billion states,
    /// or if a cost is not a positive number.
    pub fn from_costs(
        places: Places,
        params: &Params,
        cost: impl Fn(usize, DVec3) -> f32 + Sync,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        control.check()?;
        let directions = Self::directions(&places, params)?;
        let n = places.len();
        backend.install(|| {
            let pairs = directions.par_iter().step_by(2);
            let values = pairs.flat_map_iter(|d| (0..n).map(|p| cost(p, *d)));
            let cost: Vec<f32> = values.collect();
            Self::assembled(places, params, directions, cost, None)
        })
    }

    fn directions(places: &Places, params: &Params) -> Result<Vec<DVec3>, Error> {
        params.check()?;
        if places.is_empty() {
            return Err(InputError::Empty.into());
        }
        let directions = params.directions.directions(&places.grid);
        let (voxels, count) = (places.len(), directions.len());
        if voxels.saturating_mul(count) >= u32::MAX as usize {
            let directions = count;
            return Err(InputError::TooMany { voxels, directions }.into());
        }
        // C of half the directions, twice while it is sampled.
        memory::claim_for::<f32>("The costs of all directions", voxels, count)?;
        Ok(directions)
    }

    fn assembled(
        places: Places,
        params: &Params,
        directions: Vec<DVec3>,
        cost: Vec<f32>,
        amplitudes: Option<Amplitudes>,
    ) -> Result<Self, Error> {
        if let Some(invalid) = cost
            .par_iter()
            .find_first(|c| !(**c > 0.0 && c.is_finite()))
        {
            return Err(InputError::Cost(*invalid).into());
        }
        let stencils = stencil::stencils(&directions, &places.grid, params.curvature_price_mm);
        let segments = segments_of(&stencils, &places)?;
        let least_cost = cost.par_iter().copied().reduce(|| f32::INFINITY, f32::min);
        Ok(Self {
            id: DataId::fresh(),
            places,
            params: *params,
            directions: directions.into(),
            stencils: stencils.into(),
            segments,
            cost: cost.into(),
            least_cost,
            amplitudes,
            factors: None,
            tolerance: TOLERANCE,
        })
    }

    /// These data with another [`TOLERANCE`]: with 0, costs are exact up to rounding.
    pub fn with_tolerance(self, tolerance: f32) -> Self {
        Self {
            id: DataId::fresh(),
            tolerance,
            ..self
        }
    }

    /// Factor of the costs from amplitudes at a place.
    fn factor(&self, place: usize) -> f32 {
        self.factors
            .as_ref()
            .map_or(1.0, |by_place| by_place[place])
    }

    /// The costs of some places multiplied by a factor.
    pub fn costlier(self, is_costly: impl Fn(usize) -> bool, factor: f64) -> Self {
        let places = 0..self.places.len();
        let of_place = |place| if is_costly(place) { factor as f32 } else { 1.0 };
        let factors: Vec<f32> = places.map(of_place).collect();
        let mut cost = self.cost;
        for (cost, factor) in Arc::make_mut(&mut cost)
            .iter_mut()
            .zip(factors.iter().cycle())
        {
            *cost *= factor;
        }
        Self {
            id: DataId::fresh(),
            least_cost: cost.iter().copied().fold(f32::INFINITY, f32::min),
            cost,
            factors: Some(multiplied(self.factors.as_ref(), &factors)),
            ..self
        }
    }

    /// Values above the level by less than this cost are followed next.
    fn level_step(&self) -> f32 {
        /// Voxels along a fibre that cost as much.
        const VOXELS: f32 = 2.0;
        VOXELS * self.places.grid.spacing().max_element() as f32 * self.least_cost
    }

    /// Identity of these data, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Amplitudes from which the costs were computed; `None` if the costs were given.
    pub fn amplitudes(&self) -> Option<&Amplitudes> {
        self.amplitudes.as_ref()
    }

    /// C at a place in a direction of the set.
    pub fn cost(&self, direction: usize, place: usize) -> f32 {
        self.cost[direction / 2 * self.places.len() + place]
    }

    /// C at a place along any unit vector: from the distribution there if costs come from distributions, otherwise that
    /// of the nearest direction.
    pub fn cost_along(&self, place: usize, direction: DVec3) -> f64 {
        if let Some(amplitudes) = &self.amplitudes {
            let factor = f64::from(self.factor(place));
            let voxel = self.places.voxels[place] as usize;
            return factor * amplitudes.cost_at(place, voxel, direction);
        }
        let cosine = |d: &usize| self.directions[*d].dot(direction).abs();
        let all = 0..self.directions.len();
        let nearest = all.max_by(|a, b| cosine(a).total_cmp(&cosine(b)));
        f64::from(self.cost(nearest.unwrap_or(0), place))
    }

    /// A path with the cost ∫ C √(|x′|² + β² |n′|²) up to each point.
    pub fn path(&self, points: Vec<DVec3>) -> Path {
        let mut before: Option<DVec3> = None;
        Path::charged(&self.places, points, |place, way| {
            let Some(direction) = way.try_normalize() else {
                return 0.0;
            };
            let turn = before.map_or(0.0, |before| angle(before, direction));
            before = Some(direction);
            let length = way.length().hypot(self.params.curvature_price_mm * turn);
            place.map_or(0.0, |p| self.cost_along(p, direction) * length)
        })
    }
}

/// The voxels that the steps of all directions pass.
fn segments_of(stencils: &[Stencil], places: &Places) -> Result<Arc<Segments>, Error> {
    let steps = stencils.iter().flat_map(|s| {
        let steps = s.steps.iter().map(|step| step.step);
        steps.chain(s.vertices.iter().map(|v| v.step))
    });
    Ok(Arc::new(Segments::new(places, steps)?))
}

/// The states with value 0: voxels of a region, in all directions or in one.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the region, for messages.
    pub name: String,
    /// Places with value 0, ascending.
    pub zero: Vec<u32>,
    /// The only direction in which paths may leave; `None`: any.
    pub direction: Option<usize>,
}

/// The region that a path is to reach.
#[derive(Clone, Debug)]
pub struct Target {
    /// Places of the region.
    pub places: Vec<u32>,
    /// States are computed up to this fraction above the cost of reaching it; with 0, the region itself stays unreached.
    pub max_excess: f32,
}

impl Target {
    /// The least value in the region so far.
    fn least(&self, values: &[Vec<f32>]) -> f32 {
        let all = values.iter();
        let least = all.flat_map(|values| self.places.iter().map(|p| values[*p as usize]));
        least.fold(UNREACHED, f32::min)
    }
}

/// How far costs are computed.
#[derive(Clone, Debug)]
pub struct Limits {
    /// States that cost as much or more stay unreached.
    pub cap: f32,
    /// Lowers the cap once the region is reached.
    pub target: Option<Target>,
}

impl Limits {
    /// Every state that a path reaches.
    pub fn unlimited() -> Self {
        Self {
            cap: UNREACHED,
            target: None,
        }
    }
}

/// The least cost of a path from a source to every state; cheap to clone.
#[derive(Clone, Debug)]
pub struct LiftedField {
    /// Costs from which it was computed.
    pub prepared: Prepared,
    /// States with value 0.
    pub source: Arc<Source>,
    /// By direction and place; [`UNREACHED`] where no path leads.
    values: Arc<[Vec<f32>]>,
    /// Kernel time of the job in seconds, shared by the fields solved with it; `None` on the CPU.
    pub kernel_s: Option<f64>,
}

impl LiftedField {
    /// The least cost of a path that ends at a place in a direction; [`UNREACHED`] if there is none.
    pub fn value(&self, direction: usize, place: usize) -> f32 {
        self.values[direction][place]
    }

    /// The least over all directions; infinite if there is none.
    pub fn least(&self, place: usize) -> f32 {
        let least = self.values.iter().map(|values| values[place]);
        let least = least.fold(UNREACHED, f32::min);
        if least < UNREACHED {
            least
        } else {
            f32::INFINITY
        }
    }

    /// The least over all directions as an image: NaN outside the mask and where no path leads. Must be called on the
    /// backend's threads.
    pub fn image(&self) -> Volume {
        let places = &self.prepared.places;
        let all = (0..places.len()).into_par_iter();
        let values: Vec<f32> = all.map(|place| self.least(place)).collect();
        places.image(&values)
    }

    /// Number of states that a path reaches.
    pub fn reached(&self) -> usize {
        let reached = |values: &Vec<f32>| values.iter().filter(|v| **v < UNREACHED).count();
        self.values.iter().map(reached).sum()
    }
}

/// Solves for one source. Fails if it is empty or belongs to another mask.
pub fn solve(
    prepared: &Prepared,
    source: &Arc<Source>,
    limits: &Limits,
    backend: &Backend,
    control: &Control,
) -> Result<LiftedField, Error> {
    check(prepared, source)?;
    if let Some(Accelerator::Cuda(devices)) = backend.accelerator() {
        let (sources, limits) = (std::slice::from_ref(source), std::slice::from_ref(limits));
        let mut fields = on_card(prepared, sources, limits, &devices[0], control)?;
        if let Some(field) = fields.pop() {
            return Ok(field);
        }
    }
    let values = backend.install(|| cpu::solve(prepared, source, limits, control))?;
    Ok(LiftedField {
        prepared: prepared.clone(),
        source: source.clone(),
        values: values.into(),
        kernel_s: None,
    })
}

/// Solves for several sources at once, each by itself and without limits.
fn solve_each(
    prepared: &Prepared,
    sources: &[Arc<Source>],
    backend: &Backend,
    control: &Control,
) -> Result<Vec<LiftedField>, Error> {
    if let Some(Accelerator::Cuda(devices)) = backend.accelerator() {
        for source in sources {
            check(prepared, source)?;
        }
        let limits = vec![Limits::unlimited(); sources.len()];
        return on_card(prepared, sources, &limits, &devices[0], control);
    }
    claim_fields(prepared, sources.len() as u64)?;
    let one = |source| solve(prepared, source, &Limits::unlimited(), backend, control);
    backend.install(|| sources.par_iter().map(one).collect())
}

/// Refuses sources of another mask, and claims memory.
fn check(prepared: &Prepared, source: &Source) -> Result<(), Error> {
    let n = prepared.places.len();
    let mut all = source.zero.iter();
    if source.zero.is_empty() || all.any(|p| *p as usize >= n) {
        return Err(InputError::OtherMask(source.name.clone()).into());
    }
    claim_fields(prepared, 1)
}

/// A value and a flag for each state, and its entries in lists.
fn claim_fields(prepared: &Prepared, fields: u64) -> Result<(), Error> {
    let states = (prepared.places.len() * prepared.directions.len()) as u64;
    memory::claim("The lifted cost field", 8 * states * fields)?;
    Ok(())
}

fn on_card(
    prepared: &Prepared,
    sources: &[Arc<Source>],
    limits: &[Limits],
    device: &Device,
    control: &Control,
) -> Result<Vec<LiftedField>, Error> {
    let solved = cuda::solve(prepared, sources, limits, device, control)?;
    let fields = sources.iter().zip(solved);
    Ok(fields
        .map(|(source, (values, seconds))| LiftedField {
            prepared: prepared.clone(),
            source: source.clone(),
            values: values.into(),
            kernel_s: Some(seconds),
        })
        .collect())
}

/// Solves for two regions, each up to a fraction (more than 0) above the cost of reaching the other. Fails if a region is
/// empty or belongs to another mask.
pub fn solve_both(
    prepared: &Prepared,
    sources: &[Arc<Source>; 2],
    max_excess: f32,
    cap: f32,
    backend: &Backend,
    control: &Control,
) -> Result<[LiftedField; 2], Error> {
    let limits = [1, 0].map(|other: usize| Limits {
        cap,
        target: Some(Target {
            places: sources[other].zero.clone(),
            max_excess,
        }),
    });
    control.begin("Spreading costs", 0);
    if let Some(Accelerator::Cuda(devices)) = backend.accelerator() {
        for source in sources {
            check(prepared, source)?;
        }
        let fields = on_card(prepared, sources, &limits, &devices[0], control)?;
        if let Ok(both) = fields.try_into() {
            return Ok(both);
        }
    }
    // Both are computed at the same time.
    claim_fields(prepared, 2)?;
    let one = |i: usize| solve(prepared, &sources[i], &limits[i], backend, control);
    let (a, b) = backend.install(|| rayon::join(|| one(0), || one(1)));
    Ok([a?, b?])
}
