//! Sentences about distributions, for commands and for the window's report.

use crate::data::text::counted;
use crate::solvers::response::{Doubt, MIN_VOXELS, TissueResponse};
use crate::state::tensors::types::fods::Fods;

/// Doubts about the response functions in use, one sentence each.
pub fn doubts(fods: &Fods) -> Vec<String> {
    let is_used = |m: &&TissueResponse| fods.responses.iter().any(|(t, _)| *t == m.tissue);
    let measured = fods.measured.iter().filter(is_used);
    let sentence = |measured: &TissueResponse| {
        let (tissue, voxels) = (measured.tissue.name(), measured.voxels.count());
        Some(match measured.doubt()? {
            Doubt::FewVoxels => format!(
                "The response function of {tissue} was measured in {}, expected at least {MIN_VOXELS}; choose a larger \
                 mask, take more voxels, or read it from a file",
                counted(voxels, "voxel")
            ),
            Doubt::NearlyAll => format!(
                "The response function of {tissue} was measured in {voxels} of {}, expected at most half of them, since \
                 fibres cross in most voxels; take fewer voxels, choose a larger mask, or read it from a file",
                counted(measured.candidates.unwrap_or(voxels), "voxel")
            ),
        })
    };
    measured.filter_map(sentence).collect()
}

/// Says that only the shell with the highest b is used, if the scan has other shells with diffusion weighting.
pub fn outer_shell_alone(fods: &Fods) -> Option<String> {
    let shells = &fods.output.shells.shells;
    let mut unused = shells.iter().take(fods.used_shells.start);
    unused.any(|shell| shell.is_weighted()).then(|| {
        "Only the shell with the highest b is used, since white matter is the only tissue"
            .to_owned()
    })
}
