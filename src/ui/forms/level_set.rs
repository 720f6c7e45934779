//! The task Segment: a level set that the user guides.

pub mod leak_notice;
mod near;
mod plot;
mod results;
mod speeds;

use super::curve_parameters;
use super::display::{extent, select_row, short_unit};
use super::parameters::{self, Rows, Shown};
use crate::data::Role;
use crate::parameters::Parameters as _;
use crate::solvers::level_set::{self, TargetParts};
use crate::state::core::notices::Topic;
use crate::state::core::text::counted;
use crate::state::segment::jobs::SEGMENT;
use crate::state::segment::{
    CANNOT_SEGMENT, RangeDoubt, SegmentAction, SegmentFile, SegmentSettings, SizeDoubt, Start,
    SurfaceStanding, scalar,
};
use crate::state::{
    Action, Content, FigureSubject, LayerId, Message, Phase, RunControl, Severity, State, Task,
    Tool, ViewAction,
};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::band::BandHistogram;
use crate::ui::widgets::button::{Button, IconButton, toggled};
use crate::ui::widgets::note::Note;
use crate::ui::widgets::slider::help_over;
use crate::ui::widgets::{anchor, menu, paint, rows, section};
use crate::ui::{Memory, figures, format, icons, panels, part};
use egui::{Color32, Rangef, Rect, Sense, Ui, pos2, vec2};
pub use results::{STARTING, destination, rate};

pub use results::show as results;

/// Colour of bars within the tolerance.
const BAND: Color32 = Color32::from_rgb(0x7A, 0xA2, 0xFF);

fn act(actions: &mut Vec<Action>, action: SegmentAction) {
    actions.push(Action::Segment(action));
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    section::head(ui, "Inputs");
    inputs(ui, state, actions);
    section::end(ui);
    controls(ui, state, memory, actions);
    section::end(ui);
}

/// The initial surfaces that can be chosen.
#[derive(Clone, Copy)]
enum From {
    Spheres,
    Threshold,
    Fill,
    Layer(LayerId),
    Region(crate::data::region::RegionId),
    Pathway(Option<LayerId>),
}

fn inputs(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let image = document.segmented_image();
    let name = image.map_or("none", |(layer, _)| &layer.name);
    let help = "Image whose values drive the surface";
    let chosen = select_row(ui, "Image", help, name, |ui| {
        let mut chosen = None;
        for layer in document.layers.iter().rev().filter(|l| scalar(l).is_some()) {
            let now = image.is_some_and(|(l, _)| l.id == layer.id);
            if menu::Item::new(&layer.name)
                .icon(icons::IMAGE)
                .chosen(now)
                .show(ui)
            {
                chosen = Some(layer.id);
            }
        }
        chosen
    });
    if let Some(layer) = chosen {
        act(actions, SegmentAction::Image(layer));
    }
    start(ui, state, actions);
}

fn start(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let segment = &document.segment;
    let adds = segment.spheres.iter().filter(|(_, s)| s.add).count();
    let cuts = segment.spheres.len() - adds;
    let start = match &segment.start {
        Start::Spheres if adds == 0 => Some("spheres"),
        Start::Spheres => None,
        start => Some(start.name()),
    };
    let number = |n: usize, text: String| (n > 0).then_some(text);
    let parts = [
        number(adds, counted(adds, "sphere")),
        // The short form for keep-out spheres, which leaves space for the others.
        number(cuts, format!("{} keep-out", format::count(cuts as u64))),
        // Last, since a name may be too long for the field.
        start.map(str::to_owned),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let shown = parts.join(", ");
    let help = "Initial surface; spheres add to it at any time, keep-out spheres cut it away and keep it out";
    let chosen = select_row(ui, "Start", help, &shown, |ui| {
        let mut chosen = None;
        let mut item = |ui: &mut Ui, name: &str, from: From| {
            if menu::Item::new(name).show(ui) {
                chosen = Some(from);
            }
        };
        item(ui, "Spheres: A, then click", From::Spheres);
        item(ui, "Threshold: T ± ε", From::Threshold);
        item(ui, "Fill from the crosshair", From::Fill);
        for layer in &document.layers {
            if matches!(layer.content, Content::Mask(_)) {
                item(ui, &format!("Mask {}", layer.name), From::Layer(layer.id));
            }
        }
        for region in &document.regions {
            item(
                ui,
                &format!("Region {}", region.name),
                From::Region(region.id),
            );
        }
        for kept in &document.kept_pathways {
            if kept.result.is_some() {
                item(
                    ui,
                    &format!("Pathway {}", kept.name),
                    From::Pathway(Some(kept.id)),
                );
            }
        }
        if state.final_pathway().is_some() {
            item(ui, "Live pathway", From::Pathway(None));
        }
        chosen
    });
    let params = &segment.settings.params;
    let Some(from) = chosen else { return };
    act(
        actions,
        match from {
            From::Spheres => SegmentAction::Start(Start::Spheres),
            From::Threshold => SegmentAction::Start(Start::Values {
                low: params.target - params.tolerance,
                high: params.target + params.tolerance,
            }),
            From::Fill => SegmentAction::StartFromFill,
            From::Layer(id) => SegmentAction::StartFromLayer(id),
            From::Region(id) => SegmentAction::StartFromRegion(id),
            From::Pathway(chosen) => SegmentAction::StartFromPathway(chosen),
        },
    );
    if matches!(from, From::Spheres) {
        actions.push(Action::View(ViewAction::SetTool(Tool::Sphere {
            add: true,
        })));
    }
}

fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    // First, so that they are visible in small windows, too.
    tools(ui, state, actions);
    if !is_pinned(state) {
        transport(ui, state, actions);
    }
    let settings = &state.document.segment.settings;
    let params = &settings.params;
    let default_value = SegmentSettings {
        params: level_set::Params::defaults_for(params.target, params.tolerance),
        target_chosen: settings.target_chosen,
        shown: settings.shown,
        ..SegmentSettings::defaults()
    };
    let mut set = |settings: SegmentSettings, phase: Phase| {
        act(actions, SegmentAction::Set { settings, phase });
    };
    if curve_parameters::reset(ui, place, *settings == default_value) {
        set(default_value.clone(), Phase::Done);
    }
    let mut change = |target: f32, tolerance: f32, phase: Phase| {
        let mut changed = settings.clone();
        (changed.params.target, changed.params.tolerance) = (target, tolerance);
        changed.target_chosen = true;
        set(changed, phase);
    };
    let mut sliders_from = ui.cursor().top();
    if let Some((layer, volume)) = state.document.segmented_image() {
        let fact = match state.sample_of_target() {
            Some(sample) => format!("{} sampled", format::count(sample.count() as u64)),
            None => String::new(),
        };
        panels::caption(ui, "Grows where T − ε < value < T + ε", &fact);
        let frame = crate::state::segment::frame_of(layer, volume);
        let (darkest, brightest) = extent(memory, volume, frame);
        let scale = layer.unit_scale;
        let (low, high) = volume.percentiles(frame, 0.01, 0.998);
        let range = (
            low.min(params.target),
            high.max(params.target).max(low + f32::MIN_POSITIVE),
        );
        let histogram = BandHistogram {
            name: "Target and range",
            values: memory.caches.values.get(volume, frame, range),
            target: params.target,
            tolerance: params.tolerance,
            scale,
            colour: BAND,
        };
        if let Some(((target, tolerance), phase)) = histogram.show(ui) {
            change(target, tolerance, phase);
        }
        sliders_from = ui.cursor().top();
        let scaled = |v: f32| f64::from(v * scale);
        let span = scaled(high) - scaled(low);
        let probe = state.segment_sample().and_then(|sample| sample.probe());
        let defaults = probe.map_or_else(TargetParts::defaults, |probe| TargetParts {
            target: probe.target,
            tolerance: probe.tolerance,
        });
        let shown = Shown {
            decimals: Some(decimals(span)),
            unit: Some((short_unit(layer), f64::from(scale))),
            no_default: probe.is_none().then_some("from a sample"),
            ..Shown::default()
        };
        for (key, range, limits) in [
            (
                "target",
                scaled(low)..=scaled(high),
                scaled(darkest)..=scaled(brightest),
            ),
            (
                "tolerance",
                span * 1e-3..=span * 0.5,
                span * 1e-6..=10.0 * span,
            ),
        ] {
            let shown = Shown {
                range: Some(range),
                limits: Some(limits),
                ..shown.clone()
            };
            let parts = TargetParts::from(params);
            parameters::number(ui, &parts, &defaults, key, shown, &mut |parts, phase| {
                change(parts.target, parts.tolerance, phase);
            });
        }
    }
    let defaults = level_set::Params::defaults_for(params.target, params.tolerance);
    let rows = Rows::Only(&["smoothness"]);
    parameters::rows(ui, params, &defaults, rows, &mut |params, phase| {
        let settings = settings.clone();
        set(SegmentSettings { params, ..settings }, phase);
    });
    panels::in_sight(ui);
    let warned = |m: &Message| m.slot == Some(SEGMENT) || m.topic == Some(Topic::SurfaceEnded);
    let warned = state.runtime.notices.messages.iter().any(warned);
    let leaked = leak_notice::leaked(state).map(|leaked| leaked.leak.noticed);
    // The leak notice points to these rows, and so does the message that the surface has vanished.
    if let Some(number) = leaked.or(warned.then_some(u64::MAX)) {
        anchor::scroll_to(ui, number, Rangef::new(sliders_from, ui.cursor().top()));
    }
    if let Some(why) = &state.runtime.segment.failed {
        let p = theme::palette(ui.style());
        Note::new(p, Severity::Error, why).show(ui);
    }
    speeds::show(ui, state, memory, actions);
}

/// Enough decimals for a thousand steps of a range.
fn decimals(span: f64) -> i32 {
    (3.0 - span.max(1e-12).log10().floor()).clamp(0.0, 6.0) as i32
}

/// Whether the row of *Run* stands at the top of the panel: the rows for drawing regions would push it out of sight.
fn is_pinned(state: &State) -> bool {
    let tool = state.view.tool;
    let has_rows = matches!(tool, Tool::Threshold | Tool::Change | Tool::Labels);
    state.view.task == Task::Segment && (tool.draws() || has_rows)
}

/// The row of *Run* above all others while regions are made; returns the rest of the panel.
pub fn pinned(ui: &mut Ui, body: Rect, state: &State, actions: &mut Vec<Action>) -> Rect {
    const HEIGHT: f32 = space::BUTTON + 12.0;
    if !is_pinned(state) {
        return body;
    }
    let place = body.with_max_y((body.top() + HEIGHT).min(body.bottom()));
    part(ui, "run", place, |ui| {
        transport(ui, state, actions);
        let line = theme::palette(ui.style()).line;
        paint::underline(ui.painter(), place, line);
    });
    body.with_min_y(place.bottom())
}

fn transport(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    ui.add_space(4.0);
    let (rect, _) =
        ui.allocate_exact_size(vec2(ui.available_width(), space::BUTTON), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let runtime = &state.runtime.segment;
    let running = state.segment_standing() == Some(SurfaceStanding::Running);
    let why = state.cannot_segment();
    let button = match running {
        true => Button::primary("Pause").icon(icons::PAUSE).hint("Space"),
        false => Button::primary("Run")
            .icon(icons::PLAY)
            .disabled(why)
            .hint("Space"),
    };
    let place = Rect::from_min_size(row.min, vec2(button.width(ui).max(84.0), space::BUTTON));
    if button.show_at(ui, place).clicked() {
        act(
            actions,
            match running {
                true => SegmentAction::Pause,
                false => SegmentAction::Play,
            },
        );
    }
    let step = runtime.live.as_ref().map_or(0, |live| live.step);
    let earlier = runtime.earlier();
    let back = format!(
        "Back to step {}: before the last change",
        format::count(earlier)
    );
    let first = (step == 0).then_some("The surface is at step 0");
    let none = runtime.live.is_none() && state.document.segment.spheres.is_empty();
    let buttons = [
        (icons::STEP, "Advance ten steps", why, SegmentAction::Step),
        (icons::REWIND, &*back, first, SegmentAction::Rewind(earlier)),
        (
            icons::RESET,
            "Back to step 0",
            first,
            SegmentAction::Rewind(0),
        ),
        (
            icons::TRASH,
            "Delete the spheres and the surface",
            none.then_some("There are no spheres and there is no surface"),
            SegmentAction::Clear,
        ),
    ];
    let mut x = place.right() + 6.0;
    for (icon, name, off, action) in buttons {
        let place = Rect::from_min_size(pos2(x, row.top()), vec2(space::BUTTON, space::BUTTON));
        x = place.right() + 4.0;
        if IconButton::new(icon, name)
            .disabled(off)
            .show_at(ui, place)
            .clicked()
        {
            act(actions, action);
        }
    }
    let p = theme::palette(ui.style());
    let text = match state.segment_standing() {
        _ if runtime.live.is_none() => String::new(),
        _ => format!("step {}", format::count(step)),
    };
    paint::right(ui.painter(), row, &text, theme::regular(size::LABEL), p.t3);
    ui.add_space(6.0);
}

/// The action of a click on a slice.
fn tools(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let (rect, _) =
        ui.allocate_exact_size(vec2(ui.available_width(), space::BUTTON), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let tools = [
        Tool::Sample,
        Tool::Sphere { add: true },
        Tool::Sphere { add: false },
    ];
    let text = ["Sample  P", "Add sphere  A", "Keep out  D"];
    let now = tools.iter().position(|t| *t == state.view.tool);
    let clicked = toggled(ui, row, "Tool", &text, now);
    let help = "What a click on a slice does; a second click on the tool puts it away";
    help_over(ui, row, "Tool", help);
    if let Some(i) = clicked {
        let off = now == Some(i);
        actions.push(Action::View(ViewAction::SetTool(if off {
            Tool::Crosshair
        } else {
            tools[i]
        })));
    }
    let active = match state.view.tool {
        Tool::Sample => SAMPLES,
        Tool::Sphere { add: true } => ADDS,
        Tool::Sphere { add: false } => CUTS,
        _ => NO_TOOL,
    };
    let spheres = matches!(state.view.tool, Tool::Sphere { .. });
    let needs = state.cannot_segment().filter(|_| !spheres);
    ui.add_space(4.0);
    let doubt = state.range_doubt().map(|doubt| match doubt {
        RangeDoubt::Mixed => MIXED,
        RangeDoubt::TakesIn(_) => TAKES_IN,
        RangeDoubt::Background => AIR,
    });
    let all = HINTS.into_iter().chain(CANNOT_SEGMENT).chain([
        MIXED,
        TAKES_IN,
        AIR,
        TOO_LARGE,
        FAR_TOO_LARGE,
    ]);
    let large = state.surface_size_doubt();
    if large == Some(SizeDoubt::FarLarger) {
        return rows::warning_with_room(ui, FAR_TOO_LARGE, all);
    }
    let text = doubt.or(large.map(|_| TOO_LARGE)).or(needs);
    rows::hint_with_room(ui, text.unwrap_or(active), all);
}

const MIXED: &str = "Several tissues sampled: sample a smaller part";

const TAKES_IN: &str = "ε includes tissue around the sample: narrow it";
const AIR: &str = "The range reaches the background: narrow ε";
const TOO_LARGE: &str = "Too large? Narrow ε or add a keep-out sphere";
const FAR_TOO_LARGE: &str = "Far larger: narrow ε or add a keep-out sphere";
const SAMPLES: &str = "Drag to sample, Shift to add, P or Esc to end";
const ADDS: &str = "Each click adds a sphere, until A or Esc";
const CUTS: &str = "Each click adds a keep-out sphere, until D or Esc";
const NO_TOOL: &str = "A tool stays selected until its key or Esc";
/// All hints about the current tool.
const HINTS: [&str; 4] = [SAMPLES, ADDS, CUTS, NO_TOOL];

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let none = state.runtime.segment.live.is_none();
    let none = none.then_some("There is no surface yet: press A, then click inside the structure");
    let moves = state.resting_surface().is_none();
    let files = state.segment_files();
    let why = none.or(moves.then_some("The surface is moving: pause it first"));
    let why = why.filter(|_| files.is_empty());
    let buttons = vec![
        Button::primary("Keep as mask")
            .icon(icons::PLUS)
            .disabled(none)
            .hint("Keeps the surface as a layer and clears its spheres; you can then start the next structure"),
        Button::plain("Export…")
            .icon(icons::EXPORT)
            .disabled(why)
            .hint("Ctrl+E: the label map"),
    ];
    let (responses, end) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        act(actions, SegmentAction::Keep);
    }
    if why.is_none() {
        let above = DialogPosition::Above(place.right_top() - vec2(0.0, 20.0));
        let chosen = menu::popup(&responses[1], 190.0, |ui| {
            menu::choice(ui, files, |what| what.name())
        });
        if let Some(what) = chosen {
            ask_for_path(state, memory, what, above);
        }
    }
    let command = super::command_line(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}

/// Asks where to write a file of the surface.
pub fn ask_for_path(state: &State, memory: &mut Memory, what: SegmentFile, place: DialogPosition) {
    let purpose = PathPurpose::Segment(what);
    let text = suggestion(state, what.suffix(), &purpose);
    memory.files.type_path(purpose, place, &text);
}

/// Roles that a region of the surface can have.
const ROLES: [(Role, &str); 7] = [
    (Role::Mask, "Mask: paths stay inside"),
    (Role::Exclude, "Exclude: paths stay out"),
    (Role::Costly, "Costly: paths cost more inside"),
    (Role::Terminate, "Terminate: paths end there"),
    (Role::Include, "Include: paths pass through it"),
    (Role::Seed, "Seed: paths begin there"),
    (Role::Target, "Target: paths reach it"),
];

fn as_region(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let help = "Makes a region of the voxels inside, for streamlines, rays and pathways, or measures an image there";
    let shown = match state.resting_surface() {
        Some(_) => "region…",
        None => "once it is at rest",
    };
    let chosen = select_row(ui, "Use as", help, shown, |ui| {
        let mut chosen = None;
        for (role, label) in ROLES {
            if menu::Item::new(label).show(ui) {
                chosen = Some(role);
            }
        }
        menu::line(ui);
        figures::item(ui, FigureSubject::Surface, actions);
        chosen
    });
    if let Some(role) = chosen {
        act(actions, SegmentAction::Region(role));
    }
}

/// Whether the surface is requested to move.
pub fn plays(state: &State) -> bool {
    state.runtime.segment.play != RunControl::Rest
        && state.segment_standing() == Some(SurfaceStanding::Running)
}
