//! Streamlines that are measured on a card and written there as they are drawn, against the same numbers on the host.

use crate::support::fields::{cube, field, params, prolate};
use crate::support::{cuda_test, test};
use arcuate::compute::{Backend, Control};
use arcuate::data::drawn_lines::next_chunk;
use arcuate::data::line_blocks::{BLOCK, BLOCK_LEN, Frame, Reach, Slot, pack};
use arcuate::data::line_order::{CHUNK_SLOTS, Detail, Order, Walk, chunk_capacity, keep_shape};
use arcuate::data::{LineDrawing, Tractogram};
use arcuate::solvers::curves::{Params, Seeding};
use arcuate::solvers::drawn_lines::LinesOnCard;
use arcuate::solvers::geodesic::{
    self, Cut, Directions, Precision, RayMetric, Sharpening, rank, trace,
};
use arcuate::solvers::tracking::track;
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("drawn lines::pieces cover every drawn point once", pieces),
        cuda_test("drawn lines::streamlines of a card", streamlines),
        cuda_test("drawn lines::rays of a card with their measures", rays),
    ]
}

/// Whatever the capacities, the pieces of a streamline cover its segments, and each slot belongs to one point or gap.
fn pieces() {
    for capacity in [96, 160, 4096] {
        let mut walk = Walk::default();
        let mut used = vec![vec![0; capacity]; 200];
        for count in [0, 1, 2, 3, 63, 64, 65, 200, 1000, 2, 130] {
            let mut next = 0;
            walk.assign(
                count,
                |_| capacity,
                |piece| {
                    assert!(piece.points.start == next || piece.points.start + 1 == next);
                    assert!(piece.points.len() >= 2);
                    next = piece.points.end;
                    let slots = &mut used[piece.chunk];
                    for slot in &mut slots[piece.slot..piece.slot + piece.points.len() + 1] {
                        *slot += 1;
                    }
                },
            );
            assert_eq!(next, if count < 2 { 0 } else { count });
        }
        assert!(used.iter().flatten().all(|times| *times <= 1));
    }
}

/// A fibre field of circles around the z axis, and streamlines in all of it.
fn circles(backend: &Backend, count: usize) -> Tractogram {
    let field = field(cube(40, 2.0), |at| {
        let along = DVec3::new(-at.y, at.x, 0.3 * at.length());
        (at.length() > 4.0).then(|| prolate(1.7e-3, 0.3e-3, along.normalize()))
    });
    let params = Params {
        seeding: Seeding::Random { count },
        min_length_mm: 5.0,
        max_length_mm: Some(150.0),
        ..params()
    };
    let tracked = track(&field, &[], &params, backend, &Control::new());
    tracked.expect("streamlines").kept
}

/// The blocks, the boxes and the values of streamlines, by the functions with which the renderer writes them.
struct Reference {
    blocks: Vec<u32>,
    boxes: Vec<Vec<Reach>>,
    values: Vec<f32>,
}

fn reference(lines: &Tractogram, drawing: &LineDrawing) -> Reference {
    let order = Order::new(lines.len(), 1, drawing.detail);
    let total = lines.points.len() + order.count;
    let mut walk = Walk::default();
    // Capacity, first slot, points and values of each chunk.
    let mut chunks: Vec<(usize, usize, Vec<Slot>, Vec<f32>)> = Vec::new();
    for place in 0..order.count {
        let line = order.streamline(place);
        let run = lines.offsets[line] as usize..lines.offsets[line + 1] as usize;
        let mut kept = Vec::new();
        match drawing.detail {
            Detail::EveryPoint => kept.extend(run),
            Detail::Shape => keep_shape(&lines.points, run, &mut kept),
        }
        let mut all = Vec::new();
        let capacity = |index: usize| {
            if index == chunks.len() {
                let before: usize = chunks.iter().map(|c| c.0).sum();
                let first = chunks.last().map_or(0, |c| next_chunk(c.1, c.0));
                let capacity = chunk_capacity(total.saturating_sub(before), CHUNK_SLOTS);
                chunks.push((capacity, first, Vec::new(), Vec::new()));
            }
            chunks[index].0
        };
        walk.assign(kept.len(), capacity, |piece| all.push(piece));
        for piece in all {
            let (_, _, slots, values) = &mut chunks[piece.chunk];
            assert_eq!(slots.len(), piece.slot);
            for &point in &kept[piece.points] {
                slots.push(Some(Vec3::from(lines.points[point])));
                values.push(match &drawing.values {
                    None => 0.0,
                    Some(name) => match lines.per_point.get(name) {
                        Some(values) => values[point],
                        None => lines.per_streamline[name][line],
                    },
                });
            }
            slots.push(None);
            values.push(0.0);
        }
    }
    let slots = chunks.last().map_or(0, |c| next_chunk(c.1, c.0));
    let frame = Frame::new(lines.bounds().unwrap());
    let mut blocks = vec![0; slots / BLOCK * BLOCK_LEN];
    let mut values = vec![0.0; slots];
    let mut boxes = Vec::new();
    for (_, first, slots, own) in &chunks {
        values[*first..first + own.len()].copy_from_slice(own);
        let mut reaches = Vec::new();
        for (i, block) in slots.chunks(BLOCK).enumerate() {
            let at = (first / BLOCK + i) * BLOCK_LEN;
            pack(&frame, block, &mut blocks[at..at + BLOCK_LEN]);
            let end = slots.len().min((i + 1) * BLOCK + 1);
            reaches.push(frame.reach_of(slots[i * BLOCK..end].iter().flatten().copied()));
        }
        boxes.push(reaches);
    }
    Reference {
        blocks,
        boxes,
        values,
    }
}

/// The card's bytes against those of the same streamlines on the host.
fn check(lines: &Tractogram, drawing: &LineDrawing, cards: usize) {
    assert!(!lines.points.is_on_host());
    let Some(on_card) = LinesOnCard::new(lines) else {
        // The points are on several cards: the renderer gets them from the host.
        assert!(cards > 1);
        return;
    };
    let packed = on_card.packed(drawing).expect("packed").expect("packed");
    let facts = on_card.facts().expect("facts").expect("finite points");
    let (blocks, values) = packed.on_host().unwrap();
    assert!(!lines.points.is_on_host());
    // From here on the points are on the host.
    let host = Tractogram::new(lines.points.to_vec(), lines.offsets.clone());
    assert_eq!(facts.bounds_mm, host.bounds());
    for (line, length) in facts.lengths_mm.iter().enumerate() {
        assert_eq!(length.to_bits(), host.length_mm(line).to_bits());
    }
    let expected = reference(lines, drawing);
    let boxes: Vec<_> = packed.chunks.iter().map(|c| c.boxes.clone()).collect();
    assert_eq!(boxes, expected.boxes);
    for chunk in &packed.chunks {
        let first = chunk.first_slot / BLOCK * BLOCK_LEN;
        let end = first + chunk.ready.div_ceil(BLOCK) * BLOCK_LEN;
        assert_eq!(blocks[first..end], expected.blocks[first..end]);
        if let Some(values) = &values {
            let own = chunk.first_slot..chunk.first_slot + chunk.ready;
            assert_eq!(values[own.clone()], expected.values[own]);
        }
    }
    assert_eq!(values.is_some(), drawing.values.is_some());
}

fn drawing(detail: Detail, values: Option<&str>) -> LineDrawing {
    LineDrawing {
        detail,
        values: values.map(str::to_owned),
    }
}

fn streamlines(backend: Backend) {
    let cards = backend.devices().len();
    backend.install(|| {
        for (count, values) in [(1, None), (700, Some("stop_end")), (30_000, None)] {
            check(
                &circles(&backend, count),
                &drawing(Detail::Shape, values),
                cards,
            );
            check(
                &circles(&backend, count),
                &drawing(Detail::EveryPoint, values),
                cards,
            );
        }
        // Some of them.
        let all = circles(&backend, 3_000);
        let marks: Vec<bool> = (0..all.len()).map(|i| i % 3 != 1).collect();
        check(
            &all.filtered(&marks),
            &drawing(Detail::Shape, Some("seed")),
            cards,
        );
        assert_eq!(all.streamline(2), all.filtered(&marks).streamline(1));
    });
}

fn rays(backend: Backend) {
    let cards = backend.devices().len();
    let field = field(cube(30, 1.0), |at| {
        (at.length() < 14.0).then(|| prolate(1.7e-3, 0.3e-3, DVec3::Y))
    });
    let control = Control::new();
    let mut params = geodesic::Params::defaults();
    params.curves.seeding = Seeding::Random { count: 300 };
    params.curves.min_length_mm = 5.0;
    params.directions = Directions::Sphere { count: 8 };
    let sharpening = Sharpening::Power { alpha: 2.0 };
    let interpolation = params.curves.interpolation;
    let metric = RayMetric::new(
        &field,
        sharpening,
        Precision::Single,
        interpolation,
        &backend,
        &control,
    );
    let metric = metric.expect("a metric");
    backend.install(|| {
        for cut in [Cut::All, Cut::TopShare(0.3)] {
            let traced = trace(&metric, &[], &params, &backend, &control).expect("rays");
            let (kept, _) = rank(&traced.rays.kept, cut);
            assert!(kept.len() > 100);
            let along = &kept.per_point["cm"];
            assert!(!along.is_on_host() && along.len() == kept.points.len());
            check(&kept, &drawing(Detail::EveryPoint, Some("cm")), cards);
        }
    });
}
