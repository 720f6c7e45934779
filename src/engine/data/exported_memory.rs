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

/// A buffer whose bytes are not known yet.
#[derive(Debug)]
pub struct LentBuffer {
    /// The memory that lies behind it, as the graphics driver exports it.
    pub handle: MemoryHandle,
    /// Of that memory.
    pub bytes: u64,
    /// Of the buffer.
    pub size: u64,
    /// What is drawn.
    pub copy: DeviceCopy,
}

/// Lends images and buffers of one card.
#[derive(Clone)]
pub struct LendImage {
    /// Which one, as drivers tell it.
    pub card: [u8; 16],
    image: Arc<Lend<[u32; 3], LentImage>>,
    buffer: Arc<Lend<u64, LentBuffer>>,
}

type Lend<S, T> = dyn Fn(S) -> Option<T> + Send + Sync;

impl LendImage {
    pub fn new(
        card: [u8; 16],
        image: impl Fn([u32; 3]) -> Option<LentImage> + Send + Sync + 'static,
        buffer: impl Fn(u64) -> Option<LentBuffer> + Send + Sync + 'static,
    ) -> Self {
        Self {
            card,
            image: Arc::new(image),
            buffer: Arc::new(buffer),
        }
    }

    /// An image with this many texels along x, y, z; `None` where that cannot be. Waits for the card that draws: to be
    /// asked by who computes on the same.
    pub fn image(&self, size: [u32; 3]) -> Option<LentImage> {
        (self.image)(size)
    }

    /// A buffer of this many bytes that shaders read; `None` where that cannot be.
    pub fn buffer(&self, bytes: u64) -> Option<LentBuffer> {
        (self.buffer)(bytes)
    }
}
