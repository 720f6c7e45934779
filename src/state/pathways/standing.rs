//! Questions to the state about the live pathway: whether it is current, and the path that is reported.

mod noise;

pub use noise::SURFACE;

use crate::solvers::pathway::Path;
use crate::state::State;
use crate::state::core::live::{LAG, Relation, Standing};
use crate::state::pathways::jobs::{PATHWAY, PathwayComparison};
use crate::state::pathways::result::{CostliestStretch, PathAtVoxel, PathwayResult};
use crate::state::pathways::{PathwayKey, SurfaceInput};
use crate::state::track::types::odf::Model;
use std::sync::Arc;

/// Why there are no costs through crossings, and what to do about it.
pub const NO_DISTRIBUTIONS: &str = "There are no fibre orientation distributions: estimate them in Track, or open an \
                                    image of them";

impl State {
    /// Standing of the live pathway; `None` if there is none.
    pub fn pathway_standing(&self) -> Option<Standing> {
        self.pathway_relation().map(Relation::standing)
    }

    /// Why there is no live pathway: the failure that the results show, or what is missing.
    pub fn why_no_pathway(&self) -> &str {
        let live = &self.runtime.pathways.live;
        match self.pathway_key() {
            None if self.pathway_awaits_surface() => match self.runtime.pathways.surface {
                SurfaceInput::Awaited { leaks: true } => {
                    "The pathway waits because the surface is leaking. Undo the leak in Segment, or choose “Ignored” for \
                     the surface"
                }
                _ => {
                    "The pathway waits for the surface of Segment. Show Segment, or choose “Ignored” for the surface"
                }
            },
            None if self.document.pathway_field().is_none() && self.is_pathway_field_computed() => {
                "There is no pathway yet: its directions are being computed"
            }
            None if self.document.pathway_field().is_none() => match self.document.pathways.model {
                Model::Tensors => {
                    "There is no pathway yet: open a diffusion scan with its gradients"
                }
                Model::Distributions => NO_DISTRIBUTIONS,
            },
            None => "There is no pathway yet: place a seed and a target first",
            Some(key) if live.has_failed_for(&key) => {
                live.failure().unwrap_or("The pathway could not be solved")
            }
            Some(_) => "There is no pathway yet: wait until it is solved",
        }
    }

    /// Why there is no full pathway of the present controls; `None` if there is one.
    pub fn why_not_final(&self) -> Option<&str> {
        let key = self.pathway_key();
        let is_updated = |key: &PathwayKey| !self.runtime.pathways.live.has_failed_for(key);
        match self.pathway_standing() {
            None => Some(self.why_no_pathway()),
            Some(Standing::Updating | Standing::Coarse) => Some("Waiting for the full result"),
            // It is awaited, or failed.
            Some(Standing::OutOfDate) if !key.as_ref().is_some_and(is_updated) => {
                Some(self.why_no_pathway())
            }
            Some(Standing::OutOfDate) => Some("Out of date: the controls have changed since"),
            Some(Standing::Final) if self.is_pathway_surface_moving() => {
                Some("Waiting for the surface to come to rest")
            }
            Some(Standing::Final) => None,
        }
    }

    /// Whether the live pathway is stale, and will be for longer than a coarse solve takes.
    pub fn pathway_is_stale(&self) -> bool {
        self.pathway_relation().is_some_and(Relation::is_stale)
    }

    /// Whether the live pathway is that of the present regions, tensors and surface, coarse or in full.
    pub fn is_pathway_current(&self) -> bool {
        self.pathway_relation()
            .is_some_and(|known| known.is_current)
    }

    /// How the live pathway relates to the document, its tensors and the running jobs; `None` if there is none.
    fn pathway_relation(&self) -> Option<Relation> {
        let requested = self.pathway_key();
        let known = self.runtime.pathways.live.relation(requested.as_ref())?;
        let is_fitting = self.is_pathway_field_computed();
        let has_other_field = self.document.lacks_requested(self.document.pathways.model);
        Some(Relation {
            is_current: known.is_current && !is_fitting && !has_other_field,
            is_updating: known.is_updating || is_fitting,
            // During a drag a coarse result may lag a little.
            may_lag: known.is_updating,
            exceeds_lag: !known.is_current && self.runtime.jobs.is_older(PATHWAY, LAG),
            ..known
        })
    }

    /// Whether the tensors or the distributions that costs come from are being computed.
    pub(in crate::state) fn is_pathway_field_computed(&self) -> bool {
        let tensors = &self.runtime.tensors;
        match self.document.pathways.model {
            Model::Tensors => tensors.is_fitting(),
            Model::Distributions => tensors.fods.running().is_some(),
        }
    }

    /// The comparison of the live pathway with random pairs; `None` until it is up to date.
    pub fn pathway_compared(&self) -> Option<&Arc<PathwayComparison>> {
        // The figures of random pairs belong to the full result of the same regions and parameters.
        let live = self.runtime.pathways.live.value();
        let live = live.filter(|live| !live.coarse)?;
        let known = self.runtime.pathways.compared.shown();
        known
            .filter(|(key, _)| **key == PathwayKey::for_comparison(live))
            .map(|(_, compared)| compared)
    }

    /// The live pathway, if it is the full one of the document as it is.
    pub fn final_pathway(&self) -> Option<&Arc<PathwayResult>> {
        let live = self.runtime.pathways.live.value();
        live.filter(|_| self.why_not_final().is_none())
    }

    /// The best path through the last voxel at the pointer.
    pub fn path_hovered(&self) -> Option<&PathAtVoxel> {
        self.runtime.pathways.hover.shown()?.1.as_ref()
    }

    /// The best path through the voxel at the pointer.
    pub fn path_pointed(&self) -> Option<&PathAtVoxel> {
        let runtime = &self.runtime.pathways;
        let live = runtime.live.value()?;
        let hovered = self.path_hovered();
        hovered.filter(|h| h.pathway == live.excess.id())
    }

    /// The reported path and its costliest stretch: the path at the pointer, else the minimal one.
    pub fn reported_path(&self) -> Option<(&Path, Option<&CostliestStretch>)> {
        let live = self.runtime.pathways.live.value()?;
        Some(match self.path_pointed() {
            Some(pointed) => (&pointed.path, pointed.weakest.as_ref()),
            None => (&live.path, live.weakest.as_ref()),
        })
    }
}
