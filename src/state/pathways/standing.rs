//! Questions to the state about the live pathway: whether it is current, and the path that is reported.

use crate::jobs::JobHandle;
use crate::solvers::pathway::Path;
use crate::state::State;
use crate::state::core::live::{LAG, Standing};
use crate::state::pathways::PathwayKey;
use crate::state::pathways::jobs::{PATHWAY, PathwayComparison};
use crate::state::pathways::result::{CostliestStretch, PathAtVoxel, PathwayResult};
use std::sync::Arc;

impl State {
    pub fn pathway_standing(&self) -> Option<Standing> {
        let pathway = &self.session.pathways.live;
        let (key, live) = pathway.shown()?;
        let requested_key = self.document.pathway_key();
        let current = self.session.tensors.fitting.is_none() && requested_key.as_ref() == Some(key);
        Some(match (current, live.coarse, pathway.running().is_some()) {
            (true, false, _) => Standing::Final,
            (true, true, _) => Standing::Coarse,
            (false, _, true) if live.coarse => Standing::Coarse,
            (false, _, true) => Standing::Updating,
            (false, ..) if self.session.tensors.fitting.is_some() => Standing::Updating,
            (false, ..) => Standing::OutOfDate,
        })
    }

    /// Whether the live pathway is stale, and will be for longer than a coarse solve takes.
    pub fn pathway_is_stale(&self) -> bool {
        match self.pathway_standing() {
            None | Some(Standing::Final) => false,
            Some(Standing::Updating | Standing::OutOfDate) => true,
            Some(Standing::Coarse) => {
                let shown = self.session.pathways.live.shown().map(|(key, _)| key);
                let mut jobs = self.session.jobs.running.iter();
                let late = |j: &JobHandle| j.slot == PATHWAY && j.started.elapsed() > LAG;
                shown != self.document.pathway_key().as_ref() && jobs.any(late)
            }
        }
    }

    /// The comparison of the live pathway with random pairs; `None` until it is up to date.
    pub fn pathway_compared(&self) -> Option<&Arc<PathwayComparison>> {
        // The figures of random pairs belong to the full result of the same regions and parameters.
        let live = self.session.pathways.live.value();
        let live = live.filter(|live| !live.coarse)?;
        let known = self.session.pathways.compared.shown();
        known
            .filter(|(key, _)| **key == PathwayKey::from_result(live))
            .map(|(_, compared)| compared)
    }

    /// The live pathway, if it is the full one of the document as it is.
    pub fn final_pathway(&self) -> Option<&Arc<PathwayResult>> {
        let live = self.session.pathways.live.value();
        live.filter(|_| self.pathway_standing() == Some(Standing::Final))
    }

    /// The best path through the last voxel at the pointer.
    pub fn path_hovered(&self) -> Option<&PathAtVoxel> {
        self.session.pathways.hover.shown()?.1.as_ref()
    }

    /// The best path through the voxel at the pointer.
    pub fn path_pointed(&self) -> Option<&PathAtVoxel> {
        let runtime = &self.session.pathways;
        let live = runtime.live.value()?;
        let hovered = self.path_hovered();
        hovered.filter(|h| h.pathway == live.excess.id())
    }

    /// The reported path and its costliest stretch: the path at the pointer, else the minimal one.
    pub fn reported_path(&self) -> Option<(&Path, Option<&CostliestStretch>)> {
        let live = self.session.pathways.live.value()?;
        Some(match self.path_pointed() {
            Some(pointed) => (&pointed.path, pointed.weakest.as_ref()),
            None => (&live.path, live.weakest.as_ref()),
        })
    }
}
