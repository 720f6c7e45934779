//! Draw lists of a state.

use super::sample::{add_layer, add_live, add_sphere, grid, near, state};
use crate::support::{Random, test};
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{AffineSource, Mask, Role, Tractogram, VolumeKind};
use arcuate::jobs::Jobs;
use arcuate::scene::draw_list::{LineColour, Lines, MarkShape, SolidShape};
use arcuate::scene::{self, Size};
use arcuate::solvers::curves::{self, StopReason};
use arcuate::state::core::display::{self, LineColouring};
use arcuate::state::core::layer::Content;
use arcuate::state::track::jobs::stopped::STOPPED;
use arcuate::state::{
    Action, Convention, Display, Effect, LayerAction, Pane, RegionAction, State, Task, Tool,
    ViewAction, update,
};
use arcuate::ui::views::layout;
use arcuate::ui::views::legend::{Legend, of_scene};
use egui::{Rect, pos2};
use glam::{DVec2, DVec3, dvec2};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::legends name every layer", legends_of_layers),
        test(
            "views::list pixels lie where the pane's points lie",
            pixels_are_points,
        ),
        test(
            "views::list images are stacked as the layers are",
            images_are_stacked,
        ),
        test("views::list of the 3-D view", scene_list),
        test("views::the legend has both ends", legend_of_ends),
        test(
            "views::list colours streamlines as chosen",
            colours_streamlines,
        ),
        test(
            "views::ends are marked with streamlines coloured by stop reason",
            marks_ends,
        ),
        test(
            "views::missed streamlines are listed only with targets",
            missed_with_targets,
        ),
        test(
            "views::many curves that stopped come from a worker",
            many_stopped,
        ),
        test("views::list quads cross at the crosshair", quads_cross),
        test(
            "views::panes fill the area with gaps of two points",
            panes_fill,
        ),
        test("views::masks have one image", masks_have_one_image),
    ]
}

fn size(random: &mut Random) -> Size {
    Size {
        points: dvec2(
            random.uniform(200.0, 900.0).round(),
            random.uniform(200.0, 900.0).round(),
        ),
        pixels_per_point: [1.0, 1.25, 1.5, 2.0][(random.bits() % 4) as usize],
    }
}

/// The centre of pixel (i, j) is the world point under the middle of its points.
fn pixels_are_points() {
    let mut random = Random::fresh("pixels");
    for convention in [Convention::Radiological, Convention::Neurological] {
        for pane in [Pane::Axial, Pane::Sagittal, Pane::Coronal] {
            let mut state = state();
            update(
                &mut state,
                Action::View(ViewAction::SetConvention(convention)),
            );
            let size = size(&mut random);
            let list = scene::slice(&state, pane, size).unwrap();
            let plane = state.plane(pane, size.points).unwrap();
            for _ in 0..20 {
                let pixel =
                    [0, 1].map(|a| (random.uniform(0.0, 1.0) * f64::from(list.size_px[a])).floor());
                let world = list.origin + list.right * pixel[0] + list.down * pixel[1];
                let at = (DVec2::from_array(pixel) + 0.5) / size.pixels_per_point;
                near(world, plane.world(at), 1e-9);
            }
            assert_eq!(f64::from(list.scale), size.pixels_per_point);
            let axis = pane.normal_axis().unwrap();
            assert_eq!(
                list.origin[axis], state.view.crosshair[axis],
                "through the crosshair"
            );
        }
        assert!(scene::slice(&state(), Pane::Scene, size(&mut random)).is_none());
    }
}

fn images_are_stacked() {
    let mut state = state();
    let grid = grid(AffineSource::Sform);
    let n = grid.voxel_count();
    let mask = Mask::new(grid.clone(), vec![1; n]);
    let mut display = display::mask_display();
    display.visible = true;
    display.hide_below_fa = 0.2;
    let id = add_layer(&mut state, "mask", Content::Mask(mask), display.clone());
    display.visible = false;
    let other = Mask::new(grid, vec![1; n]);
    add_layer(&mut state, "hidden", Content::Mask(other), display);
    let images = scene::images(&state);
    assert_eq!(images.len(), 2);
    assert!(
        !images[0].transparent_below,
        "the lowest image is the ground"
    );
    assert!(images[1].transparent_below);
    assert_eq!(images[1].colour_map, ColourMap::Mask);
    let fa = &state.document.tensors.as_ref().unwrap().fa;
    let (limit, value) = images[1].hide_below.as_ref().unwrap();
    assert_eq!((limit.0.id(), *value), (fa.id(), 0.2));
    assert!(images[0].hide_below.is_none());
    update(
        &mut state,
        Action::Layer(LayerAction::Move {
            layer: id,
            index: 0,
        }),
    );
    let images = scene::images(&state);
    assert_eq!(images[0].colour_map, ColourMap::Mask);
}

fn scene_list() {
    let mut state = state();
    let size = Size {
        points: dvec2(400.0, 300.0),
        pixels_per_point: 2.0,
    };
    let seed = add_sphere(&mut state, Role::Seed, DVec3::ZERO, 5.0);
    add_sphere(&mut state, Role::Target, DVec3::X, 6.0);
    update(&mut state, Action::Region(RegionAction::Select(Some(seed))));
    let list = scene::scene(&state, size);
    assert_eq!(list.size_px, [800, 600]);
    assert_eq!(list.solids.len(), 2);
    assert!(list.solids[0].selected && !list.solids[1].selected);
    assert_eq!(
        list.solids[0].colour,
        [0xF5, 0xD9, 0x0A],
        "seeds are yellow"
    );
    assert_eq!(list.solids[1].colour, [0xFF, 0x5C, 0x55], "targets are red");
    assert!(matches!(
        list.solids[1].shape,
        SolidShape::Sphere { radius_mm: 6.0, .. }
    ));
    let head = &state.document.tensors.as_ref().unwrap().mask;
    assert_eq!(list.outline.as_ref().unwrap().mask.0.id(), head.id());
    update(&mut state, Action::View(ViewAction::ToggleOutline));
    assert!(scene::scene(&state, size).outline.is_none());
    // Slices hide streamlines: off in Track, unless a region is to be placed on them.
    assert!(scene::scene(&state, size).slices.is_empty());
    update(
        &mut state,
        Action::View(ViewAction::SetTool(Tool::NewRegion {
            role: Role::Seed,
            cube: false,
        })),
    );
    assert_eq!(scene::scene(&state, size).slices.len(), 3);
    update(
        &mut state,
        Action::View(ViewAction::SetTool(Tool::Crosshair)),
    );
    update(&mut state, Action::View(ViewAction::ToggleSlicesInScene));
    assert_eq!(scene::scene(&state, size).slices.len(), 3);
    update(&mut state, Action::View(ViewAction::SelectTask(Task::View)));
    update(&mut state, Action::View(ViewAction::ToggleSlicesInScene));
    assert!(
        scene::scene(&state, size).slices.is_empty(),
        "each task has its own switch"
    );
    assert_eq!(scene::scene(&state, size).background, [0; 3]);
    update(&mut state, Action::View(ViewAction::ToggleTheme));
    assert_eq!(scene::scene(&state, size).background, [255; 3]);
}

fn output() -> curves::Output {
    let points = vec![
        [0.0, 0.0, 0.0],
        [0.0, 40.0, 0.0],
        [5.0, 0.0, 0.0],
        [5.0, 72.0, 0.0],
    ];
    let lines = Tractogram::new(points.clone(), vec![0, 2, 4]);
    curves::Output {
        kept: lines
            .clone()
            .with_per_point("fa", vec![0.4; 4])
            .with_per_streamline("length", vec![40.0, 72.0])
            .with_per_streamline("stop_end", vec![0.0, 5.0]),
        missed: Tractogram::new(points, vec![0, 2, 4]),
        missed_every: 7,
        seed_outcomes: [2, 14, 0, 0, 0, 0, 0, 0],
        stops: [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        per_target: vec![2],
        steps: 100,
        kernel_s: None,
        starts: None,
        tissue_doubt: None,
    }
}

fn colours_streamlines() {
    let mut state = state();
    add_live(&mut state, output());
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    let mut coloured = |colouring: LineColouring| {
        state.document.track.streamline_display.line_colouring = colouring;
        let list = scene::scene(&state, size);
        let on_slice = scene::slice(&state, Pane::Axial, size).unwrap();
        assert_eq!(
            list.lines[0].colour, on_slice.lines[0].colour,
            "the same on slices"
        );
        list.lines[0].colour.clone()
    };
    let scalar = |name: &str, range, colour_map| LineColour::Scalar {
        name: name.to_owned(),
        range,
        colour_map,
        logarithmic: false,
        limits: None,
    };
    assert_eq!(coloured(LineColouring::Direction), LineColour::Direction);
    assert_eq!(
        coloured(LineColouring::Fixed([1, 2, 3])),
        LineColour::Fixed([1, 2, 3])
    );
    assert_eq!(
        coloured(LineColouring::Fa),
        scalar("fa", (0.1, 0.8), ColourMap::Viridis)
    );
    let length = scalar("length", (40.0, 80.0), ColourMap::Viridis);
    assert_eq!(
        coloured(LineColouring::Length),
        length,
        "whole centimetres around 40 to 72 mm"
    );
    let stops = scalar("stop_end", (0.0, 16.0), ColourMap::Stops);
    assert_eq!(coloured(LineColouring::StopReason), stops);
    // A reason's number gets its own colour.
    assert_eq!(ColourMap::Stops.at(0.0), [0x2B, 0xB6, 0x8A]);
    assert_eq!(ColourMap::Stops.at(5.0 / 16.0), [0xE6, 0x9F, 0x00]);

    // A file without values is coloured by direction, at any setting.
    let bare = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]);
    for colouring in [
        LineColouring::Fa,
        LineColouring::Length,
        LineColouring::StopReason,
    ] {
        let mut display = display::line_display();
        display.line_colouring = colouring;
        assert_eq!(scene::line_colour(&bare, &display), LineColour::Direction);
    }
}

/// Both ends are marked in all views where colours are stop reasons, by the kind of the end; with anatomical rules,
/// invalid ends are larger.
fn marks_ends() {
    let mut state = state();
    add_live(&mut state, output());
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    let colouring = |state: &mut State, colouring| {
        state.document.track.streamline_display.line_colouring = colouring;
    };
    colouring(&mut state, LineColouring::Direction);
    assert!(scene::scene(&state, size).ends.is_empty());
    colouring(&mut state, LineColouring::StopReason);
    let marks = |state: &State| {
        let [in_scene] = &scene::scene(state, size).ends[..] else {
            panic!("one set of marks");
        };
        let slice = scene::slice(state, Pane::Axial, size).unwrap();
        assert_eq!(
            slice.ends,
            std::slice::from_ref(in_scene),
            "the same on slices"
        );
        let live = state.runtime.track.live.value().unwrap();
        assert_eq!(in_scene.tractogram.0.id(), live.output.kept.id());
        assert_eq!(in_scene.values, ["stop_start", "stop_end"]);
        in_scene.marks.clone()
    };
    let mark_of = |marks: &[Option<scene::draw_list::Mark>], reason: StopReason| {
        marks[reason as usize].expect("a mark")
    };
    let plain = marks(&state);
    assert_eq!(plain.len(), StopReason::COUNT);
    for (reason, shape) in [
        (StopReason::CorticalGrey, MarkShape::Disc),
        (StopReason::DeepGrey, MarkShape::Disc),
        (StopReason::LowAmplitude, MarkShape::Diamond),
        (StopReason::LowFa, MarkShape::Diamond),
        (StopReason::EnteredCsf, MarkShape::Square),
        (StopReason::MaxLength, MarkShape::Triangle),
        (StopReason::LeftVolume, MarkShape::Triangle),
    ] {
        let mark = mark_of(&plain, reason);
        assert_eq!(mark.shape, shape, "{reason:?}");
        assert_eq!(mark.colour, ColourMap::STOP_COLOURS[reason as usize]);
    }
    assert!(plain[StopReason::Seed as usize].is_none(), "no end");
    // No rules: no end is larger.
    let radius = |marks: &[_], reason| mark_of(marks, reason).radius_px;
    let valid = radius(&plain, StopReason::CorticalGrey);
    assert_eq!(radius(&plain, StopReason::EnteredCsf), valid);
    let mut ruled = output();
    let stops = vec![f32::from(StopReason::DeepGrey as u8), 5.0];
    ruled.kept = ruled.kept.with_per_streamline("stop_end", stops);
    add_live(&mut state, ruled);
    let ruled = marks(&state);
    assert_eq!(radius(&ruled, StopReason::CorticalGrey), valid);
    for reason in [StopReason::EnteredCsf, StopReason::LowAmplitude] {
        assert!((radius(&ruled, reason) / valid - 1.4).abs() < 1e-5);
    }
}

/// The legend has the reasons of both ends, with the shapes of their marks; a seed is an end of no streamline.
fn legend_of_ends() {
    let mut state = state();
    let [seed, low_fa, csf] = [StopReason::Seed, StopReason::LowFa, StopReason::EnteredCsf]
        .map(|reason| f32::from(reason as u8));
    let mut both = output();
    let kept = both.kept.with_per_streamline("stop_start", vec![csf, seed]);
    both.kept = kept.with_per_streamline("stop_end", vec![low_fa, low_fa]);
    add_live(&mut state, both);
    state.document.track.streamline_display.line_colouring = LineColouring::StopReason;
    let [Legend::Classes(reasons)] = &of_scene(&state)[..] else {
        panic!("one legend");
    };
    let shown: Vec<_> = reasons
        .iter()
        .map(|(name, _, mark)| (&**name, *mark))
        .collect();
    let expected = [
        (StopReason::LowFa.label(), Some(MarkShape::Diamond)),
        (StopReason::EnteredCsf.label(), Some(MarkShape::Square)),
    ];
    assert_eq!(shown, expected);
}

/// Each layer with a different colouring has a legend, one of two bars with the layer's name.
fn legends_of_layers() {
    let mut state = state();
    add_live(&mut state, output());
    state.document.track.streamline_display.line_colouring = LineColouring::Direction;
    let keep = |state: &mut State, name: &str, window| {
        let lines = Tractogram::new(vec![[0.0; 3], [9.0; 3]], vec![0, 2]);
        let lines = lines.with_per_streamline("measure", vec![1.5]);
        let display = Display {
            line_colouring: LineColouring::Measure,
            window,
            ..display::line_display()
        };
        add_layer(state, name, Content::Tractogram(lines), display);
    };
    let names = |state: &State| {
        let all = of_scene(state).into_iter().map(|legend| match legend {
            Legend::Bar { name, .. } => name,
            Legend::Dec => "directions".to_owned(),
            Legend::Classes(_) => "stops".to_owned(),
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(names(&state), ["directions"]);
    keep(&mut state, "Kept", (1.0, 2.0));
    assert_eq!(names(&state), ["directions", "CM"]);
    keep(&mut state, "Kept 2", (1.0, 4.0));
    keep(&mut state, "Kept 3", (1.0, 2.0));
    assert_eq!(
        names(&state),
        ["directions", "Kept and Kept 3 · CM", "Kept 2 · CM"]
    );
}

fn missed_with_targets() {
    let mut state = state();
    add_live(&mut state, output());
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    assert_eq!(scene::scene(&state, size).lines.len(), 1);
    add_sphere(&mut state, Role::Target, DVec3::ZERO, 5.0);
    add_sphere(&mut state, Role::Seed, DVec3::ZERO, 5.0);
    let opacities = |state: &State| {
        let lines = scene::scene(state, size).lines;
        let grey = |l: &&Lines| matches!(l.colour, LineColour::Fixed(_));
        let missed = lines.iter().find(grey).expect("the missed ones").opacity;
        let kept = lines.iter().find(|l| !grey(l)).expect("the kept ones");
        (lines.len(), kept.opacity, missed)
    };
    // These curves were computed without the target: all are dimmed until those computed with it arrive.
    let (count, kept, missed) = opacities(&state);
    let dim = display::STALE_OPACITY;
    assert!(dim < 1.0 && count == 2, "{dim} {count}");
    assert!((kept - dim).abs() < 1e-6 && (missed - 0.24 * dim).abs() < 1e-6);
    add_live(&mut state, output());
    let (count, kept, missed) = opacities(&state);
    assert_eq!((count, kept), (2, 1.0));
    assert!((missed - 0.24).abs() < 1e-6, "{missed}");
    assert_eq!(
        scene::slice(&state, Pane::Axial, size).unwrap().lines.len(),
        1
    );
    state.document.track.streamline_display.visible = false;
    assert!(scene::scene(&state, size).lines.is_empty());
}

fn quads_cross() {
    let mut state = state();
    update(&mut state, Action::View(ViewAction::SelectTask(Task::View)));
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    let (low, high) = state.document.bounds();
    let quads = scene::scene(&state, size).slices;
    for (axis, quad) in quads.iter().enumerate() {
        let crosshair = state.view.crosshair;
        assert_eq!(quad.origin[axis], crosshair[axis]);
        let normal = quad.edge_u.cross(quad.edge_v).normalize();
        near(normal.abs(), DVec3::AXES[axis], 1e-12);
        let far = quad.origin + quad.edge_u + quad.edge_v;
        for a in (0..3).filter(|&a| a != axis) {
            assert_eq!((quad.origin[a], far[a]), (low[a], high[a]));
        }
        assert!(quad.cut_out.is_some());
        assert_eq!(quad.images.len(), 1);
        assert_eq!(quad.images[0].volume.0.kind, VolumeKind::Scalar);
    }
}

fn panes_fill() {
    let mut random = Random::fresh("panes");
    for _ in 0..50 {
        let corner = pos2(random.uniform(0.0, 90.0) as f32, 44.0);
        let extent = egui::vec2(
            random.uniform(500.0, 2500.0) as f32,
            random.uniform(400.0, 1400.0) as f32,
        );
        let area = Rect::from_min_size(corner, extent);
        for layout in [
            arcuate::state::Layout::Grid,
            arcuate::state::Layout::SceneFirst,
        ] {
            let panes = layout::panes(layout, Pane::Axial, area, 2.0);
            assert_eq!(panes.len(), 4);
            let covered: f32 = panes.iter().map(|p| p.1.area()).sum();
            // Two gaps of two points, give or take a pixel.
            let most = 5.0 * (area.width() + area.height());
            assert!(covered < area.area() && covered > area.area() - most);
            for (i, (_, a)) in panes.iter().enumerate() {
                assert!(area.expand(0.5).contains_rect(*a));
                for (_, b) in &panes[i + 1..] {
                    assert!(!a.intersects(*b));
                    let gap = a.gap_to(b);
                    assert!(gap >= 1.5, "{gap}");
                }
            }
            let panes: Vec<Rect> = panes.iter().map(|p| p.1).collect();
            let rest = layout::between(area, &panes);
            for _ in 0..100 {
                // Panes begin and end at halves.
                let at = [extent.x, extent.y].map(|n| random.uniform(0.0, n.into()).ceil() as f32);
                let at = (corner + egui::Vec2::from(at)).round() + egui::Vec2::splat(0.23);
                let in_one = panes.iter().chain(&rest).filter(|r| r.contains(at)).count();
                assert_eq!(in_one, usize::from(area.contains(at)), "{at}");
            }
        }
        let single = layout::panes(arcuate::state::Layout::Single, Pane::Scene, area, 2.0);
        assert_eq!(single[0].0, Pane::Scene);
        assert!((single[0].1.area() - area.area()).abs() < area.width() + area.height());
    }
}

trait Distance {
    fn gap_to(&self, other: &Rect) -> f32;
}

impl Distance for Rect {
    /// The gap between two rectangles that do not overlap.
    fn gap_to(&self, other: &Rect) -> f32 {
        let x = (other.left() - self.right()).max(self.left() - other.right());
        let y = (other.top() - self.bottom()).max(self.top() - other.bottom());
        x.max(y)
    }
}

fn masks_have_one_image() {
    let grid = grid(AffineSource::Sform);
    let n = grid.voxel_count();
    let mask = Mask::new(
        grid,
        (0..n).map(|i| u8::from(i % 3 == 0)).collect::<Vec<u8>>(),
    );
    let clone = mask.clone();
    assert_eq!(
        mask.image().id(),
        clone.image().id(),
        "made once for all clones"
    );
    let values = &mask.image().values;
    assert!((0..n).all(|i| values[i] == f32::from(mask.inside[i])));
    let (low, high) = mask.bounds_inside().unwrap();
    let (outer_low, outer_high) = mask.grid.bounds();
    near(low, outer_low, 1e-9);
    near(high, outer_high, 1e-9);
}

/// With half a million points the window searches none itself, requests once, and shows all until the answer arrives.
fn many_stopped() {
    const COUNT: usize = 6000;
    let reason = StopReason::LowFa;
    let mut state = state();
    let points: Vec<[f32; 3]> = (0..COUNT * 100)
        .map(|i| [(i % 100) as f32, 0.0, 0.0])
        .collect();
    let offsets: Vec<u64> = (0..=COUNT as u64).map(|i| 100 * i).collect();
    let ends = (0..COUNT).map(|i| {
        if i % 3 == 0 {
            reason
        } else {
            StopReason::Angle
        }
    });
    let ends: Vec<f32> = ends.map(|r| f32::from(r as u8)).collect();
    let kept = Tractogram::new(points, offsets).with_per_streamline("stop_end", ends);
    // Without a seed there is no live result.
    add_sphere(&mut state, Role::Seed, DVec3::ZERO, 5.0);
    add_live(&mut state, curves::Output { kept, ..output() });
    let drawn = |state: &State| {
        let size = Size {
            points: dvec2(300.0, 300.0),
            pixels_per_point: 1.0,
        };
        scene::scene(state, size).lines[0].tractogram.0.len()
    };
    let mut requested = update(&mut state, Action::View(ViewAction::ShowStop(Some(reason))));
    assert!(update(&mut state, Action::View(ViewAction::ToggleCrosshair)).is_empty());
    assert_eq!(drawn(&state), COUNT);
    let Some(Effect::Submit(request)) = requested.pop() else {
        panic!("nothing is asked for")
    };
    assert_eq!((request.slot(), requested.len()), (STOPPED, 0));
    let backend = Backend::choose(&BackendChoice::cpu(Some(1))).unwrap();
    let mut jobs = Jobs::new(backend, Arc::new(|| {}));
    let job = jobs.submit(request);
    let event = jobs.wait(&job, |_| {});
    assert!(update(&mut state, Action::Event(event)).is_empty());
    assert_eq!(drawn(&state), COUNT / 3);
    update(&mut state, Action::View(ViewAction::ShowStop(None)));
    assert_eq!(drawn(&state), COUNT);
}
