//! The command of a COMMIT fit.

use crate::parameters::arguments;
use crate::solvers::commit::Params;
use crate::solvers::commit::model::Intra;
use crate::state::core::chain::chain;
use crate::state::core::text::quoted_path;
use crate::state::filter::ScanTimings;
use crate::state::streamlines::recipe::StreamlineInput;
use crate::state::tensors::recipe::ScanSource;
use crate::state::tensors::recipe::fod::{FodArguments, FodMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The command of weights and their maps.
#[derive(Clone, PartialEq, Debug)]
pub struct CommitCommand {
    /// The streamlines.
    pub streamlines: StreamlineInput,
    pub scan: ScanSource,
    pub mask: Option<PathBuf>,
    pub peaks: Option<PathBuf>,
    /// Distributions whose peaks are computed first.
    pub fods: Option<FodArguments>,
    pub times: ScanTimings,
    pub params: Params,
    /// Shells of the scan, on which defaults depend.
    pub shells: usize,
    /// The smallest weight of the streamlines that are kept.
    pub min_weight: f32,
    /// An input that no file holds: a mask, peaks.
    pub unfiled: Option<String>,
}

impl CommitCommand {
    /// Why there is no command.
    pub fn no_command(&self) -> Option<String> {
        if let Some(what) = &self.unfiled {
            return Some(format!(
                "There is no command for these weights, since “{what}” is not in a file: export it first, or \
                 save the session, whose command recomputes all of it"
            ));
        }
        self.streamlines.no_command.clone()
    }

    pub fn text(&self, out: &Path) -> String {
        let StreamlineInput { tracks, first, .. } = &self.streamlines;
        let folder = Path::new("fod");
        let fods = self.fods.as_ref().map(|fods| fods.command(folder));
        let mut commands = first.clone();
        commands.extend(fods);
        let mut text = format!("arcuate commit {tracks} {}", self.scan.arguments());
        if let Some(mask) = &self.mask {
            let _ = write!(text, " --mask {}", quoted_path(mask));
        }
        if let Some(peaks) = &self.peaks {
            let _ = write!(text, " --peaks {}", quoted_path(peaks));
        }
        if self.fods.is_some() {
            let file = format!("{}.nii.gz", FodMap::Peaks.key());
            let _ = write!(text, " --peaks {}", quoted_path(&folder.join(file)));
        }
        text += &self.of_params();
        if self.min_weight > 0.0 {
            text += " --filtered kept.trx";
        }
        // Without the option any weight counts.
        if self.min_weight > f32::MIN_POSITIVE {
            let _ = write!(text, " --threshold {}", self.min_weight);
        }
        text += &format!(" --out {}", quoted_path(out));
        commands.push(text.into());
        chain(commands)
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
            ScanTimings::Unknown => {}
            ScanTimings::Both(t) => {
                let _ = write!(text, " --pulse {} --between {}", t.pulse_ms, t.between_ms);
            }
            ScanTimings::Scheme { path: file, .. } => {
                let _ = write!(text, " --scheme {}", quoted_path(file));
            }
        }
        text
    }
}
