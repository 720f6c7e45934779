//! The recipe of fibre orientation distributions, with its command.

mod responses;

pub use crate::solvers::response::ResponseAlgorithm;
pub use responses::{ROWS_OF_MASKS, ResponseSource, TissueSource, used_rows};

use crate::data::odf_field::Tissue;
use crate::data::text::file_name;
use crate::data::{ShellCommand, keyed};
use crate::parameters::{Parameters, arguments};
use crate::solvers::{csd, peaks, response};
use crate::state::core::text::quoted_path;
use crate::state::tensors::recipe::ScanSource;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder of the distributions that a command estimates first, and their file in it.
pub const FODS_FOLDER: &str = "fod";
pub const WHITE_MATTER_FILE: &str = "wm_fod.nii.gz";

/// A file besides the distributions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FodMap {
    Peaks,
    /// Integral of the distribution over each lobe.
    Afd,
    /// Integral over the sphere.
    AfdTotal,
    Dispersion,
    Complexity,
    /// Direction encoded colour.
    Dec,
    Fractions,
    /// The lobes of all voxels as MRtrix's lists, in a folder of their own.
    Fixels,
    /// The voxels in which the response functions were measured.
    ResponseVoxels,
    /// Cone of uncertainty of each peak, degrees.
    Cone,
    /// Dispersion of each peak over the repetitions of a bootstrap.
    PeakDispersion,
}

keyed!(FodMap, serde {
    Peaks = "peaks",
    Afd = "afd",
    AfdTotal = "afd_total",
    Dispersion = "dispersion",
    Complexity = "complexity",
    Dec = "dec",
    Fractions = "fractions",
    Fixels = "fixels",
    ResponseVoxels = "response_voxels",
    Cone = "cone",
    PeakDispersion = "peak_dispersion",
});

impl FodMap {
    /// The maps that the command writes by default.
    pub const DEFAULT: &'static str = "peaks,afd,afd_total,complexity,fractions";

    /// The maps that become layers of the window, from the bottom to the top.
    pub const SHOWN: [Self; 6] = [
        Self::Fractions,
        Self::PeakDispersion,
        Self::Cone,
        Self::Complexity,
        Self::AfdTotal,
        Self::Dec,
    ];

    /// The maps that need a bootstrap.
    pub const OF_BOOTSTRAP: [Self; 2] = [Self::Cone, Self::PeakDispersion];

    /// The name of its layer.
    pub fn layer_name(self) -> &'static str {
        match self {
            Self::Peaks => "Peaks",
            Self::Afd => "AFD of lobes",
            Self::AfdTotal => "AFD",
            Self::Dispersion => "Dispersion of lobes",
            Self::Complexity => "Complexity",
            Self::Dec => "DEC of fibres",
            Self::Fractions => "Tissue fractions",
            Self::Fixels => "Fixels",
            Self::ResponseVoxels => "Response voxels",
            Self::Cone => "Cone of uncertainty",
            Self::PeakDispersion => "Dispersion of peaks",
        }
    }

    /// Whether it needs the peaks.
    pub fn is_of_peaks(self) -> bool {
        matches!(self, Self::Peaks | Self::Fixels)
    }

    /// Whether it needs the integral over each lobe.
    pub fn is_of_lobes(self) -> bool {
        !matches!(self, Self::Peaks | Self::Fractions | Self::ResponseVoxels)
    }

    /// Whether only an estimation from a scan has it: an image of distributions is that of one tissue.
    pub fn is_of_scan(self) -> bool {
        matches!(self, Self::Fractions | Self::ResponseVoxels) && !self.is_of_bootstrap()
    }

    /// Whether it needs the repetitions of a bootstrap.
    pub fn is_of_bootstrap(self) -> bool {
        Self::OF_BOOTSTRAP.contains(&self)
    }
}

/// The maps that are written with distributions, as the command does by default; those of a bootstrap only with one.
pub const SAVED_MAPS: [FodMap; 7] = [
    FodMap::Peaks,
    FodMap::Afd,
    FodMap::AfdTotal,
    FodMap::Complexity,
    FodMap::Fractions,
    FodMap::Cone,
    FodMap::PeakDispersion,
];

/// A scan, its mask, its response functions and the parameters of the deconvolution, as arguments of a command.
#[derive(Clone, PartialEq, Debug)]
pub struct FodArguments {
    pub source: ScanSource,
    /// `None`: the mask is computed from the scan itself.
    pub mask: Option<PathBuf>,
    pub responses: ResponseSource,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
    pub maps: Vec<FodMap>,
}

impl FodArguments {
    /// The command that writes these distributions and maps into a folder.
    pub fn command(&self, out: &Path) -> ShellCommand {
        let mut text = format!("arcuate fod {}", self.source.arguments());
        if let Some(mask) = &self.mask {
            let _ = write!(text, " --mask {}", quoted_path(mask));
        }
        text += &self.responses.arguments(&self.response_params);
        if self.responses != ResponseSource::NotUsed {
            text += &arguments(&self.params);
        }
        text += &arguments(&self.peak_params);
        let maps: Vec<&str> = self.maps.iter().map(FodMap::key).collect();
        ShellCommand::with_maps(text, &maps, format!(" --out {}", quoted_path(out)))
    }

    /// The parameters of the peaks as JSON.
    pub fn peak_json(&self) -> serde_json::Value {
        crate::parameters::json(&self.peak_params)
    }

    /// The parameters of the response functions that have an effect, as JSON; null for those from files.
    pub fn response_json(&self) -> serde_json::Value {
        let keys = self.responses.rows();
        if keys.is_empty() {
            return serde_json::Value::Null;
        }
        let mut all = crate::parameters::json(&self.response_params);
        let rows = response::Params::TABLE
            .iter()
            .filter(|row| !keys.contains(&row.key));
        if let Some(members) = all.as_object_mut() {
            for row in rows {
                members.remove(&row.member());
            }
        }
        all
    }
}

/// The parameters of a deconvolution as JSON.
pub fn deconvolution_json(params: &csd::Params) -> serde_json::Value {
    crate::parameters::json(params)
}

/// The tissues of response files: by their names if these agree with white matter first, otherwise by their number.
pub fn tissues_of_files(files: &[PathBuf]) -> Vec<Tissue> {
    let name = |path: &Path| {
        let name = file_name(path);
        Tissue::in_name(&name)
    };
    let named: Option<Vec<Tissue>> = files.iter().map(|path| name(path)).collect();
    let by_number = match files.len() {
        2 => vec![Tissue::WhiteMatter, Tissue::Csf],
        _ => Tissue::ALL.to_vec(),
    };
    let is_usable = |tissues: &Vec<Tissue>| {
        let differ = (1..tissues.len()).all(|i| !tissues[..i].contains(&tissues[i]));
        differ && tissues.first() == Some(&Tissue::WhiteMatter)
    };
    named.filter(is_usable).unwrap_or(by_number)
}
