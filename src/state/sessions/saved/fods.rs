//! Fibre orientation distributions between a session and the state.

use crate::data::region::RegionId;
use crate::solvers::geodesic::Rays;
use crate::state::Document;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::origin::FodRecipe;
use crate::state::regions::recipe::ShapeSpec;
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::types::fods::{
    SavedFodSettings, SavedFods, SavedOdfRays, SavedOdfTracking, SavedResponseChoice,
    SavedResponses, SavedTissueChoice, SavedTissueSource,
};
use crate::state::sessions::types::origins::SavedMask;
use crate::state::sessions::{PartError, ReadSession};
use crate::state::tensors::recipe::FitMask;
use crate::state::tensors::recipe::fod::{ResponseSource, TissueSource};
use crate::state::tensors::types::fods::{FodSettings, FodSource, ResponseChoice, TissueChoice};
use crate::state::track::types::odf::{Model, OdfRays, OdfTrackingSettings};
use std::path::PathBuf;

/// No session has as many regions.
const NO_REGION: usize = u32::MAX as usize;

impl ReferencedItems<'_> {
    /// The settings of distributions and of streamlines and rays along them.
    pub(in crate::state) fn fod_settings(&mut self, document: &Document) -> SavedFodSettings {
        let settings = &document.distributions.settings;
        let track = &document.track;
        SavedFodSettings {
            tracking: SavedOdfTracking {
                model: track.model,
                params: track.odf.params.clone(),
                tissues: track.odf.tissues.map(|id| id.0),
                rays: SavedOdfRays {
                    speed: track.odf.rays.speed,
                    params: track.odf.rays.rays.params.clone(),
                    cut: track.odf.rays.rays.cut,
                },
            },
            requested: settings.requested,
            image: match settings.source {
                FodSource::Scan => None,
                FodSource::Image(layer) => Some(layer.0),
            },
            responses: match &settings.responses {
                ResponseChoice::Estimated => SavedResponseChoice::Estimated,
                ResponseChoice::Files(files) => SavedResponseChoice::Files(self.all_files(files)),
                ResponseChoice::Each(choices) => {
                    SavedResponseChoice::Each(std::array::from_fn(|i| {
                        self.tissue_choice(document, &choices[i])
                    }))
                }
            },
            response_params: settings.response_params.clone(),
            params: settings.params.clone(),
            peak_params: settings.peak_params.clone(),
        }
    }

    fn tissue_choice(&mut self, document: &Document, choice: &TissueChoice) -> SavedTissueChoice {
        match choice {
            TissueChoice::Estimated => SavedTissueChoice::Estimated,
            TissueChoice::Region(id) => {
                let mut regions = document.regions.iter();
                let place = regions.position(|region| region.id == *id);
                // That of a region that is gone names none.
                SavedTissueChoice::Region(place.unwrap_or(NO_REGION))
            }
            TissueChoice::Layer(id) => SavedTissueChoice::Layer(id.0),
            TissueChoice::File(path) => SavedTissueChoice::File(self.file(path, false)),
            TissueChoice::Omitted => SavedTissueChoice::Omitted,
        }
    }

    pub(in crate::state) fn fods(&mut self, document: &Document, recipe: &FodRecipe) -> SavedFods {
        SavedFods {
            scan: self.scan_origin(document, recipe.scan),
            mask: match &recipe.mask {
                FitMask::Automatic => SavedMask::Automatic,
                FitMask::File(path) => SavedMask::File(self.file(path, false)),
                FitMask::Head => SavedMask::Phantom,
            },
            responses: match &recipe.responses {
                ResponseSource::Files(files) => SavedResponses::Files(self.all_files(files)),
                ResponseSource::Algorithm(algorithm) => SavedResponses::Algorithm(*algorithm),
                ResponseSource::Each { algorithm, tissues } => SavedResponses::Each {
                    algorithm: *algorithm,
                    tissues: {
                        let tissues = tissues.iter();
                        tissues
                            .map(|(tissue, source)| (*tissue, self.tissue_source(source)))
                            .collect()
                    },
                },
                ResponseSource::NotUsed => SavedResponses::NotUsed,
            },
            response_params: recipe.response_params.clone(),
            params: recipe.params.clone(),
            peak_params: recipe.peak_params.clone(),
        }
    }

    fn tissue_source(&mut self, source: &TissueSource) -> SavedTissueSource {
        match source {
            TissueSource::Algorithm => SavedTissueSource::Algorithm,
            TissueSource::File(path) => SavedTissueSource::File(self.file(path, false)),
            TissueSource::Mask(path) => SavedTissueSource::Mask(self.file(path, false)),
            TissueSource::Region(ShapeSpec::Mask(path)) => {
                SavedTissueSource::MaskRegion(self.file(path, false))
            }
            TissueSource::Region(shape) => SavedTissueSource::Region(shape.clone()),
            TissueSource::NoFile(name) => SavedTissueSource::NoFile(name.clone()),
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
        let files: Vec<&mut usize> = match &mut fods.responses {
            SavedResponses::Files(files) => files.iter_mut().collect(),
            SavedResponses::Each { tissues, .. } => {
                let sources = tissues.iter_mut().map(|(_, source)| source);
                sources.filter_map(SavedTissueSource::file_mut).collect()
            }
            SavedResponses::Algorithm(_) | SavedResponses::NotUsed => Vec::new(),
        };
        for file in files {
            self.renumber(read, file, &mut [])?;
        }
        Some(())
    }
}

/// The model of streamlines and rays, and their settings along distributions.
pub(in crate::state) fn tracking(saved: &SavedOdfTracking) -> (Model, OdfTrackingSettings) {
    let settings = OdfTrackingSettings {
        params: saved.params.as_ref().map(crate::parameters::sanitized),
        tissues: saved.tissues.map(LayerId),
        rays: OdfRays {
            speed: crate::parameters::sanitized(&saved.rays.speed),
            rays: Rays {
                params: saved.rays.params.clone(),
                cut: saved.rays.cut,
                ..Rays::lobe_defaults()
            },
        },
    };
    (saved.model, settings)
}

/// The settings of a session, whose regions are still named by their indices. Response functions whose files it does not
/// list are estimated.
pub(in crate::state) fn settings(saved: &SavedFodSettings, read: &ReadSession) -> FodSettings {
    let responses = match &saved.responses {
        SavedResponseChoice::Estimated => ResponseChoice::Estimated,
        SavedResponseChoice::Files(numbers) => {
            paths(read, numbers).map_or(ResponseChoice::Estimated, ResponseChoice::Files)
        }
        SavedResponseChoice::Each(choices) => {
            ResponseChoice::Each(std::array::from_fn(|i| match &choices[i] {
                SavedTissueChoice::Estimated => TissueChoice::Estimated,
                SavedTissueChoice::Region(place) => TissueChoice::Region(RegionId(*place as u64)),
                SavedTissueChoice::Layer(id) => TissueChoice::Layer(LayerId(*id)),
                SavedTissueChoice::File(number) => {
                    path(read, *number).map_or(TissueChoice::Estimated, TissueChoice::File)
                }
                SavedTissueChoice::Omitted => TissueChoice::Omitted,
            }))
        }
    };
    FodSettings {
        requested: saved.requested,
        source: saved
            .image
            .map_or(FodSource::Scan, |layer| FodSource::Image(LayerId(layer))),
        responses,
        response_params: crate::parameters::sanitized(&saved.response_params),
        params: crate::parameters::sanitized(&saved.params),
        peak_params: crate::parameters::sanitized(&saved.peak_params),
    }
}

/// Gives the regions of the settings their ids, by their indices in the session.
pub(in crate::state) fn name_regions(document: &mut Document, named: &[Option<RegionId>]) {
    let ResponseChoice::Each(choices) = &mut document.distributions.settings.responses else {
        return;
    };
    for choice in choices {
        if let TissueChoice::Region(id) = choice {
            let place = usize::try_from(id.0).ok();
            let region = place.and_then(|place| named.get(place).copied().flatten());
            // No region has this id: the estimation says that it is missing.
            *id = region.unwrap_or(RegionId(u64::MAX));
        }
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
            SavedMask::Automatic => FitMask::Automatic,
            SavedMask::File(number) => FitMask::File(path(read, number)?),
            SavedMask::Phantom => FitMask::Head,
        },
        responses: match &saved.responses {
            SavedResponses::Files(numbers) => ResponseSource::Files(paths(read, numbers)?),
            SavedResponses::Algorithm(algorithm) => ResponseSource::Algorithm(*algorithm),
            SavedResponses::Each { algorithm, tissues } => {
                let tissues = tissues
                    .iter()
                    .map(|(tissue, source)| Ok((*tissue, tissue_source(read, source)?)));
                ResponseSource::Each {
                    algorithm: *algorithm,
                    tissues: tissues.collect::<Result<_, PartError>>()?,
                }
            }
            SavedResponses::NotUsed => ResponseSource::NotUsed,
        },
        response_params: saved.response_params.clone(),
        params: saved.params.clone(),
        peak_params: saved.peak_params.clone(),
    })
}

fn tissue_source(read: &ReadSession, saved: &SavedTissueSource) -> Result<TissueSource, PartError> {
    Ok(match saved {
        SavedTissueSource::Algorithm => TissueSource::Algorithm,
        SavedTissueSource::File(number) => TissueSource::File(path(read, *number)?),
        SavedTissueSource::Mask(number) => TissueSource::Mask(path(read, *number)?),
        SavedTissueSource::MaskRegion(number) => {
            TissueSource::Region(ShapeSpec::Mask(path(read, *number)?))
        }
        SavedTissueSource::Region(shape) => TissueSource::Region(shape.clone()),
        SavedTissueSource::NoFile(name) => TissueSource::NoFile(name.clone()),
    })
}

fn path(read: &ReadSession, number: usize) -> Result<PathBuf, PartError> {
    let path = read.files.get(number).map(|f| f.path.clone());
    path.ok_or(PartError::NoFile(number))
}

fn paths(read: &ReadSession, numbers: &[usize]) -> Result<Vec<PathBuf>, PartError> {
    numbers.iter().map(|n| path(read, *n)).collect()
}
