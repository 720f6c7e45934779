//! The task Track: streamlines of the regions, live.

mod results;

use super::display::{segment_row, select_row};
use super::recipe;
use crate::data::Role;
use crate::solvers::tensor_fit::Method;
use crate::solvers::tracking::{Integrator, Interpolation, Params, Seeding};
use crate::state::recipe::Source;
use crate::state::{Action, Phase, Recipe, Severity, Slot, State, Tool, defaults};
use crate::ui::files::{Place, Purpose};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, IconButton, checkbox};
use crate::ui::widgets::note::{Answer, Note};
use crate::ui::widgets::slider::{Change, Columns, RangeRow, Scale, SliderRow, label};
use crate::ui::widgets::{field, menu, paint, region, rows, section};
use crate::ui::{Memory, format, icons, panels, regions, tracks};
use egui::{Rect, Sense, Ui, pos2, vec2};

const MORE: &str = "Integrator, seeding, random seed";

pub fn show(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    narrow: bool,
    actions: &mut Vec<Action>,
) {
    inputs(ui, state, memory, actions);
    section::end(ui);
    parameters(ui, state, memory, actions);
    section::end(ui);
    results::show(ui, state, memory, narrow, actions);
    section::end(ui);
}

fn inputs(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Inputs");
    let add = IconButton::new(icons::PLUS, "Add an input region")
        .side(24.0)
        .show_right(ui, place);
    regions::add_menu(&add, state, memory, actions);
    // Seeds first, then where they lead.
    let mut regions: Vec<_> = state.document.regions.iter().collect();
    regions.sort_by_key(|r| Role::ALL.iter().position(|&role| role == r.role));
    for pair in regions.chunks(2) {
        let (rect, _) =
            ui.allocate_exact_size(vec2(ui.available_width(), space::ROW + 4.0), Sense::hover());
        let row = paint::inset(rect, space::INSET, space::INSET);
        let half = (row.width() - 4.0) * 0.5;
        for (i, chip) in pair.iter().enumerate() {
            let left = row.left() + (half + 4.0) * i as f32;
            let place = Rect::from_min_size(pos2(left, row.top()), vec2(half, space::ROW));
            let selected = state.session.selected_region == Some(chip.id);
            if region::chip(ui, place, chip, selected).clicked() {
                actions.push(Action::SelectRegion(Some(chip.id)));
            }
        }
    }
    match &state.document.tensors {
        Some(tensors) => {
            let method = match tensors.key.params.method {
                Method::Ols => "OLS",
                Method::Wls => "WLS",
                Method::Iwls { .. } => "IWLS",
            };
            let name = format!("{}, {method}", scan_name(&tensors.recipe));
            let spacing = format::spacing(tensors.field.grid.spacing());
            rows::input(ui, icons::IMAGE, "Field", &name, &spacing);
        }
        None => no_field(ui, state, memory),
    }
    if let Some(tensors) = &state.document.tensors {
        let p = theme::palette(ui.style());
        for text in tracks::remarks(&state.document.regions, &tensors.mask) {
            Note::new(p, Severity::Warning, &text).show(ui);
        }
    }
    if state.document.tensors.is_some() && !regions.iter().any(|r| r.role == Role::Seed) {
        seed_wanted(ui, state, actions);
    }
}

/// The scan that a fit was made from: its file's name without the ending.
fn scan_name(recipe: &Recipe) -> String {
    match recipe {
        Recipe::Fit { fit, .. } => match &fit.source {
            Source::File { dwi, .. } => {
                let name = dwi.file_name().unwrap_or_default().to_string_lossy();
                name.split(".nii").next().unwrap_or_default().to_owned()
            }
            Source::Phantom { .. } => "Demo head".to_owned(),
        },
        _ => "Tensor".to_owned(),
    }
}

fn no_field(ui: &mut Ui, state: &State, memory: &mut Memory) {
    let p = theme::palette(ui.style());
    if state
        .session
        .jobs
        .iter()
        .any(|j| matches!(j.slot, Slot::Fit | Slot::Load))
    {
        rows::input(ui, icons::IMAGE, "Field", "Tensor", "being fitted");
        return;
    }
    let text = "Tracking needs tensors: open a diffusion scan with its gradients";
    let note = Note::new(p, Severity::Warning, text).action("Open…");
    if note.show(ui) == Some(Answer::Taken) {
        memory.files.ask(ui.ctx(), Purpose::Open, Place::Middle, "");
    }
}

fn seed_wanted(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let tool = Tool::Place {
        role: Role::Seed,
        cube: false,
    };
    if state.view.tool == tool {
        let text = "Click white matter on a slice. Esc puts the seed away";
        Note::new(p, Severity::Information, text).show(ui);
        return;
    }
    let text = "No seed yet. Press S, then click a slice to place one";
    let note = Note::new(p, Severity::Information, text).action("Take the seed tool");
    if note.show(ui) == Some(Answer::Taken) {
        actions.push(Action::SetTool(tool));
    }
}

fn parameters(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let usual = defaults::track();
    let params = &state.document.track;
    let mut set = |params: Params, phase: Phase| actions.push(Action::SetTrack { params, phase });
    let reset = IconButton::new(icons::RESET, "Reset to defaults")
        .side(24.0)
        .disabled(*params == usual);
    if reset.show_right(ui, place).clicked() {
        set(usual.clone(), Phase::Done);
    }
    seeds(ui, params, &mut set);
    let row = SliderRow::new("Step", params.step_mm, 0.1..=2.0)
        .default(usual.step_mm)
        .limits(0.01..=20.0)
        .unit("mm")
        .help("Distance between points");
    if let Some((step_mm, phase)) = row.value(ui) {
        set(
            Params {
                step_mm,
                ..params.clone()
            },
            phase,
        );
    }
    let angle = params
        .max_angle_rad
        .or(usual.max_angle_rad)
        .unwrap_or(0.8)
        .to_degrees();
    let row = SliderRow::new("Maximum angle", (angle * 1e6).round() / 1e6, 10.0..=90.0)
        .decimals(0)
        .default(45.0)
        .limits(1.0..=180.0)
        .unit("°")
        .switch(params.max_angle_rad.is_some(), "off: any turn is allowed")
        .help("Stops a path that turns more in one step");
    match row.show(ui) {
        Some(Change::To(v, phase)) => {
            let max_angle_rad = Some(v.to_radians());
            set(
                Params {
                    max_angle_rad,
                    ..params.clone()
                },
                phase,
            );
        }
        Some(Change::Switched(on)) => {
            let max_angle_rad = usual.max_angle_rad.filter(|_| on);
            set(
                Params {
                    max_angle_rad,
                    ..params.clone()
                },
                Phase::Done,
            );
        }
        None => {}
    }
    let fa = params.min_fa.or(usual.min_fa).unwrap_or(0.15);
    let row = SliderRow::new("Stop below FA", fa, 0.0..=0.5)
        .default(0.15)
        .limits(0.0..=1.0)
        .switch(params.min_fa.is_some(), "off: paths cross low FA")
        .help("Stops a path where the tensor has little direction");
    match row.show(ui) {
        Some(Change::To(v, phase)) => set(
            Params {
                min_fa: Some(v),
                ..params.clone()
            },
            phase,
        ),
        Some(Change::Switched(on)) => {
            let min_fa = usual.min_fa.filter(|_| on);
            set(
                Params {
                    min_fa,
                    ..params.clone()
                },
                Phase::Done,
            );
        }
        None => {}
    }
    let row = RangeRow {
        name: "Length",
        values: (params.min_length_mm, params.max_length_mm.unwrap_or(500.0)),
        scale: Scale {
            range: 0.0..=500.0,
            logarithmic: false,
            decimals: 0,
        },
        default: &|| (usual.min_length_mm, usual.max_length_mm.unwrap_or(300.0)),
        unit: "mm",
        help: "Shorter paths are dropped and counted, longer ones stop",
        limits: 0.0..=10_000.0,
        waits: false,
    };
    if let Some(((low, high), phase)) = row.show(ui) {
        let max_length_mm = Some(high);
        set(
            Params {
                min_length_mm: low,
                max_length_mm,
                ..params.clone()
            },
            phase,
        );
    }
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        second_rank(ui, state, params, &mut set);
    }
    whole_brain(ui, state, actions);
}

fn seeds(ui: &mut Ui, params: &Params, set: &mut impl FnMut(Params, Phase)) {
    let (change, make): (_, fn(f64) -> Seeding) = match params.seeding {
        Seeding::Random { count } => {
            let row = SliderRow::new("Streamlines", count as f64, 100.0..=1e6)
                .logarithmic()
                .decimals(0)
                .default(2_000.0)
                .limits(1.0..=16_777_216.0)
                .help("Seed points drawn from the whole seed");
            (row.value(ui), |v| Seeding::Random { count: v as usize })
        }
        Seeding::Grid { spacing_mm } => {
            let row = SliderRow::new("Seed spacing", spacing_mm, 0.1..=5.0)
                .default(1.0)
                .limits(0.02..=50.0)
                .unit("mm")
                .help("Distance between seed points");
            (row.value(ui), |spacing_mm| Seeding::Grid { spacing_mm })
        }
        Seeding::PerVoxel { count } => {
            let row = SliderRow::new("Seeds per voxel", count as f64, 1.0..=64.0)
                .decimals(0)
                .default(4.0)
                .limits(1.0..=10_000.0)
                .help("Random points in each voxel of the seed");
            (row.value(ui), |v| Seeding::PerVoxel { count: v as usize })
        }
    };
    if let Some((value, phase)) = change {
        set(
            Params {
                seeding: make(value),
                ..params.clone()
            },
            phase,
        );
    }
}

fn second_rank(ui: &mut Ui, state: &State, params: &Params, set: &mut impl FnMut(Params, Phase)) {
    let all = [Integrator::Euler, Integrator::Rk2, Integrator::Rk4];
    let now = all
        .iter()
        .position(|&i| i == params.integrator)
        .unwrap_or(2);
    let help = "Higher orders follow bends more closely at the same step";
    if let Some(i) = segment_row(ui, "Integrator", help, &["Euler", "RK2", "RK4"], now) {
        set(
            Params {
                integrator: all[i],
                ..params.clone()
            },
            Phase::Done,
        );
    }
    let all = [Interpolation::Trilinear, Interpolation::CubicBSpline];
    let now = all
        .iter()
        .position(|&i| i == params.interpolation)
        .unwrap_or(0);
    let help = "How tensors are interpolated between voxels";
    if let Some(i) = segment_row(ui, "Interpolation", help, &["Trilinear", "Cubic"], now) {
        set(
            Params {
                interpolation: all[i],
                ..params.clone()
            },
            Phase::Done,
        );
    }
    let kinds = [
        (Seeding::Random { count: 2_000 }, "At random"),
        (Seeding::Grid { spacing_mm: 1.0 }, "On a grid"),
        (Seeding::PerVoxel { count: 4 }, "Per voxel"),
    ];
    let index = |s: &Seeding| match s {
        Seeding::Random { .. } => 0,
        Seeding::Grid { .. } => 1,
        Seeding::PerVoxel { .. } => 2,
    };
    let now = index(&params.seeding);
    let chosen = select_row(
        ui,
        "Seed points",
        "How they are spread over the seed",
        kinds[now].1,
        |ui| {
            let mut chosen = None;
            for (i, (kind, name)) in kinds.iter().enumerate() {
                if menu::Item::new(name).chosen(i == now).show(ui) {
                    chosen = Some(*kind);
                }
            }
            chosen
        },
    );
    if let Some(seeding) = chosen.filter(|s| index(s) != now) {
        set(
            Params {
                seeding,
                ..params.clone()
            },
            Phase::Done,
        );
    }
    let columns = Columns::allocate(ui);
    label(
        ui,
        columns.label,
        "Random seed",
        "Same seed, same streamlines",
    );
    let shown = params.random_seed.to_string();
    if let Some(typed) = field::value(ui, columns.field, "Random seed", &shown, "")
        && let Ok(random_seed) = typed.trim().parse()
    {
        set(
            Params {
                random_seed,
                ..params.clone()
            },
            Phase::Done,
        );
    }
    let columns = Columns::allocate(ui);
    let masks = state
        .document
        .regions
        .iter()
        .filter(|r| r.role == Role::Mask);
    let masks: Vec<&str> = masks.map(|r| r.name.as_str()).collect();
    let within = if masks.is_empty() {
        "fitted voxels".to_owned()
    } else {
        masks.join(", ")
    };
    label(
        ui,
        columns.label,
        "Mask",
        "Paths stay inside. Give a region the role Mask to change it",
    );
    let p = theme::palette(ui.style());
    paint::right(
        ui.painter(),
        columns.wide,
        &within,
        theme::regular(size::LABEL),
        p.t1,
    );
    let columns = Columns::allocate(ui);
    if let Some(both_ways) = checkbox(
        ui,
        columns.label.union(columns.wide),
        "Both ways from the seed",
        params.both_ways,
    ) {
        set(
            Params {
                both_ways,
                ..params.clone()
            },
            Phase::Done,
        );
    }
}

fn whole_brain(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let running = state.session.jobs.iter().any(|j| j.slot == Slot::Track);
    let why = match (&state.document.tensors, running) {
        (None, _) => Some("Tracking needs tensors first"),
        (_, true) => Some("The whole brain is being tracked"),
        _ => None,
    };
    let button = Button::plain("Track whole brain")
        .icon(icons::BRAIN)
        .disabled(why)
        .hint("Seeds everywhere in the mask; the result is a layer");
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 8.0),
        Sense::hover(),
    );
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        pos2(row.left(), row.top() + 8.0),
        vec2(button.width(ui), space::BUTTON),
    );
    if button.show_at(ui, place).clicked() {
        actions.push(Action::TrackWholeBrain);
    }
}

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let live = state.session.live.as_ref();
    let why = match live {
        None => Some("There are no streamlines yet: place a seed first"),
        Some(live) if live.coarse => Some("Waits for the full result"),
        Some(live) if live.output.kept.is_empty() => Some("No streamline was kept"),
        Some(_) => None,
    };
    let chosen = super::selected_tracks(state).is_some();
    let buttons = vec![
        Button::primary("Keep as layer")
            .icon(icons::PLUS)
            .disabled(why),
        Button::plain("Export…")
            .icon(icons::EXPORT)
            .disabled(why.filter(|_| !chosen))
            .hint("Ctrl+E"),
    ];
    let (responses, end) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::KeepTracks);
    }
    if responses[1].clicked() {
        let above = Place::Above(place.right_top() - vec2(0.0, 20.0));
        super::export(state, memory, above);
    }
    let command = recipe(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}
