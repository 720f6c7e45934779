//! The FA along the streamlines of a file, for their colours.

use super::{Window, file};
use crate::support::{lines, test};
use arcuate::data::Tractogram;
use arcuate::scene;
use arcuate::scene::draw_list::LineColour;
use arcuate::state::core::display::LineColouring;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::streamlines::{Column, StreamlineRules, ValueLimits, streamlines_of};
use arcuate::state::{Action, Display, LayerAction, LayerId, Phase, StreamlineAction};
use glam::dvec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("update::colours::FA comes from the fit", fa)]
}

/// Colours of the last layer as drawn, and the FA along it.
fn drawn(window: &Window) -> (LineColour, Option<Vec<f32>>) {
    let all = scene::tractograms(&window.state);
    let (lines, display) = all.last().expect("streamlines");
    let along = lines.per_point.get("fa").map(|values| values.to_vec());
    (scene::line_colour(lines, display), along)
}

fn stored(window: &Window, layer: LayerId) -> &Tractogram {
    let layer = window.state.document.layer(layer).expect("a layer");
    streamlines_of(layer).expect("streamlines")
}

fn shows_fa(window: &Window) -> bool {
    matches!(drawn(window).0, LineColour::Scalar { name, .. } if name == "fa")
}

fn fa() {
    let mut window = Window::fitted();
    let beam = |x: f64, low: i32| {
        let points = (low..7).map(|y| dvec3(x, 2.0 * f64::from(y), -1.0));
        points.collect::<Vec<_>>()
    };
    let beams = lines(&[beam(-1.0, -7), beam(3.0, 0)]);
    let points = beams.points.len();
    window.act(Action::Event(file(
        "/data/beams.tck",
        Loaded::Tractogram(beams),
    )));
    let layer: LayerId = window.state.document.layers.last().expect("opened").id;
    let before = window.state.document.layer(layer).expect("a layer").clone();
    let display = Display {
        visible: true,
        line_colouring: LineColouring::Fa,
        ..before.display.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer,
        display,
        phase,
    }));
    assert!(shows_fa(&window), "{:?}", drawn(&window).0);
    let along = drawn(&window).1.expect("sampled");
    assert_eq!(along.len(), points);
    assert!(along.iter().all(|fa| (0.0..=1.0).contains(fa)) && along.iter().any(|fa| *fa > 0.1));
    // The layer itself is as its file.
    assert!(!stored(&window, layer).per_point.contains_key("fa"));

    // A filter keeps the longer one.
    let rules = StreamlineRules::new(layer).limited(ValueLimits {
        column: Column::Value("length".to_owned()),
        low: Some(20.0),
        high: None,
        counting: Default::default(),
    });
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules,
        phase,
    }));
    assert!(shows_fa(&window));
    assert_eq!(drawn(&window).1.expect("sampled").len(), 14);

    // Without a fit there is none to sample.
    assert!(window.state.has_fa_along(stored(&window, layer)));
    window.state.document.tensors = None;
    assert!(!window.state.has_fa_along(stored(&window, layer)));
}
