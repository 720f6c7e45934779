//! Questions about the inputs of pathways.

use crate::data::region::RegionId;
use crate::data::{DataId, OdfField, Region, Role};
use crate::solvers::pathway::Params;
use crate::state::core::colours::CATEGORIES;
use crate::state::core::layer::LayerId;
use crate::state::pathways::PathwayKey;
use crate::state::segment::SurfaceStanding;
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

/// Name of the live surface among the regions of a pathway.
const SURFACE: &str = "Surface";

impl State {
    /// The key of the pathway: that of the document's regions, with the live surface unless pathways ignore it.
    pub fn pathway_key(&self) -> Option<PathwayKey> {
        let mut key = self.document.pathway_key()?;
        // A path through a surface that is excluded must never be shown.
        if self.pathway_awaits_surface() {
            return None;
        }
        key.regions.extend(self.pathway_surface());
        Some(key)
    }

    /// The live surface as a region of pathways; `None` if they ignore it, or there is none.
    fn pathway_surface(&self) -> Option<Region> {
        let role = self.document.pathways.surface_use.role()?;
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref().filter(|l| l.run == runtime.run)?;
        Some(Region {
            id: RegionId(0),
            name: SURFACE.to_owned(),
            role,
            shape: live.measured.shape.clone()?,
            colour: None,
            visible: true,
            label_number: None,
        })
    }

    /// Whether the task Segment shows the pathway, which then follows its surface.
    pub fn pathway_follows_surface(&self) -> bool {
        // A replay repeats the surface alone: each new distance would restart its job.
        !self.runtime.sessions.strict
            && self.view.task == Task::Segment
            && self.document.pathways.surface_use.role().is_some()
    }

    /// Whether pathways depend on a surface that does not exist yet: Segment computes or restores it once it is shown.
    pub fn pathway_awaits_surface(&self) -> bool {
        let is_used = self.document.pathways.surface_use.role().is_some();
        is_used && self.document.segment.begins() && self.pathway_surface().is_none()
    }

    /// Whether the surface on which pathways depend is moving.
    pub(in crate::state) fn is_pathway_surface_moving(&self) -> bool {
        self.pathway_follows_surface() && self.segment_standing() == Some(SurfaceStanding::Running)
    }
}
