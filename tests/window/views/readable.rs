//! Pictures on bright tissue, of small regions, and of a turntable.

use super::picture::{SIZE, Studio, frame, on_black};
use super::sample::{add_sphere, state};
use crate::support::test;
use arcuate::data::Role;
use arcuate::data::appearance::ColourMap;
use arcuate::state::core::colours;
use arcuate::state::core::volume_look::{VolumeLook, VolumeStyle};
use arcuate::state::{Action, Display, LayerAction, Layout, Pane, Phase, State, update};
use arcuate::ui::snapshot::{self, AddViews, Drawing};
use egui::{Ui, vec2};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "views::text is readable on white tissue at every scale",
            on_white,
        ),
        test("views::handles leave a small sphere in sight", small_sphere),
        test(
            "views::later pictures of a turn are drawn in fewer pieces",
            fewer_pieces,
        ),
    ]
}

/// Titles, letters, the scale bar and a colour bar have a dark background of their own, which surrounds letters on all
/// sides.
fn on_white() {
    let mut studio = Studio::new();
    let mut state = state();
    let layer = state.document.layers[0].id;
    let show = |state: &mut State, window, colour_map| {
        let display = Display {
            window,
            colour_map,
            ..state.document.layers[0].display.clone()
        };
        let phase = Phase::Done;
        update(
            state,
            Action::Layer(LayerAction::SetDisplay {
                layer,
                display,
                phase,
            }),
        );
    };
    // White everywhere, like bone in a brain window; the image fills the view.
    show(&mut state, (-2e6, -1e6), ColourMap::Grey);
    for view in &mut state.view.slices {
        view.zoom = 12.0;
    }
    state.view.visible.crosshair = false;
    for scale in [1.0, 2.0] {
        let picture = studio.take(&state, Pane::Axial, scale);
        let [width, height] = picture.size_px.map(|n| n as f32 / scale);
        let brightness = |x: f32, y: f32| {
            let [r, g, b, _] = picture.pixel((x * scale) as u32, (y * scale) as u32);
            r.max(g).max(b)
        };
        assert!(brightness(0.5 * width, 0.3 * height) > 250, "white tissue");
        // Before the title, before its second line, before the left letter, below the scale bar.
        for (x, y) in [
            (7.5, 16.0),
            (7.5, 33.0),
            (7.5, 0.5 * height),
            (14.0, height - 8.5),
        ] {
            let found = brightness(x, y);
            assert!(found < 90, "{scale} {x} {y}: {found}");
        }
    }
    show(&mut state, (-2e6, -1e6), ColourMap::Viridis);
    let picture = studio.take(&state, Pane::Axial, 1.0);
    let [width, _] = picture.size_px;
    // Right of the bar, which is 12 to 20 points from the edge.
    let [r, g, b, _] = picture.pixel(width - 10, 70);
    assert!(r.max(g).max(b) < 110, "{r} {g} {b}");
}

/// In software rendering the first picture measures how large a piece may be; the next one starts with that size.
fn fewer_pieces() {
    let mut studio = Studio::new();
    let mut state = state();
    let layer = state.document.layers[0].id;
    let mut display = state.document.layers[0].display.clone();
    display.volume = Some(VolumeLook {
        style: VolumeStyle::Cloud,
        ..VolumeLook::default()
    });
    let phase = Phase::Done;
    update(
        &mut state,
        Action::Layer(LayerAction::SetDisplay {
            layer,
            display,
            phase,
        }),
    );
    let steps = |studio: &mut Studio, state: &State| {
        let renderer = studio.0.as_ref().unwrap();
        // Half as large: a first picture still takes several pieces.
        let size = frame(0.5 * SIZE, 1.0);
        let mut drawing = Drawing::of_pane(renderer, state, Pane::Scene, size, false).unwrap();
        let mut steps = 1;
        while drawing.step(&mut studio.0).unwrap().is_none() {
            studio.0.as_ref().unwrap().wait();
            steps += 1;
        }
        steps
    };
    let renderer = studio.0.as_mut().unwrap();
    renderer.load_in_pieces();
    // However slow the machine is, pieces grow.
    renderer.set_patience_ms(1e6);
    let software = renderer.device().adapter_info().device_type == wgpu::DeviceType::Cpu;
    let first = steps(&mut studio, &state);
    state.view.camera = state.view.camera.orbited(0.3, 0.0);
    let second = steps(&mut studio, &state);
    println!("{first} steps, then {second}");
    // A GPU draws all of it at once.
    assert!(!software || second < first, "{first} {second}");
}

/// The white squares are outside the ring, even of the smallest sphere, whose inside they would fill.
fn small_sphere() {
    for radius_mm in [1.5, 2.0, 4.0] {
        sphere_in_sight(radius_mm);
    }
}

fn sphere_in_sight(radius_mm: f64) {
    let mut studio = Studio::new();
    let mut state = on_black(state());
    let at = state.view.crosshair;
    let sphere = add_sphere(&mut state, Role::Seed, at, radius_mm);
    state.runtime.regions.selected = Some(sphere);
    state.view.visible.crosshair = false;
    state.view.layout = Layout::Single;
    state.view.single = Pane::Axial;
    let add = &mut |ui: &mut Ui, _: &State, views: &mut AddViews| views(ui, &mut Vec::new());
    let picture = snapshot::window(&mut studio.0, &state, vec2(360.0, 300.0), 2.0, add).unwrap();
    let [width, height] = picture.size_px;
    let all = || (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let [r, g, b] = colours::role_rgb(Role::Seed);
    let ring: Vec<(u32, u32)> = all()
        .filter(|&(x, y)| picture.pixel(x, y) == [r, g, b, 255])
        .collect();
    // Its name has the same colour: the ring lies left of it.
    let left = ring.iter().map(|p| p.0).min().expect("a ring");
    let column: Vec<u32> = ring.iter().filter(|p| p.0 == left).map(|p| p.1).collect();
    let middle_y = column.iter().sum::<u32>() as f32 / column.len() as f32;
    let top = ring
        .iter()
        .filter(|p| p.0 < left + 60)
        .map(|p| p.1)
        .min()
        .expect("a ring");
    let radius = middle_y - top as f32;
    assert!(
        (2.0..20.0).contains(&radius),
        "{radius_mm} mm: {radius} pixels of half a point"
    );
    let middle = (left as f32 + radius, middle_y);
    let from_middle = |(x, y): (u32, u32)| (x as f32 - middle.0).hypot(y as f32 - middle.1);
    let white = all().filter(|&(x, y)| picture.pixel(x, y) == [255; 4]);
    let near: Vec<f32> = white
        .map(from_middle)
        .filter(|d| *d < radius + 24.0)
        .collect();
    let nearest = near.iter().copied().fold(f32::INFINITY, f32::min);
    assert!(near.len() > 200, "{} pixels of handles", near.len());
    assert!(
        nearest >= radius + if radius_mm < 3.0 { 2.0 } else { -1.0 },
        "{radius_mm} mm: {nearest} of {radius}"
    );
}
