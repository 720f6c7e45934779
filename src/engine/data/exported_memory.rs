//! Renderer memory exported to solvers on the same device.

use crate::compute::DeviceCopy;
use std::sync::Arc;

#[cfg(unix)]
pub type MemoryHandle = std::os::fd::OwnedFd;
#[cfg(windows)]
pub type MemoryHandle = std::os::windows::io::OwnedHandle;

/// A three-dimensional image of one 32-bit float a texel, whose values are not known yet.
#[derive(Debug)]
pub struct ExportedImage {
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
pub struct ExportedBuffer {
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
pub struct ImageExporter {
    /// Which one, as drivers tell it.
    pub card: [u8; 16],
    image: Arc<Lend<[u32; 3], ExportedImage>>,
    buffer: Arc<Lend<u64, ExportedBuffer>>,
}

type Lend<S, T> = dyn Fn(S) -> Option<T> + Send + Sync;

impl ImageExporter {
    pub fn new(
        card: [u8; 16],
        image: impl Fn([u32; 3]) -> Option<ExportedImage> + Send + Sync + 'static,
        buffer: impl Fn(u64) -> Option<ExportedBuffer> + Send + Sync + 'static,
    ) -> Self {
        Self {
            card,
            image: Arc::new(image),
            buffer: Arc::new(buffer),
        }
    }

    /// An image with this many texels along x, y, z; `None` where that cannot be. Waits for the card that draws: to be
    /// asked by who computes on the same.
    pub fn image(&self, size: [u32; 3]) -> Option<ExportedImage> {
        (self.image)(size)
    }

    /// A buffer of this many bytes that shaders read; `None` where that cannot be.
    pub fn buffer(&self, bytes: u64) -> Option<ExportedBuffer> {
        (self.buffer)(bytes)
    }
}
