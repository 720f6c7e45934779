//! Tensor glyphs: which voxels have one, and how many there are.

use super::draw_list::{ById, CutPlane, GlyphPlace, Glyphs, TensorGlyphs};
use super::pathways;
use crate::data::Grid;
use crate::state::State;
use crate::state::core::glyph_look;
use glam::DVec3;

/// Glyphs of a slice through a point with a normal, or of the 3-D view.
pub(super) fn glyphs(state: &State, slice: Option<(DVec3, DVec3)>) -> Option<Glyphs> {
    let look = state.view.glyphs;
    let tensors = state.document.tensors.as_ref().filter(|_| look.shown)?;
    let plane = |normal| CutPlane {
        point: state.view.crosshair,
        normal,
    };
    let place = match (look.place, slice) {
        (glyph_look::GlyphPlace::Pathways, None) => GlyphPlace::Below(pathways::sets(state)),
        (glyph_look::GlyphPlace::Scene | glyph_look::GlyphPlace::Slices, None) => {
            GlyphPlace::Planes(DVec3::AXES.map(plane).to_vec())
        }
        (glyph_look::GlyphPlace::Slices, Some((point, normal))) => {
            GlyphPlace::Planes(vec![CutPlane { point, normal }])
        }
        (glyph_look::GlyphPlace::Scene | glyph_look::GlyphPlace::Pathways, Some(_)) => return None,
    };
    Some(Glyphs::Tensors(TensorGlyphs {
        tensors: ById(tensors.field.clone()),
        place,
        shape: look.shape,
        size: look.size,
        every: every(state),
    }))
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
        let most = within.map_or_else(
            || crossed(grid, *every),
            |within| within.min(left(grid, *every, None)),
        );
        most <= TensorGlyphs::MAXIMUM_COUNT
    };
    (look.every.max(1)..).find(fits).unwrap_or(look.every)
}

/// Number of voxels of a grid at this spacing, along all axes except one.
fn left(grid: &Grid, every: usize, but: Option<usize>) -> usize {
    let axes = (0..3).filter(|a| Some(*a) != but);
    axes.map(|a| grid.shape[a].div_ceil(every)).product()
}

/// Upper bound of the voxels that the three planes of the 3-D view cross: one layer each.
fn crossed(grid: &Grid, every: usize) -> usize {
    let edges = grid.world_from_voxel.matrix3;
    let layer = |normal: DVec3| {
        let across: [f64; 3] = [0, 1, 2].map(|a| edges.col(a).dot(normal).abs());
        let along = (0..3).max_by(|&a, &b| across[a].total_cmp(&across[b]));
        left(grid, every, along)
    };
    DVec3::AXES.map(layer).iter().sum()
}
