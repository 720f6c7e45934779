//! The plot of a surface's volume: the leak that it marks, and its place.

use super::segment::{leaked, painted};
use super::window;
use crate::support::test;
use arcuate::state::segment::EarlierRun;
use arcuate::ui::theme;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::labels of the plot keep clear of each other", plotted),
        test("ui::only the live branch has the span of a leak", span),
    ]
}

/// The plot marks a leak's steps only for the live branch: another branch passes the same steps without a leak.
fn span() {
    let mut state = leaked().state;
    let spans = |state: &arcuate::state::State| {
        let window = window(state.clone(), [1920.0, 1080.0]);
        let amber = theme::DARK.warning.gamma_multiply(0.16);
        let shapes = window.output().shapes.iter();
        let filled = shapes.filter(|s| matches!(&s.shape, egui::Shape::Rect(r) if r.fill == amber));
        filled.count()
    };
    assert_eq!(spans(&state), 1);
    let mut live = (**state.runtime.segment.live.as_ref().expect("a surface")).clone();
    live.leak.take().expect("a leak");
    let growth = live.growth.clone();
    state.runtime.segment.plotted.earlier_runs = vec![EarlierRun { growth }];
    state.runtime.segment.live = Some(Arc::new(live.clone()));
    assert_eq!(spans(&state), 0);
    let marked = |state: &arcuate::state::State| {
        let texts = painted(&window(state.clone(), [1920.0, 1080.0]));
        texts.iter().any(|(text, _)| text == "leak")
    };
    assert!(!marked(&state), "the branch that leaked is left");
    // The leak also lies on the live branch: it counts as one leak, however often the user rewound.
    for _ in 0..4 {
        let left = state.runtime.segment.plotted.earlier_runs[0].clone();
        state.runtime.segment.plotted.earlier_runs.push(left);
    }
    let repeated = leaked().state.runtime.segment.live.clone();
    let mut with_leak = state.clone();
    with_leak.runtime.segment.live = repeated;
    assert!(marked(&with_leak));
    assert_eq!(spans(&with_leak), 1);
    // Back at the start nothing of another run is drawn.
    live.growth.truncate(1);
    live.step = 0;
    state.runtime.segment.live = Some(Arc::new(live));
    let lines = |state: &arcuate::state::State| {
        let window = window(state.clone(), [1920.0, 1080.0]);
        let grey = egui::epaint::ColorMode::Solid(theme::DARK.t3.gamma_multiply(0.8));
        let trace = |s: &egui::Shape| match s {
            egui::Shape::Path(path) => path.stroke.width == 1.25 && path.stroke.color == grey,
            _ => false,
        };
        let shapes = window.output().shapes.iter();
        shapes.filter(|s| trace(&s.shape)).count()
    };
    assert!(lines(&with_leak) >= 5, "grey traces");
    assert_eq!(lines(&state), 0);
}

/// A leak just before the end of the plot, next to one of another branch.
fn plotted() {
    let mut state = leaked().state;
    let mut live = (**state.runtime.segment.live.as_ref().expect("a surface")).clone();
    let inside = live.inside;
    live.step = 1584;
    live.growth = vec![(0, 100), (1584, inside)];
    live.leak.as_mut().expect("a leak").leak.rewind_step = 1570;
    state.runtime.segment.live = Some(Arc::new(live));
    state.runtime.segment.plotted.earlier_runs = vec![EarlierRun {
        growth: vec![(1560, 100), (1580, inside)],
    }];
    let window = window(state, [1920.0, 1080.0]);
    let texts = painted(&window);
    let find = |end: &str| {
        let is = |text: &str| text == end || end != "leak" && text.ends_with(end);
        let found = texts.iter().filter(|(text, _)| is(text));
        let found: Vec<_> = found.collect();
        let [(_, rect)] = &*found else {
            panic!("{end}: {found:?}");
        };
        *rect
    };
    let (leaks, steps) = (find("leak"), find("584 steps"));
    assert!(leaks.right() + 4.0 <= steps.left(), "{leaks:?} {steps:?}");
}
