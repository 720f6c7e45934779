//! Sets of voxels.

use super::{Grid, Volume};
use crate::compute::DataId;
use glam::DVec3;
use std::sync::{Arc, OnceLock};

/// A set of voxels of a grid.
#[derive(Clone, Debug)]
pub struct Mask {
    id: DataId,
    pub grid: Arc<Grid>,
    /// 1 inside, 0 outside, in file order.
    pub inside: Arc<[u8]>,
    image: Arc<OnceLock<Volume>>,
}

impl Mask {
    /// Panics if the number of values is not the grid's (a broken invariant, not data).
    pub fn new(grid: Arc<Grid>, inside: impl Into<Arc<[u8]>>) -> Self {
        let inside = inside.into();
        assert_eq!(
            inside.len(),
            grid.voxel_count(),
            "mask values against its grid"
        );
        Self {
            id: DataId::fresh(),
            grid,
            inside,
            image: Arc::default(),
        }
    }

    pub fn id(&self) -> DataId {
        self.id
    }

    /// The mask as an image of zeros and ones; made once, shared by all clones.
    pub fn image(&self) -> &Volume {
        self.image.get_or_init(|| {
            let values: Vec<f32> = self.inside.iter().map(|&v| f32::from(v)).collect();
            Volume::scalar(self.grid.clone(), values)
        })
    }

    pub fn count(&self) -> usize {
        self.inside.iter().filter(|&&v| v != 0).count()
    }

    pub fn volume_ml(&self) -> f64 {
        self.count() as f64 * self.grid.world_from_voxel.matrix3.determinant().abs() / 1000.0
    }

    /// Whether the voxel that holds a world point belongs to the set; outside the grid: no.
    pub fn contains(&self, world: DVec3) -> bool {
        self.grid
            .nearest(world)
            .is_some_and(|v| self.inside[self.grid.index(v)] != 0)
    }
}
