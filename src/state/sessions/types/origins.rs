//! The table of origins in a session: where layers, kept pathways and weights come from. Each record stands once, and
//! names files, masks and the origins before it by their numbers.

use crate::data::axis_change::AxisChange;
use crate::data::warp::WarpInterpolation;
use crate::data::{OdfLayout, PhantomKind, TensorLayout};
use crate::io::{AffineReading, FieldConvention, Reading, Space, TransformFile, WarpReading};
use crate::solvers::curves::StopReason;
use crate::solvers::geodesic::Cut;
use crate::solvers::level_set::{RunHistory, Sphere};
use crate::solvers::lifted::SensitivityTo;
use crate::solvers::pathway::RepetitionParams;
use crate::solvers::tensor_fit::{self, FitMap};
use crate::solvers::tractogram::selection::{Groups, Runs};
use crate::solvers::{bundles, commit, density};
use crate::state::alignment::AlignedBy;
use crate::state::files::types::PhantomPart;
use crate::state::filter::{GivenPeaks, ScanTimings, WeightMap};
use crate::state::pathways::PathwayParams;
use crate::state::sessions::types::content::{
    Content, SavedGrid, SavedInputs, SavedRegion, SavedStart,
};
use crate::state::sessions::types::file::ReadSession;
use crate::state::sessions::types::fods::SavedFods;
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::track::types::CurveParams;
use glam::DAffine3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The origin of a layer, pathway or fit, as in [`Origin`](crate::state::origin::Origin). Origins are numbered from 1 in
/// the order of the table; 0 is unknown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedOrigin {
    /// A file, and gradient files that do not lie beside it.
    File {
        file: usize,
        #[serde(default, skip_serializing_if = "SavedReading::is_nothing")]
        reading: SavedReading,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gradients: Vec<usize>,
    },
    /// A built-in head.
    Phantom {
        #[serde(default, skip_serializing_if = "PhantomKind::is_plain")]
        kind: PhantomKind,
        seed: u64,
        part: PhantomPart,
    },
    BrainMask {
        scan: usize,
    },
    Fit(Box<SavedFit>),
    FitMap {
        fit: usize,
        map: FitMap,
    },
    Fods(Box<SavedFods>),
    FodMap {
        fods: usize,
        map: FodMap,
    },
    Curves(Box<SavedCurves>),
    Density(Box<SavedDensity>),
    Segment(Box<SavedSegment>),
    Sensitivity(Box<SavedSensitivity>),
    Share(Box<SavedShare>),
    /// The share of the repetitions of streamlines, which are an origin of their own.
    StreamlineShare {
        curves: usize,
    },
    Weights(Box<SavedWeightFit>),
    /// A map of a fit of weights to a layer's streamlines.
    WeightMap {
        layer: u64,
        map: WeightMap,
        fit: usize,
    },
    Edited {
        input: usize,
        step: SavedEdit,
    },
    Moved {
        input: usize,
        /// From the file's world, mm, by rows.
        transform: [f64; 12],
        aligned_by: AlignedBy,
    },
    Reoriented {
        input: usize,
        turn: AxisChange,
    },
}

/// The user's reading of a file where it leaves something open.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SavedReading {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vtk_space: Option<Space>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colours: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensors: Option<TensorLayout>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distributions: Option<OdfLayout>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp: Option<Box<SavedWarp>>,
}

/// The non-linear alignment of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedWarp {
    pub transforms: Vec<SavedTransform>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<usize>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<WarpInterpolation>,
}

/// One transform of a non-linear alignment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedTransform {
    pub file: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inverse: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convention: Option<FieldConvention>,
}

impl SavedWarp {
    /// The files that it names.
    pub fn files(&self) -> impl Iterator<Item = usize> {
        let transforms = self.transforms.iter().map(|transform| transform.file);
        transforms.chain(self.fixed).chain(self.moving)
    }

    /// Files that it names, to be renumbered.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let transforms = self
            .transforms
            .iter_mut()
            .map(|transform| &mut transform.file);
        transforms.chain(&mut self.fixed).chain(&mut self.moving)
    }

    /// The warp with the paths of its files.
    pub fn reading<E>(&self, path: impl Fn(usize) -> Result<PathBuf, E>) -> Result<WarpReading, E> {
        let transform = |saved: &SavedTransform| {
            Ok(TransformFile {
                path: path(saved.file)?,
                inverse: saved.inverse,
                convention: saved.convention,
            })
        };
        let transforms = self.transforms.iter().map(transform);
        Ok(WarpReading {
            transforms: transforms.collect::<Result<_, E>>()?,
            fixed: self.fixed.map(&path).transpose()?,
            moving: self.moving.map(&path).transpose()?,
            interpolation: self.interpolation,
        })
    }

    /// The warp with the numbers of its files.
    pub fn saved(reading: &WarpReading, mut number: impl FnMut(&Path) -> usize) -> Self {
        let mut transform = |transform: &TransformFile| SavedTransform {
            file: number(&transform.path),
            inverse: transform.inverse,
            convention: transform.convention,
        };
        Self {
            transforms: reading.transforms.iter().map(&mut transform).collect(),
            fixed: reading.fixed.as_deref().map(&mut number),
            moving: reading.moving.as_deref().map(&mut number),
            interpolation: reading.interpolation,
        }
    }
}

impl SavedReading {
    /// The reading with the paths of its files.
    pub fn reading<E>(&self, path: impl Fn(usize) -> Result<PathBuf, E>) -> Result<Reading, E> {
        let warp = self.warp.as_ref().map(|warp| warp.reading(&path));
        Ok(Reading {
            vtk_space: self.vtk_space,
            colours: self.colours.map(&path).transpose()?,
            tensors: self.tensors,
            distributions: self.distributions,
            affine: None,
            warp: warp.transpose()?.map(Box::new),
        })
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The inputs of a tensor fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedFit {
    pub scan: usize,
    pub mask: SavedMask,
    pub params: tensor_fit::Params,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedMask {
    /// Computed from the scan itself.
    Automatic,
    File(usize),
    /// The built-in head's own.
    Phantom,
}

/// The inputs of streamlines or rays that were kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedCurves {
    /// The tensor fit, or the distributions.
    pub fit: usize,
    pub regions: Vec<SavedRegion>,
    pub curves: CurveParams,
    /// Tissues of anatomical rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tissues: Option<SavedInput>,
    pub cut: Cut,
}

/// The inputs of a map of the voxels on which a pathway depends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedSensitivity {
    pub fit: usize,
    pub regions: Vec<SavedRegion>,
    /// The member `params` for tensors, `lifted` for distributions.
    #[serde(flatten)]
    pub params: PathwayParams,
    /// Written only for amplitudes.
    #[serde(default, skip_serializing_if = "is_of_cost")]
    pub to: SensitivityTo,
}

/// Maps are of costs unless they say otherwise.
fn is_of_cost(to: &SensitivityTo) -> bool {
    *to == SensitivityTo::Cost
}

/// The inputs of shares of repetitions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedShare {
    pub fit: usize,
    pub regions: Vec<SavedRegion>,
    /// The member `params` for tensors, `lifted` for distributions.
    #[serde(flatten)]
    pub params: PathwayParams,
    pub epsilon: f64,
    pub repetitions: RepetitionParams,
}

/// A layer that something was made of, and where that came from then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SavedInput {
    pub layer: u64,
    #[serde(default)]
    pub origin: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedDensity {
    pub input: SavedInput,
    /// Where that was moved then, by rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<[f64; 12]>,
    /// `None`: voxels around the streamlines.
    pub grid: Option<SavedGrid>,
    /// Edge of cubes, mm; `None`: the grid's own voxels.
    pub voxel_mm: Option<f64>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<usize>,
    pub params: density::Params,
}

/// The inputs of a segmented mask.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedSegment {
    pub image: SavedInput,
    pub frame: usize,
    pub start: SavedStart,
    pub spheres: Vec<Sphere>,
    /// By the numbers of the script.
    pub inputs: Vec<SavedInputs>,
    pub script: RunHistory,
}

/// The inputs of a fit of weights.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedWeightFit {
    pub tracks: usize,
    pub scan: SavedInput,
    pub mask: Option<SavedInput>,
    pub peaks: Option<GivenPeaks<SavedInput, usize>>,
    pub times: ScanTimings,
    pub params: commit::Params,
    pub shells: usize,
    /// Parameters of the tensors that give directions.
    pub tensors: tensor_fit::Params,
}

/// A step that keeps some streamlines, or divides them into groups.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedEdit {
    Select(Box<SavedRules>),
    Keep(Runs),
    Cluster(bundles::Params),
    Group(Groups),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedRules {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub regions: Vec<SavedRegion>,
    pub by_ends: bool,
    /// Name and limits; `None` is an open end.
    pub values: Vec<(String, Option<f32>, Option<f32>)>,
    pub stop: Option<StopReason>,
    pub invert: bool,
    pub at_most: Option<(usize, u64)>,
}

impl SavedOrigin {
    /// The numbers of the origins that it is made from.
    pub(in crate::state) fn inputs_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::File { .. } | Self::Phantom { .. } => Vec::new(),
            Self::BrainMask { scan: input }
            | Self::FitMap { fit: input, .. }
            | Self::FodMap { fods: input, .. }
            | Self::StreamlineShare { curves: input }
            | Self::WeightMap { fit: input, .. }
            | Self::Edited { input, .. }
            | Self::Moved { input, .. }
            | Self::Reoriented { input, .. } => vec![input],
            Self::Fit(fit) => vec![&mut fit.scan],
            Self::Fods(fods) => vec![&mut fods.scan],
            Self::Curves(curves) => {
                let tissues = curves.tissues.as_mut().map(|input| &mut input.origin);
                std::iter::once(&mut curves.fit).chain(tissues).collect()
            }
            Self::Density(map) => vec![&mut map.input.origin],
            Self::Sensitivity(map) => vec![&mut map.fit],
            Self::Share(share) => vec![&mut share.fit],
            Self::Segment(segment) => {
                let speeds = segment.inputs.iter_mut();
                let speeds = speeds.filter_map(|i| Some(&mut i.layer.as_mut()?.0.origin));
                std::iter::once(&mut segment.image.origin)
                    .chain(speeds)
                    .collect()
            }
            Self::Weights(fit) => {
                let others = [Some(&mut fit.scan), fit.mask.as_mut()];
                let others = others.into_iter().flatten().map(|i| &mut i.origin);
                let peaks = fit.peaks.as_mut().map(|peaks| match peaks {
                    GivenPeaks::Image(input) => &mut input.origin,
                    GivenPeaks::Distributions(fods) => fods,
                });
                let inputs = std::iter::once(&mut fit.tracks).chain(others);
                inputs.chain(peaks).collect()
            }
        }
    }

    /// The files that it names.
    fn files(&self) -> Vec<usize> {
        match self {
            Self::File {
                file,
                reading,
                gradients,
            } => {
                let file = std::iter::once(*file);
                let warp = reading.warp.iter().flat_map(|warp| warp.files());
                file.chain(reading.colours)
                    .chain(warp)
                    .chain(gradients.iter().copied())
                    .collect()
            }
            Self::Fit(fit) => match fit.mask {
                SavedMask::File(file) => vec![file],
                SavedMask::Automatic | SavedMask::Phantom => Vec::new(),
            },
            Self::Fods(fods) => fods.files(),
            Self::Density(map) => map.template.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn inputs(&self) -> Vec<usize> {
        match self {
            // Its list of streamlines may be long.
            Self::Edited { input, .. } => vec![*input],
            other => {
                let mut copy = other.clone();
                copy.inputs_mut().into_iter().map(|input| *input).collect()
            }
        }
    }
}

/// The table of origins of an opened session.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a>(&'a [SavedOrigin]);

impl<'a> Table<'a> {
    pub fn new(read: &'a ReadSession) -> Self {
        match &read.content {
            Ok((content, _)) => Self::of_content(content),
            Err(_) => Self(&[]),
        }
    }

    pub fn of_content(content: &'a Content) -> Self {
        Self(&content.origins)
    }

    pub fn get(self, number: usize) -> Option<&'a SavedOrigin> {
        self.0.get(number.checked_sub(1)?)
    }

    /// These origins and all that they are made from.
    pub(in crate::state) fn with_inputs(
        self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> BTreeSet<usize> {
        let mut needed = BTreeSet::new();
        let mut left: Vec<usize> = numbers.into_iter().collect();
        while let Some(number) = left.pop() {
            if number > 0 && needed.insert(number) {
                let saved = self.get(number);
                left.extend(saved.map_or_else(Vec::new, SavedOrigin::inputs));
            }
        }
        needed
    }

    /// The files that these origins and all that they are made from name.
    pub(in crate::state) fn files(
        self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> BTreeSet<usize> {
        let origins = self.with_inputs(numbers).into_iter();
        let origins = origins.filter_map(|number| self.get(number));
        origins.flat_map(SavedOrigin::files).collect()
    }

    /// The origin before it was edited, moved or reoriented last.
    pub(in crate::state) fn input(self, number: usize) -> Option<usize> {
        match self.get(number)? {
            SavedOrigin::Edited { input, .. }
            | SavedOrigin::Moved { input, .. }
            | SavedOrigin::Reoriented { input, .. } => Some(*input).filter(|input| *input < number),
            _ => None,
        }
    }

    /// The origin and those before it, back to the first.
    pub(in crate::state) fn back(self, number: usize) -> impl Iterator<Item = &'a SavedOrigin> {
        let numbers = std::iter::successors(Some(number), move |n| self.input(*n));
        numbers.filter_map(move |n| self.get(n))
    }

    /// The origin before any edit, transform and reorientation.
    pub fn base(self, number: usize) -> Option<&'a SavedOrigin> {
        self.back(number).last()
    }

    /// The number of the origin before any selection step.
    pub fn unedited(self, number: usize) -> usize {
        let numbers = std::iter::successors(Some(number), |n| self.input(*n));
        let mut unedited =
            numbers.skip_while(|n| matches!(self.get(*n), Some(SavedOrigin::Edited { .. })));
        unedited.next().unwrap_or(0)
    }

    /// The steps that kept some of the streamlines, from the first.
    pub fn steps(self, number: usize) -> Vec<&'a SavedEdit> {
        let steps = self.back(number).filter_map(|origin| match origin {
            SavedOrigin::Edited { step, .. } => Some(step),
            _ => None,
        });
        let mut steps: Vec<_> = steps.collect();
        steps.reverse();
        steps
    }

    /// Its transform from the world of its file, and how that was found.
    pub fn moved(self, number: usize) -> Option<(DAffine3, AlignedBy)> {
        self.back(number).find_map(|origin| match origin {
            SavedOrigin::Moved {
                transform,
                aligned_by,
                ..
            } => Some((AffineReading::of_rows(transform), *aligned_by)),
            _ => None,
        })
    }

    /// Permutation and flips of a scan's gradient axes.
    pub fn turn(self, number: usize) -> Option<AxisChange> {
        self.back(number).find_map(|origin| match origin {
            SavedOrigin::Reoriented { turn, .. } => Some(*turn),
            _ => None,
        })
    }
}
