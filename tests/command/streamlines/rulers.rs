//! Rulers, and the memory that streamlines take.

use super::*;

pub fn rulers() {
    let mut random = Random::fresh("bundle rulers");
    let mut setup = StreamlineWindow::new(3);
    let at = |random: &mut Random| random.direction() * random.uniform(1.0, 40.0);
    for _ in 0..20 {
        let (corner, u) = (at(&mut random), random.direction());
        let angle = random.uniform(0.05, 3.1);
        let v = glam::DQuat::from_axis_angle(u.any_orthonormal_vector(), angle) * u;
        let (a, b) = (random.uniform(1.0, 50.0), random.uniform(1.0, 50.0));
        let measurement = |points: Vec<DVec3>| Measurement {
            points,
            pane: Pane::Axial,
        };
        let distance = measurement(vec![corner, corner + u * a]).value().unwrap();
        assert!((distance - a).abs() < 1e-9);
        let found = measurement(vec![corner + u * a, corner, corner + v * b])
            .value()
            .unwrap();
        assert!((found - angle.to_degrees()).abs() < 1e-6, "{found}");
    }
    let measure = |points: &[DVec3]| {
        StreamlineAction::Measure(Measurement {
            points: points.to_vec(),
            pane: Pane::Coronal,
        })
    };
    setup.act(measure(&[DVec3::ZERO, DVec3::new(3.0, 4.0, 0.0)]));
    setup.act(measure(&[DVec3::X, DVec3::ZERO, DVec3::Y]));
    setup.act(measure(&[DVec3::ZERO]));
    let values = |setup: &StreamlineWindow| -> Vec<f64> {
        let all = setup.window.state.document.streamlines.measurements.iter();
        all.map(|m| m.value().unwrap()).collect()
    };
    assert_eq!(values(&setup), [5.0, 90.0]);
    assert!(setup.window.state.is_dirty());
    for phase in [Phase::Live, Phase::Live, Phase::Done] {
        let points = vec![DVec3::ZERO, DVec3::new(6.0, 8.0, 0.0)];
        setup.act(StreamlineAction::Remeasure {
            index: 0,
            points,
            phase,
        });
    }
    assert_eq!(values(&setup), [10.0, 90.0]);
    setup.window.act(Action::Undo);
    assert_eq!(values(&setup), [5.0, 90.0], "a drag is one step");
    setup.act(StreamlineAction::Erase(0));
    assert_eq!(values(&setup), [90.0]);
    setup.act(StreamlineAction::EraseAll);
    assert!(values(&setup).is_empty());
    setup.window.act(Action::Undo);
    assert_eq!(values(&setup), [90.0]);
}

pub fn memory() {
    let mut setup = StreamlineWindow::new(60);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    for _ in 0..30 {
        setup.act(StreamlineAction::Choose {
            streamlines: vec![0],
            mode: SelectionMode::Replace,
            anchor: None,
        });
        setup.act(StreamlineAction::DeleteChosen);
    }
    assert_eq!(setup.rows("all").len(), 30);
    let mut steps = 0;
    while setup.window.state.history.undo_label() == Some("Delete streamlines") {
        setup.window.act(Action::Undo);
        steps += 1;
    }
    // All small steps are restored.
    assert_eq!((steps, setup.rows("all").len()), (30, 60));
}
