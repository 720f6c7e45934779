//! A file of a session that is found at another place: every result that refers to it refers to it there, whether the
//! result was loaded with the session or is still missing.

use crate::state::Document;
use crate::state::core::layer::{Input, LayerId, OriginId};
use crate::state::density::recipe::DensityRecipe;
use crate::state::filter::{GivenPeaks, WeightMapRecipe, WeightRecipe};
use crate::state::origin::{
    BrainMaskRecipe, FitMapRecipe, FitRecipe, FodMapRecipe, FodRecipe, Origin, Origins, Recipe,
};
use crate::state::pathways::recipe::{SensitivityRecipe, ShareRecipe};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::segment::SegmentRecipe;
use crate::state::tensors::recipe::FitMask;
use crate::state::tensors::recipe::fod::{ResponseSource, TissueSource};
use crate::state::track::recipe::CurveRecipe;
use crate::state::track_noise::recipe::StreamlineShareRecipe;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Replaces the path of a file in the origins of all that a document holds.
pub(in crate::state) fn point_to(document: &mut Document, old_path: &Path, now: &Path) {
    if old_path == now {
        return;
    }
    let mut moved = MovedFile {
        origins: document.origins.clone(),
        old_path,
        now,
        new_origins: BTreeMap::new(),
    };
    let layers = document.layers.iter();
    let layers: Vec<(LayerId, OriginId)> = layers.map(|l| (l.id, l.origin)).collect();
    for (layer, origin) in layers {
        let origin = moved.origin(origin);
        document.edit_layer(layer, |l| l.origin = origin);
    }
    for kept in &mut document.kept_pathways {
        let fit = moved.origin(kept.fit);
        if fit != kept.fit {
            Arc::make_mut(kept).fit = fit;
        }
    }
    for weights in document.weights.values_mut() {
        let fit = moved.origin(weights.fit);
        if fit != weights.fit {
            Arc::make_mut(weights).fit = fit;
        }
    }
    document.mask_origins.replace(|origin| moved.origin(origin));
}

struct MovedFile<'a> {
    origins: Origins,
    old_path: &'a Path,
    now: &'a Path,
    /// The new origin of each that was looked at.
    new_origins: BTreeMap<OriginId, OriginId>,
}

impl MovedFile<'_> {
    fn path(&self, path: &Path) -> PathBuf {
        let path = if path == self.old_path {
            self.now
        } else {
            path
        };
        path.to_owned()
    }

    /// The response functions of distributions with the file at its new place.
    fn responses(&self, responses: &ResponseSource) -> ResponseSource {
        match responses {
            ResponseSource::Files(files) => {
                ResponseSource::Files(files.iter().map(|path| self.path(path)).collect())
            }
            ResponseSource::Each { algorithm, tissues } => {
                let tissues = tissues.iter().map(|(tissue, source)| {
                    let source = match source {
                        TissueSource::File(path) => TissueSource::File(self.path(path)),
                        TissueSource::Mask(path) => TissueSource::Mask(self.path(path)),
                        TissueSource::Region(ShapeSpec::Mask(path)) => {
                            TissueSource::Region(ShapeSpec::Mask(self.path(path)))
                        }
                        other => other.clone(),
                    };
                    (*tissue, source)
                });
                ResponseSource::Each {
                    algorithm: *algorithm,
                    tissues: tissues.collect(),
                }
            }
            other @ (ResponseSource::Algorithm(_) | ResponseSource::NotUsed) => other.clone(),
        }
    }

    fn input(&mut self, input: Input) -> Input {
        Input {
            origin: self.origin(input.origin),
            ..input
        }
    }

    /// The origin with the file at its new place; an origin that does not refer to the file keeps its number.
    fn origin(&mut self, id: OriginId) -> OriginId {
        if let Some(known) = self.new_origins.get(&id) {
            return *known;
        }
        let now = match self.origins.get(id).clone() {
            origin @ (Origin::Unknown | Origin::Phantom { .. }) => origin,
            Origin::File {
                file,
                mut reading,
                gradients,
            } => {
                reading.colours = reading.colours.map(|path| self.path(&path));
                for file in reading.warp.iter_mut().flat_map(|warp| warp.files_mut()) {
                    *file = self.path(file);
                }
                Origin::File {
                    file: self.path(&file),
                    reading,
                    gradients: gradients.iter().map(|path| self.path(path)).collect(),
                }
            }
            Origin::Computed(recipe) => self.computed(&recipe),
            Origin::Edited { input, step } => Origin::Edited {
                input: self.origin(input),
                step,
            },
            Origin::Moved {
                input,
                transform,
                aligned_by,
            } => Origin::Moved {
                input: self.origin(input),
                transform,
                aligned_by,
            },
            Origin::Reoriented { input, turn } => Origin::Reoriented {
                input: self.origin(input),
                turn,
            },
        };
        let now = self.origins.add(now);
        self.new_origins.insert(id, now);
        now
    }

    fn computed(&mut self, recipe: &Recipe) -> Origin {
        match recipe {
            Recipe::BrainMask(mask) => BrainMaskRecipe {
                scan: self.origin(mask.scan),
            }
            .into(),
            Recipe::Fit(fit) => FitRecipe {
                scan: self.origin(fit.scan),
                mask: match &fit.mask {
                    FitMask::File(path) => FitMask::File(self.path(path)),
                    mask @ (FitMask::Automatic | FitMask::Head) => mask.clone(),
                },
                params: fit.params.clone(),
            }
            .into(),
            Recipe::FitMap(map) => FitMapRecipe {
                fit: self.origin(map.fit),
                map: map.map,
            }
            .into(),
            Recipe::Fods(fods) => FodRecipe {
                scan: self.origin(fods.scan),
                mask: match &fods.mask {
                    FitMask::File(path) => FitMask::File(self.path(path)),
                    mask @ (FitMask::Automatic | FitMask::Head) => mask.clone(),
                },
                responses: self.responses(&fods.responses),
                ..(**fods).clone()
            }
            .into(),
            Recipe::FodMap(map) => FodMapRecipe {
                fods: self.origin(map.fods),
                map: map.map,
            }
            .into(),
            Recipe::Curves(recipe) => CurveRecipe {
                fit: self.origin(recipe.fit),
                tissues: recipe.tissues.map(|input| self.input(input)),
                ..(**recipe).clone()
            }
            .into(),
            Recipe::Density(map) => DensityRecipe {
                input: self.input(map.input),
                template: map.template.as_ref().map(|path| self.path(path)),
                ..(**map).clone()
            }
            .into(),
            Recipe::Segment(recipe) => self.segmented(recipe).into(),
            Recipe::Sensitivity(map) => SensitivityRecipe {
                fit: self.origin(map.fit),
                ..(**map).clone()
            }
            .into(),
            Recipe::Share(share) => ShareRecipe {
                fit: self.origin(share.fit),
                ..(**share).clone()
            }
            .into(),
            Recipe::StreamlineShare(share) => StreamlineShareRecipe {
                curves: self.origin(share.curves),
            }
            .into(),
            Recipe::Weights(fit) => WeightRecipe {
                tracks: self.origin(fit.tracks),
                scan: self.input(fit.scan),
                mask: fit.mask.map(|input| self.input(input)),
                peaks: fit.peaks.map(|peaks| match peaks {
                    GivenPeaks::Image(input) => GivenPeaks::Image(self.input(input)),
                    GivenPeaks::Distributions(fods) => GivenPeaks::Distributions(self.origin(fods)),
                }),
                ..(**fit).clone()
            }
            .into(),
            Recipe::WeightMap(map) => WeightMapRecipe {
                fit: self.origin(map.fit),
                ..(**map).clone()
            }
            .into(),
        }
    }

    fn segmented(&mut self, recipe: &SegmentRecipe) -> SegmentRecipe {
        let mut segmented = recipe.clone();
        segmented.image = self.input(segmented.image);
        for inputs in &mut segmented.inputs {
            let layer = inputs.layer;
            inputs.layer = layer.map(|(input, frame)| (self.input(input), frame));
        }
        segmented
    }
}
