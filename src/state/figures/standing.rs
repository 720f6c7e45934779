//! Questions to the state: what is measured, in which image, and whether the figures are those of the present voxels.

use crate::data::{Shape, Volume};
use crate::solvers::region::ValueStatistics;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::live::{LiveKey as _, Standing};
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
    /// Everything that can be measured: regions, masks, pathways, the surface.
    pub fn figure_subjects(&self) -> impl Iterator<Item = FigureSubject> + '_ {
        let document = &self.document;
        let regions = document.regions.iter().map(|r| FigureSubject::Region(r.id));
        let layers = document.layers.iter().rev();
        let masks = layers.filter(|l| matches!(l.content, Content::Mask(_)));
        let masks = masks.map(|l| FigureSubject::Mask(l.id));
        let live = self.runtime.pathways.live.value();
        let live = live.map(|_| FigureSubject::Pathway(None));
        let kept = document.kept_pathways.iter().filter(|k| k.result.is_some());
        let kept = kept.map(|k| FigureSubject::Pathway(Some(k.id)));
        let surface = self.runtime.segment.live.as_ref();
        let surface = surface.map(|_| FigureSubject::Surface);
        let pathways = live.into_iter().chain(kept);
        regions.chain(masks).chain(pathways).chain(surface)
    }

    /// The name of a subject; `None` if it does not exist any more.
    pub fn figure_name(&self, subject: FigureSubject) -> Option<&str> {
        let document = &self.document;
        match subject {
            FigureSubject::Region(id) => document.region(id).map(|r| &*r.name),
            FigureSubject::Mask(id) => mask_layer(document, id).map(|l| &*l.name),
            FigureSubject::Pathway(None) => {
                let live = self.runtime.pathways.live.value();
                live.map(|_| "Live pathway")
            }
            FigureSubject::Pathway(Some(id)) => {
                let mut kept = document.kept_pathways.iter();
                let kept = kept.find(|k| k.id == id && k.result.is_some());
                kept.map(|k| &*k.name)
            }
            FigureSubject::Surface => {
                let live = self.runtime.segment.live.as_ref();
                live.map(|_| "Surface")
            }
        }
    }

    /// The subject that is measured, with its name: the one chosen last, else the first region or mask.
    pub fn figure_subject(&self) -> Option<(FigureSubject, &str)> {
        let named = |subject| Some((subject, self.figure_name(subject)?));
        let chosen = self.runtime.figures.subject.and_then(named);
        chosen.or_else(|| self.figure_subjects().next().and_then(named))
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
                    shape => SubjectVoxels::Geometric(shape.clone()),
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

    /// Everything that figures of the present subject and image depend on; `None` if there is nothing to measure.
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

    /// The figures to show: those of the present subject, image and volume, of its present voxels or of earlier ones.
    pub fn shown_figures(&self) -> Option<&ValueStatistics> {
        let live = &self.runtime.figures.live;
        let (requested, ..) = self.figures_request()?;
        let (key, figures) = live.shown().filter(|_| !live.has_failed())?;
        key.stands_in_for(&requested).then_some(figures)
    }

    /// How the figures shown relate to the present voxels; `None` if none are shown.
    pub fn figures_standing(&self) -> Option<Standing> {
        let key = self.figures_request().map(|(key, ..)| key);
        self.runtime.figures.live.standing(key.as_ref())
    }

    /// Whether the figures are dimmed: they lag behind the region for longer than a drag explains, or what they were
    /// measured in is being replaced.
    pub fn figures_are_stale(&self) -> bool {
        let is_replaced = match self.figure_subject() {
            Some((FigureSubject::Pathway(None), _)) => self.pathway_is_stale(),
            Some((FigureSubject::Surface, _)) => self.surface_is_stale(),
            _ => false,
        };
        match self.figures_standing() {
            Some(Standing::Final) | None => is_replaced,
            Some(Standing::Updating) => is_replaced || self.runtime.figures.live.lags(),
            Some(Standing::Coarse | Standing::OutOfDate) => true,
        }
    }
}
