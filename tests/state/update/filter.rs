//! Weights of streamlines: requested, cut, shown, fitted again; and the messages where that is impossible.

mod commands;
mod confined;
mod not_fitted;
mod peaks;
mod refit;

use super::{Window, file};
use crate::support::origins::weight_maps;
use crate::support::test;
use arcuate::data::{Role, Shape, Tractogram};
use arcuate::solvers::commit;
use arcuate::solvers::commit::cylinder::Timing;
use arcuate::solvers::commit::model::Intra;
use arcuate::state::core::display::LineColouring;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::filter::{
    ExcludedStreamlines, ExtraBundle, FilterAction, FittedWeights, ScanTimings, ShownStreamlines,
    WEIGHT, WeightMap, weight,
};
use arcuate::state::segment::{SegmentAction, Start};
use arcuate::state::streamlines::{
    Column, SelectionMode, StreamlineRules, ValueLimits, streamlines_of,
};
use arcuate::state::{
    Action, Layer, LayerAction, Phase, RegionAction, StreamlineAction, Task, ViewAction,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("update::filter::weights_colours_and_maps", weights),
        test("update::filter::a_cut_shows_the_remaining_streamlines", cut),
        test("update::filter::regions_do_not_cut", by_weight_alone),
        test("update::filter::impossible_fits_give_a_reason", refused),
        test("update::filter::without_a_bundle", lesion),
        test("update::filter::without_what_passes_a_pathway", along),
        test("update::filter::edited_and_fitted_again", edited),
        test(
            "update::filter::regions_and_filters_have_sums",
            separate_sums,
        ),
        test(
            "update::filter::the_next_fit_and_the_command",
            commands::described,
        ),
    ];
    own.into_iter()
        .chain(refit::tests())
        .chain(confined::tests())
        .chain(not_fitted::tests())
        .chain(peaks::tests())
        .collect()
}

/// Along the fibres of the ball, 4 mm apart; then one far outside and one of a single point. Those at x < 0 and those
/// at x > 0 form a group each.
fn lines() -> Tractogram {
    let (mut points, mut offsets) = (Vec::new(), vec![0u64]);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut add = |line: &mut dyn Iterator<Item = [f32; 3]>| {
        points.extend(line);
        offsets.push(points.len() as u64);
    };
    let mut number = 0;
    for x in -2..=2 {
        for z in -2..=2 {
            let (x, z) = (4.0 * x as f32 - 1.0, 4.0 * z as f32 - 1.0);
            add(&mut (-8..=7).map(|y| [x, 2.0 * y as f32, z]));
            match x < -1.5 {
                true => left.push(number),
                false if x > 0.0 => right.push(number),
                false => {}
            }
            number += 1;
        }
    }
    add(&mut (0..4).map(|y| [200.0, y as f32, 0.0]));
    add(&mut std::iter::once([0.0, 0.0, 0.0]));
    Tractogram::new(points, offsets)
        .with_group("left", left)
        .with_group("right", right)
}

fn opened() -> Window {
    let mut window = Window::fitted();
    let event = file("/data/lines.trx", Loaded::Tractogram(lines()));
    window.act(Action::Event(event));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    window
}

fn act(window: &mut Window, action: FilterAction) {
    window.act(Action::Filter(action));
}

fn fitted() -> Window {
    let mut window = opened();
    act(&mut window, FilterAction::Run);
    assert_eq!(messages(&window), "");
    window
}

fn messages(window: &Window) -> String {
    let all = window.state.runtime.notices.messages.iter();
    let failed = window.state.runtime.filter.failed.iter();
    let failed = failed.map(|(_, why)| why.clone());
    let texts: Vec<String> = all.map(|m| m.text.clone()).chain(failed).collect();
    texts.join("\n")
}

fn layer(window: &Window) -> &Arc<Layer> {
    window.state.document.filtered().expect("streamlines").0
}

fn fitted_weights(window: &Window) -> &FittedWeights {
    let layer = layer(window);
    let found = window.state.document.weights_of_layer(layer);
    found.expect("weights").0
}

fn values(window: &Window) -> Vec<f32> {
    let found = window.state.document.weights_of_layer(layer(window));
    found.expect("weights").1.to_vec()
}

fn map(window: &Window, map: &WeightMap) -> Option<Vec<f32>> {
    let layer = window.state.document.weight_map(layer(window).id, map)?;
    Some(layer.content.volume()?.frame(0).to_vec())
}

fn weights() {
    let mut window = opened();
    let (_, needs) = window
        .state
        .runtime
        .filter
        .estimate
        .shown()
        .expect("counted");
    assert!(needs.demand.segments > 300, "{needs:?}");
    assert!(window.state.document.weights.is_empty());
    act(&mut window, FilterAction::Run);
    assert_eq!(messages(&window), "");
    let (layer_weights, all) = (fitted_weights(&window), values(&window));
    assert_eq!(all.len(), 27);
    assert_eq!(
        (
            layer_weights.figures.outside,
            layer_weights.figures.single_points
        ),
        (1, 1)
    );
    assert_eq!(all[25..], [0.0, 0.0], "outside, and of one point");
    assert!(
        layer_weights.sorted.len() > 20,
        "{:?}",
        layer_weights.sorted
    );
    assert_eq!(
        layer_weights.count_above(f32::MIN_POSITIVE),
        layer_weights.sorted.len()
    );
    assert!(
        layer_weights
            .curve
            .windows(2)
            .all(|w| w[1] <= w[0] * 1.0001)
    );
    let display = &layer(&window).display;
    assert_eq!(display.line_colouring, LineColouring::Weight);
    assert_eq!(
        window.state.document.shown_by_weight(layer(&window).id),
        ShownStreamlines::After
    );
    // One shell: no free water.
    assert!(map(&window, &WeightMap::Free).is_none());
    let parts = [WeightMap::Intra, WeightMap::Extra].map(|m| map(&window, &m).expect("a map"));
    let error = map(&window, &WeightMap::Error).expect("a map");
    let mut voxels = 0;
    for ((intra, extra), rmse) in parts[0].iter().zip(&parts[1]).zip(&error) {
        let sum = intra + extra;
        assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-5, "{sum}");
        assert!(*rmse >= 0.0);
        voxels += usize::from(sum > 0.0);
    }
    assert_eq!(voxels as u64, layer_weights.figures.voxels);
    // One step, with all its results.
    window.act(Action::Undo);
    assert!(window.state.document.weights.is_empty());
    assert!(weight_maps(&window.state.document).is_empty());
    assert!(window.state.document.streamlines.rules().next().is_none());
    window.act(Action::Redo);
    assert_eq!(values(&window), all);
    // The maps disappear with their streamlines.
    let id = layer(&window).id;
    window.act(Action::Layer(LayerAction::Delete(id)));
    assert!(
        !window
            .state
            .document
            .layers
            .iter()
            .any(|l| l.name.contains("RMSE"))
    );
}

/// A target that no streamline passes was placed for tracking: streamlines with a weight stay.
fn by_weight_alone() {
    let mut window = opened();
    window.place(arcuate::data::Role::Target, DVec3::splat(200.0));
    act(&mut window, FilterAction::Run);
    let id = layer(&window).id;
    let left = |window: &Window| window.state.selection(id).map(|s| s.kept);
    let kept = fitted_weights(&window).sorted.len();
    assert_eq!(left(&window), Some(kept), "{}", messages(&window));
    let left_group = FilterAction::ShowGroup(Some("left".to_owned()));
    act(&mut window, FilterAction::Show(ShownStreamlines::Before));
    assert!(window.state.document.streamlines.rules().next().is_none());
    act(&mut window, left_group);
    assert!(left(&window) > Some(0));
}

fn cut() {
    let mut window = fitted();
    let id = layer(&window).id;
    let sorted = fitted_weights(&window).sorted.clone();
    let min_weight = sorted[sorted.len() / 2];
    let steps = |window: &Window| window.state.history.undo_label().map(str::to_owned);
    for phase in [Phase::Live, Phase::Live, Phase::Done] {
        act(&mut window, FilterAction::Cut { min_weight, phase });
    }
    assert_eq!(steps(&window).as_deref(), Some("Cut of weights"));
    let kept = fitted_weights(&window).count_above(min_weight);
    let left = |window: &Window| window.state.selection(id).expect("chosen").kept;
    assert_eq!(left(&window), kept);
    act(
        &mut window,
        FilterAction::Show(ShownStreamlines::Difference),
    );
    assert_eq!(left(&window), 27 - kept);
    act(&mut window, FilterAction::Show(ShownStreamlines::Before));
    assert!(window.state.document.streamlines.rules().next().is_none());
    act(&mut window, FilterAction::Show(ShownStreamlines::After));
    act(
        &mut window,
        FilterAction::ShowGroup(Some("left".to_owned())),
    );
    let of_group = streamlines_of(layer(&window)).expect("lines").groups["left"].clone();
    let stay = of_group
        .iter()
        .filter(|i| values(&window)[**i as usize] >= min_weight);
    let stay = stay.count();
    assert_eq!(left(&window), stay);
    // The difference for the group, too, is the discarded part.
    act(
        &mut window,
        FilterAction::Show(ShownStreamlines::Difference),
    );
    assert_eq!(left(&window), of_group.len() - stay);
    assert_eq!(
        window.state.document.shown_by_weight(id),
        ShownStreamlines::Difference
    );
    act(&mut window, FilterAction::Show(ShownStreamlines::After));
    act(&mut window, FilterAction::ShowGroup(None));
    assert_eq!(left(&window), kept);
    for _ in 0..8 {
        window.act(Action::Undo);
    }
    let limit = window.state.document.streamlines.rules().next();
    let low = limit.and_then(|s| s.limit(&weight())?.low);
    assert_eq!(low, Some(f32::MIN_POSITIVE), "the drag was one step");
    act(
        &mut window,
        FilterAction::Cut {
            min_weight,
            phase: Phase::Done,
        },
    );
    act(&mut window, FilterAction::Keep);
    let kept_layer = window
        .state
        .document
        .layers
        .iter()
        .find(|l| l.name.contains("selected"));
    let some = streamlines_of(kept_layer.expect("kept")).expect("lines");
    assert_eq!(some.len(), kept);
    assert!(some.per_streamline[WEIGHT].iter().all(|w| *w >= min_weight));
}

fn set(window: &mut Window, edit: impl FnOnce(&mut arcuate::solvers::commit::Params)) {
    let mut params = window.state.document.filter_params();
    edit(&mut params);
    let (params, phase) = (Some(params), Phase::Done);
    act(window, FilterAction::Params { params, phase });
}

fn refused() {
    let mut window = Window::fitted();
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    let why = window.state.cannot_filter().expect("no streamlines");
    assert!(why.contains("no streamlines"), "{why}");
    act(&mut window, FilterAction::Run);
    assert!(messages(&window).contains("no streamlines"));
    let mut window = opened();
    assert_eq!(window.state.cannot_filter(), None);
    set(&mut window, |p| p.model.free = vec![3e-3]);
    let why = window.state.cannot_filter().expect("one shell");
    assert!(why.contains("at least two shells"), "{why}");
    act(&mut window, FilterAction::Run);
    assert!(!window.state.is_filtering());
    let (params, phase) = (None, Phase::Done);
    act(&mut window, FilterAction::Params { params, phase });
    assert_eq!(window.state.cannot_filter(), None, "as usual again");
    set(&mut window, |p| {
        p.model.intra = Intra::Cylinders {
            along: 1.7e-3,
            radii_um: commit::DEFAULT_RADII_UM.to_vec(),
        };
    });
    let why = window.state.cannot_filter().expect("no timing");
    assert!(why.contains("timing"), "{why}");
    let timing = Timing {
        pulse_ms: 20.0,
        between_ms: 40.0,
    };
    let times = ScanTimings::Both(timing);
    let phase = Phase::Done;
    act(&mut window, FilterAction::Times { times, phase });
    assert_eq!(window.state.cannot_filter(), None);
    act(&mut window, FilterAction::Run);
    assert_eq!(messages(&window), "");
    let from = window.state.document.fit_inputs(fitted_weights(&window));
    assert_eq!(from.expect("the fit").times, ScanTimings::Both(timing));
    // Elsewhere.
    let far = lines().moved(glam::DAffine3::from_translation(DVec3::splat(900.0)));
    let event = file("/data/far.trx", Loaded::Tractogram(far));
    window.act(Action::Event(event));
    let last = window.state.document.layers.iter().rev();
    let far = last
        .filter(|l| streamlines_of(l).is_some())
        .map(|l| l.id)
        .next();
    act(&mut window, FilterAction::Tractogram(far.expect("opened")));
    let why = window.state.cannot_filter().expect("elsewhere");
    assert!(why.contains("different spaces"), "{why}");
}

fn lesion() {
    let mut window = fitted();
    let before = (values(&window), fitted_weights(&window).figures.clone());
    let what = ExcludedStreamlines::Group("left".to_owned());
    cut_out(&mut window, what);
    assert_eq!(messages(&window), "");
    assert_eq!(values(&window), before.0, "nothing is taken away");
    let lesions = fitted_weights(&window).lesions.clone();
    assert_eq!((lesions.len(), lesions[0].streamlines), (1, 10));
    let [then, now] = lesions[0].objective;
    assert_eq!(then, before.1.objective);
    assert!(now > then, "{lesions:?}");
    assert!(lesions[0].rmse[1] > lesions[0].rmse[0]);
    // All the missing signal is where they ran, in voxels that no other streamline shares.
    let evidence = lesions[0].evidence.expect("their voxels");
    let figures = &before.1;
    assert!(evidence.voxels > 0 && evidence.voxels < figures.voxels);
    let squares = |rmse: [f64; 2], voxels: u64| {
        let [with, without] = rmse.map(|v| v * v * voxels as f64);
        without - with
    };
    let (here, all) = (
        squares(evidence.rmse, evidence.voxels),
        squares(lesions[0].rmse, figures.voxels),
    );
    assert!((here / all - 1.0).abs() < 0.02, "{here} {all}");
    let worse = map(&window, &WeightMap::Worse("left".to_owned())).expect("a map");
    let sum: f32 = worse.iter().sum();
    assert!(sum > 0.0, "{sum}");
    // The selected group, and the streamlines that pass a region.
    let id = layer(&window).id;
    window.act(Action::Layer(LayerAction::Select(Some(id))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0, 1, 2],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    cut_out(&mut window, ExcludedStreamlines::Chosen);
    let region = window.place(arcuate::data::Role::Include, DVec3::new(7.0, -1.0, -1.0));
    cut_out(&mut window, ExcludedStreamlines::Region(region));
    assert_eq!(messages(&window), "");
    let lesions = &fitted_weights(&window).lesions;
    assert_eq!((lesions.len(), lesions[1].streamlines), (3, 3));
    assert!(lesions[2].streamlines > 0 && lesions[2].streamlines < 27);
    window.act(Action::Undo);
    assert_eq!(fitted_weights(&window).lesions.len(), 2);
    // Fitting the same model again keeps them, another model discards them.
    let worse = |window: &Window| map(window, &WeightMap::Worse("left".to_owned()));
    act(&mut window, FilterAction::Run);
    assert_eq!(fitted_weights(&window).lesions.len(), 2);
    assert!(worse(&window).is_some());
    set(&mut window, |p| p.model.extra.truncate(1));
    act(&mut window, FilterAction::Run);
    assert_eq!(messages(&window), "");
    assert!(fitted_weights(&window).lesions.is_empty() && worse(&window).is_none());
}

/// Its voxels are counted by the worker, and equal those of its mask.
fn along() {
    let mut window = fitted();
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    let ends = [(Role::Seed, -14.0), (Role::Target, 14.0)];
    for (role, y) in ends {
        window.place(role, DVec3::new(5.0, y, 1.0));
    }
    let found = window.state.final_pathway().expect("a pathway").clone();
    let mask = found.mask(window.state.document.pathways.epsilon);
    // A surface may start from it, too.
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    window.act(Action::Segment(SegmentAction::StartFromPathway(None)));
    let Start::Mask(name, started) = &window.state.document.segment.start else {
        panic!("a mask");
    };
    assert_eq!((&**name, &started.inside), ("Pathway", &mask.inside));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    cut_out(&mut window, ExcludedStreamlines::Pathway(None));
    window.act(Action::Region(RegionAction::Add {
        role: Role::Include,
        shape: Shape::Mask(mask),
    }));
    let region = window.state.runtime.regions.selected.expect("a region");
    cut_out(&mut window, ExcludedStreamlines::Region(region));
    assert_eq!(messages(&window), "");
    let [one, other] = &fitted_weights(&window).lesions[..] else {
        panic!("{:?}", fitted_weights(&window).lesions);
    };
    assert!(one.streamlines > 0 && one.streamlines < 25, "{one:?}");
    assert_eq!(one.streamlines, other.streamlines);
    // Threads add in any order, so a repeated fit agrees up to rounding.
    let [before, after] = [0, 1].map(|i| one.objective[i] / other.objective[i] - 1.0);
    assert!(before == 0.0 && after.abs() < 1e-5, "{before} {after}");
}

fn edited() {
    let mut window = opened();
    // At the usual stop the objective may be percents from its minimum: bundles and water are nearly collinear.
    set(&mut window, |p| {
        (p.stop.kkt, p.stop.objective, p.stop.iterations) = (1e-6, 0.0, 20_000);
    });
    act(&mut window, FilterAction::Run);
    assert_eq!(messages(&window), "");
    let before = fitted_weights(&window).figures.clone();
    let id = layer(&window).id;
    window.act(Action::Layer(LayerAction::Select(Some(id))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0, 6, 12, 26],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
    assert_eq!(messages(&window), "");
    // Automatically, from the last weights.
    let (now, lines) = (
        fitted_weights(&window),
        streamlines_of(layer(&window)).expect("lines"),
    );
    assert_eq!((lines.len(), values(&window).len()), (23, 23));
    assert_eq!(now.weighted, lines.id());
    assert!(now.figures.objective > before.objective);
    let warm = now.figures.clone();
    // The refit is one step with the edit, undone and redone as a whole.
    let fitted = values(&window);
    window.act(Action::Undo);
    assert_eq!(values(&window).len(), 27);
    assert_eq!(fitted_weights(&window).figures, before);
    window.act(Action::Redo);
    assert_eq!(values(&window), fitted);
    assert_eq!(fitted_weights(&window).figures, warm);
    // A fit from zero reaches the same objective.
    act(&mut window, FilterAction::Run);
    let cold = fitted_weights(&window).figures.clone();
    let ratio = warm.objective / cold.objective;
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert_eq!((warm.voxels, warm.samples), (cold.voxels, cold.samples));
    // Automatically: where only deleted streamlines ran, the signal is no longer fitted, and no other weight depends on
    // it.
    window.state.runtime.filter.previous_fit = None;
    act(&mut window, FilterAction::Run);
    let alone = fitted_weights(&window).figures.clone();
    assert!(alone.voxels < cold.voxels && alone.objective < cold.objective);
    for (name, sum) in &alone.bundles {
        let ratio = cold.bundles[name] / sum;
        assert!((ratio - 1.0).abs() < 1e-2, "{name}: {ratio}");
    }
    for _ in 0..3 {
        window.act(Action::Undo);
    }
    assert_eq!(values(&window).len(), 27);
    assert_eq!(fitted_weights(&window).figures.objective, before.objective);
}

fn cut_out(window: &mut Window, what: ExcludedStreamlines) {
    act(window, FilterAction::Lesion(what));
}

fn extra_bundle_sums(window: &Window) -> Vec<(ExtraBundle, u64, f64)> {
    let known = window.state.runtime.filter.sums.shown();
    let (key, sums) = known.expect("sums");
    assert_eq!(
        key.tractogram,
        streamlines_of(layer(window)).expect("lines").id()
    );
    let each = key.rows.iter().zip(&sums.bundles);
    each.map(|(bundle, b)| (*bundle, b.count, b.sum)).collect()
}

fn separate_sums() {
    let mut window = fitted();
    let figures = fitted_weights(&window).figures.clone();
    assert!(extra_bundle_sums(&window).is_empty());
    let (_, sums) = window.state.runtime.filter.sums.shown().expect("sums");
    for (name, sum) in &figures.bundles {
        assert!((sums.groups[name] / sum - 1.0).abs() < 1e-9, "{name}");
    }
    assert!((sums.ungrouped / figures.rest - 1.0).abs() < 1e-9);
    // A region that all streamlines inside pass, and one that some pass.
    let role = arcuate::data::Role::Seed;
    let shape = arcuate::data::Shape::Sphere {
        centre: DVec3::splat(-1.0),
        radius_mm: 60.0,
    };
    window.act(Action::Region(RegionAction::Add { role, shape }));
    let all = window.state.runtime.regions.selected.expect("placed");
    let some = window.place(role, DVec3::new(7.0, -1.0, -1.0));
    let rows = extra_bundle_sums(&window);
    assert_eq!(
        rows.iter().map(|r| r.0).collect::<Vec<_>>(),
        [ExtraBundle::Region(all), ExtraBundle::Region(some)]
    );
    let whole = figures.bundles.values().sum::<f64>() + figures.rest;
    assert!((25..27).contains(&rows[0].1), "all but the one far outside");
    assert!((rows[0].2 / whole - 1.0).abs() < 1e-9, "{rows:?} {whole}");
    assert!(rows[1].1 > 0 && rows[1].1 < 26 && rows[1].2 < whole);
    // The streamline rules, but not the cut by weight.
    let id = layer(&window).id;
    let rules = StreamlineRules::new(id).limited(ValueLimits {
        column: Column::length(),
        low: Some(10.0),
        high: None,
        counting: Default::default(),
    });
    let phase = Phase::Done;
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules,
        phase,
    }));
    act(
        &mut window,
        FilterAction::Cut {
            min_weight: 1e9,
            phase: Phase::Done,
        },
    );
    let rows = extra_bundle_sums(&window);
    assert_eq!((rows[2].0, rows[2].1), (ExtraBundle::Filter, 25));
    assert!((rows[2].2 / whole - 1.0).abs() < 1e-9);
    // Their course is known without the fit, too.
    let segments = |window: &Window| window.state.course().expect("known").0.segments.clone();
    let with = segments(&window);
    window.state.runtime.filter.previous_fit = None;
    window.state.runtime.filter.sums = Default::default();
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    assert_eq!(segments(&window), with);
    assert_eq!(extra_bundle_sums(&window), rows);
    // The kept ones have their old weights, and sums of their own once Filter shows them.
    let before = values(&window);
    window.act(Action::Layer(LayerAction::Select(Some(id))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: (0..12).collect(),
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Streamline(StreamlineAction::KeepChosen));
    assert_eq!((layer(&window).id, extra_bundle_sums(&window)), (id, rows));
    let kept = window.state.runtime.selected_layer.expect("the kept one");
    act(&mut window, FilterAction::Tractogram(kept));
    let (kept, values) = (fitted_weights(&window), values(&window));
    assert_eq!(values, before[..12]);
    let above = values.iter().filter(|w| **w > 0.0).count();
    assert_eq!(kept.sorted.len(), above);
    let (_, sums) = window.state.runtime.filter.sums.shown().expect("sums");
    let own = sums.groups.values().sum::<f64>() + sums.ungrouped;
    assert!(own > 0.0 && own < whole, "{own} {whole}");
    let methods = arcuate::state::methods::methods(&window.state);
    assert_eq!(methods.matches("Weights of the").count(), 1, "{methods}");
}
