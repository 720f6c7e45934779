//! The window's final result equals that of the command line, byte for byte.

use super::{arcuate, coarse_head, points, split_arguments};
use crate::support::{Window, test};
use arcuate::data::{Role, Shape, Stroke};
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::{Cut, Sharpening};
use arcuate::state::{
    Action, FilesAction, Method, Phase, RegionAction, Tool, TrackAction, ViewAction,
};
use glam::dvec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::rays_of_window_and_command_agree", rays),
        test("cli::rays_through_a_point_agree", rays_through),
        test("cli::painted_regions_and_masks_agree", painted),
        test("cli::regions_by_command", region_commands),
    ]
}

trait PlacesRegions {
    fn place(&mut self, role: Role, shape: Shape);
}

impl PlacesRegions for Window {
    fn place(&mut self, role: Role, shape: Shape) {
        self.act(Action::Region(RegionAction::Add { role, shape }));
    }
}

fn rays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![
        here.join("head/dwi.nii.gz"),
    ])));
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    let sphere = |x, y, z, radius_mm| Shape::Sphere {
        centre: dvec3(x, y, z),
        radius_mm,
    };
    window.place(Role::Seed, sphere(-24.3, -16.1, 10.7, 5.5));
    let seed = window.state.runtime.regions.selected.expect("a seed");
    window.place(Role::Target, sphere(-28.0, -20.0, 46.0, 12.0));
    // Dragged and sharpened as by a user, cut, then at rest.
    let mut rays = window.state.document.track.rays.clone();
    rays.metric.sharpening = Sharpening::Power { alpha: 1.7 };
    for phase in [Phase::Live, Phase::Done] {
        window.act(Action::Region(RegionAction::SetShape {
            region: seed,
            shape: sphere(-24.9, -16.6, 9.3, 5.5),
            phase: Phase::Live,
        }));
        window.act(Action::Track(TrackAction::SetRays {
            rays: rays.clone(),
            phase,
        }));
    }
    window.act(Action::Settle);
    let live = window.state.runtime.track.live.value().expect("rays");
    let measures = live.rays.as_ref().expect("measures").measures.clone();
    assert!(!live.coarse && measures.len() > 20, "{}", measures.len());
    let mut sorted = measures.to_vec();
    sorted.sort_by(f32::total_cmp);
    rays.cut = Cut::AtLeast(sorted[measures.len() / 3]);
    window.act(Action::Track(TrackAction::SetRays {
        rays,
        phase: Phase::Done,
    }));
    let live = window.state.runtime.track.live.value().expect("rays");
    assert!(live.output.kept.len() < measures.len());
    let command = window.state.document.live_command_line(live).text();
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: here.join("window.tck"),
    }));
    let sentence = split_arguments(&command.replace("rays.tck", "command.tck"));
    let sentence: Vec<&str> = sentence.iter().skip(1).map(String::as_str).collect();
    let output = arcuate(&[&*sentence, &["--backend", "cpu"]].concat(), here);
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let both =
        |ending: &str| ["window", "command"].map(|name| here.join(name).with_extension(ending));
    let [a, b] = both("tck");
    assert!(points(&a).len() > 1_000 && points(&a) == points(&b));
    let [a, b] = both("tsf");
    assert!(points(&a).len() > 300 && points(&a) == points(&b));
    let [a, b] = both("weights.txt").map(|path| std::fs::read_to_string(path).expect("weights"));
    let numbers = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|l| !l.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(numbers(&a), numbers(&b));

    // If none arrives, the command reports the outcomes.
    let nowhere = sentence.iter().map(|w| match *w {
        "command.tck" => "nowhere.tck",
        w if w.starts_with("sphere:-28") => "sphere:70,90,80,2",
        w => w,
    });
    let output = arcuate(&nowhere.collect::<Vec<_>>(), here);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "0 of 8000 rays reach “Target”; ";
    assert!(
        output.status.success() && message.contains(expected),
        "{message}"
    );
}

/// Rays through a point: the window shows them live, its command gives the same bytes, and undo returns to the fan.
fn rays_through() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![
        here.join("head/dwi.nii.gz"),
    ])));
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    let seed = Shape::Sphere {
        centre: dvec3(-24.3, -16.1, 10.7),
        radius_mm: 3.0,
    };
    window.place(Role::Seed, seed);
    let fan = window.state.document.track.rays.clone();
    let mut rays = fan.clone();
    rays.metric.sharpening = Sharpening::Power { alpha: 1.0 };
    rays.params.through = Some([-26.0, -18.0, 30.0]);
    rays.params.curves.seeding = Seeding::Random { count: 24 };
    rays.params.curves.min_length_mm = 5.0;
    rays.cut = Cut::All;
    window.act(Action::Track(TrackAction::SetRays {
        rays: rays.clone(),
        phase: Phase::Done,
    }));
    window.act(Action::Settle);
    let messages = window.state.runtime.notices.messages.clone();
    let live = window.state.runtime.track.live.value();
    let live = live.unwrap_or_else(|| panic!("{messages:?}"));
    assert!(
        !live.coarse && live.output.kept.len() > 12,
        "{}",
        live.output.kept.len()
    );
    let kept = &live.output.kept;
    for line in 0..kept.len() {
        let last = kept.streamline(line).last().expect("points").map(f64::from);
        assert!(dvec3(last[0], last[1], last[2]).distance(dvec3(-26.0, -18.0, 30.0)) < 2e-3);
    }
    let command = window.state.document.live_command_line(live).text();
    assert!(command.contains("--through=-26,-18,30"), "{command}");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: here.join("window.tck"),
    }));
    let sentence = split_arguments(&command.replace("rays.tck", "command.tck"));
    let sentence: Vec<&str> = sentence.iter().skip(1).map(String::as_str).collect();
    for threads in ["1", "2"] {
        let more = ["--backend", "cpu", "--threads", threads, "--force"];
        let output = arcuate(&[&*sentence, &more].concat(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {error}");
        let [a, b] = ["window.tck", "command.tck"].map(|name| points(&here.join(name)));
        assert!(a.len() > 300 && a == b);
    }
    // A point outside the head is refused, and the earlier rays stay.
    rays.params.through = Some([900.0, 0.0, 0.0]);
    window.act(Action::Track(TrackAction::SetRays {
        rays,
        phase: Phase::Done,
    }));
    window.act(Action::Settle);
    let failure = window.state.runtime.track.live.failure().map(str::to_owned);
    assert!(
        failure.is_some_and(|why| why.contains("outside the fitted voxels")),
        "{:?}",
        window.state.runtime.notices.messages
    );
    // Undo leads back to rays in all directions.
    for _ in 0..2 {
        if window.state.document.track.rays != fan {
            window.act(Action::Undo);
        }
    }
    assert_eq!(window.state.document.track.rays, fan);
}

/// Regions painted manually, exported and named in the command: the same streamlines and rays.
fn painted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![
        here.join("head/dwi.nii.gz"),
    ])));
    let paint = |window: &mut Window, role, points: &[[f64; 3]], radius_mm: f64| {
        window.act(Action::View(ViewAction::SetTool(Tool::Brush)));
        window.act(Action::Region(RegionAction::DrawInto {
            region: None,
            role,
        }));
        for (i, ends) in points.windows(2).enumerate() {
            let last = i + 2 == points.len();
            window.act(Action::Region(RegionAction::Stroke {
                stroke: Stroke {
                    points: vec![ends[0].into(), ends[1].into()],
                    radius_mm,
                    disc: None,
                },
                erase: false,
                begins: i == 0,
                phase: if last { Phase::Done } else { Phase::Live },
            }));
        }
        window
            .state
            .runtime
            .regions
            .selected
            .expect("a painted region")
    };
    let seed = [
        [-26.0, -18.0, 8.0],
        [-22.0, -14.0, 12.0],
        [-24.0, -16.0, 14.0],
    ];
    let target = [[-30.0, -22.0, 44.0], [-26.0, -18.0, 48.0]];
    let seed = paint(&mut window, Role::Seed, &seed, 4.0);
    let target = paint(&mut window, Role::Target, &target, 9.0);
    for method in [Method::Streamlines, Method::Rays] {
        window.act(Action::Track(TrackAction::SetMethod(method)));
        window.act(Action::Settle);
        let live = window
            .state
            .runtime
            .track
            .live
            .value()
            .expect("a live result");
        assert!(
            !live.coarse && live.output.kept.len() > 5,
            "{}",
            live.output.kept.len()
        );
        if method == Method::Streamlines {
            assert!(
                window
                    .state
                    .document
                    .live_command_line(live)
                    .no_command()
                    .is_some(),
                "the masks have no files yet"
            );
            for (region, name) in [(seed, "seed.nii.gz"), (target, "target.nii.gz")] {
                let path = here.join(name);
                window.act(Action::Region(RegionAction::Save { region, path }));
            }
        }
        let live = window
            .state
            .runtime
            .track
            .live
            .value()
            .expect("a live result");
        let command = window.state.document.live_command_line(live).text();
        assert!(command.contains("--seed mask:"), "{command}");
        let name = format!("{method:?}.tck");
        window.act(Action::Files(FilesAction::SaveStreamlines {
            layer: None,
            path: here.join(&name),
        }));
        let command = command
            .replace("rays.tck", "command.tck")
            .replace("tracks.tck", "command.tck");
        let text = split_arguments(&command);
        let text: Vec<&str> = text.iter().skip(1).map(String::as_str).collect();
        let output = arcuate(&[&*text, &["--backend", "cpu", "--force"]].concat(), here);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {message}");
        let (a, b) = (points(&here.join(&name)), points(&here.join("command.tck")));
        assert!(
            a.len() > 500 && a == b,
            "{method:?}: {} and {} bytes",
            a.len(),
            b.len()
        );
    }
}

/// The window's operations on regions, done by commands, and the refusals of these.
fn region_commands() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let run = |arguments: &str| {
        let sentence: Vec<&str> = arguments.split(' ').collect();
        let output = arcuate(&[&["region"], &*sentence, &["--json"]].concat(), here);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let voxels = |arguments: &str| {
        let (code, out, error) = run(arguments);
        assert_eq!(code, Some(0), "{arguments}: {error}");
        let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        value["voxels"].as_u64().expect("a count")
    };
    let a = voxels("--image head/dwi.nii.gz --union sphere:-20,-10,10,12 --out a.nii.gz");
    let b = voxels("--image head/dwi.nii.gz --union sphere:-12,-10,10,12 --out b.nii.gz");
    let both = voxels("--union mask:a.nii.gz --intersect mask:b.nii.gz --out both.nii.gz");
    let either = voxels("--union mask:a.nii.gz --union mask:b.nii.gz --out either.nii.gz");
    let only = voxels("--union mask:a.nii.gz --subtract mask:b.nii.gz --out only.nii.gz");
    assert_eq!(a + b, either + both);
    assert_eq!(only, a - both);
    // A ball 12 mm and 5 mm larger, on voxels of 4 mm.
    let grown = voxels("--union mask:a.nii.gz --grow 5 --out grown.nii.gz");
    let ratio = grown as f64 / a as f64;
    assert!((2.0..3.6).contains(&ratio), "{ratio}");
    let back = voxels("--union mask:grown.nii.gz --grow -5 --smooth 3 --out back.nii.gz");
    assert!((back as f64 / a as f64 - 1.0).abs() < 0.4, "{back} of {a}");
    let bright = voxels("--image head/dwi.nii.gz --threshold 1.. --out bright.nii.gz");
    assert!(bright > 1000);
    let filled =
        "--image head/dwi.nii.gz --fill -20,-10,10 --tolerance 1e9 --at-most 5 --out f.nii.gz";
    // 5 ml of voxels of 64 mm³.
    assert_eq!(voxels(filled), 78);
    let (code, ..) =
        run("--as-labels --union mask:only.nii.gz --union mask:b.nii.gz --out labels.nii.gz");
    assert_eq!(code, Some(0));
    assert_eq!(
        voxels("--image labels.nii.gz --label 2 --out two.nii.gz"),
        b
    );
    assert_eq!(
        voxels("--image labels.nii.gz --label 1 --label 2 --out all.nii.gz"),
        either
    );
    for (arguments, code, sentence) in [
        ("--union sphere:0,0,0,5 --out x.nii.gz", 2, "no grid"),
        (
            "--image labels.nii.gz --label 7 --out x.nii.gz",
            1,
            "no label 7, it has 1 2",
        ),
        (
            "--image head/dwi.nii.gz --label 1 --out x.nii.gz",
            1,
            "whole numbers",
        ),
        (
            "--image labels.nii.gz --threshold 5.. --out x.nii.gz",
            1,
            "no voxel",
        ),
        (
            "--image labels.nii.gz --threshold 5..1 --out x.nii.gz",
            2,
            "LOW..HIGH",
        ),
        (
            "--image labels.nii.gz --fill 900,0,0 --tolerance 1 --out x.nii.gz",
            1,
            "outside the image",
        ),
        (
            "--union mask:a.nii.gz --grow 5000 --out x.nii.gz",
            2,
            "from -500 to 500",
        ),
        ("--union mask:a.nii.gz --out b.nii.gz", 1, "--force"),
    ] {
        let (found, _, stderr) = run(arguments);
        assert!(
            found == Some(code) && stderr.contains(sentence),
            "{arguments}: {found:?} {stderr}"
        );
    }
}
