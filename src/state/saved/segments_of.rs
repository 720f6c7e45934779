//! Segmentations in a session: the masks themselves, all that they were made from, and the surface in the
//! hand as its script.

use super::read::{Missing, insert};
use super::regions_of::region;
use super::write::Lists;
use super::{
    Origin, SavedDocument, SavedLayer, SavedRegion, SavedRun, SavedSegment, SavedSegmentation,
    SavedStart,
};
use crate::data::{Mask, Region, Role, Shape};
use crate::jobs::session::ReadSession;
use crate::jobs::{Hand, Resume};
use crate::solvers::level_set::Script;
use crate::state::Document;
use crate::state::document::{Content, Layer, LayerId};
use crate::state::segment::{Segmentation, Segmented, Start};
use crate::state::update::segmented_recipe;
use std::sync::Arc;

/// Far above what a hand does; a damaged session asks for no hours.
const MOST_STEPS: u64 = 1_000_000_000;

impl Lists<'_> {
    fn start(&mut self, start: &Start) -> SavedStart {
        match start {
            Start::Spheres => SavedStart::Spheres,
            Start::Mask(name, mask) => SavedStart::Mask {
                name: name.clone(),
                mask: self.mask(mask),
            },
            Start::Values { low, high } => SavedStart::Values {
                low: *low,
                high: *high,
            },
            Start::Filled { at, within } => SavedStart::Filled {
                at: *at,
                within: *within,
            },
        }
    }

    pub(super) fn segment(
        &mut self,
        document: &Document,
        made: &Segmented,
        mask: &Mask,
    ) -> SavedSegment {
        let mut shapes = |shapes: &[Arc<Shape>]| -> Vec<SavedRegion> {
            let saved = shapes.iter().map(|shape| {
                let region = Region {
                    id: crate::data::region::RegionId(0),
                    name: String::new(),
                    role: Role::Mask,
                    shape: shape.clone(),
                    colour: None,
                    visible: true,
                };
                self.region(document, &region)
            });
            saved.collect()
        };
        let painted = [shapes(&made.painted[0]), shapes(&made.painted[1])];
        SavedSegment {
            image: made.image.0,
            frame: made.frame,
            start: self.start(&made.start),
            spheres: made.spheres.clone(),
            layer: made.layer.map(|(id, frame)| (id.0, frame)),
            painted,
            script: made.script.clone(),
            mask: self.mask(mask),
            colour: made.colour,
            measures: made.measures,
        }
    }

    /// `run`: the surface as it is, and after how many steps spheres were placed.
    pub(super) fn segmentation(
        &mut self,
        document: &Document,
        run: Option<(&Script, &[(u64, u64)])>,
    ) -> SavedSegmentation {
        let segment = &document.segment;
        let place = |number: &u64| segment.spheres.iter().position(|(n, _)| n == number);
        let painted = segment.painted.map(|id| {
            let mut regions = document.regions.iter();
            regions.position(|r| Some(r.id) == id)
        });
        SavedSegmentation {
            settings: segment.settings.clone(),
            image: segment.image.map(|id| id.0),
            start: self.start(&segment.start),
            spheres: segment.spheres.iter().map(|(_, sphere)| *sphere).collect(),
            reference: segment.reference.map(|id| id.0),
            layer: segment.layer.map(|id| id.0),
            painted,
            run: run
                .filter(|(script, _)| script.steps > 0)
                .map(|(script, placed)| SavedRun {
                    script: script.clone(),
                    placed: placed
                        .iter()
                        .filter_map(|(number, step)| Some((place(number)?, *step)))
                        .collect(),
                }),
        }
    }
}

fn start(read: &ReadSession, saved: &SavedStart) -> Result<Start, String> {
    Ok(match saved {
        SavedStart::Spheres => Start::Spheres,
        SavedStart::Mask { name, mask } => {
            let mask = read.masks.get(*mask).and_then(|m| m.as_ref().ok());
            let mask = mask.ok_or("the mask that it begins with is damaged")?;
            Start::Mask(name.clone(), mask.clone())
        }
        SavedStart::Values { low, high } => Start::Values {
            low: *low,
            high: *high,
        },
        SavedStart::Filled { at, within } => Start::Filled {
            at: *at,
            within: *within,
        },
    })
}

fn sound(script: &Script) -> Result<(), String> {
    script.params.check()?;
    script.layout.check()?;
    if script.steps > MOST_STEPS {
        return Err(format!("it has {} steps", script.steps));
    }
    Ok(())
}

fn one(
    document: &Document,
    read: &ReadSession,
    saved: &SavedSegment,
) -> Result<(Mask, Segmented), String> {
    let mask = read.masks.get(saved.mask).and_then(|m| m.as_ref().ok());
    let mask = mask.ok_or("its mask is damaged")?.clone();
    sound(&saved.script)?;
    let shapes = |all: &[SavedRegion]| -> Result<Vec<Arc<Shape>>, String> {
        all.iter()
            .map(|r| Ok(region(document, read, r)?.shape))
            .collect()
    };
    let made = Segmented {
        image: LayerId(saved.image),
        frame: saved.frame,
        start: start(read, &saved.start)?,
        spheres: saved.spheres.clone(),
        layer: saved.layer.map(|(id, frame)| (LayerId(id), frame)),
        painted: [shapes(&saved.painted[0])?, shapes(&saved.painted[1])?],
        script: saved.script.clone(),
        phi: None,
        colour: saved.colour,
        measures: saved.measures,
    };
    Ok((mask, made))
}

/// The layer, of which the document then knows how it was segmented.
fn restored(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
    from: &SavedSegment,
) -> Result<Layer, String> {
    let (mask, made) = one(document, read, from)?;
    let (id, made) = (LayerId(layer.id), Arc::new(made));
    let recipe = segmented_recipe(document, &made, None);
    document.segmented.insert(id, made);
    let (name, display) = (layer.name.clone(), layer.display.clone());
    Ok(Layer::new(id, name, Content::Mask(mask), display, recipe))
}

/// Puts them into a document whose other layers and regions are there; returns those that cannot be.
pub(super) fn put(
    document: &mut Document,
    read: &ReadSession,
    saved: &SavedDocument,
    notes: &mut Vec<String>,
) -> Missing {
    let mut missing = Missing::new();
    for layer in &saved.layers {
        let Origin::Segmented(from) = &layer.from else {
            continue;
        };
        match restored(document, read, layer, from) {
            Ok(made) => insert(document, saved, made),
            Err(why) => {
                notes.push(format!(
                    "The mask \"{}\" is left out and stays in the session: {why}",
                    layer.name
                ));
                missing.push((layer.id, why));
            }
        }
    }
    match segmentation(document, read, &saved.segment) {
        Ok(segment) => document.segment = segment,
        Err(why) => notes.push(format!("The surface that was segmented is left out: {why}")),
    }
    missing
}

/// Masks that lacked a layer that has come.
pub(super) fn find_again(document: &mut Document) {
    for absent in document.absent.clone() {
        let Origin::Segmented(from) = &absent.layer.from else {
            continue;
        };
        if let Ok(made) = restored(document, &absent.read, &absent.layer, from) {
            document.absent.retain(|a| a.layer.id != absent.layer.id);
            document.layers.push(Arc::new(made));
        }
    }
}

fn segmentation(
    document: &mut Document,
    read: &ReadSession,
    saved: &SavedSegmentation,
) -> Result<Segmentation, String> {
    let start = start(read, &saved.start)?;
    let spheres = saved.spheres.iter();
    let spheres: Vec<Hand> = spheres.map(|s| (document.fresh_id(), *s)).collect();
    let there = |id: Option<u64>| {
        let id = id.map(LayerId);
        id.filter(|id| document.layer(*id).is_some())
    };
    let painted = saved.painted.map(|place| {
        let region = place.and_then(|place| document.regions.get(place));
        region.map(|r| r.id)
    });
    let resume = match &saved.run {
        Some(run) => {
            sound(&run.script)?;
            let placed = run.placed.iter();
            let placed = placed.filter_map(|(place, step)| Some((spheres.get(*place)?.0, *step)));
            Some(Arc::new(Resume {
                script: run.script.clone(),
                placed: placed.collect(),
            }))
        }
        None => None,
    };
    Ok(Segmentation {
        settings: saved.settings.clone().sound(),
        image: there(saved.image),
        start,
        reference: there(saved.reference),
        layer: there(saved.layer),
        painted,
        spheres,
        resume,
    })
}
