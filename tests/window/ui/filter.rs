//! The task Filter, driven as by a user.

mod lesion;
mod peaks;
mod refit;

use super::{
    Window, click, double_click, pathways, sample, small_scan, submitted, tracking, type_over,
    window,
};
use crate::support::test;
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::{Gradients, Tractogram, Volume, VolumeKind};
use arcuate::jobs::{Jobs, Receive};
use arcuate::scene::draw_list::LineColour;
use arcuate::scene::{self, Size};
use arcuate::solvers::commit::model::Intra;
use arcuate::solvers::commit::solver::Ended;
use arcuate::state::core::display::{self, LineColouring, STALE_OPACITY};
use arcuate::state::core::live::Detail;
use arcuate::state::core::text::{counted, significant};
use arcuate::state::files::jobs::SaveWithValues;
use arcuate::state::filter::jobs::{EstimateFit, FitWeights, StartFrom, SumBundles};
use arcuate::state::filter::{
    ExcludedStreamlines, FilterAction, FilterFile, ScanTimings, ShownStreamlines, WEIGHT,
};
use arcuate::state::origin::Origin;
use arcuate::state::pathways::PathwayKey;
use arcuate::state::streamlines::{Column, streamlines_of};
use arcuate::state::track::jobs::streamlines::TrackWholeBrain;
use arcuate::state::{
    Action, Content, Display, Effect, Layer, LayerId, Phase, State, Task, ViewAction, update,
};
use arcuate::ui::format;
use arcuate::ui::palette::names;
use arcuate::ui::views::badge;
use arcuate::ui::views::legend::{Legend, of_scene};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::filter::without streamlines the panel names a remedy",
            nothing,
        ),
        test("ui::filter::the model is chosen", model),
        test("ui::filter::run, stop and run again", run),
        test("ui::filter::weights are not colours of Pathways", behind),
        test("ui::filter::the cut is dragged, bundles have rows", results),
        test("ui::filter::each layer has a cut of its own", own_cut),
        test(
            "ui::filter::streamlines below the cut have a bar",
            refit::difference,
        ),
        test("ui::filter::stale weights are dimmed", refit::stale),
        test(
            "ui::filter::time is of all runs, as iterations are",
            refit::time,
        ),
        test(
            "ui::filter::a lesion is compared next to its choice",
            lesion::shown,
        ),
        test(
            "ui::filter::peaks of distributions are offered",
            peaks::offered,
        ),
        test("ui::filter::tensors leave out volumes", peaks::volumes),
    ]
}

/// The signal of streamlines of one common weight: sticks among zeppelins, all along z.
fn explained(dwi: &Volume, gradients: &Gradients, lines: &Tractogram) -> Volume {
    const STEP_MM: f64 = 0.5;
    let grid = dwi.grid.clone();
    let n = grid.voxel_count();
    let mut length_mm = vec![0.0f64; n];
    for line in lines.streamlines() {
        let [from, to] = [line[0], line[1]].map(|p| DVec3::from_array(p.map(f64::from)));
        let steps = ((to - from).length() / STEP_MM).round() as usize;
        for step in 0..steps {
            let at = from.lerp(to, (step as f64 + 0.5) / steps as f64);
            if let Some(voxel) = grid.nearest(at) {
                length_mm[grid.index(voxel)] += (to - from).length() / steps as f64;
            }
        }
    }
    let most = length_mm.iter().copied().fold(0.0, f64::max);
    let signal = |frame: usize, voxel: usize| {
        let share = 0.7 * length_mm[voxel] / most;
        let (b, z) = (gradients.b_s_per_mm2[frame], gradients.directions[frame].z);
        let stick = (-b * 1.7e-3 * z * z).exp();
        let zeppelin = (-b * (0.51e-3 + 1.19e-3 * z * z)).exp();
        let head = f64::from(u8::from(dwi.frame(0)[voxel] > 0.0));
        (1184.0 * head * (share * stick + (1.0 - share) * zeppelin)) as f32
    };
    let values: Vec<f32> = (0..n * dwi.frames).map(|i| signal(i / n, i % n)).collect();
    Volume::new(grid, dwi.frames, VolumeKind::Scalar, values)
}

/// Streamlines of two groups as a layer, and a scan that they explain.
pub fn weighing(task: Task) -> State {
    // The sample's six directions count as only five: too few for a tensor.
    let mut state = sample::state([16, 20, 15], 12);
    state.view.task = task;
    let lines: Tractogram = sample::output(60).kept;
    let scan = state.document.layer_named("dwi").expect("a scan").id;
    let mut known = None;
    state.document.edit_layer(scan, |layer| {
        let Content::Scan {
            dwi,
            gradients: Some(gradients),
        } = &mut layer.content
        else {
            panic!("a scan with gradients");
        };
        *dwi = explained(dwi, gradients, &lines);
        known = Some(dwi.id());
    });
    let tensors = state.document.tensors.as_mut().expect("tensors");
    Arc::make_mut(tensors).key.scan = known.expect("replaced");
    let lines = lines
        .with_group("CST L", (0..30).collect::<Vec<u32>>())
        .with_group("Cingulum", (30..40).collect::<Vec<u32>>());
    let id = LayerId(state.document.fresh_id());
    let display = Display {
        visible: true,
        ..display::line_display()
    };
    let origin = state
        .document
        .origins
        .add(Origin::file("/data/sub-01/whole.trx"));
    let content = Content::Tractogram(lines);
    let layer = Layer::new(id, "whole".to_owned(), content, display, origin);
    state.document.layers.push(Arc::new(layer));
    state
}

pub(super) fn filtering() -> Window {
    let mut window = window(weighing(Task::View), [1920.0, 1080.0]);
    window.key_press_modifiers(Modifiers::COMMAND, Key::Num5);
    window.run();
    assert_eq!(window.state().state.view.task, Task::Filter);
    window
}

/// A state with weights, and the contribution of one of the groups.
pub fn state_with_weights() -> State {
    let mut state = weighing(Task::Filter);
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let mut jobs = Jobs::new(backend, Arc::new(|| {}));
    let mut needs = update(
        &mut state,
        Action::View(ViewAction::SelectTask(Task::Filter)),
    );
    let lesion = FilterAction::Lesion(ExcludedStreamlines::Group("Cingulum".to_owned()));
    for action in [FilterAction::Run, lesion] {
        let mut effects = std::mem::take(&mut needs);
        effects.extend(update(&mut state, Action::Filter(action)));
        while let Some(effect) = effects.pop() {
            if let Effect::Submit(request) = effect {
                let job = jobs.submit(request);
                let event = jobs.wait(&job, |_| {});
                effects.extend(update(&mut state, Action::Event(event)));
            }
        }
    }
    assert_eq!(
        state.document.weights.len(),
        1,
        "{:?}",
        state.runtime.filter.failed
    );
    state
}

fn act(window: &mut Window, action: Action) {
    let app = window.state_mut();
    let effects = update(&mut app.state, action);
    app.effects.extend(effects);
    window.run();
}

fn fit(window: &Window) -> Option<FitWeights> {
    submitted(window).last().copied().cloned()
}

/// Carries out the latest request.
pub(super) fn carry_out<J: Receive<State>>(window: &mut Window) {
    let jobs = submitted::<J>(window);
    let job = (*jobs.last().expect("requested")).clone();
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let mut jobs = Jobs::new(backend, Arc::new(|| {}));
    let job = jobs.submit(job);
    let event = jobs.wait(&job, |_| {});
    act(window, Action::Event(event));
}

fn nothing() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    click(&mut window, "Filter");
    window.get_by_label_contains("There are no streamlines to fit");
    click(&mut window, "Keep live streamlines");
    let document = &window.state().state.document;
    assert_eq!(document.filtered().map(|(_, lines)| lines.len()), Some(450));
    assert!(
        window
            .query_by_label_contains("no streamlines to fit")
            .is_none()
    );
    // A small window shows the same text.
    let mut small = super::window(small_scan(), [1280.0, 800.0]);
    click(&mut small, "Filter");
    click(&mut small, "Track the whole brain");
    assert!(!submitted::<TrackWholeBrain>(&small).is_empty());
}

fn choose(window: &mut Window, row: &str, item: &str) {
    window
        .get_by_role_and_label(egui::Role::ComboBox, row)
        .click();
    window.run();
    click(window, item);
}

fn model() {
    let mut window = filtering();
    let params = |window: &Window| window.state().state.document.filter_params();
    carry_out::<EstimateFit>(&mut window);
    // One shell does not determine free water: it can be forced.
    click(&mut window, "Free water: Ball");
    assert!(!params(&window).model.free.is_empty());
    carry_out::<EstimateFit>(&mut window);
    window.get_by_label_contains("Ball needs at least two shells");
    assert!(fit(&window).is_none());
    click(&mut window, "Force the model");
    assert!(params(&window).force_model);
    carry_out::<EstimateFit>(&mut window);
    assert_eq!(window.state().state.cannot_filter(), None);
    window.get_by_label_contains("the model is forced");
    click(&mut window, "Free water: None");
    assert!(params(&window).model.free.is_empty() && !params(&window).force_model);
    click(&mut window, "Extra-axonal: None");
    assert!(params(&window).model.extra.is_empty());
    click(&mut window, "Extra-axonal: Zeppelin");
    assert_eq!(params(&window).model.extra.len(), 2);
    click(&mut window, "Diffusivities");
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Axial");
    field.click();
    window.run();
    type_over(&mut window, "1.9");
    assert_eq!(params(&window).model.intra, Intra::Stick { along: 1.9e-3 });
    assert!(
        params(&window)
            .model
            .extra
            .iter()
            .all(|z| z.along == 1.9e-3)
    );
    choose(&mut window, "Intra-axonal", "Cylinders");
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Radii");
    field.click();
    window.run();
    type_over(&mut window, "1, 2.5");
    let Intra::Cylinders { radii_um, along } = params(&window).model.intra else {
        panic!("cylinders");
    };
    assert_eq!((radii_um, along), (vec![1.0, 2.5], 1.9e-3));
    choose(&mut window, "Timing", "δ and Δ, for all volumes");
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Pulse δ");
    field.click();
    window.run();
    type_over(&mut window, "32.2");
    let times = window.state().state.document.filter.times.clone();
    let ScanTimings::Both(timing) = times else {
        panic!("{times:?}");
    };
    assert_eq!((timing.pulse_ms, timing.between_ms), (32.2, 40.0));
    choose(&mut window, "Intra-axonal", "Streamline density");
    assert!(params(&window).model.check().is_ok());
    assert!(window.query_by_label("Free water: Ball").is_none());
    click(&mut window, "Signal, stopping, operator");
    choose(&mut window, "Stop at change", "10⁻⁶");
    assert_eq!(params(&window).stop.objective, 1e-6);
    click(&mut window, "Reset to defaults");
    assert!(window.state().state.document.filter.params.is_none());
}

fn run() {
    let mut window = filtering();
    window.get_by_label_contains("counting…");
    carry_out::<EstimateFit>(&mut window);
    window.get_by_label_contains("Memory needed");
    window.get_by_label_contains("Time about");
    assert!(fit(&window).is_none());
    let before = window.get_by_label("Stop").rect();
    window.key_press(Key::Space);
    window.run_steps(3);
    let requested = fit(&window).expect("requested");
    assert!(requested.prepared.is_none() && matches!(requested.start, StartFrom::Zero));
    assert!(window.state().state.is_filtering());
    // Neither appears at the other's place, before, during and after the run.
    let rect = |window: &Window, name: &str| window.get_by_label(name).rect();
    let stop = rect(&window, "Stop");
    assert_eq!(before, stop);
    assert!(!stop.intersects(rect(&window, "Run")));
    window.get_by_label("Progress");
    carry_out::<FitWeights>(&mut window);
    let state = &window.state().state;
    let fitted = state.document.weights.values().next().expect("weights");
    assert_eq!(fitted.figures.streamlines, 60);
    assert_eq!(rect(&window, "Stop"), stop);
    assert!(!stop.intersects(rect(&window, "Run again")));
    // The second click of a double click on Stop runs nothing.
    let requested = submitted::<FitWeights>(&window).len();
    double_click(&mut window, stop.center());
    assert_eq!(submitted::<FitWeights>(&window).len(), requested);
    assert!(!window.state().state.is_filtering());
    click(&mut window, "Run again");
    let requested = fit(&window).expect("requested");
    assert!(requested.prepared.is_some() && matches!(requested.start, StartFrom::Zero));
    window.state_mut().state.runtime.filter.running = None;
    let weights = window
        .state_mut()
        .state
        .document
        .weights
        .values_mut()
        .next();
    Arc::make_mut(weights.expect("weights")).figures.ended = Ended::Iterations;
    window.run();
    // Now that it can be continued, the note offers another start.
    let continues = rect(&window, "Continue");
    assert!(
        [stop, rect(&window, "Run again")]
            .iter()
            .all(|r| !r.intersects(continues))
    );
    window.run_steps(30);
    click(&mut window, "Continue");
    let requested = fit(&window).expect("requested");
    assert!(requested.prepared.is_some() && matches!(requested.start, StartFrom::Fit(_)));
    // The run continues after the earlier iterations: the badge counts them, as the panel and the status bar do.
    let state = &window.state().state;
    let fitted = state.document.weights.values().next().expect("weights");
    let (caption, _) = badge::text(state).expect("a badge");
    let iterations = format::count(fitted.iterations());
    assert_eq!(caption, format!("Iteration {iterations}"));
    let running = state.runtime.filter.running.as_ref().expect("it runs");
    let most = u64::from(running.inputs.params.stop.iterations);
    assert_eq!(running.max_iterations(), fitted.iterations() + most);
    assert_eq!(running.own_iterations(), 0);
    let before = fitted.iterations();
    carry_out::<FitWeights>(&mut window);
    let document = &window.state().state.document;
    let fitted = document.weights.values().next().expect("weights");
    let own = u64::from(fitted.figures.iterations);
    assert_eq!(fitted.iterations(), before + own);
    let fact = format!("{}, ", counted((before + own) as usize, "iteration"));
    window.get_by_label_contains(&fact);
}

/// Weights have colours with a key in Filter; in Pathways streamlines are the background.
fn behind() {
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    let mut state = state_with_weights();
    // The pathway is the requested one: a stale one is dimmed.
    let solved = pathways::solved();
    state.document.regions = solved.document.regions.clone();
    state.document.pathways = solved.document.pathways.clone();
    let live = solved.runtime.pathways.live.value();
    let mut live = live.expect("solved").clone();
    let tensors = state.document.tensors.as_ref().expect("tensors");
    Arc::make_mut(&mut live).key.field = tensors.field.id();
    let key = PathwayKey::from_result(&live);
    let shown = &mut state.runtime.pathways.live;
    assert!(shown.done(key.clone(), Detail::Full, live, Some(&key)));
    assert!(state.final_pathway().is_some());
    let by_weight =
        |colour: &LineColour| matches!(colour, LineColour::Scalar { name, .. } if name == WEIGHT);
    let key = |state: &State| {
        let bars = of_scene(state);
        let weight = |l: &Legend| matches!(l, Legend::Bar { name, .. } if name == "Weight");
        bars.iter().any(weight)
    };
    for task in [Task::Filter, Task::View] {
        state.view.task = task;
        let lines = scene::scene(&state, size).lines;
        let own = lines.iter().find(|l| by_weight(&l.colour));
        let own = own.expect("coloured by weight");
        assert!(!own.context && own.opacity == 1.0, "{task:?}");
        assert!(key(&state), "{task:?}");
    }
    state.view.task = Task::Pathways;
    let lines = scene::scene(&state, size).lines;
    assert!(!lines.iter().any(|l| by_weight(&l.colour)) && !key(&state));
    let own = lines.iter().find(|l| l.colour == LineColour::Direction);
    let own = own.expect("coloured by direction");
    assert!(own.context && own.opacity < 0.3, "{}", own.opacity);
    let path = lines.last().expect("the pathway");
    assert!(!path.context && path.opacity == 1.0);
    // A colour set by the user has no key.
    let id = state.document.filtered().expect("streamlines").0.id;
    let fixed = [200, 100, 0];
    state.document.edit_layer(id, |l| {
        l.display.line_colouring = LineColouring::Fixed(fixed);
    });
    let lines = scene::scene(&state, size).lines;
    let own = lines.iter().find(|l| l.colour == LineColour::Fixed(fixed));
    assert!(own.expect("as it was").context);
}

fn own_cut() {
    let mut state = state_with_weights();
    let layer = state.document.filtered().expect("streamlines").0.clone();
    let (first, other) = (layer.id, LayerId(state.document.fresh_id()));
    state.document.layers.push(Arc::new(Layer {
        id: other,
        name: "other".to_owned(),
        ..(*layer).clone()
    }));
    let fit = state.document.weights[&first].clone();
    state.document.weights.insert(other, fit.clone());
    let min_weight = fit.sorted[fit.sorted.len() / 2];
    let all = fit.sorted.len();
    let mut window = window(state, [1920.0, 1080.0]);
    let filter = |window: &mut Window, action| act(window, Action::Filter(action));
    let kept = |window: &Window, layer| {
        fit.count_above(window.state().state.document.filter.min_weight(layer))
    };
    filter(&mut window, FilterAction::Tractogram(first));
    let phase = Phase::Done;
    filter(&mut window, FilterAction::Cut { min_weight, phase });
    assert!(kept(&window, first) < all);
    // The others are uncut.
    filter(&mut window, FilterAction::Tractogram(other));
    assert_eq!(kept(&window, other), all);
    filter(&mut window, FilterAction::Show(ShownStreamlines::After));
    let document = &window.state().state.document;
    let low = |layer| {
        let rules = document.streamlines.rules_of(layer).expect("a filter");
        let limit = rules.limit(&Column::Value(WEIGHT.to_owned()));
        limit.expect("a limit").low
    };
    assert_eq!(low(other), Some(f32::MIN_POSITIVE), "any weight stays");
    assert_eq!(low(first), Some(min_weight), "its filter is its own");
    filter(&mut window, FilterAction::Cut { min_weight, phase });
    let more = fit.sorted[0];
    filter(
        &mut window,
        FilterAction::Cut {
            min_weight: more,
            phase,
        },
    );
    // Each keeps its own settings.
    filter(&mut window, FilterAction::Tractogram(first));
    let filter = &window.state().state.document.filter;
    assert_eq!(
        [first, other].map(|layer| filter.cut_of(layer)),
        [min_weight, more]
    );
}

fn results() {
    let mut window = filtering();
    click(&mut window, "Run");
    carry_out::<FitWeights>(&mut window);
    let state = &window.state().state;
    let (layer, _) = state.document.filtered().expect("streamlines");
    let id = layer.id;
    assert_eq!(layer.display.line_colouring, LineColouring::Weight);
    assert!(
        !state.document.weights[&id].sorted.is_empty(),
        "some have a weight"
    );
    window.get_by_label_contains("weight 0:");
    let histogram = window
        .get_by_role_and_label(egui::Role::Slider, "Weight")
        .rect();
    let at = |share: f32| {
        egui::pos2(
            histogram.left() + share * histogram.width(),
            histogram.center().y,
        )
    };
    window.drag_at(at(0.2));
    window.run();
    window.hover_at(at(0.5));
    window.run();
    window.drop_at(at(0.5));
    window.run();
    let cut = window.state().state.document.filter.cut_of(id);
    let sorted = &window.state().state.document.weights[&id].sorted;
    assert!(cut > 0.0 && cut < sorted[sorted.len() - 1], "{cut}");
    click(&mut window, "Undo");
    assert_eq!(window.state().state.document.filter.cut_of(id), 0.0);
    let shown = |window: &Window| window.state().state.document.shown_by_weight(id);
    assert_eq!(shown(&window), ShownStreamlines::After);
    click(&mut window, "Streamlines shown: Difference");
    assert_eq!(shown(&window), ShownStreamlines::Difference);
    click(&mut window, "Streamlines shown: Before");
    assert_eq!(shown(&window), ShownStreamlines::Before);
    // Bundles: sums first, and one alone.
    let layer = window.state().state.document.layer(id).cloned();
    let lines = streamlines_of(&layer.expect("a layer"))
        .expect("lines")
        .clone();
    carry_out::<SumBundles>(&mut window);
    let weights = &lines.per_streamline[WEIGHT];
    let least = window.state().state.document.filter.min_weight(id);
    let members = lines.groups["CST L"].iter().map(|m| weights[*m as usize]);
    let kept: Vec<f64> = members.filter(|w| *w >= least).map(f64::from).collect();
    let spoken = format!(
        "CST L, {} of 30 kept, Σ weight {}, Σ weight × length",
        kept.len(),
        significant(kept.iter().sum())
    );
    window.get_by_label_contains(&spoken);
    window.get_by_label_contains("Not in a bundle, ");
    window.get_by_label_contains("Cingulum, ").click();
    window.run();
    let rules = window
        .state()
        .state
        .document
        .streamlines
        .rules()
        .next()
        .cloned();
    assert_eq!(rules.and_then(|s| s.group), Some("Cingulum".to_owned()));
    click(&mut window, "Map on slices: RMSE");
    let visible = |window: &Window, name: &str| {
        let layer = window.state().state.document.layer_named(name);
        layer.is_some_and(|l| l.display.visible)
    };
    assert!(visible(&window, "Fit error (RMSE)"));
    click(&mut window, "Map on slices: Off");
    assert!(!visible(&window, "Fit error (RMSE)"));
    // Reached by scrolling when nothing is folded.
    window
        .get_by_role_and_label(egui::Role::ComboBox, "Fit without")
        .scroll_to_me();
    window.run();
    choose(&mut window, "Fit without", "Bundle CST L");
    let requested = fit(&window).expect("requested");
    assert!(requested.rmse_before.is_some() && requested.prepared.is_some());
    carry_out::<FitWeights>(&mut window);
    window.get_by_label_contains("Without CST L RMSE");
    let all = names(&window.state().state, "filter");
    for name in ["Filter: run", "Filter: export weights (text)…"] {
        assert!(all.iter().any(|n| n == name), "{all:?}");
    }
    let file = FilterFile::Kept;
    let path = PathBuf::from("/data/kept.trx");
    act(
        &mut window,
        Action::Filter(FilterAction::Save { file, path }),
    );
    let saved = submitted::<SaveWithValues>(&window);
    let saved = saved.last().and_then(|save| save.only.clone());
    let kept = window.state().state.document.weights[&id].count_above(f32::MIN_POSITIVE);
    let only = saved.expect("requested");
    assert_eq!(only.iter().filter(|m| **m).count(), kept);
    // A TCK contains no weights: the sheet names the file that does.
    click(&mut window, "Export…");
    click(&mut window, &FilterFile::Kept.name());
    click(&mut window, "Format: TCK");
    window.get_by_label_contains("Weight of each streamline: ");
    click(&mut window, "Cancel");
    // The Enter that chooses from the menu does not save as well.
    click(&mut window, "Export…");
    for key in [Key::ArrowDown, Key::ArrowDown, Key::Enter] {
        window.key_press(key);
        window.run();
    }
    window.get_by_label("Path");
}
