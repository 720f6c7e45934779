//! Snapshots: earlier states, to be compared with the present one. A session stores them; undo does not change them.

use crate::solvers::curves::SeedOutcome;
use crate::state::State;
use crate::state::core::layer::LayerId;
use crate::state::document::Document;
use crate::state::track::types::CurveResult;
use std::sync::Arc;

/// Layers, regions, parameters and the live result at one moment; nothing is copied, since data never change.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// 1, 2, and so on.
    pub name: String,
    pub document: Document,
    pub live: Option<CurveResult>,
    /// For an opened session: the layer that was live when the snapshot was taken.
    pub was_live: Option<LayerId>,
}

impl Snapshot {
    /// `snapshot 2`, or the name that it was given.
    pub fn label(&self) -> String {
        match self.name.parse::<usize>() {
            Ok(number) => format!("snapshot {number}"),
            Err(_) => self.name.clone(),
        }
    }
}

/// The comparison shown to the right of the divider.
#[derive(Clone, Debug)]
pub struct SnapshotComparison {
    pub snapshot: Arc<Snapshot>,
    /// Position of the divider, as a fraction of a pane's width.
    pub share: f32,
}

impl SnapshotComparison {
    /// Whether streamlines that missed the targets are shown: on both sides or on neither. A session stores only those
    /// that reached them, and streamlines on one side would look like a difference.
    pub fn shows_missed(&self, now: Option<&CurveResult>) -> bool {
        let knows = |live: Option<&CurveResult>| {
            let output = live.map(|live| &live.output);
            output.is_some_and(|o| {
                !o.missed.is_empty() || o.seed_outcomes[SeedOutcome::MissedTargets as usize] == 0
            })
        };
        knows(now) && knows(self.snapshot.live.as_ref())
    }

    /// The snapshot with the present view: from the same direction, at the same crosshair.
    pub fn with_view_of(&self, state: &State) -> State {
        let mut seen = state.clone();
        seen.document = self.snapshot.document.clone();
        seen.runtime.track.show(self.snapshot.live.clone());
        seen.runtime.streamlines.stopped.ask(None);
        seen.runtime.regions.selected = None;
        seen.view.visible.missed &= self.shows_missed(state.runtime.track.live.value());
        seen.runtime.snapshots.comparing = None;
        // In tasks that do not show live results.
        if let Some(id) = self
            .snapshot
            .was_live
            .filter(|_| !state.view.task.shows_live())
        {
            seen.document.edit_layer(id, |l| l.display.visible = false);
        }
        // For an opened session: recomputed for the current document.
        for kept in seen
            .document
            .kept_pathways
            .iter_mut()
            .filter(|k| k.result.is_none())
        {
            let now = state
                .document
                .kept_pathways
                .iter()
                .find(|now| now.id == kept.id);
            if let Some(result) = now.and_then(|now| now.result.clone()) {
                Arc::make_mut(kept).result = Some(result);
            }
        }
        seen
    }
}

/// Snapshots of the document, and the comparison with one.
#[derive(Clone, Debug, Default)]
pub struct SnapshotRuntime {
    pub all: Vec<Arc<Snapshot>>,
    pub comparing: Option<SnapshotComparison>,
}

impl SnapshotRuntime {
    /// Changes a snapshot; a running comparison with it continues.
    pub fn change(&mut self, number: usize, change: impl FnOnce(&mut Snapshot)) {
        let Some(snapshot) = self.all.get_mut(number) else {
            return;
        };
        let comparing = self.comparing.as_mut();
        let comparing = comparing.filter(|c| Arc::ptr_eq(&c.snapshot, snapshot));
        let mut changed = (**snapshot).clone();
        change(&mut changed);
        *snapshot = Arc::new(changed);
        if let Some(comparing) = comparing {
            comparing.snapshot = snapshot.clone();
        }
    }
}
