//! Image layers on planes: slice views, and the cut-out slices of the 3-D view.

use super::cut_outs::CutShape;
use super::gpu::{Gpu, Slot, blended, depth_test, source};
use super::pages::{PAGES, Pool};
use super::pipelines::Drawing;
use super::textures::{Key, Textures, colour_map_row};
use crate::data::VolumeKind;
use crate::data::appearance::ColourMap;
use crate::scene::draw_list::{Contour, ContourSource, Image, Interpolation, SlicePane, SliceQuad};
use bytemuck::{Pod, Zeroable};
use glam::{DAffine3, DMat4, DVec3};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

const SHADER: &str = include_str!("../../shaders/slice.wgsl");

/// A kind of layer that a shader of its own draws.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LayerKind {
    flags: u32,
    /// Interpolation.
    way: u32,
    /// Whether the image has one number in every texel.
    is_complete: bool,
}

impl LayerKind {
    /// An image, and a contour, in the tests of all shaders.
    pub const EXAMPLES: [Self; 2] = [
        Self {
            flags: 0,
            way: 1,
            is_complete: true,
        },
        Self {
            flags: CONTOUR,
            way: 1,
            is_complete: false,
        },
    ];
}

/// The source of the shader, for layers of every kind or of one.
pub(super) fn shader(kind: Option<LayerKind>) -> String {
    let known = kind.unwrap_or(LayerKind {
        flags: 0,
        way: 0,
        is_complete: false,
    });
    let LayerKind {
        flags,
        way,
        is_complete,
    } = known;
    let constants = format!(
        "const FOR_ONE_KIND = {};\nconst FLAGS = {flags}u;\nconst WAY = {way}u;\nconst IS_COMPLETE = {is_complete};",
        kind.is_some(),
    );
    source(&format!("{constants}\n{PAGES}\n{SHADER}"))
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
struct PlaneUniform {
    origin: [f32; 4],
    across: [f32; 4],
    down: [f32; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default)]
struct LayerUniform {
    image: PlaneUniform,
    hiding: PlaneUniform,
    cut: PlaneUniform,
    corners: [[f32; 4]; 4],
    window: [f32; 4],
    line: [f32; 4],
    limits: [f32; 4],
    phi_size: [f32; 4],
    kind: [u32; 4],
    bricks: [u32; 4],
}

// Must match the bits in shaders/slice.wgsl.
const COLOUR_IMAGE: u32 = 1;
const SINGLE_COLOUR: u32 = 2;
const TRANSPARENT_BELOW: u32 = 4;
const HAS_HIDING: u32 = 8;
const HAS_CUT: u32 = 16;
const CUT_BLACK: u32 = 32;
const FADES: u32 = 64;
const CONTOUR: u32 = 128;
/// Length of dashes and of the gaps between them, logical pixels.
const DASH_PX: f32 = 5.0;
const BRICKS: u32 = 256;
const BLACK: u32 = 512;
const LIMITED: u32 = 1024;
const ABSOLUTE: u32 = 2048;
const BY_VALUE: u32 = 4096;
const OUTLINED: u32 = 8192;
const FROM_INSIDE: u32 = 16384;

/// A plane in world space: `origin + u * across + v * down`.
#[derive(Clone, Copy)]
struct Plane {
    origin: DVec3,
    across: DVec3,
    down: DVec3,
}

impl Plane {
    /// Its texel coordinates, in f64 so that oblique grids far from the origin stay exact.
    fn in_texels(&self, texel_from_world: &DAffine3) -> PlaneUniform {
        let pack = |v: DVec3| v.as_vec3().extend(0.0).to_array();
        PlaneUniform {
            origin: pack(texel_from_world.transform_point3(self.origin)),
            across: pack(texel_from_world.transform_vector3(self.across)),
            down: pack(texel_from_world.transform_vector3(self.down)),
        }
    }
}

/// Draws layers of any kind, or of one.
#[derive(Clone)]
struct Pipelines {
    pane: wgpu::RenderPipeline,
    /// For 1 and for 4 samples.
    quad: [wgpu::RenderPipeline; 2],
}

pub(super) struct Slices {
    layout: wgpu::BindGroupLayout,
    any: Pipelines,
    /// A software renderer has pipelines for each kind of layer that was drawn.
    by_kind: Mutex<HashMap<LayerKind, Pipelines>>,
}

/// A layer ready to draw.
pub(super) struct Layer {
    group: wgpu::BindGroup,
    pipelines: Pipelines,
}

impl Pipelines {
    fn new(gpu: &Gpu, layout: &wgpu::BindGroupLayout, kind: Option<LayerKind>) -> Self {
        let module = gpu.shader("slice", shader(kind));
        let make = |entries, samples, depth: bool| {
            let drawing = Drawing {
                primitive: wgpu::PrimitiveState {
                    topology: wgpu::PrimitiveTopology::TriangleStrip,
                    ..Default::default()
                },
                samples,
                // Layers of one slice share its depth: each is drawn over the one below.
                depth_stencil: depth.then(|| depth_test(true)),
                targets: &[Some(blended())],
            };
            gpu.render_pipeline((&module, layout), entries, drawing)
        };
        let quad = match gpu.sample_masks {
            true => "fs_quad",
            false => "fs_quad_whole",
        };
        Self {
            pane: make(["vs_pane", "fs_pane"], 1, false),
            quad: [1, 4].map(|n| make(["vs_quad", quad], n, true)),
        }
    }
}

impl Slices {
    pub fn new(gpu: &Gpu) -> Self {
        let layout = gpu.layout(
            wgpu::ShaderStages::VERTEX_FRAGMENT,
            &[
                Slot::Uniform,
                Slot::Image3,
                Slot::Image3,
                Slot::Image3,
                Slot::Image2,
                Slot::Storage,
                Slot::Storage,
            ],
        );
        Self {
            any: Pipelines::new(gpu, &layout, None),
            by_kind: Mutex::default(),
            layout,
        }
    }

    /// The layers of a slice view; the keys of its textures are added to `used`.
    pub fn pane_layers(
        &self,
        gpu: &Gpu,
        textures: &mut Textures,
        list: &SlicePane,
        used: &mut Vec<Key>,
    ) -> Vec<Layer> {
        let plane = Plane {
            origin: list.origin,
            across: list.right,
            down: list.down,
        };
        let layer = |image| {
            let (uniform, views) = self.describe(gpu, textures, image, plane, used);
            self.bind(gpu, textures, uniform, views, None)
        };
        let mut layers: Vec<Layer> = list.images.iter().map(layer).collect();
        for contour in &list.contours {
            let (uniform, views, pool) =
                Self::contour_layer(gpu, textures, contour, plane, list.scale, used);
            layers.push(self.bind(gpu, textures, uniform, views, pool));
        }
        layers
    }

    /// A contour as a layer.
    fn contour_layer(
        gpu: &Gpu,
        textures: &mut Textures,
        contour: &Contour,
        plane: Plane,
        scale: f32,
        used: &mut Vec<Key>,
    ) -> (LayerUniform, [wgpu::TextureView; 3], Option<Pool>) {
        let nothing = textures.nothing.clone();
        let [r, g, b] = contour.colour.map(|c| f32::from(c) / 255.0);
        let mut uniform = LayerUniform {
            line: [r, g, b, contour.opacity],
            limits: [
                if contour.dashed { DASH_PX * scale } else { 0.0 },
                contour.level,
                contour.every.unwrap_or(0.0),
                contour.width_px * scale,
            ],
            kind: [CONTOUR, 0, 1, 1],
            ..Default::default()
        };
        let mut views = [nothing.clone(), nothing.clone(), nothing];
        let mut pool = None;
        match &contour.source {
            ContourSource::Image(volume) => {
                let (key, texture) = textures.frame(gpu, &volume.0, 0);
                used.push(key);
                uniform.image = plane.in_texels(&texture.texel_from_world);
                uniform.bricks[1] = u32::from(texture.is_complete);
                views[0] = texture.view.clone();
            }
            ContourSource::Bricks(phi) => {
                pool = textures.pools.pool(gpu, &phi.0);
                let [x, y, z] = phi.0.grid.shape.map(|n| n as f32);
                uniform.kind[0] |= BRICKS;
                uniform.image = plane.in_texels(&phi.0.grid.voxel_from_world);
                uniform.phi_size = [x, y, z, phi.0.clamp];
                uniform.bricks[0] = phi.0.shift;
                if pool.is_none() {
                    // Exceeds what the device's shaders can read: it is not drawn.
                    uniform.line[3] = 0.0;
                }
            }
        }
        (uniform, views, pool)
    }

    /// The layers of a slice in the 3-D view, for a target of this many samples; `rough` if speed matters.
    pub fn quad_layers(
        &self,
        gpu: &Gpu,
        textures: &mut Textures,
        list: &SliceQuad,
        clip_from_world: &DMat4,
        (samples, rough): (u32, bool),
        used: &mut Vec<Key>,
    ) -> Vec<Layer> {
        let plane = Plane {
            origin: list.origin,
            across: list.edge_u,
            down: list.edge_v,
        };
        let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|(u, v)| {
            let world = plane.origin + plane.across * u + plane.down * v;
            (*clip_from_world * world.extend(1.0)).as_vec4().to_array()
        });
        // Without a mask, slices are cut to the head in the lowest image.
        let mask = list.cut_out.as_ref().map(|mask| CutShape::Mask(&mask.0));
        let lowest = list.images.first();
        let head = || lowest.map(|image| CutShape::Head(&image.volume.0));
        let shape = mask.or_else(head);
        let cut = shape.and_then(|shape| textures.cut_out(gpu, shape));
        let cut = cut.map(|(key, texture)| {
            used.push(key);
            texture
        });
        let mut layers = Vec::new();
        for (index, image) in list.images.iter().enumerate() {
            let (mut uniform, mut views) = self.describe(gpu, textures, image, plane, used);
            uniform.corners = corners;
            uniform.kind[3] = samples;
            if rough {
                // Cubic reads eight times as many voxels.
                uniform.kind[2] = uniform.kind[2].min(1);
            }
            if let Some(cut) = &cut {
                uniform.kind[0] |= HAS_CUT;
                uniform.cut = plane.in_texels(&cut.texel_from_world);
                views[2] = cut.view.clone();
            }
            // Only the bottom image has a background to cut away. Within a head, voxels without a direction are drawn
            // black, as in the slice views; if transparent, they would be holes.
            if index == 0 {
                uniform.kind[0] |= match (&cut, &list.cut_out) {
                    (None, _) => CUT_BLACK,
                    (Some(_), Some(_)) => BLACK,
                    // The shape found in the image extends a little beyond the tissue.
                    (Some(_), None) => BLACK | CUT_BLACK,
                };
                // A shape that was found in the image itself lies beyond the tissue. Labels and borders keep their places.
                let keeps_places = uniform.kind[0] & (OUTLINED | SINGLE_COLOUR) != 0
                    || image.volume.0.labels.is_some();
                if cut.is_some() && list.cut_out.is_some() && !keeps_places {
                    uniform.kind[0] |= FROM_INSIDE;
                }
            }
            layers.push(self.bind(gpu, textures, uniform, views, None));
        }
        for contour in &list.contours {
            let (mut uniform, mut views, pool) =
                Self::contour_layer(gpu, textures, contour, plane, 1.0, used);
            uniform.corners = corners;
            uniform.kind[3] = samples;
            if let Some(cut) = &cut {
                uniform.kind[0] |= HAS_CUT;
                uniform.cut = plane.in_texels(&cut.texel_from_world);
                views[2] = cut.view.clone();
            }
            layers.push(self.bind(gpu, textures, uniform, views, pool));
        }
        layers
    }

    fn describe(
        &self,
        gpu: &Gpu,
        textures: &mut Textures,
        image: &Image,
        plane: Plane,
        used: &mut Vec<Key>,
    ) -> (LayerUniform, [wgpu::TextureView; 3]) {
        let (key, texture) = textures.frame(gpu, &image.volume.0, image.frame);
        used.push(key);
        let nothing = textures.nothing.clone();
        let mut views = [texture.view.clone(), nothing.clone(), nothing];
        let (low, high) = image.window;
        let width = high - low;
        // An empty window shows everything above it as the last colour.
        let per_width = if width == 0.0 { 1e30 } else { 1.0 / width };
        let mut flags = 0;
        if image.volume.0.kind == VolumeKind::Rgb {
            flags |= COLOUR_IMAGE;
        } else if image.colour_map == ColourMap::Mask {
            flags |= SINGLE_COLOUR;
        }
        for (flag, holds) in [
            (TRANSPARENT_BELOW, image.transparent_below),
            (FADES, image.fades),
            (LIMITED, image.limits.is_some()),
            (ABSOLUTE, image.is_symmetric),
            (BY_VALUE, image.opacity_by_value),
            (OUTLINED, image.is_outlined),
        ] {
            flags |= if holds { flag } else { 0 };
        }
        let interpolation = match image.interpolation {
            Interpolation::Nearest => 0,
            Interpolation::Linear => 1,
            Interpolation::Cubic => 2,
        };
        let mut uniform = LayerUniform {
            image: plane.in_texels(&texture.texel_from_world),
            // Read here, not by the shader.
            bricks: [0, u32::from(texture.is_complete), 0, 0],
            window: [low, per_width, image.opacity, image.brightness],
            limits: {
                let (low, high) = image.limits.unwrap_or_default();
                let most = image.window.0.abs().max(image.window.1.abs());
                [0.0, low, high, if most == 0.0 { 1e30 } else { 1.0 / most }]
            },
            ..Default::default()
        };
        if let Some((volume, limit)) = &image.hide_below {
            let (key, texture) = textures.frame(gpu, &volume.0, 0);
            used.push(key);
            flags |= HAS_HIDING;
            uniform.hiding = plane.in_texels(&texture.texel_from_world);
            uniform.limits[0] = *limit;
            views[1] = texture.view.clone();
        }
        uniform.kind = [flags, colour_map_row(image.colour_map), interpolation, 1];
        (uniform, views)
    }

    fn bind(
        &self,
        gpu: &Gpu,
        textures: &Textures,
        uniform: LayerUniform,
        views: [wgpu::TextureView; 3],
        pool: Option<Pool>,
    ) -> Layer {
        let pool = pool.unwrap_or_else(|| textures.pools.empty_pool());
        let [page_of, pages] = pool.bindings();
        use wgpu::BindingResource::TextureView as View;
        let buffer = gpu.uniform(&uniform);
        let group = gpu.bind(
            &self.layout,
            &[
                buffer.as_entire_binding(),
                View(&views[0]),
                View(&views[1]),
                View(&views[2]),
                View(&textures.colour_maps),
                page_of,
                pages,
            ],
        );
        Layer {
            group,
            pipelines: self.pipelines(gpu, &uniform),
        }
    }

    /// The pipelines for a layer.
    fn pipelines(&self, gpu: &Gpu, uniform: &LayerUniform) -> Pipelines {
        if !gpu.software {
            return self.any.clone();
        }
        let kind = LayerKind {
            flags: uniform.kind[0],
            way: uniform.kind[2],
            is_complete: uniform.bricks[1] != 0,
        };
        let known = self.by_kind.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let make = || Pipelines::new(gpu, &self.layout, Some(kind));
        known.entry(kind).or_insert_with(make).clone()
    }

    pub fn draw_pane(&self, pass: &mut wgpu::RenderPass, layers: &[Layer]) {
        for layer in layers {
            pass.set_pipeline(&layer.pipelines.pane);
            pass.set_bind_group(0, &layer.group, &[]);
            pass.draw(0..3, 0..1);
        }
    }

    pub fn draw_quads(&self, pass: &mut wgpu::RenderPass, layers: &[Layer], samples: u32) {
        for layer in layers {
            pass.set_pipeline(&layer.pipelines.quad[usize::from(samples > 1)]);
            pass.set_bind_group(0, &layer.group, &[]);
            pass.draw(0..4, 0..1);
        }
    }
}
