//! Questions about the live result of a document.

use crate::state::Document;
use crate::state::core::display::Display;
use crate::state::tensors::mask_text;
use crate::state::track::types::odf::Model;
use crate::state::track::types::{CurveResult, Method};

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

impl CurveResult {
    /// Where its curves can start, as in `the seeds lie outside the automatic mask`.
    pub fn place_of_starts(&self, document: &Document) -> String {
        match self.key.curves.kind().model() {
            Model::Tensors => mask_text::name_of(document),
            Model::Distributions => {
                let [outside, low] = [
                    "the distributions",
                    "where all amplitudes are below the cut-off",
                ];
                match self.key.tissues {
                    None => format!("{outside}, or {low}"),
                    Some(_) => format!("{outside}, {low}, in CSF, or outside the tissues"),
                }
            }
        }
    }
}
