//! The task Pathways: the cost of every path between two regions, and the cheapest of them.

mod compared;
pub mod look;
mod profile;
mod results;
mod row_menu;

use super::display::select_row;
use super::{tracking, walk};
use crate::data::Role;
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::metric::Cost;
use crate::solvers::pathway;
use crate::state::pathways::{PathwayAction, PathwayFile, Settings, Standing, percent_joined};
use crate::state::session::GuideStep;
use crate::state::{Action, Phase, State, defaults};
use crate::ui::Memory;
use crate::ui::files::{Place, Purpose, suggestion};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::slider::SliderRow;
use crate::ui::widgets::{anchor, menu, paint, section};
use crate::ui::{format, icons, panels};
use egui::{Rangef, Rect, Sense, Ui, vec2};
pub use results::show as results;

const MORE: &str = "Metric, local solver";

type Set<'a> = dyn FnMut(Settings, Phase) + 'a;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), section::HEAD));
    tracking::inputs(ui, state, memory, true, actions);
    swap(ui, head, state, actions);
    section::end(ui);
    controls(ui, state, memory, actions);
    section::end(ui);
}

/// Exchanges the ends: in the head of the inputs, beside their add button.
fn swap(ui: &mut Ui, head: Rect, state: &State, actions: &mut Vec<Action>) {
    let there = |role| state.document.regions.iter().any(|r| r.role == role);
    if !(there(Role::Seed) && there(Role::Target)) {
        return;
    }
    const SIDE: f32 = 24.0;
    let place = paint::inset(head, space::INSET, space::INSET + SIDE + 4.0);
    let button = IconButton::new(icons::SWAP, "Swap seed and target").side(SIDE);
    let hint = "Swap seed and target: u₁ is the cost from the seed";
    if button.hint(hint).show_right(ui, place).clicked() {
        actions.push(Action::Pathway(PathwayAction::SwapEnds));
    }
}

fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let settings = &state.document.pathways;
    let usual = defaults::pathways();
    let mut set = |settings: Settings, phase: Phase| {
        actions.push(Action::Pathway(PathwayAction::Set { settings, phase }));
    };
    if walk::reset(ui, place, *settings == usual) {
        set(usual.clone(), Phase::Done);
    }
    let live = joining(state);
    let width_from = ui.cursor().top();
    if let Some((epsilon, phase)) = width_of(ui, "Pathway width ε", settings.epsilon, live) {
        let settings = settings.clone();
        set(
            Settings {
                epsilon,
                ..settings
            },
            phase,
        );
    }
    alpha(ui, settings, &mut set);
    joined(ui, state, &mut set);
    if state.session.guide == Some(GuideStep::Width) {
        anchor::ask_for(ui, 0, Rangef::new(width_from, ui.cursor().top()));
    }
    let row = SliderRow::new("Domain FA ≥", settings.params.min_fa, 0.0..=0.4)
        .default(usual.params.min_fa)
        .limits(0.0..=1.0)
        .help("Paths run where the FA is at least this, and in masks if there are any");
    if let Some((min_fa, phase)) = row.value(ui) {
        let mut changed = settings.clone();
        changed.params.min_fa = min_fa;
        set(changed, phase);
    }
    // In the first steps of the guide the results get the space.
    if state
        .session
        .guide
        .is_none_or(|step| step.is_after_regions())
    {
        panels::in_sight(ui);
    }
    look::cost(ui, settings, &mut set);
    look::on_slices(ui, settings, memory, &mut set);
    look::in_scene(ui, state, memory, &mut set);
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        metric(ui, settings, &mut set);
        local(ui, settings, &mut set);
    }
    super::glyphs::show(ui, state, memory, actions);
}

/// ε_h of the live pathway; `None` of a coarse one or one of before, whose ε_h it is not.
fn joining(state: &State) -> Option<f64> {
    let live = state.final_pathway()?;
    Some(live.pathway.joined_from)
}

/// A width in percent, on a logarithmic rail with a tick where the set begins to join its ends.
fn width_of(ui: &mut Ui, name: &str, epsilon: f64, from: Option<f64>) -> Option<(f64, Phase)> {
    let from = from.map(percent_joined);
    let percent = |from: f64| format::with_unit(&format::fixed(from, 1), "%");
    let words = from.map_or_else(String::new, |from| format!("joined from {}", percent(from)));
    let row = SliderRow::new(name, epsilon * 100.0, 0.5..=50.0)
        .logarithmic()
        .decimals(1)
        .default(pathway::DEFAULT_EPSILON * 100.0)
        .limits(0.0..=100.0)
        .unit("%")
        .marked(from, &words)
        .help("Voxels whose cost is within ε of the cheapest path; nothing is solved again");
    let (percent, phase) = row.value(ui)?;
    Some((percent / 100.0, phase))
}

/// Whether the width joins the ends, and a remedy where it does not. The row exists before the pathway does, so
/// nothing moves when a pathway arrives or while the width is dragged.
fn joined(ui: &mut Ui, state: &State, set: &mut Set) {
    const HEIGHT: f32 = 26.0;
    let settings = &state.document.pathways;
    let percent = |value: f64| format::with_unit(&format::fixed(value, 1), "%");
    let most = *Settings::EPSILON.end() * 100.0;
    let p = theme::palette(ui.style());
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let live = state.session.pathways.live.as_ref();
    let Some(from) = live.and(joining(state)) else {
        return;
    };
    let row = paint::inset(rect, space::INSET, space::INSET);
    let value = percent_joined(from);
    if value > most {
        // So long a way round is no width: another metric, another domain or other ends are asked for.
        let most = format::with_unit(&format::fixed(most, 0), "%");
        let text = format!("Not joined at any width up to {most}");
        section::label(ui, row, &text, false, p.warning);
        let way_out = format!(
            "The ends meet from ε = {}. Lower α or the FA of the domain, or enlarge an end",
            percent(value)
        );
        response.on_hover_text(way_out);
        return;
    }
    if settings.epsilon >= from {
        let text = format!("Joins seed and target (from {} upwards)", percent(value));
        return section::label(ui, row, &text, false, p.t3);
    }
    let word = format!("Widen to {}", percent(value));
    let button = Button::plain(&word);
    let place = paint::at_right(row, vec2(button.width(ui), space::FIELD));
    let text = row.with_max_x(place.left() - 6.0);
    section::label(ui, text, "Not joined at this width", false, p.warning);
    if button.show_at(ui, place).clicked() {
        let epsilon = value / 100.0;
        let settings = settings.clone();
        set(
            Settings {
                epsilon,
                ..settings
            },
            Phase::Done,
        );
    }
}

fn alpha(ui: &mut Ui, settings: &Settings, set: &mut Set) {
    let (alpha, why) = match settings.params.cost {
        Cost::Sharpened { alpha } => (alpha, None),
        _ => (3.0, Some("only the sharpened metric has it")),
    };
    let row = SliderRow::new("Sharpening α", alpha, 1.0..=6.0)
        .decimals(1)
        .default(3.0)
        .limits(0.1..=Cost::MOST_ALPHA)
        .inactive(why)
        .help("How strongly the metric penalises travel across fibres");
    if let Some((alpha, phase)) = row.value(ui) {
        let mut changed = settings.clone();
        changed.params.cost = Cost::Sharpened { alpha };
        set(changed, phase);
    }
}

fn metric(ui: &mut Ui, settings: &Settings, set: &mut Set) {
    let kinds = [
        (Cost::Sharpened { alpha: 3.0 }, "Sharpened"),
        (Cost::Inverse, "Inverse"),
        (Cost::Adjugate, "Adjugate"),
        (Cost::Isotropic, "Isotropic"),
    ];
    let same =
        |kind: Cost| std::mem::discriminant(&kind) == std::mem::discriminant(&settings.params.cost);
    let now = kinds.iter().find(|(kind, _)| same(*kind));
    let help = "What a path costs: the inverse tensor, sharpened to the power α with its volume kept, its \
                adjugate, or the same in all directions";
    let shown = now.map_or("", |(_, name)| name);
    let chosen = select_row(ui, "Metric", help, shown, |ui| {
        let mut chosen = None;
        for (kind, name) in kinds {
            if menu::Item::new(name).chosen(same(kind)).show(ui) {
                chosen = Some(kind);
            }
        }
        chosen
    });
    if let Some(cost) = chosen.filter(|kind| !same(*kind)) {
        let mut changed = settings.clone();
        changed.params.cost = cost;
        set(changed, Phase::Done);
    }
}

fn local(ui: &mut Ui, settings: &Settings, set: &mut Set) {
    let name = |local: LocalSolver| match local {
        LocalSolver::Godunov6 => "Godunov, 6 (paper)",
        LocalSolver::HopfLax26 => "Hopf–Lax, 26",
        LocalSolver::Selling => "Selling",
        LocalSolver::Hybrid => "Hybrid",
    };
    let help = "Local update scheme of the eikonal solver. Hybrid: the better of Hopf–Lax and Selling. Godunov \
                on 6 neighbours is the paper's and overestimates the cost along oblique fibres (Jeong et al. \
                2007)";
    let now = settings.params.local;
    let chosen = select_row(ui, "Local solver", help, name(now), |ui| {
        let mut chosen = None;
        for local in LocalSolver::ALL {
            if menu::Item::new(name(local)).chosen(local == now).show(ui) {
                chosen = Some(local);
            }
        }
        chosen
    });
    if let Some(local) = chosen.filter(|local| *local != now) {
        let mut changed = settings.clone();
        changed.params.local = local;
        set(changed, Phase::Done);
    }
}

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let why = match state.pathway_standing() {
        None => Some("There is no pathway yet: place a seed and a target first"),
        Some(Standing::Updating | Standing::Coarse) => Some("Waits for the full result"),
        Some(Standing::OutOfDate) => Some("Out of date: the controls have changed since"),
        Some(Standing::Final) => None,
    };
    let buttons = vec![
        Button::primary("Keep pathway")
            .icon(icons::PLUS)
            .disabled(why),
        Button::plain("Export…")
            .icon(icons::EXPORT)
            .disabled(why)
            .hint("Ctrl+E: the pathway as a mask"),
    ];
    let (responses, end) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::Pathway(PathwayAction::Keep));
    }
    if why.is_none() {
        let above = Place::Above(place.right_top() - vec2(0.0, 20.0));
        let chosen = menu::popup(&responses[1], 210.0, row_menu::files);
        if let Some(what) = chosen {
            ask(state, memory, None, what, above);
        }
    }
    let command = super::recipe(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}

/// Asks where to write something of a pathway; `None`: of the live one.
pub fn ask(
    state: &State,
    memory: &mut Memory,
    of: Option<crate::state::LayerId>,
    what: PathwayFile,
    place: Place,
) {
    let purpose = Purpose::Pathway { of, what };
    let kept = state.document.kept_pathways.iter();
    let name = kept.clone().find(|k| Some(k.id) == of).map(|k| &*k.name);
    let name = format!("{} {}", name.unwrap_or("pathway"), what.suffix());
    let text = suggestion(state, &name, &purpose);
    memory.files.type_path(purpose, place, &text);
}
