//! Source of response functions, with its options.

use super::ResponseAlgorithm;
use crate::data::odf_field::Tissue;
use crate::io::quoted;
use crate::parameters::arguments_of;
use crate::solvers::response;
use crate::state::core::text::quoted_path;
use crate::state::regions::recipe::ShapeSpec;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The row of [`response::Params`] that masks use.
pub const ROWS_OF_MASKS: &[&str] = &["response-order"];

/// The rows of [`response::Params`] that have an effect with an algorithm, with masks in which tissues are measured, or
/// with both: an algorithm uses the rows of masks, too.
pub fn used_rows(algorithm: Option<ResponseAlgorithm>, has_masks: bool) -> &'static [&'static str] {
    match algorithm {
        Some(algorithm) => algorithm.rows(),
        None if has_masks => ROWS_OF_MASKS,
        None => &[],
    }
}

/// Source of response functions.
#[derive(Clone, PartialEq, Debug)]
pub enum ResponseSource {
    /// MRtrix's text files, white matter first.
    Files(Vec<PathBuf>),
    Algorithm(ResponseAlgorithm),
    /// One source per tissue, white matter first; the algorithm is for those that name no other.
    Each {
        algorithm: Option<ResponseAlgorithm>,
        tissues: Vec<(Tissue, TissueSource)>,
    },
    /// The source of the distributions holds them, not signals.
    NotUsed,
}

/// Source of the response function of one tissue.
#[derive(Clone, PartialEq, Debug)]
pub enum TissueSource {
    /// The algorithm for the whole scan.
    Algorithm,
    /// A text file of MRtrix.
    File(PathBuf),
    /// The voxels of a mask on the scan's grid.
    Mask(PathBuf),
    /// The voxels of the scan whose centres lie in a region.
    Region(ShapeSpec),
    /// The voxels of a region whose mask has no file, by its name.
    NoFile(String),
}

impl TissueSource {
    /// The file or the region as text; `None` for the algorithm.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Algorithm => None,
            Self::File(path) | Self::Mask(path) => Some(path.to_string_lossy().into_owned()),
            Self::Region(shape) => Some(shape.to_string()),
            Self::NoFile(name) => Some(name.clone()),
        }
    }

    fn is_measured_in_mask(&self) -> bool {
        matches!(self, Self::Mask(_) | Self::Region(_) | Self::NoFile(_))
    }
}

impl ResponseSource {
    /// For JSON.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Files(_) => "files",
            Self::Algorithm(algorithm) => algorithm.key(),
            Self::Each { tissues, .. } if tissues.iter().all(|(_, s)| s.is_measured_in_mask()) => {
                "masks"
            }
            Self::Each { .. } => "each",
            Self::NotUsed => "not_used",
        }
    }

    /// The rows of [`response::Params`] that have an effect.
    pub fn rows(&self) -> &'static [&'static str] {
        match self {
            Self::Files(_) | Self::NotUsed => &[],
            Self::Algorithm(algorithm) => used_rows(Some(*algorithm), false),
            Self::Each { algorithm, tissues } => {
                let is_measured = tissues.iter().any(|(_, s)| s.is_measured_in_mask());
                used_rows(*algorithm, is_measured)
            }
        }
    }

    /// A region whose mask has no file, so that no command can name it.
    pub fn region_without_file(&self) -> Option<&str> {
        let Self::Each { tissues, .. } = self else {
            return None;
        };
        tissues.iter().find_map(|(_, source)| match source {
            TissueSource::NoFile(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether the response function of a tissue was measured in a region without a file.
    pub fn is_without_file(&self, tissue: Tissue) -> bool {
        let Self::Each { tissues, .. } = self else {
            return false;
        };
        let mut own = tissues.iter().filter(|(own, _)| *own == tissue);
        own.any(|(_, source)| matches!(source, TissueSource::NoFile(_)))
    }

    /// Names the file that holds the mask of a region without one.
    pub fn name_file(&mut self, tissue: Tissue, mask: &Path) {
        let Self::Each { tissues, .. } = self else {
            return;
        };
        for (_, source) in tissues.iter_mut().filter(|(own, _)| *own == tissue) {
            if let TissueSource::NoFile(_) = source {
                *source = TissueSource::Region(ShapeSpec::Mask(mask.to_owned()));
            }
        }
    }

    /// The options of the command `fod`.
    pub fn arguments(&self, params: &response::Params) -> String {
        let mut text = String::new();
        match self {
            Self::Files(files) => {
                for file in files {
                    let _ = write!(text, " --responses {}", quoted_path(file));
                }
            }
            Self::Algorithm(algorithm) => {
                let _ = write!(text, " --response-algorithm {}", algorithm.key());
            }
            Self::Each { algorithm, tissues } => text += &each_arguments(*algorithm, tissues),
            Self::NotUsed => {}
        }
        text + &arguments_of(params, self.rows())
    }
}

fn each_arguments(
    algorithm: Option<ResponseAlgorithm>,
    tissues: &[(Tissue, TissueSource)],
) -> String {
    let mut text = String::new();
    if let Some(algorithm) = algorithm {
        let _ = write!(text, " --response-algorithm {}", algorithm.key());
    }
    for (tissue, source) in tissues {
        let key = tissue.key();
        let _ = match source {
            TissueSource::Algorithm => Ok(()),
            TissueSource::File(path) => write!(text, " --{key}-response {}", quoted_path(path)),
            TissueSource::Mask(path) => write!(text, " --{key}-mask {}", quoted_path(path)),
            TissueSource::Region(shape) => {
                write!(text, " --{key}-mask {}", quoted(&shape.to_string()))
            }
            TissueSource::NoFile(name) => write!(text, " --{key}-mask {}", quoted(name)),
        };
    }
    if algorithm == Some(ResponseAlgorithm::Dhollander) {
        // It would estimate the others as well.
        let is_named = |tissue: &Tissue| tissues.iter().any(|(named, _)| named == tissue);
        for tissue in Tissue::ALL.iter().filter(|tissue| !is_named(tissue)) {
            let _ = write!(text, " --leave-out {}", tissue.key());
        }
    }
    text
}
