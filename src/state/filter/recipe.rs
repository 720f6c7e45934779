//! The recipe of a COMMIT fit, with its command.

use crate::parameters::arguments;
use crate::solvers::commit::Params;
use crate::solvers::commit::model::Intra;
use crate::state::core::text::quoted_path;
use crate::state::filter::Times;
use crate::state::recipe;
use crate::state::recipe::Recipe;
use crate::state::tensors::recipe::Source;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Recipe of weights and their maps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitRecipe {
    /// The recipe of the streamlines.
    pub of: Box<Recipe>,
    pub scan: Source,
    pub mask: Option<PathBuf>,
    pub peaks: Option<PathBuf>,
    pub times: Times,
    pub params: Params,
    /// Shells of the scan, on which defaults depend.
    pub shells: usize,
    /// The smallest weight of the streamlines that are kept.
    pub least: f32,
    /// An input that no file holds: a mask, peaks.
    pub unfiled: Option<String>,
}

impl CommitRecipe {
    /// Why there is no command.
    pub fn no_command(&self) -> Option<String> {
        if let Some(what) = &self.unfiled {
            return Some(format!(
                "There is no command for these weights, since \"{what}\" is not in a file: export it first, or \
                 save the session, whose command recomputes all of it"
            ));
        }
        self.of.no_command()
    }

    pub fn command(&self, out: &Path) -> String {
        let (made, tracks) = recipe::streamlines(&self.of);
        let made: String = made.map(|made| format!("{made} && ")).unwrap_or_default();
        let mut text = format!("{made}arcuate commit {tracks} {}", self.scan.arguments());
        if let Some(mask) = &self.mask {
            let _ = write!(text, " --mask {}", quoted_path(mask));
        }
        if let Some(peaks) = &self.peaks {
            let _ = write!(text, " --peaks {}", quoted_path(peaks));
        }
        text += &self.of_params();
        if self.least > 0.0 {
            text += " --filtered kept.trx";
        }
        // Without the option any weight counts.
        if self.least > f32::MIN_POSITIVE {
            let _ = write!(text, " --threshold {}", self.least);
        }
        text + &format!(" --out {}", quoted_path(out))
    }

    /// The parameters, including those not in their table.
    fn of_params(&self) -> String {
        let mut text = arguments(&self.params);
        if let Intra::GammaCylinders { radii, .. } = &self.params.model.intra {
            for radius in radii {
                let _ = write!(text, " --gamma {},{}", radius.shape, radius.scale_um);
            }
        }
        match &self.times {
            Times::Unknown => {}
            Times::Both(t) => {
                let _ = write!(text, " --pulse {} --between {}", t.pulse_ms, t.between_ms);
            }
            Times::Scheme { path: file, .. } => {
                let _ = write!(text, " --scheme {}", quoted_path(file));
            }
        }
        text
    }
}
