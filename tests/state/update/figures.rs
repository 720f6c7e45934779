//! Figures of images in regions, masks and pathways; drawings that are copied, limited to values and interpolated.

use crate::support::session_window::Window;
use crate::support::{test, wait_for};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Role, Shape, Stroke, Volume, VolumeKind};
use arcuate::io::nifti;
use arcuate::solvers::region::{Change, Connectivity, SliceAxis, ValueStatistics};
use arcuate::state::core::live::{LAG, Standing};
use arcuate::state::figures::jobs::MeasureFigures;
use arcuate::state::regions::types::RegionSource;
use arcuate::state::update::{figures_command, region_change_command};
use arcuate::state::{
    Action, Content, Drawing, Effect, FigureAction, FigureSubject, FigureTable, FilesAction,
    LayerAction, LayerId, Phase, RegionAction, State, Tool, ViewAction, update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::figures follow a region that is moved", follow),
        test(
            "update::figures are dimmed until the region is measured again",
            stale,
        ),
        test("update::figures follow the selection", selection),
        test("update::figures of every volume are exported", volumes),
        test("update::figures are copied and have a command", copied),
        test("update::figures without values give the reason", no_values),
        test(
            "update::a drawing is copied from slice to slice",
            copy_slice,
        ),
        test("update::the brush paints only a range of values", values),
        test(
            "update::islands, holes and slices in between are undone and stored",
            parts,
        ),
    ]
}

const N: usize = 24;

fn grid() -> Arc<Grid> {
    Arc::new(Grid::axis_aligned([N; 3], DVec3::splat(1.5), DVec3::ZERO).unwrap())
}

/// The value of the image at a place: linear along x.
fn value(at: DVec3) -> f64 {
    2.0 + 0.5 * at.x
}

/// A folder with `ramp.nii.gz`, with two volumes of which the second is ten times the first.
fn ramp(folder: &Path) -> PathBuf {
    let grid = grid();
    let values = |times: f64| {
        let grid = grid.clone();
        (0..grid.voxel_count()).map(move |i| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            (times * value(at)) as f32
        })
    };
    let values: Vec<f32> = values(1.0).chain(values(10.0)).collect();
    let volume = Volume::new(grid.clone(), 2, VolumeKind::Scalar, values);
    let path = folder.join("ramp.nii.gz");
    nifti::save_volume(&path, &volume, "made", &Control::new()).unwrap();
    path
}

/// A window with the ramp.
fn opened(folder: &Path) -> Window {
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![ramp(folder)])));
    assert_eq!(
        window.state.document.layers.len(),
        1,
        "{}",
        window.messages()
    );
    window
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

const CENTRE: DVec3 = DVec3::new(16.5, 16.5, 16.5);

fn shown(state: &State) -> &ValueStatistics {
    let (_, figures) = state.runtime.figures.live.shown().expect("figures");
    figures
}

fn subject(state: &State) -> FigureSubject {
    state.figure_subject().expect("a subject").0
}

fn first_region(state: &State) -> FigureSubject {
    FigureSubject::Region(state.document.regions[0].id)
}

fn follow() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.place(Role::Seed, CENTRE, 6.0);
    // Nothing is measured while the section is closed.
    assert!(window.state.runtime.figures.live.shown().is_none());
    window.act(Action::Figures(FigureAction::Show(true)));
    assert_eq!(subject(&window.state), first_region(&window.state));
    let before = shown(&window.state).clone();
    assert!((before.mean - value(CENTRE)).abs() < 1e-5, "{before:?}");
    assert!((before.median - value(CENTRE)).abs() < 1e-5);
    let region = window.state.document.regions[0].id;
    let moved = CENTRE + dvec3(3.0, 0.0, 0.0);
    for (phase, x) in [(Phase::Live, 1.5), (Phase::Done, 3.0)] {
        let shape = Shape::Sphere {
            centre: CENTRE + dvec3(x, 0.0, 0.0),
            radius_mm: 6.0,
        };
        let change = RegionAction::SetShape {
            region,
            shape,
            phase,
        };
        window.act(Action::Region(change));
        let expected = value(CENTRE + dvec3(x, 0.0, 0.0));
        assert!((shown(&window.state).mean - expected).abs() < 1e-5);
    }
    assert_eq!(window.state.figures_standing(), Some(Standing::Final));
    window.act(Action::Undo);
    assert!((shown(&window.state).mean - value(CENTRE)).abs() < 1e-5);
    window.act(Action::Redo);
    assert!((shown(&window.state).mean - value(moved)).abs() < 1e-5);
    // Another volume of the image, as soon as it is shown.
    let layer = window.state.document.layers[0].clone();
    let mut display = layer.display.clone();
    display.frame = 1;
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: layer.id,
        display,
        phase: Phase::Done,
    }));
    assert!((shown(&window.state).mean - 10.0 * value(moved)).abs() < 1e-4);
    window.act(Action::Figures(FigureAction::Show(false)));
    assert!(window.state.runtime.figures.live.shown().is_none());
}

/// The requested measurement, which is not carried out.
fn request(effects: &[Effect]) -> Option<&MeasureFigures> {
    effects.iter().find_map(|effect| effect.job())
}

fn stale() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.place(Role::Seed, CENTRE, 6.0);
    window.act(Action::Figures(FigureAction::Show(true)));
    let region = window.state.document.regions[0].id;
    let shape = |x: f64| Shape::Sphere {
        centre: CENTRE + dvec3(x, 0.0, 0.0),
        radius_mm: 6.0,
    };
    let change = |state: &mut State, x: f64| {
        let action = RegionAction::SetShape {
            region,
            shape: shape(x),
            phase: Phase::Live,
        };
        update(state, Action::Region(action))
    };
    let mut state = window.state.clone();
    let requested = Instant::now();
    let effects = change(&mut state, 1.5);
    assert!(request(&effects).is_some());
    assert_eq!(state.figures_standing(), Some(Standing::Updating));
    // The old figures stay, dimmed once they lag; the running measurement is finished before the next.
    let is_stale = state.figures_are_stale();
    assert!(!is_stale || requested.elapsed() > LAG);
    wait_for("figures that lag", || {
        state.figures_are_stale().then_some(())
    });
    assert!((shown(&state).mean - value(CENTRE)).abs() < 1e-5);
    let more = change(&mut state, 3.0);
    assert!(request(&more).is_none());
    // Figures of another region do not stand in for those of this one.
    let shape = shape(0.0);
    let role = Role::Target;
    update(
        &mut state,
        Action::Region(RegionAction::Add { role, shape }),
    );
    assert_eq!(
        subject(&state),
        FigureSubject::Region(state.document.regions[1].id)
    );
    assert_ne!(state.figures_standing(), Some(Standing::Final));
    assert!(state.shown_figures().is_none());
}

fn selection() {
    let folder = folder();
    let mut window = opened(folder.path());
    let inside = (0..N.pow(3)).map(|i| u8::from(i % N < 2));
    let mask = Mask::new(grid(), inside.collect::<Vec<u8>>());
    let path = folder.path().join("left.nii.gz");
    nifti::save_mask(&path, &mask, "made", &Control::new()).unwrap();
    window.act(Action::Files(FilesAction::Open(vec![path.clone()])));
    let layer: LayerId = window.state.document.layers[1].id;
    assert!(matches!(
        window.state.document.layers[1].content,
        Content::Mask(_)
    ));
    window.act(Action::Figures(FigureAction::Show(true)));
    assert_eq!(subject(&window.state), FigureSubject::Mask(layer));
    // The first two columns.
    let expected = 0.5 * (value(DVec3::ZERO) + value(dvec3(1.5, 0.0, 0.0)));
    assert!((shown(&window.state).mean - expected).abs() < 1e-5);
    let text = figures_command(&window.state).unwrap().text();
    assert!(
        text.contains("--union mask:") && text.contains("left.nii.gz"),
        "{text}"
    );
    window.place(Role::Seed, CENTRE, 6.0);
    assert_eq!(
        subject(&window.state),
        first_region(&window.state),
        "it was placed"
    );
    window.act(Action::Layer(LayerAction::Select(Some(layer))));
    assert_eq!(subject(&window.state), FigureSubject::Mask(layer));
    let region = window.state.document.regions[0].id;
    window.act(Action::Region(RegionAction::Select(Some(region))));
    assert_eq!(subject(&window.state), FigureSubject::Region(region));
    // A subject chosen in the section stays until the user selects something else.
    window.act(Action::Figures(FigureAction::Measure(FigureSubject::Mask(
        layer,
    ))));
    window.act(Action::View(ViewAction::MoveCrosshair(CENTRE)));
    assert_eq!(subject(&window.state), FigureSubject::Mask(layer));
    window.act(Action::Layer(LayerAction::Delete(layer)));
    assert_eq!(subject(&window.state), FigureSubject::Region(region));
}

fn volumes() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.place(Role::Seed, CENTRE, 6.0);
    window.act(Action::Figures(FigureAction::Show(true)));
    let path = folder.path().join("figures.csv");
    window.act(Action::Figures(FigureAction::Save {
        table: FigureTable::Statistics,
        path: path.clone(),
    }));
    let text = std::fs::read_to_string(&path).expect("written");
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    let heads = [
        "image",
        "volume",
        "voxels",
        "volume_ml",
        "values",
        "outside",
    ];
    assert_eq!((rows.len(), &rows[0][..6]), (3, &heads[..]));
    for (volume, times) in [(0, 1.0), (1, 10.0)] {
        let row = &rows[1 + volume];
        assert_eq!((row[0], row[1]), ("ramp", &*volume.to_string()));
        let mean: f64 = row[6].parse().unwrap();
        assert!((mean - times * value(CENTRE)).abs() < 1e-4, "{row:?}");
    }
    let path = folder.path().join("histogram.csv");
    window.act(Action::Figures(FigureAction::Save {
        table: FigureTable::Histograms,
        path: path.clone(),
    }));
    let text = std::fs::read_to_string(&path).expect("written");
    let voxels = |volume: &str| -> usize {
        let rows = text
            .lines()
            .skip(1)
            .map(|l| l.split(',').collect::<Vec<_>>());
        let own = rows.filter(|row| row[1] == volume);
        own.map(|row| row[4].parse::<usize>().unwrap()).sum()
    };
    let all = shown(&window.state).values;
    assert_eq!([voxels("0"), voxels("1")], [all, all]);
}

fn copied() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.place(Role::Seed, CENTRE, 6.0);
    window.act(Action::Figures(FigureAction::Copy));
    assert!(window.copied.is_empty());
    window.act(Action::Figures(FigureAction::Show(true)));
    window.act(Action::Figures(FigureAction::Copy));
    let text = &window.copied[0];
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
    assert_eq!((lines.len(), lines[0].len(), lines[1].len()), (2, 11, 11));
    let mean = lines[0].iter().position(|head| *head == "mean").unwrap();
    let mean: f64 = lines[1][mean].parse().unwrap();
    assert!((mean - value(CENTRE)).abs() < 1e-5);
    let command = figures_command(&window.state).unwrap().text();
    let image = folder.path().join("ramp.nii.gz");
    let expected = format!(
        "arcuate region --union sphere:16.5,16.5,16.5,6 --stats {} --csv figures.csv",
        image.display()
    );
    assert_eq!(command, expected);
    // A drawing is in no file.
    let region = window.state.document.regions[0].id;
    let role = Role::Seed;
    let region = Some(region);
    window.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    window.act(Action::Region(RegionAction::DrawInto { region, role }));
    paint(&mut window, CENTRE + dvec3(9.0, 0.0, 0.0));
    let command = figures_command(&window.state).unwrap();
    let why = command.no_command().expect("no command");
    assert!(why.contains("“Seed” is not in a file"), "{why}");
}

fn no_values() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.place(Role::Seed, dvec3(500.0, 0.0, 0.0), 6.0);
    window.act(Action::Figures(FigureAction::Show(true)));
    let live = &window.state.runtime.figures.live;
    let why = live.failure().expect("a reason");
    assert!(why.contains("contains no voxel"), "{why}");
    assert!(live.shown().is_none());
    // The section says so; a message would repeat it.
    assert_eq!(window.messages(), "");
    window.place(Role::Seed, CENTRE, 6.0);
    assert!((shown(&window.state).mean - value(CENTRE)).abs() < 1e-5);
}

fn stroke(at: DVec3) -> Stroke {
    Stroke {
        points: vec![at],
        radius_mm: 4.0,
        disc: Some(DVec3::Z),
    }
}

fn paint(window: &mut Window, at: DVec3) {
    window.act(Action::Region(RegionAction::Stroke {
        stroke: stroke(at),
        erase: false,
        begins: true,
        phase: Phase::Done,
    }));
}

fn drawn(window: &Window) -> Mask {
    match &*window.state.document.regions[0].shape {
        Shape::Mask(mask) => mask.clone(),
        _ => panic!("a mask"),
    }
}

/// Voxels in an axial slice.
fn in_slice(window: &Window, slice: usize) -> Vec<[usize; 2]> {
    let mask = drawn(window);
    let voxels = mask.voxels_inside().filter(|v| v[2] == slice);
    voxels.map(|v| [v[0], v[1]]).collect()
}

fn copy_slice() {
    let folder = folder();
    let mut window = opened(folder.path());
    let copy = |window: &mut Window, forward: bool| {
        let slices = SliceAxis::Axial;
        window.act(Action::Region(RegionAction::CopySlice { slices, forward }));
    };
    window.act(Action::View(ViewAction::MoveCrosshair(CENTRE)));
    window.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    copy(&mut window, true);
    assert!(window.state.document.regions.is_empty(), "nothing is drawn");
    paint(&mut window, CENTRE);
    let first = in_slice(&window, 11);
    assert!(!first.is_empty() && in_slice(&window, 12).is_empty());
    copy(&mut window, true);
    copy(&mut window, true);
    assert_eq!(
        [12, 13].map(|slice| in_slice(&window, slice)),
        [first.clone(), first.clone()]
    );
    // The crosshair goes with it.
    let at = window.state.view.crosshair;
    assert!((at - dvec3(16.5, 16.5, 19.5)).length() < 1e-9, "{at}");
    window.act(Action::Undo);
    assert!(in_slice(&window, 13).is_empty() && !in_slice(&window, 12).is_empty());
    // An empty slice is not copied, and what the next one holds stays.
    copy(&mut window, true);
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.contains("no voxel in this axial slice"), "{status}");
    window.act(Action::View(ViewAction::MoveCrosshair(CENTRE)));
    paint(&mut window, CENTRE - dvec3(0.0, 9.0, 1.5));
    let below = in_slice(&window, 10).len();
    copy(&mut window, false);
    assert_eq!(in_slice(&window, 10).len(), below + first.len());
    // At the end of the image nothing is copied.
    window.act(Action::View(ViewAction::MoveCrosshair(dvec3(
        16.5, 16.5, 34.5,
    ))));
    paint(&mut window, dvec3(16.5, 16.5, 34.5));
    let count = drawn(&window).count();
    copy(&mut window, true);
    assert_eq!(drawn(&window).count(), count);
}

fn values() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    let middle = value(CENTRE) as f32;
    let range = Some((middle, f32::INFINITY));
    let drawing = Drawing {
        range,
        ..window.state.view.drawing.clone()
    };
    window.act(Action::Region(RegionAction::SetDrawing(drawing)));
    paint(&mut window, CENTRE);
    let mask = drawn(&window);
    assert!(mask.count() > 4);
    // The middle column has the limit itself, which is included.
    let columns: Vec<usize> = mask.voxels_inside().map(|v| v[0]).collect();
    assert_eq!(columns.iter().min(), Some(&11));
    // Only outside the range: nothing is painted.
    paint(&mut window, CENTRE - dvec3(9.0, 0.0, 0.0));
    assert_eq!(drawn(&window).count(), mask.count());
    // The eraser removes whatever the values are.
    let all = Drawing {
        range: None,
        ..window.state.view.drawing.clone()
    };
    window.act(Action::Region(RegionAction::SetDrawing(all.clone())));
    paint(&mut window, CENTRE);
    assert!(drawn(&window).count() > mask.count());
    let limited = Drawing { range, ..all };
    window.act(Action::Region(RegionAction::SetDrawing(limited)));
    window.act(Action::Region(RegionAction::Stroke {
        stroke: stroke(CENTRE),
        erase: true,
        begins: true,
        phase: Phase::Done,
    }));
    assert_eq!(drawn(&window).count(), 0);
}

fn parts() {
    let folder = folder();
    let mut window = opened(folder.path());
    window.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    for z in [12.0, 24.0] {
        paint(&mut window, dvec3(16.5, 16.5, z));
    }
    // An island of one voxel.
    window.act(Action::Region(RegionAction::Stroke {
        stroke: Stroke {
            radius_mm: 0.5,
            ..stroke(dvec3(3.0, 3.0, 12.0))
        },
        erase: false,
        begins: true,
        phase: Phase::Done,
    }));
    let before = drawn(&window);
    let region = window.state.document.regions[0].id;
    window.act(Action::Region(RegionAction::Select(Some(region))));
    let change = Change {
        interpolate: Some(SliceAxis::Axial),
        only_largest: true,
        fill_holes: true,
        connectivity: Connectivity::Faces,
        ..Change::defaults()
    };
    let source = RegionSource::Change(change);
    let phase = Phase::Done;
    window.act(Action::Region(RegionAction::Make { source, phase }));
    let after = drawn(&window);
    // Nine equal discs from slice 8 to slice 16.
    let disc = in_slice(&window, 8).len();
    assert_eq!(
        (after.count(), in_slice(&window, 12).len()),
        (9 * disc, disc)
    );
    let line = region_change_command(&window.state).expect("a command");
    assert!(line.no_command().is_some(), "the drawing is in no file");
    let note = |window: &Window| {
        let making = window.state.runtime.regions.making.as_ref();
        making.and_then(|m| m.note.clone())
    };
    assert_eq!(note(&window), None);
    window.act(Action::Undo);
    assert_eq!(drawn(&window).inside, before.inside);
    window.act(Action::Redo);
    assert_eq!(drawn(&window).inside, after.inside);
    // From a file the command line gives the same voxels.
    window.act(Action::Undo);
    let file = folder.path().join("drawn.nii.gz");
    let path = file.clone();
    window.act(Action::Region(RegionAction::Save { region, path }));
    window.act(Action::Region(RegionAction::Select(None)));
    window.act(Action::Region(RegionAction::Select(Some(region))));
    window.act(Action::Region(RegionAction::Make {
        source: RegionSource::Change(change),
        phase,
    }));
    let line = region_change_command(&window.state).expect("a command");
    let expected = format!(
        "arcuate region --union mask:{} --interpolate axial --keep-largest --fill-holes --connectivity 6 --out \
         region.nii.gz",
        file.display()
    );
    assert_eq!(line.text(), expected);
    // Once the slices are filled there is nothing more to interpolate.
    window.act(Action::View(ViewAction::SetTool(Tool::Crosshair)));
    window.act(Action::Region(RegionAction::Make {
        source: RegionSource::Change(Change {
            interpolate: Some(SliceAxis::Axial),
            ..Change::defaults()
        }),
        phase,
    }));
    assert!(note(&window).is_some_and(|note| note.contains("Nothing to interpolate")));
    let session = folder.path().join("drawn.arcuate");
    window.save(&session);
    let reopened = Window::opened(&session);
    assert_eq!(
        drawn(&reopened).inside,
        after.inside,
        "{}",
        reopened.messages()
    );
}
