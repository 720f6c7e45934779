//! Surfaces drawn from the bricks of a level set (shaders/volume_bricks.wgsl).

use super::clips::SHADER as CLIPS;
use super::gpu::depth_source;
use super::pages::PAGES;
use super::scene::FogQuality;
use super::view::SceneView;
use super::volume::{LIT, March, SHADER, SKIPS, SURFACE, VolumeUniform, rgb};
use crate::scene::draw_list::BrickSurface;

const BRICKS: &str = include_str!("../../shaders/volume_bricks.wgsl");

/// |∇φ| is at most this: the solver keeps it between 0.8 and 1.2.
const STEEPEST: f32 = 1.3;

/// The source of the shader.
pub(super) fn shader(samples: u32) -> String {
    depth_source(&format!("{PAGES}\n{CLIPS}\n{BRICKS}\n{SHADER}"), samples)
}

/// Everything except the sizes.
pub(super) fn describe(
    surface: &BrickSurface,
    view: &SceneView,
    how: (FogQuality, March),
) -> VolumeUniform {
    let mut uniform = VolumeUniform::seen(view, how, &surface.phi.0.grid.voxel_from_world);
    let [r, g, b] = rgb(surface.colour);
    let h_mm = surface.phi.0.grid.spacing().min_element() as f32;
    uniform.surface = [r, g, b, h_mm / STEEPEST];
    uniform.window[3] = surface.opacity;
    let (quality, march) = how;
    let flags = [(LIT, surface.lit), (SKIPS, march.skips)];
    let flags = flags.iter().filter(|(_, holds)| *holds);
    uniform.kind = [
        flags.fold(SURFACE, |all, (flag, _)| all | flag),
        1,
        0,
        quality.rays,
    ];
    uniform.fade(surface.fade.as_ref());
    uniform
}
