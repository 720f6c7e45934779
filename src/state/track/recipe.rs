//! The recipe of kept streamlines and rays, and the commands of those along distributions.

use crate::data::{Region, ShellCommand};
use crate::parameters::{Parameters, arguments, arguments_of};
use crate::solvers::geodesic::{Cut, OdfSpeed, Rays, TENSORS_ONLY};
use crate::solvers::{curves, odf_tracking};
use crate::state::core::layer::{Input, OriginId};
use crate::state::core::text::quoted_path;
use crate::state::regions::recipe::{RegionSpec, region_arguments};
use crate::state::tensors::recipe::fod::{FODS_FOLDER, FodArguments, WHITE_MATTER_FILE};
use crate::state::track::types::CurveParams;
use crate::state::track::types::odf::OdfRays;
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

/// Rays along distributions, which a command before it estimates or reads.
#[derive(Clone, PartialEq, Debug)]
pub struct OdfRayCommand {
    pub fods: FodArguments,
    pub regions: Vec<RegionSpec>,
    pub rays: OdfRays,
}

impl OdfRayCommand {
    /// The estimation of the distributions and the rays along them.
    pub fn commands(&self, out: &Path) -> Vec<ShellCommand> {
        let folder = Path::new(FODS_FOLDER);
        let image = folder.join(WHITE_MATTER_FILE);
        let mut text = format!("arcuate geodesic --fod {}", quoted_path(&image));
        text += &region_arguments(&self.regions);
        text += &odf_ray_arguments(&self.rays.rays, &self.rays.speed);
        text += &format!(" --out {}", quoted_path(out));
        vec![self.fods.command(folder), text.into()]
    }
}

/// The options of `arcuate geodesic --fod` for these rays: those of all curves, of rays, and of their speed.
pub fn odf_ray_arguments(rays: &Rays, speed: &OdfSpeed) -> String {
    // By default rays run in one direction, which a row of their own sets.
    let walk = curves::Params {
        both_ways: true,
        deflection: None,
        repetitions: None,
        ..rays.params.curves.clone()
    };
    arguments_of(&walk, &lobe_rows::<curves::Params>())
        + &arguments_of(rays, &lobe_rows::<Rays>())
        + &arguments(speed)
}

/// Keys of the rows that have an effect in distributions.
fn lobe_rows<P: Parameters>() -> Vec<&'static str> {
    let keys = P::TABLE.iter().map(|row| row.key);
    keys.filter(|key| !TENSORS_ONLY.contains(key)).collect()
}
