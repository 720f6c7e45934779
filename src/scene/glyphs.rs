//! Glyphs of tensors, distributions and peaks: which voxels have one, and how many there are.

use super::draw_list::{
    ById, Clip, CutPlane, GlyphPlace, GlyphScale, Glyphs, OdfGlyphs, PeakColours, PeakGlyphs,
    PeakLimits, TensorGlyphs,
};
use super::{pathways, volume_of};
use crate::data::Grid;
use crate::state::State;
use crate::state::core::glyph_look::{self, GlyphContent};
use glam::DVec3;

/// Where glyphs are drawn, and how large a pixel is.
#[derive(Clone, Copy)]
pub(super) struct GlyphView {
    /// A slice through a point with a normal; `None`: the 3-D view.
    pub slice: Option<(DVec3, DVec3)>,
    pub mm_per_point: f64,
}

pub(super) fn glyphs(state: &State, view: GlyphView) -> Option<Glyphs> {
    let look = state.view.glyphs;
    let content = shown(state)?;
    let requested = match content {
        GlyphContent::Tensors => look.place,
        GlyphContent::Peaks => look.peak_place(),
        GlyphContent::Distributions => look.distributions.place,
    };
    let place = place(state, requested, view.slice)?;
    // Slices show all of them.
    let clips = match view.slice {
        None => state.document.scene_look.clips_of(|kinds| kinds.glyphs),
        Some(_) => Vec::new(),
    };
    let scale = scale(state);
    match content {
        GlyphContent::Peaks => peaks(state, place, clips, scale),
        GlyphContent::Tensors => {
            let tensors = state.document.tensors.as_ref()?;
            Some(Glyphs::Tensors(TensorGlyphs {
                tensors: ById(tensors.field.clone()),
                place,
                shape: look.shape,
                size: look.size,
                every: every(state),
                clips,
                scale,
            }))
        }
        GlyphContent::Distributions => {
            let result = state.document.distributions.result.as_ref()?;
            let look = look.distributions;
            let every = odf_every(state, view.mm_per_point)?;
            Some(Glyphs::Odfs(OdfGlyphs {
                field: ById(result.fods.output.field.clone()),
                place,
                // Each fills the space of the voxels that it stands for.
                size: look.size * every as f32,
                every,
                full_amplitude: result.fods.high_peak.filter(|_| look.same_scale),
                min_peak: look.min_amplitude,
                cast_from_px: OdfGlyphs::CAST_FROM_PX,
                clips,
                scale,
            }))
        }
    }
}

/// Peaks of an image; their lines lie where its voxels lie now.
fn peaks(
    state: &State,
    place: GlyphPlace,
    clips: Vec<Clip>,
    scale: Option<GlyphScale>,
) -> Option<Glyphs> {
    let look = state.view.glyphs;
    let layer = state.document.shown_peaks(look.peaks)?;
    let volume = layer.content.volume()?;
    // Fixels have no other picture that the eye of their layer could hide.
    if volume.fixels.is_some() && !state.shows(layer) {
        return None;
    }
    let display = &layer.display;
    let limits = display.overlay.limits.map(|(low, high)| PeakLimits {
        low,
        high,
        is_symmetric: display.overlay.is_symmetric,
    });
    let (low, high) = display.window;
    // Fixels without values have neither colours nor limits of values.
    let fixels = volume.fixels.as_ref();
    let has_values = fixels.is_none_or(|fixels| fixels.has_values());
    Some(Glyphs::Peaks(PeakGlyphs {
        peaks: ById(volume.clone()),
        turn: state.document.moved_by(layer.id).matrix3,
        colours: (look.peaks.by_value && has_values).then_some(PeakColours {
            colour_map: display.colour_map,
            window: display.window,
        }),
        // The limits of other images are those of their volumes.
        limits: limits.filter(|_| fixels.is_some() && has_values),
        place,
        size: look.size,
        every: peaks_every(state),
        full_amplitude: (!look.peaks.same_length).then_some(match fixels {
            Some(_) => low.abs().max(high.abs()),
            None => high,
        }),
        clips,
        scale,
    }))
}

/// Spacing of the lines of peaks: the requested one, or the smallest that stays within the number that can be drawn.
fn peaks_every(state: &State) -> usize {
    let every = state.view.glyphs.every;
    thinned_peaks(state).map_or(every, |thinned| thinned.every)
}

/// Lines of peaks of which only some are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThinnedPeaks {
    /// One voxel in this many, along each axis, has its lines.
    pub every: usize,
    /// Voxels on the slices that have their lines, and those that would have without a limit.
    pub drawn: usize,
    pub requested: usize,
}

/// `None` if the lines of all voxels that were requested are drawn.
pub fn thinned_peaks(state: &State) -> Option<ThinnedPeaks> {
    let look = state.view.glyphs;
    let layer = state.document.shown_peaks(look.peaks)?;
    let volume = layer.content.volume()?;
    let voxels = |every: usize| crossed(&volume.grid, state.view.turn.axes(), every);
    let fits = |every: &usize| voxels(*every) * (volume.frames / 3) <= TensorGlyphs::MAXIMUM_COUNT;
    let requested = look.every.max(1);
    let every = (requested..).find(fits)?;
    (every > requested).then(|| ThinnedPeaks {
        every,
        drawn: voxels(every),
        requested: voxels(requested),
    })
}

/// The image whose value scales glyphs, if one is chosen and open.
fn scale(state: &State) -> Option<GlyphScale> {
    let layer = state.document.layer(state.view.glyphs.scaled_by?)?;
    let volume = volume_of(layer)?;
    Some(GlyphScale {
        image: ById(volume.clone()),
        frame: layer.display.frame.min(volume.frames.saturating_sub(1)),
        window: layer.display.window,
    })
}

/// Content of the glyphs; `None` if they are off or there is nothing to show.
fn shown(state: &State) -> Option<GlyphContent> {
    let look = state.view.glyphs;
    let content = state.document.glyph_content(look.content);
    content.filter(|_| look.shown)
}

/// `None` where this view has no glyphs.
fn place(
    state: &State,
    requested: glyph_look::GlyphPlace,
    slice: Option<(DVec3, DVec3)>,
) -> Option<GlyphPlace> {
    let plane = |normal| CutPlane {
        point: state.view.crosshair,
        normal,
    };
    Some(match (requested, slice) {
        (glyph_look::GlyphPlace::Pathways, None) => GlyphPlace::Below(pathways::sets(state)),
        (glyph_look::GlyphPlace::Scene | glyph_look::GlyphPlace::Slices, None) => {
            GlyphPlace::Planes(state.view.turn.axes().map(plane).to_vec())
        }
        (glyph_look::GlyphPlace::Slices, Some((point, normal))) => {
            GlyphPlace::Planes(vec![CutPlane { point, normal }])
        }
        (glyph_look::GlyphPlace::Scene | glyph_look::GlyphPlace::Pathways, Some(_)) => return None,
    })
}

/// Smallest size of a voxel on screen at which each has the glyph of its distribution, points.
const MIN_VOXEL_POINTS: f64 = 8.0;
/// Smallest size of the glyph of one in several voxels, points: in smaller ones, lobes merge.
const MIN_GLYPH_POINTS: f64 = 12.0;
/// Largest spacing of glyphs, voxels.
const MAX_EVERY: usize = 64;

/// Spacing of the glyphs of distributions in voxels along each axis: the smallest with which they are large enough on
/// screen and within the number that can be drawn. `None` without distributions.
pub fn odf_every(state: &State, mm_per_point: f64) -> Option<usize> {
    let grid = &state.document.distributions.field()?.grid;
    let points = grid.spacing().min_element() / mm_per_point.max(1e-9);
    let legible = match points >= MIN_VOXEL_POINTS {
        true => 1,
        false => (MIN_GLYPH_POINTS / points.max(1e-9)).ceil() as usize,
    };
    let legible = legible.clamp(1, MAX_EVERY);
    let normals = state.view.turn.axes();
    let fits = |every: &usize| crossed(grid, normals, *every) <= OdfGlyphs::MAX_COUNT;
    (legible..=MAX_EVERY).find(fits).or(Some(MAX_EVERY))
}

/// One in this many voxels of a slice has a glyph of its distribution; `None` if all have one, or none.
pub fn omitted_on_slice(state: &State, mm_per_point: f64) -> Option<usize> {
    let is_shown = shown(state) == Some(GlyphContent::Distributions)
        && state.view.glyphs.distributions.place == glyph_look::GlyphPlace::Slices;
    let every = odf_every(state, mm_per_point).filter(|_| is_shown)?;
    (every > 1).then_some(every * every)
}

/// Spacing of glyphs in voxels along each axis: the requested one, or the smallest that stays within the number that
/// can be drawn.
pub fn every(state: &State) -> usize {
    let look = state.view.glyphs;
    let Some(tensors) = &state.document.tensors else {
        return look.every;
    };
    let grid = &tensors.field.grid;
    let within = (look.place == glyph_look::GlyphPlace::Pathways).then(|| pathways::voxels(state));
    let fits = |every: &usize| {
        let count = within.map_or_else(
            || crossed(grid, state.view.turn.axes(), *every),
            |within| within.min(left(grid, *every, None)),
        );
        count <= TensorGlyphs::MAXIMUM_COUNT
    };
    (look.every.max(1)..).find(fits).unwrap_or(look.every)
}

/// Number of voxels of a grid at this spacing, along all axes except one.
fn left(grid: &Grid, every: usize, but: Option<usize>) -> usize {
    let axes = (0..3).filter(|a| Some(*a) != but);
    axes.map(|a| grid.shape[a].div_ceil(every)).product()
}

/// Upper bound of the voxels that the three planes of the 3-D view cross: one layer each.
fn crossed(grid: &Grid, normals: [DVec3; 3], every: usize) -> usize {
    let edges = grid.world_from_voxel.matrix3;
    let layer = |normal: DVec3| {
        let across: [f64; 3] = [0, 1, 2].map(|a| edges.col(a).dot(normal).abs());
        let along = (0..3).max_by(|&a, &b| across[a].total_cmp(&across[b]));
        left(grid, every, along)
    };
    normals.map(layer).iter().sum()
}
