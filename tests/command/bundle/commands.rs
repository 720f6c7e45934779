//! Panels below the views have a command that writes the same file.

use super::{Desk, limit, weight};
use arcuate::compute::Control;
use arcuate::io;
use arcuate::state::streamlines::{
    BottomPanel, Bundle, Column, ConnectSettings, ProfileSettings, Shown, StreamlineRules,
    TableView,
};
use arcuate::state::update::{panel_recipe, selection_recipe};
use arcuate::state::{Action, AlignmentAction, BundleAction, FilesAction, Phase};
use std::path::Path;
use std::process::Command;

/// Runs a command in a shell, in a folder.
fn run(command: &str, folder: &Path) {
    let binary = Path::new(env!("CARGO_BIN_EXE_arcuate"));
    let mut path = binary.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let line = ["-c", command];
    let output = Command::new("sh")
        .args(line)
        .current_dir(folder)
        .env("PATH", path)
        .env("ARCUATE_BACKEND", "cpu")
        .output();
    let output = output.expect("a shell");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {message}");
}

/// The part of each row after the first comma: selected streamlines are renumbered.
fn values(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let row = |line: &str| line.split_once(',').expect("a row").1.to_owned();
    text.lines().map(row).collect()
}

pub fn commands() {
    let mut recovery_folder = Desk::new(30);
    let (all, y) = (
        recovery_folder.layer("all"),
        Column::Image(recovery_folder.layer("y")),
    );
    let labels = recovery_folder.layer("labels");
    recovery_folder.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    recovery_folder.act(BundleAction::SetImages(vec![recovery_folder.layer("y")]));
    recovery_folder.act(BundleAction::Sort(TableView {
        by: Some(y.clone()),
        descending: true,
    }));
    recovery_folder.act(BundleAction::SetProfile(ProfileSettings {
        nodes: 20,
        along: vec![y.clone()],
        ..Bundle::default().profile
    }));
    recovery_folder.act(BundleAction::SetConnect(ConnectSettings {
        labels: Some(labels),
        radius_mm: 1.0,
        value: Some(y),
        shown: Shown::Value,
    }));
    let folder = tempfile::tempdir().unwrap();
    for (drawer, file) in [
        (BottomPanel::Table, "streamlines.csv"),
        (BottomPanel::Profile, "profile.csv"),
        (BottomPanel::Matrix, "connectome.csv"),
    ] {
        recovery_folder.act(BundleAction::Open(Some(drawer)));
        let own = recovery_folder.folder.path().join(file);
        recovery_folder.act(match drawer {
            BottomPanel::Table => BundleAction::SaveTable(own.clone()),
            BottomPanel::Profile => BundleAction::SaveProfile(own.clone()),
            BottomPanel::Matrix => BundleAction::SaveMatrix(own.clone()),
        });
        let messages = &recovery_folder.window.state.session.notices.messages;
        assert!(messages.is_empty(), "{messages:?}");
        let recipe = panel_recipe(&recovery_folder.window.state, drawer).expect("a command");
        let command = recipe.command();
        // The selected streamlines exist from the first run.
        run(
            &command.replace("arcuate select", "arcuate select --force"),
            folder.path(),
        );
        let (own, made) = (values(&own), values(&folder.path().join(file)));
        assert!(own.len() > 2, "{own:?}");
        assert_eq!(own, made, "{command}");
    }
    // An export of a filtered layer contains only the streamlines kept, like its command.
    let own = recovery_folder.folder.path().join("tracks.tck");
    recovery_folder
        .window
        .act(Action::Files(FilesAction::SaveTracks {
            layer: Some(all),
            path: own.clone(),
        }));
    let state = &recovery_folder.window.state;
    assert!(
        state.session.notices.messages.is_empty(),
        "{:?}",
        state.session.notices.messages
    );
    let layer = state.document.layer(all).expect("a layer");
    let command = selection_recipe(state, layer).expect("a recipe").command();
    run(&command, folder.path());
    let [own, made] = [own, folder.path().join("tracks.tck")].map(|path| {
        match io::open(&path, &Control::new()).expect("streamlines") {
            io::Opened::Tractogram(lines, _) => lines,
            other => panic!("{other:?}"),
        }
    });
    let kept = recovery_folder.shown().len();
    assert!(kept < 30 && own.len() == kept && own.offsets == made.offsets);
    assert!(own.points == made.points && own.per_streamline == made.per_streamline);
    recovery_folder
        .window
        .act(Action::Bundle(BundleAction::SwitchFilter {
            layer: all,
            on: false,
        }));
    let layer = recovery_folder
        .window
        .state
        .document
        .layer(all)
        .expect("a layer");
    let whole = selection_recipe(&recovery_folder.window.state, layer).expect("a recipe");
    assert!(whole.command().starts_with("arcuate info "));
    // Inputs that are in no file are named.
    recovery_folder
        .window
        .act(Action::Alignment(AlignmentAction::Shift {
            layer: recovery_folder.layer("y"),
            by: glam::DAffine3::from_translation(glam::DVec3::X),
            phase: Phase::Done,
        }));
    let recipe = panel_recipe(&recovery_folder.window.state, BottomPanel::Table).expect("a recipe");
    let why = recipe.no_command().expect("no command");
    assert!(why.contains("\"y\" is not in a file"), "{why}");
}
