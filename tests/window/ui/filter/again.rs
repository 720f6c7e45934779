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
