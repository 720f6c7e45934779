//! Outlines of masks and of images with limits.

use super::draw_list::{ById, Contour, ContourSource};
use crate::state::{Content, State};

const WIDTH_PX: f32 = 1.4;
/// Paler than the inside of masks.
const MASK_RGB: [u8; 3] = [0xD5, 0xDC, 0xE6];
const IMAGE_RGB: [u8; 3] = [0xFF, 0xFF, 0xFF];
/// A mask is 1 inside and 0 outside.
const RIM: f32 = 0.5;

/// The outlines of the visible layers that have them. Label maps are outlined by their own colours, as images.
pub fn contours(state: &State) -> Vec<Contour> {
    let shown = state.document.layers.iter().filter(|l| state.shows(l));
    let outlined = shown.filter(|layer| layer.display.overlay.is_outlined);
    let of_layer = outlined.map(|layer| {
        let overlay = &layer.display.overlay;
        let (volume, levels, colour) = match &layer.content {
            Content::Mask(mask) => (mask.image(), vec![RIM], MASK_RGB),
            // Contours are those of the first volume.
            Content::Image(volume) if volume.labels.is_none() && volume.frames == 1 => {
                (volume, overlay.borders(), IMAGE_RGB)
            }
            _ => return Vec::new(),
        };
        let contour = |level: f32| Contour {
            source: ContourSource::Image(ById(volume.clone())),
            level,
            every: None,
            colour,
            opacity: 1.0,
            width_px: WIDTH_PX,
            dashed: false,
        };
        levels.into_iter().map(contour).collect()
    });
    of_layer.flatten().collect()
}
