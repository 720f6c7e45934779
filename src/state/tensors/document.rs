//! Questions to the document about the inputs of its tensor fit.

use crate::data::{Mask, TensorLayout};
use crate::solvers::tensor_fit::FitMap;
use crate::state::core::glyph_look::GlyphContent;
use crate::state::core::layer::{Content, Layer};
use crate::state::tensors::types::fods::FodKey;
use crate::state::tensors::types::{BootstrapInput, FitKey, OfferedMask};
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

    /// The key of the fit of the present document; `None` without a scan.
    pub fn requested_fit(&self) -> Option<FitKey> {
        Some(FitKey {
            scan: self.scan()?.content.volume()?.id(),
            mask: self.chosen_mask().map(|(_, mask)| mask.id()),
            params: self.fit.clone(),
        })
    }

    /// The key of the distributions of the present document; `None` if the user has not requested any, or without a scan
    /// with gradients.
    pub fn requested_fods(&self) -> Option<FodKey> {
        let settings = &self.distributions.settings;
        let scan = self.scan().filter(|_| settings.requested)?;
        match &scan.content {
            Content::Scan {
                dwi,
                gradients: Some(_),
            } if dwi.tensors.is_none() => Some(FodKey {
                scan: dwi.id(),
                mask: self.chosen_mask().map(|(_, mask)| mask.id()),
                settings: settings.clone(),
            }),
            _ => None,
        }
    }

    /// Content of glyphs, given a preference where there are both; `None` if there is neither.
    pub fn glyph_content(&self, preferred: GlyphContent) -> Option<GlyphContent> {
        match (self.tensors.is_some(), self.distributions.field().is_some()) {
            (true, true) => Some(preferred),
            (true, false) => Some(GlyphContent::Tensors),
            (false, true) => Some(GlyphContent::Distributions),
            (false, false) => None,
        }
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
