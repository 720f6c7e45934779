//! What came of rays: the histogram of their measures with the cut, and why there are none.

use crate::render::colour_map::ColourMap;
use crate::solvers::geodesic::{Cut, Directions};
use crate::solvers::tracking::Seeding;
use crate::state::session::LiveRays;
use crate::state::{Action, Live, Phase, Rays, Severity, State};
use crate::ui::forms::display::colour_of;
use crate::ui::rays::{self, Remedy};
use crate::ui::theme;
use crate::ui::widgets::cut::CutHistogram;
use crate::ui::widgets::note::{Answer, Note};
use crate::ui::widgets::rows;
use crate::ui::{Memory, format, panels};
use egui::{Color32, Rect, Ui, vec2};

/// One way out of an empty result.
pub fn nothing(ui: &mut Ui, state: &State, live: &Live, actions: &mut Vec<Action>) {
    let now = &state.document.rays;
    let targets: Vec<&str> = live
        .targets
        .iter()
        .filter_map(|id| state.document.region(*id))
        .map(|r| r.name.as_str())
        .collect();
    let Some((text, remedy)) = rays::nothing_kept(live, now, &targets) else {
        return;
    };
    let mut better = now.clone();
    let word = match remedy {
        Remedy::WidenCone => {
            if let Directions::Cone { half_angle_rad, .. } = &mut better.params.directions {
                *half_angle_rad = (*half_angle_rad * 1.5).clamp(0.1, std::f64::consts::FRAC_PI_2);
            }
            Some("Widen the cone")
        }
        Remedy::MoreRays => {
            if let Seeding::Random { count } = &mut better.params.walk.seeding {
                *count = count.saturating_mul(4);
            }
            Some("Four times as many rays")
        }
        Remedy::ShorterLength => {
            let walk = &mut better.params.walk;
            walk.min_length_mm = (walk.min_length_mm * 0.5).round();
            Some("Halve the shortest length")
        }
        Remedy::KeepAll => {
            better.cut = Cut::All;
            Some("Keep all")
        }
        Remedy::Nothing => None,
    };
    let p = theme::palette(ui.style());
    let mut note = Note::new(p, Severity::Warning, &text);
    if let Some(word) = word {
        note = note.action(word);
    }
    if note.show(ui) == Some(Answer::Taken) {
        actions.push(Action::SetRays {
            rays: better,
            phase: Phase::Done,
        });
    }
}

/// Measures of all rays, and the cut to be dragged.
pub fn histogram(
    ui: &mut Ui,
    state: &State,
    rays: &LiveRays,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    if rays.measures.is_empty() {
        return;
    }
    let now = &state.document.rays;
    let (low, _) = rays.range;
    let map = match state.document.ray_display.colour_map {
        map @ (ColourMap::Viridis | ColourMap::GreenRed) => map,
        _ => ColourMap::Viridis,
    };
    let colour = |t: f32| -> Color32 { colour_of(map, t) };
    let cut = match now.cut {
        Cut::All => low,
        Cut::AtLeast(least) => least,
        Cut::Top(_) | Cut::TopShare(_) => rays.least.unwrap_or(low),
    };
    // The caption stands above, but says how many the cut leaves as it is moved.
    let above = ui.cursor().min;
    ui.add_space(panels::CAPTION);
    let moved = CutHistogram {
        name: "Connectivity measure",
        counts: memory.rays.bins(rays),
        range: rays.range,
        cut,
        colour: &colour,
    }
    .show(ui);
    let asked = moved.map(|(value, phase)| {
        let cut = if value <= low {
            Cut::All
        } else {
            Cut::AtLeast(value)
        };
        (cut, phase)
    });
    let kept = memory
        .rays
        .kept(rays, asked.map_or(now.cut, |(cut, _)| cut));
    let fact = format!("{} kept", format::count(kept as u64));
    let width = ui.available_width();
    let place = Rect::from_min_size(above, vec2(width, panels::CAPTION));
    let mut caption = ui.new_child(egui::UiBuilder::new().max_rect(place));
    panels::caption(&mut caption, "Connectivity measure (CM)", &fact);
    if let Some((cut, phase)) = asked {
        let rays = Rays { cut, ..now.clone() };
        actions.push(Action::SetRays { rays, phase });
    }
}

/// Tensors that had to be changed before rays could run through them.
pub fn repaired(ui: &mut Ui, rays: &LiveRays) {
    if rays.repaired > 0 {
        let count = format::count(rays.repaired);
        let text = format!("{count} tensors were repaired: not positive definite");
        rows::hint(ui, &text);
    }
}
