//! The cost per mm along the path, and its costliest stretch.

use crate::solvers::pathway::Path;
use crate::state::pathways::{CostliestStretch, PathwayResult};
use crate::state::{Action, State, ViewAction};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::paint;
use crate::ui::{format, icons, panels};
use egui::{Painter, Rect, Role as Spoken, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

const CHART: f32 = 52.0;
/// Width left of the chart for its values.
const VALUES: f32 = 34.0;

pub fn show(ui: &mut Ui, state: &State, live: &PathwayResult, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let Some((path, weakest)) = state.reported_path() else {
        return;
    };
    let pointed = state.path_pointed();
    let (name, fact) = match pointed {
        Some(pointed) => (
            "Best path here",
            format!("E* + {}", percent(pointed.excess)),
        ),
        None => ("Cheapest path", {
            match live.mean_fa {
                Some(fa) => format!("mean FA {}", format::fixed(fa, 2)),
                None => format!("cost {}", format::significant(path.total_cost())),
            }
        }),
    };
    let caption = panels::caption(ui, name, &fact);
    if pointed.is_none() && live.mean_fa.is_none() {
        caption.on_hover_text(
            "The cost, integrated along the path. It is more accurate than E* in the table, which the solver computes \
             on its grid",
        );
    }
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), CHART + 20.0), Sense::hover());
    let rect = paint::inset(rect, space::INSET, space::INSET);
    let chart = Rect::from_min_size(
        rect.min + vec2(VALUES, 0.0),
        vec2(rect.width() - VALUES, CHART),
    );
    // The step across a region's boundary may cost much or little: the mean leaves it out.
    let (mean, range) = match weakest {
        Some(weak) => (weak.mean_per_mm, "between the ends"),
        None => (path.mean_cost_per_mm(), "on average"),
    };
    draw(ui, chart, path, weakest, mean);
    let texts = Rect::from_min_max(pos2(chart.left(), chart.bottom() + 3.0), rect.max);
    let font = theme::regular(size::CAPTION);
    let painter = ui.painter();
    let per_mm = format!("{} {range}", format::per_mm(mean));
    paint::left(painter, texts, &per_mm, font.clone(), p.t3);
    let length = format::with_unit(&format::fixed(path.total_mm(), 0), "mm");
    paint::right(painter, texts, &length, font, p.t3);
    let spoken = format!("Cost along the path: {per_mm}, {length}");
    response.widget_info(|| WidgetInfo::labeled(Spoken::Image, true, &spoken));
    if let Some(weak) = weakest.filter(|_| pointed.is_none()) {
        weakest_stretch(ui, weak, actions);
    }
}

/// One line: where the path costs most, and a button that moves the crosshair there.
fn weakest_stretch(ui: &mut Ui, weak: &CostliestStretch, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let [x, y, z] = weak.centre.to_array().map(|mm| format::fixed(mm, 0));
    let at = format!("{x}, {y}, {}", format::with_unit(&z, "mm"));
    let times = format::fixed(weak.times_mean(), 1);
    let desired_size = vec2(ui.available_width(), panels::CAPTION);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let button = pos2(inner.right() - 0.5 * panels::CAPTION, inner.center().y);
    let button = Rect::from_center_size(button, vec2(panels::CAPTION, panels::CAPTION));
    let texts = inner.with_max_x(button.left() - 4.0);
    let (name, fact) = (format!("Weakest at {at}"), format!("{times} × mean"));
    let painter = ui.painter();
    let fact_at = paint::right(painter, texts, &fact, theme::medium(size::LABEL), p.t1);
    let room = texts.with_max_x(fact_at.left() - 8.0);
    paint::name(painter, room, &name, theme::regular(size::LABEL), p.t2);
    let rate = format::per_mm(weak.cost_per_mm);
    let spoken = format!("Weakest stretch around {at}: {rate}, {times} × the mean");
    response.widget_info(|| WidgetInfo::labeled(Spoken::Label, true, &spoken));
    response.on_hover_text(&spoken);
    let shows = IconButton::new(icons::CROSSHAIR, "Show it").side(panels::CAPTION);
    if shows.show_at(ui, button).clicked() {
        actions.push(Action::View(ViewAction::MoveCrosshair(weak.centre)));
    }
}

/// A share above E*, in percent.
pub fn percent(share: f64) -> String {
    format::with_unit(&format::fixed(share * 100.0, 1), "%")
}

/// The smallest of 1, 2, 5, 10 … that is not below the value.
fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|s| *s >= value).unwrap_or(value)
}

fn draw(ui: &Ui, chart: Rect, path: &Path, weakest: Option<&CostliestStretch>, mean: f64) {
    let p = theme::palette(ui.style());
    let painter = ui.painter();
    painter.rect_filled(chart, 0.0, p.b2);
    let total_mm = path.total_mm().max(f64::MIN_POSITIVE);
    let rates = smoothed(&path.length_mm, &path.cost);
    // The cost of the first and last voxels next to the regions says little and may exceed the chart.
    let ends_mm = 0.1 * total_mm;
    let inner = rates
        .iter()
        .filter(|(mm, _)| (ends_mm..=total_mm - ends_mm).contains(mm));
    let peak = inner.fold(mean, |m, (_, rate)| m.max(*rate));
    let peak = weakest.map_or(peak, |w| peak.max(w.cost_per_mm));
    let top = round_up(1.05 * peak);
    let at = |mm: f64, rate: f64| {
        pos2(
            chart.left() + (mm / total_mm) as f32 * chart.width(),
            chart.bottom() - (rate / top) as f32 * chart.height(),
        )
    };
    if let Some(weak) = weakest {
        let band = Rect::from_min_max(
            pos2(at(weak.from_mm, 0.0).x, chart.top()),
            pos2(at(weak.from_mm + weak.length_mm, 0.0).x, chart.bottom()),
        );
        painter.rect_filled(band, 0.0, p.warning_tint);
    }
    values(painter, p, chart, top);
    let line: Vec<_> = rates.iter().map(|(mm, rate)| at(*mm, *rate)).collect();
    let within = painter.with_clip_rect(chart.intersect(painter.clip_rect()));
    within.line(line, Stroke::new(1.5, p.accent));
}

/// 0, half the maximum and the maximum, at lines across the chart.
fn values(painter: &Painter, p: &theme::Palette, chart: Rect, top: f64) {
    for share in [0.0, 0.5, 1.0] {
        let y = chart.bottom() - chart.height() * share as f32;
        painter.hline(chart.x_range(), y, Stroke::new(1.0, p.line));
        let text = match share > 0.0 {
            true => {
                // Enough decimals for 1, 2, 5 and their halves.
                let decimals = (1.0 - (top * 0.5).log10().floor()).clamp(0.0, 6.0) as usize;
                let text = format::fixed(top * share, decimals);
                match text.contains('.') {
                    true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                    false => text,
                }
            }
            false => "0".to_owned(),
        };
        let middle = y.clamp(chart.top() + 6.0, chart.bottom() - 6.0);
        let place = Rect::from_center_size(
            pos2(chart.left() - 0.5 * VALUES, middle),
            vec2(VALUES - 5.0, 12.0),
        );
        paint::right(painter, place, &text, theme::regular(size::CAPTION), p.t3);
    }
}

/// Cost per mm over stretches of 2 mm, since it jumps from voxel to voxel.
fn smoothed(length_mm: &[f64], cost: &[f64]) -> Vec<(f64, f64)> {
    const STRETCH_MM: f64 = 2.0;
    let mut start = 0;
    let mut rates = Vec::new();
    for end in 1..length_mm.len() {
        while start + 1 < end && length_mm[end] - length_mm[start + 1] >= STRETCH_MM {
            start += 1;
        }
        let mm = length_mm[end] - length_mm[start];
        if mm >= STRETCH_MM * 0.5 {
            let middle = 0.5 * (length_mm[end] + length_mm[start]);
            rates.push((middle, (cost[end] - cost[start]) / mm));
        }
    }
    rates
}
