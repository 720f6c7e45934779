//! The files that are written with distributions.

use crate::data::odf_field::Tissue;
use crate::data::text::file_name;
use crate::state::tensors::jobs::fod::{ENDING as FOD_ENDING, FodFiles};
use crate::state::tensors::recipe::fod::{FodMap, SAVED_MAPS};
use std::path::{Path, PathBuf};

/// The files beside the report of distributions of these tissues.
pub(super) fn files_of_distributions(
    tissues: &[Tissue],
    masks: &[Tissue],
    with_bootstrap: bool,
    report: &Path,
) -> Vec<(String, PathBuf)> {
    let files = FodFiles {
        folder: report.parent().unwrap_or(Path::new("")),
        ending: FOD_ENDING,
    };
    let maps = SAVED_MAPS.iter().copied();
    let maps: Vec<FodMap> = maps
        .filter(|map| *map != FodMap::Fractions || tissues.len() > 1)
        .filter(|map| with_bootstrap || !map.is_of_bootstrap())
        .collect();
    let all = files.all(tissues.iter().copied(), &maps);
    // The first is the report itself.
    let others = all.into_iter().skip(1);
    let others = others.chain(masks.iter().map(|tissue| files.mask(*tissue)));
    let described = others.map(|path| (format!("Writes {}", file_name(&path)), path));
    described.collect()
}
