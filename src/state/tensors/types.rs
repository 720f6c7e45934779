//! The inputs of a tensor fit and of its bootstrap.

pub mod fods;

use crate::data::axis_change::AxisChange;
use crate::data::odf_field::Tissue;
use crate::data::{DataId, Gradients, Mask, OdfLayout, TensorLayout, Volume};
use crate::solvers::tensor_fit::{self, FitMap, Residuals};
use crate::solvers::{gradient_check, odf_check, tensor_check};
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Live, LiveKey};
use crate::state::tensors::types::fods::{FodKey, FodSettings, FodSource, TissueChoice};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Everything a fit depends on; a result is used only if its key still matches.
#[derive(Clone, PartialEq, Debug)]
pub struct FitKey {
    /// The scan's image.
    pub scan: DataId,
    /// `None`: the mask is computed from the scan itself.
    pub mask: Option<DataId>,
    pub params: tensor_fit::Params,
}

impl LiveKey for FitKey {}

/// Residuals of one fit; the first job that needs them computes them, and they stay with the tensors.
#[derive(Clone, Debug, Default)]
pub struct ResidualCache(pub Arc<OnceLock<Arc<Residuals>>>);

/// Input of bootstrapped streamlines besides the tensors: the scan of the fit.
#[derive(Clone, Debug)]
pub struct BootstrapInput {
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    /// The mask of the fit.
    pub mask: Mask,
    pub params: tensor_fit::Params,
    pub residuals: ResidualCache,
}

/// The fit, its mask, and checks of its input.
#[derive(Clone, Debug)]
pub enum TensorAction {
    /// Compares all axis permutations and flips of the scan's gradients.
    CheckGradients,
    /// Reads the six volumes of a layer as tensors in every known way.
    CompareOrders(LayerId),
    /// Sets how a layer stores tensors; `None`: it contains none.
    ReadAs {
        layer: LayerId,
        layout: Option<TensorLayout>,
    },
    /// Reads a layer as distributions in every known basis and frame.
    CompareBases(LayerId),
    /// Reads a layer as distributions and uses them; `None`: it contains none.
    ReadDistributions {
        layer: LayerId,
        layout: Option<OdfLayout>,
    },
    /// Permutes and flips axes of the scan's gradients.
    TurnGradients(AxisChange),
    SetFit {
        params: tensor_fit::Params,
    },
    /// Shows a map of the shape of the tensors, which is computed first if it has no layer.
    ShowShape(FitMap),
    /// The mask layer of the fit; `None`: a mask computed from the scan.
    SetMask(Option<LayerId>),
    /// Uses the file next to the scan that appears to be its brain mask.
    TakeOfferedMask,
    /// Sets how fibre orientation distributions are computed, and whether they are.
    SetFods(FodSettings),
    /// Uses the distributions of an image, or those of the scan. An image whose basis is unknown is compared first.
    UseDistributions(FodSource),
    /// Deconvolves with the response functions of these files, white matter first, once they are read.
    ReadResponses(Vec<PathBuf>),
    /// Where the response function of one tissue comes from; each tissue then has its own choice. A file is read first.
    SetResponse {
        tissue: Tissue,
        choice: TissueChoice,
    },
    /// Shows the voxels in which the response functions were measured, as a layer.
    ShowResponseVoxels,
    /// Writes the distributions, their response functions and maps into the folder of this report.
    SaveFods(PathBuf),
}

/// The running fit, and checks of its input.
#[derive(Clone, Debug, Default)]
pub struct TensorRuntime {
    /// Comparison of the gradients' axes, with the scan's image.
    pub axes: Option<(DataId, Arc<gradient_check::Output>)>,
    /// Possible readings of six volumes as tensors, with their layer.
    pub orders: Option<(LayerId, Arc<tensor_check::Output>)>,
    /// Possible readings of an image as distributions, with its layer.
    pub bases: Option<(LayerId, Arc<odf_check::Output>)>,
    /// Schedules the fit; the document holds its result.
    pub live: Live<FitKey, ()>,
    /// Schedules the distributions; the document holds them.
    pub fods: Live<FodKey, ()>,
    /// A file next to a scan that appears to be its brain mask.
    pub offered_mask: Option<OfferedMask>,
}

impl TensorRuntime {
    /// Whether a fit of the document was requested that has not ended.
    pub fn is_fitting(&self) -> bool {
        self.live.running().is_some()
    }
}

/// A file next to a scan that appears to be its brain mask.
#[derive(Clone, PartialEq, Debug)]
pub struct OfferedMask {
    pub scan: DataId,
    pub path: PathBuf,
    /// The user has requested it, and it is being opened.
    pub requested: bool,
}
