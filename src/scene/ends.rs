//! Marks at the ends of streamlines that are coloured by the reason why they stopped: the shape shows the kind of end,
//! also to readers who cannot tell the colours apart; the colour is that of the reason.

use super::draw_list::{EndMarks, LineColour, Lines, Mark, MarkShape};
use crate::data::appearance::ColourMap;
use crate::data::tractogram::STOPS;
use crate::state::core::ends::EndKind;

/// Radius of a disc at a valid end, logical pixels.
const RADIUS_PX: f32 = 3.0;
/// Factor of the radius at an end that anatomical rules forbid.
const INVALID_LARGER: f32 = 1.4;

/// The shape of an end.
pub fn end_shape(kind: EndKind) -> MarkShape {
    match kind {
        EndKind::Desired => MarkShape::Disc,
        EndKind::White => MarkShape::Diamond,
        EndKind::Csf => MarkShape::Square,
        EndKind::Other => MarkShape::Triangle,
    }
}

/// Marks of the streamlines that are coloured by stop reason.
pub(super) fn ends(lines: &[Lines]) -> Vec<EndMarks> {
    let by_reason = |lines: &&Lines| match &lines.colour {
        LineColour::Scalar { colour_map, .. } => *colour_map == ColourMap::Stops,
        _ => false,
    };
    let marks = |lines: &Lines| EndMarks {
        tractogram: lines.tractogram.clone(),
        values: STOPS,
        marks: marks(EndKind::have_rules(lines.tractogram.0.stop_counts())),
        opacity: lines.opacity,
        every: lines.every,
    };
    // Points on a graphics card are copied by a job, not by the thread that draws.
    let is_on_host = |lines: &&Lines| lines.tractogram.0.points.is_on_host();
    let marked = lines.iter().filter(by_reason).filter(is_on_host);
    marked.map(marks).collect()
}

/// The mark of each stop reason, by its number.
fn marks(has_rules: bool) -> Vec<Option<Mark>> {
    let all = EndKind::by_reason()
        .into_iter()
        .zip(ColourMap::STOP_COLOURS);
    let mark = |(kind, colour): (Option<EndKind>, [u8; 3])| {
        let larger = match has_rules && kind != Some(EndKind::Desired) {
            true => INVALID_LARGER,
            false => 1.0,
        };
        Some(Mark {
            shape: end_shape(kind?),
            colour,
            radius_px: RADIUS_PX * larger,
        })
    };
    all.map(mark).collect()
}
