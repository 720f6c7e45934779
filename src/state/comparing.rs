//! Snapshots: what was there once, to be compared with what is there now.

use super::{Document, Live, State};
use std::sync::Arc;

/// Layers, regions, parameters and the live result of a moment; nothing of it is copied, since data
/// never change.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// 1, 2, and so on.
    pub name: String,
    pub document: Document,
    pub live: Option<Live>,
}

/// What is seen to the right of the divider.
#[derive(Clone, Debug)]
pub struct Comparing {
    pub with: Arc<Snapshot>,
    /// Where the divider is, of a pane's width.
    pub share: f32,
}

impl Comparing {
    /// The snapshot as the views see it now: from the same side, at the same crosshair.
    pub fn seen(&self, state: &State) -> State {
        let mut seen = state.clone();
        seen.document = self.with.document.clone();
        seen.session.live = self.with.live.clone();
        seen.session.stopped = None;
        seen.session.selected_region = None;
        seen.session.comparing = None;
        seen
    }
}

/// More are not kept: the oldest goes.
const MOST: usize = 8;

/// Takes a snapshot.
pub fn take(state: &mut State) {
    let session = &mut state.session;
    let number = session.snapshots_taken;
    session.snapshots_taken += 1;
    // No letter, which would be read as a side of the head.
    let name = format!("{}", number + 1);
    session.status = format!("Snapshot {name}: Ctrl+Shift+B compares with it");
    session.snapshots.push(Arc::new(Snapshot {
        name,
        document: state.document.clone(),
        live: session.live.clone(),
    }));
    if session.snapshots.len() > MOST {
        session.snapshots.remove(0);
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
