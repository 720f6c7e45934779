//! Pathways: their cost on slices, their outlines, their paths; the share of repetitions in place of the cost, and that of
//! streamlines in Track.

use super::draw_list::{
    ById, Contour, ContourSource, CutAway, Image, Interpolation, LineColour, LineStyle, Lines,
    Transfer, VolumeDraw, VolumeStyle,
};
use super::noise;
use super::volumes::planes;
use crate::data::appearance::ColourMap;
use crate::data::{DataId, Tractogram, Volume, VolumeKind};
use crate::state::core::display::STALE_OPACITY;
use crate::state::core::volume_look::VolumeLook;
use crate::state::pathways::{EXCESS_SHOWN, LIVE_RGB, PathwayResult, ShownCost};
use crate::state::{Camera, State, Task};
use std::sync::Arc;

const OUTLINE_RGB: [u8; 3] = [0xFF, 0xFF, 0xFF];
const OUTLINE_PX: f32 = 1.6;
const CONTOUR_OPACITY: f32 = 0.55;
const PATH_RADIUS_MM: f32 = 0.6;
/// Opacity of surfaces, through which the minimal path is visible.
const KEPT_OPACITY: f32 = 0.85;
const LIVE_OPACITY: f32 = 0.7;
/// Opacity of a surface around a cloud.
const AROUND_OPACITY: f32 = 0.3;
/// Density factor of a cloud on a white canvas, where colours that are dim on black would be pale.
const DENSER_ON_WHITE: f32 = 1.5;
/// Window of the FA that replaces its directions: white matter is nearly white.
const GREY_FA: (f32, f32) = (0.0, 0.8);
const POINTED_RADIUS_MM: f32 = 0.5;
/// Colour of the path at the pointer: no outline, contour or kept pathway has it.
const POINTED_RGB: [u8; 3] = [0xFF, 0x4F, 0xD8];
/// Radius of the costliest stretch of the highlighted path, around it.
const WEAKEST_RADIUS_MM: f32 = 0.75;
const WEAKEST_RGB: [u8; 3] = [0xF5, 0xB8, 0x3D];

/// The live pathway, if the task shows it with its cost.
pub fn live_with_cost(state: &State) -> Option<&PathwayResult> {
    let live = state.runtime.pathways.live.value().map(Arc::as_ref);
    live.filter(|_| state.view.task == Task::Pathways)
}

/// The live pathway, if it is drawn: with its cost in its own task, as a path and an outline in Segment.
fn live(state: &State) -> Option<&PathwayResult> {
    let live = state.runtime.pathways.live.value().map(Arc::as_ref);
    live.filter(|_| state.view.task == Task::Pathways || state.shows_pathway_in_segment())
}

/// Fraction of the live pathway's opacity: it is dimmed while it is stale.
fn strength(state: &State) -> f32 {
    match state.pathway_is_stale() {
        true => STALE_OPACITY,
        false => 1.0,
    }
}

/// The window of a side's cost: from 0 to the 99th percentile.
pub fn side_window(side: &Volume) -> (f32, f32) {
    (0.0, side.percentiles(0, 0.01, 0.99).1)
}

/// The images below the cost, a map of sensitivity or a share of repetitions: in grey if requested, since colours of
/// directions cannot be distinguished from theirs.
pub fn ground(state: &State, mut images: Vec<Image>) -> Vec<Image> {
    let (document, settings) = (&state.document, &state.document.pathways);
    let layers = document.layers.iter();
    let maps = layers.filter(|l| document.is_pathway_map(l.id));
    let maps: Vec<DataId> = maps
        .filter_map(|l| Some(l.content.volume()?.picture().id()))
        .collect();
    let is_cost_seen = settings.shown != ShownCost::Off && settings.opacity > 0.0;
    let shows_share = noise::shown_share(state).is_some();
    let shows_cost = live_with_cost(state).is_some() && (is_cost_seen || shows_share)
        || noise::streamline_share(state).is_some();
    let shows_map = state.view.task == Task::Pathways
        && images
            .iter()
            .any(|image| maps.contains(&image.volume.0.id()));
    if !settings.greys || !(shows_cost || shows_map) {
        return images;
    }
    let fa = document.tensors.as_ref().map(|t| &t.fa);
    for image in &mut images {
        let volume = &image.volume.0;
        // The colours of a map of a pathway are those of its legend.
        if maps.contains(&volume.id()) {
            continue;
        }
        match (volume.kind, fa) {
            _ if volume.labels.is_some() || image.colour_map == ColourMap::Mask => {}
            (VolumeKind::Rgb, Some(fa)) => {
                (image.volume, image.frame) = (ById(fa.clone()), 0);
                (image.window, image.colour_map) = (GREY_FA, ColourMap::Grey);
            }
            (VolumeKind::Rgb, None) => {}
            _ => image.colour_map = ColourMap::Grey,
        }
    }
    images
}

/// The cost as an image over the others, or the share of the repetitions in its place.
pub fn image(state: &State) -> Option<Image> {
    if let Some(share) = noise::image(state) {
        return Some(share);
    }
    let pathway = live_with_cost(state)?;
    let settings = &state.document.pathways;
    let (volume, window, fades) = match settings.shown {
        ShownCost::Off => return None,
        ShownCost::Total => {
            let window = pathway.excess_window(settings.range);
            (&pathway.excess, window, true)
        }
        ShownCost::First => (&pathway.sides[0], side_window(&pathway.sides[0]), false),
        ShownCost::Second => (&pathway.sides[1], side_window(&pathway.sides[1]), false),
    };
    Some(Image {
        volume: ById(volume.clone()),
        frame: 0,
        window,
        colour_map: ColourMap::Cost,
        opacity: settings.opacity * strength(state),
        interpolation: Interpolation::Linear,
        brightness: 1.0,
        hide_below: None,
        transparent_below: false,
        fades,
        limits: None,
        is_symmetric: false,
        opacity_by_value: false,
        is_outlined: false,
    })
}

/// The outlines of pathways, and lines of equal cost.
pub fn contours(state: &State) -> Vec<Contour> {
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let mut all: Vec<Contour> = kept
        .filter_map(|k| {
            let pathway = k.result.as_ref()?;
            Some(outline(pathway, k.epsilon, k.colour, 1.0))
        })
        .collect();
    let Some(pathway) = live(state) else {
        all.extend(noise::contour(state));
        all.extend(noise::object_contours(state));
        return all;
    };
    let settings = &state.document.pathways;
    if let Some(every) = settings
        .contours
        .filter(|_| live_with_cost(state).is_some())
    {
        let side = match settings.shown {
            ShownCost::Second => &pathway.sides[1],
            _ => &pathway.sides[0],
        };
        all.push(Contour {
            source: ContourSource::Image(ById(side.clone())),
            level: 0.0,
            every: Some(every as f32),
            colour: OUTLINE_RGB,
            opacity: CONTOUR_OPACITY * strength(state),
            width_px: 1.0,
            dashed: false,
        });
    }
    all.extend(noise::contour(state));
    all.extend(noise::object_contours(state));
    if settings.outline {
        let strength = strength(state);
        all.push(outline(pathway, settings.epsilon, OUTLINE_RGB, strength));
    }
    all
}

fn outline(result: &PathwayResult, epsilon: f64, colour: [u8; 3], opacity: f32) -> Contour {
    Contour {
        source: ContourSource::Image(ById(result.excess.clone())),
        level: epsilon as f32,
        every: None,
        colour,
        opacity,
        width_px: OUTLINE_PX,
        dashed: false,
    }
}

/// The visible pathways and their widths, including the live one even in other tasks.
fn shown(state: &State) -> impl Iterator<Item = (&PathwayResult, f64)> {
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let kept = kept.filter_map(|k| Some((k.result.as_deref()?, k.epsilon)));
    let live = state.runtime.pathways.live.value().map(Arc::as_ref);
    kept.chain(live.map(|pathway| (pathway, state.document.pathways.epsilon)))
}

/// Excess costs and widths of the visible pathways.
pub fn sets(state: &State) -> Vec<(ById<Volume>, f32)> {
    let set =
        |(pathway, epsilon): (&PathwayResult, f64)| (ById(pathway.excess.clone()), epsilon as f32);
    shown(state).map(set).collect()
}

/// An upper bound of the voxels in the visible pathways.
pub fn voxels(state: &State) -> usize {
    let count = |(pathway, epsilon): (&PathwayResult, f64)| {
        let within = pathway.shares.partition_point(|s| *s <= epsilon as f32);
        // Voxels of a coarse pathway count as eight each.
        within * if pathway.coarse { 8 } else { 1 }
    };
    shown(state).map(count).sum()
}

/// The cost as a cloud, the pathways as surfaces, all with the same cut.
pub fn volumes(state: &State, camera: &Camera) -> Vec<VolumeDraw> {
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let mut all: Vec<VolumeDraw> = kept
        .filter_map(|k| {
            let pathway = k.result.as_ref()?;
            Some(surface(state, pathway, k.epsilon, k.colour, KEPT_OPACITY))
        })
        .collect();
    let settings = &state.document.pathways;
    let share = noise::cloud(state);
    if let Some(pathway) = live(state) {
        // A cloud would hide the surface that the pathway follows.
        let has_cloud = settings.cloud && live_with_cost(state).is_some() && share.is_none();
        let opacity = match has_cloud || share.is_some() {
            true => AROUND_OPACITY,
            false => LIVE_OPACITY,
        };
        let strength = strength(state);
        let opacity = opacity * strength;
        let around = surface(state, pathway, settings.epsilon, LIVE_RGB, opacity);
        let cloud = has_cloud.then(|| VolumeDraw {
            reference_mm: around.reference_mm / strength,
            window: pathway.excess_window(settings.range),
            transfer: settings.transfer.clone(),
            style: VolumeStyle::Cloud,
            ..around.clone()
        });
        all.extend(Some(around).filter(|_| settings.surface));
        all.extend(cloud);
    }
    all.extend(share);
    all.extend(noise::object_surface(state));
    let planes = planes(settings.cut, &state.view, camera);
    if !planes.is_empty() {
        for volume in &mut all {
            // A cut shows the interior, not values: the cost itself is on the slices.
            volume.cut = Some(CutAway {
                planes: planes.clone(),
                face: None,
            });
        }
    }
    all
}

/// Two voxels of the tensors or distributions, even during a drag with the cost on voxels of twice the size: the cloud keeps its
/// density.
fn reference_mm(state: &State, result: &PathwayResult) -> f32 {
    let document = &state.document;
    let tensors = document.tensors.iter();
    let tensors = tensors.map(|t| (t.field.id(), &t.field.grid));
    let distributions = document.distributions.field().into_iter();
    let mut fields = tensors.chain(distributions.map(|field| (field.id(), &field.grid)));
    let fine = fields.find(|(id, _)| result.coarse && *id == result.key.field);
    let grid = fine.map_or(&result.excess.grid, |(_, grid)| grid);
    let denser = match state.view.light_theme {
        true => DENSER_ON_WHITE,
        false => 1.0,
    };
    VolumeLook::two_voxels_mm(grid) / denser
}

fn surface(
    state: &State,
    result: &PathwayResult,
    epsilon: f64,
    colour: [u8; 3],
    opacity: f32,
) -> VolumeDraw {
    VolumeDraw {
        volume: ById(result.excess.clone()),
        frame: 0,
        window: (0.0, EXCESS_SHOWN),
        transfer: Transfer::cost(),
        reference_mm: reference_mm(state, result),
        style: VolumeStyle::Surface {
            level: epsilon as f32,
            below: true,
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

/// The minimal paths, and the best one through the voxel at the pointer; the costliest stretch of the highlighted one.
pub fn lines(state: &State) -> Vec<Lines> {
    let tube = |line: &Tractogram, colour: [u8; 3], radius_mm: f32, opacity: f32| Lines {
        tractogram: ById(line.clone()),
        colour: LineColour::Fixed(colour),
        style: LineStyle::Tubes { radius_mm },
        opacity,
        every: 1,
        context: false,
    };
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let mut all: Vec<Lines> = kept
        .filter_map(|k| {
            let line = &k.result.as_ref()?.curve;
            Some(tube(line, k.colour, PATH_RADIUS_MM, 1.0))
        })
        .collect();
    if let Some(pathway) = live(state) {
        // Two tubes along one line would hide each other in turn: the path leaves out the stretch.
        let pointed = state.path_pointed();
        let weakest = state.reported_path().and_then(|(_, weakest)| weakest);
        let rest = |line| weakest.map_or(line, |w| &w.rest);
        let minimal = match pointed {
            Some(_) => &pathway.curve,
            None => rest(&pathway.curve),
        };
        let strength = strength(state);
        let tube = |line, colour, radius_mm| tube(line, colour, radius_mm, strength);
        all.extend(noise::paths(state));
        all.push(tube(minimal, LIVE_RGB, PATH_RADIUS_MM));
        all.extend(pointed.map(|h| tube(rest(&h.curve), POINTED_RGB, POINTED_RADIUS_MM)));
        all.extend(weakest.map(|w| tube(&w.curve, WEAKEST_RGB, WEAKEST_RADIUS_MM)));
    }
    all.extend(noise::centre_lines(state));
    all.extend(noise::shortest_line(state));
    all
}
