//! Progress of the fit: the objective by iterations.

use crate::solvers::commit::solver::Ended;
use crate::state::State;
use crate::state::core::text::counted;
use crate::state::filter::jobs::FIT_WEIGHTS;
use crate::state::filter::{FitPurpose, FittedWeights, Running};
use crate::ui::format::{count, fixed, significant, with_unit};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::{charts, paint, rows, section};
use egui::{Rect, Role, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};
use std::time::Duration;

const HEIGHT: f32 = 76.0;
/// Width left of the plot for its numbers.
const NUMBERS: f32 = 38.0;
const REPAINT: Duration = Duration::from_millis(100);

pub fn show(ui: &mut Ui, state: &State) {
    let running = state.runtime.filter.running.as_ref();
    let weights = super::results::shown_weights(state).map(|(_, weights)| weights);
    match (running, weights) {
        (Some(running), _) => {
            running_fit(ui, state, running);
            section::end(ui);
        }
        (None, Some(weights)) if weights.curve.len() > 1 => {
            let figures = &weights.figures;
            let took = with_unit(&fixed((figures.prepare_ms + figures.fit_ms) * 1e-3, 1), "s");
            let stopped = match figures.ended {
                Ended::Cancelled => "stopped, ",
                _ => "",
            };
            let fact = format!("{stopped}{}, {took}", ran(weights.iterations()));
            section::end(ui);
            section::head_with(ui, "Progress", &fact);
            rows::dimmed(ui, state.weights_are_stale(), |ui| {
                plot(ui, &weights.curve, None);
            });
        }
        _ => {}
    }
}

fn running_fit(ui: &mut Ui, state: &State, running: &Running) {
    let job = state.runtime.jobs.of_slot(FIT_WEIGHTS);
    let progress = job.map(|j| j.control.progress());
    let curve = running.curve.values();
    let done = running.iterations();
    let fact = match (&progress, running.own_iterations()) {
        (Some(progress), 0) => progress.stage.clone(),
        (None, _) => "waiting".to_owned(),
        _ => {
            let iterations = ran(done);
            match &running.purpose {
                FitPurpose::Weights | FitPurpose::Refit => iterations,
                FitPurpose::Lesion(_) => format!("virtual lesion, {iterations}"),
            }
        }
    };
    section::head_with(ui, "Progress", &fact);
    let max_iterations = running.max_iterations();
    plot(ui, &curve, Some(max_iterations));
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 9.0), Sense::hover());
    let bar = paint::inset(rect, space::INSET, space::INSET);
    let bar = Rect::from_min_size(bar.min + vec2(0.0, 4.0), vec2(bar.width(), 3.0));
    let share = match running.own_iterations() {
        0 => progress.and_then(|p| p.fraction()),
        _ => share_of_fit(done, max_iterations),
    };
    let p = theme::palette(ui.style());
    match (share, running.own_iterations()) {
        (None, 1..) => charts::endless_progress(ui.painter(), bar, p.b3, p.accent),
        _ => charts::progress(ui.painter(), bar, share, p.b3, p.accent),
    }
    response.widget_info(|| WidgetInfo {
        value: share.map(f64::from),
        ..WidgetInfo::labeled(Role::ProgressIndicator, true, "Fitting weights")
    });
    ui.ctx().request_repaint_after(REPAINT);
}

/// `12 iterations`.
fn ran(n: u64) -> String {
    counted(n as usize, "iteration")
}

/// Why the weights are not those of a converged fit, if so.
pub fn unfinished(weights: &FittedWeights) -> Option<String> {
    let all = weights.iterations();
    let (iterations, own) = (ran(all), u64::from(weights.figures.iterations));
    match weights.figures.ended {
        Ended::Cancelled => Some(format!("Stopped after {iterations}: not converged")),
        Ended::Iterations if own < all => Some(format!(
            "Not converged after {iterations}; a run has at most {}",
            count(own)
        )),
        Ended::Iterations => Some(format!("Not converged after {iterations}, the limit")),
        Ended::Objective | Ended::Kkt | Ended::Target => None,
    }
}

/// Most fits end earlier at a relative change of 10⁻⁵.
pub const ITERATIONS: u32 = 350;

/// The share of the expected iterations that are done; `None` once there are more, as the end is then unknown.
pub fn share_of_fit(done: u64, max_iterations: u64) -> Option<f32> {
    let expected = max_iterations.min(u64::from(ITERATIONS)).max(1);
    let is_known = done < expected || max_iterations <= expected;
    is_known.then(|| (done as f32 / expected as f32).min(1.0))
}

/// The right end of the plot: enough for most fits, and always more than those already done.
fn expected_end(done: u64, max_iterations: u64) -> u64 {
    const DEFAULT: u64 = 200;
    (done + done / 4)
        .max(DEFAULT)
        .next_multiple_of(50)
        .min(max_iterations.max(done))
        .max(1)
}

/// Plots the objective relative to that of zero weights; `max_iterations` is set while the fit runs.
fn plot(ui: &mut Ui, curve: &[f64], max_iterations: Option<u64>) {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), HEIGHT + 18.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    let inner = paint::inset(rect, space::INSET + NUMBERS, space::INSET + 4.0);
    let plot = Rect::from_min_size(
        inner.min + vec2(0.0, 4.0),
        vec2(inner.width(), HEIGHT - 4.0),
    );
    let first = curve.first().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let relative: Vec<f64> = curve.iter().map(|v| (v / first).max(1e-12)).collect();
    let lowest = relative.iter().copied().fold(1.0, f64::min);
    // At least one whole power of ten.
    let decades = (-lowest.log10()).ceil().clamp(1.0, 12.0);
    let last = match max_iterations {
        Some(max_iterations) => expected_end(curve.len().saturating_sub(1) as u64, max_iterations),
        None => curve.len().saturating_sub(1).max(1) as u64,
    };
    let at = |i: usize, v: f64| {
        let x = i as f32 / last.max(1) as f32;
        let y = (-v.log10() / decades).clamp(0.0, 1.0) as f32;
        pos2(
            plot.left() + x * plot.width(),
            plot.top() + y * plot.height(),
        )
    };
    let painter = ui.painter();
    let font = theme::regular(size::CAPTION);
    let every = (decades / 3.0).ceil().max(1.0);
    let mut power = 0.0;
    while power <= decades {
        let y = plot.top() + (power / decades) as f32 * plot.height();
        painter.hline(plot.x_range(), y.round() + 0.5, Stroke::new(1.0, p.line));
        let place = Rect::from_min_max(
            pos2(rect.left() + space::INSET, y - 7.0),
            pos2(plot.left() - 6.0, y + 7.0),
        );
        let text = match power as i32 {
            0 => "1".to_owned(),
            power => format!("10⁻{}", superscript(power)),
        };
        paint::right(painter, place, &text, font.clone(), p.t3);
        power += every;
    }
    let line: Vec<_> = relative
        .iter()
        .enumerate()
        .map(|(i, v)| at(i, *v))
        .collect();
    let now = relative.len().saturating_sub(1);
    if let Some(tip) = line.last().copied() {
        painter.add(Shape::line(line, Stroke::new(1.75, p.accent)));
        painter.circle_filled(tip, 3.0, p.accent);
    }
    let texts = Rect::from_min_max(
        pos2(plot.left(), plot.bottom() + 3.0),
        pos2(plot.right(), rect.bottom()),
    );
    let zero = paint::left(painter, texts, "0", font.clone(), p.t3);
    let end = counted(last as usize, "iteration");
    let end = paint::right(painter, texts, &end, font, p.t3);
    if max_iterations.is_some() && now > 0 {
        let here = count(now as u64);
        let bold = theme::semibold(size::CAPTION);
        let half = paint::width(ui, &here, bold.clone()) * 0.5;
        let x = at(now, 1.0).x;
        if x - half > zero.right() + 6.0 && x + half < end.left() - 6.0 {
            let place = Rect::from_center_size(
                pos2(x, texts.center().y),
                vec2(2.0 * half + 2.0, texts.height()),
            );
            paint::centre(painter, place, &here, bold, p.t1);
        }
    }
    let value = relative.last().copied().unwrap_or(1.0);
    let spoken = format!(
        "Objective after {}: {} of the value without weights",
        counted(now, "iteration"),
        significant(value)
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &spoken));
    response.on_hover_text(spoken.clone());
}

fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = n.to_string();
    let each = digits.chars().filter_map(|c| c.to_digit(10));
    each.map(|d| DIGITS[d as usize]).collect()
}

/// The reason why a fit ended.
pub fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Objective => "change of the objective",
        Ended::Kkt => "optimality",
        Ended::Target => "target",
        Ended::Iterations => "iteration limit, not converged",
        Ended::Cancelled => "user, not converged",
    }
}
