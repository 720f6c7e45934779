//! Volumes in the 3-D view, ray-cast by a compute shader (shaders/volume.wgsl has the method).
//!
//! Every volume is drawn over those before it, opaque surfaces first: a cloud ends at the nearest of
//! them, as it does at the opaque scene. See-through streamlines are a layer of the last volume, at the
//! mean of their depths. The two pictures take turns as what is there and what comes.

use super::draw_list::{
    BrickSurface, CutAway, CutPlane, Fade, Interpolation, ScenePane, VolumeDraw, VolumeStyle,
};
use super::gpu::{Gpu, Slot, depth_source};
use super::outline::linear_sampler;
use super::pools::PAGES;
use super::scene::FogQuality;
use super::textures::{Key, Textures, colour_map_row};
use super::transfer::TABLE;
use super::view::SceneView;
use crate::data::BrickImage;
use bytemuck::{Pod, Zeroable};
use glam::{DAffine3, DMat4};
use std::ops::Range;
use std::sync::OnceLock;
use wgpu::TextureUsages as Usage;

const SHADER: &str = include_str!("../../shaders/volume.wgsl");
const IMAGE: &str = include_str!("../../shaders/volume_image.wgsl");
const BRICKS: &str = include_str!("../../shaders/volume_bricks.wgsl");

/// How a shader reads between voxels: a sampler where it may, else by hand. Missing voxels are so
/// far below all others that a mean tells of any among its eight.
const FILTERED: &str = "
@group(0) @binding(2) var image: texture_3d<f32>;
fn linear_at(texel: vec3<f32>, size: vec3<f32>) -> f32 {
    return textureSampleLevel(image, smooth_sampler, (texel + 0.5) / size, 0.0).r;
}
";
const BY_HAND: &str = "
@group(0) @binding(2) var image: texture_3d<f32>;
fn linear_at(texel: vec3<f32>, size: vec3<f32>) -> f32 {
    let base = vec3<i32>(floor(texel));
    let f = texel - floor(texel);
    var sum = 0.0;
    for (var i = 0; i < 8; i++) {
        let corner = vec3<i32>(i & 1, (i >> 1) & 1, i >> 2);
        let w = mix(1.0 - f, f, vec3<f32>(corner));
        let at = clamp(base + corner, vec3<i32>(0), vec3<i32>(size) - 1);
        sum += w.x * w.y * w.z * textureLoad(image, at, 0).r;
    }
    return sum;
}
";

/// The text of the shader, for samplers that interpolate single precision or do not.
pub(super) fn shader(samples: u32, filters: bool) -> String {
    let reading = if filters { FILTERED } else { BY_HAND };
    depth_source(&format!("{reading}\n{PAGES}\n{IMAGE}\n{SHADER}"), samples)
}

/// The same for surfaces in bricks.
pub(super) fn brick_shader(samples: u32) -> String {
    depth_source(&format!("{PAGES}\n{BRICKS}\n{SHADER}"), samples)
}

const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;
const DISTANCE: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
struct VolumeUniform {
    world_from_clip: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    depth_cue: [f32; 4],
    texel_rows: [[f32; 4]; 3],
    cut_rows: [[f32; 4]; 3],
    planes: [[f32; 4]; CutAway::MOST],
    fades: [[f32; 4]; CutAway::MOST],
    phi_rows: [[f32; 4]; 3],
    phi_size: [f32; 4],
    phi_look: [f32; 4],
    size: [f32; 4],
    march: [f32; 4],
    window: [f32; 4],
    face: [f32; 4],
    surface: [f32; 4],
    kind: [u32; 4],
    rows: [u32; 4],
}

// The same bits as in shaders/volume.wgsl.
const SURFACE: u32 = 1;
const LIT: u32 = 2;
const BELOW: u32 = 4;
const HAS_BEFORE: u32 = 8;
const HAS_FACE: u32 = 16;
const HAS_CUT: u32 = 32;
const SKIPS: u32 = 64;
const HAS_LINES: u32 = 128;
const HAS_PHI: u32 = 256;
const HAS_FADE: u32 = 512;
/// As FAR in shaders/volume.wgsl.
const FAR: f32 = 1e9;

/// Pictures of volumes, as large as the scene, with the distance of the nearest opaque surface.
pub(super) struct Fog {
    turns: [[wgpu::TextureView; 2]; 2],
}

impl Fog {
    pub fn new(gpu: &Gpu, size: [u32; 2]) -> Self {
        let make = |format| {
            let usage = Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING;
            gpu.texture_2d(size, format, 1, usage)
                .create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self {
            turns: [0, 1].map(|_| [COLOUR, DISTANCE].map(make)),
        }
    }

    /// The colours after so many volumes.
    pub fn picture(&self, volumes: usize) -> &wgpu::TextureView {
        &self.turns[(volumes + 1) % 2][0]
    }
}

type Pipelines = [(wgpu::BindGroupLayout, wgpu::ComputePipeline); 2];

/// How rays go, other than as the quality of a picture says: for tests and for measuring.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct March {
    pub step_texels: Option<f32>,
    /// Passes over bricks that nothing is seen of, which changes no pixel.
    pub skips: bool,
}

impl Default for March {
    fn default() -> Self {
        Self {
            step_texels: None,
            skips: true,
        }
    }
}

/// Made when the first volume is drawn: most sessions have none.
#[derive(Default)]
pub(super) struct Volumes {
    pub how: March,
    /// Of images and of bricks, each for 1 and for 4 samples of the scene.
    pipelines: [OnceLock<Pipelines>; 2],
    sampler: OnceLock<wgpu::Sampler>,
}

impl Volumes {
    fn pipelines(&self, gpu: &Gpu, of: &Drawn) -> &Pipelines {
        let in_bricks = matches!(of, Drawn::Bricks(_));
        let image = match gpu.filters {
            true => Slot::Filtered3,
            false => Slot::Image3,
        };
        let make = |samples| {
            let layout = gpu.layout(
                wgpu::ShaderStages::COMPUTE,
                &[
                    Slot::Uniform,
                    Slot::Depth { samples },
                    image,
                    Slot::Sampler,
                    Slot::Image3,
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Filtered3,
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Written2(COLOUR),
                    Slot::Written2(DISTANCE),
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Image2,
                    Slot::Storage,
                    Slot::Storage,
                ],
            );
            let source = match in_bricks {
                true => brick_shader(samples),
                false => shader(samples, gpu.filters),
            };
            let module = gpu.shader("volume", source);
            let pipeline = gpu
                .device
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some("volume"),
                    layout: Some(&gpu.pipeline_layout(&layout)),
                    module: &module,
                    entry_point: Some("volume_march"),
                    compilation_options: Default::default(),
                    cache: None,
                });
            (layout, pipeline)
        };
        self.pipelines[usize::from(in_bricks)].get_or_init(|| [1, 4].map(make))
    }

    /// Draws these rows of the scene; `writes` go to the last pass.
    #[allow(clippy::too_many_arguments)]
    pub fn march(
        &self,
        (gpu, textures, encoder): (&Gpu, &mut Textures, &mut wgpu::CommandEncoder),
        list: &ScenePane,
        (view, rows): (&SceneView, &Range<u32>),
        (depth, samples): (&wgpu::TextureView, u32),
        (fog, quality): (&Fog, FogQuality),
        through: Option<&[wgpu::TextureView; 3]>,
        used: &mut Vec<Key>,
        mut writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let sampler = self.sampler.get_or_init(|| linear_sampler(gpu));
        let pixels = |n: u32| n.div_ceil(quality.per_pixel);
        let [width, height] = view.size_px.map(pixels);
        let (first, last) = (rows.start / quality.per_pixel, pixels(rows.end).min(height));
        let all = list.volumes.iter().map(Drawn::Image);
        let mut ordered: Vec<Drawn> = all.chain(list.surfaces.iter().map(Drawn::Bricks)).collect();
        ordered.sort_by_key(|drawn| !drawn.is_opaque());
        let count = ordered.len();
        for (i, drawn) in ordered.into_iter().enumerate() {
            let (layout, pipeline) = &self.pipelines(gpu, &drawn)[usize::from(samples > 1)];
            let how = (quality, self.how);
            let (mut uniform, [image, bricks]) = match drawn {
                Drawn::Image(volume) => {
                    let [(image_key, image), (bricks_key, bricks)] =
                        textures.bricks(gpu, &volume.volume.0, volume.frame);
                    used.extend([image_key, bricks_key]);
                    let uniform = describe(volume, view, how, &image.texel_from_world);
                    (uniform, [image.view.clone(), bricks.view.clone()])
                }
                Drawn::Bricks(surface) => {
                    let nothing = [0, 1].map(|_| textures.nothing.clone());
                    (describe_bricks(surface, view, how), nothing)
                }
            };
            uniform.size = [view.size_px[0], view.size_px[1], width, height].map(|n| n as f32);
            uniform.rows[0] = first;
            uniform.rows[2] = last;
            if i > 0 {
                uniform.kind[0] |= HAS_BEFORE;
            }
            let mut within = textures.no_mask.clone();
            let cut = drawn.image().and_then(|volume| volume.cut.as_ref());
            let face = cut.and_then(|c| c.face.as_ref());
            if let Some(mask) = face.and_then(|f| f.within.as_ref()) {
                let (key, texture) = textures.surface(gpu, &mask.0);
                used.push(key);
                uniform.kind[0] |= HAS_CUT;
                uniform.cut_rows = affine_rows(&texture.texel_from_world);
                within = texture.view.clone();
            }
            let phi = drawn.phi().map(|phi| (phi, textures.pools.of(gpu, phi)));
            let pool = match phi {
                Some((phi, Some(pool))) => {
                    uniform.hold(phi);
                    pool
                }
                // More than the device's shaders read: nothing of it is known.
                _ => {
                    uniform.phi_size = [0.0; 4];
                    textures.pools.nothing()
                }
            };
            if let Some(inside) = drawn.image().and_then(|volume| volume.inside.as_ref())
                && uniform.phi_size[0] > 0.0
            {
                uniform.kind[0] |= HAS_PHI;
                let [r, g, b] = rgb(inside.line);
                uniform.phi_look = [r, g, b, inside.outside];
            }
            let ends = i + 1 == count;
            // In the last volume, all others being behind it.
            if through.is_some() && ends && quality.per_pixel == 1 {
                uniform.kind[0] |= HAS_LINES;
            }
            let unseen = [0, 1, 2].map(|_| textures.colour_maps.clone());
            let [sum, left, depths] = through.unwrap_or(&unseen);
            let table = match drawn.image() {
                Some(volume) => table(gpu, volume),
                None => textures.colour_maps.clone(),
            };
            let buffer = gpu.uniform(&uniform);
            let [page_of, pages] = pool.bindings();
            let [before, after] = [&fog.turns[(i + 1) % 2], &fog.turns[i % 2]];
            use wgpu::BindingResource::{Sampler, TextureView as View};
            let group = gpu.bind(
                layout,
                &[
                    buffer.as_entire_binding(),
                    View(depth),
                    View(&image),
                    Sampler(sampler),
                    View(&bricks),
                    View(&table),
                    View(&textures.colour_maps),
                    View(&within),
                    View(&before[0]),
                    View(&before[1]),
                    View(&after[0]),
                    View(&after[1]),
                    View(sum),
                    View(left),
                    View(depths),
                    page_of,
                    pages,
                ],
            );
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("volume"),
                timestamp_writes: if ends { writes.take() } else { None },
            });
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(width.div_ceil(8), (last - first).div_ceil(8), 1);
        }
    }
}

/// What one pass draws.
#[derive(Clone, Copy)]
enum Drawn<'a> {
    Image(&'a VolumeDraw),
    Bricks(&'a BrickSurface),
}

impl<'a> Drawn<'a> {
    fn image(&self) -> Option<&'a VolumeDraw> {
        match self {
            Self::Image(volume) => Some(volume),
            Self::Bricks(_) => None,
        }
    }

    /// What is read by bricks.
    fn phi(&self) -> Option<&'a BrickImage> {
        match self {
            Self::Image(volume) => volume.inside.as_ref().map(|inside| &inside.phi.0),
            Self::Bricks(surface) => Some(&surface.phi.0),
        }
    }

    fn is_opaque(&self) -> bool {
        let (opacity, fade) = match self {
            Self::Image(volume) => match volume.style {
                VolumeStyle::Cloud => return false,
                VolumeStyle::Surface { opacity, .. } => (opacity, &volume.fade),
            },
            Self::Bricks(surface) => (surface.opacity, &surface.fade),
        };
        opacity > 0.99 && fade.is_none()
    }
}

impl VolumeUniform {
    /// What every volume has.
    fn seen(
        view: &SceneView,
        (quality, how): (FogQuality, March),
        texel_from_world: &DAffine3,
    ) -> Self {
        let texel_mm = texel_from_world.matrix3.determinant().abs().cbrt().recip();
        Self {
            world_from_clip: view.world_from_clip.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            light: view.light.as_vec3().extend(0.0).to_array(),
            depth_cue: view.depth_cue.as_vec4().to_array(),
            texel_rows: affine_rows(texel_from_world),
            march: [
                how.step_texels.unwrap_or(quality.step).max(0.05),
                quality.per_pixel as f32,
                texel_mm as f32,
                0.0,
            ],
            ..Default::default()
        }
    }

    fn fade(&mut self, fade: Option<&Fade>) {
        let Some(fade) = fade else {
            return;
        };
        self.kind[0] |= HAS_FADE;
        self.march[3] = 1.0 / fade.reach_mm.max(1e-3);
        // Before one that is not there is everything.
        self.fades = [[0.0, 0.0, 0.0, FAR]; CutAway::MOST];
        for (to, plane) in self.fades.iter_mut().zip(&fade.planes) {
            *to = in_front(plane);
        }
    }

    /// φ in bricks.
    fn hold(&mut self, phi: &BrickImage) {
        let [x, y, z] = phi.grid.shape.map(|n| n as f32);
        self.phi_size = [x, y, z, phi.most];
        self.phi_rows = affine_rows(&phi.grid.voxel_from_world);
        self.rows[3] = phi.shift;
    }
}

/// Times (world, 1) how far before a plane, mm.
fn in_front(plane: &CutPlane) -> [f32; 4] {
    let normal = plane.normal.normalize_or_zero();
    normal.extend(-normal.dot(plane.at)).as_vec4().to_array()
}

fn affine_rows(texel_from_world: &DAffine3) -> [[f32; 4]; 3] {
    let m = DMat4::from(*texel_from_world);
    [0, 1, 2].map(|i| m.row(i).as_vec4().to_array())
}

fn rgb(colour: [u8; 3]) -> [f32; 3] {
    colour.map(|c| f32::from(c) / 255.0)
}

/// Low end and 1 / width; of an empty window all is above.
fn shares((low, high): (f32, f32)) -> [f32; 2] {
    let width = high - low;
    [low, if width == 0.0 { 1e30 } else { 1.0 / width }]
}

/// All but the sizes.
fn describe_bricks(
    surface: &BrickSurface,
    view: &SceneView,
    how: (FogQuality, March),
) -> VolumeUniform {
    let mut uniform = VolumeUniform::seen(view, how, &surface.phi.0.grid.voxel_from_world);
    let [r, g, b] = rgb(surface.colour);
    uniform.surface = [r, g, b, 1.0];
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

fn describe(
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
        // Cubic reads eight times as many voxels: not in rough pictures.
        Interpolation::Cubic if quality.rays == 1 => 1,
        Interpolation::Cubic => 2,
    };
    uniform.kind = [flags, interpolation, planes, rays];
    uniform.fade(volume.fade.as_ref());
    uniform
}

/// The transfer function as the shader reads it.
fn table(gpu: &Gpu, volume: &VolumeDraw) -> wgpu::TextureView {
    let texels = volume.transfer.table(volume.reference_mm);
    let size = [TABLE as u32, 2];
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
