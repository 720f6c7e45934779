//! The task Pathways: the cost of every path between two regions, and the cheapest of them.

pub mod profile;
mod results;
mod row_menu;

use super::display::{segment_row, select_row};
use super::volume::{curve_row, cut_row};
use super::{tracking, walk};
use crate::data::Role;
use crate::render::build;
use crate::render::draw_list::Transfer;
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::metric::Cost;
use crate::state::pathways::{PathwayAction, PathwayFile, Settings, Shown, Standing};
use crate::state::{Action, Phase, Severity, State, defaults};
use crate::ui::Memory;
use crate::ui::files::{Place, Purpose, suggestion};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, checkbox};
use crate::ui::widgets::note::{Answer, Note};
use crate::ui::widgets::slider::{Change, Columns, SliderRow};
use crate::ui::widgets::transfer::TransferEditor;
use crate::ui::widgets::{menu, paint, section};
use crate::ui::{format, icons, panels};
use egui::{Rect, Sense, Ui, vec2};
pub use results::show as results;

const CURVE: &str = "Transfer function";
const MORE: &str = "Metric, local solver";

type Set<'a> = dyn FnMut(Settings, Phase) + 'a;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    tracking::inputs(ui, state, memory, true, actions);
    swap(ui, state, actions);
    section::end(ui);
    controls(ui, state, memory, actions);
    section::end(ui);
    results(ui, state, memory, actions);
    section::end(ui);
}

/// Exchanges the ends.
fn swap(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let there = |role| state.document.regions.iter().any(|r| r.role == role);
    if !(there(Role::Seed) && there(Role::Target)) {
        return;
    }
    let button = Button::quiet("Swap seed and target").hint("u₁ is the cost from the seed");
    let (rect, _) =
        ui.allocate_exact_size(vec2(ui.available_width(), space::BUTTON), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(row.min, vec2(button.width(ui), space::BUTTON));
    if button.show_at(ui, place).clicked() {
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
    joined(ui, state, &mut set);
    alpha(ui, settings, &mut set);
    let row = SliderRow::new("Domain FA ≥", settings.params.min_fa, 0.0..=0.4)
        .default(usual.params.min_fa)
        .limits(0.0..=1.0)
        .help("Paths run where the FA is at least this, and in masks if there are any");
    if let Some((min_fa, phase)) = row.value(ui) {
        let mut changed = settings.clone();
        changed.params.min_fa = min_fa;
        set(changed, phase);
    }
    let words = Shown::ALL.map(Shown::name);
    let now = Shown::ALL.iter().position(|s| *s == settings.shown);
    let help = "Cost of the best path through a voxel, or from one of the regions to it";
    if let Some(i) = segment_row(ui, "Show cost", help, &words, now.unwrap_or(0)) {
        let changed = Settings {
            shown: Shown::ALL[i],
            ..settings.clone()
        };
        set(changed, Phase::Done);
    }
    check(ui, "Pathway outline on slices", settings.outline, |on| {
        let settings = settings.clone();
        set(
            Settings {
                outline: on,
                ..settings
            },
            Phase::Done,
        );
    });
    contours(ui, settings, &mut set);
    in_scene(ui, state, memory, &mut set);
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        metric(ui, settings, &mut set);
        local(ui, settings, &mut set);
        let row = SliderRow::new("Opacity", f64::from(settings.opacity) * 100.0, 0.0..=100.0)
            .decimals(0)
            .default(f64::from(usual.opacity) * 100.0)
            .unit("%")
            .help("Of the cost on slices");
        if let Some((percent, phase)) = row.value(ui) {
            let opacity = (percent / 100.0) as f32;
            let settings = settings.clone();
            set(
                Settings {
                    opacity,
                    ..settings
                },
                phase,
            );
        }
    }
    super::glyphs::show(ui, state, memory, actions);
}

/// ε_h in percent, rounded up: at this width the ends are joined.
fn percent_joined(from: f64) -> f64 {
    (from * 1000.0).ceil() / 10.0
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
        .default(defaults::EPSILON * 100.0)
        .limits(0.0..=100.0)
        .unit("%")
        .marked(from, &words)
        .help("Voxels whose cost is within ε of the cheapest path; nothing is solved again");
    let (percent, phase) = row.value(ui)?;
    Some((percent / 100.0, phase))
}

/// What a user is told of a width that joins nothing.
fn joined(ui: &mut Ui, state: &State, set: &mut Set) {
    let settings = &state.document.pathways;
    let Some(from) = joining(state).filter(|from| settings.epsilon < *from) else {
        return;
    };
    let percent = |value: f64| format::with_unit(&format::fixed(value, 1), "%");
    let most = *Settings::EPSILON.end() * 100.0;
    let (p, value) = (theme::palette(ui.style()), percent_joined(from));
    if value > most {
        // So long a way round is no width: another metric, another domain or other ends are asked for.
        let text = format!(
            "Not joined at any width up to {}: the ends meet from ε = {}; lower α or the FA of the domain, or \
             enlarge an end",
            format::with_unit(&format::fixed(most, 0), "%"),
            percent(value)
        );
        Note::new(p, Severity::Warning, &text).show(ui);
        return;
    }
    let value_words = percent(value);
    let text = format!("Not joined at this width: the ends meet from ε = {value_words}");
    let word = format!("Widen to {value_words}");
    let note = Note::new(p, Severity::Warning, &text).action(&word);
    if note.show(ui) == Some(Answer::Taken) {
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
        .help("How strongly crossing the fibres costs extra");
    if let Some((alpha, phase)) = row.value(ui) {
        let mut changed = settings.clone();
        changed.params.cost = Cost::Sharpened { alpha };
        set(changed, phase);
    }
}

fn check(ui: &mut Ui, name: &str, on: bool, set: impl FnOnce(bool)) {
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    if let Some(on) = checkbox(ui, place, name, on) {
        set(on);
    }
}

/// Lines of equal cost.
fn contours(ui: &mut Ui, settings: &Settings, set: &mut Set) {
    const EVERY: f64 = 5.0;
    let row = SliderRow::new("Cost contours", settings.contours.unwrap_or(EVERY), 0.5..=20.0)
        .decimals(1)
        .default(EVERY)
        .limits(0.01..=1e6)
        .switch(settings.contours.is_some(), "off")
        .help("Lines of equal cost from the seed (u₁), or from the target where u₂ is shown, so much apart");
    let (contours, phase) = match row.show(ui) {
        Some(Change::To(every, phase)) => (Some(every), phase),
        Some(Change::Switched(on)) => (on.then_some(EVERY), Phase::Done),
        None => return,
    };
    let settings = settings.clone();
    set(
        Settings {
            contours,
            ..settings
        },
        phase,
    );
}

/// The cost as a cloud, the set as a surface, both or neither; and the cloud's curve.
fn in_scene(ui: &mut Ui, state: &State, memory: &mut Memory, set: &mut Set) {
    let settings = &state.document.pathways;
    let kinds = [(true, false), (false, true), (true, true), (false, false)];
    let now = kinds
        .iter()
        .position(|kind| *kind == (settings.cloud, settings.surface));
    let help = "The cost u₁ + u₂ as a cloud, the pathway of width ε as a surface";
    let words = ["Cloud", "Surface", "Cloud and surface", "Off"];
    let shown = words[now.unwrap_or(0)];
    let chosen = select_row(ui, "In 3-D", help, shown, |ui| {
        let mut chosen = None;
        for (i, word) in words.into_iter().enumerate() {
            if menu::Item::new(word).chosen(now == Some(i)).show(ui) {
                chosen = Some(kinds[i]);
            }
        }
        chosen
    });
    if let Some((cloud, surface)) = chosen {
        let settings = settings.clone();
        set(
            Settings {
                cloud,
                surface,
                ..settings
            },
            Phase::Done,
        );
    }
    let kept = state.document.kept_pathways.iter().any(|k| k.visible);
    if (settings.cloud || settings.surface || kept)
        && let Some(cut) = cut_row(ui, state, settings.cut)
    {
        let settings = settings.clone();
        set(Settings { cut, ..settings }, Phase::Done);
    }
    let Some(live) = build::pathways::live(state).filter(|_| settings.cloud) else {
        return;
    };
    let (open, clicked) = section::fold(ui, CURVE, memory.is_open(CURVE, !memory.narrow));
    if clicked {
        memory.toggle(CURVE);
    }
    if !open {
        return;
    }
    let preset = curve_row(ui, Transfer::cost_presets(), &settings.transfer);
    let shown = build::pathways::EXCESS_SHOWN;
    let editor = TransferEditor {
        name: "Opacity by excess cost",
        transfer: &settings.transfer,
        counts: memory.counted.of(&live.excess, 0, (0.0, shown)),
        range: (0.0, f64::from(shown) * 100.0),
        unit: "%",
    };
    let preset = preset.map(|transfer| (transfer, Phase::Done));
    if let Some((transfer, phase)) = editor.show(ui).or(preset) {
        let settings = settings.clone();
        set(
            Settings {
                transfer,
                ..settings
            },
            phase,
        );
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
    let help = "How a voxel's cost comes from its neighbours'. Hybrid: the better of Hopf–Lax and Selling. \
                Godunov on 6 neighbours is the paper's and charges oblique fibres too much (Jeong et al. 2007)";
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
    let name = format!("{} {}", name.unwrap_or("pathway"), what.word());
    let text = suggestion(state, &name, &purpose);
    memory.files.type_path(purpose, place, &text);
}
