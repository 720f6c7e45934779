//! The noise of the live pathway: the share of the repetitions on slices and as a cloud, and their paths.

use super::draw_list::{
    ById, Contour, ContourSource, Image, Interpolation, LineColour, LineStyle, Lines, Transfer,
    VolumeDraw, VolumeStyle,
};
use crate::data::appearance::ColourMap;
use crate::state::State;
use crate::state::core::display::STALE_OPACITY;
use crate::state::core::volume_look::VolumeLook;
use crate::state::pathways::jobs::Noise;
use crate::state::pathways::share_window;

/// Share of the repetitions at the outline.
const OUTLINE_SHARE: f32 = 0.5;
const OUTLINE_RGB: [u8; 3] = [0xE9, 0xF3, 0xB0];
const OUTLINE_PX: f32 = 1.4;
const PATH_RGB: [u8; 3] = [0x8F, 0xD3, 0xA0];
const PATH_PX: f32 = 1.0;
const PATH_OPACITY: f32 = 0.45;

/// The repetitions whose share is shown in place of the cost.
pub fn shared(state: &State) -> Option<&Noise> {
    let settings = &state.document.pathways.noise;
    let noise = state.noise().filter(|_| settings.shows_share)?;
    Some(noise)
}

/// Fraction of the opacity: repetitions of an earlier pathway are dimmed.
fn strength(state: &State) -> f32 {
    match state.noise_is_stale() {
        true => STALE_OPACITY,
        false => 1.0,
    }
}

/// The share as an image over the others.
pub fn image(state: &State) -> Option<Image> {
    let noise = shared(state)?;
    Some(Image {
        volume: ById(noise.share.clone()),
        frame: 0,
        window: share_window(noise.key.repetitions),
        colour_map: ColourMap::Share,
        opacity: state.document.pathways.opacity * strength(state),
        interpolation: Interpolation::Nearest,
        brightness: 1.0,
        hide_below: None,
        transparent_below: true,
        fades: false,
    })
}

/// The outline of the voxels in half of the repetitions.
pub fn contour(state: &State) -> Option<Contour> {
    let noise = shared(state)?;
    Some(Contour {
        source: ContourSource::Image(ById(noise.share.clone())),
        level: OUTLINE_SHARE,
        every: None,
        colour: OUTLINE_RGB,
        opacity: strength(state),
        width_px: OUTLINE_PX,
    })
}

/// The share as a cloud.
pub fn cloud(state: &State) -> Option<VolumeDraw> {
    let noise = shared(state).filter(|_| state.document.pathways.cloud)?;
    Some(VolumeDraw {
        volume: ById(noise.share.clone()),
        frame: 0,
        window: (0.0, 1.0),
        transfer: Transfer::share(),
        reference_mm: VolumeLook::two_voxels_mm(&noise.share.grid) / strength(state),
        style: VolumeStyle::Cloud,
        interpolation: Interpolation::Linear,
        lit: false,
        cut: None,
        inside: None,
        fade: None,
    })
}

/// The cheapest path of each repetition, as thin lines.
pub fn paths(state: &State) -> Option<Lines> {
    let settings = &state.document.pathways.noise;
    let noise = state.noise().filter(|_| settings.shows_paths)?;
    Some(Lines {
        tractogram: ById(noise.paths.clone()),
        colour: LineColour::Fixed(PATH_RGB),
        style: LineStyle::Lines { width_px: PATH_PX },
        opacity: PATH_OPACITY * strength(state),
        every: 1,
        context: false,
    })
}
