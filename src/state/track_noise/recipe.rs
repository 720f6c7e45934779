//! The recipe of shares of repeated streamlines.

use crate::state::core::layer::OriginId;

/// The recipe of the shares of repetitions with a streamline through the voxels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StreamlineShareRecipe {
    /// The streamlines of the bootstrap.
    pub curves: OriginId,
}
