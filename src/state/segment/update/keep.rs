//! Permanent results of a surface: mask layers, regions, files, its command.

use crate::data::region::RegionId;
use crate::data::{Mask, Role, Shape};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{counted, ml};
use crate::state::core::{colours, display};
use crate::state::edit::edit;
use crate::state::files::jobs::SaveMask;
use crate::state::origin::scripts::{segment_script, segmented_command};
use crate::state::regions::jobs::save::SaveLabels;
use crate::state::segment::jobs::{PlacedSphere, RunControl, SaveField, SaveScript, SurfaceUpdate};
use crate::state::segment::update::{NONE_YET, restart};
use crate::state::segment::{
    KeptSurface, LIVE_RGB, SegmentFile, SegmentRecipe, SpeedInputs, Start, frame_of,
};
use crate::state::{CommandLine, Display, Document, Effect, State};
use std::path::PathBuf;
use std::sync::Arc;

/// The recipe of the present surface.
fn kept_segmentation(document: &Document, live: &SurfaceUpdate) -> Option<SegmentRecipe> {
    let (layer, image) = document.segmented_image()?;
    let segment = &document.segment;
    let later = |number: &u64| live.placed.iter().any(|(n, _)| n == number);
    let start = live.spheres.iter().filter(|(n, _)| !later(n));
    let inputs = live.speed_sources.iter().map(|speed_sources| SpeedInputs {
        layer: speed_sources
            .layer
            .as_ref()
            .map(|(id, _, n)| (document.input(LayerId(*id)), *n)),
        painted: speed_sources.painted.clone(),
    });
    Some(SegmentRecipe {
        image: document.input(layer.id),
        frame: frame_of(layer, image),
        start: segment.start.clone(),
        spheres: start.map(|(_, sphere)| *sphere).collect(),
        inputs: inputs.collect(),
        script: live.script.clone(),
    })
}

/// The recipe of the surface at rest.
pub fn current_origin(state: &State) -> Option<SegmentRecipe> {
    kept_segmentation(&state.document, state.resting_surface()?.0)
}

/// The command of the live surface.
pub fn command_line(state: &State) -> Option<CommandLine> {
    let (live, _) = state.resting_surface()?;
    let recipe = kept_segmentation(&state.document, live)?;
    let runtime = &state.runtime.segment;
    let written = runtime.written.as_ref();
    let written = written.filter(|(_, script)| *script == live.script);
    Some(segmented_command(
        &state.document,
        &recipe,
        written.map(|(path, _)| path.clone()),
    ))
}

/// Makes a mask layer from the present surface. Its spheres belong to the structure that is kept: the next one begins
/// without them, and one step of undo restores the surface and its spheres.
pub(in crate::state) fn keep(state: &mut State) {
    let Some((live, mask)) = state.resting_surface().map(|(l, m)| (l.clone(), m.clone())) else {
        let runtime = &mut state.runtime.segment;
        if runtime.live.is_some() {
            // Kept once it rests.
            (runtime.keep_at_rest, runtime.play) = (true, RunControl::Rest);
        } else {
            state.runtime.notify(Severity::Information, NONE_YET);
        }
        return;
    };
    let Some(recipe) = kept_segmentation(&state.document, &live) else {
        return;
    };
    let used = state.document.surfaces.len();
    let surface = KeptSurface {
        phi: live.phi.clone(),
        colour: colours::CATEGORIES[used % colours::CATEGORIES.len()],
        measures: live.figures.as_ref().map(|f| f.measures),
    };
    // The kept mask consists of voxels; the volume inside the surface differs slightly.
    let ml = ml(mask.volume_ml(), 2);
    let cleared = counted_spheres(&state.document.segment.spheres);
    let mut id = LayerId(0);
    restart(state, "Keep as mask", |document| {
        id = LayerId(document.fresh_id());
        let taken = |name: &str| document.layers.iter().any(|l| l.name == name);
        let mut names = (1..).map(|n| format!("Segment {n}"));
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        let display = Display {
            visible: true,
            ..display::mask_display()
        };
        let origin = document.origins.add(recipe);
        let layer = Layer::new(id, name, Content::Mask(mask), display, origin);
        document.layers.push(Arc::new(layer));
        document.surfaces.insert(id, Arc::new(surface));
        // The next structure begins without a surface.
        document.segment.start = Start::Spheres;
    });
    state.runtime.segment.live = None;
    crate::state::segment::update::camera::unframe(state);
    let message = match cleared {
        Some(spheres) => {
            format!("Kept {ml} as a mask and cleared its {spheres}: undo restores them")
        }
        None => format!("Kept {ml} as a mask"),
    };
    state.runtime.notices.status = message.into();
}

/// The number of spheres of each kind, as text; `None` if there are none.
fn counted_spheres(spheres: &[PlacedSphere]) -> Option<String> {
    let kinds = [(true, "sphere"), (false, "keep-out sphere")];
    let counts = kinds.map(|(add, name)| {
        let count = spheres.iter().filter(|(_, s)| s.add == add).count();
        (count > 0).then(|| counted(count, name))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    (!counts.is_empty()).then(|| counts.join(" and "))
}

/// Returns the surface at rest with its voxels; otherwise reports what is missing.
fn rests(state: &mut State) -> Option<(Arc<SurfaceUpdate>, Mask)> {
    let resting = state.resting_surface().map(|(l, m)| (l.clone(), m.clone()));
    if resting.is_none() {
        let sentence = match state.runtime.segment.live {
            Some(_) => "The surface is moving: pause it first",
            None => NONE_YET,
        };
        state.runtime.notify(Severity::Information, sentence);
    }
    resting
}

/// Makes a region from the voxels inside: a mask or an obstacle for streamlines, rays and costs.
pub(in crate::state) fn region(state: &mut State, role: Role) {
    let Some((_, mask)) = rests(state) else {
        return;
    };
    let shape = Arc::new(Shape::Mask(mask));
    let mut id = RegionId(0);
    edit(state, "Region of a surface", false, |document| {
        id = document.add_region(document.region_name(role), role, shape);
    });
    state.runtime.regions.selected = Some(id);
    state.runtime.notices.status = format!(
        "Made a region of the surface: {}",
        role.name().to_lowercase()
    )
    .into();
}

/// All kept masks, and the surface if it rests, in the order of the layers.
fn structures(state: &State, path: PathBuf) -> Option<SaveLabels> {
    let document = &state.document;
    let (_, image) = document.segmented_image()?;
    let kept = document.layers.iter().filter_map(|layer| {
        let surface = document.surfaces.get(&layer.id)?;
        let Content::Mask(mask) = &layer.content else {
            return None;
        };
        Some((layer.name.clone(), surface.colour, mask))
    });
    let live = state.resting_surface();
    let live = live.map(|(_, mask)| ("Surface".to_owned(), LIVE_RGB, mask));
    let shape = |(name, colour, mask): (String, [u8; 3], &Mask)| {
        (name, colour, Arc::new(Shape::Mask(mask.clone())))
    };
    let regions: Vec<_> = kept.chain(live).map(shape).collect();
    Some(SaveLabels {
        command: format!("{} structures of {}", regions.len(), document.name),
        regions,
        own: Vec::new(),
        grid: image.grid.clone(),
        path,
    })
}

/// The run so far, and the masks that it refers to.
fn run_script(state: &mut State, live: &SurfaceUpdate, path: PathBuf) -> Option<SaveScript> {
    let recipe = kept_segmentation(&state.document, live)?;
    let (script, unfiled, masks) = segment_script(&state.document, &recipe, Some(&path));
    if let Some(name) = unfiled {
        let sentence = format!(
            "A run script names its image, and “{name}” is not in a file: export it first, then open the exported file"
        );
        state.runtime.notify(Severity::Information, sentence);
        return None;
    }
    let text = serde_json::to_string_pretty(&script).ok()? + "\n";
    state.runtime.segment.written = Some((path.clone(), live.script.clone()));
    Some(SaveScript { text, path, masks })
}

pub(in crate::state) fn save(
    state: &mut State,
    what: SegmentFile,
    path: PathBuf,
    effects: &mut Vec<Effect>,
) {
    let command = |state: &State| command_line(state).map_or_else(String::new, |r| r.text());
    let effect = match what {
        SegmentFile::Structures => structures(state, path).map(Effect::submit),
        SegmentFile::Labels => rests(state).map(|(_, mask)| {
            Effect::submit(SaveMask {
                mask,
                path,
                command: command(state),
            })
        }),
        SegmentFile::Surface => rests(state).map(|(live, _)| {
            Effect::submit(SaveField {
                field: live.measured.field.clone(),
                path,
                command: command(state),
            })
        }),
        SegmentFile::Script => rests(state)
            .and_then(|(live, _)| run_script(state, &live, path))
            .map(Effect::submit),
    };
    effects.extend(effect);
}
