//! Snapshots in a session: each is a document of its own; layers that several documents share are read once.

use crate::io::Remark;
use crate::state::core::layer::{Content as DocumentContent, Layer, LayerId};
use crate::state::core::text::shortened_list;
use crate::state::origin::Origins;
use crate::state::origin::commands::live_curve_recipe;
use crate::state::sessions::ReadSession;
use crate::state::sessions::jobs::{LayerToRestore, RestoredLayers};
use crate::state::sessions::saved::read::{self, Items, Missing};
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::saved::{
    Content, SavedDocument, SavedLayer, SavedOrigin, SavedSnapshot, Table, snapshot_result,
};
use crate::state::snapshots::Snapshot;
use crate::state::{Document, State};
use std::sync::Arc;

/// Numbers of layers are below this power of two; the bits above give the document.
const BITS: u32 = 53;

/// The number of a layer among those of all documents of a session: 0 is the current document, followed by the
/// snapshots.
fn key(document: usize, layer: u64) -> u64 {
    ((document as u64) << BITS) | layer
}

/// The documents of a session by their numbers.
fn documents(content: &Content) -> impl Iterator<Item = (usize, &SavedDocument)> {
    let snapshots = content.snapshots.iter().map(|s| &s.document);
    std::iter::once(&content.document)
        .chain(snapshots)
        .enumerate()
}

fn layer(document: &SavedDocument, id: u64) -> Option<&SavedLayer> {
    document.layers.iter().find(|l| l.id == id)
}

/// Whether two layers have the same content before reorientation and transform.
fn same(
    table: Table,
    (own, a): (&SavedDocument, &SavedLayer),
    (other, b): (&SavedDocument, &SavedLayer),
) -> bool {
    let base = table.base(a.origin);
    let alike = a.id == b.id
        && a.content == b.content
        && base == table.base(b.origin)
        && table.steps(a.origin) == table.steps(b.origin);
    alike
        && match base {
            Some(SavedOrigin::Density(map)) => {
                let layer = |document| layer(document, map.input.layer);
                match (layer(own), layer(other)) {
                    // A density map is never the input of another.
                    (Some(x), Some(y)) => {
                        !matches!(table.base(x.origin), Some(SavedOrigin::Density(_)))
                            && same(table, (own, x), (other, y))
                    }
                    _ => false,
                }
            }
            _ => true,
        }
}

/// The number under which a layer of one of the documents is read: its own, or that of an earlier document.
fn source(content: &Content, number: usize, requested: &SavedLayer) -> u64 {
    let owner = documents(content).find(|(n, _)| *n == number);
    let Some((_, owner)) = owner else {
        return key(number, requested.id);
    };
    let table = Table::of_content(content);
    let known = documents(content).take(number).find(|(_, document)| {
        let other = layer(document, requested.id);
        other.is_some_and(|l| same(table, (owner, requested), (document, l)))
    });
    key(known.map_or(number, |(n, _)| n), requested.id)
}

/// Files that must be read for the snapshots in addition to the document.
pub(in crate::state) fn items(content: &Content, read: &ReadSession) -> (Items, Missing) {
    let (mut items, mut unreadable) = (Vec::new(), Vec::new());
    let table = Table::of_content(content);
    for (number, document) in documents(content).skip(1) {
        let own = document.layers.iter();
        let own = own.filter(|l| source(content, number, l) == key(number, l.id));
        for layer in own {
            let name = snapshot_result(number, layer.id);
            match read::item(table, layer, &name, read) {
                Ok(Some(LayerToRestore::Density {
                    layer: input,
                    streamlines,
                    transform,
                    grid,
                    params,
                })) => {
                    let from = document.layers.iter().find(|l| l.id == input);
                    let input = from.map_or(key(number, input), |l| source(content, number, l));
                    let item = LayerToRestore::Density {
                        layer: input,
                        streamlines,
                        transform,
                        grid,
                        params,
                    };
                    items.push((key(number, layer.id), item));
                }
                Ok(Some(item)) => items.push((key(number, layer.id), item)),
                Ok(None) => {}
                Err(why) => unreadable.push((key(number, layer.id), why)),
            }
        }
    }
    (items, unreadable)
}

/// Adds the transforms of shared streamlines in snapshots.
pub(in crate::state) fn add_moves(content: &Content, items: &mut Items) {
    let table = Table::of_content(content);
    for (number, document) in documents(content).skip(1) {
        for layer in &document.layers {
            let Some((by, _)) = table.moved(layer.origin) else {
                continue;
            };
            let from = source(content, number, layer);
            let item = items.iter_mut().find(|(key, _)| *key == from);
            if let Some((_, LayerToRestore::File { moves, .. })) = item
                && !moves.contains(&by)
            {
                moves.push(by);
            }
        }
    }
}

/// The result of [`restore`].
pub struct RestoredSnapshots {
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Sentences about their missing parts.
    pub lacks: Vec<String>,
    /// Other remarks, each with the name of its snapshot.
    pub notes: Vec<(String, Remark)>,
}

/// The snapshots of a session, with remarks about them.
pub fn restore(
    origins: &Origins,
    content: &Content,
    read: &Arc<ReadSession>,
    restored: &RestoredLayers,
    unreadable: &Missing,
) -> RestoredSnapshots {
    let (mut lacks, mut notes) = (Vec::new(), Vec::new());
    let mut snapshots = Vec::new();
    for (number, saved) in documents(content).skip(1) {
        let (mut mine, mut missing) = (RestoredLayers::new(), Missing::new());
        for layer in &saved.layers {
            let from = source(content, number, layer);
            let source_layer = restored.iter().find(|(key, _)| *key == from);
            mine.extend(source_layer.map(|(_, layer_result)| (layer.id, layer_result.clone())));
            let why = unreadable.iter().find(|(key, _)| *key == from);
            missing.extend(why.map(|(_, why)| (layer.id, why.clone())));
        }
        let built = read::build(origins, saved, read, mine, missing);
        let snapshot = &content.snapshots[number - 1];
        let (document, name) = (built.document, snapshot.name.clone());
        notes.extend(built.notes.into_iter().map(|note| (name.clone(), note)));
        // An item that depends on another comes after it.
        let parts = document.missing_parts().map(|m| m.part.label());
        let layers = document.missing_layers().map(|m| m.layer.name.clone());
        let names: Vec<String> = parts.chain(layers).collect();
        if !names.is_empty() {
            const NAMED: usize = 4;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let names = shortened_list(&names, NAMED);
            lacks.push(format!("Missing from snapshot {name}: {names}"));
        }
        snapshots.push(Arc::new(Snapshot {
            name,
            document,
            live: None,
            was_live: snapshot.live.map(LayerId),
        }));
    }
    RestoredSnapshots {
        snapshots,
        lacks,
        notes,
    }
}

/// A snapshot's document with its live result as a layer, and the id of that layer.
fn frozen(snapshot: &Snapshot) -> (Document, Option<LayerId>) {
    let mut document = snapshot.document.clone();
    let Some(live) = &snapshot.live else {
        return (document, snapshot.was_live);
    };
    let mut display = document.live_display().clone();
    if let Some(rays) = &live.rays {
        display.window = rays.range;
    }
    let id = LayerId(document.fresh_id());
    let content = DocumentContent::Tractogram(live.output.kept.clone());
    let origin = document.origins.add(live_curve_recipe(live));
    let layer = Layer::new(id, "Live".to_owned(), content, display, origin);
    document.layers.push(Arc::new(layer));
    (document, Some(id))
}

impl ReferencedItems<'_> {
    pub(in crate::state) fn snapshots(
        &mut self,
        state: &State,
    ) -> (Vec<SavedSnapshot>, Vec<Document>) {
        let snapshots = &state.runtime.snapshots.all;
        let (documents, live): (Vec<_>, Vec<_>) = snapshots.iter().map(|s| frozen(s)).unzip();
        let all = snapshots.iter().zip(&documents).zip(live);
        let saved = all.map(|((snapshot, document), live)| SavedSnapshot {
            name: snapshot.name.clone(),
            document: self.document(document),
            live: live.map(|id| id.0),
        });
        (saved.collect(), documents)
    }
}

/// Layers whose streamlines are stored next to the session only for a snapshot, with the names of these results.
pub(in crate::state) fn own_results(content: &Content) -> Vec<(usize, u64, String)> {
    let documents = documents(content).skip(1);
    let table = Table::of_content(content);
    let own = documents.flat_map(|(number, document)| {
        let layers = document.layers.iter();
        let is_curves =
            |l: &SavedLayer| matches!(table.base(l.origin), Some(SavedOrigin::Curves(_)));
        let kept = layers.filter(move |l| is_curves(l));
        let own = kept.filter(move |l| source(content, number, l) == key(number, l.id));
        own.map(move |l| (number - 1, l.id, snapshot_result(number, l.id)))
    });
    own.collect()
}
