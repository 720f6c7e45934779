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
    /// Which card it is on.
    pub card: [u8; 16],
    /// What is drawn.
    pub copy: DeviceCopy,
}

/// Lends an image of so many texels along x, y, z; `None` where that cannot be.
pub type LendImage = Arc<dyn Fn([u32; 3]) -> Option<LentImage> + Send + Sync>;
