//! The methods text of segmentations.

use crate::data::text::{counted, singular_or_plural};
use crate::parameters::Parameters as _;
use crate::solvers::level_set::{Measures, Mode, Params, RunHistory, ScriptEvent};
use crate::state::core::citations::Citations;
use crate::state::core::settings::other_settings;
use crate::state::core::text::{fixed, plain_ml};
use crate::state::regions::methods::position_text;
use crate::state::segment::{SegmentRecipe, Start};
use crate::state::{State, Task};
use std::fmt::Write as _;

const LEVEL_SETS: &str = "Osher S, Sethian JA (1988). Fronts propagating with curvature-dependent speed: \
    algorithms based on Hamilton–Jacobi formulations. Journal of Computational Physics 79:12–49.";
const INTERACTIVE_SPEEDS: &str = "Lefohn AE, Cates JE, Whitaker RT (2003). Interactive, GPU-based level sets for 3D \
    segmentation. Medical Image Computing and Computer-Assisted Intervention, LNCS 2878:564–572.";
const REGIONS: &str = "Chan TF, Vese LA (2001). Active contours without edges. IEEE Transactions on Image \
    Processing 10:266–277.";
const EDGES: &str = "Caselles V, Kimmel R, Sapiro G (1997). Geodesic active contours. International Journal of \
    Computer Vision 22:61–79.";

/// Describes all kept masks, and the live surface if it is shown.
pub(in crate::state) fn segments(state: &State, citations: &mut Citations) -> String {
    let document = &state.document;
    let mut text = String::new();
    for layer in &document.layers {
        if let Some(recipe) = document.segmentation_recipe(layer.id) {
            let measures = document.surfaces.get(&layer.id).and_then(|s| s.measures);
            let name = format!("“{}”", layer.name);
            text += &segmentation_text(state, &name, recipe, measures, citations);
        }
    }
    let live = state
        .resting_surface()
        .filter(|_| state.view.task == Task::Segment);
    let live = live.and_then(|(live, _)| {
        let measures = live.figures.as_ref().map(|f| f.measures);
        Some((
            crate::state::segment::update::current_origin(state)?,
            measures,
        ))
    });
    if let Some((recipe, measures)) = live {
        text += &segmentation_text(state, "The surface", &recipe, measures, citations);
    }
    text + &margin_text(state)
}

/// The distance within which voxels of pathways are counted, if some are.
fn margin_text(state: &State) -> String {
    let surface = state.resting_surface();
    let surface = surface.filter(|_| state.view.task == Task::Segment);
    let figures = surface.and_then(|(live, _)| live.figures.as_ref());
    let mut near = figures.into_iter().flat_map(|f| &f.distances);
    match near.find_map(|near| near.margin) {
        Some(margin) => format!(
            " Voxels of pathways were counted within {} mm of the surface.",
            fixed(margin.margin_mm, 1)
        ),
        None => String::new(),
    }
}

fn segmentation_text(
    state: &State,
    name: &str,
    recipe: &SegmentRecipe,
    measures: Option<Measures>,
    citations: &mut Citations,
) -> String {
    let image = state.document.layer(recipe.image.layer);
    let image = image.map_or_else(|| "an image".to_owned(), |l| format!("“{}”", l.name));
    let script = &recipe.script;
    let started = match &recipe.start {
        Start::Spheres => None,
        Start::Mask(name, _) => Some(format!("the mask “{name}”")),
        Start::Values { low, high } => Some(format!("the voxels with values from {low} to {high}")),
        Start::Filled {
            point: place,
            tolerance,
        } => Some(format!(
            "the voxels connected to {} with values within {tolerance} of the one there",
            position_text(*place)
        )),
    };
    let spheres: Vec<String> = recipe
        .spheres
        .iter()
        .map(|s| {
            let (what, kept) = match s.add {
                true => ("", ""),
                false => ("less ", ", which it keeps out of"),
            };
            format!(
                "{what}a sphere of {:.1} mm radius at {}{kept}",
                s.radius_mm,
                position_text(s.centre)
            )
        })
        .collect();
    let from: Vec<String> = started.into_iter().chain(spheres).collect();
    let mut text = format!(
        " {name} was segmented in {image} by a level set {} with interactively steered speeds {} in a narrow \
         band, from {}, in {}: {}",
        citations.cite(LEVEL_SETS),
        citations.cite(INTERACTIVE_SPEEDS),
        from.join(", "),
        counted(script.steps as usize, "step"),
        speeds(&script.params, citations)
    );
    let number =
        |is: fn(&ScriptEvent) -> bool| script.events.iter().filter(|e| is(&e.event)).count();
    let changes = number(|what| matches!(what, ScriptEvent::Params(_)));
    let placed = number(|what| matches!(what, ScriptEvent::Sphere(s) if s.add));
    let cut = number(|what| matches!(what, ScriptEvent::Sphere(s) if !s.add));
    let moved = number(|what| matches!(what, ScriptEvent::Inputs(_)));
    if changes > 0 {
        let _ = write!(
            text,
            "; speeds were changed {} during the run",
            counted(changes, "time")
        );
        let last = script.events.iter().rev().find_map(|e| match &e.event {
            ScriptEvent::Params(params) => Some(params),
            ScriptEvent::Sphere(_) | ScriptEvent::Inputs(_) => None,
        });
        if let Some(last) = last {
            let _ = write!(text, ", at last to {}", speeds(last, citations));
        }
    }
    if moved > 0 {
        let _ = write!(
            text,
            "; regions or an image that give a speed were changed {} during the run",
            counted(moved, "time")
        );
    }
    let spheres = |n| {
        format!(
            "{} {}",
            counted(n, "sphere"),
            singular_or_plural(n, "was", "were")
        )
    };
    if placed > 0 {
        let _ = write!(text, "; {} added during the run", spheres(placed));
    }
    if cut > 0 {
        let _ = write!(
            text,
            "; {} cut away during the run, which the surface keeps out of",
            spheres(cut)
        );
    }
    text += ".";
    text += &other_settings(last_params(script), &Params::defaults(), STATED);
    if let Some(measures) = measures {
        let _ = write!(
            text,
            " After {}, its surface of {:.1} cm² enclosed {}.",
            counted(script.steps as usize, "step"),
            measures.area_mm2 * 1e-2,
            plain_ml(measures.volume_ml, 2)
        );
    }
    text
}

/// Keys of the rows that the sentences state.
const STATED: &[&str] = &[
    "smoothness",
    "intensity",
    "region",
    "edge",
    "edge-contrast",
    "layer-weight",
    "paper",
];

/// The parameters at the end of a run.
fn last_params(script: &RunHistory) -> &Params {
    script.params_at(u64::MAX).0
}

fn speeds(params: &Params, citations: &mut Citations) -> String {
    let mut text = format!(
        "target {}, tolerance {}, weight of curvature {}",
        params.target, params.tolerance, params.smoothness
    );
    if params.intensity != 1.0 {
        let _ = write!(text, ", of the grey value {}", params.intensity);
    }
    if params.region > 0.0 {
        let _ = write!(
            text,
            ", of the means inside and outside {} {}",
            citations.cite(REGIONS),
            params.region
        );
    }
    if params.edge > 0.0 {
        let _ = write!(
            text,
            ", of edges {} {} (contrast {} per mm)",
            citations.cite(EDGES),
            params.edge,
            params.edge_contrast
        );
    }
    if let Some(layer) = params.layer {
        let _ = write!(
            text,
            ", of another image {} ({} to {})",
            params.layer_weight, layer.low, layer.high
        );
    }
    if params.mode == Mode::Paper {
        text += ", raw grey values";
    }
    text
}
