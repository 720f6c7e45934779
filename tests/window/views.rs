//! The views: their content, the target of a click, the effect of a drag, the marks in a picture.

mod build;
mod drawing;
mod escape;
mod events;
mod flats;
mod keys;
mod labels;
mod large;
mod marks;
mod mice;
mod oblique;
mod oblique_drawing;
mod picture;
mod pointer;
mod readable;
mod sample;
mod sampling;
mod scene;
mod scene_brush;
pub mod surface;

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    [
        build::tests(),
        drawing::tests(),
        escape::tests(),
        events::tests(),
        flats::tests(),
        mice::tests(),
        pointer::tests(),
        keys::tests(),
        labels::tests(),
        large::tests(),
        marks::tests(),
        oblique::tests(),
        oblique_drawing::tests(),
        picture::tests(),
        readable::tests(),
        sampling::tests(),
        scene::tests(),
        scene_brush::tests(),
        surface::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
