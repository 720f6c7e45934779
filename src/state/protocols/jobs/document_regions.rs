//! The regions of a session: each that a result uses, with the text by which its command names it.

use super::known_files::KnownFiles;
use crate::data::protocol::{LabelName, ProtocolRegion, ProtocolSpace, name_from};
use crate::data::{Region, Shape};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::track::types::CurveKey;
use crate::state::{Document, State};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Folder that exists nowhere: a region without a file gets a name in it, so that commands can name it.
const NOWHERE: &str = "/arcuate/region";

/// Regions, by the text by which commands name them.
#[derive(Default)]
pub struct DocumentRegions {
    /// The names of the protocol, by the texts of commands.
    pub names: BTreeMap<String, String>,
    pub regions: BTreeMap<String, ProtocolRegion>,
    /// The spaces of masks that warps took to the scan.
    pub spaces: BTreeMap<String, ProtocolSpace>,
    /// Regions that do not carry over.
    pub drawn: Vec<String>,
}

/// The regions of the document and of all results.
fn all(state: &State) -> Vec<Region> {
    let document = &state.document;
    let mut all: Vec<Region> = document.regions.iter().map(|r| (**r).clone()).collect();
    for layer in &document.layers {
        if let Some(recipe) = document.curve_recipe(layer.id) {
            all.extend(recipe.regions.iter().cloned());
        }
    }
    if let Some(live) = state.final_live() {
        let CurveKey { regions, .. } = &live.key;
        all.extend(regions.iter().cloned());
    }
    if let Some(live) = state.final_pathway() {
        all.extend(live.key.regions.iter().cloned());
    }
    for kept in &document.kept_pathways {
        all.extend(kept.regions.iter().cloned());
    }
    all
}

impl DocumentRegions {
    /// The regions of a session. Those without a file get one that exists nowhere, in this document alone.
    pub fn new(state: &State, document: &mut Document, files: &KnownFiles) -> Self {
        let mut found = Self::default();
        let mut taken: BTreeSet<String> = files.inputs.keys().cloned().collect();
        for region in all(state) {
            found.add(&region, document, files, &mut taken);
        }
        found
    }

    fn add(
        &mut self,
        region: &Region,
        document: &mut Document,
        files: &KnownFiles,
        taken: &mut BTreeSet<String>,
    ) {
        let base = name_from(&region.name, "region");
        let mut name = base.clone();
        let mut number = 2;
        while taken.contains(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        let value = match &*region.shape {
            Shape::Sphere {
                centre: c,
                radius_mm,
            } => ProtocolRegion::Sphere {
                numbers: [c.x, c.y, c.z, *radius_mm],
                space: None,
            },
            Shape::Box {
                centre: c,
                half_mm: h,
            } => ProtocolRegion::Box([c.x, c.y, c.z, h.x, h.y, h.z]),
            Shape::Mask(mask) => {
                let label = region.label_number;
                let map = label.and_then(|label| files.label_map(document, mask, label));
                match (document.mask_file(mask).map(PathBuf::from), map, label) {
                    // The file is an input of its own, which commands name.
                    (Some(_), ..) => return,
                    (None, Some(map), Some(label)) => {
                        document.add_mask_file(mask.id(), &PathBuf::from(NOWHERE).join(&name));
                        ProtocolRegion::Labels {
                            map: format!("{{{map}}}"),
                            labels: vec![LabelName::Number(label)],
                        }
                    }
                    (None, ..) => {
                        let warped = document.warped_mask(mask);
                        let warped = warped.and_then(|(file, warp)| files.warped_mask(file, warp));
                        document.add_mask_file(mask.id(), &PathBuf::from(NOWHERE).join(&name));
                        match warped {
                            Some((file, space)) => ProtocolRegion::Mask {
                                file,
                                space: Some(self.space(space)),
                            },
                            None => {
                                self.drawn.push(region.name.clone());
                                ProtocolRegion::Drawn
                            }
                        }
                    }
                }
            }
        };
        let path = match &*region.shape {
            Shape::Mask(mask) => document.mask_file(mask).map(PathBuf::from),
            _ => None,
        };
        let Some(spec) = ShapeSpec::from_shape(&region.shape, path.as_deref()) else {
            return;
        };
        // A shape that several results use becomes one region.
        let text = spec.to_string();
        if self.names.contains_key(&text) {
            return;
        }
        self.names.insert(text, name.clone());
        taken.insert(name.clone());
        self.regions.insert(name, value);
    }

    /// The name of a space, which is added unless an equal one is known.
    fn space(&mut self, space: ProtocolSpace) -> String {
        let known = self.spaces.iter().find(|(_, known)| **known == space);
        if let Some((name, _)) = known {
            return name.clone();
        }
        let name = match self.spaces.len() {
            0 => "template".to_owned(),
            spaces => format!("template_{}", spaces + 1),
        };
        self.spaces.insert(name.clone(), space);
        name
    }
}
