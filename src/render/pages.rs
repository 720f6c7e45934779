//! φ in bricks on the device, in the layout of shaders/pages.wgsl: where a kernel wrote it, or uploaded.
//!
//! A moving surface is a new image in each frame, but most of its bricks are unchanged: a buffer that no pane shows any
//! more is reused, and only the changed bricks are uploaded.

use super::gpu::Gpu;
use super::shared::SharedBuffer;
use crate::data::BrickImage;
use std::ops::Range;

/// Shader code that reads it; each shader binds the two buffers where it has free slots.
pub(super) const PAGES: &str = include_str!("../../shaders/pages.wgsl");

/// Images not drawn in this many pictures are dropped.
const FORGOTTEN_AFTER: u64 = 200;
/// Entries of a table that are uploaded together.
const ENTRIES: usize = 64;

/// Table and pages of an image.
pub(super) struct Pool {
    buffer: wgpu::Buffer,
    table: Range<u64>,
    pages: Range<u64>,
}

impl Pool {
    /// Bindings for the slots of shaders/pages.wgsl.
    pub fn bindings(&self) -> [wgpu::BindingResource<'_>; 2] {
        [&self.table, &self.pages].map(|part| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &self.buffer,
                offset: part.start,
                size: wgpu::BufferSize::new(part.end - part.start),
            })
        })
    }
}

/// The last upload of an image, and its place.
struct KeptBuffer {
    image: BrickImage,
    buffer: wgpu::Buffer,
    /// The last picture that shows it.
    picture: u64,
}

pub(super) struct Pools {
    kept: Vec<KeptBuffer>,
    picture: u64,
    /// Images of this picture: kernels may write there again when it is drawn.
    exported: Vec<BrickImage>,
    /// Bound if there is no surface.
    nothing: wgpu::Buffer,
    /// Bytes uploaded so far.
    pub uploaded_bytes: u64,
}

impl Pools {
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            kept: Vec::new(),
            picture: 0,
            exported: Vec::new(),
            nothing: gpu.storage(2 * BrickImage::ALIGNED),
            uploaded_bytes: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.kept.iter().map(|k| k.buffer.size()).sum()
    }

    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Everything drawn so far has been submitted to the device.
    pub fn next_picture(&mut self) {
        self.picture += 1;
        let picture = self.picture;
        self.kept.retain(|k| picture - k.picture <= FORGOTTEN_AFTER);
    }

    /// A kernel's memory that the picture reads is kept until the device has drawn it.
    pub fn keep_until_drawn(&mut self, gpu: &Gpu) {
        let lent = std::mem::take(&mut self.exported);
        if !lent.is_empty() {
            gpu.queue.on_submitted_work_done(move || drop(lent));
        }
    }

    pub fn empty_pool(&self) -> Pool {
        let part = BrickImage::ALIGNED;
        Pool {
            buffer: self.nothing.clone(),
            table: 0..part,
            pages: part..2 * part,
        }
    }

    /// `None` if it exceeds what a shader can read: 128 MiB of pages are 33 million voxels of a band.
    pub fn pool(&mut self, gpu: &Gpu, image: &BrickImage) -> Option<Pool> {
        let table = 0..4 * image.bricks() as u64;
        let (first, bytes) = (image.pages_at(), image.values_bytes());
        let limits = &gpu.limits;
        if bytes > limits.max_storage_buffer_binding_size || first + bytes > limits.max_buffer_size
        {
            return None;
        }
        // Buffers have spare capacity, which shaders may not see in full.
        let pool = |buffer: &wgpu::Buffer| {
            let max_binding = gpu.limits.max_storage_buffer_binding_size;
            let pages = first..buffer.size().min(first.saturating_add(max_binding));
            Pool {
                buffer: buffer.clone(),
                table: table.clone(),
                pages,
            }
        };
        let shared: Option<&SharedBuffer> = image.device_copy().and_then(|c| c.get());
        if let Some(shared) = shared.filter(|s| s.device == gpu.device) {
            self.exported.push(image.clone());
            return Some(pool(&shared.buffer));
        }
        let pages = image.pages()?;
        let place = self.find_buffer(gpu, image, first + bytes);
        let kept = &mut self.kept[place];
        kept.picture = self.picture;
        let before = std::mem::replace(&mut kept.image, image.clone());
        let buffer = &kept.buffer;
        if before.id() == image.id() {
            return Some(pool(buffer));
        }
        let old = before.pages().filter(|_| before.pages_at() == first);
        let parts = [
            (
                0,
                bytemuck::cast_slice::<u32, u8>(&pages.table),
                old.map(|p| bytemuck::cast_slice::<u32, u8>(&p.table)),
                4 * ENTRIES,
            ),
            (
                first,
                bytemuck::cast_slice::<f32, u8>(&pages.values),
                old.map(|p| bytemuck::cast_slice::<f32, u8>(&p.values)),
                4 * image.page(),
            ),
        ];
        for (at, new, old, piece) in parts {
            for run in changed_ranges(old.unwrap_or_default(), new, piece) {
                self.uploaded_bytes += run.len() as u64;
                gpu.queue
                    .write_buffer(buffer, at + run.start as u64, &new[run]);
            }
        }
        Some(pool(buffer))
    }

    /// The buffer of an image of this many bytes, or one to put it in: never one that this picture shows.
    fn find_buffer(&mut self, gpu: &Gpu, image: &BrickImage, bytes: u64) -> usize {
        let same = |k: &KeptBuffer| k.image.id() == image.id();
        if let Some(at) = self.kept.iter().position(same) {
            return at;
        }
        let idle =
            |k: &&(usize, &KeptBuffer)| k.1.picture < self.picture && k.1.buffer.size() >= bytes;
        let kept = self.kept.iter().enumerate().filter(|k| idle(&k));
        if let Some((at, _)) = kept.max_by_key(|(_, k)| k.picture) {
            return at;
        }
        // It has room to grow; smaller buffers are no longer needed.
        self.kept.retain(|k| k.picture == self.picture);
        let max_bytes = gpu.limits.max_buffer_size;
        let bytes_reserved = (bytes + bytes / 2).next_multiple_of(4).min(max_bytes);
        self.kept.push(KeptBuffer {
            image: BrickImage::without_values(image),
            buffer: gpu.storage(bytes_reserved),
            picture: 0,
        });
        self.kept.len() - 1
    }
}

/// The ranges in which pieces differ, with adjacent ones joined.
fn changed_ranges(old: &[u8], new: &[u8], piece: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (i, part) in new.chunks(piece).enumerate() {
        let at = i * piece..i * piece + part.len();
        if old.get(at.clone()) == Some(part) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.end == at.start => last.end = at.end,
            _ => runs.push(at),
        }
    }
    runs
}
