//! The colours of streamlines in layers: the fit's FA, images, values of the file, groups, distances.

use super::{Window, file};
use crate::support::{lines, test};
use arcuate::data::{Grid, Mask, Tractogram, Volume};
use arcuate::scene::draw_list::LineColour;
use arcuate::scene::{self, Size};
use arcuate::solvers::tractogram::line_values::LineStatistic;
use arcuate::solvers::tractogram::pick::{PickQuery, Screen};
use arcuate::state::core::display::{DistanceFrom, LineColouring, STALE_OPACITY};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::streamlines::{
    Column, SelectionMode, StreamlineRules, ValueLimits, streamlines_of,
};
use arcuate::state::{Action, Display, LayerAction, LayerId, Phase, StreamlineAction};
use arcuate::ui::views::legend::{self, Legend};
use glam::{DMat4, DVec3, dvec2, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::colours::FA comes from the fit", fa),
        test("update::colours::an image along streamlines", images),
        test("update::colours::values, groups, distances", other_values),
        test("update::colours::earlier values stay, dimmed", stale),
        test("update::colours::a file of values", values_file),
        test("update::colours::what is hidden is not picked", hidden),
    ]
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

/// A linear image, x + 100, over the beams.
fn linear_image() -> Volume {
    let grid = Grid::axis_aligned([30; 3], DVec3::splat(2.0), DVec3::splat(-29.0));
    let grid = grid.expect("a grid");
    let value = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|c| c as f64));
        grid.world(voxel).y as f32 + 100.0
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

/// A window with this image and two beams along y, from −14 to 12 and from 0 to 12 mm, with values and groups.
fn with_image() -> (Window, LayerId, LayerId) {
    let mut window = Window::new();
    let open = |window: &mut Window, path: &str, loaded| {
        window.act(Action::Event(file(path, loaded)));
        window.state.document.layers.last().expect("opened").id
    };
    let image = open(
        &mut window,
        "/data/linear.nii.gz",
        Loaded::Image(linear_image()),
    );
    let beam = |x: f64, low: i32| {
        let points = (low..7).map(|y| dvec3(x, 2.0 * f64::from(y), -1.0));
        points.collect::<Vec<_>>()
    };
    let beams = lines(&[beam(-1.0, -7), beam(3.0, 0)])
        .with_per_streamline("each", vec![1.0, 100.0])
        .with_group("right", vec![1]);
    let beams = open(&mut window, "/data/beams.trx", Loaded::Tractogram(beams));
    (window, image, beams)
}

fn colour(window: &mut Window, layer: LayerId, change: impl FnOnce(&mut Display)) {
    let known = window.state.document.layer(layer).expect("a layer");
    let mut display = known.display.clone();
    change(&mut display);
    let phase = Phase::Done;
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer,
        display,
        phase,
    }));
}

/// The values that colour the last layer, with their range.
fn shown_values(window: &Window) -> (Vec<f32>, (f32, f32)) {
    let all = scene::tractograms(&window.state);
    let (lines, display) = all.last().expect("streamlines");
    let LineColour::Scalar { name, range, .. } = scene::line_colour(lines, display) else {
        panic!("a scale");
    };
    let values = lines
        .per_point
        .get(&name)
        .or(lines.per_streamline.get(&name));
    (values.expect("values").to_vec(), range)
}

fn images() {
    let (mut window, image, beams) = with_image();
    colour(&mut window, beams, |d| {
        d.line_colouring = LineColouring::Image(image);
    });
    let (values, range) = shown_values(&window);
    let expected = |y: i32| 2.0 * y as f32 + 100.0;
    let expected: Vec<f32> = (-7..7).chain(0..7).map(expected).collect();
    assert_eq!(values.len(), expected.len());
    let pairs = values.iter().zip(&expected);
    assert!(
        pairs.clone().all(|(a, b)| (a - b).abs() < 1e-4),
        "{values:?}"
    );
    assert!(
        (range.0 - 86.0).abs() < 1e-3 && (range.1 - 112.0).abs() < 1e-3,
        "{range:?}"
    );
    // The layer itself is as its file, and is the same streamlines for the graphics card.
    assert!(stored(&window, beams).per_point.is_empty());
    let id = stored(&window, beams).id();
    assert_eq!(scene::tractograms(&window.state)[0].0.id(), id);
    let legends = legend::of_scene(&window.state);
    let [Legend::Bar { name, .. }] = &legends[..] else {
        panic!("{legends:?}");
    };
    assert_eq!(name, "linear");

    // Each streamline by its mean, in a range and with limits set by hand.
    colour(&mut window, beams, |d| {
        d.line_scale.statistic = LineStatistic::Mean;
        d.line_scale.range = Some((90.0, 110.0));
        d.line_scale.limits = Some((100.0, 200.0));
        d.line_scale.logarithmic = true;
    });
    let (values, range) = shown_values(&window);
    assert_eq!((values.len(), range), (2, (90.0, 110.0)));
    assert!((values[0] - 99.0).abs() < 1e-3 && (values[1] - 106.0).abs() < 1e-3);
    let (colour_of_lines, _) = drawn(&window);
    assert!(
        matches!(
            colour_of_lines,
            LineColour::Scalar {
                logarithmic: true,
                limits: Some((100.0, 200.0)),
                ..
            }
        ),
        "{colour_of_lines:?}"
    );
    let legends = legend::of_scene(&window.state);
    let [Legend::Bar { name, .. }] = &legends[..] else {
        panic!("{legends:?}");
    };
    assert_eq!(name, "linear, mean, logarithmic");

    // Undo returns to the values of the points; without the image there are none.
    window.act(Action::Undo);
    assert_eq!(shown_values(&window).0.len(), expected.len());
    window.act(Action::Layer(LayerAction::Delete(image)));
    assert_eq!(drawn(&window).0, LineColour::Direction);
}

fn other_values() {
    let (mut window, image, beams) = with_image();
    let mask = {
        let grid = linear_image().grid.clone();
        let mut inside = vec![0; grid.voxel_count()];
        inside[grid.index([14, 14, 14])] = 1;
        Mask::new(grid, inside)
    };
    window.act(Action::Event(file("/data/mask.nii.gz", Loaded::Mask(mask))));
    let mask = window.state.document.layers.last().expect("a mask").id;
    // The streamlines are on top.
    let index = window.state.document.layers.len() - 1;
    window.act(Action::Layer(LayerAction::Move {
        layer: beams,
        index,
    }));
    let mut by = |colouring: LineColouring| {
        colour(&mut window, beams, |d| {
            d.line_colouring = colouring;
            d.line_scale = d.line_scale.for_other_values();
        });
        drawn(&window).0
    };
    assert!(matches!(
        by(LineColouring::Value("each".to_owned())),
        LineColour::Scalar {
            range: (1.0, 100.0),
            ..
        }
    ));
    let missing = by(LineColouring::Value("other".to_owned()));
    assert_eq!(missing, LineColour::Direction);
    for packed in [LineColouring::Group, LineColouring::EndToEnd] {
        assert!(matches!(by(packed), LineColour::Packed { .. }));
    }
    // The length of a file that states none is measured.
    assert!(matches!(
        by(LineColouring::Length),
        LineColour::Scalar {
            range: (10.0, 30.0),
            ..
        }
    ));
    let distance = by(LineColouring::Distance(DistanceFrom::Mask(mask)));
    assert!(
        matches!(distance, LineColour::Scalar { .. }),
        "{distance:?}"
    );
    let (values, _) = shown_values(&window);
    // The voxel's centre is at −1 mm along each axis, as is the first beam; its faces are 1 mm away.
    let nearest = values.iter().copied().fold(f32::INFINITY, f32::min);
    assert!(nearest < 0.6, "{nearest}");
    let names = |window: &Window, by| window.state.document.colouring_name(&by);
    let from = LineColouring::Distance(DistanceFrom::Mask(mask));
    assert_eq!(names(&window, from), "Distance from mask");
    assert_eq!(names(&window, LineColouring::Image(image)), "linear");
    // Groups have a legend of their own.
    colour(&mut window, beams, |d| {
        d.line_colouring = LineColouring::Group
    });
    let legends = legend::of_scene(&window.state);
    let [Legend::Classes(groups)] = &legends[..] else {
        panic!("{legends:?}");
    };
    assert_eq!(groups[0].0, "right");
}

/// While other values are computed, the earlier ones stay, dimmed.
fn stale() {
    let (mut window, image, beams) = with_image();
    colour(&mut window, beams, |d| {
        d.line_colouring = LineColouring::Image(image);
    });
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    let lines = |window: &Window| scene::scene(&window.state, size).lines[0].clone();
    let before = lines(&window);
    assert_eq!(before.opacity, 1.0);
    window.holding = true;
    colour(&mut window, beams, |d| {
        d.line_scale.statistic = LineStatistic::Mean;
    });
    let meanwhile = lines(&window);
    assert_eq!(meanwhile.colour, before.colour);
    assert_eq!(meanwhile.opacity, STALE_OPACITY);
    let legends = legend::of_scene(&window.state);
    assert!(matches!(&legends[..], [Legend::Bar { is_stale: true, .. }]));
    window.deliver(|_| {});
    let after = lines(&window);
    assert_eq!(after.opacity, 1.0);
    assert_ne!(after.colour, before.colour);
    assert_eq!(shown_values(&window).0.len(), 2);
}

/// Values in a file are those of all streamlines of the layer, also while a filter keeps some of them.
fn values_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("weights.txt");
    std::fs::write(&path, "0.5\n2.5\n").expect("written");
    let (mut window, _, beams) = with_image();
    let colour_by = |window: &mut Window| {
        window.act(Action::Streamline(StreamlineAction::ColourByFile {
            layer: beams,
            path: path.clone(),
        }));
    };
    colour_by(&mut window);
    assert_eq!(shown_values(&window).0, [0.5, 2.5]);
    let legends = legend::of_scene(&window.state);
    assert!(matches!(&legends[..], [Legend::Bar { name, .. }] if name == "weights.txt"));
    // A filter keeps the shorter one.
    let rules = StreamlineRules::new(beams).limited(ValueLimits {
        column: Column::Value("length".to_owned()),
        low: None,
        high: Some(20.0),
        counting: Default::default(),
    });
    let phase = Phase::Done;
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules,
        phase,
    }));
    assert_eq!(shown_values(&window).0, [2.5]);
    // The file has changed; another number of values is refused with a message.
    std::fs::write(&path, "1 7").expect("written");
    colour_by(&mut window);
    assert_eq!(shown_values(&window).0, [7.0]);
    std::fs::write(&path, "1 2 3").expect("written");
    colour_by(&mut window);
    assert_eq!(drawn(&window).0, LineColour::Direction);
    let messages = window.state.runtime.notices.messages.iter();
    let text: Vec<&str> = messages.map(|m| m.text.as_str()).collect();
    assert!(
        text.join(" ").contains("3 numbers for 2 streamlines"),
        "{text:?}"
    );
}

/// The mouse chooses streamlines that show at least a part.
fn hidden() {
    let (mut window, image, beams) = with_image();
    window.state.runtime.selected_layer = Some(beams);
    let mut picked = |limits| {
        colour(&mut window, beams, |d| {
            d.line_colouring = LineColouring::Image(image);
            d.line_scale.limits = limits;
        });
        let whole = [
            dvec2(-1e3, -1e3),
            dvec2(1e3, -1e3),
            dvec2(1e3, 1e3),
            dvec2(-1e3, 1e3),
        ];
        window.act(Action::Streamline(StreamlineAction::Pick {
            screen: Screen {
                from_world: DMat4::IDENTITY,
                slab: false,
                clips: Vec::new(),
            },
            target: PickQuery::Within(whole.to_vec()),
            mode: SelectionMode::Replace,
        }));
        window
            .state
            .manual_selection()
            .map_or(0, |chosen| chosen.count)
    };
    assert_eq!(picked(None), 2);
    // The values are 86 to 112, and 100 to 112.
    assert_eq!(picked(Some((0.0, 99.0))), 1);
    assert_eq!(picked(Some((0.0, 50.0))), 0);
}
