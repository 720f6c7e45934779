//! The rows that choose what the colours of streamlines show, and by which scale.

use super::{Window, click, submitted, type_over, window};
use crate::support::session_window;
use crate::support::{lines, opened_event, opened_file, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Grid, Volume};
use arcuate::solvers::tractogram::line_values::LineStatistic;
use arcuate::state::core::display::{LineColouring, LineScale};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::streamlines::jobs::colours::ColourStreamlines;
use arcuate::state::{Action, Display, LayerAction, LayerId, Phase, State, Task};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::line colours::an image is chosen in a menu", chosen),
        test("ui::line colours::range, scale and limits", scale),
        test("ui::line colours::no scale without values", without_values),
    ]
}

/// Two beams with a value each in an image that rises along them.
fn beams() -> (State, LayerId, LayerId) {
    let grid = Grid::axis_aligned([20; 3], DVec3::splat(2.0), DVec3::splat(-19.0));
    let grid = Arc::new(grid.expect("a grid"));
    let value = |i: usize| grid.voxel(i)[1] as f32 + 1.0;
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let image = Volume::scalar(grid.clone(), values);
    let beam = |x: f64| {
        (-9..=9)
            .map(|y| dvec3(x, 2.0 * f64::from(y), 0.0))
            .collect()
    };
    let beams = lines(&[beam(-4.0), beam(4.0)]).with_per_streamline("each", vec![1.0, 3.0]);
    let mut opening = session_window::Window::new();
    for (path, loaded) in [
        ("/data/rising.nii.gz", Loaded::Image(image)),
        ("/data/beams.trx", Loaded::Tractogram(beams)),
    ] {
        opening.act(Action::Event(opened_event(1, opened_file(path, loaded))));
    }
    let mut state = opening.state;
    let [image, beams] = ["rising", "beams"].map(|name| {
        let layer = state.document.layer_named(name);
        layer.expect(name).id
    });
    state.view.task = Task::View;
    state.runtime.selected_layer = Some(beams);
    (state, image, beams)
}

/// With the values of this colouring computed.
fn coloured(state: State, layer: LayerId, change: impl FnOnce(&mut Display)) -> State {
    let mut opening = session_window::Window::new();
    opening.state = state;
    let known = opening.state.document.layer(layer).expect("a layer");
    let mut display = known.display.clone();
    change(&mut display);
    let phase = Phase::Done;
    opening.act(Action::Layer(LayerAction::SetDisplay {
        layer,
        display,
        phase,
    }));
    opening.state
}

fn display(window: &Window, layer: LayerId) -> Display {
    let document = &window.state().state.document;
    document.layer(layer).expect("a layer").display.clone()
}

fn shown(window: &Window, name: &str) -> String {
    let field = window.get_by_role_and_label(egui::Role::ComboBox, name);
    field.accesskit_node().value().unwrap_or_default()
}

fn choose(window: &mut Window, field: &str, row: &str) {
    window
        .get_by_role_and_label(egui::Role::ComboBox, field)
        .click();
    window.run();
    window
        .get_by_role_and_label(egui::accesskit::Role::MenuItem, row)
        .click();
    window.run();
}

fn chosen() {
    let (state, image, beams) = beams();
    let mut window = window(state, [1920.0, 1080.0]);
    choose(&mut window, "Colour by", "Image");
    assert_eq!(
        display(&window, beams).line_colouring,
        LineColouring::Image(image)
    );
    assert_eq!(shown(&window, "Colour by"), "Image");
    assert_eq!(shown(&window, "Image"), "rising");
    assert_eq!(submitted::<ColourStreamlines>(&window).len(), 1);
    choose(&mut window, "Colour by", "Value of the file");
    let each = LineColouring::Value("each".to_owned());
    assert_eq!(display(&window, beams).line_colouring, each);
    assert_eq!(shown(&window, "Value"), "each");
    // There is neither a region nor a mask, and the file has no groups.
    window
        .get_by_role_and_label(egui::Role::ComboBox, "Colour by")
        .click();
    window.run();
    let rows = window.query_all_by_role(egui::accesskit::Role::MenuItem);
    let names: Vec<String> = rows
        .filter_map(|row| row.accesskit_node().label())
        .collect();
    assert!(!names.contains(&"Distance".to_owned()) && !names.contains(&"Group".to_owned()));
    assert!(names.contains(&"End to end".to_owned()), "{names:?}");
}

fn scale() {
    let (state, image, beams) = beams();
    let by_image = |d: &mut Display| d.line_colouring = LineColouring::Image(image);
    let mut window = window(coloured(state, beams, by_image), [1920.0, 1080.0]);
    let type_in = |window: &mut Window, name: &str, text: &str| {
        window
            .get_by_role_and_label(egui::Role::TextInput, name)
            .click();
        window.run();
        type_over(window, text);
    };
    type_in(&mut window, "Range", "5–12");
    type_in(&mut window, "Show only", "8–100");
    choose(&mut window, "Colour map", "Cividis");
    let expected = LineScale {
        statistic: LineStatistic::EachPoint,
        colour_map: ColourMap::Cividis,
        range: Some((5.0, 12.0)),
        logarithmic: false,
        limits: Some((8.0, 100.0)),
    };
    assert_eq!(display(&window, beams).line_scale, expected);
    // A logarithmic scale has a range of its own, and limits stay.
    click(&mut window, "Scale: Logarithmic");
    let expected = LineScale {
        range: None,
        logarithmic: true,
        ..expected
    };
    assert_eq!(display(&window, beams).line_scale, expected);
    // Means have other values than points.
    click(&mut window, "Value shown: Mean");
    let expected = LineScale {
        statistic: LineStatistic::Mean,
        limits: None,
        ..expected
    };
    assert_eq!(display(&window, beams).line_scale, expected);
    choose(&mut window, "Colour by", "Direction");
    let known = display(&window, beams);
    assert_eq!(known.line_colouring, LineColouring::Direction);
    assert_eq!(known.line_scale.colour_map, ColourMap::Cividis);
    assert!(!known.line_scale.logarithmic);
}

fn without_values() {
    let (state, _, beams) = beams();
    let mut window = window(state, [1280.0, 800.0]);
    choose(&mut window, "Colour by", "End to end");
    assert_eq!(
        display(&window, beams).line_colouring,
        LineColouring::EndToEnd
    );
    for name in ["Range", "Show only"] {
        let row = window.query_by_role_and_label(egui::Role::TextInput, name);
        assert!(row.is_none(), "{name}");
    }
}
