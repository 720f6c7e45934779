//! Takes and renames snapshots, and begins and ends comparisons.

use crate::state::State;
use crate::state::snapshots::{MAXIMUM_SNAPSHOTS, Snapshot, SnapshotComparison};
use std::sync::Arc;

/// Takes a snapshot.
pub fn add(state: &mut State) {
    let runtime = &mut state.runtime;
    // A letter would be read as a side of the head.
    let numbers = runtime.snapshots.all.iter();
    let last = numbers.filter_map(|s| s.name.parse::<usize>().ok()).max();
    let name = last.unwrap_or(0).saturating_add(1).to_string();
    runtime.notices.status = format!("Snapshot {name}: Ctrl+Shift+B compares with it").into();
    runtime.snapshots.all.push(Arc::new(Snapshot {
        name,
        document: state.document.clone(),
        live: runtime.track.live.value().cloned(),
        was_live: None,
    }));
    if runtime.snapshots.all.len() > MAXIMUM_SNAPSHOTS {
        runtime.snapshots.all.remove(0);
    }
}

/// Gives a snapshot, counted from the oldest, another name.
pub fn rename(state: &mut State, number: usize, name: &str) {
    state
        .runtime
        .snapshots
        .change(number, |snapshot| name.clone_into(&mut snapshot.name));
}

/// Compares with the snapshot of this number, counted from the oldest; `None` ends the comparison.
pub fn compare(state: &mut State, snapshot: Option<usize>) {
    let runtime = &mut state.runtime;
    let share = runtime.snapshots.comparing.as_ref().map(|c| c.share);
    let snapshot = snapshot.and_then(|i| runtime.snapshots.all.get(i).cloned());
    runtime.snapshots.comparing = snapshot.map(|snapshot| SnapshotComparison {
        share: share.unwrap_or(0.5),
        snapshot,
    });
}

/// Begins the comparison with the last snapshot, or ends it.
pub fn toggle(state: &mut State) {
    let last = state.runtime.snapshots.all.len().checked_sub(1);
    if last.is_none() {
        state.runtime.notices.status = "There is no snapshot yet: Ctrl+B takes one".into();
    }
    let with = last.filter(|_| state.runtime.snapshots.comparing.is_none());
    compare(state, with);
}
