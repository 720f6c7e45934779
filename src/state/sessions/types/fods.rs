//! Fibre orientation distributions in a session: their settings and their inputs, not their values.

use crate::data::odf_field::Tissue;
use crate::solvers::geodesic::{self, Cut, OdfSpeed};
use crate::solvers::{csd, odf_tracking, peaks, response};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::sessions::types::origins::SavedMask;
use crate::state::tensors::recipe::fod::ResponseAlgorithm;
use crate::state::tensors::types::fods::FodSettings;
use crate::state::track::types::odf::{Model, OdfRays};
use serde::{Deserialize, Serialize};

/// How the distributions of a document are computed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedFodSettings {
    pub requested: bool,
    /// The layer of the image that holds the distributions, if they are not estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<u64>,
    pub responses: SavedResponseChoice,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
    /// How streamlines and rays follow them.
    #[serde(default, skip_serializing_if = "SavedOdfTracking::are_defaults")]
    pub tracking: SavedOdfTracking,
}

/// Streamlines and rays along distributions: whether they are chosen, and their settings.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedOdfTracking {
    pub model: Model,
    /// `None`: the defaults for the scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<odf_tracking::Params>,
    /// A layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tissues: Option<u64>,
    #[serde(skip_serializing_if = "SavedOdfRays::are_defaults")]
    pub rays: SavedOdfRays,
}

/// Settings of rays along distributions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedOdfRays {
    pub speed: OdfSpeed,
    pub params: geodesic::Params,
    pub cut: Cut,
}

impl SavedOdfRays {
    fn are_defaults(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for SavedOdfRays {
    fn default() -> Self {
        let OdfRays { speed, rays } = OdfRays::default();
        let (params, cut) = (rays.params, rays.cut);
        Self { speed, params, cut }
    }
}

impl SavedOdfTracking {
    fn are_defaults(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedResponseChoice {
    Estimated,
    /// Files, white matter first.
    Files(Vec<usize>),
    /// White matter, grey matter, CSF.
    Each([SavedTissueChoice; 3]),
}

/// Where the response function of one tissue comes from.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedTissueChoice {
    #[default]
    Estimated,
    /// A region, by its index in the list.
    Region(usize),
    Layer(u64),
    /// A file.
    File(usize),
    Omitted,
}

impl Default for SavedFodSettings {
    fn default() -> Self {
        let settings = FodSettings::default();
        Self {
            requested: settings.requested,
            image: None,
            responses: SavedResponseChoice::Estimated,
            response_params: settings.response_params,
            params: settings.params,
            peak_params: settings.peak_params,
            tracking: SavedOdfTracking::default(),
        }
    }
}

impl SavedFodSettings {
    pub(in crate::state) fn are_defaults(&self) -> bool {
        *self == Self::default()
    }
}

/// The inputs of distributions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedFods {
    pub scan: usize,
    pub mask: SavedMask,
    pub responses: SavedResponses,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedResponses {
    /// Files, white matter first.
    Files(Vec<usize>),
    Algorithm(ResponseAlgorithm),
    Each {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        algorithm: Option<ResponseAlgorithm>,
        tissues: Vec<(Tissue, SavedTissueSource)>,
    },
    NotUsed,
}

/// Source of the response function of one tissue.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedTissueSource {
    Algorithm,
    /// A file.
    File(usize),
    /// The file of a mask on the scan's grid.
    Mask(usize),
    /// The file of a mask on its own grid.
    MaskRegion(usize),
    Region(ShapeSpec),
    /// A region whose mask has no file, by its name.
    NoFile(String),
}

impl SavedTissueSource {
    fn file(&self) -> Option<usize> {
        match self {
            Self::File(file) | Self::Mask(file) | Self::MaskRegion(file) => Some(*file),
            Self::Algorithm | Self::Region(_) | Self::NoFile(_) => None,
        }
    }

    pub(in crate::state) fn file_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::File(file) | Self::Mask(file) | Self::MaskRegion(file) => Some(file),
            Self::Algorithm | Self::Region(_) | Self::NoFile(_) => None,
        }
    }
}

impl SavedFods {
    /// The files that it names.
    pub(in crate::state) fn files(&self) -> Vec<usize> {
        let responses = match &self.responses {
            SavedResponses::Files(files) => files.clone(),
            SavedResponses::Each { tissues, .. } => {
                tissues.iter().filter_map(|(_, s)| s.file()).collect()
            }
            SavedResponses::Algorithm(_) | SavedResponses::NotUsed => Vec::new(),
        };
        let mask = match self.mask {
            SavedMask::File(file) => Some(file),
            SavedMask::Automatic | SavedMask::Phantom => None,
        };
        mask.into_iter().chain(responses).collect()
    }
}
