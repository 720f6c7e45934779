//! Screenshots, and pictures of a turntable.

use crate::data::Sentence;
use crate::data::text::file_name;
use crate::data::text::within_sentence;
use crate::state::action::Effect;
use crate::state::command_line::picture;
use crate::state::core::notices::{Status, StatusSubject};
use crate::state::files::jobs::SAVE;
use crate::state::pictures::command_line::{from_files, not_stored};
use crate::state::pictures::jobs::{PICTURE, SaveFilm};
use crate::state::pictures::{Look, Picture, Turntable, TurntableProgress};
use crate::state::{Pane, Severity, State};
use std::path::Path;

/// Takes a picture, or begins a turntable.
pub fn start(state: &mut State, picture: Picture, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    state.runtime.notices.status.clear();
    let look = picture.look.for_pane(picture.pane);
    let picture = Picture { look, ..picture };
    match look.turntable {
        None => effects.push(Effect::TakePicture(picture, None)),
        Some(turntable) if !(2..=Turntable::MAXIMUM_FRAMES).contains(&turntable.frames) => {
            let sentence = format!(
                "Found a turn of {} pictures, expected 2 to {}",
                turntable.frames,
                Turntable::MAXIMUM_FRAMES
            );
            state.runtime.notify(Severity::Error, sentence);
        }
        Some(turntable) => {
            state.runtime.turning = Some(TurntableProgress {
                camera: state.view.camera,
                picture,
                turntable,
                done: 0,
                writing: None,
            });
        }
    }
}

/// Copies the command of a picture. It draws from the session if that is saved: orientation, camera and visibility are
/// those saved, except for the crosshair, which is in the command. Otherwise it draws from the opened files, if options
/// describe everything that the picture shows.
pub fn copy(state: &mut State, pane: Option<Pane>, look: Look, effects: &mut Vec<Effect>) {
    let saving = &state.runtime.sessions;
    let same = saving.view.as_ref().is_some_and(|saved| {
        let mut now = state.view.clone();
        now.crosshair = saved.crosshair;
        // An open list changes no picture.
        now.visible.side_list = saved.visible.side_list;
        now == *saved
    });
    let file = saving.file.as_ref();
    let look = look.for_pane(pane);
    let not_copied = |what: &str, remedy: &str| {
        format!("Not copied: the options of render cannot describe {what}. {remedy}")
    };
    if let Some((what, remedy)) = not_stored(state) {
        state.runtime.notices.status = not_copied(what, remedy).into();
        return;
    }
    // The status stands beside the button, and the next copy replaces it.
    if let Some(file) = file.filter(|_| same && !state.is_dirty()) {
        effects.push(Effect::CopyText(picture(
            file,
            pane,
            &look,
            state.view.crosshair,
        )));
        state.runtime.notices.status =
            "Command copied: it draws this picture of the saved session".into();
        return;
    }
    let status = match (from_files(state, pane, &look), file) {
        (Ok(text), _) => {
            effects.push(Effect::CopyText(text));
            "Command copied: it draws this picture from the opened files".to_owned()
        }
        (Err(what), None) => not_copied(&what, "Save the session first"),
        (Err(what), Some(_)) => not_copied(&what, "Save the session again first"),
    };
    state.runtime.notices.status = status.into();
}

/// Takes the next picture of a turntable; after the last one is written, makes the film.
pub fn next_frame(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(turning) = state.runtime.turning.clone() else {
        return;
    };
    let TurntableProgress {
        turntable, done, ..
    } = turning;
    if done < turntable.frames {
        let (picture, seen) = next(&turning, state);
        effects.push(Effect::TakePicture(picture, Some(Box::new(seen))));
        let done = done + 1;
        state.runtime.turning = Some(TurntableProgress { done, ..turning });
        return;
    }
    // All pictures are written, including the last one.
    state.runtime.turning = None;
    let path = &turning.picture.path;
    let last = turntable.path(path, turntable.frames - 1);
    state.runtime.notices.status = format!(
        "Saved {} pictures of a turn, {} to {}",
        turntable.frames,
        turntable.path(path, 0).display(),
        file_name(&last)
    )
    .into();
    if turntable.film {
        let frames = (0..turntable.frames)
            .map(|i| turntable.path(path, i))
            .collect();
        effects.push(Effect::submit(SaveFilm {
            path: Turntable::film_path(path),
            frames,
            per_s: Turntable::FRAMES_PER_S,
        }));
    }
}

/// The next frame: the picture, and the state seen from its camera.
fn next(turning: &TurntableProgress, state: &State) -> (Picture, State) {
    let mut seen = state.clone();
    seen.view.camera = turning.turntable.camera(&turning.camera, turning.done);
    let look = Look {
        turntable: None,
        ..turning.picture.look
    };
    let path = turning.turntable.path(&turning.picture.path, turning.done);
    (
        Picture {
            path,
            look,
            ..turning.picture.clone()
        },
        seen,
    )
}

/// Ends a turntable; returns whether there was one.
pub fn stop(state: &mut State) -> bool {
    let Some(turning) = state.runtime.turning.take() else {
        return false;
    };
    let TurntableProgress {
        done,
        turntable,
        picture,
        ..
    } = turning;
    let stopped = format!("Stopped after {done} of {} pictures", turntable.frames);
    let file = |number: u32| turntable.path(&picture.path, number);
    let first = file(0);
    let status = match done {
        0 => stopped,
        1 => format!("{stopped}; kept: {}", first.display()),
        more => {
            let last = file(more - 1);
            let last = file_name(&last);
            format!("{stopped}; kept: {} to {last}", first.display())
        }
    };
    report_stop(state, status);
    true
}

/// Ends a turntable at once: the picture being drawn is discarded.
pub fn cancelled(state: &mut State) {
    let drawn = state.runtime.jobs.is_running(&[PICTURE]);
    if drawn {
        stop_before(state);
    } else {
        stop(state);
    }
}

/// The picture being drawn is discarded.
pub fn drawing_cancelled(state: &mut State, ticket: u64) {
    let jobs = &mut state.runtime.jobs.running;
    let job = jobs.extract_if(.., |j| j.ticket == ticket).next();
    // The status may already say that the turntable was stopped.
    let subject = state.runtime.notices.status.subject();
    if let Some(job) = job.filter(|_| subject != StatusSubject::StoppedTurntable) {
        state.runtime.notices.status = format!("Stopped: {}", within_sentence(&job.label)).into();
    }
}

/// Ends a turntable whose newest picture is discarded.
fn stop_before(state: &mut State) {
    if let Some(turning) = &mut state.runtime.turning {
        turning.done = turning.done.saturating_sub(1);
    }
    stop(state);
}

/// A file was not written, and the status gives the reason. A picture of a turntable ends it, since its set of pictures
/// would have a gap.
pub fn not_saved(state: &mut State, ticket: u64) {
    let turning = state.runtime.turning.as_ref();
    if turning.is_some_and(|turning| turning.writing == Some(ticket)) {
        let why = std::mem::take(&mut state.runtime.notices.status);
        stop_before(state);
        let stopped = std::mem::take(&mut state.runtime.notices.status);
        report_stop(state, format!("{stopped} · {why}"));
    }
}

fn report_stop(state: &mut State, status: String) {
    state.runtime.notices.status = Status::about(StatusSubject::StoppedTurntable, status);
}

/// A picture was drawn. If one of a turntable failed, the rest would fail, too.
pub fn finish(state: &mut State, ticket: u64, path: &Path, writing: Result<u64, Sentence>) {
    state.runtime.jobs.running.retain(|j| j.ticket != ticket);
    let turning = state.runtime.turning.as_mut().filter(|t| t.is_at(path));
    match (writing, turning) {
        (Ok(writing), Some(turning)) => turning.writing = Some(writing),
        (Ok(_), None) => {}
        (Err(sentence), turning) => {
            if turning.is_some() {
                stop_before(state);
            }
            state.runtime.notify(Severity::Error, sentence.for_window());
        }
    }
}
