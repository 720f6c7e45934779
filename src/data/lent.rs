//! Memory of a graphics card that is drawn from, lent to who computes on the same card.

use crate::compute::DeviceCopy;
use std::sync::Arc;

#[cfg(unix)]
pub type MemoryHandle = std::os::fd::OwnedFd;
#[cfg(windows)]
pub type MemoryHandle = std::os::windows::io::OwnedHandle;

/// A three-dimensional image of one 32-bit float a texel, whose values are not known yet.
#[derive(Debug)]
pub struct LentImage {
    /// The memory that lies behind it, as the graphics driver exports it.
    pub handle: MemoryHandle,
    /// Of that memory.
    pub bytes: u64,
    /// Texels along x, y, z.
    pub size: [u32; 3],
    /// What is drawn.
    pub copy: DeviceCopy,
}

/// Lends images of one card.
#[derive(Clone)]
pub struct LendImage {
    /// Which one, as drivers tell it.
    pub card: [u8; 16],
    lend: Arc<Lend>,
}

type Lend = dyn Fn([u32; 3]) -> Option<LentImage> + Send + Sync;

impl LendImage {
    pub fn new(
        card: [u8; 16],
        lend: impl Fn([u32; 3]) -> Option<LentImage> + Send + Sync + 'static,
    ) -> Self {
        let lend = Arc::new(lend);
        Self { card, lend }
    }

    /// Of so many texels along x, y, z; `None` where that cannot be. Waits for the card that draws: to be
    /// asked by who computes on the same.
    pub fn image(&self, size: [u32; 3]) -> Option<LentImage> {
        (self.lend)(size)
    }
}
