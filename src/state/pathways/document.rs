//! Queries on the document about pathways.

use crate::data::{Region, Role};
use crate::solvers::pathway::Params;
use crate::state::Document;
use crate::state::core::colours::CATEGORIES;
use crate::state::core::layer::LayerId;
use crate::state::pathways::PathwayKey;

impl Document {
    /// The regions that take part in pathways.
    pub fn pathway_regions(&self) -> Vec<Region> {
        let these = self
            .regions
            .iter()
            .filter(|r| Params::affects_pathways(r.role));
        these.map(|r| (**r).clone()).collect()
    }

    /// The key of the document's pathway; `None` without tensors or one of the ends.
    pub fn pathway_key(&self) -> Option<PathwayKey> {
        let has_role = |role| self.regions.iter().any(|r| r.role == role);
        let tensors = self.tensors.as_ref()?;
        (has_role(Role::Seed) && has_role(Role::Target)).then(|| PathwayKey {
            field: tensors.field.id(),
            regions: self.pathway_regions(),
            params: self.pathways.params,
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
