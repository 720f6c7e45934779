//! The methods text of moved layers.

use crate::data::text::file_name;
use crate::data::warp::WarpInterpolation;
use crate::io::WarpReading;
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
        if let Some(warp) = document.origins.warp(layer.origin) {
            text += &warped(&layer.name, &layer.content, warp);
        }
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

/// A layer whose file was opened with a non-linear alignment.
fn warped(name: &str, content: &Content, warp: &WarpReading) -> String {
    let files = warp.transforms.iter().map(|transform| {
        let inverse = if transform.inverse {
            "the inverse of "
        } else {
            ""
        };
        format!("{inverse}{}", file_name(&transform.path))
    });
    let files: Vec<String> = files.collect();
    let files = files.join(", then ");
    let fixed = warp.fixed.as_deref().map(file_name);
    match content {
        Content::Tractogram(_) | Content::InPlace(_) => {
            let space = fixed.map_or_else(String::new, |fixed| format!(" to the space of {fixed}"));
            format!(
                " The points of “{name}” were moved{space} by the inverse of a non-linear alignment computed by another \
                 program, which takes points of the fixed image through {files}; the inverse was found by Newton's \
                 method and checked for each point."
            )
        }
        _ => {
            let voxels = fixed.map_or("the field".to_owned(), |fixed| fixed);
            let between = match warp.interpolation {
                None => "",
                Some(WarpInterpolation::Linear) => ", with linear interpolation",
                Some(WarpInterpolation::Nearest) => ", with the value of the nearest voxel",
                Some(WarpInterpolation::Labels) => ", with the label of the largest weight",
            };
            format!(
                " “{name}” was resampled on the voxels of {voxels} by a non-linear alignment computed by another \
                 program, which takes points of the fixed image through {files}{between}."
            )
        }
    }
}
