//! From the table of origins in a session to that of a document.

use crate::data::{BuiltInPhantom, Region};
use crate::io::AffineReading;
use crate::parameters;
use crate::solvers::pathway::Width;
use crate::solvers::tractogram::selection::{Edit, SelectionRules, ValueCondition};
use crate::state::Document;
use crate::state::core::layer::Input;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::density::recipe::DensityRecipe;
use crate::state::filter::{GivenPeaks, WeightMapRecipe, WeightRecipe};
use crate::state::origin::BrainMaskRecipe;
use crate::state::origin::FitMapRecipe;
use crate::state::origin::FitRecipe;
use crate::state::origin::FodMapRecipe;
use crate::state::origin::Origin;
use crate::state::pathways::recipe::{SensitivityRecipe, ShareRecipe};
use crate::state::sessions::saved::regions::region;
use crate::state::sessions::saved::{
    SavedEdit, SavedInput, SavedMask, SavedOrigin, SavedRegion, SavedSensitivity, SavedShare,
    Table, density, fods, segment,
};
use crate::state::sessions::{PartError, ReadSession};
use crate::state::tensors::recipe::FitMask;
use crate::state::track::recipe::CurveRecipe;
use crate::state::track_noise::recipe::StreamlineShareRecipe;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The origins of a table in the document.
pub struct ResolvedOrigins(BTreeMap<usize, Result<OriginId, PartError>>);

impl ResolvedOrigins {
    pub fn get(&self, number: usize) -> Result<OriginId, PartError> {
        match self.0.get(&number) {
            Some(origin) => origin.clone(),
            None if number == 0 => Ok(OriginId::default()),
            None => Err(PartError::NoOrigin(number)),
        }
    }

    /// An input. If its layer is missing, the origin follows once the layer is loaded.
    fn input(&self, document: &Document, saved: &SavedInput) -> Input {
        let now = document.input(LayerId(saved.layer));
        let known = document.layer(now.layer).map(|_| self.get(saved.origin));
        let known = known.and_then(Result::ok);
        let known = known.filter(|origin| *origin != OriginId::default());
        Input {
            origin: known.unwrap_or(now.origin),
            ..now
        }
    }
}

impl Table<'_> {
    /// Adds origins, and those that they are made from, to the table of a document whose layers of files are loaded.
    pub fn resolve(
        self,
        document: &Document,
        read: &ReadSession,
        numbers: impl IntoIterator<Item = usize>,
    ) -> ResolvedOrigins {
        let mut resolved = ResolvedOrigins(BTreeMap::new());
        // An origin stands after those that it is made from.
        for number in self.with_inputs(numbers) {
            let Some(saved) = self.get(number) else {
                continue;
            };
            let origin = resolve(document, read, &resolved, saved);
            let origin = origin.map(|origin| document.origins.add(origin));
            resolved.0.insert(number, origin);
        }
        resolved
    }
}

/// A file of the session, wherever it is.
fn path(read: &ReadSession, number: usize) -> Result<PathBuf, PartError> {
    let path = read.files.get(number).map(|f| f.path.clone());
    path.ok_or(PartError::NoFile(number))
}

fn paths(read: &ReadSession, numbers: &[usize]) -> Result<Vec<PathBuf>, PartError> {
    numbers.iter().map(|n| path(read, *n)).collect()
}

/// An origin whose inputs are those `before`.
fn resolve(
    document: &Document,
    read: &ReadSession,
    before: &ResolvedOrigins,
    saved: &SavedOrigin,
) -> Result<Origin, PartError> {
    let input = |saved: &SavedInput| before.input(document, saved);
    Ok(match saved {
        SavedOrigin::File {
            file,
            reading,
            gradients,
        } => Origin::File {
            file: path(read, *file)?,
            reading: reading.reading(|n| path(read, n))?,
            gradients: paths(read, gradients)?,
        },
        SavedOrigin::Phantom { kind, seed, part } => Origin::Phantom {
            head: BuiltInPhantom {
                kind: *kind,
                seed: *seed,
            },
            part: *part,
        },
        SavedOrigin::BrainMask { scan } => BrainMaskRecipe {
            scan: before.get(*scan)?,
        }
        .into(),
        SavedOrigin::Fit(fit) => FitRecipe {
            scan: before.get(fit.scan)?,
            mask: match fit.mask {
                SavedMask::Automatic => FitMask::Automatic,
                SavedMask::File(number) => FitMask::File(path(read, number)?),
                SavedMask::Phantom => FitMask::Head,
            },
            params: fit.params.clone(),
        }
        .into(),
        SavedOrigin::FitMap { fit, map } => FitMapRecipe {
            fit: before.get(*fit)?,
            map: *map,
        }
        .into(),
        SavedOrigin::Fods(saved) => fods::resolve(read, saved, before.get(saved.scan)?)?.into(),
        SavedOrigin::FodMap { fods, map } => FodMapRecipe {
            fods: before.get(*fods)?,
            map: *map,
        }
        .into(),
        SavedOrigin::Curves(curves) => CurveRecipe {
            fit: before.get(curves.fit)?,
            regions: regions(document, read, &curves.regions)?,
            curves: curves.curves.clone(),
            tissues: curves.tissues.as_ref().map(input),
            cut: curves.cut,
        }
        .into(),
        SavedOrigin::Density(saved) => {
            let map = density::read(saved)?;
            DensityRecipe {
                input: input(&saved.input),
                transform: map.transform,
                grid: map.grid,
                template: saved.template.map(|n| path(read, n)).transpose()?,
                params: map.params,
            }
            .into()
        }
        SavedOrigin::Sensitivity(saved) => sensitivity(document, read, before, saved)?.into(),
        SavedOrigin::Share(saved) => share(document, read, before, saved)?.into(),
        SavedOrigin::StreamlineShare { curves } => streamline_share(before, *curves)?.into(),
        SavedOrigin::Segment(saved) => segment::resolve(document, read, saved, &input)?.into(),
        SavedOrigin::Weights(fit) => WeightRecipe {
            tracks: before.get(fit.tracks)?,
            scan: input(&fit.scan),
            mask: fit.mask.as_ref().map(input),
            peaks: match &fit.peaks {
                None => None,
                Some(GivenPeaks::Image(image)) => Some(GivenPeaks::Image(input(image))),
                Some(GivenPeaks::Distributions(fods)) => {
                    Some(GivenPeaks::Distributions(before.get(*fods)?))
                }
            },
            times: fit.times.clone(),
            params: fit.params.clone(),
            shells: fit.shells,
            tensors: fit.tensors.clone(),
        }
        .into(),
        SavedOrigin::WeightMap { layer, map, fit } => WeightMapRecipe {
            layer: LayerId(*layer),
            map: map.clone(),
            fit: before.get(*fit)?,
        }
        .into(),
        SavedOrigin::Edited { input: from, step } => Origin::Edited {
            input: before.get(*from)?,
            step: edit(read, step)?,
        },
        SavedOrigin::Moved {
            input: from,
            transform,
            aligned_by,
        } => Origin::Moved {
            input: before.get(*from)?,
            transform: AffineReading::of_rows(transform),
            aligned_by: *aligned_by,
        },
        SavedOrigin::Reoriented { input: from, turn } => Origin::Reoriented {
            input: before.get(*from)?,
            turn: *turn,
        },
    })
}

fn sensitivity(
    document: &Document,
    read: &ReadSession,
    before: &ResolvedOrigins,
    saved: &SavedSensitivity,
) -> Result<SensitivityRecipe, PartError> {
    saved.params.check()?;
    Ok(SensitivityRecipe {
        fit: before.get(saved.fit)?,
        regions: regions(document, read, &saved.regions)?,
        params: saved.params,
        to: saved.to,
    })
}

fn share(
    document: &Document,
    read: &ReadSession,
    before: &ResolvedOrigins,
    saved: &SavedShare,
) -> Result<ShareRecipe, PartError> {
    saved.params.check()?;
    saved.repetitions.check()?;
    Ok(ShareRecipe {
        fit: before.get(saved.fit)?,
        regions: regions(document, read, &saved.regions)?,
        params: saved.params,
        epsilon: parameters::sanitized(&Width {
            epsilon: saved.epsilon,
        })
        .epsilon,
        repetitions: saved.repetitions,
    })
}

fn streamline_share(
    before: &ResolvedOrigins,
    curves: usize,
) -> Result<StreamlineShareRecipe, PartError> {
    let curves = before.get(curves)?;
    Ok(StreamlineShareRecipe { curves })
}

fn regions(
    document: &Document,
    read: &ReadSession,
    saved: &[SavedRegion],
) -> Result<Vec<Region>, PartError> {
    let regions = saved.iter().map(|r| region(document, read, r));
    regions.collect()
}

/// A step that kept some of a layer's streamlines, or divided them into groups.
pub(in crate::state) fn edit(read: &ReadSession, saved: &SavedEdit) -> Result<Edit, PartError> {
    let rules = match saved {
        SavedEdit::Keep(runs) => return Ok(Edit::Keep(runs.clone())),
        SavedEdit::Cluster(params) => {
            params.check()?;
            return Ok(Edit::Cluster(*params));
        }
        SavedEdit::Group(groups) => return Ok(Edit::Group(groups.clone())),
        SavedEdit::Select(rules) => rules,
    };
    // Its masks are all in the session.
    let nothing = Document::default();
    let regions = rules.regions.iter().map(|r| region(&nothing, read, r));
    let value = |(name, low, high): &(String, Option<f32>, Option<f32>)| ValueCondition {
        name: name.clone(),
        low: low.unwrap_or(f32::NEG_INFINITY),
        high: high.unwrap_or(f32::INFINITY),
    };
    Ok(Edit::Select(Box::new(SelectionRules {
        group: rules.group.clone(),
        regions: regions.collect::<Result<_, PartError>>()?,
        by_ends: rules.by_ends,
        values: rules.values.iter().map(value).collect(),
        given: Vec::new(),
        images: Vec::new(),
        stop: rules.stop,
        invert: rules.invert,
        at_most: rules.at_most,
    })))
}

pub(in crate::state) fn edits(
    read: &ReadSession,
    saved: &[&SavedEdit],
) -> Result<Vec<Edit>, PartError> {
    saved.iter().map(|step| edit(read, step)).collect()
}
