//! Memory of data that no pane shows.

use super::loading::{PANE, busy_scene, difference};
use super::{fresh_offscreen, image, plain_grid};
use crate::support::panes::pane;
use crate::support::{Random, test};
use arcuate::data::labels::{Label, Labels};
use arcuate::data::{DataId, Volume};
use arcuate::render::PaneId;
use arcuate::scene;
use arcuate::state::core::display;
use arcuate::state::origin::Origin;
use arcuate::state::{Content, Layer, LayerId, State};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::idle_data_is_dropped", idle_data),
        test("render::nothing_stays_where_nothing_shows", nothing_shows),
        test("render::a label map has four bytes a voxel", label_map),
    ]
}

fn idle_data() {
    let mut offscreen = fresh_offscreen();
    let one = 64 * 64 * 64 * 4;
    offscreen.renderer.set_idle_budget(3 * one);
    let grid = plain_grid([64; 3]);
    let mut list = pane(16, DVec3::splat(32.0), DVec3::X, DVec3::Y, 1.0);
    for _ in 0..10 {
        let volume = Volume::scalar(grid.clone(), vec![0.5; 64 * 64 * 64]);
        list.images = vec![image(&volume, (0.0, 1.0))];
        offscreen.renderer.slice(&list, PANE);
        assert!(offscreen.renderer.device_bytes() <= 4 * one);
    }
    assert!(offscreen.renderer.device_bytes() >= 4 * one);
}

/// The last picture's data are released on the device and on the host, whichever pictures may stay idle; shown again it
/// is the same picture.
fn nothing_shows() {
    let mut random = Random::fresh("nothing_shows");
    let mut offscreen = fresh_offscreen();
    let renderer = &mut offscreen.renderer;
    renderer.set_idle_budget(u64::MAX);
    let list = busy_scene(&mut random, 20);
    let volume = Volume::scalar(plain_grid([4, 4, 4]), vec![0.5; 64]);
    let mut slice = pane(32, DVec3::ONE, DVec3::X, DVec3::Y, 0.2);
    slice.images = vec![image(&volume, (0.0, 1.0))];
    renderer.scene(&list, PANE);
    renderer.slice(&slice, PaneId(2));
    let shown = renderer.read(PANE).expect("a picture");
    let (bytes, ms) = (renderer.device_bytes(), renderer.device_ms());
    let values = &list.lines[0].tractogram.0.per_point["value"];
    assert!(bytes > 0 && !values.is_unshared());

    renderer.clear();
    assert_eq!(renderer.device_bytes(), 0);
    assert!(!renderer.is_busy());
    assert_eq!(renderer.device_ms(), ms);
    // The list's own.
    assert!(values.is_unshared());

    renderer.scene(&list, PANE);
    renderer.slice(&slice, PaneId(2));
    assert_eq!(renderer.device_bytes(), bytes);
    let repeated = renderer.read(PANE).expect("a picture");
    assert_eq!(difference(&shown, &repeated).0, 0);
}

/// A worker has computed its picture: drawing it converts no voxel's number to a colour, and loads only colours.
fn label_map() {
    let colours = [[0; 3], [10, 200, 30], [250, 20, 120]];
    let label = |number: u32| Label {
        name: format!("Area {number}"),
        colour: Some(colours[number as usize]),
    };
    let table = [1, 2].map(|number| (number, label(number)));
    let labels = Labels {
        table: table.into(),
    };
    let grid = plain_grid([32; 3]);
    let numbers: Vec<f32> = (0..32 * 32 * 32).map(|i| (i % 3) as f32).collect();
    let map = Volume::scalar(grid, numbers).with_labels(Arc::new(labels));
    let picture = map.picture().id();
    let display = display::image_display((0.0, 2.0));
    let mut state = State::new(String::new());
    let document = &mut state.document;
    let origin = document.origins.add(Origin::file("/data/aseg.mgz"));
    let layer = Layer::new(
        LayerId(1),
        "aseg".to_owned(),
        Content::Image(map),
        display,
        origin,
    );
    document.layers.push(Arc::new(layer));
    let mut offscreen = fresh_offscreen();
    let before = offscreen.renderer.device_bytes();
    let mut list = pane(6, DVec3::new(12.5, 12.5, 16.0), DVec3::X, DVec3::Y, 1.0);
    list.images = scene::images(&state);
    let drawn: Vec<DataId> = list.images.iter().map(|i| i.volume.0.id()).collect();
    assert_eq!(drawn, [picture]);
    let found = offscreen.slice(&list).expect("a picture");
    for (x, y) in (0..36).map(|i| (i % 6, i / 6)) {
        let voxel = [10 + x as usize, 10 + y as usize, 16];
        let number = (voxel[0] + 32 * (voxel[1] + 32 * voxel[2])) % 3;
        let [r, g, b, _] = found.pixel(x, y);
        assert_eq!([r, g, b], colours[number], "{voxel:?}");
    }
    assert_eq!(offscreen.renderer.device_bytes() - before, 4 * 32 * 32 * 32);
}
