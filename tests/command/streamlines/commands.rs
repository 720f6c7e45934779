//! Panels below the views have a command that writes the same file.

use super::{StreamlineWindow, limit, weight};
use arcuate::compute::Control;
use arcuate::io;
use arcuate::solvers::connectivity;
use arcuate::solvers::tractogram::ProfileParams;
use arcuate::solvers::tractogram::profile::Sense;
use arcuate::state::streamlines::{
    BottomPanel, Column, ConnectSettings, MatrixValue, ProfileSettings, StreamlineRules,
    StreamlineSettings, TableView,
};
use arcuate::state::update::{panel_command, selection_command};
use arcuate::state::{Action, AlignmentAction, FilesAction, Phase, StreamlineAction};
use std::path::Path;
use std::process::Command;

/// Runs a command in a shell, in a folder.
pub fn run(command: &str, folder: &Path) {
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
pub(super) fn values(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let row = |line: &str| line.split_once(',').expect("a row").1.to_owned();
    text.lines().map(row).collect()
}

pub fn commands() {
    let mut setup = StreamlineWindow::new(30);
    let (all, y) = (setup.layer("all"), Column::Image(setup.layer("y")));
    let labels = setup.layer("labels");
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    setup.act(StreamlineAction::SetImages(vec![setup.layer("y")]));
    setup.act(StreamlineAction::Sort(TableView {
        column: Some(y.clone()),
        descending: true,
    }));
    setup.act(StreamlineAction::SetProfile(ProfileSettings {
        params: ProfileParams {
            nodes: 20,
            sense: Sense::Turned,
        },
        along: vec![y.clone()],
        ..StreamlineSettings::default().profile
    }));
    let mut radius = connectivity::Params::defaults();
    radius.radius_mm = 1.0;
    setup.act(StreamlineAction::SetConnect(ConnectSettings {
        labels: Some(labels),
        params: radius,
        value: Some(y),
        shown: MatrixValue::Value,
    }));
    let folder = tempfile::tempdir().unwrap();
    for (drawer, file) in [
        (BottomPanel::Table, "streamlines.csv"),
        (BottomPanel::Profile, "profile.csv"),
        (BottomPanel::Matrix, "connectome.csv"),
    ] {
        setup.act(StreamlineAction::Open(Some(drawer)));
        let own = setup.folder.path().join(file);
        setup.act(match drawer {
            BottomPanel::Table => StreamlineAction::SaveTable(own.clone()),
            BottomPanel::Profile => StreamlineAction::SaveProfile(own.clone()),
            BottomPanel::Matrix => StreamlineAction::SaveMatrix(own.clone()),
            BottomPanel::Bundles => StreamlineAction::SaveBundles(own.clone()),
            BottomPanel::Scores => StreamlineAction::SaveScores(own.clone()),
        });
        let messages = &setup.window.state.runtime.notices.messages;
        assert!(messages.is_empty(), "{messages:?}");
        let line = panel_command(&setup.window.state, drawer).expect("a command");
        let command = line.text();
        // The selected streamlines exist from the first run.
        run(
            &command.replace("arcuate select", "arcuate select --force"),
            folder.path(),
        );
        let created = folder.path().join(file);
        if drawer == BottomPanel::Table {
            // Its rows have the numbers that the streamlines have in their file.
            let [own, created] =
                [&own, &created].map(|path| std::fs::read_to_string(path).unwrap());
            assert_eq!(own, created, "{command}");
        }
        let (own, created) = (values(&own), values(&created));
        assert!(own.len() > 2, "{own:?}");
        assert_eq!(own, created, "{command}");
    }
    // An export of a filtered layer contains only the streamlines kept, like its command.
    let own = setup.folder.path().join("tracks.tck");
    setup
        .window
        .act(Action::Files(FilesAction::SaveStreamlines {
            layer: Some(all),
            path: own.clone(),
        }));
    let state = &setup.window.state;
    assert!(
        state.runtime.notices.messages.is_empty(),
        "{:?}",
        state.runtime.notices.messages
    );
    let layer = state.document.layer(all).expect("a layer");
    let command = selection_command(state, layer)
        .expect("a command line")
        .text();
    run(&command, folder.path());
    let [own, created] = [own, folder.path().join("tracks.tck")].map(|path| {
        match io::open(&path, &Control::new()).expect("streamlines") {
            io::Opened::Tractogram(lines, _) => lines,
            other => panic!("{other:?}"),
        }
    });
    let kept = setup.shown().len();
    assert!(kept < 30 && own.len() == kept && own.offsets == created.offsets);
    assert!(own.points == created.points && own.per_streamline == created.per_streamline);
    setup
        .window
        .act(Action::Streamline(StreamlineAction::SwitchFilter {
            layer: all,
            enabled: false,
        }));
    let layer = setup.window.state.document.layer(all).expect("a layer");
    let whole = selection_command(&setup.window.state, layer).expect("a command line");
    assert!(whole.text().starts_with("arcuate info "));
    // Inputs that are in no file are named.
    setup.window.act(Action::Alignment(AlignmentAction::Shift {
        layer: setup.layer("y"),
        transform: glam::DAffine3::from_translation(glam::DVec3::X),
        phase: Phase::Done,
    }));
    let line = panel_command(&setup.window.state, BottomPanel::Table).expect("a command line");
    let why = line.no_command().expect("no command");
    assert!(why.contains("“y” is not in a file"), "{why}");
}
