//! Texts painted by a window.

use egui::Rect;
use egui::epaint::{ClippedShape, Shape};

/// Lines of text and their rectangles, clipped to their container: each once, without its outline.
pub fn texts(shapes: &[ClippedShape]) -> Vec<(String, Rect)> {
    fn add(shape: &Shape, clip: Rect, found: &mut Vec<(String, Rect)>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| add(s, clip, found)),
            Shape::Text(text) if text.override_text_color.is_none() => {
                let rect = text.visual_bounding_rect();
                if rect.is_positive() && clip.intersects(rect) {
                    found.push((text.galley.job.text.clone(), rect));
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for ClippedShape {
        clip_rect, shape, ..
    } in shapes
    {
        add(shape, *clip_rect, &mut found);
    }
    found
}

/// Whether a rectangle that is painted later covers a part of this text.
pub fn is_covered(shapes: &[ClippedShape], label: &str) -> bool {
    fn collect_rects(shape: &Shape, label: &str, found: &mut Vec<Rect>) -> bool {
        match shape {
            Shape::Vec(all) => all.iter().any(|s| collect_rects(s, label, found)),
            Shape::Text(text) if text.galley.job.text == label => {
                found.push(text.visual_bounding_rect().shrink(1.0));
                false
            }
            Shape::Rect(plate) if plate.fill.a() > 0 => {
                found.iter().any(|text| text.intersects(plate.rect))
            }
            _ => false,
        }
    }
    let mut found = Vec::new();
    shapes
        .iter()
        .any(|s| collect_rects(&s.shape, label, &mut found))
}
