//! Controls of geodesic rays in the task Track: those in tensors, and what both models share.

mod directions;
mod kinds;
pub mod lobes;
pub mod measures;
pub mod through;

use super::curve_parameters;
use super::parameters::{self, Rows};
use crate::parameters::Parameters as _;
use crate::solvers::curves::{self, Interpolation};
use crate::solvers::geodesic::{Form, Params, Precision, SharpeningParts};
use crate::state::track::types::odf::{Model, OdfRays};
use crate::state::{Action, Phase, Rays, Severity, State, TrackAction};
use crate::ui::widgets::note::Note;
use crate::ui::widgets::section;
use crate::ui::{Memory, panels, theme};
use egui::Ui;
use kinds::KindSettings;
pub use kinds::RayKinds;

const MORE: &str = "Directions, integrator, precision";
/// Parameters with a row elsewhere; the cut's is with the results, and no row sets which points are kept.
const PLACED: &[&str] = &[
    "directions",
    "through",
    "sharpen",
    "precision",
    "keep-every",
    "both-ways",
    "no-loop-guard",
    "form",
    "cut",
];

type OnChange<'a> = super::parameters::OnChange<'a, Rays>;

pub fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let rays = &state.document.track.rays;
    // The cut is not among the controls; it is with the results.
    let defaults = Rays {
        cut: rays.cut,
        ..state.runtime.settings.rays()
    };
    let mut set = |rays: Rays, phase: Phase| {
        actions.push(Action::Track(TrackAction::SetRays { rays, phase }))
    };
    if curve_parameters::reset(ui, place, *rays == defaults) {
        set(defaults.clone(), Phase::Done);
    }
    memory.forms.kinds.in_tensors.remember(rays);
    directions::number(
        ui,
        rays,
        &defaults,
        &mut memory.forms.kinds.in_tensors,
        &mut set,
    );
    let fan = &memory.forms.kinds.in_tensors.directions;
    directions::opening_angle(ui, rays, &defaults, fan, &mut set);
    strength(
        ui,
        rays,
        &memory.forms.kinds.in_tensors.sharpening,
        &mut set,
    );
    curve_parameters::step(
        ui,
        &rays.params.curves,
        &defaults.params.curves,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    panels::in_sight(ui);
    curve_parameters::length(
        ui,
        &rays.params.curves,
        &defaults.params.curves,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    let off = "off: rays cross low FA";
    curve_parameters::rules(
        ui,
        state,
        &rays.params.curves,
        &defaults.params.curves,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    curve_parameters::fa(
        ui,
        &rays.params.curves,
        &defaults.params.curves,
        off,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        second_rank(
            ui,
            state,
            &defaults,
            &mut memory.forms.kinds.in_tensors,
            &mut set,
        );
        through::show(ui, state, rays, &defaults, &mut set);
    }
}

/// Changes the rays of the chosen model.
pub fn change(state: &State, rays: Rays, phase: Phase) -> Action {
    let track = &state.document.track;
    Action::Track(match track.model {
        Model::Tensors => TrackAction::SetRays { rays, phase },
        Model::Distributions => {
            let speed = track.odf.rays.speed;
            let rays = OdfRays { speed, rays };
            TrackAction::SetOdfRays { rays, phase }
        }
    })
}

fn with(rays: &Rays, params: Params) -> Rays {
    Rays {
        params,
        ..rays.clone()
    }
}

fn with_curves(rays: &Rays, curve_params: curves::Params) -> Rays {
    let params = Params {
        curves: curve_params,
        ..rays.params.clone()
    };
    with(rays, params)
}

fn with_sharpening(rays: &Rays, parts: SharpeningParts) -> Rays {
    let mut changed = rays.clone();
    changed.metric.sharpening = parts.into();
    changed
}

/// How much the tensors are sharpened.
fn strength(ui: &mut Ui, rays: &Rays, parts: &SharpeningParts, set: &mut OnChange) {
    let key = if parts.low_fa_only { "power" } else { "alpha" };
    let defaults = SharpeningParts::defaults();
    parameters::rows(
        ui,
        parts,
        &defaults,
        Rows::Only(&[key]),
        &mut |parts, phase| {
            set(with_sharpening(rays, parts), phase);
        },
    );
}

/// The choice of the tensors that are sharpened.
fn sharpening(ui: &mut Ui, rays: &Rays, parts: &SharpeningParts, set: &mut OnChange) {
    let defaults = SharpeningParts::defaults();
    let shown = Rows::AllBut(&["alpha", "power"]);
    parameters::rows(ui, parts, &defaults, shown, &mut |parts, phase| {
        set(with_sharpening(rays, parts), phase);
    });
}

fn second_rank(
    ui: &mut Ui,
    state: &State,
    defaults: &Rays,
    kinds: &mut KindSettings,
    set: &mut OnChange,
) {
    let rays = &state.document.track.rays;
    directions::kind(ui, rays, defaults, kinds, set);
    curve_parameters::angle(
        ui,
        &rays.params.curves,
        &defaults.params.curves,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    let christoffel = rays.params.form == Form::Christoffel;
    let fixed = "Christoffel symbols use their own midpoint rule";
    let fixed = christoffel.then_some(fixed);
    let walk_defaults = &defaults.params.curves;
    curve_parameters::integrator(
        ui,
        &rays.params.curves,
        walk_defaults,
        fixed,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    let linear = "Christoffel symbols need trilinear interpolation: choose Hamiltonian below first";
    let linear = christoffel.then_some(linear);
    curve_parameters::interpolation(
        ui,
        &rays.params.curves,
        walk_defaults,
        linear,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    let cubic = rays.params.curves.interpolation == Interpolation::CubicBSpline;
    let why = |i: usize| {
        (i == 1 && cubic)
            .then_some("Christoffel symbols need trilinear interpolation: choose that above first")
    };
    parameters::choice(ui, rays, defaults, "form", why, set);
    sharpening(ui, rays, &kinds.sharpening, set);
    parameters::rows(ui, rays, defaults, Rows::Only(&["precision"]), set);
    if rays.metric.is_too_coarse() {
        let text = "Half precision is too coarse for tensors sharpened this much";
        let note = Note::new(theme::palette(ui.style()), Severity::Warning, text).action("Single");
        if note.show(ui).is_some() {
            let mut changed = rays.clone();
            changed.metric.precision = Precision::Single;
            set(changed, Phase::Done);
        }
    }
    curve_parameters::rest(
        ui,
        state,
        &rays.params.curves,
        walk_defaults,
        &mut |curves, p| set(with_curves(rays, curves), p),
    );
    parameters::rows(ui, rays, defaults, Rows::Only(&["no-loop-guard"]), set);
    parameters::rows(ui, rays, defaults, Rows::AllBut(PLACED), set);
}
