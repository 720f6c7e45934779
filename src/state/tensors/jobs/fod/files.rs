//! Files of distributions, as the command `fod` writes them into a folder.

use super::images::{FIXEL_IMAGES, fixels};
use super::{map_image, report};
use crate::compute::Control;
use crate::data::odf_field::Tissue;
use crate::data::{Gradients, Mask, Volume};
use crate::io;
use crate::jobs::{JobError, Saved, Worker};
use crate::solvers::csd;
use crate::state::command_line::NoCommand;
use crate::state::files::jobs::{SaveSet, WriteFile};
use crate::state::tensors::recipe::fod::{FodArguments, FodMap};
use crate::state::tensors::types::fods::Fods;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The report of a run, which says how it was computed.
const REPORT: &str = "fod.json";

/// Names of the files in a folder.
#[derive(Clone, Copy)]
pub struct FodFiles<'a> {
    pub folder: &'a Path,
    /// Ending of the images.
    pub ending: &'a str,
}

impl FodFiles<'_> {
    pub fn report(&self) -> PathBuf {
        self.folder.join(REPORT)
    }

    pub fn image(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{}", self.ending))
    }

    pub fn response(&self, tissue: Tissue) -> PathBuf {
        self.folder.join(format!("{}_response.txt", tissue.key()))
    }

    /// The image of a tissue: distributions, or amounts.
    pub fn tissue_image(&self, tissue: Tissue) -> PathBuf {
        match tissue {
            Tissue::WhiteMatter => self.image("wm_fod"),
            other => self.image(other.key()),
        }
    }

    /// The folder of the images of fixels.
    pub fn fixel_folder(&self) -> PathBuf {
        self.folder.join(FodMap::Fixels.key())
    }

    /// The files of a map.
    fn files_of(&self, map: FodMap) -> Vec<PathBuf> {
        let folder = self.fixel_folder();
        match map {
            FodMap::Fixels => FIXEL_IMAGES
                .map(|name| io::fixels::path(&folder, name))
                .into(),
            _ => vec![self.image(map.key())],
        }
    }

    /// The voxels in which the response function of a tissue was measured, if no other file holds them.
    pub fn mask(&self, tissue: Tissue) -> PathBuf {
        self.image(&format!("{}_response_mask", tissue.key()))
    }

    /// All files that a run with these tissues and maps writes, the report first.
    pub fn all(&self, tissues: impl IntoIterator<Item = Tissue>, maps: &[FodMap]) -> Vec<PathBuf> {
        let tissues = tissues.into_iter();
        let of_tissues = tissues.flat_map(|t| [self.tissue_image(t), self.response(t)]);
        let maps = maps.iter().flat_map(|map| self.files_of(*map));
        let report = std::iter::once(self.report());
        report.chain(of_tissues).chain(maps).collect()
    }

    /// The images by their paths.
    pub fn images(&self, fods: &Fods, maps: &[FodMap]) -> Vec<(PathBuf, Volume)> {
        let output = &fods.output;
        let fibres = self.tissue_image(Tissue::WhiteMatter);
        let mut images = vec![(fibres, output.field.volume())];
        let others = fods.responses.iter().skip(1);
        for ((tissue, _), amount) in others.zip(&output.tissues) {
            images.push((self.tissue_image(*tissue), amount.clone()));
        }
        for map in maps {
            let volume = map_image(*map, fods);
            images.extend(volume.map(|volume| (self.image(map.key()), volume)));
        }
        if maps.contains(&FodMap::Fixels) {
            let folder = self.fixel_folder();
            let all = fixels(fods).into_iter();
            images.extend(all.map(|(name, volume)| (io::fixels::path(&folder, &name), volume)));
        }
        images
    }

    /// The response functions by their paths.
    pub fn texts(&self, fods: &Fods) -> Vec<(PathBuf, String)> {
        let texts = fods.responses.iter().map(|(tissue, response)| {
            let path = self.response(*tissue);
            (path, io::response::text(response))
        });
        texts.collect()
    }
}

/// Writes distributions, their response functions, maps and a report into the folder of a file.
#[derive(Clone, Debug)]
pub struct SaveFods {
    pub fods: Arc<Fods>,
    /// The gradients of the scan; `None` for distributions that were read.
    pub gradients: Option<Arc<Gradients>>,
    /// How they were computed, with the maps to write.
    pub recipe: FodArguments,
    pub params: csd::Params,
    /// Regions without a file in which response functions were measured: their masks are written, too, so that the
    /// command in the report can be repeated.
    pub masks: Vec<(Tissue, Mask)>,
    /// The report; the other files lie beside it.
    pub path: PathBuf,
}

/// The ending of the images that the window writes.
pub const ENDING: &str = "nii.gz";

impl WriteFile for SaveFods {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, worker: &Worker, control: &Control) -> Result<Saved, JobError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let files = FodFiles {
            folder,
            ending: ENDING,
        };
        let mut recipe = self.recipe;
        let texts = files.texts(&self.fods);
        let mut images = files.images(&self.fods, &recipe.maps);
        for (tissue, mask) in &self.masks {
            let path = files.mask(*tissue);
            recipe.responses.name_file(*tissue, &path);
            images.push((path, mask.on_whole_grid().image().clone()));
        }
        let mut written = vec![self.path.clone()];
        written.extend(images.iter().map(|(path, _)| path.clone()));
        written.extend(texts.iter().map(|(path, _)| path.clone()));
        let command = match recipe.responses.region_without_file() {
            None => Ok(recipe.command(folder).to_string()),
            Some(region) => Err(NoCommand::MaskWithoutFile(region.to_owned()).to_string()),
        };
        let mut value = report::json(
            &files,
            &self.params,
            &recipe,
            &self.fods,
            self.gradients.as_deref(),
        );
        match &command {
            Ok(command) => value["repeat"] = command.as_str().into(),
            Err(why) => value["no_command"] = why.as_str().into(),
        }
        value["files"] = serde_json::json!(written);
        let set = SaveSet {
            first: (self.path.clone(), report::provenance(&value)),
            images,
            texts,
            command: command.unwrap_or_else(|why| why),
        };
        set.write(worker, control)
    }
}
