//! Values next to a streamline file: MRtrix track scalars and weights.

use super::sentence;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::scalars::{CompanionFile, FileValues};
use arcuate::io::{self, scalars, streamlines, tck};
use arcuate::solvers::curves::StopReason;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::scalars::of_another_file_are_refused", another_file),
        test("io::scalars::files_state_their_purpose", purpose_in_files),
        test("io::scalars::weights_alone_name_their_streamlines", alone),
        test("io::scalars::no_two_in_one_file", alike),
        test("io::scalars::of_a_longer_name_belong_to_it", longer_names),
        test(
            "io::scalars::values_of_replaced_streamlines_are_refused",
            replaced,
        ),
        test("io::scalars::the guide lists the codes", codes_in_guide),
        test("io::scalars::a file of values elsewhere", elsewhere),
    ]
}

fn lines(count: usize) -> Tractogram {
    let points: Vec<[f32; 3]> = (0..2 * count).map(|i| [i as f32, 0.0, 0.0]).collect();
    let offsets: Vec<u64> = (0..=count as u64).map(|i| 2 * i).collect();
    Tractogram::new(points, offsets).with_per_point("cm", vec![1.0; 2 * count])
}

/// Every format that can store text states that the file is for research, and what numbers mean; written data are read
/// back unchanged.
fn purpose_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let meanings: Vec<String> = ["Reached target", "Left -- the mask"]
        .map(str::to_owned)
        .into();
    let key = "stop_end: 0 = Reached target, 1 = Left";
    let plain = lines(3)
        .with_per_streamline("stop_end", vec![0.0, 1.0, 0.0])
        .with_codes("stop_end", meanings.clone())
        .with_codes("gone", meanings);
    for (name, codes) in [
        ("a.tck", false),
        ("a.trx", true),
        ("a.vtk", false),
        ("a.vtp", true),
        ("a.weights.txt", true),
        ("a.tsf", false),
    ] {
        let path = folder.path().join(name);
        let control = Control::new();
        match name {
            "a.tsf" => {
                let adjacent = folder.path().join("a.tck");
                scalars::save_points(&path, &adjacent, &plain, "cm").expect("saved");
            }
            "a.weights.txt" => scalars::save_weights(&path, &plain, "stop_end").expect("saved"),
            _ => streamlines::save(&path, &plain, "arcuate track", &control).expect("saved"),
        }
        let bytes = std::fs::read(&path).expect("written");
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(io::DISCLAIMER), "{name}");
        let reported = text.contains(key) || text.contains("\"stop_end\":[\"Reached target\",");
        assert_eq!(reported, codes, "{name}");
        assert!(
            !text.contains("gone"),
            "{name}: no key to what is not there"
        );
    }
    // The weights of a TCK are read with their comments; a TRX keeps the key.
    let read = |name: &str| match io::open(&folder.path().join(name), &Control::new()) {
        Ok(io::Opened::Tractogram(tractogram, info)) => {
            assert!(info.warnings.is_empty(), "{:?}", info.warnings);
            tractogram
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(*read("a.tck").per_streamline["weights"], [0.0, 1.0, 0.0]);
    let reread = read("a.trx");
    assert_eq!(reread.codes["stop_end"], plain.codes["stop_end"]);
    assert_eq!(reread.filtered(&[true, false, true]).key(), plain.key());
    assert_eq!(*read("a.vtp").per_streamline["stop_end"], [0.0, 1.0, 0.0]);
}

/// Values in files of any name: as TSF or as text, of these streamlines and of no others.
fn elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let control = Control::new();
    let numbers: Vec<f32> = (0..6).map(|i| i as f32 * 0.5).collect();
    let plain = lines(3).with_per_point("along", numbers.clone());
    streamlines::save(&at("a.tck"), &plain, "arcuate track", &control).expect("saved");
    scalars::save_points(&at("other.tsf"), &at("a.tck"), &plain, "along").expect("saved");
    std::fs::write(at("weights.csv"), "1, 2.5\n-3 # the last\n").expect("written");
    let read = |name: &str| match io::open(&at(name), &control) {
        Ok(io::Opened::Tractogram(tractogram, _)) => tractogram,
        other => panic!("{other:?}"),
    };
    let opened = read("a.tck");
    let values =
        |name: &str, tractogram: &Tractogram| scalars::open_values(&at(name), tractogram, &control);
    // Streamlines of the same file, and those of a format that has no time stamp.
    for tractogram in [&opened, &lines(3)] {
        let points = values("other.tsf", tractogram).expect("values");
        assert_eq!(points, FileValues::PerPoint(numbers.clone()));
        let each = values("weights.csv", tractogram).expect("values");
        assert_eq!(each, FileValues::PerStreamline(vec![1.0, 2.5, -3.0]));
    }
    for name in ["other.tsf", "weights.csv"] {
        let error = values(name, &lines(4)).expect_err("of other streamlines");
        assert!(error.to_string().contains(name), "{error}");
        assert!(
            error.to_string().contains("expected one number for each"),
            "{error}"
        );
    }
    // Another file with equally many streamlines has a later timestamp.
    std::thread::sleep(std::time::Duration::from_millis(2));
    streamlines::save(&at("b.tck"), &plain, "arcuate track", &control).expect("saved");
    let error = values("other.tsf", &read("b.tck")).expect_err("of other streamlines");
    assert!(error.to_string().contains("timestamp"), "{error}");
}

/// Files next to a replaced TCK are not used as values of the new streamlines.
fn replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let read = || match io::open(&at("a.tck"), &Control::new()) {
        Ok(io::Opened::Tractogram(tractogram, info)) => (tractogram, info.warnings),
        other => panic!("{other:?}"),
    };
    let save = |tractogram: &Tractogram, adjacent: &[CompanionFile]| {
        let control = Control::new();
        io::convert::with_values(tractogram, &at("a.tck"), adjacent, "arcuate", &control)
            .expect("saved");
    };
    let first = lines(3).with_per_streamline("w", vec![1.0, 2.0, 3.0]);
    let names = ["cm".to_owned(), "w".to_owned()];
    let adjacent = scalars::files(&at("a.tck"), names[..1].iter(), names[1..].iter());
    save(&first, &adjacent);
    let (found, warnings) = read();
    assert_eq!(warnings, [""; 0]);
    assert_eq!(*found.per_streamline["w"], [1.0, 2.0, 3.0]);
    assert_eq!(*found.per_point["cm"], [1.0; 6]);
    save(&lines(3), &[]);
    let (found, warnings) = read();
    assert!(found.per_streamline.is_empty() && found.per_point.is_empty());
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (warning, file) in warnings.iter().zip(["a.cm.tsf", "a.w.weights.txt"]) {
        let expected = format!("{file} was not used: it belongs to other streamlines (timestamp ");
        assert!(warning.starts_with(&expected), "{warning}");
    }
    // From another program: matched only by their number.
    std::fs::write(
        at("a.w.weights.txt"),
        "# command_history: tcksift2\n4 5 6\n",
    )
    .expect("written");
    assert_eq!(*read().0.per_streamline["w"], [4.0, 5.0, 6.0]);
}

/// Weights that a fit writes alone name their TCK: they are not used for the file that replaces it, neither next to it
/// nor as a start. Those of transformed or selected streamlines name none.
fn alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let control = Control::new();
    let read = || tck::read_with_values(&at("a.tck"), &control).expect("read");
    tck::save(&at("a.tck"), &lines(3), "", &control).expect("saved");
    let (first, _) = read();
    assert!(first.timestamp.is_some());
    let first = first.with_per_streamline("weight", vec![1.0, 2.0, 3.0]);
    scalars::save_weights(&at("a.weights.txt"), &first, "weight").expect("saved");
    let (reread, info) = read();
    assert_eq!(*reread.per_streamline["weights"], [1.0, 2.0, 3.0]);
    assert_eq!(info.warnings, [""; 0]);
    let open = |tractogram: &Tractogram| scalars::open_weights(&at("a.weights.txt"), tractogram);
    assert_eq!(open(&reread).ok(), Some(vec![1.0, 2.0, 3.0]));
    // Another format has no timestamp that could differ.
    assert!(open(&lines(3)).is_ok());
    tck::save(&at("a.tck"), &lines(3), "", &control).expect("saved");
    let (other, info) = read();
    assert!(other.per_streamline.is_empty());
    let message = &info.unread[0];
    assert!(
        message.contains("belongs to other streamlines"),
        "{message}"
    );
    let error = open(&other).expect_err("of another file");
    assert!(sentence(&error).contains("belongs to other streamlines"));
    let by = glam::DAffine3::from_translation(glam::DVec3::X);
    assert_eq!(first.moved(by).timestamp, None);
    assert_eq!(first.filtered(&[true, false, true]).timestamp, None);
}

/// The codes of stop reasons are those listed in the guide.
fn codes_in_guide() {
    let page = include_str!("../../../assets/guide/formats.md");
    for (code, reason) in StopReason::ALL.into_iter().enumerate() {
        let cells = format!("| {code} | {} |", reason.label());
        assert!(page.contains(&cells), "{cells}");
    }
}

/// Names that become equal as file names.
fn alike() {
    let names = ["a.b", "a:b", "A_B"].map(str::to_owned);
    let adjacent = scalars::files(Path::new("x.tck"), names.iter(), names[..1].iter());
    let files = adjacent.iter().map(|b| b.path.display().to_string());
    let files: Vec<String> = files.collect();
    let expected = [
        "x.a_b.tsf",
        "x.a_b_2.tsf",
        "x.A_B_3.tsf",
        "x.a_b.weights.txt",
    ];
    assert_eq!(files, expected);
}

/// Values of three streamlines do not apply to a file of five.
fn another_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (five, three) = (lines(5), lines(3));
    tck::save(&path("five.tck"), &five, "", &Control::new()).expect("saved");
    let error = scalars::save_points(&path("a.tsf"), &path("five.tck"), &three, "cm")
        .expect_err("other streamlines");
    let message = sentence(&error);
    assert!(
        message.contains("5 streamlines") && message.contains(" 3, the number that has values"),
        "{message}"
    );
    assert!(!path("a.tsf").exists());
    scalars::save_points(&path("a.tsf"), &path("five.tck"), &five, "cm").expect("saved");
    assert!(path("a.tsf").exists());
}

/// Files next to `whole.sorted.tck` are not those of `whole.tck`, whether that TCK is still there or not.
fn longer_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["whole.tck", "whole.sorted.tck"] {
        tck::save(&at(name), &lines(3), "", &Control::new()).expect("saved");
    }
    for name in [
        "whole.own.weights.txt",
        "whole.sorted.weights.txt",
        "whole.sorted.sift.weights.txt",
        "whole.sorted.tsf",
    ] {
        std::fs::write(at(name), "1 2 3\n").expect("written");
    }
    let names = |name: &str| match io::open(&at(name), &Control::new()) {
        Ok(io::Opened::Tractogram(tractogram, info)) => {
            let names = tractogram.per_streamline.into_keys().collect::<Vec<_>>();
            (names, info.warnings.len())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(names("whole.tck"), (vec!["own".to_owned()], 0));
    let sorted = ["sift", "weights"].map(str::to_owned).to_vec();
    // Its TSF is no such file.
    assert_eq!(names("whole.sorted.tck"), (sorted, 1));
    std::fs::remove_file(at("whole.sorted.tck")).expect("removed");
    std::fs::remove_file(at("whole.sorted.tsf")).expect("removed");
    // One dot fewer is the name of a value.
    let own = ["own", "sorted"].map(str::to_owned).to_vec();
    assert_eq!(names("whole.tck"), (own, 0));
}
