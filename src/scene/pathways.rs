//! Pathways: their cost on slices, the outlines of their sets, their paths.

use super::draw_list::{
    ById, Contour, ContourOf, CutAway, Image, Interpolation, LineColour, LineStyle, Lines,
    Transfer, VolumeDraw, VolumeStyle,
};
use super::volumes::planes;
use crate::data::appearance::ColourMap;
use crate::data::{Tractogram, Volume, VolumeKind};
use crate::state::core::display::STALE_OPACITY;
use crate::state::core::volume_look::VolumeLook;
use crate::state::pathways::{EXCESS_SHOWN, LIVE_RGB, PathwayResult, Shown};
use crate::state::{Camera, State, Task};

const OUTLINE_RGB: [u8; 3] = [0xFF, 0xFF, 0xFF];
const OUTLINE_PX: f32 = 1.6;
const CONTOUR_OPACITY: f32 = 0.55;
const PATH_RADIUS_MM: f32 = 0.6;
/// Of surfaces: through them the cheapest path is seen.
const KEPT_OPACITY: f32 = 0.85;
const LIVE_OPACITY: f32 = 0.7;
/// Of one around a cloud.
const AROUND_OPACITY: f32 = 0.3;
/// A cloud on a white canvas: what is dim on black would be pale there.
const DENSER_ON_WHITE: f32 = 1.5;
/// Of the FA that stands for its directions: white matter is nearly white.
const GREY_FA: (f32, f32) = (0.0, 0.8);
const POINTED_RADIUS_MM: f32 = 0.5;
/// Of the path under the pointer: no outline, no contour and no kept pathway has it.
const POINTED_RGB: [u8; 3] = [0xFF, 0x4F, 0xD8];
/// Where the path that is told about costs most a mm: around it.
const WEAKEST_RADIUS_MM: f32 = 0.75;
const WEAKEST_RGB: [u8; 3] = [0xF5, 0xB8, 0x3D];

/// The live pathway where it is looked at.
pub fn live(state: &State) -> Option<&PathwayResult> {
    let live = state.session.pathways.live.as_deref();
    live.filter(|_| state.view.task == Task::Pathways)
}

/// A share of the live pathway's opacity: it is dim as long as it is not what the controls say.
fn strength(state: &State) -> f32 {
    match state.pathway_is_stale() {
        true => STALE_OPACITY,
        false => 1.0,
    }
}

/// The window of a side's cost: from 0 to what all but a hundredth lie below.
pub fn side_window(side: &Volume) -> (f32, f32) {
    (0.0, side.percentiles(0, 0.01, 0.99).1)
}

/// The images that the cost lies over: in greys where that is asked for, since colours of directions and
/// colours of cost cannot be told apart.
pub fn ground(state: &State, mut images: Vec<Image>) -> Vec<Image> {
    let settings = &state.document.pathways;
    let seen = settings.shown != Shown::Off && settings.opacity > 0.0;
    if live(state).is_none() || !(seen && settings.greys) {
        return images;
    }
    let fa = state.document.tensors.as_ref().map(|t| &t.fa);
    for image in &mut images {
        let volume = &image.volume.0;
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

/// The cost over the other images.
pub fn image(state: &State) -> Option<Image> {
    let found = live(state)?;
    let settings = &state.document.pathways;
    let (volume, window, fades) = match settings.shown {
        Shown::Off => return None,
        Shown::Total => (&found.excess, (0.0, settings.range), true),
        Shown::First => (&found.sides[0], side_window(&found.sides[0]), false),
        Shown::Second => (&found.sides[1], side_window(&found.sides[1]), false),
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
    })
}

/// The sets' outlines, and lines of equal cost.
pub fn contours(state: &State) -> Vec<Contour> {
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let mut all: Vec<Contour> = kept
        .filter_map(|k| {
            let found = k.found.as_ref()?;
            Some(outline(found, k.epsilon, k.colour, 1.0))
        })
        .collect();
    let Some(found) = live(state) else {
        return all;
    };
    let settings = &state.document.pathways;
    if let Some(every) = settings.contours {
        let side = match settings.shown {
            Shown::Second => &found.sides[1],
            _ => &found.sides[0],
        };
        all.push(Contour {
            of: ContourOf::Image(ById(side.clone())),
            level: 0.0,
            every: Some(every as f32),
            colour: OUTLINE_RGB,
            opacity: CONTOUR_OPACITY * strength(state),
            width_px: 1.0,
        });
    }
    if settings.outline {
        let strength = strength(state);
        all.push(outline(found, settings.epsilon, OUTLINE_RGB, strength));
    }
    all
}

fn outline(found: &PathwayResult, epsilon: f64, colour: [u8; 3], opacity: f32) -> Contour {
    Contour {
        of: ContourOf::Image(ById(found.excess.clone())),
        level: epsilon as f32,
        every: None,
        colour,
        opacity,
        width_px: OUTLINE_PX,
    }
}

/// The shown pathways and their widths, the live one's too where it is not looked at.
fn shown(state: &State) -> impl Iterator<Item = (&PathwayResult, f64)> {
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let kept = kept.filter_map(|k| Some((k.found.as_deref()?, k.epsilon)));
    let live = state.session.pathways.live.as_deref();
    kept.chain(live.map(|found| (found, state.document.pathways.epsilon)))
}

/// The shown pathways' excess costs and widths.
pub fn sets(state: &State) -> Vec<(ById<Volume>, f32)> {
    let set =
        |(found, epsilon): (&PathwayResult, f64)| (ById(found.excess.clone()), epsilon as f32);
    shown(state).map(set).collect()
}

/// No fewer voxels than the shown pathways have.
pub fn voxels(state: &State) -> usize {
    let count = |(found, epsilon): (&PathwayResult, f64)| {
        let within = found.shares.partition_point(|s| *s <= epsilon as f32);
        // Those of a coarse one are eight each.
        within * if found.coarse { 8 } else { 1 }
    };
    shown(state).map(count).sum()
}

/// The cost as a cloud, the sets as surfaces, all cut away alike.
pub fn volumes(state: &State, camera: &Camera) -> Vec<VolumeDraw> {
    let kept = state.document.kept_pathways.iter().filter(|k| k.visible);
    let mut all: Vec<VolumeDraw> = kept
        .filter_map(|k| {
            let found = k.found.as_ref()?;
            Some(surface(state, found, k.epsilon, k.colour, KEPT_OPACITY))
        })
        .collect();
    let settings = &state.document.pathways;
    if let Some(found) = live(state) {
        let opacity = match settings.cloud {
            true => AROUND_OPACITY,
            false => LIVE_OPACITY,
        };
        let strength = strength(state);
        let opacity = opacity * strength;
        let around = surface(state, found, settings.epsilon, LIVE_RGB, opacity);
        let cloud = settings.cloud.then(|| VolumeDraw {
            reference_mm: around.reference_mm / strength,
            window: (0.0, settings.range),
            transfer: settings.transfer.clone(),
            style: VolumeStyle::Cloud,
            ..around.clone()
        });
        all.extend(Some(around).filter(|_| settings.surface));
        all.extend(cloud);
    }
    let planes = planes(settings.cut, state.view.crosshair, camera);
    if !planes.is_empty() {
        for volume in &mut all {
            // What is cut open shows what is behind: the cost itself is on the slices.
            volume.cut = Some(CutAway {
                planes: planes.clone(),
                face: None,
            });
        }
    }
    all
}

/// Two voxels of the tensors, also while something is dragged and the cost is on voxels of twice the
/// size: the cloud keeps its density.
fn reference_mm(state: &State, found: &PathwayResult) -> f32 {
    let tensors = state.document.tensors.as_ref();
    let fine = tensors.filter(|t| found.coarse && t.field.id() == found.field);
    let grid = fine.map_or(&found.excess.grid, |t| &t.field.grid);
    let denser = match state.view.light_theme {
        true => DENSER_ON_WHITE,
        false => 1.0,
    };
    VolumeLook::two_voxels_mm(grid) / denser
}

fn surface(
    state: &State,
    found: &PathwayResult,
    epsilon: f64,
    colour: [u8; 3],
    opacity: f32,
) -> VolumeDraw {
    VolumeDraw {
        volume: ById(found.excess.clone()),
        frame: 0,
        window: (0.0, EXCESS_SHOWN),
        transfer: Transfer::cost(),
        reference_mm: reference_mm(state, found),
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
    }
}

/// The minimal paths, and the best one through the voxel under the pointer; the weakest stretch of the one
/// that is told about.
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
            let line = &k.found.as_ref()?.line;
            Some(tube(line, k.colour, PATH_RADIUS_MM, 1.0))
        })
        .collect();
    if let Some(found) = live(state) {
        // Two tubes along one line would hide each other by turns: the stretch has its part for itself.
        let pointed = state.path_pointed();
        let weakest = state.path_told().and_then(|(_, weakest)| weakest);
        let rest = |line| weakest.map_or(line, |w| &w.rest);
        let minimal = match pointed {
            Some(_) => &found.line,
            None => rest(&found.line),
        };
        let strength = strength(state);
        let tube = |line, colour, radius_mm| tube(line, colour, radius_mm, strength);
        all.push(tube(minimal, LIVE_RGB, PATH_RADIUS_MM));
        all.extend(pointed.map(|h| tube(rest(&h.line), POINTED_RGB, POINTED_RADIUS_MM)));
        all.extend(weakest.map(|w| tube(&w.line, WEAKEST_RGB, WEAKEST_RADIUS_MM)));
    }
    all
}
