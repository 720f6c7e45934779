//! Volume by step: abandoned branches stay as grey traces, the leak of the live branch is marked, a click goes back.

use crate::state::core::text::counted;
use crate::state::{State, SurfaceUpdate};
use crate::ui::format::{count, ml, significant};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::paint;
use egui::{Color32, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

const HEIGHT: f32 = 64.0;
/// Smallest height, where other rows leave less space in the panel.
const MINIMUM_HEIGHT: f32 = 28.0;
/// Height of the rows below the plot that stay visible with it: the state, "Use as" and "Reference".
const BELOW: f32 = 22.0 + 2.0 * space::ROW;
/// Height of the labels below the plot.
const LABELS: f32 = 18.0;
/// Space between two labels below the plot.
const GAP: f32 = 8.0;
const LINE: Color32 = Color32::from_rgb(0xFF, 0xD4, 0x00);
/// Yellow is hard to see on white.
const LINE_ON_WHITE: Color32 = Color32::from_rgb(0xB0, 0x86, 0x00);
const LEAK: Color32 = Color32::from_rgb(0xF5, 0x6A, 0x3A);
const LEAK_LABEL: &str = "leak";

/// The height at which the plot and the rows below it are visible before the panel is scrolled.
pub fn height(ui: &Ui) -> f32 {
    let above = ui.cursor().top() - ui.min_rect().top();
    let free = ui.clip_rect().height() - above - LABELS - BELOW;
    free.clamp(MINIMUM_HEIGHT, HEIGHT).round()
}

/// Adds the space below all results that keeps their height independent of that of the plot: otherwise a panel that
/// was once low would request no more space.
pub fn fill(ui: &mut Ui, height: f32) {
    ui.add_space(HEIGHT - height);
}

/// Returns the step that was clicked.
pub fn show(ui: &mut Ui, state: &State, live: &SurfaceUpdate, height: f32) -> Option<u64> {
    let p = theme::palette(ui.style());
    let room = vec2(ui.available_width(), height.round() + LABELS);
    let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
    let id = ui.make_persistent_id("volume by step");
    let response = ui.interact(rect, id, Sense::click());
    let inner = paint::inset(rect, space::INSET + 38.0, space::INSET);
    let plot = Rect::from_min_size(inner.min, vec2(inner.width(), height.round()));
    // While the run rewinds, the newest abandoned branch is still the live one.
    let left = match (
        state.rewinding_to(),
        &*state.runtime.segment.plotted.earlier_runs,
    ) {
        (Some(_), [left @ .., _]) => left,
        (_, left) => left,
    };
    // The live branch fills the whole plot; abandoned branches end at its edges.
    let last = live.growth.iter().map(|(step, _)| *step).max();
    let largest = live.growth.iter().map(|(_, n)| *n).max();
    let [last, largest] = [last, largest].map(|largest| largest.unwrap_or(0).max(1));
    let top = nice(state.segmented_ml(largest));
    let at = |(step, voxels): (u64, u64)| {
        let x = step as f32 / last as f32;
        let y = (state.segmented_ml(voxels) / top) as f32;
        pos2(
            plot.left() + x * plot.width(),
            plot.bottom() - y * plot.height(),
        )
    };
    let painter = ui.painter();
    let inside = painter.with_clip_rect(plot.expand2(vec2(4.0, 3.0)));
    let font = theme::regular(size::CAPTION);
    // In the unit of the figures above.
    let (factor, unit) = if top < 0.11 {
        (1e3, "mm³")
    } else {
        (1.0, "ml")
    };
    let corner = Rect::from_min_size(plot.min + vec2(4.0, -1.0), vec2(40.0, 14.0));
    paint::left(painter, corner, unit, font.clone(), p.t3);
    for (share, value) in [(0.0, 0.0), (0.5, 0.5 * top), (1.0, top)] {
        let y = plot.bottom() - plot.height() * share;
        painter.hline(plot.x_range(), y.round() + 0.5, Stroke::new(1.0, p.line));
        let place = Rect::from_min_max(
            pos2(rect.left() + space::INSET, y - 7.0),
            pos2(plot.left() - 5.0, y + 7.0),
        );
        let shown = significant(value * factor);
        paint::right(painter, place, &shown, font.clone(), p.t3);
    }
    let curve = |points: &[(u64, u64)], colour: Color32, wide: f32| {
        let line: Vec<_> = points.iter().map(|point| at(*point)).collect();
        inside.add(Shape::line(line, Stroke::new(wide, colour)));
    };
    // At the start there are no steps along which the others could be drawn.
    for gone in left.iter().filter(|_| live.growth.len() > 1) {
        curve(&gone.growth, p.t3.gamma_multiply(0.8), 1.25);
    }
    let dark = p.canvas == Color32::BLACK;
    let ink = if dark { LINE } else { LINE_ON_WHITE };
    let leak = live.leak.map(|l| l.leak.rewind_step);
    // Only the live branch shows a leak: an abandoned one may have passed the same steps, and the same leak is found
    // again on each branch that runs into it.
    if let Some(from) = leak {
        let x = at((from, 0)).x..=at((live.step, 0)).x;
        let band = Rect::from_x_y_ranges(x, plot.y_range()).intersect(plot);
        inside.rect_filled(band, 0.0, p.warning.gamma_multiply(0.16));
    }
    let until = leak.unwrap_or(u64::MAX);
    let split = live.growth.partition_point(|(step, _)| *step <= until);
    curve(&live.growth[..split], ink, 1.75);
    if split > 0 {
        curve(&live.growth[split - 1..], LEAK, 1.75);
    }
    let end = at((live.step, live.inside));
    painter.circle_filled(end, 3.0, if leak.is_some() { LEAK } else { ink });
    let texts = Rect::from_min_max(
        pos2(plot.left(), plot.bottom() + 2.0),
        pos2(plot.right(), rect.bottom()),
    );
    paint::left(painter, texts, "0", font.clone(), p.t3);
    let steps = counted(last as usize, "step");
    paint::right(painter, texts, &steps, font.clone(), p.t3);
    if let Some(from) = leak.filter(|from| *from <= last) {
        let width = |text: &str| {
            let laid = painter.layout_no_wrap(text.to_owned(), font.clone(), p.t3);
            laid.size().x
        };
        // Between the labels of the first and the last step.
        let wide = width(LEAK_LABEL);
        let begin = plot.left() + width("0") + GAP + 0.5 * wide;
        let end = plot.right() - width(&steps) - GAP - 0.5 * wide;
        let x = at((from, 0)).x.min(end).max(begin);
        let place = Rect::from_center_size(pos2(x, texts.center().y), vec2(wide, 14.0));
        paint::centre(painter, place, LEAK_LABEL, font.clone(), p.warning);
    }
    let now = ml(state.segmented_ml(live.inside), 2);
    let spoken = format!(
        "Volume after {}: {now}, plot of {steps}",
        counted(live.step as usize, "step")
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &spoken));
    let step_at = |x: f32| {
        let share = ((x - plot.left()) / plot.width()).clamp(0.0, 1.0);
        (share * last as f32).round() as u64
    };
    let hovered = response
        .hover_pos()
        .map(|at| step_at(at.x))
        .filter(|s| *s < live.step);
    if let Some(step) = hovered {
        let x = at((step, 0)).x;
        painter.vline(x, plot.y_range(), Stroke::new(1.0, p.t2));
    }
    let clicked = response.clicked();
    if let Some(step) = hovered {
        response.on_hover_text(format!("Click: back to step {}", count(step)));
    }
    hovered.filter(|_| clicked)
}

/// 1, 2 or 5 times a power of ten, not below the value.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = steps.into_iter().find(|s| s * power >= value);
    fits.unwrap_or(10.0) * power
}
