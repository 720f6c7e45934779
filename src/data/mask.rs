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
    /// Number of voxels inside and where they lie.
    extent: Arc<OnceLock<(usize, Option<Extent>)>>,
}

/// Where the voxels inside lie.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// World mm.
    bounds: (DVec3, DVec3),
    centre: DVec3,
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
            extent: Arc::default(),
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
        self.extent().0
    }

    /// World axis-aligned bounds of the voxels inside, mm; `None` for an empty mask.
    pub fn bounds_inside(&self) -> Option<(DVec3, DVec3)> {
        self.extent().1.map(|e| e.bounds)
    }

    /// Centre of mass of the voxels inside, world mm; `None` for an empty mask.
    pub fn centre_inside(&self) -> Option<DVec3> {
        self.extent().1.map(|e| e.centre)
    }

    /// Found once, shared by all clones: views ask in every frame.
    fn extent(&self) -> (usize, Option<Extent>) {
        *self.extent.get_or_init(|| {
            let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            let (mut sum, mut n) = (DVec3::ZERO, 0);
            for (i, _) in self.inside.iter().enumerate().filter(|(_, v)| **v != 0) {
                let voxel = DVec3::from_array(self.grid.voxel(i).map(|v| v as f64));
                (low, high) = (low.min(voxel), high.max(voxel));
                sum += voxel;
                n += 1;
            }
            let corners = (0..8).map(|c| {
                let pick = |a: usize| {
                    if c >> a & 1 == 1 {
                        high[a] + 0.5
                    } else {
                        low[a] - 0.5
                    }
                };
                self.grid.world(DVec3::new(pick(0), pick(1), pick(2)))
            });
            let bounds = corners
                .map(|c| (c, c))
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
                .filter(|_| n > 0);
            let centre = self.grid.world(sum / n as f64);
            (n, bounds.map(|bounds| Extent { bounds, centre }))
        })
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
