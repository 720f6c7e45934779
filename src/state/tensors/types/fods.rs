//! Fibre orientation distributions of the document's scan: settings, and the result.

use crate::data::odf_field::Tissue;
use crate::data::{DataId, Mask, OdfField, PeakField, Response, Volume};
use crate::solvers::peaks::Maps;
use crate::solvers::response::TissueResponse;
use crate::solvers::tensor_fit::MaskReport;
use crate::solvers::{csd, peaks, response};
use crate::state::core::layer::OriginId;
use crate::state::core::live::LiveKey;
use crate::state::tensors::recipe::fod::ResponseAlgorithm;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the response functions come from.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum ResponseChoice {
    /// Measured in the scan: three tissues if it has several shells, otherwise white matter alone.
    #[default]
    Estimated,
    /// MRtrix's text files, white matter first.
    Files(Vec<PathBuf>),
}

/// Settings of the distributions.
#[derive(Clone, PartialEq, Debug)]
pub struct FodSettings {
    /// The user has requested distributions; without it none are computed.
    pub requested: bool,
    pub responses: ResponseChoice,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
}

impl Default for FodSettings {
    fn default() -> Self {
        Self {
            requested: false,
            responses: ResponseChoice::default(),
            response_params: response::Params::defaults(),
            params: csd::Params::defaults(),
            peak_params: peaks::Params::defaults(),
        }
    }
}

/// Everything that distributions depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct FodKey {
    /// The scan's image.
    pub scan: DataId,
    /// `None`: the mask is found from the scan itself.
    pub mask: Option<DataId>,
    pub settings: FodSettings,
}

impl LiveKey for FodKey {}

/// Distributions, and what they were computed from.
#[derive(Clone, Debug)]
pub struct Fods {
    pub output: csd::Output,
    /// The response functions that the scan was deconvolved with, white matter first.
    pub responses: Vec<(Tissue, Response)>,
    /// Where they were measured; empty for given ones. A tissue that the shells cannot separate from the others is
    /// here only.
    pub measured: Vec<TissueResponse>,
    /// `None` for given functions, and for those of masks.
    pub algorithm: Option<ResponseAlgorithm>,
    /// Indices of the shells whose volumes were used.
    pub used_shells: std::ops::Range<usize>,
    pub mask: Mask,
    /// Reliability of the mask, if it was found from the scan.
    pub mask_found: Option<MaskReport>,
    pub peaks: Option<PeakField>,
    /// An amplitude that few peaks exceed, to compare amounts with.
    pub high_peak: Option<f32>,
    pub maps: Option<Maps>,
    /// The share of each tissue, one volume for each; `None` for a single tissue.
    pub fractions: Option<Volume>,
}

impl Fods {
    /// Number of volumes that were used.
    pub fn used_volumes(&self) -> usize {
        let used = &self.output.shells.shells[self.used_shells.clone()];
        used.iter().map(|shell| shell.volumes.len()).sum()
    }
}

/// Finished distributions.
#[derive(Clone, Debug)]
pub struct FodResult {
    pub key: FodKey,
    /// Origin of the distributions, in the document's table.
    pub origin: OriginId,
    pub fods: Arc<Fods>,
    pub wall_ms: f64,
}

/// The distributions of a document.
#[derive(Clone, Debug, Default)]
pub struct Distributions {
    pub settings: FodSettings,
    pub result: Option<Arc<FodResult>>,
}

impl Distributions {
    pub fn field(&self) -> Option<&OdfField> {
        let result = self.result.as_ref()?;
        Some(&result.fods.output.field)
    }
}
