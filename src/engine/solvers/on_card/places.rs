//! Addresses of values on graphics cards.

use super::LateValues;
use crate::compute::cuda::{CardPart, Device};
use crate::data::Shared;
use crate::data::tractogram::LateParts;
use bytemuck::Pod;
use std::sync::Arc;

/// Where graphics cards have the values of an array: parts of buffers, in the order of the indices.
pub struct Places {
    parts: Vec<PartOnCard>,
    devices: Arc<[Device]>,
    /// While these exist, the buffers stay on the cards.
    _buffers: Arc<[CardPart]>,
}

#[derive(Clone, Copy)]
struct PartOnCard {
    /// Index of the first value.
    first: usize,
    address: u64,
    card: usize,
}

impl Places {
    /// The places of values that cards have, whether or not the host has them, too; `None` if no card has them, or if the
    /// parts belong to different lists of open cards.
    pub fn find<T: Pod + Send + Sync>(values: &Shared<T>) -> Option<Self> {
        let bytes = size_of::<T>() as u64;
        if let Some(late) = values.late_as::<LateValues<T>>() {
            let kept = late.parts()?;
            let devices = kept.first()?.devices.clone();
            let mut parts = Vec::new();
            let mut next = 0;
            for part in kept.iter() {
                if !Arc::ptr_eq(&part.devices, &devices) {
                    return None;
                }
                let address = part.device().address(&part.buffer);
                parts.push(PartOnCard {
                    first: next,
                    address: address + 4 * part.numbers.start as u64,
                    card: part.card,
                });
                next += part.numbers.len() * 4 / size_of::<T>();
            }
            return Some(Self {
                parts,
                devices,
                _buffers: kept,
            });
        }
        let some = values.late_as::<LateParts<T>>()?;
        let all = Self::find(&some.whole)?;
        let mut parts = Vec::new();
        let mut next = 0;
        for run in some.runs.iter() {
            let mut from = run.start;
            while from < run.end {
                let part = all.part(from);
                let PartOnCard {
                    first,
                    address,
                    card,
                } = all.parts[part];
                let end = all.parts.get(part + 1);
                let end = end.map_or(run.end, |p| p.first.min(run.end));
                parts.push(PartOnCard {
                    first: next,
                    address: address + bytes * (from - first) as u64,
                    card,
                });
                next += end - from;
                from = end;
            }
        }
        (!parts.is_empty()).then_some(Self { parts, ..all })
    }

    /// The part that contains the value with this index.
    fn part(&self, index: usize) -> usize {
        self.parts.partition_point(|place| place.first <= index) - 1
    }

    /// The card that has a value, and the address of the value there; a value has `bytes` bytes.
    pub fn place(&self, index: usize, bytes: u64) -> (usize, u64) {
        let PartOnCard {
            first,
            address,
            card,
        } = self.parts[self.part(index)];
        (card, address + bytes * (index - first) as u64)
    }

    /// The card that has the first value.
    pub fn first_card(&self) -> usize {
        self.parts.first().map_or(0, |place| place.card)
    }

    /// The card that has all values; `None` if several have them.
    pub fn only_card(&self) -> Option<usize> {
        let card = self.parts.first()?.card;
        self.parts.iter().all(|p| p.card == card).then_some(card)
    }

    /// The open cards.
    pub fn devices(&self) -> &Arc<[Device]> {
        &self.devices
    }
}
