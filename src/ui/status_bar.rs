//! The bar at the bottom: crosshair position, running jobs, device.

use super::forms::commit::share_of_fit;
use super::probe::{self, Quantity};
use super::theme::{self, size};
use super::widgets::{charts, focus, paint};
use super::{devices, format, icons};
use crate::data::text::within_sentence;
use crate::state::device::jobs::DEVICE;
use crate::state::filter::jobs::FIT_WEIGHTS;
use crate::state::pathways::jobs::{PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES};
use crate::state::pictures::TurntableProgress;
use crate::state::pictures::jobs::PICTURE;
use crate::state::{Action, JobHandle, Slot, State};
use egui::{Id, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use std::time::{Duration, Instant};

/// Shorter jobs are not shown.
const PATIENCE: Duration = Duration::from_millis(300);
/// Averaging time of remaining-time estimates, seconds.
const SLUGGISH_S: f64 = 4.0;
/// Stands in for a job's ticket.
const TURN: u64 = u64::MAX;
/// Stands in for the tickets of all batches of repetitions.
const REPETITION_BATCHES: u64 = u64::MAX - 1;
/// Time before the remaining time is estimated.
const ESTIMATE_AFTER: Duration = Duration::from_secs(2);

/// Space between position and running work, and between text, bar and button of the work, points.
const GAP: f32 = 24.0;
const PART_GAP: f32 = 12.0;
/// Length of the progress bar, and the shortest that is informative.
const BAR: f32 = 120.0;
const MINIMUM_BAR: f32 = 40.0;
/// Shorter text is uninformative: the bar shrinks first.
const MINIMUM_TEXT: f32 = 90.0;
/// Largest share of the width for a message while there is a reading to show.
const STATUS_SHARE: f32 = 0.6;

pub fn show(ui: &mut Ui, state: &State, narrow: bool, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let bar = ui.max_rect();
    ui.painter().rect_filled(bar, 0.0, p.b0);
    ui.painter()
        .hline(bar.x_range(), bar.top() + 0.5, Stroke::new(1.0, p.line));
    let inner = paint::inset(bar, 12.0, 12.0);
    let right = devices::show(ui, inner, state, narrow, actions);
    let mut free = Rect::from_min_max(inner.min, pos2(right - 12.0, inner.bottom()));
    let status = status(ui, state);
    if !state.document.is_empty() {
        let needed = status.as_ref().map_or(0.0, |status| status.width(ui));
        free.min.x = position(ui, free, state, (narrow, needed)) + GAP;
    }
    match status {
        Some(Status::Work(work)) => show_work(ui, free, work, actions),
        Some(Status::Text(line)) => text(ui, free, line),
        None => {}
    }
    if state.runtime.turning.is_none() {
        // The next turntable measures its own rate.
        ui.data_mut(|d| d.remove::<StageRate>(rate_id(TURN)));
    }
    if !state.runtime.jobs.running.is_empty() {
        ui.ctx().request_repaint_after(Duration::from_millis(100));
    }
}

/// The job that has run longest, shown in view: the bar may lie below the screen.
pub fn progress(ui: &mut Ui, place: Rect, state: &State, actions: &mut Vec<Action>) {
    if let Some(job) = slowest(state) {
        let work = running(ui, state, job);
        show_work(ui, place, work, actions);
    }
}

/// Content between the position and the device.
enum Status<'a> {
    Work(RunningWork<'a>),
    Text(&'a str),
}

impl Status<'_> {
    /// Total width, points.
    fn width(&self, ui: &Ui) -> f32 {
        let regular = theme::regular(size::LABEL);
        match self {
            Self::Text(line) => paint::width(ui, line, regular),
            Self::Work(work) => {
                let line = paint::width(ui, &work.text, regular);
                line + PART_GAP + BAR + PART_GAP + cancel_width(ui)
            }
        }
    }
}

fn status<'a>(ui: &Ui, state: &'a State) -> Option<Status<'a>> {
    let runtime = &state.runtime;
    if let Some(turn) = turning(ui, state) {
        return Some(Status::Work(turn));
    }
    match slowest(state) {
        // The first page shows it.
        Some(_) if state.document.is_empty() => None,
        Some(job) => Some(Status::Work(running(ui, state, job))),
        None if state.is_repeating_pathway() => repetitions(state).map(Status::Work),
        None if runtime.notices.status.is_empty() && state.document.is_empty() => {
            Some(Status::Text("No scan open"))
        }
        None => Some(Status::Text(&runtime.notices.status)),
    }
}

fn text(ui: &mut Ui, free: Rect, text: &str) {
    if text.is_empty() || free.width() < 40.0 {
        return;
    }
    let p = theme::palette(ui.style());
    // The name of a file is at the end of its path.
    let font = theme::regular(size::LABEL);
    let cut = paint::elided(ui.painter(), text, font.clone(), free.width());
    let shown = paint::right(ui.painter(), free, &cut, font, p.t2);
    let response = ui.interact(shown, ui.make_persistent_id("status"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Status, true, text));
    response.on_hover_text(text);
}

/// Crosshair in mm and voxels, and the most informative values, the last of which are dropped if `needed` points on the
/// right require it; returns the right edge.
fn position(ui: &mut Ui, free: Rect, state: &State, (narrow, needed): (bool, f32)) -> f32 {
    let p = theme::palette(ui.style());
    let at = state.view.crosshair;
    paint::icon(
        ui.painter(),
        pos2(free.left() + 8.0, free.center().y),
        icons::CROSSHAIR,
        size::ICON,
        p.t2,
    );
    let [x, y, z] = [at.x, at.y, at.z].map(|v| format::fixed(v, 1));
    let place = format::with_unit(&format!("x {x}  y {y}  z {z}"), "mm").replace("  ", " ");
    let voxel = probe::voxel(state).map(|v| format!("voxel {}, {}, {}", v[0], v[1], v[2]));
    let readings = probe::readings(state);
    let strong = theme::medium(size::LABEL);
    let plain = theme::regular(size::LABEL);
    let gap = "    ";
    let mut parts = vec![vec![(place, strong.clone(), p.t1)]];
    if let Some((link, outside)) = super::crosshair::link_text(state) {
        let ink = if outside { p.warning } else { p.t2 };
        parts.push(vec![(format!("{gap}{link}"), plain.clone(), ink)]);
    }
    if let Some(voxel) = voxel.filter(|_| !narrow) {
        parts.push(vec![(format!("{gap}{voxel}"), plain.clone(), p.t3)]);
    }
    for reading in probe::brief_readings(state, &readings, 2) {
        let name = match reading.quantity {
            Quantity::Connectivity => "CM",
            Quantity::Weights => "Σ weight",
            Quantity::SignedDistance => "φ",
            _ => &reading.name,
        };
        parts.push(vec![
            (format!("{gap}{name} "), plain.clone(), p.t2),
            (reading.value.clone(), strong.clone(), p.t1),
        ]);
    }
    // Screen readers and the hover text get all of them.
    let label: String = parts.iter().flatten().map(|s| s.0.as_str()).collect();
    let text = paint::inset(free, 22.0, 0.0);
    let room = text.width() - GAP - needed.min(STATUS_SHARE * free.width());
    let wide = |part: &Vec<(String, egui::FontId, egui::Color32)>| -> f32 {
        let wide = part.iter().map(|(t, f, _)| paint::width(ui, t, f.clone()));
        wide.sum()
    };
    let ends = parts.iter().scan(0.0, |end, part| {
        *end += wide(part);
        Some(*end)
    });
    let fit = ends.filter(|end| *end <= room).count().max(1);
    let all = fit == parts.len();
    parts.truncate(fit);
    let spans: Vec<_> = parts.into_iter().flatten().collect();
    let borrowed: Vec<_> = spans
        .iter()
        .map(|(t, f, c)| (t.as_str(), f.clone(), *c))
        .collect();
    let shown = paint::spans(ui.painter(), text, egui::Align2::LEFT_CENTER, &borrowed);
    let response = ui.interact(shown, ui.make_persistent_id("position"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
    if !all {
        response.on_hover_text(&label);
    }
    shown.right()
}

/// The job that has run longest, once it is worth showing.
fn slowest(state: &State) -> Option<&JobHandle> {
    let jobs = state.runtime.jobs.running.iter();
    // Opening a graphics card cannot be cancelled.
    let jobs = jobs.filter(|j| j.slot != DEVICE);
    // Each batch is a job of its own: together they are one piece of work.
    let is_batch = |slot: Slot| matches!(slot, PATHWAY_NOISE | PATHWAY_NOISE_DISTANCES);
    let grows = state.pathway_noise_growth().is_some();
    let jobs = jobs.filter(|j| !(grows && is_batch(j.slot)));
    jobs.filter(|j| j.started.elapsed() > PATIENCE)
        .min_by_key(|j| j.started)
}

/// A turntable film, each picture of which is a job.
fn turning<'a>(ui: &Ui, state: &State) -> Option<RunningWork<'a>> {
    let TurntableProgress {
        turntable, done, ..
    } = state.runtime.turning.as_ref()?;
    let label = "Drawing a turn";
    let mut text = format!("{label} · {done} of {} pictures", turntable.frames);
    let progress = (u64::from(*done), u64::from(turntable.frames));
    if let Some(left) = left(ui, TURN, label, progress) {
        text = format!("{text} · {} left", duration(left));
    }
    Some(RunningWork {
        label,
        text,
        share: Some(*done as f32 / turntable.frames as f32),
        is_open: false,
        slot: PICTURE,
        ticket: TURN,
    })
}

/// Repetitions of a pathway, each batch of which is a job.
fn repetitions<'a>(state: &State) -> Option<RunningWork<'a>> {
    let (done, all) = state.pathway_noise_growth()?;
    let [some, of_all] = [done, all].map(|n| format::count(n as u64));
    let mut text = format!("Repeating · {some} of {of_all} repetitions");
    if let Some(noise) = state.current_pathway_noise() {
        let ms = noise.each_ms * (all - done) as f64;
        text = format!("{text} · {} left", format::duration_text(ms));
    }
    Some(RunningWork {
        label: "Repeating the pathway",
        text,
        share: Some(done as f32 / all.max(1) as f32),
        is_open: false,
        slot: PATHWAY_NOISE,
        ticket: REPETITION_BATCHES,
    })
}

fn running<'a>(ui: &Ui, state: &State, job: &'a JobHandle) -> RunningWork<'a> {
    let mut progress = job.control.progress();
    // Most fits end long before the largest number of iterations, so a fraction of that says little.
    let open = progress.total_is_limit;
    let fit = state.runtime.filter.running.as_ref();
    if let Some(fit) = fit.filter(|_| open && job.slot == FIT_WEIGHTS) {
        // The panel shows the same numbers.
        (progress.done, progress.total) = (fit.iterations(), fit.max_iterations());
    }
    let share = match open {
        true => share_of_fit(progress.done, progress.total),
        false => progress.fraction(),
    };
    let elapsed = job.started.elapsed();

    let mut text = job.label.clone();
    // `Opening t1.nii.gz` need not be followed by reading t1.nii.gz, nor a job of one stage by its own label.
    let is_in_label = progress.stage_is_named || progress.stage == job.label;
    if !is_in_label && !progress.stage.is_empty() {
        text = format!("{text} · {}", within_sentence(&progress.stage));
    }
    if open {
        let [done, total] = [progress.done, progress.total].map(format::count);
        text = format!("{text} · {done} of at most {total}");
    } else if let Some(share) = share {
        let percent = f64::from(share) * 100.0;
        // A job of minutes may move by less than a percent for a while.
        let decimals = usize::from(percent < 10.0 && elapsed > ESTIMATE_AFTER);
        // Rounded down and never 100 %: the counted steps may be done before the job is.
        let unit = 10f64.powi(decimals as i32);
        let percent = ((percent * unit + 1e-3).floor() / unit).min(99.0);
        let percent = format::with_unit(&format::fixed(percent, decimals), "%");
        text = format!("{text} · {percent}");
        let (stage, done) = match progress.part {
            Some(_) => ("", ((share * 1e4) as u64, 10_000)),
            None => (&*progress.stage, (progress.done, progress.total)),
        };
        if let Some(left) = left(ui, job.ticket, stage, done) {
            text = format!("{text} · {} left", duration(left));
        }
    }
    RunningWork {
        label: &job.label,
        text,
        share,
        is_open: open,
        slot: job.slot,
        ticket: job.ticket,
    }
}

/// Running work, and how to stop it.
struct RunningWork<'a> {
    label: &'a str,
    text: String,
    share: Option<f32>,
    /// Its end is not known beforehand.
    is_open: bool,
    slot: Slot,
    ticket: u64,
}

fn cancel_width(ui: &Ui) -> f32 {
    paint::width(ui, "Cancel", theme::medium(size::LABEL)) + 16.0
}

/// Text, progress bar and cancel button. If they do not fit, first the bar is shortened, then the text; if even that is
/// not enough, the text stays, which includes the fraction.
fn show_work(ui: &mut Ui, free: Rect, shown: RunningWork<'_>, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let RunningWork {
        label,
        text,
        share,
        is_open,
        slot,
        ticket,
    } = shown;
    let cancel_font = theme::medium(size::LABEL);
    let place = paint::at_right(free, vec2(cancel_width(ui), 20.0));
    let id = ui.make_persistent_id(("cancel", ticket));
    let response = ui.interact(place, id, Sense::click());
    let fill = if response.hovered() { p.b3 } else { p.b2 };
    paint::field(ui.painter(), p, place, fill);
    paint::centre(ui.painter(), place, "Cancel", cancel_font, p.t1);
    paint::focus_ring(ui.painter(), p, &response, place, theme::radius::CONTROL);
    let name = format!("Cancel {}", within_sentence(label));
    focus::named_button(&response, &name);
    if response.clicked() {
        actions.push(Action::CancelJob(slot));
    }
    response.on_hover_text("Esc");

    let regular = theme::regular(size::LABEL);
    let room = place.left() - PART_GAP - free.left();
    let rest = room - paint::width(ui, &text, regular.clone()) - PART_GAP;
    let wide = rest.clamp(MINIMUM_BAR, BAR);
    let mut before = free.with_max_x(place.left() - PART_GAP);
    if room >= MINIMUM_BAR + PART_GAP + MINIMUM_TEXT {
        let bar = paint::at_right(before, vec2(wide, 3.0));
        match is_open && share.is_none() {
            true => charts::endless_progress(ui.painter(), bar, p.b3, p.accent),
            false => charts::progress(ui.painter(), bar, share, p.b3, p.accent),
        }
        let response = ui.interact(bar.expand2(vec2(0.0, 6.0)), id.with("bar"), Sense::hover());
        response.widget_info(|| WidgetInfo {
            value: share.map(f64::from),
            ..WidgetInfo::labeled(Role::ProgressIndicator, true, label)
        });
        before.max.x = bar.left() - PART_GAP;
    }
    // The progress is at the end of the text.
    let cut = paint::elided(ui.painter(), &text, regular.clone(), before.width());
    let shown = paint::right(ui.painter(), before, &cut, regular, p.t1);
    let response = ui.interact(shown, id.with("words"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Status, true, &text));
    if cut != text {
        response.on_hover_text(&text);
    }
}

/// Rate of a stage of a job.
#[derive(Clone, Debug)]
pub struct StageRate {
    stage: String,
    /// When it was first seen, and the amount done by then.
    since: Instant,
    done: u64,
    /// The last displayed remaining time, seconds, and when it was displayed.
    shown: Option<(f64, Instant)>,
}

impl StageRate {
    pub fn new(stage: &str, done: u64, now: Instant) -> Self {
        Self {
            stage: stage.to_owned(),
            since: now,
            done,
            shown: None,
        }
    }

    /// Seconds until the end of the stage at the average rate since it was first seen: earlier progress was different
    /// work. `None` until it has run long enough.
    pub fn left(&mut self, (done, total): (u64, u64), now: Instant) -> Option<f64> {
        let elapsed = now - self.since;
        let gone = done.saturating_sub(self.done);
        if elapsed < ESTIMATE_AFTER || gone == 0 {
            return None;
        }
        let to_do = total.saturating_sub(done);
        let estimate = elapsed.as_secs_f64() * to_do as f64 / gone as f64;
        // Counts down between estimates and follows them slowly, because the load varies.
        let message = match self.shown {
            Some((message, when)) => {
                let since = (now - when).as_secs_f64();
                let follow = (since / SLUGGISH_S).min(1.0);
                let counted = (message - since).max(0.0);
                counted + follow * (estimate - counted)
            }
            None => estimate,
        };
        self.shown = Some((message, now));
        Some(message)
    }
}

fn rate_id(ticket: u64) -> Id {
    Id::unique(("pace of", ticket))
}

/// Seconds until the end of a job's stage.
fn left(ui: &Ui, ticket: u64, stage: &str, (done, total): (u64, u64)) -> Option<f64> {
    let id = rate_id(ticket);
    let now = Instant::now();
    let known: Option<StageRate> = ui.data(|d| d.get_temp(id));
    let known = known.filter(|p| p.stage == stage && p.done <= done);
    let mut rate = known.unwrap_or_else(|| StageRate::new(stage, done, now));
    let left = rate.left((done, total), now);
    ui.data_mut(|d| d.insert_temp(id, rate));
    left
}

/// `6 s`, `3 min`.
fn duration(seconds: f64) -> String {
    if seconds < 100.0 {
        format::with_unit(&format::fixed(seconds.max(1.0), 0), "s")
    } else {
        format::with_unit(&format::fixed(seconds / 60.0, 0), "min")
    }
}
