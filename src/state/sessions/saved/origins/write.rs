//! From the table of origins of a document to that in a session.

use crate::data::{Region, Shape};
use crate::solvers::tractogram::selection::{Edit, ValueCondition};
use crate::state::Document;
use crate::state::core::layer::{Input, OriginId};
use crate::state::filter::GivenPeaks;
use crate::state::origin::Origin;
use crate::state::origin::Recipe;
use crate::state::sessions::ReadSession;
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::saved::{
    SavedCurves, SavedEdit, SavedFit, SavedInput, SavedMask, SavedOrigin, SavedReading,
    SavedRegion, SavedRules, SavedSensitivity, SavedShape, SavedShare, SavedStart, SavedWarp,
    SavedWeightFit, Table, density,
};
use crate::state::tensors::recipe::FitMask;
use std::collections::BTreeMap;

impl ReferencedItems<'_> {
    /// The number of an origin, which is written before the origins that refer to it.
    pub(in crate::state) fn origin(&mut self, document: &Document, id: OriginId) -> usize {
        if let Some(number) = self.numbered.get(&id) {
            return *number;
        }
        let saved = self.saved_origin(document, document.origins.get(id));
        let number = saved.map_or(0, |saved| self.add_origin(saved));
        self.numbered.insert(id, number);
        number
    }

    pub(in crate::state) fn add_origin(&mut self, saved: SavedOrigin) -> usize {
        let known = self.origins.iter().position(|origin| *origin == saved);
        1 + known.unwrap_or_else(|| {
            self.origins.push(saved);
            self.origins.len() - 1
        })
    }

    /// The number of a scan's origin; gradients beside its file belong to it.
    pub(in crate::state) fn scan_origin(&mut self, document: &Document, id: OriginId) -> usize {
        let number = self.origin(document, id);
        if let Origin::File {
            file,
            reading,
            gradients,
        } = document.origins.base(id)
            && gradients.is_empty()
            && reading.tensors.is_none()
            && reading.distributions.is_none()
        {
            self.file(file, true);
        }
        number
    }

    pub(in crate::state) fn input(&mut self, document: &Document, input: Input) -> SavedInput {
        SavedInput {
            layer: input.layer.0,
            origin: self.origin(document, input.origin),
        }
    }

    fn saved_origin(&mut self, document: &Document, origin: &Origin) -> Option<SavedOrigin> {
        Some(match origin {
            Origin::Unknown => return None,
            Origin::File {
                file,
                reading,
                gradients,
            } => SavedOrigin::File {
                file: self.file(file, false),
                reading: SavedReading {
                    vtk_space: reading.vtk_space,
                    colours: reading.colours.as_ref().map(|p| self.file(p, false)),
                    tensors: reading.tensors,
                    distributions: reading.distributions,
                    warp: reading.warp.as_ref().map(|warp| {
                        Box::new(SavedWarp::saved(warp, |path| self.file(path, false)))
                    }),
                },
                gradients: gradients.iter().map(|p| self.file(p, false)).collect(),
            },
            Origin::Phantom { head, part } => SavedOrigin::Phantom {
                kind: head.kind,
                seed: head.seed,
                part: *part,
            },
            Origin::Computed(recipe) => self.saved_recipe(document, recipe),
            Origin::Edited { input, step } => SavedOrigin::Edited {
                input: self.origin(document, *input),
                step: self.edit(document, step),
            },
            Origin::Moved {
                input,
                transform,
                aligned_by,
            } => {
                let input = self.origin(document, *input);
                match density::rows(*transform) {
                    Some(transform) => SavedOrigin::Moved {
                        input,
                        transform,
                        aligned_by: *aligned_by,
                    },
                    // Such a transform moves nothing.
                    None => return self.origins.get(input.checked_sub(1)?).cloned(),
                }
            }
            Origin::Reoriented { input, turn } => SavedOrigin::Reoriented {
                input: self.origin(document, *input),
                turn: *turn,
            },
        })
    }

    fn saved_recipe(&mut self, document: &Document, recipe: &Recipe) -> SavedOrigin {
        match recipe {
            Recipe::BrainMask(mask) => SavedOrigin::BrainMask {
                scan: self.scan_origin(document, mask.scan),
            },
            Recipe::Fit(fit) => SavedOrigin::Fit(Box::new(SavedFit {
                scan: self.scan_origin(document, fit.scan),
                mask: match &fit.mask {
                    FitMask::Automatic => SavedMask::Automatic,
                    FitMask::File(path) => SavedMask::File(self.file(path, false)),
                    FitMask::Head => SavedMask::Phantom,
                },
                params: fit.params.clone(),
            })),
            Recipe::FitMap(recipe) => SavedOrigin::FitMap {
                fit: self.origin(document, recipe.fit),
                map: recipe.map,
            },
            Recipe::Fods(recipe) => SavedOrigin::Fods(Box::new(self.fods(document, recipe))),
            Recipe::FodMap(recipe) => SavedOrigin::FodMap {
                fods: self.origin(document, recipe.fods),
                map: recipe.map,
            },
            Recipe::Curves(recipe) => {
                let regions = recipe.regions.iter();
                SavedOrigin::Curves(Box::new(SavedCurves {
                    regions: regions.map(|r| self.region(document, r)).collect(),
                    fit: self.origin(document, recipe.fit),
                    curves: recipe.curves.clone(),
                    tissues: recipe.tissues.map(|input| self.input(document, input)),
                    cut: recipe.cut,
                }))
            }
            Recipe::Density(map) => {
                let input = self.input(document, map.input);
                let template = map.template.as_ref().map(|p| self.file(p, false));
                SavedOrigin::Density(Box::new(density::saved(map, input, template)))
            }
            Recipe::Sensitivity(recipe) => {
                let regions = recipe.regions.iter();
                SavedOrigin::Sensitivity(Box::new(SavedSensitivity {
                    regions: regions.map(|r| self.region(document, r)).collect(),
                    fit: self.origin(document, recipe.fit),
                    params: recipe.params,
                    to: recipe.to,
                }))
            }
            Recipe::Share(recipe) => {
                let regions = recipe.regions.iter();
                SavedOrigin::Share(Box::new(SavedShare {
                    regions: regions.map(|r| self.region(document, r)).collect(),
                    fit: self.origin(document, recipe.fit),
                    params: recipe.params,
                    epsilon: recipe.epsilon,
                    repetitions: recipe.repetitions,
                }))
            }
            Recipe::StreamlineShare(recipe) => SavedOrigin::StreamlineShare {
                curves: self.origin(document, recipe.curves),
            },
            Recipe::Segment(recipe) => {
                SavedOrigin::Segment(Box::new(self.segment(document, recipe)))
            }
            Recipe::Weights(fit) => SavedOrigin::Weights(Box::new(SavedWeightFit {
                tracks: self.origin(document, fit.tracks),
                scan: self.input(document, fit.scan),
                mask: fit.mask.map(|input| self.input(document, input)),
                peaks: fit.peaks.map(|peaks| match peaks {
                    GivenPeaks::Image(input) => GivenPeaks::Image(self.input(document, input)),
                    GivenPeaks::Distributions(fods) => {
                        GivenPeaks::Distributions(self.origin(document, fods))
                    }
                }),
                times: fit.times.clone(),
                params: fit.params.clone(),
                shells: fit.shells,
                tensors: fit.tensors.clone(),
            })),
            Recipe::WeightMap(recipe) => SavedOrigin::WeightMap {
                layer: recipe.layer.0,
                map: recipe.map.clone(),
                fit: self.origin(document, recipe.fit),
            },
        }
    }

    pub(in crate::state) fn edit(&mut self, document: &Document, edit: &Edit) -> SavedEdit {
        let rules = match edit {
            Edit::Keep(runs) => return SavedEdit::Keep(runs.clone()),
            Edit::Cluster(params) => return SavedEdit::Cluster(*params),
            Edit::Group(groups) => return SavedEdit::Group(groups.clone()),
            Edit::Select(rules) => rules,
        };
        let finite = |v: f32| Some(v).filter(|v| v.is_finite());
        let value = |w: &ValueCondition| (w.name.clone(), finite(w.low), finite(w.high));
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

    /// An origin of another session as that one has it; `None` where it refers to what that session does not have.
    pub(in crate::state) fn renumbered_origin(
        &mut self,
        read: &ReadSession,
        number: usize,
    ) -> Option<usize> {
        let table = Table::new(read);
        // An origin stands after those that it is made from.
        let mut now = BTreeMap::from([(0, 0)]);
        for number in table.with_inputs([number]) {
            let mut saved = table.get(number)?.clone();
            for from in saved.inputs_mut() {
                *from = *now.get(from)?;
            }
            self.renumber_origin(read, &mut saved)?;
            now.insert(number, self.add_origin(saved));
        }
        now.get(&number).copied()
    }

    /// Renumbers the files and masks of an origin of another session.
    fn renumber_origin(&mut self, read: &ReadSession, saved: &mut SavedOrigin) -> Option<()> {
        match saved {
            SavedOrigin::File {
                file,
                reading,
                gradients,
            } => {
                self.renumber(read, file, gradients)?;
                if let Some(colours) = &mut reading.colours {
                    self.renumber(read, colours, &mut [])?;
                }
                for file in reading.warp.iter_mut().flat_map(|warp| warp.files_mut()) {
                    self.renumber(read, file, &mut [])?;
                }
            }
            SavedOrigin::Fit(fit) => {
                if let SavedMask::File(file) = &mut fit.mask {
                    self.renumber(read, file, &mut [])?;
                }
            }
            SavedOrigin::Fods(fods) => self.renumber_fods(read, fods)?,
            SavedOrigin::Curves(curves) => self.renumbered_regions(read, &mut curves.regions)?,
            SavedOrigin::Sensitivity(map) => self.renumbered_regions(read, &mut map.regions)?,
            SavedOrigin::Share(share) => self.renumbered_regions(read, &mut share.regions)?,
            SavedOrigin::Density(map) => {
                if let Some(template) = &mut map.template {
                    self.renumber(read, template, &mut [])?;
                }
            }
            SavedOrigin::Segment(segment) => {
                if let SavedStart::Mask { mask, .. } = &mut segment.start {
                    *mask = self.known_mask(read, *mask)?;
                }
                for inputs in &mut segment.inputs {
                    for regions in &mut inputs.painted {
                        self.renumbered_regions(read, regions)?;
                    }
                }
            }
            SavedOrigin::Edited {
                step: SavedEdit::Select(rules),
                ..
            } => self.renumbered_regions(read, &mut rules.regions)?,
            SavedOrigin::Phantom { .. }
            | SavedOrigin::BrainMask { .. }
            | SavedOrigin::FitMap { .. }
            | SavedOrigin::FodMap { .. }
            | SavedOrigin::StreamlineShare { .. }
            | SavedOrigin::Weights(_)
            | SavedOrigin::WeightMap { .. }
            | SavedOrigin::Edited { .. }
            | SavedOrigin::Moved { .. }
            | SavedOrigin::Reoriented { .. } => {}
        }
        Some(())
    }

    fn renumbered_regions(
        &mut self,
        read: &ReadSession,
        regions: &mut [SavedRegion],
    ) -> Option<()> {
        for region in regions {
            *region = self.renumbered(read, region)?;
        }
        Some(())
    }
}
