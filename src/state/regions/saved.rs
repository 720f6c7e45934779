//! Regions of a session, and parts of it that cannot be read here: these stay in the session unchanged.

use crate::data::DataId;
use crate::data::region::RegionId;
use crate::data::{Region, Shape};
use crate::jobs::session::ReadSession;
use crate::state::Document;
use crate::state::core::layer::{Content as DocumentContent, LayerId};
use crate::state::core::text::{counted, some_of};
use crate::state::sessions::saved::write::Lists;
use crate::state::sessions::saved::{
    MissingLayer, SavedDocument, SavedPathway, SavedRegion, SavedSegmentation, SavedShape,
    SavedWeights,
};
use std::sync::Arc;

/// A part of a session that is missing and not a layer; it stays in the session.
#[derive(Clone, Debug)]
pub struct LeftOut {
    pub what: MissingRegion,
    /// `its sphere has no size`.
    pub why: String,
    /// The session that its numbers refer to.
    pub read: Arc<ReadSession>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum MissingRegion {
    Region(SavedRegion),
    Pathway(Box<SavedPathway>),
    Weights(Box<MissingWeights>),
    /// The live surface, and the regions of its speeds.
    Surface(Box<SavedSegmentation>, [Option<Painted>; 2]),
}

/// A region of a session: restored, or missing.
#[derive(Clone, PartialEq, Debug)]
pub enum Painted {
    Here(RegionId),
    Lacking(Box<SavedRegion>),
}

/// Weights whose numbers do not match the loaded streamlines, or cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub struct MissingWeights {
    pub(in crate::state) layer: LayerId,
    /// Its name.
    pub(in crate::state) of: String,
    /// The streamlines; the numbers do not apply to others.
    pub(in crate::state) lines: Option<DataId>,
    pub(in crate::state) saved: SavedWeights,
}

impl MissingRegion {
    /// Its own name, or that of its owner.
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

impl LeftOut {
    /// Whether it is the mask of a layer.
    pub fn is_of(&self, layer: LayerId) -> bool {
        matches!(&self.what, MissingRegion::Region(r) if r.shape == SavedShape::Layer(layer.0))
    }
}

/// A region of a session; an error says why it cannot be restored: `its sphere has no size`.
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
                let absent = document.absent.iter().find(|a| a.layer.id == *id);
                return Err(match absent {
                    Some(absent) => format!("its mask could not be opened: {}", absent.why),
                    None => "its own mask is missing".to_owned(),
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
    })
}

/// A region that another item refers to; an error is half a sentence.
pub(in crate::state) fn region(
    document: &Document,
    read: &ReadSession,
    saved: &SavedRegion,
) -> Result<Region, String> {
    let message = |why| format!("of its region \"{}\", {why}", saved.name);
    read_region(document, read, saved).map_err(message)
}

/// Adds the regions to a document whose layers are loaded; returns which they are, by their indices in the session.
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
                named.push(Some(add(document, region, saved)));
            }
            Err(why) => {
                leave_out(document, read, MissingRegion::Region(saved.clone()), why);
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

fn add(document: &mut Document, region: Region, saved: &SavedRegion) -> RegionId {
    let id = RegionId(document.fresh_id());
    document.regions.push(Arc::new(Region { id, ..region }));
    document
        .label_numbers
        .extend(saved.label.map(|number| (id, number)));
    id
}

pub(in crate::state) fn leave_out(
    document: &mut Document,
    read: &Arc<ReadSession>,
    what: MissingRegion,
    why: String,
) {
    let read = read.clone();
    document
        .left_out
        .push(Arc::new(LeftOut { what, why, read }));
}

/// Restores regions that are the mask of a layer, once that layer is loaded.
pub(in crate::state) fn find_again(document: &mut Document, layer: LayerId) {
    for left in std::mem::take(&mut document.left_out) {
        let found = match &left.what {
            MissingRegion::Region(saved) if saved.shape == SavedShape::Layer(layer.0) => {
                let region = read_region(document, &left.read, saved).ok();
                region.map(|region| add(document, region, saved))
            }
            _ => None,
        };
        if found.is_none() {
            document.left_out.push(left);
        }
    }
}

/// Missing parts with one reason, all of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    kind: Kind,
    why: String,
}

impl Group {
    fn of(left: &LeftOut) -> Self {
        Self {
            kind: left.what.kind(),
            why: left.why.clone(),
        }
    }

    pub fn has(&self, left: &LeftOut) -> bool {
        *self == Self::of(left)
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

impl LeftOut {
    /// The reason, and the consequence.
    pub(in crate::state) fn sentence(&self) -> String {
        Group::of(self).sentence(&[self.what.name()])
    }
}

/// Missing parts, with a sentence for each reason.
pub fn left_out(document: &Document) -> Vec<(Group, String)> {
    let mut groups: Vec<(Group, Vec<&str>)> = Vec::new();
    for left in &document.left_out {
        match groups.iter_mut().find(|(group, _)| group.has(left)) {
            Some((_, names)) => names.push(left.what.name()),
            None => groups.push((Group::of(left), vec![left.what.name()])),
        }
    }
    let message = |(group, names): (Group, Vec<&str>)| {
        let sentence = group.sentence(&names);
        (group, sentence)
    };
    groups.into_iter().map(message).collect()
}

impl Lists<'_> {
    /// Missing parts, in the numbers of the new session.
    pub(in crate::state) fn left_out(
        &mut self,
        document: &Document,
    ) -> (Vec<SavedRegion>, Vec<SavedPathway>) {
        let (mut regions, mut pathways) = (Vec::new(), Vec::new());
        for left in &document.left_out {
            match &left.what {
                MissingRegion::Region(region) => regions.extend(self.as_it_was(&left.read, region)),
                MissingRegion::Pathway(pathway) => {
                    let mut pathway = (**pathway).clone();
                    let of = pathway.regions.iter();
                    let of: Option<Vec<_>> = of.map(|r| self.as_it_was(&left.read, r)).collect();
                    let basis = self.renumber_basis(&left.read, &mut pathway.basis);
                    if let (Some(of), Some(())) = (of, basis) {
                        pathways.push(SavedPathway {
                            regions: of,
                            ..pathway
                        });
                    }
                }
                // They are stored elsewhere.
                MissingRegion::Weights(_) | MissingRegion::Surface(..) => {}
            }
        }
        (regions, pathways)
    }

    /// A region of another session in the numbers of this one; `None` if that session lacks its mask.
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

impl Document {
    /// Whether a session of the document contains everything of the session that was read: all of it is loaded, except
    /// for streamlines of which that session had only the recipe.
    pub fn is_whole(&self) -> bool {
        let whole = self.absent.iter().all(|a| a.is_recipe_alone());
        whole && self.left_out.is_empty() && self.unread.is_empty()
    }

    /// The origin of a layer, if it cannot be read.
    pub(in crate::state) fn origin_unread(&self, layer: LayerId) -> Option<&Arc<MissingLayer>> {
        self.unread.get(&layer)
    }
}
