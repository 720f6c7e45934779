//! Takes and renames snapshots, and begins and ends comparisons.

use crate::state::State;
use crate::state::snapshots::{MOST, Snapshot, SnapshotComparison};
use std::sync::Arc;

/// Takes a snapshot.
pub fn add(state: &mut State) {
    let session = &mut state.session;
    // A letter would be read as a side of the head.
    let numbers = session.snapshots.all.iter();
    let last = numbers.filter_map(|s| s.name.parse::<usize>().ok()).max();
    let name = last.unwrap_or(0).saturating_add(1).to_string();
    session.notices.status = format!("Snapshot {name}: Ctrl+Shift+B compares with it");
    session.snapshots.all.push(Arc::new(Snapshot {
        name,
        document: state.document.clone(),
        live: session.track.live.value().cloned(),
        was_live: None,
    }));
    if session.snapshots.all.len() > MOST {
        session.snapshots.all.remove(0);
    }
}

/// Gives a snapshot, counted from the oldest, another name.
pub fn rename(state: &mut State, number: usize, name: &str) {
    state
        .session
        .snapshots
        .change(number, |snapshot| name.clone_into(&mut snapshot.name));
}

/// Compares with the snapshot of this number, counted from the oldest; `None` ends the comparison.
pub fn compare(state: &mut State, snapshot: Option<usize>) {
    let session = &mut state.session;
    let share = session.snapshots.comparing.as_ref().map(|c| c.share);
    let snapshot = snapshot.and_then(|i| session.snapshots.all.get(i).cloned());
    session.snapshots.comparing = snapshot.map(|snapshot| SnapshotComparison {
        share: share.unwrap_or(0.5),
        snapshot,
    });
}

/// Begins the comparison with the last snapshot, or ends it.
pub fn toggle(state: &mut State) {
    let last = state.session.snapshots.all.len().checked_sub(1);
    if last.is_none() {
        "There is no snapshot yet: Ctrl+B takes one".clone_into(&mut state.session.notices.status);
    }
    let with = last.filter(|_| state.session.snapshots.comparing.is_none());
    compare(state, with);
}
