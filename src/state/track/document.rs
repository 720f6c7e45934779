//! Questions about the live result of a document.

use crate::solvers::geodesic::OdfSpeed;
use crate::state::Document;
use crate::state::core::display::Display;
use crate::state::tensors::mask_text;
use crate::state::track::types::{CurveParams, CurveResult, Method};

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
        match &self.key.curves {
            CurveParams::Streamlines(_) | CurveParams::Rays(..) => mask_text::name_of(document),
            CurveParams::OdfRays(speed, _) => starts_of_lobes(speed),
            CurveParams::OdfStreamlines(_) => {
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

/// Where rays in distributions can start, as in `the seeds lie outside the voxels with fibres`.
pub fn starts_of_lobes(speed: &OdfSpeed) -> String {
    let place = "the voxels with fibres";
    match speed.min_amplitude {
        None => place.to_owned(),
        Some(limit) => format!("{place}, or where no peak reaches {limit}"),
    }
}
