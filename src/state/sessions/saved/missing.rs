//! What of a session is not here, or cannot be read: it stays in the session, and is written as it was there.

use crate::jobs::session::ReadSession;
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::selection::Edit;
use crate::state::core::layer::LayerId;
use crate::state::document::{Document, Made};
use crate::state::origin::{Computed, Origin};
use crate::state::regions::saved::MissingPart;
use crate::state::sessions::saved::origins::edits;
use crate::state::sessions::saved::results::result_name;
use crate::state::sessions::saved::{SavedLayer, SavedOrigin, Table};
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum MissingItem {
    Layer(Arc<MissingLayer>),
    /// The origin of a layer that is here: its masks or numbers cannot be read.
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

/// The layers of a session, until the fit has brought those that are its own.
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
    /// The layer that is not here, or of which the origin is not.
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

    /// A layer that is here, as its session has it, where its origin cannot be read.
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

    /// A missing layer has come, or is not wanted any more.
    pub(in crate::state) fn remove_missing_layer(&mut self, id: LayerId) {
        let is = |item: &MissingItem| matches!(item, MissingItem::Layer(m) if m.layer.id == id.0);
        self.missing.retain(|item| !is(item));
    }

    /// Takes out the parts that `is` names.
    pub(in crate::state) fn remove_missing_parts(&mut self, is: impl Fn(&MissingPart) -> bool) {
        self.missing
            .retain(|item| !matches!(item, MissingItem::Part(part) if is(part)));
    }

    /// The number of things that a session had and the document has not.
    pub(in crate::state) fn missing_count(&self) -> usize {
        self.missing_layers().count() + self.missing_parts().count()
    }

    /// Whether a session of the document holds all that the one holds which it was read from: all of it is here,
    /// but for streamlines of which that one had the recipe alone.
    pub fn is_whole(&self) -> bool {
        self.missing.iter().all(|item| match item {
            MissingItem::Layer(layer) => layer.is_recipe_alone(),
            MissingItem::Origin(_) | MissingItem::Part(_) => false,
        })
    }
}

/// What of a session's kept results is not here, in one sentence.
pub fn away(document: &Document) -> Option<String> {
    let kept = document.missing_layers().filter(|m| m.can_be_made());
    let names: Vec<&str> = kept.map(|m| &*m.layer.name).collect();
    let (what, them) = match names.len() {
        0 => return None,
        1 => ("1 kept result is".to_owned(), "it"),
        n => (format!("{n} kept results are"), "them"),
    };
    Some(format!(
        "{what} not stored beside the session ({}): make {them} again, or take {them} out, in Layers",
        names.join(", ")
    ))
}

/// Why the session's files that are not here could not be opened.
pub fn unopened(document: &Document) -> Option<String> {
    let missing = document.missing_layers().filter(|m| m.file().is_some());
    let all: Vec<&str> = missing.map(|m| &*m.why).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

impl MissingLayer {
    /// Where it comes from before it was edited, moved and reoriented.
    pub(in crate::state) fn base(&self) -> Option<&SavedOrigin> {
        Table::new(&self.read).base(self.layer.origin)
    }

    /// Where its file was, if it is of one.
    pub fn file(&self) -> Option<&Path> {
        match self.base()? {
            SavedOrigin::File { file, .. } => self.read.files.get(*file).map(|f| &*f.path),
            _ => None,
        }
    }

    /// Whether its session has no streamlines of it, only how they are made: there is nothing else to lose.
    pub(in crate::state) fn is_recipe_alone(&self) -> bool {
        let name = result_name(self.layer.id);
        // Under the same number a snapshot may have others.
        let before = |of: &str| of.strip_suffix(&name).map(str::to_owned);
        let of_it = |of: &str| before(of).is_some_and(|b| b.is_empty() || b.ends_with(' '));
        let mut results = self.read.results.iter();
        self.can_be_made() && !results.any(|r| r.file.is_some() && of_it(&r.of))
    }

    /// Whether it can be made again.
    pub fn can_be_made(&self) -> bool {
        matches!(self.base(), Some(SavedOrigin::Curves(_)))
    }

    /// How its streamlines were made; `None` where they were not made here. An error is half a sentence.
    pub fn made(&self, document: &Document) -> Option<Result<Arc<Made>, String>> {
        if !self.can_be_made() {
            return None;
        }
        let table = Table::new(&self.read);
        let origin = table
            .resolve(document, &self.read)
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
