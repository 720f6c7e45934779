//! Values on graphics cards that the host copies when it needs them.

use crate::support::{cuda_test, test};
use arcuate::compute::Backend;
use arcuate::compute::cuda::CardPart;
use arcuate::data::Shared;
use arcuate::solvers::on_card::{CurvesOfCard, KernelLine, LINES_PER_BATCH, LateValues, Places};
use bytemuck::Zeroable as _;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("on card::no parts are no values", none),
        test("on card::the memory of the lists of a batch", lists),
        cuda_test("on card::parts are copied once, in their order", parts),
        cuda_test("on card::the card keeps values that others read", staying),
    ]
}

fn none() {
    let values = Shared::<f32>::late(LateValues::new(Vec::new()));
    assert!(values.is_empty() && values[..].is_empty() && values.is_on_host());
}

/// The claim for lists of curves equals the size of one batch of them, the most that a card has at a time.
fn lists() {
    let claimed = |count: usize, each: usize| {
        let own = CurvesOfCard {
            card: 0,
            indices: (0..count as u32).collect(),
            lines: vec![KernelLine::zeroed(); count],
        };
        let batch = &own.lines[..count.min(LINES_PER_BATCH)];
        assert_eq!(own.list_bytes(0), size_of_val(batch) as u64);
        own.list_bytes(each)
    };
    assert_eq!(claimed(0, 24), 0);
    assert_eq!(claimed(1000, 5), 1000 * (16 + 5));
    let batch = LINES_PER_BATCH as u64 * (16 + 24);
    assert_eq!(claimed(LINES_PER_BATCH + 7, 24), batch);
}

/// Parts of buffers on all cards in turn, the last of them larger than a thread copies at a time.
fn parts(backend: Backend) {
    let devices = backend.shared_devices();
    let sizes = [6, 0, 3 << 19, 9, 3 << 20];
    let mut expected = Vec::new();
    let mut parts = Vec::new();
    for (i, size) in sizes.into_iter().enumerate() {
        let numbers: Vec<f32> = (0..size + 6).map(|k| (k * 7 + i) as f32).collect();
        let card = i % devices.len();
        let buffer = Arc::new(devices[card].upload(&numbers).unwrap());
        let mut part = CardPart {
            devices: devices.clone(),
            card,
            buffer,
            numbers: 3..size + 3,
        };
        expected.extend_from_slice(&numbers[3..size + 3]);
        // Clones share the buffer.
        part = part.clone();
        parts.push(part);
    }
    let late = || Shared::<[f32; 3]>::late(LateValues::new(parts.clone()));
    let values = late();
    assert_eq!(values.len(), expected.len() / 3);
    assert!(!values.is_on_host());
    backend.install(|| values.on_host()).unwrap();
    assert!(values.is_on_host());
    assert_eq!(values[..].as_flattened(), expected);
    let known = values.late_as::<LateValues<[f32; 3]>>().unwrap();
    assert!(known.parts().is_none());
    // Without the call before, the first access copies.
    assert_eq!(backend.install(|| late()[..].to_vec()), values[..]);
}

/// After the host has copied the values, the card still has its own, which are dropped with the values.
fn staying(backend: Backend) {
    let numbers: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let devices = backend.shared_devices();
    let part = CardPart::whole(&devices, 0, devices[0].upload(&numbers).unwrap());
    let buffer = Arc::downgrade(&part.buffer);
    let values = Shared::<[f32; 3]>::late(LateValues::staying(vec![part]));
    let places = |values: &Shared<[f32; 3]>| Places::find(values).map(|p| p.place(7, 12));
    let before = places(&values);
    assert!(before.is_some());
    backend.install(|| values.on_host()).unwrap();
    assert_eq!(values[..].as_flattened(), numbers);
    // Another test may have needed the memory.
    let after = places(&values);
    assert!(after.is_none() || after == before);
    drop(values);
    assert!(buffer.upgrade().is_none());
}
