//! The profile and the matrix of connections below the views.

use super::*;

pub fn panels() {
    let mut setup = StreamlineWindow::new(12);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    setup.act(StreamlineAction::SetProfile(ProfileSettings {
        params: ProfileParams {
            nodes: 11,
            ..ProfileParams::defaults()
        },
        along: vec![Column::Image(setup.layer("y"))],
        ..setup.window.state.document.streamlines.profile.clone()
    }));
    setup.act(StreamlineAction::Open(Some(BottomPanel::Profile)));
    let mean = |setup: &StreamlineWindow| {
        let (_, found) = setup
            .window
            .state
            .runtime
            .streamlines
            .profile
            .shown()
            .unwrap();
        assert_eq!(found.names, ["y"]);
        found.profile.curves[0].mean[5]
    };
    assert!((mean(&setup) - 6.0).abs() < 1e-5);
    // It uses only the streamlines that the rules keep.
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), None, Some(1.0))));
    assert!((mean(&setup) - 1.0).abs() < 1e-5);
    let path = setup.folder.path().join("p.csv");
    setup.act(StreamlineAction::SaveProfile(path.clone()));
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 12);
    setup.act(StreamlineAction::SwitchFilter {
        layer: all,
        enabled: false,
    });
    let mut radius = connectivity::Params::defaults();
    radius.radius_mm = 0.0;
    setup.act(StreamlineAction::SetConnect(ConnectSettings {
        labels: Some(setup.layer("labels")),
        params: radius,
        value: Some(weight()),
        shown: MatrixValue::Value,
    }));
    setup.act(StreamlineAction::Open(Some(BottomPanel::Matrix)));
    let (_, found) = setup
        .window
        .state
        .runtime
        .streamlines
        .connect
        .shown()
        .unwrap();
    assert_eq!(found.connectome.count, [0, 12, 12, 0]);
    assert_eq!(&found.names[..], ["3", "8"]);
    assert!((found.connectome.value[1] - 5.5).abs() < 1e-6);
    setup.act(StreamlineAction::ChoosePair {
        row: 1,
        column: 0,
        mode: SelectionMode::Replace,
    });
    assert_eq!(setup.window.state.manual_selection().unwrap().count, 12);
    let path = setup.folder.path().join("m.csv");
    setup.act(StreamlineAction::SaveMatrix(path.clone()));
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        "label,3,8\n3,0,5.5\n8,5.5,0\n"
    );
}
