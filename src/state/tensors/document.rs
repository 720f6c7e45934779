//! Questions to the document about the inputs of its tensor fit.

use crate::data::odf_field::Tissue;
use crate::data::{Mask, OdfLayout, Shape, TensorLayout, Volume, VolumeKind};
use crate::solvers::tensor_fit::FitMap;
use crate::state::core::glyph_look::{GlyphContent, PeakLook};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::tensors::types::fods::{
    FodBootstrapInput, FodKey, FodSettings, FodSource, TissueChoice,
};
use crate::state::tensors::types::{BootstrapInput, FitKey, OfferedMask};
use crate::state::track::types::odf::Model;
use crate::state::{Document, State};
use std::path::PathBuf;
use std::sync::Arc;

impl Document {
    /// Input of a bootstrap of the tensors, if their scan is still loaded.
    pub fn resample(&self) -> Option<BootstrapInput> {
        let tensors = self.tensors.as_ref()?;
        let (dwi, gradients) = self.layers.iter().find_map(|l| match &l.content {
            Content::Scan {
                dwi,
                gradients: Some(gradients),
            } => (dwi.id() == tensors.key.scan).then_some((dwi, gradients)),
            _ => None,
        })?;
        Some(BootstrapInput {
            dwi: dwi.clone(),
            gradients: gradients.clone(),
            mask: tensors.mask.clone(),
            params: tensors.key.params.clone(),
            residuals: tensors.residuals.clone(),
        })
    }

    /// Input of a bootstrap of the distributions, if they were estimated in a scan that is still loaded.
    pub fn fod_resample(&self) -> Option<FodBootstrapInput> {
        let result = self.distributions.result.as_ref()?;
        let result = Some(result).filter(|result| !result.key.is_read())?;
        let (dwi, gradients) = self.layers.iter().find_map(|l| match &l.content {
            Content::Scan {
                dwi,
                gradients: Some(gradients),
            } => (dwi.id() == result.key.image).then_some((dwi, gradients)),
            _ => None,
        })?;
        let params = &result.key.settings.params;
        Some(FodBootstrapInput::new(dwi, gradients, params, &result.fods))
    }

    /// The input of a fit: the topmost diffusion scan with gradients, or image of tensors.
    pub fn scan(&self) -> Option<&Arc<Layer>> {
        let fits = |l: &&Arc<Layer>| match &l.content {
            Content::Scan { dwi, gradients } => gradients.is_some() || dwi.tensors.is_some(),
            _ => false,
        };
        self.layers.iter().rev().find(fits)
    }

    /// The topmost layer with this map of a tensor fit.
    pub fn fit_layer(&self, map: FitMap) -> Option<&Arc<Layer>> {
        let mut layers = self.layers.iter().rev();
        layers.find(|l| self.origin(l).fit_map() == Some(map))
    }

    /// The topmost image of six volumes without any reading: tensors, perhaps.
    pub fn unread_tensors(&self) -> Option<&Arc<Layer>> {
        let six = |l: &&Arc<Layer>| match &l.content {
            Content::Scan {
                dwi,
                gradients: None,
            } => dwi.frames == TensorLayout::VOLUMES && dwi.tensors.is_none(),
            _ => false,
        };
        self.layers.iter().rev().find(six)
    }

    /// Whether a layer can be the fit's mask: a mask that was opened, with the scan's voxels. A computed mask would
    /// make a fit depend on the previous one.
    pub fn can_be_fit_mask(&self, layer: &Layer) -> bool {
        let origin = self.origin(layer);
        let opened = origin.is_plain_file() || origin.is_phantom();
        let scan = self.scan().and_then(|l| l.content.volume());
        match (&layer.content, scan) {
            (Content::Mask(mask), Some(scan)) => opened && mask.has_voxels_of(&scan.grid),
            _ => false,
        }
    }

    /// The chosen mask of the fit with its layer, if it is loaded and fits the scan.
    pub fn chosen_mask(&self) -> Option<(&Arc<Layer>, &Mask)> {
        let layer = self.layer(self.fit_mask?)?;
        match &layer.content {
            Content::Mask(mask) if self.can_be_fit_mask(layer) => Some((layer, mask)),
            _ => None,
        }
    }

    /// The key of the fit of the current document; `None` without a scan.
    pub fn requested_fit(&self) -> Option<FitKey> {
        Some(FitKey {
            scan: self.scan()?.content.volume()?.id(),
            mask: self.chosen_mask().map(|(_, mask)| mask.id()),
            params: self.fit.clone(),
        })
    }

    /// An opened image that the user reads as distributions, with its values and the basis and axes.
    pub fn fod_image(&self, layer: LayerId) -> Option<(&Arc<Layer>, &Volume, OdfLayout)> {
        let layer = self.layer(layer)?;
        let layout = self.origins.reading(layer.origin)?.distributions?;
        let volume = self.can_hold_fods(layer)?;
        layout.order(volume.frames)?;
        Some((layer, volume, layout))
    }

    /// The values of an opened image that may hold distributions by the number of its volumes.
    pub fn can_hold_fods<'a>(&self, layer: &'a Layer) -> Option<&'a Volume> {
        let Content::Scan {
            dwi,
            gradients: None,
        } = &layer.content
        else {
            return None;
        };
        let mut layouts = OdfLayout::of_volumes(dwi.frames);
        let has_directions = layouts.any(|layout| layout.order(dwi.frames) > Some(0));
        let is_file = self.origins.reading(layer.origin).is_some();
        (is_file && has_directions).then_some(dwi)
    }

    /// The region or the mask that the response function of a tissue is measured in.
    fn response_region(&self, settings: &FodSettings, tissue: Tissue) -> Option<Arc<Shape>> {
        match settings.responses.of_tissue(tissue)? {
            TissueChoice::Region(id) => Some(self.region(*id)?.shape.clone()),
            TissueChoice::Layer(id) => match &self.layer(*id)?.content {
                Content::Mask(mask) => Some(Arc::new(Shape::Mask(mask.clone()))),
                _ => None,
            },
            TissueChoice::Estimated | TissueChoice::File(_) | TissueChoice::Omitted => None,
        }
    }

    /// The layer that the distributions come from.
    pub fn fod_source(&self) -> Option<&Arc<Layer>> {
        match self.distributions.settings.source {
            FodSource::Scan => self.scan(),
            FodSource::Image(layer) => Some(self.fod_image(layer)?.0),
        }
    }

    /// The key of the distributions of the current document; `None` if the user has not requested any, or without their
    /// source: a scan with gradients, or an image of distributions.
    pub fn requested_fods(&self) -> Option<FodKey> {
        let settings = &self.distributions.settings;
        if !settings.requested {
            return None;
        }
        if let FodSource::Image(layer) = settings.source {
            let (_, volume, _) = self.fod_image(layer)?;
            return Some(FodKey {
                image: volume.id(),
                mask: None,
                regions: Default::default(),
                // Nothing is deconvolved.
                settings: FodSettings {
                    requested: true,
                    source: settings.source,
                    peak_params: settings.peak_params.clone(),
                    ..FodSettings::default()
                },
            });
        }
        match &self.scan()?.content {
            Content::Scan {
                dwi,
                gradients: Some(_),
            } if dwi.tensors.is_none() => Some(FodKey {
                image: dwi.id(),
                mask: self.chosen_mask().map(|(_, mask)| mask.id()),
                regions: Tissue::ALL.map(|tissue| self.response_region(settings, tissue)),
                settings: FodSettings {
                    responses: settings.responses.in_effect().clone(),
                    ..settings.clone()
                },
            }),
            _ => None,
        }
    }

    /// Whether the distributions that it has, if any, are not those that it requests.
    pub fn lacks_requested_fods(&self) -> bool {
        let requested = self.requested_fods();
        let in_use = self.distributions.result.as_ref();
        requested.is_some() && requested.as_ref() != in_use.map(|result| &result.key)
    }

    /// Whether the tensors or the distributions that it requests are still to be computed.
    pub fn lacks_requested(&self, model: Model) -> bool {
        match model {
            Model::Tensors => self.lacks_requested_fit(),
            Model::Distributions => self.lacks_requested_fods(),
        }
    }

    /// Whether a bootstrap of the distributions is possible: that of an image is not. Before the first distributions it
    /// is not known.
    pub fn can_resample_fods(&self) -> bool {
        let Some(result) = &self.distributions.result else {
            return true;
        };
        let is_their_scan = |layer: &Arc<Layer>| match &layer.content {
            Content::Scan { dwi, gradients } => gradients.is_some() && dwi.id() == result.key.image,
            _ => false,
        };
        !result.key.is_read() && self.layers.iter().any(is_their_scan)
    }

    /// Content of glyphs, given a preference where there are several; `None` if there is none.
    pub fn glyph_content(&self, preferred: GlyphContent) -> Option<GlyphContent> {
        let all = self.glyph_contents();
        let is_possible = all.contains(&preferred);
        is_possible.then_some(preferred).or(all.first().copied())
    }

    /// Everything that glyphs can show.
    pub fn glyph_contents(&self) -> Vec<GlyphContent> {
        let has = |content: &GlyphContent| match content {
            GlyphContent::Tensors => self.tensors.is_some(),
            GlyphContent::Distributions => self.distributions.field().is_some(),
            GlyphContent::Peaks => self.peak_layers().next().is_some(),
        };
        GlyphContent::ALL.into_iter().filter(has).collect()
    }

    /// Images that may hold peaks, from the topmost: three volumes for each of at most ten peaks. A scan with gradients, an
    /// image of tensors, and that of the distributions in use hold something else.
    pub fn peak_layers(&self) -> impl Iterator<Item = &Arc<Layer>> {
        let result = self.distributions.result.as_ref();
        let distributions = result.map(|result| result.key.image);
        self.layers.iter().rev().filter(move |layer| {
            let volume = match &layer.content {
                Content::Image(volume) => volume,
                Content::Scan {
                    dwi,
                    gradients: None,
                } => dwi,
                _ => return false,
            };
            let is_vectors = volume.kind == VolumeKind::Scalar
                && volume.labels.is_none()
                && volume.tensors.is_none();
            let fits = volume.frames.is_multiple_of(3) && volume.frames <= 3 * PeakLook::MAX_PEAKS;
            let fits = fits || volume.fixels.is_some();
            is_vectors && fits && Some(volume.id()) != distributions
        })
    }

    /// The image of peaks that glyphs show.
    pub fn shown_peaks(&self, look: PeakLook) -> Option<&Arc<Layer>> {
        let chosen = self.peak_layers().find(|l| Some(l.id) == look.layer);
        chosen.or_else(|| self.peak_layers().next())
    }

    /// Whether the tensors that it wants are still to be computed.
    pub fn lacks_requested_fit(&self) -> bool {
        let requested = self.requested_fit();
        requested.is_some() && requested.as_ref() != self.tensors.as_ref().map(|t| &t.key)
    }
}

impl State {
    /// Whether the tensors that the document wants are still to come: a fit that failed is not awaited.
    pub fn awaits_fit(&self) -> bool {
        self.document.lacks_requested_fit() && !self.runtime.tensors.live.has_failed()
    }

    /// The file next to the scan that appears to be its brain mask, if none was chosen and it is not open.
    pub fn offered_mask(&self) -> Option<&PathBuf> {
        let document = &self.document;
        let OfferedMask { scan, path, .. } = self.runtime.tensors.offered_mask.as_ref()?;
        let current = document.scan()?.content.volume()?.id();
        let mut layers = document.layers.iter();
        let open = layers.any(|l| document.path(l) == Some(path));
        (current == *scan && document.chosen_mask().is_none() && !open).then_some(path)
    }
}
