//! Regions of a session.

use crate::data::region::RegionId;
use crate::data::{Region, Shape};
use crate::parameters;
use crate::state::Document;
use crate::state::core::layer::{Content as DocumentContent, LayerId};
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::saved::{
    MissingPart, SavedDocument, SavedPathway, SavedRegion, SavedShape, SessionPart, add_missing,
};
use crate::state::sessions::{PartError, ReadSession};
use std::sync::Arc;

/// A region of a session.
fn read_region(
    document: &Document,
    read: &ReadSession,
    saved: &SavedRegion,
) -> Result<Region, PartError> {
    let shape = match &saved.shape {
        SavedShape::Sphere { centre, radius_mm } => {
            if !(*radius_mm > 0.0 && radius_mm.is_finite() && centre.is_finite()) {
                return Err(PartError::SphereSize);
            }
            Shape::Sphere {
                centre: *centre,
                radius_mm: *radius_mm,
            }
        }
        SavedShape::Box { centre, half_mm } => {
            let valid = half_mm.cmpgt(glam::DVec3::ZERO).all() && half_mm.is_finite();
            if !(valid && centre.is_finite()) {
                return Err(PartError::BoxSize);
            }
            Shape::Box {
                centre: *centre,
                half_mm: *half_mm,
            }
        }
        SavedShape::Mask(number) => match read.masks.get(*number) {
            Some(Ok(mask)) => Shape::Mask(mask.clone()),
            Some(Err(unread)) => return Err(PartError::UnreadableMask(unread.reason.clone())),
            None => return Err(PartError::NoMask),
        },
        SavedShape::Layer(id) => {
            let layer = document.layer(LayerId(*id)).map(|l| &l.content);
            let Some(DocumentContent::Mask(mask)) = layer else {
                return Err(match document.missing_layer(LayerId(*id)) {
                    Some(missing) => PartError::UnopenedMask(Box::new(missing.reason.clone())),
                    None => PartError::OwnMask,
                });
            };
            Shape::Mask(mask.clone())
        }
    };
    Ok(Region {
        id: RegionId(0),
        name: saved.name.clone(),
        role: saved.role,
        shape: Arc::new(shape),
        colour: saved.colour,
        visible: saved.visible,
        label_number: saved.label,
    })
}

/// A region that another item refers to.
pub(in crate::state) fn region(
    document: &Document,
    read: &ReadSession,
    saved: &SavedRegion,
) -> Result<Region, PartError> {
    read_region(document, read, saved).map_err(|error| PartError::Region {
        name: saved.name.clone(),
        error: Box::new(error),
    })
}

/// Adds the regions to a document whose layers are loaded; returns which they are, by their indices in the session.
pub(in crate::state) fn add_regions(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
) -> Vec<Option<RegionId>> {
    let regions = saved.regions.iter();
    let regions: Vec<_> = regions.map(|r| read_region(document, read, r)).collect();
    let mut named = Vec::new();
    for (result, saved) in regions.into_iter().zip(&saved.regions) {
        match result {
            Ok(region) => {
                named.push(Some(add(document, region)));
            }
            Err(why) => {
                add_missing(document, read, SessionPart::Region(saved.clone()), why);
                named.push(None);
            }
        }
    }
    document.streamlines = saved.streamlines.renamed(|RegionId(place)| {
        let place = usize::try_from(place).ok()?;
        named.get(place).copied().flatten()
    });
    let settings = &mut document.streamlines;
    settings.profile.params = parameters::sanitized(&settings.profile.params);
    settings.connect.params = parameters::sanitized(&settings.connect.params);
    named
}

fn add(document: &mut Document, region: Region) -> RegionId {
    let id = RegionId(document.fresh_id());
    document.regions.push(Arc::new(Region { id, ..region }));
    id
}

/// Regions that are a layer's mask, where that layer has come.
pub(in crate::state) fn find_again(document: &mut Document, layer: LayerId) {
    let parts: Vec<Arc<MissingPart>> = document.missing_parts().cloned().collect();
    for part in parts.into_iter().filter(|part| part.is_mask_of(layer)) {
        let SessionPart::Region(saved) = &part.part else {
            continue;
        };
        if let Ok(region) = read_region(document, &part.session, saved) {
            add(document, region);
            document.remove_missing_parts(|other| std::ptr::eq(other, &*part));
        }
    }
}

impl ReferencedItems<'_> {
    /// Missing regions and pathways in the numbers of the new session.
    pub(in crate::state) fn missing_parts(
        &mut self,
        document: &Document,
    ) -> (Vec<SavedRegion>, Vec<SavedPathway>) {
        let (mut regions, mut pathways) = (Vec::new(), Vec::new());
        for left in document.missing_parts() {
            match &left.part {
                SessionPart::Region(region) => {
                    regions.extend(self.renumbered(&left.session, region))
                }
                SessionPart::Pathway(pathway) => {
                    let pathway = (**pathway).clone();
                    let regions = pathway.regions.iter();
                    let regions: Option<Vec<_>> =
                        regions.map(|r| self.renumbered(&left.session, r)).collect();
                    let fit = self.renumbered_origin(&left.session, pathway.fit);
                    if let (Some(regions), Some(fit)) = (regions, fit) {
                        pathways.push(SavedPathway {
                            regions,
                            fit,
                            ..pathway
                        });
                    }
                }
                // They are stored elsewhere.
                SessionPart::Weights(_) | SessionPart::Surface(..) => {}
            }
        }
        (regions, pathways)
    }

    /// A region of another session in the numbers of this one; `None` if that session lacks its mask.
    pub(in crate::state) fn renumbered(
        &mut self,
        read: &ReadSession,
        region: &SavedRegion,
    ) -> Option<SavedRegion> {
        let mut region = region.clone();
        if let SavedShape::Mask(number) = &mut region.shape {
            *number = self.known_mask(read, *number)?;
        }
        Some(region)
    }
}
