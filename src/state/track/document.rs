//! Questions to the document about its live result.

use crate::state::Document;
use crate::state::core::display::Display;
use crate::state::track::types::Method;

impl Document {
    /// Display of the live result.
    pub fn live_display(&self) -> &Display {
        match self.track.method {
            Method::Streamlines => &self.track.streamline_display,
            Method::Rays => &self.track.ray_display,
        }
    }

    pub fn live_display_mut(&mut self) -> &mut Display {
        match self.track.method {
            Method::Streamlines => &mut self.track.streamline_display,
            Method::Rays => &mut self.track.ray_display,
        }
    }
}
