//! Streamlines on the graphics device: built a slice of time per frame, shown as they come.

use super::gpu::{Gpu, beyond};
use super::line_walk::{Detail, Order, SHORTEST_PIECE, Walk, build};
use crate::data::{DataId, Tractogram};
use glam::{DVec3, Vec3};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// A point: position and packed tangent.
const SLOT_BYTES: u64 = 16;
/// One draw each; more in one buffer would only leave more of the last one empty.
const CHUNK_BYTES: u64 = 16 << 20;
const GAP: u32 = 1 << 30;
/// Stands for values that are not finite.
const MISSING: f32 = -3.4e38;

/// Slots whose common bounds are kept, so that slices look only at what is near them.
pub(super) const BLOCK: usize = 32;

/// A tractogram of which every so many streamlines are kept, with so many of their points.
pub(super) type LineKey = (DataId, usize, Detail);

/// Up to [`CHUNK_BYTES`] of slots.
pub(super) struct Chunk {
    pub slots: wgpu::Buffer,
    capacity: usize,
    /// Slots written so far.
    pub ready: usize,
    /// Bounds of the segments that start in each block of [`BLOCK`] slots.
    pub blocks: Vec<(Vec3, Vec3)>,
}

impl Chunk {
    /// Notes the bounds of slots that were just written, the first at `start`.
    fn extend_blocks(&mut self, start: usize, batch: &[[u32; 4]]) {
        const EMPTY: (Vec3, Vec3) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let needed = (start + batch.len()).div_ceil(BLOCK);
        self.blocks.resize(needed.max(self.blocks.len()), EMPTY);
        for (slot, [x, y, z, packed]) in (start..).zip(batch) {
            if *packed == GAP {
                continue;
            }
            let point = Vec3::new(f32::from_bits(*x), f32::from_bits(*y), f32::from_bits(*z));
            let block = slot / BLOCK;
            // The first point of a block also ends the last segment of the block before.
            let first = block - usize::from(slot % BLOCK == 0 && block > 0);
            for (low, high) in &mut self.blocks[first..=block] {
                *low = low.min(point);
                *high = high.max(point);
            }
        }
    }
}

/// One value per slot, in chunks that match the slots' chunks.
pub(super) struct Values {
    source: Arc<[f32]>,
    pub chunks: Vec<wgpu::Buffer>,
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
    /// World bounds of the points written so far.
    pub bounds: Option<(Vec3, Vec3)>,
    used: u64,
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
            bounds: None,
            used: 0,
        }
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
        let slots = |c: &Chunk| c.capacity as u64 * SLOT_BYTES;
        let points: u64 = self.chunks.iter().map(slots).sum();
        points + points / 4 * self.values.len() as u64
    }

    fn build_points(&mut self, gpu: &Gpu, tractogram: &Tractogram, deadline: Option<Instant>) {
        let Self {
            order,
            walk,
            chunks,
            total_slots,
            bounds,
            ..
        } = self;
        build(
            (order, walk, order.count),
            tractogram,
            deadline,
            chunks,
            |chunks, index| {
                if index == chunks.len() {
                    let before: usize = chunks.iter().map(|c| c.capacity).sum();
                    chunks.push(new_chunk(gpu, total_slots.saturating_sub(before)));
                }
                chunks[index].capacity
            },
            |_, piece, batch| pack(&tractogram.points, piece, batch, bounds),
            |chunks, index, slot, batch: &[[u32; 4]]| {
                let chunk = &mut chunks[index];
                let bytes = bytemuck::cast_slice(batch);
                gpu.queue
                    .write_buffer(&chunk.slots, slot as u64 * SLOT_BYTES, bytes);
                chunk.extend_blocks(slot, batch);
                chunk.ready = slot + batch.len();
            },
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
        let Some(source) = per_point.or(tractogram.per_streamline.get(name)) else {
            return;
        };
        let stale = |v: &Values| !Arc::ptr_eq(&v.source, source);
        if self.values.get(name).is_none_or(stale) {
            let fresh = Values {
                source: source.clone(),
                chunks: Vec::new(),
                ready: Vec::new(),
                walk: Walk::default(),
            };
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
            tractogram,
            deadline,
            &mut (chunks, ready),
            |_, index| points[index].capacity,
            |streamline, (_, kept), batch: &mut Vec<f32>| {
                match per_point {
                    Some(values) => batch.extend(kept.iter().map(|&i| safe(values[i]))),
                    None => batch.extend(kept.iter().map(|_| safe(source[streamline]))),
                }
                batch.push(0.0);
            },
            |(chunks, ready), index, slot, batch: &[f32]| {
                while chunks.len() <= index {
                    chunks.push(gpu.storage(points[chunks.len()].capacity as u64 * 4));
                    ready.push(0);
                }
                let bytes = bytemuck::cast_slice(batch);
                gpu.queue
                    .write_buffer(&chunks[index], slot as u64 * 4, bytes);
                ready[index] = slot + batch.len();
            },
        );
    }
}

fn new_chunk(gpu: &Gpu, slots: usize) -> Chunk {
    let most = CHUNK_BYTES
        .min(gpu.limits.max_storage_buffer_binding_size)
        .min(gpu.limits.max_buffer_size);
    // Cuts add a point and a gap each; a chunk too many costs less than a chunk too small.
    let capacity = (slots + 2 * SHORTEST_PIECE).min((most / SLOT_BYTES) as usize);
    Chunk {
        slots: gpu.storage(capacity as u64 * SLOT_BYTES),
        capacity,
        ready: 0,
        blocks: Vec::new(),
    }
}

/// Appends the points of a piece and the gap after it. Tangents come from all points, also those
/// that are left out.
fn pack(
    points: &[[f32; 3]],
    (run, kept): (&Range<usize>, &[usize]),
    batch: &mut Vec<[u32; 4]>,
    bounds: &mut Option<(Vec3, Vec3)>,
) {
    let (mut low, mut high) = bounds.unwrap_or((Vec3::INFINITY, Vec3::NEG_INFINITY));
    for &i in kept {
        let before = Vec3::from(points[i.max(run.start + 1) - 1]);
        let after = Vec3::from(points[(i + 1).min(run.end - 1)]);
        let [x, y, z] = points[i];
        let here = Vec3::new(x, y, z);
        low = low.min(here);
        high = high.max(here);
        batch.push([
            x.to_bits(),
            y.to_bits(),
            z.to_bits(),
            octahedral(after - before),
        ]);
    }
    *bounds = Some((low, high));
    batch.push([0, 0, 0, GAP]);
}

/// A direction in 2 × 15 bits (Cigolle et al. 2014); +z for the zero vector.
fn octahedral(v: Vec3) -> u32 {
    let sum = v.abs().element_sum();
    if !(sum > 0.0) {
        return 16383 | 16383 << 15;
    }
    let p = v / sum;
    let (mut x, mut y) = (p.x, p.y);
    if p.z < 0.0 {
        (x, y) = (
            (1.0 - p.y.abs()).copysign(p.x),
            (1.0 - p.x.abs()).copysign(p.y),
        );
    }
    let quantise = |c: f32| ((c + 1.0) * 16383.0 + 0.5) as u32;
    quantise(x) | quantise(y) << 15
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
            // While a seed is dragged every new tractogram leaves the one before idle.
            idle_budget_bytes: if gpu.software { 32 << 20 } else { 128 << 20 },
        }
    }

    pub fn bytes(&self) -> u64 {
        self.kept.values().map(LineBuffers::bytes).sum()
    }

    pub fn get(&self, key: LineKey) -> Option<&LineBuffers> {
        self.kept.get(&key)
    }

    /// Goes on building until the deadline; afterwards [`LineStore::get`] has what is ready.
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
        let lines = self
            .kept
            .entry(key)
            .or_insert_with(|| LineBuffers::new(tractogram, every, detail));
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

    pub fn evict(&mut self, in_use: &HashSet<LineKey>) {
        let idle: Vec<(u64, LineKey, u64)> = self
            .kept
            .iter()
            .filter(|(key, _)| !in_use.contains(key))
            .map(|(key, lines)| (lines.used, *key, lines.bytes()))
            .collect();
        for key in beyond(idle, self.idle_budget_bytes) {
            self.kept.remove(&key);
        }
    }
}

impl LineBuffers {
    /// World bounds in f64, for depth cues.
    pub fn bounds_mm(&self) -> Option<(DVec3, DVec3)> {
        self.bounds
            .map(|(low, high)| (low.as_dvec3(), high.as_dvec3()))
    }
}
