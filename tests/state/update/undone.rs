//! Undo and redo name each parameter by its label, with both values in the form of its panel.

use super::{Window, file, scan};
use crate::support::test;
use arcuate::data::region::RegionId;
use arcuate::data::{Role, Shape, Volume};
use arcuate::solvers::commit::cylinder::Timing;
use arcuate::solvers::commit::model::Intra;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::{Cut, Sharpening};
use arcuate::solvers::level_set::Sphere;
use arcuate::solvers::metric::Cost;
use arcuate::solvers::tensor_fit::Method as Fit;
use arcuate::state::core::colours;
use arcuate::state::core::display::LineColouring;
use arcuate::state::core::volume_look::{VolumeLook, VolumeStyle};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::filter::{FilterAction, ScanTimings};
use arcuate::state::pathways::{PathwayAction, ShownCost};
use arcuate::state::segment::SegmentAction;
use arcuate::state::streamlines::{Column, StreamlineRules, ValueLimits};
use arcuate::state::{
    Action, AlignmentAction, Display, LayerAction, LayerId, Method, Phase, RegionAction,
    RegionsChange, State, StreamlineAction, Task, TensorAction, TrackAction, ViewAction,
    WholeBrain,
};
use glam::{DAffine3, DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::undone::every_parameter_by_label_and_values", table),
        test("update::undone::the_result_is_named_as_such", result),
        test("update::undone::several_at_once", several),
        test(
            "update::undone::added_and_removed_objects_are_named",
            added_or_removed,
        ),
    ]
}

const DONE: Phase = Phase::Done;

fn seed(state: &State) -> RegionId {
    state.document.regions[0].id
}

fn reshaped(state: &State, shape: Shape) -> Action {
    Action::Region(RegionAction::SetShape {
        region: seed(state),
        shape,
        phase: DONE,
    })
}

fn sphere(x: f64, radius_mm: f64) -> Shape {
    Shape::Sphere {
        centre: dvec3(x, 0.0, 0.0),
        radius_mm,
    }
}

fn named(state: &State, name: &str) -> LayerId {
    let layer = state.document.layer_named(name);
    layer.unwrap_or_else(|| panic!("no layer {name}")).id
}

fn track(state: &State, edit: impl FnOnce(&mut arcuate::solvers::curves::Params)) -> Action {
    let mut params = state.document.track.streamlines.clone();
    edit(&mut params);
    Action::Track(TrackAction::SetStreamlines {
        params,
        phase: DONE,
    })
}

fn rays(state: &State, edit: impl FnOnce(&mut arcuate::state::Rays)) -> Action {
    let mut rays = state.document.track.rays.clone();
    edit(&mut rays);
    Action::Track(TrackAction::SetRays { rays, phase: DONE })
}

fn pathway(
    state: &State,
    edit: impl FnOnce(&mut arcuate::state::pathways::PathwaySettings),
) -> Action {
    let mut settings = state.document.pathways.clone();
    edit(&mut settings);
    Action::Pathway(PathwayAction::Set {
        settings,
        phase: DONE,
    })
}

fn segment(
    state: &State,
    edit: impl FnOnce(&mut arcuate::state::segment::SegmentSettings),
) -> Action {
    let mut settings = state.document.segment.settings.clone();
    edit(&mut settings);
    Action::Segment(SegmentAction::Set {
        settings,
        phase: DONE,
    })
}

fn weights(state: &State, edit: impl FnOnce(&mut arcuate::solvers::commit::Params)) -> Action {
    let mut params = state.document.filter_params();
    edit(&mut params);
    Action::Filter(FilterAction::Params {
        params: Some(params),
        phase: DONE,
    })
}

fn display(state: &State, layer: &str, edit: impl FnOnce(&mut Display)) -> Action {
    let layer = named(state, layer);
    let mut display = state.document.layer(layer).expect("it").display.clone();
    edit(&mut display);
    Action::Layer(LayerAction::SetDisplay {
        layer,
        display,
        phase: DONE,
    })
}

fn set_rules(state: &State, edit: impl FnOnce(&mut StreamlineRules)) -> Action {
    let now = state.document.streamlines.rules().next().cloned();
    let mut rules = now.unwrap_or_else(|| StreamlineRules::new(LayerId(9_999)));
    edit(&mut rules);
    Action::Streamline(StreamlineAction::SetRules { rules, phase: DONE })
}

type Row = (
    &'static str,
    [&'static str; 2],
    Box<dyn Fn(&State) -> Action>,
);

fn row(
    label: &'static str,
    values: [&'static str; 2],
    action: impl Fn(&State) -> Action + 'static,
) -> Row {
    (label, values, Box::new(action))
}

fn regions() -> Vec<Row> {
    vec![
        row("Seed: Radius", ["5.0 mm", "7.3 mm"], |s| {
            reshaped(s, sphere(0.0, 7.3))
        }),
        row(
            "Seed: Position",
            ["0.0, 0.0, 0.0 mm", "3.0, 0.0, 0.0 mm"],
            |s| reshaped(s, sphere(3.0, 7.3)),
        ),
        row("Seed: Role", ["Seed", "Include"], |s| {
            Action::Region(RegionAction::SetRole {
                region: seed(s),
                role: Role::Include,
            })
        }),
        row("Name", ["Seed", "Left V1"], |s| {
            Action::Region(RegionAction::Rename {
                region: seed(s),
                name: "Left V1".to_owned(),
            })
        }),
        row("Left V1: Colour", ["of the role", "Pink"], |s| {
            Action::Region(RegionAction::SetColour {
                region: seed(s),
                colour: Some(colours::CATEGORIES[1]),
            })
        }),
        row("Left V1:", ["shown", "hidden"], |s| {
            Action::Region(RegionAction::Toggle(seed(s)))
        }),
    ]
}

fn curves() -> Vec<Row> {
    vec![
        row("Step", ["0.50 mm", "0.75 mm"], |s| {
            track(s, |p| p.step_mm = 0.75)
        }),
        row("Maximum angle", ["45°", "60°"], |s| {
            track(s, |p| p.max_angle_rad = Some(60f64.to_radians()))
        }),
        row("Maximum angle", ["60°", "off"], |s| {
            track(s, |p| p.max_angle_rad = None)
        }),
        row("Stop below FA", ["0.15", "0.20"], |s| {
            track(s, |p| p.min_fa = Some(0.2))
        }),
        // Closer to each other than the panel shows: as many digits as distinguish them.
        row("Stop below FA", ["0.200", "0.203"], |s| {
            track(s, |p| p.min_fa = Some(0.203))
        }),
        row("Length", ["30–300 mm", "10–300 mm"], |s| {
            track(s, |p| p.min_length_mm = 10.0)
        }),
        row("Streamlines", ["2 000", "500"], |s| {
            track(s, |p| p.seeding = Seeding::Random { count: 500 })
        }),
        row("Random seed", ["1", "12345"], |s| {
            track(s, |p| p.random_seed = 12_345)
        }),
        row("Both ways from the seed", ["on", "off"], |s| {
            track(s, |p| p.both_ways = false)
        }),
        row("Seeds", ["50 000", "70 000"], |_| {
            Action::Track(TrackAction::SetWholeBrain {
                whole_brain: WholeBrain {
                    seeds: 70_000,
                    by_regions: false,
                },
                phase: DONE,
            })
        }),
        row("Method", ["Streamlines", "Geodesic rays"], |_| {
            Action::Track(TrackAction::SetMethod(Method::Rays))
        }),
        row("Sharpening α", ["", "4.5"], |s| {
            let power = |alpha| Sharpening::Power { alpha };
            rays(s, |r| r.metric.sharpening = power(4.5))
        }),
        row("Stop rays that circle", ["", "off"], |s| {
            rays(s, |r| r.params.loop_guard = false)
        }),
        row("Keep", ["", "≥ 0.80"], |s| {
            rays(s, |r| r.cut = Cut::AtLeast(0.8))
        }),
        row("Method", ["", "Ordinary least squares"], |s| {
            let mut params = s.document.fit.clone();
            params.method = Fit::Ols;
            Action::Tensors(TensorAction::SetFit { params })
        }),
    ]
}

fn pathways() -> Vec<Row> {
    vec![
        row("Pathway width ε", ["20.0 %", "12.5 %"], |s| {
            pathway(s, |p| p.epsilon = 0.125)
        }),
        row("Sharpening α", ["", "2.0"], |s| {
            pathway(s, |p| p.params.metric.alpha = 2.0)
        }),
        row("Metric", ["Sharpened", "Inverse"], |s| {
            pathway(s, |p| p.params.metric.cost = Cost::Inverse)
        }),
        row("Show cost", ["u₁ + u₂", "u₁"], |s| {
            pathway(s, |p| p.shown = ShownCost::First)
        }),
        row("Cost opacity", ["75 %", "35 %"], |s| {
            pathway(s, |p| p.opacity = 0.35)
        }),
        row("Cost contours", ["off", "5.0 u₁"], |s| {
            pathway(s, |p| p.contours = Some(5.0))
        }),
        row("Shown as", ["Cloud", "Surface"], |s| {
            pathway(s, |p| (p.cloud, p.surface) = (false, true))
        }),
    ]
}

fn segments() -> Vec<Row> {
    vec![
        row("Smoothness", ["0.15", "0.40"], |s| {
            segment(s, |p| p.params.smoothness = 0.4)
        }),
        row("Smoothness", ["0.40", "0.45"], |s| {
            segment(s, |p| p.params.smoothness = 0.45)
        }),
        row("Region means", ["0.00", "0.30"], |s| {
            segment(s, |p| p.params.region = 0.3)
        }),
        row("Speed overlay", ["0 %", "25 %"], |s| {
            segment(s, |p| p.speed_opacity = 0.25)
        }),
        row("Steps per frame", ["auto", "20"], |s| {
            segment(s, |p| p.steps_per_update = Some(20))
        }),
        row("Pause at leaks", ["on", "off"], |s| {
            segment(s, |p| p.watched = false)
        }),
    ]
}

fn filters() -> Vec<Row> {
    vec![
        row("Intra-axonal", ["Sticks", "Gamma cylinders"], |s| {
            weights(s, |p| {
                p.model.intra = Intra::GammaCylinders {
                    along: 1.7e-3,
                    radii: vec![arcuate::solvers::commit::DEFAULT_GAMMA],
                }
            })
        }),
        row("Sparsity λ", ["off", "0.0100"], |s| {
            weights(s, |p| p.lasso = 0.01)
        }),
        row("Stop at change", ["10⁻⁵", "10⁻⁶"], |s| {
            weights(s, |p| {
                p.stop.objective = 1e-5;
                p.stop = p.stop.with_tolerance(1e-6);
            })
        }),
        row(
            "Radial",
            ["0.51 · 10⁻³ mm²/s", "0.62 · 10⁻³ mm²/s"],
            |s| weights(s, |p| p.model.extra[0].across = 0.62e-3),
        ),
        row("Free water", ["None", "Ball"], |s| {
            weights(s, |p| p.model.free = vec![1.7e-3, 3e-3])
        }),
        row(
            "Ball 2",
            ["3.00 · 10⁻³ mm²/s", "2.50 · 10⁻³ mm²/s"],
            |s| weights(s, |p| p.model.free = vec![1.7e-3, 2.5e-3]),
        ),
        row("Extra-axonal", ["Zeppelin", "None"], |s| {
            weights(s, |p| p.model.extra.clear())
        }),
        row("Blur", ["off", "1.50 mm"], |s| {
            weights(s, |p| p.blur_mm = Some(1.5))
        }),
        row("Timing", ["not known", "δ and Δ"], |_| {
            let timing = Timing {
                pulse_ms: 20.0,
                between_ms: 40.0,
            };
            Action::Filter(FilterAction::Times {
                times: ScanTimings::Both(timing),
                phase: DONE,
            })
        }),
        row("Pulse δ", ["20.0 ms", "15.5 ms"], |_| {
            let timing = Timing {
                pulse_ms: 15.5,
                between_ms: 40.0,
            };
            Action::Filter(FilterAction::Times {
                times: ScanTimings::Both(timing),
                phase: DONE,
            })
        }),
        row("Filter", ["off", "on"], |s| set_rules(s, |_| {})),
        row("Length", ["all", "≥ 45.0 mm"], |s| {
            set_rules(s, |rules| {
                *rules = rules.clone().limited(ValueLimits {
                    column: Column::length(),
                    low: Some(45.0),
                    high: None,
                    counting: Default::default(),
                })
            })
        }),
        row("At most", ["no limit", "1 000"], |s| {
            set_rules(s, |rules| rules.at_most = Some(1_000))
        }),
        row("Show", ["Matching", "Not matching"], |s| {
            set_rules(s, |rules| rules.invert = true)
        }),
        row("Nodes", ["100", "60"], |s| {
            let mut profile = s.document.streamlines.profile.clone();
            profile.params.nodes = 60;
            Action::Streamline(StreamlineAction::SetProfile(profile))
        }),
    ]
}

fn looks() -> Vec<Row> {
    vec![
        row("FA: Opacity", ["100 %", "45 %"], |s| {
            display(s, "FA", |d| d.opacity = 0.45)
        }),
        row("FA: Window", ["", "0.20–0.75"], |s| {
            display(s, "FA", |d| d.window = (0.2, 0.75))
        }),
        row("FA: In 3-D", ["Off", "Surface"], |s| {
            display(s, "FA", |d| {
                d.volume = Some(VolumeLook {
                    style: VolumeStyle::Surface,
                    ..VolumeLook::default()
                })
            })
        }),
        row("FA: Surface opacity", ["100 %", "30 %"], |s| {
            display(s, "FA", |d| {
                d.volume.as_mut().expect("a look").opacity = 0.3
            })
        }),
        row("Name", ["FA", "Anisotropy"], |s| {
            Action::Layer(LayerAction::Rename {
                layer: named(s, "FA"),
                name: "Anisotropy".to_owned(),
            })
        }),
        // Data computed from the scan stay in place.
        row("T1: Right", ["0.0 mm", "2.5 mm"], |s| {
            Action::Alignment(AlignmentAction::Shift {
                layer: named(s, "T1"),
                transform: DAffine3::from_translation(dvec3(2.5, 0.0, 0.0)),
                phase: DONE,
            })
        }),
        row("Colour by", ["Direction", "Length"], |s| {
            let mut display = s.document.live_display().clone();
            display.line_colouring = LineColouring::Length;
            Action::Track(TrackAction::SetDisplay {
                display,
                phase: DONE,
            })
        }),
        row("Tube radius", ["0.35 mm", "0.50 mm"], |s| {
            let mut display = s.document.live_display().clone();
            display.line_style = arcuate::scene::draw_list::LineStyle::Tubes { radius_mm: 0.5 };
            Action::Track(TrackAction::SetDisplay {
                display,
                phase: DONE,
            })
        }),
    ]
}

/// The status without thin spaces.
fn status(window: &Window) -> String {
    window
        .state
        .runtime
        .notices
        .status
        .replace(['\u{202F}', '\u{2009}'], " ")
}

fn table() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    let frame = scan().0;
    let image = Volume::scalar(frame.grid.clone(), frame.frame(0).to_vec());
    let image = file("/data/T1.nii.gz", Loaded::Image(image));
    window.act(Action::Event(image));
    let tasks = [
        (Task::View, looks()),
        (Task::Track, curves()),
        (Task::Pathways, pathways()),
        (Task::Filter, filters()),
        (Task::Segment, segments()),
        (Task::Track, regions()),
    ];
    let mut missed = Vec::new();
    for (task, rows) in tasks {
        window.act(Action::View(ViewAction::SelectTask(task)));
        for (label, [from, to], action) in rows {
            let action = action(&window.state);
            window.act(action);
            let mut check = |window: &mut Window, step: Action, verb: &str, [a, b]: [&str; 2]| {
                window.act(step);
                let now = status(window);
                // Omitted values depend on the scan or on defaults.
                let begin = format!("({label} {a}");
                let end = format!(" → {b}");
                let step = now.split(". Result: ").next().unwrap_or_default();
                let step = step.strip_suffix(')').unwrap_or_default();
                let ends = b.is_empty() || step.ends_with(&end);
                if !(step.starts_with(verb) && step.contains(&begin) && ends) {
                    missed.push(format!("{now:?} is not {verb}{begin}{end})"));
                }
            };
            check(&mut window, Action::Undo, "Undone: ", [to, from]);
            check(&mut window, Action::Redo, "Redone: ", [from, to]);
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The resulting number of streamlines is not part of the undone change.
fn result() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    let action = track(&window.state, |p| p.step_mm = 0.75);
    window.act(action);
    window.act(Action::Undo);
    let now = status(&window);
    let begin = "Undone: tracking (Step 0.75 mm → 0.50 mm). Result: ";
    assert!(now.starts_with(begin), "{now}");
    let result = &now[begin.len()..];
    assert!(result.contains(" streamlines from "), "{now}");
}

fn several() {
    let mut window = Window::fitted();
    for i in 0..6 {
        window.place(Role::Include, DVec3::X * f64::from(i));
    }
    let regions = window.state.document.regions.iter().map(|r| r.id).collect();
    window.act(Action::Region(RegionAction::ChangeSeveral {
        regions,
        change: RegionsChange::Role(Role::Exclude),
    }));
    window.act(Action::Undo);
    let now = status(&window);
    let named = "(Include: Role Exclude → Include, Include 2: Role Exclude → Include, ";
    assert!(now.contains(named), "{now}");
    assert!(now.contains(" and 2 more)"), "{now}");
}

fn added_or_removed() {
    let mut window = Window::fitted();
    let id = window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::Undo);
    assert_eq!(status(&window), "Undone: place region (Seed removed)");
    window.act(Action::Redo);
    assert!(status(&window).starts_with("Redone: place region (Seed restored)"));
    window.act(Action::Region(RegionAction::Delete(id)));
    window.act(Action::Undo);
    assert!(status(&window).starts_with("Undone: delete region (Seed restored)"));
    let ball = Sphere {
        centre: DVec3::ZERO,
        radius_mm: 3.5,
        add: true,
    };
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    window.act(Action::Segment(SegmentAction::Sphere(ball)));
    window.act(Action::Undo);
    let now = status(&window);
    assert!(now.contains("sphere of 3.5 mm deleted"), "{now}");
}
