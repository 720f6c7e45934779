//! From the state to a session.

use crate::data::region::RegionId;
use crate::data::{DataId, Mask, Region, Shape};
use crate::jobs::session::{
    FileComparison, Listed, ReadSession, SessionDraft, Stored, StoredNumbers, ToSum, Wording,
};
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::selection::{Edit, Within};
use crate::state::alignment::AlignedBy;
use crate::state::core::display::Display;
use crate::state::core::layer::{Content as DocumentContent, Layer, LayerId, OriginId};
use crate::state::document::{FitMask, Made};
use crate::state::origin::{Computed, Origin};
use crate::state::recipe::Source;
use crate::state::sessions::saved::results::results;
use crate::state::sessions::saved::{
    Content, MissingLayer, SavedBasis, SavedCurves, SavedDocument, SavedEdit, SavedLayer,
    SavedMask, SavedOrigin, SavedRegion, SavedRules, SavedShape, SavedSource, SavedStart,
    SavedTold,
};
use crate::state::sessions::unsaved::InSession;
use crate::state::snapshots::saved::own_results;
use crate::state::{Document, State, density};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Items to which the content refers by number.
pub(in crate::state) struct Lists<'a> {
    state: &'a State,
    files: Vec<Listed>,
    masks: Vec<Stored>,
    numbers: Vec<StoredNumbers>,
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
    let saving = &state.session.saving;
    let mut lists = Lists {
        state,
        files: Vec::new(),
        masks: Vec::new(),
        numbers: Vec::new(),
    };
    let document = lists.document(&state.document);
    let (snapshots, frozen) = lists.snapshots(state);
    let content = Content {
        document,
        view: Some(state.view.clone()),
        origin: saving.file.clone().filter(|_| copy),
        origin_sha256: saving.seen.clone().filter(|_| copy),
        in_session: copy.then(|| InSession::of(state)),
        snapshots,
    };
    let mut results = results(state);
    for (at, id, of) in own_results(&content) {
        let layer = frozen.get(at).and_then(|d| d.layer(LayerId(id)));
        if let Some(DocumentContent::Tractogram(tractogram)) = layer.map(|l| &l.content) {
            results.push(ToSum::Curves {
                of,
                tractogram: tractogram.clone(),
                stored: true,
            });
        }
    }
    SessionDraft {
        // Plain data with names of its own cannot fail to serialize.
        content: Wording::new(move || serde_json::to_value(&content).unwrap_or(Value::Null)),
        computed_on: state.session.backend.label.clone(),
        results,
        mask_files: lists.mask_files(),
        files: lists.files,
        masks: lists.masks,
        numbers: lists.numbers,
        store: state.document.store,
        revision: state.session.revision,
    }
}

impl Lists<'_> {
    fn file(&mut self, path: &Path, scan: bool) -> usize {
        if let Some(at) = self.files.iter().position(|l| l.path == path) {
            self.files[at].scan |= scan;
            return at;
        }
        let opened = self.state.session.saving.opened.as_ref();
        let found = opened.and_then(|read| read.files.iter().find(|f| f.path == path));
        let folder = opened.and_then(|read| read.path.parent());
        self.files.push(Listed {
            path: path.to_owned(),
            scan,
            known: found
                .zip(folder)
                .map(|(f, folder)| (f.entry.clone(), folder.to_owned())),
            as_known: found.is_some_and(|f| matches!(f.standing, FileComparison::Missing(_))),
        });
        self.files.len() - 1
    }

    fn files(&mut self, paths: &[PathBuf]) -> Vec<usize> {
        paths.iter().map(|p| self.file(p, false)).collect()
    }

    pub(in crate::state) fn mask(&mut self, mask: &Mask) -> usize {
        let same = |m: &Stored| matches!(m, Stored::Mask(m) if m.id() == mask.id());
        self.masks.iter().position(same).unwrap_or_else(|| {
            self.masks.push(Stored::Mask(mask.clone()));
            self.masks.len() - 1
        })
    }

    /// Files that hold masks of the session.
    fn mask_files(&self) -> Vec<(usize, PathBuf)> {
        let of = |id: DataId| {
            let is = |m: &Stored| matches!(m, Stored::Mask(m) if m.id() == id);
            self.masks.iter().position(is)
        };
        let files = self.state.document.mask_files.iter();
        files
            .filter_map(|(id, path)| Some((of(*id)?, path.clone())))
            .collect()
    }

    pub(in crate::state) fn numbers(&mut self, values: &Arc<[f32]>) -> usize {
        let same =
            |n: &StoredNumbers| matches!(n, StoredNumbers::Numbers(v) if Arc::ptr_eq(v, values));
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
            Ok(values) => return Some(self.numbers(values)),
            Err(unread) => &unread.packed,
        };
        self.numbers.push(StoredNumbers::AsTheyWere(packed.clone()));
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
        let same = |m: &Stored| matches!(m, Stored::AsItWas(p) if Arc::ptr_eq(p, packed));
        let known = self.masks.iter().position(same);
        Some(known.unwrap_or_else(|| {
            self.masks.push(Stored::AsItWas(packed.clone()));
            self.masks.len() - 1
        }))
    }

    pub(in crate::state) fn document(&mut self, d: &Document) -> SavedDocument {
        let mut layers: Vec<SavedLayer> = d
            .layers
            .iter()
            .filter_map(|layer| self.layer(d, layer))
            .collect();
        // The fit has not produced them yet.
        if let Some(awaited) = &d.awaited {
            let here: Vec<u64> = layers.iter().map(|l| l.id).collect();
            let missing = awaited.iter().enumerate();
            for (at, layer) in missing.filter(|(_, l)| !here.contains(&l.id)) {
                if matches!(layer.from, SavedOrigin::Made { .. }) {
                    layers.insert(at.min(layers.len()), layer.clone());
                }
            }
        }
        for absent in &d.absent {
            layers.extend(self.absent(absent));
        }
        // Appended at the end, so that the indices of loaded ones do not change.
        let (lacking, lost) = self.left_out(d);
        let here = d.regions.iter();
        let mut regions: Vec<SavedRegion> = here.map(|r| self.region(d, r)).collect();
        regions.extend(lacking);
        SavedDocument {
            name: d.name.clone(),
            layers,
            regions,
            fit: d.fit.clone(),
            fit_mask: d.fit_mask.map(|id| id.0),
            method: d.method,
            track: d.track.clone(),
            track_display: finite(&d.track_display),
            whole_brain: d.whole_brain,
            medium: d.rays.medium,
            rays: d.rays.params.clone(),
            cut: d.rays.cut,
            ray_display: finite(&d.ray_display),
            pathways: d.pathways.clone(),
            kept_pathways: {
                let kept = d.kept_pathways.iter();
                let kept = kept.filter_map(|k| self.pathway(d, k));
                kept.chain(lost).collect()
            },
            segment: {
                // A snapshot keeps the progress that it was to restore.
                let own = std::ptr::eq(d, &self.state.document);
                let live = self.state.session.segment.resume().filter(|_| own);
                // A surface that has not been shown since is still to be restored.
                let run = live.or_else(|| d.segment.resume.clone());
                let lacking = self.lacking_surface(d).filter(|_| run.is_none());
                lacking.unwrap_or_else(|| self.segmentation(d, run.as_deref()))
            },
            filter: d.filter.clone(),
            store: d.store,
            bundle: d.bundle.renamed(|id| {
                let place = d.regions.iter().position(|r| r.id == id)?;
                Some(RegionId(place as u64))
            }),
        }
    }

    fn layer(&mut self, document: &Document, layer: &Layer) -> Option<SavedLayer> {
        if let Some(unread) = document.origin_unread(layer.id) {
            let saved = self.absent(unread)?;
            let steps = document.edits(layer.id).into_iter();
            let steps: Vec<SavedEdit> = steps.map(|step| self.edit(document, step)).collect();
            return Some(SavedLayer {
                name: layer.name.clone(),
                display: finite(&layer.display),
                edits: match steps.is_empty() {
                    true => saved.edits,
                    false => steps,
                },
                ..saved
            });
        }
        let moved = document.moved(layer.id);
        let from = self.from(document, layer)?;
        let steps = document.edits(layer.id).into_iter();
        let edits = steps.map(|step| self.edit(document, step)).collect();
        Some(SavedLayer {
            id: layer.id.0,
            name: layer.name.clone(),
            display: finite(&layer.display),
            from,
            turn: document.origins.turn(layer.origin),
            moved: moved.and_then(|m| density::saved::rows(m.by)),
            moved_how: moved.map_or_else(AlignedBy::default, |m| m.how),
            edits,
            replaced: document.replaced.get(&layer.id).cloned(),
            weights: {
                let weights = self.weights(document, layer);
                let lacking = || self.lacking_weights(document, layer);
                weights.or_else(lacking).map(Box::new)
            },
        })
    }

    /// The origin of a layer before it was edited, moved and reoriented; `None` if it cannot be recomputed.
    fn from(&mut self, document: &Document, layer: &Layer) -> Option<SavedOrigin> {
        Some(match document.origins.base(layer.origin) {
            Origin::Phantom { seed, part } => SavedOrigin::Head {
                seed: *seed,
                part: *part,
            },
            Origin::File {
                file,
                reading,
                gradients,
            } => {
                let gradients = self.files(gradients);
                let scan = matches!(&layer.content, DocumentContent::Scan { dwi, .. } if dwi.tensors.is_none())
                    && gradients.is_empty();
                let told = SavedTold {
                    vtk_space: reading.vtk_space,
                    colours: reading.colours.as_ref().map(|p| self.file(p, false)),
                    tensors: reading.tensors,
                };
                SavedOrigin::File {
                    file: self.file(file, scan),
                    gradients,
                    told,
                }
            }
            Origin::Computed(made) => return self.computed(document, layer, made),
            Origin::Unknown
            | Origin::Edited { .. }
            | Origin::Moved { .. }
            | Origin::Reoriented { .. } => return None,
        })
    }

    fn computed(
        &mut self,
        document: &Document,
        layer: &Layer,
        made: &Computed,
    ) -> Option<SavedOrigin> {
        Some(match (made, &layer.content) {
            (Computed::BrainMask(_), _) => SavedOrigin::Made { map: FitMap::Mask },
            (Computed::FitMap(made), _) => SavedOrigin::Made { map: made.map },
            (Computed::Curves(made), _) => {
                SavedOrigin::Kept(Box::new(self.curves(document, made)?))
            }
            (Computed::Density(map), _) => {
                let template = map.template.as_ref().map(|p| self.file(p, false));
                SavedOrigin::Density(Box::new(density::saved::saved(map, template)))
            }
            (Computed::Segment(made), DocumentContent::Mask(mask)) => {
                let surface = document.surfaces.get(&layer.id);
                let surface = surface.map(|surface| &**surface);
                SavedOrigin::Segmented(Box::new(self.segment(document, made, surface, mask)))
            }
            (Computed::WeightMap(made), DocumentContent::Image(volume)) => {
                SavedOrigin::Weights(Box::new(self.weight_map(made, volume)))
            }
            (
                Computed::Fit(_)
                | Computed::Segment(_)
                | Computed::WeightMap(_)
                | Computed::Weights(_),
                _,
            ) => {
                return None;
            }
        })
    }

    /// The inputs of a tensor fit; `None` if they are unknown.
    pub(in crate::state) fn basis(
        &mut self,
        document: &Document,
        fit: OriginId,
    ) -> Option<SavedBasis> {
        let fit = document.origins.fit(fit)?;
        let source = document.origins.source(fit.scan);
        let (source, turn) = source.untouched();
        Some(SavedBasis {
            turn,
            source: match source {
                Source::Phantom { seed } => SavedSource::Head { seed: *seed },
                Source::File { dwi, gradients } => SavedSource::File {
                    file: self.file(dwi, gradients.is_empty()),
                    gradients: self.files(gradients),
                },
                Source::Tensors { file, layout } => SavedSource::Tensors {
                    file: self.file(file, false),
                    layout: *layout,
                },
                Source::Turned { .. } => unreachable!("turns of one scan are joined into one"),
            },
            mask: match &fit.mask {
                FitMask::Found => SavedMask::Found,
                FitMask::File(path) => SavedMask::File(self.file(path, false)),
                FitMask::Head => SavedMask::Head,
            },
            fit: fit.params.clone(),
        })
    }

    fn curves(&mut self, document: &Document, made: &Made) -> Option<SavedCurves> {
        let regions = made.regions.iter();
        Some(SavedCurves {
            basis: self.basis(document, made.fit)?,
            regions: regions.map(|r| self.region(document, r)).collect(),
            curves: made.curves.clone(),
            cut: made.cut,
        })
    }

    fn edit(&mut self, document: &Document, edit: &Edit) -> SavedEdit {
        let rules = match edit {
            Edit::Keep(runs) => return SavedEdit::Keep(runs.clone()),
            Edit::Select(rules) => rules,
        };
        let finite = |v: f32| Some(v).filter(|v| v.is_finite());
        let value = |w: &Within| (w.name.clone(), finite(w.low), finite(w.high));
        let region = |region: &Region| SavedRegion {
            // Read before the layers.
            shape: match &*region.shape {
                Shape::Mask(mask) => SavedShape::Mask(self.mask(mask)),
                _ => self.region(document, region).shape,
            },
            ..self.region(document, region)
        };
        SavedEdit::Select(Box::new(SavedRules {
            group: rules.group.clone(),
            regions: rules.regions.iter().map(region).collect(),
            by_ends: rules.by_ends,
            values: rules.values.iter().map(value).collect(),
            stop: rules.stop,
            invert: rules.invert,
            at_most: rules.at_most,
        }))
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
                    let found =
                        matches!(&l.content, DocumentContent::Mask(m) if m.id() == mask.id());
                    found && (l.path.is_some() || document.origin(l).is_phantom())
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
            label: document.label_numbers.get(&region.id).copied(),
        }
    }

    /// A missing layer, in the numbers of the new session; `None` if its own session refers to items that it lacks.
    fn absent(&mut self, absent: &MissingLayer) -> Option<SavedLayer> {
        let (read, mut layer) = (&absent.read, absent.layer.clone());
        match &mut layer.from {
            SavedOrigin::File {
                file,
                gradients,
                told,
            } => {
                self.renumber(read, file, gradients)?;
                if let Some(colours) = &mut told.colours {
                    self.renumber(read, colours, &mut [])?;
                }
            }
            SavedOrigin::Kept(curves) => {
                self.renumber_basis(read, &mut curves.basis)?;
                for region in &mut curves.regions {
                    *region = self.as_it_was(read, region)?;
                }
            }
            SavedOrigin::Density(map) => {
                if let Some(template) = &mut map.template {
                    self.renumber(read, template, &mut [])?;
                }
            }
            SavedOrigin::Weights(map) => map.values = self.known_numbers(read, map.values)?,
            SavedOrigin::Segmented(made) => {
                made.mask = self.known_mask(read, made.mask)?;
                if let SavedStart::Mask { mask, .. } = &mut made.start {
                    *mask = self.known_mask(read, *mask)?;
                }
                let inputs = std::iter::once(&mut made.inputs).chain(&mut made.later);
                for region in inputs.flat_map(|i| i.painted.iter_mut().flatten()) {
                    *region = self.as_it_was(read, region)?;
                }
            }
            // They are computed, never read.
            SavedOrigin::Head { .. } | SavedOrigin::Made { .. } => {}
        }
        if let Some(weights) = &mut layer.weights {
            weights.values = self.known_numbers(read, weights.values)?;
        }
        for edit in &mut layer.edits {
            let SavedEdit::Select(rules) = edit else {
                continue;
            };
            for region in &mut rules.regions {
                *region = self.as_it_was(read, region)?;
            }
        }
        Some(layer)
    }

    pub(in crate::state) fn renumber_basis(
        &mut self,
        read: &ReadSession,
        basis: &mut SavedBasis,
    ) -> Option<()> {
        match &mut basis.source {
            SavedSource::File { file, gradients } => self.renumber(read, file, gradients)?,
            SavedSource::Tensors { file, .. } => self.renumber(read, file, &mut [])?,
            SavedSource::Head { .. } => {}
        }
        match &mut basis.mask {
            SavedMask::File(file) => self.renumber(read, file, &mut []),
            SavedMask::Found | SavedMask::Head => Some(()),
        }
    }

    fn renumber(
        &mut self,
        read: &ReadSession,
        file: &mut usize,
        gradients: &mut [usize],
    ) -> Option<()> {
        let scan = gradients.is_empty();
        for number in std::iter::once(file).chain(gradients) {
            let found = read.files.get(*number)?;
            let folder = read.path.parent()?;
            *number = self.file(&found.path, scan);
            self.files[*number].known = Some((found.entry.clone(), folder.to_owned()));
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
        volume: display.volume.as_ref().map(|v| v.finite()),
        ..display.clone()
    }
}
