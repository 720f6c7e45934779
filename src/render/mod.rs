//! Pixels: all code that uses wgpu.
//!
//! Input is a [draw list](crate::scene::draw_list): plain values that describe the content of a pane. The same code
//! serves the window (through one paint callback), the tests and the command line.
//!
//! Every pane has a texture of its own that is redrawn only when its list changed, or when more of a large tractogram
//! has been loaded. All colours are sRGB bytes from end to end without any conversion, so that a colour map's byte is
//! the pixel's byte.

mod ambient_occlusion;
mod blit;
mod bricks;
mod clips;
mod composite;
mod cut_outs;
mod device;
mod empty_bricks;
mod end_marks;
mod faults;
mod glyph_voxels;
mod glyphs;
mod gpu;
mod line_blend;
mod line_buffers;
mod line_raster;
mod line_walk;
mod lines;
mod odf_glyphs;
mod odf_rays;
pub mod offscreen;
mod outline;
mod pages;
mod pipelines;
mod quality;
mod scene;
mod schedule;
mod settings;
mod shared;
mod slice;
mod slice_lines;
mod smooth;
mod solids;
mod stopwatch;
mod textures;
mod transparency;
mod view;
mod volume;
mod volume_bricks;
mod volume_image;

pub use blit::Surface;
pub use device::{backends, device_descriptor, instance, shortcoming, unsuitable};
pub use faults::Faults;
pub use gpu::{cleared_target, shader_sources};
pub use line_raster::LineRaster;
pub use shared::image_exporter;
pub use volume::March;

use crate::scene::draw_list::{EndMarks, Lines, ScenePane, SlicePane};
use gpu::{Gpu, kept_target, pane_texture};
use line_buffers::{LineKey, LineStore};
pub use quality::fluid_ms;
use quality::{PATIENCE_MS, PieceSizes, QualityController};
use scene::{ReadyGlyphs, Scenes, Tools};
use schedule::{Count, NewPace, Progress};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use textures::{Key, Textures};

/// Identifies a pane for the lifetime of the renderer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PaneId(pub u32);

/// Time one pane may spend per call on loading streamlines.
const LOADING_SLICE: Duration = Duration::from_millis(3);
/// With rendering on a CPU the frame itself takes long.
const LOADING_SLICE_SOFTWARE: Duration = Duration::from_millis(8);
/// Panes not requested during this many calls release their data.
const FORGOTTEN_AFTER: u64 = 2_000;
/// Calls within which a pane counts as visible.
const ON_SCREEN: u64 = 24;

/// Draws panes, each into a texture of its own.
pub struct Renderer {
    gpu: Gpu,
    textures: Textures,
    store: LineStore,
    slices: slice::Slices,
    lines: lines::LinePipelines,
    scenes: Scenes,
    blit: blit::Blit,
    panes: HashMap<PaneId, Pane>,
    clock: u64,
    draws: u64,
    encode_ms: f64,
    last_scene: Option<PaneId>,
    /// Device time of a picture whose pane is gone.
    last_ms: f64,
    loading: Option<Duration>,
    /// Marks of the present list at ends of streamlines that can be drawn, and whether these are all of them.
    marks_loaded: (usize, bool),
    patience_ms: f64,
    /// Time of the last interaction.
    touched: Option<Instant>,
    stills: bool,
    /// Piece sizes of the last picture for a file.
    known: Option<PieceSizes>,
    /// The sentence about a device that draws slices and no 3-D view.
    no_scenes: Option<String>,
}

/// The content of a pane.
#[derive(PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "each pane has one, so the size difference between variants is harmless"
)]
enum PaneContent {
    Slice(SlicePane),
    Scene(ScenePane),
}

struct Pane {
    content: Option<PaneContent>,
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    /// The part of the texture that a rough picture fills.
    corner: wgpu::Buffer,
    group: wgpu::BindGroup,
    progress: Option<Progress>,
    /// The texture in which a slice is drawn in pieces, until it is shown.
    back: Option<(wgpu::Texture, wgpu::TextureView)>,
    /// All its streamlines are loaded.
    complete: bool,
    /// Its present picture was drawn roughly.
    rough: bool,
    slots_drawn: usize,
    textures: Vec<Key>,
    lines: Vec<LineKey>,
    last_requested: u64,
}

impl Renderer {
    /// The device should have been created with [`device_descriptor`].
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let gpu = Gpu::new(device, queue);
        let (scenes, why) = faults::capture_errors(&gpu.device, || Scenes::new(&gpu));
        let no_scenes = why.map(|why| {
            log::warn!("No 3-D view: {why}");
            device::without_scenes(&gpu.device.adapter_info())
        });
        Self {
            textures: Textures::new(&gpu),
            store: LineStore::new(&gpu),
            slices: slice::Slices::new(&gpu),
            lines: lines::LinePipelines::new(&gpu),
            scenes,
            blit: blit::Blit::new(&gpu),
            panes: HashMap::new(),
            clock: 0,
            draws: 0,
            encode_ms: 0.0,
            last_scene: None,
            last_ms: 0.0,
            loading: Some(slice_of_time(&gpu)),
            marks_loaded: (0, true),
            patience_ms: PATIENCE_MS,
            touched: None,
            stills: false,
            known: None,
            no_scenes,
            gpu,
        }
    }

    /// One sentence if the device draws slices and no 3-D view.
    pub fn no_scenes(&self) -> Option<&str> {
        self.no_scenes.as_deref()
    }

    pub fn device(&self) -> &wgpu::Device {
        &self.gpu.device
    }

    pub fn queue(&self) -> &wgpu::Queue {
        &self.gpu.queue
    }

    /// Draws a slice view if its list changed; while that is slow, with only a few of its streamlines.
    pub fn slice(&mut self, list: &SlicePane, id: PaneId) -> &wgpu::TextureView {
        let mut list = list.clone();
        list.size_px = self.limited_size(list.size_px);
        let keys = self.load_lines(&list.lines, &list.ends);
        self.ready_pane(id, list.size_px);
        self.textures.pools.next_picture();
        let same = |old: &PaneContent| matches!(old, PaneContent::Slice(l) if *l == list);
        let Some(ask) = self.next_work(id, (&list.lines, &keys), same, false) else {
            return self.view(id);
        };
        let started = Instant::now();
        let moving = !self.loaded_slots(&list.lines, &keys).1;
        let shown = (&*list.lines, &*keys, 0);
        let how: (Count, _) = (
            slice_lines::slice_slots,
            QualityController::of_slice as NewPace,
        );
        let quality = self.quality(id, (ask, moving), shown, how);
        let Self {
            gpu,
            textures,
            store,
            slices,
            lines,
            scenes,
            panes,
            blit,
            ..
        } = self;
        let Some(pane) = panes.get_mut(&id) else {
            return self.view(id);
        };
        let Some(progress) = &mut pane.progress else {
            return self.view(id);
        };
        let part = &quality.part;
        let mut used = Vec::new();
        let layers = slices.pane_layers(gpu, textures, &list, &mut used);
        let own = (quality.max_slots, &part.slots);
        let capsules = lines.capsules(gpu, (textures, store), &list, &keys, own);
        let looked = glyphs::Look::slice(&list);
        let glyphs = scenes.glyphs(gpu, list.glyphs.as_ref(), &looked);
        let ends = scenes.ends.on_slice(gpu, &list, part.ends);
        let slots = slice_lines::slice_slots(&list.lines, &keys, store, quality.max_slots);
        // Faint lines add up where many lie on each other: cost and outline of a pathway stay above them.
        let above = list.lines.iter().any(|l| l.context);
        let (images, contours) = layers.split_at(list.images.len());
        let (ground, results) = images.split_at(images.len().saturating_sub(list.images_above));
        let store = &*store;
        let own = (&list, &*keys, quality.max_slots);
        let front = (above && part.ends).then(|| lines.foreground(gpu, (textures, store), own));
        let aside = !(part.begins && part.ends);
        if aside && pane.back.is_none() {
            pane.back = Some(pane_texture(gpu, list.size_px));
        }
        let target = match &pane.back {
            Some((_, back)) if aside => back,
            _ => &pane.view,
        };
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        progress.stopwatch.start(quality.drawn(slots, 0));
        let glyphs = glyphs.filter(|_| part.ends);
        let odfs = match &glyphs {
            Some(ReadyGlyphs::Odfs(odfs)) => Some(odfs),
            _ => None,
        };
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("slice"),
                color_attachments: &match part.begins {
                    true => cleared_target(target),
                    false => kept_target(target),
                },
                timestamp_writes: progress.stopwatch.writes(true, true),
                ..Default::default()
            });
            if part.begins {
                slices.draw_pane(&mut pass, if above { ground } else { &layers });
            }
            lines.draw_slice(&mut pass, &capsules);
            if let Some(front) = &front {
                slices.draw_pane(&mut pass, results);
                lines.draw_slice(&mut pass, front);
                slices.draw_pane(&mut pass, contours);
            }
            scenes.ends.draw(gpu, &mut pass, &ends, 1);
            if let Some(ReadyGlyphs::Tensors(tensors)) = &glyphs {
                scenes.tensor_glyphs.draw(gpu, &mut pass, tensors, 1);
            }
        }
        if let Some(odfs) = odfs {
            let target = (target, list.size_px);
            scenes
                .odf_glyphs
                .draw_over_slice(gpu, &mut encoder, target, odfs);
        }
        progress.stopwatch.stop(gpu, encoder);
        textures.pools.keep_until_drawn(gpu);
        if part.ends {
            if let Some(back) = pane.back.as_mut().filter(|_| aside) {
                std::mem::swap(&mut pane.texture, &mut back.0);
                std::mem::swap(&mut pane.view, &mut back.1);
                pane.group = blit.group(gpu, &pane.view, &pane.corner);
            }
            pane.rough = !quality.is_full();
            self.draws += 1;
        }
        self.encode_ms = started.elapsed().as_secs_f64() * 1e3;
        self.record_drawn(id, PaneContent::Slice(list), used, keys);
        self.view(id)
    }

    /// Draws the 3-D view if its list changed. While that is slow, a coarser picture fills a corner of the texture, and
    /// [`Renderer::blit`] stretches it.
    pub fn scene(&mut self, list: &ScenePane, id: PaneId) -> &wgpu::TextureView {
        let mut list = list.clone();
        list.size_px = self.limited_size(list.size_px);
        if self.no_scenes.is_some() {
            self.clock += 1;
            self.ready_pane(id, list.size_px);
            if let Some(pane) = self.panes.get_mut(&id) {
                // It counts as complete: no more will be drawn.
                pane.complete = true;
            }
            return self.view(id);
        }
        let keys = self.load_lines(&list.lines, &list.ends);
        self.ready_pane(id, list.size_px);
        let same = |old: &PaneContent| matches!(old, PaneContent::Scene(l) if *l == list);
        let owes = self.textures.has_pending;
        let (owed, time) = match self.stills {
            false => (owes, self.loading),
            true => (false, None),
        };
        self.textures.begin(time);
        // Other panes keep their requests.
        self.textures.has_pending = owes && self.stills;
        self.textures.pools.next_picture();
        let Some(ask) = self.next_work(id, (&list.lines, &keys), same, owed) else {
            return self.view(id);
        };
        let started = Instant::now();
        // While streamlines are loading, more pictures follow by themselves.
        let moving = list.moving || !self.loaded_slots(&list.lines, &keys).1;
        let rows = if list.ray_cast() > 0 {
            list.size_px[1]
        } else {
            0
        };
        let shown = (&*list.lines, &*keys, rows);
        let how: (Count, _) = (lines::scene_slots, QualityController::new as NewPace);
        let quality = self.quality(id, (ask, moving), shown, how);
        let Some(pane) = self.panes.get_mut(&id) else {
            return self.view(id);
        };
        let Some(progress) = &mut pane.progress else {
            return self.view(id);
        };
        let tools = Tools {
            gpu: &self.gpu,
            textures: &mut self.textures,
            store: &self.store,
            slices: &self.slices,
            lines: &self.lines,
            stopwatch: &mut progress.stopwatch,
        };
        let (targets, view) = (&mut progress.targets, &pane.view);
        let (used, filled) = self
            .scenes
            .draw(tools, &list, &keys, &quality, targets, view);
        self.textures.pools.keep_until_drawn(&self.gpu);
        if let Some(filled) = filled {
            pane.rough = !quality.is_full();
            self.draws += 1;
            self.blit
                .show_corner(&self.gpu, &pane.corner, filled, list.size_px);
        }
        self.last_scene = Some(id);
        self.encode_ms = started.elapsed().as_secs_f64() * 1e3;
        self.record_drawn(id, PaneContent::Scene(list), used, keys);
        self.view(id)
    }

    /// Whether the 3-D view shows all the streamlines of this list, from any viewpoint: not others, not only a few of
    /// them, and not roughly.
    pub fn shows(&self, list: &ScenePane, id: PaneId) -> bool {
        let shown = |pane: &Pane| {
            let Some(PaneContent::Scene(drawn)) = &pane.content else {
                return false;
            };
            pane.complete && !pane.rough && drawn.lines == list.lines
        };
        self.panes.get(&id).is_some_and(shown)
    }

    /// Shows a pane, stretched over the pass's viewport; shows nothing before it was drawn once, or before
    /// [`Renderer::prepare_blit`].
    pub fn blit(&self, id: PaneId, pass: &mut wgpu::RenderPass) {
        if let Some(pane) = self.panes.get(&id) {
            self.blit.draw(pass, &pane.group);
        }
    }

    /// To be called before [`Renderer::blit`], outside any pass.
    pub fn prepare_blit(&mut self, surface: Surface) {
        self.blit.prepare(&self.gpu, surface);
    }

    /// Pictures drawn so far; unchanged lists do not count.
    pub fn draws(&self) -> u64 {
        self.draws
    }

    /// Device time of the last measured 3-D picture, ms (0 before the first).
    pub fn device_ms(&self) -> f64 {
        let part = |id| self.panes.get(&id)?.progress.as_ref();
        let last = self.last_scene.and_then(part);
        last.map_or(self.last_ms, |s| s.stopwatch.last_ms())
    }

    /// Time this thread spent on the last picture, ms.
    pub fn encode_ms(&self) -> f64 {
        self.encode_ms
    }

    /// Waits until the device has finished its work: for measurements.
    pub fn wait(&self) {
        // There is nothing to wait for on a lost device; the next picture reports it.
        let _ = self.gpu.device.poll(wgpu::PollType::wait_indefinitely());
    }

    /// Bytes of volumes, masks and streamlines on the device.
    pub fn device_bytes(&self) -> u64 {
        self.textures.bytes() + self.store.bytes()
    }

    /// Bytes of surfaces in bricks uploaded so far.
    pub fn uploaded_bytes(&self) -> u64 {
        self.textures.pools.uploaded_bytes
    }

    /// Sets how many bytes of data that no pane shows may stay on the device.
    pub fn set_idle_budget(&mut self, bytes: u64) {
        self.textures.idle_budget_bytes = bytes;
        self.store.idle_budget_bytes = bytes;
    }

    /// Drops a pane and its pictures; its data stays cached.
    pub fn forget(&mut self, id: PaneId) {
        self.last_ms = self.device_ms();
        let pane = self.panes.remove(&id);
        let known = pane.and_then(|pane| pane.progress?.pace.piece_sizes());
        self.known = known.or(self.known);
    }

    /// Drops all panes and their data: to be called when none is shown any more, since idle data is otherwise dropped
    /// only when one is drawn.
    pub fn clear(&mut self) {
        self.last_ms = self.device_ms();
        self.panes.clear();
        self.textures.clear();
        self.store.clear();
        self.scenes.clear();
    }

    fn view(&self, id: PaneId) -> &wgpu::TextureView {
        &self.panes[&id].view
    }

    fn limited_size(&self, size: [u32; 2]) -> [u32; 2] {
        size.map(|n| n.clamp(1, self.gpu.limits.max_texture_dimension_2d))
    }

    fn load_lines(&mut self, lines: &[Lines], ends: &[EndMarks]) -> Vec<LineKey> {
        self.clock += 1;
        let deadline = self.loading.map(|slice| Instant::now() + slice);
        if self.gpu.computes_lines && deadline.is_some() && line_raster::are_many(lines) {
            self.create_ahead();
        }
        self.marks_loaded = self.scenes.ends.advance(&self.gpu, ends, deadline);
        lines
            .iter()
            .map(|l| {
                let (tractogram, values) = (&l.tractogram.0, lines::values_of(l));
                self.store
                    .advance(&self.gpu, tractogram, l.every, values, deadline)
            })
            .collect()
    }

    /// Creates the pane's texture, or recreates it at another size.
    fn ready_pane(&mut self, id: PaneId, size: [u32; 2]) {
        let fits = |p: &Pane| [p.texture.width(), p.texture.height()] == size;
        if !self.panes.get(&id).is_some_and(fits) {
            let (texture, view) = pane_texture(&self.gpu, size);
            let corner = self.blit.corner(&self.gpu, size);
            let group = self.blit.group(&self.gpu, &view, &corner);
            // The measured speed holds for other sizes, too.
            let progress = self.panes.remove(&id).and_then(|p| p.progress);
            self.panes.insert(
                id,
                Pane {
                    content: None,
                    texture,
                    view,
                    corner,
                    group,
                    progress,
                    back: None,
                    complete: false,
                    rough: false,
                    slots_drawn: 0,
                    textures: Vec::new(),
                    lines: Vec::new(),
                    last_requested: 0,
                },
            );
        }
        if let Some(pane) = self.panes.get_mut(&id) {
            pane.last_requested = self.clock;
        }
    }

    /// Whether the pane must be drawn: another list, or clearly more of its streamlines.
    fn must_redraw(
        &self,
        id: PaneId,
        lines: &[Lines],
        keys: &[LineKey],
        same: impl Fn(&PaneContent) -> bool,
    ) -> bool {
        let pane = &self.panes[&id];
        if !pane.content.as_ref().is_some_and(same) {
            return true;
        }
        let (slots, complete) = self.loaded_slots(lines, keys);
        !pane.complete && (complete || slots > pane.slots_drawn / 4 * 5 + 50_000)
    }

    /// Slots and marks that can be drawn, and whether these are all of them.
    fn loaded_slots(&self, lines: &[Lines], keys: &[LineKey]) -> (usize, bool) {
        let (mut slots, mut complete) = self.marks_loaded;
        for (l, key) in lines.iter().zip(keys) {
            let values = lines::values_of(l);
            slots += self.store.get(*key).map_or(0, |b| b.ready_slots(values));
            complete &= self.store.complete(*key, values);
        }
        (slots, complete)
    }

    fn record_drawn(
        &mut self,
        id: PaneId,
        list: PaneContent,
        textures: Vec<Key>,
        keys: Vec<LineKey>,
    ) {
        let lines = match &list {
            PaneContent::Slice(l) => &l.lines,
            PaneContent::Scene(l) => &l.lines,
        };
        let (slots, complete) = self.loaded_slots(lines, &keys);
        if let Some(pane) = self.panes.get_mut(&id) {
            pane.slots_drawn = slots;
            pane.complete = complete;
            pane.content = Some(list);
            pane.textures = textures;
            pane.lines = keys;
        }
        let clock = self.clock;
        self.panes
            .retain(|_, p| clock - p.last_requested < FORGOTTEN_AFTER);
        let textures: HashSet<Key> = self
            .panes
            .values()
            .flat_map(|p| p.textures.clone())
            .collect();
        let lines: HashSet<LineKey> = self.panes.values().flat_map(|p| p.lines.clone()).collect();
        self.textures.evict(&textures);
        self.store.evict(&lines);
    }
}

fn slice_of_time(gpu: &Gpu) -> Duration {
    match gpu.software {
        true => LOADING_SLICE_SOFTWARE,
        false => LOADING_SLICE,
    }
}
