//! The state badge of the 3-D view: coarse while something is dragged, final as soon as the picture
//! shows the final result.

use crate::solvers::curves::Seeding;
use crate::state::core::text::counted;
use crate::state::pathways::Standing as Path;
use crate::state::segment::{SizeDoubt, SurfaceStanding as Surface};
use crate::state::track::types::CurveKind;
use crate::state::track::types::odf::Model;
use crate::state::{Method, Standing, State, Task};
use crate::ui::format::{count, duration_text};
use crate::ui::forms::level_set;
use crate::ui::theme::{self, Palette, radius, size};
use crate::ui::widgets::paint;
use egui::{Color32, Painter, Rect, Stroke, StrokeKind, Ui, pos2, vec2};
use std::time::Duration;

/// Time for which a final result is highlighted, seconds.
const NEWS_S: f64 = 2.0;
pub const HEIGHT: f32 = 22.0;
const OUT_OF_DATE: &str = "Out of date";

#[derive(Default)]
pub struct Badge {
    text: String,
    since_s: f64,
    /// Since when the picture has been incomplete.
    rough_since_s: Option<f64>,
}

/// The badge's text, and the standing of the result.
pub fn text(state: &State) -> Option<(String, Standing)> {
    if state.view.task == Task::Pathways {
        return pathway(state);
    }
    if state.view.task == Task::Segment {
        return segment(state);
    }
    if let Some(running) = state.runtime.filter.running.as_ref() {
        // The panel and the status bar show this number, too.
        let text = format!("Iteration {}", count(running.iterations()));
        return Some((text, Standing::Updating));
    }
    if state.layer_of_stale_weights().is_some() {
        return Some((OUT_OF_DATE.to_owned(), Standing::OutOfDate));
    }
    // The other tasks do not show the live result.
    if !state.view.task.shows_live() {
        return None;
    }
    let (live, standing) = (state.runtime.track.live.value()?, state.standing()?);
    let ms = duration_text(live.wall_ms);
    // The time belongs to the task that tracks.
    if state.view.task == Task::View && standing == Standing::Final {
        return None;
    }
    let text = match standing {
        Standing::Final => format!("Final · {ms}"),
        Standing::Updating => "Updating…".to_owned(),
        Standing::OutOfDate => OUT_OF_DATE.to_owned(),
        Standing::Coarse => format!("Coarse · {} · {ms}", share(state, live.seeds)),
    };
    Some((text, standing))
}

/// The standing of the live pathway.
fn pathway(state: &State) -> Option<(String, Standing)> {
    let runtime = &state.runtime.pathways;
    let ms = duration_text(runtime.wall_ms);
    let model = state.document.pathways.model;
    let shown = runtime.live.value().map(|live| live.key.params.model());
    Some(match state.pathway_standing()? {
        // The result of the other model is shown until the first one of this.
        Path::Coarse if shown != Some(model) => ("Updating…".to_owned(), Standing::Updating),
        Path::Final => {
            repetitions(state).unwrap_or_else(|| (format!("Final · {ms}"), Standing::Final))
        }
        Path::Coarse => {
            let text = match model {
                Model::Tensors => "Coarse · voxels of twice the size".to_owned(),
                Model::Distributions => format!("Preview · 42 directions · {ms}"),
            };
            (text, Standing::Coarse)
        }
        Path::Updating => ("Updating…".to_owned(), Standing::Updating),
        Path::OutOfDate => (OUT_OF_DATE.to_owned(), Standing::OutOfDate),
    })
}

/// `Repeating · 64 of 200 repetitions`, or the final number once no more are computed.
fn repetitions(state: &State) -> Option<(String, Standing)> {
    let requested = state.pathway_noise_key()?.repetitions;
    let progress = |done: usize| {
        let done = count(done as u64);
        format!("{done} of {}", counted(requested, "repetition"))
    };
    if let Some((done, _)) = state.pathway_noise_growth() {
        let activity = if state.is_repeating_pathway() {
            "Repeating"
        } else {
            "Waiting"
        };
        return Some((format!("{activity} · {}", progress(done)), Standing::Final));
    }
    let done = state.current_pathway_noise()?.key.repetitions;
    if done < requested {
        let end = if state.is_pathway_noise_stopped() {
            "Stopped"
        } else {
            "Failed"
        };
        return Some((format!("{end} · {}", progress(done)), Standing::OutOfDate));
    }
    let all = counted(done, "repetition");
    Some((format!("Final · {all}"), Standing::Final))
}

/// The standing of the segmented surface.
fn segment(state: &State) -> Option<(String, Standing)> {
    let live = state.runtime.segment.live.as_ref()?;
    if let Some(step) = state.rewind_target() {
        return Some((level_set::destination(live, step), Standing::Updating));
    }
    Some(match state.segment_standing()? {
        Surface::Running => {
            let text = level_set::rate(live).map(|rate| format!("Running · {rate}"));
            let text = text.unwrap_or_else(|| level_set::STARTING.to_owned());
            (text, Standing::Updating)
        }
        Surface::Leaked => ("Paused · leak".to_owned(), Standing::OutOfDate),
        Surface::Converged => (
            "At rest".to_owned(),
            match state.surface_size_doubt() {
                Some(SizeDoubt::FarLarger) => Standing::OutOfDate,
                _ => Standing::Final,
            },
        ),
        Surface::Paused | Surface::Ended => (
            format!("Paused · step {}", count(live.step)),
            Standing::Final,
        ),
    })
}

/// `1 500 of 9 000`.
fn share(state: &State, seeds: usize) -> String {
    let document = &state.document;
    let random = |seeding: Seeding| match seeding {
        Seeding::Random { count } => Some(count),
        Seeding::Grid { .. } | Seeding::PerVoxel { .. } => None,
    };
    let all = match document.track.kind() {
        CurveKind::Rays | CurveKind::OdfRays => document.track.chosen_rays().count(),
        CurveKind::Streamlines => random(document.track.streamlines.seeding),
        CurveKind::OdfStreamlines => {
            let params = document.odf_params();
            random(params.seeding).filter(|_| params.select.is_none())
        }
    };
    match all {
        Some(all) => format!("{} of {}", count(seeds as u64), count(all as u64)),
        None if document.track.method == Method::Rays => counted(seeds, "ray"),
        None => counted(seeds, "seed"),
    }
}

impl Badge {
    /// Whether a picture has been incomplete long enough to say so.
    pub fn drawing_is_late(&mut self, ui: &Ui, drawn: bool) -> bool {
        const PATIENCE_S: f64 = 0.6;
        if drawn {
            self.rough_since_s = None;
            return false;
        }
        let now = ui.input(|i| i.time);
        let age = now - *self.rough_since_s.get_or_insert(now);
        if age < PATIENCE_S {
            let wait = Duration::from_secs_f64(PATIENCE_S - age);
            ui.ctx().request_repaint_after(wait);
        }
        age >= PATIENCE_S
    }

    /// Paints at the top right of a pane; returns its rectangle. `drawn`: the picture is complete; `still`: as bright
    /// as when highlighted. Nothing is painted if it would begin left of `from`.
    pub fn show(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        (pane, from): (Rect, f32),
        state: &State,
        drawn: bool,
        still: bool,
    ) -> Option<Rect> {
        let (mut text, standing) = text(state)?;
        let grows = standing == Standing::Final && state.pathway_noise_growth().is_some();
        let drawing = standing == Standing::Final && !drawn && !grows;
        if drawing {
            text = "Drawing…".to_owned();
        }
        let news = standing != Standing::Final || drawing || grows;
        let now = ui.input(|i| i.time);
        if self.text != text {
            self.text.clone_from(&text);
            self.since_s = now;
        }
        let age = now - self.since_s;
        let dim = !still && !news && age >= NEWS_S;
        if !still && !news && !dim {
            let wait = Duration::from_secs_f64((NEWS_S - age).max(0.0));
            ui.ctx().request_repaint_after(wait);
        }
        let p = theme::palette(ui.style());
        let dot = match news {
            true if grows => p.accent,
            true => p.warning,
            false => p.ok,
        };
        paint_badge(painter, p, (pane, from), &text, dot, dim)
    }
}

fn paint_badge(
    painter: &Painter,
    p: &Palette,
    (pane, from): (Rect, f32),
    sentence: &str,
    dot_ink: Color32,
    dim: bool,
) -> Option<Rect> {
    let strength = if dim { 0.55 } else { 1.0 };
    let ink = |colour: Color32| colour.gamma_multiply(strength);
    let text = painter.layout_job(paint::line(
        &[(sentence, theme::medium(size::LABEL), ink(p.t1))],
        f32::INFINITY,
    ));
    let size = vec2(text.size().x + 32.0, HEIGHT);
    let corner = pos2(pane.right() - 10.0 - size.x, pane.top() + 8.0);
    if corner.x < from {
        return None;
    }
    let rect = Rect::from_min_size(corner, size);
    let stroke = Stroke::new(1.0, ink(p.line));
    let fill = ink(p.b2);
    painter.rect(rect, radius::CONTROL, fill, stroke, StrokeKind::Inside);
    let dot = pos2(rect.left() + 13.0, rect.center().y);
    painter.circle_filled(dot, 4.0, ink(dot_ink));
    let at = pos2(rect.left() + 23.0, rect.center().y - text.size().y * 0.5);
    painter.galley(at, text, Color32::PLACEHOLDER);
    Some(rect)
}
