//! The command line of each origin in a document: its inputs by files. This module is below sessions and updates, which
//! both use it.

use crate::data::{DataId, ShellCommand};
use crate::parameters;
use crate::solvers::bundles;
use crate::solvers::density::DensityGrid;
use crate::solvers::geodesic::{Cut, Rays};
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::selection::{Division, Edit, SelectionOptions, SelectionRules};
use crate::state::command_line::{NoCommand, StepCommand};
use crate::state::core::layer::{Content, Input, Layer, LayerId, OriginId};
use crate::state::density::recipe::DensityRecipe;
use crate::state::filter::recipe::CommitCommand;
use crate::state::filter::{FitInputs, GivenPeaks, WeightMapRecipe, WeightRecipe};
use crate::state::origin::scripts::segmented_command;
use crate::state::origin::{
    BrainMaskRecipe, Describe, FitMapRecipe, FitRecipe, Origin, PhantomPart,
};
use crate::state::segment::SegmentRecipe;
use crate::state::streamlines::recipe::{Choice, ImageOption, on_image};
use crate::state::streamlines::{Column, StreamlineRules};
use crate::state::tensors::recipe::fod::{FodArguments, FodMap};
use crate::state::tensors::recipe::{FitArguments, FitMask, ScanSource};
use crate::state::track::recipe::{CurveRecipe, OdfRayCommand, OdfTrackingCommand};
use crate::state::track::types::odf::OdfRays;
use crate::state::track::types::{CurveKey, CurveParams};
use crate::state::track_noise::recipe::StreamlineShareRecipe;
use crate::state::{CommandLine, CurveResult, Document};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Document {
    /// The command of a layer.
    pub fn command_line(&self, layer: &Layer) -> CommandLine {
        self.command_line_from(layer.origin)
    }

    /// The command of live curves.
    pub fn live_command_line(&self, live: &CurveResult) -> CommandLine {
        curve_command(self, &live_curve_recipe(live))
    }

    /// The command of an origin.
    pub fn command_line_from(&self, origin: OriginId) -> CommandLine {
        match self.origins.get(origin) {
            Origin::Unknown => unknown(),
            Origin::File {
                file,
                reading,
                gradients,
            } => CommandLine::File {
                file: file.clone(),
                reading: reading.clone(),
            }
            .with_gradients(file, gradients.clone()),
            Origin::Phantom { head, .. } => CommandLine::Scan(ScanSource::Phantom { head: *head }),
            Origin::Computed(recipe) => recipe.describe().command_line(self),
            Origin::Edited { .. } => {
                let base = self.command_line_from(self.origins.unedited(origin));
                edited(self, base, &self.origins.steps(origin))
            }
            Origin::Moved {
                input, transform, ..
            } => CommandLine::Moved {
                base: Box::new(self.command_line_from(*input)),
                transform: *transform,
            },
            Origin::Reoriented { .. } => self.origins.source(origin).into(),
        }
    }
}

/// The command line of a result that no command computes.
pub(super) fn unknown() -> CommandLine {
    CommandLine::NoCommand(NoCommand::OriginUnknown)
}

impl Describe for BrainMaskRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.scan]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        CommandLine::BrainMask(document.origins.source(self.scan))
    }
}

impl Describe for FitRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.scan]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        CommandLine::Fit {
            fit: self.arguments(document),
            map: FitMap::Tensor,
        }
    }
}

impl Describe for FitMapRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.fit]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        let map = self.map;
        fit_arguments(document, self.fit).map_or_else(unknown, |fit| CommandLine::Fit { fit, map })
    }
}

impl Describe for CurveRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        let tissues = self.tissues.map(|input| input.origin);
        std::iter::once(self.fit).chain(tissues).collect()
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        curve_command(document, self)
    }
}

impl Describe for StreamlineShareRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.curves]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        CommandLine::StreamlineNoise {
            streamlines: Box::new(document.command_line_from(self.curves)),
            distance_to: None,
        }
    }
}

impl Describe for DensityRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.input.origin]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        CommandLine::Density {
            streamlines: Box::new(document.command_line_from(document.origin_of(self.input))),
            template: self.template.clone(),
            voxel_mm: match self.grid {
                DensityGrid::Grid(_) => None,
                DensityGrid::Within(_, mm) | DensityGrid::Around(mm) => Some(mm),
            },
            params: self.params.clone(),
        }
    }
}

impl Describe for SegmentRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        let speeds = self.inputs.iter().filter_map(|i| Some(i.layer?.0.origin));
        std::iter::once(self.image.origin).chain(speeds).collect()
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        segmented_command(document, self, None)
    }
}

impl Describe for WeightRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        let others = [Some(self.scan), self.mask].into_iter().flatten();
        let others = others.map(|input| input.origin);
        let peaks = self.peaks.map(|peaks| match peaks {
            GivenPeaks::Image(input) => input.origin,
            GivenPeaks::Distributions(fods) => fods,
        });
        let inputs = std::iter::once(self.tracks).chain(others);
        inputs.chain(peaks).collect()
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        commit_command(document, self, 0.0)
    }
}

impl Describe for WeightMapRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.fit]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        document.command_line_from(self.fit)
    }
}

/// The fit of the document's tensors; `None` if these are other tensors.
pub fn fit_of(document: &Document, field: DataId) -> Option<OriginId> {
    let tensors = document.tensors.as_ref();
    let tensors = tensors.filter(|t| t.field.id() == field)?;
    document.origins.fit(tensors.origin)?;
    Some(tensors.origin)
}

/// The fit of the document's tensors, or its distributions; `None` if it has neither.
pub fn field_origin(document: &Document, field: DataId) -> Option<OriginId> {
    let result = document.distributions.result.as_ref();
    let result = result.filter(|result| result.fods.output.field.id() == field);
    let distributions = result.map(|result| result.origin);
    distributions.or_else(|| fit_of(document, field))
}

/// The mask of a fit, given by its key.
pub fn fit_mask(document: &Document, mask: Option<DataId>) -> FitMask {
    let Some(id) = mask else {
        return FitMask::Automatic;
    };
    let same = |l: &&Arc<Layer>| matches!(&l.content, Content::Mask(m) if m.id() == id);
    let layer = document.layers.iter().find(same);
    match layer.and_then(|l| document.path(l)) {
        Some(path) => FitMask::File(path.to_owned()),
        None => FitMask::Head,
    }
}

/// The recipe of curves, for a session; `None` if their tensors or distributions are gone.
pub fn curve_recipe(document: &Document, requested: &CurveKey, cut: Cut) -> Option<CurveRecipe> {
    Some(CurveRecipe {
        fit: field_origin(document, requested.field)?,
        regions: requested.regions.clone(),
        curves: requested.curves.clone(),
        tissues: requested.tissues.map(|tissues| tissues.input),
        cut,
    })
}

/// The recipe of live curves.
pub fn live_curve_recipe(live: &CurveResult) -> CurveRecipe {
    CurveRecipe {
        fit: live.fit,
        regions: live.key.regions.clone(),
        curves: live.key.curves.clone(),
        tissues: live.key.tissues.map(|tissues| tissues.input),
        cut: live.rays.as_ref().map_or(Cut::All, |rays| rays.cut),
    }
}

/// A tensor fit as arguments of a command; `None` if the origin is not a tensor fit.
pub fn fit_arguments(document: &Document, fit: OriginId) -> Option<FitArguments> {
    let fit = document.origins.fit(fit)?;
    Some(fit.arguments(document))
}

impl FitRecipe {
    fn arguments(&self, document: &Document) -> FitArguments {
        FitArguments {
            source: document.origins.source(self.scan),
            mask: match &self.mask {
                FitMask::File(path) => Some(path.clone()),
                FitMask::Automatic | FitMask::Head => None,
            },
            params: self.params.clone(),
        }
    }
}

/// The command line of kept streamlines.
pub fn curve_command(document: &Document, recipe: &CurveRecipe) -> CommandLine {
    let regions = match document.specs(&recipe.regions) {
        Err(region) => return NoCommand::from(region).into(),
        Ok(regions) => regions,
    };
    let fit = || fit_arguments(document, recipe.fit);
    let line = match recipe.curves.clone() {
        CurveParams::Streamlines(params) => fit().map(|fit| CommandLine::Track {
            fit,
            regions,
            params,
        }),
        CurveParams::Rays(metric, params) => fit().map(|fit| CommandLine::Geodesic {
            fit,
            regions,
            metric,
            params,
            cut: recipe.cut,
        }),
        CurveParams::OdfStreamlines(params) => fod_arguments(document, recipe.fit).map(|fods| {
            let (tissues, unfiled) = tissue_file(document, recipe.tissues);
            fods.map(|fods| {
                CommandLine::OdfStreamlines(Box::new(OdfTrackingCommand {
                    fods,
                    tissues,
                    unfiled,
                    regions,
                    params,
                }))
            })
            .unwrap_or_else(CommandLine::NoCommand)
        }),
        CurveParams::OdfRays(speed, params) => fod_arguments(document, recipe.fit).map(|fods| {
            let rays = Rays {
                params,
                cut: recipe.cut,
                ..Rays::lobe_defaults()
            };
            fods.map(|fods| {
                CommandLine::OdfRays(Box::new(OdfRayCommand {
                    fods,
                    regions,
                    rays: OdfRays { speed, rays },
                }))
            })
            .unwrap_or_else(CommandLine::NoCommand)
        }),
    };
    line.unwrap_or_else(unknown)
}

/// The command that estimates or reads distributions; `None` if the origin has none.
fn fod_arguments(document: &Document, origin: OriginId) -> Option<Result<FodArguments, NoCommand>> {
    let fods = document.origins.fods(origin)?;
    let arguments = fods.arguments(document, vec![FodMap::Peaks]);
    Some(arguments.map_err(NoCommand::from))
}

/// The file of an image of tissues, or the name of its layer if no file holds it.
fn tissue_file(document: &Document, tissues: Option<Input>) -> (Option<PathBuf>, Option<String>) {
    let Some(input) = tissues else {
        return (None, None);
    };
    let origin = document.origin_of(input);
    match document.origins.path_in_place(origin) {
        Some(path) => (Some(path.to_owned()), None),
        None => {
            let layer = document.layer(input.layer);
            (
                None,
                Some(layer.map_or_else(String::new, |l| l.name.clone())),
            )
        }
    }
}

/// The command line of streamlines with their edits.
pub fn edited(document: &Document, base: CommandLine, steps: &[&Edit]) -> CommandLine {
    if steps.is_empty() {
        return base;
    }
    let text = |step: &Edit| match step {
        Edit::Select(rules) => arguments(
            document,
            rules,
            (Vec::new(), ImageOption::Select),
            Vec::new(),
        )
        .map(StepCommand::Select),
        Edit::Keep(runs) => runs.selection_options.clone().map(StepCommand::Select),
        Edit::Cluster(params) => Some(StepCommand::Group(cluster_options(params))),
        Edit::Group(groups) => division_options(&groups.division).map(StepCommand::Group),
    };
    CommandLine::Edited {
        base: Box::new(base),
        steps: steps.iter().map(|step| text(step)).collect(),
    }
}

/// The options of `arcuate bundles` that divide streamlines in the same way; `None` if a label map is in no file.
fn division_options(division: &Division) -> Option<SelectionOptions> {
    match division {
        Division::Clusters(params) => Some(cluster_options(params)),
        Division::Labels { options, .. } => options.clone(),
    }
}

/// The options of `arcuate bundles` for clusters.
fn cluster_options(params: &bundles::Params) -> SelectionOptions {
    SelectionOptions {
        needs: Vec::new(),
        options: parameters::arguments(params),
    }
}

/// The file of an image, with the command that computes it if it is a map of the fit. `None` if it is neither, or was
/// moved.
pub fn file_and_command(
    document: &Document,
    layer: &Layer,
) -> Option<(PathBuf, Option<ShellCommand>)> {
    let origin = document.origin(layer);
    if let Some(map) = origin.fit_map() {
        let file = PathBuf::from(format!("maps/{}.nii.gz", map.key()));
        return Some((file, Some(document.command_line(layer).command())));
    }
    if let Some(map) = origin.fod_map() {
        let file = PathBuf::from(format!("fod/{}.nii.gz", map.key()));
        return Some((file, Some(document.command_line(layer).command())));
    }
    let plain = origin.is_plain_file() && layer.display.frame == 0;
    let file = document.path(layer).filter(|_| plain)?;
    Some((file.to_owned(), None))
}

/// The command that selects what rules on images keep: each image is a file, or a map of the fit, which is computed
/// first. `None` if an image is neither, or was moved.
pub fn selection_options(
    document: &Document,
    layer_rules: &StreamlineRules,
    rules: &SelectionRules,
    image_option: ImageOption,
) -> Option<SelectionOptions> {
    let (mut images, mut needs) = (Vec::new(), Vec::new());
    for limit in &layer_rules.limits {
        let Column::Image(id) = limit.column else {
            continue;
        };
        let Some(layer) = document.layer(id) else {
            continue;
        };
        let (file, need) = file_and_command(document, layer)?;
        needs.extend(need);
        let open = |end: Option<f32>, open: f32| end.unwrap_or(open);
        let low = open(limit.low, f32::NEG_INFINITY);
        let high = open(limit.high, f32::INFINITY);
        images.push(on_image(&file, low, high, limit.counting));
    }
    arguments(document, rules, (images, image_option), needs)
}

/// `None` if a region is a mask without a file.
fn arguments(
    document: &Document,
    rules: &SelectionRules,
    (images, image_option): (Vec<String>, ImageOption),
    needs: Vec<ShellCommand>,
) -> Option<SelectionOptions> {
    let choice = Choice {
        group: rules.group.clone(),
        regions: document.specs(&rules.regions).ok()?,
        by_ends: rules.by_ends,
        values: rules.values.clone(),
        images,
        stop: rules.stop,
        invert: rules.invert,
        at_most: rules.at_most,
        image_option,
    };
    let options = choice.to_string();
    Some(SelectionOptions { needs, options })
}

/// The inputs of a fit of the weights of a layer's streamlines.
pub fn weight_fit(document: &Document, layer: LayerId, from: &FitInputs) -> Option<WeightRecipe> {
    Some(WeightRecipe {
        tracks: document.layer(layer)?.origin,
        scan: document.input(from.scan),
        mask: from.mask.map(|id| document.input(id)),
        peaks: from.peaks.map(|p| p.with_image(|id| document.input(id))),
        times: from.times.clone(),
        params: from.params.clone(),
        shells: document.filter_shells(),
        tensors: from.tensors.clone(),
    })
}

/// The command line of weights. `min_weight`: smallest weight of the streamlines to be written as well; 0: none are.
pub fn weight_command(
    document: &Document,
    layer: LayerId,
    from: &FitInputs,
    min_weight: f32,
) -> Option<CommandLine> {
    document.layer(from.scan)?;
    let fit = weight_fit(document, layer, from)?;
    Some(commit_command(document, &fit, min_weight))
}

fn commit_command(document: &Document, fit: &WeightRecipe, min_weight: f32) -> CommandLine {
    let origins = &document.origins;
    let scan = document.origin_of(fit.scan);
    if *origins.get(scan) == Origin::Unknown {
        return unknown();
    }
    let name = |input: Input| document.layer(input.layer).map(|l| l.name.clone());
    let mut unfiled = None;
    let mut path = |input: Option<Input>| -> Option<PathBuf> {
        let input = input?;
        let origin = document.origin_of(input);
        // The built-in head has its own mask.
        if is_own_mask(origins.get(origin), origins.get(scan)) {
            return None;
        }
        let path = origins.path_in_place(origin);
        if path.is_none() {
            unfiled = unfiled.take().or_else(|| name(input));
        }
        path.map(Path::to_owned)
    };
    let mask = path(fit.mask);
    let (mut peaks, mut fods) = (None, None);
    match fit.peaks {
        None => {}
        Some(GivenPeaks::Image(input)) => peaks = path(Some(input)),
        Some(GivenPeaks::Distributions(id)) => {
            let recipe = origins.fods(id);
            match recipe.map(|recipe| recipe.arguments(document, vec![FodMap::Peaks])) {
                Some(Err(region)) => return NoCommand::from(region).into(),
                Some(Ok(arguments)) => fods = Some(arguments),
                None => {
                    unfiled = unfiled.or(Some("Fibre orientation distributions".to_owned()));
                }
            }
        }
    }
    let head = match origins.base(scan) {
        Origin::Phantom { part, .. } => *part == PhantomPart::Dwi,
        _ => false,
    };
    if !head && origins.path(scan).is_none() {
        unfiled = unfiled.or_else(|| name(fit.scan));
    }
    CommandLine::Commit(Box::new(CommitCommand {
        streamlines: document.command_line_from(fit.tracks).as_streamline_input(),
        scan: origins.source(scan),
        mask,
        peaks,
        fods,
        times: fit.times.clone(),
        params: fit.params.clone(),
        shells: fit.shells,
        min_weight,
        unfiled,
    }))
}

/// Whether a layer is the mask of the built-in head from which the scan comes.
pub fn is_own_mask(mask: &Origin, scan: &Origin) -> bool {
    match (mask, scan) {
        (
            Origin::Phantom {
                head,
                part: PhantomPart::BrainMask,
            },
            Origin::Phantom { head: scanned, .. },
        ) => head == scanned,
        _ => false,
    }
}
