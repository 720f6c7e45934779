//! Reports: complete pages without other files, whose figures are those of the commands.

use crate::cli::{json, refuses};
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use arcuate::state::core::slice_turn::SliceTurn;
use arcuate::state::methods::methods;
use arcuate::state::session_report::{DrawnView, REPORT_PANES, ReportAction, ReportPicture};
use arcuate::state::{Action, Content, FilesAction, LayerAction, ViewAction};
use glam::DVec3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::a report holds the whole session", whole),
        test(
            "sessions::figures of a report are those of the commands",
            figures,
        ),
        test("sessions::a report names files that are missing", missing),
        test("sessions::a report of the window", window),
        test("sessions::a report needs no desktop", silent),
    ]
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a report")
}

/// The cells of the row that begins with this cell, without markup.
fn row(page: &str, name: &str) -> Vec<String> {
    let start = format!("<tr><th scope=\"row\">{name}</th>");
    let row = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("{name}: {page}"));
    let row = row.1.split("</tr>").next().expect("a row");
    let cells = row.split("</td>").filter(|cell| cell.contains("<td"));
    let text = |cell: &str| cell.split_once('>').expect("a cell").1.to_owned();
    cells.map(text).collect()
}

/// Every element is closed, pictures have descriptions, and nothing outside the file is named.
fn is_complete(page: &str) {
    for element in [
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "svg",
        "main",
        "body",
        "ul",
        "li",
        "pre",
        "code",
        "h1",
        "h2",
        "h3",
        "p",
        "caption",
    ] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        assert_eq!(
            opened,
            page.matches(&format!("</{element}>")).count(),
            "{element}"
        );
    }
    assert_eq!(
        page.matches("<img ").count(),
        page.matches(" alt=\"").count()
    );
    let sources = page.matches(" src=\"").count();
    assert_eq!(
        sources,
        page.matches(" src=\"data:image/png;base64,").count()
    );
    for outside in [
        " href=", "url(", "@import", "<script", "<link", "<iframe", "srcset",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<h1>").count(), 1);
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("@media print"));
}

fn whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_scan(here);
    window.work();
    let mut layers = window.state.document.layers.iter();
    let fa = layers.find(|layer| matches!(layer.content, Content::Image(_)));
    let fa = fa.expect("a map").id;
    window.act(Action::Layer(LayerAction::Rename {
        layer: fa,
        name: "FA <b>&\"1\"".to_owned(),
    }));
    window.save(&here.join("s.arcuate"));
    let value = json(&["report", "s.arcuate"], here);
    let page = read(&here.join("s.html"));
    is_complete(&page);
    // A machine without a graphics device has sentences in place of pictures.
    let drawn = value["pictures"].as_u64().expect("a number");
    assert_eq!(page.matches("<img ").count() as u64, drawn);
    assert_eq!(
        page.matches(": no picture. ").count() as u64,
        REPORT_PANES.len() as u64 - drawn
    );
    assert!(page.contains("FA &lt;b&gt;&amp;&quot;1&quot;"), "{page}");
    assert!(!page.contains("<b>"));
    let state = &Window::opened(&here.join("s.arcuate")).state;
    let document = &state.document;
    let escaped = arcuate::io::svg::escaped;
    for layer in &document.layers {
        let name = escaped(&layer.name);
        assert!(
            page.contains(&format!("<th scope=\"row\">{name}</th>")),
            "{name}"
        );
    }
    let regions = page.split_once("<h2>Regions</h2>").expect("a table").1;
    // The live result has no layer, and yet a row, a command and parameters.
    let live = state.final_live().expect("live rays");
    let name = document.track.method.live_name();
    let rows = page.split_once("Numbers and lengths").expect("a table").1;
    let count = arcuate::io::text::counted(live.output.kept.len(), "streamline");
    assert_eq!(
        count.split_once(' ').map(|(n, _)| n),
        Some(&*row(rows, name)[0])
    );
    assert!(row(&page, name)[1].starts_with(&count), "{name}: {count}");
    let command = document.live_command_line(live).text();
    let first = escaped(command.lines().next().expect("a command"));
    assert!(page.contains(&format!("# {name}\n{first}")), "{first}");
    assert!(page.contains(&format!("<caption>{name}</caption>")));
    for region in &document.regions {
        assert_eq!(row(regions, &escaped(&region.name))[0], region.role.name());
    }
    for line in methods(state)
        .lines()
        .filter(|line| !line.trim().is_empty())
    {
        assert!(
            page.contains(&format!("<p>{}</p>", escaped(line.trim()))),
            "{line}"
        );
    }
    // The sum of the scan is that of sha256sum.
    let sum = arcuate::io::checksum::of_file(&here.join("dwi.nii.gz"), &Control::new());
    assert_eq!(row(&page, "dwi.nii.gz")[1], sum.expect("a file"));
    // Two reports of one session are equal to the byte.
    json(
        &["report", "s.arcuate", "--no-pictures", "--out", "a.html"],
        here,
    );
    json(
        &["report", "s.arcuate", "--no-pictures", "--out", "b.html"],
        here,
    );
    assert_eq!(read(&here.join("a.html")), read(&here.join("b.html")));
}

/// Two bundles of lines along x, of 10 and of 30 mm, in an image whose value is a hundredth of x.
fn bundles(here: &Path) {
    let line = |y: f32, last: usize| -> Vec<[f32; 3]> {
        (0..=last).map(|x| [x as f32 + 2.0, y, 5.0]).collect()
    };
    let lines = [line(3.0, 10), line(4.0, 10), line(7.0, 30)];
    let lines = Tractogram::of_curves(lines.iter().map(|line| line.iter().copied()));
    let mut lines = lines;
    lines.groups.insert("<short>".to_owned(), vec![0, 1].into());
    lines.groups.insert("long".to_owned(), vec![2].into());
    streamlines::save(&here.join("in.trx"), &lines, "test", &Control::new()).expect("written");
    let grid = Grid::axis_aligned([60, 12, 12], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let value = |i: usize| grid.voxel(i)[0] as f32 * 0.01;
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    nifti::save_volume(&here.join("fa.nii.gz"), &volume, "test", &Control::new()).expect("written");
    let mut window = Window::new();
    let files = ["fa.nii.gz", "in.trx"].map(|name| here.join(name));
    window.act(Action::Files(FilesAction::Open(files.to_vec())));
    window.place(arcuate::data::Role::Seed, DVec3::new(20.0, 6.0, 6.0), 4.0);
    window.save(&here.join("s.arcuate"));
}

fn figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    bundles(here);
    json(
        &["report", "s.arcuate", "--no-pictures", "--out", "r.html"],
        here,
    );
    let page = read(&here.join("r.html"));
    is_complete(&page);
    // Numbers and lengths of the layer.
    assert_eq!(
        row(&page, "in")[..2],
        ["Streamlines", "3 streamlines, 53 points"]
    );
    let lengths = page.split_once("Numbers and lengths").expect("a table").1;
    let lengths = row(lengths, "in");
    assert_eq!(lengths[..2], ["3", "53"]);
    assert_eq!(lengths[2], "16.7");
    assert_eq!(lengths[4..], ["10.0", "10.0", "30.0"]);
    // The table of bundles.
    let image = ["--image", "fa.nii.gz"];
    let table = json(
        &[&["bundles", "in.trx", "--groups"], &image[..]].concat(),
        here,
    );
    for bundle in table["bundles"].as_array().expect("bundles") {
        let name = bundle["name"].as_str().expect("a name");
        let cells = row(&page, &arcuate::io::svg::escaped(name));
        let number = |key: &str, decimals: usize| match bundle[key].as_f64() {
            Some(value) => format!("{value:.decimals$}"),
            None => "–".to_owned(),
        };
        assert_eq!(cells[0], bundle["streamlines"].to_string());
        assert_eq!(cells[1], number("length_mm", 1));
        assert_eq!(cells[2], number("length_sd_mm", 1));
        assert_eq!(cells[3], number("volume_mm3", 0));
        assert_eq!(cells[4], number("mean", 4));
    }
    // The region, as the command measures it.
    let region = [
        "region",
        "--union",
        "sphere:20,6,6,4",
        "--stats",
        "fa.nii.gz",
    ];
    let measured = json(&region, here);
    let statistics = &measured["statistics"][0];
    let cells = row(&page, "Seed");
    assert_eq!(cells[0], "Seed");
    assert_eq!(cells[1], measured["voxels"].to_string());
    let number = |value: &Value, decimals: usize| {
        let value = value.as_f64().expect("a number");
        format!("{value:.decimals$}")
    };
    assert_eq!(cells[2], number(&measured["volume_ml"], 3));
    assert_eq!(cells[3], number(&statistics["mean"], 4));
    assert_eq!(cells[4], number(&statistics["sd"], 4));
    // The profile of a bundle along the ramp: at its start 0.02, at its end 0.32.
    let headings: Vec<&str> = page.lines().filter(|line| line.contains("<h")).collect();
    let profile = page.split_once("fa along long</h3>");
    let profile = profile.unwrap_or_else(|| panic!("{headings:#?}")).1;
    assert!(profile.contains("<polyline"), "{profile}");
    let first = row(profile, "0.0");
    assert_eq!(first, ["0.0200", "0.0000", "1"]);
    let short = page
        .split_once("fa along _short_</h3>")
        .unwrap_or_else(|| panic!("{headings:#?}"))
        .1;
    assert_eq!(row(short, "0.0"), ["0.0200", "0.0000", "2"]);
}

fn missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    bundles(here);
    std::fs::remove_file(here.join("in.trx")).expect("removed");
    refuses(
        &["report", "s.arcuate", "--no-pictures"],
        &["in.trx", "--look-in"],
        here,
    );
    assert!(!here.join("s.html").exists());
    refuses_name(here);
}

/// A name that no page has is refused before anything is opened.
fn refuses_name(here: &Path) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(["report", "s.arcuate", "--out", "r.pdf", "--backend", "cpu"])
        .current_dir(here)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains(".html"), "{error}");
}

/// Without a desktop session the libraries that draw print nothing.
fn silent() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    bundles(here);
    let output = crate::program()
        .args(["report", "s.arcuate", "--out", "r.html", "--backend", "cpu"])
        .args(["--quiet"])
        .current_dir(here)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    assert!(!error.contains("XDG_RUNTIME_DIR"), "{error}");
}

/// The window draws the views one after the other, writes the page after the last, and stops when the user cancels.
fn window() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    bundles(here);
    let mut window = Window::opened(&here.join("s.arcuate"));
    let path = here.join("w.html");
    let rotation = SliceTurn::rotation_from_angles(DVec3::new(16.4, 0.0, 0.0));
    let turn = SliceTurn::about(DVec3::ZERO, rotation);
    window.act(Action::View(ViewAction::TurnSlices(turn)));
    window.act(Action::Report(ReportAction::Save(path.clone())));
    assert!(window.state.runtime.sessions.report.is_some());
    // A second one waits for the first.
    window.act(Action::Report(ReportAction::Save(here.join("other.html"))));
    assert!(
        window.messages().contains("w.html"),
        "{}",
        window.messages()
    );
    let view = DrawnView {
        size_px: [2, 2],
        rgba: vec![128; 16].into(),
    };
    for (ticket, pane) in (900..).zip(REPORT_PANES) {
        assert!(!path.exists());
        let drawn = match ticket {
            903 => Err("The device draws no scenes".to_owned()),
            _ => Ok(view.clone()),
        };
        let picture = ReportPicture { pane, drawn };
        window.act(Action::Report(ReportAction::Drawn { ticket, picture }));
    }
    assert!(window.state.runtime.sessions.report.is_none());
    let page = read(&path);
    is_complete(&page);
    assert_eq!(page.matches("<img ").count(), 3);
    // Left and right stand below the picture, where small letters cannot be missed, and so does the tilt.
    let caption = page.split_once("<figcaption>Oblique axial slice, tilted by 16.4°, at ");
    let caption = caption.unwrap_or_else(|| panic!("{page}")).1;
    let sides = " mm; radiological: the patient&#39;s right is on the left</figcaption>";
    assert!(caption.contains(sides), "{caption}");
    assert!(page.contains("mm; the front of the head is on the left"));
    assert!(
        page.contains("no picture. The device draws no scenes."),
        "{page}"
    );
    assert!(window.state.runtime.notices.status.contains("w.html"));
    // Cancelled while a view is drawn: nothing is written, and the next report may begin.
    let path = here.join("cancelled.html");
    window.act(Action::Report(ReportAction::Save(path.clone())));
    window.act(Action::Report(ReportAction::Cancelled { ticket: 910 }));
    assert!(window.state.runtime.sessions.report.is_none() && !path.exists());
}
