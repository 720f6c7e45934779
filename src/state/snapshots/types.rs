//! Snapshots: what was there once, to be compared with what is there now.

use crate::solvers::curves::SeedOutcome;
use crate::state::{CurveResult, Document, LayerId, Session, State};
use std::sync::Arc;

/// Layers, regions, parameters and the live result of a moment; nothing of it is copied, since data
/// never change.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// 1, 2, and so on.
    pub name: String,
    pub document: Document,
    pub live: Option<CurveResult>,
    /// The layer that was live when the snapshot was taken, of a session that was opened.
    pub was_live: Option<LayerId>,
}

impl Snapshot {
    /// `snapshot 2`, or the name that it was given.
    pub fn words(&self) -> String {
        match self.name.parse::<usize>() {
            Ok(number) => format!("snapshot {number}"),
            Err(_) => self.name.clone(),
        }
    }
}

/// What is seen to the right of the divider.
#[derive(Clone, Debug)]
pub struct Comparing {
    pub with: Arc<Snapshot>,
    /// Where the divider is, of a pane's width.
    pub share: f32,
}

impl Comparing {
    /// Whether what missed the targets is seen: on both sides or on neither. A session keeps what met them
    /// only, and lines on one side would read as a difference.
    pub fn shows_missed(&self, now: Option<&CurveResult>) -> bool {
        let knows = |live: Option<&CurveResult>| {
            let output = live.map(|live| &live.output);
            output.is_some_and(|o| {
                !o.missed.is_empty() || o.seed_outcomes[SeedOutcome::MissedTargets as usize] == 0
            })
        };
        knows(now) && knows(self.with.live.as_ref())
    }

    /// The snapshot as the views see it now: from the same side, at the same crosshair.
    pub fn seen(&self, state: &State) -> State {
        let mut seen = state.clone();
        seen.document = self.with.document.clone();
        seen.session.live = self.with.live.clone();
        seen.session.bundle.stopped.ask(None);
        seen.session.selected_region = None;
        seen.view.show_missed &= self.shows_missed(state.session.live.as_ref());
        seen.session.comparing = None;
        // Where nothing live is seen.
        if let Some(id) = self.with.was_live.filter(|_| !state.view.task.shows_live()) {
            seen.document.edit_layer(id, |l| l.display.visible = false);
        }
        // Of a session that was opened: solved again for the present ones.
        for kept in seen
            .document
            .kept_pathways
            .iter_mut()
            .filter(|k| k.found.is_none())
        {
            let now = state
                .document
                .kept_pathways
                .iter()
                .find(|now| now.id == kept.id);
            if let Some(found) = now.and_then(|now| now.found.clone()) {
                Arc::make_mut(kept).found = Some(found);
            }
        }
        seen
    }
}

/// More are not kept: the oldest goes.
pub const MOST: usize = 8;

/// Takes a snapshot.
pub fn take(state: &mut State) {
    let session = &mut state.session;
    // No letter, which would be read as a side of the head.
    let numbers = session.snapshots.iter();
    let last = numbers.filter_map(|s| s.name.parse::<usize>().ok()).max();
    let name = last.unwrap_or(0).saturating_add(1).to_string();
    session.status = format!("Snapshot {name}: Ctrl+Shift+B compares with it");
    session.snapshots.push(Arc::new(Snapshot {
        name,
        document: state.document.clone(),
        live: session.live.clone(),
        was_live: None,
    }));
    if session.snapshots.len() > MOST {
        session.snapshots.remove(0);
    }
}

/// Gives a snapshot, counted from the oldest, another name.
pub fn rename(state: &mut State, number: usize, name: &str) {
    change(&mut state.session, number, |snapshot| {
        name.clone_into(&mut snapshot.name)
    });
}

/// Changes a snapshot; the one that is compared with stays so.
pub fn change(session: &mut Session, number: usize, change: impl FnOnce(&mut Snapshot)) {
    let Some(snapshot) = session.snapshots.get_mut(number) else {
        return;
    };
    let comparing = session.comparing.as_mut();
    let comparing = comparing.filter(|c| Arc::ptr_eq(&c.with, snapshot));
    let mut changed = (**snapshot).clone();
    change(&mut changed);
    *snapshot = Arc::new(changed);
    if let Some(comparing) = comparing {
        comparing.with = snapshot.clone();
    }
}

/// Compares with the snapshot of this number, counted from the oldest, or no more.
pub fn compare(state: &mut State, with: Option<usize>) {
    let session = &mut state.session;
    let share = session.comparing.as_ref().map(|c| c.share);
    let with = with.and_then(|i| session.snapshots.get(i).cloned());
    session.comparing = with.map(|with| Comparing {
        share: share.unwrap_or(0.5),
        with,
    });
}

/// Begins with the last snapshot, or ends.
pub fn toggle(state: &mut State) {
    let last = state.session.snapshots.len().checked_sub(1);
    if last.is_none() {
        "There is no snapshot yet: Ctrl+B takes one".clone_into(&mut state.session.status);
    }
    let with = last.filter(|_| state.session.comparing.is_none());
    compare(state, with);
}
