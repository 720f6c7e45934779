//! The window's panels, driven as by a user: clicks, drags, keys and typed values, by the names that a screen reader
//! reads.

mod bundles;
mod clips;
mod crosshair;
mod crossings;
mod devices;
mod figures;
mod filter;
mod first;
mod fixels;
mod fods;
mod fold;
mod help;
mod help_pictures;
mod hints;
mod keys;
mod line_colours;
mod lists;
mod looks;
mod menus;
mod messages;
mod number_text;
mod obstacles;
mod odf_rays;
mod palette;
mod parameters;
mod paths;
mod pathway_noise;
mod pathways;
mod rays;
mod regions;
mod sample;
pub mod segment;
mod segment_plot;
mod sessions;
mod settings;
mod sliders;
mod space;
mod still;
mod surface;
mod table;
mod track_noise;
mod trial;
mod visits;
mod volume;

use crate::support::{start_of_new_job, start_of_old_job, test, wait_for};
use arcuate::jobs::Job;
use arcuate::solvers::curves;
use arcuate::state::files::jobs::SaveTractogram;
use arcuate::state::runtime::TourStep;
use arcuate::state::tensors::jobs::fit::FIT;
use arcuate::state::{Action, Effect, Layout, State, Task, Tool, TrackAction};
use arcuate::ui::{self, Memory};
use egui::Rect;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

/// A window without threads: effects are kept, not carried out.
pub struct App {
    state: State,
    memory: Memory,
    effects: Vec<Effect>,
    /// Queries about paths are answered at once; otherwise they stay among the effects, as on a slow disk.
    disk_answers: bool,
    actions: Vec<Action>,
    /// The rectangle of the views.
    views: Rect,
}

type Window = Harness<'static, App>;

fn window(state: State, size: [f32; 2]) -> Window {
    let app = App {
        state,
        memory: Memory::without_dialogs(),
        effects: Vec::new(),
        disk_answers: true,
        actions: Vec::new(),
        views: Rect::NOTHING,
    };
    let mut window = Harness::builder()
        .with_size(size)
        // Two clicks within 0.3 s are a double click.
        .with_step_dt(1.0 / 60.0)
        // A window at rest is not repainted: every animation ends within half a second.
        .with_max_steps(30)
        .with_context_setup(ui::theme::install)
        .build_eframe(|_| app);
    window.run();
    window
}

fn small_scan() -> State {
    sample::state([16, 20, 15], 6)
}

fn tracking() -> State {
    let mut state = sample::tracked(small_scan());
    state.view.task = Task::Track;
    state
}

fn click(window: &mut Window, name: &str) {
    window.get_by_label(name).click();
    window.run();
}

/// A click with modifiers held, late enough after the previous one not to be a double click.
fn click_with(window: &mut Window, pos: egui::Pos2, modifiers: egui::Modifiers) {
    window.run_steps(30);
    window.hover_at(pos);
    window.event(egui::Event::ModifiersChanged(modifiers));
    for pressed in [true, false] {
        window.event(egui::Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers,
        });
    }
    window.event(egui::Event::ModifiersChanged(egui::Modifiers::NONE));
    window.run();
}

/// The number of submitted jobs of any type.
fn count_submitted(window: &Window) -> usize {
    let effects = window.state().effects.iter();
    effects.filter(|e| matches!(e, Effect::Submit(_))).count()
}

/// The submitted jobs of one type.
fn submitted<J: Job>(window: &Window) -> Vec<&J> {
    let effects = window.state().effects.iter();
    effects.filter_map(|e| e.job()).collect()
}

/// Types into the focused field, replacing its contents, and presses Enter.
fn type_over(window: &mut Window, text: &str) {
    window.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    window.event(egui::Event::Text(text.to_owned()));
    window.run();
    window.key_press(egui::Key::Enter);
    window.run();
}

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test(
            "ui::clicks change task, layout and orientation",
            lists::clicks,
        ),
        test("ui::lists show, hide, select and rename", lists::lists),
        test("ui::the region menu selects a tool", lists::region_menu),
        test("ui::a slider drag is one undo step", slider_drag),
        test("ui::a slider drag of two slow frames", slow_drag),
        test(
            "ui::typed values may leave the rail, nonsense changes nothing",
            typed_values,
        ),
        test(
            "ui::a double click on a label resets, a touch does nothing",
            labels_reset,
        ),
        test("ui::a screen reader moves sliders", screen_reader),
        test("ui::stops can be switched off and on", switches),
        test("ui::layers are sorted by dragging", sorting),
        test(
            "ui::an existing file is replaced only when asked",
            overwriting,
        ),
        test("ui::the guide advances and can be left", guide),
        test("ui::an empty result names one way out", empty_result),
        test("ui::disabled controls give a reason", disabled),
        test(
            "ui::a running job shows, and Cancel cancels it",
            running_job,
        ),
    ];
    [
        own,
        devices::tests(),
        fods::tests(),
        fixels::tests(),
        fold::tests(),
        help::tests(),
        help_pictures::tests(),
        hints::tests(),
        keys::tests(),
        line_colours::tests(),
        menus::tests(),
        looks::tests(),
        palette::tests(),
        parameters::tests(),
        paths::tests(),
        obstacles::tests(),
        pathways::tests(),
        pathway_noise::tests(),
        track_noise::tests(),
        crosshair::tests(),
        crossings::tests(),
        settings::tests(),
        sessions::tests(),
        rays::tests(),
        odf_rays::tests(),
        regions::tests(),
        space::tests(),
        segment::tests(),
        segment_plot::tests(),
        visits::tests(),
        filter::tests(),
        figures::tests(),
        first::tests(),
        sliders::tests(),
        still::tests(),
        surface::tests(),
        bundles::tests(),
        clips::tests(),
        table::tests(),
        messages::tests(),
        trial::tests(),
        volume::tests(),
        number_text::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn slider_drag() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let before = window.state().state.document.track.streamlines.clone();
    let rail = window
        .get_by_role_and_label(egui::Role::Slider, "Step")
        .rect();
    let at = |share: f32| egui::pos2(rail.left() + rail.width() * share, rail.center().y);
    window.drag_at(at(0.3));
    window.run();
    for share in [0.4, 0.5, 0.6, 0.7] {
        window.hover_at(at(share));
        window.run();
    }
    let live = window.state().actions.len();
    window.drop_at(at(0.7));
    window.run();
    let step = window.state().state.document.track.streamlines.step_mm;
    // The rail runs from 0.1 to 2 mm, inset by the knob's radius at both ends.
    assert!((step - 1.45).abs() < 0.1, "{step}");
    assert!(
        live >= 4,
        "results follow while the knob moves: {live} actions"
    );
    let done = arcuate::state::Phase::Done;
    let last = window.state().actions.last();
    assert!(
        matches!(last, Some(Action::Track(TrackAction::SetStreamlines { phase, .. })) if *phase == done)
    );
    assert_eq!(window.state().state.history.undo_label(), Some("Tracking"));
    click(&mut window, "Undo");
    assert_eq!(window.state().state.document.track.streamlines, before);
    assert_eq!(window.state().state.history.undo_label(), None);
}

/// The button is pressed and the pointer moves in one frame, the rest of the way and the release follow in the next: no
/// part of the way is lost, from the knob or from next to it.
fn slow_drag() {
    for from in [(0.5 - 0.1) / 1.9, 0.6] {
        let mut window = window(tracking(), [1920.0, 1080.0]);
        let rail = window
            .get_by_role_and_label(egui::Role::Slider, "Step")
            .rect();
        let at = |share: f32| {
            let x = rail.left() + 6.0 + (rail.width() - 12.0) * share;
            egui::pos2(x, rail.center().y)
        };
        let button = |pos, pressed| egui::Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        let moved = |share| egui::Event::PointerMoved(at(share));
        window.hover_at(at(from));
        window.run();
        for events in [
            vec![button(at(from), true), moved(from + 0.1)],
            vec![moved(from + 0.2), button(at(from + 0.2), false)],
        ] {
            window.input_mut().events.extend(events);
            window.step();
        }
        window.run();
        let step = window.state().state.document.track.streamlines.step_mm;
        let expected = 0.1 + 1.9 * f64::from(from + 0.2);
        assert!((step - expected).abs() < 0.06, "{step} for {expected}");
        assert_eq!(window.state().state.history.undo_label(), Some("Tracking"));
    }
}

fn labels_reset() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let rail = window
        .get_by_role_and_label(egui::Role::Slider, "Step")
        .rect();
    // The knob is at the default: a press without a movement is not an edit.
    let share = (0.5 - 0.1) / 1.9;
    let knob = egui::pos2(
        rail.left() + 6.0 + (rail.width() - 12.0) * share,
        rail.center().y,
    );
    window.drag_at(knob);
    window.run();
    window.drop_at(knob);
    window.run();
    assert!(
        window.state().actions.is_empty(),
        "{:?}",
        window.state().actions
    );
    window
        .get_by_role_and_label(egui::Role::Slider, "Step")
        .set_value_accesskit(1.7);
    window.run();
    assert_eq!(window.state().state.document.track.streamlines.step_mm, 1.7);
    double_click(&mut window, rail.left_center() - egui::vec2(60.0, 0.0));
    assert_eq!(window.state().state.document.track.streamlines.step_mm, 0.5);
}

/// Two clicks that do not end a triple click.
fn double_click(window: &mut Window, pos: egui::Pos2) {
    window.run_steps(30);
    window.hover_at(pos);
    for pressed in [true, false, true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, egui::Modifiers::NONE);
        window.event(egui::Event::PointerButton {
            pos,
            button,
            pressed,
            modifiers,
        });
    }
    window.run();
}

fn typed_values() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let field = |window: &mut Window, name: &str, text: &str| {
        window
            .get_by_role_and_label(egui::Role::TextInput, name)
            .click();
        window.run();
        type_over(window, text);
    };
    field(&mut window, "Step", "0,25");
    assert_eq!(
        window.state().state.document.track.streamlines.step_mm,
        0.25
    );
    field(&mut window, "Step", "4 mm");
    assert_eq!(window.state().state.document.track.streamlines.step_mm, 4.0);
    field(&mut window, "Step", "abc");
    assert_eq!(window.state().state.document.track.streamlines.step_mm, 4.0);
    field(&mut window, "Length", "40–200");
    let track = &window.state().state.document.track.streamlines;
    assert_eq!(
        (track.min_length_mm, track.max_length_mm),
        (40.0, Some(200.0))
    );
    field(&mut window, "Maximum angle", "60");
    let angle = window
        .state()
        .state
        .document
        .track
        .streamlines
        .max_angle_rad
        .unwrap();
    assert!((angle.to_degrees() - 60.0).abs() < 1e-9);
    // Esc keeps the value.
    window
        .get_by_role_and_label(egui::Role::TextInput, "Step")
        .click();
    window.run();
    window.event(egui::Event::Text("9".to_owned()));
    window.key_press(egui::Key::Escape);
    window.run();
    assert_eq!(window.state().state.document.track.streamlines.step_mm, 4.0);
}

fn screen_reader() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let slider = |window: &Window, name: &str| {
        let node = window.get_by_role_and_label(egui::Role::Slider, name);
        node.accesskit_node().numeric_value().unwrap()
    };
    window
        .get_by_role_and_label(egui::Role::Slider, "Step")
        .set_value_accesskit(1.0);
    window.run();
    assert_eq!(slider(&window, "Step"), 1.0);
    window
        .get_by_role_and_label(egui::Role::Slider, "Length, low")
        .increment_accesskit();
    window.run();
    assert_eq!(slider(&window, "Length, low"), 35.0);
    window
        .get_by_role_and_label(egui::Role::Slider, "Streamlines")
        .focus();
    window.run();
    let before = slider(&window, "Streamlines");
    window.key_press(egui::Key::ArrowRight);
    window.run();
    assert!(slider(&window, "Streamlines") > before);
}

fn switches() {
    let mut window = window(tracking(), [1920.0, 1440.0]);
    window
        .get_by_role_and_label(egui::Role::CheckBox, "Stop below FA")
        .click();
    window.run();
    assert_eq!(window.state().state.document.track.streamlines.min_fa, None);
    assert!(
        window
            .query_by_role_and_label(egui::Role::Slider, "Stop below FA")
            .is_none()
    );
    window
        .get_by_role_and_label(egui::Role::CheckBox, "Stop below FA")
        .click();
    window.run();
    assert_eq!(
        window.state().state.document.track.streamlines.min_fa,
        Some(0.15)
    );
    click(&mut window, "Deflection, integrator, seeding");
    click(&mut window, "Integrator: Euler");
    click(&mut window, "Both ways from the seed");
    assert!(!window.state().state.document.track.streamlines.both_ways);
    click(&mut window, "Reset to defaults");
    assert_eq!(
        window.state().state.document.track.streamlines,
        curves::Params::defaults()
    );
}

fn sorting() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let names = |window: &Window| -> Vec<String> {
        let layers = window.state().state.document.layers.iter();
        layers.map(|l| l.name.clone()).collect()
    };
    assert_eq!(names(&window), ["dwi", "Brain mask", "MD", "FA", "DEC"]);
    let top = window.get_by_label("Layer DEC").rect();
    let below = window.get_by_label("Layer MD").rect();
    window.drag_at(top.center());
    window.run();
    window.hover_at(below.center_bottom());
    window.run();
    window.drop_at(below.center_bottom());
    window.run();
    assert_eq!(names(&window), ["dwi", "Brain mask", "DEC", "MD", "FA"]);
}

fn overwriting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tracks.tck");
    std::fs::write(&path, "there already").unwrap();
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Export…");
    type_over(&mut window, path.to_str().unwrap());
    // A thread checks whether the file exists.
    wait_for("the question", || {
        window.run();
        window.query_by_label("Replace").map(|_| ())
    });
    assert!(
        count_submitted(&window) == 0,
        "nothing is written without a question"
    );
    window.get_by_label("tracks.tck exists. Saving replaces it");
    click(&mut window, "Replace");
    assert!(matches!(submitted(&window)[..], [SaveTractogram { path: p, .. }] if *p == path));
}

fn guide() {
    let mut state = small_scan();
    state.runtime.tour = Some(TourStep::ClickSlice);
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label_contains("Guide · 1 of 7");
    click(&mut window, "Next: place a seed");
    window.get_by_label_contains("Guide · 2 of 7");
    click(&mut window, "Use the seed tool");
    assert!(matches!(
        window.state().state.view.tool,
        Tool::NewRegion { .. }
    ));
    let leave = window.get_all_by_label("Leave guide").last().unwrap();
    leave.click();
    window.run();
    assert_eq!(window.state().state.runtime.tour, None);
    assert!(window.query_by_label_contains("Guide · ").is_none());
}

fn empty_result() {
    let mut state = tracking();
    let mut live = state.runtime.track.live.value().cloned().unwrap();
    let mut output = sample::output(0);
    output.seed_outcomes = [0, 900, 0, 0, 20, 80, 0, 0];
    live.output = std::sync::Arc::new(output);
    state.runtime.track.show(Some(live));
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label("900 of 920 streamlines reach no target");
    click(&mut window, "Loosen the angle");
    let angle = window
        .state()
        .state
        .document
        .track
        .streamlines
        .max_angle_rad
        .unwrap();
    assert!((angle.to_degrees() - 60.0).abs() < 1e-9);
}

fn disabled() {
    let mut state = small_scan();
    state.view.task = Task::Track;
    let mut window = window(state, [1280.0, 800.0]);
    let keep = window.get_by_label("Keep as layer");
    assert!(keep.accesskit_node().is_disabled());
    let at = keep.rect().center();
    click(&mut window, "Keep as layer");
    assert!(window.state().actions.is_empty());
    window.hover_at(at + egui::vec2(0.0, 60.0));
    window.run();
    window.hover_at(at);
    window.run_steps(60);
    window.get_by_label("There are no streamlines yet: place a seed first");
    click(&mut window, "Use the seed tool");
    assert!(matches!(
        window.state().state.view.tool,
        Tool::NewRegion { .. }
    ));
}

fn running_job() {
    let mut state = small_scan();
    let control = arcuate::compute::Control::new();
    control.begin("voxels", 200);
    control.advance(50);
    let job = arcuate::jobs::JobHandle {
        slot: FIT,
        ticket: 7,
        label: "Fitting tensors".to_owned(),
        control,
        started: start_of_new_job(),
    };
    state.runtime.jobs.running = vec![job];
    let mut window = window(state, [1280.0, 800.0]);
    assert!(
        window.query_by_label_contains("Cancel").is_none(),
        "a short job has no message"
    );
    let age = std::time::Duration::from_secs(5);
    window.state_mut().state.runtime.jobs.running[0].started = start_of_old_job(age);
    window.run_steps(2);
    window.get_by_label("Fitting tensors · voxels · 25\u{202F}%");
    // A stage about the file that the label names is not told twice.
    let control = window.state().state.runtime.jobs.running[0].control.clone();
    control.set_named_file("t1.nii.gz".to_owned());
    control.begin_file("Reading", "T1.nii.gz", 200);
    control.advance(50);
    window.run_steps(2);
    window.get_by_label("Fitting tensors · reading T1.nii.gz · 25\u{202F}%");
    control.begin_file("Reading", "t1.nii.gz", 200);
    control.advance(50);
    window.run_steps(2);
    window.get_by_label("Fitting tensors · 25\u{202F}%");
    window.get_by_label("Cancel fitting tensors").click();
    window.run_steps(2);
    assert!(matches!(window.state().effects[..], [Effect::Cancel(FIT)]));
    // Names keep their capitals.
    window.state_mut().state.runtime.jobs.running[0].label = "Opening T1.nii.gz".to_owned();
    window.run_steps(2);
    window.get_by_label("Cancel opening T1.nii.gz");
}
