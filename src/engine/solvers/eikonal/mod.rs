//! Cost fields: the least cost u of any path inside a mask from a region to every voxel, the viscosity solution of
//! √(∇uᵀ W ∇u) = 1 with u = 0 in the region (Jeong et al. 2007; [`super::metric`] defines W).
//!
//! *Local solvers.* All are monotone and consistent, so that they converge as voxels shrink (Barles and Souganidis
//! 1991), and the fixed point of taking minima does not depend on the order of updates. [`LocalSolver::Godunov6`] is
//! the solver of the paper: upwind on 6 neighbours, which overestimates the cost along an oblique fibre by the share
//! of the anisotropy that 6 directions miss. [`LocalSolver::HopfLax26`] uses straight paths to the 48 triangles
//! between 26 neighbours. [`LocalSolver::Selling`] decomposes W = Σ ρᵢ eᵢ eᵢᵀ over an obtuse superbase (Selling 1874;
//! Fehrenbach and Mirebeau 2014; Mirebeau 2018): sharp along fibres, but its offsets may leave a thin mask or skip
//! voxels. [`LocalSolver::Hybrid`] is the minimum of the last two, both of which overestimate where the metric is
//! constant along a step: better than either. Where it is not constant, Selling's steps, which may be long, are
//! charged their cost along the way; where W's anisotropy exceeds [`HYBRID_ANISOTROPY`], the hybrid is Hopf-Lax
//! alone.
//!
//! *Order.* First, with the usual logarithmic error at a point source; a ball of [`BALL_VOXELS`] voxels around the
//! region is filled from the local metric to reduce that error.
//!
//! *Scheme.* Bricks of voxels that can read a changed value are visited until none is left: a fast iterative method
//! in the order of a narrow band (Jeong and Whitaker 2008), smallest values first. Cost: about ten visits per voxel.
//!
//! A path moves between voxels that share a face: two that share only an edge or a corner are not connected. Values
//! are in single precision: unreached voxels hold infinity.
//!
//! # Example
//!
//! Where paths cost 1 per mm, the cost is the distance:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::Grid;
//! use arcuate_engine::solvers::eikonal::{CostSource, LocalSolver, Params, Prepared, solve};
//! use arcuate_engine::solvers::metric::Metric;
//! use glam::{DMat3, DVec3};
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([9, 9, 9], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let metric = Metric::from_speed(&Arc::new(grid), |_| Some(DMat3::IDENTITY))?;
//! let prepared = Prepared::new(&metric, LocalSolver::Hybrid, &backend, &control)?;
//! let place = |voxel: [i64; 3]| metric.place_of(voxel).ok_or("a voxel of the grid");
//! let source = CostSource::places(&metric, "corner", vec![place([0; 3])? as u32]);
//! let params = Params {
//!     tolerance: 1e-6,
//!     schedule: None,
//! };
//! let costs = solve(&prepared, &[Arc::new(source)], &params, &backend, &control)?;
//! assert!((costs[0].values[place([8, 0, 0])?] - 8.0).abs() < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adjoint;
mod copies;
mod cpu;
mod cuda;
mod error;
mod lax_friedrichs;
mod layout;
mod readers;
mod row;
mod simplex;
mod source;
mod weights;

pub use adjoint::derivative_by_log_cost;
pub use copies::Copies;
pub use cuda::DeviceField;
pub use lax_friedrichs::{Swept, lax_friedrichs};
pub use simplex::{Simplex, simplex};
pub use source::{CostSource, Seed, region_places};
pub use weights::Offset;

use super::Error;
use super::metric::Metric;
use crate::compute::{Accelerator, Backend, Cancelled, Control, DataId, memory};
use crate::data::Volume;
use crate::data::keyed;
use error::InputError;
use layout::Layout;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use weights::Selling;

/// Inside the mask, not yet reached; must stay finite in single precision.
pub const UNREACHED: f32 = 1e30;
/// Outside the mask.
pub const OUTSIDE: f32 = 3e30;
/// Radius in voxels of the ball around a region that is filled from the local metric.
pub const BALL_VOXELS: f64 = 3.0;
/// √ of the ratio of W's eigenvalues in voxel axes beyond which nearly all of Selling's offsets are longer than
/// [`MAX_OFFSET`].
pub const HYBRID_ANISOTROPY: f64 = 35.0;
/// Longest offset along an axis, in voxels, that the hybrid keeps.
pub const MAX_OFFSET: i32 = 12;
/// Longest offset along an axis, in voxels, that Selling's scheme alone can store (a byte); it must not drop any.
pub const FARTHEST_OFFSET: i32 = 127;

/// Local update scheme; the keys are those of the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalSolver {
    /// Upwind differences on 6 neighbours, the solver of Jeong et al. 2007.
    Godunov6,
    /// Simplices of all 26 neighbours.
    HopfLax26,
    /// Selling's decomposition of W: causal for any anisotropy.
    Selling,
    /// The least value of [`Self::HopfLax26`] and [`Self::Selling`].
    Hybrid,
}

keyed!(LocalSolver, serde {
    Godunov6 = "godunov6",
    HopfLax26 = "hopf-lax26",
    Selling = "selling",
    Hybrid = "hybrid",
});

impl LocalSolver {
    /// All schemes in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Godunov6, Self::HopfLax26, Self::Selling, Self::Hybrid];

    fn uses_selling(self) -> bool {
        matches!(self, Self::Selling | Self::Hybrid)
    }
}

/// How bricks are visited on the CPU: it affects the duration, not the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// Voxels per brick along y and z, 1 to 8; along x it has 8.
    pub brick: [usize; 2],
    /// Largest number of passes through a brick per visit.
    pub inner: usize,
    /// One in this many waiting bricks is visited at a time, smallest values first; 1: all.
    pub one_in: usize,
}

impl Schedule {
    /// The fastest schedule of those tried on the paper's examples, for all local solvers.
    pub const BEST: Self = Self {
        brick: [4, 4],
        inner: 4,
        one_in: 4,
    };
}

/// Parameters of a solve.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// A value wakes its readers once it has fallen by more than this share of itself since it last did: the discrete
    /// equation holds to about this share, whatever the order of visits.
    pub tolerance: f32,
    /// `None`: [`Schedule::BEST`].
    pub schedule: Option<Schedule>,
}

/// Everything about a metric that does not depend on the regions, computed once: moving a region does not repeat it.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prepared {
    id: DataId,
    /// Metric of the paths.
    pub metric: Metric,
    /// Scheme for which the data are prepared.
    pub local: LocalSolver,
    /// By place in the metric; empty unless the local solver uses it.
    selling: Arc<Selling>,
    /// Whether the calling thread does all of the work.
    alone: bool,
    /// The layout that the CPU visits, built on first use for a shape of brick.
    layout: Arc<OnceLock<([usize; 2], Layout)>>,
    /// The layout that a graphics card visits, built on first use.
    bricks: Arc<OnceLock<cuda::Bricks>>,
    /// The metric and Selling's terms if a graphics card computed them. The CPU, which only traces paths then, computes
    /// terms as it needs them.
    card: Option<cuda::DeviceMetric>,
}

impl Prepared {
    /// Decomposes W where the scheme needs it.
    pub fn new(
        metric: &Metric,
        local: LocalSolver,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let selling = backend.install(|| Selling::new(metric, local, false, control))?;
        Ok(Self::of_terms(metric, local, selling, false))
    }

    /// Data for [`solve_alone`], computed on the calling thread.
    pub fn alone(metric: &Metric, local: LocalSolver, control: &Control) -> Result<Self, Error> {
        let selling = Selling::new(metric, local, true, control)?;
        Ok(Self::of_terms(metric, local, selling, true))
    }

    fn of_terms(metric: &Metric, local: LocalSolver, selling: Selling, alone: bool) -> Self {
        Self {
            id: DataId::fresh(),
            metric: metric.clone(),
            local,
            selling: Arc::new(selling),
            alone,
            layout: Arc::default(),
            bricks: Arc::default(),
            card: None,
        }
    }

    /// Identity of these data, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Terms of Selling's decomposition at a place; none if the local solver does not use them.
    pub fn offsets(&self, place: usize) -> Cow<'_, [Offset]> {
        match &self.card {
            Some(_) if self.local.uses_selling() => {
                Cow::Owned(weights::terms(&self.metric, self.local, place))
            }
            _ => Cow::Borrowed(self.selling.at(place)),
        }
    }

    /// The smallest part of a list that a thread takes; the whole list if one thread does all.
    fn min_part(&self, part: usize) -> usize {
        if self.alone { usize::MAX } else { part }
    }

    fn bricks(&self, control: &Control) -> Result<&cuda::Bricks, Cancelled> {
        get_or_build(&self.bricks, || cuda::Bricks::of_metric(self, control))
    }

    fn with_layout<R>(
        &self,
        brick: [usize; 2],
        control: &Control,
        work: impl FnOnce(&Layout) -> Result<R, Cancelled>,
    ) -> Result<R, Cancelled> {
        let make = || Layout::new(self, brick, control);
        let (kept, layout) = get_or_build(&self.layout, || Ok((brick, make()?)))?;
        if *kept == brick {
            work(layout)
        } else {
            work(&make()?)
        }
    }
}

/// The existing value, or one built now. Two concurrent callers may both build it, and one is kept.
fn get_or_build<T>(
    kept: &OnceLock<T>,
    make: impl FnOnce() -> Result<T, Cancelled>,
) -> Result<&T, Cancelled> {
    match kept.get() {
        Some(known) => Ok(known),
        None => {
            let value = make()?;
            Ok(kept.get_or_init(|| value))
        }
    }
}

/// The least cost of a path from a source to every voxel.
#[derive(Clone, Debug)]
pub struct CostField {
    id: DataId,
    /// Metric and scheme with which it was computed.
    pub prepared: Prepared,
    /// Voxels with value 0 and their surroundings.
    pub source: Arc<CostSource>,
    /// By place in the metric; infinity where no path leads.
    pub values: Arc<[f32]>,
    /// Kernel time in seconds of the launch that computed it, if a graphics card did.
    pub kernel_s: Option<f64>,
    /// The values on that card, for solvers that continue there.
    on_card: Option<DeviceField>,
}

impl CostField {
    /// Field with these values, one per place of the metric; nothing is computed.
    pub fn new(prepared: &Prepared, source: Arc<CostSource>, values: Vec<f32>) -> Self {
        Self {
            id: DataId::fresh(),
            prepared: prepared.clone(),
            source,
            values: values.into(),
            kernel_s: None,
            on_card: None,
        }
    }

    /// Identity of the values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// The field as an image: NaN outside the mask and where no path leads.
    pub fn image(&self) -> Volume {
        self.prepared.metric.image(&self.values)
    }
}

/// Solves for all sources together.
pub fn solve(
    prepared: &Prepared,
    sources: &[Arc<CostSource>],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Vec<CostField>, Error> {
    check(prepared, sources, params)?;
    control.check()?;
    // For each source: values, the same in bricks, and those with which voxels last woke others.
    let places = prepared.metric.len().saturating_mul(sources.len());
    memory::claim_for::<f32>("The cost field", places, 4)?;
    let cost_field =
        |source: &Arc<CostSource>, values| CostField::new(prepared, source.clone(), values);
    Ok(match backend.accelerator() {
        Some(Accelerator::Cuda(devices)) => {
            // A front is limited by latency: several cards would wait for one another.
            let solved = cuda::solve(prepared, sources, params, &devices[0], control)?;
            let fields = sources.iter().zip(solved);
            fields
                .map(|(source, solved)| CostField {
                    kernel_s: Some(solved.seconds),
                    on_card: Some(solved.on_card),
                    ..cost_field(source, solved.values)
                })
                .collect()
        }
        _ => {
            let solve = || cpu::solve(prepared, sources, params, control, |_| ());
            let fields = sources.iter().zip(backend.install(solve)?);
            fields
                .map(|(source, values)| cost_field(source, values))
                .collect()
        }
    })
}

/// Solves on the calling thread, for many problems side by side: the bits of the result do not depend on the others.
/// The data must be those of [`Prepared::alone`].
pub fn solve_alone(
    prepared: &Prepared,
    sources: &[Arc<CostSource>],
    params: &Params,
    control: &Control,
) -> Result<Vec<CostField>, Error> {
    check(prepared, sources, params)?;
    control.check()?;
    let solved = cpu::solve(prepared, sources, params, &control.silent(), |_| ())?;
    let fields = sources.iter().zip(solved);
    let fields = fields.map(|(source, values)| CostField::new(prepared, source.clone(), values));
    Ok(fields.collect())
}

/// The values by place that [`solve`] has on the CPU after every batch of bricks, ending with the result: shows that
/// values only decrease.
pub fn iterates(
    prepared: &Prepared,
    sources: &[Arc<CostSource>],
    params: &Params,
    backend: &Backend,
    control: &Control,
    mut look: impl FnMut(Vec<Vec<f32>>) + Send,
) -> Result<(), Error> {
    check(prepared, sources, params)?;
    let look = |front: &cpu::Front| look(front.values());
    backend.install(|| cpu::solve(prepared, sources, params, control, look))?;
    Ok(())
}

fn check(
    prepared: &Prepared,
    sources: &[Arc<CostSource>],
    params: &Params,
) -> Result<(), InputError> {
    if !(params.tolerance >= 0.0 && params.tolerance < 0.1) {
        return Err(InputError::Tolerance(params.tolerance));
    }
    if let Some(schedule) = params.schedule {
        let valid = schedule.brick.iter().all(|n| (1..=8).contains(n));
        if !valid || schedule.inner == 0 || schedule.one_in == 0 {
            return Err(InputError::Schedule(schedule));
        }
    }
    let places = prepared.metric.len();
    for source in sources {
        if source.seeds.iter().any(|s| s.place as usize >= places) {
            return Err(InputError::OtherMask(source.name.clone()));
        }
    }
    Ok(())
}
