//! Fits one weight per streamline to the measured diffusion signal (COMMIT: Daducci et al. 2015,
//! IEEE Trans Med Imaging 34:246; on a graphics card: Hernandez 2018).
//!
//! *Model.* The signal of voxel v in volume s is the sum of the contributions of its streamlines, of the water around
//! them and of free water:
//!
//! y_v\[s\] = Σ_q ℓ_q Σ_j L_j(o_q)\[s\] x_f(q),j + Σ_e Σ_j E_j(o_e)\[s\] x_e,j + Σ_j I_j\[s\] x_v,j
//!
//! over the segments q of streamlines in v (length ℓ in mm, direction o, streamline f) and its peaks e.
//! Weights x ≥ 0 minimise ½ |A x − y|² + λ |x_f|₁ + Σ_g λ_g |x_g|₂ (COMMIT2: Schiavi et al. 2020, Sci Adv
//! 6:eaba8245). Among near-duplicates the weight of a single streamline is arbitrary; sums over bundles are not.
//!
//! *The operator is exactly of low rank* ([`operator`]). A response rotates with the fibre and is symmetric about its
//! axis: in even spherical harmonics up to degree 12, R(o·g) = Σ_l r_l Σ_m Y_lm(o) Y_lm(g) (addition theorem), so a
//! shell needs the 91 numbers c_lm = Σ_q ℓ_q Y_lm(o_q) Σ_j r_j,l x_j and one small matrix product. Apart from the cut
//! at degree 12 this is the operator itself, not an approximation ([`harmonics`]); a look-up table of responses
//! ([`operator::dense`]) does the same work where voxels hold few segments.
//!
//! *Layout* ([`dictionary`]). Records of 8 bytes, voxel by voxel (`offsets`), within a voxel in the order of the
//! streamlines: `streamline: u32`, `direction: u16` (a point of the half sphere, 256 × 256 on the unfolded octahedron,
//! [`directions`]), `length: u16` (units of [`dictionary::Dictionary::unit_mm`]). Peaks: `u16` directions, the same
//! number of slots in every voxel ([`dictionary::Dictionary::peaks`]). Unknowns, in single precision: first
//! `x[streamline · atoms + atom]`, then for each voxel in the operator's order the same number of slots, peak by peak
//! and then free water ([`operator::Shape`]). Samples of a voxel: b = 0 first, then shell by shell
//! ([`samples::Samples`]).
//!
//! *Solver* ([`solver`]). Accelerated projected gradients with restarts in a diagonal metric, one A x and one Aᵀ y
//! per iteration. Sums within a voxel are in single precision, all sums over voxels and weights in double. Results are
//! the same bytes at any number of threads.
//!
//! *On graphics cards* the operator is in spherical harmonics, all vectors of the solver stay on the card, and each
//! iteration reads back a few sums. Each of several cards holds a slab of the voxels, and the cards add up the
//! contributions of Aᵀ y to streamlines.
//!
//! # Example
//!
//! Weights of two streamlines whose voxels should add up to the values of one image:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Tractogram, Volume};
//! use arcuate_engine::solvers::commit::model::{Intra, Model};
//! use arcuate_engine::solvers::commit::solver::Curve;
//! use arcuate_engine::solvers::commit::{Inputs, Params, Prepared};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([4, 2, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let image = Volume::scalar(Arc::new(grid), vec![2.0, 2.0, 2.0, 2.0, 5.0, 5.0, 5.0, 5.0]);
//! let points = vec![[-0.4, 0.0, 0.0], [3.4, 0.0, 0.0], [-0.4, 1.0, 0.0], [3.4, 1.0, 0.0]];
//! let tractogram = Tractogram::new(points, vec![0, 2, 4]);
//! let inputs = Inputs {
//!     tractogram: &tractogram,
//!     scan: &image,
//!     gradients: None,
//!     timing: &[],
//!     mask: None,
//!     peaks: None,
//! };
//! let params = Params {
//!     model: Model {
//!         intra: Intra::Density,
//!         extra: Vec::new(),
//!         free: Vec::new(),
//!     },
//!     ..Params::defaults_for(0)
//! };
//! let prepared = Prepared::new(&inputs, &params, None, &backend, &control)?;
//! let curve = Curve::default();
//! let fit = prepared.fit(&tractogram, &params, None, None, &curve, &backend, &control)?;
//! let ratio = fit.weights[1] / fit.weights[0];
//! assert!((ratio - 2.5).abs() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cuda;
pub mod cylinder;
mod cylinder_parameters;
pub mod dictionary;
pub mod directions;
mod error;
mod fit;
pub mod harmonics;
pub mod lines;
mod maps;
pub mod model;
mod model_error;
pub mod operator;
mod parameters;
mod prepare;
pub mod samples;
pub mod solver;
mod time_estimate;
mod water_parameters;

pub use fit::Fit;
pub use maps::Maps;
pub use parameters::{DEFAULT_GAMMA, DEFAULT_RADII_UM, Params};
pub use prepare::{Inputs, MemoryDemand, Prepared};
pub use time_estimate::TimeEstimate;
pub use water_parameters::WaterParts;
