//! Pictures on a machine without a Vulkan driver, and on one without any driver.

use crate::program;
use crate::support::test;
use arcuate::io::png;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    let name = "cli::pictures without a Vulkan driver";
    // `.ci/run` installs a driver for OpenGL: the test fails there if none is found.
    let opengl = match draws_by_opengl() || std::env::var_os("CI").is_some() {
        true => test(name, without_vulkan),
        false => Trial::test(
            format!("{name} (not run: this machine has no OpenGL driver)"),
            || Err(Failed::from("there is no OpenGL driver")),
        )
        .with_ignored_flag(true),
    };
    vec![
        opengl,
        test("cli::pictures without any driver", without_drivers),
        test("cli::a_benchmark_of_the_deconvolution", benchmark),
        test("cli::the_papers_beside_our_figures", papers),
        test("cli::weights_by_threads_and_sparsity", scaling),
        test("cli::a_failed_benchmark_is_a_failure", failed_benchmark),
        test("cli::a_pointer_is_followed_by_pictures", dragged_one),
        test("cli::a_file_larger_than_the_memory_limit", open_in_place),
        test("cli::all_drags_are_followed_by_pictures", || {
            dragged(&[], 7)
        })
        .with_ignored_flag(true),
    ]
}

/// Whether there is a driver for OpenGL, found by the search that the program uses.
fn draws_by_opengl() -> bool {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::GL;
    let found = wgpu::Instance::new(descriptor).enumerate_adapters(wgpu::Backends::GL);
    !pollster::block_on(found).is_empty()
}

/// Runs the program with a time limit: the text of standard error, and the exit code.
fn run(here: &Path, arguments: &[&str], set: &[(&str, &str)]) -> (String, Option<i32>) {
    const LIMIT: Duration = Duration::from_secs(300);
    let message = here.join("stderr.txt");
    let mut child = program()
        .args(arguments)
        .current_dir(here)
        .env_remove("WGPU_BACKEND")
        .envs(set.iter().copied())
        .stdout(Stdio::null())
        .stderr(File::create(&message).expect("made"))
        .spawn()
        .expect("the program starts");
    let started = Instant::now();
    let status = loop {
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None if started.elapsed() > LIMIT => {
                child.kill().expect("killed");
                child.wait().expect("gone");
                panic!("{arguments:?} did not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let text = std::fs::read_to_string(&message).expect("read");
    assert!(!text.contains("panicked"), "{text}");
    (text, status.code())
}

/// Draws the built-in T1.
fn picture(here: &Path, view: &str, out: &str, set: &[(&str, &str)]) -> (String, Option<i32>) {
    let size = ["render", "phantom:1", "--size", "240x200"];
    run(
        here,
        &[&size[..], &["--view", view, "--out", out]].concat(),
        set,
    )
}

/// No file has this name: the loader finds no Vulkan driver.
const NO_VULKAN: (&str, &str) = ("VK_DRIVER_FILES", "/nonexistent/no.json");
/// The loader's older name for it.
const NO_VULKAN_EITHER: (&str, &str) = ("VK_ICD_FILENAMES", "/nonexistent/no.json");

/// OpenGL draws slices like Vulkan, and reports that it draws no 3-D view.
fn without_vulkan() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let set = [NO_VULKAN, NO_VULKAN_EITHER];
    let (text, code) = picture(here, "axial", "gl.png", &set);
    assert_eq!((text.as_str(), code), ("", Some(0)));
    let (text, code) = picture(here, "axial", "vulkan.png", &[]);
    assert_eq!(code, Some(0), "{text}");
    let pixels = |name: &str| png::read(&here.join(name)).expect("a picture").rgba;
    let (gl, vulkan) = (pixels("gl.png"), pixels("vulkan.png"));
    assert_eq!(gl.len(), vulkan.len());
    let lit = vulkan.iter().filter(|v| **v > 60).count();
    let off = gl.iter().zip(&vulkan).filter(|(a, b)| a.abs_diff(**b) > 8);
    let off = off.count();
    assert!(
        lit > vulkan.len() / 5 && off < vulkan.len() / 200,
        "{off} of {lit} differ"
    );
    let (text, code) = picture(here, "3d", "scene.png", &set);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.lines().count() == 1 && text.contains("slices only"),
        "{text}"
    );
    assert!(text.contains("install a Vulkan driver") && !here.join("scene.png").exists());
    // The window shows the sentence instead of the view, and does not wait for one.
    let (text, code) = picture(here, "window", "window.png", &set);
    assert_eq!((text.as_str(), code), ("", Some(0)));
    assert!(here.join("window.png").exists());
    let (text, code) = run(here, &["demo", "--out", "demo"], &set);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("3d.png is left out") && text.contains("Vulkan"),
        "{text}"
    );
    assert!(here.join("demo/window.png").exists() && !here.join("demo/3d.png").exists());
}

fn without_drivers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let set = [NO_VULKAN, NO_VULKAN_EITHER, ("WGPU_BACKEND", "vulkan")];
    let (text, code) = picture(folder.path(), "axial", "a.png", &set);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.lines().count() == 1 && text.contains("install a Vulkan driver"),
        "{text}"
    );
}

/// A deconvolution is measured without a card.
fn benchmark() {
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args([
            "bench",
            "fod",
            "--quick",
            "--case",
            "white",
            "--backend",
            "cpu",
        ])
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(0));
    let line: Value = serde_json::from_slice(&output.stdout).expect("one line");
    assert_eq!(line["case"], "order 8, white matter and fluid");
    assert!(
        line["rate"].as_f64().is_some_and(|rate| rate > 0.0),
        "{line}"
    );
    assert!(line["kernel_s"].is_null(), "{line}");
}

fn bench(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .arg("bench")
        .args(arguments)
        .args(["--backend", "cpu", "--threads", "2"])
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// Rows are measured, those that need a card say so, and both forms have the same figures.
fn papers() {
    let (code, text) = bench(&["--papers", "--case", "Ex1 hybrid", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let value: Value = serde_json::from_str(&text).expect("an object");
    let rows = value["papers"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "{text}");
    let row = &rows[0];
    assert_eq!(row["table"], "Table 1");
    assert_eq!(row["source_found"], true);
    assert!(
        row["source"]
            .as_str()
            .is_some_and(|s| s.starts_with("Jeong"))
    );
    assert_eq!(row["published"], 1.0);
    let ours = row["ours"].as_f64().expect("a time");
    let times = row["times_faster"].as_f64().expect("a ratio");
    assert!(ours > 0.0 && (times * ours - 1.0).abs() < 1e-9, "{row}");
    assert!(row["why_not"].is_null());
    // Without a card the thesis is not measured.
    let (code, text) = bench(&["--papers", "--case", "hernandez", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let value: Value = serde_json::from_str(&text).expect("an object");
    let rows = value["papers"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "{text}");
    for row in rows {
        assert!(row["ours"].is_null() && row["times_faster"].is_null());
        // No public text proves the figures of this thesis.
        assert!(row["source_found"] == false && row["table"].is_null());
        assert_eq!(row["why_not"], "needs a graphics card, and none is in use");
    }
    let (code, text) = bench(&["--papers", "--case", "hernandez"]);
    assert_eq!(code, Some(0));
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), 5, "{text}");
    assert!(rows.iter().all(|line| line.ends_with(" |")), "{text}");
    assert!(text.contains("\nHernandez 2018: "), "{text}");
    assert!(text.contains("| source not found | Fit of 2136"), "{text}");
    assert!(
        text.contains("| 39.7 s | CPU, 4 threads, model not stated | – | needs a graphics card"),
        "{text}"
    );
    let (code, _) = bench(&["--papers", "--case", "nothing like this"]);
    assert_eq!(code, Some(2));
    let (code, _) = bench(&["fit", "--papers"]);
    assert_eq!(code, Some(2));
}

/// A line for each number of threads, then one for each share without a weight.
fn scaling() {
    let (code, text) = bench(&["commit", "--case", "scaling", "--quick"]);
    assert_eq!(code, Some(0), "{text}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    let against = |what: &str| -> Vec<&Value> {
        let lines = lines.iter();
        lines.filter(|line| line["against"] == what).collect()
    };
    let threads: Vec<u64> = against("threads")
        .iter()
        .map(|line| line["threads"].as_u64().expect("a number"))
        .collect();
    assert_eq!(threads, [1, 2]);
    assert_eq!(against("threads")[0]["speed_up"], 1.0);
    let shares: Vec<f64> = against("sparsity")
        .iter()
        .map(|line| line["without_weight"].as_f64().expect("a share"))
        .collect();
    assert_eq!(shares.len(), 6);
    // 5000 random places: within five standard deviations.
    for (share, requested) in shares.iter().zip([0.0, 0.5, 0.75, 0.9, 0.95, 0.99]) {
        assert!((share - requested).abs() < 0.036, "{share} {requested}");
    }
    assert!(
        lines
            .iter()
            .all(|line| line["a_x_ms"].as_f64().is_some_and(|ms| ms > 0.0))
    );
}

/// A drag over a view; the other cases take minutes, and run apart.
fn dragged_one() {
    dragged(&["--case", "crosshair"], 1);
}

/// Cases of `bench drag` are measured, and their quantiles do not decrease.
fn dragged(choice: &[&str], count: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(["bench", "drag", "--quick", "--backend", "cpu"])
        .args(choice)
        .env("XDG_STATE_HOME", folder.path())
        .output()
        .expect("the binary starts");
    let lines = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    assert_eq!(output.status.code(), Some(0), "{lines}");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(lines.len(), count);
    for line in lines {
        let ms = |part: &str| {
            let at = |name: &str| line[part][name].as_f64().expect("a duration");
            let all = ["p50", "p95", "p99", "longest"].map(at);
            assert!(all[0] > 0.0 && all.is_sorted(), "{part}: {line}");
            all
        };
        let (first, last) = (ms("first_ms"), ms("final_ms"));
        let (frame, interface) = (ms("frame_ms"), ms("interface_ms"));
        assert!(frame[3] > interface[3], "drawing takes time: {line}");
        // A picture takes at least the shorter part of a frame.
        assert!(first[0] > interface[0] && last[0] > interface[0], "{line}");
        assert!(line["pictures"].as_u64() >= Some(1), "{line}");
        assert!(
            line["frames"].as_u64() >= line["pictures"].as_u64(),
            "{line}"
        );
    }
    // The copy for recovery is removed with the window.
    let left = folder.path().join("arcuate/recovery");
    let left = std::fs::read_dir(left).map_or(0, Iterator::count);
    assert_eq!(left, 0, "recovery copies");
}

/// A file that is larger than the memory limit is opened, drawn and refined within it.
fn open_in_place() {
    const LIMIT_GB: f64 = 0.34;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(["bench", "open", "--streamlines", "300000", "--memory"])
        .arg(LIMIT_GB.to_string())
        .args(["--backend", "cpu", "--threads", "2"])
        .env("TMPDIR", folder.path())
        .env("XDG_CACHE_HOME", folder.path())
        .output()
        .expect("the binary starts");
    let lines = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    assert_eq!(output.status.code(), Some(0), "{lines}");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let case = |name: &str| {
        let found = lines.iter().find(|line| line["case"] == name);
        found.unwrap_or_else(|| panic!("{name} in {lines:?}"))
    };
    for ending in ["trx", "tck"] {
        let number = |name: &str, key: &str| {
            let line = case(&format!("{ending}: {name}"));
            line[key].as_f64().unwrap_or_else(|| panic!("{line}"))
        };
        assert!(number("write", "bytes") > 1e9 * LIMIT_GB);
        let drawn = |name: &str| number(name, "drawn_streamlines");
        assert!(drawn("first picture") >= 2048.0);
        assert!(drawn("refined picture") > drawn("first picture"));
        assert!(drawn("part of the view") > 0.0);
        for name in [
            "open",
            "first picture",
            "refined picture",
            "part of the view",
        ] {
            // The program itself, whose pages are not counted by the limit, takes some 60 MB.
            let peak = number(name, "peak_bytes");
            assert!(peak < 1e9 * LIMIT_GB + 80e6, "{ending}, {name}: {peak}");
        }
    }
    // The index of the TCK was removed with it.
    let indices = std::fs::read_dir(folder.path().join("arcuate/tck-index"));
    assert_eq!(indices.map_or(0, Iterator::count), 0);
}

/// Without any graphics driver drawing cannot be measured.
fn failed_benchmark() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(["bench", "render", "--quick"])
        .current_dir(folder.path())
        .env("WGPU_BACKEND", "vulkan")
        .env("VK_DRIVER_FILES", "/nonexistent.json")
        .env("VK_ICD_FILENAMES", "/nonexistent.json")
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    let line: Value = serde_json::from_slice(&output.stdout).expect("one line");
    assert!(line["error"].is_string(), "{line}");
}
