//! Copies of table and pages for the graphics card of the window, made between two steps in memory known to both
//! drivers. The solver continues in its own buffers while a picture is drawn.

use super::{Engine, Field, OPERATION, PAGE};
use crate::data::{BrickImage, ImageExporter, Pages};
use crate::solvers::Error;

/// Logarithm to base 2 of the voxels along a brick's side.
const SHIFT: u32 = 3;

impl Engine {
    /// The current state in its own bricks; copied through the host if another card draws.
    pub fn image(
        &mut self,
        like: &Field,
        lend: Option<&ImageExporter>,
    ) -> Result<BrickImage, Error> {
        self.wait()?;
        let pages = self.state.high as usize * PAGE;
        let lend = lend.filter(|lend| self.device().uuid() == Ok(lend.card));
        if let Some(lend) = lend
            && let Some(image) = self.shared(like, pages, lend)?
        {
            return Ok(image);
        }
        let device = self.device();
        let table = device.download(&self.buffers.page_of, 0..self.buffers.bricks)?;
        let pages = Pages {
            table: bytemuck::cast_vec(table),
            values: device.download(&self.buffers.pages[self.now], 0..pages)?,
        };
        Ok(BrickImage::new(like.grid.clone(), self.clamp, SHIFT, pages))
    }

    fn shared(
        &mut self,
        like: &Field,
        pages: usize,
        lend: &ImageExporter,
    ) -> Result<Option<BrickImage>, Error> {
        let bricks = self.buffers.bricks;
        let first = BrickImage::pages_after(bricks);
        let bytes = first + 4 * pages as u64;
        let Some((buffer, copy)) = self.drawn.free_buffer(bytes, lend, &self.devices[0]) else {
            return Ok(None);
        };
        let image =
            BrickImage::on_device(like.grid.clone(), (self.clamp, SHIFT), pages, copy.clone());
        let (device, stream) = (&self.devices[0], &self.stream);
        device.copy_shared(&self.buffers.page_of, 0..bricks, buffer, 0, stream)?;
        let now = &self.buffers.pages[self.now];
        device.copy_shared(now, 0..pages, buffer, first, stream)?;
        device.check(OPERATION, stream.synchronize())?;
        Ok(Some(image))
    }
}
