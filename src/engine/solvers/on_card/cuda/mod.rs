//! Curves whose points are on cards, as kernels read them.

#![allow(unsafe_code, reason = "a struct that kernels read")]

use super::{LateValues, Places};
use crate::compute::cuda::{CardPart, Device, Error};
use crate::compute::{Backend, kernel_struct, parts};
use crate::data::{Shared, Tractogram};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{DeviceRepr, LaunchConfig};
use std::ops::Range;

/// A curve's points on a card: the address of the first, and their number.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct KernelLine {
    points: u64,
    count: u32,
    unused: u32,
}
kernel_struct!(KernelLine as "Line in kernels/lines.cuh", 16 { points: 0, count: 8, unused: 12 });
// SAFETY: plain numbers, as the kernels declare them.
unsafe impl DeviceRepr for KernelLine {}

impl KernelLine {
    /// The address of its points; 0 for an empty curve.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// The number of its points.
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// Curves of a tractogram whose points are on cards.
pub struct CurvesOnCards<'a> {
    tractogram: &'a Tractogram,
    points: Places,
}

/// The curves that one card has.
pub struct CurvesOfCard {
    /// Index of the card among the devices.
    pub card: usize,
    /// Indices of the curves in the tractogram, ascending.
    pub indices: Vec<u32>,
    /// Their points, as kernels read them.
    pub lines: Vec<KernelLine>,
}

impl CurvesOfCard {
    /// Bytes on the card for the lists of a batch of them: the curves as kernels read them, and `each` bytes of results
    /// for each.
    pub fn list_bytes(&self, each: usize) -> u64 {
        let count = self.lines.len().min(LINES_PER_BATCH);
        (count * (size_of::<KernelLine>() + each)) as u64
    }
}

impl<'a> CurvesOnCards<'a> {
    /// `None` if no card of the backend has the points, or if 32 bits cannot number the curves.
    pub fn new(tractogram: &'a Tractogram, backend: &Backend) -> Option<Self> {
        let is_numbered = u32::try_from(tractogram.len()).is_ok();
        let points = Places::find(&tractogram.points).filter(|_| is_numbered)?;
        // Solvers run where the user chose, wherever the points are.
        let chosen: Vec<usize> = backend.devices().iter().map(Device::number).collect();
        let cards = points.devices().iter().map(Device::number);
        let is_chosen = !chosen.is_empty() && cards.eq(chosen);
        is_chosen.then_some(Self { tractogram, points })
    }

    /// Where the points are.
    pub fn points(&self) -> &Places {
        &self.points
    }

    /// All curves, by card.
    pub fn by_card(&self, backend: &Backend) -> Vec<CurvesOfCard> {
        let line = |index: usize| line_at(self.tractogram, &self.points, index);
        let count = self.tractogram.len();
        if let Some(card) = self.points.only_card() {
            let lines = backend.install(|| parts::collected(count, |index| line(index).1));
            let indices = (0..count as u32).collect();
            return vec![CurvesOfCard {
                card,
                indices,
                lines,
            }];
        }
        let mut cards: Vec<CurvesOfCard> = Vec::new();
        for (index, (card, line)) in (0..count).map(line).enumerate() {
            let known = cards.iter().position(|own| own.card == card);
            let known = known.unwrap_or_else(|| {
                cards.push(CurvesOfCard {
                    card,
                    indices: Vec::new(),
                    lines: Vec::new(),
                });
                cards.len() - 1
            });
            cards[known].indices.push(index as u32);
            cards[known].lines.push(line);
        }
        cards
    }

    /// The results of `work` on each card that has curves, all at the same time.
    pub fn on_each_card<R: Send, E: Send>(
        &self,
        cards: &[CurvesOfCard],
        work: impl Fn(&Device, &CurvesOfCard) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let devices = self.points.devices();
        let results = Backend::on_own_threads(cards.len(), |i| {
            let own = &cards[i];
            work(&devices[own.card], own)
        });
        results.into_iter().collect()
    }
}

/// The card that has a curve, and the curve's points there. An empty curve counts as one of the first card.
pub fn line_at(tractogram: &Tractogram, points: &Places, index: usize) -> (usize, KernelLine) {
    let offsets = &tractogram.offsets;
    let (first, end) = (offsets[index] as usize, offsets[index + 1] as usize);
    let (card, address) = match first < end {
        true => points.place(first, size_of::<[f32; 3]>() as u64),
        false => (points.first_card(), 0),
    };
    let line = KernelLine {
        points: address,
        count: (end - first) as u32,
        unused: 0,
    };
    (card, line)
}

/// The launch of one thread for each curve, in small blocks, because curves differ in length.
pub fn few_threads_each(count: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count.div_ceil(128), 1, 1),
        block_dim: (128, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// Curves that a kernel reads between two checks for cancellation.
pub const LINES_PER_BATCH: usize = 1 << 20;

/// Ranges of at most `size` of `count` curves: between two of them, a job can be cancelled.
pub fn batches(count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..count).step_by(size.max(1));
    starts.map(move |start| start..count.min(start + size.max(1)))
}

/// Copies curves to the backend's cards as if a solver had left them there, for tests and measurements: only the cards
/// have the points and the values per point, in parts of `size` curves, which go to the cards in turn. Groups, grid and
/// timestamp are left out.
pub fn on_cards_alone(
    tractogram: &Tractogram,
    size: usize,
    backend: &Backend,
) -> Result<Tractogram, Error> {
    let devices = backend.shared_devices();
    let part = |numbers: &[f32], card: usize| -> Result<CardPart, Error> {
        let buffer = devices[card].upload(numbers)?;
        Ok(CardPart::whole(&devices, card, buffer))
    };
    let ranges = batches(tractogram.len(), size).enumerate();
    let ranges: Vec<(usize, Range<usize>)> = ranges
        .filter(|_| !devices.is_empty())
        .map(|(i, lines)| {
            let [first, end] = [lines.start, lines.end].map(|i| tractogram.offsets[i] as usize);
            (i % devices.len(), first..end)
        })
        .collect();
    let points = ranges.iter().map(|(card, points)| {
        let points = &tractogram.points[points.clone()];
        part(points.as_flattened(), *card)
    });
    let points: Vec<CardPart> = points.collect::<Result<_, _>>()?;
    let points = Shared::late(LateValues::staying(points));
    let mut moved = Tractogram::new(points, tractogram.offsets.clone());
    for (name, values) in &tractogram.per_point {
        let own = ranges.iter();
        let own = own.map(|(card, points)| part(&values[points.clone()], *card));
        let own: Vec<CardPart> = own.collect::<Result<_, _>>()?;
        moved = moved.with_per_point(name, Shared::late(LateValues::staying(own)));
    }
    for (name, values) in &tractogram.per_streamline {
        moved = moved.with_per_streamline(name, values.clone());
    }
    Ok(moved)
}
