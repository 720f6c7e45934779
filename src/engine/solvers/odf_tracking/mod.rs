//! Streamlines through fibre orientation distributions and images of peaks, with anatomical rules.
//!
//! - [`Method::Probabilistic`]: arcs of second order, 32 candidates a step, one drawn by its share (`arcs`).
//! - [`Method::Deterministic`]: along the lobe that is followed, by Newton's method from the last direction, or along
//!   the nearest peak of an image; the midpoint rule (`model`).
//!
//! *Rules.* Those of [`super::curves`] and [`super::tracking`] for regions, lengths and joining. With a tissue map, the
//! anatomical rules of `tissue_rules` decide which ends are valid, and a probabilistic half with an invalid end goes back and tries
//! again (`follow`). An end that they reject ends the streamline: its other half is not tracked, and has no stop reason.
//!
//! *Random numbers* are functions of (seed, streamline, attempt, half, step), so that a streamline is the same on any
//! thread and in any order. A requested number of streamlines are the first ones by their number that are kept.
//!
//! *Bootstrap* ([`track_bootstrap`]). Streamlines follow repetitions of the deconvolution, one after the other.
//!
//! *Layout.* Coefficients are one record for each voxel, tissues one of 32 bytes; a step reads the records around a
//! point. A graphics card (`cuda`) draws arcs with the same random numbers and follows lobes, both up to order 12, a warp
//! for each streamline; peaks are followed on the CPU.
//!
//! # Example
//!
//! Streamlines along peaks in x are lines along x:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, PeakField};
//! use arcuate_engine::solvers::curves::Seeding;
//! use arcuate_engine::solvers::odf_tracking::{Fibres, Method, Params, track};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([20, 4, 4], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let voxels = grid.voxel_count();
//! let along_x = [vec![1.0; voxels], vec![0.0; 2 * voxels]].concat();
//! let fibres = Fibres::Peaks(PeakField::new(grid, 1, along_x));
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let params = Params {
//!     seeding: Seeding::Random { count: 50 },
//!     ..Params::defaults_for(Method::Deterministic, 1.0, false)
//! };
//! let tracked = track(&fibres, None, &[], &params, None, &backend, &control)?;
//! assert_eq!(tracked.kept.len(), 50);
//! let line = tracked.kept.streamline(0);
//! assert!((line[0][1] - line[line.len() - 1][1]).abs() < 1e-3);
//! assert!(tracked.kept.length_mm(0) > 17.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arcs;
mod batch;
mod bootstrap;
mod cuda;
mod error;
mod follow;
mod harmonics;
mod interface;
mod lattice;
mod model;
mod parameters;
mod prepare;
mod records;
mod run;
mod tissue_doubt;
mod tissue_rules;

pub use bootstrap::track_bootstrap;
pub use error::InputError;
pub use parameters::{Method, Params};
pub use tissue_doubt::tissue_doubt;

use super::Error;
use super::curves::{self, Output, check_regions};
use super::peaks::Search;
use crate::compute::{Accelerator, Backend, Control};
use crate::data::random::Random;
use crate::data::spherical_harmonics::{Polynomials, count};
use crate::data::{Grid, OdfField, PeakField, Region, Role, TissueMap};
use arcs::ArcTables;
use lattice::Lattice;
use model::{Arcs, Lobes, Model, Peaks, StepRules};
use prepare::Job;
use records::Records;
use std::fmt;
use std::sync::Arc;

/// Coefficients of the highest order that an image may have, and one more to make their number even.
const MAX_COEFFICIENTS: usize = count(crate::data::odf_field::MAX_ODF_ORDER) + 1;
/// Largest step in voxels: candidates of longer arcs would pass whole bundles.
const MAX_STEP_VOXELS: f64 = 2.0;

/// The directions of fibres.
#[derive(Clone, Debug)]
pub enum Fibres {
    /// Coefficients of spherical harmonics.
    Distributions(OdfField),
    /// Fixed directions with amplitudes.
    Peaks(PeakField),
}

impl Fibres {
    /// Grid of the distributions or of the peaks.
    pub fn grid(&self) -> &Arc<Grid> {
        match self {
            Self::Distributions(field) => &field.grid,
            Self::Peaks(field) => &field.grid,
        }
    }
}

/// Fibres as tracking reads them, for several runs with other regions, tissues or parameters: preparing distributions
/// copies all of them.
#[derive(Clone)]
pub struct Prepared {
    fibres: Fibres,
    /// `None` for peaks.
    records: Option<Arc<Records>>,
}

impl Prepared {
    /// Refuses images that cannot be tracked.
    pub fn new(fibres: &Fibres, backend: &Backend, control: &Control) -> Result<Self, Error> {
        let records = match fibres {
            Fibres::Peaks(_) => None,
            Fibres::Distributions(field) => Some(Arc::new(
                backend.install(|| plausible_records(field, control))?,
            )),
        };
        Ok(Self {
            fibres: fibres.clone(),
            records,
        })
    }

    /// Distributions or peaks that were prepared.
    pub fn fibres(&self) -> &Fibres {
        &self.fibres
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Prepared");
        shown.field("fibres", &self.fibres).finish_non_exhaustive()
    }
}

/// Tracks from the regions with role seed (from all voxels with fibres if there is none), filters by the others and,
/// with tissues, by anatomical rules. Returns an error if the streamlines take more than this much memory, in bytes.
pub fn track(
    fibres: &Fibres,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let job = checked(fibres, tissues, regions, params, memory, backend, control)?;
    if let Some(output) = track_on_cards(&job, fibres) {
        return output;
    }
    let prepared = Prepared::new(fibres, backend, control)?;
    backend.install(|| job.on_cpu(&*model(&prepared, params)?))
}

/// [`track`] in fibres that were prepared before.
pub fn track_prepared(
    prepared: &Prepared,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let fibres = &prepared.fibres;
    let job = checked(fibres, tissues, regions, params, memory, backend, control)?;
    if let Some(output) = track_on_cards(&job, fibres) {
        return output;
    }
    backend.install(|| job.on_cpu(&*model(prepared, params)?))
}

/// A run whose inputs can be tracked.
fn checked<'a>(
    fibres: &'a Fibres,
    tissues: Option<&'a TissueMap>,
    regions: &'a [Region],
    params: &'a Params,
    memory: Option<u64>,
    backend: &'a Backend,
    control: &'a Control,
) -> Result<Job<'a>, Error> {
    check_inputs(fibres, tissues, regions, params)?;
    control.check()?;
    Ok(Job {
        fibres,
        tissues,
        regions,
        params,
        memory,
        backend,
        control,
    })
}

/// Streamlines from graphics cards; `None` if there is none, or it cannot follow these.
fn track_on_cards(job: &Job, fibres: &Fibres) -> Option<Result<Output, Error>> {
    match (fibres, job.backend.accelerator()) {
        (Fibres::Distributions(field), Some(Accelerator::Cuda(devices)))
            if curves::Params::cpu_reason(field.order()).is_none() =>
        {
            Some(cuda::track(job, field, devices))
        }
        _ => None,
    }
}

fn check_inputs(
    fibres: &Fibres,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
) -> Result<(), Error> {
    params.check().map_err(Error::from)?;
    check_regions(regions)?;
    check_step(fibres.grid(), params)?;
    if params.repetitions.is_some() {
        return Err(InputError::BootstrapWithoutScan.into());
    }
    if params.at_interface && tissues.is_none() {
        return Err(InputError::InterfaceWithoutTissues.into());
    }
    let seed_regions = || regions.iter().filter(|r| r.role == Role::Seed);
    if seed_regions().next().is_some()
        && !seed_regions().any(|r| r.shape.intersects_grid(fibres.grid()))
    {
        return Err(InputError::SeedsOutside.into());
    }
    Ok(())
}

fn check_step(grid: &Grid, params: &Params) -> Result<(), Error> {
    let max_mm = MAX_STEP_VOXELS * grid.spacing().min_element();
    match params.step_mm <= max_mm {
        true => Ok(()),
        false => Err(InputError::Step {
            step_mm: params.step_mm,
            max_mm,
        }
        .into()),
    }
}

/// The model of a method.
fn model(prepared: &Prepared, params: &Params) -> Result<Box<dyn Model>, Error> {
    let rules = StepRules {
        step_mm: params.step_mm as f32,
        min_cos: params.max_angle_rad.cos() as f32,
        cut: params.min_amplitude as f32,
    };
    let records = match (&prepared.fibres, &prepared.records) {
        (Fibres::Peaks(_), _) if params.method == Method::Probabilistic => {
            return Err(InputError::ArcsInPeaks.into());
        }
        (Fibres::Peaks(field), _) => {
            return Ok(Box::new(Peaks {
                lattice: Lattice::new(&field.grid),
                field: field.clone(),
                rules,
            }));
        }
        (Fibres::Distributions(_), Some(records)) => records.clone(),
        // Distributions are always prepared.
        (Fibres::Distributions(_), None) => return Err(InputError::Empty.into()),
    };
    let order = records.order;
    Ok(match params.method {
        Method::Probabilistic => Box::new(Arcs {
            tables: arc_tables(order, params),
            records,
        }),
        Method::Deterministic => Box::new(Lobes {
            polynomials: Polynomials::new(order),
            search: Search::new(
                order,
                super::peaks::Params {
                    min_amplitude: params.min_amplitude,
                    ..super::peaks::Params::defaults()
                },
            ),
            records,
            rules,
        }),
    })
}

/// The records of a field; refuses images that hold no distributions. Needs the backend's threads installed.
fn plausible_records(field: &OdfField, control: &Control) -> Result<Records, Error> {
    control.begin("Preparing distributions", 0);
    let records = Records::new(field, control)?;
    if records.is_empty() && field.order() > 0 {
        return Err(InputError::Empty.into());
    }
    field.check()?;
    Ok(records)
}

fn arc_tables(order: usize, params: &Params) -> ArcTables {
    ArcTables::new(
        order,
        params.step_mm,
        params.max_angle_rad,
        params.min_amplitude,
        params.samples,
    )
}

/// End directions of arcs that leave a world point along a unit vector, one for each number: the law of a probabilistic
/// step. Refuses what [`track`] refuses.
pub fn drawn_directions(
    field: &OdfField,
    (at, along): ([f32; 3], [f32; 3]),
    params: &Params,
    numbers: std::ops::Range<u64>,
    control: &Control,
) -> Result<Vec<Option<[f32; 3]>>, Error> {
    params.check().map_err(Error::from)?;
    check_step(&field.grid, params)?;
    let records = Records::new(field, control)?;
    let tables = arc_tables(field.order(), params);
    let random = Random::new(params.random_seed);
    let draw = |number: u64| {
        let uniform = [0, 1, 2].map(|i| random.stream(number).uniform(i) as f32);
        arcs::draw(&records, &tables, at, along, uniform).map(|end| end.direction)
    };
    Ok(numbers.map(draw).collect())
}
