//! Runs that continue an unfinished fit.

use super::*;

/// Iterations and time are counted from the start of the first run.
pub fn time() {
    let mut window = filtering();
    let mut params = window.state().state.document.filter_params();
    (
        params.stop.kkt,
        params.stop.objective,
        params.stop.iterations,
    ) = (1e-9, 0.0, 2);
    let (params, phase) = (Some(params), Phase::Done);
    act(
        &mut window,
        Action::Filter(FilterAction::Params { params, phase }),
    );
    let mut known = (0, 0.0);
    for run in 0..3 {
        act(&mut window, Action::Filter(FilterAction::Continue));
        carry_out::<FitWeights>(&mut window);
        let document = &window.state().state.document;
        let fitted = document.weights.values().next().expect("weights");
        let figures = &fitted.figures;
        let now = (fitted.iterations(), figures.prepare_ms + figures.fit_ms);
        assert!(
            now.0 >= known.0 && now.1 > known.1,
            "{run}: {now:?} after {known:?}"
        );
        known = now;
    }
}

/// The colour bar of the streamlines below the cut names the layer of their weights.
pub fn difference() {
    let mut state = state_with_weights();
    let names = |state: &State| -> Vec<String> {
        let names = of_scene(state).into_iter().filter_map(|l| match l {
            Legend::Bar { name, .. } => Some(name),
            _ => None,
        });
        names.collect()
    };
    assert_eq!(names(&state), ["Weight"]);
    let shown = ShownStreamlines::Difference;
    update(&mut state, Action::Filter(FilterAction::Show(shown)));
    assert_eq!(names(&state), ["Weight of those cut"]);
}

/// Weights of other settings are dimmed in the views and marked as out of date, until the settings return.
pub fn stale() {
    let state = state_with_weights();
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    let opacity = |state: &State| {
        let lines = scene::scene(state, size).lines;
        let by_weight = lines
            .iter()
            .find(|l| matches!(&l.colour, LineColour::Scalar { name, .. } if name == WEIGHT));
        by_weight.expect("coloured by weight").opacity
    };
    let legend = |state: &State| {
        of_scene(state).into_iter().find_map(|l| match l {
            Legend::Bar { name, is_stale, .. } => Some((name, is_stale)),
            _ => None,
        })
    };
    assert_eq!(opacity(&state), 1.0);
    assert!(!state.weights_are_stale());
    let mut window = window(state, [1920.0, 1080.0]);
    let before = window.state().state.document.filter_params();
    let set = |window: &mut Window, params| {
        let (params, phase) = (Some(params), Phase::Done);
        act(
            window,
            Action::Filter(FilterAction::Params { params, phase }),
        );
    };
    let mut params = before.clone();
    params.model.intra = Intra::Stick { along: 2.1e-3 };
    set(&mut window, params);
    assert_eq!(opacity(&window.state().state), STALE_OPACITY);
    assert_eq!(
        legend(&window.state().state),
        Some(("Weight, out of date".to_owned(), true))
    );
    let shown = badge::text(&window.state().state).map(|(text, _)| text);
    assert_eq!(shown.as_deref(), Some("Out of date"));
    window.get_by_label_contains("before the settings were changed: run the fit again");
    window.get_by_label("out of date");
    // The card of each export says the same.
    for file in [FilterFile::Kept, FilterFile::Weights] {
        click(&mut window, "Export…");
        click(&mut window, &file.name());
        window.get_by_label_contains("those of earlier settings: run the fit again first");
        click(&mut window, "Cancel");
    }
    // Until the new fit has ended, all figures are those of the old one.
    let mut running = super::window(window.state().state.clone(), [1920.0, 1080.0]);
    act(&mut running, Action::Filter(FilterAction::Run));
    assert!(running.state().state.is_filtering());
    running.get_by_label("out of date");
    click(&mut running, "Export…");
    click(&mut running, &FilterFile::Kept.name());
    running.get_by_label_contains("an earlier fit: wait for the running fit first");
    click(&mut running, "Cancel");
    carry_out::<FitWeights>(&mut running);
    assert!(running.query_by_label("out of date").is_none());
    click(&mut running, "Export…");
    click(&mut running, &FilterFile::Kept.name());
    assert!(
        running
            .query_by_label_contains("These weights are")
            .is_none()
    );
    // A later end of the iterations is not another model; another task shows the values of the layer.
    let mut longer = before;
    longer.stop.iterations += 100;
    let mut other = window.state().state.clone();
    other.view.task = Task::View;
    assert_eq!(opacity(&other), 1.0);
    set(&mut window, longer);
    assert_eq!(opacity(&window.state().state), 1.0);
    assert!(
        window
            .query_by_label_contains("before the settings were changed")
            .is_none()
    );
    assert_eq!(
        legend(&window.state().state),
        Some(("Weight".to_owned(), false))
    );
}
