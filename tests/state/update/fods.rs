//! Fibre orientation distributions of the document: requested by the user, computed in the background, and put into
//! every document that wants them.

use super::Window;
use crate::support::{distributions, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::odf_field::Tissue;
use arcuate::data::{Mask, OdfField, Role, Shape};
use arcuate::io::nifti;
use arcuate::jobs::{Delivery, Jobs, Outcome};
use arcuate::parameters::Parameters as _;
use arcuate::scene::draw_list::Glyphs;
use arcuate::scene::{self, Size};
use arcuate::state::core::glyph_look::{GlyphContent, GlyphLook};
use arcuate::state::methods::methods;
use arcuate::state::tensors::jobs::fod::{
    EstimateFods, FOD, SaveFods, repetition_ms, shares_of_curves,
};
use arcuate::state::tensors::recipe::fod::ResponseAlgorithm;
use arcuate::state::tensors::types::fods::{FodSettings, Fods, ResponseChoice, TissueChoice};
use arcuate::state::{
    Action, Effect, Event, Layer, LayerId, Pane, Phase, RegionAction, State, TensorAction,
    ViewAction, update,
};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::fods::are_computed_on_request", requested),
        test("update::fods::times_of_repetitions", times),
        test("update::fods::undo_and_redo_keep_them", undone),
        test("update::fods::a_stopped_estimation_waits", stopped),
        test("update::fods::a_failed_estimation_waits", failed),
        test(
            "update::fods::an_undone_request_is_not_taken",
            undone_request,
        ),
        test("update::fods::response_files_go_to_the_job", files),
        test("update::fods::responses_of_regions", regions),
        test("update::fods::a_region_that_is_gone", gone_region),
        test("update::fods::parameters_without_effect", without_effect),
        test("update::fods::glyphs_are_large_enough_to_read", glyphs),
    ]
}

/// A form leaves out the parameters of response functions that have no effect.
fn without_effect() {
    use arcuate::solvers::response::Params;
    let all: Vec<&str> = Params::TABLE.iter().map(|row| row.key).collect();
    let dhollander = Some(ResponseAlgorithm::Dhollander);
    let estimated = ResponseChoice::Estimated;
    assert!(estimated.unused_rows(None).is_empty());
    assert_eq!(estimated.unused_rows(dhollander), ["single-fibre-voxels"]);
    assert_eq!(
        ResponseChoice::Files(Vec::new()).unused_rows(dhollander),
        all
    );
    // Masks alone have one parameter; with a tissue that is estimated, those of the algorithm have an effect.
    let mask = || TissueChoice::Layer(LayerId(1));
    let masks = ResponseChoice::Each([mask(), mask(), TissueChoice::Omitted]);
    let unused = masks.unused_rows(dhollander);
    assert_eq!(unused.len(), all.len() - 1);
    assert!(!unused.contains(&"response-order"));
    let both = masks.with_tissue(Tissue::Csf, TissueChoice::Estimated);
    assert_eq!(both.unused_rows(dhollander), ["single-fibre-voxels"]);
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

/// The time of one repetition is the same after an estimation without a bootstrap as after one with it.
fn times() {
    let once = repetition_ms(1000.0, None, true);
    let fit = repetition_ms(1000.0, None, false);
    assert!(0.0 < fit && fit < once && once < 1000.0);
    // Residuals take less than 3 % of an estimation.
    for residuals in [0.0, 30.0] {
        let all = 1000.0 + fit + residuals + 50.0 * once;
        let repeated = repetition_ms(all, Some(50), true);
        assert!((repeated / once - 1.0).abs() < 1e-2, "{repeated} {once}");
    }
    let shares = shares_of_curves(20);
    assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    assert!(shares[2] > 0.9);
}

fn layer<'a>(state: &'a State, name: &str) -> Option<&'a Arc<Layer>> {
    state.document.layer_named(name)
}

fn requested() {
    let mut state = Window::fitted().state;
    assert!(state.document.requested_fods().is_none());
    let estimation = request(&mut state).expect("an estimation");
    let repeated = update(&mut state, Action::NothingToCopy);
    assert!(job(&repeated).is_none(), "it is running");
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
    cited_in_order(&text);
    // Another parameter replaces them; their maps keep id and display.
    let id = layer(&state, "AFD").map(|l| l.id);
    let mut changed = settings(&state);
    changed.params.order = Some(2);
    changed.response_params.order = 6;
    changed.response_params.voxels = 200;
    // This estimation of responses has no such share.
    changed.response_params.csf_share = 0.2;
    changed.peak_params.count = 4;
    let action = Action::Tensors(TensorAction::SetFods(changed));
    let next = job(&update(&mut state, action)).expect("another estimation");
    done(&mut state, &next);
    let text = methods(&state);
    let others = "Other settings that differed from their defaults: response order 6, single-fibre voxels 200, peaks 4.";
    assert!(text.contains(others), "{text}");
    assert_eq!(layer(&state, "AFD").map(|l| l.id), id);
    let layers = state.document.layers.iter();
    assert_eq!(layers.filter(|l| l.name == "AFD").count(), 1);
}

/// The numbers of works appear in the order of their first mention, and each has its line.
fn cited_in_order(text: &str) {
    let (paragraph, works) = text.split_once("\n\n").expect("a list of works");
    let numbers = paragraph.split('[').skip(1).filter_map(|after| {
        let (number, _) = after.split_once(']')?;
        number.parse::<usize>().ok()
    });
    let mut first_mentions: Vec<usize> = Vec::new();
    for number in numbers {
        if !first_mentions.contains(&number) {
            first_mentions.push(number);
        }
    }
    let expected: Vec<usize> = (1..=works.lines().count()).collect();
    assert!(expected.len() >= 4, "{text}");
    assert_eq!(first_mentions, expected, "{text}");
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

fn set_response(state: &mut State, tissue: Tissue, choice: TissueChoice) -> Option<EstimateFods> {
    let action = TensorAction::SetResponse { tissue, choice };
    job(&update(state, Action::Tensors(action)))
}

/// White matter in a region, CSF in a mask without a file; grey matter is left out.
fn regions() {
    let mut state = Window::fitted().state;
    let sphere = Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 6.0,
    };
    let sphere = Arc::new(sphere);
    let region =
        state
            .document
            .add_region("Corpus callosum".to_owned(), Role::Region, sphere.clone());
    request(&mut state).expect("an estimation");
    let white = TissueChoice::Region(region);
    let estimation = set_response(&mut state, Tissue::WhiteMatter, white).expect("an estimation");
    let asks_for = format!("{:?}", estimation.responses);
    // The other tissues are still estimated.
    assert_eq!(asks_for.matches("Algorithm").count(), 2, "{asks_for}");
    set_response(&mut state, Tissue::GreyMatter, TissueChoice::Omitted);
    let csf = TissueChoice::File("/data/csf.txt".into());
    let mut settings = state.document.distributions.settings.clone();
    settings.responses = settings.responses.with_tissue(Tissue::Csf, csf);
    let ResponseChoice::Each(all) = &settings.responses else {
        panic!("{settings:?}");
    };
    assert_eq!(all[1], TissueChoice::Omitted);
    let action = Action::Tensors(TensorAction::SetFods(settings));
    update(&mut state, action);
    let key = state.document.requested_fods().expect("requested");
    assert_eq!(key.regions[0].as_ref(), Some(&sphere));
    assert!(key.regions[1].is_none() && key.regions[2].is_none());
    let running = state.runtime.tensors.fods.running();
    assert_eq!(running, Some(&key));
    // The request of the last choice.
    let mut job = estimation;
    job.key = Some(key);
    done(&mut state, &job);
    let map = layer(&state, "AFD").expect("a map");
    let command = state.document.command_line(map).text();
    let expected = " --wm-mask sphere:0,0,0,6 --csf-response /data/csf.txt";
    assert!(command.contains(expected), "{command}");
    let text = methods(&state);
    assert!(text.contains("the response function"), "{text}");
    // A region that moves is measured again once it rests.
    let moved = Arc::new(Shape::Sphere {
        centre: DVec3::X,
        radius_mm: 6.0,
    });
    let shape = |phase| {
        Action::Region(RegionAction::SetShape {
            region,
            shape: (*moved).clone(),
            phase,
        })
    };
    let effects = update(&mut state, shape(Phase::Live));
    assert!(self::job(&effects).is_none(), "{effects:?}");
    let effects = update(&mut state, shape(Phase::Done));
    assert!(self::job(&effects).is_some(), "{effects:?}");
    // A mask without a file has no command.
    let mask = Mask::new(job.dwi.grid.clone(), vec![1; job.dwi.grid.voxel_count()]);
    let shape = Arc::new(Shape::Mask(mask));
    let drawn = state
        .document
        .add_region("Drawn".to_owned(), Role::Region, shape);
    let choice = TissueChoice::Region(drawn);
    let job = set_response(&mut state, Tissue::WhiteMatter, choice).expect("an estimation");
    done(&mut state, &job);
    let map = layer(&state, "AFD").expect("a map");
    let command = state.document.command_line(map).text();
    assert!(
        command.contains("“Drawn” is a mask without a file"),
        "{command}"
    );
    repeatable_export(&mut state);
}

/// The export writes the mask of the region, and the command in its report names that file.
fn repeatable_export(state: &mut State) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fod.json");
    let action = Action::Tensors(TensorAction::SaveFods(path.clone()));
    let effects = update(state, action).into_iter();
    let mut saves = effects.filter(|e| e.job::<SaveFods>().is_some());
    let Some(Effect::Submit(save)) = saves.next() else {
        panic!("no export");
    };
    let backend = Backend::choose(&BackendChoice::cpu(Some(1))).expect("a thread");
    let mut jobs: Jobs<State> = Jobs::new(backend, Arc::new(|| {}));
    let job = jobs.submit(save);
    let event = jobs.wait(&job, |_| {});
    assert!(matches!(event.ending(), Outcome::Done(_)));
    let report = std::fs::read_to_string(&path).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let mask = folder.path().join("wm_response_mask.nii.gz");
    let repeat = report["repeat"].as_str().expect("a command");
    let expected = format!("--wm-mask mask:{}", mask.display());
    assert!(repeat.contains(&expected), "{repeat}");
    assert!(!repeat.contains("Drawn"), "{repeat}");
    assert!(report.get("no_command").is_none());
    let (volume, _) = nifti::read(&mask, &Control::new()).expect("a mask");
    assert!(volume.values.iter().all(|v| *v == 1.0));
}

/// A region that is deleted is named as missing; the estimation says so.
fn gone_region() {
    let mut window = Window::fitted();
    let shape = Arc::new(Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 6.0,
    });
    let document = &mut window.state.document;
    let region = document.add_region("Seed".to_owned(), Role::Region, shape);
    let choice = TissueChoice::Region(region);
    set_response(&mut window.state, Tissue::WhiteMatter, choice);
    for tissue in [Tissue::GreyMatter, Tissue::Csf] {
        set_response(&mut window.state, tissue, TissueChoice::Omitted);
    }
    let settings = settings(&window.state);
    window.act(Action::Tensors(TensorAction::SetFods(settings)));
    window.state.document.regions.clear();
    window.act(Action::NothingToCopy);
    let why = window.state.runtime.tensors.fods.failure();
    let why = why.expect("a reason");
    assert!(
        why.contains("Found no region for the response of white matter"),
        "{why}"
    );
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
        // All voxels from 8 points a voxel on; else as few as needed for glyphs of 12 points.
        let all = points >= 8.0;
        assert_eq!(every == 1, all, "{side}: {every}");
        let size = points * every as f64;
        assert!(all || size >= 12.0 - 1e-9, "{side}: {every}");
        assert!(all || size - points <= 12.0, "{side}: {every}");
        // A glyph fills the voxels that it stands for.
        assert_eq!(glyphs.size, every as f32, "{side}");
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
