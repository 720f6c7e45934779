//! The 3-D view: opaque objects, translucent objects, volumes, then the glass outline over all.

mod passes;

use super::ambient_occlusion::{AmbientOcclusion, OcclusionTargets};
use super::composite::Compositor;
use super::end_marks::EndMarkRenderer;
use super::glyphs::{self, TensorGlyphRenderer};
use super::gpu::{COLOUR, DEPTH, Gpu};
use super::line_blend::Blended;
use super::line_buffers::{LineKey, LineStore};
use super::line_raster::{self, LineRaster, LineRasteriser, Nearest};
use super::lines::{LinePipelines, Rank};
use super::odf_glyphs::{self, OdfGlyphRenderer};
use super::outline::{GLASS, Outlines};
use super::quality::Drawn;
use super::slice::Slices;
use super::solids::Solids;
use super::stopwatch::Stopwatch;
use super::textures::{Key, Textures};
use super::transparency::{FirstDepth, TransparencyTargets};
use super::view::SceneView;
use super::volume::{Fog, Volumes};
use crate::compute::thread::{self, Awaited};
use crate::scene::draw_list::{self, ScenePane, SolidShape};
use glam::{DMat4, DVec3};
use passes::{Frame, Share};
use std::ops::Range;
use wgpu::TextureUsages as Usage;

/// Permitted work for volumes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FogQuality {
    /// Pixels drawn per pixel of it, along a side.
    pub per_pixel: u32,
    /// In texels of the volume.
    pub step: f32,
    /// Rays per pixel that smooth surfaces: 1 or 4.
    pub rays: u32,
}

/// Permitted work for one picture.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Quality {
    /// 1 or 4.
    pub samples: u32,
    /// Pixels drawn per pixel of the pane, along a side.
    pub scale: f64,
    /// Pixels drawn per pixel of the glass, along a side.
    pub glass: u32,
    pub fog: FogQuality,
    /// Points of streamlines, evenly spread over all.
    pub max_slots: usize,
    /// A better picture follows soon.
    pub rough: bool,
    pub part: Part,
}

/// The part of a picture to draw; it is shown after the last one.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Part {
    pub begins: bool,
    pub ends: bool,
    /// Range of streamlines' slots, counted over all of them in drawing order.
    pub slots: Range<usize>,
    /// Range of rows of volumes, from the top.
    pub rows: Range<u32>,
}

impl Part {
    pub fn whole() -> Self {
        Self {
            begins: true,
            ends: true,
            slots: 0..usize::MAX,
            rows: 0..u32::MAX,
        }
    }
}

impl Quality {
    /// The kind of the picture, for these totals of slots and rows.
    pub fn drawn(&self, slots: usize, rows: u32) -> Drawn {
        let part = &self.part;
        match self.rough {
            true => Drawn::Rough,
            false => Drawn::Part {
                slots: part.slots.end.min(slots) - part.slots.start.min(slots),
                rows: part.rows.end.min(rows) - part.rows.start.min(rows),
                begins: part.begins,
                ends: part.ends,
            },
        }
    }

    /// Whether everything is shown.
    pub fn is_full(&self) -> bool {
        !self.rough && self.max_slots == usize::MAX
    }

    pub fn best(software: bool) -> Self {
        Self {
            samples: 4,
            scale: 1.0,
            // The outline is soft: on a CPU every fourth pixel of it suffices.
            glass: if software { 2 } else { 1 },
            fog: FogQuality {
                per_pixel: 1,
                step: 0.5,
                rays: 4,
            },
            max_slots: usize::MAX,
            rough: false,
            part: Part::whole(),
        }
    }
}

/// The textures that one pane is drawn in before compositing.
pub(super) struct Targets {
    pub size: [u32; 2],
    samples: u32,
    /// The colour target: `base` itself, or its samples.
    colour: wgpu::TextureView,
    pub base: wgpu::TextureView,
    pub depth: wgpu::TextureView,
    depth_texture: wgpu::Texture,
    /// Depths of the background's lines: those for hollows and glass must not include them, or the background would
    /// turn dark around such lines.
    line_depth: Option<(wgpu::Texture, wgpu::TextureView)>,
    nearest: Option<Nearest>,
    blended: Option<Blended>,
    pub transparency: Option<TransparencyTargets>,
    pub fog: Option<Fog>,
    pub glass: wgpu::TextureView,
    pub occlusion: OcclusionTargets,
}

impl Targets {
    fn new(gpu: &Gpu, size: [u32; 2], samples: u32) -> Self {
        let make = |format, samples, usage| {
            gpu.texture_2d(size, format, samples, usage)
                .create_view(&wgpu::TextureViewDescriptor::default())
        };
        let both = Usage::RENDER_ATTACHMENT | Usage::TEXTURE_BINDING;
        let base = make(COLOUR, 1, both);
        let colour = if samples > 1 {
            make(COLOUR, samples, Usage::RENDER_ATTACHMENT)
        } else {
            base.clone()
        };
        let depth_texture = gpu.texture_2d(size, DEPTH, samples, both | Usage::COPY_SRC);
        Self {
            size,
            samples,
            colour,
            base,
            depth: depth_texture.create_view(&wgpu::TextureViewDescriptor::default()),
            depth_texture,
            line_depth: None,
            nearest: None,
            blended: None,
            transparency: None,
            fog: None,
            glass: make(GLASS, 1, Usage::STORAGE_BINDING | Usage::TEXTURE_BINDING),
            occlusion: OcclusionTargets::new(gpu, size),
        }
    }

    /// Prepares for a picture: nothing is computed for it yet.
    fn begin_picture(&mut self) {
        self.nearest.iter_mut().for_each(|n| n.in_use = false);
        self.blended.iter_mut().for_each(|b| b.in_use = false);
    }

    /// Releases the buffers of computed lines that the picture does not use: they take up to 112 bytes per pixel.
    fn release_unused(&mut self) {
        self.nearest.take_if(|n| !n.in_use);
        self.blended.take_if(|b| !b.in_use);
    }

    /// Copies the scene's present depths for the depth test of the background's lines.
    fn set_aside(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        let (size, samples) = (self.size, self.samples);
        let (aside, _) = self.line_depth.get_or_insert_with(|| {
            let usage = Usage::RENDER_ATTACHMENT | Usage::COPY_DST;
            let texture = gpu.texture_2d(size, DEPTH, samples, usage);
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            (texture, view)
        });
        encoder.copy_texture_to_texture(
            self.depth_texture.as_image_copy(),
            aside.as_image_copy(),
            self.depth_texture.size(),
        );
    }
}

/// Glyphs ready to draw.
pub(super) enum ReadyGlyphs {
    Tensors(glyphs::Ready),
    Odfs(odf_glyphs::Ready),
}

pub(super) struct Scenes {
    solids: Solids,
    pub tensor_glyphs: TensorGlyphRenderer,
    pub odf_glyphs: OdfGlyphRenderer,
    pub ends: EndMarkRenderer,
    pub line_rasteriser: LineRasteriser,
    /// A thread that creates pipelines of lines.
    ahead: Option<Awaited>,
    outlines: Outlines,
    ambient_occlusion: AmbientOcclusion,
    first_depth: FirstDepth,
    compositor: Compositor,
    pub volumes: Volumes,
}

/// Parts of the renderer that drawing a scene borrows.
pub(super) struct Tools<'a> {
    pub gpu: &'a Gpu,
    pub textures: &'a mut Textures,
    pub store: &'a LineStore,
    pub slices: &'a Slices,
    pub lines: &'a LinePipelines,
    pub stopwatch: &'a mut Stopwatch,
}

impl Scenes {
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            solids: Solids::new(gpu),
            tensor_glyphs: TensorGlyphRenderer::default(),
            odf_glyphs: OdfGlyphRenderer::default(),
            ends: EndMarkRenderer::default(),
            line_rasteriser: LineRasteriser::default(),
            ahead: None,
            outlines: Outlines::new(gpu),
            ambient_occlusion: AmbientOcclusion::new(gpu),
            first_depth: FirstDepth::new(gpu),
            compositor: Compositor::new(gpu),
            volumes: Volumes::default(),
        }
    }

    /// Starts to create the pipelines of lines on a thread. A picture that needs those of triangles before they are ready
    /// waits for the one that the thread is creating; pictures of a window use those of compute shaders once all of them
    /// exist.
    pub fn create_ahead(&mut self, gpu: &Gpu, lines: &LinePipelines) {
        let always = self.line_rasteriser.when == LineRaster::Always;
        if self.ahead.is_some() || gpu.software && !always {
            return;
        }
        let ribbons = lines.creation(gpu);
        let can_compute = gpu.device.features().contains(line_raster::FEATURES);
        let computed = can_compute && (gpu.computes_lines || always);
        let rasteriser = self.line_rasteriser.creation(gpu, &lines.layout);
        let work = move || {
            // Until the others exist, these draw.
            ribbons();
            if computed {
                rasteriser();
            }
        };
        self.ahead = thread::start_awaited("pipelines", work).ok();
        // If the system refuses the thread, the pictures create them.
        self.line_rasteriser.no_thread = self.ahead.is_none();
    }

    /// Releases the data of glyphs and marks.
    pub fn clear(&mut self) {
        self.tensor_glyphs.clear();
        self.odf_glyphs.clear();
        self.ends.clear();
    }

    /// Prepares the glyphs of a view; `None` if there are none.
    pub fn glyphs(
        &self,
        gpu: &Gpu,
        glyphs: Option<&draw_list::Glyphs>,
        look: &glyphs::Look,
    ) -> Option<ReadyGlyphs> {
        match glyphs? {
            own @ (draw_list::Glyphs::Tensors(_) | draw_list::Glyphs::Peaks(_)) => {
                let ready = self.tensor_glyphs.prepare(gpu, own, look)?;
                Some(ReadyGlyphs::Tensors(ready))
            }
            draw_list::Glyphs::Odfs(odfs) => {
                let ready = self.odf_glyphs.prepare(gpu, odfs, look)?;
                Some(ReadyGlyphs::Odfs(ready))
            }
        }
    }

    /// Draws into `pane`, a texture of the list's size; `keys` are its lines' buffers. Returns the textures used, and
    /// the size of the pane's corner that a rough picture fills; `None` if more pieces must follow: the pane is
    /// unchanged.
    pub fn draw(
        &self,
        mut tools: Tools,
        list: &ScenePane,
        keys: &[LineKey],
        quality: &Quality,
        targets: &mut Option<Targets>,
        pane: &wgpu::TextureView,
    ) -> (Vec<Key>, Option<[u32; 2]>) {
        let gpu = tools.gpu;
        let size = list.size_px;
        let samples = quality.samples;
        let fits = |t: &Targets| t.size == size && t.samples == samples;
        if !targets.as_ref().is_some_and(fits) {
            *targets = None;
        }
        let targets = targets.get_or_insert_with(|| Targets::new(gpu, size, samples));
        if quality.part.begins {
            targets.begin_picture();
        }
        let drawn = size.map(|n| ((f64::from(n) * quality.scale) as u32).clamp(1, n));
        let scene_bounds = bounds(list, keys, tools.store);
        let view = SceneView::new(list, drawn, scene_bounds);
        let mut used = Vec::new();
        let objects = self.objects(&mut tools, list, keys, (&view, quality), &mut used);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let foggy = list.ray_cast() > 0;
        let height = if foggy { drawn[1] } else { 0 };
        let share = Share::new(&quality.part, &objects.lines, height);
        let rows = &share.rows;
        let through = objects
            .lines
            .iter()
            .any(|s| s.is_in_rank(Rank::Translucent));
        let complete = quality.part.ends;
        let frame = Frame {
            drawn,
            samples,
            cut: list.slab.is_some() || !list.clips.streamlines.is_empty(),
            foggy,
        };
        tools
            .stopwatch
            .start(quality.drawn(share.all_slots(), height));
        let background = list.background;
        self.draw_opaque(
            &tools,
            &mut encoder,
            (&frame, background),
            &objects,
            &share,
            targets,
        );
        if share.sees_through() {
            let strands = &objects.lines;
            self.draw_transparent_lines(&tools, &mut encoder, &frame, strands, &share, targets);
        }
        if !rows.is_empty() {
            let fog = targets.fog.get_or_insert_with(|| Fog::new(gpu, size));
            let among = targets.transparency.as_ref().filter(|_| through);
            self.volumes.march(
                (gpu, &mut *tools.textures, &mut encoder),
                list,
                (&view, rows),
                (&targets.depth, samples),
                (fog, quality.fog),
                among.map(TransparencyTargets::pictures),
                &mut used,
                tools.stopwatch.compute_writes(false, !complete),
            );
        }
        if !complete {
            tools.stopwatch.stop(gpu, encoder);
            return (used, None);
        }
        // A rough picture, as during a gesture, has too few lines for compute shaders, and a better one follows.
        if quality.is_full() {
            targets.release_unused();
        }
        if let Some(outline) = &list.outline {
            self.outlines.march(
                gpu,
                &mut *tools.textures,
                &mut encoder,
                outline,
                &view,
                (&targets.depth, samples),
                (&targets.glass, quality.glass),
                &mut used,
            );
        }
        if !quality.rough {
            let numbers = distance_numbers(&list.clip_from_world);
            let farthest = farthest_mm(&list.clip_from_world, scene_bounds);
            self.ambient_occlusion.blur(
                gpu,
                &mut encoder,
                (&targets.depth, samples),
                &targets.occlusion,
                (&view, numbers, farthest),
            );
        }
        self.compositor.draw(
            gpu,
            &mut encoder,
            list,
            drawn,
            (quality, through),
            targets,
            pane,
            &*tools.stopwatch,
        );
        tools.stopwatch.stop(gpu, encoder);
        (used, Some(drawn))
    }
}

/// Numbers that turn a depth into a distance from the eye, for `distance_from` in common.wgsl.
pub(super) fn distance_numbers(clip_from_world: &DMat4) -> [f32; 4] {
    let (z, w) = (clip_from_world.row(2), clip_from_world.row(3));
    if w.truncate().length() < 1e-9 {
        // Parallel: millimetres along the view, from well before the near plane so that all are positive.
        let per_mm = z.truncate().length().max(1e-12);
        return [1e3, (1.0 / per_mm) as f32, 1.0, 0.0];
    }
    // depth = a + b / distance, since z = a * w + b.
    let a = z.truncate().dot(w.truncate()) / w.truncate().length_squared();
    let b = z.w - a * w.w;
    [a as f32, -b as f32, 0.0, 0.0]
}

/// Distance of the farthest corner of world bounds, as computed by `distance_numbers`, mm.
fn farthest_mm(clip_from_world: &DMat4, (low, high): (DVec3, DVec3)) -> f32 {
    let [x, y, parallel, _] = distance_numbers(clip_from_world).map(f64::from);
    let distance = |corner: usize| {
        let pick = |a: usize| {
            if corner >> a & 1 == 1 {
                high[a]
            } else {
                low[a]
            }
        };
        let clip = *clip_from_world * DVec3::new(pick(0), pick(1), pick(2)).extend(1.0);
        if parallel > 0.5 {
            x + y * clip.z
        } else {
            clip.w
        }
    };
    (0..8).map(distance).fold(0.0, f64::max) as f32
}

/// World bounds of a scene's content.
fn bounds(list: &ScenePane, keys: &[LineKey], store: &LineStore) -> (DVec3, DVec3) {
    let mut points: Vec<DVec3> = Vec::new();
    for q in &list.slices {
        let far = q.origin + q.edge_u + q.edge_v;
        points.extend([q.origin, q.origin + q.edge_u, q.origin + q.edge_v, far]);
    }
    if let Some(outline) = &list.outline {
        points.extend(outline.mask.0.grid.corners());
    }
    for volume in &list.volumes {
        points.extend(volume.volume.0.grid.corners());
    }
    for surface in &list.surfaces {
        points.extend(surface.phi.0.grid.corners());
    }
    for key in keys {
        if let Some((low, high)) = store.get(*key).and_then(|l| l.bounds_mm) {
            points.extend([low, high]);
        }
    }
    for solid in &list.solids {
        match &solid.shape {
            SolidShape::Sphere { centre, radius_mm } => {
                points.extend([*centre - *radius_mm, *centre + *radius_mm]);
            }
            SolidShape::Box { centre, half_mm } => {
                points.extend([*centre - *half_mm, *centre + *half_mm]);
            }
            SolidShape::Mask(mask) => points.extend(mask.0.grid.corners()),
        }
    }
    let start = points.first().copied().unwrap_or(DVec3::ZERO);
    points
        .iter()
        .fold((start, start), |(low, high), &p| (low.min(p), high.max(p)))
}
