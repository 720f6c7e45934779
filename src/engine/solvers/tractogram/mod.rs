//! Queries on curves, however they were made: selection, values along them, picking on the screen, and their repetitions.
//!
//! # Example
//!
//! The values of an image along streamlines:
//!
//! ```
//! use arcuate_engine::data::{Grid, Tractogram, Volume};
//! use arcuate_engine::solvers::tractogram::sample;
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([3, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let image = Volume::scalar(Arc::new(grid), vec![0.0, 10.0, 20.0]);
//! let line = Tractogram::new(vec![[0.0; 3], [0.5, 0.0, 0.0], [2.0, 0.0, 0.0]], vec![0, 3]);
//! assert_eq!(sample(&image, &line), [0.0, 5.0, 20.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cuda;
mod error;
pub mod line_values;
mod parameters;
pub mod pick;
pub mod profile;
pub mod repetitions;
mod sample;
pub mod selection;

pub use parameters::ProfileParams;
pub use sample::{points_outside, points_without_value, sample, sample_frame, sampled};
