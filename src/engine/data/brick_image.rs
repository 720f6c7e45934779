//! An image of which only some bricks have values, as in a level set's solver.

use super::Grid;
use crate::compute::{DataId, DeviceCopy};
use std::sync::Arc;

/// φ on a grid, positive inside, in cubes of voxels; elsewhere only the side is known.
#[derive(Clone, Debug)]
pub struct BrickImage {
    id: DataId,
    /// Grid of the whole image.
    pub grid: Arc<Grid>,
    /// |φ| in bricks without a page.
    pub clamp: f32,
    /// Logarithm to base 2 of the voxels along a brick's side.
    pub shift: u32,
    /// `None` if only the window's card has the values.
    host: Option<Arc<Pages>>,
    device: Option<DeviceCopy>,
    /// Number of values on the card, including the first two pages.
    on_device: usize,
}

/// The table of bricks and their values.
#[derive(Debug, Default)]
pub struct Pages {
    /// By brick, x fastest: 0 outside, 1 inside, otherwise its page.
    pub table: Vec<u32>,
    /// Page by page, x fastest in each; the first two are never read.
    pub values: Vec<f32>,
}

impl BrickImage {
    /// Alignment in bytes of buffer parts that shaders read, an upper bound.
    pub const ALIGNED: u64 = 256;
    /// Table entry of a brick that lies outside everywhere.
    pub const OUTSIDE: u32 = 0;
    /// Table entry of a brick that lies inside everywhere.
    pub const INSIDE: u32 = 1;

    /// Panics if the table does not fit the grid (a broken invariant, not data).
    pub fn new(grid: Arc<Grid>, clamp: f32, shift: u32, pages: Pages) -> Self {
        let image = Self {
            id: DataId::fresh(),
            grid,
            clamp,
            shift,
            host: None,
            device: None,
            on_device: 0,
        };
        assert_eq!(
            pages.table.len(),
            image.bricks(),
            "a table against its grid"
        );
        Self {
            host: Some(Arc::new(pages)),
            ..image
        }
    }

    /// An image with its values on a graphics card; `on_device` is their number.
    pub fn on_device(
        grid: Arc<Grid>,
        (clamp, shift): (f32, u32),
        values: usize,
        copy: DeviceCopy,
    ) -> Self {
        Self {
            id: DataId::fresh(),
            grid,
            clamp,
            shift,
            host: None,
            device: Some(copy),
            on_device: values,
        }
    }

    /// An image of the same size without any values.
    pub fn without_values(like: &Self) -> Self {
        Self {
            id: DataId::fresh(),
            host: None,
            device: None,
            on_device: 0,
            ..like.clone()
        }
    }

    /// Identity of the image, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// Bricks along each axis.
    pub fn bricks_per_axis(&self) -> [usize; 3] {
        self.grid.shape.map(|n| n.div_ceil(1 << self.shift))
    }

    /// Number of entries of the table.
    pub fn bricks(&self) -> usize {
        self.bricks_per_axis().iter().product()
    }

    /// Number of values per page.
    pub fn page(&self) -> usize {
        1 << (3 * self.shift)
    }

    /// Offset of the pages in a buffer that begins with the table, bytes.
    pub fn pages_at(&self) -> u64 {
        Self::pages_after(self.bricks())
    }

    /// Offset of the pages after a table of `bricks` bricks, bytes.
    pub fn pages_after(bricks: usize) -> u64 {
        (4 * bricks as u64).next_multiple_of(Self::ALIGNED)
    }

    /// Size of all pages, bytes.
    pub fn values_bytes(&self) -> u64 {
        let here = self.host.as_ref().map(|pages| pages.values.len());
        4 * here.unwrap_or(self.on_device) as u64
    }

    /// Pages in the host's memory; `None` if they are on a card only.
    pub fn pages(&self) -> Option<&Arc<Pages>> {
        self.host.as_ref()
    }

    /// Pages on a graphics card, for drawing; `None` if they are in the host's memory only.
    pub fn device_copy(&self) -> Option<&DeviceCopy> {
        self.device.as_ref()
    }
}
