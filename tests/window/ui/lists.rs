//! Clicks in lists and menus of regions.

use super::*;

pub fn clicks() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    click(&mut window, "Track");
    assert_eq!(window.state().state.view.task, Task::Track);
    for (name, layout) in [
        ("3-D with three slices", Layout::SceneFirst),
        ("One view", Layout::Single),
        ("Four views", Layout::Grid),
    ] {
        click(&mut window, name);
        assert_eq!(window.state().state.view.layout, layout);
    }
    click(&mut window, "Orientation: radiological");
    window.get_by_label("Orientation: neurological");
    click(&mut window, "Help");
    click(&mut window, "Keys and mouse");
    window.get_by_label("S: Place a seed");
    click(&mut window, "Light theme");
    assert!(window.state().state.view.light_theme);
}

pub fn lists() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    click(&mut window, "Layer FA");
    let fa = window
        .state()
        .state
        .document
        .layer_named("FA")
        .unwrap()
        .clone();
    assert_eq!(window.state().state.runtime.selected_layer, Some(fa.id));
    click(&mut window, "Show FA");
    assert!(
        window
            .state()
            .state
            .document
            .layer_named("FA")
            .unwrap()
            .display
            .visible
    );
    click(&mut window, "Hide Streamlines, live");
    assert!(
        !window
            .state()
            .state
            .document
            .track
            .streamline_display
            .visible
    );
    click(&mut window, "Role of Midline");
    click(&mut window, "Include");
    assert_eq!(
        window.state().state.document.regions[2].role.name(),
        "Include"
    );
    let row = window.get_by_label("Target region Motor L").rect();
    double_click(&mut window, row.left_center() + egui::vec2(60.0, 0.0));
    type_over(&mut window, "Hand area");
    window.get_by_label("Target region Hand area");
    window.get_by_label("Layer FA").click_secondary();
    window.run();
    click(&mut window, "Delete");
    assert!(window.state().state.document.layer_named("FA").is_none());
    click(&mut window, "Undo");
    assert!(window.state().state.document.layer_named("FA").is_some());
}

pub fn region_menu() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    click(&mut window, "Regions");
    click(&mut window, "Add a region");
    click(&mut window, "Shape: Box");
    click(&mut window, "Target");
    let tool = window.state().state.view.tool;
    assert!(
        matches!(tool, Tool::NewRegion { role, cube: true } if role.name() == "Target"),
        "{tool:?}"
    );
    click(&mut window, "Add a region");
    click(&mut window, "From Brain mask");
    let regions = &window.state().state.document.regions;
    assert_eq!(
        (regions[0].name.as_str(), regions[0].role.name()),
        ("Brain mask", "Seed")
    );
}
