//! Clusters and groups of streamlines in the window, in sessions and on the command line.

use super::commands::{run, values};
use super::{StreamlineWindow, limit, rows, weight};
use crate::program;
use crate::support::Window;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io;
use arcuate::state::core::display::LineColouring;
use arcuate::state::streamlines::{
    BottomPanel, BundleSettings, ConnectSettings, SelectionMode, StreamlineRules, streamlines_of,
};
use arcuate::state::update::panel_command;
use arcuate::state::{
    Action, LayerAction, SessionAction, StreamlineAction, UnsavedAction, methods,
};
use std::path::Path;

/// 40 parallel lines 1 mm apart: with 8 mm between centroids, clusters of 8 to 16 of them.
fn settings(min_size: usize) -> BundleSettings {
    let mut settings = BundleSettings::default();
    settings.clusters.threshold_mm = 8.0;
    settings.clusters.min_size = min_size;
    settings
}

fn opened(path: &Path) -> Tractogram {
    match io::open(path, &Control::new()).expect("streamlines") {
        io::Opened::Tractogram(lines, _) => lines,
        other => panic!("{other:?}"),
    }
}

fn no_messages(setup: &StreamlineWindow) {
    let messages = &setup.window.state.runtime.notices.messages;
    assert!(messages.is_empty(), "{messages:?}");
}

pub(super) fn clusters() {
    let mut setup = StreamlineWindow::new(40);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(4.0), None)));
    setup.act(StreamlineAction::SetBundles(settings(5)));
    setup.act(StreamlineAction::Cluster);
    no_messages(&setup);
    // The streamlines that the filter keeps become a new layer, coloured by group, which replaces the old one.
    assert_eq!(setup.rows("all, clusters"), (4..40).collect::<Vec<_>>());
    let state = &setup.window.state;
    let layer = state.document.layer_named("all, clusters").unwrap().clone();
    assert_eq!(layer.display.line_colouring, LineColouring::Group);
    assert!(!state.document.layer(all).unwrap().display.visible);
    assert_eq!(state.view.bottom_panel, Some(BottomPanel::Bundles));
    let lines = streamlines_of(&layer).unwrap().clone();
    assert!((2..=5).contains(&lines.groups.len()), "{:?}", lines.groups);
    // The table, by closed forms: lines of 40 mm.
    let (key, table) = state.runtime.streamlines.groups.shown().expect("figures");
    assert_eq!(key.tractogram, lines.id());
    let counts: Vec<usize> = table.groups.iter().map(|(_, f)| f.count).collect();
    assert_eq!(counts.iter().sum::<usize>(), 36);
    assert!(counts.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(
        table
            .groups
            .iter()
            .all(|(_, f)| f.length_mm == 40.0 && f.length_sd_mm == 0.0)
    );
    // A click chooses a group.
    let group = table.groups[1].0.clone();
    setup.act(StreamlineAction::ChooseGroup {
        group: group.clone(),
        mode: SelectionMode::Replace,
    });
    let chosen = setup.window.state.manual_selection().expect("a selection");
    assert_eq!(chosen.count, counts[1]);
    assert!(
        lines.groups[&group]
            .iter()
            .all(|i| chosen.marks.0[*i as usize])
    );

    // The panel and its command write the same rows; the command makes the layer, with its groups.
    let own = setup.folder.path().join("bundles.csv");
    setup.act(StreamlineAction::SaveBundles(own.clone()));
    no_messages(&setup);
    let folder = tempfile::tempdir().unwrap();
    let line = panel_command(&setup.window.state, BottomPanel::Bundles).expect("a command");
    let command = line.text();
    assert!(
        command.contains("arcuate select") && command.contains("bundles"),
        "{command}"
    );
    run(&command, folder.path());
    let (own, created) = (values(&own), values(&folder.path().join("bundles.csv")));
    assert_eq!(own.len(), 1 + lines.groups.len());
    assert_eq!(own, created, "{command}");
    assert_eq!(
        opened(&folder.path().join("tracks.trx")).groups,
        lines.groups
    );
    let command = setup.window.state.document.command_line(&layer).text();
    let text = "--threshold 8 --points 12 --min-size 5 --out tracks.trx";
    assert!(command.ends_with(text), "{command}");

    let text = methods::methods(&setup.window.state);
    let count = lines.groups.len();
    let sentence =
        format!("divided into {count} clusters of at least 5 streamlines by QuickBundles [");
    assert!(text.contains(&sentence), "{text}");
    assert!(
        text.contains("with a threshold of 8 mm") && text.contains("Garyfallidis E"),
        "{text}"
    );

    session(&mut setup, &lines);

    // Undo restores the filter and the layer, redo the clusters.
    setup.window.act(Action::Undo);
    let document = &setup.window.state.document;
    assert!(document.layer_named("all, clusters").is_none());
    assert!(document.layer(all).unwrap().display.visible);
    assert!(document.streamlines.rules_of(all).is_some());
    setup.window.act(Action::Redo);
    let layer = setup.window.state.document.layer_named("all, clusters");
    assert_eq!(streamlines_of(layer.unwrap()).unwrap().id(), lines.id());
}

/// A session repeats the clusters, and replay finds the same streamlines and groups.
fn session(setup: &mut StreamlineWindow, lines: &Tractogram) {
    let path = setup.folder.path().join("s.arcuate");
    setup.window.act(Action::Session(SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    }));
    no_messages(setup);
    let mut other = Window::new();
    let open = UnsavedAction::Open(path.clone());
    other.act(Action::Session(SessionAction::CloseDocument(open)));
    let messages = &other.state.runtime.notices.messages;
    assert!(messages.is_empty(), "{messages:?}");
    let layer = other.state.document.layer_named("all, clusters").unwrap();
    let repeated = streamlines_of(layer).unwrap();
    assert_eq!(rows(repeated), rows(lines));
    assert_eq!(repeated.groups, lines.groups);
    assert_eq!(layer.display.line_colouring, LineColouring::Group);
    assert_eq!(other.state.document.streamlines.bundles, settings(5));
    let replayed = program()
        .args(["replay", "s.arcuate"])
        .current_dir(setup.folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(replayed.status.success(), "{text}");
    assert!(
        text.contains("all, clusters") && text.contains("same bytes"),
        "{text}"
    );
}

pub(super) fn moved_and_refused() {
    let mut setup = StreamlineWindow::new(40);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    // No cluster is large enough: nothing changes, and a message says so.
    setup.act(StreamlineAction::SetBundles(settings(41)));
    let before = setup.window.state.document.layers.len();
    setup.act(StreamlineAction::Cluster);
    assert_eq!(setup.window.state.document.layers.len(), before);
    let messages = &setup.window.state.runtime.notices.messages;
    assert!(
        messages
            .iter()
            .any(|m| m.text.starts_with("No cluster is as large")),
        "{messages:?}"
    );
    setup.window.state.runtime.notices.messages.clear();
    // Clusters of moved streamlines are recorded by their members, and a session restores them.
    setup
        .window
        .act(Action::Alignment(arcuate::state::AlignmentAction::Shift {
            layer: all,
            transform: glam::DAffine3::from_scale(glam::DVec3::splat(0.5)),
            phase: arcuate::state::Phase::Done,
        }));
    setup.act(StreamlineAction::SetBundles(settings(1)));
    setup.act(StreamlineAction::Cluster);
    no_messages(&setup);
    let layer = setup
        .window
        .state
        .document
        .layer_named("all, clusters")
        .unwrap()
        .clone();
    let lines = streamlines_of(&layer).unwrap().clone();
    let whole = (0..40).map(|y| y as f32 * 0.5);
    assert!(lines.streamlines().map(|l| l[0][1]).eq(whole));
    let path = setup.folder.path().join("moved.arcuate");
    setup.window.act(Action::Session(SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    }));
    let mut other = Window::new();
    let open = UnsavedAction::Open(path);
    other.act(Action::Session(SessionAction::CloseDocument(open)));
    let repeated = other.state.document.layer_named("all, clusters").unwrap();
    assert_eq!(streamlines_of(repeated).unwrap().groups, lines.groups);
    let command = other.state.document.command_line(repeated).text();
    assert!(
        command.contains("arcuate convert") && command.contains("--threshold 8"),
        "{command}"
    );
    let folder = tempfile::tempdir().unwrap();
    run(&command, folder.path());
    assert_eq!(
        opened(&folder.path().join("tracks.trx")).groups,
        lines.groups
    );
}

pub(super) fn command() {
    let setup = StreamlineWindow::new(40);
    let here = setup.folder.path();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let output = program()
            .args(arguments)
            .arg("--json")
            .current_dir(here)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_str(&text).unwrap()
    };
    let options = ["bundles", "all.trx", "--threshold", "8", "--min-size", "2"];
    let done = json(
        &[
            &options[..],
            &["--out", "each/", "--centroids", "c.tck", "--table", "t.csv"],
        ]
        .concat(),
    );
    let bundles = done["bundles"].as_array().unwrap();
    assert_eq!(done["streamlines"], 40);
    let total: u64 = bundles
        .iter()
        .map(|b| b["streamlines"].as_u64().unwrap())
        .sum();
    assert_eq!(total + done["in_dropped"].as_u64().unwrap(), 40);
    let table = std::fs::read_to_string(here.join("t.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + bundles.len());
    assert!(
        table.starts_with("bundle,streamlines,length_mm,length_sd_mm\ncluster 1,"),
        "{table}"
    );
    let centroids = opened(&here.join("c.tck"));
    assert_eq!(centroids.len(), bundles.len());
    // A file for each bundle, in the format of the input.
    for (i, bundle) in bundles.iter().enumerate() {
        let lines = opened(&here.join(format!("each/cluster_{}.trx", i + 1)));
        assert_eq!(lines.len() as u64, bundle["streamlines"].as_u64().unwrap());
        let rows = rows(&lines);
        assert_eq!(
            *lines.per_streamline["weight"],
            *rows.iter().map(|y| *y as f32).collect::<Vec<_>>()
        );
        let mean = rows.iter().sum::<usize>() as f32 / rows.len() as f32;
        let centroid = centroids.streamline(i);
        assert!(centroid.len() == 12 && (centroid[0][1] - mean).abs() < 1e-4);
    }
    // Groups of a file, with the mean of an image: y + 0.5.
    json(&[&options[..], &["--out", "groups.trx"]].concat());
    let groups = json(&["bundles", "groups.trx", "--groups", "--image", "y.nii.gz"]);
    let groups = groups["bundles"].as_array().unwrap();
    assert_eq!(groups.len(), bundles.len());
    for (i, group) in groups.iter().enumerate() {
        let mean = f64::from(centroids.streamline(i)[0][1]) + 0.5;
        assert!(
            (group["mean"].as_f64().unwrap() - mean).abs() < 1e-4,
            "{group}"
        );
        // Lines along 41 voxels of 1 mm³ each.
        assert_eq!(
            group["volume_mm3"].as_f64().unwrap(),
            41.0 * group["streamlines"].as_f64().unwrap()
        );
        assert!(group["centroid"].is_null());
    }
    let refuses = |arguments: &[&str], code: i32, why: &str| {
        let output = program()
            .args(arguments)
            .current_dir(here)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(why), "{text}");
        assert_eq!(output.status.code(), Some(code));
    };
    refuses(
        &["bundles", "all.trx", "--groups"],
        1,
        "The file has no groups",
    );
    refuses(
        &["bundles", "groups.trx", "--groups", "--points", "20"],
        2,
        "takes the groups of the file",
    );
    refuses(
        &["bundles", "all.trx", "--out", "x.tck"],
        2,
        "ends in .trx, or a folder",
    );
    refuses(&["bundles", "all.trx", "--table", "x.txt"], 2, ".csv");
    refuses(&["bundles", "all.trx", "--threshold", "0"], 2, "threshold");
    refuses(&["bundles", "all.trx", "--out", "groups.trx"], 1, "--force");
}

/// Labels 3 below x = 5 and 8 above x = 35; lines run from x = 0 to 40.
const RECIPE: &str = "[[bundle]]\nname = \"Across\"\nends = [[3], [8]]\ncitation = \"A (2001).\"\n
[[bundle]]\nname = \"Elsewhere\"\nends = [[3], [77]]\n";

pub(super) fn recognised() {
    let mut setup = StreamlineWindow::new(30);
    let (all, labels) = (setup.layer("all"), setup.layer("labels"));
    let recipe = setup.folder.path().join("recipe.toml");
    std::fs::write(&recipe, RECIPE).unwrap();
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    let connect = &setup.window.state.document.streamlines.connect;
    let connect = ConnectSettings {
        labels: Some(labels),
        ..connect.clone()
    };
    setup.act(StreamlineAction::SetConnect(connect));
    // The built-in recipe names none of these labels.
    setup.act(StreamlineAction::Recognise);
    let messages = &setup.window.state.runtime.notices.messages;
    let refused = |m: &arcuate::state::Message| m.text.contains("lacks labels of every bundle");
    assert!(messages.iter().any(refused), "{messages:?}");
    setup.window.state.runtime.notices.messages.clear();
    setup.act(StreamlineAction::SetRecipe(Some(recipe)));
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    setup.act(StreamlineAction::Recognise);
    let messages = &setup.window.state.runtime.notices.messages;
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(
        messages[0].text,
        "The label map lacks labels of 1 bundle: Elsewhere"
    );
    setup.window.state.runtime.notices.messages.clear();
    let layer = setup
        .window
        .state
        .document
        .layer_named("all, bundles")
        .unwrap()
        .clone();
    let lines = streamlines_of(&layer).unwrap().clone();
    assert_eq!(lines.groups.len(), 1);
    assert_eq!(*lines.groups["Across"], *(0..20).collect::<Vec<u32>>());
    let command = setup.window.state.document.command_line(&layer).text();
    let folder = tempfile::tempdir().unwrap();
    run(&command, folder.path());
    assert_eq!(
        opened(&folder.path().join("tracks.trx")).groups,
        lines.groups,
        "{command}"
    );
    let text = methods::methods(&setup.window.state);
    assert!(
        text.contains("By the labels of “labels” that they pass and end in [")
            && text.contains("1 bundle was recognised with the recipe “recipe.toml”.")
            && text.contains("Wassermann"),
        "{text}"
    );
    // A session restores the bundles, and replay repeats the layer.
    let path = setup.folder.path().join("s.arcuate");
    setup.window.act(Action::Session(SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    }));
    let mut other = Window::new();
    let open = UnsavedAction::Open(path);
    other.act(Action::Session(SessionAction::CloseDocument(open)));
    let repeated = other.state.document.layer_named("all, bundles").unwrap();
    assert_eq!(streamlines_of(repeated).unwrap().groups, lines.groups);
    assert_eq!(other.state.document.command_line(repeated).text(), command);
    let settings = &other.state.document.streamlines.bundles;
    assert_eq!(*settings, setup.window.state.document.streamlines.bundles);
    setup.window.act(Action::Undo);
    assert!(
        setup
            .window
            .state
            .document
            .layer_named("all, bundles")
            .is_none()
    );
    recognised_by_command(setup.folder.path());
}

fn recognised_by_command(here: &Path) {
    let arguments = [
        "bundles",
        "all.trx",
        "--labels",
        "labels.nii.gz",
        "--recipe",
        "recipe.toml",
        "--json",
    ];
    let output = program()
        .args(arguments)
        .args(["--table", "b.csv"])
        .current_dir(here)
        .output()
        .unwrap();
    let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["bundles"][0]["name"], "Across");
    assert_eq!(done["bundles"][0]["streamlines"], 30);
    assert_eq!(done["bundles"][0]["citation"], "A (2001).");
    assert_eq!(done["unmapped"], serde_json::json!(["Elsewhere"]));
    assert_eq!(done["empty"], serde_json::json!(["Elsewhere"]));
    assert_eq!(done["unassigned"], 0);
    let table = std::fs::read_to_string(here.join("b.csv")).unwrap();
    assert_eq!(
        table,
        "bundle,streamlines,length_mm,length_sd_mm,volume_mm3\nAcross,30,40,0,1230\n"
    );
    let refuses = |more: &[&str], why: &str| {
        let output = program()
            .args(["bundles", "all.trx"])
            .args(more)
            .current_dir(here)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(why), "{text}");
    };
    refuses(
        &["--labels", "labels.nii.gz"],
        "lacks labels of every bundle",
    );
    refuses(
        &["--labels", "labels.nii.gz", "--threshold", "5"],
        "recognises bundles instead",
    );
    refuses(&["--radius", "3"], "without --labels");
    refuses(&["--recipe", "recipe.toml"], "--labels");
    refuses(
        &["--labels", "labels.nii.gz", "--recipe", "b.csv"],
        "a recipe of bundles in TOML",
    );
}
