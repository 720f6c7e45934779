//! Strokes in the history: each can be undone, and a long day of strokes fits into memory.

use crate::support::{Random, opened_event, opened_file, test};
use arcuate::data::{Grid, Mask, Shape, Stroke, Volume};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::{Action, Phase, RegionAction, State, Tool, ViewAction, update};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("region::every stroke is one step", stroke_by_stroke),
        test("region::a stroke without its end is a step", cut_off),
        test("region::a day of strokes fits into memory", bounded_memory),
        test(
            "region::a sphere turns into voxels and back",
            sphere_to_voxels,
        ),
        test("region::nothing drawn is not a step", nothing_is_no_step),
        test(
            "region::undo brings deleted regions back",
            deleted_come_back,
        ),
    ]
}

fn with_image(shape: [usize; 3]) -> State {
    let grid = Arc::new(Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).unwrap());
    let values = vec![1.0; grid.voxel_count()];
    let mut state = State::new("CPU".to_owned());
    let loaded = Loaded::Image(Volume::scalar(grid, values));
    let event = opened_event(1, opened_file("/data/t1.nii", loaded));
    update(&mut state, Action::Event(event));
    update(&mut state, Action::View(ViewAction::SetTool(Tool::Brush)));
    state
}

/// A stroke as the window sends it: press, moves, release.
fn paint(state: &mut State, points: &[DVec3], radius_mm: f64, erase: bool) {
    let mut from = points[0];
    for (i, to) in points.iter().enumerate() {
        let stroke = Stroke {
            points: vec![from, *to],
            radius_mm,
            disc: None,
        };
        let last = i + 1 == points.len();
        let phase = if last { Phase::Done } else { Phase::Live };
        let begins = i == 0;
        update(
            state,
            Action::Region(RegionAction::Stroke {
                stroke,
                erase,
                begins,
                phase,
            }),
        );
        from = *to;
    }
}

fn masks(state: &State) -> Vec<Vec<u8>> {
    let shapes = state.document.regions.iter().map(|r| r.shape.clone());
    shapes
        .map(|shape| match &*shape {
            Shape::Mask(mask) => mask.on_whole_grid().inside.to_vec(),
            _ => Vec::new(),
        })
        .collect()
}

fn stroke_by_stroke() {
    let mut random = Random::fresh("strokes");
    let mut state = with_image([40, 30, 20]);
    let mut seen = vec![masks(&state)];
    for i in 0..25 {
        let points: Vec<DVec3> = (0..4)
            .map(|_| {
                dvec3(
                    random.uniform(0.0, 39.0),
                    random.uniform(0.0, 29.0),
                    random.uniform(0.0, 19.0),
                )
            })
            .collect();
        if i % 10 == 9 {
            // A separate region.
            let role = arcuate::data::Role::Target;
            update(
                &mut state,
                Action::Region(RegionAction::DrawInto { region: None, role }),
            );
        }
        let erase = i % 4 == 3;
        paint(&mut state, &points, random.uniform(1.0, 4.0), erase);
        if masks(&state) != *seen.last().unwrap() {
            seen.push(masks(&state));
        }
        if i % 7 == 6 {
            // A step in between that is not a stroke.
            let region = state.document.regions[0].id;
            update(&mut state, Action::Region(RegionAction::Toggle(region)));
            seen.push(masks(&state));
        }
    }
    assert!(seen.len() > 20);
    for _ in 0..3 {
        for expected in seen.iter().rev().skip(1) {
            update(&mut state, Action::Undo);
            assert_eq!(masks(&state), *expected);
        }
        assert_eq!(state.history.undo_label(), None);
        for expected in &seen[1..] {
            update(&mut state, Action::Redo);
            assert_eq!(masks(&state), *expected);
        }
        assert_eq!(state.history.redo_label(), None);
    }
}

/// The button is released where no window notices: the next stroke is still a separate step.
fn cut_off() {
    let mut state = with_image([40, 30, 20]);
    let mut seen = vec![masks(&state)];
    for x in [8.0, 20.0, 32.0] {
        for (begins, y) in [(true, 10.0), (false, 16.0)] {
            let stroke = Stroke {
                points: vec![dvec3(x, y, 10.0)],
                radius_mm: 3.0,
                disc: None,
            };
            let (erase, phase) = (false, Phase::Live);
            let stroke = Action::Region(RegionAction::Stroke {
                stroke,
                erase,
                begins,
                phase,
            });
            update(&mut state, stroke);
        }
        seen.push(masks(&state));
    }
    for expected in seen.iter().rev().skip(1) {
        update(&mut state, Action::Undo);
        assert_eq!(masks(&state), *expected);
    }
}

fn bounded_memory() {
    let mut random = Random::fresh("memory");
    let n = 128;
    let mut state = with_image([n; 3]);
    for _ in 0..150 {
        let p = DVec3::from_array([0; 3].map(|_| random.uniform(10.0, 118.0)));
        paint(&mut state, &[p, p + random.direction() * 6.0], 4.0, false);
    }
    let whole = n * n * n;
    let bytes = state.history.mask_bytes();
    // One mask is whole, that of the step before the last; a stroke touches some dozens of blocks of 128 bytes.
    assert!(bytes < 2 * whole, "{bytes} bytes, one mask has {whole}");
    for _ in 0..75 {
        update(&mut state, Action::Undo);
    }
    let bytes = state.history.mask_bytes();
    assert!(bytes < 3 * whole, "{bytes} bytes on both sides");
}

fn sphere_to_voxels() {
    let mut state = with_image([40, 40, 40]);
    let shape = Shape::Sphere {
        centre: DVec3::splat(20.0),
        radius_mm: 6.0,
    };
    let role = arcuate::data::Role::Seed;
    update(
        &mut state,
        Action::Region(RegionAction::Add { role, shape }),
    );
    update(&mut state, Action::View(ViewAction::SetTool(Tool::Brush)));
    paint(&mut state, &[DVec3::splat(28.0)], 3.0, false);
    let is_voxels = |state: &State| matches!(&*state.document.regions[0].shape, Shape::Mask(_));
    assert_eq!(
        state.document.regions.len(),
        1,
        "the selected region is drawn on"
    );
    assert!(is_voxels(&state));
    let contains =
        |state: &State, at: f64| state.document.regions[0].shape.contains(DVec3::splat(at));
    assert!(contains(&state, 20.0) && contains(&state, 28.0) && !contains(&state, 34.0));
    assert!(
        state.runtime.notices.status.contains("grid of t1"),
        "{}",
        state.runtime.notices.status
    );
    update(&mut state, Action::Undo);
    assert!(!is_voxels(&state) && contains(&state, 20.0) && !contains(&state, 28.0));
    update(&mut state, Action::Redo);
    assert!(is_voxels(&state) && contains(&state, 28.0));
}

fn nothing_is_no_step() {
    let mut state = with_image([20, 20, 20]);
    paint(&mut state, &[DVec3::splat(500.0)], 3.0, false);
    assert!(state.document.regions.is_empty() && state.history.undo_label().is_none());
    paint(&mut state, &[DVec3::splat(10.0)], 3.0, true);
    assert!(state.document.regions.is_empty(), "erasing makes no region");
    paint(&mut state, &[DVec3::splat(10.0)], 3.0, false);
    let steps = |state: &mut State| {
        let mut n = 0;
        while state.history.undo_label().is_some() {
            update(state, Action::Undo);
            n += 1;
        }
        n
    };
    // A repeated stroke changes nothing and adds no step.
    paint(&mut state, &[DVec3::splat(10.0)], 3.0, false);
    assert_eq!(steps(&mut state), 1);
}

fn deleted_come_back() {
    let mut random = Random::fresh("deleted");
    let mut state = with_image([50, 50, 50]);
    let role = arcuate::data::Role::Include;
    for _ in 0..12 {
        update(
            &mut state,
            Action::Region(RegionAction::DrawInto { region: None, role }),
        );
        let p = DVec3::from_array([0; 3].map(|_| random.uniform(5.0, 45.0)));
        paint(&mut state, &[p], 4.0, false);
    }
    let all = masks(&state);
    let ids: Vec<_> = state.document.regions.iter().map(|r| r.id).collect();
    for id in &ids {
        update(&mut state, Action::Region(RegionAction::Delete(*id)));
    }
    assert!(state.document.regions.is_empty());
    // Twelve small balls, not twelve images.
    let bytes = state.history.mask_bytes();
    assert!(bytes < 3 * 50 * 50 * 50, "{bytes}");
    for _ in &ids {
        update(&mut state, Action::Undo);
    }
    assert_eq!(masks(&state), all);
    let Shape::Mask(mask) = &*state.document.regions[3].shape else {
        panic!("a mask");
    };
    let fresh = Mask::new(mask.grid.clone(), mask.inside.clone());
    assert_eq!(mask.count(), fresh.count());
}
