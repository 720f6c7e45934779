//! What lies under the views has a command that makes the same file.

use super::{Desk, limit, weight};
use arcuate::state::bundle::{
    Bundle, Column, ConnectSettings, Drawer, ProfileSettings, Shown, Sieve, TableView,
};
use arcuate::state::update::asked_recipe;
use arcuate::state::{Action, BundleAction, Phase};
use std::path::Path;
use std::process::Command;

/// What a shell makes of a command, in a folder.
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
        .output();
    let output = output.expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {said}");
}

/// Of each row what is behind the first comma: streamlines that were selected are numbered anew.
fn values(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let row = |line: &str| line.split_once(',').expect("a row").1.to_owned();
    text.lines().map(row).collect()
}

pub fn commands() {
    let mut desk = Desk::new(30);
    let (all, y) = (desk.layer("all"), Column::Image(desk.layer("y")));
    let labels = desk.layer("labels");
    desk.sieve(Sieve::new(all).limited(limit(weight(), Some(10.0), None)));
    desk.act(BundleAction::SetImages(vec![desk.layer("y")]));
    desk.act(BundleAction::Sort(TableView {
        by: Some(y.clone()),
        descending: true,
    }));
    desk.act(BundleAction::SetProfile(ProfileSettings {
        nodes: 20,
        along: vec![y.clone()],
        ..Bundle::default().profile
    }));
    desk.act(BundleAction::SetConnect(ConnectSettings {
        labels: Some(labels),
        radius_mm: 1.0,
        value: Some(y),
        shown: Shown::Value,
    }));
    let folder = tempfile::tempdir().unwrap();
    for (drawer, file) in [
        (Drawer::Table, "streamlines.csv"),
        (Drawer::Profile, "profile.csv"),
        (Drawer::Matrix, "connectome.csv"),
    ] {
        desk.act(BundleAction::Open(Some(drawer)));
        let own = desk.folder.path().join(file);
        desk.act(match drawer {
            Drawer::Table => BundleAction::SaveTable(own.clone()),
            Drawer::Profile => BundleAction::SaveProfile(own.clone()),
            Drawer::Matrix => BundleAction::SaveMatrix(own.clone()),
        });
        let messages = &desk.window.state.session.messages;
        assert!(messages.is_empty(), "{messages:?}");
        let recipe = asked_recipe(&desk.window.state, drawer).expect("a command");
        let command = recipe.command();
        // The streamlines that stay are there from the first time.
        run(
            &command.replace("arcuate select", "arcuate select --force"),
            folder.path(),
        );
        let (own, made) = (values(&own), values(&folder.path().join(file)));
        assert!(own.len() > 2, "{own:?}");
        assert_eq!(own, made, "{command}");
    }
    // What is in no file is named.
    desk.window.act(Action::ShiftLayer {
        layer: desk.layer("y"),
        by: glam::DAffine3::from_translation(glam::DVec3::X),
        phase: Phase::Done,
    });
    let recipe = asked_recipe(&desk.window.state, Drawer::Table).expect("a recipe");
    let why = recipe.no_command().expect("no command");
    assert!(why.contains("\"y\" is in no file"), "{why}");
}
