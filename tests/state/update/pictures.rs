//! Pictures of a turntable: one after the other, evenly spaced, stopped by Escape.

use super::*;
use crate::support::{failed_save, saved_event};
use arcuate::compute::Control;
use arcuate::data::Sentence;
use arcuate::jobs::JobHandle;
use arcuate::state::pictures::jobs::{PICTURE, SaveFilm};
use arcuate::state::{Layout, Look, Picture, PictureAction, Turntable, ViewAction};
use std::f64::consts::TAU;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::a turn is taken frame by frame", turntable),
        test("update::escape stops a turn", escape),
        test("update::only the 3-D view turns", only_scene),
        test("update::a picture's command is of what is seen", copied),
        test("update::a picture is stopped as other jobs are", stopped),
        test(
            "update::a picture that is not written ends its turn",
            not_saved,
        ),
    ]
}

fn traced(pane: Option<Pane>, frames: u32, film: bool) -> Action {
    Action::Picture(PictureAction::Take(Picture {
        pane,
        path: PathBuf::from("/tmp/t.png"),
        look: Look {
            turntable: Some(Turntable { frames, film }),
            ..Look::default()
        },
    }))
}

fn taken(effects: &[Effect]) -> Option<(PathBuf, f64)> {
    effects.iter().find_map(|e| match e {
        Effect::TakePicture(traced, Some(seen)) => {
            Some((traced.path.clone(), seen.view.camera.azimuth))
        }
        _ => None,
    })
}

fn turntable() {
    for film in [false, true] {
        let mut state = State::new(String::new());
        let began = state.view.camera.azimuth;
        assert!(taken(&update(&mut state, traced(Some(Pane::Scene), 12, film))).is_none());
        for i in 0..12 {
            let effects = update(&mut state, Action::Picture(PictureAction::NextFrame));
            let (path, azimuth) = taken(&effects).expect("a frame");
            assert_eq!(path, PathBuf::from(format!("/tmp/t-{:03}.png", i + 1)));
            let off = (azimuth - began - TAU * f64::from(i) / 12.0).rem_euclid(TAU);
            assert!(off.min(TAU - off) < 1e-9, "{i}: {off}");
            let film = |e: &Effect| e.job::<SaveFilm>().is_some();
            assert!(!effects.iter().any(film), "the last is not written yet");
        }
        let effects = update(&mut state, Action::Picture(PictureAction::NextFrame));
        let films = effects.iter().filter(|e| {
            matches!(e.job(), Some(SaveFilm { path, frames, .. })
                if path == &PathBuf::from("/tmp/t.mp4") && frames.len() == 12)
        });
        assert_eq!(films.count(), usize::from(film));
        assert_eq!(
            state.runtime.notices.status,
            "Saved 12 pictures of a turn, /tmp/t-001.png to t-012.png"
        );
        assert!(state.runtime.turning.is_none());
        assert!(update(&mut state, Action::Picture(PictureAction::NextFrame)).is_empty());
        assert_eq!(state.view.camera.azimuth, began, "the view itself stays");
    }
}

fn escape() {
    let mut state = State::new(String::new());
    update(&mut state, traced(Some(Pane::Scene), 12, true));
    update(&mut state, Action::Picture(PictureAction::NextFrame));
    update(&mut state, Action::Escape);
    assert!(update(&mut state, Action::Picture(PictureAction::NextFrame)).is_empty());
    assert!(
        state.runtime.notices.status.contains("after 1 of 12"),
        "{}",
        state.runtime.notices.status
    );
    // Invalid values are refused.
    update(&mut state, traced(Some(Pane::Scene), 1, false));
    assert!(state.runtime.turning.is_none() && !state.runtime.notices.messages.is_empty());
}

/// A picture that is not written ends the turntable, which then does not claim all its pictures.
fn not_saved() {
    let mut state = State::new(String::new());
    update(&mut state, traced(Some(Pane::Scene), 12, true));
    update(&mut state, Action::Picture(PictureAction::NextFrame));
    update(&mut state, drawn(1, "/tmp/t-001.png", Ok(2)));
    update(&mut state, Action::Picture(PictureAction::NextFrame));
    update(&mut state, drawn(3, "/tmp/t-002.png", Ok(4)));
    let failed = |ticket, path: &str| {
        let why = format!("The disk is full: {path}");
        Action::Event(failed_save(ticket, path, why))
    };
    // Other files that are not written, and another picture that is not drawn, do not end it.
    update(&mut state, failed(9, "/tmp/labels.nii.gz"));
    assert!(state.runtime.turning.is_some());
    assert_eq!(
        state.runtime.notices.status,
        "Not saved: The disk is full: /tmp/labels.nii.gz"
    );
    update(&mut state, drawn(10, "/tmp/one.png", Err("Why".into())));
    assert!(state.runtime.turning.is_some());
    update(&mut state, failed(4, "/tmp/t-002.png"));
    assert!(state.runtime.turning.is_none());
    assert!(update(&mut state, Action::Picture(PictureAction::NextFrame)).is_empty());
    assert_eq!(
        state.runtime.notices.status,
        "Stopped after 1 of 12 pictures; kept: /tmp/t-001.png · Not saved: The disk is full: /tmp/t-002.png"
    );
}

fn drawn(ticket: u64, path: &str, writing: Result<u64, Sentence>) -> Action {
    Action::Picture(PictureAction::Taken {
        ticket,
        path: PathBuf::from(path),
        writing,
    })
}

/// The last picture of a turntable is in its file.
fn picture_saved() -> Action {
    Action::Event(saved_event(99, "/tmp/t-001.png", "picture"))
}

/// Stopped by its button or by Escape; a picture that cannot be drawn ends it, too.
fn stopped() {
    let start_time = |ticket| {
        let mut state = State::new(String::new());
        update(&mut state, traced(Some(Pane::Scene), 12, false));
        update(&mut state, Action::Picture(PictureAction::NextFrame));
        update(
            &mut state,
            Action::JobStarted(JobHandle {
                slot: PICTURE,
                ticket,
                label: "Drawing t-001.png".to_owned(),
                control: Control::new(),
                started: Instant::now(),
            }),
        );
        state
    };
    let cancels =
        |effects: &[Effect]| matches!(effects, [Effect::Cancel(slot)] if *slot == PICTURE);
    let mut state = start_time(1);
    assert!(cancels(&update(&mut state, Action::CancelJob(PICTURE))));
    assert!(state.runtime.turning.is_none());
    assert_eq!(
        state.runtime.notices.status,
        "Stopped after 0 of 12 pictures"
    );
    // The event of the cancelled picture changes no status.
    update(
        &mut state,
        Action::Picture(PictureAction::Cancelled { ticket: 1 }),
    );
    assert!(state.runtime.jobs.running.is_empty());
    assert_eq!(
        state.runtime.notices.status,
        "Stopped after 0 of 12 pictures"
    );
    let mut state = start_time(2);
    // First the turntable, whose present picture is finished, then that picture.
    assert!(update(&mut state, Action::Escape).is_empty());
    assert!(state.runtime.turning.is_none());
    assert_eq!(
        state.runtime.notices.status,
        "Stopped after 1 of 12 pictures; kept: /tmp/t-001.png"
    );
    update(&mut state, picture_saved());
    assert_eq!(
        state.runtime.notices.status,
        "Stopped after 1 of 12 pictures; kept: /tmp/t-001.png"
    );
    assert!(cancels(&update(&mut state, Action::Escape)));
    let mut state = start_time(3);
    update(&mut state, drawn(3, "/tmp/t-001.png", Ok(5)));
    assert!(state.runtime.jobs.running.is_empty() && state.runtime.turning.is_some());
    let mut state = start_time(4);
    update(&mut state, drawn(4, "/tmp/t-001.png", Err("Why".into())));
    assert!(state.runtime.jobs.running.is_empty() && state.runtime.turning.is_none());
    assert_eq!(
        state.runtime.notices.status,
        "Stopped after 0 of 12 pictures"
    );
    assert_eq!(state.runtime.notices.messages.len(), 1);
}

/// Changes since the session was saved, even to the sides of the view, would not be in the picture.
fn copied() {
    let mut state = State::new(String::new());
    let copy = |state: &mut State| {
        let effects = update(
            state,
            Action::Picture(PictureAction::Copy(Some(Pane::Axial), Look::default())),
        );
        effects.into_iter().find_map(|e| match e {
            Effect::CopyText(text) => Some(text),
            _ => None,
        })
    };
    assert!(copy(&mut state).is_none());
    let status = |state: &State| state.runtime.notices.status.to_string();
    assert!(
        status(&state).starts_with("Not copied: "),
        "{}",
        status(&state)
    );
    state.runtime.sessions.file = Some(PathBuf::from("/tmp/s.arcuate"));
    state.runtime.sessions.view = Some(state.view.clone());
    state.runtime.sessions.base = Arc::new(arcuate::state::sessions::unsaved::Base::saved(&state));
    update(
        &mut state,
        Action::View(ViewAction::MoveCrosshair(DVec3::new(1.0, 2.0, 3.0))),
    );
    let text = copy(&mut state).expect("a command");
    assert!(
        text.starts_with("arcuate render /tmp/s.arcuate --view axial --at 1,2,3"),
        "{text}"
    );
    let kept = state.view.convention;
    update(
        &mut state,
        Action::View(ViewAction::SetConvention(Convention::Neurological)),
    );
    assert!(copy(&mut state).is_none());
    assert!(status(&state).contains("Save the session again first"));
    update(&mut state, Action::View(ViewAction::SetConvention(kept)));
    assert!(copy(&mut state).is_some());
    assert!(status(&state).starts_with("Command copied"));
    assert!(state.runtime.notices.messages.is_empty());
    update(
        &mut state,
        Action::View(ViewAction::SetLayout(Layout::Single)),
    );
    assert!(copy(&mut state).is_none());
}

fn only_scene() {
    let mut state = State::new(String::new());
    for pane in [None, Some(Pane::Axial)] {
        let effects = update(&mut state, traced(pane, 12, true));
        let one = |e: &Effect| matches!(e, Effect::TakePicture(traced, None) if traced.look.turntable.is_none());
        assert!(effects.iter().any(one) && state.runtime.turning.is_none());
    }
}
