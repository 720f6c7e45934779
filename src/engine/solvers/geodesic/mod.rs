//! Geodesic rays: fibres as geodesics of the metric G = D⁻¹ (O'Donnell et al. 2002; Astola et al.
//! 2010; van Aart et al. 2011), traced in many directions from each seed point and ranked by how
//! well the diffusion supports them.
//!
//! A geodesic makes the length ∫ √(x′ᵀ G x′) stationary. *Hamiltonian form*: with p = G x′ and
//! H = ½ pᵀ D(x) p,
//!
//! x′ = D(x) p,  p′ₖ = −½ pᵀ (∂ₖD(x)) p.
//!
//! These are the same curves as with Christoffel symbols (∂G = −G ∂D G), but only D is stored, and the gradient is
//! that of the interpolant itself, so that the integrated flow conserves pᵀDp. Both sides are divided by |Dp|: the
//! parameter is Euclidean length, and all steps have the same length in mm. *Christoffel form* (van Aart et al. 2011,
//! eq. 3 and algorithm 3, which keeps Γ constant during a step): x″ᶜ + Γᶜₐᵦ x′ᵃ x′ᵇ = 0 from D and the three
//! derivatives of G as four interpolated fields ([`Form::Christoffel`]); for comparison with the papers.
//!
//! *Order.* Euler 1, midpoint 2; Runge-Kutta 4 between knots of cubic B-splines, whose gradient is once
//! differentiable, so that every knot causes an error of third order. The gradient of linear interpolation jumps at
//! cell faces: every crossing causes an error of first order, whatever the integrator; it is small where the tensors
//! vary little from voxel to voxel.
//!
//! *Connectivity measure* of a point: the Euclidean length from the seed divided by the Riemannian length (van Aart
//! et al. 2011, eq. 5). D is scaled so that its mean diffusivity over the mask is 1: a ray through isotropic tissue
//! has the measure 1, one that follows fibres a higher one.
//!
//! *Cost.* Two evaluations of D and its gradient per step with the midpoint rule: about 130 vector operations each
//! for eight rays side by side, while a ray stays in its cell of eight voxels. With the midpoint rule a ray may leave
//! its cell by 1/16 voxel at the end of a step, so that most cells are entered at midpoints: D and its gradient are
//! then those of the face, and that slope only determines the midpoint.
//!
//! *Distributions* ([`trace_lobes`]). The length of a curve is ∫ |x′| / w(x, x′/|x′|) with the speed
//! w = (δ + max(0, f) / f_ref)^a of a fibre orientation distribution f, a Finsler metric. With h(x, p) = max w(x, u) (p · u) over
//! the unit vectors u, H = h²/2 gives
//!
//! x′ = h w u,  p′ = −h (p · u) ∂w(x, u).
//!
//! The maximum is not the global one but the continuation of the last: a ray stays on its lobe where lobes cross.
//! Newton's method finds it from the last direction, with one step in the middle of a step of the midpoint rule and two
//! for each slope of Runge-Kutta 4; the error is of the order of the integrator. w need not be convex: rays are
//! stationary, but not all of them are shortest. A fast bundle refracts oblique rays out of it, so fans should be
//! narrow: of a fan of 5° about half stay in a bundle of 12 mm over 70 mm. The measure of these rays is their mean
//! speed.
//!
//! *Through a point* ([`Params::through`]). Newton's method changes the direction in which a ray leaves its seed until it
//! ends at the point ([`two_point`]); it begins with the direction in which the cheapest path between the two leaves the
//! seed (`pathway` in the same metric). The point takes the place of targets. Where it finds no ray, none is shown.
//!
//! Regions, masks, outcomes and stop reasons are those of [`super::curves`], except that the length limit applies to
//! each half separately, and except for the loop guard: it stops a ray that, over [`LOOP_WINDOW_MM`] of its path,
//! moves away from its position by less than a tenth of that.
//!
//! # Example
//!
//! Rays in a cone, of which the five with the largest measure are kept:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::solvers::curves::{self, Interpolation, Seeding};
//! use arcuate_engine::solvers::geodesic::{
//!     Cut, Params, Precision, RayMetric, Sharpening, rank, trace,
//! };
//! # use arcuate_engine::data::{Grid, Tensor, TensorField};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([20, 8, 8], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let along_x = Tensor::new([1.7e-3, 0.0, 0.0, 3e-4, 0.0, 3e-4]);
//! let field = TensorField::new(grid.clone(), vec![along_x; grid.voxel_count()]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let metric = RayMetric::new(
//!     &field,
//!     Sharpening::Power { alpha: 1.0 },
//!     Precision::Single,
//!     Interpolation::Trilinear,
//!     &backend,
//!     &control,
//! )?;
//! let defaults = Params::defaults();
//! let params = Params {
//!     curves: curves::Params {
//!         seeding: Seeding::Random { count: 10 },
//!         min_length_mm: 2.0,
//!         ..defaults.curves
//!     },
//!     ..defaults
//! };
//! let traced = trace(&metric, &[], &params, &backend, &control)?;
//! let (kept, least) = rank(&traced.rays.kept, Cut::Top(5));
//! assert_eq!(kept.len(), 5);
//! // A ray in isotropic tissue has the measure 1.
//! assert!(least.is_some_and(|measure| measure > 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod composite;
mod cpu;
mod cuda;
mod directions;
mod error;
mod field;
mod follow;
mod half_ray;
mod join;
mod odf_error;
mod odf_field;
mod odf_metric;
mod odf_parameters;
mod odf_start;
mod paper;
mod parameters;
mod rank;
mod ray_metric;
mod start;
mod through;
pub mod two_point;

pub use composite::{DirectionKind, DirectionParts, SharpeningParts};
pub use odf_error::OdfError;
pub use odf_metric::OdfMetric;
pub use odf_parameters::{LOBE_DIRECTIONS, OdfSpeed, TENSORS_ONLY};
pub use paper::{PAIRS, christoffel};
pub use parameters::{
    DEFAULT_ALPHA, DEFAULT_CUT, DEFAULT_SHARPENING, Params, RayMetricParams, Rays,
};
pub use rank::{Cut, rank};
pub use ray_metric::{Precision, RayMetric, Sharpening};

use super::Error;
use super::curves::{self, Interpolation};
use crate::compute::{Accelerator, Backend, Control};
use crate::data::keyed;
use crate::data::{Grid, Region, Role};
use error::InputError;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Window of the loop guard described above.
pub const LOOP_WINDOW_MM: f64 = 30.0;
/// In the papers' form a ray ends where a step would be longer than a voxel's shortest edge and than this multiple of
/// the requested step.
pub const MAX_STEP_RATIO: f64 = 4.0;
/// Largest number of directions in a fan.
pub const MAX_DIRECTIONS: usize = 1 << 16;
/// Largest number of regions against which rays are tested: one bit each.
pub const MAX_REGIONS: usize = 32;

/// The equations that are integrated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Position and momentum, by the integrator of the parameters.
    Hamiltonian,
    /// The papers' form: midpoint rule with the symbols kept constant during the step, whatever the integrator.
    Christoffel,
}

keyed!(Form, serde {
    Hamiltonian = "hamiltonian",
    Christoffel = "christoffel",
});

/// Directions in which rays leave a seed point.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// Along the principal eigenvector.
    Principal,
    /// One direction in world axes, of any length except 0, equal for all seeds.
    Towards {
        /// Direction in world axes.
        direction: [f64; 3],
    },
    /// Fibonacci points on the sphere.
    Sphere {
        /// Points on the whole sphere.
        count: usize,
    },
    /// Fibonacci points on the cap with this half angle around the principal eigenvector; half of them around its
    /// opposite unless rays go both ways.
    Cone {
        /// Points in the cone.
        count: usize,
        /// Angle between the axis and the edge, rad.
        half_angle_rad: f64,
    },
    /// Corners of an icosahedron whose faces were divided into four this many times: 10·4ⁿ + 2.
    Icosphere {
        /// Subdivisions of each face.
        level: usize,
    },
}

impl Params {
    /// The longest possible step: rays with steps of equal parameter end before steps become longer.
    fn longest_step_mm(&self, grid: &Grid) -> f64 {
        let chosen_mm = self.curves.step_mm;
        match self.form {
            Form::Hamiltonian => chosen_mm,
            Form::Christoffel => {
                let voxel_mm = grid.spacing().min_element();
                voxel_mm.max(MAX_STEP_RATIO * chosen_mm)
            }
        }
    }
}

/// Rays in the form of the streamlines of [`curves::Output`]; kept rays also have `cm` per point (from the seed to
/// it; the value 1 at the seed point is replaced by that of its neighbour) and per streamline (of the whole curve).
#[derive(Clone, Debug)]
pub struct Output {
    /// Kept and missed rays with their outcomes.
    pub rays: Arc<curves::Output>,
    /// Seed points.
    pub seeds: u64,
    /// Rays started at each seed point.
    pub directions: u64,
    /// Seconds of following rays; `None` if the backend does not measure them.
    pub kernel_s: Option<f64>,
    /// Seconds of gathering kept points; `None` if the backend does not measure them.
    pub gather_s: Option<f64>,
}

/// Traces rays from the regions with role seed (from the whole mask if there is none) and filters by the others. The
/// result holds every ray that passes the regions; [`rank`] cuts it by the measure. Points that a graphics card computed
/// stay there until the host needs them ([`curves::Output::on_host`]).
pub fn trace(
    metric: &RayMetric,
    regions: &[Region],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    trace_within(metric, regions, params, None, backend, control)
}

/// Does the same as [`trace`]; returns an error if the rays take more than this much memory, in bytes.
pub fn trace_within(
    metric: &RayMetric,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check(metric, regions, params)?;
    control.check()?;
    if let Some(point) = params.through {
        let point = (params, DVec3::from_array(point));
        return through::trace_through(metric, regions, point, memory, backend, control);
    }
    match backend.accelerator() {
        Some(Accelerator::Cuda(_)) => {
            cuda::trace(metric, regions, params, memory, backend, control)
        }
        _ => backend.install(|| cpu::trace(metric, regions, params, memory, control)),
    }
}

/// Traces rays along the lobes of distributions, like [`trace_within`]: every ray stays on its lobe where lobes cross.
/// The FA limit has no effect; [`OdfSpeed::min_amplitude`] takes its place.
pub fn trace_lobes(
    metric: &OdfMetric,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check_rays(metric.grid(), regions, params)?;
    if params.form == Form::Christoffel {
        return Err(OdfError::PapersForm.into());
    }
    if params.curves.interpolation != Interpolation::Trilinear {
        return Err(OdfError::Splines.into());
    }
    control.check()?;
    match backend.accelerator() {
        Some(Accelerator::Cuda(_))
            if curves::Params::cpu_reason(metric.field.order()).is_none() =>
        {
            cuda::trace_lobes(metric, regions, params, memory, backend, control)
        }
        _ => backend.install(|| cpu::trace_lobes(metric, regions, params, memory, control)),
    }
}

/// Returns an error about the first invalid input.
fn check(metric: &RayMetric, regions: &[Region], params: &Params) -> Result<(), InputError> {
    check_rays(&metric.field.grid, regions, params)?;
    if params.form == Form::Christoffel && metric.interpolation != Interpolation::Trilinear {
        return Err(InputError::SplinesInPapersForm);
    }
    if metric.interpolation != params.curves.interpolation {
        return Err(InputError::Interpolation {
            prepared: metric.interpolation,
            requested: params.curves.interpolation,
        });
    }
    Ok(())
}

/// Returns an error about the first invalid input of rays in a grid.
fn check_rays(grid: &Grid, regions: &[Region], params: &Params) -> Result<(), InputError> {
    curves::check(grid, regions, &params.curves)?;
    params.check()?;
    let gates = regions
        .iter()
        .filter(|r| r.role.affects_curves() && !matches!(r.role, Role::Seed | Role::Mask));
    if gates.clone().count() > MAX_REGIONS {
        return Err(InputError::TooManyRegions(gates.count()));
    }
    Ok(())
}
