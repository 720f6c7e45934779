//! The methods text of moved layers.

use crate::state::Document;
use crate::state::alignment::AlignedBy;
use crate::state::core::citations::Citations;
use crate::state::core::layer::Content;
use std::fmt::Write as _;

const ALIGNMENT: &str = "Studholme C, Hill DLG, Hawkes DJ (1999). An overlap invariant entropy measure of 3D \
    medical image alignment. Pattern Recognition 32:71–86.";

/// Moved layers, with the method and the distance.
pub(in crate::state) fn moves(document: &Document, citations: &mut Citations) -> String {
    let mut text = String::new();
    for layer in &document.layers {
        let Some(moved) = document.moved(layer.id) else {
            continue;
        };
        let centre = layer.unmoved.as_ref().and_then(Content::volume);
        let centre = centre.map(|v| v.grid.centre());
        let centre = centre.unwrap_or_default();
        let shift = moved.transform.transform_point3(centre).distance(centre);
        let turn = glam::DQuat::from_mat3(&moved.transform.matrix3)
            .to_axis_angle()
            .1;
        let far = format!("{shift:.1} mm at its centre and {:.1}°", turn.to_degrees());
        let name = &layer.name;
        let _ = match moved.aligned_by {
            AlignedBy::Manually => write!(text, " “{name}” was moved manually by {far}."),
            AlignedBy::File => write!(text, " “{name}” was moved by an affine from a file."),
            AlignedBy::Alignment => write!(
                text,
                " “{name}” was aligned rigidly by normalised mutual information {}, by {far}, without \
                 resampling.",
                citations.cite(ALIGNMENT)
            ),
        };
    }
    text
}
