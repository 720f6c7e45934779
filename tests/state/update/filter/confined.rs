//! The task Filter's display of streamlines is confined to it; a model that the scan does not determine.

use super::{Window, act, fitted, layer, messages, opened};
use crate::support::origins::weight_maps;
use crate::support::test;
use arcuate::data::Role;
use arcuate::jobs::Outcome;
use arcuate::state::core::display::LineColouring;
use arcuate::state::filter::jobs::{FIT_WEIGHTS, FitWeights};
use arcuate::state::filter::{ByWeight, FilterAction, Filtering, ShownStreamlines, weight};
use arcuate::state::streamlines::{
    Column, RegionRule, StreamlineRules, StreamlineSettings, ValueLimits,
};
use arcuate::state::{Action, LayerAction, LayerId, Phase, StreamlineAction, Task, ViewAction};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "update::filter::the_display_of_filter_ends_with_its_task",
            confined,
        ),
        test("update::filter::a_filter_of_the_user_stays", of_the_user),
        test("update::filter::one_shell_can_be_forced", forced),
        test("update::filter::a_kept_layer_is_not_taken", keep),
        test("update::filter::each_layer_keeps_what_is_shown", two_layers),
        test(
            "update::filter::filters_of_layers_are_independent",
            independent,
        ),
        test("update::filter::an_ignored_region_stays_ignored", ignored),
        test(
            "update::filter::a_failure_belongs_to_its_layer",
            separate_failures,
        ),
        test("update::filter::a_deleted_layer_leaves_no_filter", deleted),
        test("update::filter::each_colouring_has_its_window", colourings),
        test("update::filter::settings_of_layers_are_read", settings_read),
    ]
}

fn show_task(window: &mut Window, task: Task) {
    window.act(Action::View(ViewAction::SelectTask(task)));
}

fn shown(window: &Window) -> ShownStreamlines {
    window.state.document.shown_by_weight(layer(window).id)
}

fn confined() {
    let mut window = fitted();
    let id = layer(&window).id;
    assert_eq!(shown(&window), ShownStreamlines::After);
    let kept = window.state.selection(id).expect("chosen").kept;
    for task in [Task::View, Task::Track, Task::Segment, Task::Pathways] {
        show_task(&mut window, task);
        assert!(
            window.state.document.streamlines.rules().next().is_none(),
            "{task:?}"
        );
        assert!(
            window.state.selection(id).is_none(),
            "all are seen in {task:?}"
        );
        show_task(&mut window, Task::Filter);
        assert_eq!(shown(&window), ShownStreamlines::After, "after {task:?}");
        assert_eq!(window.state.selection(id).expect("chosen").kept, kept);
    }
    // A group, too, is shown only there.
    let group = Some("left".to_owned());
    act(&mut window, FilterAction::ShowGroup(group.clone()));
    act(
        &mut window,
        FilterAction::Show(ShownStreamlines::Difference),
    );
    let rules = window.state.document.streamlines.rules().next().cloned();
    show_task(&mut window, Task::View);
    assert!(window.state.document.streamlines.rules().next().is_none());
    // Undo and redo in another task restore none.
    window.act(Action::Undo);
    assert!(window.state.document.streamlines.rules().next().is_none());
    window.act(Action::Redo);
    assert!(window.state.document.streamlines.rules().next().is_none());
    show_task(&mut window, Task::Filter);
    assert_eq!(
        window.state.document.streamlines.rules().next().cloned(),
        rules
    );
    // The fit ends while another task is selected.
    let mut window = opened();
    window.holding = true;
    act(&mut window, FilterAction::Run);
    show_task(&mut window, Task::View);
    window.holding = false;
    window.deliver(|_| {});
    assert!(!window.state.is_filtering());
    assert!(window.state.document.streamlines.rules().next().is_none());
    // The status stays until the user selects a third task.
    let layer_weights = |window: &Window| {
        window
            .state
            .runtime
            .notices
            .status
            .ends_with("have a weight")
    };
    assert!(
        layer_weights(&window),
        "{}",
        window.state.runtime.notices.status
    );
    show_task(&mut window, Task::Filter);
    assert_eq!(shown(&window), ShownStreamlines::After);
    assert!(layer_weights(&window));
    show_task(&mut window, Task::Pathways);
    assert_eq!(window.state.runtime.notices.status, "");
}

/// A filter set in another task belongs to the user, with any contents.
fn of_the_user() {
    let mut window = fitted();
    let id = layer(&window).id;
    act(&mut window, FilterAction::Show(ShownStreamlines::Before));
    assert_eq!(window.state.document.filter.by_weight_of(id), None);
    show_task(&mut window, Task::View);
    let own = StreamlineRules::new(id).limited(ValueLimits {
        column: weight(),
        low: Some(1e-4),
        high: None,
        counting: Default::default(),
    });
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules: own.clone(),
        phase: Phase::Done,
    }));
    for task in [Task::Filter, Task::Segment, Task::View] {
        show_task(&mut window, task);
        assert_eq!(
            window.state.document.streamlines.rules().next(),
            Some(&own),
            "{task:?}"
        );
    }
}

fn forced() {
    let mut window = opened();
    let set = |window: &mut Window, force: bool| {
        let mut params = window.state.document.filter_params();
        params.model.free = vec![3e-3];
        params.force_model = force;
        let (params, phase) = (Some(params), Phase::Done);
        act(window, FilterAction::Params { params, phase });
    };
    set(&mut window, false);
    let why = window.state.cannot_filter().expect("one shell");
    assert!(
        why.contains("at least two shells") && !why.contains("--"),
        "{why}"
    );
    assert!(window.state.document.undetermined_model().is_some());
    // The row of the model reports it, with the remedy: no note pushes the inputs down.
    act(&mut window, FilterAction::Run);
    assert!(window.state.runtime.notices.messages.is_empty());
    assert_eq!(window.state.runtime.notices.status, why);
    set(&mut window, true);
    assert_eq!(window.state.cannot_filter(), None);
    act(&mut window, FilterAction::Run);
    assert_eq!(messages(&window), "");
    let id = layer(&window).id;
    let layer_weights = window.state.document.weights[&id].clone();
    let from = window.state.document.fit_inputs(&layer_weights);
    assert!(from.expect("the fit").params.force_model);
    let command = arcuate::state::update::filter_command(&window.state).expect("a command");
    assert!(
        command.text().contains(" --force-model"),
        "{}",
        command.text()
    );
}

/// The streamlines that pass the cut become a layer; weights, maps and the cut stay with the selected ones.
fn keep() {
    let mut window = fitted();
    let id = layer(&window).id;
    let (rules, maps) = {
        let document = &window.state.document;
        (
            document.streamlines.rules().next().cloned(),
            weight_maps(document),
        )
    };
    assert!(rules.is_some() && !maps.is_empty());
    act(&mut window, FilterAction::Keep);
    let document = &window.state.document;
    assert_eq!(layer(&window).id, id);
    assert!(layer(&window).display.visible);
    assert_eq!(
        (document.streamlines.rules_of(id), weight_maps(document)),
        (rules.as_ref(), maps)
    );
    assert!(window.state.holds_fit(), "the next run goes on from it");
    let kept = window.state.runtime.selected_layer.expect("the kept one");
    let kept = document.layer(kept).expect("found");
    assert!(kept.id != id && !kept.display.visible);
    let name = layer(&window).name.clone();
    let status = window.state.runtime.notices.status.clone();
    assert!(
        status.contains("hidden") && status.ends_with(&name),
        "{status}"
    );
    // One step, and the user may select the other.
    let kept = kept.id;
    act(&mut window, FilterAction::Tractogram(kept));
    assert_eq!(layer(&window).id, kept);
    for _ in 0..2 {
        window.act(Action::Undo);
    }
    assert!(window.state.document.layer(kept).is_none());
    assert_eq!(layer(&window).id, id);
    assert_eq!(window.state.document.filter.tractogram, None);
}

/// Before, After and Difference, and one bundle alone, are chosen for each layer.
fn two_layers() {
    let mut window = fitted();
    let first = layer(&window).id;
    act(&mut window, FilterAction::Keep);
    let second = window.state.runtime.selected_layer.expect("the kept one");
    let look_at = |window: &mut Window, id| act(window, FilterAction::Tractogram(id));
    let rules = |window: &Window| {
        let settings = &window.state.document.streamlines;
        settings.rules_of(layer(window).id).cloned()
    };
    act(
        &mut window,
        FilterAction::Show(ShownStreamlines::Difference),
    );
    look_at(&mut window, second);
    act(&mut window, FilterAction::Run);
    assert_eq!(layer(&window).id, second);
    let document = &window.state.document;
    assert!(document.weights_of_layer(layer(&window)).is_some());
    act(&mut window, FilterAction::Show(ShownStreamlines::After));
    for (id, choice) in [
        (first, ShownStreamlines::Difference),
        (second, ShownStreamlines::After),
    ] {
        look_at(&mut window, id);
        assert_eq!(shown(&window), choice);
        show_task(&mut window, Task::View);
        assert!(!window.state.document.streamlines.has_rules());
        show_task(&mut window, Task::Filter);
        // Viewing this layer does not change the display of the other one.
        let document = &window.state.document;
        assert_eq!(
            document.shown_by_weight(first),
            ShownStreamlines::Difference
        );
        assert_eq!(document.shown_by_weight(second), ShownStreamlines::After);
        assert_eq!(shown(&window), choice);
    }
    let group = Some("left".to_owned());
    act(&mut window, FilterAction::ShowGroup(group));
    let with_group = rules(&window);
    look_at(&mut window, first);
    assert_eq!(rules(&window).and_then(|s| s.group), None);
    look_at(&mut window, second);
    assert_eq!(rules(&window), with_group);
    // A layer that is set to show all stays so, and undo restores the display.
    act(&mut window, FilterAction::ShowGroup(None));
    act(&mut window, FilterAction::Show(ShownStreamlines::Before));
    look_at(&mut window, first);
    look_at(&mut window, second);
    assert_eq!(shown(&window), ShownStreamlines::Before);
    for _ in 0..2 {
        window.act(Action::Undo);
    }
    assert_eq!(shown(&window), ShownStreamlines::Before);
    window.act(Action::Undo);
    assert_eq!(shown(&window), ShownStreamlines::After);
    // A filter of the user for one layer is not taken away by a look at another.
    look_at(&mut window, first);
    let own = StreamlineRules::new(first).limited(ValueLimits {
        column: Column::length(),
        low: Some(1.0),
        high: None,
        counting: Default::default(),
    });
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules: own.clone(),
        phase: Phase::Done,
    }));
    look_at(&mut window, second);
    let settings = &window.state.document.streamlines;
    assert_eq!(settings.rules_of(first), Some(&own));
    assert_eq!(shown(&window), ShownStreamlines::After);
}

/// A filter in View leaves what Filter shows of another layer, and the choices in Filter leave that filter.
fn independent() {
    let mut window = fitted();
    let first = layer(&window).id;
    act(&mut window, FilterAction::Keep);
    let second = window.state.runtime.selected_layer.expect("the kept one");
    act(
        &mut window,
        FilterAction::Show(ShownStreamlines::Difference),
    );
    show_task(&mut window, Task::View);
    let own = StreamlineRules::new(second).limited(ValueLimits {
        column: Column::length(),
        low: Some(1.0),
        high: None,
        counting: Default::default(),
    });
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules: own.clone(),
        phase: Phase::Done,
    }));
    show_task(&mut window, Task::Filter);
    for choice in [
        ShownStreamlines::Difference,
        ShownStreamlines::After,
        ShownStreamlines::Before,
    ] {
        assert_eq!(layer(&window).id, first);
        act(&mut window, FilterAction::Show(choice));
        assert_eq!(shown(&window), choice);
        let document = &window.state.document;
        assert_eq!(
            document.streamlines.rules_of(second),
            Some(&own),
            "{choice:?}"
        );
        // Both are computed: one does not replace the other.
        assert!(
            window.state.selection_result(second).is_some(),
            "{choice:?}"
        );
        let by_weight = window.state.selection_result(first).is_some();
        assert_eq!(by_weight, choice != ShownStreamlines::Before, "{choice:?}");
        show_task(&mut window, Task::View);
        let document = &window.state.document;
        assert_eq!(
            document.streamlines.rules_of(second),
            Some(&own),
            "{choice:?}"
        );
        assert_eq!(document.streamlines.rules_of(first), None, "{choice:?}");
        show_task(&mut window, Task::Filter);
    }
    // A session stores the filters of both layers.
    let bundle = &window.state.document.streamlines;
    let own_of_both = own.clone();
    let mut both = bundle.clone();
    both.set_rules(StreamlineRules::new(first));
    let text = serde_json::to_string(&both).expect("JSON");
    let read: StreamlineSettings = serde_json::from_str(&text).expect("a bundle");
    assert_eq!(read, both);
    assert_eq!(read.rules_of(second), Some(&own_of_both));
}

/// A region that the user ignores in a filter stays so: through the choices of Filter, and while the filter is off.
fn ignored() {
    let mut window = fitted();
    let id = layer(&window).id;
    window.place(Role::Target, DVec3::splat(200.0));
    let region = window.state.document.regions[0].id;
    show_task(&mut window, Task::View);
    let switch = |window: &mut Window, enabled| {
        let layer = id;
        window.act(Action::Streamline(StreamlineAction::SwitchFilter {
            layer,
            enabled,
        }));
    };
    switch(&mut window, true);
    let own = window
        .state
        .document
        .streamlines
        .rules_of(id)
        .expect("a filter");
    let own = own.clone().using(region, Role::Target, RegionRule::Nothing);
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules: own.clone(),
        phase: Phase::Done,
    }));
    for choice in ShownStreamlines::ALL {
        show_task(&mut window, Task::Filter);
        act(&mut window, FilterAction::Show(choice));
        assert_eq!(shown(&window), choice);
        show_task(&mut window, Task::View);
        let bundle = &window.state.document.streamlines;
        assert_eq!(bundle.rules_of(id), Some(&own), "{choice:?}");
    }
    switch(&mut window, false);
    assert_eq!(window.state.document.streamlines.rules_of(id), None);
    switch(&mut window, true);
    assert_eq!(window.state.document.streamlines.rules_of(id), Some(&own));
}

/// A fit that fails while another layer is selected does not concern that one.
fn separate_failures() {
    let mut window = fitted();
    let first = layer(&window).id;
    act(&mut window, FilterAction::Keep);
    let second = window.state.runtime.selected_layer.expect("the kept one");
    window.holding = true;
    act(&mut window, FilterAction::Run);
    act(&mut window, FilterAction::Tractogram(second));
    window.deliver(|events| {
        let mut fits = events.iter_mut().filter(|e| e.slot == FIT_WEIGHTS);
        let fit = fits.next().expect("a fit");
        let failed = Outcome::Failed("No memory".to_owned().into());
        *fit.outcome_mut::<FitWeights>().expect("a fit") = failed;
    });
    window.holding = false;
    assert!(!window.state.is_filtering());
    assert_eq!(window.state.why_fit_failed(), None);
    act(&mut window, FilterAction::Tractogram(first));
    assert_eq!(window.state.why_fit_failed(), Some("No memory"));
}

/// The filter of a layer goes with it, and returns with it.
fn deleted() {
    let mut window = fitted();
    let id = layer(&window).id;
    let rules = window.state.document.streamlines.rules_of(id).cloned();
    assert!(rules.is_some());
    let (min_weight, phase) = (1e-4, Phase::Done);
    act(&mut window, FilterAction::Cut { min_weight, phase });
    let cut = |window: &Window| window.state.document.filter.cut_of(id);
    assert_eq!(cut(&window), min_weight);
    let rules = window.state.document.streamlines.rules_of(id).cloned();
    window.act(Action::Layer(LayerAction::Delete(id)));
    assert_eq!(cut(&window), 0.0);
    assert!(!window.state.document.streamlines.has_rules());
    let mut settings = window.state.document.filter.each_by_weight();
    assert!(settings.next().is_none());
    drop(settings);
    window.act(Action::Undo);
    assert_eq!(
        window.state.document.streamlines.rules_of(id).cloned(),
        rules
    );
    assert_eq!(cut(&window), min_weight);
}

/// Colours of another value leave those of the weights as they were, and the reverse.
fn colourings() {
    let mut window = fitted();
    let id = layer(&window).id;
    let colour = |window: &mut Window, line_colouring, ends: Option<(f32, f32)>| {
        let mut display = layer(window).display.clone();
        display.line_colouring = line_colouring;
        display.window = ends.unwrap_or(display.window);
        let (layer, phase) = (id, Phase::Done);
        window.act(Action::Layer(LayerAction::SetDisplay {
            layer,
            display,
            phase,
        }));
        layer_window(window)
    };
    let of_weights = window.state.document.weights[&id].window();
    assert_eq!(layer_window(&window), of_weights);
    let other = (0.25, 0.75);
    assert_eq!(
        colour(&mut window, LineColouring::Length, Some(other)),
        other
    );
    assert_eq!(colour(&mut window, LineColouring::Weight, None), of_weights);
    // A window that the user set stays while the colouring does.
    assert_eq!(
        colour(&mut window, LineColouring::Weight, Some(other)),
        other
    );
}

fn layer_window(window: &Window) -> (f32, f32) {
    layer(window).display.window
}

/// A session holds the settings of each layer; invalid cuts become none.
fn settings_read() {
    let text = r#"{"layers": [
        [2, {"cut": 0.5, "by_weight": {"off": {"shown": "difference", "group": "left"}}}],
        [3, {"cut": -1.0, "by_weight": {"on": {"group": false}}}],
        [4, {"cut": -1.0}]
    ]}"#;
    let read: Filtering = serde_json::from_str(text).expect("settings");
    let read = read.sanitized();
    let cuts = [2, 3, 4].map(|layer| read.cut_of(LayerId(layer)));
    assert_eq!(cuts, [0.5, 0.0, 0.0]);
    let off = ByWeight::Off {
        shown: ShownStreamlines::Difference,
        group: Some("left".to_owned()),
    };
    let on = ByWeight::On {
        group: false,
        has_own_rules: false,
    };
    let by_weight = [2, 3, 4].map(|layer| read.by_weight_of(LayerId(layer)).cloned());
    assert_eq!(by_weight, [Some(off), Some(on), None]);
    let text = serde_json::to_string(&read).expect("JSON");
    let repeated: Filtering = serde_json::from_str(&text).expect("settings");
    assert_eq!(repeated, read);
    let mut without = repeated.clone();
    without.set_cut(LayerId(4), 0.25);
    assert_ne!(without, read);
    without.set_cut(LayerId(4), 0.0);
    assert_eq!(without, read, "a layer without settings leaves nothing");
}
