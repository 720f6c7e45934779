//! Sets of voxels.
//!
//! # Example
//!
//! A mask of two of eight voxels:
//!
//! ```
//! use arcuate_engine::data::{Grid, Mask};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([2, 2, 2], DVec3::splat(2.0), DVec3::ZERO).ok_or("a valid grid")?;
//! let mask = Mask::new(Arc::new(grid), vec![1, 1, 0, 0, 0, 0, 0, 0]);
//! assert_eq!(mask.count(), 2);
//! assert_eq!(mask.volume_ml(), 0.016);
//! assert!(mask.contains(DVec3::new(2.0, 0.0, 0.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Grid, Volume};
use crate::compute::DataId;
use glam::DVec3;
use std::sync::{Arc, OnceLock};

/// A set of voxels of a grid.
#[derive(Clone, Debug)]
pub struct Mask {
    id: DataId,
    /// Grid of the mask.
    pub grid: Arc<Grid>,
    /// 1 inside, 0 outside, in file order.
    pub inside: Arc<[u8]>,
    /// For a mask cut to its voxels, the grid of its image, and the index there of the mask's first voxel.
    frame: Option<(Arc<Grid>, [usize; 3])>,
    image: Arc<OnceLock<Volume>>,
    extent: Arc<OnceLock<InsideVoxels>>,
    ends: Arc<OnceLock<Vec<[usize; 3]>>>,
}

/// Number and position of the voxels inside.
#[derive(Clone, Copy, Debug, Default)]
struct InsideVoxels {
    count: usize,
    /// Sum of the voxel coordinates.
    sum: DVec3,
    /// First and last voxel along each axis; `None` for an empty mask.
    voxels: Option<Block>,
    /// World mm.
    bounds: Option<(DVec3, DVec3)>,
}

/// First and last voxel along each axis.
pub type Block = ([usize; 3], [usize; 3]);

impl Mask {
    /// Panics if the number of values does not match the grid (a broken invariant, not data).
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
            frame: None,
            image: Arc::default(),
            extent: Arc::default(),
            ends: Arc::default(),
        }
    }

    /// Identity of the set, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// The mask as an image of zeros and ones; created once, shared by all clones.
    pub fn image(&self) -> &Volume {
        self.image.get_or_init(|| {
            let values: Vec<f32> = self.inside.iter().map(|&v| f32::from(v)).collect();
            Volume::scalar(self.grid.clone(), values)
        })
    }

    /// Number of voxels in the set.
    pub fn count(&self) -> usize {
        self.extent().count
    }

    /// World axis-aligned bounds of the voxels inside, mm; `None` for an empty mask.
    pub fn bounds_inside(&self) -> Option<(DVec3, DVec3)> {
        self.extent().bounds
    }

    /// First and last voxel inside along each axis; `None` for an empty mask.
    pub fn block_inside(&self) -> Option<Block> {
        self.extent().voxels
    }

    /// All voxels inside, in file order.
    pub fn voxels_inside(&self) -> impl Iterator<Item = [usize; 3]> {
        let block = self.block_inside();
        let rows = block.into_iter().flat_map(|(low, high)| {
            (low[2]..=high[2])
                .flat_map(move |z| (low[1]..=high[1]).map(move |y| (low[0], high[0], y, z)))
        });
        rows.flat_map(move |(first, last, y, z)| {
            let row = self.grid.index([0, y, z]);
            (first..=last)
                .filter(move |x| self.inside[row + x] != 0)
                .map(move |x| [x, y, z])
        })
    }

    /// The voxels inside, as voxels of the [frame](Self::frame).
    pub fn voxels_in_frame(&self) -> impl Iterator<Item = [usize; 3]> {
        let first = self.frame.as_ref().map_or([0; 3], |(_, first)| *first);
        self.voxels_inside()
            .map(move |voxel| [0, 1, 2].map(|a| voxel[a] + first[a]))
    }

    /// Centre of mass of the voxels inside, world mm; `None` for an empty mask.
    pub fn centre_inside(&self) -> Option<DVec3> {
        let InsideVoxels { count, sum, .. } = *self.extent();
        (count > 0).then(|| self.grid.world(sum / count as f64))
    }

    /// Computed once, shared by all clones: views request it in every frame.
    fn extent(&self) -> &InsideVoxels {
        self.extent.get_or_init(|| {
            let [nx, ny, nz] = self.grid.shape;
            let all = ([0; 3], [nx - 1, ny - 1, nz - 1]);
            let (mut count, mut sum) = (0, DVec3::ZERO);
            let voxels = self.tight_bounds(all, |voxel| {
                count += 1;
                sum += DVec3::from_array(voxel.map(|v| v as f64));
            });
            self.measured(count, sum, voxels)
        })
    }

    /// First and last voxel inside of every row: in any direction, the set ends at one of these voxels.
    ///
    /// Computed once, shared by all clones.
    pub fn row_ends(&self) -> &[[usize; 3]] {
        self.ends.get_or_init(|| {
            let Some((low, high)) = self.block_inside() else {
                return Vec::new();
            };
            let rows = (low[2]..=high[2]).flat_map(|z| (low[1]..=high[1]).map(move |y| (y, z)));
            let ends = rows.filter_map(|(y, z)| {
                let row = self.grid.index([0, y, z]);
                let values = &self.inside[row + low[0]..=row + high[0]];
                let first = values.iter().position(|&v| v != 0)?;
                let last = values.iter().rposition(|&v| v != 0)?;
                Some([[low[0] + first, y, z], [low[0] + last, y, z]])
            });
            ends.flatten().collect()
        })
    }

    fn measured(&self, count: usize, sum: DVec3, voxels: Option<Block>) -> InsideVoxels {
        InsideVoxels {
            count,
            sum,
            voxels,
            bounds: voxels.map(|block| self.grid.block_bounds(block)),
        }
    }

    /// The bounds of the voxels inside within a block; calls `each` for every one of them.
    fn tight_bounds(&self, (low, high): Block, mut each: impl FnMut([usize; 3])) -> Option<Block> {
        let mut bounds: Option<Block> = None;
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                let row = self.grid.index([0, y, z]);
                let values = &self.inside[row + low[0]..=row + high[0]];
                let Some(first) = values.iter().position(|&v| v != 0) else {
                    continue;
                };
                let last = values.iter().rposition(|&v| v != 0).unwrap_or(first);
                for x in (first..=last).filter(|&x| values[x] != 0) {
                    each([low[0] + x, y, z]);
                }
                bounds = union_of_blocks(bounds, ([low[0] + first, y, z], [low[0] + last, y, z]));
            }
        }
        bounds
    }

    /// Volume of the set, ml.
    pub fn volume_ml(&self) -> f64 {
        self.count() as f64 * self.grid.world_from_voxel.matrix3.determinant().abs() / 1000.0
    }

    /// Whether the voxel that contains a world point belongs to the set; false outside the grid.
    pub fn contains(&self, world: DVec3) -> bool {
        self.grid
            .nearest(world)
            .is_some_and(|v| self.inside[self.grid.index(v)] != 0)
    }

    /// The grid of the image to which the mask belongs: its own, unless it is cut to its voxels.
    pub fn frame(&self) -> &Arc<Grid> {
        self.frame.as_ref().map_or(&self.grid, |(grid, _)| grid)
    }

    /// The mask on the whole grid of its image, as written to files.
    pub fn on_whole_grid(&self) -> Self {
        let Some((grid, first)) = &self.frame else {
            return self.clone();
        };
        let mut inside = vec![0; grid.voxel_count()];
        let [nx, ny, _] = self.grid.shape;
        for (i, row) in self.inside.chunks_exact(nx).enumerate() {
            let at = grid.index([first[0], first[1] + i % ny, first[2] + i / ny]);
            inside[at..at + nx].copy_from_slice(row);
        }
        Self::new(grid.clone(), inside)
    }

    /// The voxels of an image's block that satisfy `select`, without memory for the others: hundreds of labels would
    /// otherwise not fit.
    pub fn cut_to(grid: &Arc<Grid>, (low, high): Block, select: impl Fn(usize) -> bool) -> Self {
        let shape = [0, 1, 2].map(|a| high[a] - low[a] + 1);
        let mut inside = Vec::with_capacity(shape.iter().product());
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                let row = grid.index([0, y, z]);
                inside.extend((row + low[0]..=row + high[0]).map(|i| u8::from(select(i))));
            }
        }
        let mut own = (**grid).clone();
        own.shape = shape;
        let first = DVec3::from_array(low.map(|v| v as f64));
        own.world_from_voxel.translation = grid.world(first);
        own.voxel_from_world = own.world_from_voxel.inverse();
        let mut mask = Self::new(Arc::new(own), inside);
        mask.frame = Some((grid.clone(), low));
        mask
    }

    /// Whether the mask covers exactly the voxels of `grid`, in whatever order of axes.
    pub fn has_voxels_of(&self, grid: &Grid) -> bool {
        grid.matches(&self.grid) || self.grid.reordered(grid).is_some()
    }

    /// The mask in the axis order of another grid with the same voxels; `None` for any other grid.
    pub fn in_the_order_of(&self, grid: &Arc<Grid>) -> Option<Self> {
        if grid.matches(&self.grid) {
            return Some(Self::new(grid.clone(), self.inside.clone()));
        }
        let own_from_voxel = self.grid.reordered(grid)?;
        let inside = (0..grid.voxel_count()).map(|i| {
            let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
            let own = own_from_voxel.transform_point3(voxel).round().to_array();
            self.inside[self.grid.index(own.map(|v| v as usize))]
        });
        let inside: Vec<u8> = inside.collect();
        Some(Self::new(grid.clone(), inside))
    }

    /// A mask without any voxel inside.
    pub fn empty(grid: &Arc<Grid>) -> Self {
        Self::new(grid.clone(), vec![0; grid.voxel_count()])
    }

    /// Restores the mask with this id.
    pub fn restored(id: DataId, grid: Arc<Grid>, inside: Arc<[u8]>) -> Self {
        Self {
            id,
            ..Self::new(grid, inside)
        }
    }

    /// Adds or removes the voxels of a block that `select` chooses; returns the number of changes. If there are any,
    /// the mask gets a new id. In place if no other handle shares the values, so that the cost of a brush depends on
    /// its size only.
    ///
    /// `select` is called row by row: for the range of x that it may set in the row (y, z).
    pub fn edit(
        &mut self,
        (low, high): Block,
        value: bool,
        mut select: impl FnMut(usize, usize, &mut dyn FnMut(usize)),
    ) -> usize {
        let value = u8::from(value);
        let mut changed: Vec<usize> = Vec::new();
        let mut block: Option<Block> = None;
        let grid = &self.grid;
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                let row = grid.index([0, y, z]);
                select(y, z, &mut |x: usize| {
                    if (low[0]..=high[0]).contains(&x) && self.inside[row + x] != value {
                        changed.push(row + x);
                        block = union_of_blocks(block, ([x, y, z], [x, y, z]));
                    }
                });
            }
        }
        let Some(block) = block else {
            return 0;
        };
        let before = *self.extent();
        let inside = Arc::make_mut(&mut self.inside);
        let (mut count, mut moved) = (0, DVec3::ZERO);
        // A row may have named a voxel twice.
        for i in changed {
            if std::mem::replace(&mut inside[i], value) != value {
                count += 1;
                moved += DVec3::from_array(self.grid.voxel(i).map(|v| v as f64));
            }
        }
        self.id = DataId::fresh();
        self.image = Arc::default();
        let extent = if value == 1 {
            let voxels = union_of_blocks(before.voxels, block);
            self.measured(before.count + count, before.sum + moved, voxels)
        } else {
            let left = before.count - count;
            let old = before.voxels.unwrap_or(block);
            let on_rim = (0..3).any(|a| block.0[a] == old.0[a] || block.1[a] == old.1[a]);
            let voxels = if on_rim {
                self.tight_bounds(old, |_| {})
            } else {
                Some(old)
            };
            self.measured(left, before.sum - moved, voxels)
        };
        self.extent = Arc::new(OnceLock::from(extent));
        self.ends = Arc::default();
        count
    }
}

/// The block that encloses two blocks.
fn union_of_blocks(a: Option<Block>, b: Block) -> Option<Block> {
    Some(a.map_or(b, |(low, high)| {
        let low = [0, 1, 2].map(|i| low[i].min(b.0[i]));
        (low, [0, 1, 2].map(|i| high[i].max(b.1[i])))
    }))
}
