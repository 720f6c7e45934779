//! Regions that follow their controls, and their files.

use crate::support::{Random, Window, opened_event, opened_file, test};
use arcuate::data::{Grid, Role, Shape, Volume};
use arcuate::solvers::region::{Change, Combine, LabelCount};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::regions::brush::measured;
use arcuate::state::regions::jobs::make::REGION;
use arcuate::state::regions::types::RegionSource;
use arcuate::state::{
    Action, Content, Effect, FilesAction, LayerId, Phase, RegionAction, State, Tool, ViewAction,
    update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "region::a threshold follows its slider as one step",
            threshold_follows,
        ),
        test(
            "region::a fill joins the selected region and follows",
            fill_follows,
        ),
        test(
            "region::growing starts from the previous region",
            change_from_base,
        ),
        test("region::two regions are put together in one step", combined),
        test(
            "region::regions go through a label map and back",
            label_map_and_back,
        ),
        test("region::a duplicate is a separate region", duplicate),
        test(
            "region::results of a closed tool are discarded",
            late_results,
        ),
        test("region::regions keep their order through undo", order),
    ]
}

trait MakesRegions {
    fn make(&mut self, source: RegionSource, phase: Phase);
    fn open(&mut self, path: &str, volume: Volume) -> LayerId;
    fn numbered(&self) -> Vec<LabelCount>;
    fn count(&self) -> usize;
}

impl MakesRegions for Window {
    fn make(&mut self, source: RegionSource, phase: Phase) {
        self.act(Action::Region(RegionAction::Make { source, phase }));
    }

    fn open(&mut self, path: &str, volume: Volume) -> LayerId {
        let event = opened_event(0, opened_file(path, Loaded::Image(volume)));
        self.act(Action::Event(event));
        self.state.document.layers.last().unwrap().id
    }

    /// All numbers of the label map counted last.
    fn numbered(&self) -> Vec<LabelCount> {
        let labels = self.state.runtime.regions.labels.clone().unwrap();
        labels.numbers.unwrap().unwrap().0.clone()
    }

    fn count(&self) -> usize {
        match &*self.state.document.regions.last().unwrap().shape {
            Shape::Mask(mask) => mask.count(),
            _ => panic!("a mask"),
        }
    }
}

const N: usize = 30;

/// An image of the distance from the middle, and its layer.
fn window() -> (Window, LayerId) {
    let mut window = Window::new();
    let grid = Arc::new(Grid::axis_aligned([N; 3], DVec3::ONE, DVec3::ZERO).unwrap());
    let far = |i: usize| {
        let v = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        v.distance(DVec3::splat(15.0)) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(far).collect();
    let layer = window.open("/data/far.nii", Volume::scalar(grid.clone(), values));
    (window, layer)
}

/// Number of voxels with centres this near to the middle.
fn ball(radius: f64) -> usize {
    let n = N as i64;
    let near = |x: i64, y: i64, z: i64| {
        DVec3::new((x - 15) as f64, (y - 15) as f64, (z - 15) as f64).length() <= radius
    };
    let all = (0..n).flat_map(|z| (0..n).flat_map(move |y| (0..n).map(move |x| (x, y, z))));
    all.filter(|&(x, y, z)| near(x, y, z)).count()
}

fn threshold_follows() {
    let (mut window, layer) = window();
    assert!(measured::image(&window.state).is_some());
    window.act(Action::View(ViewAction::SetTool(Tool::Threshold)));
    let threshold = |high: f32| RegionSource::Threshold {
        layer,
        frame: 0,
        low: 0.0,
        high,
    };
    for (i, high) in [4.0, 5.0, 6.0, 7.0].into_iter().enumerate() {
        let phase = if i == 3 { Phase::Done } else { Phase::Live };
        window.make(threshold(high), phase);
        assert_eq!(window.count(), ball(f64::from(high)));
        assert_eq!(window.state.document.regions.len(), 1);
    }
    assert_eq!(window.state.document.regions[0].role, Role::Region);
    window.act(Action::Undo);
    assert!(window.state.document.regions.is_empty(), "one step");
    window.act(Action::Redo);
    assert_eq!(window.count(), ball(7.0));
    // Deselected and selected again the tool makes another region.
    window.act(Action::View(ViewAction::SetTool(Tool::Crosshair)));
    window.act(Action::View(ViewAction::SetTool(Tool::Threshold)));
    window.make(threshold(3.0), Phase::Done);
    assert_eq!(window.state.document.regions.len(), 2);
    window.act(Action::Undo);
    assert_eq!(window.state.document.regions.len(), 1);
}

fn fill_follows() {
    let (mut window, layer) = window();
    window.act(Action::View(ViewAction::SetTool(Tool::Fill)));
    let fill = |tolerance: f32, seed: DVec3, erase: bool| RegionSource::Fill {
        layer,
        frame: 0,
        seed,
        tolerance,
        max_ml: 100.0,
        erase,
    };
    let middle = DVec3::splat(15.0);
    window.make(fill(4.0, middle, false), Phase::Done);
    assert_eq!(window.count(), ball(4.0));
    for tolerance in [6.0, 8.0, 5.0] {
        window.make(fill(tolerance, middle, false), Phase::Live);
        assert_eq!(
            window.count(),
            ball(f64::from(tolerance)),
            "from the region before the click"
        );
    }
    // Another click adds to it.
    let corner = dvec3(15.0, 15.0, 23.0);
    window.make(fill(0.4, corner, false), Phase::Done);
    let with_shell = window.count();
    assert!(with_shell > ball(5.0));
    assert_eq!(window.state.document.regions.len(), 1);
    // The right button removes similar voxels.
    window.make(fill(0.4, corner, true), Phase::Done);
    assert_eq!(window.count(), ball(5.0));
    let steps: Vec<usize> = (0..3)
        .map(|_| {
            window.act(Action::Undo);
            window.state.document.regions.len()
        })
        .collect();
    assert_eq!(
        steps,
        [1, 1, 0],
        "a step for each click, not for the slider"
    );
}

fn change_from_base() {
    let (mut window, layer) = window();
    let phase = Phase::Done;
    window.make(
        RegionSource::Threshold {
            layer,
            frame: 0,
            low: 0.0,
            high: 6.0,
        },
        phase,
    );
    window.act(Action::View(ViewAction::SetTool(Tool::Change)));
    let change = |grow_mm: f64, smooth_mm: f64| {
        RegionSource::Change(Change {
            grow_mm,
            smooth_mm,
            ..Change::defaults()
        })
    };
    for (grow, expected) in [(2.0, 8.0), (5.0, 11.0), (-3.0, 3.0)] {
        window.make(change(grow, 0.0), Phase::Live);
        let (found, ball) = (window.count() as f64, ball(expected) as f64);
        assert!(
            (found / ball - 1.0).abs() < 0.35,
            "{grow}: {found}, a ball has {ball}"
        );
    }
    window.make(change(0.0, 0.0), Phase::Done);
    assert_eq!(window.count(), ball(6.0), "at zero it is unchanged");
    window.make(change(3.0, 0.0), Phase::Done);
    let grown = window.count();
    window.act(Action::View(ViewAction::SetTool(Tool::Crosshair)));
    window.act(Action::View(ViewAction::SetTool(Tool::Change)));
    window.make(change(-3.0, 0.0), Phase::Done);
    assert!(window.count() < grown);
    window.act(Action::Undo);
    assert_eq!(
        window.count(),
        grown,
        "the tool was put away in between: two steps"
    );
    window.act(Action::Undo);
    assert_eq!(window.count(), ball(6.0));
}

fn combined() {
    let (mut window, layer) = window();
    let phase = Phase::Done;
    window.make(
        RegionSource::Threshold {
            layer,
            frame: 0,
            low: 0.0,
            high: 8.0,
        },
        phase,
    );
    let first = window.state.runtime.regions.selected.unwrap();
    let shape = Shape::Sphere {
        centre: dvec3(15.0, 15.0, 23.0),
        radius_mm: 5.0,
    };
    window.act(Action::Region(RegionAction::Add {
        role: Role::Exclude,
        shape: shape.clone(),
    }));
    let other = window.state.runtime.regions.selected.unwrap();
    let inside = |window: &Window| {
        let region = window.state.document.region(first).unwrap().clone();
        move |p: DVec3| region.shape.contains(p)
    };
    for operation in Combine::ALL {
        window.act(Action::Region(RegionAction::Select(Some(first))));
        window.act(Action::View(ViewAction::SetTool(Tool::Change)));
        window.make(RegionSource::Combine { operation, other }, phase);
        let now = inside(&window);
        for i in 0..N * N * N {
            let v = [i % N, i / N % N, i / (N * N)];
            let p = DVec3::from_array(v.map(|v| v as f64));
            let (a, b) = (p.distance(DVec3::splat(15.0)) <= 8.0, shape.contains(p));
            let expected = match operation {
                Combine::Union => a || b,
                Combine::Intersection => a && b,
                Combine::Difference => a && !b,
            };
            assert_eq!(now(p), expected, "{operation:?} at {p}");
        }
        assert!(
            window.state.document.region(other).is_some(),
            "the other stays"
        );
        window.act(Action::Undo);
    }
}

fn label_map_and_back() {
    let mut random = Random::fresh("label map");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut window, _) = window();
    let names = [0.0, 3.0, 5.0, 8.0, 21.0];
    let grid = window.state.document.layers[0]
        .content
        .volume()
        .unwrap()
        .grid
        .clone();
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|_| names[random.bits() as usize % 5])
        .collect();
    let layer = window.open("/data/atlas.nii", Volume::scalar(grid.clone(), values));
    window.act(Action::Region(RegionAction::CountLabels(layer)));
    let labels = window.numbered();
    window.act(Action::Region(RegionAction::FromLabels {
        labels,
        role: Role::Include,
    }));
    let regions = &window.state.document.regions;
    let found: Vec<&str> = regions.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(found, ["atlas 3", "atlas 5", "atlas 8", "atlas 21"]);
    let sets = |state: &State| -> Vec<Vec<[usize; 3]>> {
        let voxels = |shape: &Shape| match shape {
            Shape::Mask(mask) => mask.on_whole_grid().voxels_inside().collect(),
            _ => panic!("a mask"),
        };
        state
            .document
            .regions
            .iter()
            .map(|r| voxels(&r.shape))
            .collect()
    };
    let before = sets(&window.state);

    let path = folder.path().join("all.nii.gz");
    window.act(Action::Region(RegionAction::SaveAll {
        path: path.clone(),
        as_labels: true,
    }));
    assert!(
        window.state.runtime.notices.messages.is_empty(),
        "{:?}",
        window.state.runtime.notices.messages
    );
    // Under their original numbers.
    let table = std::fs::read_to_string(folder.path().join("all.txt")).unwrap();
    assert!(table.contains("5 204 121 167 1 1 1 \"atlas 5\""), "{table}");
    let (mut repeated, _) = self::window();
    repeated.act(Action::Files(FilesAction::Open(vec![path])));
    let opened = repeated.state.document.layers.last().unwrap();
    assert!(matches!(opened.content, Content::Image(_)));
    let layer = opened.id;
    repeated.act(Action::Region(RegionAction::CountLabels(layer)));
    let labels = repeated.numbered();
    let numbers: Vec<i64> = labels.iter().map(|found| found.number).collect();
    assert_eq!(numbers, [3, 5, 8, 21]);
    repeated.act(Action::Region(RegionAction::FromLabels {
        labels: labels.clone(),
        role: Role::Target,
    }));
    assert_eq!(sets(&repeated.state), before);
    // A region without a source gets a free number; where two have the same, all are renumbered.
    let rows = |window: &mut Window, name: &str| {
        let path = folder.path().join(format!("{name}.nii.gz"));
        let as_labels = true;
        window.act(Action::Region(RegionAction::SaveAll { path, as_labels }));
        let table = std::fs::read_to_string(folder.path().join(format!("{name}.txt"))).unwrap();
        let number = |row: &str| row.split(' ').next().unwrap().to_owned();
        table.lines().skip(1).map(number).collect::<Vec<_>>()
    };
    let first = repeated.state.document.regions[0].id;
    repeated.act(Action::Region(RegionAction::Duplicate(first)));
    assert_eq!(rows(&mut repeated, "free"), ["1", "3", "5", "8", "21"]);
    repeated.act(Action::Region(RegionAction::FromLabels {
        labels: labels[..1].to_vec(),
        role: Role::Target,
    }));
    assert_eq!(rows(&mut repeated, "twice"), ["1", "2", "3", "4", "5", "6"]);
    let status = &repeated.state.runtime.notices.status;
    assert!(status.contains("since two had the same number"), "{status}");

    // The regions as masks, one file each.
    let path = folder.path().join("each.nii.gz");
    window.act(Action::Region(RegionAction::SaveAll {
        path,
        as_labels: false,
    }));
    for (i, name) in ["atlas_3", "atlas_5", "atlas_8", "atlas_21"]
        .iter()
        .enumerate()
    {
        let file = folder.path().join(format!("each_{name}.nii.gz"));
        let (mask, _) = arcuate::io::mask_on_own_grid(&file).unwrap();
        assert!(mask.grid.same_space(&grid, 1e-4), "on the image's grid");
        assert_eq!(mask.voxels_inside().collect::<Vec<_>>(), before[i]);
    }
    window.act(Action::Undo);
    assert!(
        window.state.document.regions.is_empty(),
        "all labels are one step"
    );
    names_of_files();
}

fn names_of_files() {
    let names = ["A b", "a_B", "Å/1", "a b 2"].map(str::to_owned);
    let files = arcuate::state::SaveMasks::files(Path::new("/x/r.nii.gz"), &names);
    let set: BTreeMap<_, _> = files.iter().map(|f| (f, 1)).collect();
    assert_eq!(set.len(), 4, "no two regions share a file: {files:?}");
    assert_eq!(files[0], Path::new("/x/r_a_b.nii.gz"));
    assert_eq!(files[1], Path::new("/x/r_a_b_2.nii.gz"));
}

fn duplicate() {
    let (mut window, layer) = window();
    let phase = Phase::Done;
    window.make(
        RegionSource::Threshold {
            layer,
            frame: 0,
            low: 0.0,
            high: 5.0,
        },
        phase,
    );
    let id = window.state.runtime.regions.selected.unwrap();
    window.act(Action::Region(RegionAction::Duplicate(id)));
    let regions = &window.state.document.regions;
    assert_eq!(
        (regions.len(), regions[1].name.as_str()),
        (2, "Region copy")
    );
    window.act(Action::View(ViewAction::SetTool(Tool::Change)));
    let grown = Change {
        grow_mm: 3.0,
        ..Change::defaults()
    };
    window.make(RegionSource::Change(grown), phase);
    assert!(window.count() > ball(5.0));
    let Shape::Mask(first) = &*window.state.document.region(id).unwrap().shape else {
        panic!("a mask");
    };
    assert_eq!(first.count(), ball(5.0), "the first is left alone");
}

fn late_results() {
    let (mut window, layer) = window();
    let source = RegionSource::Threshold {
        layer,
        frame: 0,
        low: 0.0,
        high: 5.0,
    };
    let phase = Phase::Live;
    window.act(Action::View(ViewAction::SetTool(Tool::Threshold)));
    let effects = update(
        &mut window.state,
        Action::Region(RegionAction::Make {
            source: source.clone(),
            phase,
        }),
    );
    let [Effect::Submit(request)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    // During the run another value is requested: no second job, but one after it.
    let next = RegionSource::Threshold {
        layer,
        frame: 0,
        low: 0.0,
        high: 6.0,
    };
    let none = update(
        &mut window.state,
        Action::Region(RegionAction::Make {
            source: next,
            phase,
        }),
    );
    assert!(none.is_empty(), "{none:?}");
    let job = window.jobs.submit(request.clone());
    let event = window.jobs.wait(&job, |_| {});
    let effects = update(&mut window.state, Action::Event(event.clone()));
    assert_eq!(window.count(), ball(5.0));
    let requests = effects
        .iter()
        .filter(|e| matches!(e, Effect::Submit(_)))
        .count();
    assert_eq!(requests, 1, "{effects:?}");
    // The tool is deselected: the result in progress arrives too late.
    let effects = update(&mut window.state, Action::Escape);
    assert!(effects.iter().any(|e| matches!(e, Effect::Cancel(REGION))));
    let before = window.count();
    update(&mut window.state, Action::Event(event));
    assert_eq!(window.count(), before);
    // Undo in the middle does the same.
    window.act(Action::View(ViewAction::SetTool(Tool::Threshold)));
    window.make(source, phase);
    window.act(Action::Undo);
    assert!(window.state.runtime.regions.making.is_none());
}

fn order() {
    let (mut window, _) = window();
    for i in 0..6 {
        let centre = DVec3::splat(5.0 + i as f64);
        let shape = Shape::Sphere {
            centre,
            radius_mm: 2.0,
        };
        window.act(Action::Region(RegionAction::Add {
            role: Role::Include,
            shape,
        }));
    }
    let ids = |state: &State| -> Vec<_> { state.document.regions.iter().map(|r| r.id).collect() };
    let first = ids(&window.state);
    window.act(Action::Region(RegionAction::Move {
        region: first[5],
        index: 0,
    }));
    window.act(Action::Region(RegionAction::Move {
        region: first[1],
        index: 99,
    }));
    let expected = [5, 0, 2, 3, 4, 1].map(|i: usize| first[i]);
    assert_eq!(ids(&window.state), expected);
    window.act(Action::Region(RegionAction::Move {
        region: first[1],
        index: 5,
    }));
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(
        ids(&window.state),
        first,
        "a move to where it is is not a step"
    );
}
