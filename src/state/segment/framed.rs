//! The part of the segmented image that slice views frame: until the user moves a slice view, Segment crops it to the
//! content of the image. With a fit, every task frames the head.

use crate::state::core::pane::Pane;
use crate::state::segment::frame_of;
use crate::state::view::{Plane, SliceCamera};
use crate::state::{State, Task};
use glam::{DVec2, DVec3};

/// Margin around the content, mm.
const MARGIN_MM: f64 = 8.0;

impl State {
    /// The plane that a slice view shows; `size` is the pane's in points.
    pub fn plane(&self, pane: Pane, size: DVec2) -> Option<Plane> {
        self.view.plane(pane, self.framed_by_slice(pane), size)
    }

    /// The bounds that a slice view frames.
    pub fn framed_by_slice(&self, pane: Pane) -> (DVec3, DVec3) {
        let cropped = self.content_framed(pane);
        cropped.unwrap_or_else(|| self.document.sliced())
    }

    /// Zoom and pan of a slice view in relation to the bounds that all tasks frame: those that the user has set, else
    /// those that show the content. A drag continues from there.
    pub fn slice_camera(&self, pane: Pane, size: DVec2) -> SliceCamera {
        let set = self.view.slice_camera(pane).unwrap_or_default();
        let content = self.content_framed(pane);
        let framed = self.document.sliced();
        let planes = content.and_then(|content| {
            let whole = self.view.plane(pane, framed, size)?;
            Some((whole, self.view.plane(pane, content, size)?))
        });
        planes.map_or(set, |(whole, cropped)| SliceCamera {
            zoom: whole.mm_per_point / cropped.mm_per_point,
            pan_mm: self
                .view
                .turn
                .straight_direction(cropped.centre - whole.centre),
        })
    }

    /// The content of the segmented image with a margin; `None` where the whole is framed.
    fn content_framed(&self, pane: Pane) -> Option<(DVec3, DVec3)> {
        let is_unmoved = self.view.slice_camera(pane) == Some(SliceCamera::default());
        let is_cropped = self.view.task == Task::Segment && self.document.tensors.is_none();
        if !is_cropped || !is_unmoved {
            return None;
        }
        let (layer, image) = self.document.segmented_image()?;
        let [first, last] = image.content(frame_of(layer, image));
        let (low, high) = image.grid.block_bounds((first, last));
        let whole = self.document.sliced();
        Some((
            (low - MARGIN_MM).max(whole.0),
            (high + MARGIN_MM).min(whole.1),
        ))
    }
}
