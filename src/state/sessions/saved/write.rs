//! From the state to a session.

use crate::data::region::RegionId;
use crate::data::{Mask, Region, Shape, Shared};
use crate::state::core::display::Display;
use crate::state::core::layer::{Content as DocumentContent, Layer, LayerId, OriginId};
use crate::state::origin::{Origin, Recipe};
use crate::state::sessions::saved::results::results;
use crate::state::sessions::saved::snapshots::own_results;
use crate::state::sessions::saved::{
    Content, MissingLayer, SavedContent, SavedDocument, SavedLayer, SavedMaskOrigin, SavedOrigin,
    SavedRays, SavedRegion, SavedShape, Table,
};
use crate::state::sessions::unsaved::PartsInSession;
use crate::state::sessions::{
    ContentText, FileComparison, ListedFile, ReadSession, ResultToSum, SessionDraft, StoredMask,
    StoredNumbers,
};
use crate::state::{Document, State};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Items to which the content refers by number.
pub(in crate::state) struct ReferencedItems<'a> {
    state: &'a State,
    files: Vec<ListedFile>,
    masks: Vec<StoredMask>,
    numbers: Vec<StoredNumbers>,
    pub(in crate::state) origins: Vec<SavedOrigin>,
    /// Numbers of the origins that the present document refers to.
    pub(in crate::state) numbered: BTreeMap<OriginId, usize>,
}

/// The session of the present state.
pub fn draft(state: &State) -> SessionDraft {
    make(state, false)
}

/// A draft for recovery, with the session that it belongs to.
pub fn autosave(state: &State) -> SessionDraft {
    make(state, true)
}

fn make(state: &State, copy: bool) -> SessionDraft {
    let saving = &state.runtime.sessions;
    let mut lists = ReferencedItems {
        state,
        files: Vec::new(),
        masks: Vec::new(),
        numbers: Vec::new(),
        origins: Vec::new(),
        numbered: BTreeMap::new(),
    };
    let document = lists.document(&state.document);
    let (snapshots, frozen) = lists.snapshots(state);
    let mask_origins = lists.mask_origins();
    let content = Content {
        origins: std::mem::take(&mut lists.origins),
        mask_origins,
        document,
        view: Some(state.view.clone()),
        surface_cameras: state.runtime.segment.framed.map(<[_; 2]>::from),
        origin: saving.file.clone().filter(|_| copy),
        origin_sha256: saving.seen.clone().filter(|_| copy),
        in_session: copy.then(|| PartsInSession::from_state(state)),
        snapshots,
    };
    let mut results = results(state);
    for (at, id, name) in own_results(&content) {
        let layer = frozen.get(at).and_then(|d| d.layer(LayerId(id)));
        if let Some(DocumentContent::Tractogram(tractogram)) = layer.map(|l| &l.content) {
            results.push(ResultToSum::Curves {
                name,
                tractogram: tractogram.clone(),
                stored: true,
            });
        }
    }
    SessionDraft {
        // Plain data with names of its own cannot fail to serialize.
        content: ContentText::new(move || serde_json::to_value(&content).unwrap_or(Value::Null)),
        computed_on: state.runtime.device.backend.label.clone(),
        results,
        files: lists.files,
        masks: lists.masks,
        numbers: lists.numbers,
        store: state.document.session.store,
        revision: state.history.revision(),
    }
}

impl ReferencedItems<'_> {
    pub(in crate::state) fn file(&mut self, path: &Path, scan: bool) -> usize {
        if let Some(at) = self.files.iter().position(|l| l.path == path) {
            self.files[at].scan |= scan;
            return at;
        }
        let opened = self.state.runtime.sessions.opened.as_ref();
        let known = opened.and_then(|read| read.files.iter().find(|f| f.path == path));
        let folder = opened.and_then(|read| read.path.parent());
        self.files.push(ListedFile {
            path: path.to_owned(),
            scan,
            earlier_entry: known
                .zip(folder)
                .map(|(f, folder)| (f.entry.clone(), folder.to_owned())),
            as_known: known
                .is_some_and(|f| f.is_read && matches!(f.standing, FileComparison::Missing(_))),
        });
        self.files.len() - 1
    }

    pub(in crate::state) fn mask(&mut self, mask: &Mask) -> usize {
        let same = |m: &StoredMask| matches!(m, StoredMask::Mask(m) if m.id() == mask.id());
        self.masks.iter().position(same).unwrap_or_else(|| {
            self.masks.push(StoredMask::Mask(mask.clone()));
            self.masks.len() - 1
        })
    }

    /// Origins of the masks that the session stores.
    fn mask_origins(&mut self) -> Vec<SavedMaskOrigin> {
        let document = &self.state.document;
        let mut all = Vec::new();
        for (id, origin) in document.mask_origins.iter() {
            let is = |m: &StoredMask| matches!(m, StoredMask::Mask(m) if m.id() == id);
            if let Some(mask) = self.masks.iter().position(is) {
                let origin = self.origin(document, origin);
                all.push(SavedMaskOrigin { mask, origin });
            }
        }
        all
    }

    pub(in crate::state) fn numbers(&mut self, values: &Shared<f32>) -> usize {
        let same = |n: &StoredNumbers| matches!(n, StoredNumbers::Numbers(v) if v.is_same(values));
        let known = self.numbers.iter().position(same);
        known.unwrap_or_else(|| {
            self.numbers.push(StoredNumbers::Numbers(values.clone()));
            self.numbers.len() - 1
        })
    }

    /// Numbers of the session that was read, unchanged if they cannot be read; `None` if it has none with this index.
    pub(in crate::state) fn known_numbers(
        &mut self,
        read: &ReadSession,
        number: usize,
    ) -> Option<usize> {
        let packed = match read.numbers.get(number)? {
            Ok(values) => return Some(self.numbers(&values.clone().into())),
            Err(unread) => &unread.packed,
        };
        self.numbers.push(StoredNumbers::Unchanged(packed.clone()));
        Some(self.numbers.len() - 1)
    }

    /// A mask of the session that was read, unchanged if it cannot be read; `None` if it has none with this index.
    pub(in crate::state) fn known_mask(
        &mut self,
        read: &ReadSession,
        number: usize,
    ) -> Option<usize> {
        let packed = match read.masks.get(number)? {
            Ok(mask) => return Some(self.mask(mask)),
            Err(unread) => &unread.packed,
        };
        let same = |m: &StoredMask| matches!(m, StoredMask::Unchanged(p) if Arc::ptr_eq(p, packed));
        let known = self.masks.iter().position(same);
        Some(known.unwrap_or_else(|| {
            self.masks.push(StoredMask::Unchanged(packed.clone()));
            self.masks.len() - 1
        }))
    }

    pub(in crate::state) fn document(&mut self, d: &Document) -> SavedDocument {
        // The mask of a region may be a layer of this document.
        self.numbered.clear();
        let mut layers: Vec<SavedLayer> = d
            .layers
            .iter()
            .filter_map(|layer| self.layer(d, layer))
            .collect();
        self.awaited_layers(d, &mut layers);
        for missing in d.missing_layers() {
            layers.extend(self.renumbered_layer(&missing.session, &missing.layer));
        }
        // Missing items are appended, so that the indices of loaded items do not change.
        let (missing_regions, missing_pathways) = self.missing_parts(d);
        let here = d.regions.iter();
        let mut regions: Vec<SavedRegion> = here.map(|r| self.region(d, r)).collect();
        regions.extend(missing_regions);
        SavedDocument {
            name: d.name.clone(),
            layers,
            regions,
            fit: d.fit.clone(),
            distributions: self.fod_settings(d),
            fit_mask: d.fit_mask.map(|id| id.0),
            method: d.track.method,
            track: d.track.streamlines.clone(),
            track_display: finite(&d.track.streamline_display),
            whole_brain: d.track.whole_brain,
            track_noise: d.track.noise.clone(),
            rays: SavedRays {
                metric: d.track.rays.metric,
                params: d.track.rays.params.clone(),
                cut: d.track.rays.cut,
                display: finite(&d.track.ray_display),
            },
            pathways: d.pathways.clone(),
            kept_pathways: {
                let kept = d.kept_pathways.iter();
                let kept = kept.filter_map(|k| self.pathway(d, k));
                kept.chain(missing_pathways).collect()
            },
            segment: {
                // A snapshot keeps the progress that it was to restore.
                let own = std::ptr::eq(d, &self.state.document);
                let live = self.state.surface_progress().filter(|_| own);
                // A surface that has not been shown since is still to be restored.
                let run = live.or_else(|| d.segment.resume.clone());
                let missing = self.missing_surface(d).filter(|_| run.is_none());
                missing.unwrap_or_else(|| self.segmentation(d, run.as_deref()))
            },
            filter: d.filter.clone(),
            store: d.session.store,
            scene_look: d.scene_look.valid(),
            streamlines: d.streamlines.renamed(|id| {
                let place = d.regions.iter().position(|r| r.id == id)?;
                Some(RegionId(place as u64))
            }),
        }
    }

    /// Adds the layers that the fit and the distributions have not produced yet.
    fn awaited_layers(&mut self, d: &Document, layers: &mut Vec<SavedLayer>) {
        let here: Vec<u64> = layers.iter().map(|l| l.id).collect();
        let of_fit = d.session.unrestored.awaited.as_ref();
        let of_fods = d.session.unrestored.awaited_fods.as_ref();
        let Some(awaited) = of_fit.or(of_fods) else {
            return;
        };
        let missing = awaited.layers().iter().enumerate();
        for (at, layer) in missing.filter(|(_, l)| !here.contains(&l.id)) {
            let is_awaited = of_fit.is_some_and(|a| a.map_of(layer).is_some())
                || of_fods.is_some_and(|a| a.fod_map_of(layer).is_some());
            if is_awaited {
                let layer = self.renumbered_layer(&awaited.session, layer);
                let at = at.min(layers.len());
                layers.splice(at..at, layer);
            }
        }
    }

    /// A layer; `None` if it cannot be recomputed.
    fn layer(&mut self, document: &Document, layer: &Layer) -> Option<SavedLayer> {
        if let Some(missing) = document.missing_origin(layer.id) {
            return self.layer_without_origin(document, layer, missing);
        }
        let content = match (document.origins.base(layer.origin), &layer.content) {
            (
                Origin::Unknown
                | Origin::Computed(Recipe::Fit(_) | Recipe::Fods(_) | Recipe::Weights(_)),
                _,
            ) => return None,
            (Origin::Computed(Recipe::Curves(recipe)), _) => {
                if !document.origins.has_field(recipe.fit) {
                    return None;
                }
                None
            }
            (Origin::Computed(Recipe::Segment(_)), DocumentContent::Mask(mask)) => {
                let surface = document.surfaces.get(&layer.id);
                Some(self.segmented(mask, surface.map(|surface| &**surface)))
            }
            (
                Origin::Computed(
                    Recipe::WeightMap(_)
                    | Recipe::Sensitivity(_)
                    | Recipe::Share(_)
                    | Recipe::StreamlineShare(_),
                ),
                DocumentContent::Image(volume),
            ) => Some(self.image(volume)),
            (
                Origin::Computed(
                    Recipe::Segment(_)
                    | Recipe::WeightMap(_)
                    | Recipe::Sensitivity(_)
                    | Recipe::Share(_)
                    | Recipe::StreamlineShare(_),
                ),
                _,
            ) => return None,
            _ => None,
        };
        let is_scan =
            matches!(&layer.content, DocumentContent::Scan { dwi, .. } if dwi.tensors.is_none());
        Some(SavedLayer {
            id: layer.id.0,
            name: layer.name.clone(),
            display: finite(&layer.display),
            origin: match is_scan {
                true => self.scan_origin(document, layer.origin),
                false => self.origin(document, layer.origin),
            },
            content,
            file_change: layer.file_change.clone(),
            weights: {
                let weights = self.weights(document, layer);
                let missing = || self.missing_weights(document, layer);
                weights.or_else(missing).map(Box::new)
            },
        })
    }

    /// A loaded layer whose origin cannot be read.
    fn layer_without_origin(
        &mut self,
        document: &Document,
        layer: &Layer,
        missing: &MissingLayer,
    ) -> Option<SavedLayer> {
        let saved = self.renumbered_layer(&missing.session, &missing.layer)?;
        let steps = document.edits(layer.id);
        let mut origin = saved.origin;
        if !steps.is_empty() {
            let unedited = Table::new(&missing.session).unedited(missing.layer.origin);
            origin = self.renumbered_origin(&missing.session, unedited)?;
            for step in steps {
                let step = self.edit(document, step);
                origin = self.add_origin(SavedOrigin::Edited {
                    input: origin,
                    step,
                });
            }
        }
        Some(SavedLayer {
            name: layer.name.clone(),
            display: finite(&layer.display),
            origin,
            ..saved
        })
    }

    pub(in crate::state) fn region(&mut self, document: &Document, region: &Region) -> SavedRegion {
        let shape = match &*region.shape {
            Shape::Sphere { centre, radius_mm } => SavedShape::Sphere {
                centre: *centre,
                radius_mm: *radius_mm,
            },
            Shape::Box { centre, half_mm } => SavedShape::Box {
                centre: *centre,
                half_mm: *half_mm,
            },
            Shape::Mask(mask) => {
                // A mask found by another fit may differ.
                let same = |l: &&Arc<Layer>| {
                    let is_same =
                        matches!(&l.content, DocumentContent::Mask(m) if m.id() == mask.id());
                    is_same && (document.path(l).is_some() || document.origin(l).is_phantom())
                };
                match document.layers.iter().find(same) {
                    Some(layer) => SavedShape::Layer(layer.id.0),
                    None => SavedShape::Mask(self.mask(mask)),
                }
            }
        };
        SavedRegion {
            name: region.name.clone(),
            role: region.role,
            shape,
            colour: region.colour,
            visible: region.visible,
            label: region.label_number,
        }
    }

    /// A layer of another session in the numbers of this one; `None` if that session refers to items that it lacks.
    fn renumbered_layer(&mut self, read: &ReadSession, layer: &SavedLayer) -> Option<SavedLayer> {
        let mut layer = layer.clone();
        layer.origin = self.renumbered_origin(read, layer.origin)?;
        match &mut layer.content {
            None => {}
            Some(SavedContent::Mask { mask, .. }) => *mask = self.known_mask(read, *mask)?,
            Some(SavedContent::Image { values, .. }) => {
                *values = self.known_numbers(read, *values)?;
            }
        }
        if let Some(weights) = &mut layer.weights {
            weights.values = self.known_numbers(read, weights.values)?;
            weights.fit = self.renumbered_origin(read, weights.fit)?;
        }
        Some(layer)
    }

    /// Files of another session in the numbers of this one.
    pub(in crate::state) fn renumber(
        &mut self,
        read: &ReadSession,
        file: &mut usize,
        gradients: &mut [usize],
    ) -> Option<()> {
        let scan = gradients.is_empty();
        for number in std::iter::once(file).chain(gradients) {
            let file = read.files.get(*number)?;
            let folder = read.path.parent()?;
            *number = self.file(&file.path, scan);
            self.files[*number].earlier_entry = Some((file.entry.clone(), folder.to_owned()));
        }
        Some(())
    }
}

/// JSON has no infinity.
fn finite(display: &Display) -> Display {
    let or = |value: f32, other: f32| if value.is_finite() { value } else { other };
    Display {
        window: (or(display.window.0, 0.0), or(display.window.1, 1.0)),
        opacity: or(display.opacity, 1.0),
        brightness: or(display.brightness, 1.0),
        hide_below_fa: or(display.hide_below_fa, 0.0),
        line_scale: display.line_scale.finite(),
        volume: display.volume.as_ref().map(|v| v.finite()),
        overlay: display.overlay.finite(),
        ..display.clone()
    }
}
