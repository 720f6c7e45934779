//! Runs of masks in a session, to be repeated.

use crate::compute::Control;
use crate::solvers;
use crate::solvers::level_set::Start;
use crate::solvers::region;
use crate::state::segment::jobs::{Segment, SpeedSources};
use crate::state::segment::{SegmentRecipe, Start as Begin};
use crate::state::{Document, LayerId};
use std::fmt;

/// Why a mask of a session cannot be segmented again: half a sentence.
pub(in crate::cli) enum NotRepeated {
    /// The image of the segmentation, or one of its speeds, is missing.
    NoImage,
    Solver(solvers::Error),
}

impl fmt::Display for NotRepeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoImage => f.write_str("its image is missing"),
            Self::Solver(error) => error.fmt(f),
        }
    }
}

impl From<solvers::Error> for NotRepeated {
    fn from(error: solvers::Error) -> Self {
        Self::Solver(error)
    }
}

/// The run of a mask in a session, to be repeated on the same voxels.
pub(in crate::cli) fn repeat(
    document: &Document,
    recipe: &SegmentRecipe,
) -> Result<Segment, NotRepeated> {
    let control = Control::new();
    let image = |id: LayerId| document.layer(id).and_then(|l| l.content.volume()).cloned();
    let volume = image(recipe.image.layer).ok_or(NotRepeated::NoImage)?;
    let frame = recipe.frame;
    if frame >= volume.frames {
        return Err(NotRepeated::NoImage);
    }
    let mask = match &recipe.start {
        Begin::Spheres => None,
        Begin::Mask(_, mask) => Some(mask.clone()),
        Begin::Values { low, high } => {
            let range = (*low, *high);
            Some(region::threshold(&volume, frame, range, &control)?)
        }
        Begin::Filled { point, tolerance } => {
            let filled = region::fill(&volume, frame, *point, *tolerance, f64::INFINITY, &control);
            Some(filled?.mask)
        }
    };
    let speed_sources = recipe.inputs.iter().map(|inputs| {
        let layer = match inputs.layer {
            Some((input, frame)) => {
                let id = input.layer;
                Some((id.0, image(id).ok_or(NotRepeated::NoImage)?, frame))
            }
            None => None,
        };
        let painted = inputs.painted.clone();
        Ok(SpeedSources { layer, painted })
    });
    let speed_sources = speed_sources.collect::<Result<_, NotRepeated>>()?;
    Ok(Segment {
        start: Start {
            mask,
            spheres: recipe.spheres.clone(),
        },
        speed_sources,
        script: recipe.script.clone(),
        is_repeat: true,
        watched: false,
        reference: None,
        frame,
        image: volume,
    })
}
