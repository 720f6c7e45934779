//! Segmentations: a session holds the masks and their scripts, and goes on with the surface in the hand.

use super::Window;
use super::replay::{outcomes, run};
use crate::support::test;
use arcuate::solvers::level_set::Sphere;
use arcuate::state::segment::SegmentAction;
use arcuate::state::{Action, Content, Phase, Task};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("sessions::segmentations_come_back", come_back)]
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

fn come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.act(Action::SelectTask(Task::Segment));
    let layers = window.state.document.layers.iter();
    let mut scans = layers.filter(|l| matches!(l.content, Content::Scan { .. }));
    let scan = scans.next().expect("a scan").clone();
    let (low, high) = scan.content.volume().expect("an image").range(0);
    act(&mut window, SegmentAction::Image(scan.id));
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (high, 0.6 * (high - low));
    (settings.told, settings.watched) = (true, false);
    let phase = Phase::Done;
    act(&mut window, SegmentAction::Set { settings, phase });
    sphere(&mut window, true, DVec3::ZERO, 5.0);
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, false, dvec3(3.0, 0.0, 0.0), 2.5);
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::Keep);
    let kept = window.state.document.layers.last().expect("kept").clone();
    let Content::Mask(mask) = &kept.content else {
        panic!("a mask: {}", window.said());
    };
    // The next one is on its way.
    sphere(&mut window, true, dvec3(0.0, 4.0, 0.0), 4.0);
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, true, dvec3(0.0, -4.0, 0.0), 3.0);
    act(&mut window, SegmentAction::Step);
    let live = window.state.session.segment.live.clone().expect("live");
    assert_eq!(live.step, 20);
    let path = folder.path().join("segments.arcuate");
    window.save(&path);
    let mut again = Window::opened(&path);
    assert_eq!(again.said(), "");
    let back = again.state.document.layer(kept.id).expect("back");
    let Content::Mask(held) = &back.content else {
        panic!("a mask");
    };
    assert_eq!((&held.inside, &*back.name), (&mask.inside, &*kept.name));
    let made = &again.state.document.segmented[&kept.id];
    assert_eq!(
        made.script,
        window.state.document.segmented[&kept.id].script
    );
    // Any action is one after which it is looked at.
    again.act(Action::SelectTask(Task::Segment));
    let resumed = again.state.session.segment.live.clone().expect("live");
    assert_eq!((resumed.step, resumed.inside), (live.step, live.inside));
    assert_eq!(resumed.script, live.script);
    assert_eq!(again.state.document.segment.spheres.len(), 2);
    // And it goes on from there.
    act(&mut again, SegmentAction::Step);
    act(&mut window, SegmentAction::Step);
    let steps = [&again, &window].map(|w| w.state.session.segment.live.clone().expect("live"));
    assert_eq!(steps[0].step, 30);
    assert_eq!(steps[0].inside, steps[1].inside);
    let methods = arcuate::state::methods::methods(&again.state);
    assert!(methods.contains("was segmented in"), "{methods}");
    assert!(methods.contains("Lefohn"), "{methods}");
    let (code, value, said) = run(&["replay", "segments.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{said}");
    let name = format!("layer {}: same bytes", kept.id.0);
    assert!(outcomes(&value).contains(&name), "{:?}", outcomes(&value));
    // A sphere of another size is another mask.
    let text = std::fs::read_to_string(&path).expect("read");
    let (from, to) = ("\"radius_mm\": 2.5", "\"radius_mm\": 4.5");
    assert!(text.contains(from), "{text}");
    let changed = folder.path().join("changed.arcuate");
    std::fs::write(changed, text.replace(from, to)).expect("written");
    let (code, value, said) = run(&["replay", "changed.arcuate"], folder.path());
    assert_eq!(code, Some(1), "{said}");
    let name = format!("layer {}: differs", kept.id.0);
    assert!(outcomes(&value).contains(&name), "{:?}", outcomes(&value));
    // What cannot be read stays in the session, and is back where it can.
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
    let said = without.said();
    assert!(said.contains("left out and stays in the session"), "{said}");
    without.save(&later);
    let text = std::fs::read_to_string(&later).expect("read");
    let text = text.replace("of a later version", &sources[0]);
    std::fs::write(&later, text).expect("written");
    let back = Window::opened(&later);
    let layer = back.state.document.layer(kept.id).expect("back");
    let Content::Mask(held) = &layer.content else {
        panic!("a mask");
    };
    assert_eq!(held.inside, mask.inside);
}
