//! Distances of the surface from streamlines: what is measured, what is left out, and that they are never too large.

use super::super::segment::{act, live, ready, sphere};
use super::Window;
use crate::support::{lines, test};
use arcuate::data::{Role, Tractogram};
use arcuate::solvers::level_set::distance::{EXACT_MM, Isosurface, to_streamlines};
use arcuate::state::core::layer::{Content, LayerId};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::segment::SegmentAction;
use arcuate::state::streamlines::{Column, StreamlineRules, ValueLimits};
use arcuate::state::{
    Action, Display, Distance, LayerAction, Phase, Proximity, StreamlineAction, TrackAction,
    ViewAction, update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::segment::near: between two points", between),
        test(
            "update::segment::near: streamlines through the surface are counted",
            through,
        ),
        test("update::segment::near: excluded streamlines", excluded),
        test("update::segment::near: while it moves", moving),
        test("update::segment::near: the live result has one name", named),
    ]
}

/// Two points each, 60 mm apart, this far above the middle.
fn beams(away: &[f64]) -> Tractogram {
    let beam = |y: &f64| vec![dvec3(-30.0, *y, 0.0), dvec3(30.0, *y, 0.0)];
    lines(&away.iter().map(beam).collect::<Vec<_>>())
}

fn open(window: &mut Window, name: &str, lines: Tractogram) -> LayerId {
    let file = super::super::file(name, Loaded::Tractogram(lines));
    window.act(Action::Event(file));
    window.state.document.layers.last().expect("a layer").id
}

fn near(window: &Window) -> Vec<Proximity> {
    let figures = live(window).figures.as_ref().expect("figures");
    figures.distances.clone()
}

/// Distances name the live result as the list of layers does.
fn named() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    let display = Display {
        visible: false,
        ..window.state.document.live_display().clone()
    };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetDisplay { display, phase }));
    assert_eq!(window.state.hidden_from_distances(), ["Streamlines, live"]);
}

/// The surface is a sphere of 5 mm on voxels of 1.5 mm.
const RADIUS_MM: f64 = 5.0;
/// Trilinear between the distances of this sphere.
const DRAWN_MM: f64 = 0.15;

fn between() {
    let mut window = ready();
    open(&mut window, "/data/beam.tck", beams(&[RADIUS_MM + 2.33]));
    let found = near(&window);
    let Distance::Away { mm, point } = found[0].met else {
        panic!("{found:?}");
    };
    assert!((mm - 2.33).abs() < DRAWN_MM, "{mm} for 2.33");
    assert!(
        point.x.abs() < 2.0 && (point.y - RADIUS_MM - 2.33).abs() < 1e-4,
        "{point}"
    );
    // The distances are as exact as the search itself, for the drawn surface.
    let field = &live(&window).measured.field;
    let beam = beams(&[RADIUS_MM + 2.33]);
    let own = to_streamlines(&Isosurface::of_field(field), &beam, None, EXACT_MM).expect("both");
    assert!((own.mm - mm).abs() <= 1e-3, "{own:?} {mm}");
    let name = &window.state.document.layers.last().expect("a layer").name;
    assert_eq!((&found[0].name, found[0].is_streamlines), (name, true));
}

fn through() {
    let mut window = ready();
    open(
        &mut window,
        "/data/beams.tck",
        beams(&[0.0, 4.0, -3.0, 9.0, 12.0]),
    );
    let found = near(&window);
    let Distance::Crossing { count, total, at } = found[0].met else {
        panic!("{found:?}");
    };
    assert_eq!((count, total), (3, 5));
    assert!(at.length() < RADIUS_MM, "{at} is outside");
    window.act(Action::View(ViewAction::MoveCrosshair(at)));
    assert_eq!(window.state.view.crosshair, at);
}

fn excluded() {
    let mut window = ready();
    let layer = open(&mut window, "/data/beams.tck", beams(&[0.0, 9.0, 12.0]));
    let other = open(&mut window, "/data/far.tck", beams(&[20.0]));
    let name = |window: &Window, id| {
        let layer = window.state.document.layer(id);
        layer.expect("a layer").name.clone()
    };
    let names = [name(&window, layer), name(&window, other)];
    assert_eq!(near(&window).len(), 2);
    assert_eq!(window.state.not_measured(), Vec::<String>::new());
    let shown = window.state.document.layer(other);
    let display = Display {
        visible: false,
        ..shown.expect("a layer").display.clone()
    };
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: other,
        display,
        phase: Phase::Done,
    }));
    assert_eq!(near(&window).len(), 1, "the eye is off");
    assert_eq!(window.state.hidden_from_distances(), [names[1].clone()]);
    assert_eq!(window.state.not_measured(), Vec::<String>::new());
    // The distances without the streamline that passes through.
    let lengths = window.state.document.layer(layer).cloned();
    let Some(Content::Tractogram(all)) = lengths.map(|l| l.content.clone()) else {
        panic!("streamlines");
    };
    window.state.document.edit_layer(layer, |l| {
        let values = vec![1.0, 2.0, 3.0];
        l.content = Content::Tractogram(all.with_new_id().with_per_streamline("rank", values));
    });
    let rules = StreamlineRules::new(layer).limited(ValueLimits {
        column: Column::Value("rank".to_owned()),
        low: Some(1.5),
        high: None,
        counting: Default::default(),
    });
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules,
        phase: Phase::Done,
    }));
    let found = near(&window);
    let Distance::Away { mm, .. } = found[0].met else {
        panic!("what is filtered out does not count: {found:?}");
    };
    assert!((mm - 4.0).abs() < DRAWN_MM, "{mm}");
    assert_eq!(
        window.state.not_measured(),
        [format!("1 of 3 of {} (filtered out)", names[0])]
    );
    assert_eq!(window.state.hidden_from_distances(), [names[1].clone()]);
    // An empty one is neither near nor left out.
    open(&mut window, "/data/none.tck", Tractogram::empty());
    assert_eq!(near(&window).len(), 1);
    assert_eq!(window.state.not_measured().len(), 1);
    assert_eq!(window.state.hidden_from_distances().len(), 1);
}

/// The figures of every step are those of its surface.
fn moving() {
    let mut window = ready();
    let all: Vec<f64> = (0..200).map(|i| 9.0 + 0.05 * f64::from(i)).collect();
    open(&mut window, "/data/beams.tck", beams(&all));
    let mut last = f64::INFINITY;
    for _ in 0..4 {
        act(&mut window, SegmentAction::Step);
        let figures = live(&window).figures.clone().expect("figures");
        assert_eq!(figures.step, live(&window).step);
        let own = Isosurface::of_field(&live(&window).measured.field);
        let exact = to_streamlines(&own, &beams(&all), None, EXACT_MM).expect("both");
        let Distance::Away { mm, .. } = figures.distances[0].met else {
            assert!(matches!(
                figures.distances[0].met,
                Distance::Crossing { .. }
            ));
            break;
        };
        assert!((mm - exact.mm).abs() <= 1e-3, "{mm} {exact:?}");
        assert!(mm < last, "it grows: {mm} after {last}");
        last = mm;
    }
    assert!(last < 4.0, "{last}");
    // A sphere added next to it is measured at once.
    sphere(&mut window, true, DVec3::new(0.0, -12.0, 0.0), 3.0);
    let before = near(&window);
    let _ = update(
        &mut window.state,
        Action::View(ViewAction::MoveCrosshair(DVec3::ZERO)),
    );
    assert_eq!(near(&window), before, "a look changes nothing");
}
