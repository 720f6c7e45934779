//! The command line: every subcommand, exit codes, refusals, and "Copy as command".

mod bundles;
mod commit;
mod drivers;
mod edges;
mod endings;
mod guide;
mod info;
mod live;
mod messages;
mod mistakes;
mod pathway;
mod pictures;
mod refusals;
mod segment;
mod select;
mod tensors;

use crate::support::{Random, data_test, test};
use arcuate::cli::{Arguments, Command as Subcommand};
use arcuate::data::{BuiltInPhantom, Role};
use arcuate::solvers::curves::{self, Deflection, Integrator, Interpolation, Match, Seeding};
use arcuate::solvers::tensor_fit::{self, Method};
use arcuate::state::CommandLine;
use arcuate::state::regions::recipe::{RegionSpec, ShapeSpec};
use arcuate::state::tensors::recipe::FitArguments;
use arcuate::state::tensors::recipe::ScanSource;
use clap::Parser as _;
use glam::DVec3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test(
            "cli::copied_commands_parse_to_the_same_parameters",
            copied_commands_parse,
        ),
        test(
            "cli::copied_ray_commands_parse_to_the_same_command",
            copied_ray_commands_parse,
        ),
        test("cli::exit_codes", exit_codes),
        test(
            "cli::every_subcommand_has_help_with_examples",
            help_has_examples,
        ),
        test(
            "cli::phantom_is_fitted_tracked_and_described",
            phantom_round,
        ),
        test("cli::same_bytes_for_any_number_of_threads", same_bytes),
        test("cli::tensor_images_are_tracked", tensors::tracked),
        test("cli::streamlines_are_selected", select::selects),
        test("cli::tables_profiles_and_connectomes", bundles::tables),
        test("cli::pathways_and_their_costs", pathway::costs),
        test("cli::repetitions_of_a_pathway", pathway::repetitions),
        test("cli::streamline_weights_are_fitted", commit::fits_weights),
        test("cli::weights_of_a_large_file", commit::fits_a_large_file),
        test("cli::one_bundle_settles", commit::settles),
        test("cli::a_ball_is_segmented_and_replayed", segment::segments),
        test("cli::a_leak_has_its_own_exit_code", segment::leaks),
        data_test(
            "cli::ventricles_of_a_real_head",
            "t1_b_freesurfer/t1_norm.nii.gz",
            segment::ventricles,
        ),
        data_test(
            "cli::brain_of_a_real_head",
            "t1_a_head/t1_head.nii.gz",
            segment::brain,
        ),
        data_test("cli::real_scan", "dwi_a_philips32/dwi.nii.gz", real_scan),
    ];
    let own = own.into_iter().chain(refusals::tests());
    own.chain(info::tests())
        .chain(mistakes::tests())
        .chain(pictures::tests())
        .chain(drivers::tests())
        .chain(edges::tests())
        .chain(endings::tests())
        .chain(guide::tests())
        .chain(live::tests())
        .chain(messages::tests())
        .collect()
}

pub fn arcuate(arguments: &[&str], folder: &Path) -> Output {
    crate::program()
        .args(arguments)
        .current_dir(folder)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .expect("the binary starts")
}

pub fn json(arguments: &[&str], folder: &Path) -> Value {
    let output = arcuate(&[arguments, &["--json"]].concat(), folder);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"))
}

/// A scan of a synthetic head as `head/dwi.nii.gz`, with one shell of b = 1000.
pub fn small_head(spacing_mm: &str, directions: u32, b0: u32, here: &Path) {
    let (shells, b0) = (format!("1000:{directions}"), b0.to_string());
    let line = ["phantom", "--scan-only", "--spacing", spacing_mm];
    let rest = ["--shells", &shells, "--b0", &b0, "--out", "head"];
    json(&[&line[..], &rest].concat(), here);
}

/// Number of lines on standard error, besides the note about the synthetic head's own mask.
fn sentence_count(error: &str) -> usize {
    let note = "arcuate: note: A mask lies beside the scan";
    let lines = error.trim_end().lines();
    lines.filter(|line| !line.starts_with(note)).count()
}

/// Fails with exit code 1 and one sentence that contains all of `parts`.
pub fn refuses(arguments: &[&str], parts: &[&str], folder: &Path) {
    let output = arcuate(arguments, folder);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    assert_eq!(
        sentence_count(&error),
        1,
        "{arguments:?}: one line, found {error}"
    );
    assert!(!error.contains("panicked"), "{arguments:?}: {error}");
    for part in parts {
        assert!(
            error.contains(part),
            "{arguments:?}: \"{part}\" is not in {error}"
        );
    }
}

/// Splits a line into words like a shell, as far as recipes use quoting.
pub fn split_arguments(line: &str) -> Vec<String> {
    let (mut text, mut word, mut quoted, mut some) = (Vec::new(), String::new(), false, false);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            '\'' => (quoted, some) = (!quoted, true),
            '\\' if !quoted => word.extend(characters.next()),
            ' ' if !quoted => {
                if some || !word.is_empty() {
                    text.push(std::mem::take(&mut word));
                }
                some = false;
            }
            c => word.push(c),
        }
    }
    if some || !word.is_empty() {
        text.push(word);
    }
    text
}

fn random_command(random: &mut Random) -> (FitArguments, Vec<RegionSpec>, curves::Params) {
    let mut pick = |n: u64| random.bits() % n;
    let method = match pick(3) {
        0 => Method::Ols,
        1 => Method::Wls,
        _ => Method::Iwls {
            iterations: 1 + pick(9) as u32,
        },
    };
    let head = [BuiltInPhantom::plain, BuiltInPhantom::crossing][pick(2) as usize](pick(100));
    let source = match pick(3) {
        0 => ScanSource::Phantom { head },
        1 => ScanSource::File {
            dwi: PathBuf::from("/data/it's a \"scan\".nii.gz"),
            gradients: vec![],
        },
        _ => ScanSource::File {
            dwi: PathBuf::from("d.nii"),
            gradients: vec!["a b.bval".into(), "c.bvec".into()],
        },
    };
    let mask = (pick(2) == 0).then(|| PathBuf::from("mäsk $HOME.nii"));
    let seeding = match pick(3) {
        0 => Seeding::Random {
            count: 1 + pick(100_000) as usize,
        },
        1 => Seeding::PerVoxel {
            count: 1 + pick(20) as usize,
        },
        _ => Seeding::Grid {
            spacing_mm: 0.25 + pick(100) as f64 * 0.1,
        },
    };
    let integrator = [Integrator::Euler, Integrator::Rk2, Integrator::Rk4][pick(3) as usize];
    let interpolation = [Interpolation::Trilinear, Interpolation::CubicBSpline][pick(2) as usize];
    let flags = [0; 8].map(|_| pick(2) == 0);
    let rule = |all: bool| if all { Match::All } else { Match::Any };
    let b_high = if pick(2) == 0 { f64::INFINITY } else { 1550.0 };
    let mut number = |low, high| random.uniform(low, high);
    let params = curves::Params {
        integrator,
        interpolation,
        seeding,
        random_seed: 17,
        step_mm: number(0.1, 2.0),
        max_angle_rad: flags[0].then(|| (number(10.0, 90.0).round()).to_radians()),
        min_fa: flags[1].then(|| number(0.0, 0.5)),
        min_length_mm: number(0.0, 50.0),
        max_length_mm: flags[2].then(|| number(100.0, 500.0)),
        max_steps: 4321,
        targets: rule(flags[4]),
        includes: rule(flags[5]),
        both_ways: flags[3],
        deflection: flags[6].then(|| Deflection {
            f: number(0.0, 1.0),
            g: number(0.0, 1.0),
        }),
        repetitions: flags[7].then_some(73),
    };
    let mut point = || {
        DVec3::new(
            number(-90.0, 90.0),
            number(-120.0, 90.0),
            number(-70.0, 80.0),
        )
    };
    // A region that takes no part has no option.
    let regions = Role::ALL
        .into_iter()
        .filter(|role| role.affects_curves())
        .flat_map(|role| {
            let sphere = ShapeSpec::Sphere {
                centre: point(),
                radius_mm: 3.25,
            };
            let cuboid = ShapeSpec::Box {
                centre: point(),
                half_mm: DVec3::new(1.0, 2.5, 1e-3),
            };
            let mask = ShapeSpec::Mask(PathBuf::from("r 'o' i.nii.gz"));
            [sphere, cuboid, mask].map(|shape| RegionSpec { role, shape })
        })
        .collect();
    let params_fit = tensor_fit::Params {
        method,
        b_range_s_per_mm2: (0.0, b_high),
        min_eigenvalue_mm2_per_s: number(1e-7, 1e-4),
    };
    (
        FitArguments {
            source,
            mask,
            params: params_fit,
        },
        regions,
        params,
    )
}

fn copied_ray_commands_parse() {
    use arcuate::solvers::geodesic::RayMetricParams;
    use arcuate::solvers::geodesic::{Cut, Directions, Form, Params, Precision, Sharpening};
    let mut random = Random::fresh("copied ray commands");
    let one_of = |random: &mut Random, n: u64| random.bits() % n;
    for _ in 0..100 {
        let (fit, regions, mut walk) = random_command(&mut random);
        // Rays have neither.
        (walk.deflection, walk.repetitions) = (None, None);
        walk.both_ways = one_of(&mut random, 2) == 0;
        let count = 1 + one_of(&mut random, 500) as usize;
        let directions = match one_of(&mut random, 5) {
            0 => Directions::Principal,
            1 => Directions::Sphere { count },
            2 => Directions::Icosphere { level: count % 5 },
            3 => Directions::Towards {
                direction: random.direction().into(),
            },
            _ => Directions::Cone {
                count,
                half_angle_rad: (1.0 + (count % 170) as f64).to_radians(),
            },
        };
        let sharpening = match one_of(&mut random, 2) {
            0 => Sharpening::Power {
                alpha: random.uniform(0.1, 9.0),
            },
            _ => Sharpening::Paper {
                power: 1 + (count % 7) as u32,
                below_fa: random.uniform(0.1, 0.9),
            },
        };
        let cut = match one_of(&mut random, 4) {
            0 => Cut::All,
            1 => Cut::AtLeast(random.uniform(0.5, 2.0) as f32),
            2 => Cut::Top(count),
            _ => Cut::TopShare(f64::from(1 + one_of(&mut random, 99) as u32) / 100.0),
        };
        let line = CommandLine::Geodesic {
            fit,
            regions,
            metric: RayMetricParams {
                sharpening,
                precision: [Precision::Half, Precision::Single][one_of(&mut random, 2) as usize],
            },
            params: Params {
                curves: walk,
                form: [Form::Hamiltonian, Form::Christoffel][one_of(&mut random, 2) as usize],
                directions,
                keep_every: count,
                loop_guard: one_of(&mut random, 2) == 0,
                through: None,
            },
            cut,
        };
        let (command, arguments) = parsed(&line);
        let Some(Subcommand::Geodesic(options)) = command else {
            panic!("{arguments:?}: not geodesic")
        };
        let Ok(found) = options.tensors().expect("a scan").command_line(None) else {
            panic!("no command line")
        };
        // The text of the parsed command line is the same, up to the rounding of angles.
        assert_eq!(found.text(), line.text(), "{arguments:?}");
    }
}

/// The parsed command of a command line, and its words.
fn parsed(line: &CommandLine) -> (Option<Subcommand>, Vec<String>) {
    let text = split_arguments(&line.text());
    let parsed = Arguments::try_parse_from(&text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    (parsed.command, text)
}

fn copied_commands_parse() {
    let mut random = Random::fresh("copied commands");
    for _ in 0..200 {
        let (fit, regions, mut params) = random_command(&mut random);
        // Deflected steps are straight; the program has no other command.
        if params.deflection.is_some() {
            params.integrator = Integrator::Euler;
        }
        let line = CommandLine::Track {
            fit: fit.clone(),
            regions: regions.clone(),
            params: params.clone(),
        };
        let (command, arguments) = parsed(&line);
        let Some(Subcommand::Track(options)) = command else {
            panic!("{arguments:?}: not track")
        };
        let Some(Ok(found)) = options.tensors().map(|o| o.command_line(None)) else {
            panic!("no command line")
        };
        let CommandLine::Track {
            fit: found_fit,
            regions: found_regions,
            params: found_params,
        } = found
        else {
            panic!("not a track command")
        };
        assert_eq!(found_fit, fit, "{arguments:?}");
        assert_eq!(found_regions, regions, "{arguments:?}");
        // Degrees are rounded to 1e-9 in the text.
        let angle = |p: &curves::Params| p.max_angle_rad.unwrap_or(-1.0);
        assert!(
            (angle(&found_params) - angle(&params)).abs() < 1e-10,
            "{arguments:?}"
        );
        let without_angle = |p: &curves::Params| curves::Params {
            max_angle_rad: None,
            ..p.clone()
        };
        assert_eq!(
            without_angle(&found_params),
            without_angle(&params),
            "{arguments:?}"
        );

        let map = CommandLine::Fit {
            fit,
            map: arcuate::solvers::tensor_fit::FitMap::Fa,
        };
        Arguments::try_parse_from(split_arguments(&map.text())).expect("a fit command parses");
    }
}

fn exit_codes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let code = |arguments: &[&str]| arcuate(arguments, folder.path()).status.code();
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["--version"]), Some(0));
    assert_eq!(code(&["fit"]), Some(2));
    assert_eq!(code(&["fit", "phantom:x", "--out", "o"]), Some(2));
    assert_eq!(
        code(&["track", "phantom:1", "--out", "tracks.nii"]),
        Some(2)
    );
    assert_eq!(
        code(&[
            "track",
            "phantom:1",
            "--seed",
            "ball:1,2,3,4",
            "--out",
            "t.tck"
        ]),
        Some(2)
    );
    assert_eq!(code(&["info", "missing.nii.gz"]), Some(1));
}

fn help_has_examples() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for command in ["info", "fit", "track", "render", "phantom", "demo", "bench"] {
        let output = arcuate(&[command, "--help"], folder.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && text.contains("Examples:"),
            "{command}: {text}"
        );
    }
}

fn phantom_round() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 12, 2, here);
    let info = json(&["info", "head/dwi.nii.gz"], here);
    assert_eq!(info["files"][0]["volumes"], 14);
    assert_eq!(info["files"][0]["shells"][1]["b_s_per_mm2"], 1000);
    let fit = json(
        &[
            "fit",
            "head/dwi.nii.gz",
            "--maps",
            "fa,tensor,mask",
            "--out",
            "maps",
        ],
        here,
    );
    let (mask, fitted) = (fit["mask_voxels"].as_u64(), fit["fitted"].as_u64());
    assert!(fitted > Some(5_000) && fitted <= mask, "{fit}");
    let track = json(
        &[
            "track",
            "head/dwi.nii.gz",
            "--seeds",
            "random:500",
            "--out",
            "t.tck",
        ],
        here,
    );
    assert_eq!(track["seeds"], 500);
    // TCK holds only points: values are next to it.
    for value in ["fa.tsf", "seed.weights.txt", "stop_end.weights.txt"] {
        let file = here.join("t").with_extension(value);
        assert!(file.exists(), "{}", file.display());
        let files = track["files"].as_array().expect("files");
        let named = |f: &Value| f.as_str().is_some_and(|f| f.ends_with(value));
        assert!(files.iter().any(named), "{value}");
    }
    let info = json(&["info", "t.tck"], here);
    assert_eq!(info["files"][0]["streamlines"], track["kept"]);
    // The command in the report makes the same file.
    let repeat = track["repeat"]
        .as_str()
        .expect("a command")
        .replace("--out t.tck", "--out again.tck");
    let text = split_arguments(&repeat);
    let text: Vec<&str> = text.iter().skip(1).map(String::as_str).collect();
    json(&text, here);
    assert_eq!(points(&here.join("t.tck")), points(&here.join("again.tck")));
    converted(here, &track["kept"]);
    // Nothing is overwritten by accident.
    refuses(
        &["track", "head/dwi.nii.gz", "--out", "t.tck"],
        &["--force", "t.tck"],
        here,
    );
}

/// `t.tck` of the head in other formats, with the grid of its scan.
fn converted(here: &Path, kept: &Value) {
    let refused = ["convert", "t.tck", "t.trk"];
    refuses(&refused, &["--reference", "t.trk"], here);
    let reference = ["--reference", "head/dwi.nii.gz"];
    let done = json(&[&refused[..], &reference].concat(), here);
    assert_eq!(done["files"], serde_json::json!(["t.trk"]));
    assert_eq!(done["left_out"], serde_json::json!([]));
    json(&["convert", "t.trk", "t.vtp"], here);
    let info = json(&["info", "t.trk", "t.vtp"], here);
    for file in info["files"].as_array().expect("files") {
        assert_eq!(&file["streamlines"], kept);
    }
    let scan = json(&["info", "head/dwi.nii.gz"], here);
    let grid = &info["files"][0]["grid"];
    assert_eq!(grid["shape"], scan["files"][0]["shape"]);
    assert_eq!(grid["orientation"], scan["files"][0]["orientation"]);
    refuses(&["convert", "t.trk", "t.vtp"], &["--force", "t.vtp"], here);
    // Losses are reported before anything is written, so that they can be refused.
    let strict = ["convert", "t.trk", "strict.vtp", "--strict"];
    refuses(&strict, &["--strict", "grid"], here);
    assert!(!here.join("strict.vtp").exists());
    let output = arcuate(&["convert", "t.trk", "noted.vtp"], here);
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    let at = |text: &str| message.lines().position(|line| line.contains(text));
    assert!(
        output.status.success() && at("left out") < at("Converted"),
        "{message}"
    );
    assert!(
        at("left out").is_some_and(|line| message.lines().nth(line).unwrap_or("").contains("grid"))
    );
    for (name, code) in [("t.png", 2), ("t.nii.gz", 2)] {
        let output = arcuate(&["convert", "t.trk", name], here);
        assert_eq!(output.status.code(), Some(code), "{name}");
    }
}

/// Makes `head/dwi.nii.gz` in a folder.
pub fn coarse_head(folder: &Path) {
    let text = "phantom --scan-only --spacing 4 --shells 1000:12 --out head";
    json(&text.split(' ').collect::<Vec<_>>(), folder);
}

/// The bytes of a TCK or TSF file after its header, which contains the time of writing.
fn points(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("a streamline file");
    let end = bytes
        .windows(5)
        .position(|w| w == b"\nEND\n")
        .expect("a header");
    bytes[end + 5..].to_vec()
}

fn same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let scan = "head/dwi.nii.gz";
    let mut files = Vec::new();
    for threads in ["1", "3"] {
        let name = format!("t{threads}.tck");
        let maps = format!("maps{threads}");
        json(&["track", scan, "--threads", threads, "--out", &name], here);
        json(
            &[
                "fit",
                scan,
                "--maps",
                "tensor",
                "--threads",
                threads,
                "--out",
                &maps,
            ],
            here,
        );
        let tensor = std::fs::read(here.join(maps).join("tensor.nii.gz")).expect("a tensor file");
        files.push((points(&here.join(name)), tensor));
    }
    assert!(files[0].0.len() > 1_000);
    assert!(files[0] == files[1], "1 and 3 threads differ");
}

fn real_scan(scan: PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let scan = scan.to_string_lossy().into_owned();
    let mask = scan.replace("dwi.nii.gz", "brain_mask.nii.gz");
    let track = json(
        &[
            "track",
            &scan,
            "--mask",
            &mask,
            "--seeds",
            "random:5000",
            "--out",
            "t.tck",
        ],
        here,
    );
    let number = |name: &str| track[name].as_u64().unwrap_or(0);
    assert!(number("seeds") == 5000 && number("kept") > 500, "{track}");
    let fit = ["fit", &scan, "--mask", &mask, "--maps", "fa"];
    let fit = json(&[&fit[..], &["--out", "maps"]].concat(), here);
    assert_eq!(fit["fitted"], fit["mask_voxels"]);
    // Written files can be opened.
    let info = json(&["info", "maps/fa.nii.gz"], here);
    let high = info["files"][0]["range"][1].as_f64().unwrap_or(0.0);
    assert!((0.8..=1.0).contains(&high), "{info}");
}
