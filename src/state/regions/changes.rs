//! Regions: position, size, role, name and colour.

use crate::data::region::RegionId;
use crate::data::{Region, Shape};
use crate::state::Document;
use crate::state::core::fields::{Fields, event_text, prefixed, renamed};
use crate::state::core::text::ml;
use std::collections::BTreeMap;
use std::sync::Arc;

fn by_id(document: &Document) -> BTreeMap<RegionId, &Arc<Region>> {
    document.regions.iter().map(|r| (r.id, r)).collect()
}

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let earlier = by_id(before);
    let mut all = Vec::new();
    for region in &after.regions {
        let Some(was) = earlier.get(&region.id) else {
            continue;
        };
        if Arc::ptr_eq(was, region) {
            continue;
        }
        all.extend(renamed(&was.name, &region.name));
        let changes = fields(was).differences(&fields(region));
        all.extend(prefixed(&region.name, changes));
    }
    all
}

fn fields(region: &Region) -> Fields {
    let mut fields = Fields::default();
    fields.name("Role", region.role.name());
    shape(&mut fields, &region.shape);
    let colour = region.colour.map_or_else(
        || "of the role".to_owned(),
        crate::state::core::fields::colour,
    );
    fields.name("Colour", colour);
    fields.name("", if region.visible { "shown" } else { "hidden" });
    fields
}

/// Lengths and positions as in the list of regions and at the crosshair.
fn shape(fields: &mut Fields, shape: &Shape) {
    let place = |fields: &mut Fields, at: glam::DVec3| {
        fields.numbers("Position", &at.to_array(), ", ", (1, "mm"));
    };
    match shape {
        Shape::Sphere { centre, radius_mm } => {
            fields.name("Shape", "sphere");
            fields.number("Radius", *radius_mm, 1, "mm");
            place(fields, *centre);
        }
        Shape::Box { centre, half_mm } => {
            fields.name("Shape", "box");
            let edges = (*half_mm * 2.0).to_array();
            fields.numbers("Edges", &edges, " × ", (1, "mm"));
            place(fields, *centre);
        }
        Shape::Mask(mask) => {
            fields.name("Shape", "mask");
            let volume = mask.volume_ml();
            let text = ml(volume, if volume < 9.95 { 1 } else { 0 });
            fields.detailed("Volume", text, format!("{:?}", mask.id()));
        }
    }
}

pub fn added_or_removed(before: &Document, after: &Document) -> Vec<String> {
    let (earlier, later) = (by_id(before), by_id(after));
    let missing =
        |others: &BTreeMap<RegionId, &Arc<Region>>, from: &Document| -> Vec<Arc<Region>> {
            let regions = from.regions.iter();
            regions
                .filter(|r| !others.contains_key(&r.id))
                .cloned()
                .collect()
        };
    let (gone, back) = (missing(&later, before), missing(&earlier, after));
    let names = |regions: &[Arc<Region>], done| {
        let names: Vec<&str> = regions.iter().map(|r| r.name.as_str()).collect();
        event_text(&names, "region", done)
    };
    let both = [names(&gone, "removed"), names(&back, "restored")];
    both.into_iter().flatten().collect()
}
