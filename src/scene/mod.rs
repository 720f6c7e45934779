//! From the state to the content of its panes, for window, tests and command line alike.
//!
//! Pure: equal states and sizes give equal lists.

pub mod draw_list;
pub mod noise;
mod overlays;
pub mod pathways;
pub mod segment;

use self::draw_list::{
    ById, Clips, Contour, Image, Interpolation, LineColour, LineStyle, Lines, Outline, ScenePane,
    Slab, SlicePane, SliceQuad, Solid, SolidShape,
};
use crate::data::{DataId, Mask, Role, Shape, Tractogram, Volume};
use crate::state::core::colours::role_rgb;
use crate::state::core::display::{Display, LineColouring, STALE_OPACITY};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::document::Document;
use crate::state::filter::{WEIGHT, WeightMap};
use crate::state::{Camera, Pane, State};
use glam::{DVec2, DVec3};
use std::borrow::Cow;
use std::sync::Arc;

mod colours;
mod ends;
mod flats;
mod glyphs;
mod volumes;

use colours::{coloured, stale_colours};
use glyphs::GlyphView;

pub use colours::line_colour;
pub use ends::end_shape;
pub use flats::{Flat, flats};
pub use glyphs::{ThinnedPeaks, every as glyphs_every, omitted_on_slice, thinned_peaks};
pub use volumes::{layer_volumes, second_image, volume_of};

/// A pane's size on screen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Size {
    pub points: DVec2,
    pub pixels_per_point: f64,
}

impl Size {
    pub fn pixels(&self) -> [u32; 2] {
        let px = (self.points * self.pixels_per_point).round();
        [px.x.max(1.0) as u32, px.y.max(1.0) as u32]
    }

    pub fn aspect(&self) -> f64 {
        self.points.x / self.points.y.max(1e-9)
    }
}

/// Streamlines within half of this distance of a slice are drawn on it, mm: about a voxel to either side.
pub const SLAB_MM: f64 = 4.0;
const LINE_ON_SLICE_PX: f32 = 1.6;
/// Colour of streamlines that miss the targets.
const MISSED_RGB: [u8; 3] = [0xC8, 0xCC, 0xD2];
const MISSED_ON_WHITE_RGB: [u8; 3] = [0x8A, 0x90, 0x9A];
const MISSED_OPACITY: f32 = 0.24;
const MISSED_RADIUS_MM: f32 = 0.25;
const OUTLINE_RGB: [u8; 3] = [0x8F, 0xB0, 0xEA];
const OUTLINE_OPACITY: f32 = 0.75;
const REGION_OPACITY: f32 = 0.6;
/// Outline colour of selected streamlines.
const CHOSEN_RGB: [u8; 3] = [0xFF, 0xFF, 0xFF];
const CHOSEN_ON_WHITE_RGB: [u8; 3] = [0x15, 0x18, 0x1C];
const CHOSEN_RADIUS_MM: f32 = 0.55;
/// Remaining fraction of the others' opacity.
const OTHERS_OPACITY: f32 = 0.3;
const CHOSEN_ON_SLICE_PX: f32 = 2.8;
/// Opacity of streamlines behind the live pathway, as a fraction; the same as for streamlines that miss their targets.
const BEHIND_OPACITY: f32 = MISSED_OPACITY;
/// `None` for the 3-D view.
pub fn slice(state: &State, pane: Pane, size: Size) -> Option<SlicePane> {
    let plane = state.plane(pane, size.points)?;
    let mm_per_pixel = plane.mm_per_point / size.pixels_per_point;
    let on_slice = |l: Lines| Lines {
        style: LineStyle::Lines {
            width_px: LINE_ON_SLICE_PX,
        },
        ..l
    };
    // Cost and speed.
    let results = pathways::image(state).into_iter();
    let results: Vec<Image> = results.chain(segment::image(state)).collect();
    let lines = {
        let chosen = chosen(state, CHOSEN_RGB).map(|lines| Lines {
            style: LineStyle::Lines {
                width_px: CHOSEN_ON_SLICE_PX,
            },
            ..lines
        });
        // The live streamlines would cover the share of their repetitions.
        let has_share = noise::streamline_share(state).is_some();
        let live = state.runtime.track.live.value().filter(|_| has_share);
        let covering = live.map(|live| live.output.kept.id());
        let mut all = lines(state);
        all.retain(|line| Some(line.tractogram.0.id()) != covering);
        let all = all.into_iter().map(on_slice);
        let paths = pathways::lines(state).into_iter().map(on_slice);
        all.chain(paths).chain(chosen).collect::<Vec<Lines>>()
    };
    Some(SlicePane {
        size_px: size.pixels(),
        scale: size.pixels_per_point as f32,
        origin: plane.world(DVec2::splat(0.5 / size.pixels_per_point)),
        right: plane.right * mm_per_pixel,
        down: plane.down * mm_per_pixel,
        images_above: results.len(),
        images: {
            let below = pathways::ground(state, images(state));
            below.into_iter().chain(results).collect()
        },
        contours: {
            let layers = overlays::contours(state).into_iter();
            let pathways = layers.chain(pathways::contours(state));
            pathways.chain(segment::contours(state)).collect()
        },
        ends: ends::ends(&lines),
        lines,
        slab_mm: SLAB_MM,
        glyphs: glyphs::glyphs(
            state,
            GlyphView {
                slice: Some((plane.centre, plane.normal())),
                mm_per_point: plane.mm_per_point,
            },
        ),
    })
}

pub fn scene(state: &State, size: Size) -> ScenePane {
    scene_from(state, &state.view.camera, size)
}

/// Seen by a camera other than the view's own: one that moves there.
pub fn scene_from(state: &State, camera: &Camera, size: Size) -> ScenePane {
    let (document, view) = (&state.document, &state.view);
    let head = head_mask(document);
    let outline = head.clone().filter(|_| view.visible.outline);
    let lines = {
        let ink = if view.light_theme {
            CHOSEN_ON_WHITE_RGB
        } else {
            CHOSEN_RGB
        };
        let lines = near_lines(state, lines(state));
        let all = missed(state).into_iter().chain(lines);
        let all = all.chain(pathways::lines(state));
        all.chain(chosen(state, ink)).collect::<Vec<Lines>>()
    };
    ScenePane {
        size_px: size.pixels(),
        scale: size.pixels_per_point as f32,
        clip_from_world: camera.clip_from_world(size.aspect()),
        eye: camera.eye(),
        background: view
            .visible
            .ground
            .unwrap_or([if view.light_theme { 255 } else { 0 }; 3]),
        slices: if view.slices_in_scene() {
            quads(state, camera, head)
        } else {
            Vec::new()
        },
        outline: outline.map(|mask| Outline {
            mask: ById(mask),
            colour: OUTLINE_RGB,
            opacity: OUTLINE_OPACITY,
        }),
        ends: ends::ends(&lines),
        lines,
        slab: view.slab.and_then(|slab| {
            Some(Slab {
                point: view.crosshair,
                normal: view.normal(slab.pane)?,
                half_mm: slab.thickness_mm * 0.5,
            })
        }),
        solids: solids(state),
        volumes: {
            let layers = layer_volumes(state, camera).into_iter();
            let kept = segment::volumes(state);
            layers
                .chain(pathways::volumes(state, camera))
                .chain(kept)
                .collect()
        },
        surfaces: segment::surfaces(state, camera, noise::segmented_surface_colours(state)),
        glyphs: glyphs::glyphs(
            state,
            GlyphView {
                slice: None,
                mm_per_point: camera.mm_per_pixel(size.points),
            },
        ),
        depth_cue: document.scene_look.depth_cue,
        clips: Clips {
            volumes: document.scene_look.clips_of(|kinds| kinds.volumes),
            surfaces: document.scene_look.clips_of(|kinds| kinds.surfaces),
            streamlines: document.scene_look.clips_of(|kinds| kinds.streamlines),
        },
        moving: view.moving,
    }
}

/// The visible images and masks, bottom to top.
pub fn images(state: &State) -> Vec<Image> {
    let document = &state.document;
    let mut images: Vec<Image> = Vec::new();
    let stale = state.layer_of_stale_weights();
    let is_stale = |layer: LayerId| {
        let map = document.weight_map_recipe(layer);
        map.is_some_and(|map| stale == Some(map.layer))
    };
    for layer in document.layers.iter().filter(|l| state.shows(l)) {
        let volume = match &layer.content {
            Content::Scan { dwi: volume, .. } | Content::Image(volume) => volume,
            Content::Mask(mask) => mask.image(),
            Content::Tractogram(_) | Content::InPlace(_) => continue,
        };
        // Fixels are drawn as lines only.
        if volume.fixels.is_some() {
            continue;
        }
        let display = &layer.display;
        let labelled = volume.labels.is_some();
        let overlay = &display.overlay;
        let limit = display.hide_below_fa;
        let fa = document.tensors.as_ref().filter(|_| limit > 0.0);
        let hide_below = match (labelled, fa) {
            // The background of a label map is transparent in its picture.
            (true, _) => None,
            (false, Some(tensors)) => Some((ById(tensors.fa.clone()), limit)),
            (false, None) => unfitted(document, layer.id),
        };
        images.push(Image {
            volume: ById(volume.picture().clone()),
            frame: display.frame.min(volume.frames.saturating_sub(1)),
            window: display.window,
            colour_map: display.colour_map,
            opacity: match is_stale(layer.id) {
                true => display.opacity * STALE_OPACITY,
                false => display.opacity,
            },
            interpolation: match labelled {
                // Interpolation between two labels would give a third one.
                true => Interpolation::Nearest,
                false => display.interpolation,
            },
            brightness: display.brightness,
            hide_below,
            // The lowest image is the background; those over it let it show through, unless limits say where.
            transparent_below: !images.is_empty()
                && overlay.limits.is_none()
                && !overlay.is_symmetric,
            fades: false,
            limits: overlay.limits,
            is_symmetric: overlay.is_symmetric,
            opacity_by_value: overlay.opacity_by_value,
            is_outlined: labelled && overlay.is_outlined,
        });
    }
    images
}

/// A map of a fit has no meaning where no signal was fitted, so the image below shows there: wherever one was fitted,
/// some error is left.
fn unfitted(document: &Document, map: LayerId) -> Option<(ById<Volume>, f32)> {
    let streamlines = document.weight_map_recipe(map)?.layer;
    let error = document.weight_map(streamlines, &WeightMap::Error)?;
    Some((ById(error.content.volume()?.clone()), f32::MIN_POSITIVE))
}

/// The mask that outlines the head and cuts out the slices of the 3-D view: the fitted one, else one that was found
/// automatically, else the largest one, preferably not segmented here.
pub fn head_mask(document: &Document) -> Option<Mask> {
    if let Some(tensors) = &document.tensors {
        return Some(tensors.mask.clone());
    }
    let masks = || {
        document.layers.iter().filter_map(|l| match &l.content {
            Content::Mask(mask) => Some((l, mask)),
            _ => None,
        })
    };
    let brain_mask = masks().find(|(l, _)| document.origin(l).is_automatic_mask());
    // A ventricle or a tumour does not outline the head.
    let large = |mask: &Mask| 50 * mask.count() >= mask.grid.voxel_count();
    let largest = || {
        let rank = |(l, mask): &(&Arc<Layer>, &Mask)| {
            let everywhere = mask.count() == mask.grid.voxel_count();
            let segmented = document.origin(l).is_segmented();
            (!everywhere, !segmented, mask.volume_ml())
        };
        let ranked = masks()
            .filter(|(_, mask)| large(mask))
            .map(|m| (rank(&m), m));
        ranked
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, m)| m)
    };
    brain_mask.or_else(largest).map(|(_, mask)| mask.clone())
}

/// The planes of the three slice views through the crosshair, as they cross the head.
fn quads(state: &State, camera: &Camera, head: Option<Mask>) -> Vec<SliceQuad> {
    let (cost, speed) = (pathways::image(state), segment::image(state));
    let below = pathways::ground(state, images(state));
    let images: Vec<Image> = below.into_iter().chain(cost).chain(speed).collect();
    let contours = overlays::contours(state).into_iter();
    let contours: Vec<Contour> = contours.chain(segment::contours(state)).collect();
    if images.is_empty() {
        return Vec::new();
    }
    // A mask of every voxel does not outline the head.
    let head = head.filter(|head| head.count() < head.grid.voxel_count());
    let quad = |flat: Flat| {
        let (u, v) = ((flat.normal + 1) % 3, (flat.normal + 2) % 3);
        let size = flat.high - flat.low;
        let turn = state.view.turn;
        SliceQuad {
            origin: turn.point(flat.low),
            edge_u: turn.direction(DVec3::AXES[u] * size[u]),
            edge_v: turn.direction(DVec3::AXES[v] * size[v]),
            images: images.clone(),
            contours: contours.clone(),
            cut_out: head.clone().map(ById),
        }
    };
    flats(state, camera).into_iter().map(quad).collect()
}

/// The streamlines that missed the targets, translucent.
fn missed(state: &State) -> Option<Lines> {
    let document = &state.document;
    let live = state.runtime.track.live.value()?;
    let targeted = document.regions.iter().any(|r| r.role == Role::Target);
    let requested = state.view.visible.missed && document.live_display().visible;
    let stopped = state.stopped();
    let missed = stopped.map_or(&live.output.missed, |(_, [_, missed])| missed);
    let in_task = state.view.task.shows_live();
    let comparing = state.runtime.snapshots.comparing.as_ref();
    let both = comparing.is_none_or(|c| c.shows_missed(Some(live)));
    let shown = targeted && requested && in_task && both && !missed.is_empty();
    shown.then(|| Lines {
        tractogram: ById(missed.clone()),
        colour: LineColour::Fixed(if state.view.light_theme {
            MISSED_ON_WHITE_RGB
        } else {
            MISSED_RGB
        }),
        style: LineStyle::Tubes {
            radius_mm: MISSED_RADIUS_MM,
        },
        opacity: MISSED_OPACITY * live_strength(state),
        every: 1,
        context: true,
    })
}

/// Fraction of the live curves' opacity: they are dimmed while they are stale.
fn live_strength(state: &State) -> f32 {
    match state.live_is_stale() {
        true => STALE_OPACITY,
        false => 1.0,
    }
}

/// The live streamlines, perhaps only those that stopped for one reason, and the visible tractograms.
fn lines(state: &State) -> Vec<Lines> {
    let stopped = state.stopped();
    let only = |tractogram| match stopped {
        Some((key, [kept, _])) if key.curves[0] == Tractogram::id(tractogram) => kept,
        _ => tractogram,
    };
    // Next to selected streamlines, the others of their layer are faint and never drawn over them.
    let faint = state.manual_selection().and_then(|chosen| {
        let known = state.runtime.streamlines.extract.shown().is_some();
        let layer = state.document.layer(chosen.layer).filter(|_| known)?;
        Some(state.drawn_streamlines(layer)?.id())
    });
    let live = state.runtime.track.live.value().map(|l| l.output.kept.id());
    let behind = pathways::live_with_cost(state).is_some();
    let centre_lines = noise::shows_centre_lines(state);
    let stale = stale_weights(state);
    let stale_colours = stale_colours(state);
    tractograms(state)
        .into_iter()
        .filter_map(|(tractogram, display)| {
            let mut lines = shown(only(tractogram), &display)?;
            let share = match tractogram.id() {
                id if live == Some(id) && centre_lines => OTHERS_OPACITY * live_strength(state),
                id if live == Some(id) => live_strength(state),
                _ if behind => BEHIND_OPACITY,
                id if faint == Some(id) => OTHERS_OPACITY,
                _ => 1.0,
            };
            let by_weight =
                matches!(&lines.colour, LineColour::Scalar { name, .. } if name == WEIGHT);
            let is_stale = by_weight && stale == Some(tractogram.id())
                || stale_colours.contains(&tractogram.id());
            lines.opacity *= share * if is_stale { STALE_OPACITY } else { 1.0 };
            let is_behind = centre_lines && live == Some(tractogram.id());
            lines.context = behind || is_behind || faint == Some(tractogram.id());
            Some(lines)
        })
        .collect()
}

/// Replaces the drawn streamlines of files by those that the camera sees, where these are known.
fn near_lines(state: &State, mut lines: Vec<Lines>) -> Vec<Lines> {
    for layer in &state.document.layers {
        let near = state.near_streamlines(layer);
        let Some((drawn, near)) = state.drawn_streamlines(layer).zip(near) else {
            continue;
        };
        let colours = state.line_colours(layer);
        for line in &mut lines {
            if line.tractogram.0.id() != drawn.id() {
                continue;
            }
            line.tractogram = ById(near.clone());
            // Their values have a name of their own; their colours have the scale of all views.
            if let Some(colours) = colours
                && !matches!(line.colour, LineColour::Fixed(_) | LineColour::Direction)
            {
                line.colour = line_colour(near, &coloured(&layer.display, colours));
            }
        }
    }
    lines
}

/// The drawn streamlines whose weights are stale.
fn stale_weights(state: &State) -> Option<DataId> {
    let layer = state.document.layer(state.layer_of_stale_weights()?)?;
    Some(state.drawn_streamlines(layer)?.id())
}

/// The tractograms drawn by `lines`, with their display.
pub fn tractograms(state: &State) -> Vec<(&Tractogram, Cow<'_, Display>)> {
    let display = state.document.live_display();
    let live = state.runtime.track.live.value();
    let live = live.filter(|_| display.visible && state.view.task.shows_live());
    let live = live.map(|live| {
        // The colour scale is that of all rays, whatever the cut.
        let display = match &live.rays {
            Some(rays) => Cow::Owned(Display {
                window: rays.range,
                ..display.clone()
            }),
            None => Cow::Borrowed(display),
        };
        (&live.output.kept, display)
    });
    // The colour bar of a pathway is that of its cost: no other values are shown next to it.
    let behind = pathways::live_with_cost(state).is_some();
    let layers = state.document.layers.iter().filter(|l| l.display.visible);
    let kept = layers.filter_map(|l| match &l.content {
        Content::Tractogram(_) | Content::InPlace(_) => {
            let shown = state.drawn_streamlines(l)?;
            let display = match l.display.line_colouring {
                LineColouring::Fixed(_) => Cow::Borrowed(&l.display),
                _ if behind => Cow::Owned(Display {
                    line_colouring: LineColouring::Direction,
                    ..l.display.clone()
                }),
                _ => state
                    .line_colours(l)
                    .map_or(Cow::Borrowed(&l.display), |colours| {
                        Cow::Owned(coloured(&l.display, colours))
                    }),
            };
            Some((shown, display))
        }
        _ => None,
    });
    live.into_iter().chain(kept).collect()
}

/// Selected streamlines, drawn as outlines around themselves as well.
fn chosen(state: &State, ink: [u8; 3]) -> Option<Lines> {
    let chosen = state.manual_selection()?;
    let layer = state.document.layer(chosen.layer)?;
    let (_, some) = state.runtime.streamlines.extract.shown()?;
    let style = match layer.display.line_style {
        LineStyle::Lines { width_px } => LineStyle::Lines {
            width_px: width_px * 2.0 + 1.0,
        },
        LineStyle::Tubes { radius_mm } => LineStyle::Tubes {
            radius_mm: (radius_mm * 1.5).max(CHOSEN_RADIUS_MM),
        },
    };
    (layer.display.visible && !some.is_empty()).then(|| Lines {
        tractogram: ById(some.clone()),
        colour: LineColour::Fixed(ink),
        style,
        opacity: 1.0,
        every: 1,
        context: false,
    })
}

fn shown(tractogram: &Tractogram, display: &Display) -> Option<Lines> {
    (!tractogram.is_empty()).then(|| Lines {
        tractogram: ById(tractogram.clone()),
        colour: line_colour(tractogram, display),
        style: display.line_style,
        opacity: display.opacity,
        every: 1,
        context: false,
    })
}

fn solids(state: &State) -> Vec<Solid> {
    let regions = state.document.regions.iter().filter(|r| r.visible);
    regions
        .map(|region| Solid {
            shape: match &*region.shape {
                Shape::Sphere { centre, radius_mm } => SolidShape::Sphere {
                    centre: *centre,
                    radius_mm: *radius_mm,
                },
                Shape::Box { centre, half_mm } => SolidShape::Box {
                    centre: *centre,
                    half_mm: *half_mm,
                },
                Shape::Mask(mask) => SolidShape::Mask(ById(mask.clone())),
            },
            colour: region.colour.unwrap_or(role_rgb(region.role)),
            opacity: REGION_OPACITY,
            selected: state.runtime.regions.selected == Some(region.id),
        })
        .collect()
}
