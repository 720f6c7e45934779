//! Questions about the inputs of pathways.

use crate::data::{DataId, OdfField, Region, Role};
use crate::solvers::pathway::Params;
use crate::state::core::colours::CATEGORIES;
use crate::state::core::layer::LayerId;
use crate::state::pathways::{PathwayKey, SurfaceInput};
use crate::state::track::types::odf::Model;
use crate::state::{Document, State, Task};

impl Document {
    /// The regions that take part in pathways.
    pub fn pathway_regions(&self) -> Vec<Region> {
        let these = self
            .regions
            .iter()
            .filter(|r| Params::affects_pathways(r.role));
        these.map(|r| (**r).clone()).collect()
    }

    /// The tensors or the distributions that costs come from; `None` until the document has them.
    pub fn pathway_field(&self) -> Option<DataId> {
        match self.pathways.model {
            Model::Tensors => self.tensors.as_ref().map(|t| t.field.id()),
            Model::Distributions => self.distributions.field().map(OdfField::id),
        }
    }

    /// The key of the pathway between the document's regions; `None` without tensors or distributions, or one of the
    /// ends.
    fn pathway_key(&self) -> Option<PathwayKey> {
        let has_role = |role| self.regions.iter().any(|r| r.role == role);
        let field = self.pathway_field()?;
        (has_role(Role::Seed) && has_role(Role::Target)).then(|| {
            let settings = &self.pathways;
            let regions = self.pathway_regions();
            PathwayKey::new(field, regions, settings.chosen_params(), settings.epsilon)
        })
    }

    /// A name for a kept pathway: this one, with a number if another has it.
    pub fn pathway_name(&self, base: &str, pathway: Option<LayerId>) -> String {
        let others = || self.kept_pathways.iter().filter(|k| Some(k.id) != pathway);
        let taken = |name: &String| others().any(|k| k.name == *name);
        let numbered = (2..).map(|n| format!("{base} {n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    /// The colour of the next pathway to be kept.
    pub fn next_pathway_colour(&self) -> [u8; 3] {
        let used = |c: &&[u8; 3]| {
            self.kept_pathways
                .iter()
                .filter(|k| k.colour == **c)
                .count()
        };
        CATEGORIES
            .iter()
            .min_by_key(used)
            .copied()
            .unwrap_or(CATEGORIES[0])
    }
}

impl State {
    /// The key of the pathway: that of the document's regions, and of the surface that pathways take into account.
    pub fn pathway_key(&self) -> Option<PathwayKey> {
        let mut key = self.document.pathway_key()?;
        match &self.runtime.pathways.surface {
            SurfaceInput::Nothing => {}
            // A path through a surface that is excluded must never be shown.
            SurfaceInput::Awaited { .. } => return None,
            SurfaceInput::Present { region, .. } => key.regions.push(region.clone()),
        }
        Some(key)
    }

    /// Whether Segment shows a pathway, which then follows its surface.
    pub fn shows_pathway_in_segment(&self) -> bool {
        // A replay repeats the surface alone: each new distance would restart its job.
        !self.runtime.sessions.strict
            && self.view.task == Task::Segment
            && self.document.pathways.surface_use.role().is_some()
    }

    /// Whether pathways wait for the surface: Segment computes or restores it once it is shown.
    pub fn pathway_awaits_surface(&self) -> bool {
        let surface = &self.runtime.pathways.surface;
        matches!(surface, SurfaceInput::Awaited { .. })
    }

    /// Whether Segment is computing another surface than the one that pathways take into account.
    pub(in crate::state) fn is_pathway_surface_moving(&self) -> bool {
        let surface = &self.runtime.pathways.surface;
        matches!(surface, SurfaceInput::Present { moves: true, .. })
    }
}
