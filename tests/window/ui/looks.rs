//! At every size: everything has a name, stays inside the window, and no text is cut. Measured in numbers.

use super::{Window, click, filter, pathways, sample, tracking, window};
use crate::support::test;
use arcuate::state::{Convention, State, Task};
use arcuate::ui::theme::{self, Palette};
use egui::epaint::{ClippedShape, Shape};
use egui::{Color32, Rect};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

const SIZES: [[f32; 2]; 4] = [
    [1280.0, 800.0],
    [1500.0, 900.0],
    [1920.0, 1080.0],
    [2560.0, 1440.0],
];

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::looks::names, places and whole texts at every size",
            every_size,
        ),
        test("ui::looks::panels keep their width, views grow", widths),
        test(
            "ui::looks::nothing covers the orientation letters",
            orientation,
        ),
        test(
            "ui::looks::tasks are a menu where their tabs do not fit",
            tasks,
        ),
        test(
            "ui::looks::every text is readable on its background",
            contrast,
        ),
        test("ui::looks::the theme colours every large area", themes),
    ]
}

/// The pages of a window, with a name for a failing test.
fn pages() -> Vec<(&'static str, State)> {
    let empty = State::new(sample::BACKEND.to_owned());
    let (first, _) = sample::with_recent(empty);
    let mut view = sample::state([16, 20, 15], 6);
    view.runtime.tour = Some(arcuate::state::runtime::TourStep::PlaceSeed);
    view.view.convention = Convention::Neurological;
    let mut scalar = sample::state([16, 20, 15], 6);
    scalar.runtime.selected_layer = scalar.document.layer_named("MD").map(|l| l.id);
    let mut no_seed = sample::state([16, 20, 15], 6);
    no_seed.view.task = Task::Track;
    // The set does not join the ends, and the panel reports it; one was kept.
    let mut unjoined = pathways::state_with_kept_pathway("Arch");
    unjoined.document.pathways.epsilon = 0.001;
    vec![
        ("first page", first),
        ("View", view),
        ("View of MD", scalar),
        ("Track", tracking()),
        ("Track without a seed", no_seed),
        ("Pathways", pathways::solved()),
        ("Pathways, kept", unjoined),
        ("Filter", filter::weighing(Task::Filter)),
        ("Filter with weights", filter::state_with_weights()),
    ]
}

/// A window of 1280 points at 130 and 150 %.
fn orientation() {
    for size in [[985.0, 615.0], [853.0, 533.0]] {
        let mut state = tracking();
        state.document.name = "sub-01_ses-01_acq-multiband_dwi".to_owned();
        let window = window(state, size);
        let pill = window.get_by_label("Orientation: radiological").rect();
        let mut left = 0.0;
        for task in Task::ALL {
            let tab = window.get_by_role_and_label(egui::Role::Tab, task.name());
            let tab = tab.rect();
            assert!(tab.left() >= left && tab.right() < pill.left(), "{task:?}");
            left = tab.right();
        }
    }
}

/// Opens every folded block.
fn unfold(window: &mut Window) {
    for name in [
        "Tensor fit",
        "Deflection, integrator, seeding",
        "Why tracking stopped",
        "Appearance",
        "Colours, outline, contours",
        "Pathways in 3-D",
        "Metric, local solver",
        "Tensor glyphs",
        "Diffusivities",
        "Signal, stopping, operator",
        "Virtual lesion",
        "Individual weights",
        "Fit statistics",
    ] {
        let folded = window
            .query_by_role_and_label(egui::Role::DisclosureTriangle, name)
            .is_some_and(|n| n.accesskit_node().toggled() == Some(egui::accesskit::Toggled::False));
        if folded {
            // A click lands at the widget's place, visible or not.
            window.get_by_label(name).scroll_to_me();
            window.run();
            click(window, name);
        }
    }
}

fn every_size() {
    for size in SIZES {
        for (name, state) in pages() {
            let mut window = window(state, size);
            unfold(&mut window);
            let at = format!("{name} at {} × {}", size[0], size[1]);
            assert_eq!(window.unnamed_widgets(), Vec::<String>::new(), "{at}");
            inside(&window, size, &at);
            whole_texts(&window, &at);
        }
    }
}

/// No widget extends beyond the left or right of the window (panels scroll up and down).
fn inside(window: &Window, size: [f32; 2], at: &str) {
    let mut seen = 0;
    for node in window.root().children_recursive() {
        let Some(b) = node.accesskit_node().raw_bounds() else {
            continue;
        };
        let label = node.accesskit_node().label().unwrap_or_default();
        assert!(
            b.x0 >= -0.5 && b.x1 <= f64::from(size[0]) + 0.5,
            "{at}: {label:?} {b:?}"
        );
        seen += 1;
    }
    assert!(seen > 10, "{at}: only {seen} widgets");
}

/// Every line of text is complete: not elided, and not cut off by its container.
fn whole_texts(window: &Window, at: &str) {
    fn texts(shape: &Shape, clip: Rect, found: &mut Vec<(String, bool, Rect, Rect)>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| texts(s, clip, found)),
            Shape::Text(text) => found.push((
                text.galley.job.text.clone(),
                text.galley.elided,
                text.visual_bounding_rect(),
                clip,
            )),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for ClippedShape {
        clip_rect, shape, ..
    } in &window.output().shapes
    {
        texts(shape, *clip_rect, &mut found);
    }
    assert!(found.len() > 10, "{at}: only {} texts", found.len());
    for (text, elided, rect, clip) in found.iter().filter(|f| f.2.is_positive()) {
        assert!(!elided, "{at}: {text:?} is cut with an ellipsis");
        let cut = rect.left() < clip.left() - 0.5 || rect.right() > clip.right() + 0.5;
        assert!(!cut, "{at}: {text:?} at {rect:?} leaves {clip:?}");
    }
}

fn widths() {
    let views = |size: [f32; 2]| window(tracking(), size).state().views;
    let narrow = views([1280.0, 800.0]);
    assert_eq!((narrow.left(), narrow.right()), (44.0, 1280.0 - 312.0));
    for size in [[1920.0, 1080.0], [2560.0, 1440.0]] {
        let wide = views(size);
        assert_eq!((wide.left(), wide.right()), (272.0, size[0] - 344.0));
        assert_eq!((wide.top(), wide.bottom()), (44.0, size[1] - 28.0));
    }
}

/// A window of 1280 points at 200 %: by clicks alone.
fn tasks() {
    let mut window = window(tracking(), [640.0, 400.0]);
    for task in Task::ALL.into_iter().rev() {
        assert!(
            window
                .query_by_role_and_label(egui::Role::Tab, task.name())
                .is_none()
        );
        let menu = window.get_by_role_and_label(egui::Role::ComboBox, "Tasks");
        let pill = window.get_by_label("Orientation: radiological");
        assert!(menu.rect().right() < pill.rect().left());
        menu.click();
        window.run();
        let row = window.get_by_role_and_label(egui::Role::MenuItem, task.name());
        row.click();
        window.run();
        assert_eq!(window.state().state.view.task, task);
    }
}

/// Relative luminance and contrast (WCAG 2.1, "contrast ratio").
fn luminance(c: Color32) -> f64 {
    let linear = |v: u8| {
        let v = f64::from(v) / 255.0;
        if v <= 0.040_45 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b())
}

fn ratio(a: Color32, b: Color32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn contrast() {
    for (name, p) in [("dark", &theme::DARK), ("light", &theme::LIGHT)] {
        let Palette {
            b0,
            b1,
            b2,
            b3,
            t1,
            t2,
            t3,
            ..
        } = *p;
        for ground in [b0, b1, b2, b3, p.tint, p.warning_tint, p.error_tint] {
            assert!(ratio(t1, ground) > 11.0, "{name}: text on {ground:?}");
        }
        for ground in [b0, b1, b2, b3] {
            for ink in [t2, t3] {
                assert!(ratio(ink, ground) > 4.5, "{name}: {ink:?} on {ground:?}");
            }
        }
        let pairs = [
            (p.warning, p.warning_tint),
            (p.error, p.error_tint),
            (p.accent, p.tint),
        ];
        for (ink, ground) in pairs {
            assert!(ratio(ink, ground) > 4.5, "{name}: {ink:?} on {ground:?}");
        }
        for (ink, ground) in [(p.ok, b1), (p.warning, b2), (p.accent, b0)] {
            assert!(ratio(ink, ground) > 4.5, "{name}: {ink:?} on {ground:?}");
        }
        assert!(
            ratio(theme::ON_FILL, p.fill) > 4.5,
            "{name}: primary button"
        );
    }
}

/// Every filled rectangle that covers the window's corner has the chosen theme's colour.
fn themes() {
    let pages = || [tracking(), pathways::state_with_kept_pathway("Arch")];
    for (light, mut state) in [false, true]
        .into_iter()
        .flat_map(|light| pages().map(|page| (light, page)))
    {
        state.view.light_theme = light;
        let window = window(state, [1280.0, 800.0]);
        let p = if light { &theme::LIGHT } else { &theme::DARK };
        let fills: Vec<Color32> = window
            .output()
            .shapes
            .iter()
            .filter_map(|s| match &s.shape {
                Shape::Rect(r) if r.rect.area() > 1e4 => Some(r.fill),
                _ => None,
            })
            .filter(|c| c.a() == 255)
            .collect();
        assert!(fills.contains(&p.b0) && fills.contains(&p.b1), "{fills:?}");
        let other = if light { &theme::DARK } else { &theme::LIGHT };
        let foreign = [other.b0, other.b1, other.b2];
        assert!(
            fills.iter().all(|c| *c == p.b0 || !foreign.contains(c)),
            "{fills:?}"
        );
    }
}
