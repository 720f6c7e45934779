//! Properties of a volume that depend on its image: a cloud or a surface, cut faces (shaders/volume_image.wgsl).

use super::clips::SHADER as CLIPS;
use super::gpu::{Gpu, depth_source};
use super::pages::PAGES;
use super::scene::FogQuality;
use super::textures::colour_map_row;
use super::view::SceneView;
use super::volume::{
    BELOW, CURVATURE, HAS_FACE, LIT, March, PROJECTED, SHADER, SHAPED, SKIPS, SMALLEST, SURFACE,
    THIRD, THIRD_CURVATURE, VolumeUniform, in_front, rgb,
};
use crate::data::appearance::{Colours, TABLE, TransferShape};
use crate::scene::draw_list::{
    DerivedValue, Interpolation, SecondSource, ShapedTransfer, VolumeDraw, VolumeStyle,
};
use glam::DAffine3;
use wgpu::TextureUsages as Usage;

const IMAGE: &str = include_str!("../../shaders/volume_image.wgsl");

/// How a shader interpolates between voxels of an image: with a sampler if possible, else itself. Missing voxels are so
/// far below all others that a mean reveals any among its eight.
const FILTERED: &str = "
fn linear_in(voxels: texture_3d<f32>, texel: vec3<f32>, size: vec3<f32>) -> f32 {
    return textureSampleLevel(voxels, smooth_sampler, (texel + 0.5) / size, 0.0).r;
}
";
const INTERPOLATED_IN_SHADER: &str = "
fn linear_in(voxels: texture_3d<f32>, texel: vec3<f32>, size: vec3<f32>) -> f32 {
    let base = vec3<i32>(floor(texel));
    let f = texel - floor(texel);
    var sum = 0.0;
    for (var i = 0; i < 8; i++) {
        let corner = vec3<i32>(i & 1, (i >> 1) & 1, i >> 2);
        let w = mix(1.0 - f, f, vec3<f32>(corner));
        let at = clamp(base + corner, vec3<i32>(0), vec3<i32>(size) - 1);
        sum += w.x * w.y * w.z * textureLoad(voxels, at, 0).r;
    }
    return sum;
}
";

/// The source of the shader, for samplers that interpolate single precision or do not.
pub(super) fn shader(samples: u32, filters: bool) -> String {
    let reading = if filters {
        FILTERED
    } else {
        INTERPOLATED_IN_SHADER
    };
    depth_source(
        &format!("{reading}\n{PAGES}\n{CLIPS}\n{IMAGE}\n{SHADER}"),
        samples,
    )
}

/// Low end and 1 / width; everything lies above an empty window.
fn shares((low, high): (f32, f32)) -> [f32; 2] {
    let width = high - low;
    [low, if width == 0.0 { 1e30 } else { 1.0 / width }]
}

/// Everything except the sizes.
pub(super) fn describe(
    volume: &VolumeDraw,
    view: &SceneView,
    (quality, how): (FogQuality, March),
    texel_from_world: &DAffine3,
) -> VolumeUniform {
    let [low, per_width] = shares(volume.window);
    let mut flags = 0;
    let mut uniform = VolumeUniform::seen(view, (quality, how), texel_from_world);
    uniform.window = [low, per_width, 0.0, 0.0];
    let mut rays = 1;
    if let VolumeStyle::Surface {
        level,
        below,
        colour,
        opacity,
    } = volume.style
    {
        flags |= SURFACE | if below { BELOW } else { 0 };
        let [r, g, b] = rgb(colour);
        uniform.surface = [r, g, b, 1.0];
        uniform.window[2..].copy_from_slice(&[level, opacity]);
        rays = quality.rays;
    }
    if let VolumeStyle::Projection { smallest, opacity } = volume.style {
        flags |= PROJECTED | if smallest { SMALLEST } else { 0 };
        uniform.window[3] = opacity;
        match volume.transfer.colours {
            Colours::Map(map) => uniform.rows[1] = colour_map_row(map),
            Colours::Fixed(colour) => {
                let [r, g, b] = rgb(colour);
                uniform.surface = [r, g, b, 1.0];
            }
        }
    }
    for (flag, holds) in [(LIT, volume.lit), (SKIPS, how.skips)] {
        flags |= if holds { flag } else { 0 };
    }
    let mut planes = 0;
    if let Some(cut) = &volume.cut {
        for (to, plane) in uniform.planes.iter_mut().zip(&cut.planes) {
            *to = in_front(plane);
            planes += 1;
        }
        if let Some(face) = &cut.face {
            flags |= HAS_FACE;
            let [low, per_width] = shares(face.window);
            uniform.face = [low, per_width, face.opacity, 0.0];
            uniform.rows[1] = colour_map_row(face.colour_map);
        }
    }
    let interpolation = match volume.interpolation {
        Interpolation::Nearest => 0,
        Interpolation::Linear => 1,
        // Cubic interpolation reads eight times as many voxels: not in rough pictures.
        Interpolation::Cubic if quality.rays == 1 => 1,
        Interpolation::Cubic => 2,
    };
    uniform.kind = [flags, interpolation, planes, rays];
    uniform.fade(volume.fade.as_ref());
    if let Some(shaped) = shapes(volume) {
        uniform.kind[0] |= SHAPED;
        if shaped.second == SecondSource::Curvature {
            uniform.kind[0] |= CURVATURE;
        }
        let [low, per_width] = shares(shaped.window);
        uniform.second[3] = [low, per_width, volume.reference_mm.max(1e-6).recip(), 0.0];
        limit_by_third(&mut uniform, shaped);
    }
    uniform
}

/// The third value, if it limits a shape: otherwise it need not be computed.
fn limit_by_third(uniform: &mut VolumeUniform, shaped: &ShapedTransfer) {
    let is_limited = shaped.shapes.iter().any(TransferShape::has_third);
    let Some((value, window)) = shaped.third.filter(|_| is_limited) else {
        return;
    };
    uniform.kind[0] |= match value {
        DerivedValue::Gradient => THIRD,
        DerivedValue::Curvature => THIRD | THIRD_CURVATURE,
    };
    let [low, per_width] = shares(window);
    uniform.second[4] = [low, per_width, 0.0, 0.0];
}

/// The transfer function of two values, where it is used: a surface has none.
pub(super) fn shapes(volume: &VolumeDraw) -> Option<&ShapedTransfer> {
    let is_cloud = volume.style == VolumeStyle::Cloud;
    volume.shapes.as_ref().filter(|_| is_cloud)
}

/// The transfer function in the shader's layout.
pub(super) fn table(gpu: &Gpu, volume: &VolumeDraw) -> wgpu::TextureView {
    let (texels, size) = match shapes(volume) {
        None => {
            let texels = volume.transfer.table(volume.reference_mm);
            (texels, [TABLE as u32, 2])
        }
        // A shape without opacity shows nothing.
        Some(shaped) if shaped.shapes.is_empty() => {
            let mut texels = vec![[0.0; 4]; TransferShape::TEXELS];
            // Widths of edges are divisors.
            texels[1] = [1.0, 1.0, 1.0, 0.0];
            (texels, [TransferShape::TEXELS as u32, 1])
        }
        Some(shaped) => {
            let shapes = shaped.shapes.iter().take(TransferShape::MAX_COUNT);
            let texels: Vec<_> = shapes.flat_map(TransferShape::texels).collect();
            let size = [texels.len() as u32, 1];
            (texels, size)
        }
    };
    let usage = Usage::TEXTURE_BINDING | Usage::COPY_DST;
    let texture = gpu.texture_2d(size, wgpu::TextureFormat::Rgba32Float, 1, usage);
    gpu.queue.write_texture(
        texture.as_image_copy(),
        bytemuck::cast_slice(&texels),
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(size[0] * 16),
            rows_per_image: None,
        },
        texture.size(),
    );
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
