//! Sentences about requests that Segment refuses.

use super::*;

pub fn reported() {
    // Missing inputs are reported without a note that would stay.
    let mut window = opened(image());
    for action in [SegmentAction::Play, SegmentAction::Step] {
        window.state.runtime.notices.status.clear();
        act(&mut window, action);
        assert!(window.state.runtime.notices.status.starts_with("Hold P"));
        assert_eq!(messages(&window), "");
    }
    let mut window = ready();
    sphere(&mut window, true, DVec3::splat(300.0), 5.0);
    assert_message(&window, "holds no voxel of the image");
    assert_eq!(
        window.state.document.segment.spheres.len(),
        1,
        "it is not there"
    );
    // The message remains until another request.
    set(&mut window, Phase::Done, |s| s.params.smoothness = 0.2);
    assert_eq!(messages(&window), "");
    assert_eq!(live(&window).step, 0);
    act(&mut window, SegmentAction::Step);
    let then = live(&window).mask.clone().expect("at rest");
    sphere(&mut window, false, DVec3::ZERO, 40.0);
    assert_message(&window, "no voxel left after the cut");
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        then.inside
    );
    sphere(&mut window, true, DVec3::ZERO, 80.0);
    assert_message(&window, "no voxel outside any more");
    assert_eq!(window.state.document.segment.spheres.len(), 1);
    // ε = 0.
    set(&mut window, Phase::Done, |s| s.params.tolerance = 0.0);
    act(&mut window, SegmentAction::Play);
    let why = window.state.runtime.segment.failed.clone().expect("why");
    assert!(why.contains("tolerance"), "{why}");
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        then.inside
    );
    // A target that no voxel has: the surface vanishes, the state before is kept.
    set(&mut window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance) = (1000.0, 1.0)
    });
    advance(&mut window, 400);
    assert_eq!(live(&window).ended, Ended::Vanished);
    assert!(live(&window).inside > 0);
    assert_message(&window, "vanished");
    assert!(
        !messages(&window).contains("T ± ε"),
        "no tissue is next to the range"
    );
    assert_eq!(window.state.runtime.segment.play, RunControl::Rest);
    // The whole image is within the tolerance; curvature may close the rest.
    act(&mut window, SegmentAction::Rewind(0));
    set(&mut window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance) = (60.0, 1000.0)
    });
    // The leak detector pauses it at the background, and again at the border, until it is continued.
    advance(&mut window, 1000);
    let ended = live(&window).ended;
    assert!(matches!(ended, Ended::Leaked(leak) if leak.cause == Cause::Background));
    for _ in 0..4 {
        if matches!(live(&window).ended, Ended::Leaked(_)) {
            advance(&mut window, 1000);
        }
    }
    assert_eq!(live(&window).ended, Ended::Filled);
    // An image with one value; one with voxels without values.
    let grid = image().grid.clone();
    let mut flat = opened(Volume::scalar(grid.clone(), vec![5.0; grid.voxel_count()]));
    set(&mut flat, Phase::Done, |s| s.target_chosen = true);
    sphere(&mut flat, true, DVec3::ZERO, 5.0);
    let why = flat.state.runtime.segment.failed.clone().expect("why");
    assert!(why.contains("expected an image with contrast"), "{why}");
    let mut holes = image().frame(0).to_vec();
    holes.iter_mut().step_by(97).for_each(|v| *v = f32::NAN);
    let missing = holes.iter().filter(|v| v.is_nan()).count();
    let mut holed = opened(Volume::scalar(grid, holes));
    sample(&mut holed);
    sphere(&mut holed, true, DVec3::ZERO, 5.0);
    assert_eq!(holed.state.runtime.segment.missing, missing);
}
