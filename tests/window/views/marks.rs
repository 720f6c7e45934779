//! Numbers in pictures: lengths, limits of colours, the command.

use super::sample::{add_layer, add_live, state};
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Tractogram, Volume};
use arcuate::render::offscreen::{Offscreen, Picture};
use arcuate::scene::{self, Size};
use arcuate::solvers::curves::{self, SeedOutcome, StopReason};
use arcuate::state::core::display::{self, LineColouring};
use arcuate::state::filter::WEIGHT;
use arcuate::state::{
    Action, Content, Convention, Display, LayerAction, Layout, Pane, Phase, Slab, State,
    ViewAction, report, update,
};
use arcuate::ui::snapshot::{self, Frame};
use arcuate::ui::theme;
use arcuate::ui::views::Views;
use arcuate::ui::views::legend::{Legend, of_scene, of_slices};
use egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use glam::dvec2;
use libtest_mimic::Trial;
use std::sync::{Arc, Mutex};

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::L is on the side of the patient's left", letters),
        test("views::a scale bar has the length of its label", scale_bar),
        test("views::colour bars have the limits of their layer", limits),
        test("views::a shared colour bar names its layers", shared_bar),
        test("views::a picture has the command of what is live", command),
        test("views::a slab has the thickness of its label", slab),
        test("views::slices of a mosaic match their labels", mosaic),
    ]
}

/// The white pixels of a part, cropped to them.
fn shape_of(picture: &Picture, [x0, y0, x1, y1]: [u32; 4]) -> Vec<Vec<bool>> {
    let white = |x: u32, y: u32| picture.pixel(x, y)[..3].iter().all(|c| *c > 150);
    let columns = (x0..x1).filter(|&x| (y0..y1).any(|y| white(x, y)));
    let rows = (y0..y1).filter(|&y| (x0..x1).any(|x| white(x, y)));
    let columns: Vec<u32> = columns.collect();
    rows.map(|y| columns.iter().map(|&x| white(x, y)).collect())
        .collect()
}

/// Whether letters are an L: nothing in its upper right, which an R has.
fn is_l(shape: &[Vec<bool>]) -> bool {
    let (high, wide) = (shape.len(), shape.first().map_or(0, Vec::len));
    assert!(high > 10 && wide > 5, "{wide} × {high}");
    let upper_right = shape[..high / 2].iter().flat_map(|row| &row[wide / 2..]);
    upper_right.filter(|p| **p).count() == 0
}

/// In the pixels: in both conventions the letter L is on the side of the image that lies to the patient's left.
fn letters() {
    let device = Offscreen::new().expect("a graphics device (mesa-vulkan-drivers)");
    let mut renderer = Some(device.renderer);
    let frame = Frame {
        size: vec2(360.0, 300.0),
        pixels_per_point: 2.0,
    };
    // Bright where x is smaller, which is left.
    let mut bright = state();
    bright.view.visible.crosshair = false;
    let mut black = bright.clone();
    Arc::make_mut(&mut black.document.layers[0]).display.window = (1e6, 2e6);
    for convention in [Convention::Radiological, Convention::Neurological] {
        for pane in [Pane::Axial, Pane::Coronal] {
            let mut take = |state: &State| {
                let mut state = state.clone();
                update(
                    &mut state,
                    Action::View(ViewAction::SetConvention(convention)),
                );
                snapshot::pane(&mut renderer, &state, pane, frame, false).expect("a picture")
            };
            let (image, marks) = (take(&bright), take(&black));
            let lit = |x: u32| (380..440).filter(|y| image.pixel(x, *y)[0] > 128).count();
            let (left, right) = (
                (250..290).map(lit).sum::<usize>(),
                (430..470).map(lit).sum(),
            );
            assert!(left.abs_diff(right) > 1000, "{left} {right}");
            let edges = [[12, 272, 48, 328], [672, 272, 708, 328]];
            let found = edges.map(|edge| is_l(&shape_of(&marks, edge)));
            assert_eq!(
                found,
                [left > right, right > left],
                "{pane:?} {convention:?}"
            );
            // The state agrees.
            let letters = letters_of(&bright, pane, convention);
            assert_eq!(letters.map(|l| l == "L"), found);
        }
    }
}

/// Letters at the left and right edge.
fn letters_of(state: &State, pane: Pane, convention: Convention) -> [String; 2] {
    let mut state = state.clone();
    update(
        &mut state,
        Action::View(ViewAction::SetConvention(convention)),
    );
    let [left, right, ..] = state.view.letters(pane).expect("a slice");
    [left, right]
}

/// One of the permitted lengths, to a pixel, at any zoom.
fn scale_bar() {
    const SIZE: [f32; 2] = [420.0, 360.0];
    let mut random = Random::fresh("scale bar");
    let device = Offscreen::new().expect("a graphics device (mesa-vulkan-drivers)");
    let mut renderer = Some(device.renderer);
    let mut state = state();
    // Nothing bright behind it.
    let layer = state.document.layers[0].clone();
    let mut display = layer.display.clone();
    display.window = (1e6, 2e6);
    let phase = Phase::Done;
    update(
        &mut state,
        Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase,
        }),
    );
    for round in 0..6 {
        let pane = [Pane::Axial, Pane::Coronal, Pane::Sagittal][round % 3];
        let zoom = random.uniform(0.4, 9.0);
        state.view.slices.iter_mut().for_each(|s| s.zoom = zoom);
        let pixels_per_point = [1.0, 2.0][round % 2];
        let frame = Frame {
            size: vec2(SIZE[0], SIZE[1]),
            pixels_per_point,
        };
        let picture = snapshot::pane(&mut renderer, &state, pane, frame, false).expect("a picture");
        let points = dvec2(f64::from(SIZE[0]), f64::from(SIZE[1]));
        let plane = state.plane(pane, points).expect("a slice");
        let mm_per_pixel = plane.mm_per_point / f64::from(pixels_per_point);
        // The longest bright row at the lower left.
        let [width, height] = picture.size_px;
        let bright = |x: u32, y: u32| picture.pixel(x, y)[..3].iter().all(|c| *c > 180);
        let longest = |y: u32| {
            let (mut run, mut best) = (0, 0);
            for x in 0..width / 2 {
                run = if bright(x, y) { run + 1 } else { 0 };
                best = best.max(run);
            }
            best
        };
        let rows = height - (20.0 * pixels_per_point) as u32..height;
        let length = f64::from(rows.map(longest).max().unwrap_or(0));
        let lengths = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
        let fits = |mm: &&f64| (length * mm_per_pixel - **mm).abs() <= 1.01 * mm_per_pixel;
        assert!(
            lengths.iter().any(|mm| fits(&mm)),
            "{pane:?} at zoom {zoom}: {length} pixels are {} mm",
            length * mm_per_pixel
        );
    }
}

/// The numbers at its ends, without a unit.
fn bar(legend: Option<Legend>) -> [f64; 2] {
    let Some(Legend::Bar { low, high, .. }) = legend else {
        panic!("{legend:?}")
    };
    let unit = |c: char| !c.is_ascii_digit();
    [low, high].map(|end| end.trim_end_matches(unit).parse().expect(&end))
}

/// Limits have the layer's unit on slices and those of the streamlines' window in 3-D; low values are at the lower end.
fn limits() {
    let mut state = state();
    let layer = Arc::make_mut(&mut state.document.layers[0]);
    layer.display.colour_map = ColourMap::Viridis;
    layer.display.window = (0.25e-3, 1.5e-3);
    (layer.unit, layer.unit_scale) = ("µm²/ms", 1e3);
    let Content::Image(volume) = &layer.content else {
        panic!("an image")
    };
    let values: Vec<f32> = volume.values.iter().map(|v| v * 1e-5).collect();
    layer.content = Content::Image(Volume::scalar(volume.grid.clone(), values));
    assert_eq!(bar(of_slices(&state)), [0.25, 1.5]);
    for (name, colouring, expected) in [
        ("length", LineColouring::Length, [10.0, 90.0]),
        (WEIGHT, LineColouring::Weight, [0.25, 1.5]),
    ] {
        let lines = Tractogram::new(vec![[0.0; 3]; 4], vec![0, 2, 4]);
        let lines = lines.with_per_streamline(name, vec![12.0, 87.0]);
        let display = Display {
            line_colouring: colouring,
            window: (0.25, 1.5),
            ..display::line_display()
        };
        let id = add_layer(&mut state, name, Content::Tractogram(lines), display);
        let found = bar(of_scene(&state).into_iter().next());
        assert_eq!(found, expected, "{name}");
        state.document.layers.retain(|l| l.id != id);
    }
}

/// A bar that several layers share names all of them, where another bar differs.
fn shared_bar() {
    let mut state = state();
    let add = |state: &mut State, name: &str, window: (f32, f32)| {
        let lines = Tractogram::new(vec![[0.0; 3], [9.0; 3]], vec![0, 2]);
        let lines = lines.with_per_streamline(WEIGHT, vec![1.0]);
        let display = Display {
            line_colouring: LineColouring::Weight,
            window,
            ..display::line_display()
        };
        add_layer(state, name, Content::Tractogram(lines), display);
        let bars = of_scene(state).into_iter().filter_map(|l| match l {
            Legend::Bar { name, .. } => Some(name),
            _ => None,
        });
        bars.collect::<Vec<String>>()
    };
    assert_eq!(add(&mut state, "whole", (0.0, 1.0)), ["Weight"]);
    let two = add(&mut state, "arc", (0.0, 2.0));
    assert_eq!(two, ["whole · Weight", "arc · Weight"]);
    let shared = add(&mut state, "arc 2", (0.0, 2.0));
    assert_eq!(shared, ["whole · Weight", "arc and arc 2 · Weight"]);
    let more = add(&mut state, "arc 3", (0.0, 2.0));
    assert_eq!(more, ["whole · Weight", "arc and 2 more · Weight"]);
}

/// The text that the window copies.
fn command() {
    let mut state = state();
    let chunk = |state: &State| {
        let chunks = report::picture(state);
        let found = chunks.into_iter().find(|c| c.0 == "Command");
        found.map(|c| c.1)
    };
    assert_eq!(chunk(&state), None);
    let mut outcomes = [0; SeedOutcome::COUNT];
    outcomes[SeedOutcome::Kept as usize] = 1;
    add_live(
        &mut state,
        curves::Output {
            kept: Tractogram::new(vec![[0.0; 3], [9.0; 3]], vec![0, 2]),
            missed: Tractogram::empty(),
            missed_every: 1,
            seed_outcomes: outcomes,
            stops: [0; StopReason::COUNT],
            per_target: Vec::new(),
            steps: 1,
            kernel_s: None,
            starts: None,
            tissue_doubt: None,
        },
    );
    let live = state.runtime.track.live.value();
    let command = live.map(|l| state.document.live_command_line(l).text());
    assert!(command.as_ref().is_some_and(|c| c.starts_with("arcuate ")));
    assert_eq!(chunk(&state), command);
}

/// About the slice, half of it on either side.
fn slab() {
    let mut random = Random::fresh("slab");
    let mut state = state();
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    assert!(scene::scene(&state, size).slab.is_none());
    for (pane, axis) in [(Pane::Axial, 2), (Pane::Coronal, 1), (Pane::Sagittal, 0)] {
        let thickness_mm = random.uniform(1.0, 40.0);
        update(
            &mut state,
            Action::View(ViewAction::CutToSlab(Some(Slab { pane, thickness_mm }))),
        );
        let slab = scene::scene(&state, size).slab.expect("a slab");
        assert_eq!(slab.half_mm * 2.0, thickness_mm);
        assert_eq!(slab.point[axis], state.view.crosshair[axis]);
        assert_eq!(slab.normal.abs()[axis], 1.0);
    }
}

/// A click on one moves the crosshair to the place written on it.
fn mosaic() {
    let mut state = state();
    update(
        &mut state,
        Action::View(ViewAction::SetLayout(Layout::Mosaic)),
    );
    update(
        &mut state,
        Action::View(ViewAction::SetMosaic(Pane::Axial, 9.0)),
    );
    let places = state.mosaic_slices();
    let taken: Arc<Mutex<Vec<Action>>> = Arc::default();
    let (mut views, actions) = (Views::default(), taken.clone());
    let mut window = Harness::builder()
        .with_size(vec2(1000.0, 800.0))
        .with_context_setup(theme::install)
        .build_ui(move |ui| {
            let mut new = Vec::new();
            views.show(ui, &state, &mut new);
            actions.lock().unwrap().extend(new);
        });
    window.run_steps(3);
    for place in [places[0], places[2], places[places.len() - 1]] {
        let at = format!("{place:.1}").replace('-', "−");
        let name = format!("Axial slice, z {at}\u{202F}mm");
        taken.lock().unwrap().clear();
        window.get_by_label(&name).click();
        window.run_steps(3);
        let found = taken.lock().unwrap().iter().find_map(|a| match a {
            Action::View(ViewAction::MoveCrosshair(to)) => Some(to.z),
            _ => None,
        });
        let found = found.unwrap_or_else(|| panic!("{name}: no click"));
        assert!((found - place).abs() < 1e-6, "{name}: {found}");
    }
}
