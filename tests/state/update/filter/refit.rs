//! A repeated fit starts from zero; an unfinished one can be continued; weights of changed streamlines are discarded.

use super::*;
use arcuate::solvers::commit::solver::Ended;
use arcuate::state::filter::jobs::FIT_WEIGHTS;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::filter::again_from_zero_weights", same),
        test("update::filter::unfinished_is_continued", continued),
        test(
            "update::filter::weights_of_changed_streamlines_are_discarded",
            discarded,
        ),
    ]
}

/// Threads add in any order, so a repeated fit agrees up to rounding.
fn same() {
    let mut window = fitted();
    let first = fitted_weights(&window).clone();
    assert!(!window.state.can_continue_fit(), "it has converged");
    for action in [FilterAction::Run, FilterAction::Continue] {
        act(&mut window, action);
        let repeated = fitted_weights(&window);
        let own = 1 + repeated.figures.iterations;
        assert_eq!(repeated.curve.len(), own as usize, "no earlier run counts");
        let ratio = repeated.curve[0] / first.curve[0];
        assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
        let ratio = repeated.figures.objective / first.figures.objective;
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
        assert_eq!(repeated.sorted.len(), first.sorted.len());
    }
    assert_eq!(
        weight_maps(&window.state.document).len(),
        3,
        "maps keep their places"
    );
}

/// Streamlines are deleted while their weights are fitted: there are fewer of them than weights.
fn discarded() {
    let mut window = opened();
    let id = layer(&window).id;
    window.act(Action::Layer(LayerAction::Select(Some(id))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0, 6],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.holding = true;
    act(&mut window, FilterAction::Run);
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
    // The deletion ends first.
    window.deliver(|events| events.sort_by_key(|event| event.slot == FIT_WEIGHTS));
    window.holding = false;
    let lines = streamlines_of(layer(&window)).expect("lines");
    assert_eq!(lines.len(), 25);
    assert!(window.state.document.weights.is_empty());
    let messages = messages(&window);
    assert!(
        messages.contains("because the streamlines changed during the fit"),
        "{messages}"
    );
}

fn continued() {
    let mut window = opened();
    set(&mut window, |p| {
        (p.stop.kkt, p.stop.objective, p.stop.iterations) = (1e-9, 0.0, 5);
    });
    act(&mut window, FilterAction::Run);
    let first = fitted_weights(&window).clone();
    assert_eq!(first.figures.ended, Ended::Iterations);
    assert!(window.state.can_continue_fit());
    // The curve continues from the objective at which the first run ended.
    act(&mut window, FilterAction::Continue);
    let second = fitted_weights(&window).clone();
    assert_eq!((first.iterations(), second.iterations()), (5, 10));
    assert!(second.figures.objective < first.figures.objective);
    assert!(second.curve.windows(2).all(|w| w[1] <= w[0] * 1.0001));
    // The last run in memory is not the one that is shown.
    window.act(Action::Undo);
    assert!(!window.state.can_continue_fit());
    window.act(Action::Redo);
    assert!(window.state.can_continue_fit());
    // Other weights of the penalties are another problem.
    set(&mut window, |p| p.lasso = 0.05);
    assert!(!window.state.can_continue_fit());
    window.act(Action::Undo);
    act(&mut window, FilterAction::Run);
    let third = fitted_weights(&window);
    assert_eq!(third.iterations(), 5);
    let ratio = third.figures.objective / first.figures.objective;
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    // A command that repeats a stopped run ends where that run ended.
    let id = layer(&window).id;
    let weights = window.state.document.weights.get_mut(&id);
    let weights = Arc::make_mut(weights.expect("weights"));
    (weights.figures.ended, weights.figures.iterations) = (Ended::Cancelled, 3);
    weights.curve = weights.curve[..4].into();
    let line = arcuate::state::update::filter_command(&window.state);
    let command = line.expect("a command line").text();
    assert!(command.contains("--iterations 3 "), "{command}");
}
