//! The list of regions, however long, and the panels that create them.

use super::{App, Window, click, click_with, small_scan, tracking, window};
use crate::support::{test, thread_time};
use arcuate::data::region::RegionId;
use arcuate::data::{Region, Role, Shape};
use arcuate::solvers::region::{LabelCount, Numbers};
use arcuate::state::regions::jobs::make::MakeRegion;
use arcuate::state::regions::types::Labels;
use arcuate::state::{Action, RegionAction, RegionsChange, State, Tool, ViewAction, update};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::500 regions cost no more than the rows in sight",
            many_regions,
        ),
        test("ui::some of many regions are found", searched),
        test(
            "ui::several regions are hidden, given a role and deleted at once",
            several,
        ),
        test("ui::names keep both their ends", names_cut),
        test("ui::regions are sorted by dragging and by keys", sorting),
        test("ui::B, U, L and G take drawing tools", drawing_keys),
        test("ui::the draw panel sets the brush", draw_panel),
        test("ui::the draw panel opens in sight", draw_in_sight),
        test(
            "ui::a drawing tool goes into the region that is named",
            region_chooser,
        ),
        test(
            "ui::a threshold is a panel that makes a region",
            threshold_panel,
        ),
        test("ui::a region is changed in its panel", change_panel),
        test("ui::all regions are exported from the menu", export_all),
        test(
            "ui::of many labels those that are found become regions",
            labels_found,
        ),
    ]
}

pub fn with_regions(mut state: State, n: usize) -> State {
    for i in 0..n {
        let id = RegionId(state.document.fresh_id());
        let angle = i as f64;
        let centre = DVec3::new(
            30.0 * angle.cos(),
            30.0 * angle.sin(),
            (i % 40) as f64 - 20.0,
        );
        state.document.regions.push(Arc::new(Region {
            id,
            name: format!("Area {i}"),
            role: Role::Include,
            shape: Arc::new(Shape::Sphere {
                centre,
                radius_mm: 3.0,
            }),
            colour: None,
            visible: true,
            label_number: None,
        }));
    }
    state
}

/// CPU time that this thread needs for a frame.
fn frame(window: &mut Window) -> Duration {
    let mut times: Vec<Duration> = (0..30)
        .map(|_| {
            let before = thread_time();
            window.step();
            thread_time() - before
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn rows(window: &Window) -> Vec<String> {
    let all = window.query_all_by_role(egui::accesskit::Role::ListItem);
    let labels = all.filter_map(|node| {
        use egui_kittest::kittest::NodeT as _;
        node.accesskit_node().label()
    });
    labels.filter(|l| l.contains(" region ")).collect()
}

fn many_regions() {
    let size = [1600.0, 900.0];
    let mut few = window(with_regions(tracking(), 5), size);
    let mut many = window(with_regions(tracking(), 500), size);
    let (of_few, of_many) = (frame(&mut few), frame(&mut many));
    println!("panels with 5 regions {of_few:?}, with 500 {of_many:?} a frame");
    let seen = rows(&many).len();
    assert!(
        (5..34).contains(&seen),
        "{seen} rows for a list of less than 900 points"
    );
    // Three times as long plus 4 ms is still fluid.
    assert!(
        of_many < of_few * 3 + Duration::from_millis(4),
        "{of_many:?} against {of_few:?}"
    );
    // The last one is reached by scrolling; selecting it brings it into view.
    assert!(many.query_by_label("Include region Area 499").is_none());
    let last = many.state().state.document.regions.last().unwrap().id;
    act(&mut many, Action::Region(RegionAction::Select(Some(last))));
    for _ in 0..40 {
        many.step();
    }
    many.get_by_label("Include region Area 499");
}

fn searched() {
    let mut few = window(with_regions(small_scan(), 11), [1600.0, 900.0]);
    assert!(few.query_by_label("Search regions").is_none());
    few.step();
    let mut many = window(with_regions(small_scan(), 24), [1600.0, 900.0]);
    click(&mut many, "Search regions");
    many.event(egui::Event::Text("AREA 2".to_owned()));
    many.run();
    let mut found = rows(&many);
    found.sort();
    let expected = ["Area 2", "Area 20", "Area 21", "Area 22", "Area 23"];
    assert_eq!(found, expected.map(|name| format!("Include region {name}")));
    many.get_by_label("5 of 24");
}

fn several() {
    let mut window = window(with_regions(small_scan(), 14), [1600.0, 900.0]);
    // On the name: the role is in the middle of a row.
    let with = |window: &mut Window, name: &str, modifiers: Modifiers| {
        let at = window.get_by_label(name).rect().left_center() + egui::vec2(40.0, 0.0);
        click_with(window, at, modifiers);
    };
    with(&mut window, "Include region Area 3", Modifiers::NONE);
    with(&mut window, "Include region Area 6", Modifiers::SHIFT);
    with(&mut window, "Include region Area 9", Modifiers::COMMAND);
    window.get_by_label("5 selected");
    click(&mut window, "Hide the selected regions");
    let hidden = |window: &Window| {
        let regions = window.state().state.document.regions.iter();
        let hidden = regions.filter(|r| !r.visible).map(|r| r.name.clone());
        hidden.collect::<Vec<_>>()
    };
    let five = ["Area 3", "Area 4", "Area 5", "Area 6", "Area 9"];
    assert_eq!(hidden(&window), five);
    window.key_press(Key::Delete);
    window.run();
    let left = names(&window);
    assert_eq!(left.len(), 9);
    assert!(five.iter().all(|name| !left.iter().any(|l| l == name)));
    act(&mut window, Action::Undo);
    assert_eq!(
        (names(&window).len(), hidden(&window)),
        (14, five.map(str::to_owned).to_vec())
    );
    act(&mut window, Action::Undo);
    assert_eq!(hidden(&window), [""; 0], "each was one step");
    // A region selected elsewhere becomes the only selected one.
    let other = window.state().state.document.regions[12].id;
    act(
        &mut window,
        Action::Region(RegionAction::Select(Some(other))),
    );
    window.run();
    assert!(window.query_by_label_contains("selected").is_none());
    window.key_press(Key::Delete);
    window.run();
    assert_eq!(names(&window).len(), 13);
    // In a role without a part in tracking they leave nothing to track.
    let regions = window.state().state.document.regions.iter().map(|r| r.id);
    let change = RegionsChange::Role(Role::Region);
    let regions = regions.collect();
    act(
        &mut window,
        Action::Region(RegionAction::ChangeSeveral { regions, change }),
    );
    let document = &window.state().state.document;
    assert!(document.regions.iter().all(|r| r.role == Role::Region));
}

fn names_cut() {
    use arcuate::ui::widgets::paint::elided;
    let window = window(small_scan(), [1280.0, 800.0]);
    let painter = window.ctx.debug_painter();
    let font = egui::FontId::proportional(12.0);
    let cut = |name: &str, width: f32| elided(&painter, name, font.clone(), width);
    let [a, b] = ["aparc.a2009s+aseg 11146", "aparc.a2009s+aseg 11147"];
    assert_eq!(cut(a, 400.0), a);
    let (short, other) = (cut(a, 80.0), cut(b, 80.0));
    assert!(
        short.starts_with("apar") && short.ends_with("146"),
        "{short}"
    );
    assert_ne!(short, other);
    let width = painter.layout_no_wrap(short, font.clone(), egui::Color32::WHITE);
    assert!(width.size().x <= 80.0);
    assert_eq!(cut("xyz", 1.0).chars().count(), 2, "never nothing");
}

fn act(window: &mut Window, action: Action) {
    let app: &mut App = window.state_mut();
    let effects = update(&mut app.state, action);
    app.effects.extend(effects);
}

fn names(window: &Window) -> Vec<String> {
    let regions = &window.state().state.document.regions;
    regions.iter().map(|r| r.name.clone()).collect()
}

fn sorting() {
    let mut window = window(with_regions(small_scan(), 6), [1600.0, 900.0]);
    let from = window.get_by_label("Include region Area 1").rect();
    let to = window.get_by_label("Include region Area 4").rect();
    window.drag_at(from.left_center() + egui::vec2(60.0, 0.0));
    window.step();
    window.hover_at(from.center_bottom() + egui::vec2(0.0, 30.0));
    window.step();
    let below = to.center_bottom() + egui::vec2(-60.0, -2.0);
    window.hover_at(below);
    window.step();
    window.drop_at(below);
    window.run();
    assert_eq!(
        names(&window),
        ["Area 0", "Area 2", "Area 3", "Area 4", "Area 1", "Area 5"]
    );
    let moved = window.state().state.document.regions[2].id;
    act(
        &mut window,
        Action::Region(RegionAction::Select(Some(moved))),
    );
    window.run();
    for (key, at) in [
        (Key::ArrowUp, 1),
        (Key::ArrowUp, 0),
        (Key::ArrowUp, 0),
        (Key::ArrowDown, 1),
    ] {
        window.key_press_modifiers(Modifiers::ALT, key);
        window.run();
        assert_eq!(names(&window)[at], "Area 3", "{key:?}");
    }
}

fn press(window: &mut Window, key: Key) {
    window.key_press(key);
    window.run();
}

fn drawing_keys() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    let keys = [
        (Key::B, Tool::Brush),
        (Key::U, Tool::Rectangle),
        (Key::L, Tool::Polygon),
        (Key::G, Tool::Fill),
    ];
    for (key, tool) in keys {
        press(&mut window, key);
        assert_eq!(window.state().state.view.tool, tool);
        assert!(!window.state().state.view.drawing.erase);
    }
    press(&mut window, Key::B);
    press(&mut window, Key::B);
    assert!(
        window.state().state.view.drawing.erase,
        "the brush again is the eraser"
    );
    press(&mut window, Key::Plus);
    press(&mut window, Key::Plus);
    press(&mut window, Key::Minus);
    assert_eq!(window.state().state.view.drawing.radius_mm, 4.5);
    press(&mut window, Key::Escape);
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
}

fn draw_panel() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Key::B);
    window.get_by_label_contains("On the grid of");
    click(&mut window, "Shape: Disc");
    assert!(window.state().state.view.drawing.flat);
    click(&mut window, "Left button: Removes");
    assert!(window.state().state.view.drawing.erase);
    click(&mut window, "Drawing tool: Rectangle");
    assert_eq!(window.state().state.view.tool, Tool::Rectangle);
    click(&mut window, "Thickness");
    assert_eq!(window.state().state.view.drawing.thickness_mm, Some(10.0));
    // The checkbox precedes the slider of the same name.
    let mut named = window.query_all_by_label("Thickness");
    named.next().expect("the checkbox").click();
    drop(named);
    window.run();
    assert_eq!(window.state().state.view.drawing.thickness_mm, None);
    click(&mut window, "End the tool");
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    assert!(window.query_by_label("End the tool").is_none());
}

/// Opened by its key, Draw is seen, wherever the pointer is.
fn draw_in_sight() {
    let opened = |hover: bool| {
        let mut window = window(tracking(), [1280.0, 800.0]);
        if hover {
            let control = window.query_all_by_label("Step").next();
            let at = control.expect("a control of the panel").rect().center();
            window.hover_at(at);
            window.run();
        }
        press(&mut window, Key::B);
        window.run();
        window.get_by_label("End the tool").rect()
    };
    assert_eq!(opened(true), opened(false));
}

fn region_chooser() {
    let mut window = window(with_regions(tracking(), 40), [1600.0, 900.0]);
    press(&mut window, Key::B);
    let selected = window.state().state.runtime.regions.selected;
    assert_eq!(
        window.state().state.runtime.regions.drawn,
        selected,
        "the selected region"
    );
    click(&mut window, "Region");
    click(&mut window, "New exclude");
    assert_eq!(window.state().state.runtime.regions.drawn, None);
    assert_eq!(window.state().state.view.drawing.role, Role::Exclude);
    click(&mut window, "Region");
    click(&mut window, "Motor L");
    let regions = &window.state().state.document.regions;
    let motor = regions.iter().find(|r| r.name == "Motor L").unwrap().id;
    assert_eq!(window.state().state.runtime.regions.drawn, Some(motor));
}

fn request_count(window: &Window) -> usize {
    let effects = window.state().effects.iter();
    effects.filter(|e| e.job::<MakeRegion>().is_some()).count()
}

fn threshold_panel() {
    let mut window = window(small_scan(), [1600.0, 900.0]);
    click(&mut window, "Add a region");
    click(&mut window, "From a threshold…");
    assert_eq!(window.state().state.view.tool, Tool::Threshold);
    assert_eq!(request_count(&window), 1, "a region from the start");
    window.get_by_label("Values");
    window.get_by_label_contains("The region updates");
    press(&mut window, Key::Escape);
    assert!(window.query_by_label("Values").is_none());
}

fn change_panel() {
    let mut window = window(tracking(), [1600.0, 900.0]);
    act(&mut window, Action::View(ViewAction::SetTool(Tool::Change)));
    window.run();
    for name in ["Grow, shrink", "Smooth, FWHM"] {
        assert!(window.query_all_by_label(name).next().is_some(), "{name}");
    }
    // Nothing to combine with yet.
    click(&mut window, "Keep common");
    assert_eq!(request_count(&window), 0);
    click(&mut window, "Other region");
    click(&mut window, "Motor L");
    click(&mut window, "Keep common");
    assert_eq!(request_count(&window), 1);
    // Without a selected region the panel explains what to do.
    act(&mut window, Action::Region(RegionAction::Select(None)));
    window.run();
    window.get_by_label_contains("Click the region to change");
}

fn export_all() {
    let mut window = window(tracking(), [1600.0, 900.0]);
    // A right-click on the name: the role has its own menu.
    let row = window.get_by_label("Seed region Capsule L").rect();
    let at = row.left_center() + egui::vec2(40.0, 0.0);
    window.hover_at(at);
    for pressed in [true, false] {
        window.event(egui::Event::PointerButton {
            pos: at,
            button: egui::PointerButton::Secondary,
            pressed,
            modifiers: Modifiers::NONE,
        });
    }
    window.run();
    click(&mut window, "Export all as label map…");
    window.get_by_label_contains("Export regions as label map");
}

/// Labels 1 to 40; the search finds those with a 3.
fn labels_found() {
    let mut state = small_scan();
    let layer = state.document.layers[0].clone();
    let volume = layer.content.volume().expect("an image");
    let found = |number| LabelCount {
        number,
        count: 1,
        block: ([0; 3], [0; 3]),
    };
    state.runtime.regions.labels = Some(Labels {
        layer: layer.id,
        image: volume.id(),
        frame: 0,
        numbers: Some(Ok(Arc::new(Numbers((1..=40).map(found).collect())))),
    });
    state.view.tool = Tool::Labels;
    let mut window = window(state, [1600.0, 900.0]);
    window.get_by_label("All 40 as regions");
    window.get_by_label("Search labels").focus();
    window.run();
    window.event(egui::Event::Text("3".to_owned()));
    window.run();
    click(&mut window, "The 13 found as regions");
    let query = window.state().actions.iter().find_map(|a| match a {
        Action::Region(RegionAction::FromLabels { labels, .. }) => Some(labels.clone()),
        _ => None,
    });
    let numbers: Vec<i64> = query.expect("asked").iter().map(|f| f.number).collect();
    assert_eq!(numbers, [3, 13, 23, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]);
}
