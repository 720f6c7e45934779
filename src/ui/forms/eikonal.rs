//! The task Pathways: the cost of every path between two regions, and the cheapest of them.

pub mod agreement;
mod compared;
pub mod look;
pub mod noise;
mod profile;
mod results;
mod row_menu;
pub mod sensitivity;
pub mod surface;

use super::parameters::{self, Rows, Shown};
use super::{curve_parameters, lifted, tracking};
use crate::data::Role;
use crate::parameters::Parameters as _;
use crate::solvers::pathway::{self, Width};
use crate::state::pathways::{PathwayAction, PathwayFile, PathwaySettings, percent_joined};
use crate::state::runtime::TourStep;
use crate::state::track::types::odf::Model;
use crate::state::{Action, Phase, Severity, State};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::streamline_summary::Remark;
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::{anchor, menu, paint, section};
use crate::ui::{Memory, format, icons, panels};
use egui::{Rangef, Rect, Sense, Ui, vec2};
pub use results::show as results;

const MORE: &str = "Metric, local solver";
const WIDTH: &str = "Pathway width ε";
/// Parameters with a row elsewhere; all others are under [`MORE`].
const METRIC: &[&str] = &["alpha"];
const SOLVER: &[&str] = &["min-fa"];
/// Has a row elsewhere where there is a costly region.
const COSTLY: &[&str] = &["costly-factor"];

pub(super) type OnChange<'a> = dyn FnMut(PathwaySettings, Phase) + 'a;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let head = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), section::HEAD));
    tracking::inputs(ui, state, memory, true, actions);
    swap(ui, head, state, actions);
    lifted::model(ui, state, memory, actions);
    section::end(ui);
    controls(ui, state, memory, actions);
    section::end(ui);
}

/// Exchanges the ends: in the head of the inputs, next to their add button.
fn swap(ui: &mut Ui, head: Rect, state: &State, actions: &mut Vec<Action>) {
    let has_role = |role| state.document.regions.iter().any(|r| r.role == role);
    if !(has_role(Role::Seed) && has_role(Role::Target)) {
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
    let default_value = PathwaySettings::defaults();
    let mut set = |settings: PathwaySettings, phase: Phase| {
        actions.push(Action::Pathway(PathwayAction::Set { settings, phase }));
    };
    if curve_parameters::reset(ui, place, *settings == default_value) {
        set(default_value.clone(), Phase::Done);
    }
    let live = joining(state);
    let width_from = ui.cursor().top();
    let max_epsilon = *PathwaySettings::EPSILON.end();
    if let Some((epsilon, phase)) = width_of(ui, WIDTH, settings.epsilon, live, max_epsilon) {
        let settings = settings.clone();
        set(
            PathwaySettings {
                epsilon,
                ..settings
            },
            phase,
        );
    }
    joined(ui, state, &mut set);
    let first = ModelRows {
        metric: Rows::Only(METRIC),
        lifted: Rows::Only(lifted::FIRST),
        ..ModelRows::NONE
    };
    rows(ui, settings, first, &mut set);
    if state.runtime.tour == Some(TourStep::Width) {
        anchor::scroll_to(ui, 0, Rangef::new(width_from, ui.cursor().top()));
    }
    let domain = ModelRows {
        solver: Rows::Only(SOLVER),
        lifted: Rows::Only(lifted::DOMAIN),
        ..ModelRows::NONE
    };
    rows(ui, settings, domain, &mut set);
    if surface::is_shown(state) {
        surface::row(ui, state, &mut set);
    }
    let costly = if surface::has_costly(state) {
        COSTLY
    } else {
        &[]
    };
    let costly_rows = ModelRows {
        solver: Rows::Only(costly),
        lifted: Rows::Only(costly),
        ..ModelRows::NONE
    };
    rows(ui, settings, costly_rows, &mut set);
    // In the first steps of the tour the results get the space.
    if state
        .runtime
        .tour
        .is_none_or(|step| step.is_after_regions())
    {
        panels::in_sight(ui);
    }
    look::cost(ui, settings, &mut set);
    look::on_slices(ui, settings, memory, &mut set);
    look::in_scene(ui, state, memory, &mut set);
    let more = match settings.model {
        Model::Tensors => MORE,
        Model::Distributions => lifted::MORE,
    };
    let (open, clicked) = section::fold(ui, more, memory.is_open(more, false));
    if clicked {
        memory.toggle(more);
    }
    if open {
        let solver = [SOLVER, costly].concat();
        let placed = [lifted::FIRST, lifted::DOMAIN, costly].concat();
        let others = ModelRows {
            metric: Rows::AllBut(METRIC),
            solver: Rows::AllBut(&solver),
            lifted: Rows::AllBut(&placed),
        };
        rows(ui, settings, others, &mut set);
    }
    super::glyphs::show(ui, state, memory, actions);
}

/// ε_h of the live pathway; `None` if that is coarse or stale, because its ε_h does not apply.
fn joining(state: &State) -> Option<f64> {
    let live = state.final_pathway()?;
    Some(live.pathway.joining_epsilon)
}

/// A width in percent, on a logarithmic slider with a tick where the pathway begins to join its ends.
fn width_of(
    ui: &mut Ui,
    name: &str,
    epsilon: f64,
    from: Option<f64>,
    max_epsilon: f64,
) -> Option<(f64, Phase)> {
    let from = from.filter(|from| from.is_finite()).map(percent_joined);
    let percent = |from: f64| format::with_unit(&format::fixed(from, 1), "%");
    let text = from.map_or_else(String::new, |from| format!("joined from {}", percent(from)));
    let mut chosen = None;
    let shown = Shown {
        name: Some(name),
        // The result does not distinguish costs above it.
        limits: Some(0.0..=100.0 * max_epsilon),
        mark: from.map(|from| (from, &*text)),
        ..Shown::default()
    };
    let (width, defaults) = (Width { epsilon }, Width::defaults());
    let set: &mut parameters::OnChange<Width> =
        &mut |width, phase| chosen = Some((width.epsilon, phase));
    parameters::number(ui, &width, &defaults, "epsilon", shown, set);
    chosen
}

/// Whether the width joins the ends, and a remedy where it does not. The row exists before the pathway does, so
/// nothing moves when a pathway arrives or while the width is dragged.
fn joined(ui: &mut Ui, state: &State, set: &mut OnChange) {
    const HEIGHT: f32 = 26.0;
    let settings = &state.document.pathways;
    let percent = |value: f64| format::with_unit(&format::fixed(value, 1), "%");
    let max_percent = *PathwaySettings::EPSILON.end() * 100.0;
    let p = theme::palette(ui.style());
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let live = state.runtime.pathways.live.value();
    let Some(from) = live.and(joining(state)) else {
        return;
    };
    let row = paint::inset(rect, space::INSET, space::INSET);
    let value = percent_joined(from);
    if value > max_percent {
        // A wider pathway cannot bridge so long a detour: another metric, domain or pair of ends is needed.
        let max_percent = format::with_unit(&format::fixed(max_percent, 0), "%");
        let text = format!("Not joined at any width up to {max_percent}");
        section::label(ui, row, &text, false, p.warning);
        let remedy = match settings.model {
            Model::Tensors => "Lower α or the FA of the domain",
            Model::Distributions => "Lower the price of a turn or the amplitude of the domain",
        };
        let meet = match value.is_finite() {
            true => format!("The ends meet from ε = {}. ", percent(value)),
            false => "No width joins the ends: the path passes between voxels that share no face. "
                .to_owned(),
        };
        let way_out = format!("{meet}{remedy}, or enlarge an end");
        response.on_hover_text(way_out);
        return;
    }
    if settings.epsilon >= from {
        let text = format!(
            "Joins seed and target (from ε = {} upwards)",
            percent(value)
        );
        return section::label(ui, row, &text, false, p.t3);
    }
    let widen = format!("Widen to {}", percent(value));
    let button = Button::plain(&widen);
    let place = paint::at_right(row, vec2(button.width(ui), space::FIELD));
    let text = row.with_max_x(place.left() - 6.0);
    section::label(ui, text, "Not joined at this width", false, p.warning);
    if button.show_at(ui, place).clicked() {
        let epsilon = value / 100.0;
        let settings = settings.clone();
        set(
            PathwaySettings {
                epsilon,
                ..settings
            },
            Phase::Done,
        );
    }
}

/// The most severe warning among the results.
pub fn highest_severity(state: &State, memory: &mut Memory) -> Option<Severity> {
    let runtime = &state.runtime.pathways;
    if runtime.live.has_failed() {
        return Some(Severity::Error);
    }
    let out = |r: &Remark| r.outside_at.is_some();
    let has_warning = runtime.live.value().is_none() && tracking::out_of_reach(state, memory, out);
    has_warning.then_some(Severity::Warning)
}

/// Rows to show for either model.
#[derive(Clone, Copy)]
struct ModelRows<'a> {
    /// Costs through tensors.
    metric: Rows<'a>,
    /// Pathways through tensors.
    solver: Rows<'a>,
    /// Pathways through distributions.
    lifted: Rows<'a>,
}

impl ModelRows<'_> {
    const NONE: Self = Self {
        metric: Rows::Only(&[]),
        solver: Rows::Only(&[]),
        lifted: Rows::Only(&[]),
    };
}

/// Rows of the chosen model.
fn rows(ui: &mut Ui, settings: &PathwaySettings, shown: ModelRows, set: &mut OnChange) {
    if settings.model == Model::Distributions {
        return lifted::parameter_rows(ui, settings, shown.lifted, set);
    }
    let (now, defaults) = (settings.params, pathway::Params::defaults());
    parameters::rows(
        ui,
        &now.metric,
        &defaults.metric,
        shown.metric,
        &mut |metric, phase| {
            let params = pathway::Params { metric, ..now };
            set(with(settings, params), phase);
        },
    );
    parameters::rows(ui, &now, &defaults, shown.solver, &mut |params, phase| {
        set(with(settings, params), phase);
    });
}

fn with(settings: &PathwaySettings, params: pathway::Params) -> PathwaySettings {
    PathwaySettings {
        params,
        ..settings.clone()
    }
}

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let why = state.why_not_final();
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
        let above = DialogPosition::Above(place.right_top() - vec2(0.0, 20.0));
        let chosen = menu::popup(&responses[1], 210.0, row_menu::files);
        if let Some(what) = chosen {
            ask_for_path(state, memory, None, what, above);
        }
    }
    let command = super::command_line(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}

/// Asks where to write a file of a pathway; `None`: of the live one.
pub fn ask_for_path(
    state: &State,
    memory: &mut Memory,
    layer: Option<crate::state::LayerId>,
    file: PathwayFile,
    place: DialogPosition,
) {
    let purpose = PathPurpose::Pathway { layer, file };
    let kept = state.document.kept_pathways.iter();
    let name = kept.clone().find(|k| Some(k.id) == layer).map(|k| &*k.name);
    let name = name.unwrap_or("pathway");
    let name = match file {
        // The file may also hold a surface.
        PathwayFile::Mask => name.to_owned(),
        _ => format!("{name} {}", file.suffix()),
    };
    let text = suggestion(state, &name, &purpose);
    memory.files.type_path(purpose, place, &text);
}
