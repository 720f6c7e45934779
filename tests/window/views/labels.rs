//! Text over pictures in panes of every size: complete, free of overlaps, and each next to its object.

use super::sample::{POINT_MM, ViewWindow, add_layer, add_sphere, near, state};
use crate::shapes::{is_covered, texts};
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{self, Fixels, Grid, Role, Tractogram, Volume, VolumeKind};
use arcuate::state::core::display::{self, LineColouring};
use arcuate::state::core::volume_look::{VolumeLook, VolumeStyle};
use arcuate::state::{
    Action, Content, Display, LayerAction, Layout, Pane, Phase, State, Task, Tool, ViewAction,
    update,
};
use arcuate::ui::views::{Views, layout};
use arcuate::ui::{format, theme};
use egui::epaint::{ClippedShape, RectShape, Shape};
use egui::{Color32, Event, Modifiers, PointerButton, Pos2, Rect, Vec2, pos2, vec2};
use glam::{DVec2, DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

/// The views of a window of 1280 × 800 and of 2560 × 1440 at 200 %, and of one at 100 %.
const AREAS: [(Vec2, f32); 3] = [
    (vec2(284.0, 308.0), 2.0),
    (vec2(924.0, 630.0), 2.0),
    (vec2(924.0, 688.0), 1.0),
];

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::labels::titles are whole in small panes", titles),
        test("views::labels::names keep clear of scales", clear),
        test("views::labels::fixels are not resampled", fixels),
        test("views::labels::projections have a bar", projections),
        test(
            "views::labels::in 3-D a name is beside its region",
            region_names,
        ),
        test(
            "views::labels::a handle is grabbed where it is drawn",
            handle,
        ),
        test("views::labels::each colour scale has its bar", bars),
        test(
            "views::labels::missing bars are named at the pointer",
            missing_bars,
        ),
        test("views::labels::no plate of a bar covers text", uncovered),
        test("views::labels::bars hide little of a small slice", little),
        test("views::labels::buttons cover no bar", buttons),
        test("views::labels::an upper letter is above the picture", above),
        test("views::labels::axes hide little of the 3-D view", axes),
        test(
            "views::labels::the next click is named beside no target",
            next_click,
        ),
    ]
}

/// A projection names its layer and which of the values along each line of sight it shows, in grey, too.
fn projections() {
    let named = |style: VolumeStyle| {
        let mut state = state();
        let layer = state.document.layers[0].clone();
        let volume = layer.content.volume().expect("an image");
        let look = VolumeLook {
            style,
            ..VolumeLook::default_for(volume, layer.display.window)
        };
        let id = layer.id;
        state
            .document
            .edit_layer(id, |layer| layer.display.volume = Some(look));
        let texts = painted_texts(&state, AREAS[2], None);
        let has = |name: &str| texts.iter().filter(|(text, _)| text.contains(name)).count();
        [has("largest values"), has("smallest values")]
    };
    assert_eq!(named(VolumeStyle::Maximum), [1, 0]);
    assert_eq!(named(VolumeStyle::Minimum), [0, 1]);
    assert_eq!(named(VolumeStyle::Cloud), [0, 0]);
}

/// Images on two grids are resampled on slices; the lines of fixels on a grid of their own are not.
fn fixels() {
    let is_resampled = |is_fixels: bool| {
        let mut state = state();
        let spacing = DVec3::splat(4.0);
        let grid = Grid::axis_aligned([8; 3], spacing, DVec3::splat(-9.0)).expect("regular");
        let values = vec![1.0; 3 * grid.voxel_count()];
        let image = Volume::new(Arc::new(grid), 3, VolumeKind::Scalar, values);
        let image = match is_fixels {
            true => image.with_fixels(Arc::new(Fixels {
                count: 512,
                values_list: None,
                lists: Vec::new(),
                folder: PathBuf::new(),
                signed: None,
                range: (0.0, 1.0),
                window: (0.0, 1.0),
            })),
            false => image,
        };
        let display = display::image_display((0.0, 1.0));
        add_layer(&mut state, "second", Content::Image(image), display);
        let texts = painted_texts(&state, AREAS[1], None);
        texts.iter().any(|(text, _)| text.contains("resampled"))
    };
    assert!(is_resampled(false));
    assert!(!is_resampled(true));
}

/// Every slice names the next point of the tool, clear of other text, and never near the pointer or a placed point.
fn next_click() {
    const NEAR: f32 = 20.0;
    let area = AREAS[1];
    let mut state = state();
    state.view.tool = Tool::Commissures;
    let names = |texts: &[(String, Rect)]| -> Vec<Rect> {
        let names = texts
            .iter()
            .filter(|(text, _)| text.starts_with("Click the"));
        names.map(|(_, rect)| *rect).collect()
    };
    assert_eq!(names(&painted_texts(&state, area, None)).len(), 3);
    state.commissures = vec![state.view.crosshair];
    let steps = (0..12)
        .flat_map(|x| (0..9).map(move |y| pos2(40.0 + 75.0 * x as f32, 20.0 + 70.0 * y as f32)));
    for pointer in steps {
        let texts = painted_texts(&state, area, Some(pointer));
        for name in names(&texts) {
            assert!(name.distance_to_pos(pointer) > NEAR, "{pointer:?} {name:?}");
            let others = texts.iter().filter(|(_, rect)| *rect != name);
            for (text, rect) in others {
                assert!(!rect.intersects(name), "{text} {rect:?} {name:?}");
            }
        }
    }
}

/// The text of the views with the pointer at a place.
fn painted_texts(state: &State, area: (Vec2, f32), pointer: Option<Pos2>) -> Vec<(String, Rect)> {
    texts(&painted(state, area, pointer))
}

/// The shapes that the views paint with the pointer at a place.
fn painted(state: &State, (area, scale): (Vec2, f32), pointer: Option<Pos2>) -> Vec<ClippedShape> {
    let ctx = egui::Context::default();
    theme::install(&ctx);
    ctx.all_styles_mut(|style| style.animation_time = 0.0);
    let mut views = Views::default();
    let mut found = Vec::new();
    for i in 0..3 {
        let mut input = egui::RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, area)),
            time: Some(10.0 + f64::from(i)),
            focused: true,
            events: pointer.map(Event::PointerMoved).into_iter().collect(),
            ..egui::RawInput::default()
        };
        for viewport in input.viewports.values_mut() {
            viewport.native_pixels_per_point = Some(scale);
        }
        let mut output = ctx.run_ui(input, |ui| views.show(ui, state, &mut Vec::new()));
        assert!(i < 2 || ctx.pixels_per_point() == scale);
        found = std::mem::take(&mut output.shapes);
        output.drop_without_applying_deltas();
    }
    found
}

fn panes(state: &State, (area, scale): (Vec2, f32)) -> Vec<(Pane, Rect)> {
    let all = Rect::from_min_size(Pos2::ZERO, area);
    layout::panes(state.view.layout, state.view.single, all, scale)
}

/// Coordinates and sides are not cut at the pane's edge, and no texts overlap.
fn titles() {
    let mut state = state();
    state.view.crosshair = dvec3(-26.9, -14.0, 8.0);
    for area in AREAS {
        let all = painted_texts(&state, area, None);
        for (pane, rect) in panes(&state, area) {
            let inside: Vec<_> = all
                .iter()
                .filter(|(_, r)| rect.contains(r.center()))
                .collect();
            let message: String = inside
                .iter()
                .map(|(text, _)| format!("{text} / "))
                .collect();
            for (i, (text, place)) in inside.iter().enumerate() {
                assert!(
                    rect.contains_rect(*place),
                    "{area:?} {pane:?}: {text:?} at {place:?} leaves {rect:?}"
                );
                for (other, other_rect) in &inside[..i] {
                    assert!(
                        !place.shrink(1.0).intersects(*other_rect),
                        "{area:?} {pane:?}: {text:?} over {other:?}"
                    );
                }
            }
            if pane == Pane::Sagittal {
                assert!(message.contains("x −26.9\u{202F}mm"), "{area:?}: {message}");
                assert!(
                    message.contains(" left") && message.contains("nose left"),
                    "{message}"
                );
                let sides = message.matches("left").count();
                assert_eq!(sides, 2, "{area:?}: {message}");
            }
        }
    }
}

/// The name of a region under the pointer does not cover the figures of the colour bar.
fn clear() {
    let mut state = state();
    let layer = state.document.layers[0].clone();
    let display = Display {
        colour_map: ColourMap::Viridis,
        ..layer.display.clone()
    };
    let phase = Phase::Done;
    update(
        &mut state,
        Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase,
        }),
    );
    state.view.layout = Layout::Single;
    state.view.single = Pane::Axial;
    for area in AREAS {
        let (pane, rect) = panes(&state, area)[0];
        let size = DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
        let plane = state.plane(pane, size).expect("a plane");
        // Next to the upper figure of the bar, so that the name would cover it.
        let bare = painted_texts(&state, area, None);
        let high = bare
            .iter()
            .find(|(text, _)| text == "110")
            .expect("a bar")
            .1;
        for shift in [-30.0, -60.0, -90.0] {
            let mut state = state.clone();
            let at = high.center() + vec2(shift, 0.0);
            let centre = plane.world(DVec2::new(f64::from(at.x), f64::from(at.y)));
            add_sphere(&mut state, Role::Target, centre, 6.0);
            let all = painted_texts(&state, area, Some(at));
            let name = all.iter().find(|(text, _)| text.starts_with("Target"));
            let (name, place) = name.unwrap_or_else(|| panic!("{all:?}"));
            for (other, other_rect) in all.iter().filter(|(other, _)| other != name) {
                assert!(
                    !place.intersects(*other_rect),
                    "{area:?} {shift}: {name:?} {place:?} over {other:?} {other_rect:?}"
                );
            }
        }
    }
}

/// However the head is rotated and however close it is: a name touches the space around its region, or is not shown.
fn region_names() {
    let mut random = Random::fresh("names beside regions");
    let mut state = state();
    state.view.task = Task::Track;
    let middle = state.view.crosshair;
    let spheres: Vec<(&str, DVec3)> = [
        (Role::Seed, dvec3(-8.0, 5.0, 0.0)),
        (Role::Target, dvec3(10.0, -12.0, 9.0)),
        (Role::Include, dvec3(2.0, 20.0, -14.0)),
    ]
    .into_iter()
    .map(|(role, off)| {
        add_sphere(&mut state, role, middle + off, 4.0);
        (role.name(), middle + off)
    })
    .collect();
    let mut seen = 0;
    for round in 0..60 {
        let area = AREAS[round % AREAS.len()];
        let mut camera = state.view.camera;
        camera.azimuth = random.uniform(0.0, std::f64::consts::TAU);
        camera.elevation = random.uniform(-1.2, 1.2);
        camera.distance_mm *= random.uniform(0.3, 1.2);
        let mut state = state.clone();
        state.view.camera = camera;
        let all = painted_texts(&state, area, None);
        let scene = panes(&state, area).into_iter().find(|p| p.0 == Pane::Scene);
        let rect = scene.expect("3-D").1;
        let aspect = f64::from(rect.width()) / f64::from(rect.height());
        for (name, centre) in &spheres {
            let label = all
                .iter()
                .find(|(text, r)| text == name && rect.contains(r.center()));
            let Some((_, place)) = label else { continue };
            seen += 1;
            let screen = |world: DVec3| {
                let (at, _) = camera.project(world, aspect).expect("before the eye");
                pos2(
                    rect.left() + at.x as f32 * rect.width(),
                    rect.top() + at.y as f32 * rect.height(),
                )
            };
            let at = screen(*centre);
            let radius = screen(*centre + camera.axes().x_axis * 4.2).distance(at);
            // The plate around the text, and the gap to the rim.
            let around = Rect::from_center_size(at, Vec2::splat(2.0 * (radius + 12.0 + 8.0)));
            assert!(
                around.intersects(*place),
                "{area:?}: {name} at {place:?} is far from {at:?}, {radius} points"
            );
            // Its own region is the nearest, except for a step and the border of the plate.
            for (_, other) in spheres.iter().filter(|(n, _)| n != name) {
                let (own, far) = (
                    place.distance_to_pos(at),
                    place.distance_to_pos(screen(*other)),
                );
                assert!(
                    own <= far + 12.0,
                    "{area:?}: {name} at {own}, another at {far}"
                );
            }
            for (other, other_rect) in all.iter().filter(|(_, r)| r != place) {
                assert!(
                    !place.intersects(*other_rect),
                    "{area:?}: {name} over {other:?}"
                );
            }
        }
    }
    assert!(seen > 60, "only {seen} names");
}

/// The squares around a small sphere are outside it, and resize it there.
fn handle() {
    for pane in [Pane::Axial, Pane::Scene] {
        let mut state = state();
        let at = state.view.crosshair;
        let sphere = add_sphere(&mut state, Role::Seed, at, 1.5);
        state.runtime.regions.selected = Some(sphere);
        let mut views = ViewWindow::new(state);
        let middle = match pane {
            Pane::Scene => views.scene_screen(at),
            _ => views.screen(pane, at),
        };
        let from = middle + vec2(9.0, 0.0);
        let path = [from, from + vec2(6.0, 0.0), from + vec2(12.0, 0.0)];
        views.drag(&path, PointerButton::Primary, Modifiers::NONE);
        let radius = match &*views.state().document.regions[0].shape {
            data::Shape::Sphere { centre, radius_mm } => {
                near(*centre, at, POINT_MM);
                *radius_mm
            }
            other => panic!("{other:?}"),
        };
        assert!(radius > 3.0, "{pane:?}: {radius}");
    }
}

/// Streamlines of four layers, each with its own colours over values from 1 to 2, 3, 4 and 5.
fn four_scales() -> State {
    let mut state = state();
    for high in [2.0, 3.0, 4.0, 5.0] {
        let lines = Tractogram::new(vec![[0.0; 3], [9.0; 3]], vec![0, 2]);
        let lines = lines.with_per_streamline("measure", vec![1.5]);
        let display = Display {
            line_colouring: LineColouring::Measure,
            window: (1.0, high),
            ..display::line_display()
        };
        let name = format!("Kept {high}");
        add_layer(&mut state, &name, Content::Tractogram(lines), display);
    }
    state
}

/// A view with a legend has a bar for each layer, with the layer's name; if some do not fit, the last bar gives the
/// number of missing ones. None covers the title.
fn bars() {
    let state = four_scales();
    let highs = [2.0, 3.0, 4.0, 5.0].map(format::measure);
    for area in AREAS {
        let shapes = painted(&state, area, None);
        let all = texts(&shapes);
        for (pane, rect) in panes(&state, area) {
            let inside = all.iter().filter(|(_, r)| rect.contains(r.center()));
            let inside: Vec<&str> = inside.map(|(text, _)| &**text).collect();
            let shown = highs.iter().filter(|high| inside.contains(&&***high));
            let shown = shown.count();
            let more = inside.iter().find_map(|w| w.strip_suffix(" more"));
            let missing = more.and_then(|w| w.rsplit(' ').next()?.parse().ok());
            let missing: usize = missing.unwrap_or(0);
            assert!(
                shown + missing == 4 || shown == 0,
                "{area:?} {pane:?}: {inside:?}"
            );
            // The slices share one legend, which the first has.
            let has_legend = matches!(pane, Pane::Axial | Pane::Scene);
            assert!(has_legend || shown == 0, "{area:?} {pane:?}: {inside:?}");
            let large = has_legend && rect.height() > 250.0;
            assert!(!large || shown > 1, "{area:?} {pane:?}: {inside:?}");
            if large {
                let first = inside.iter().any(|w| w.starts_with("Kept 2 · CM"));
                assert!(first, "{area:?} {pane:?}: {inside:?}");
            }
            if pane == Pane::Scene {
                assert!(shown > 0, "{area:?}: {inside:?}");
                let title = inside.iter().find(|w| w.starts_with("3-D"));
                let title = title.expect("a title");
                assert!(!is_covered(&shapes, title), "{area:?}");
            }
        }
    }
}

/// If bars are missing, a hint on the name of the last one lists them.
fn missing_bars() {
    let state = four_scales();
    let is_short = |word: &(String, Rect)| word.0.ends_with(" more");
    for area in AREAS {
        let seen = texts(&painted(&state, area, None));
        for (_, place) in seen.iter().filter(|word| is_short(word)) {
            let seen = texts(&painted(&state, area, Some(place.center())));
            let is_named = seen.iter().any(|(w, _)| w.contains("Kept 5 · CM"));
            assert!(is_named, "{area:?}: {seen:?}");
        }
    }
}

/// The word next to a tool keeps clear of the colour bar, and nothing is painted over it.
fn uncovered() {
    let mut state = state();
    let layer = state.document.layers[0].clone();
    let display = Display {
        colour_map: ColourMap::Viridis,
        ..layer.display.clone()
    };
    let (layer, phase) = (layer.id, Phase::Done);
    let coloured = Action::Layer(LayerAction::SetDisplay {
        layer,
        display,
        phase,
    });
    for action in [
        coloured,
        Action::View(ViewAction::SelectTask(Task::Segment)),
    ] {
        update(&mut state, action);
    }
    state.view.layout = Layout::Single;
    state.view.single = Pane::Axial;
    let area = AREAS[2];
    let bare = painted_texts(&state, area, None);
    let high = bare.iter().find(|(text, _)| text == "110");
    let high = high.expect("a bar").1;
    state.view.tool = Tool::Sphere { add: true };
    for shift in [vec2(-30.0, 0.0), vec2(-20.0, 40.0), vec2(-60.0, 80.0)] {
        let shapes = painted(&state, area, Some(high.center() + shift));
        let all = texts(&shapes);
        let word = all.iter().find(|(text, _)| text.starts_with("Add"));
        let (word, place) = word.unwrap_or_else(|| panic!("{shift}: {all:?}"));
        for (other, other_rect) in all.iter().filter(|(other, _)| other != word) {
            assert!(
                !place.intersects(*other_rect),
                "{shift}: {word} over {other}"
            );
        }
        assert!(!is_covered(&shapes, word), "{shift}");
    }
}

/// The painted rectangles that hide something, in any group.
fn plates(shapes: &[ClippedShape]) -> Vec<RectShape> {
    fn add(shape: &Shape, found: &mut Vec<RectShape>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| add(s, found)),
            Shape::Rect(rect) if rect.fill.a() > 0 => found.push(rect.clone()),
            _ => {}
        }
    }
    let mut found = Vec::new();
    shapes.iter().for_each(|s| add(&s.shape, &mut found));
    found
}

/// Two bars with long names: with all other words they darken less than a quarter of the picture.
fn little() {
    let mut state = state();
    for high in [2.0, 3.0] {
        let lines = Tractogram::new(vec![[0.0; 3], [9.0; 3]], vec![0, 2]);
        let display = Display {
            line_colouring: LineColouring::Measure,
            window: (1.0, high),
            ..display::line_display()
        };
        let name = format!("sub-01_ses-02 corticospinal {high}");
        let lines = lines.with_per_streamline("measure", vec![1.5]);
        add_layer(&mut state, &name, Content::Tractogram(lines), display);
    }
    state.view.layout = Layout::Single;
    state.view.single = Pane::Axial;
    let area = (vec2(325.0, 343.0), 1.0);
    let shapes = painted(&state, area, None);
    let all = texts(&shapes);
    for high in [2.0, 3.0].map(format::measure) {
        assert!(all.iter().any(|(text, _)| *text == high), "{all:?}");
    }
    let pane = panes(&state, area)[0].1;
    // The picture's own ground covers the pane.
    let dark = plates(&shapes).into_iter().map(|r| r.rect.intersect(pane));
    let dark: f32 = dark
        .map(|r| r.area())
        .filter(|a| *a < 0.9 * pane.area())
        .sum();
    assert!(dark < 0.25 * pane.area(), "{dark} of {}", pane.area());
}

/// The buttons that appear with the pointer are next to the bars, and no bar moves.
fn buttons() {
    let state = four_scales();
    for area in AREAS {
        let bare = painted_texts(&state, area, None);
        for (pane, rect) in panes(&state, area) {
            let shapes = painted(&state, area, Some(rect.center()));
            let is_buttons = |r: &RectShape| r.fill == Color32::from_black_alpha(140);
            let buttons = plates(&shapes).into_iter().find(is_buttons);
            let buttons = buttons.expect("buttons under the pointer").rect;
            assert!(rect.contains_rect(buttons), "{area:?} {pane:?}");
            let figures = [1.0, 2.0, 3.0, 4.0, 5.0].map(format::measure);
            let of_bar =
                |(text, _): &&(String, Rect)| figures.contains(text) || text.starts_with("Kept ");
            let all = texts(&shapes);
            for (text, place) in all.iter().filter(of_bar) {
                assert!(!place.intersects(buttons), "{area:?} {pane:?}: {text}");
                let is_unmoved = bare.iter().any(|(w, p)| w == text && p == place);
                assert!(is_unmoved, "{area:?} {pane:?}: {text} moves");
            }
        }
    }
}

/// In a small view the letter of the upper edge is next to the title, not below it, where the head is.
fn above() {
    let mut state = state();
    state.view.crosshair = dvec3(-6.2, 8.5, -0.4);
    for area in AREAS {
        let seen = painted_texts(&state, area, None);
        for (pane, rect) in panes(&state, area) {
            let letters = state.view.letters(pane);
            let Some([.., upper, _]) = letters else {
                continue;
            };
            let inside = seen.iter().filter(|(_, place)| rect.contains_rect(*place));
            let inside: Vec<_> = inside.collect();
            let letter = inside
                .iter()
                .find(|(word, place)| *word == upper && place.center().y < rect.center().y);
            let (_, place) = letter.unwrap_or_else(|| panic!("{pane:?} {area:?}: {inside:?}"));
            // Two lines of the title end 42 points below the edge.
            assert!(
                place.bottom() <= rect.top() + 46.0,
                "{pane:?} {area:?}: {place:?} in {rect:?}"
            );
            for (word, other) in &inside {
                let own = other == place;
                assert!(own || !other.intersects(*place), "{word} {pane:?} {area:?}");
            }
        }
    }
}

/// The axes at the lower left of the 3-D view have no plate: only their letters are shaded.
fn axes() {
    let state = state();
    for area in AREAS {
        let panes = panes(&state, area);
        let (_, scene) = panes.iter().find(|p| p.0 == Pane::Scene).expect("3-D");
        let corner = Rect::from_min_max(
            scene.left_bottom() - vec2(0.0, 90.0),
            scene.left_bottom() + vec2(90.0, 0.0),
        );
        let shapes = painted(&state, area, None);
        let plates = shapes.iter().filter_map(|s| match &s.shape {
            Shape::Rect(RectShape { rect, fill, .. }) if fill.a() > 0 => Some(*rect),
            _ => None,
        });
        let here: Vec<Rect> = plates
            .filter(|plate| corner.contains_rect(*plate))
            .collect();
        assert!(here.len() >= 3, "{area:?}: three letters, {here:?}");
        for plate in here {
            assert!(plate.width() < 24.0 && plate.height() < 24.0, "{plate:?}");
        }
    }
}
