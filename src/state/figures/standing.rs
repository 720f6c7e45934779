//! Questions to the state: what is measured, in which image, and whether the figures are those of the present voxels.

use crate::data::{Shape, Volume};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::live::Standing;
use crate::state::figures::jobs::MeasuredVoxels;
use crate::state::figures::{FigureSubject, FiguresKey, SameField, SubjectVoxels};
use crate::state::pathways::update::chosen_pathway;
use crate::state::regions::brush::measured;
use crate::state::{Document, State};
use std::sync::Arc;

/// The mask of a layer.
fn mask_layer(document: &Document, id: LayerId) -> Option<&Arc<Layer>> {
    let layer = document.layer(id)?;
    matches!(layer.content, Content::Mask(_)).then_some(layer)
}

impl State {
    /// Everything that can be measured, with its name: regions, masks, pathways, the surface.
    pub fn figure_subjects(&self) -> Vec<(FigureSubject, String)> {
        let document = &self.document;
        let regions = document.regions.iter();
        let regions = regions.map(|r| (FigureSubject::Region(r.id), r.name.clone()));
        let layers = document.layers.iter().rev();
        let masks = layers.filter(|l| matches!(l.content, Content::Mask(_)));
        let masks = masks.map(|l| (FigureSubject::Mask(l.id), l.name.clone()));
        let live = self.runtime.pathways.live.value();
        let live = live.map(|_| (FigureSubject::Pathway(None), "Live pathway".to_owned()));
        let kept = document.kept_pathways.iter().filter(|k| k.result.is_some());
        let kept = kept.map(|k| (FigureSubject::Pathway(Some(k.id)), k.name.clone()));
        let surface = self.runtime.segment.live.as_ref();
        let surface = surface.map(|_| (FigureSubject::Surface, "Surface".to_owned()));
        let pathways = live.into_iter().chain(kept);
        regions
            .chain(masks)
            .chain(pathways)
            .chain(surface)
            .collect()
    }

    /// What is measured, with its name: the subject chosen last, else the first region or mask.
    pub fn figure_subject(&self) -> Option<(FigureSubject, String)> {
        let mut all = self.figure_subjects();
        let chosen = self.runtime.figures.subject;
        let at = all.iter().position(|(subject, _)| Some(*subject) == chosen);
        (!all.is_empty()).then(|| all.swap_remove(at.unwrap_or(0)))
    }

    /// The measured image and the index of its volume: the one chosen, else the one shown.
    pub fn figure_image(&self) -> Option<(&Arc<Layer>, &Volume, usize)> {
        let chosen = self.runtime.figures.image;
        let chosen = chosen.and_then(|id| self.document.layer(id));
        let chosen = chosen.filter(|l| measured::is(l));
        let chosen = chosen.and_then(|l| Some((l, l.content.volume()?)));
        let (layer, volume) = chosen.or_else(|| measured::image(self))?;
        let frame = layer.display.frame.min(volume.frames.saturating_sub(1));
        Some((layer, volume, frame))
    }

    /// The voxels of a subject, and their state.
    pub(in crate::state::figures) fn measured_voxels(
        &self,
        subject: FigureSubject,
    ) -> Option<(SubjectVoxels, MeasuredVoxels)> {
        Some(match subject {
            FigureSubject::Region(id) => {
                let shape = &self.document.region(id)?.shape;
                let voxels = match &**shape {
                    Shape::Mask(mask) => SubjectVoxels::Mask(mask.id()),
                    placed => SubjectVoxels::Placed(placed.clone()),
                };
                (voxels, MeasuredVoxels::Shape(shape.clone()))
            }
            FigureSubject::Mask(id) => {
                let Content::Mask(mask) = &mask_layer(&self.document, id)?.content else {
                    return None;
                };
                let shape = Arc::new(Shape::Mask(mask.clone()));
                (SubjectVoxels::Mask(mask.id()), MeasuredVoxels::Shape(shape))
            }
            FigureSubject::Pathway(id) => {
                let (result, epsilon, _) = match id {
                    Some(_) => chosen_pathway(self, id)?,
                    // Also one that is being replaced.
                    None => {
                        let live = self.runtime.pathways.live.value()?.clone();
                        (live, self.document.pathways.epsilon, String::new())
                    }
                };
                let voxels = SubjectVoxels::Pathway(result.excess.id(), epsilon.to_bits());
                (voxels, MeasuredVoxels::Pathway(result, epsilon))
            }
            FigureSubject::Surface => {
                let field = &self.runtime.segment.live.as_ref()?.measured.field;
                let voxels = SubjectVoxels::Surface(SameField(field.clone()));
                (voxels, MeasuredVoxels::Surface(field.clone()))
            }
        })
    }

    /// What figures of the present subject and image depend on; `None` if there is nothing to measure.
    pub(in crate::state::figures) fn figures_request(
        &self,
    ) -> Option<(FiguresKey, MeasuredVoxels, Volume)> {
        let (subject, _) = self.figure_subject()?;
        let (_, volume, frame) = self.figure_image()?;
        let (voxels, measured) = self.measured_voxels(subject)?;
        let key = FiguresKey {
            subject,
            voxels,
            image: volume.id(),
            frame,
        };
        Some((key, measured, volume.clone()))
    }

    /// How the figures shown relate to the present voxels; `None` if none are shown.
    pub fn figures_standing(&self) -> Option<Standing> {
        let key = self.figures_request().map(|(key, ..)| key);
        let standing = self.runtime.figures.live.standing(key.as_ref())?;
        // The figures of a pathway or a surface that is being replaced are no longer those of the controls.
        let is_replaced = match key.map(|key| key.subject) {
            Some(FigureSubject::Pathway(None)) => self.pathway_is_stale(),
            Some(FigureSubject::Surface) => self.surface_is_stale(),
            _ => false,
        };
        Some(match is_replaced {
            true => Standing::Updating,
            false => standing,
        })
    }
}
