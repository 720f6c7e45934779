//! The truth of every phantom except the plain head, which `arcuate score` reads: true fibres and corridor of each bundle, end regions,
//! tissue fractions.

use super::{Failure, Options, Runner};
use crate::compute::{Cancelled, Control};
use crate::data::labels::Labels;
use crate::data::{Grid, Tractogram, Volume};
use crate::io;
use crate::io::truth::{BundleFiles, TruthFiles};
use crate::jobs::ValueNames;
use crate::phantom::{Bundle, BundleRegions, Head, ScanParams, TRUTH_FIBRES};
use crate::state::files::jobs::{SaveMask, SaveTractogram, SaveVolume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ENDS: &str = "ends.nii.gz";
pub const TISSUES: &str = "5tt.nii.gz";
/// Folders with a file for each bundle.
pub const FOLDERS: [&str; 2] = ["bundles", "corridors"];

/// `Corpus callosum, genu` as a file name: `corpus_callosum_genu`.
fn stem(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    let parts: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_lowercase)
        .collect();
    parts.join("_")
}

fn bundle_files(bundle: &Bundle) -> BundleFiles {
    let [start, end] = BundleRegions::end_labels(bundle).map(u32::from);
    let stem = stem(&bundle.name);
    let [fibres, corridors] = FOLDERS.map(PathBuf::from);
    BundleFiles {
        name: bundle.name.clone(),
        start,
        end,
        fibres: fibres.join(format!("{stem}.tck")),
        corridor: corridors.join(format!("{stem}.nii.gz")),
    }
}

/// The members of truth.json about the bundles.
pub fn members(head: &Head) -> TruthFiles {
    TruthFiles {
        ends: PathBuf::from(ENDS),
        bundles: head.bundles().iter().map(bundle_files).collect(),
    }
}

/// All files besides truth.json.
pub fn files(head: &Head) -> Vec<PathBuf> {
    let files = members(head);
    let table = io::label_table::table_path(&files.ends);
    let mut all = vec![files.ends, table, PathBuf::from(TISSUES)];
    for bundle in files.bundles {
        all.extend([bundle.fibres, bundle.corridor]);
    }
    all
}

/// The images of the truth, before they are saved.
pub struct TruthImages {
    regions: BundleRegions,
    tissues: Volume,
}

impl TruthImages {
    /// Memory that they take per voxel while they are made, in numbers of four bytes.
    pub fn numbers_per_voxel(head: &Head) -> usize {
        1 + 2 * 5 + head.bundles().len().div_ceil(size_of::<f32>())
    }

    pub fn new(head: &Head, grid: &Arc<Grid>, control: &Control) -> Result<Self, Cancelled> {
        Ok(Self {
            regions: head.bundle_regions(grid, control)?,
            tissues: head.five_tissues(grid, control)?,
        })
    }

    pub fn save(
        &self,
        head: &Head,
        (options, params): (&Options, &ScanParams),
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        let at = |path: &Path| options.folder().join(path);
        let files = members(head);
        let volumes = [
            (&files.ends, &self.regions.ends),
            (&PathBuf::from(TISSUES), &self.tissues),
        ];
        for (path, volume) in volumes {
            runner.run(SaveVolume {
                source: None,
                volume: volume.clone(),
                path: at(path),
                command: options.command(params),
            })?;
        }
        let colours = Labels::default();
        let rows = self.regions.names.iter().map(|(number, name)| {
            let number = u32::from(*number);
            (number, name.as_str(), colours.colour(number))
        });
        io::label_table::save(&at(&files.ends), rows)?;
        let bundles = head.bundles().iter().zip(&self.regions.corridors);
        for ((bundle, corridor), files) in bundles.zip(&files.bundles) {
            runner.run(SaveTractogram {
                tractogram: Tractogram::of_curves(bundle.fibres(TRUTH_FIBRES)),
                path: at(&files.fibres),
                command: options.command(params),
                values: ValueNames::default(),
            })?;
            runner.run(SaveMask {
                mask: corridor.clone(),
                path: at(&files.corridor),
                command: options.command(params),
            })?;
        }
        Ok(())
    }
}
