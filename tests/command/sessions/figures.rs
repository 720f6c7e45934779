//! Figures of a session: its methods paragraph, a transparent picture, a turntable, a film.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::io::png;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::{Command, Output};

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::methods paragraph", methods),
        test("sessions::pictures of a turn", turn),
    ]
}

fn run(arguments: &[&str], folder: &Path, path: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arcuate"));
    command.args(arguments).args(["--backend", "cpu"]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command
        .current_dir(folder)
        .output()
        .expect("the program runs")
}

fn output_text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn session() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    window.save(&folder.path().join("s.arcuate"));
    folder
}

/// The requested parts are in it, and every cited work has a number.
fn methods() {
    let folder = session();
    let output = run(&["methods", "s.arcuate"], folder.path(), None);
    let (text, error) = output_text(&output);
    assert!(output.status.success(), "{error}");
    let window = Window::opened(&folder.path().join("s.arcuate"));
    let state = &window.state;
    let walk = &state.document.track.streamlines;
    for sentence in [
        format!("steps of {} mm", walk.step_mm),
        "Diffusion tensors [1]".to_owned(),
        "Arcuate".to_owned(),
        "\n[1] Basser".to_owned(),
    ] {
        assert!(text.contains(&sentence), "{sentence}: {text}");
    }
    for region in state.document.regions.iter().filter(|r| r.visible) {
        assert!(text.contains(&region.name), "{}: {text}", region.name);
    }
    for layer in &state.document.layers {
        if state.document.curve_recipe(layer.id).is_some() {
            assert!(text.contains(&format!("“{}”: ", layer.name)), "{text}");
        }
    }
    let (paragraph, works) = text.split_once("\n\n").expect("working");
    let count = works.lines().filter(|l| l.starts_with('[')).count();
    assert!(count >= 3, "{works}");
    for number in 1..=count {
        assert!(
            paragraph.contains(&format!("[{number}]")),
            "{number}: {text}"
        );
    }
    assert!(!paragraph.contains(&format!("[{}]", count + 1)));
    // The last of several conditions follows an "and".
    for rest in paragraph.split(", were at least").skip(1) {
        let rest = rest.split(". ").next().unwrap_or_default();
        assert!(rest.contains(" and "), "{paragraph}");
    }
    assert!(
        !paragraph.contains("  ") && !paragraph.contains(".."),
        "{text}"
    );
}

/// Frames differ, the first is the view itself, and ffmpeg receives them in order.
fn turn() {
    let folder = session();
    let here = folder.path();
    let size = ["--size", "200x160"];
    let output = run(
        &[
            &["render", "s.arcuate", "--transparent", "--out", "a.png"],
            &size[..],
        ]
        .concat(),
        here,
        None,
    );
    assert!(output.status.success(), "{}", output_text(&output).1);
    let one = png::read(&here.join("a.png")).expect("a picture");
    let clear = one.rgba.chunks_exact(4).filter(|p| p[3] == 0).count();
    let solid = one.rgba.chunks_exact(4).filter(|p| p[3] == 255).count();
    assert!(clear > 3000 && solid > 100, "{clear} {solid}");

    let turn = [
        "render",
        "s.arcuate",
        "--turntable",
        "4",
        "--out",
        "t.png",
        "--film",
    ];
    let none = here.join("none");
    std::fs::create_dir(&none).expect("a folder");
    let arguments = [&turn[..], &size].concat();
    let output = run(&arguments, here, Some(&none));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output_text(&output).1.contains("ffmpeg"),
        "{}",
        output_text(&output).1
    );

    if cfg!(unix) {
        // Replaces ffmpeg: stores its inputs, concatenated, in a film's last box, which extends to the end.
        let tools = here.join("tools");
        std::fs::create_dir(&tools).expect("a folder");
        let script = "#!/bin/sh\nfor last; do :; done\npattern=; before=\nfor a; do [ \"$before\" = -i ] && pattern=$a; before=$a; done\nprintf '\\000\\000\\000\\010ftyp\\000\\000\\000\\010moov\\000\\000\\000\\000mdat' >\"$last\"\n/bin/cat \"${pattern%/*}\"/*.png >>\"$last\"\n";
        const BOXES: usize = 3 * 8;
        std::fs::write(tools.join("ffmpeg"), script).expect("written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(tools.join("ffmpeg"), mode).expect("executable");
        }
        let output = run(&arguments, here, Some(&tools));
        assert!(output.status.success(), "{}", output_text(&output).1);
        let film = std::fs::read(here.join("t.mp4")).expect("a film");
        let frames: Vec<Vec<u8>> = (1..=4)
            .map(|i| std::fs::read(here.join(format!("t-{i:03}.png"))).expect("a frame"))
            .collect();
        assert_eq!(film[BOXES..], frames.concat());
        let pixels = |i: usize| png::read(&here.join(format!("t-{i:03}.png"))).unwrap().rgba;
        let plain = run(
            &[&["render", "s.arcuate", "--out", "b.png"], &size[..]].concat(),
            here,
            None,
        );
        assert!(plain.status.success());
        assert_eq!(pixels(1), png::read(&here.join("b.png")).unwrap().rgba);
        assert_ne!(pixels(1), pixels(2));
        assert_ne!(pixels(1), pixels(3));
    }
    let output = run(
        &[
            "render",
            "s.arcuate",
            "--view",
            "axial",
            "--transparent",
            "--out",
            "c.png",
        ],
        here,
        None,
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        output_text(&output).1.contains("--view 3d"),
        "{}",
        output_text(&output).1
    );
}
