//! Positions of the panes.

use crate::state::{Layout, Pane};
use crate::ui::theme::space::VIEW_GAP;
use egui::emath::GuiRounding as _;
use egui::{Rect, pos2};

/// Share of the width that the 3-D view takes next to three slices.
const SCENE_SHARE: f32 = 0.68;
/// Share of the height that a slice and its speeds take.
const SLICE_SHARE: f32 = 0.56;

/// The panes on screen with their rectangles, on whole pixels.
pub fn panes(layout: Layout, single: Pane, area: Rect, pixels_per_point: f32) -> Vec<(Pane, Rect)> {
    let between = |low: f32, high: f32, share: f32| low + (high - low) * share;
    let cell = |x: (f32, f32), y: (f32, f32)| {
        // Half a gap on every side that is not an edge of the area.
        let inner = |low: f32, high: f32, (from, to): (f32, f32)| {
            let start = between(low, high, from) + if from > 0.0 { VIEW_GAP * 0.5 } else { 0.0 };
            let end = between(low, high, to) - if to < 1.0 { VIEW_GAP * 0.5 } else { 0.0 };
            (start, end)
        };
        let (left, right) = inner(area.left(), area.right(), x);
        let (top, bottom) = inner(area.top(), area.bottom(), y);
        Rect::from_min_max(pos2(left, top), pos2(right, bottom)).round_to_pixels(pixels_per_point)
    };
    const ALL: (f32, f32) = (0.0, 1.0);
    const FIRST: (f32, f32) = (0.0, 0.5);
    const SECOND: (f32, f32) = (0.5, 1.0);
    match layout {
        Layout::Grid => vec![
            (Pane::Axial, cell(FIRST, FIRST)),
            (Pane::Sagittal, cell(SECOND, FIRST)),
            (Pane::Coronal, cell(FIRST, SECOND)),
            (Pane::Scene, cell(SECOND, SECOND)),
        ],
        Layout::SceneFirst => {
            let side_by_side = (SCENE_SHARE, 1.0);
            let third = |n: f32| (n / 3.0, if n == 2.0 { 1.0 } else { (n + 1.0) / 3.0 });
            vec![
                (Pane::Scene, cell((0.0, SCENE_SHARE), ALL)),
                (Pane::Axial, cell(side_by_side, third(0.0))),
                (Pane::Sagittal, cell(side_by_side, third(1.0))),
                (Pane::Coronal, cell(side_by_side, third(2.0))),
            ]
        }
        Layout::SpeedComparison => {
            let pane = if single == Pane::Scene {
                Pane::Axial
            } else {
                single
            };
            vec![
                (pane, cell(FIRST, (0.0, SLICE_SHARE))),
                (Pane::Scene, cell(ALL, (SLICE_SHARE, 1.0))),
            ]
        }
        // The slices of a mosaic are placed elsewhere.
        Layout::Single | Layout::Mosaic => vec![(single, cell(ALL, ALL))],
    }
}

/// The parts of an area outside the panes, as rectangles that do not overlap.
pub fn between(area: Rect, panes: &[Rect]) -> Vec<Rect> {
    panes.iter().fold(vec![area], |left, &pane| {
        left.into_iter().flat_map(|r| around(r, pane)).collect()
    })
}

/// The parts of a rectangle outside a pane: above and below it, and left and right of it.
fn around(all: Rect, pane: Rect) -> Vec<Rect> {
    let pane = all.intersect(pane);
    if !pane.is_positive() {
        return vec![all];
    }
    let adjacent = Rect::from_x_y_ranges(all.x_range(), pane.y_range());
    let mut rest = vec![
        all.with_max_y(pane.top()),
        all.with_min_y(pane.bottom()),
        adjacent.with_max_x(pane.left()),
        adjacent.with_min_x(pane.right()),
    ];
    rest.retain(Rect::is_positive);
    rest
}

/// Rectangle of the speeds in [`Layout::SpeedComparison`]: next to the slice of the image.
pub fn speeds_rect(panes: &[(Pane, Rect)], area: Rect) -> Option<(Pane, Rect)> {
    let (pane, slice) = panes.first()?;
    let left = slice.right() + VIEW_GAP;
    let place = Rect::from_min_max(pos2(left, slice.top()), pos2(area.right(), slice.bottom()));
    Some((*pane, place))
}
