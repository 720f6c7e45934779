//! Work that is in no file. The header, the dot in the window's title, the recovery copy and the question before
//! closing a document all use this.

mod base;

pub use crate::state::sessions::unsaved::base::{Base, PartsInSession};

use crate::compute::memory;
use crate::data::{DataId, Tractogram};
use crate::jobs::CompleteData;
use crate::state::State;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::text::{THIN, counted, fixed, shortened_list, with_unit};
use crate::state::document::Document;
use crate::state::filter::WEIGHT;
use crate::state::segment::Start;
use crate::state::sessions::ResultStorage;
use crate::state::sessions::unsaved::base::Parameters;
use crate::state::streamlines::in_place::all_streamlines_of;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part of the work that is in no file.
#[derive(Clone, PartialEq, Debug)]
pub enum UnsavedPart {
    Regions(usize),
    /// Streamlines, a mask or a map in memory only.
    Layer {
        layer: LayerId,
        text: String,
    },
    /// Weights of the streamlines of layers with these names.
    Weights(Vec<String>),
    Pathways(usize),
    /// The surface of the task Segment, and the number of spheres that it grows from.
    Surface(usize),
    Measurements(usize),
    Snapshots(usize),
    /// Named viewpoints.
    Viewpoints(usize),
    /// Gradient axes of this many scans that were permuted or flipped.
    Axes(usize),
    /// Layers, regions and pathways of a session that could not be read.
    Missing(usize),
    /// The brain mask that was chosen for the fit, by its name; `None`: that it is computed from the scan.
    FitMask(Option<String>),
    /// Parameters of the fit, tracking, rays, pathways, Filter or Segment.
    Parameters,
    /// Layers in files that the session does not list yet, by their names: reopening the session would not open them.
    Added(Vec<String>),
    /// Anything else that a session stores.
    Other,
}

impl UnsavedPart {
    pub fn label(&self) -> String {
        match self {
            Self::Regions(n) => counted(*n, "region"),
            Self::Layer { text, .. } => text.clone(),
            Self::Weights(names) => {
                const NAMED: usize = 3;
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("Weights of {}", shortened_list(&names, NAMED))
            }
            Self::Pathways(n) => counted(*n, "kept pathway"),
            Self::Surface(0) => "The surface in Segment".to_owned(),
            Self::Surface(n) => format!("The surface in Segment, from {}", counted(*n, "sphere")),
            Self::Measurements(n) => counted(*n, "measurement"),
            Self::Snapshots(n) => counted(*n, "snapshot"),
            Self::Viewpoints(n) => counted(*n, "named viewpoint"),
            Self::Axes(n) => format!("Corrected gradient axes of {}", counted(*n, "scan")),
            Self::Missing(n) => format!(
                "{} of the session that could not be read",
                counted(*n, "result")
            ),
            Self::FitMask(Some(name)) => {
                format!("The choice of “{name}” as the brain mask of the fit")
            }
            Self::FitMask(None) => {
                "The choice to compute the brain mask of the fit from the scan".to_owned()
            }
            Self::Parameters => "Parameters of one or more tasks".to_owned(),
            Self::Added(names) => {
                const NAMED: usize = 3;
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!(
                    "{} added to the session, stored in {}: {}",
                    counted(names.len(), "layer"),
                    match names.len() {
                        1 => "its own file",
                        _ => "their own files",
                    },
                    shortened_list(&names, NAMED)
                )
            }
            Self::Other => "Changes of names, display, order or settings".to_owned(),
        }
    }
}

/// A layer of which the session stores only the recipe: opening the session does not restore its streamlines; they are
/// recomputed on request.
#[derive(Clone, PartialEq, Debug)]
pub struct RecipeOnly {
    /// `Whole brain`, or `Streamlines of snapshot 2`.
    pub name: String,
    pub streamlines: usize,
    pub bytes: u64,
    tractogram: DataId,
}

impl RecipeOnly {
    /// `Whole brain: 231 004 streamlines, 412 MB`.
    pub fn label(&self) -> String {
        format!(
            "{}: {}, {}",
            self.name,
            counted(self.streamlines, "streamline"),
            size(self.bytes)
        )
    }
}

/// `412 MB`, `2.1 GB`, with the window's narrow space before units.
pub fn size(bytes: u64) -> String {
    memory::size(bytes).replace(' ', &THIN.to_string())
}

/// Data that files hold in full, by their paths.
#[derive(Clone, Debug, Default)]
pub struct DataInFiles(BTreeMap<PathBuf, CompleteData>);

impl DataInFiles {
    /// A file was written; `complete`: the data that it holds in full.
    pub fn written(&mut self, path: &Path, complete: Option<CompleteData>) {
        match complete {
            Some(complete) => self.0.insert(path.to_owned(), complete),
            None => self.0.remove(path),
        };
    }

    fn holds(&self, id: DataId) -> bool {
        self.0.values().any(|known| known.ids.contains(&id))
    }

    /// Whether a file holds the present weights of all streamlines of a layer, with the streamlines or alone.
    fn holds_weights(&self, layer: &Layer) -> bool {
        let lines = all_streamlines_of(layer);
        let Some(weights) = lines.and_then(|lines| lines.per_streamline.get(WEIGHT)) else {
            return false;
        };
        self.0.values().any(|known| {
            let written = known.per_streamline.get(WEIGHT);
            written.is_some_and(|w| w.is_same(weights))
        })
    }
}

fn data(content: &Content) -> DataId {
    match content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => volume.id(),
        Content::Mask(mask) => mask.id(),
        Content::Tractogram(tractogram) => tractogram.id(),
        Content::InPlace(lines) => lines.file.id(),
    }
}

/// Scans whose gradient axes were permuted or flipped.
fn turned(document: &Document) -> usize {
    let turned = |l: &&Arc<Layer>| document.origins.turn(l.origin).is_some();
    document.layers.iter().filter(turned).count()
}

fn same_start(a: &Start, b: &Start) -> bool {
    match (a, b) {
        // Whatever its name.
        (Start::Mask(_, a), Start::Mask(_, b)) => a.id() == b.id(),
        (a, b) => a == b,
    }
}

impl Document {
    /// Id of the data of a layer; for streamlines without their weights, which count separately.
    pub fn without_weights(&self, layer: LayerId, data: DataId) -> DataId {
        let current = self.weights.get(&layer).filter(|w| w.weighted == data);
        current.map_or(data, |w| w.unweighted)
    }

    fn unweighted(&self, layer: &Layer) -> DataId {
        self.without_weights(layer.id, data(&layer.content))
    }

    /// Whether a layer is an unchanged file, or is recomputed whenever the file is opened.
    fn is_in_a_file(&self, layer: &Layer) -> bool {
        let is_reproducible = || {
            let from = self.origin(layer);
            from.is_recomputed_from_scan() || from.is_phantom()
        };
        (self.path(layer).is_some() || is_reproducible())
            && !self.is_edited(layer.id)
            && self.moved(layer.id).is_none()
    }

    /// Whether a session can store a layer: the inputs of streamlines may be gone.
    fn can_be_saved(&self, layer: &Layer) -> bool {
        !matches!(layer.content, Content::Tractogram(_))
            || self.path(layer).is_some()
            || self
                .curve_recipe(layer.id)
                .is_some_and(|recipe| self.origins.has_field(recipe.fit))
            || self.missing_origin(layer.id).is_some()
    }

    /// Whether the recipe of a layer gives it again.
    fn can_be_recomputed(&self, layer: LayerId) -> bool {
        let has_recipe = self.curve_recipe(layer).is_some()
            || self.density_map(layer).is_some()
            || self.weight_map_recipe(layer).is_some()
            || self.sensitivity_recipe(layer).is_some()
            || self.share_recipe(layer).is_some();
        has_recipe && !self.is_edited(layer) && self.moved(layer).is_none()
    }

    /// A layer that is only in memory, as text: `Whole brain: 231 004 streamlines, 412 MB`.
    fn in_memory(&self, layer: &Layer) -> String {
        let name = &layer.name;
        let changed = match self.is_edited(layer.id) {
            true => ", edited here",
            false if self.moved(layer.id).is_some() => ", moved here",
            false => "",
        };
        let size = match &layer.content {
            Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
                size(4 * volume.values.len() as u64)
            }
            Content::Mask(mask) => {
                format!("mask of {}", with_unit(&fixed(mask.volume_ml(), 2), "ml"))
            }
            Content::InPlace(lines) => counted(lines.file.len(), "streamline"),
            Content::Tractogram(t) => {
                let lines = counted(t.len(), "streamline");
                format!("{lines}, {}", size(ResultStorage::bytes(t)))
            }
        };
        format!("{name}{changed}: {size}")
    }
}

impl State {
    /// Whether there is work that is in no file. Only then is a recovery copy written.
    pub fn is_dirty(&self) -> bool {
        !self.unsaved().is_empty()
    }

    /// Work that would be lost with the document unless its session is saved. The file of a layer that was exported in
    /// full is as good as the session, and so is a file of all its weights; other exports are not.
    pub fn unsaved(&self) -> Vec<UnsavedPart> {
        let (document, base) = (&self.document, &self.runtime.sessions.base);
        let named = self.runtime.sessions.file.is_some();
        let mut parts = Vec::new();
        let regions = document.regions.iter();
        let new = |n: usize, base: usize| if n == base { 0 } else { n };
        let more = |n: usize, base: usize| if n > base { n } else { 0 };
        let in_files = &self.runtime.sessions.in_files;
        let fitted = document.weights.iter().filter_map(|(id, weights)| {
            let layer = document.layer(*id)?;
            // No streamline file holds the results of virtual lesions.
            let exported = weights.lesions.is_empty() && in_files.holds_weights(layer);
            (!base.has_weights(*id, weights) && !exported).then(|| layer.name.clone())
        });
        let fitted: Vec<String> = fitted.collect();
        let pathways = document.kept_pathways.iter();
        let counts = [
            (
                regions.filter(|r| !base.has_region(r)).count(),
                UnsavedPart::Regions as fn(usize) -> _,
            ),
            (
                pathways.filter(|k| !base.pathways.contains(&k.id)).count(),
                UnsavedPart::Pathways,
            ),
            (
                new(document.streamlines.measurements.len(), base.measurements),
                UnsavedPart::Measurements,
            ),
            (
                new(self.runtime.snapshots.all.len(), base.snapshots),
                UnsavedPart::Snapshots,
            ),
            (
                new(self.view.named.len(), base.viewpoints),
                UnsavedPart::Viewpoints,
            ),
            (new(turned(document), base.axes), UnsavedPart::Axes),
            // A result that was recomputed or removed is not missing, so only an increase counts.
            (
                more(document.missing_count(), base.missing),
                UnsavedPart::Missing,
            ),
        ];
        // The question shows only the first lines, so streamlines come first and images last.
        let rank = |layer: &&Arc<Layer>| match layer.content {
            Content::Tractogram(_) | Content::InPlace(_) => 0,
            Content::Mask(_) => 1,
            Content::Scan { .. } | Content::Image(_) => 2,
        };
        let mut layers: Vec<&Arc<Layer>> = document.layers.iter().collect();
        layers.sort_by_key(rank);
        let mut added = Vec::new();
        for layer in layers {
            let id = document.unweighted(layer);
            let exported = || {
                // The file of a scan lacks its gradients.
                let whole = !matches!(layer.content, Content::Scan { .. });
                whole && (in_files.holds(id) || in_files.holds(data(&layer.content)))
            };
            let known = base.layers.get(&layer.id) == Some(&id);
            if !(document.is_in_a_file(layer) || known || exported()) {
                parts.push(UnsavedPart::Layer {
                    layer: layer.id,
                    text: document.in_memory(layer),
                });
            } else if named
                && !base.lists(layer.id)
                && (document.path(layer).is_some() || exported())
            {
                added.push(layer.name.clone());
            }
        }
        if !added.is_empty() {
            parts.push(UnsavedPart::Added(added));
        }
        let counts = counts.into_iter().filter(|(n, _)| *n > 0);
        parts.extend(counts.map(|(n, part)| part(n)));
        if !fitted.is_empty() {
            parts.push(UnsavedPart::Weights(fitted));
        }
        let segment = &document.segment;
        let spheres = segment.spheres.len();
        let moved = self.surface_script() != base.surface_script.as_ref();
        if spheres != base.spheres || !base.has_start(document) || moved {
            // The surface does not grow from keep-out spheres.
            let placed = segment.spheres.iter().filter(|(_, sphere)| sphere.add);
            parts.push(UnsavedPart::Surface(placed.count()));
        }
        let now = Parameters::from_document(document);
        let parameters = base.parameters_for(document);
        if parameters
            .as_ref()
            .is_some_and(|before| !before.has_mask_of(&now))
        {
            let chosen = document.chosen_mask().map(|(layer, _)| layer.name.clone());
            parts.push(UnsavedPart::FitMask(chosen));
        }
        let others = parameters.is_some_and(|before| !before.is_but_for_mask(&now));
        if base.parameters_differ || others {
            parts.push(UnsavedPart::Parameters);
        }
        let touched = named && self.history.revision() != base.revision;
        if parts.is_empty() && (touched || base.recovered) {
            parts.push(UnsavedPart::Other);
        }
        parts
    }

    /// Unsaved work, one line each: first what cannot be recomputed.
    pub fn unsaved_lines(&self) -> Vec<String> {
        let mut parts = self.unsaved();
        parts.sort_by_key(|part| match part {
            UnsavedPart::Layer { layer, .. } => self.document.can_be_recomputed(*layer),
            _ => false,
        });
        let tasks = self.runtime.sessions.base.changed_tasks(&self.document);
        let line = |part: &UnsavedPart| match part {
            UnsavedPart::Parameters if !tasks.is_empty() => {
                format!("Parameters of {}", tasks.join(", "))
            }
            part => part.label(),
        };
        parts.iter().map(line).collect()
    }

    /// Layers of which a session of the state stores only the recipe.
    pub fn recipe_only(&self) -> Vec<RecipeOnly> {
        let store = self.document.session.store;
        let mut all: Vec<RecipeOnly> = Vec::new();
        let mut add = |name: String, tractogram: &Tractogram| {
            let id = tractogram.id();
            if !store.keeps(tractogram) && all.iter().all(|known| known.tractogram != id) {
                all.push(RecipeOnly {
                    name,
                    streamlines: tractogram.len(),
                    bytes: ResultStorage::bytes(tractogram),
                    tractogram: id,
                });
            }
        };
        let documents = self.runtime.snapshots.all.iter();
        let documents = documents.map(|s| (&s.document, Some(s)));
        for (document, snapshot) in std::iter::once((&self.document, None)).chain(documents) {
            let full_name = |name: &str| match snapshot {
                Some(snapshot) => format!("{name} of {}", snapshot.label()),
                None => name.to_owned(),
            };
            for layer in &document.layers {
                let is_recomputable = document.curve_recipe(layer.id).is_some()
                    || document.missing_origin(layer.id).is_some();
                if let (Content::Tractogram(tractogram), true) = (&layer.content, is_recomputable) {
                    add(full_name(&layer.name), tractogram);
                }
            }
            if let Some(live) = snapshot.and_then(|s| s.live.as_ref()) {
                add(full_name("Streamlines"), &live.output.kept);
            }
        }
        all
    }

    /// Layers of which the last save stored only the recipe, as far as that still applies.
    pub fn reported_recipe_only(&self) -> Vec<RecipeOnly> {
        let recipe_only = &self.runtime.sessions.recipe_only;
        if recipe_only.is_empty() {
            return Vec::new();
        }
        let mut all = self.recipe_only();
        all.retain(|layer| recipe_only.contains(layer));
        all
    }

    /// Layers stored only as recipes that are in no other file either.
    pub fn only_in_memory(&self) -> Vec<RecipeOnly> {
        let in_files = &self.runtime.sessions.in_files;
        let mut all = self.recipe_only();
        all.retain(|layer| !in_files.holds(layer.tractogram));
        all
    }

    /// Layers whose streamlines are in no file although the session is saved, as text: those only in memory, and those
    /// that do not exist until they are recomputed.
    pub fn saved_without(&self) -> Vec<String> {
        let here = self.only_in_memory();
        let away = self
            .document
            .missing_layers()
            .filter(|m| m.can_be_recomputed());
        let here = here.iter().map(RecipeOnly::label);
        here.chain(away.map(|m| m.layer.name.clone())).collect()
    }

    /// Names of streamlines that no session can store, because their inputs are gone.
    pub fn cannot_be_saved(&self) -> Vec<&str> {
        let layers = self.document.layers.iter();
        let lost = layers.filter(|l| !self.document.can_be_saved(l));
        lost.map(|l| l.name.as_str()).collect()
    }

    /// Whether there is a question before the document is closed: work would be lost, or its session has only the
    /// recipes of large layers.
    pub fn asks_before_closing(&self) -> bool {
        let saving = &self.runtime.sessions;
        // A user who chose to store nothing knows.
        let reported =
            saving.file.is_none() || self.document.session.store == ResultStorage::Nothing;
        self.is_dirty() || !reported && !self.only_in_memory().is_empty()
    }
}

/// `2 layers, 812 MB`.
pub fn summed(layers: &[RecipeOnly]) -> String {
    let bytes = layers.iter().map(|l| l.bytes).sum();
    format!("{}, {}", counted(layers.len(), "layer"), size(bytes))
}
