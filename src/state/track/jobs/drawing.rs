//! Curves that a graphics card computed: measured there and drawn from there, before the host has their points.

use crate::compute::Backend;
use crate::data::line_order::Detail;
use crate::data::tractogram::LENGTH;
use crate::data::{LineDrawing, Tractogram};
use crate::jobs::{JobError, Worker};
use crate::solvers::Error;
use crate::solvers::drawn_lines::{LinesOnCard, drawn};
use crate::solvers::on_card::DrawnBuffers;
use crate::state::core::display::LineColouring;
use crate::state::document::Document;
use crate::state::files::jobs::open::with_lengths;
use std::sync::{Mutex, PoisonError};

/// Curves of one colour, or coloured by their direction.
pub const SHAPE: LineDrawing = LineDrawing {
    detail: Detail::Shape,
    values: None,
};

/// How the window draws the live curves, where it needs only their points and values that a card knows.
pub fn requested(document: &Document) -> Option<LineDrawing> {
    let values = match &document.live_display().line_colouring {
        LineColouring::Direction | LineColouring::Fixed(_) => None,
        LineColouring::Length => Some(LENGTH),
        LineColouring::Measure => Some("measure"),
        LineColouring::MeasureAlong => {
            return Some(LineDrawing {
                detail: Detail::EveryPoint,
                values: Some("cm".to_owned()),
            });
        }
        _ => return None,
    };
    Some(LineDrawing {
        detail: Detail::Shape,
        values: values.map(str::to_owned),
    })
}

/// Adds lengths and bounds, computed where the points are.
pub fn measured(curves: Tractogram, backend: &Backend) -> Result<Tractogram, JobError> {
    let known = match LinesOnCard::new(&curves) {
        Some(lines) => backend.install(|| lines.facts())?,
        None => None,
    };
    let curves = match known {
        Some(known) => curves
            .with_per_streamline(LENGTH, known.lengths_mm)
            .with_bounds(known.bounds_mm),
        None => {
            backend.install(|| curves.on_host().map_err(Error::from))?;
            curves
        }
    };
    Ok(with_lengths(curves))
}

/// Writes curves into the window's memory, if they are on the card that draws.
pub fn for_window(
    curves: &mut Tractogram,
    drawing: &LineDrawing,
    worker: &Worker,
) -> Result<(), JobError> {
    let Some(exporter) = worker.image_exporter() else {
        return Ok(());
    };
    let buffers = worker.memory::<Mutex<DrawnBuffers>>();
    let mut buffers = buffers.lock().unwrap_or_else(PoisonError::into_inner);
    let own = std::mem::replace(curves, Tractogram::empty());
    *curves = drawn(own, drawing, (&mut buffers, exporter), &worker.backend())?;
    Ok(())
}
