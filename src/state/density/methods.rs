//! The methods text of density maps.

use crate::data::text::counted;
use crate::solvers::density::{DensityGrid, Measure, Params};
use crate::state::Document;
use crate::state::core::citations::Citations;
use crate::state::core::settings::other_settings;
use std::fmt::Write as _;

const VISITS: &str = "Behrens TEJ, Woolrich MW, Jenkinson M, et al. (2003). Characterization and propagation of \
    uncertainty in diffusion-weighted MR imaging. Magnetic Resonance in Medicine 50:1077–1088.";
const TRACK_DENSITY: &str = "Calamante F, Tournier JD, Jackson GD, Connelly A (2010). Track-density imaging (TDI): \
    super-resolution white matter imaging using whole-brain track-density mapping. NeuroImage 53:1233–1243.";

pub(in crate::state) fn maps(document: &Document, citations: &mut Citations) -> String {
    let mut text = String::new();
    for layer in &document.layers {
        let (Some(map), Some(volume)) = (document.density_map(layer.id), layer.content.volume())
        else {
            continue;
        };
        let tractogram_name = document
            .layer(map.input.layer)
            .map(|l| format!(" “{}”", l.name));
        let tractogram_name = tractogram_name.unwrap_or_default();
        let what = match (map.params.measure, map.params.sent) {
            (Measure::Visits, Some(sent)) => format!(
                "the fraction of {} sent that pass through each voxel, from{tractogram_name} {}",
                counted(sent as usize, "streamline"),
                citations.cite(VISITS)
            ),
            (Measure::Visits, None) => {
                format!("how many streamlines of{tractogram_name} pass through each voxel")
            }
            (Measure::Length, _) => {
                format!("the length of the streamlines{tractogram_name} in each voxel")
            }
        };
        let mm = volume.grid.spacing();
        let _ = write!(
            text,
            " “{}” maps {what}, in voxels of {:.2} × {:.2} × {:.2} mm",
            layer.name, mm.x, mm.y, mm.z
        );
        if !matches!(map.grid, DensityGrid::Grid(_)) {
            let _ = write!(text, " {}", citations.cite(TRACK_DENSITY));
        }
        if map.params.by_direction {
            text += ", coloured by their direction";
        }
        text += ".";
        let stated: &[&str] = match map.params.measure {
            Measure::Visits => &["measure", "sent", "by-direction"],
            Measure::Length => &["measure", "by-direction"],
        };
        text += &other_settings(&map.params, &Params::defaults(), stated);
    }
    text
}
