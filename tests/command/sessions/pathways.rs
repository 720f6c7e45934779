//! Kept pathways: a session stores their inputs, and recomputes them.

use super::replay::{outcomes, run};
use crate::streamlines::commands::run as run_in_shell;
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Role, Volume};
use arcuate::io::{self, Opened};
use arcuate::solvers::level_set::Sphere;
use arcuate::solvers::lifted::DirectionSet;
use arcuate::state::pathways::{PathwayAction, RandomPairRank, ShownCost, Standing, SurfaceUse};
use arcuate::state::segment::SegmentAction;
use arcuate::state::track::types::odf::Model;
use arcuate::state::update::pathway_command;
use arcuate::state::{Action, Content, Layer, Phase, Task, TensorAction, ViewAction};
use glam::dvec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::pathways_are_restored", come_back),
        test("sessions::pathways_wait_for_the_surface", surface),
        test("sessions::maps_of_pathways_are_stored", maps),
        test("sessions::pathways_through_crossings", crossings),
    ]
}

fn come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].clone();
    let changed = arcuate::state::KeptPathway {
        name: "Mine".to_owned(),
        epsilon: 0.25,
        compared: Some(RandomPairRank {
            pairs: 200,
            weakest: 0.13,
            mean: 0.22,
        }),
        ..(*kept).clone()
    };
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::SetKept {
        kept: changed,
        phase,
    }));
    let mut settings = window.state.document.pathways.clone();
    (settings.shown, settings.contours) = (ShownCost::Second, Some(2.5));
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    // The live one has changed, and is kept as it is.
    window.place(Role::Exclude, dvec3(4.0, 0.0, 0.0), 2.0);
    window.act(Action::Pathway(PathwayAction::Keep));
    let path = folder.path().join("paths.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert_eq!(
        reopened.state.document.pathways,
        window.state.document.pathways
    );
    assert_eq!(reopened.state.pathway_standing(), Some(Standing::Final));
    let back = &reopened.state.document.kept_pathways[0];
    assert_eq!(
        (&*back.name, back.epsilon, back.colour),
        ("Mine", 0.25, kept.colour)
    );
    let sentence = "Weakest stretch cheaper than 87\u{202F}% of 200 random pairs in this head, cost per mm cheaper than 78\u{202F}%";
    assert_eq!(back.compared.map(|c| c.text()).as_deref(), Some(sentence));
    let (was, is) = (kept.result.as_ref().expect("found"), back.result.as_ref());
    let is = is.expect("recomputed");
    assert!((was.pathway.min_cost / is.pathway.min_cost - 1.0).abs() < 1e-4);
    assert!(!reopened.state.is_dirty());
    let (code, value, stderr) = run(&["replay", "paths.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{stderr}");
    let all = outcomes(&value);
    let costs = all.iter().filter(|o| {
        (o.starts_with("pathway: ") || o.starts_with("layer_"))
            && (o.ends_with("same_bytes") || o.ends_with("within_tolerance"))
    });
    assert_eq!(costs.count(), 3, "{all:?}");
    // Changed costs are detected.
    let text = std::fs::read_to_string(&path).expect("read");
    let mut session: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let results = session["results"].as_array_mut().expect("results");
    let sum = results.iter_mut().find(|r| r["result"] == "pathway");
    let sum = sum.expect("the live one");
    sum["sha256"] = serde_json::Value::from("0".repeat(64));
    for row in sum["sample"].as_array_mut().expect("rows") {
        let cost = row[1].as_f64().expect("a number");
        row[1] = serde_json::Value::from(cost * 1.01);
    }
    std::fs::write(folder.path().join("other.arcuate"), session.to_string()).expect("written");
    let (code, value, _) = run(&["replay", "other.arcuate"], folder.path());
    assert_eq!(code, Some(1));
    assert!(outcomes(&value).contains(&"pathway: differs".to_owned()));
}

/// A pathway that stays out of the surface is not shown before Segment has restored it; one that is kept needs no surface.
fn surface() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let show = |window: &mut Window, task| window.act(Action::View(ViewAction::SelectTask(task)));
    show(&mut window, Task::Segment);
    window.act(Action::Segment(SegmentAction::Sphere(Sphere {
        add: true,
        centre: dvec3(0.0, 0.0, 0.0),
        radius_mm: 4.0,
    })));
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (0.5, 10.0);
    settings.target_chosen = true;
    let phase = Phase::Done;
    window.act(Action::Segment(SegmentAction::Set { settings, phase }));
    window.act(Action::Segment(SegmentAction::Step));
    let moved = window
        .state
        .runtime
        .segment
        .live
        .as_ref()
        .expect("a surface");
    assert!(moved.step > 0);
    show(&mut window, Task::Pathways);
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    let mut settings = window.state.document.pathways.clone();
    settings.surface_use = SurfaceUse::Excluded;
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    let around = window
        .state
        .final_pathway()
        .expect("solved")
        .pathway
        .min_cost;
    window.act(Action::Pathway(PathwayAction::Keep));
    let path = folder.path().join("surface.arcuate");
    window.save(&path);
    let mut reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let kept = reopened.state.document.kept_pathways[0].result.as_ref();
    let kept = kept.expect("recomputed").pathway.min_cost;
    assert!((kept / around - 1.0).abs() < 1e-4, "{kept}, {around}");
    assert!(reopened.state.runtime.pathways.live.value().is_none());
    let why = reopened.state.why_no_pathway();
    assert!(why.contains("Show Segment"), "{why}");
    show(&mut reopened, Task::Segment);
    let live = reopened
        .state
        .final_pathway()
        .expect("solved")
        .pathway
        .min_cost;
    assert!((live / around - 1.0).abs() < 1e-4, "{live}, {around}");
    let (code, value, stderr) = run(&["replay", "surface.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{stderr}");
    // The surface is restored before the pathway around it is solved.
    let all = outcomes(&value);
    let is_same = |prefix: &str| {
        let mut lines = all.iter().filter(|line| line.starts_with(prefix));
        lines.any(|line| line.ends_with("same_bytes") || line.ends_with("within_tolerance"))
    };
    assert!(is_same("surface: ") && is_same("pathway: "), "{all:?}");
}

/// The map of the voxels on which a pathway depends: stored with its values, described by its command.
fn maps() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let map = |window: &Window| {
        let layers = &window.state.document.layers;
        let map = layers.iter().find(|l| l.unit == "%").expect("the map");
        (map.clone(), window.state.document.command_line(map).text())
    };
    let (before, command) = map(&window);
    assert!(
        command.ends_with(" --sensitivity sensitivity.nii.gz --null 0"),
        "{command}"
    );
    let path = folder.path().join("map.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let (after, repeated) = map(&reopened);
    assert_eq!((&*after.name, &*repeated), (&*before.name, &*command));
    let values = |layer: &Layer| layer.content.volume().expect("an image").values.clone();
    assert_eq!(values(&after), values(&before));
    assert_eq!(after.display, before.display);
    assert!(!reopened.state.is_dirty());
    let outcome = |session: &str| {
        let (code, value, stderr) = run(&["replay", session], folder.path());
        let prefix = format!("layer_{}: ", before.id.0);
        let all = outcomes(&value);
        let outcome = all.iter().find_map(|line| line.strip_prefix(&prefix));
        (code, outcome.map(str::to_owned), stderr)
    };
    let (code, same, stderr) = outcome("map.arcuate");
    assert_eq!(code, Some(0), "{stderr}");
    let same = same.expect("the map is recomputed");
    assert!(same == "same_bytes" || same == "within_tolerance", "{same}");
    // A map of another pathway is detected.
    let mut other = Window::opened(&path);
    let shifted = {
        let volume = before.content.volume().expect("an image");
        let mut values = volume.values.to_vec();
        values.rotate_right(5);
        Content::Image(Volume::scalar(volume.grid.clone(), values))
    };
    other
        .state
        .document
        .edit_layer(before.id, |l| l.content = shifted);
    other.save(&folder.path().join("other.arcuate"));
    let (code, differs, _) = outcome("other.arcuate");
    assert_eq!((code, differs.as_deref()), (Some(1), Some("differs")));
}

/// Through distributions: kept with those, solved again from them, replayed, and repeated by the copied command.
fn crossings() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_scan(here);
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(settings)));
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    let phase = Phase::Done;
    let mut settings = window.state.document.pathways.clone();
    settings.model = Model::Distributions;
    settings.lifted.curvature_price_mm = 8.0;
    settings.lifted.directions = DirectionSet::Lattice98;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    let live = window.state.final_pathway();
    let live = live
        .unwrap_or_else(|| panic!("{}", window.messages()))
        .clone();
    window.act(Action::Pathway(PathwayAction::Keep));
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    window.act(Action::Pathway(PathwayAction::AmplitudeSensitivity(None)));
    let maps = |window: &Window| {
        let layers = window.state.document.layers.iter();
        let maps = layers.filter(|l| l.unit == "%").map(|map| {
            let values = map.content.volume().expect("an image").values.clone();
            (
                map.id,
                values,
                window.state.document.command_line(map).text(),
            )
        });
        maps.collect::<Vec<_>>()
    };
    let mapped = maps(&window);
    assert_eq!(mapped.len(), 2);
    // A second one, through tensors.
    let mut settings = window.state.document.pathways.clone();
    settings.model = Model::Tensors;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    window.act(Action::Pathway(PathwayAction::Keep));
    window.act(Action::Undo);
    window.act(Action::Undo);
    let path = here.join("crossings.arcuate");
    window.save(&path);
    let mut reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let settings = &reopened.state.document.pathways;
    assert_eq!(*settings, window.state.document.pathways);
    assert_eq!(settings.model, Model::Distributions);
    assert_eq!(reopened.state.pathway_standing(), Some(Standing::Final));
    let kept = reopened.state.document.kept_pathways[0].clone();
    let solved = kept.result.as_ref().expect("recomputed");
    assert_eq!(solved.pathway.total, live.pathway.total, "same bytes");
    assert_eq!(maps(&reopened), mapped);
    assert!(!reopened.state.is_dirty());
    reopened.save(&path);
    for threads in ["1", "3"] {
        let (code, value, stderr) =
            run(&["replay", "crossings.arcuate", "--threads", threads], here);
        assert_eq!(code, Some(0), "{stderr}");
        let all = outcomes(&value);
        for name in [
            "pathway".to_owned(),
            format!("layer_{}", kept.id.0),
            format!("layer_{}", mapped[0].0.0),
            format!("layer_{}", mapped[1].0.0),
        ] {
            let own = format!("{name}: same_bytes");
            assert!(all.contains(&own), "{own}: {all:?}");
        }
    }
    let line = pathway_command(&reopened.state, Some(kept.id));
    let command = line.expect("a command").text();
    assert!(command.contains("--directions 98"), "{command}");
    let elsewhere = tempfile::tempdir().expect("a folder");
    run_in_shell(&command, elsewhere.path());
    let out = command.rsplit(" --out ").next().expect("an output");
    let file = elsewhere.path().join(out).join("u.nii.gz");
    let opened = io::open(&file, &Control::new());
    let Ok(Opened::Volume(image, _)) = opened else {
        panic!("{}: {command}", file.display());
    };
    let least = image.values.iter().copied().filter(|v| v.is_finite());
    let least = f64::from(least.fold(f32::INFINITY, f32::min));
    let expected = live.pathway.min_cost;
    assert!((least / expected - 1.0).abs() < 1e-4, "{least} {expected}");
}
