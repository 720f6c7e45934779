//! Volumes in the 3-D view, ray-cast by a compute shader (shaders/volume.wgsl has the method).
//!
//! Every volume is drawn over those before it, opaque surfaces first: a cloud ends at the nearest of them, as it does
//! at the opaque scene. Translucent streamlines are a layer of the last volume, at the mean of their depths. The two
//! pictures alternate as input and output.

use super::empty_bricks::EmptyBricks;
use super::gpu::{Gpu, Slot};
use super::scene::FogQuality;
use super::textures::{Key, Textures, colour_map_row};
use super::view::SceneView;
use super::{volume_bricks, volume_image};
use crate::data::BrickImage;
use crate::scene::draw_list::{
    BrickSurface, CutAway, CutPlane, Fade, ScenePane, SecondSource, SurfaceColours, VolumeDraw,
    VolumeStyle,
};
use bytemuck::{Pod, Zeroable};
use glam::{DAffine3, DMat4};
use std::ops::Range;
use std::sync::OnceLock;
use wgpu::TextureUsages as Usage;

pub(super) const SHADER: &str = include_str!("../../shaders/volume.wgsl");

const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;
const DISTANCE: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
pub(super) struct VolumeUniform {
    world_from_clip: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
    depth_cue: [f32; 4],
    fading: [f32; 4],
    pub texel_rows: [[f32; 4]; 3],
    cut_rows: [[f32; 4]; 3],
    pub planes: [[f32; 4]; CutAway::MAXIMUM_PLANES],
    fades: [[f32; 4]; CutAway::MAXIMUM_PLANES],
    phi_rows: [[f32; 4]; 3],
    phi_size: [f32; 4],
    phi_look: [f32; 4],
    size: [f32; 4],
    march: [f32; 4],
    pub window: [f32; 4],
    pub face: [f32; 4],
    pub surface: [f32; 4],
    pub second: [[f32; 4]; 5],
    pub kind: [u32; 4],
    pub rows: [u32; 4],
}

// Must match the bits in shaders/volume.wgsl.
pub(super) const SURFACE: u32 = 1;
pub(super) const LIT: u32 = 2;
pub(super) const BELOW: u32 = 4;
const HAS_BEFORE: u32 = 8;
pub(super) const HAS_FACE: u32 = 16;
const HAS_CUT: u32 = 32;
pub(super) const SKIPS: u32 = 64;
const HAS_LINES: u32 = 128;
const HAS_PHI: u32 = 256;
const HAS_FADE: u32 = 512;
const COLOURED: u32 = 1024;
pub(super) const SHAPED: u32 = 16384;
const SECOND_IMAGE: u32 = 32768;
pub(super) const CURVATURE: u32 = 262144;
pub(super) const THIRD: u32 = 524288;
pub(super) const THIRD_CURVATURE: u32 = 1048576;
pub(super) const PROJECTED: u32 = 65536;
pub(super) const SMALLEST: u32 = 131072;
/// Must match FAR in shaders/volume.wgsl.
const FAR: f32 = 1e9;

/// Pictures of volumes, of the scene's size, with the distance of the nearest opaque surface.
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

    /// The colours after this many volumes.
    pub fn picture(&self, volumes: usize) -> &wgpu::TextureView {
        &self.turns[(volumes + 1) % 2][0]
    }
}

type Pipelines = [(wgpu::BindGroupLayout, wgpu::ComputePipeline); 2];

/// How rays are traced, if not by the quality of a picture: for tests and measurements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct March {
    pub step_texels: Option<f32>,
    /// Skips bricks in which nothing is visible, which changes no pixel.
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

/// Created when the first volume is drawn: most sessions have none.
#[derive(Default)]
pub(super) struct Volumes {
    pub how: March,
    /// For images and for bricks, each for 1 and for 4 samples of the scene.
    pipelines: [OnceLock<Pipelines>; 2],
    sampler: OnceLock<wgpu::Sampler>,
    empty_bricks: OnceLock<EmptyBricks>,
}

impl Volumes {
    fn pipelines(&self, gpu: &Gpu, drawn: &Drawn) -> &Pipelines {
        let in_bricks = matches!(drawn, Drawn::Bricks(_));
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
                    Slot::Storage,
                    image,
                    Slot::Storage,
                ],
            );
            let source = match in_bricks {
                true => volume_bricks::shader(samples),
                false => volume_image::shader(samples, gpu.filters),
            };
            let module = gpu.shader("volume", source);
            let pipeline = gpu.compute_pipeline((&module, &layout), "volume_march");
            (layout, pipeline)
        };
        self.pipelines[usize::from(in_bricks)].get_or_init(|| [1, 4].map(make))
    }

    /// Draws these rows of the scene; `writes` are attached to the last pass.
    #[allow(
        clippy::too_many_arguments,
        reason = "one each for the card, the pass, the scene and its targets"
    )]
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
        let sampler = self.sampler.get_or_init(|| gpu.linear_sampler());
        let pixels = |n: u32| n.div_ceil(quality.per_pixel);
        let [width, height] = view.size_px.map(pixels);
        let (first, last) = (rows.start / quality.per_pixel, pixels(rows.end).min(height));
        let ordered = opaque_first(list);
        let count = ordered.len();
        let clips = [0, 1].map(|kind| gpu.storage_of(&[view.clips[kind]]));
        for (i, drawn) in ordered.into_iter().enumerate() {
            let (layout, pipeline) = &self.pipelines(gpu, &drawn)[usize::from(samples > 1)];
            let how = (quality, self.how);
            let (mut uniform, [image, mut bricks]) = match drawn {
                Drawn::Image(volume) => {
                    let [(image_key, image), (bricks_key, bricks)] =
                        textures.bricks(gpu, &volume.volume.0, volume.frame);
                    used.extend([image_key, bricks_key]);
                    let uniform =
                        volume_image::describe(volume, view, how, &image.texel_from_world);
                    (uniform, [image.view.clone(), bricks.view.clone()])
                }
                Drawn::Bricks(surface) => {
                    let nothing = [0, 1].map(|_| textures.nothing.clone());
                    (volume_bricks::describe(surface, view, how), nothing)
                }
            };
            uniform.size = [view.size_px[0], view.size_px[1], width, height].map(|n| n as f32);
            uniform.rows[0] = first;
            uniform.rows[2] = last;
            if i > 0 {
                uniform.kind[0] |= HAS_BEFORE;
            }
            let within = uniform
                .cut_within(gpu, textures, &drawn, used)
                .or_else(|| uniform.coloured_by(gpu, textures, &drawn, used))
                .unwrap_or_else(|| textures.no_mask.clone());
            let second = uniform
                .second_image(gpu, textures, &drawn, used)
                .unwrap_or_else(|| textures.nothing.clone());
            let mut extent = None;
            let phi = drawn.phi().map(|phi| (phi, textures.pools.pool(gpu, phi)));
            let pool = match phi {
                Some((phi, Some(pool))) => {
                    uniform.hold(phi);
                    if let Drawn::Bricks(_) = drawn {
                        let empty_bricks = self.empty_bricks.get_or_init(|| EmptyBricks::new(gpu));
                        let (view, crossed) = empty_bricks.find(gpu, encoder, (phi, &pool));
                        (bricks, extent) = (view, Some(crossed));
                    }
                    pool
                }
                // Exceeds what the device's shaders can read: it counts as unknown.
                _ => {
                    uniform.phi_size = [0.0; 4];
                    textures.pools.empty_pool()
                }
            };
            uniform.show_inside(&drawn);
            let ends = i + 1 == count;
            // In the last volume, since all others lie behind it.
            if through.is_some() && ends && quality.per_pixel == 1 {
                uniform.kind[0] |= HAS_LINES;
            }
            let unseen = [0, 1, 2].map(|_| textures.colour_maps.clone());
            let [sum, left, depths] = through.unwrap_or(&unseen);
            let table = match drawn.image() {
                Some(volume) => volume_image::table(gpu, volume),
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
                    page_of.clone(),
                    pages,
                    extent
                        .as_ref()
                        .map_or(page_of, wgpu::Buffer::as_entire_binding),
                    View(&second),
                    clips[usize::from(drawn.is_surface())].as_entire_binding(),
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

/// The volumes and surfaces of a scene in the order in which they are drawn.
fn opaque_first(list: &ScenePane) -> Vec<Drawn<'_>> {
    let all = list.volumes.iter().map(Drawn::Image);
    let mut ordered: Vec<Drawn> = all.chain(list.surfaces.iter().map(Drawn::Bricks)).collect();
    ordered.sort_by_key(|drawn| !drawn.is_opaque());
    ordered
}

/// The content of one pass.
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

    /// The image that is read by bricks.
    fn phi(&self) -> Option<&'a BrickImage> {
        match self {
            Self::Image(volume) => volume.inside.as_ref().map(|inside| &inside.phi.0),
            Self::Bricks(surface) => Some(&surface.phi.0),
        }
    }

    fn coloured_by(&self) -> Option<&'a SurfaceColours> {
        match self {
            Self::Image(volume) => volume.coloured_by.as_ref(),
            Self::Bricks(surface) => surface.coloured_by.as_ref(),
        }
    }

    fn is_surface(&self) -> bool {
        self.image()
            .is_none_or(|volume| matches!(volume.style, VolumeStyle::Surface { .. }))
    }

    fn is_opaque(&self) -> bool {
        let (opacity, fade) = match self {
            Self::Image(volume) => match volume.style {
                VolumeStyle::Cloud | VolumeStyle::Projection { .. } => return false,
                VolumeStyle::Surface { opacity, .. } => (opacity, &volume.fade),
            },
            Self::Bricks(surface) => (surface.opacity, &surface.fade),
        };
        opacity > 0.99 && fade.is_none()
    }
}

impl VolumeUniform {
    /// Uniforms that every volume has.
    pub fn seen(
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
            fading: view.fading(),
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

    pub fn fade(&mut self, fade: Option<&Fade>) {
        let Some(fade) = fade else {
            return;
        };
        self.kind[0] |= HAS_FADE;
        self.march[3] = 1.0 / fade.reach_mm.max(1e-3);
        // Everything lies before a plane that does not exist.
        self.fades = [[0.0, 0.0, 0.0, FAR]; CutAway::MAXIMUM_PLANES];
        for (to, plane) in self.fades.iter_mut().zip(&fade.planes) {
            *to = in_front(plane);
        }
    }

    /// Limits the face of a cut to a mask, if there is one; returns the mask's texture.
    fn cut_within(
        &mut self,
        gpu: &Gpu,
        textures: &mut Textures,
        drawn: &Drawn,
        used: &mut Vec<Key>,
    ) -> Option<wgpu::TextureView> {
        let cut = drawn.image().and_then(|volume| volume.cut.as_ref());
        let face = cut.and_then(|c| c.face.as_ref());
        let mask = face.and_then(|f| f.mask.as_ref())?;
        let (key, texture) = textures.surface(gpu, &mask.0);
        used.push(key);
        self.kind[0] |= HAS_CUT;
        self.cut_rows = affine_rows(&texture.texel_from_world);
        Some(texture.view.clone())
    }

    /// Colours the surface by an image, if it has one; returns the texture of its shares of the window.
    fn coloured_by(
        &mut self,
        gpu: &Gpu,
        textures: &mut Textures,
        drawn: &Drawn,
        used: &mut Vec<Key>,
    ) -> Option<wgpu::TextureView> {
        let colours = drawn.coloured_by()?;
        let (key, texture) = textures.shares(gpu, &colours.image.0, colours.window);
        used.push(key);
        self.kind[0] |= COLOURED;
        self.cut_rows = affine_rows(&texture.texel_from_world);
        self.face[3] = colour_map_row(colours.colour_map) as f32;
        Some(texture.view.clone())
    }

    /// Reads the second value of the transfer function from an image, if it has one; returns its texture.
    fn second_image(
        &mut self,
        gpu: &Gpu,
        textures: &mut Textures,
        drawn: &Drawn,
        used: &mut Vec<Key>,
    ) -> Option<wgpu::TextureView> {
        let shaped = drawn.image().and_then(volume_image::shapes)?;
        let SecondSource::Image(image) = &shaped.second else {
            return None;
        };
        let (key, texture) = textures.frame(gpu, &image.0, 0);
        used.push(key);
        self.kind[0] |= SECOND_IMAGE;
        self.second[..3].copy_from_slice(&affine_rows(&texture.texel_from_world));
        Some(texture.view.clone())
    }

    /// Distinguishes the inside of φ in an image, if φ is known.
    fn show_inside(&mut self, drawn: &Drawn) {
        if let Some(inside) = drawn.image().and_then(|volume| volume.inside.as_ref())
            && self.phi_size[0] > 0.0
        {
            self.kind[0] |= HAS_PHI;
            let [r, g, b] = rgb(inside.line);
            self.phi_look = [r, g, b, inside.outside];
        }
    }

    /// φ in bricks.
    fn hold(&mut self, phi: &BrickImage) {
        let [x, y, z] = phi.grid.shape.map(|n| n as f32);
        self.phi_size = [x, y, z, phi.clamp];
        self.phi_rows = affine_rows(&phi.grid.voxel_from_world);
        self.rows[3] = phi.shift;
    }
}

/// Applied to (world, 1): the distance in front of a plane, mm.
pub(super) fn in_front(plane: &CutPlane) -> [f32; 4] {
    let normal = plane.normal.normalize_or_zero();
    normal.extend(-normal.dot(plane.point)).as_vec4().to_array()
}

fn affine_rows(texel_from_world: &DAffine3) -> [[f32; 4]; 3] {
    let m = DMat4::from(*texel_from_world);
    [0, 1, 2].map(|i| m.row(i).as_vec4().to_array())
}

pub(super) fn rgb(colour: [u8; 3]) -> [f32; 3] {
    colour.map(|c| f32::from(c) / 255.0)
}
