//! Fibre orientation distributions between a session and the state.

use crate::state::Document;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::origin::{FodRecipe, FodResponses};
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::types::fods::{
    SavedFibres, SavedFodSettings, SavedFods, SavedResponseChoice, SavedResponses,
};
use crate::state::sessions::types::origins::SavedMask;
use crate::state::sessions::{PartError, ReadSession};
use crate::state::tensors::recipe::FitMask;
use crate::state::tensors::types::fods::{FodSettings, ResponseChoice};
use crate::state::track::types::fibres::{FibreSettings, Model};
use std::path::PathBuf;

impl ReferencedItems<'_> {
    /// The settings of distributions and of streamlines along them.
    pub(in crate::state) fn fod_settings(&mut self, document: &Document) -> SavedFodSettings {
        let settings = &document.distributions.settings;
        let track = &document.track;
        SavedFodSettings {
            tracking: SavedFibres {
                model: track.model,
                params: track.fibres.params.clone(),
                tissues: track.fibres.tissues.map(|id| id.0),
            },
            requested: settings.requested,
            responses: match &settings.responses {
                ResponseChoice::Estimated => SavedResponseChoice::Estimated,
                ResponseChoice::Files(files) => SavedResponseChoice::Files(self.all_files(files)),
            },
            response_params: settings.response_params.clone(),
            params: settings.params.clone(),
            peak_params: settings.peak_params.clone(),
        }
    }

    pub(in crate::state) fn fods(&mut self, document: &Document, recipe: &FodRecipe) -> SavedFods {
        SavedFods {
            scan: self.scan_origin(document, recipe.scan),
            mask: match &recipe.mask {
                FitMask::Found => SavedMask::Found,
                FitMask::File(path) => SavedMask::File(self.file(path, false)),
                FitMask::Head => SavedMask::Phantom,
            },
            responses: match &recipe.responses {
                FodResponses::Files(files) => SavedResponses::Files(self.all_files(files)),
                FodResponses::Algorithm(algorithm) => SavedResponses::Algorithm(*algorithm),
            },
            response_params: recipe.response_params.clone(),
            params: recipe.params.clone(),
            peak_params: recipe.peak_params.clone(),
        }
    }

    fn all_files(&mut self, paths: &[PathBuf]) -> Vec<usize> {
        paths.iter().map(|path| self.file(path, false)).collect()
    }

    /// Renumbers the files of distributions of another session.
    pub(in crate::state) fn renumber_fods(
        &mut self,
        read: &ReadSession,
        fods: &mut SavedFods,
    ) -> Option<()> {
        if let SavedMask::File(file) = &mut fods.mask {
            self.renumber(read, file, &mut [])?;
        }
        if let SavedResponses::Files(files) = &mut fods.responses {
            for file in files {
                self.renumber(read, file, &mut [])?;
            }
        }
        Some(())
    }
}

/// The model of streamlines, and their settings along distributions.
pub(in crate::state) fn tracking(saved: &SavedFibres) -> (Model, FibreSettings) {
    let settings = FibreSettings {
        params: saved.params.as_ref().map(crate::parameters::sanitized),
        tissues: saved.tissues.map(LayerId),
    };
    (saved.model, settings)
}

/// The settings of a session. Response functions whose files it does not list are estimated.
pub(in crate::state) fn settings(saved: &SavedFodSettings, read: &ReadSession) -> FodSettings {
    let responses = match &saved.responses {
        SavedResponseChoice::Estimated => ResponseChoice::Estimated,
        SavedResponseChoice::Files(numbers) => {
            paths(read, numbers).map_or(ResponseChoice::Estimated, ResponseChoice::Files)
        }
    };
    FodSettings {
        requested: saved.requested,
        responses,
        response_params: crate::parameters::sanitized(&saved.response_params),
        params: crate::parameters::sanitized(&saved.params),
        peak_params: crate::parameters::sanitized(&saved.peak_params),
    }
}

/// The recipe of distributions of this scan.
pub(in crate::state) fn resolve(
    read: &ReadSession,
    saved: &SavedFods,
    scan: OriginId,
) -> Result<FodRecipe, PartError> {
    Ok(FodRecipe {
        scan,
        mask: match saved.mask {
            SavedMask::Found => FitMask::Found,
            SavedMask::File(number) => FitMask::File(path(read, number)?),
            SavedMask::Phantom => FitMask::Head,
        },
        responses: match &saved.responses {
            SavedResponses::Files(numbers) => FodResponses::Files(paths(read, numbers)?),
            SavedResponses::Algorithm(algorithm) => FodResponses::Algorithm(*algorithm),
        },
        response_params: saved.response_params.clone(),
        params: saved.params.clone(),
        peak_params: saved.peak_params.clone(),
    })
}

fn path(read: &ReadSession, number: usize) -> Result<PathBuf, PartError> {
    let found = read.files.get(number).map(|f| f.path.clone());
    found.ok_or(PartError::NoFile(number))
}

fn paths(read: &ReadSession, numbers: &[usize]) -> Result<Vec<PathBuf>, PartError> {
    numbers.iter().map(|n| path(read, *n)).collect()
}
