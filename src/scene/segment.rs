//! Segmentation: the surface's contour on slices, the surface in 3-D, the speeds.

use super::draw_list::{
    BrickSurface, ById, Contour, ContourSource, Fade, Image, Inside, Interpolation, SlicePane,
    SurfaceColours, Transfer, VolumeDraw, VolumeStyle,
};
use super::{Size, volumes};
use crate::data::Volume;
use crate::data::appearance::ColourMap;
use crate::state::core::display::STALE_OPACITY;
use crate::state::core::layer::Layer;
use crate::state::core::volume_look::VolumeLook;
use crate::state::segment::LIVE_RGB;
use crate::state::{Camera, Pane, State, SurfaceUpdate, Task};

const CONTOUR_PX: f32 = 2.0;
const KEPT_PX: f32 = 1.6;
const AMONG_PATHS_OPACITY: f32 = 0.4;
/// Opacity of surfaces whose colours are values: what lies behind hardly changes them.
pub const COLOURED_OPACITY: f32 = 0.9;
/// Remaining fraction of a cloud's density outside the surface.
const OUTSIDE: f32 = 0.04;
/// Speeds of ±1 are the ends of the colour scale.
pub const SPEEDS: (f32, f32) = (-1.0, 1.0);

/// The surface, if the task shows it and it is not hidden: Segment, and Pathways unless paths ignore it.
pub fn live(state: &State) -> Option<&SurfaceUpdate> {
    let live = state.runtime.segment.live.as_deref();
    let document = &state.document;
    let is_seen = match state.view.task {
        Task::Segment => true,
        Task::Pathways => {
            document.pathways.surface_use.role().is_some() && document.segment.begins()
        }
        _ => false,
    };
    live.filter(|_| document.segment.settings.shown && is_seen)
}

/// Opacity of the surface in 3-D: in Pathways, paths behind it are visible.
fn opacity_in_scene(state: &State) -> f32 {
    match state.view.task {
        Task::Pathways => AMONG_PATHS_OPACITY,
        _ => 1.0,
    }
}

/// Factor of the surface's opacity: it is dimmed while it results from parameters or spheres other than the present
/// ones.
fn strength(state: &State) -> f32 {
    let is_earlier = state.surface_is_stale() || state.rewind_target().is_some();
    let is_awaited = state.view.task == Task::Pathways && state.pathway_awaits_surface();
    match is_earlier || is_awaited {
        true => STALE_OPACITY,
        false => 1.0,
    }
}

/// Masks that were segmented here, with φ or a replacement for it, and the value at the surface.
fn kept(state: &State) -> impl Iterator<Item = (&Layer, &Volume, f32, [u8; 3])> {
    let layers = state.document.layers.iter().filter(|l| l.display.visible);
    layers.filter_map(|layer| {
        let surface = state.document.surfaces.get(&layer.id)?;
        let crate::state::Content::Mask(mask) = &layer.content else {
            return None;
        };
        Some(match &surface.phi {
            Some(phi) => (&**layer, phi, 0.0, surface.colour),
            None => (&**layer, mask.image(), 0.5, surface.colour),
        })
    })
}

pub fn contours(state: &State) -> Vec<Contour> {
    let contour = |source, level, colour, width_px, opacity| Contour {
        source,
        level,
        every: None,
        colour,
        opacity,
        width_px,
        dashed: false,
    };
    let kept = kept(state).map(|(_, phi, level, colour)| {
        let source = ContourSource::Image(ById(phi.clone()));
        contour(source, level, colour, KEPT_PX, 1.0)
    });
    let live = live(state).map(|live| {
        let source = ContourSource::Bricks(ById(live.bricks.clone()));
        contour(source, 0.0, LIVE_RGB, CONTOUR_PX, strength(state))
    });
    kept.chain(live).collect()
}

/// Kept surfaces, directly from φ.
pub fn volumes(state: &State) -> Vec<VolumeDraw> {
    let kept = kept(state).map(|(_, phi, level, colour)| surface(phi, (level, false), colour, 1.0));
    kept.collect()
}

/// The live surface, directly from the solver's bricks; `coloured_by` are its colours, if they are not its own.
pub fn surfaces(
    state: &State,
    camera: &Camera,
    coloured_by: Option<SurfaceColours>,
) -> Vec<BrickSurface> {
    let opacity = match coloured_by {
        Some(_) => COLOURED_OPACITY,
        None => opacity_in_scene(state),
    };
    let live = live(state).map(|live| BrickSurface {
        phi: ById(live.bricks.clone()),
        colour: LIVE_RGB,
        opacity: strength(state) * opacity,
        lit: true,
        fade: fade(state, camera),
        coloured_by,
    });
    live.into_iter().collect()
}

/// Fades by the distance from the cut of the segmented image.
fn fade(state: &State, camera: &Camera) -> Option<Fade> {
    let reach_mm = state.document.segment.settings.fade_mm?;
    let (layer, _) = state.document.segmented_image()?;
    let look = layer.display.volume.as_ref()?;
    let planes = volumes::planes(look.cut, &state.view, camera);
    (!planes.is_empty()).then_some(Fade { planes, reach_mm })
}

/// The surface inside which other volumes are shown.
pub fn inside(state: &State) -> Option<Inside> {
    let live = live(state).filter(|_| state.view.task == Task::Segment)?;
    Some(Inside {
        phi: ById(live.bricks.clone()),
        outside: if state.document.segment.settings.dims {
            OUTSIDE
        } else {
            1.0
        },
        line: LIVE_RGB,
    })
}

/// The surface at a level, below or above which is the inside.
pub fn surface(
    phi: &Volume,
    (level, below): (f32, bool),
    colour: [u8; 3],
    opacity: f32,
) -> VolumeDraw {
    VolumeDraw {
        volume: ById(phi.clone()),
        frame: 0,
        window: (-1.0, 1.0),
        transfer: Transfer::cost(),
        reference_mm: VolumeLook::default_reference_mm(phi),
        style: VolumeStyle::Surface {
            level,
            below,
            colour,
            opacity,
        },
        interpolation: Interpolation::Linear,
        lit: true,
        cut: None,
        inside: None,
        fade: None,
        coloured_by: None,
        shapes: None,
    }
}

fn speed(state: &State, opacity: f32) -> Option<Image> {
    let speed = state.runtime.segment.speed.as_ref()?;
    let shown = state.shows_speed() && opacity > 0.0;
    shown.then(|| Image {
        volume: ById(speed.clone()),
        frame: 0,
        window: SPEEDS,
        colour_map: ColourMap::Speed,
        opacity,
        interpolation: Interpolation::Linear,
        brightness: 1.0,
        hide_below: None,
        transparent_below: false,
        fades: false,
        limits: None,
        is_symmetric: false,
        opacity_by_value: false,
        is_outlined: false,
    })
}

/// The speeds over the other images.
pub fn image(state: &State) -> Option<Image> {
    speed(state, state.document.segment.settings.speed_opacity)
}

/// A slice of the speeds with the surface's contour.
pub fn speed_slice(state: &State, pane: Pane, size: Size) -> Option<SlicePane> {
    let mut list = super::slice(state, pane, size)?;
    list.images = speed(state, 1.0).into_iter().collect();
    list.lines = Vec::new();
    list.glyphs = None;
    Some(list)
}
