//! Moved layers: undone, saved, written as commands.

use super::{head, moved, random_move};
use crate::support::session_window::{Window, document_text};
use crate::support::{Random, origins, test};
use arcuate::compute::Control;
use arcuate::data::{Role, Shared, Tractogram};
use arcuate::io::affine::save_flirt;
use arcuate::io::{nifti, trx};
use arcuate::state::alignment::Nudge;
use arcuate::state::alignment::jobs::MOVE_STREAMLINES;
use arcuate::state::density::{DensityAction, DensityValue};
use arcuate::state::streamlines::{ManualSelection, SameArc, StreamlineAction, streamlines_of};
use arcuate::state::{
    Action, AlignmentAction, Content, Effect, FilesAction, LayerId, Phase, RegionAction, State,
    update,
};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    vec![
        test("alignment::a session restores a moved layer", session),
        test("alignment::an image is aligned in the window", aligned),
        test("alignment::a layer is moved by a file", by_file),
        test(
            "alignment::maps know the transform of their streamlines",
            maps,
        ),
        test("alignment::nudges are read back", nudges),
        test("alignment::a worker moves many streamlines", many),
    ]
}

/// A scan, its mask and an image next to it.
fn window(folder: &Path) -> (Window, LayerId) {
    let mut window = Window::with_scan(folder);
    let image = folder.join("t1.nii.gz");
    let fa = window.state.document.layer_named("FA").unwrap().clone();
    let Content::Image(volume) = &fa.content else {
        panic!("an image")
    };
    nifti::save_volume(&image, volume, "test", &Control::new()).unwrap();
    window.act(Action::Files(FilesAction::Open(vec![image])));
    let id = window.state.document.layer_named("t1").unwrap().id;
    (window, id)
}

fn grid(window: &Window, id: LayerId) -> DAffine3 {
    let layer = window.state.document.layer(id).unwrap();
    match &layer.content {
        Content::Mask(mask) => mask.grid.world_from_voxel,
        content => content.volume().unwrap().grid.world_from_voxel,
    }
}

fn shift(window: &mut Window, layer: LayerId, transform: DAffine3, phase: Phase) {
    window.act(Action::Alignment(AlignmentAction::Shift {
        layer,
        transform,
        phase,
    }));
}

fn session() {
    let mut random = Random::fresh("moved layers");
    let folder = tempfile::tempdir().unwrap();
    let (mut window, id) = window(folder.path());
    let original = grid(&window, id);
    let mask = window.state.document.layer_named("mask").unwrap().id;
    let [by, other] = [(); 2].map(|()| random_move(&mut random, 10.0, 20.0));
    // A drag is one step.
    for part in [0.3, 0.7] {
        let part = DAffine3::from_translation(by.translation * part);
        shift(&mut window, id, part, Phase::Live);
    }
    shift(&mut window, id, by, Phase::Done);
    assert_eq!(grid(&window, id), by * original);
    window.act(Action::Undo);
    assert_eq!(grid(&window, id), original);
    assert!(origins::moved(&window.state.document).is_empty());
    window.act(Action::Redo);
    // The second move also starts from the file's position.
    shift(&mut window, id, other, Phase::Done);
    assert_eq!(grid(&window, id), other * original);
    shift(&mut window, mask, by, Phase::Done);
    let role = Role::Include;
    window.act(Action::Region(RegionAction::FromLayer {
        layer: mask,
        role,
    }));
    // No text that refers to its file places it at the file's position.
    let text = document_text(&window.state);
    assert!(
        text.contains("arcuate convert") && text.contains("--affine matrix:"),
        "{text}"
    );
    let path = folder.path().join("moved.arcuate");
    window.save(&path);
    let mut repeated = Window::opened(&path);
    assert_eq!(repeated.messages(), "");
    assert_eq!(document_text(&window.state), document_text(&repeated.state));
    assert_eq!(grid(&repeated, id), other * original);
    // The identity moves it back.
    shift(&mut repeated, id, DAffine3::IDENTITY, Phase::Done);
    assert_eq!(grid(&repeated, id), original);
    assert!(repeated.state.document.moved(id).is_none());
    // The scan and everything computed from it stay in place.
    for name in ["dwi", "FA"] {
        let id = repeated.state.document.layer_named(name).unwrap().id;
        let before = grid(&repeated, id);
        shift(&mut repeated, id, by, Phase::Done);
        assert_eq!(grid(&repeated, id), before);
    }
    assert!(
        repeated.messages().contains("can be moved"),
        "{}",
        repeated.messages()
    );
}

fn aligned() {
    let mut random = Random::fresh("window aligns");
    let folder = tempfile::tempdir().unwrap();
    let head = head();
    let put = random_move(&mut random, 6.0, 5.0);
    let paths = ["b0.nii.gz", "t1.nii.gz"].map(|n| folder.path().join(n));
    let control = Control::new();
    nifti::save_volume(&paths[0], &head.b0, "test", &control).unwrap();
    nifti::save_volume(&paths[1], &moved(&head.t1, put), "test", &control).unwrap();
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(paths.to_vec())));
    let id = window.state.document.layer_named("t1").unwrap().id;
    window.act(Action::Alignment(AlignmentAction::Align(id)));
    assert_eq!(window.messages(), "");
    let by = window.state.document.moved_by(id);
    for p in [DVec3::ZERO, DVec3::new(40.0, -50.0, 30.0)] {
        let off = (by * put).transform_point3(p).distance(p);
        assert!(off < 0.6, "{off} mm");
    }
    assert!(
        window
            .state
            .runtime
            .notices
            .status
            .starts_with("Aligned: moved by")
    );
    window.act(Action::Undo);
    assert!(origins::moved(&window.state.document).is_empty());
}

fn by_file() {
    let mut random = Random::fresh("moved by a file");
    let folder = tempfile::tempdir().unwrap();
    let (mut window, id) = window(folder.path());
    let layer = window.state.document.layer(id).unwrap().clone();
    let own = layer.content.volume().unwrap().grid.clone();
    let scan = window
        .state
        .document
        .scan()
        .unwrap()
        .content
        .volume()
        .unwrap()
        .grid
        .clone();
    let by = random_move(&mut random, 10.0, 20.0);
    let path = folder.path().join("t1_to_dwi.mat");
    save_flirt(&path, by, &own, &scan).unwrap();
    window.act(Action::Alignment(AlignmentAction::ApplyAffine {
        layer: id,
        path,
    }));
    assert_eq!(window.messages(), "");
    let found = window.state.document.moved_by(id);
    for p in [DVec3::ZERO, DVec3::splat(50.0)] {
        assert!(found.transform_point3(p).distance(by.transform_point3(p)) < 1e-9);
    }
    let path = folder.path().join("none.mat");
    window.act(Action::Alignment(AlignmentAction::ApplyAffine {
        layer: id,
        path,
    }));
    assert!(
        window.messages().contains("none.mat"),
        "{}",
        window.messages()
    );
}

/// A map stays where it was computed when its streamlines are moved afterwards, in the session as well.
fn maps() {
    let mut random = Random::fresh("moved maps");
    let folder = tempfile::tempdir().unwrap();
    let (mut window, _) = window(folder.path());
    let line: Vec<[f32; 3]> = (0..20).map(|i| [0.0, i as f32 - 10.0, 1.0]).collect();
    let grid = window
        .state
        .document
        .tensors
        .as_ref()
        .unwrap()
        .field
        .grid
        .clone();
    let lines = Tractogram::new(line, vec![0, 20]).with_grid(grid);
    let path = folder.path().join("lines.trx");
    trx::save(&path, &lines, &Control::new()).unwrap();
    window.act(Action::Files(FilesAction::Open(vec![path])));
    let id = window.state.document.layer_named("lines").unwrap().id;
    let [by, other] = [(); 2].map(|()| random_move(&mut random, 5.0, 20.0));
    shift(&mut window, id, by, Phase::Done);
    let options = crate::support::density_map(DensityValue::Length);
    let layer = Some(id);
    window.act(Action::Density(DensityAction::Map { layer, options }));
    let map = window.state.runtime.selected_layer.unwrap();
    shift(&mut window, id, other, Phase::Done);
    let path = folder.path().join("maps.arcuate");
    window.save(&path);
    let repeated = Window::opened(&path);
    assert_eq!(repeated.messages(), "");
    let [a, b] =
        [&window, &repeated].map(|w| match &w.state.document.layer(map).unwrap().content {
            Content::Image(volume) => volume.clone(),
            _ => panic!("a map"),
        });
    assert!(a.range(0).1 > 0.5);
    assert_eq!((&a.values, &*a.grid), (&b.values, &*b.grid));
}

fn nudges() {
    let mut random = Random::fresh("nudges");
    for _ in 0..100 {
        let mut three =
            |most: f64| DVec3::from_array([(); 3].map(|()| random.uniform(-most, most)));
        let nudge = Nudge {
            shift_mm: three(50.0),
            turn_deg: three(44.0),
        };
        let centre = three(30.0);
        let back = Nudge::from_transform(nudge.about(centre), centre).unwrap();
        assert!(back.shift_mm.distance(nudge.shift_mm) < 1e-9);
        assert!(back.turn_deg.distance(nudge.turn_deg) < 1e-9);
        let scaled = nudge.about(centre) * DAffine3::from_scale(DVec3::splat(1.01));
        assert_eq!(Nudge::from_transform(scaled, centre), None);
    }
    // Right-handed about the axes that point right, front and up: a turn to the left.
    let turn = Nudge {
        shift_mm: DVec3::ZERO,
        turn_deg: DVec3::new(0.0, 0.0, 90.0),
    };
    let to = turn.about(DVec3::ZERO).transform_point3(DVec3::X);
    assert!(to.distance(DVec3::Y) < 1e-12);
    let text = |x: f64, turn: f64| {
        let nudge = Nudge {
            shift_mm: DVec3::new(x, 0.02, 0.0),
            turn_deg: DVec3::new(0.0, 0.0, turn),
        };
        nudge.text()
    };
    assert_eq!(text(1.0, -27.9), "1.0\u{202F}mm right, turned −27.9°");
    assert_eq!(text(-2.04, 0.0), "2.0\u{202F}mm left");
    assert_eq!(text(0.01, 0.0), "less than 0.1\u{202F}mm");
}

fn points(state: &State, id: LayerId) -> Shared<[f32; 3]> {
    match &state.document.layer(id).unwrap().content {
        Content::Tractogram(lines) => lines.points.clone(),
        _ => panic!("streamlines"),
    }
}

/// The window only requests the moved streamlines, and does not request them again while they are in progress; a drag
/// ends where the pointer was released, as one step.
fn many() {
    const COUNT: usize = 600_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.trx");
    let line: Vec<[f32; 3]> = (0..COUNT).map(|i| [(i % 100) as f32, 0.0, 1.0]).collect();
    let offsets: Vec<u64> = (0..=COUNT as u64 / 100).map(|i| 100 * i).collect();
    trx::save(&path, &Tractogram::new(line, offsets), &Control::new()).unwrap();
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![path.clone()])));
    let layer = window.state.document.layers[0].id;
    let before = points(&window.state, layer);
    let to = |mm: f64| DAffine3::from_translation(DVec3::new(0.0, mm, 0.0));
    let mut requested = Vec::new();
    let steps = [
        (1.0, Phase::Live),
        (2.0, Phase::Live),
        (3.0, Phase::Live),
        (3.0, Phase::Done),
    ];
    for (mm, phase) in steps {
        let transform = to(mm);
        let state = &mut window.state;
        requested.extend(update(
            state,
            Action::Alignment(AlignmentAction::Shift {
                layer,
                transform,
                phase,
            }),
        ));
        // A nudge continues from there.
        assert_eq!(state.requested_transform(layer), transform);
        assert!(std::ptr::eq(&*points(state, layer), &*before));
    }
    let mut places = Vec::new();
    while !requested.is_empty() {
        let Effect::Submit(request) = requested.remove(0) else {
            panic!("something else is asked for")
        };
        assert!(requested.is_empty(), "one at a time");
        let job = window.jobs.submit(request);
        let event = window.jobs.wait(&job, |_| {});
        requested = update(&mut window.state, Action::Event(event));
        places.push(points(&window.state, layer)[7]);
    }
    assert_eq!(places, [[7.0, 1.0, 1.0], [7.0, 3.0, 1.0]]);
    assert_eq!(window.state.document.moved_by(layer), to(3.0));
    window.act(Action::Undo);
    assert!(std::ptr::eq(&*points(&window.state, layer), &*before));
    assert!(origins::moved(&window.state.document).is_empty());
    assert_eq!(window.state.history.undo_label(), None);
    // A move undone while it is in progress does not arrive.
    shift(&mut window, layer, to(5.0), Phase::Done);
    assert_eq!(points(&window.state, layer)[7], [7.0, 5.0, 1.0]);
    let (transform, phase) = (to(6.0), Phase::Done);
    let requested = update(
        &mut window.state,
        Action::Alignment(AlignmentAction::Shift {
            layer,
            transform,
            phase,
        }),
    );
    let [Effect::Submit(request)] = &requested[..] else {
        panic!("one request");
    };
    let job = window.jobs.submit(request.clone());
    let finished = window.jobs.wait(&job, |_| {});
    let requested = update(&mut window.state, Action::Undo);
    assert!(matches!(
        requested[..],
        [Effect::Cancel(MOVE_STREAMLINES), ..]
    ));
    assert_eq!(window.state.requested_transform(layer), DAffine3::IDENTITY);
    // The same holds if the worker finished before that.
    let redo = window.state.history.redo_label().map(str::to_owned);
    window.act(Action::Event(finished));
    assert!(std::ptr::eq(&*points(&window.state, layer), &*before));
    assert_eq!(window.state.history.redo_label(), redo.as_deref());
    let other = folder.path().join("others.trx");
    std::fs::copy(path, &other).unwrap();
    in_turn(&mut window, layer, other);
    edited_meanwhile(&mut window, layer);
}

/// Two layers that are nudged in turn, the first again before it has arrived, both end where they were last nudged,
/// each step by step.
fn in_turn(window: &mut Window, first: LayerId, path: PathBuf) {
    window.act(Action::Files(FilesAction::Open(vec![path])));
    let second = window.state.document.layers.last().expect("opened").id;
    assert!(second != first);
    let from = window.state.document.moved_by(first);
    let to = |mm: f64| DAffine3::from_translation(DVec3::new(0.0, 0.0, mm));
    let requested = [(first, 1.0), (first, 2.0), (second, 3.0), (first, 4.0)];
    let mut query = Vec::new();
    for (layer, mm) in requested {
        let (transform, phase) = (to(mm), Phase::Done);
        let state = &mut window.state;
        query.extend(update(
            state,
            Action::Alignment(AlignmentAction::Shift {
                layer,
                transform,
                phase,
            }),
        ));
    }
    assert_eq!(window.state.requested_transform(first), to(4.0));
    assert_eq!(window.state.requested_transform(second), to(3.0));
    while let Some(effect) = query.pop() {
        let Effect::Submit(request) = effect else {
            panic!("something else is asked for")
        };
        assert!(query.is_empty(), "one at a time");
        let job = window.jobs.submit(request);
        let event = window.jobs.wait(&job, |_| {});
        query = update(&mut window.state, Action::Event(event));
    }
    assert!(window.state.runtime.pending_transforms.requested.is_empty());
    assert_eq!(window.state.document.moved_by(first), to(4.0));
    assert_eq!(window.state.document.moved_by(second), to(3.0));
    window.act(Action::Undo);
    assert_eq!(window.state.document.moved_by(first), to(4.0));
    assert_eq!(window.state.document.moved_by(second), DAffine3::IDENTITY);
    window.act(Action::Undo);
    assert_eq!(window.state.document.moved_by(first), from);
}

/// Streamlines are deleted before they are moved or after: neither change is lost in the other.
fn edited_meanwhile(window: &mut Window, layer: LayerId) {
    let to = |mm: f64| DAffine3::from_translation(DVec3::new(0.0, mm, 0.0));
    shift(window, layer, to(5.0), Phase::Done);
    let all = points(&window.state, layer).len();
    let delete = |window: &mut Window| {
        let lines = streamlines_of(window.state.document.layer(layer).expect("found"));
        let lines = lines.expect("streamlines").clone();
        let marks: Vec<bool> = (0..lines.len()).map(|i| i < 10).collect();
        window.state.runtime.streamlines.manual_selection = Some(ManualSelection {
            layer,
            tractogram: lines.id(),
            count: 10,
            marks: SameArc(marks.into()),
            anchor: None,
        });
        update(
            &mut window.state,
            Action::Streamline(StreamlineAction::DeleteChosen),
        )
    };
    let edits = delete(window);
    let (transform, phase) = (to(6.0), Phase::Done);
    let moves = update(
        &mut window.state,
        Action::Alignment(AlignmentAction::Shift {
            layer,
            transform,
            phase,
        }),
    );
    // Another move while they are in progress is refused.
    let message = window.messages();
    assert!(
        !delete(window)
            .iter()
            .any(|e| matches!(e, Effect::Submit(_)))
    );
    assert!(window.messages() != message, "{}", window.messages());
    let mut run = |effects: Vec<Effect>| {
        for effect in effects {
            if let Effect::Submit(request) = effect {
                let job = window.jobs.submit(request);
                let event = window.jobs.wait(&job, |_| {});
                window.act(Action::Event(event));
            }
        }
        points(&window.state, layer).len()
    };
    let left = all - 1000;
    assert_eq!(run(edits), left);
    assert_eq!(run(moves), left, "deleted ones do not return");
}
