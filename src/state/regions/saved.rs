//! Regions of a session, and what of one, or of the rest, cannot be read here: that stays in the session
//! as it was.

use crate::data::DataId;
use crate::data::region::RegionId;
use crate::data::{Region, Shape};
use crate::jobs::session::ReadSession;
use crate::state::Document;
use crate::state::core::layer::{Content as DocumentContent, LayerId};
use crate::state::core::words::{counted, some_of};
use crate::state::sessions::saved::write::Lists;
use crate::state::sessions::saved::{
    MissingItem, SavedDocument, SavedPathway, SavedRegion, SavedSegmentation, SavedShape,
    SavedWeights,
};
use std::sync::Arc;

/// What of a session is neither a layer nor here; it stays in the session.
#[derive(Clone, Debug)]
pub struct MissingPart {
    pub what: SessionPart,
    /// `its sphere has no size`.
    pub why: String,
    /// What its numbers are of.
    pub read: Arc<ReadSession>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SessionPart {
    Region(SavedRegion),
    Pathway(Box<SavedPathway>),
    Weights(Box<MissingWeights>),
    /// The one in the hand, and the regions that steered it.
    Surface(Box<SavedSegmentation>, [Option<Painted>; 2]),
}

/// A region of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum Painted {
    Here(RegionId),
    Missing(Box<SavedRegion>),
}

/// Weights whose numbers are not those of the streamlines that are here, or cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub struct MissingWeights {
    pub(in crate::state) layer: LayerId,
    /// Its name.
    pub(in crate::state) of: String,
    /// The streamlines; of others the numbers say nothing.
    pub(in crate::state) lines: Option<DataId>,
    pub(in crate::state) saved: SavedWeights,
}

impl SessionPart {
    /// Its own name, or that of what it belongs to.
    fn name(&self) -> &str {
        match self {
            Self::Region(region) => &region.name,
            Self::Pathway(pathway) => &pathway.name,
            Self::Weights(weights) => &weights.of,
            Self::Surface(..) => "",
        }
    }

    pub(in crate::state) fn words(&self) -> String {
        match self {
            Self::Region(_) | Self::Pathway(_) => self.name().to_owned(),
            Self::Weights(weights) => format!("weights of {}", weights.of),
            Self::Surface(..) => "the surface that was segmented".to_owned(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Region(_) => Kind::Region,
            Self::Pathway(_) => Kind::Pathway,
            Self::Weights(_) => Kind::Weights,
            Self::Surface(..) => Kind::Surface,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Region,
    Pathway,
    Weights,
    Surface,
}

impl MissingPart {
    /// Whether it is the mask that a layer is.
    pub fn is_of(&self, layer: LayerId) -> bool {
        matches!(&self.what, SessionPart::Region(r) if r.shape == SavedShape::Layer(layer.0))
    }
}

/// A region of a session; an error says why not: `its sphere has no size`.
fn read_region(
    document: &Document,
    read: &ReadSession,
    saved: &SavedRegion,
) -> Result<Region, String> {
    let shape = match &saved.shape {
        SavedShape::Sphere { centre, radius_mm } => {
            if !(*radius_mm > 0.0 && radius_mm.is_finite() && centre.is_finite()) {
                return Err("its sphere has no size".to_owned());
            }
            Shape::Sphere {
                centre: *centre,
                radius_mm: *radius_mm,
            }
        }
        SavedShape::Box { centre, half_mm } => {
            let valid = half_mm.cmpgt(glam::DVec3::ZERO).all() && half_mm.is_finite();
            if !(valid && centre.is_finite()) {
                return Err("its box has no size".to_owned());
            }
            Shape::Box {
                centre: *centre,
                half_mm: *half_mm,
            }
        }
        SavedShape::Mask(number) => match read.masks.get(*number) {
            Some(Ok(mask)) => Shape::Mask(mask.clone()),
            Some(Err(unread)) => return Err(format!("its mask cannot be read: {}", unread.why)),
            None => return Err("its mask is not in the session".to_owned()),
        },
        SavedShape::Layer(id) => {
            let layer = document.layer(LayerId(*id)).map(|l| &l.content);
            let Some(DocumentContent::Mask(mask)) = layer else {
                return Err(match document.missing_layer(LayerId(*id)) {
                    Some(missing) => format!("its mask could not be opened: {}", missing.why),
                    None => "the mask that it is is not here".to_owned(),
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

/// A region that something refers to; an error is half a sentence.
pub(in crate::state) fn region(
    document: &Document,
    read: &ReadSession,
    saved: &SavedRegion,
) -> Result<Region, String> {
    let message = |why| format!("of its region \"{}\", {why}", saved.name);
    read_region(document, read, saved).map_err(message)
}

/// Puts the regions into a document whose layers are there; returns which they are, by their places in the
/// session.
pub(in crate::state) fn put(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
) -> Vec<Option<RegionId>> {
    let regions = saved.regions.iter();
    let regions: Vec<_> = regions.map(|r| read_region(document, read, r)).collect();
    let mut named = Vec::new();
    for (one, saved) in regions.into_iter().zip(&saved.regions) {
        match one {
            Ok(region) => {
                named.push(Some(add(document, region)));
            }
            Err(why) => {
                add_missing(document, read, SessionPart::Region(saved.clone()), why);
                named.push(None);
            }
        }
    }
    document.bundle = saved.bundle.renamed(|RegionId(place)| {
        let place = usize::try_from(place).ok()?;
        named.get(place).copied().flatten()
    });
    named
}

fn add(document: &mut Document, region: Region) -> RegionId {
    let id = RegionId(document.fresh_id());
    document.regions.push(Arc::new(Region { id, ..region }));
    id
}

pub(in crate::state) fn add_missing(
    document: &mut Document,
    read: &Arc<ReadSession>,
    what: SessionPart,
    why: String,
) {
    let read = read.clone();
    let part = MissingPart { what, why, read };
    document.missing.push(MissingItem::Part(Arc::new(part)));
}

/// Regions that are a layer's mask, where that layer has come.
pub(in crate::state) fn find_again(document: &mut Document, layer: LayerId) {
    let parts: Vec<Arc<MissingPart>> = document.missing_parts().cloned().collect();
    for part in parts.into_iter().filter(|part| part.is_of(layer)) {
        let SessionPart::Region(saved) = &part.what else {
            continue;
        };
        if let Ok(region) = read_region(document, &part.read, saved) {
            add(document, region);
            document.remove_missing_parts(|other| std::ptr::eq(other, &*part));
        }
    }
}

/// The missing parts of one kind, for one reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    kind: Kind,
    why: String,
}

impl Group {
    fn of(part: &MissingPart) -> Self {
        Self {
            kind: part.what.kind(),
            why: part.why.clone(),
        }
    }

    pub fn has(&self, part: &MissingPart) -> bool {
        *self == Self::of(part)
    }

    fn sentence(&self, names: &[&str]) -> String {
        const NAMED: usize = 3;
        let why = &self.why;
        let what = match self.kind {
            Kind::Region => "region",
            Kind::Pathway => "pathway",
            Kind::Weights => {
                let of = match names {
                    [name] => format!("\"{name}\""),
                    names => some_of(names, NAMED),
                };
                return format!(
                    "The weights of {of} are left out and stay in the session until the streamlines \
                     are edited or weighed: {why}"
                );
            }
            Kind::Surface => {
                return format!(
                    "The surface that was segmented is left out and stays in the session until \
                     another is begun: {why}"
                );
            }
        };
        match names {
            [name] => format!("The {what} \"{name}\" is left out and stays in the session: {why}"),
            names => format!(
                "{} are left out and stay in the session ({}): of each, {why}",
                counted(names.len(), what),
                some_of(names, NAMED)
            ),
        }
    }
}

impl MissingPart {
    /// Why, and what becomes of it.
    pub(in crate::state) fn sentence(&self) -> String {
        Group::of(self).sentence(&[self.what.name()])
    }
}

/// The missing parts, in a sentence for each reason.
pub fn missing_parts(document: &Document) -> Vec<(Group, String)> {
    let mut groups: Vec<(Group, Vec<&str>)> = Vec::new();
    for part in document.missing_parts() {
        match groups.iter_mut().find(|(group, _)| group.has(part)) {
            Some((_, names)) => names.push(part.what.name()),
            None => groups.push((Group::of(part), vec![part.what.name()])),
        }
    }
    let message = |(group, names): (Group, Vec<&str>)| {
        let sentence = group.sentence(&names);
        (group, sentence)
    };
    groups.into_iter().map(message).collect()
}

impl Lists<'_> {
    /// Missing regions and pathways in the numbers of the new session.
    pub(in crate::state) fn missing_parts(
        &mut self,
        document: &Document,
    ) -> (Vec<SavedRegion>, Vec<SavedPathway>) {
        let (mut regions, mut pathways) = (Vec::new(), Vec::new());
        for left in document.missing_parts() {
            match &left.what {
                SessionPart::Region(region) => regions.extend(self.as_it_was(&left.read, region)),
                SessionPart::Pathway(pathway) => {
                    let pathway = (**pathway).clone();
                    let of = pathway.regions.iter();
                    let of: Option<Vec<_>> = of.map(|r| self.as_it_was(&left.read, r)).collect();
                    let fit = self.origin_as_it_was(&left.read, pathway.fit);
                    if let (Some(regions), Some(fit)) = (of, fit) {
                        pathways.push(SavedPathway {
                            regions,
                            fit,
                            ..pathway
                        });
                    }
                }
                // They have their own places.
                SessionPart::Weights(_) | SessionPart::Surface(..) => {}
            }
        }
        (regions, pathways)
    }

    /// A region of another session in the numbers of this one; `None` where that one lacks its mask.
    pub(in crate::state) fn as_it_was(
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
