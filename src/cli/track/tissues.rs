//! Options that name tissues: an image of fractions, labels, or a mask for each tissue.

use crate::cli::options::{ValueError, noted};
use crate::cli::runner::Failure;
use crate::compute::Control;
use crate::data::tissue_map::{numbering_text, unknown_labels_text};
use crate::data::{Grid, Mask, TissueMap, TissueType};
use crate::io::{self, quoted};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(clap::Args, Debug)]
pub struct TissueOptions {
    /// Tissues for the anatomical rules: five volumes, as MRtrix's 5ttgen writes them, or labels of FreeSurfer or
    /// SynthSeg (also with a table of names beside the image)
    #[arg(long, value_name = "FILE", conflicts_with = "tissue_mask")]
    pub tissues: Option<PathBuf>,
    /// A segmentation of one tissue: cortical-grey, deep-grey, white, csf or other, then = and a mask; several times,
    /// the first one that contains a voxel decides
    #[arg(long, value_name = "TISSUE=FILE", value_parser = tissue_mask)]
    pub tissue_mask: Vec<(TissueType, PathBuf)>,
}

fn tissue_mask(text: &str) -> Result<(TissueType, PathBuf), ValueError> {
    let read = || {
        let (key, file) = text.split_once('=')?;
        let tissue = TissueType::from_key(key)?;
        (!file.is_empty()).then(|| (tissue, PathBuf::from(file)))
    };
    read().ok_or_else(|| {
        let keys = TissueType::KEYS.join(", ");
        ValueError::new(format!("one of {keys}, then = and a mask"), text)
    })
}

impl TissueOptions {
    pub fn any(&self) -> bool {
        self.tissues.is_some() || !self.tissue_mask.is_empty()
    }

    /// The file of the tissues at the end of a sentence; nothing for several.
    pub fn named(&self) -> String {
        let path = self.tissues.iter();
        path.map(|path| format!(": {}", path.display())).collect()
    }

    /// The options as text of a command.
    pub fn arguments(&self) -> String {
        let image = self.tissues.iter();
        let image = image.map(|path| format!(" --tissues {}", quoted(&path.to_string_lossy())));
        let masks = self.tissue_mask.iter().map(|(tissue, path)| {
            let text = format!("{}={}", tissue.key(), path.to_string_lossy());
            format!(" --tissue-mask {}", quoted(&text))
        });
        image.chain(masks).collect()
    }

    /// Reads the tissues; segmentations are taken on the grid of the fibres.
    pub fn open(&self, grid: &Arc<Grid>) -> Result<Option<TissueMap>, Failure> {
        if let Some(path) = &self.tissues {
            let refused =
                |e: &dyn std::fmt::Display| Failure::new(format!("{e}: {}", path.display()));
            let io::Opened::Volume(volume, _) = io::open(path, &Control::new())? else {
                return Err(Failure::new(format!(
                    "Found streamlines, expected an image of tissues; name one: {}",
                    path.display()
                )));
            };
            if volume.frames != 1 {
                return TissueMap::from_volume(&volume)
                    .map(Some)
                    .map_err(|e| refused(&e));
            }
            let (map, unknown) = TissueMap::from_labels(&volume).map_err(|e| refused(&e))?;
            if let Some(text) = numbering_text(&volume) {
                note!(
                    "{text}; if they are others, name them in a table beside the image: {}",
                    path.display()
                );
            }
            if let Some(text) = unknown_labels_text(&unknown) {
                warning!(
                    "{text}; rename them in the table of labels: {}",
                    path.display()
                );
            }
            return Ok(Some(map));
        }
        if self.tissue_mask.is_empty() {
            return Ok(None);
        }
        let mut masks: Vec<(TissueType, Mask)> = Vec::new();
        for (tissue, path) in &self.tissue_mask {
            masks.push((*tissue, noted(io::mask_on_own_grid(path), path)?));
        }
        let masks: Vec<(TissueType, &Mask)> = masks.iter().map(|(t, m)| (*t, m)).collect();
        let map = TissueMap::from_masks(grid, &masks);
        map.map(Some).map_err(|e| Failure::new(e.to_string()))
    }
}
