//! Questions to the document about its regions, and their changes.

use crate::data::region::RegionId;
use crate::data::{Region, Role, Shape};
use crate::state::Document;
use crate::state::regions::recipe::{MaskWithoutFile, RegionSpec, ShapeSpec};
use std::sync::Arc;

impl Document {
    pub fn region(&self, id: RegionId) -> Option<&Arc<Region>> {
        self.regions.iter().find(|r| r.id == id)
    }

    pub fn edit_region(&mut self, id: RegionId, edit: impl FnOnce(&mut Region)) {
        if let Some(region) = self.regions.iter_mut().find(|r| r.id == id) {
            edit(Arc::make_mut(region));
        }
    }

    /// Regions as text.
    pub fn specs(&self, regions: &[Region]) -> Result<Vec<RegionSpec>, MaskWithoutFile> {
        let path_of = |region: &Region| {
            let Shape::Mask(mask) = &*region.shape else {
                return None;
            };
            self.mask_file(mask)
        };
        let spec = |r: &Region| {
            let shape = ShapeSpec::from_shape(&r.shape, path_of(r));
            let shape = shape.ok_or_else(|| MaskWithoutFile(r.name.clone()))?;
            let role = r.role;
            Ok(RegionSpec { role, shape })
        };
        regions.iter().map(spec).collect()
    }

    /// Adds a region.
    pub fn add_region(&mut self, name: String, role: Role, shape: Arc<Shape>) -> RegionId {
        let id = RegionId(self.fresh_id());
        self.regions.push(Arc::new(Region {
            id,
            name,
            role,
            shape,
            colour: None,
            visible: true,
            label_number: None,
        }));
        id
    }

    /// A name that no region has yet: `Seed`, `Seed 2`, …
    pub fn region_name(&self, role: Role) -> String {
        let taken = |name: &str| self.regions.iter().any(|r| r.name == name);
        automatic_names(role)
            .find(|name| !taken(name))
            .unwrap_or_default()
    }
}

/// The names of regions with this role that the user has not named: `Seed`, `Seed 2`, …
pub(in crate::state) fn automatic_names(role: Role) -> impl Iterator<Item = String> {
    let numbered = (2..).map(move |n| format!("{} {n}", role.name()));
    std::iter::once(role.name().to_owned()).chain(numbered)
}
