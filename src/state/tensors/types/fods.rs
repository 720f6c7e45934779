//! Fibre orientation distributions of the document: settings, and the result.

use crate::data::odf_field::Tissue;
use crate::data::region::RegionId;
use crate::data::statistics::upper_median;
use crate::data::{DataId, Gradients, Mask, OdfField, PeakField, Response, Shape, Volume};
use crate::parameters::Parameters as _;
use crate::solvers::peaks::Maps;
use crate::solvers::response::TissueResponse;
use crate::solvers::tensor_fit::MaskReport;
use crate::solvers::{csd, peaks, response, uncertainty};
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::core::live::LiveKey;
use crate::state::tensors::recipe::fod::{ResponseAlgorithm, used_rows};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Where the response functions come from.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum ResponseChoice {
    /// Measured in the scan: three tissues if it has several shells, otherwise white matter alone.
    #[default]
    Estimated,
    /// MRtrix's text files, white matter first.
    Files(Vec<PathBuf>),
    /// One choice per tissue, in the order of [`Tissue::ALL`].
    Each([TissueChoice; 3]),
}

/// Where the response function of one tissue comes from.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum TissueChoice {
    /// Measured in the scan.
    #[default]
    Estimated,
    /// Measured in the voxels of a region.
    Region(RegionId),
    /// Measured in the voxels of a mask.
    Layer(LayerId),
    /// A text file of MRtrix.
    File(PathBuf),
    /// The tissue is left out; white matter cannot be.
    Omitted,
}

impl TissueChoice {
    fn is_measured_in_mask(&self) -> bool {
        matches!(self, Self::Region(_) | Self::Layer(_))
    }
}

impl ResponseChoice {
    /// The choice of one tissue; `None` unless each has its own.
    pub fn of_tissue(&self, tissue: Tissue) -> Option<&TissueChoice> {
        match self {
            Self::Each(all) => all.get(Tissue::ALL.iter().position(|t| *t == tissue)?),
            Self::Estimated | Self::Files(_) => None,
        }
    }

    /// The rows of [`response::Params`] that have no effect, by their keys. `algorithm`: the one in use; `None` before the
    /// first estimation, when it may be either.
    pub fn unused_rows(&self, algorithm: Option<ResponseAlgorithm>) -> Vec<&'static str> {
        let (is_estimated, is_measured) = match self {
            Self::Estimated => (true, false),
            Self::Files(_) => (false, false),
            Self::Each(all) => (
                all.contains(&TissueChoice::Estimated),
                all.iter().any(TissueChoice::is_measured_in_mask),
            ),
        };
        if is_estimated && algorithm.is_none() {
            return Vec::new();
        }
        let used = used_rows(algorithm.filter(|_| is_estimated), is_measured);
        let keys = response::Params::TABLE.iter().map(|row| row.key);
        keys.filter(|key| !used.contains(key)).collect()
    }

    /// The choice that has an effect: tissues that are all estimated are those of [`Self::Estimated`].
    pub fn in_effect(&self) -> &Self {
        const ESTIMATED: &ResponseChoice = &ResponseChoice::Estimated;
        match self {
            Self::Each(all) if all.iter().all(|c| *c == TissueChoice::Estimated) => ESTIMATED,
            choice => choice,
        }
    }

    /// The choices with another one for a tissue.
    pub fn with_tissue(&self, tissue: Tissue, choice: TissueChoice) -> Self {
        let mut all = match self {
            Self::Each(all) => all.clone(),
            Self::Estimated | Self::Files(_) => Default::default(),
        };
        let places = all.iter_mut().zip(Tissue::ALL);
        for (place, _) in places.filter(|(_, own)| *own == tissue) {
            *place = choice.clone();
        }
        Self::Each(all)
    }
}

/// Source of the distributions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FodSource {
    /// The scan, by deconvolution.
    #[default]
    Scan,
    /// An opened image that holds distributions.
    Image(LayerId),
}

/// Settings of the distributions.
#[derive(Clone, PartialEq, Debug)]
pub struct FodSettings {
    /// The user has requested distributions; without it none are computed.
    pub requested: bool,
    pub source: FodSource,
    pub responses: ResponseChoice,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
}

impl Default for FodSettings {
    fn default() -> Self {
        Self {
            requested: false,
            source: FodSource::default(),
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
    /// The image of the scan, or that of distributions. An image that is read in another way has another id.
    pub image: DataId,
    /// `None`: the mask is computed from the scan itself.
    pub mask: Option<DataId>,
    /// The regions of the response functions, in the order of the tissues; `None` for other choices, and for a region
    /// that is gone.
    pub regions: [Option<Arc<Shape>>; 3],
    pub settings: FodSettings,
}

impl LiveKey for FodKey {}

/// Distributions, and what they were computed from.
#[derive(Clone, Debug)]
pub struct Fods {
    pub output: csd::Output,
    /// The response functions that the scan was deconvolved with, white matter first; none for distributions that were
    /// read.
    pub responses: Vec<(Tissue, Response)>,
    /// Where they were measured; empty for given ones. A tissue that the shells cannot separate from the others is
    /// here only.
    pub measured: Vec<TissueResponse>,
    /// `None` for given functions, for those of masks, and for distributions that were read.
    pub algorithm: Option<ResponseAlgorithm>,
    /// Indices of the shells whose volumes were used.
    pub used_shells: std::ops::Range<usize>,
    pub mask: Mask,
    /// Reliability of the mask, if it was computed from the scan.
    pub mask_report: Option<MaskReport>,
    pub peaks: Option<PeakField>,
    /// An amplitude that few peaks exceed, to compare amounts with.
    pub high_peak: Option<f32>,
    pub maps: Option<Maps>,
    /// The share of each tissue, one volume for each; `None` for a single tissue.
    pub fractions: Option<Volume>,
    /// Maps of the uncertainty of peaks; `None` without a bootstrap.
    pub uncertainty: Option<uncertainty::Maps>,
}

/// Input of bootstrapped streamlines besides the distributions: the scan of the deconvolution.
#[derive(Clone, Debug)]
pub struct FodBootstrapInput {
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    pub mask: Mask,
    /// White matter first.
    pub responses: Vec<Response>,
    /// With the order of the distributions.
    pub params: csd::Params,
    /// Residuals of the deconvolution, once a bootstrap has requested them.
    pub residuals: Arc<OnceLock<Arc<csd::Residuals>>>,
}

impl FodBootstrapInput {
    /// The input of a bootstrap of distributions that were estimated in a scan.
    pub fn new(
        dwi: &Volume,
        gradients: &Arc<Gradients>,
        params: &csd::Params,
        fods: &Fods,
    ) -> Self {
        Self {
            dwi: dwi.clone(),
            gradients: gradients.clone(),
            mask: fods.mask.clone(),
            responses: fods.responses.iter().map(|(_, r)| r.clone()).collect(),
            params: csd::Params {
                order: Some(fods.output.order.order),
                ..params.clone()
            },
            residuals: Arc::default(),
        }
    }
}

impl Fods {
    /// The median cone of uncertainty of the largest peaks, degrees; `None` without a bootstrap.
    pub fn median_cone_deg(&self) -> Option<f64> {
        let cone = &self.uncertainty.as_ref()?.cone;
        let largest = cone.frame(0).iter().filter(|cone| **cone > 0.0);
        let mut largest: Vec<f64> = largest.map(|cone| f64::from(*cone)).collect();
        upper_median(&mut largest)
    }

    /// Number of volumes that were used.
    pub fn used_volumes(&self) -> usize {
        let used = &self.output.shells.shells[self.used_shells.clone()];
        used.iter().map(|shell| shell.volumes.len()).sum()
    }
}

impl FodKey {
    /// Whether the distributions were read from an image, not estimated.
    pub fn is_read(&self) -> bool {
        matches!(self.settings.source, FodSource::Image(_))
    }

    /// The settings of a document, with those that these distributions were computed with.
    pub fn settings_in(&self, document: &FodSettings) -> FodSettings {
        if self.is_read() {
            return FodSettings {
                requested: true,
                source: self.settings.source,
                peak_params: self.settings.peak_params.clone(),
                ..document.clone()
            };
        }
        let responses = match *document.responses.in_effect() == self.settings.responses {
            true => document.responses.clone(),
            false => self.settings.responses.clone(),
        };
        FodSettings {
            responses,
            ..self.settings.clone()
        }
    }

    /// Whether a response function is measured in a region.
    pub fn uses_regions(&self) -> bool {
        self.regions.iter().any(Option::is_some)
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
