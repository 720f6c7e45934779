//! Renderer memory exported to solvers on the same device.

use crate::compute::DeviceCopy;
use std::sync::Arc;

/// Handle with which another driver imports memory, owned by its holder.
#[cfg(unix)]
pub type MemoryHandle = std::os::fd::OwnedFd;
#[cfg(windows)]
pub type MemoryHandle = std::os::windows::io::OwnedHandle;

/// A three-dimensional image of one 32-bit float per texel, not initialised yet.
#[derive(Debug)]
pub struct ExportedImage {
    /// The underlying memory, as exported by the graphics driver.
    pub handle: MemoryHandle,
    /// Size of that memory.
    pub bytes: u64,
    /// Texels along x, y, z.
    pub size: [u32; 3],
    /// The copy for drawing.
    pub copy: DeviceCopy,
}

/// A buffer, not initialised yet.
#[derive(Debug)]
pub struct ExportedBuffer {
    /// The underlying memory, as exported by the graphics driver.
    pub handle: MemoryHandle,
    /// Size of that memory.
    pub bytes: u64,
    /// Size of the buffer.
    pub size: u64,
    /// The copy for drawing.
    pub copy: DeviceCopy,
}

/// Exports images and buffers of one card.
#[derive(Clone)]
pub struct ImageExporter {
    /// Identifies the card, as drivers do.
    pub card: [u8; 16],
    image: Arc<ExportFn<[u32; 3], ExportedImage>>,
    buffer: Arc<ExportFn<u64, ExportedBuffer>>,
}

type ExportFn<S, T> = dyn Fn(S) -> Option<T> + Send + Sync;

impl ImageExporter {
    /// Exporter of the card with this identifier; both functions return `None` if the driver refuses.
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

    /// An image with this many texels along x, y, z; `None` if it cannot be created. Waits for the card that draws:
    /// only to be called by solvers on the same card.
    pub fn image(&self, size: [u32; 3]) -> Option<ExportedImage> {
        (self.image)(size)
    }

    /// A buffer of this many bytes that shaders read; `None` if it cannot be created.
    pub fn buffer(&self, bytes: u64) -> Option<ExportedBuffer> {
        (self.buffer)(bytes)
    }
}
