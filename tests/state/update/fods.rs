//! Fibre orientation distributions of the document: requested by the user, computed in the background, and put into
//! every document that wants them.

use super::Window;
use crate::support::{distributions, test};
use arcuate::data::OdfField;
use arcuate::jobs::{Delivery, Outcome};
use arcuate::scene::draw_list::Glyphs;
use arcuate::scene::{self, Size};
use arcuate::state::core::glyph_look::{GlyphContent, GlyphLook};
use arcuate::state::methods::methods;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD};
use arcuate::state::tensors::types::fods::{FodSettings, Fods, ResponseChoice};
use arcuate::state::{Action, Effect, Event, Layer, Pane, State, TensorAction, ViewAction, update};
use glam::DVec2;
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::fods::are_computed_on_request", requested),
        test("update::fods::undo_and_redo_keep_them", undone),
        test("update::fods::a_stopped_estimation_waits", stopped),
        test("update::fods::a_failed_estimation_waits", failed),
        test(
            "update::fods::an_undone_request_is_not_taken",
            undone_request,
        ),
        test("update::fods::response_files_go_to_the_job", files),
        test("update::fods::glyphs_are_large_enough_to_read", glyphs),
    ]
}

const MAPS: [&str; 3] = ["DEC of fibres", "AFD", "Complexity"];

fn fods(job: &EstimateFods) -> Fods {
    distributions::round(&job.dwi.grid, &job.gradients)
}

fn settings(state: &State) -> FodSettings {
    FodSettings {
        requested: true,
        ..state.document.distributions.settings.clone()
    }
}

/// Requests distributions; the job, if one was submitted.
fn request(state: &mut State) -> Option<EstimateFods> {
    let settings = settings(state);
    job(&update(
        state,
        Action::Tensors(TensorAction::SetFods(settings)),
    ))
}

fn job(effects: &[Effect]) -> Option<EstimateFods> {
    effects
        .iter()
        .find_map(|e| e.job::<EstimateFods>())
        .cloned()
}

fn end(state: &mut State, job: &EstimateFods, outcome: Outcome<Box<Fods>>) -> Vec<Effect> {
    let delivery = Delivery {
        slot: FOD,
        ticket: 7,
        wall_ms: 1.0,
        outcome,
    };
    update(state, Action::Event(Event::new(job.clone(), delivery)))
}

fn done(state: &mut State, job: &EstimateFods) -> Vec<Effect> {
    end(state, job, Outcome::Done(Box::new(fods(job))))
}

fn layer<'a>(state: &'a State, name: &str) -> Option<&'a Arc<Layer>> {
    state.document.layer_named(name)
}

fn requested() {
    let mut state = Window::fitted().state;
    assert!(state.document.requested_fods().is_none());
    let estimation = request(&mut state).expect("an estimation");
    let again = update(&mut state, Action::NothingToCopy);
    assert!(job(&again).is_none(), "it is running");
    let effects = done(&mut state, &estimation);
    assert!(job(&effects).is_none(), "{effects:?}");
    assert!(state.document.distributions.result.is_some());
    for name in MAPS {
        let map = layer(&state, name).unwrap_or_else(|| panic!("{name}"));
        assert!(!map.display.visible, "{name}");
        let command = state.document.command_line(map).text();
        let expected = "arcuate fod /data/scan.nii.gz --response-algorithm tournier";
        assert!(command.starts_with(expected), "{command}");
        assert!(command.contains("--order 4"), "{command}");
    }
    assert!(layer(&state, "Tissue fractions").is_none());
    let text = methods(&state);
    assert!(
        text.contains("Fibre orientation distributions of order 4"),
        "{text}"
    );
    assert!(text.contains("Jeurissen B"), "{text}");
    // Another parameter replaces them; their maps keep id and display.
    let id = layer(&state, "AFD").map(|l| l.id);
    let mut changed = settings(&state);
    changed.params.order = Some(2);
    let action = Action::Tensors(TensorAction::SetFods(changed));
    let next = job(&update(&mut state, action)).expect("another estimation");
    done(&mut state, &next);
    assert_eq!(layer(&state, "AFD").map(|l| l.id), id);
    let layers = state.document.layers.iter();
    assert_eq!(layers.filter(|l| l.name == "AFD").count(), 1);
}

fn undone() {
    let mut state = Window::fitted().state;
    let estimation = request(&mut state).expect("an estimation");
    done(&mut state, &estimation);
    let field = |state: &State| state.document.distributions.field().map(OdfField::id);
    let first = field(&state).expect("distributions");
    assert!(job(&update(&mut state, Action::Undo)).is_none());
    assert_eq!(field(&state), None);
    assert!(layer(&state, "AFD").is_none());
    assert!(job(&update(&mut state, Action::Redo)).is_none());
    assert_eq!(field(&state), Some(first));
    assert!(layer(&state, "AFD").is_some());
}

/// The result of a request that was undone before it arrived belongs to the document that redo restores.
fn undone_request() {
    let mut state = Window::fitted().state;
    let estimation = request(&mut state).expect("an estimation");
    let effects = update(&mut state, Action::Undo);
    assert!(effects.iter().any(|e| matches!(e, Effect::Cancel(FOD))));
    done(&mut state, &estimation);
    assert!(state.document.distributions.result.is_none());
    let effects = update(&mut state, Action::Redo);
    assert!(job(&effects).is_none(), "it is known: {effects:?}");
    assert!(state.document.distributions.result.is_some());
}

fn stopped() {
    let mut state = Window::fitted().state;
    let estimation = request(&mut state).expect("an estimation");
    let effects = update(&mut state, Action::CancelJob(FOD));
    assert!(effects.iter().any(|e| matches!(e, Effect::Cancel(FOD))));
    assert!(job(&effects).is_none(), "{effects:?}");
    let effects = end(&mut state, &estimation, Outcome::Cancelled);
    assert!(job(&effects).is_none(), "{effects:?}");
    assert!(state.runtime.tensors.fods.running().is_none());
    assert!(request(&mut state).is_some(), "on request it starts again");
}

fn failed() {
    const WHY: &str =
        "Found an empty brain mask, expected voxels of the brain; choose another mask";
    let mut state = Window::fitted().state;
    let estimation = request(&mut state).expect("an estimation");
    let effects = end(&mut state, &estimation, Outcome::Failed(WHY.into()));
    assert!(job(&effects).is_none(), "{effects:?}");
    assert_eq!(state.runtime.tensors.fods.failure(), Some(WHY));
    assert!(job(&update(&mut state, Action::NothingToCopy)).is_none());
    let mut changed = settings(&state);
    changed.peak_params.count = 2;
    let action = Action::Tensors(TensorAction::SetFods(changed));
    assert!(job(&update(&mut state, action)).is_some());
}

fn files() {
    let mut state = Window::fitted().state;
    let paths = ["/data/wm.txt", "/data/csf.txt"]
        .map(PathBuf::from)
        .to_vec();
    let changed = FodSettings {
        responses: ResponseChoice::Files(paths.clone()),
        ..settings(&state)
    };
    let action = Action::Tensors(TensorAction::SetFods(changed));
    let estimation = job(&update(&mut state, action)).expect("an estimation");
    let requested = format!("{:?}", estimation.responses);
    assert!(requested.contains("/data/csf.txt"), "{requested}");
    done(&mut state, &estimation);
    let map = layer(&state, "AFD").expect("a map");
    let command = state.document.command_line(map).text();
    let expected = " --responses /data/wm.txt --responses /data/csf.txt";
    assert!(command.contains(expected), "{command}");
}

/// A glyph has at least 8 points on screen: in smaller voxels, one in several has one, and the view displays how many.
fn glyphs() {
    let mut state = Window::fitted().state;
    let estimation = request(&mut state).expect("an estimation");
    done(&mut state, &estimation);
    let pane = Pane::Axial;
    let size = |side: f64| Size {
        points: DVec2::splat(side),
        pixels_per_point: 2.0,
    };
    let large = size(1000.0);
    let none = scene::slice(&state, pane, large).expect("a slice").glyphs;
    assert!(none.is_none());
    update(&mut state, Action::View(ViewAction::ToggleGlyphs));
    for side in [1000.0, 200.0, 60.0] {
        let slice = scene::slice(&state, pane, size(side)).expect("a slice");
        let Some(Glyphs::Odfs(glyphs)) = slice.glyphs else {
            panic!("no glyphs of distributions at {side}");
        };
        let plane = state.plane(pane, DVec2::splat(side)).expect("a plane");
        // Voxels of 2 mm.
        let points = 2.0 / plane.mm_per_point;
        let every = glyphs.every;
        assert!(points * every as f64 >= 8.0 - 1e-9, "{side}: {every}");
        assert!(
            every == 1 || points * (every - 1) as f64 <= 8.0,
            "{side}: {every}"
        );
        let omitted = scene::omitted_on_slice(&state, plane.mm_per_point);
        assert_eq!(omitted, (every > 1).then_some(every * every), "{side}");
        assert_eq!(glyphs.min_peak, 0.05);
        assert_eq!(glyphs.full_amplitude, None, "each has its own peak");
    }
    // Tensors are one click away.
    let look = GlyphLook {
        content: GlyphContent::Tensors,
        ..state.view.glyphs
    };
    update(&mut state, Action::View(ViewAction::SetGlyphs(look)));
    let scene = scene::scene(&state, large);
    assert!(matches!(scene.glyphs, Some(Glyphs::Tensors(_))));
    update(&mut state, Action::View(ViewAction::ToggleGlyphs));
    assert!(scene::scene(&state, large).glyphs.is_none());
}
