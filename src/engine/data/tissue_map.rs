//! Fractions of five tissues in each voxel, for the anatomical rules of tracking.

use super::text::{counted, singular_or_plural};
use super::tissue_labels::{self, Labelled};
use super::{DataId, Grid, Mask, Volume, VolumeKind, keyed};
use glam::DVec3;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A tissue, in the order of the volumes of MRtrix's five-tissue-type images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum TissueType {
    /// Grey matter of the cortex.
    CorticalGrey = 0,
    /// Grey matter of deep nuclei.
    DeepGrey = 1,
    /// White matter, where streamlines run.
    White = 2,
    /// Cerebrospinal fluid.
    Csf = 3,
    /// Pathological tissue, in which no rule applies.
    Other = 4,
}

impl TissueType {
    /// Number of tissue types, and of volumes.
    pub const COUNT: usize = 5;

    /// In the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::CorticalGrey,
        Self::DeepGrey,
        Self::White,
        Self::Csf,
        Self::Other,
    ];

    /// Name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::CorticalGrey => "cortical grey matter",
            Self::DeepGrey => "deep grey matter",
            Self::White => "white matter",
            Self::Csf => "CSF",
            Self::Other => "other tissue",
        }
    }
}

keyed!(TissueType {
    CorticalGrey = "cortical-grey",
    DeepGrey = "deep-grey",
    White = "white",
    Csf = "csf",
    Other = "other",
});

/// The fractions of one voxel by the numbers of [`TissueType`], and padding: 32 bytes.
pub type Fractions = [f32; 8];

/// Fractions of tissues on a grid.
#[derive(Clone, Debug)]
pub struct TissueMap {
    id: DataId,
    /// Grid of the fractions.
    pub grid: Arc<Grid>,
    /// One per voxel in file order; all 0 outside the head.
    pub fractions: Arc<[Fractions]>,
}

/// A label without a known tissue: number, name if it has one, number of voxels.
pub type UnknownLabel = (u32, Option<String>, usize);

/// Labels that denote no tissue, as a sentence without a full stop; `None` if there are none.
pub fn unknown_labels_text(unknown: &[UnknownLabel]) -> Option<String> {
    /// Labels that are named.
    const SHOWN: usize = 5;
    if unknown.is_empty() {
        return None;
    }
    let label = |(number, name, _): &UnknownLabel| match name {
        Some(name) => format!("{number} {name}"),
        None => number.to_string(),
    };
    let names: Vec<String> = unknown.iter().take(SHOWN).map(label).collect();
    let more = if unknown.len() > SHOWN { ", …" } else { "" };
    let voxels = unknown.iter().map(|(_, _, voxels)| voxels).sum();
    Some(format!(
        "{} in {} {} no tissue, so streamlines do not enter {} ({}{more})",
        counted(unknown.len(), "label"),
        counted(voxels, "voxel"),
        singular_or_plural(unknown.len(), "denotes", "denote"),
        singular_or_plural(unknown.len(), "it", "them"),
        names.join(", ")
    ))
}

/// States which numbers an image of labels without names is taken to have, as a sentence without a full stop; `None` if
/// names denote the tissues, and for fractions.
pub fn numbering_text(image: &Volume) -> Option<&'static str> {
    let mut labels = image.labels.iter().flat_map(|labels| labels.table.values());
    let has_names = labels.any(|label| !tissue_labels::is_generic(&label.name));
    (image.frames == 1 && !has_names).then_some(
        "The labels have no names, so their numbers are read as those of FreeSurfer and SynthSeg",
    )
}

/// An image from which no fractions follow.
#[derive(Clone, PartialEq, Debug)]
pub enum TissueMapError {
    /// An image with this many volumes.
    Volumes(usize),
    /// Values outside 0 to 1; the smallest and the largest are given.
    NoFractions {
        /// Least value found.
        smallest: f32,
        /// Largest value found.
        largest: f32,
    },
    /// No voxel of white matter, or none of grey matter.
    Missing(&'static str),
    /// Most voxels have numbers that denote no tissue.
    NoLabels {
        /// Different numbers without a tissue.
        numbers: usize,
    },
}

impl fmt::Display for TissueMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Volumes(volumes) => write!(
                f,
                "Found {volumes} volumes, expected the five of a tissue image (cortical grey, deep grey, white, CSF, \
                 other) or one of labels; make it with 5ttgen or name a segmentation"
            ),
            Self::NoFractions { smallest, largest } => write!(
                f,
                "Found values from {smallest} to {largest}, expected fractions of tissues from 0 to 1; name the image that \
                 5ttgen wrote"
            ),
            Self::NoLabels { numbers } => write!(
                f,
                "Found {} that {} no tissue in most voxels, expected the labels of a segmentation; name one with the \
                 numbers of FreeSurfer or SynthSeg, or with names of tissues",
                counted(*numbers, "number"),
                singular_or_plural(*numbers, "denotes", "denote"),
            ),
            Self::Missing(what) => write!(
                f,
                "Found no voxel of {what}, expected white and grey matter; name an image of tissues or a segmentation \
                 of the whole brain"
            ),
        }
    }
}

impl std::error::Error for TissueMapError {}

/// An image with more numbers that denote no tissue, in most of its voxels, is no segmentation.
const MAX_UNKNOWN: usize = 100;
/// Fractions may exceed 0 to 1 by this much: rounding, and resampling by splines.
const TOLERANCE: f32 = 0.1;

impl TissueMap {
    /// Panics if the number of fractions does not match the grid (a broken invariant, not data).
    pub fn new(grid: Arc<Grid>, fractions: impl Into<Arc<[Fractions]>>) -> Self {
        let fractions = fractions.into();
        assert_eq!(
            fractions.len(),
            grid.voxel_count(),
            "fractions against their grid"
        );
        Self {
            id: DataId::fresh(),
            grid,
            fractions,
        }
    }

    /// Identity of the values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// An image of five volumes, as MRtrix's `5ttgen` writes it. Values that are not finite are 0.
    pub fn from_volume(volume: &Volume) -> Result<Self, TissueMapError> {
        if volume.frames != TissueType::COUNT || volume.kind != VolumeKind::Scalar {
            return Err(TissueMapError::Volumes(volume.frames));
        }
        let finite = volume.values.iter().filter(|v| v.is_finite());
        let (smallest, largest) = finite.fold((0f32, 0f32), |(l, h), v| (l.min(*v), h.max(*v)));
        if smallest < -TOLERANCE || largest > 1.0 + TOLERANCE {
            return Err(TissueMapError::NoFractions { smallest, largest });
        }
        let n = volume.grid.voxel_count();
        let at = |voxel: usize| {
            let mut fractions = Fractions::default();
            for (tissue, fraction) in fractions[..TissueType::COUNT].iter_mut().enumerate() {
                let value = volume.values[tissue * n + voxel];
                *fraction = if value > 0.0 { value.min(1.0) } else { 0.0 };
            }
            fractions
        };
        Self::new(volume.grid.clone(), (0..n).map(at).collect::<Vec<_>>()).checked()
    }

    /// A map of labels whose names, or numbers in FreeSurfer's table (also SynthSeg's), denote tissues; also returns
    /// the labels that denote none, whose voxels have no tissue.
    pub fn from_labels(volume: &Volume) -> Result<(Self, Vec<UnknownLabel>), TissueMapError> {
        if volume.frames != 1 || volume.kind != VolumeKind::Scalar {
            return Err(TissueMapError::Volumes(volume.frames));
        }
        let name = |number: u32| volume.labels.as_ref().and_then(|l| l.name(number));
        let mut known: BTreeMap<u32, (Labelled, usize)> = BTreeMap::new();
        let mut fractions = vec![Fractions::default(); volume.values.len()];
        for (value, fractions) in volume.values.iter().zip(&mut fractions) {
            if !(*value >= 0.5) || *value > super::labels::LARGEST_WHOLE {
                continue;
            }
            let number = value.round() as u32;
            let entry = known
                .entry(number)
                .or_insert_with(|| (tissue_labels::tissue_of(number, name(number)), 0));
            entry.1 += 1;
            if let Labelled::Tissue(tissue) = entry.0 {
                fractions[tissue as usize] = 1.0;
            }
        }
        let is_unknown = |labelled: &Labelled| *labelled == Labelled::Unknown;
        let labelled: usize = known.values().map(|(_, voxels)| voxels).sum();
        let strange = known.values().filter(|(label, _)| is_unknown(label));
        let numbers = strange.clone().count();
        let strange: usize = strange.map(|(_, voxels)| voxels).sum();
        if numbers > MAX_UNKNOWN && 2 * strange > labelled {
            return Err(TissueMapError::NoLabels { numbers });
        }
        let unknown = known
            .into_iter()
            .filter(|(_, (labelled, _))| is_unknown(labelled))
            .map(|(number, (_, voxels))| (number, name(number).map(str::to_owned), voxels))
            .collect();
        let map = Self::new(volume.grid.clone(), fractions).checked()?;
        Ok((map, unknown))
    }

    /// Segmentations on a grid: each voxel has the tissue of the first one that contains its centre.
    pub fn from_masks(
        grid: &Arc<Grid>,
        masks: &[(TissueType, &Mask)],
    ) -> Result<Self, TissueMapError> {
        let at = |voxel: usize| {
            let mut fractions = Fractions::default();
            let centre = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
            if let Some((tissue, _)) = masks.iter().find(|(_, mask)| mask.contains(centre)) {
                fractions[*tissue as usize] = 1.0;
            }
            fractions
        };
        let fractions: Vec<Fractions> = (0..grid.voxel_count()).map(at).collect();
        Self::new(grid.clone(), fractions).checked()
    }

    /// Rules need white matter to track in and grey matter to end in.
    fn checked(self) -> Result<Self, TissueMapError> {
        let any = |tissues: &[TissueType]| {
            let is_dominated = |f: &Fractions| tissues.iter().any(|t| f[*t as usize] >= 0.5);
            self.fractions.iter().any(is_dominated)
        };
        if !any(&[TissueType::White]) {
            return Err(TissueMapError::Missing("white matter"));
        }
        if !any(&[TissueType::CorticalGrey, TissueType::DeepGrey]) {
            return Err(TissueMapError::Missing("grey matter"));
        }
        Ok(self)
    }

    /// The image of the fractions, five volumes.
    pub fn volume(&self) -> Volume {
        let tissues = 0..TissueType::COUNT;
        let values: Vec<f32> = tissues
            .flat_map(|tissue| self.fractions.iter().map(move |f| f[tissue]))
            .collect();
        Volume::new(
            self.grid.clone(),
            TissueType::COUNT,
            VolumeKind::Scalar,
            values,
        )
    }
}
