//! Figures of the surface.

use super::{act, as_region, near, plot};
use crate::state::segment::{SegmentAction, SurfaceStanding};
use crate::state::sessions::unsaved::size as size_of;
use crate::state::{Action, Content, State, SurfaceStatistics, SurfaceUpdate, ViewAction};
use crate::ui::format::{area, count, fixed, significant, volume, with_unit};
use crate::ui::forms::display::select_row;
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::{menu, paint, rows, section};
use crate::ui::{Memory, icons, panels};
use egui::{Rect, Sense, Ui, WidgetInfo, pos2, vec2};

const MORE: &str = "Agreement with the reference";
const SPHERES: &str = "Spheres";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let runtime = &state.runtime.segment;
    let Some(live) = &runtime.live else {
        section::head(ui, "Results");
        let sentence = match runtime.running && state.cannot_segment().is_none() {
            true => "Placing the surface…",
            false => "No surface yet: sample, add a sphere, run",
        };
        rows::hint(ui, sentence);
        return reference(ui, state, actions);
    };
    let older = live.figures.as_ref().is_some_and(|f| f.step != live.step);
    let step = live.figures.as_ref().map_or(live.step, |f| f.step);
    let stale = state.surface_is_stale();
    let target = state.rewind_target();
    let goes = target.is_some();
    let fact = match (older, stale, target) {
        (true, ..) => format!("of step {}", count(step)),
        (false, _, Some(target)) if target > live.step => {
            format!("step {}, being replaced", count(step))
        }
        (false, _, Some(_)) => format!("step {}, going back", count(step)),
        (false, true, None) => format!("step {}, before the change", count(step)),
        (false, false, None) => format!("step {}", count(step)),
    };
    section::head_with(ui, "Results", &fact);
    let stale = stale || goes;
    three(ui, live, older, older || stale);
    // Figures that the user acts on stand above those that are only observed.
    let figures = live.figures.as_ref();
    rows::dimmed(ui, older || stale, |ui| {
        near::show(ui, state, figures, actions)
    });
    let now = volume(state.segmented_ml(live.inside));
    let fact = format!("{now} at step {}", count(live.step));
    rows::dimmed(ui, stale, |ui| {
        panels::caption(ui, "Volume of whole voxels", &fact).on_hover_text(
            "Voxels whose centre is inside. The volume above is that inside the surface itself",
        );
    });
    ui.add_space(4.0);
    let height = plot::height(ui);
    if let Some(step) = plot::show(ui, state, live, height) {
        act(actions, SegmentAction::Rewind(step));
    }
    speed_line(ui, state, live);
    // Rows that come and go are below those that are clicked.
    near::controls(ui, state, actions);
    as_region(ui, state, actions);
    reference(ui, state, actions);
    spheres(ui, state, memory, actions);
    near::not_measured_hint(ui, state);
    let figures = |ui: &mut Ui| {
        let Some(figures) = &live.figures else { return };
        rows::reading(ui, "Active voxels", &count(figures.active));
        agreement(ui, figures, memory);
    };
    rows::dimmed(ui, older || stale, figures);
    if runtime.missing > 0 {
        let text = match runtime.missing {
            1 => "1 voxel has no value: the surface keeps out of it".to_owned(),
            several => format!(
                "{} voxels have no value: the surface keeps out of them",
                count(several as u64)
            ),
        };
        rows::hint(ui, &text);
    }
    plot::fill(ui, height);
}

/// Three figures side by side, all of one step; dimmed if the surface has moved on since.
fn three(ui: &mut Ui, live: &SurfaceUpdate, older: bool, dim: bool) {
    let figures = live.figures.as_ref();
    // The volume inside the surface; the volume of whole voxels has a line of its own below.
    let inside = figures.map_or("…".to_owned(), |f| volume(f.measures.volume_ml));
    let area = figures.map_or("…".to_owned(), |f| area(f.measures.area_mm2));
    let dice = figures
        .and_then(|f| f.agreement.as_ref())
        .and_then(|a| a.as_ref().ok());
    let third = match dice {
        Some(agreement) => ("Dice, reference", fixed(agreement.dice, 3)),
        None => (
            "Longest diameter",
            figures.map_or("…".to_owned(), |f| {
                with_unit(&fixed(f.measures.diameter_mm, 1), "mm")
            }),
        ),
    };
    let p = theme::palette(ui.style());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 34.0), Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let cells = [("Volume", inside), ("Surface", area), third];
    let wide = inner.width() / 3.0;
    for (i, (name, value)) in cells.iter().enumerate() {
        let left = inner.left() + wide * i as f32;
        let place =
            |y: f32| Rect::from_min_size(pos2(left, inner.top() + y), vec2(wide - 4.0, 16.0));
        paint::left(
            ui.painter(),
            place(0.0),
            name,
            theme::regular(size::CAPTION),
            p.t2,
        );
        paint::left(
            ui.painter(),
            place(16.0),
            value,
            theme::semibold(size::BODY),
            if dim { p.t3 } else { p.t1 },
        );
    }
    response.widget_info(|| {
        let mut text: Vec<String> = cells
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if let Some(figures) = figures.filter(|_| older) {
            let (step, now) = (count(figures.step), count(live.step));
            text.push(format!("of step {step}, the surface is at {now}"));
        }
        WidgetInfo::labeled(egui::Role::Label, true, text.join(", "))
    });
}

/// Shown while a run has no rate yet.
pub const STARTING: &str = "Starting";

/// Steps per second; `None` before the first steps.
pub fn rate(live: &SurfaceUpdate) -> Option<String> {
    let rate = match live.steps_per_s {
        none if none <= 0.0 => return None,
        slow if slow < 9.5 => significant(slow),
        fast => count(fast.round() as u64),
    };
    Some(with_unit(&rate, "steps/s"))
}

/// The step to which a surface goes: back, or to one that redo brings back.
pub fn destination(live: &SurfaceUpdate, step: u64) -> String {
    match step > live.step {
        true => format!("Restoring step {}", count(step)),
        false => format!("Going back to step {}", count(step)),
    }
}

fn speed_line(ui: &mut Ui, state: &State, live: &SurfaceUpdate) {
    let rate = rate(live);
    let text = match (state.rewind_target(), state.segment_standing()) {
        (Some(target), _) => destination(live, target),
        (None, Some(SurfaceStanding::Running)) => match &rate {
            Some(rate) => format!("Step {}, {rate}", count(live.step)),
            None => STARTING.to_owned(),
        },
        _ if live.run != state.runtime.segment.run => {
            "Not restored: Run restores the surface of this step".to_owned()
        }
        _ if state.surface_is_stale() => "Changed: Run applies the new values".to_owned(),
        (_, Some(SurfaceStanding::Converged)) => "At rest".to_owned(),
        (_, Some(SurfaceStanding::Leaked)) => "Paused: a leak".to_owned(),
        _ if live.step == 0 => "At the start".to_owned(),
        // The surface of an opened session has no rate.
        _ => match &rate {
            Some(rate) => format!("Paused, {rate} before"),
            None => "Paused".to_owned(),
        },
    };
    let bytes = (live.size.bytes + live.size.kept_bytes) as u64;
    rows::reading(ui, &text, &size_of(bytes));
}

/// The mask to compare with, if there is one to choose.
fn reference(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let masks = || {
        document
            .layers
            .iter()
            .filter(|l| matches!(l.content, Content::Mask(_)))
    };
    let reference = document.segment.reference.and_then(|id| document.layer(id));
    let shown = reference.map_or("none", |l| &l.name);
    let help = "Mask to compare with: Dice, sensitivity, distances between the borders";
    let chosen = select_row(ui, "Reference", help, shown, |ui| {
        let mut chosen = None;
        if menu::Item::new("none").chosen(reference.is_none()).show(ui) {
            chosen = Some(None);
        }
        for layer in masks() {
            let now = document.segment.reference == Some(layer.id);
            if menu::Item::new(&layer.name)
                .icon(icons::REGION)
                .chosen(now)
                .show(ui)
            {
                chosen = Some(Some(layer.id));
            }
        }
        chosen
    });
    if let Some(layer) = chosen {
        act(actions, SegmentAction::Reference(layer));
    }
}

fn agreement(ui: &mut Ui, figures: &SurfaceStatistics, memory: &mut Memory) {
    let Some(agreement) = &figures.agreement else {
        return;
    };
    let agreement = match agreement {
        Ok(agreement) => agreement,
        Err(why) => return rows::hint(ui, &why.to_string()),
    };
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, !memory.narrow));
    if clicked {
        memory.toggle(MORE);
    }
    if !open {
        return;
    }
    let m = &figures.measures;
    let readings = [
        ("Sensitivity", fixed(agreement.sensitivity, 3)),
        ("Specificity", fixed(agreement.specificity, 4)),
        ("Accuracy", fixed(agreement.correct, 4)),
        (
            "Mean surface distance",
            with_unit(&fixed(agreement.mean_mm, 2), "mm"),
        ),
        (
            "Hausdorff, 95th percentile",
            with_unit(&fixed(agreement.hausdorff95_mm, 2), "mm"),
        ),
        (
            "Longest diameter",
            with_unit(&fixed(m.diameter_mm, 1), "mm"),
        ),
    ];
    for (name, value) in readings {
        rows::reading(ui, name, &value);
    }
}

/// The spheres in their order; each can be undone, together with everything that the surface did since.
fn spheres(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let spheres = &state.document.segment.spheres;
    if spheres.is_empty() {
        return;
    }
    let (open, clicked) = section::fold(ui, SPHERES, memory.is_open(SPHERES, false));
    if clicked {
        memory.toggle(SPHERES);
    }
    if !open {
        return;
    }
    for (i, (number, sphere)) in spheres.iter().enumerate() {
        let what = if sphere.add {
            "Sphere"
        } else {
            "Keep-out sphere"
        };
        let mm = with_unit(&fixed(sphere.radius_mm, 1), "mm");
        let name = format!("{what} {}", i + 1);
        let response = rows::list_row(ui, &name, ("sphere", *number), false);
        let inner = paint::inset(response.rect, space::INSET, space::INSET);
        let p = theme::palette(ui.style());
        paint::left(
            ui.painter(),
            inner,
            &name,
            theme::regular(size::LABEL),
            p.t1,
        );
        let value = paint::inset(inner, 0.0, 34.0);
        paint::right(ui.painter(), value, &mm, theme::regular(size::LABEL), p.t3);
        let placed = state.runtime.segment.live.as_ref();
        let placed = placed.and_then(|live| live.placed.iter().find(|(n, _)| n == number));
        let back =
            placed.map(|(_, step)| format!("Undo: back to the surface of step {}", count(*step)));
        let mut take = IconButton::new(icons::CLOSE, "Take back").side(22.0);
        if let Some(back) = &back {
            take = take.hint(back);
        }
        if take.show_right(ui, inner).clicked() {
            act(actions, SegmentAction::TakeBack(*number));
        } else if response.clicked() {
            actions.push(Action::View(ViewAction::MoveCrosshair(sphere.centre)));
        }
    }
}
