//! The image that Segment shows. It does not change the eyes of the layers: the other tasks show what they showed before.

use crate::data::AffineSource;
use crate::state::core::layer::{Layer, LayerId, grid_of};
use crate::state::{Document, State, Task};

impl State {
    /// Whether a layer is shown: as its eye is set, except that Segment may show its image in place of the other images.
    pub fn shows(&self, layer: &Layer) -> bool {
        match self.image_alone() {
            Some(image) if layer.content.picture().is_some() => layer.id == image,
            _ => layer.display.visible,
        }
    }

    /// Whether it is unknown which side of the shown images and masks is the patient's right.
    pub fn sides_unknown(&self) -> bool {
        let shown = self.document.layers.iter().filter(|l| self.shows(l));
        let mut grids = shown.filter_map(|layer| grid_of(layer));
        grids.any(|grid| grid.source == AffineSource::Pixdim)
    }

    /// The image that is shown in place of the others.
    pub(in crate::state) fn image_alone(&self) -> Option<LayerId> {
        let segment = &self.document.segment;
        let image = segment.image.filter(|_| segment.image_alone)?;
        let exists = self.document.layer(image).is_some();
        (exists && self.view.task == Task::Segment).then_some(image)
    }
}

impl Document {
    /// Shows the segmented image in Segment, even if its eye hides it or another image covers it.
    pub(in crate::state) fn show_segmented_image(&mut self) {
        self.segment.image_alone = self.hides_segmented_image();
    }

    /// Whether the eye of the segmented image hides it, or another image covers it.
    pub(in crate::state) fn hides_segmented_image(&self) -> bool {
        self.segmented_image().is_some_and(|(layer, _)| {
            let id = layer.id;
            !layer.display.visible || is_covered(self, id)
        })
    }
}

/// Whether an opaque image lies above a layer; a label map leaves visible what is around its labels.
fn is_covered(document: &Document, id: LayerId) -> bool {
    let above = document.layers.iter().rev().take_while(|l| l.id != id);
    above
        .filter(|l| l.display.visible && l.display.opacity >= 1.0)
        .any(|l| l.content.picture().is_some_and(|v| v.labels.is_none()))
}
