//! Missing parts of a session, and those that cannot be read: they stay in the session, and are written unchanged.

use crate::data::DataId;
use crate::data::region::RegionId;
use crate::jobs::session::{FileComparison, ReadSession};
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::selection::Edit;
use crate::state::core::layer::LayerId;
use crate::state::core::text::{counted, some_of};
use crate::state::document::{Document, Made};
use crate::state::origin::{Computed, Origin};
use crate::state::sessions::saved::origins::edits;
use crate::state::sessions::saved::results::result_name;
use crate::state::sessions::saved::{
    SavedLayer, SavedOrigin, SavedPathway, SavedRegion, SavedSegmentation, SavedShape,
    SavedWeights, Table,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum MissingItem {
    Layer(Arc<MissingLayer>),
    /// The origin of a loaded layer: its masks or numbers cannot be read.
    Origin(Arc<MissingLayer>),
    Part(Arc<MissingPart>),
}

/// A layer of a session.
#[derive(Clone, Debug)]
pub struct MissingLayer {
    pub layer: SavedLayer,
    /// A sentence.
    pub why: String,
    /// The session that its numbers refer to.
    pub read: Arc<ReadSession>,
}

/// The layers of a session, until the fit has added its own.
#[derive(Clone, Debug)]
pub struct AwaitedLayers {
    layers: Arc<[SavedLayer]>,
    /// Their session.
    pub(in crate::state) read: Arc<ReadSession>,
}

impl AwaitedLayers {
    pub fn new(layers: Arc<[SavedLayer]>, read: Arc<ReadSession>) -> Self {
        Self { layers, read }
    }

    pub fn layers(&self) -> &[SavedLayer] {
        &self.layers
    }

    /// The map of the fit that a layer is.
    pub(in crate::state) fn map_of(&self, layer: &SavedLayer) -> Option<FitMap> {
        match Table::new(&self.read).base(layer.origin)? {
            SavedOrigin::BrainMask { .. } => Some(FitMap::Mask),
            SavedOrigin::FitMap { map, .. } => Some(*map),
            _ => None,
        }
    }
}

impl MissingItem {
    /// The layer that is missing, or whose origin is.
    pub fn layer(&self) -> Option<LayerId> {
        match self {
            Self::Layer(missing) | Self::Origin(missing) => Some(LayerId(missing.layer.id)),
            Self::Part(_) => None,
        }
    }
}

impl Document {
    pub fn missing_layers(&self) -> impl Iterator<Item = &Arc<MissingLayer>> {
        self.missing.iter().filter_map(|item| match item {
            MissingItem::Layer(layer) => Some(layer),
            _ => None,
        })
    }

    pub fn missing_layer(&self, id: LayerId) -> Option<&Arc<MissingLayer>> {
        self.missing_layers().find(|m| m.layer.id == id.0)
    }

    /// A loaded layer, as its session has it, if its origin cannot be read.
    pub fn missing_origin(&self, id: LayerId) -> Option<&Arc<MissingLayer>> {
        self.missing.iter().find_map(|item| match item {
            MissingItem::Origin(layer) if layer.layer.id == id.0 => Some(layer),
            _ => None,
        })
    }

    /// Regions, pathways, weights and the surface.
    pub fn missing_parts(&self) -> impl Iterator<Item = &Arc<MissingPart>> {
        self.missing.iter().filter_map(|item| match item {
            MissingItem::Part(part) => Some(part),
            _ => None,
        })
    }

    /// Removes a missing layer, which was restored or is not wanted any more.
    pub(in crate::state) fn remove_missing_layer(&mut self, id: LayerId) {
        let is = |item: &MissingItem| matches!(item, MissingItem::Layer(m) if m.layer.id == id.0);
        self.missing.retain(|item| !is(item));
    }

    /// Removes the missing parts that `is` selects.
    pub(in crate::state) fn remove_missing_parts(&mut self, is: impl Fn(&MissingPart) -> bool) {
        self.missing
            .retain(|item| !matches!(item, MissingItem::Part(part) if is(part)));
    }

    /// Looks for the files of everything else that is missing from a session where `now` has them.
    pub(in crate::state) fn replace_session(
        &mut self,
        before: &Arc<ReadSession>,
        now: &Arc<ReadSession>,
    ) {
        let replace = |read: &mut Arc<ReadSession>| {
            if Arc::ptr_eq(read, before) {
                read.clone_from(now);
            }
        };
        for item in &mut self.missing {
            replace(match item {
                MissingItem::Layer(layer) | MissingItem::Origin(layer) => {
                    &mut Arc::make_mut(layer).read
                }
                MissingItem::Part(part) => &mut Arc::make_mut(part).read,
            });
        }
        if let Some(awaited) = &mut self.awaited {
            replace(&mut awaited.read);
        }
    }

    /// Number of missing layers and parts.
    pub(in crate::state) fn missing_count(&self) -> usize {
        self.missing_layers().count() + self.missing_parts().count()
    }

    /// Whether a session of the document holds all that its original holds: everything is loaded, except streamlines
    /// of which the original has only the recipe.
    pub fn is_whole(&self) -> bool {
        self.missing.iter().all(|item| match item {
            MissingItem::Layer(layer) => layer.is_recipe_alone(),
            MissingItem::Origin(_) | MissingItem::Part(_) => false,
        })
    }
}

/// The missing kept results of a session, as one sentence.
pub fn away(document: &Document) -> Option<String> {
    let kept = document.missing_layers().filter(|m| m.can_be_made());
    let names: Vec<&str> = kept.map(|m| &*m.layer.name).collect();
    let (what, them) = match names.len() {
        0 => return None,
        1 => ("1 kept result is".to_owned(), "it"),
        n => (format!("{n} kept results are"), "them"),
    };
    Some(format!(
        "{what} not stored beside the session ({}): recompute {them}, or remove {them}, in Layers",
        names.join(", ")
    ))
}

/// Why the missing files of the session could not be opened.
pub fn unopened(document: &Document) -> Option<String> {
    let missing = document.missing_layers().filter(|m| m.file().is_some());
    let all: Vec<&str> = missing.map(|m| &*m.why).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

impl MissingLayer {
    /// Its origin before any edit, transform and reorientation.
    pub(in crate::state) fn base(&self) -> Option<&SavedOrigin> {
        Table::new(&self.read).base(self.layer.origin)
    }

    /// Its session, with the layer's file at another place.
    pub(in crate::state) fn session_with_file_at(&self, path: PathBuf) -> ReadSession {
        let mut read = (*self.read).clone();
        if let Some(SavedOrigin::File { file, .. }) = self.base()
            && let Some(found) = read.files.get_mut(*file)
        {
            (found.path, found.standing) = (path, FileComparison::Same);
        }
        read
    }

    /// The former path of its file, if it comes from one.
    pub fn file(&self) -> Option<&Path> {
        match self.base()? {
            SavedOrigin::File { file, .. } => self.read.files.get(*file).map(|f| &*f.path),
            _ => None,
        }
    }

    /// Whether its session has only the recipe of its streamlines: nothing else can be lost.
    pub(in crate::state) fn is_recipe_alone(&self) -> bool {
        let name = result_name(self.layer.id);
        // A snapshot may have others with the same number.
        let before = |of: &str| of.strip_suffix(&name).map(str::to_owned);
        let of_it = |of: &str| before(of).is_some_and(|b| b.is_empty() || b.ends_with(' '));
        let mut results = self.read.results.iter();
        self.can_be_made() && !results.any(|r| r.file.is_some() && of_it(&r.of))
    }

    /// Whether it can be recomputed.
    pub fn can_be_made(&self) -> bool {
        matches!(self.base(), Some(SavedOrigin::Curves(_)))
    }

    /// The recipe of its streamlines; `None` if they were not computed here. An error is half a sentence.
    pub fn made(&self, document: &Document) -> Option<Result<Arc<Made>, String>> {
        if !self.can_be_made() {
            return None;
        }
        let table = Table::new(&self.read);
        let origin = table
            .resolve(document, &self.read, [self.layer.origin])
            .get(table.unedited(self.layer.origin));
        Some(
            origin.and_then(|origin| match document.origins.base(origin) {
                Origin::Computed(Computed::Curves(made)) => Ok(made.clone()),
                _ => Err("its session does not say how".to_owned()),
            }),
        )
    }

    /// The steps that kept some of its streamlines; an error is a sentence.
    pub fn edits(&self) -> Result<Vec<Edit>, String> {
        let table = Table::new(&self.read);
        edits(&self.read, &table.steps(self.layer.origin))
    }
}

/// A part of a session that is missing and not a layer; it stays in the session.
#[derive(Clone, Debug)]
pub struct MissingPart {
    pub what: SessionPart,
    /// `its sphere has no size`.
    pub why: String,
    /// The session that its numbers refer to.
    pub read: Arc<ReadSession>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SessionPart {
    Region(SavedRegion),
    Pathway(Box<SavedPathway>),
    Weights(Box<MissingWeights>),
    /// The live surface, and the regions of its speeds.
    Surface(Box<SavedSegmentation>, [Option<Painted>; 2]),
}

/// A region of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum Painted {
    Here(RegionId),
    Missing(Box<SavedRegion>),
}

/// Weights whose numbers do not match the loaded streamlines, or cannot be read.
#[derive(Clone, PartialEq, Debug)]
pub struct MissingWeights {
    pub(in crate::state) layer: LayerId,
    /// Name of the layer.
    pub(in crate::state) of: String,
    /// The streamlines; the numbers do not apply to others.
    pub(in crate::state) lines: Option<DataId>,
    pub(in crate::state) saved: SavedWeights,
}

impl SessionPart {
    /// Its own name, or that of its owner.
    fn name(&self) -> &str {
        match self {
            Self::Region(region) => &region.name,
            Self::Pathway(pathway) => &pathway.name,
            Self::Weights(weights) => &weights.of,
            Self::Surface(..) => "",
        }
    }

    pub(in crate::state) fn label(&self) -> String {
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
    /// Whether it is the mask of a layer.
    pub fn is_of(&self, layer: LayerId) -> bool {
        matches!(&self.what, SessionPart::Region(r) if r.shape == SavedShape::Layer(layer.0))
    }
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
                     are edited or fitted again: {why}"
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
                "{} are left out and stay in the session ({}): for each, {why}",
                counted(names.len(), what),
                some_of(names, NAMED)
            ),
        }
    }
}

impl MissingPart {
    /// The reason, and the consequence.
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
