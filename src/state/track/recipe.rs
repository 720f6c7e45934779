//! The recipe of kept streamlines and rays, and the command of streamlines along distributions.

use crate::data::{Region, ShellCommand};
use crate::parameters::arguments;
use crate::solvers::geodesic::Cut;
use crate::solvers::odf_tracking;
use crate::state::core::layer::{Input, OriginId};
use crate::state::core::text::quoted_path;
use crate::state::regions::recipe::{RegionSpec, region_arguments};
use crate::state::tensors::recipe::fod::{FODS_FOLDER, FodArguments, WHITE_MATTER_FILE};
use crate::state::track::types::CurveParams;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The recipe of kept streamlines or rays.
#[derive(Clone, PartialEq, Debug)]
pub struct CurveRecipe {
    /// The fit of the tensors, or the distributions.
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub curves: CurveParams,
    /// Tissues of anatomical rules; only along distributions.
    pub tissues: Option<Input>,
    pub cut: Cut,
}

/// Streamlines along distributions, which a command before it estimates from the scan.
#[derive(Clone, PartialEq, Debug)]
pub struct OdfTrackingCommand {
    pub fods: FodArguments,
    pub tissues: Option<PathBuf>,
    /// Name of the layer with the tissues, if no file holds it.
    pub unfiled: Option<String>,
    pub regions: Vec<RegionSpec>,
    pub params: odf_tracking::Params,
}

impl OdfTrackingCommand {
    /// Why there is no command, and what to do about it.
    pub fn no_command(&self) -> Option<String> {
        let name = self.unfiled.as_ref()?;
        Some(format!(
            "There is no command for these streamlines, since the tissues “{name}” are in no file: export that layer \
             first, or save the session, whose command recomputes all of it"
        ))
    }

    /// The estimation of the distributions and the tracking.
    pub fn commands(&self, out: &Path) -> Vec<ShellCommand> {
        if let Some(sentence) = self.no_command() {
            return vec![format!("# {sentence}").into()];
        }
        let folder = Path::new(FODS_FOLDER);
        let image = folder.join(WHITE_MATTER_FILE);
        let mut text = "arcuate track".to_owned();
        if self.params.repetitions.is_some() {
            // The command before writes the response functions beside the image, where tracking finds them.
            let _ = write!(text, " {}", self.fods.source.arguments());
        }
        let _ = write!(text, " --fod {}", quoted_path(&image));
        if let Some(tissues) = &self.tissues {
            let _ = write!(text, " --tissues {}", quoted_path(tissues));
        }
        text += &region_arguments(&self.regions);
        text += &arguments(&self.params);
        text += &format!(" --out {}", quoted_path(out));
        vec![self.fods.command(folder), text.into()]
    }
}
