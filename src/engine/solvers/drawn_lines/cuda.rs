//! Streamlines whose points are on a card, measured there and written as the renderer draws them: neither needs the
//! points on the host.

#![allow(unsafe_code, reason = "kernel launches")]

use crate::compute::cuda::Device;
use crate::compute::{Backend, kernel_struct, kernels, memory, parts};
use crate::data::drawn_lines::next_chunk;
use crate::data::line_blocks::{BLOCK, BLOCK_BYTES, BLOCK_LEN, Frame, Reach};
use crate::data::line_order::{CHUNK_SLOTS, Detail, Order, Piece, Walk, chunk_capacity};
use crate::data::{DrawnChunk, DrawnLines, ImageExporter, LineDrawing, Shared, Tractogram};
use crate::solvers::Error;
use crate::solvers::on_card::{DrawnBuffers, KernelLine, Places, few_threads_each, line_at};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};
use glam::{DVec3, Vec3};
use std::sync::Arc;

const OPERATION: &str = "preparing streamlines for drawing";
const LOWER: &str = "draw fewer streamlines";

/// `Facts` in kernels/drawn_lines.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelFacts {
    low: [f32; 3],
    high: [f32; 3],
    length_mm: f32,
    drawn: u32,
}
kernel_struct!(KernelFacts as "Facts in kernels/drawn_lines.cu", 32 { low: 0, high: 12, length_mm: 24, drawn: 28 });
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelFacts {}

/// `Piece` in kernels/drawn_lines.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelPiece {
    points: u64,
    values: u64,
    count: u32,
    first: u32,
    drawn: u32,
    slot: u32,
    value: f32,
    unused: u32,
}
kernel_struct!(KernelPiece as "Piece in kernels/drawn_lines.cu", 40 {
    points: 0, values: 8, count: 16, first: 20, drawn: 24, slot: 28, value: 32, unused: 36,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelPiece {}

/// `Frame` in kernels/drawn_lines.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelFrame {
    low: [f64; 3],
    step: [f64; 3],
    step_mm: f32,
    unused: u32,
}
kernel_struct!(KernelFrame as "Frame in kernels/drawn_lines.cu", 56 { low: 0, step: 24, step_mm: 48, unused: 52 });
// SAFETY: as above.
unsafe impl DeviceRepr for KernelFrame {}

/// Streamlines whose points are on one card.
pub struct LinesOnCard<'a> {
    tractogram: &'a Tractogram,
    points: Places,
    card: usize,
}

/// Bounds and lengths of streamlines, known without their points.
pub struct LineFacts {
    /// World mm; `None` without points.
    pub bounds_mm: Option<(DVec3, DVec3)>,
    /// Length of each.
    pub lengths_mm: Vec<f32>,
}

impl<'a> LinesOnCard<'a> {
    /// `None` if no card has the points, or if several cards have them.
    pub fn new(tractogram: &'a Tractogram) -> Option<Self> {
        let points = Places::find(&tractogram.points)?;
        let card = points.only_card()?;
        Some(Self {
            tractogram,
            points,
            card,
        })
    }

    fn device(&self) -> &Device {
        &self.points.devices()[self.card]
    }

    /// A streamline's points on the card; none of an empty one.
    fn line(&self, index: usize) -> KernelLine {
        line_at(self.tractogram, &self.points, index).1
    }

    /// Facts about streamlines in this order.
    fn examine(&self, order: &Order) -> Result<Vec<KernelFacts>, Error> {
        let device = self.device();
        let lines: Vec<KernelLine> =
            parts::collected(order.count, |place| self.line(order.streamline(place)));
        let count = lines.len() as u32;
        if count == 0 {
            return Ok(Vec::new());
        }
        let list = device.upload(&lines)?;
        let every_point = u32::from(order.detail == Detail::EveryPoint);
        let mut facts = device.alloc_zeros::<KernelFacts>(lines.len())?;
        let kernel = device.kernel(kernels::DRAWN_LINES, "drawn_lines_examine")?;
        // SAFETY: one thread for each of `count` lines, surplus threads return; each line's points lie in a buffer that
        // `self.points` keeps.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&kernel)
                .arg(&list)
                .arg(&count)
                .arg(&every_point)
                .arg(&mut facts)
                .launch(few_threads_each(count))
        };
        device.check(OPERATION, launched)?;
        Ok(device.download(&facts, 0..lines.len())?)
    }

    /// Bounds and lengths, equal to those that the host would compute; `None` if a point is not finite.
    pub fn facts(&self) -> Result<Option<LineFacts>, Error> {
        // The first streamline is examined first.
        let order = Order::new(self.tractogram.len(), 1, Detail::EveryPoint);
        let facts = self.examine(&order)?;
        let mut lengths_mm = vec![0.0; facts.len()];
        for (place, known) in facts.iter().enumerate() {
            lengths_mm[order.streamline(place)] = known.length_mm;
        }
        let is_finite = facts.iter().all(|known| !known.length_mm.is_nan());
        Ok(is_finite.then(|| LineFacts {
            bounds_mm: bounds(&facts),
            lengths_mm,
        }))
    }

    /// The streamlines as they are drawn, in buffers of this card; `None` if a point is not finite, if the values are
    /// not known here, or if the card lacks the memory.
    pub fn packed(&self, drawing: &LineDrawing) -> Result<Option<PackedLines>, Error> {
        let order = Order::new(self.tractogram.len(), 1, drawing.detail);
        let facts = self.examine(&order)?;
        let values = drawing.values.as_deref().map(|name| self.values(name));
        let values = match values {
            None => None,
            Some(Some(values)) => Some(values),
            Some(None) => return Ok(None),
        };
        if facts.iter().any(|known| known.length_mm.is_nan()) {
            return Ok(None);
        }
        let placed = self.place(&order, &facts, values.as_ref());
        let frame = Frame::new(bounds(&facts).unwrap_or_default());
        self.write(drawing, placed, &frame, values.as_ref())
    }

    /// The values of this name, if they are on the same card or belong to streamlines.
    fn values(&self, name: &str) -> Option<LineValues<'a>> {
        if let Some(values) = self.tractogram.per_point.get(name) {
            let places = Places::find(values)?;
            // Numbers of cards can be compared within one list of open cards only.
            let is_here = Arc::ptr_eq(places.devices(), self.points.devices())
                && places.only_card() == Some(self.card);
            return is_here.then_some(LineValues::PerPoint(places));
        }
        let values = self.tractogram.per_streamline.get(name)?;
        Some(LineValues::PerStreamline(values))
    }

    /// The pieces of all streamlines in chunks, as the renderer would place them.
    fn place(
        &self,
        order: &Order,
        facts: &[KernelFacts],
        values: Option<&LineValues<'_>>,
    ) -> (Vec<KernelPiece>, Vec<DrawnChunk>) {
        let offsets = &self.tractogram.offsets;
        let all = self.tractogram.points.len() + order.count;
        let mut walk = Walk::default();
        let (mut placed, mut chunks) = (Vec::new(), Vec::<DrawnChunk>::new());
        for (place, known) in facts.iter().enumerate() {
            let capacity = |index: usize| {
                if index == chunks.len() {
                    let before: usize = chunks.iter().map(|c| c.capacity).sum();
                    let next = |last: &DrawnChunk| next_chunk(last.first_slot, last.capacity);
                    chunks.push(DrawnChunk {
                        capacity: chunk_capacity(all.saturating_sub(before), CHUNK_SLOTS),
                        ready: 0,
                        first_slot: chunks.last().map_or(0, next),
                        boxes: Vec::new(),
                    });
                }
                chunks[index].capacity
            };
            let piece = |piece| placed.push((place, piece));
            walk.assign(known.drawn as usize, capacity, piece);
        }
        // Pieces of a chunk follow each other.
        for (
            _,
            Piece {
                points,
                chunk,
                slot,
            },
        ) in &placed
        {
            chunks[*chunk].ready = slot + points.len() + 1;
        }
        let piece = |i: usize| {
            let (
                place,
                Piece {
                    points,
                    chunk,
                    slot,
                },
            ) = &placed[i];
            let streamline = order.streamline(*place);
            let line = self.line(streamline);
            let (address, value) = match values {
                None => (0, 0.0),
                Some(LineValues::PerPoint(places)) => {
                    (places.place(offsets[streamline] as usize, 4).1, 0.0)
                }
                Some(LineValues::PerStreamline(values)) => (0, values[streamline]),
            };
            KernelPiece {
                points: line.points(),
                values: address,
                count: line.count(),
                first: points.start as u32,
                drawn: points.len() as u32,
                slot: (chunks[*chunk].first_slot + slot) as u32,
                value,
                unused: 0,
            }
        };
        (parts::collected(placed.len(), piece), chunks)
    }

    fn write(
        &self,
        drawing: &LineDrawing,
        (pieces, mut chunks): (Vec<KernelPiece>, Vec<DrawnChunk>),
        frame: &Frame,
        values: Option<&LineValues<'_>>,
    ) -> Result<Option<PackedLines>, Error> {
        let device = self.device();
        let slots = chunks
            .last()
            .map_or(0, |c| next_chunk(c.first_slot, c.capacity));
        // Points, values if there are any, the list of the pieces, and the blocks with their boxes.
        let each = if values.is_some() { 12 + 4 } else { 12 };
        let list = size_of_val(&pieces[..]) as u64;
        let bytes = slots as u64 * each + list + (slots / BLOCK) as u64 * (BLOCK_BYTES + 6);
        // Slots are numbered with 32 bits.
        if u32::try_from(slots).is_err() || device.needs(bytes, OPERATION, LOWER).is_err() {
            return Ok(None);
        }
        memory::claim(OPERATION, (slots / BLOCK) as u64 * 6)?;
        let blocks = slots / BLOCK;
        let mut drawn = PackedLines {
            drawing: drawing.clone(),
            chunks: Vec::new(),
            blocks: device.alloc_zeros::<u32>((blocks * BLOCK_LEN).max(1))?,
            values: match values {
                None => None,
                Some(_) => Some(device.alloc_zeros::<f32>(slots.max(1))?),
            },
            devices: self.points.devices().clone(),
            card: self.card,
        };
        if pieces.is_empty() {
            return Ok(Some(drawn));
        }
        let points = device.alloc_zeros::<f32>(3 * slots)?;
        let mut no_values = device.alloc_zeros::<f32>(1)?;
        let (has_values, buffer) = match &mut drawn.values {
            Some(values) => (1u32, values),
            None => (0, &mut no_values),
        };
        let list = device.upload(&pieces)?;
        let count = pieces.len() as u32;
        let every_point = u32::from(drawing.detail == Detail::EveryPoint);
        let place = device.kernel(kernels::DRAWN_LINES, "drawn_lines_place")?;
        // SAFETY: one thread for each of `count` pieces, surplus threads return; their points and values lie in buffers
        // that are kept, and their slots, which no two share, in `points` and, if there are values, in `buffer`.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&place)
                .arg(&list)
                .arg(&count)
                .arg(&every_point)
                .arg(&has_values)
                .arg(&points)
                .arg(buffer)
                .launch(few_threads_each(count))
        };
        device.check(OPERATION, launched)?;
        let boxes = device.alloc_zeros::<u8>(blocks * 6)?;
        let frame = KernelFrame {
            low: frame.low.to_array(),
            step: frame.step.to_array(),
            step_mm: frame.step_mm,
            unused: 0,
        };
        let pack = device.kernel(kernels::DRAWN_LINES, "drawn_lines_pack")?;
        for chunk in &chunks {
            let first = chunk.first_slot;
            let block = first / BLOCK;
            let own_points = points.slice(3 * first..);
            let own_blocks = drawn.blocks.slice(block * BLOCK_LEN..);
            let own_boxes = boxes.slice(block * 6..);
            let ready = chunk.ready as u32;
            let warps = 32 * ready.div_ceil(BLOCK as u32);
            // SAFETY: one warp for each block of the chunk's slots, surplus warps return; the buffers have room for all
            // blocks of all chunks.
            let launched = unsafe {
                device
                    .stream()
                    .launch_builder(&pack)
                    .arg(&frame)
                    .arg(&own_points)
                    .arg(&ready)
                    .arg(&own_blocks)
                    .arg(&own_boxes)
                    .launch(few_threads_each(warps))
            };
            device.check(OPERATION, launched)?;
        }
        let boxes: Vec<u8> = device.download(&boxes, 0..blocks * 6)?;
        let boxes: &[Reach] = bytemuck::cast_slice(&boxes);
        for chunk in &mut chunks {
            let first = chunk.first_slot / BLOCK;
            chunk.boxes = boxes[first..first + chunk.ready.div_ceil(BLOCK)].to_vec();
        }
        drawn.chunks = chunks;
        Ok(Some(drawn))
    }
}

/// Values that colour streamlines.
enum LineValues<'a> {
    PerPoint(Places),
    PerStreamline(&'a [f32]),
}

fn bounds(facts: &[KernelFacts]) -> Option<(DVec3, DVec3)> {
    let ends = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (low, high) = facts.iter().fold(ends, |(low, high), known| {
        match known.low[0] <= known.high[0] {
            true => (low.min(known.low.into()), high.max(known.high.into())),
            false => (low, high),
        }
    });
    (low.x <= high.x).then(|| (low.as_dvec3(), high.as_dvec3()))
}

/// Streamlines in buffers of a card, as they are drawn.
pub struct PackedLines {
    drawing: LineDrawing,
    /// The parts, in order.
    pub chunks: Vec<DrawnChunk>,
    blocks: CudaSlice<u32>,
    values: Option<CudaSlice<f32>>,
    devices: Arc<[Device]>,
    card: usize,
}

impl PackedLines {
    /// The blocks and the values, copied to the host.
    pub fn on_host(&self) -> Result<(Vec<u32>, Option<Vec<f32>>), Error> {
        let device = &self.devices[self.card];
        let blocks = device.download(&self.blocks, 0..self.blocks.len())?;
        let values = self.values.as_ref();
        let values = values.map(|values| device.download(values, 0..values.len()));
        Ok((blocks, values.transpose()?))
    }

    /// Copies them to memory of the renderer; `None` if another card draws, or if memory cannot be shared.
    fn shared(
        self,
        source: Option<&Shared<f32>>,
        buffers: &mut DrawnBuffers,
        exporter: &ImageExporter,
    ) -> Result<Option<DrawnLines>, Error> {
        let device = &self.devices[self.card];
        if device.uuid() != Ok(exporter.card) {
            return Ok(None);
        }
        let stream = device.stream();
        let bytes = 4 * self.blocks.len() as u64;
        let Some((to, copy)) = buffers.free_buffer(bytes, exporter, device) else {
            return Ok(None);
        };
        device.copy_shared(&self.blocks, 0..self.blocks.len(), to, 0, stream)?;
        let blocks = copy.clone();
        let values = match self.values.as_ref().zip(source) {
            None => None,
            Some((values, source)) => {
                let bytes = 4 * values.len() as u64;
                let Some((to, copy)) = buffers.free_buffer(bytes, exporter, device) else {
                    return Ok(None);
                };
                device.copy_shared(values, 0..values.len(), to, 0, stream)?;
                Some((source.clone(), copy.clone()))
            }
        };
        device.synchronize(OPERATION)?;
        Ok(Some(DrawnLines {
            drawing: self.drawing,
            chunks: self.chunks,
            blocks,
            values,
        }))
    }
}

/// Writes streamlines into the renderer's memory, if their points and the renderer are on one card; else the
/// streamlines are unchanged, and the renderer reads them on the host.
pub fn drawn(
    tractogram: Tractogram,
    drawing: &LineDrawing,
    (buffers, exporter): (&mut DrawnBuffers, &ImageExporter),
    backend: &Backend,
) -> Result<Tractogram, Error> {
    let packed = match LinesOnCard::new(&tractogram) {
        Some(lines) if !tractogram.is_empty() => backend.install(|| lines.packed(drawing))?,
        _ => None,
    };
    let drawn = match packed {
        Some(packed) => {
            let name = drawing.values.as_deref();
            let source = name.and_then(|name| tractogram.values(name));
            packed.shared(source, buffers, exporter)?
        }
        None => None,
    };
    let mut tractogram = tractogram;
    tractogram.drawn = drawn.map(Arc::new);
    Ok(tractogram)
}
