//! Controls of rays along the lobes of fibre orientation distributions.

use super::{directions, with_curves};
use crate::solvers::geodesic::OdfSpeed;
use crate::state::track::types::odf::OdfRays;
use crate::state::{Action, Phase, Rays, State, TrackAction};
use crate::ui::forms::parameters::{self, Rows};
use crate::ui::forms::{curve_parameters, odf_tracking};
use crate::ui::widgets::{rows, section};
use crate::ui::{Memory, format, panels};
use egui::Ui;

const MORE: &str = "Directions, integrator, speed off fibres";
/// The first row of the speed; all others are under [`MORE`].
const FIRST: &[&str] = &["speed-exponent"];

pub fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let OdfRays { speed, rays } = &state.document.track.odf.rays;
    let preferred = state.runtime.settings.odf_rays();
    // The cut is not among the controls; it is with the results.
    let defaults = Rays {
        cut: rays.cut,
        ..preferred.rays
    };
    let unchanged = *rays == defaults && *speed == preferred.speed;
    if curve_parameters::reset(ui, place, unchanged) {
        let (speed, rays) = (preferred.speed, defaults.clone());
        actions.push(changed(OdfRays { speed, rays }, Phase::Done));
    }
    odf_tracking::cpu_hint(ui, state);
    let kinds = &mut memory.forms.kinds.along_lobes;
    kinds.remember(rays);
    let set = &mut |rays: Rays, phase: Phase| {
        let speed = *speed;
        actions.push(changed(OdfRays { speed, rays }, phase));
    };
    directions::number(ui, rays, &defaults, kinds, set);
    directions::opening_angle(ui, rays, &defaults, &kinds.directions, set);
    speed_rows(ui, state, Rows::Only(FIRST), actions);
    let (walk, walk_defaults) = (&rays.params.curves, &defaults.params.curves);
    let set_walk = &mut |walk, phase| {
        let (speed, rays) = (*speed, with_curves(rays, walk));
        actions.push(changed(OdfRays { speed, rays }, phase));
    };
    curve_parameters::step(ui, walk, walk_defaults, set_walk);
    panels::in_sight(ui);
    curve_parameters::length(ui, walk, walk_defaults, set_walk);
    curve_parameters::rules(ui, state, walk, walk_defaults, set_walk);
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        second_rank(ui, state, &defaults, memory, actions);
    }
}

fn changed(rays: OdfRays, phase: Phase) -> Action {
    Action::Track(TrackAction::SetOdfRays { rays, phase })
}

fn speed_rows(ui: &mut Ui, state: &State, shown: Rows, actions: &mut Vec<Action>) {
    let OdfRays { speed, rays } = &state.document.track.odf.rays;
    let defaults = OdfRays::default().speed;
    parameters::rows(ui, speed, &defaults, shown, &mut |speed, phase| {
        let rays = rays.clone();
        actions.push(changed(OdfRays { speed, rays }, phase));
    });
}

fn second_rank(
    ui: &mut Ui,
    state: &State,
    defaults: &Rays,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let OdfRays { speed, rays } = &state.document.track.odf.rays;
    let set = &mut |rays: Rays, phase: Phase| {
        let speed = *speed;
        actions.push(changed(OdfRays { speed, rays }, phase));
    };
    let kinds = &mut memory.forms.kinds.along_lobes;
    directions::kind(ui, rays, defaults, kinds, set);
    speed_rows(ui, state, Rows::AllBut(FIRST), actions);
    reference(ui, state, speed);
    let (walk, walk_defaults) = (&rays.params.curves, &defaults.params.curves);
    let set_walk = &mut |walk, phase| {
        let (speed, rays) = (*speed, with_curves(rays, walk));
        actions.push(changed(OdfRays { speed, rays }, phase));
    };
    curve_parameters::angle(ui, walk, walk_defaults, set_walk);
    curve_parameters::integrator(ui, walk, walk_defaults, None, set_walk);
    curve_parameters::rest(ui, state, walk, walk_defaults, set_walk);
    let guard = Rows::Only(&["no-loop-guard"]);
    parameters::rows(ui, rays, defaults, guard, &mut |rays, phase| {
        let speed = *speed;
        actions.push(changed(OdfRays { speed, rays }, phase));
    });
}

/// The reference amplitude that the distributions have, where none is stated.
fn reference(ui: &mut Ui, state: &State, speed: &OdfSpeed) {
    let metric = state.runtime.track.odf_metric.as_ref();
    if let Some(metric) = metric.filter(|_| speed.reference.is_none()) {
        let amplitude = format::significant(metric.reference);
        rows::hint(ui, &format!("Median of the largest peaks: {amplitude}"));
    }
}
