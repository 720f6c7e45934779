//! Recipes of what a document holds: what its results were made from, as text and sessions give it. Below
//! sessions and updates, which both ask for them.

use crate::data::{DataId, Mask, Shape};
use crate::solvers::geodesic::Cut;
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::selection::{Edit, Rules, Said};
use crate::state::document::{Basis, Content, Layer, LayerId, Made, MadeMask, Unfiled};
use crate::state::filter::FitOf;
use crate::state::filter::recipe::CommitRecipe;
use crate::state::recipe::{FitRecipe, RegionSpec, ShapeSpec, Source};
use crate::state::segment::recipe::{ScriptInputs, SegmentRecipe, SegmentScript};
use crate::state::segment::{Segmented, SpeedInputs, Start};
use crate::state::session::{Asked, Curves};
use crate::state::streamlines::edits::{Choice, on_image};
use crate::state::streamlines::{Column, Sieve};
use crate::state::{Document, Live, Recipe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Recipe {
    /// Whether it makes this map of a fit.
    pub fn is_map(&self, of: FitMap) -> bool {
        matches!(self, Self::Fit { map, .. } if *map == of)
    }
}

/// The fit of the document's tensors; `None` if these are other tensors.
pub fn basis(document: &Document, field: DataId) -> Option<Basis> {
    let tensors = document.tensors.as_ref();
    let tensors = tensors.filter(|t| t.field.id() == field)?;
    let Recipe::Fit { fit, .. } = &tensors.recipe else {
        return None;
    };
    let mask = match tensors.key.mask {
        None => MadeMask::Found,
        Some(id) => {
            let same = |l: &&Arc<Layer>| matches!(&l.content, Content::Mask(m) if m.id() == id);
            match document.layers.iter().find(same)?.path.clone() {
                Some(path) => MadeMask::File(path),
                None => MadeMask::Head,
            }
        }
    };
    Some(Basis {
        source: fit.source.clone(),
        mask,
        fit: fit.params.clone(),
    })
}

/// The recipe of curves, for a session; `None` if their tensors are gone.
pub fn made(document: &Document, asked: &Asked, cut: Cut) -> Option<Made> {
    Some(Made {
        basis: basis(document, asked.field)?,
        regions: asked.regions.clone(),
        curves: asked.curves.clone(),
        cut,
    })
}

/// How live curves were made.
pub fn live_recipe(document: &Document, live: &Live) -> Option<Made> {
    let cut = live.rays.as_ref().map_or(Cut::All, |rays| rays.cut);
    made(document, &live.asked, cut)
}

/// The fit that a basis stands for.
pub fn fit_recipe(basis: &Basis) -> FitRecipe {
    FitRecipe {
        source: basis.source.clone(),
        mask: match &basis.mask {
            MadeMask::File(path) => Some(path.clone()),
            MadeMask::Found | MadeMask::Head => None,
        },
        params: basis.fit.clone(),
    }
}

/// The recipe of kept streamlines.
pub fn recipe(document: &Document, made: &Made) -> Recipe {
    match document.specs(&made.regions) {
        Err(Unfiled(region)) => Recipe::NoCommand { region },
        Ok(regions) => curves_recipe(
            fit_recipe(&made.basis),
            regions,
            made.curves.clone(),
            made.cut,
        ),
    }
}

/// The recipe of curves in a fit's tensors.
pub fn curves_recipe(fit: FitRecipe, regions: Vec<RegionSpec>, curves: Curves, cut: Cut) -> Recipe {
    match curves {
        Curves::Streamlines(params) => Recipe::Track {
            fit,
            regions,
            params,
        },
        Curves::Rays(medium, params) => Recipe::Geodesic {
            fit,
            regions,
            medium,
            params,
            cut,
        },
    }
}

/// How streamlines were made, and what was done to them.
pub fn edited(document: &Document, base: Recipe, steps: &[Edit]) -> Recipe {
    if steps.is_empty() {
        return base;
    }
    let text = |step: &Edit| match step {
        Edit::Select(rules) => arguments(document, rules, Vec::new(), Vec::new()),
        Edit::Keep(runs) => runs.said.clone(),
    };
    Recipe::Edited {
        of: Box::new(base),
        steps: steps.iter().map(text).collect(),
    }
}

/// The file that an image is, with the command that makes it where it is a map of the fit. `None` where it is
/// neither, or was moved.
pub fn filed(layer: &Layer) -> Option<(PathBuf, Option<String>)> {
    match (&layer.recipe, &layer.path) {
        (Recipe::File(file), Some(_)) if layer.display.frame == 0 => Some((file.clone(), None)),
        (recipe @ Recipe::Fit { map, .. }, None) => {
            let file = PathBuf::from(format!("maps/{}.nii.gz", map.key()));
            Some((file, Some(recipe.command())))
        }
        _ => None,
    }
}

/// The command that chooses what a filter on images leaves: each is a file, or a map of the fit, which comes
/// before. `None` where an image is neither, or was moved.
pub fn selection_options(document: &Document, sieve: &Sieve, rules: &Rules) -> Option<Said> {
    let (mut images, mut needs) = (Vec::new(), Vec::new());
    for limit in &sieve.limits {
        let Column::Image(id) = limit.column else {
            continue;
        };
        let Some(layer) = document.layer(id) else {
            continue;
        };
        let (file, need) = filed(layer)?;
        needs.extend(need);
        let open = |end: Option<f32>, open: f32| end.unwrap_or(open);
        let low = open(limit.low, f32::NEG_INFINITY);
        let high = open(limit.high, f32::INFINITY);
        images.push(on_image(&file, low, high, limit.counting));
    }
    arguments(document, rules, images, needs)
}

/// `None` where a region is a mask without a file.
fn arguments(
    document: &Document,
    rules: &Rules,
    images: Vec<String>,
    needs: Vec<String>,
) -> Option<Said> {
    let choice = Choice {
        group: rules.group.clone(),
        regions: document.specs(&rules.regions).ok()?,
        by_ends: rules.by_ends,
        values: rules.values.clone(),
        images,
        stop: rules.stop,
        invert: rules.invert,
        at_most: rules.at_most,
    };
    let options = choice.to_string();
    Some(Said { needs, options })
}

/// The file of a layer, or its name where there is none.
fn file_of(document: &Document, layer: &Layer) -> Result<PathBuf, String> {
    let here = !document.moved.contains_key(&layer.id);
    let path = layer.path.clone().filter(|_| here);
    path.ok_or_else(|| layer.name.clone())
}

/// The recipe of weights. `least`: of the weights of those that are to be written as well; 0: none are.
pub fn weight_recipe(
    document: &Document,
    layer: LayerId,
    from: &FitOf,
    least: f32,
) -> Option<Recipe> {
    let tracks = document.layer(layer)?;
    let scan = document.layer(from.scan)?;
    let mut unfiled = None;
    let mut path = |id: Option<LayerId>| -> Option<PathBuf> {
        let layer = document.layer(id?)?;
        // The built-in head brings its own.
        let own = matches!(layer.recipe, Recipe::Phantom { .. });
        let masks = matches!(layer.content, Content::Mask(_));
        if own && masks && layer.recipe == scan.recipe {
            return None;
        }
        file_of(document, layer)
            .map_err(|name| unfiled.get_or_insert(name).clone())
            .ok()
    };
    let (mask, peaks) = (path(from.mask), path(from.peaks));
    let gradients = match &scan.content {
        Content::Scan { gradients, .. } => gradients.is_some(),
        _ => false,
    };
    if !gradients && scan.path.is_none() {
        unfiled.get_or_insert(scan.name.clone());
    }
    Some(Recipe::Commit(Box::new(CommitRecipe {
        of: Box::new(tracks.recipe.clone()),
        scan: scan.source(),
        mask,
        peaks,
        times: from.times.clone(),
        params: from.params.clone(),
        shells: document.filter_shells(),
        least,
        unfiled,
    })))
}

/// Files that a script names.
struct Files<'a> {
    document: &'a Document,
    /// Masks without a file go beside this one.
    beside: Option<&'a Path>,
    /// Inputs that no file holds.
    unfiled: Option<String>,
    masks: Vec<(Mask, PathBuf)>,
}

impl Files<'_> {
    fn image(&mut self, id: LayerId) -> PathBuf {
        let layer = self.document.layer(id);
        let name = layer.map_or_else(String::new, |l| l.name.clone());
        let layer = layer.filter(|l| !self.document.moved.contains_key(&l.id));
        let found = layer.and_then(|layer| match (&layer.path, &layer.recipe) {
            (Some(path), _) => Some(path.clone()),
            (None, Recipe::Phantom { seed } | Recipe::Scan(Source::Phantom { seed })) => {
                let part = match layer.content {
                    Content::Scan { .. } => ":dwi",
                    _ => "",
                };
                Some(PathBuf::from(format!("phantom:{seed}{part}")))
            }
            _ => None,
        });
        found.unwrap_or_else(|| {
            self.unfiled.get_or_insert(name);
            PathBuf::new()
        })
    }

    fn mask(&mut self, name: &str, mask: &Mask) -> PathBuf {
        let same = |l: &&Arc<Layer>| matches!(&l.content, Content::Mask(m) if m.id() == mask.id());
        let layer = self.document.layers.iter().find(same);
        let there = layer.filter(|l| !self.document.moved.contains_key(&l.id));
        if let Some(path) = there.and_then(|l| l.path.clone()) {
            return path;
        }
        // Several changes of a run may name one.
        if let Some((_, path)) = self.masks.iter().find(|(m, _)| m.id() == mask.id()) {
            return path.clone();
        }
        let Some(file) = self.beside else {
            self.unfiled.get_or_insert(name.to_owned());
            return PathBuf::new();
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let number = self.masks.len() + 1;
        let path = file.with_file_name(format!("{stem}-mask-{number}.nii.gz"));
        self.masks.push((mask.clone(), path.clone()));
        path
    }

    fn inputs(&mut self, inputs: &SpeedInputs) -> ScriptInputs {
        let [grow_here, not_here] = inputs
            .painted
            .each_ref()
            .map(|shapes| shapes.iter().map(|s| self.shape(s)).collect());
        ScriptInputs {
            layer: inputs.layer.map(|(id, _)| self.image(id)),
            layer_volume: inputs.layer.map_or(0, |(_, frame)| frame),
            grow_here,
            not_here,
        }
    }

    fn shape(&mut self, shape: &Shape) -> ShapeSpec {
        let path = match shape {
            Shape::Mask(mask) => self.mask("a region of the speed", mask),
            _ => PathBuf::new(),
        };
        // A path is there, so every shape can be said.
        ShapeSpec::of(shape, Some(&path)).unwrap_or(ShapeSpec::Mask(path))
    }
}

/// The script of a segmentation. Masks without a file go beside `beside`, if there is one; what else is
/// in no file is named.
pub fn segment_script(
    document: &Document,
    made: &Segmented,
    beside: Option<&Path>,
) -> (SegmentScript, Option<String>, Vec<(Mask, PathBuf)>) {
    let mut files = Files {
        document,
        beside,
        unfiled: None,
        masks: Vec::new(),
    };
    let mask = match &made.start {
        Start::Mask(name, mask) => Some(files.mask(name, mask)),
        _ => None,
    };
    let mut inputs = made.inputs.iter().map(|inputs| files.inputs(inputs));
    let first = inputs.next().unwrap_or_default();
    let later = inputs.collect();
    let script = SegmentScript {
        image: files.image(made.image),
        volume: made.frame,
        mask,
        threshold: match made.start {
            Start::Values { low, high } => Some((low, high)),
            _ => None,
        },
        fill: match made.start {
            Start::Filled { at, within } => Some((at, within)),
            _ => None,
        },
        spheres: made.spheres.clone(),
        layer: first.layer,
        layer_volume: first.layer_volume,
        grow_here: first.grow_here,
        not_here: first.not_here,
        later,
        run: made.script.clone(),
    };
    (script, files.unfiled, files.masks)
}

/// The recipe of a segmented surface; `file`: its script, where it was written.
pub fn segmented_recipe(document: &Document, made: &Segmented, file: Option<PathBuf>) -> Recipe {
    let (script, unfiled, _) = segment_script(document, made, None);
    Recipe::Segment(Box::new(SegmentRecipe {
        script,
        unfiled,
        file,
    }))
}
