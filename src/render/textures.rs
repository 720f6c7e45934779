//! Volumes and masks on the graphics device, by the id of their data.

use super::bricks::Bricks;
use super::cut_outs::{CutOut, CutOuts, CutShape};
use super::gpu::{Gpu, half, keys_beyond_budget};
use super::pages::Pools;
use super::shared::SharedTexture;
use super::smooth::Smooth;
use crate::data::appearance::ColourMap;
use crate::data::{DataId, Grid, Mask, Volume, VolumeKind};
use glam::{DAffine3, DMat3, DVec3};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Replaces NaN and infinities in r32float textures, which shaders may assume never to occur.
const MISSING: f32 = -3.4e38;

/// The source of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    Frame(DataId, usize),
    /// The range of its values in every brick.
    Bricks(DataId, usize),
    /// The first frame as shares of a window, whose ends are given by their bits.
    Shares(DataId, [u32; 2]),
    /// A mask, lightly smoothed: surfaces.
    Surface(DataId),
    /// A mask, lightly smoothed and with narrow gaps closed: cut-outs of heads.
    CutOut(DataId),
    /// The head in the first volume of an image.
    Head(DataId),
    /// A mask, strongly smoothed, as gradient and value: the head's outline.
    Rim(DataId),
    /// Lower bound of the distance from its boundary.
    RimDistance(DataId),
}

pub(super) struct Texture {
    pub view: wgpu::TextureView,
    pub size: [u32; 3],
    pub texel_from_world: DAffine3,
    /// Whether it is known to have one number, which is not missing, in every texel.
    pub is_complete: bool,
    bytes: u64,
}

struct KeptTexture {
    texture: Arc<Texture>,
    used: u64,
}

/// The cache: textures in use stay, others are dropped oldest first beyond a budget.
pub(super) struct Textures {
    kept: HashMap<Key, KeptTexture>,
    clock: u64,
    /// Surfaces not ready by then wait for the next frame.
    deadline: Option<Instant>,
    /// Whether any do.
    pub has_pending: bool,
    pub idle_budget_bytes: u64,
    /// 1×1×1, bound where a layer has no second image.
    pub nothing: wgpu::TextureView,
    /// 1×1×1, bound where a layer has no mask; samplers may interpolate it on every device.
    pub no_mask: wgpu::TextureView,
    /// One row of 256 colours per map, in the order of [`ColourMap::ALL`].
    pub colour_maps: wgpu::TextureView,
    bricks: OnceLock<Bricks>,
    cut_outs: CutOuts,
    /// Surfaces in bricks.
    pub pools: Pools,
}

impl Textures {
    pub fn new(gpu: &Gpu) -> Self {
        let nothing = gpu.texture_3d([1; 3], wgpu::TextureFormat::R32Float, &[0; 4]);
        Self {
            kept: HashMap::new(),
            clock: 0,
            deadline: None,
            has_pending: false,
            idle_budget_bytes: if gpu.software { 256 << 20 } else { 1 << 30 },
            nothing,
            no_mask: gpu.texture_3d([1; 3], wgpu::TextureFormat::R8Unorm, &[0]),
            colour_maps: colour_maps(gpu),
            bricks: OnceLock::new(),
            cut_outs: CutOuts::default(),
            pools: Pools::new(gpu),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.kept.values().map(|k| k.texture.bytes).sum::<u64>() + self.pools.bytes()
    }

    pub fn frame(&mut self, gpu: &Gpu, volume: &Volume, frame: usize) -> (Key, Arc<Texture>) {
        let frame = match volume.kind {
            VolumeKind::Scalar => frame.min(volume.frames.saturating_sub(1)),
            VolumeKind::Rgb => 0,
        };
        let key = Key::Frame(volume.id(), frame);
        self.get(key, || upload_frame(gpu, volume, frame))
    }

    /// A frame of a scalar image and the ranges of its bricks.
    pub fn bricks(&mut self, gpu: &Gpu, volume: &Volume, frame: usize) -> [(Key, Arc<Texture>); 2] {
        let image = self.frame(gpu, volume, frame);
        let Key::Frame(id, frame) = image.0 else {
            return [image.clone(), image];
        };
        let bricks = self.bricks.get_or_init(|| Bricks::new(gpu));
        let key = Key::Bricks(id, frame);
        let ranges = &image.1;
        self.clock += 1;
        let kept = self.kept.entry(key).or_insert_with(|| {
            let (view, size) = bricks.ranges(gpu, &ranges.view, ranges.size);
            KeptTexture {
                texture: Arc::new(Texture {
                    view,
                    size,
                    texel_from_world: ranges.texel_from_world,
                    is_complete: false,
                    bytes: size.iter().map(|n| u64::from(*n)).product::<u64>() * 8,
                }),
                used: 0,
            }
        });
        kept.used = self.clock;
        let bricks = (key, kept.texture.clone());
        [image, bricks]
    }

    /// Begins a frame, of which making surfaces may take this long. Hundreds of regions at once would block for a
    /// second.
    pub fn begin(&mut self, time: Option<Duration>) {
        self.deadline = time.map(|time| Instant::now() + time);
        self.has_pending = false;
    }

    /// `None` if there is no time for it in this frame.
    pub fn surface_in_time(&mut self, gpu: &Gpu, mask: &Mask) -> Option<(Key, Arc<Texture>)> {
        let known = self.kept.contains_key(&Key::Surface(mask.id()));
        if !known && self.deadline.is_some_and(|end| Instant::now() > end) {
            self.has_pending = true;
            return None;
        }
        Some(self.surface(gpu, mask))
    }

    pub fn surface(&mut self, gpu: &Gpu, mask: &Mask) -> (Key, Arc<Texture>) {
        self.get(Key::Surface(mask.id()), || {
            upload_shares_inside(gpu, &Smooth::of_region(mask, 256.min(side(gpu))))
        })
    }

    /// The shape to which slices in the 3-D view are cut; `None` if there is none, or while a thread computes it.
    pub fn cut_out(&mut self, gpu: &Gpu, shape: CutShape<'_>) -> Option<(Key, Arc<Texture>)> {
        let key = shape.key();
        if !self.kept.contains_key(&key) {
            let waits = self.deadline.is_none();
            let texels = 256.min(side(gpu));
            let texture = match self.cut_outs.get(shape, texels, waits) {
                CutOut::Ready(smooth) => upload_shares_inside(gpu, &smooth),
                CutOut::Nothing => return None,
                CutOut::Pending => {
                    self.has_pending = true;
                    return None;
                }
            };
            return Some(self.get(key, || texture));
        }
        self.clock += 1;
        let kept = self.kept.get_mut(&key)?;
        kept.used = self.clock;
        Some((key, kept.texture.clone()))
    }

    /// The first frame of an image as shares of a window.
    pub fn shares(
        &mut self,
        gpu: &Gpu,
        volume: &Volume,
        window: (f32, f32),
    ) -> (Key, Arc<Texture>) {
        let bits = [window.0, window.1].map(f32::to_bits);
        self.get(Key::Shares(volume.id(), bits), || {
            upload_shares(gpu, volume, window)
        })
    }

    /// The field of an outline: gradient (1/mm, world) and value, and separately the distance (mm) within which the
    /// boundary cannot be.
    pub fn rim(&mut self, gpu: &Gpu, mask: &Mask) -> [(Key, Arc<Texture>); 2] {
        let smooth = OnceCell::new();
        let smooth = || smooth.get_or_init(|| Smooth::new(mask, 1.8, 1.7, 112.min(side(gpu))));
        let field = self.get(Key::Rim(mask.id()), || {
            let smooth = smooth();
            let mut texels = Vec::with_capacity(smooth.values.len() * 8);
            for ([x, y, z], value) in smooth.gradients().into_iter().zip(&smooth.values) {
                for number in [x, y, z, *value] {
                    texels.extend_from_slice(&half(number).to_le_bytes());
                }
            }
            upload(gpu, smooth, wgpu::TextureFormat::Rgba16Float, &texels)
        });
        let distance = self.get(Key::RimDistance(mask.id()), || {
            let smooth = smooth();
            let shell = |i: usize| (smooth.values[i] - 0.5).abs() < 0.45;
            let texels: Vec<u8> = smooth
                .distance_below(shell)
                .into_iter()
                .flat_map(|mm| half(mm).to_le_bytes())
                .collect();
            upload(gpu, smooth, wgpu::TextureFormat::R16Float, &texels)
        });
        [field, distance]
    }

    fn get(&mut self, key: Key, make: impl FnOnce() -> Texture) -> (Key, Arc<Texture>) {
        self.clock += 1;
        let kept = self.kept.entry(key).or_insert_with(|| KeptTexture {
            texture: Arc::new(make()),
            used: 0,
        });
        kept.used = self.clock;
        (key, kept.texture.clone())
    }

    pub fn clear(&mut self) {
        self.kept.clear();
        self.pools.clear();
        self.cut_outs = CutOuts::default();
        self.has_pending = false;
    }

    /// Drops textures that no pane uses, oldest first, until the rest fits the budget.
    pub fn evict(&mut self, in_use: &HashSet<Key>) {
        let idle: Vec<(u64, Key, u64)> = self
            .kept
            .iter()
            .filter(|(key, _)| !in_use.contains(key))
            .map(|(key, k)| (k.used, *key, k.texture.bytes))
            .collect();
        for key in keys_beyond_budget(idle, self.idle_budget_bytes) {
            self.kept.remove(&key);
        }
    }
}

fn side(gpu: &Gpu) -> usize {
    gpu.limits.max_texture_dimension_3d as usize
}

fn upload(gpu: &Gpu, smooth: &Smooth, format: wgpu::TextureFormat, texels: &[u8]) -> Texture {
    let size = smooth.shape.map(|n| n as u32);
    Texture {
        view: gpu.texture_3d(size, format, texels),
        size,
        texel_from_world: smooth.texel_from_world,
        is_complete: true,
        bytes: texels.len() as u64,
    }
}

fn upload_shares_inside(gpu: &Gpu, smooth: &Smooth) -> Texture {
    let texels = smooth.values.iter();
    let texels: Vec<u8> = texels.map(|v| (v * 255.0).round() as u8).collect();
    upload(gpu, smooth, wgpu::TextureFormat::R8Unorm, &texels)
}

/// The texture of an image that a kernel wrote for this device.
fn written(gpu: &Gpu, volume: &Volume) -> Option<Texture> {
    let shared: &SharedTexture = volume.device_copy()?.get()?;
    (shared.device == gpu.device).then(|| Texture {
        view: shared.texture.create_view(&Default::default()),
        size: volume.grid.shape.map(|n| n as u32),
        texel_from_world: volume.grid.voxel_from_world,
        is_complete: false,
        bytes: 4 * volume.grid.voxel_count() as u64,
    })
}

/// The voxels of a grid that become texels: all, or every second, or third … if the device's limits require it.
struct Sampled<'a> {
    grid: &'a Grid,
    stride: [usize; 3],
    shape: [usize; 3],
}

impl<'a> Sampled<'a> {
    fn new(gpu: &Gpu, grid: &'a Grid) -> Self {
        let stride = grid.shape.map(|n| n.div_ceil(side(gpu)));
        Self {
            grid,
            stride,
            shape: std::array::from_fn(|a| grid.shape[a].div_ceil(stride[a])),
        }
    }

    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    fn size(&self) -> [u32; 3] {
        self.shape.map(|n| n as u32)
    }

    /// Their indices, in the order of texels.
    fn voxels(&self) -> impl Iterator<Item = usize> {
        let (grid, [x, y, z], stride) = (self.grid, self.shape, self.stride);
        (0..z).flat_map(move |k| {
            (0..y).flat_map(move |j| {
                let row = grid.index([0, j * stride[1], k * stride[2]]);
                (0..x).map(move |i| row + i * stride[0])
            })
        })
    }

    fn texel_from_world(&self) -> DAffine3 {
        let shrink = DVec3::from_array(self.stride.map(|s| 1.0 / s as f64));
        DAffine3::from_mat3(DMat3::from_diagonal(shrink)) * self.grid.voxel_from_world
    }
}

/// The first frame as shares of a window, 0 to 1, as r8unorm; 0 where a value is missing.
fn upload_shares(gpu: &Gpu, volume: &Volume, (low, high): (f32, f32)) -> Texture {
    let sampled = Sampled::new(gpu, &volume.grid);
    let values = volume.frame(0);
    let share = |value: f32| match value.is_finite() {
        true => ((value - low) / (high - low)).clamp(0.0, 1.0),
        false => 0.0,
    };
    let texels = sampled.voxels();
    let texels: Vec<u8> = texels
        .map(|i| (share(values[i]) * 255.0).round() as u8)
        .collect();
    Texture {
        view: gpu.texture_3d(sampled.size(), wgpu::TextureFormat::R8Unorm, &texels),
        size: sampled.size(),
        texel_from_world: sampled.texel_from_world(),
        is_complete: true,
        bytes: texels.len() as u64,
    }
}

/// A frame as r32float, the three frames of a colour image as rgba16float with alpha 0 where a value is missing, or the
/// colours of a label map as rgba8unorm. A grid beyond the device's limits is subsampled to every second voxel, or
/// third …
fn upload_frame(gpu: &Gpu, volume: &Volume, frame: usize) -> Texture {
    if let Some(texture) = written(gpu, volume).filter(|_| frame == 0) {
        return texture;
    }
    let sampled = Sampled::new(gpu, &volume.grid);
    let texels = || sampled.voxels();
    let size = sampled.size();
    let whole = sampled.stride == [1; 3];
    let upload = |format, bytes: &[u8]| (gpu.texture_3d(size, format, bytes), bytes.len());
    let mut is_complete = false;
    let (view, bytes) = match (volume.kind, volume.texels()) {
        (_, Some(colours)) if whole => {
            upload(wgpu::TextureFormat::Rgba8Unorm, colours.as_flattened())
        }
        (_, Some(colours)) => {
            let colours: Vec<[u8; 4]> = texels().map(|i| colours[i]).collect();
            upload(wgpu::TextureFormat::Rgba8Unorm, colours.as_flattened())
        }
        (VolumeKind::Scalar, None) => {
            let values = volume.frame(frame);
            let safe = |v: f32| if v.is_finite() { v } else { MISSING };
            let format = wgpu::TextureFormat::R32Float;
            // Copying a large image takes long.
            is_complete = values.iter().all(|v| v.is_finite());
            match whole && is_complete {
                true => upload(format, bytemuck::cast_slice(values)),
                false => {
                    let values: Vec<f32> = texels().map(|i| safe(values[i])).collect();
                    upload(format, bytemuck::cast_slice(&values))
                }
            }
        }
        (VolumeKind::Rgb, None) => {
            let frames = [0, 1, 2].map(|f| volume.frame(f.min(volume.frames - 1)));
            let mut halves: Vec<u16> = Vec::with_capacity(sampled.count() * 4);
            for i in texels() {
                let colour = frames.map(|f| f[i]);
                let is_finite = colour.iter().all(|c| c.is_finite());
                let texel = if is_finite { colour.map(half) } else { [0; 3] };
                halves.extend_from_slice(&[
                    texel[0],
                    texel[1],
                    texel[2],
                    half(f32::from(is_finite)),
                ]);
            }
            upload(
                wgpu::TextureFormat::Rgba16Float,
                bytemuck::cast_slice(&halves),
            )
        }
    };
    Texture {
        view,
        size,
        texel_from_world: sampled.texel_from_world(),
        is_complete,
        bytes: bytes as u64,
    }
}

fn colour_maps(gpu: &Gpu) -> wgpu::TextureView {
    const WIDTH: u32 = 256;
    let rows = ColourMap::ALL.len() as u32;
    let texels: Vec<u8> = ColourMap::ALL
        .iter()
        .flat_map(|map| {
            (0..WIDTH).flat_map(move |i| {
                let [r, g, b] = map.at(i as f32 / (WIDTH - 1) as f32);
                [r, g, b, 255]
            })
        })
        .collect();
    let texture = gpu.texture_2d(
        [WIDTH, rows],
        super::gpu::COLOUR,
        1,
        wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
    );
    gpu.queue.write_texture(
        texture.as_image_copy(),
        &texels,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(WIDTH * 4),
            rows_per_image: None,
        },
        texture.size(),
    );
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// Row of a map in the colour-map texture.
pub(super) fn colour_map_row(map: ColourMap) -> u32 {
    ColourMap::ALL.iter().position(|&m| m == map).unwrap_or(0) as u32
}
