//! Segmentations: a session stores the masks and their scripts, and continues the live surface.

use super::replay::{outcomes, run};
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Role, Shape};
use arcuate::io::Opened;
use arcuate::solvers::level_set::{Cause, Ended, Leak, Sphere};
use arcuate::state::segment::{SegmentAction, SegmentFile, SurfaceStanding};
use arcuate::state::{Action, Content, LeakNotice, Phase, RegionAction, State, Task, ViewAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::segmentations_are_restored", come_back),
        test("sessions::a_leak_is_restored", leak),
        test("sessions::a_surface_on_a_map_of_the_fit_is_restored", on_fa),
    ]
}

fn act(window: &mut Window, action: SegmentAction) {
    window.act(Action::Segment(action));
}

fn sphere(window: &mut Window, add: bool, centre: DVec3, radius_mm: f64) {
    let sphere = Sphere {
        add,
        centre,
        radius_mm,
    };
    act(window, SegmentAction::Sphere(sphere));
}

/// A region of voxels into which the surface grows from now on.
fn speeds(window: &mut Window, centre: DVec3) {
    let layers = window.state.document.layers.iter();
    let grid = layers.filter_map(|l| l.content.volume()).next();
    let grid = grid.expect("an image").grid.clone();
    let ball = Shape::Sphere {
        centre,
        radius_mm: 5.0,
    };
    window.act(Action::Region(RegionAction::Add {
        role: Role::Mask,
        shape: Shape::Mask(ball.mask_on(&grid)),
    }));
    let region = window.state.runtime.regions.selected;
    act(window, SegmentAction::Painted(0, region));
}

/// A surface paused because of a leak is also paused in the window that opens its session.
fn leak() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = started(folder.path());
    sphere(&mut window, true, DVec3::ZERO, 5.0);
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::Step);
    let mut live = (**window.state.runtime.segment.live.as_ref().expect("live")).clone();
    let leak = Leak {
        rewind_step: 10,
        noticed: 20,
        cause: Cause::Growth,
    };
    live.ended = Ended::Leaked(leak);
    live.leak = Some(LeakNotice {
        leak,
        at: Some(dvec3(1.0, -2.5, 3.0)),
        before_ml: 0.75,
        grown: 2.0,
    });
    window.state.runtime.segment.live = Some(std::sync::Arc::new(live.clone()));
    let path = folder.path().join("leak.arcuate");
    window.save(&path);
    let reopened = |path: &std::path::Path| {
        let mut reloaded = Window::opened(path);
        assert_eq!(reloaded.messages(), "");
        reloaded.act(Action::View(ViewAction::SelectTask(Task::Segment)));
        reloaded
    };
    let standing = |window: &Window| window.state.segment_standing();
    let mut reloaded = reopened(&path);
    let found = reloaded.state.runtime.segment.live.clone().expect("live");
    assert_eq!((found.step, found.inside), (live.step, live.inside));
    assert_eq!(found.leak, live.leak);
    assert_eq!(standing(&reloaded), Some(SurfaceStanding::Leaked));
    // It is kept from session to session, until the user undoes it.
    reloaded.save(&path);
    let mut reloaded = reopened(&path);
    assert_eq!(standing(&reloaded), Some(SurfaceStanding::Leaked));
    act(&mut reloaded, SegmentAction::Rewind(leak.rewind_step));
    let found = reloaded.state.runtime.segment.live.clone().expect("live");
    assert_eq!((found.step, found.leak), (10, None));
    reloaded.save(&path);
    assert_eq!(standing(&reopened(&path)), Some(SurfaceStanding::Paused));
}

/// The map comes only with the fit, after the session was read: the surface waits for it.
fn on_fa() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let named = |window: &Window, name: &str| {
        let layer = window.state.document.layer_named(name);
        layer.expect("a map of the fit").id
    };
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let fa = named(&window, "FA");
    act(&mut window, SegmentAction::Image(fa));
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (0.8, 0.4);
    (settings.target_chosen, settings.watched) = (true, false);
    let phase = Phase::Done;
    act(&mut window, SegmentAction::Set { settings, phase });
    sphere(&mut window, true, DVec3::ZERO, 3.0);
    act(&mut window, SegmentAction::Step);
    let md = named(&window, "MD");
    for (speed, name) in [(None, "fa"), (Some(md), "md")] {
        let path = folder.path().join(format!("{name}.arcuate"));
        if speed.is_some() {
            act(&mut window, SegmentAction::SpeedLayer(speed));
            act(&mut window, SegmentAction::Step);
        }
        window.save(&path);
        let live = window.state.runtime.segment.live.clone().expect("live");
        let mut reloaded = Window::opened(&path);
        assert_eq!(reloaded.messages(), "");
        let segment = &reloaded.state.document.segment;
        assert_eq!((segment.image, segment.layer), (Some(fa), speed));
        let resumed = reloaded.state.runtime.segment.live.clone().expect("live");
        assert_eq!((resumed.step, resumed.inside), (live.step, live.inside));
        assert_eq!(resumed.script, live.script);
        let shows = |name: &str| {
            let layer = reloaded.state.document.layer_named(name).expect("a map");
            reloaded.state.shows(layer)
        };
        assert!(shows("FA") && !shows("DEC"));
        // It is saved as it was, and continues in the same way.
        let path = folder.path().join(format!("{name} again.arcuate"));
        reloaded.save(&path);
        assert!(reloaded.state.document.segment.resume.is_none());
        let mut third = Window::opened(&path);
        act(&mut third, SegmentAction::Step);
        act(&mut reloaded, SegmentAction::Step);
        let steps =
            [&reloaded, &third].map(|w| w.state.runtime.segment.live.clone().expect("live"));
        assert_eq!(steps[0].inside, steps[1].inside);
        assert_eq!(steps[0].step, steps[1].step);
    }
}

/// A scan whose surface waits for its first sphere.
fn started(folder: &std::path::Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let layers = window.state.document.layers.iter();
    let mut scans = layers.filter(|l| matches!(l.content, Content::Scan { .. }));
    let scan = scans.next().expect("a scan").clone();
    let (low, high) = scan.content.volume().expect("an image").range(0);
    act(&mut window, SegmentAction::Image(scan.id));
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (high, 0.6 * (high - low));
    (settings.target_chosen, settings.watched) = (true, false);
    let phase = Phase::Done;
    act(&mut window, SegmentAction::Set { settings, phase });
    window
}

fn come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = started(folder.path());
    sphere(&mut window, true, DVec3::ZERO, 5.0);
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, false, dvec3(3.0, 0.0, 0.0), 2.5);
    act(&mut window, SegmentAction::Step);
    speeds(&mut window, dvec3(0.0, 8.0, 0.0));
    act(&mut window, SegmentAction::Step);
    // The run as a file gives the same voxels.
    let file = folder.path().join("run.json");
    let what = SegmentFile::Script;
    act(
        &mut window,
        SegmentAction::Save {
            file: what,
            path: file,
        },
    );
    act(&mut window, SegmentAction::Keep);
    let kept = window.state.document.layers.last().expect("kept").clone();
    let Content::Mask(mask) = &kept.content else {
        panic!("a mask: {}", window.messages());
    };
    let line = ["segment", "--script", "run.json", "--out", "again"];
    let (code, _, message) = run(&line, folder.path());
    assert_eq!(code, Some(0), "{message}");
    let labels = folder.path().join("again/labels.nii.gz");
    let Ok(Opened::Volume(labels, _)) = arcuate::io::open(&labels, &Control::new()) else {
        panic!("labels");
    };
    let labels: Vec<u8> = labels.values.iter().map(|v| u8::from(*v != 0.0)).collect();
    assert_eq!(labels, *mask.inside);
    // The next run has started.
    sphere(&mut window, true, dvec3(0.0, 4.0, 0.0), 4.0);
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, true, dvec3(0.0, -4.0, 0.0), 3.0);
    act(&mut window, SegmentAction::Step);
    speeds(&mut window, dvec3(0.0, 0.0, 8.0));
    act(&mut window, SegmentAction::Step);
    let live = window.state.runtime.segment.live.clone().expect("live");
    assert_eq!(live.step, 30);
    let path = folder.path().join("segments.arcuate");
    window.save(&path);
    let mut reloaded = Window::opened(&path);
    assert_eq!(reloaded.messages(), "");
    let back = reloaded.state.document.layer(kept.id).expect("back");
    let Content::Mask(restored) = &back.content else {
        panic!("a mask");
    };
    assert_eq!((&restored.inside, &*back.name), (&mask.inside, &*kept.name));
    let segmented = |state: &State| {
        let recipe = state.document.segmentation_recipe(kept.id);
        recipe.expect("segmented").clone()
    };
    assert_eq!(
        segmented(&reloaded.state).script,
        segmented(&window.state).script
    );
    // It is shown after any action.
    reloaded.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let resumed = reloaded.state.runtime.segment.live.clone().expect("live");
    assert_eq!((resumed.step, resumed.inside), (live.step, live.inside));
    assert_eq!(resumed.script, live.script);
    assert_eq!(reloaded.state.document.segment.spheres.len(), 2);
    // The task shows the scan, which the other tasks hide.
    for state in [&window.state, &reloaded.state] {
        let scan = state.document.layer_named("dwi").expect("the scan");
        assert!(state.shows(scan) && !scan.display.visible);
    }
    // The run continues from there.
    act(&mut reloaded, SegmentAction::Step);
    act(&mut window, SegmentAction::Step);
    let steps = [&reloaded, &window].map(|w| w.state.runtime.segment.live.clone().expect("live"));
    assert_eq!(steps[0].step, 40);
    assert_eq!(steps[0].inside, steps[1].inside);
    // It reads what it wrote: nothing changes.
    assert_eq!(steps[0].script, steps[1].script);
    assert_eq!(steps[0].speed_sources.len(), 2);
    let methods = arcuate::state::methods::methods(&reloaded.state);
    assert!(methods.contains("was segmented in"), "{methods}");
    assert!(methods.contains("Lefohn"), "{methods}");
    let (code, value, message) = run(&["replay", "segments.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{message}");
    let name = format!("layer_{}: same_bytes", kept.id.0);
    assert!(outcomes(&value).contains(&name), "{:?}", outcomes(&value));
    let surface = "surface: same_bytes".to_owned();
    assert!(
        outcomes(&value).contains(&surface),
        "{:?}",
        outcomes(&value)
    );
    // A sphere of another size gives another mask.
    let text = std::fs::read_to_string(&path).expect("read");
    let (from, to) = ("\"radius_mm\": 2.5", "\"radius_mm\": 4.5");
    assert!(text.contains(from), "{text}");
    let changed = folder.path().join("changed.arcuate");
    std::fs::write(changed, text.replace(from, to)).expect("written");
    let (code, value, message) = run(&["replay", "changed.arcuate"], folder.path());
    assert_eq!(code, Some(1), "{message}");
    let name = format!("layer_{}: differs", kept.id.0);
    assert!(outcomes(&value).contains(&name), "{:?}", outcomes(&value));
    // Unreadable parts stay in the session, and are restored when they can be read.
    let mut session: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut sources = Vec::new();
    for packed in session["masks"].as_array_mut().expect("masks") {
        let source = std::mem::replace(&mut packed["affine"], "of a later version".into());
        sources.push(source.as_str().expect("a name").to_owned());
    }
    let later = folder.path().join("later.arcuate");
    std::fs::write(&later, session.to_string()).expect("written");
    let mut without = Window::opened(&later);
    assert!(without.state.document.layer(kept.id).is_none());
    let message = without.messages();
    assert!(
        message.contains("left out and stays in the session"),
        "{message}"
    );
    // Masks like these moved the live surface.
    let sentence = "The surface that was segmented is left out and stays in the session until";
    assert!(message.contains(sentence), "{message}");
    assert!(without.state.document.segment.spheres.is_empty());
    without.save(&later);
    let text = std::fs::read_to_string(&later).expect("read");
    let text = text.replace("of a later version", &sources[0]);
    std::fs::write(&later, text).expect("written");
    let mut back = Window::opened(&later);
    assert_eq!(back.messages(), "");
    let layer = back.state.document.layer(kept.id).expect("back");
    let Content::Mask(restored) = &layer.content else {
        panic!("a mask");
    };
    assert_eq!(restored.inside, mask.inside);
    let run_values = [&back, &window].map(|w| {
        let document = &w.state.document;
        let named = |id| document.region(id).map(|r| r.name.clone());
        document.segment.painted.map(|id| id.and_then(named))
    });
    assert!(
        run_values[0][0].is_some() && run_values[0] == run_values[1],
        "{run_values:?}"
    );
    back.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let surface = back.state.runtime.segment.live.clone().expect("live");
    assert_eq!((surface.step, surface.inside), (live.step, live.inside));
    // A new surface replaces it.
    sphere(&mut without, true, DVec3::ZERO, 5.0);
    let other = folder.path().join("other.arcuate");
    without.save(&other);
    let other = Window::opened(&other);
    assert_eq!(other.state.document.segment.spheres.len(), 1);
}
