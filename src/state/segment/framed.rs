//! The part of the segmented image that slice views frame: until the user moves a slice view, Segment crops it to the
//! content of the image. With a fit, every task frames the head. Also the slices of a mosaic, which end where content does.

use crate::data::Grid;
use crate::state::core::pane::Pane;
use crate::state::segment::types::{frame_of, scalar};
use crate::state::view::{Plane, SliceCamera, View};
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

    /// Positions of a mosaic's slices along their normal, mm, from the lowest. Turned slices end where the head does, or
    /// the visible content of the images: the corners of a turned box would add slices of nothing.
    pub fn mosaic_slices(&self) -> Vec<f64> {
        self.view.mosaic_slices(self.mosaic_ends())
    }

    /// Number of slices that a mosaic of this spacing has; it shows at most [`View::MAXIMUM_SLICES`].
    pub fn mosaic_count(&self) -> usize {
        self.view.mosaic_count(self.mosaic_ends())
    }

    /// Positions along the normal between which the slices of a mosaic lie, mm.
    pub fn mosaic_ends(&self) -> (f64, f64) {
        let axis = self.view.mosaic_pane().normal_axis().unwrap_or(2);
        let (low, high) = self.view.turn.straight_bounds(self.document.head());
        let within_box = (low[axis], high[axis]);
        self.extent_of_content(axis).unwrap_or(within_box)
    }

    /// First and last position along the normal of turned slices at which they cut content; `None` for straight slices,
    /// and where an image of colours or labels, whose content is not known, is shown without a fit.
    fn extent_of_content(&self, axis: usize) -> Option<(f64, f64)> {
        if self.view.turn.is_straight() {
            return None;
        }
        let normal = self.view.turn.direction(DVec3::AXES[axis]);
        let place = |grid: &Grid, voxel: [usize; 3]| {
            let world = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
            self.view.turn.straight_point(world)[axis]
        };
        let extent = |grid: &Grid, ends: &[[usize; 3]]| {
            let m = grid.world_from_voxel.matrix3;
            let half_voxel: f64 = (0..3).map(|a| 0.5 * m.col(a).dot(normal).abs()).sum();
            let places = ends.iter().map(|&end| place(grid, end));
            let whole = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p - half_voxel), high.max(p + half_voxel))
            });
            (whole.0 <= whole.1).then_some(whole)
        };
        if let Some(tensors) = &self.document.tensors {
            return extent(&tensors.mask.grid, tensors.mask.row_ends());
        }
        let shown = self.document.layers.iter().filter(|l| l.display.visible);
        let images = shown.filter(|l| l.content.volume().is_some());
        let extents: Option<Vec<_>> = images
            .map(|layer| {
                let image = scalar(layer)?;
                extent(&image.grid, &image.content_ends(frame_of(layer, image)))
            })
            .collect();
        let union = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        extents?.into_iter().reduce(union)
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

impl View {
    /// The orientation of a mosaic.
    pub fn mosaic_pane(&self) -> Pane {
        match self.single {
            Pane::Scene => Pane::Axial,
            pane => pane,
        }
    }

    /// Steps from the crosshair to a mosaic's first and last slice between two positions along their normal, mm.
    fn mosaic_steps(&self, (low, high): (f64, f64)) -> (i64, i64) {
        let here = self.place(self.mosaic_pane().normal_axis().unwrap_or(2));
        let first = ((low - here) / self.mosaic_mm).ceil() as i64;
        let last = ((high - here) / self.mosaic_mm).floor() as i64;
        (first, last)
    }

    /// Number of slices of a mosaic between two positions; it shows at most [`Self::MAXIMUM_SLICES`].
    pub fn mosaic_count(&self, ends: (f64, f64)) -> usize {
        let (first, last) = self.mosaic_steps(ends);
        (last - first + 1).max(0) as usize
    }

    /// Positions of a mosaic's slices along their normal, mm, from the lowest, between two positions; they lie at whole
    /// steps from the crosshair. If they are too many, those nearest to the crosshair are shown.
    pub fn mosaic_slices(&self, ends: (f64, f64)) -> Vec<f64> {
        let here = self.place(self.mosaic_pane().normal_axis().unwrap_or(2));
        let (first, last) = self.mosaic_steps(ends);
        let most = Self::MAXIMUM_SLICES as i64;
        let begin = (-most / 2).min(last - most + 1).max(first);
        let all = (begin..=last).map(|k| here + k as f64 * self.mosaic_mm);
        all.take(Self::MAXIMUM_SLICES).collect()
    }
}
