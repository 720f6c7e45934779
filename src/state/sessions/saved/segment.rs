//! Segmentations in a session: the masks themselves, all their inputs, and the live surface as its script.

use crate::data::region::RegionId;
use crate::data::{Mask, Region, Role, Shape};
use crate::solvers::level_set::RunHistory;
use crate::state::Document;
use crate::state::core::colours::CATEGORIES;
use crate::state::core::layer::{Content, Input, Layer, LayerId};
use crate::state::segment::jobs::{AwaitedSpeedImage, PlacedSphere, RunCheckpoint, SpeedSources};
use crate::state::segment::{KeptSurface, SegmentRecipe, Segmentation, SpeedInputs, Start, scalar};
use crate::state::sessions::saved::regions::region;
use crate::state::sessions::saved::write::ReferencedItems;
use crate::state::sessions::saved::{
    MissingPart, SavedContent, SavedDocument, SavedInput, SavedInputs, SavedLayer, SavedOrigin,
    SavedRegion, SavedRun, SavedSegment, SavedSegmentation, SavedStart, SessionPart, SpeedRegion,
    Table, add_missing,
};
use crate::state::sessions::{PartError, ReadSession};
use std::sync::Arc;

/// Far more than a user runs, so that a damaged session does not run for hours.
const MAXIMUM_STEPS: u64 = 1_000_000_000;

impl ReferencedItems<'_> {
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
            Start::Filled { point, tolerance } => SavedStart::Filled {
                at: *point,
                within: *tolerance,
            },
        }
    }

    /// The inputs of a segmented mask.
    pub(in crate::state) fn segment(
        &mut self,
        document: &Document,
        recipe: &SegmentRecipe,
    ) -> SavedSegment {
        let inputs = recipe.inputs.iter().map(|inputs| {
            let layer = inputs.layer;
            let layer = layer.map(|(input, frame)| (self.input(document, input), frame));
            self.inputs(document, layer, &inputs.painted)
        });
        let inputs = inputs.collect();
        SavedSegment {
            image: self.input(document, recipe.image),
            frame: recipe.frame,
            start: self.start(&recipe.start),
            spheres: recipe.spheres.clone(),
            inputs,
            script: recipe.script.clone(),
        }
    }

    /// A segmented mask with its surface.
    pub(in crate::state) fn segmented(
        &mut self,
        mask: &Mask,
        surface: Option<&KeptSurface>,
    ) -> SavedContent {
        SavedContent::Mask {
            mask: self.mask(mask),
            colour: surface.map_or(CATEGORIES[0], |s| s.colour),
            measures: surface.and_then(|s| s.measures),
        }
    }

    fn inputs(
        &mut self,
        document: &Document,
        layer: Option<(SavedInput, usize)>,
        painted: &[Vec<Arc<Shape>>; 2],
    ) -> SavedInputs {
        let mut shapes = |shapes: &[Arc<Shape>]| -> Vec<SavedRegion> {
            let saved = shapes.iter().map(|shape| {
                let region = Region {
                    id: RegionId(0),
                    name: String::new(),
                    role: Role::Mask,
                    shape: shape.clone(),
                    colour: None,
                    visible: true,
                    label_number: None,
                };
                self.region(document, &region)
            });
            saved.collect()
        };
        let [grow, hold] = painted;
        let painted = [shapes(grow), shapes(hold)];
        SavedInputs { layer, painted }
    }

    /// `run`: how the surface reaches its current state.
    pub(in crate::state) fn segmentation(
        &mut self,
        document: &Document,
        run: Option<&RunCheckpoint>,
    ) -> SavedSegmentation {
        let segment = &document.segment;
        let place = |number: &u64| segment.spheres.iter().position(|(n, _)| n == number);
        let painted = segment.painted.map(|id| place_of(document, id));
        SavedSegmentation {
            settings: segment.settings.clone(),
            image: segment.image.map(|id| id.0),
            image_alone: segment.image_alone,
            start: self.start(&segment.start),
            spheres: segment.spheres.iter().map(|(_, sphere)| *sphere).collect(),
            reference: segment.reference.map(|id| id.0),
            layer: segment.layer.map(|id| id.0),
            painted,
            run: run.filter(|run| run.script.steps > 0).map(|run| SavedRun {
                script: run.script.clone(),
                leak: run.leak,
                placed: run
                    .placed
                    .iter()
                    .filter_map(|(number, step)| Some((place(number)?, *step)))
                    .collect(),
                inputs: run
                    .speed_sources
                    .iter()
                    .enumerate()
                    .map(|(number, speed_sources)| {
                        let mut awaited = run.awaited.iter();
                        let awaited = awaited.find(|image| image.source == number);
                        let layer = speed_sources.layer.as_ref();
                        let layer = layer.map(|(id, _, frame)| (*id, *frame));
                        let layer = layer.or(awaited.map(|image| (image.layer, image.frame)));
                        // A run continues with the layer's present content.
                        let saved = |(layer, frame)| (SavedInput { layer, origin: 0 }, frame);
                        let layer = layer.map(saved);
                        self.inputs(document, layer, &speed_sources.painted)
                    })
                    .collect(),
            }),
        }
    }
}

impl ReferencedItems<'_> {
    /// The surface of the opened session, if it cannot be read and no other was begun, stored as it was.
    pub(in crate::state) fn missing_surface(
        &mut self,
        document: &Document,
    ) -> Option<SavedSegmentation> {
        let now = &document.segment;
        let started = !(now.spheres.is_empty() && matches!(now.start, Start::Spheres));
        let mut parts = document.missing_parts().filter(|_| !started);
        let (missing, painted, read) = parts.find_map(|part| match &part.part {
            SessionPart::Surface(saved, painted) => Some((saved, painted, &part.session)),
            _ => None,
        })?;
        let mut saved = (**missing).clone();
        if let SavedStart::Mask { mask, .. } = &mut saved.start {
            *mask = self.known_mask(read, *mask)?;
        }
        let inputs = saved.run.iter_mut().flat_map(|run| &mut run.inputs);
        for region in inputs.flat_map(|i| i.painted.iter_mut().flatten()) {
            *region = self.renumbered(read, region)?;
        }
        saved.painted = painted.clone().map(|painted| match painted? {
            SpeedRegion::Loaded(id) => place_of(document, Some(id)),
            SpeedRegion::Missing(region) => {
                let mut regions = document
                    .missing_parts()
                    .filter_map(|part| match &part.part {
                        SessionPart::Region(region) => Some(region),
                        _ => None,
                    });
                // They follow those that are loaded.
                Some(document.regions.len() + regions.position(|r| *r == *region)?)
            }
        });
        Some(saved)
    }
}

/// A region's index in the list.
fn place_of(document: &Document, region: Option<RegionId>) -> Option<usize> {
    let mut regions = document.regions.iter();
    regions.position(|r| Some(r.id) == region)
}

fn start(read: &ReadSession, saved: &SavedStart) -> Result<Start, PartError> {
    Ok(match saved {
        SavedStart::Spheres => Start::Spheres,
        SavedStart::Mask { name, mask } => {
            let mask = read.masks.get(*mask).and_then(|m| m.as_ref().ok());
            let mask = mask.ok_or(PartError::InitialMask)?;
            Start::Mask(name.clone(), mask.clone())
        }
        SavedStart::Values { low, high } => Start::Values {
            low: *low,
            high: *high,
        },
        SavedStart::Filled { at, within } => Start::Filled {
            point: *at,
            tolerance: *within,
        },
    })
}

/// `inputs`: their number.
fn check_history(script: &RunHistory, inputs: usize) -> Result<(), PartError> {
    script.params.check()?;
    script.layout.check()?;
    script.check(inputs)?;
    if script.steps > MAXIMUM_STEPS {
        return Err(PartError::Steps(script.steps));
    }
    Ok(())
}

fn painted(
    document: &Document,
    read: &ReadSession,
    saved: &SavedInputs,
) -> Result<[Vec<Arc<Shape>>; 2], PartError> {
    let shape = |saved: &SavedRegion| Ok(region(document, read, saved)?.shape);
    let shapes = |all: &[SavedRegion]| all.iter().map(shape).collect::<Result<Vec<_>, PartError>>();
    let [grow, hold] = &saved.painted;
    Ok([shapes(grow)?, shapes(hold)?])
}

/// Progress of the surface.
fn resume(
    document: &Document,
    read: &ReadSession,
    run: &SavedRun,
    spheres: &[PlacedSphere],
) -> Result<RunCheckpoint, PartError> {
    // Older sessions have none.
    check_history(&run.script, run.inputs.len().max(1))?;
    let mut awaited = Vec::new();
    let speed_sources = run.inputs.iter().enumerate().map(|(source, inputs)| {
        let layer = match inputs.layer {
            None => None,
            Some((SavedInput { layer, .. }, frame)) if document.awaits(LayerId(layer)) => {
                awaited.push(AwaitedSpeedImage {
                    source,
                    layer,
                    frame,
                });
                None
            }
            Some((SavedInput { layer: id, .. }, frame)) => {
                let layer = document.layer(LayerId(id)).and_then(|l| scalar(l));
                let layer = layer.filter(|volume| frame < volume.frames);
                let layer = layer.ok_or(PartError::SpeedImage)?;
                Some((id, layer.clone(), frame))
            }
        };
        Ok(SpeedSources {
            layer,
            painted: painted(document, read, inputs)?,
        })
    });
    let speed_sources = speed_sources.collect::<Result<_, PartError>>()?;
    let placed = run.placed.iter();
    let placed = placed.filter_map(|(place, step)| Some((spheres.get(*place)?.0, *step)));
    Ok(RunCheckpoint {
        ended: None,
        script: run.script.clone(),
        spheres: spheres.to_vec(),
        placed: placed.collect(),
        speed_sources,
        leak: run.leak.filter(|l| l.leak.rewind_step <= run.script.steps),
        awaited,
    })
}

/// How a mask was segmented.
pub(in crate::state) fn resolve(
    document: &Document,
    read: &ReadSession,
    saved: &SavedSegment,
    input: &dyn Fn(&SavedInput) -> Input,
) -> Result<SegmentRecipe, PartError> {
    check_history(&saved.script, saved.inputs.len().max(1))?;
    let inputs = saved.inputs.iter().map(|inputs| {
        let layer = inputs.layer.as_ref();
        Ok(SpeedInputs {
            layer: layer.map(|(layer, frame)| (input(layer), *frame)),
            painted: painted(document, read, inputs)?,
        })
    });
    let mut inputs = inputs.collect::<Result<Vec<_>, PartError>>()?;
    if inputs.is_empty() {
        inputs.push(SpeedInputs::default());
    }
    Ok(SegmentRecipe {
        image: input(&saved.image),
        frame: saved.frame,
        start: start(read, &saved.start)?,
        spheres: saved.spheres.clone(),
        inputs,
        script: saved.script.clone(),
    })
}

/// Creates the layer, and records its surface in the document.
fn restored(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
) -> Result<Layer, PartError> {
    let Some(SavedContent::Mask {
        mask,
        colour,
        measures,
    }) = &layer.content
    else {
        return Err(PartError::DamagedMask);
    };
    let mask = read.masks.get(*mask).and_then(|m| m.as_ref().ok());
    let mask = mask.ok_or(PartError::DamagedMask)?.clone();
    let origins = Table::new(read).resolve(document, read, [layer.origin]);
    let origin = origins.get(layer.origin)?;
    let surface = KeptSurface {
        phi: None,
        colour: *colour,
        measures: *measures,
    };
    let id = LayerId(layer.id);
    document.surfaces.insert(id, Arc::new(surface));
    let (name, display) = (layer.name.clone(), layer.display.clone());
    Ok(Layer::new(id, name, Content::Mask(mask), display, origin))
}

/// Restores segmented masks.
pub(in crate::state) fn make(
    document: &mut Document,
    read: &ReadSession,
    layer: &SavedLayer,
) -> Option<Result<Layer, PartError>> {
    match Table::new(read).base(layer.origin) {
        Some(SavedOrigin::Segment(_)) => Some(restored(document, read, layer)),
        _ => None,
    }
}

/// Adds the live surface to a document whose layers and regions are loaded; the latter are given by their indices in
/// the session.
pub(in crate::state) fn insert_surface(
    document: &mut Document,
    read: &Arc<ReadSession>,
    saved: &SavedDocument,
    regions: &[Option<RegionId>],
) {
    let id = |place: Option<usize>| place.and_then(|place| *regions.get(place)?);
    let painted = saved.segment.painted.map(id);
    match segmentation(document, read, &saved.segment, painted) {
        Ok(segment) => document.segment = segment,
        Err(why) => {
            let painted = saved.segment.painted.map(|place| {
                let missing = || Some(saved.regions.get(place?)?.clone());
                match id(place) {
                    Some(id) => Some(SpeedRegion::Loaded(id)),
                    None => missing().map(Box::new).map(SpeedRegion::Missing),
                }
            });
            let surface = SessionPart::Surface(Box::new(saved.segment.clone()), painted);
            add_missing(document, read, surface, why);
        }
    }
}

/// The surface that could not be restored before the layer that it needs was found.
pub(in crate::state) fn find_surface_again(document: &mut Document) {
    let is_surface = |part: &&Arc<MissingPart>| matches!(part.part, SessionPart::Surface(..));
    let Some(part) = document.missing_parts().find(is_surface).cloned() else {
        return;
    };
    let now = &document.segment;
    let started = !(now.spheres.is_empty() && matches!(now.start, Start::Spheres));
    let SessionPart::Surface(saved, painted) = &part.part else {
        return;
    };
    let region = |speed_region: &Option<SpeedRegion>| match speed_region {
        None => Some(None),
        Some(SpeedRegion::Loaded(id)) => Some(Some(*id)),
        Some(SpeedRegion::Missing(_)) => None,
    };
    let [grow, avoid] = painted.each_ref().map(region);
    let (Some(grow), Some(avoid), false) = (grow, avoid, started) else {
        return;
    };
    if let Ok(segment) = segmentation(document, &part.session, saved, [grow, avoid]) {
        document.segment = segment;
        document.remove_missing_parts(|other| std::ptr::eq(other, &*part));
    }
}

fn segmentation(
    document: &mut Document,
    read: &ReadSession,
    saved: &SavedSegmentation,
    painted: [Option<RegionId>; 2],
) -> Result<Segmentation, PartError> {
    let start = start(read, &saved.start)?;
    let spheres = saved.spheres.iter();
    let spheres: Vec<PlacedSphere> = spheres.map(|s| (document.fresh_id(), *s)).collect();
    let existing = |id: Option<u64>| {
        let id = id.map(LayerId);
        id.filter(|id| document.layer(*id).is_some() || document.awaits(*id))
    };
    let run = saved.run.as_ref();
    let image = saved.image.map(LayerId);
    if run.is_some() && image.is_some_and(|id| document.missing_layer(id).is_some()) {
        return Err(PartError::SegmentedImage);
    }
    let resume = run.map(|run| resume(document, read, run, &spheres));
    let resume = resume.transpose()?.map(Arc::new);
    Ok(Segmentation {
        settings: saved.settings.clone().sanitized(),
        image: existing(saved.image),
        image_alone: saved.image_alone,
        start,
        reference: existing(saved.reference),
        layer: existing(saved.layer),
        painted,
        spheres,
        sample: None,
        resume,
    })
}
