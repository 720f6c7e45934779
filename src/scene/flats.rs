//! The slices in the 3-D view.

use crate::state::segment::frame_of;
use crate::state::{Camera, State, Task};
use glam::DVec3;

/// A rectangle of a slice: flat along one axis. Its corners are those of straight slices, which a turn moves into the
/// world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flat {
    pub normal: usize,
    pub low: DVec3,
    pub high: DVec3,
}

/// The three slices through the crosshair. While an image is segmented, they end where it shows nothing more, and the
/// quarter of each nearest to the viewer is removed, so that the surface behind is visible.
pub fn flats(state: &State, camera: &Camera) -> Vec<Flat> {
    let turn = state.view.turn;
    let (mut low, mut high) = turn.straight_bounds(state.document.bounds());
    let crosshair = turn.straight_point(state.view.crosshair);
    let segments = state.view.task == Task::Segment;
    if let Some((layer, image)) = state.document.segmented_image().filter(|_| segments) {
        let [first, last] = image.content(frame_of(layer, image));
        let (from, to) = turn.straight_bounds(image.grid.block_bounds((first, last)));
        // Extended so that a crosshair beyond it remains visible.
        (low, high) = (low.max(from.min(crosshair)), high.min(to.max(crosshair)));
    }
    let cut = segments && super::segment::live(state).is_some();
    let near = turn.straight_point(camera.eye()) - crosshair;
    let flat = |normal: usize| {
        let (mut low, mut high) = (low, high);
        (low[normal], high[normal]) = (crosshair[normal], crosshair[normal]);
        Flat { normal, low, high }
    };
    let half = |flat: Flat, axis: usize, far: bool| {
        let mut part = flat;
        if (near[axis] > 0.0) == far {
            part.high[axis] = crosshair[axis];
        } else {
            part.low[axis] = crosshair[axis];
        }
        part
    };
    let parts = |normal: usize| {
        let (u, v) = ((normal + 1) % 3, (normal + 2) % 3);
        let whole = flat(normal);
        match cut {
            true => vec![half(whole, u, true), half(half(whole, u, false), v, true)],
            false => vec![whole],
        }
    };
    let all = (0..3).flat_map(parts);
    let is_some = |f: &Flat| (f.high - f.low).cmpgt(DVec3::ZERO).bitmask().count_ones() == 2;
    all.filter(is_some).collect()
}
