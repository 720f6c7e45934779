//! Immutable values, without files, threads, GPU or windows.
//!
//! World space is RAS+ millimetres (x to the patient's right, y to the front, z up); voxel centres have integer voxel
//! coordinates; voxels are stored in file order, x fastest.
//!
//! # Example
//!
//! An image of 4 × 4 × 2 voxels with edges of 2 mm, and its value at a point in world space:
//!
//! ```
//! use arcuate_engine::data::{Grid, Volume};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([4, 4, 2], DVec3::splat(2.0), DVec3::ZERO).ok_or("a valid grid")?;
//! let values: Vec<f32> = (0..grid.voxel_count()).map(|voxel| voxel as f32).collect();
//! let image = Volume::scalar(Arc::new(grid), values);
//! assert_eq!(image.nearest(0, DVec3::new(2.3, 0.0, 0.0)), Some(1.0));
//! assert_eq!(image.range(0), (0.0, 31.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod appearance;
pub mod axis_change;
pub mod bounding_chunks;
pub mod brick_image;
mod built_in_phantom;
pub mod bundle_recipe;
pub mod cholesky;
pub mod clip;
mod content;
pub mod dark_blocks;
pub mod drawing;
pub mod drawn_lines;
pub mod exported_memory;
mod fixels;
pub mod gradients;
pub mod grid;
pub mod half_sphere;
pub mod joint_histogram;
mod keyed;
pub mod labels;
pub mod level_of_detail;
pub mod line_blocks;
pub mod line_order;
pub mod mask;
pub mod odf_field;
pub mod odf_turn;
pub mod peak_field;
pub mod protocol;
pub mod random;
pub mod region;
pub mod response;
pub mod rotation;
pub mod segment;
pub mod sentence;
pub mod shared_slice;
mod shell_command;
pub mod shells;
pub mod spherical_harmonics;
pub mod statistics;
pub mod surface;
pub mod tensor_field;
pub mod tensor_layout;
pub mod text;
mod tissue_labels;
pub mod tissue_map;
pub mod tractogram;
pub mod volume;
pub mod warp;

pub use crate::keyed;

pub use crate::compute::{DataId, DeviceCopy};
pub use brick_image::{BrickImage, Pages};
pub use built_in_phantom::{BuiltInPhantom, PhantomKind};
pub use drawing::{Outline, Stroke};
pub use drawn_lines::{DrawnChunk, DrawnLines, LineDrawing};
pub use exported_memory::{ExportedBuffer, ExportedImage, ImageExporter};
pub use fixels::Fixels;
pub use gradients::Gradients;
pub use grid::{AffineSource, Grid};
pub use half_sphere::HalfSphere;
pub use labels::Labels;
pub use mask::Mask;
pub use odf_field::{OdfField, OdfLayout};
pub use peak_field::PeakField;
pub use region::{Region, Role, Shape};
pub use response::Response;
pub use sentence::Sentence;
pub use shared_slice::Shared;
pub use shell_command::ShellCommand;
pub use shells::{ShellVolumes, Shells};
pub use surface::Surface;
pub use tensor_field::{Tensor, TensorField};
pub use tensor_layout::{TensorFrame, TensorLayout, TensorOrder};
pub use tissue_map::{TissueMap, TissueType};
pub use tractogram::Tractogram;
pub use volume::{Volume, VolumeKind};
