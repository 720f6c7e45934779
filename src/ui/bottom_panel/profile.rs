//! Values along a bundle: mean and spread, one plot per value.

use super::super::forms::streamlines::{image_items, scalar_images};
use super::super::theme::{self, size};
use super::super::widgets::{menu, paint};
use super::super::{format, regions};
use super::{dimmed, empty, rect_after_settings};
use crate::data::Tractogram;
use crate::solvers::tractogram::ProfileParams;
use crate::solvers::tractogram::profile::{Profile, ProfileCurve};
use crate::state::core::text::counted;
use crate::state::streamlines::{Column, ProfileSettings};
use crate::state::{Action, State, StreamlineAction, ViewAction};
use crate::ui::forms::display::select_row;
use crate::ui::forms::parameters::{self, Rows};
use egui::{Color32, Mesh, Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

const MARGIN: [f32; 4] = [52.0, 22.0, 26.0, 24.0];

pub fn show(ui: &mut Ui, state: &State, lines: &Tractogram, actions: &mut Vec<Action>) {
    let place = rect_after_settings(ui, |ui| settings(ui, state, lines, actions));
    if state.default_profile_column(lines).is_none() {
        return empty(
            ui,
            place,
            "Open an image, or streamlines with values per point",
        );
    }
    let runtime = &state.runtime.streamlines.profile;
    let Some((_, named)) = runtime.shown() else {
        let text = match runtime.has_failed() {
            true => "There is no profile: see the message for the reason",
            false => "Sampling along the streamlines…",
        };
        return empty(ui, place, text);
    };
    let n = named.profile.curves.len().max(1);
    let width = place.width() / n as f32;
    dimmed(ui, runtime, |ui| {
        for (i, (track, name)) in named.profile.curves.iter().zip(&named.names).enumerate() {
            let left = place.left() + width * i as f32;
            let plot = Rect::from_min_size(pos2(left, place.top()), vec2(width, place.height()));
            let rgb = theme::CATEGORIES[i % theme::CATEGORIES.len()];
            self::plot(ui, plot, (name, rgb), (&named.profile, track), actions);
        }
    });
}

fn settings(ui: &mut Ui, state: &State, lines: &Tractogram, actions: &mut Vec<Action>) {
    let settings = &state.document.streamlines.profile;
    let mut set = |settings: ProfileSettings| {
        actions.push(Action::Streamline(StreamlineAction::SetProfile(settings)));
    };
    let default_value = state.default_profile_column(lines);
    let now: Vec<Column> = match settings.along.is_empty() {
        true => default_value.into_iter().collect(),
        false => settings.along.clone(),
    };
    let names: Vec<String> = now.iter().map(|c| state.column_name(c)).collect();
    let help = "Values per point and images sampled along the streamlines; choose several";
    let chosen = select_row(ui, "Values", help, &names.join(", "), |ui| {
        let mut chosen = None;
        for name in lines.per_point.keys() {
            let column = Column::Value(name.clone());
            let is_now = now.contains(&column);
            if menu::Item::new(&state.column_name(&column))
                .chosen(is_now)
                .show(ui)
            {
                chosen = Some(column);
            }
        }
        let offered = scalar_images(state);
        let is_now = |id| now.contains(&Column::Image(id));
        let image = image_items(ui, state, &offered, is_now);
        chosen.or(image.map(Column::Image))
    });
    if let Some(column) = chosen {
        let mut along = now.clone();
        match along.iter().position(|c| *c == column) {
            Some(at) => drop(along.remove(at)),
            None => along.push(column),
        }
        set(ProfileSettings {
            along,
            ..settings.clone()
        });
    }
    // The start has its row before the direction.
    let nodes = Rows::Only(&["nodes"]);
    parameter_rows(ui, settings, nodes, &mut set);
    let start = settings.start.and_then(|id| state.document.region(id));
    let shown = start.map_or("Left, posterior, inferior", |r| &r.name);
    let help = "The end at 0 %: by direction, or the one nearer to a region";
    let chosen = select_row(ui, "Starts at", help, shown, |ui| {
        let mut chosen = None;
        let item = menu::Item::new("Left, posterior, inferior");
        if item.chosen(start.is_none()).show(ui) {
            chosen = Some(None);
        }
        let region = regions::menu_rows(ui, state, start.map(|r| r.id), |_| true);
        chosen.or(region.map(Some))
    });
    if let Some(start) = chosen {
        set(ProfileSettings {
            start,
            ..settings.clone()
        });
    }
    let others = Rows::AllBut(&["nodes"]);
    parameter_rows(ui, settings, others, &mut set);
}

fn parameter_rows(
    ui: &mut Ui,
    settings: &ProfileSettings,
    rows: Rows,
    set: &mut dyn FnMut(ProfileSettings),
) {
    let defaults = ProfileParams::defaults();
    parameters::rows(ui, &settings.params, &defaults, rows, &mut |params, _| {
        set(ProfileSettings {
            params,
            ..settings.clone()
        });
    });
}

/// Ends of the scale: whole steps that enclose mean and spread.
fn scale(track: &ProfileCurve) -> Option<(f64, f64, f64)> {
    let both = track
        .mean
        .iter()
        .zip(&track.sd)
        .filter(|(m, _)| m.is_finite());
    let (low, high) = both.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (m, s)| {
        let (m, s) = (f64::from(*m), f64::from(*s));
        (l.min(m - s), h.max(m + s))
    });
    if low > high {
        return None;
    }
    let span = (high - low).max(high.abs() * 1e-3).max(1e-30);
    let rough = span / 6.0;
    let unit = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|s| s * unit)
        .into_iter()
        .find(|s| *s >= rough);
    let step = step.unwrap_or(10.0 * unit);
    Some((
        (low / step).floor() * step,
        (high / step).ceil() * step,
        step,
    ))
}

fn plot(
    ui: &mut Ui,
    place: Rect,
    (name, [r, g, b]): (&str, [u8; 3]),
    (profile, track): (&Profile, &ProfileCurve),
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let id = ui.make_persistent_id(("plot", name));
    let response = ui.interact(place, id, Sense::click());
    let [left, top, right, bottom] = MARGIN;
    let inner = Rect::from_min_max(place.min + vec2(left, top), place.max - vec2(right, bottom));
    let Some((low, high, step)) = scale(track).filter(|_| inner.width() > 40.0) else {
        return empty(ui, place, "There are no values here");
    };
    let painter = ui.painter().with_clip_rect(place);
    let caption = theme::regular(size::CAPTION);
    let title = Rect::from_min_max(
        place.min + vec2(left, 2.0),
        pos2(inner.right(), inner.top()),
    );
    let label = format!("{name}, mean ± standard deviation");
    paint::left(&painter, title, &label, theme::medium(size::CAPTION), p.t2);
    let nodes = track.mean.len();
    let x = |i: usize| inner.left() + inner.width() * i as f32 / (nodes - 1).max(1) as f32;
    let y = |v: f64| inner.bottom() - inner.height() * ((v - low) / (high - low)) as f32;
    let lines = ((high - low) / step).round() as usize;
    // Numbers are at least 18 points apart.
    let room = (inner.height() / 18.0).max(1.0) as usize;
    for i in (0..=lines).step_by(lines.div_ceil(room).max(1)) {
        let value = low + i as f64 * step;
        let at = y(value).round() + 0.5;
        painter.hline(inner.x_range(), at, Stroke::new(1.0, p.line));
        let text = Rect::from_min_max(
            pos2(place.left(), at - 8.0),
            pos2(inner.left() - 6.0, at + 8.0),
        );
        let decimals = (1.0 - step.log10().floor()).clamp(0.0, 6.0) as usize;
        let label = match value.abs().max(step) < 1e-3 {
            true => format!("{value:.1e}").replace('-', "−"),
            false => format::fixed(value, decimals.saturating_sub(1)),
        };
        paint::right(&painter, text, &label, caption.clone(), p.t3);
    }
    for share in [0, 25, 50, 75, 100] {
        let at = inner.left() + inner.width() * share as f32 / 100.0;
        let text = Rect::from_center_size(pos2(at, inner.bottom() + 12.0), vec2(48.0, 16.0));
        let label = format::with_unit(&share.to_string(), "%");
        paint::centre(&painter, text, &label, caption.clone(), p.t3);
    }
    let ink = Color32::from_rgb(r, g, b);
    // Pale colours of the list need more contrast on white.
    let ink = if ui.visuals().dark_mode {
        ink
    } else {
        ink.lerp_to_gamma(Color32::BLACK, 0.35)
    };
    let mut band = Mesh::default();
    let mut run: Vec<egui::Pos2> = Vec::new();
    let mut fresh = true;
    for i in 0..nodes {
        let (mean, sd) = (f64::from(track.mean[i]), f64::from(track.sd[i]));
        if !mean.is_finite() {
            painter.add(Shape::line(std::mem::take(&mut run), Stroke::new(2.0, ink)));
            fresh = true;
            continue;
        }
        let soft = ink.gamma_multiply(0.25);
        band.colored_vertex(pos2(x(i), y(mean - sd)), soft);
        band.colored_vertex(pos2(x(i), y(mean + sd)), soft);
        let n = band.vertices.len() as u32;
        if !fresh && n >= 4 {
            band.add_triangle(n - 4, n - 3, n - 2);
            band.add_triangle(n - 3, n - 2, n - 1);
        }
        fresh = false;
        run.push(pos2(x(i), y(mean)));
    }
    painter.add(band);
    painter.add(Shape::line(run, Stroke::new(2.0, ink)));
    let spoken = format!("{label} at {}", counted(nodes, "node"));
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &spoken));
    let Some(at) = response
        .hover_pos()
        .filter(|at| inner.expand(4.0).contains(*at))
    else {
        return;
    };
    let share = ((at.x - inner.left()) / inner.width()).clamp(0.0, 1.0);
    let node = (share * (nodes - 1) as f32).round() as usize;
    painter.vline(x(node), inner.y_range(), Stroke::new(1.0, p.t2));
    let mean = f64::from(track.mean[node]);
    if mean.is_finite() {
        painter.circle_filled(pos2(x(node), y(mean)), 3.0, ink);
    }
    let percent = 100.0 * node as f64 / (nodes - 1).max(1) as f64;
    let label = match mean.is_finite() {
        true => format!(
            "{} ± {} at {}",
            format::significant(mean),
            format::significant(f64::from(track.sd[node])),
            format::with_unit(&format::fixed(percent, 0), "%")
        ),
        false => "no value".to_owned(),
    };
    let font = theme::medium(size::CAPTION);
    let half = paint::width(ui, &label, font.clone()) * 0.5 + 6.0;
    let middle = x(node).clamp(
        inner.left() + half,
        (inner.right() - half).max(inner.left() + half),
    );
    let plate = Rect::from_center_size(pos2(middle, inner.top() + 9.0), vec2(2.0 * half, 18.0));
    painter.rect_filled(plate, theme::radius::CHIP, p.b3);
    paint::centre(&painter, plate, &label, font, p.t1);
    if response.clicked() {
        let at = glam::Vec3::from(profile.centre[node]).as_dvec3();
        actions.push(Action::View(ViewAction::MoveCrosshair(at)));
    }
    response.on_hover_cursor(egui::CursorIcon::Crosshair);
}
