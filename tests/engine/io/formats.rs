//! Streamline formats: written data are read back, in every axis order, in every format that can hold them; losses are
//! reported.

use super::sentence;
use crate::support::{Random, data, data_test, test};
use arcuate::compute::Control;
use arcuate::data::tractogram::columns;
use arcuate::data::{AffineSource, Grid, Shared, Tractogram};
use arcuate::io::{self, Content, Format, Opened, streamlines};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// From the issue: the largest displacement of a point by a file, mm.
const MOVED_MM: f32 = 1e-3;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::formats::every_axis_order_returns", every_axis_order),
        test("io::formats::values_and_groups_return", values_and_groups),
        test("io::formats::odd_numbers_of_streamlines", odd_numbers),
        test("io::formats::losses_are_reported", losses),
        test("io::formats::folders_are_replaced_whole", folders),
        test("io::formats::a_file_may_become_shorter", shortened),
        test("io::formats::the_user_can_state_a_space", stated_space),
        test("io::formats::the_table_is_whole", table),
        data_test(
            "io::formats::every_outside_file_returns",
            "tractograms/tracks300.trk",
            outside_files,
        ),
    ]
}

pub fn open(path: &Path) -> (Tractogram, Vec<String>) {
    match io::open(path, &Control::new()) {
        Ok(Opened::Tractogram(tractogram, info)) => (tractogram, info.warnings),
        Ok(Opened::Volume(..)) => panic!("an image: {}", path.display()),
        Err(error) => panic!("{error}"),
    }
}

/// One of the 48 ways to map voxel axes to world axes, a little oblique on request.
pub fn grid(order: usize, oblique: bool, random: &mut Random) -> Grid {
    const PERMUTATIONS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let axes = PERMUTATIONS[order / 8];
    let spacing = [0; 3].map(|_| random.uniform(0.7, 3.0));
    let mut matrix = DMat3::ZERO;
    for a in 0..3 {
        let sign = if order >> a & 1 == 1 { -1.0 } else { 1.0 };
        matrix.col_mut(a)[axes[a]] = sign * spacing[a];
    }
    if oblique {
        matrix = DMat3::from_rotation_x(0.2) * DMat3::from_rotation_z(-0.15) * matrix;
    }
    let origin = random.direction() * 90.0;
    let shape = [0; 3].map(|_| 20 + (random.bits() % 60) as usize);
    let affine = DAffine3::from_mat3_translation(matrix, origin);
    Grid::new(shape, affine, AffineSource::Sform).expect("regular")
}

/// Streamlines of 0 to 20 points all over the grid.
pub fn streamlines(count: usize, grid: &Grid, random: &mut Random) -> Tractogram {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for _ in 0..count {
        for _ in 0..random.bits() % 21 {
            let voxel = grid.shape.map(|n| random.uniform(-0.5, n as f64 - 0.5));
            let world = grid.world(DVec3::from_array(voxel));
            points.push(world.as_vec3().to_array());
        }
        offsets.push(points.len() as u64);
    }
    Tractogram::new(points, offsets).with_grid(grid.clone())
}

/// A name for every form in which streamlines are written.
fn written() -> Vec<(Format, String)> {
    let named = |f: Format| (f, format!("a.{}", f.extensions()[0]));
    let others = [(Format::Trk, "b.trk.gz"), (Format::Trx, "folder.trx/")];
    let others = others.map(|(f, name)| (f, name.to_owned()));
    Format::of_saved_streamlines()
        .map(named)
        .chain(others)
        .collect()
}

fn near(found: &Tractogram, expected: &Tractogram, what: &str) {
    assert_eq!(found.offsets, expected.offsets, "{what}: order and cuts");
    for (i, (a, b)) in found.points.iter().zip(&*expected.points).enumerate() {
        for (a, b) in a.iter().zip(b) {
            let same = (a - b).abs() <= MOVED_MM || (a.is_nan() && b.is_nan());
            assert!(same, "{what}: point {i} is at {a}, not {b}");
        }
    }
}

/// The data that the format holds are present, with the same names and bits.
fn holds_the_same(found: &Tractogram, expected: &Tractogram, format: Format, what: &str) {
    near(found, expected, what);
    let holds = format.kind().holds;
    let limit = |named| match named {
        io::NameSupport::Nothing => 0,
        io::NameSupport::UpTo(n) => n,
        io::NameSupport::Any => usize::MAX,
    };
    for (limit, found, expected) in [
        (
            limit(holds.per_point),
            &found.per_point,
            &expected.per_point,
        ),
        (
            limit(holds.per_streamline),
            &found.per_streamline,
            &expected.per_streamline,
        ),
    ] {
        if columns(expected).len() > limit {
            assert_eq!(columns(found).len(), limit, "{what}");
        } else {
            let names = |m: &std::collections::BTreeMap<String, Shared<f32>>| {
                m.keys().cloned().collect::<Vec<_>>()
            };
            assert_eq!(names(found), names(expected), "{what}");
        }
        for (name, values) in found {
            let same = values.iter().zip(&*expected[name]);
            let bits = same.into_iter().all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(
                bits && values.len() == expected[name].len(),
                "{what}: {name}"
            );
        }
    }
    if holds.groups {
        assert_eq!(found.groups, expected.groups, "{what}");
        assert_eq!(found.per_group, expected.per_group, "{what}");
    }
    // One voxel at the origin means no grid in TRX.
    let message = expected.grid.as_ref().filter(|g| g.shape != [1; 3]);
    if let Some(expected) = message.filter(|_| holds.grid) {
        let found = found.grid.as_ref().expect("a grid");
        assert!(found.same_space(expected, 1e-3), "{what}: the grid");
    }
}

/// 24 right-handed and 24 left-handed orders, straight and oblique.
fn every_axis_order() {
    let mut random = Random::fresh("every_axis_order");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut handed = [0; 2];
    for order in 0..48 {
        for oblique in [false, true] {
            let grid = grid(order, oblique, &mut random);
            let right = grid.world_from_voxel.matrix3.determinant() > 0.0;
            handed[usize::from(right)] += 1;
            let tractogram = streamlines(5, &grid, &mut random);
            for (format, name) in written() {
                let path = folder.path().join(&name);
                streamlines::save(&path, &tractogram, "", &Control::new()).expect("saved");
                let (found, _) = open(&path);
                let what = format!("{name}, {}", grid.orientation());
                holds_the_same(&found, &tractogram, format, &what);
            }
            trk_by_its_definition(&folder.path().join("a.trk"), &tractogram, &grid);
        }
    }
    assert_eq!(handed, [48, 48]);
}

/// Points of a TRK are voxel-millimetres from the corner of the first voxel, in the order of the voxel axes given in
/// the header: computed here from the bytes.
fn trk_by_its_definition(path: &Path, tractogram: &Tractogram, grid: &Grid) {
    let bytes = std::fs::read(path).expect("readable");
    assert_eq!(&bytes[948..951], grid.orientation().as_bytes());
    assert_eq!(&bytes[996..1000], 1000i32.to_le_bytes());
    let spacing = grid.spacing();
    let mut at = 1000;
    for streamline in tractogram.streamlines() {
        let count = i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        assert_eq!(count as usize, streamline.len());
        at += 4;
        for point in streamline {
            let world = DVec3::from_array(point.map(f64::from));
            let expected = (grid.voxel_at(world) + 0.5) * spacing;
            for axis in 0..3 {
                let four = bytes[at..at + 4].try_into().expect("four");
                let off = f64::from(f32::from_le_bytes(four)) - expected[axis];
                assert!(off.abs() < 1e-3, "{off}");
                at += 4;
            }
        }
    }
    assert_eq!(at, bytes.len());
}

/// Streamlines with values of one and several numbers, groups and group values.
pub fn rich(count: usize, values: usize, random: &mut Random) -> Tractogram {
    let grid = grid((random.bits() % 48) as usize, true, random);
    let mut tractogram = streamlines(count, &grid, random);
    let (lines, points) = (tractogram.len(), tractogram.points.len());
    let mut numbers = |n: usize| (0..n).map(|_| random.normal() as f32).collect::<Vec<f32>>();
    for i in 0..values {
        tractogram = tractogram
            .with_per_point(&format!("point {i}"), numbers(points))
            .with_per_streamline(&format!("line{i}"), numbers(lines));
    }
    for c in 0..3 {
        tractogram = tractogram
            .with_per_point(&format!("rgb[{c}]"), numbers(points))
            .with_per_streamline(&format!("mean[{c}]"), numbers(lines));
    }
    let half: Vec<u32> = (0..lines as u32).step_by(2).collect();
    let colour = numbers(3);
    tractogram
        .with_group("ARC_L", half)
        .with_group("nobody", Vec::new())
        .with_per_group("ARC_L", "colour", colour)
        .with_per_group("ARC_L", "weight", vec![0.5])
}

fn values_and_groups() {
    let mut random = Random::fresh("values_and_groups");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for values in [0, 1, 9, 12] {
        let tractogram = rich(40, values, &mut random);
        for (format, name) in written() {
            let path = folder.path().join(name);
            streamlines::save(&path, &tractogram, "arcuate test", &Control::new()).expect("saved");
            let (found, _) = open(&path);
            holds_the_same(&found, &tractogram, format, &format!("{format:?} {values}"));
        }
    }
}

fn odd_numbers() {
    let mut random = Random::fresh("odd_numbers");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let grid = grid(5, false, &mut random);
    let points = |n: usize| vec![[1.0, 2.0, 3.0]; n];
    let cases = [
        Tractogram::empty(),
        Tractogram::new(points(0), vec![0, 0, 0]),
        Tractogram::new(points(1), vec![0, 0, 1, 1]),
        streamlines(10_000, &grid, &mut random),
    ];
    for tractogram in cases {
        let tractogram = tractogram.with_grid(grid.clone());
        for (format, name) in written() {
            let path = folder.path().join(name);
            streamlines::save(&path, &tractogram, "", &Control::new()).expect("saved");
            let (found, warnings) = open(&path);
            let what = format!("{format:?} of {}", tractogram.len());
            holds_the_same(&found, &tractogram, format, &what);
            let short = tractogram.streamlines().any(|s| s.len() < 2);
            let reported = warnings.iter().any(|w| w.contains("fewer than two points"));
            assert_eq!(reported, short, "{what}: {warnings:?}");
            // VTK's own reader warns of a section without lines.
            if format == Format::Vtk && tractogram.is_empty() {
                let bytes = std::fs::read(&path).expect("the file");
                assert!(!bytes.windows(5).any(|w| w == b"LINES"), "{what}");
            }
        }
    }
}

fn losses() {
    let mut random = Random::fresh("losses");
    let bare =
        Tractogram::new(vec![[0.0; 3]; 2], vec![0, 2]).with_per_streamline("length", vec![0.0]);
    for format in Format::of_saved_streamlines() {
        assert_eq!(
            format.unsupported_contents(&bare),
            Vec::<String>::new(),
            "{format:?}"
        );
    }
    let all = rich(5, 12, &mut random);
    assert_eq!(Format::Trx.unsupported_contents(&all), Vec::<String>::new());
    let tck = Format::Tck.unsupported_contents(&all).join("\n");
    for text in [
        "per point: point 0",
        "per streamline: line0",
        "no groups: ARC_L, nobody",
    ] {
        assert!(tck.contains(text), "{text}: {tck}");
    }
    let trk = Format::Trk.unsupported_contents(&all);
    assert_eq!(trk.len(), 3, "{trk:?}");
    assert!(
        trk[0].contains("TRK holds at most 10 values per point and leaves out"),
        "{trk:?}"
    );
    let name = "a name that is too long/for it";
    let named = Tractogram::new(vec![[0.0; 3]; 2], vec![0, 2]).with_per_streamline(name, vec![1.0]);
    let message = Format::Trk.unsupported_contents(&named).join("");
    assert!(
        message.contains("writes “a name that is too l”"),
        "{message}"
    );
    let message = Format::Trx.unsupported_contents(&named).join("");
    assert!(
        message.contains("writes “a name that is too long_for it”"),
        "{message}"
    );
    // TRK without a grid is refused, with advice.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trk");
    let error = streamlines::save(&path, &bare, "", &Control::new()).expect_err("no grid");
    assert!(sentence(&error).contains("--reference"), "{error}");
    for name in ["a.tt.gz", "a.trk.gz", "a.nii", "a"] {
        let path = folder.path().join(name);
        let error = streamlines::save(&path, &bare, "", &Control::new()).expect_err(name);
        sentence(&error);
        assert!(!path.exists());
    }
}

fn table() {
    for format in Format::all() {
        assert_eq!(format.kind().format, format);
        let path = PathBuf::from(format!("a.{}", format.extensions()[0]));
        assert_eq!(Format::named(&path), Some(format));
    }
    let page = include_str!("../../../assets/guide/formats.md");
    let table = Format::markdown();
    assert!(
        page.contains(&table),
        "the table of assets/guide/formats.md should be:\n{table}"
    );
}

/// External files that are refused, with a phrase of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("conformance/no_header_end.tck", "without its END"),
    ("conformance/no_header_end_eof.tck", "without its END"),
    ("conformance/no_magic_number.tck", "mrtrix tracks"),
    ("conformance/derived_truncated.trk", "cut off"),
    ("conformance/tinytrack_malformed.tt.gz", "cut off"),
];

/// Number of streamlines, and of points, for some files; all are listed in the data's own README.
const COUNTS: &[(&str, usize, usize)] = &[
    ("whole_brain_36763.trk.gz", 36_763, 237_468),
    ("superiorfrontal_1241.trk", 1_241, 0),
    ("tracks300.trk", 300, 0),
    // Its header counts one streamline less than its arrays hold.
    ("dpsv_float16_deflate.trx", 459, 95_708),
    ("arcuate_groups_stored.trx", 508, 141_447),
    ("scalars_dpv.trx", 2, 32),
    ("scalars_dpp.trk", 2, 32),
    ("conformance/standard.trk", 120, 360),
    ("conformance/standard.LPS.trk", 120, 360),
    ("conformance/derived_ncount_zero.trk", 120, 360),
    ("conformance/derived_v1_no_affine.trk", 120, 360),
    ("conformance/empty.trk", 0, 0),
];

fn outside_files(one: PathBuf) {
    let root = one.parent().expect("a folder");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut random = Random::fresh("outside_files");
    let stand_in = grid(0, false, &mut random);
    let (mut read, mut refused) = (0, 0);
    for sub in ["", "conformance"] {
        let entries = std::fs::read_dir(root.join(sub)).expect("readable");
        for entry in entries {
            let path = entry.expect("readable").path();
            let format = Format::named(&path);
            if !format.is_some_and(|f| f.content() == Content::Streamlines) {
                continue;
            }
            let name = path
                .strip_prefix(root)
                .expect("inside")
                .display()
                .to_string();
            if let Some((_, reason)) = REFUSED.iter().find(|(n, _)| *n == name) {
                let error = io::open(&path, &Control::new()).expect_err(&name);
                assert!(sentence(&error).contains(reason), "{error}");
                refused += 1;
                continue;
            }
            let (mut tractogram, _) = open(&path);
            read += 1;
            if let Some((_, lines, points)) = COUNTS.iter().find(|c| c.0 == name) {
                assert_eq!(tractogram.len(), *lines, "{name}");
                assert!(*points == 0 || tractogram.points.len() == *points, "{name}");
            }
            if tractogram.grid.is_none() {
                tractogram = tractogram.with_grid(stand_in.clone());
            }
            for format in Format::of_saved_streamlines() {
                let copy = folder.path().join(format!("a.{}", format.extensions()[0]));
                match streamlines::save(&copy, &tractogram, "", &Control::new()) {
                    Ok(()) => {
                        let what = format!("{name} as {format:?}");
                        holds_the_same(&open(&copy).0, &tractogram, format, &what);
                    }
                    // NaN ends a streamline there.
                    Err(error) => {
                        assert!(format == Format::Tck && error.to_string().contains("not finite"));
                    }
                }
            }
        }
    }
    println!("{read} files read, {refused} refused");
    let known = REFUSED
        .iter()
        .filter(|(name, _)| Format::named(Path::new(name)).is_some());
    assert_eq!(refused, known.count());
    same_streamlines(root);
}

/// Pairs of files with the same streamlines.
fn same_streamlines(root: &Path) {
    let open = |name: &str| open(&root.join(name)).0;
    let standard = open("conformance/standard.trk");
    for other in [
        "standard.LPS.trk",
        "standard.tck",
        "derived_ncount_zero.trk",
    ] {
        near(&open(&format!("conformance/{other}")), &standard, other);
    }
    let little = open("conformance/complex.trk");
    let big = open("conformance/complex_big_endian.trk");
    near(&big, &little, "big endian");
    assert_eq!(big.per_point, little.per_point);
    assert_eq!(big.per_streamline, little.per_streamline);
    assert!(!big.per_point.is_empty() && !big.per_streamline.is_empty());
    let (trk, trx) = (open("scalars_dpp.trk"), open("scalars_dpv.trx"));
    let names: Vec<&String> = trk.per_point.keys().collect();
    assert_eq!(names, ["effect", "pval", "pval_corr"]);
    assert_eq!(trk.per_point, trx.per_point);
    let groups = open("arcuate_groups_stored.trx").groups;
    let sizes: Vec<(&str, usize)> = groups.iter().map(|(n, m)| (n.as_str(), m.len())).collect();
    assert_eq!(sizes, [("ARC_L", 486), ("ARC_R", 22)]);
    // Fibres of the left arcuate lie on the left.
    let arcuate = open("arcuate_groups_stored.trx");
    for (name, side) in [("ARC_L", -1.0), ("ARC_R", 1.0)] {
        let of_group = groups[name]
            .iter()
            .flat_map(|&i| arcuate.streamline(i as usize));
        let (sum, count) = of_group.fold((0.0, 0), |(s, n), p| (s + f64::from(p[0]), n + 1));
        assert!(
            sum / f64::from(count) * side > 20.0,
            "{name}: {}",
            sum / f64::from(count)
        );
    }
    assert!(data("tractograms").is_some());
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |e: std::io::Result<std::fs::DirEntry>| e.expect("readable").file_name();
    let mut names: Vec<String> = entries
        .map(|e| name(e).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A TRX folder replaces another one completely, and nothing else.
fn folders() {
    let mut random = Random::fresh("folders");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx/");
    let save = |t: &Tractogram| streamlines::save(&path, t, "", &Control::new());
    save(&rich(5, 2, &mut random)).expect("saved");
    assert!(path.join("groups/ARC_L.uint32").exists());
    let second = streamlines(7, &grid(3, false, &mut random), &mut random);
    save(&second).expect("replaced");
    holds_the_same(&open(&path).0, &second, Format::Trx, "replaced");
    assert!(!path.join("groups").exists());
    assert_eq!(names_in(folder.path()), ["a.trx"]);
    // Files that do not belong to a TRX stay, wherever they are in it.
    for name in ["notes.txt", "dps/notes.txt", "photographs"] {
        let own = path.join(name);
        std::fs::create_dir_all(own.parent().expect("a folder")).expect("made");
        match name.contains('.') {
            true => std::fs::write(&own, "x").expect("written"),
            false => std::fs::create_dir(&own).expect("made"),
        }
        let place = arcuate::io::convert::check_place(&path).expect_err("checked before the work");
        for error in [place, save(&second).expect_err("would be deleted")] {
            sentence(&error);
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(own.exists());
        match name.contains('.') {
            true => std::fs::remove_file(&own).expect("removed"),
            false => std::fs::remove_dir(&own).expect("removed"),
        }
    }
    std::fs::write(path.join(".DS_Store"), "x").expect("written");
    save(&rich(5, 2, &mut random)).expect("replaced");
    save(&second).expect("replaced");
    // A folder with other content stays.
    let other = folder.path().join("photographs.trx/");
    std::fs::create_dir(&other).expect("made");
    std::fs::write(other.join("one.jpg"), "x").expect("written");
    let error = streamlines::save(&other, &second, "", &Control::new()).expect_err("not ours");
    sentence(&error);
    assert_eq!(names_in(&other), ["one.jpg"]);
    // A folder does not replace a file.
    std::fs::write(folder.path().join("b.trx"), "x").expect("written");
    let error = streamlines::save(&folder.path().join("b.trx/"), &second, "", &Control::new());
    sentence(&error.expect_err("a file"));
    // Cancelled half-way: the old one is complete, and nothing else is left.
    let control = Control::new();
    control.cancel();
    assert!(streamlines::save(&path, &rich(5, 2, &mut random), "", &control).is_err());
    holds_the_same(
        &open(&path).0,
        &second,
        Format::Trx,
        "after a cancelled one",
    );
    let left = names_in(folder.path());
    assert_eq!(left, ["a.trx", "b.trx", "photographs.trx"]);
}

/// Opened data stay unchanged when the file changes: with mapped bytes they would be lost, and the program would crash.
fn shortened() {
    let mut random = Random::fresh("shortened");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tractogram = streamlines(60_000, &grid(0, false, &mut random), &mut random);
    for format in Format::of_saved_streamlines() {
        let path = folder.path().join(format!("a.{}", format.extensions()[0]));
        streamlines::save(&path, &tractogram, "", &Control::new()).expect("saved");
        assert!(std::fs::metadata(&path).expect("found").len() > 4 << 20);
        let (found, _) = open(&path);
        let (reread, _) = open(&path);
        let file = std::fs::File::options().write(true).open(&path);
        let file = file.expect("writable");
        // First other bytes, then none.
        let length = file.metadata().expect("found").len() as usize;
        (&file).write_all(&vec![7; length]).expect("written over");
        holds_the_same(&found, &tractogram, format, "of a file written over");
        file.set_len(1000).expect("shortened");
        for found in [found, reread] {
            holds_the_same(&found, &tractogram, format, "of a shortened file");
        }
    }
}

/// The space of a VTK file that does not name it is the user's reading; otherwise the file decides.
fn stated_space() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tractogram = Tractogram::new(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], vec![0, 2]);
    for name in ["a.vtk", "a.vtp"] {
        let path = folder.path().join(name);
        streamlines::save(&path, &tractogram, "", &Control::new()).expect("saved");
        let bytes = std::fs::read(&path).expect("readable");
        let first = |space: Option<io::Space>| {
            let reported = io::Reading {
                vtk_space: space,
                ..io::Reading::default()
            };
            match io::open_with_reading(&path, &reported, &Control::new()) {
                Ok(Opened::Tractogram(t, info)) => (t.points[0], info.taken, info.warnings.len()),
                other => panic!("{other:?}"),
            }
        };
        let (ras, lps) = ([1.0, 2.0, 3.0], [-1.0, -2.0, 3.0]);
        assert_eq!(first(Some(io::Space::Lps)), (ras, None, 0), "{name}");
        // Eight characters without a meaning replace the name of the space.
        let silent = String::from_utf8_lossy(&bytes).into_owned();
        assert!(silent.contains("SPACE"), "{name}");
        let silent: Vec<u8> = replaced(&bytes, b"SPACE", b"SPICE");
        std::fs::write(&path, silent).expect("written");
        assert_eq!(first(None), (ras, Some(io::Space::Ras), 1), "{name}");
        let message = first(Some(io::Space::Ras));
        assert_eq!(message, (ras, Some(io::Space::Ras), 0), "{name}");
        let message = first(Some(io::Space::Lps));
        assert_eq!(message, (lps, Some(io::Space::Lps), 0), "{name}");
    }
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while let Some(at) = bytes.windows(old.len()).position(|w| w == old) {
        bytes[at..at + old.len()].copy_from_slice(new);
    }
    bytes
}
