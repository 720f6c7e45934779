//! The section Noise of the task Pathways: the switch, figures and the plot; controls that are unavailable say why.

use super::{Window, click, sample, submitted, window};
use crate::support::{self, test};
use crate::views::surface::painted;
use arcuate::data::statistics::wilson_interval;
use arcuate::data::{Mask, Shape};
use arcuate::parameters::Parameters as _;
use arcuate::solvers::pathway::RepetitionParams;
use arcuate::state::pathways::jobs::{GrowRepetitions, PATHWAY_NOISE_DISTANCES};
use arcuate::state::pathways::{
    DistanceTarget, NOISE_ONLY, PathwayAction, PathwayNoiseAction, PathwayNoiseSettings,
    PathwaySettings,
};
use arcuate::state::{Action, Content, LayerId, Phase, State, Task, ViewAction};
use arcuate::ui::format;
use arcuate::ui::palette::names;
use egui::Role as Widget;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::OnceLock;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::pathway_noise::switched on in its section", switch),
        test("ui::pathway_noise::figures, plot and sentence", figures),
        test(
            "ui::pathway_noise::a click in the plot moves the crosshair",
            plot,
        ),
        test(
            "ui::pathway_noise::values of the plot stand beside their lines",
            values,
        ),
        test(
            "ui::pathway_noise::masks of one name are distinguished",
            equal_names,
        ),
        test("ui::pathway_noise::the shortest line has a label", shortest),
        test("ui::pathway_noise::few repetitions have no distances", few),
        test("ui::pathway_noise::growing, stopped, continued", growing),
        test(
            "ui::pathway_noise::the object of distances is chosen",
            target,
        ),
        test(
            "ui::pathway_noise::0 and 100 % stand for none and all",
            ends_of_shares,
        ),
        test("ui::pathway_noise::kept and copied", kept),
        test("ui::pathway_noise::reasons", reasons),
        test("ui::pathway_noise::commands by name", commands),
    ]
}

const SIZE: [f32; 2] = [1920.0, 2300.0];

fn set(window: &mut support::Window, edit: impl FnOnce(&mut PathwayNoiseSettings)) {
    let mut noise = window.state.document.pathways.noise.clone();
    edit(&mut noise);
    let settings = PathwaySettings {
        noise,
        ..window.state.document.pathways.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
}

/// Two regions joined by a pathway that is not repeated.
fn once() -> State {
    static SOLVED: OnceLock<State> = OnceLock::new();
    let solve = || {
        let mut window = support::Window::new();
        window.state = sample::tracked(sample::state([32, 40, 30], 12));
        window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
        assert!(window.state.final_pathway().is_some());
        window.state
    };
    SOLVED.get_or_init(solve).clone()
}

/// Its repetitions, whose distance from the brain mask is measured if there are enough.
fn repeated(repetitions: usize) -> State {
    let mut window = support::Window::new();
    window.state = once();
    let mask = window.state.document.layer_named("Brain mask");
    let mask = mask.expect("a mask").id;
    set(&mut window, |noise| {
        noise.repeats = true;
        noise.params.repetitions = repetitions;
        noise.distance_to = DistanceTarget::Layer(mask);
    });
    let why = window.state.why_pathway_noise_rests();
    assert!(window.state.current_pathway_noise().is_some(), "{why:?}");
    window.state
}

fn twenty() -> State {
    static SOLVED: OnceLock<State> = OnceLock::new();
    SOLVED.get_or_init(|| repeated(20)).clone()
}

/// With the section open.
fn opened(state: State) -> Window {
    let mut window = window(state, SIZE);
    click(&mut window, "Noise");
    window
}

fn settings(window: &Window) -> &PathwayNoiseSettings {
    &window.state().state.document.pathways.noise
}

fn has(window: &Window, text: &str) -> bool {
    window.query_all_by_label_contains(text).next().is_some()
}

fn is_disabled(window: &Window, name: &str) -> bool {
    window.get_by_label(name).accesskit_node().is_disabled()
}

fn switch() {
    let mut window = opened(once());
    assert!(!settings(&window).repeats && !has(&window, NOISE_ONLY));
    for row in RepetitionParams::TABLE {
        assert!(has(&window, row.label), "{}", row.label);
    }
    click(&mut window, "Repeat the pathway");
    assert!(settings(&window).repeats);
    let jobs = submitted::<GrowRepetitions>(&window);
    // The comparison with random pairs comes first.
    assert!(jobs.len() <= 1);
    assert!(has(&window, NOISE_ONLY));
    assert!(has(&window, "0 of 200 repetitions"));
    click(&mut window, "Undo");
    assert!(!settings(&window).repeats);
}

fn figures() {
    let window = opened(twenty());
    for text in [
        "20 repetitions",
        "Shares are known to within ± ",
        "In at least 5\u{202f}% of repetitions: ",
        "In at least 50\u{202f}% of repetitions: ",
        "In at least 90\u{202f}% of repetitions: ",
        "E* over repetitions ",
        "E* without noise, 90\u{202f}% ",
        "Path within 4\u{202f}mm ",
        "Distance along the path",
        "Path, nearest ",
        NOISE_ONLY,
    ] {
        assert!(has(&window, text), "{text}");
    }
    // The path runs in the brain: no distance is negative.
    assert!(has(&window, "overlap in "));
    assert!(has(&window, "Path, nearest enters it"));
    // Words that promise too much.
    for word in ["probability", "confidence", "certain", "safe"] {
        assert!(!has(&window, word), "{word}");
    }
}

fn plot() {
    let mut window = opened(twenty());
    let place = window
        .get_by_label_contains("Distance along the path: ")
        .rect();
    window.hover_at(place.center());
    window.run();
    for pressed in [true, false] {
        window.event(egui::Event::PointerButton {
            pos: place.center(),
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        });
    }
    window.run();
    let state = &window.state().state;
    let path = &state.final_pathway().expect("a pathway").path;
    let nearest = path.nearest_point(state.view.crosshair).expect("a point");
    let off_mm = nearest.distance(state.view.crosshair);
    assert!(off_mm < 1e-6, "{off_mm}");
    let middle = path.point_at(0.5 * path.total_mm()).expect("a point");
    assert!(middle.distance(state.view.crosshair) < 0.1 * path.total_mm());
}

/// Neighbouring values of the axis have the distance of their lines, the lowest and the highest, too.
fn values() {
    fn texts(shape: &egui::Shape, found: &mut Vec<(f64, egui::Pos2)>) {
        match shape {
            egui::Shape::Vec(all) => all.iter().for_each(|shape| texts(shape, found)),
            egui::Shape::Text(text) => {
                let value = text.galley.text().parse();
                let place = text.visual_bounding_rect().center();
                found.extend(value.ok().map(|value| (value, place)));
            }
            _ => {}
        }
    }
    let window = opened(twenty());
    let place = window.get_by_label_contains("Distance along the path: ");
    let place = place.rect().expand(2.0);
    let axis = place.with_max_x(place.left() + 40.0);
    let mut found = Vec::new();
    for clipped in &window.output().shapes {
        texts(&clipped.shape, &mut found);
    }
    found.retain(|(_, at)| axis.contains(*at));
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(found.len(), 5, "{found:?}");
    let gaps = found.windows(2).map(|pair| pair[0].1.y - pair[1].1.y);
    let gaps: Vec<f32> = gaps.collect();
    assert!(
        gaps.iter().all(|gap| (gap - gaps[1]).abs() < 1.5),
        "{gaps:?}"
    );
}

/// In the 3-D view.
fn shortest() {
    let mut window = support::Window::new();
    window.state = twenty();
    let document = &mut window.state.document;
    let layer = document.layer_named("Brain mask").expect("a mask");
    let mut corner = (**layer).clone();
    let Content::Mask(mask) = &layer.content else {
        panic!("a mask")
    };
    let mut inside = vec![0; mask.grid.voxel_count()];
    // Near the path, so that the middle of the line is in sight.
    let [x, y, z] = mask.grid.shape;
    inside[mask.grid.index([x / 2, y / 2, z - 1])] = 1;
    corner.content = Content::Mask(Mask::new(mask.grid.clone(), inside));
    corner.id = LayerId(document.next_id());
    let id = corner.id;
    document.layers.push(std::sync::Arc::new(corner));
    set(&mut window, |noise| {
        noise.distance_to = DistanceTarget::Layer(id);
    });
    let distances = window.state.pathway_noise_distances().expect("distances");
    let mm = distances.along.as_ref().expect("a plot").shown;
    let expected = format::distance_text(mm);
    let shapes = painted(&window.state, None);
    let shown = shapes.iter().any(|shape| {
        let egui::Shape::Text(text) = shape else {
            return false;
        };
        text.galley.text() == expected
    });
    assert!(shown, "{expected}");
}

fn equal_names() {
    let mut state = twenty();
    let layer = state.document.layer_named("Brain mask").expect("a mask");
    let mut copy = (**layer).clone();
    copy.id = LayerId(state.document.next_id());
    state.document.layers.push(std::sync::Arc::new(copy));
    let mut window = opened(state);
    let names = ["Brain mask (1)", "Brain mask (2)"];
    assert!(has(&window, names[0]), "the mask of the distances");
    window
        .get_by_role_and_label(Widget::ComboBox, "Distance to")
        .click();
    window.run();
    let copy = window.state().state.document.layers.last().expect("it").id;
    click(&mut window, names[1]);
    assert_eq!(settings(&window).distance_to, DistanceTarget::Layer(copy));
}

fn few() {
    let window = opened(repeated(12));
    assert!(has(&window, "Too few repetitions for distances: "));
    assert!(!has(&window, "Distance along the path"));
    assert!(has(&window, NOISE_ONLY));
}

fn growing() {
    let mut state = twenty();
    state.document.pathways.noise.params.repetitions = 40;
    let mut window = opened(state);
    assert!(has(&window, "20 of 40 repetitions"));
    assert!(has(&window, " now, ± "));
    assert!(is_disabled(&window, "Keep share"));
    let key = window.state().state.pathway_noise_key().expect("requested");
    assert_eq!(key.repetitions, 40);
    // The user stops the batch that is running.
    arcuate::state::update(
        &mut window.state_mut().state,
        Action::CancelJob(PATHWAY_NOISE_DISTANCES),
    );
    window.run();
    assert!(has(&window, "Stopped after 20 repetitions"));
    assert!(!is_disabled(&window, "Keep share"));
    click(&mut window, "Continue");
    assert!(has(&window, "20 of 40 repetitions"));
}

fn target() {
    let mut window = opened(twenty());
    window
        .get_by_role_and_label(Widget::ComboBox, "Distance to")
        .click();
    window.run();
    click(&mut window, "Surface of Segment");
    assert_eq!(settings(&window).distance_to, DistanceTarget::Surface);
    assert!(has(
        &window,
        "Segment a tumour or choose a mask to measure distances"
    ));
    let label = window.state().state.history.undo_label();
    assert_eq!(label, Some("Noise of the pathway"));
}

fn kept() {
    let mut window = opened(twenty());
    click(&mut window, "Copy the repetitions as command");
    let copied = window.state().actions.iter().find_map(|a| match a {
        Action::CopyCommand(line) => Some(line.text()),
        _ => None,
    });
    let copied = copied.expect("a command");
    assert!(copied.starts_with("arcuate uncertainty "), "{copied}");
    assert!(copied.contains(" --repetitions 20"), "{copied}");
    click(&mut window, "Keep share");
    let kept = |a: &Action| {
        matches!(
            a,
            Action::Pathway(PathwayAction::Noise(PathwayNoiseAction::KeepShare))
        )
    };
    assert!(window.state().actions.iter().any(kept));
    let layers = &window.state().state.document.layers;
    let layer = layers.last().expect("a layer");
    assert!(layer.name.starts_with("Share of 20 repetitions of "));
    assert!(matches!(layer.content, Content::Image(_)));
    click(&mut window, "Export noise…");
    for file in ["Share of repetitions…", "Paths of the repetitions…"] {
        window.get_by_label(file);
    }
    click(&mut window, "Distances along the path…");
    assert!(has(&window, "Export the distances along the path"));
}

fn reasons() {
    let mut state = twenty();
    let scan = state.document.layer_named("dwi").expect("a scan").id;
    state.document.layers.retain(|layer| layer.id != scan);
    let window = opened(state);
    assert!(has(&window, "Repetitions need the scan of the fit"));
    // A moved end: the figures are dimmed, and none can be kept.
    let mut state = twenty();
    let seed = std::sync::Arc::make_mut(&mut state.document.regions[0]);
    let moved = match &*seed.shape {
        Shape::Sphere { centre, radius_mm } => Shape::Sphere {
            centre: *centre + glam::DVec3::X,
            radius_mm: *radius_mm,
        },
        other => panic!("{other:?}"),
    };
    seed.shape = std::sync::Arc::new(moved);
    let window = opened(state);
    assert!(has(&window, "from before the last change"));
    assert!(is_disabled(&window, "Keep share"));
    assert!(has(&window, "In at least 50\u{202f}% of repetitions: "));
}

fn commands() {
    for (state, name) in [
        (once(), "Repeat the pathway"),
        (twenty(), "Stop repeating the pathway"),
    ] {
        let all = names(&state, "repeat");
        assert!(all.iter().any(|n| n == name), "{name}: {all:?}");
    }
    let all = names(&twenty(), "repetitions");
    for name in [
        "Keep share of repetitions",
        "Copy as command: repetitions of the pathway",
    ] {
        assert!(all.iter().any(|n| n == name), "{name}: {all:?}");
    }
}

fn ends_of_shares() {
    for (shares, expected) in [
        ([0.5, 0.73], "50–73\u{202F}%"),
        ([0.948, 0.996], "95–99.6\u{202F}%"),
        ([0.0, 1.0], "0–100\u{202F}%"),
        ([0.004, 0.9998], "0.4–99.98\u{202F}%"),
        ([0.006, 0.994], "1–99\u{202F}%"),
    ] {
        assert_eq!(format::interval_text(shares), expected, "{shares:?}");
    }
    // All but one of 1 000 repetitions.
    let [low, high] = wilson_interval(999, 1000);
    let text = format::interval_text([low, high]);
    assert_eq!(text, "99–99.98\u{202F}%", "{low} {high}");
}
