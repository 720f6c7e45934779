//! Commands on streamline files in pieces: the same results, and files with the same bytes, as with the whole file in
//! memory.

use super::jobs;
use crate::support::fields::cube;
use crate::support::{Random, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::region::RegionId;
use arcuate::data::{Region, Role, Shape, Tractogram, Volume};
use arcuate::io::pieces::Pieces;
use arcuate::io::{Reading, streamlines};
use arcuate::jobs::{JobError, Receive, save_with_values};
use arcuate::solvers::connectivity::{self, connectome};
use arcuate::solvers::curves::StopReason;
use arcuate::solvers::density::{self, DensityGrid, Measure as DensityMeasure, density};
use arcuate::solvers::region::numbers;
use arcuate::solvers::tractogram::points_outside;
use arcuate::solvers::tractogram::selection::{
    OnImage, PointStatistic, SelectionRules, ValueCondition, select,
};
use arcuate::state::State;
use arcuate::state::files::jobs::open::{Loaded, Opened, open};
use arcuate::state::streamlines::jobs::from_file::Coverage;
use arcuate::state::streamlines::jobs::from_file::connectome::ConnectomeOfFile;
use arcuate::state::streamlines::jobs::from_file::density::MapDensityOfFile;
use arcuate::state::streamlines::jobs::from_file::describe::DescribeStreamlines;
use arcuate::state::streamlines::jobs::from_file::select::{
    KeptStreamlines, MarkedInFile, SaveSelected, SelectInFile,
};
use arcuate::state::streamlines::jobs::from_file::table::ValuesOfFile;
use arcuate::state::streamlines::jobs::table::Measure;
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Points of a piece: one streamline, a few, all.
const SIZES: [usize; 3] = [1, 500, usize::MAX];
/// Streamlines of a file.
const COUNT: usize = 200;
const INPUTS: [&str; 5] = ["a.tck", "a.trk", "a.trx", "b.trx/", "a.vtk"];

pub fn tests() -> Vec<Trial> {
    vec![
        test("jobs::from_file::select", selects),
        test(
            "jobs::from_file::select after a file was read again",
            reads_again,
        ),
        test("jobs::from_file::a file that changed", changed),
        test("jobs::from_file::density", densities),
        test("jobs::from_file::connectome", connectomes),
        test("jobs::from_file::table", tables),
        test("jobs::from_file::description", descriptions),
    ]
}

fn backend() -> Backend {
    Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads")
}

fn done<J: Receive<State>>(job: J) -> J::Output {
    let mut jobs = jobs();
    let handle = jobs.submit(job);
    let event = jobs.wait(&handle, |_| {});
    match event.into_outcome::<J>() {
        Some(arcuate::jobs::Outcome::Done(output)) => output,
        other => panic!("{other:?}"),
    }
}

/// Random walks with values, codes and groups, of which one is not in order.
fn subject(random: &mut Random) -> Tractogram {
    let mut curves = Vec::new();
    for i in 0..COUNT {
        let mut at = random.direction() * random.uniform(0.0, 30.0);
        let mut way = random.direction();
        let count = if i % 50 == 7 {
            i % 2
        } else {
            random.uniform(2.0, 60.0) as usize
        };
        let curve: Vec<[f32; 3]> = (0..count)
            .map(|_| {
                way = (way + 0.3 * random.direction()).normalize();
                at += way;
                at.as_vec3().to_array()
            })
            .collect();
        curves.push(curve);
    }
    let lines = Tractogram::of_curves(curves);
    let count = lines.len();
    let mut numbers = |n: usize| {
        (0..n)
            .map(|_| random.uniform(0.0, 1.0) as f32)
            .collect::<Vec<_>>()
    };
    let (fa, cm) = (numbers(lines.points.len()), numbers(lines.points.len()));
    let (weight, ray) = (numbers(count), numbers(count));
    let stops: Vec<f32> = (0..count).map(|i| (i % 4) as f32).collect();
    let meanings: Vec<String> = StopReason::KEYS
        .iter()
        .map(|key| (*key).to_owned())
        .collect();
    let half: Vec<u32> = (0..count as u32).rev().step_by(2).collect();
    lines
        .with_per_point("fa", fa)
        .with_per_point("cm", cm)
        .with_per_streamline("cm", ray)
        .with_per_streamline("weight", weight)
        .with_per_streamline("stop_end", stops)
        .with_codes("stop_end", meanings)
        .with_group("left", half)
        .with_group("none", Vec::new())
        .with_grid(cube(40, 2.0))
}

/// An image of x, with a hole.
fn image() -> Volume {
    let grid = Arc::new(cube(30, 2.0));
    let value = |i: usize| match grid.voxel(i) {
        [x, 10..14, _] if x > 5 => f32::NAN,
        [x, ..] => x as f32,
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(grid, values)
}

fn region(role: Role, shape: Shape) -> Region {
    Region {
        id: RegionId(0),
        name: "a region".to_owned(),
        role,
        shape: Arc::new(shape),
        colour: None,
        visible: true,
        label_number: None,
    }
}

fn rules() -> Vec<(&'static str, SelectionRules)> {
    let plain = SelectionRules::default;
    let sphere = Shape::Sphere {
        centre: DVec3::new(3.0, -2.0, 5.0),
        radius_mm: 14.0,
    };
    let value = |name: &str, low: f32, high: f32| ValueCondition {
        name: name.to_owned(),
        low,
        high,
    };
    vec![
        (
            "a sphere",
            SelectionRules {
                regions: vec![region(Role::Include, sphere.clone())],
                ..plain()
            },
        ),
        (
            "values, inverted",
            SelectionRules {
                values: vec![
                    value("fa", 0.4, 0.55),
                    value("length", 5.0, 40.0),
                    value("measure", 0.1, 0.9),
                ],
                invert: true,
                ..plain()
            },
        ),
        (
            "an image and a reason",
            SelectionRules {
                images: vec![OnImage {
                    volume: image(),
                    frame: 0,
                    counting: PointStatistic::Mean,
                    low: 9.0,
                    high: 22.0,
                }],
                stop: StopReason::from_key(StopReason::KEYS[1]),
                ..plain()
            },
        ),
        (
            "a number of a group",
            SelectionRules {
                group: Some("left".to_owned()),
                at_most: Some((41, 5)),
                ..plain()
            },
        ),
        (
            "none",
            SelectionRules {
                values: vec![value("weight", 2.0, 3.0)],
                ..plain()
            },
        ),
    ]
}

fn write(name: &str, tractogram: &Tractogram, folder: &Path) -> PathBuf {
    let path = folder.join(name);
    streamlines::save(&path, tractogram, "x", &Control::new()).expect("saved");
    path
}

fn whole(path: &Path) -> Tractogram {
    let opened = open(path, &[], &Reading::default(), &Control::new()).expect("opened");
    match opened {
        Opened::File(file) => match file.loaded {
            Loaded::Tractogram(tractogram) => tractogram,
            other => panic!("{other:?}"),
        },
        Opened::Folder(_) => panic!("a folder"),
    }
}

fn in_pieces(path: &Path, points: usize) -> Arc<Pieces> {
    let pieces = Pieces::open(path, &Reading::default(), &Control::new()).expect("opened");
    Arc::new(pieces.with_points_at_once(points))
}

/// All files in a folder, without the moment at which a TCK was written.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = PathBuf::from(path.file_name().expect("a name"));
        if path.is_dir() {
            all.extend(
                files(&path)
                    .into_iter()
                    .map(|(rest, bytes)| (name.join(rest), bytes)),
            );
            continue;
        }
        let mut bytes = std::fs::read(&path).expect("readable");
        let stamp = b"timestamp: ";
        let header = bytes.len().min(4096);
        if let Some(at) = bytes[..header]
            .windows(stamp.len())
            .position(|w| w == stamp)
        {
            let end = bytes[at..]
                .iter()
                .position(|b| *b == b'\n')
                .expect("a line");
            bytes[at..at + end].fill(b'0');
        }
        all.push((name, bytes));
    }
    all.sort();
    all
}

fn save(kept: &KeptStreamlines, output: &Path) {
    done(SaveSelected {
        kept: kept.clone(),
        path: output.to_owned(),
        command: "x".to_owned(),
        replace: true,
    });
}

fn selects() {
    let mut random = Random::fresh("selects");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    for input in INPUTS {
        let path = write(input, &tractogram, folder.path());
        let all = whole(&path);
        for (name, rules) in rules() {
            // Files without values, reasons or groups refuse the rules.
            let Ok(selection) = select(&all, &rules, &backend(), &Control::new()) else {
                continue;
            };
            let kept = all.filtered(&selection.marks);
            // One selection for each size of the pieces gives all formats.
            let selected = SIZES.map(|points| {
                let selected = done(SelectInFile {
                    pieces: in_pieces(&path, points),
                    rules: rules.clone(),
                    coverages: Vec::new(),
                    keeps_copies: true,
                });
                let count = selected.kept.outline.streamlines;
                assert_eq!(count, selection.kept_count(), "{name}, {points} points");
                selected.kept
            });
            for output in ["o.tck", "o.trk", "o.trx", "f.trx/", "o.vtp"] {
                let (expected, found) = (tempfile::tempdir(), tempfile::tempdir());
                let (expected, found) = (expected.expect("a folder"), found.expect("a folder"));
                let place = expected.path().join(output);
                let written = save_with_values(kept.clone(), &place, "x", true, &Control::new());
                if let Err(error) = written {
                    // A TRK needs a grid, which a TCK does not have.
                    assert!(output == "o.trk", "{error}");
                    continue;
                }
                let expected = files(expected.path());
                for (kept, points) in selected.iter().zip(SIZES) {
                    save(kept, &found.path().join(output));
                    assert!(
                        files(found.path()) == expected,
                        "{name}, {input} to {output}, pieces of {points} points"
                    );
                }
            }
        }
    }
}

/// Marks and values of a file that has more or fewer streamlines by now are refused with a sentence.
fn changed() {
    let mut random = Random::fresh("changed");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |marked: MarkedInFile, what: &str| match marked.find(&backend(), &Control::new())
    {
        Err(JobError::Sentence(sentence)) => {
            let text = sentence.for_window();
            let why = "a file that changed while it was read";
            assert!(text.contains(why), "{what}: {text}");
        }
        _ => panic!("{what}: expected a sentence"),
    };
    for input in ["a.tck", "a.trx", "b.trx/"] {
        let path = write(input, &tractogram, folder.path());
        let marked = |points: usize, marks: usize, values: usize| MarkedInFile {
            pieces: in_pieces(&path, points),
            marks: vec![true; marks].into(),
            added: Some(("more", vec![0.5; values].into())),
        };
        let count = tractogram.len();
        for points in SIZES {
            let what = format!("{input}, pieces of {points} points");
            let whole = marked(points, count, count).find(&backend(), &Control::new());
            assert!(whole.is_ok_and(|kept| kept.outline.streamlines == count));
            refused(marked(points, count - 7, count), &what);
            refused(marked(points, count, count - 7), &what);
        }
    }
    // Another program cuts the file off after it was opened.
    let path = write("a.tck", &tractogram, folder.path());
    let pieces = in_pieces(&path, 300);
    let marks: Arc<[bool]> = vec![true; tractogram.len()].into();
    let few: Vec<bool> = (0..tractogram.len()).map(|i| i < 150).collect();
    write("a.tck", &tractogram.filtered(&few), folder.path());
    let added = None;
    let cut = MarkedInFile {
        pieces,
        marks,
        added,
    };
    refused(cut, "a file that was cut off");
}

/// Without memory for the selected streamlines, the file is read again while they are written.
fn reads_again() {
    let mut random = Random::fresh("reads_again");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    for input in ["a.tck", "a.trk", "a.trx"] {
        let path = write(input, &tractogram, folder.path());
        let (_, rules) = rules().remove(0);
        for output in ["o.tck", "o.trx"] {
            let results = [false, true].map(|keeps_copies| {
                let place = tempfile::tempdir().expect("a folder");
                let selected = done(SelectInFile {
                    pieces: in_pieces(&path, 300),
                    rules: rules.clone(),
                    coverages: Vec::new(),
                    keeps_copies,
                });
                done(SaveSelected {
                    kept: selected.kept,
                    path: place.path().join(output),
                    command: "x".to_owned(),
                    replace: true,
                });
                files(place.path())
            });
            assert!(results[0] == results[1], "{input} to {output}");
        }
    }
}

fn densities() {
    let mut random = Random::fresh("densities");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    let grid = Arc::new(cube(25, 2.5));
    for input in INPUTS {
        let path = write(input, &tractogram, folder.path());
        let all = whole(&path);
        for on in [DensityGrid::Grid(grid.clone()), DensityGrid::Around(3.0)] {
            let params = density::Params {
                measure: DensityMeasure::Length,
                by_direction: true,
                ..density::Params::defaults()
            };
            let own = on.grid(all.bounds()).expect("a grid");
            let expected = density(&all, &own, &params, None, &backend(), &Control::new());
            let expected = expected.expect("mapped");
            for points in SIZES {
                let found = done(MapDensityOfFile {
                    pieces: in_pieces(&path, points),
                    grid: on.clone(),
                    params: params.clone(),
                    coverages: vec![Coverage::of_grid(&grid)],
                });
                let numbers =
                    |o: &density::Output| (o.inside_mm, o.outside_mm, o.voxels, o.not_finite);
                assert_eq!(numbers(&found.output), numbers(&expected));
                assert!(
                    found.output.volume.values == expected.volume.values,
                    "{input}"
                );
                assert_eq!(found.output.volume.grid.shape, own.shape);
                assert_eq!(found.summary.outline.streamlines, all.len());
                let coverage = &found.summary.coverages[0];
                assert_eq!(coverage.outside, points_outside(&grid, &all));
            }
        }
    }
}

fn connectomes() {
    let mut random = Random::fresh("connectomes");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    let grid = Arc::new(cube(20, 4.0));
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| (i % 61 % 9) as f32)
        .collect();
    let labels = Volume::scalar(grid, values);
    let control = Control::new();
    let params = connectivity::Params::defaults();
    for input in INPUTS {
        let path = write(input, &tractogram, folder.path());
        let all = whole(&path);
        let measures = match input {
            "a.tck" => vec![None, Some(Measure::Image(image(), 0))],
            _ => vec![
                Some(Measure::Value("fa".to_owned())),
                Some(Measure::Value("length".to_owned())),
            ],
        };
        for value in measures {
            let known = numbers(&labels, 0, &control).expect("labels");
            let values = value
                .as_ref()
                .map(|v| v.values(&all, &backend(), &control).ok().expect("values"));
            let map = (&labels, 0, &known);
            let values = values.as_deref();
            let expected = connectome(&all, None, map, &params, values, &backend(), &control);
            let expected = expected.expect("counted");
            assert!(expected.connected.len() > 20);
            for points in SIZES {
                let (summary, found) = done(ConnectomeOfFile {
                    marks: None,
                    pieces: in_pieces(&path, points),
                    labels: labels.clone(),
                    params,
                    value: value.clone(),
                    coverages: Vec::new(),
                });
                assert_eq!(summary.outline.points, all.points.len());
                let mut found = (*found).clone();
                assert!(found.pairs.is_empty());
                found.pairs = expected.pairs.clone();
                assert!(found == expected, "{input}, pieces of {points} points");
            }
        }
    }
}

fn tables() {
    let mut random = Random::fresh("tables");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    for input in INPUTS {
        let path = write(input, &tractogram, folder.path());
        let all = whole(&path);
        let names = all.value_names().into_iter().map(str::to_owned);
        let mut measures: Vec<Measure> = names.map(Measure::Value).collect();
        measures.push(Measure::Image(image(), 0));
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        for points in SIZES {
            let (_, found) = done(ValuesOfFile {
                pieces: in_pieces(&path, points),
                measures: measures.clone(),
                coverages: Vec::new(),
            });
            for (found, measure) in found.iter().zip(&measures) {
                let expected = measure
                    .values(&all, &backend(), &Control::new())
                    .ok()
                    .expect("values");
                assert_eq!(bits(found), bits(&expected), "{input}, {measure:?}");
            }
        }
    }
}

fn descriptions() {
    let mut random = Random::fresh("descriptions");
    let tractogram = subject(&mut random);
    let folder = tempfile::tempdir().expect("a folder");
    for input in INPUTS {
        let path = write(input, &tractogram, folder.path());
        let all = whole(&path);
        let mut lengths: Vec<f32> = (0..all.len()).map(|i| all.length_mm(i)).collect();
        lengths.sort_by(f32::total_cmp);
        for points in SIZES {
            let found = done(DescribeStreamlines {
                pieces: in_pieces(&path, points),
                compared: true,
            });
            assert_eq!(found.lengths, lengths, "{input}");
            assert_eq!(found.summary.outline.bounds, all.bounds());
            let sample = found.sample.expect("compared");
            assert!(
                sample.points[..] == all.points[..],
                "few points are all sampled"
            );
            assert_eq!(sample.grid.is_some(), all.grid.is_some());
        }
    }
}
