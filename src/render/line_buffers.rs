//! Streamlines on the graphics device: built during a time slice per frame, and shown as they arrive.

use super::gpu::{Gpu, keys_beyond_budget};
use super::line_walk::build;
use super::shared::SharedBuffer;
use crate::compute::parts;
use crate::data::line_blocks::{BLOCK, BLOCK_BYTES, BLOCK_LEN, Frame, Reach, Slot, pack};
use crate::data::line_order::{CHUNK_SLOTS, Detail, Order, Walk, chunk_capacity};
use crate::data::{DataId, DeviceCopy, DrawnChunk, DrawnLines, Shared, Tractogram};
use glam::DVec3;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Replaces values that are not finite.
const MISSING: f32 = -3.4e38;

/// A tractogram, the spacing of the streamlines kept, and the detail of their points.
pub(super) type LineKey = (DataId, usize, Detail);

/// A part of a buffer.
pub(super) struct Part {
    buffer: wgpu::Buffer,
    /// Where it begins, and its size, bytes.
    first: u64,
    bytes: u64,
}

impl Part {
    /// A new buffer of this size.
    fn new(gpu: &Gpu, bytes: u64) -> Self {
        Self {
            buffer: gpu.storage(bytes),
            first: 0,
            bytes,
        }
    }

    fn within(buffer: &wgpu::Buffer, first: u64, bytes: u64) -> Self {
        let buffer = buffer.clone();
        Self {
            buffer,
            first,
            bytes,
        }
    }

    fn write(&self, gpu: &Gpu, at: u64, bytes: &[u8]) {
        gpu.queue.write_buffer(&self.buffer, self.first + at, bytes);
    }

    pub fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: self.first,
            size: std::num::NonZeroU64::new(self.bytes),
        })
    }
}

/// Up to [`CHUNK_SLOTS`].
pub(super) struct Chunk {
    pub slots: Part,
    /// Whole blocks.
    capacity: usize,
    /// Slots written so far.
    pub ready: usize,
    /// Bounds of the segments that start in each block.
    pub blocks: Vec<Reach>,
    /// The slots of the last block, while more are expected.
    last: Vec<Slot>,
}

impl Chunk {
    /// Writes slots after the existing ones.
    fn append(&mut self, gpu: &Gpu, frame: &Frame, batch: &[Slot]) {
        let first = self.ready / BLOCK;
        let points = |slots: &[Slot]| frame.reach_of(slots.iter().flatten().copied());
        // The first point of a block also ends the last segment of the block before.
        if let (true, Some(before)) = (self.last.is_empty(), self.blocks.last_mut()) {
            before.extend(&points(&batch[..1]));
        }
        self.blocks.truncate(first);
        self.last.extend_from_slice(batch);
        let slots = &self.last;
        let block = |i: usize| &slots[i * BLOCK..slots.len().min((i + 1) * BLOCK)];
        let reach = |i: usize| {
            let mut reach = points(block(i));
            if let Some(next) = slots.get((i + 1) * BLOCK) {
                reach.extend(&points(&[*next]));
            }
            reach
        };
        let count = slots.len().div_ceil(BLOCK);
        let mut packed = vec![0; count * BLOCK_LEN];
        let reaches = gpu.threads.install(|| {
            parts::fill(&mut packed, BLOCK_LEN, |i, packed| {
                pack(frame, block(i), packed)
            });
            parts::collected(count, reach)
        });
        self.blocks.extend(reaches);
        let at = first as u64 * BLOCK_BYTES;
        self.slots.write(gpu, at, bytemuck::cast_slice(&packed));
        self.ready += batch.len();
        // Shrinks the capacity to its content.
        self.last = self.last[self.last.len() / BLOCK * BLOCK..].to_vec();
    }
}

/// One value per slot, in chunks that match the slots' chunks.
pub(super) struct Values {
    source: Shared<f32>,
    pub chunks: Vec<Part>,
    ready: Vec<usize>,
    walk: Walk,
}

pub(super) struct LineBuffers {
    order: Order,
    walk: Walk,
    pub chunks: Vec<Chunk>,
    /// Upper bound of the slots of all chunks.
    total_slots: usize,
    pub values: HashMap<String, Values>,
    /// World bounds of all points.
    pub bounds_mm: Option<(DVec3, DVec3)>,
    used: u64,
    /// If a solver wrote the buffers, it does not write them again while this exists.
    _drawn: Option<Arc<DrawnLines>>,
}

impl LineBuffers {
    fn new(tractogram: &Tractogram, every: usize, detail: Detail) -> Self {
        let order = Order::new(tractogram.len(), every, detail);
        let slots = |place: usize| {
            let i = place * order.every;
            (tractogram.offsets[i + 1] - tractogram.offsets[i]) as usize + 1
        };
        Self {
            order,
            walk: Walk::default(),
            chunks: Vec::new(),
            total_slots: (0..order.count).map(slots).sum(),
            values: HashMap::new(),
            bounds_mm: tractogram.bounds(),
            used: 0,
            _drawn: None,
        }
    }

    /// The buffers that a solver wrote on this device, if they hold these points of all streamlines.
    fn written(
        gpu: &Gpu,
        tractogram: &Tractogram,
        (every, detail): (usize, Detail),
    ) -> Option<Self> {
        let drawn = tractogram.drawn.as_ref()?;
        let buffer = |copy: &DeviceCopy| {
            let shared = copy.get::<SharedBuffer>()?;
            (shared.device == gpu.device).then(|| shared.buffer.clone())
        };
        if every > 1 || drawn.drawing.detail != detail {
            return None;
        }
        let blocks = buffer(&drawn.blocks)?;
        let part = |buffer: &wgpu::Buffer, chunk: &DrawnChunk, of_block: u64| {
            let [first, all] = [chunk.first_slot, chunk.capacity].map(|slots| slots / BLOCK);
            Part::within(buffer, first as u64 * of_block, all as u64 * of_block)
        };
        let chunks = drawn.chunks.iter().map(|chunk| Chunk {
            slots: part(&blocks, chunk, BLOCK_BYTES),
            capacity: chunk.capacity,
            ready: chunk.ready,
            blocks: chunk.boxes.clone(),
            last: Vec::new(),
        });
        let order = Order::new(tractogram.len(), 1, detail);
        let mut walk = Walk::default();
        walk.place = order.count;
        let mut lines = Self {
            order,
            walk,
            chunks: chunks.collect(),
            total_slots: drawn.chunks.iter().map(|c| c.capacity).sum(),
            values: HashMap::new(),
            bounds_mm: tractogram.bounds(),
            used: 0,
            _drawn: Some(drawn.clone()),
        };
        let values = drawn.drawing.values.as_ref().zip(drawn.values.as_ref());
        let values = values.and_then(|(name, (source, copy))| Some((name, source, buffer(copy)?)));
        if let Some((name, source, buffer)) = values {
            let chunks = drawn.chunks.iter();
            let of_slots = 4 * BLOCK as u64;
            let values = Values {
                source: source.clone(),
                chunks: chunks.clone().map(|c| part(&buffer, c, of_slots)).collect(),
                ready: chunks.map(|chunk| chunk.ready).collect(),
                walk,
            };
            lines.values.insert(name.clone(), values);
        }
        Some(lines)
    }

    /// The frame by which its slots are rounded.
    pub fn frame(&self) -> Frame {
        Frame::new(self.bounds_mm.unwrap_or_default())
    }

    pub fn complete(&self) -> bool {
        self.walk.place == self.order.count
    }

    /// Slots that can be drawn: with a value each, if values are named.
    pub fn ready(&self, chunk: usize, values: Option<&str>) -> usize {
        let points = self.chunks[chunk].ready;
        match values.and_then(|name| self.values.get(name)) {
            Some(values) => points.min(values.ready.get(chunk).copied().unwrap_or(0)),
            None => points,
        }
    }

    pub fn ready_slots(&self, values: Option<&str>) -> usize {
        (0..self.chunks.len()).map(|c| self.ready(c, values)).sum()
    }

    fn values_complete(&self, name: &str) -> bool {
        let whole = |v: &Values| v.walk.place == self.order.count;
        self.values.get(name).is_some_and(whole)
    }

    fn bytes(&self) -> u64 {
        let slots: usize = self.chunks.iter().map(|c| c.capacity).sum();
        let values = slots as u64 * 4 * self.values.len() as u64;
        (slots / BLOCK) as u64 * BLOCK_BYTES + values
    }

    fn build_points(&mut self, gpu: &Gpu, tractogram: &Tractogram, deadline: Option<Instant>) {
        let frame = self.frame();
        let Self {
            order,
            walk,
            chunks,
            total_slots,
            ..
        } = self;
        build(
            (order, walk, order.count),
            (tractogram, &gpu.threads, deadline),
            chunks,
            |chunks, index| {
                if index == chunks.len() {
                    let before: usize = chunks.iter().map(|c| c.capacity).sum();
                    chunks.push(new_chunk(gpu, total_slots.saturating_sub(before)));
                }
                chunks[index].capacity
            },
            (|_, i| Some(tractogram.points[i].into()), None),
            // Batches of a chunk follow each other.
            |chunks, index, _, batch: &[Slot]| chunks[index].append(gpu, &frame, batch),
        );
    }

    fn build_values(
        &mut self,
        gpu: &Gpu,
        tractogram: &Tractogram,
        name: &str,
        deadline: Option<Instant>,
    ) {
        let per_point = tractogram.per_point.get(name);
        let Some(source) = tractogram.values(name) else {
            return;
        };
        let stale = |v: &Values| !v.source.is_same(source);
        if self.values.get(name).is_none_or(stale) {
            let fresh = Values {
                source: source.clone(),
                chunks: Vec::new(),
                ready: Vec::new(),
                walk: Walk::default(),
            };
            // Values that the streamlines no longer have are not drawn again.
            self.values.retain(|known, _| {
                tractogram.per_point.contains_key(known)
                    || tractogram.per_streamline.contains_key(known)
            });
            self.values.insert(name.to_owned(), fresh);
        }
        let Some(values) = self.values.get_mut(name) else {
            return;
        };
        let safe = |v: f32| if v.is_finite() { v } else { MISSING };
        let points = &self.chunks;
        let Values {
            chunks,
            ready,
            walk,
            ..
        } = values;
        build(
            (&self.order, walk, self.walk.place),
            (tractogram, &gpu.threads, deadline),
            &mut (chunks, ready),
            |_, index| points[index].capacity,
            (
                |streamline, i| match per_point {
                    Some(values) => safe(values[i]),
                    None => safe(source[streamline]),
                },
                0.0,
            ),
            |(chunks, ready), index, slot, batch: &[f32]| {
                while chunks.len() <= index {
                    chunks.push(Part::new(gpu, points[chunks.len()].capacity as u64 * 4));
                    ready.push(0);
                }
                chunks[index].write(gpu, slot as u64 * 4, bytemuck::cast_slice(batch));
                ready[index] = slot + batch.len();
            },
        );
    }
}

fn new_chunk(gpu: &Gpu, slots: usize) -> Chunk {
    let max_bytes = gpu
        .limits
        .max_storage_buffer_binding_size
        .min(gpu.limits.max_buffer_size);
    let max_slots = CHUNK_SLOTS.min((max_bytes / BLOCK_BYTES) as usize * BLOCK);
    let capacity = chunk_capacity(slots, max_slots);
    Chunk {
        slots: Part::new(gpu, (capacity / BLOCK) as u64 * BLOCK_BYTES),
        capacity,
        ready: 0,
        blocks: Vec::new(),
        last: Vec::new(),
    }
}

/// The cache of line buffers.
pub(super) struct LineStore {
    kept: HashMap<LineKey, LineBuffers>,
    clock: u64,
    pub idle_budget_bytes: u64,
}

impl LineStore {
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            kept: HashMap::new(),
            clock: 0,
            // While a seed is dragged, every new tractogram leaves the previous one idle.
            idle_budget_bytes: if gpu.software { 32 << 20 } else { 128 << 20 },
        }
    }

    pub fn bytes(&self) -> u64 {
        self.kept.values().map(LineBuffers::bytes).sum()
    }

    pub fn get(&self, key: LineKey) -> Option<&LineBuffers> {
        self.kept.get(&key)
    }

    /// Continues building until the deadline; afterwards [`LineStore::get`] returns what is ready.
    pub fn advance(
        &mut self,
        gpu: &Gpu,
        tractogram: &Tractogram,
        every: usize,
        values: Option<&str>,
        deadline: Option<Instant>,
    ) -> LineKey {
        // Values per point are colours of points: none may be left out.
        let per_point = values.is_some_and(|name| tractogram.per_point.contains_key(name));
        let detail = if per_point {
            Detail::EveryPoint
        } else {
            Detail::Shape
        };
        let key = (tractogram.id(), every.max(1), detail);
        self.clock += 1;
        let lines = self.kept.entry(key).or_insert_with(|| {
            LineBuffers::written(gpu, tractogram, (every, detail))
                .unwrap_or_else(|| LineBuffers::new(tractogram, every, detail))
        });
        lines.used = self.clock;
        if !lines.complete() {
            lines.build_points(gpu, tractogram, deadline);
        }
        if let Some(name) = values {
            lines.build_values(gpu, tractogram, name, deadline);
        }
        key
    }

    pub fn complete(&self, key: LineKey, values: Option<&str>) -> bool {
        self.kept.get(&key).is_some_and(|lines| {
            lines.complete() && values.is_none_or(|name| lines.values_complete(name))
        })
    }

    pub fn clear(&mut self) {
        self.kept.clear();
    }

    pub fn evict(&mut self, in_use: &HashSet<LineKey>) {
        let idle: Vec<(u64, LineKey, u64)> = self
            .kept
            .iter()
            .filter(|(key, _)| !in_use.contains(key))
            .map(|(key, lines)| (lines.used, *key, lines.bytes()))
            .collect();
        for key in keys_beyond_budget(idle, self.idle_budget_bytes) {
            self.kept.remove(&key);
        }
    }
}
