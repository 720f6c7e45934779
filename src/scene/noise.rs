//! The noise of the live pathway, or of the live streamlines of Track: the share of the repetitions on slices and as a
//! cloud, and the paths or centre lines of the repetitions.

use super::draw_list::{
    ById, Contour, ContourSource, Image, Interpolation, LineColour, LineStyle, Lines,
    SurfaceColours, Transfer, VolumeDraw, VolumeStyle,
};
use super::segment;
use crate::data::appearance::ColourMap;
use crate::data::{Tractogram, Volume};
use crate::state::State;
use crate::state::core::display::STALE_OPACITY;
use crate::state::core::volume_look::VolumeLook;
use crate::state::pathways::{DistanceTarget, NoiseDistances, share_window};

/// Share of the repetitions at the outline.
const OUTLINE_SHARE: f32 = 0.5;
/// Paler than all colours of [`ColourMap::Share`], so that the outline stands out on both of its sides.
const OUTLINE_RGB: [u8; 3] = [0xE9, 0xF3, 0xB0];
const OUTLINE_PX: f32 = 1.4;
/// The margin and the shortest line: an orange that no other line has.
pub const MEASURED_RGB: [u8; 3] = [0xFF, 0x7A, 0x45];
const SHORTEST_RADIUS_MM: f32 = 0.5;
/// Paths inside and behind the object are visible.
const OBJECT_OPACITY: f32 = 0.6;
/// Paths and centre lines: a pale green, which stands out on the blue of small shares and on the yellow of large ones.
const PATH_RGB: [u8; 3] = [0x8F, 0xD3, 0xA0];
const PATH_PX: f32 = 1.0;
const PATH_OPACITY: f32 = 0.45;
/// Opacity of the share of streamlines on slices, which has no control of its own.
const STREAMLINES_OPACITY: f32 = 0.8;
const CENTRE_LINE_PX: f32 = 1.6;
const CENTRE_LINE_OPACITY: f32 = 0.9;

/// The share of repetitions that is shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownShare<'a> {
    volume: &'a Volume,
    repetitions: usize,
    opacity: f32,
    has_cloud: bool,
    /// It belongs to an earlier pathway or to earlier streamlines, and is dimmed.
    pub is_stale: bool,
}

/// The share that is shown in place of the cost of pathways, or over the images of Track.
pub fn shown_share(state: &State) -> Option<ShownShare<'_>> {
    let pathways = &state.document.pathways;
    let noise = state.pathway_noise().filter(|_| pathways.noise.shows_share);
    let pathway_share = noise.map(|noise| ShownShare {
        volume: &noise.share,
        repetitions: noise.key.repetitions,
        opacity: pathways.opacity,
        has_cloud: pathways.cloud,
        is_stale: state.pathway_noise_is_stale(),
    });
    pathway_share.or_else(|| streamline_share(state))
}

/// The share of the repetitions of streamlines, if it is shown.
pub fn streamline_share(state: &State) -> Option<ShownShare<'_>> {
    let is_shown = state.document.track.noise.shows_share;
    let noise = state.track_noise().filter(|_| is_shown)?;
    Some(ShownShare {
        volume: &noise.share,
        repetitions: noise.key.repetitions,
        opacity: STREAMLINES_OPACITY,
        has_cloud: true,
        is_stale: state.track_noise_is_stale(),
    })
}

/// Fraction of the opacity: what belongs to earlier results is dimmed.
fn strength(is_stale: bool) -> f32 {
    match is_stale {
        true => STALE_OPACITY,
        false => 1.0,
    }
}

/// The share as an image over the others.
pub fn image(state: &State) -> Option<Image> {
    let share = shown_share(state)?;
    Some(Image {
        volume: ById(share.volume.clone()),
        frame: 0,
        window: share_window(share.repetitions),
        colour_map: ColourMap::Share,
        opacity: share.opacity * strength(share.is_stale),
        interpolation: Interpolation::Nearest,
        brightness: 1.0,
        hide_below: None,
        transparent_below: true,
        fades: false,
        limits: None,
        is_symmetric: false,
        opacity_by_value: false,
        is_outlined: false,
    })
}

/// The outline of the voxels in half of the repetitions.
pub fn contour(state: &State) -> Option<Contour> {
    let share = shown_share(state)?;
    Some(Contour {
        source: ContourSource::Image(ById(share.volume.clone())),
        level: OUTLINE_SHARE,
        every: None,
        colour: OUTLINE_RGB,
        opacity: strength(share.is_stale),
        width_px: OUTLINE_PX,
        dashed: false,
    })
}

/// The measured distances that are shown, in Pathways or in Track, and the margin, mm.
fn measured(state: &State) -> Option<(&NoiseDistances, f64)> {
    let document = &state.document;
    let margins = [
        document.pathways.noise.margin_mm,
        document.track.noise.margin_mm,
    ];
    let distances = [
        state.pathway_noise_distances(),
        state.track_noise_distances(),
    ];
    let mut all = distances.into_iter().zip(margins);
    all.find_map(|(distances, margin_mm)| Some((&**distances?, margin_mm)))
}

/// Distances from the object whose distance is measured, and the margin, mm.
fn object(state: &State) -> Option<(&Volume, f64)> {
    let (distances, margin_mm) = measured(state)?;
    let around = distances.around.as_ref()?;
    Some((&around.volume, margin_mm))
}

/// Whether the view shows the object for another reason: the surface of Segment, which paths avoid.
fn is_shown(state: &State) -> bool {
    let measured = state.document.pathways.noise.distance_to;
    measured == DistanceTarget::Surface && segment::live(state).is_some()
}

/// The outline of the object whose distance is measured, and the margin around it as a dashed line.
pub fn object_contours(state: &State) -> Vec<Contour> {
    let Some((distances, margin_mm)) = object(state) else {
        return Vec::new();
    };
    let contour = |level: f64, dashed| Contour {
        source: ContourSource::Image(ById(distances.clone())),
        level: level as f32,
        every: None,
        colour: MEASURED_RGB,
        opacity: 1.0,
        width_px: OUTLINE_PX,
        dashed,
    };
    let outline = (!is_shown(state)).then(|| contour(0.0, false));
    let margin = (margin_mm > 0.0).then(|| contour(margin_mm, true));
    outline.into_iter().chain(margin).collect()
}

/// The surface of the object whose distance is measured.
pub fn object_surface(state: &State) -> Option<VolumeDraw> {
    let (distances, _) = object(state).filter(|_| !is_shown(state))?;
    let colours = surface_colours(state);
    let opacity = match colours {
        Some(_) => segment::COLOURED_OPACITY,
        None => OBJECT_OPACITY,
    };
    let surface = segment::surface(distances, (0.0, true), MEASURED_RGB, opacity);
    Some(VolumeDraw {
        coloured_by: colours,
        ..surface
    })
}

/// The colours of the object by its distance from the shown path or centre line.
pub fn surface_colours(state: &State) -> Option<SurfaceColours> {
    let (distances, _) = measured(state)?;
    Some(SurfaceColours {
        image: ById(distances.on_surface.clone()?),
        window: NoiseDistances::ON_SURFACE_MM,
        colour_map: ColourMap::RedGrey,
    })
}

/// The colours of the surface of Segment, if it is the object.
pub fn segmented_surface_colours(state: &State) -> Option<SurfaceColours> {
    surface_colours(state).filter(|_| is_shown(state))
}

/// The shortest line from the shown path or centre line to the object, and its length, mm.
pub fn shortest(state: &State) -> Option<(&Tractogram, f64)> {
    let (distances, _) = measured(state)?;
    let along = distances.along.as_ref()?;
    Some((distances.shortest.as_ref()?, along.shown))
}

/// The shortest line as a tube.
pub fn shortest_line(state: &State) -> Option<Lines> {
    let (line, _) = shortest(state)?;
    Some(Lines {
        tractogram: ById(line.clone()),
        colour: LineColour::Fixed(MEASURED_RGB),
        style: LineStyle::Tubes {
            radius_mm: SHORTEST_RADIUS_MM,
        },
        opacity: 1.0,
        every: 1,
        context: false,
    })
}

/// The share as a cloud.
pub fn cloud(state: &State) -> Option<VolumeDraw> {
    let share = shown_share(state).filter(|share| share.has_cloud)?;
    Some(VolumeDraw {
        volume: ById(share.volume.clone()),
        frame: 0,
        window: (0.0, 1.0),
        transfer: Transfer::share(),
        reference_mm: VolumeLook::two_voxels_mm(&share.volume.grid) / strength(share.is_stale),
        style: VolumeStyle::Cloud,
        interpolation: Interpolation::Linear,
        lit: false,
        cut: None,
        inside: None,
        fade: None,
        coloured_by: None,
        shapes: None,
    })
}

fn thin(tractogram: &Tractogram, width_px: f32, opacity: f32) -> Lines {
    Lines {
        tractogram: ById(tractogram.clone()),
        colour: LineColour::Fixed(PATH_RGB),
        style: LineStyle::Lines { width_px },
        opacity,
        every: 1,
        context: false,
    }
}

/// The cheapest path of each repetition, as thin lines.
pub fn paths(state: &State) -> Option<Lines> {
    let settings = &state.document.pathways.noise;
    let noise = state.pathway_noise().filter(|_| settings.shows_paths)?;
    let opacity = PATH_OPACITY * strength(state.pathway_noise_is_stale());
    Some(thin(&noise.paths, PATH_PX, opacity))
}

/// Whether the centre lines of repeated streamlines are drawn, and the streamlines behind them.
pub fn shows_centre_lines(state: &State) -> bool {
    let is_shown = state.document.track.noise.shows_centre_lines;
    is_shown
        && state
            .track_noise()
            .is_some_and(|noise| !noise.centre_lines.is_empty())
}

/// The centre line of each repetition of streamlines, as thin lines.
pub fn centre_lines(state: &State) -> Option<Lines> {
    let noise = state.track_noise().filter(|_| shows_centre_lines(state))?;
    let opacity = CENTRE_LINE_OPACITY * strength(state.track_noise_is_stale());
    Some(thin(&noise.centre_lines, CENTRE_LINE_PX, opacity))
}
