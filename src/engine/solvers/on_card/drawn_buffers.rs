//! Buffers in memory known to a graphics card's compute driver and to the renderer.

use crate::compute::DeviceCopy;
use crate::compute::cuda::{Device, SharedBuffer};
use crate::data::ImageExporter;

/// Buffers used in turn: a buffer that a picture still shows is not overwritten.
#[derive(Default)]
pub struct DrawnBuffers(Vec<(SharedBuffer, DeviceCopy)>);

impl DrawnBuffers {
    /// A buffer that is large enough and shown by no picture; `None` where the window exports none.
    pub fn free_buffer(
        &mut self,
        bytes: u64,
        lend: &ImageExporter,
        device: &Device,
    ) -> Option<&(SharedBuffer, DeviceCopy)> {
        let Self(all) = self;
        all.retain(|(buffer, copy)| buffer.bytes() >= bytes || !copy.is_only_handle());
        if let Some(at) = all
            .iter()
            .position(|(buffer, copy)| copy.is_only_handle() && buffer.bytes() >= bytes)
        {
            return all.get(at);
        }
        // With room for growth.
        let lent = lend.buffer(bytes + bytes / 4)?;
        // Memory that cannot be shared is copied through the host, which only costs milliseconds.
        let buffer = device.shared_buffer(lent.handle, lent.bytes, lent.size);
        all.push((buffer.ok()?, lent.copy));
        all.last()
    }
}
