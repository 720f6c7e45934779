//! Results that arrive after the document has changed.

use super::{Window, file, opened, picture, scan};
use crate::support::origins::moved;
use crate::support::test;
use arcuate::data::{Role, Shape, Volume};
use arcuate::jobs::{Delivery, Outcome};
use arcuate::solvers::curves::Params;
use arcuate::solvers::tensor_fit::Method;
use arcuate::state::alignment::jobs::{ALIGN, AffineRead, ReadAffine};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::files::jobs::{LOAD, SAVE};
use arcuate::state::methods::methods;
use arcuate::state::sessions::jobs::RECOVERY;
use arcuate::state::tensors::jobs::fit::{FIT, FitTensors};
use arcuate::state::track::jobs::streamlines::LiveTracking;
use arcuate::state::{
    Action, AlignmentAction, CommandLine, Content, Event, LayerAction, LayerId, Phase,
    RegionAction, SessionAction, TrackAction, UnsavedAction, WholeBrain,
};
use glam::{DAffine3, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::stale::an_undone_fit_is_not_taken", undone_fit),
        test("update::stale::undo_keeps_the_first_fit", first_fit_is_kept),
        test("update::stale::a_fit_whose_scan_is_gone", scan_gone),
        test("update::stale::a_stopped_fit", stopped_fit),
        test("update::stale::undo_of_reopening", reopening),
        test(
            "update::stale::whole_brain_keeps_its_parameters",
            whole_brain,
        ),
        test(
            "update::stale::live_results_of_old_tensors",
            live_of_old_tensors,
        ),
        test(
            "update::stale::live_results_without_their_seed",
            live_without_seed,
        ),
        test(
            "update::stale::methods_describe_the_shown_curves",
            methods_of_shown,
        ),
        test("update::stale::a_document_that_was_left", left),
    ]
}

/// The methods paragraph describes the curves that are shown, with all regions that they were tracked with.
fn methods_of_shown() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    let shown = methods(&window.state);
    for part in ["were followed", "in steps of 0.5 mm", "(sphere of"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    window.act(Action::Region(RegionAction::Toggle(seed)));
    assert_eq!(methods(&window.state), shown);
    window.holding = true;
    step(&mut window, 1.75);
    assert_eq!(methods(&window.state), shown);
    window.deliver(in_order);
    let text = methods(&window.state);
    assert!(text.contains("in steps of 1.75 mm"), "{text}");
    // Settings without a sentence of their own are listed as their rows name them, if they are not the defaults.
    assert!(!text.contains("differed from"), "{text}");
    window.holding = false;
    let params = Params {
        random_seed: 7,
        max_steps: 900,
        ..window.state.document.track.streamlines.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    let text = methods(&window.state);
    let sentence =
        "Other settings that differed from their defaults: random seed 7, step limit 900.";
    assert!(text.contains(sentence), "{text}");
}

/// Requests about one document do nothing to the next, and no message mentions them.
fn left() {
    let mut window = Window::fitted();
    let image = || {
        let frame = scan().0;
        let image = Volume::scalar(frame.grid.clone(), frame.frame(0).to_vec());
        Action::Event(file("/data/t1.nii.gz", Loaded::Image(image)))
    };
    let opened = |window: &Window| {
        let layer = window.state.document.layer_named("t1");
        layer.expect("opened").id
    };
    window.act(image());
    let first = opened(&window);
    window.holding = true;
    window.act(Action::Alignment(AlignmentAction::Align(first)));
    let jobs = &window.state.runtime.jobs.running;
    let running = jobs.iter().find(|j| j.slot == ALIGN).cloned();
    let ticket = running.expect("requested").ticket;
    window.pending.clear();
    window.cancelled.clear();
    window.holding = false;
    window.act(Action::Session(SessionAction::CloseDocument(
        UnsavedAction::New,
    )));
    assert!(window.state.document.is_empty());
    assert!(window.cancelled_of_document && ALIGN.is_of_document());
    // A file being written is finished, and a file being opened is opened.
    for slot in [SAVE, RECOVERY, LOAD] {
        assert!(!slot.is_of_document(), "{slot:?}");
        assert!(!window.cancelled.contains(&slot), "{slot:?}");
    }
    window.act(image());
    let ends = |outcome| {
        let job = ReadAffine {
            path: "/data/a.txt".into(),
            moving: None,
            fixed: None,
            layer: 0,
        };
        let delivery = Delivery {
            slot: ALIGN,
            ticket,
            wall_ms: 1.0,
            outcome,
        };
        Action::Event(Event::new(job, delivery))
    };
    let status = window.state.runtime.notices.status.clone();
    window.act(ends(Outcome::Cancelled));
    assert_eq!(window.state.runtime.notices.status, status);
    let transform = DAffine3::from_translation(DVec3::X);
    let moves = |LayerId(layer)| {
        let read = AffineRead { layer, transform };
        ends(Outcome::Done(read))
    };
    window.act(moves(first));
    assert!(moved(&window.state.document).is_empty());
    let now = opened(&window);
    window.act(moves(now));
    assert!(window.state.document.moved(now).is_some());
}

fn in_order(_: &mut Vec<Event>) {}

fn undone_fit() {
    let mut window = Window::fitted();
    let before = picture(&window.state);
    let method = window.tensors().key.params.method;
    window.holding = true;
    window.ordinary();
    window.cancelled.clear();
    window.act(Action::Undo);
    assert!(window.cancelled.contains(&FIT), "{:?}", window.cancelled);
    window.deliver(in_order);
    assert_eq!(picture(&window.state), before);
    assert_eq!(window.tensors().key.params.method, method);
    // Results that came too late for the present state are available to redo.
    window.act(Action::Redo);
    assert_eq!(window.tensors().key.params.method, Method::Ols);
    assert_eq!(window.fits(), 2, "{method:?} and the other");
    let CommandLine::Fit { fit, .. } = window.fit() else {
        panic!("{:?}", window.fit())
    };
    assert_eq!(fit.params.method, Method::Ols);
}

fn first_fit_is_kept() {
    let mut window = Window::new();
    window.holding = true;
    window.act(Action::Event(opened()));
    let layer = window.state.document.layers[0].clone();
    let mut display = layer.display.clone();
    display.opacity = 0.5;
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: layer.id,
        display,
        phase: Phase::Done,
    }));
    window.deliver(in_order);
    let dec = window.state.document.layer_named("DEC").expect("DEC").id;
    window.act(Action::Undo);
    let document = &window.state.document;
    assert_eq!(document.layers[0].display.opacity, 1.0);
    assert!(document.tensors.is_some());
    assert_eq!(document.layer_named("DEC").map(|l| l.id), Some(dec));
    assert_eq!(window.fits(), 1, "no second fit");
    // A new layer gets its own id.
    let region = window.place(Role::Seed, DVec3::ZERO);
    let ids = window.state.document.layers.iter();
    assert!(ids.map(|l| l.id.0).all(|id| id != region.0));
}

fn scan_gone() {
    let (dwi, _) = scan();
    let image = Volume::scalar(dwi.grid.clone(), dwi.frame(0).to_vec());
    for deleted in [true, false] {
        let mut window = Window::new();
        let t1 = Loaded::Image(image.clone());
        window.act(Action::Event(file("/data/t1.nii", t1)));
        window.holding = true;
        window.act(Action::Event(opened()));
        let scan = window.state.document.layer_named("scan").expect("scan").id;
        window.act(if deleted {
            Action::Layer(LayerAction::Delete(scan))
        } else {
            Action::Undo
        });
        assert!(window.cancelled.contains(&FIT), "{deleted}");
        window.deliver(in_order);
        let document = &window.state.document;
        assert!(document.scan().is_none() && document.tensors.is_none());
        let names: Vec<&str> = document.layers.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["t1"]);
    }
}

/// A fit that was stopped is requested again as soon as an input may have changed, here by another file.
fn stopped_fit() {
    let (dwi, _) = scan();
    let image = Volume::scalar(dwi.grid.clone(), dwi.frame(0).to_vec());
    let mut window = Window::new();
    window.holding = true;
    window.act(Action::Event(opened()));
    assert!(window.state.runtime.tensors.is_fitting());
    window.pending.clear();
    let mut jobs = window.state.runtime.jobs.running.iter();
    let running = jobs.find(|j| j.slot == FIT).expect("a fit");
    let delivery = Delivery {
        slot: FIT,
        ticket: running.ticket,
        wall_ms: 1.0,
        outcome: Outcome::Cancelled,
    };
    let fit = window.jobs_of::<FitTensors>().next().expect("a fit");
    let stopped = Event::new(fit.clone(), delivery);
    window.act(Action::Event(stopped));
    assert!(!window.state.runtime.tensors.is_fitting());
    assert_eq!(window.fits(), 1, "not by itself");
    let t1 = Loaded::Image(image);
    window.act(Action::Event(file("/data/t1.nii", t1)));
    assert!(window.state.runtime.tensors.is_fitting());
    window.deliver(in_order);
    assert!(!window.state.runtime.tensors.is_fitting());
    assert!(window.state.document.tensors.is_some());
    assert_eq!(window.fits(), 2);
}

fn reopening() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    let before = picture(&window.state);
    let (dwi, mut gradients) = scan();
    // Another table needs another b range.
    gradients.b_s_per_mm2.iter_mut().for_each(|b| *b *= 2.0);
    let loaded = Loaded::Scan {
        dwi,
        gradients: Some(Arc::new(gradients)),
        gradient_files: vec!["/other/x.b".into()],
    };
    window.act(Action::Event(file("/data/scan.nii.gz", loaded)));
    let document = &window.state.document;
    let scans = document.layers.iter();
    let scans = scans.filter(|l| matches!(l.content, Content::Scan { .. }));
    assert_eq!(scans.count(), 1, "one scan in the other's place");
    assert!(matches!(document.layers[0].content, Content::Scan { .. }));
    assert_eq!(document.fit.b_range_s_per_mm2.1, f64::INFINITY);
    let after = picture(&window.state);
    window.act(Action::Undo);
    assert_eq!(picture(&window.state), before);
    window.act(Action::Redo);
    assert_eq!(picture(&window.state), after);
}

fn step(window: &mut Window, step_mm: f64) {
    let params = Params {
        step_mm,
        ..window.state.document.track.streamlines.clone()
    };
    window.act(Action::Track(TrackAction::SetStreamlines {
        params,
        phase: Phase::Done,
    }));
}

fn whole_brain() {
    let mut window = Window::fitted();
    window.place(Role::Exclude, dvec3(12.0, 0.0, 0.0));
    window.state.document.track.whole_brain = WholeBrain {
        seeds: 500,
        by_regions: true,
    };
    window.holding = true;
    window.act(Action::Track(TrackAction::WholeBrain));
    step(&mut window, 1.75);
    window.deliver(in_order);
    let layer = window.state.document.layer_named("Whole brain");
    let layer = layer.expect("streamlines").clone();
    let CommandLine::Track {
        params, regions, ..
    } = window.state.document.command_line(&layer)
    else {
        panic!("{:?}", layer.origin)
    };
    assert_eq!((params.step_mm, regions.len()), (0.5, 1));
    // Results of removed tensors are not kept, and the message reports it.
    window.act(Action::Track(TrackAction::WholeBrain));
    window.ordinary();
    window.deliver(|events| events.reverse());
    let layers = window.state.document.layers.iter();
    let kept = layers.filter(|l| l.name.starts_with("Whole brain")).count();
    assert_eq!(kept, 1);
    let mut messages = window.state.runtime.notices.messages.iter();
    assert!(messages.any(|m| m.text.contains("tensors changed")));
}

fn live_of_old_tensors() {
    let mut window = Window::fitted();
    window.holding = true;
    window.place(Role::Seed, DVec3::ZERO);
    window.ordinary();
    // The fit arrives first, then the streamlines of the earlier tensors.
    window.deliver(|events| events.sort_by_key(|e| e.slot != FIT));
    assert!(
        window.state.runtime.track.live.value().is_none(),
        "of the old tensors"
    );
    let field = window.tensors().field.id();
    let requested = window.submitted.last().and_then(|job| job.job());
    assert!(requested.is_some_and(|LiveTracking(track): &LiveTracking| track.field.id() == field));
    window.deliver(in_order);
    let live = window
        .state
        .runtime
        .track
        .live
        .value()
        .expect("a live result");
    let line = window.state.document.live_command_line(live);
    let CommandLine::Track { fit, .. } = &line else {
        panic!("{line:?}")
    };
    assert_eq!(fit.params.method, Method::Ols);
}

fn live_without_seed() {
    let mut window = Window::fitted();
    window.holding = true;
    let seed = window.place(Role::Seed, DVec3::ZERO);
    let moved = Shape::Sphere {
        centre: DVec3::X,
        radius_mm: 5.0,
    };
    window.act(Action::Region(RegionAction::SetShape {
        region: seed,
        shape: moved,
        phase: Phase::Done,
    }));
    // The older of two results arrives last.
    window.deliver(|events| {
        assert!(matches!(
            events[0].outcome::<LiveTracking>(),
            Some(Outcome::Done(_))
        ));
        events.reverse();
    });
    let command = |w: &Window| {
        let live = w.state.runtime.track.live.value();
        live.map(|l| w.state.document.live_command_line(l).text())
    };
    assert!(command(&window).is_some_and(|c| c.contains("sphere:1,0,0,5")));
    step(&mut window, 1.0);
    window.act(Action::Region(RegionAction::Delete(seed)));
    window.deliver(in_order);
    assert_eq!(command(&window), None);
}
