//! The fold “Two values” of a cloud: a transfer function of the value and its gradient or curvature, or of two images; a
//! third value may limit its shapes.

use super::display::{colour_maps_and, segment_row, select_row, short_unit};
use crate::data::appearance::{ShapeKind, TransferShape};
use crate::data::joint_histogram::{DerivedValue, JointAxis, JointSamples};
use crate::scene::draw_list::Colours;
use crate::scene::{second_image, volume_of};
use crate::state::core::layer::LayerId;
use crate::state::core::text::decimals_of;
use crate::state::core::volume_look::{SecondValue, ThirdValue, TwoValues, VolumeLook};
use crate::state::{Layer, Phase, State};
use crate::ui::format;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::shapes::{ShapesChange, ShapesEditor};
use crate::ui::widgets::slider::{RangeRow, Scale, SliderRow};
use crate::ui::widgets::{menu, paint, section};
use crate::ui::{Memory, theme};
use egui::{Ui, vec2};

const FOLD: &str = "Two values";

type OnChange<'a> = dyn FnMut(VolumeLook, Phase) + 'a;

/// Why a derived value of a layer cannot be chosen: it is being measured, or that failed.
fn why_unmeasured(state: &State, layer: LayerId) -> Option<&str> {
    let live = &state.runtime.figures.joint.live;
    let why = || live.failure().unwrap_or("Being measured");
    state.joint_samples(layer).is_none().then(why)
}

/// The fold; returns whether it is open.
pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    look: &VolumeLook,
    memory: &mut Memory,
    set: &mut OnChange,
) -> bool {
    let (open, clicked) = section::fold(ui, FOLD, memory.is_open(FOLD, false));
    if clicked {
        memory.toggle(FOLD);
    }
    if open {
        contents(ui, state, layer, look, memory, set);
    }
    open
}

fn contents(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    look: &VolumeLook,
    memory: &mut Memory,
    set: &mut OnChange,
) {
    let mut change = |two: Option<TwoValues>, phase: Phase| {
        let look = VolumeLook {
            two_values: two,
            ..look.clone()
        };
        set(look, phase);
    };
    let measured = state.joint_samples(layer.id);
    let samples = measured.map(|(_, samples)| &**samples);
    if let Some(chosen) = second_row(ui, state, layer, look) {
        match chosen {
            None => change(None, Phase::Done),
            Some(second) => {
                if let Some(two) = started(state, samples, look, second) {
                    change(Some(two), Phase::Done);
                }
            }
        }
    }
    let Some(two) = look.two_values.as_ref().map(TwoValues::finite) else {
        return;
    };
    let second = second_image(state, two.second);
    if matches!(two.second, SecondValue::Image(_)) && second.is_none() {
        sentence(ui, "The second image is not open: choose another one");
        return;
    }
    let chosen_id = ui.make_persistent_id(("chosen shape", layer.id.0));
    let chosen = ui.data(|d| d.get_temp::<usize>(chosen_id)).unwrap_or(0);
    let chosen = chosen.min(two.shapes.len().saturating_sub(1));
    let scale = f64::from(layer.unit_scale);
    let shown = |(low, high): (f32, f32), by: f64| (f64::from(low) * by, f64::from(high) * by);
    let (axis, by) = match two.second {
        SecondValue::Gradient => ("Gradient per mm".to_owned(), scale),
        SecondValue::Curvature => ("Curvature, 1/mm".to_owned(), 1.0),
        SecondValue::Image(id) => name_and_scale(state, id),
    };
    let windows = [layer.display.window, two.window];
    let ranges = [shown(windows[0], scale), shown(windows[1], by)];
    let third = two.third_limits(chosen);
    let only = third.map(|(value, limits)| only_text(value, shown(limits, scale_of(value, layer))));
    let counts = match measured {
        Some((key, samples)) => {
            let joint = &mut memory.caches.joint;
            joint.get((key, samples), two.second.axis(), windows, third)
        }
        None => &[],
    };
    let editor = ShapesEditor {
        shapes: &two.shapes,
        chosen,
        counts,
        is_stale: state.joint_is_stale(),
        only: only.as_deref(),
        ranges,
        axes: ["value", &axis],
    };
    let changed = editor.show(ui);
    let mut choose_now = None;
    match changed {
        None => {}
        Some(ShapesChange::Chosen(i)) => choose_now = Some(i),
        Some(ShapesChange::Moved(i, shape, phase)) => {
            change(Some(with(&two, i, shape)), phase);
        }
        Some(ShapesChange::Removed(i)) => change(Some(without(&two, i)), Phase::Done),
    }
    let natural = samples.and_then(|samples| samples.window(two.second.axis()));
    let natural = shown(natural.unwrap_or(two.window), by);
    let by_default = || {
        let window = window_of(state, samples, two.second);
        shown(window.unwrap_or(two.window), by)
    };
    if let Some((window, phase)) = window_row(ui, ranges[1], natural, &by_default) {
        let back = |v: f64| (v / by) as f32;
        change(Some(two.in_window((back(window.0), back(window.1)))), phase);
    }
    if let Some(changed) = third_row(ui, &two, samples, why_unmeasured(state, layer.id)) {
        change(Some(changed), Phase::Done);
    }
    let units = [short_unit(layer), ""];
    if let Some((changed, phase)) = limit_rows(ui, &two, chosen, (ranges, units)) {
        change(Some(changed), phase);
    }
    if let Some((changed, phase)) = third_limit_row(ui, &two, chosen, layer) {
        change(Some(changed), phase);
    }
    if let Some((changed, phase)) = chosen_rows(ui, &two, chosen) {
        change(Some(changed), phase);
    }
    if let Some(added) = add_and_remove(ui, &two, chosen) {
        choose_now = Some(added.shapes.len().saturating_sub(1));
        change(Some(added), Phase::Done);
    }
    if let Some(i) = choose_now {
        ui.data_mut(|d| d.insert_temp(chosen_id, i));
    }
}

fn sentence(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let size = vec2(ui.available_width(), theme::space::ROW);
    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
    let rect = paint::inset(rect, theme::space::INSET, theme::space::INSET);
    let font = theme::regular(theme::size::LABEL);
    paint::left(ui.painter(), rect, text, font, p.t2);
}

fn name_and_scale(state: &State, id: LayerId) -> (String, f64) {
    let layer = state.document.layer(id);
    layer.map_or((String::new(), 1.0), |l| {
        (l.name.clone(), f64::from(l.unit_scale))
    })
}

/// Chooses the second value; `Some(None)` switches it off.
fn second_row(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    look: &VolumeLook,
) -> Option<Option<SecondValue>> {
    let now = look.two_values.as_ref().map(|two| two.second);
    let unmeasured = why_unmeasured(state, layer.id);
    let name = match now {
        None => "Off".to_owned(),
        Some(SecondValue::Gradient) => "Gradient".to_owned(),
        Some(SecondValue::Curvature) => "Curvature".to_owned(),
        Some(SecondValue::Image(id)) => name_and_scale(state, id).0,
    };
    let help = "Shapes over the value and a second value replace the opacity curve. Curvature is that of surfaces of \
                constant value, positive where higher values bulge towards lower ones";
    select_row(ui, "Second value", help, &name, |ui| {
        let mut chosen = None;
        let mut row = |ui: &mut Ui, name: &str, second: Option<SecondValue>| {
            let derived = second.and_then(SecondValue::derived);
            let item = menu::Item::new(name).chosen(now == second);
            let item = item.disabled(unmeasured.filter(|_| derived.is_some()));
            if item.show(ui) && now != second {
                chosen = Some(second);
            }
        };
        row(ui, "Off", None);
        row(ui, "Gradient", Some(SecondValue::Gradient));
        row(ui, "Curvature", Some(SecondValue::Curvature));
        let others = state.document.layers.iter().filter(|l| l.id != layer.id);
        for other in others.filter(|l| volume_of(l).is_some()) {
            row(ui, &other.name, Some(SecondValue::Image(other.id)));
        }
        chosen
    })
}

/// The shapes stay with another second value; without any, there is one in the middle. `None` until the values are
/// measured.
fn started(
    state: &State,
    samples: Option<&JointSamples>,
    look: &VolumeLook,
    second: SecondValue,
) -> Option<TwoValues> {
    let window = window_of(state, samples, second)?;
    let known = look.two_values.as_ref();
    let shapes = known.map(|two| two.shapes.clone());
    let two = TwoValues {
        second,
        window,
        shapes: shapes.unwrap_or_else(|| vec![first_shape(second)]),
        third: known.and_then(|two| two.third),
    };
    // The second value is no third one.
    Some(two.finite())
}

/// The window of a second value that was just chosen.
fn window_of(
    state: &State,
    samples: Option<&JointSamples>,
    second: SecondValue,
) -> Option<(f32, f32)> {
    match second {
        SecondValue::Gradient | SecondValue::Curvature => samples?.window(second.axis()),
        SecondValue::Image(id) => {
            let layer = state.document.layer(id);
            Some(layer.map_or((0.0, 1.0), |l| l.display.window))
        }
    }
}

fn derived_name(value: DerivedValue) -> &'static str {
    match value {
        DerivedValue::Gradient => "Gradient",
        DerivedValue::Curvature => "Curvature",
    }
}

/// Factor from stored to displayed values.
fn scale_of(value: DerivedValue, layer: &Layer) -> f64 {
    match value {
        DerivedValue::Gradient => f64::from(layer.unit_scale),
        DerivedValue::Curvature => 1.0,
    }
}

/// The voxels that the plot counts, where a third value limits the chosen shape.
fn only_text(value: DerivedValue, (low, high): (f64, f64)) -> String {
    let name = match value {
        DerivedValue::Gradient => "a gradient",
        DerivedValue::Curvature => "a curvature",
    };
    let [first, last] = [low, high].map(format::measure);
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("Voxels with {name} of {first} to {last}"),
        (true, false) => format!("Voxels with {name} of at least {first}"),
        (false, _) => format!("Voxels with {name} of at most {last}"),
    }
}

/// Chooses the value that limits shapes besides the two of the plot.
fn third_row(
    ui: &mut Ui,
    two: &TwoValues,
    samples: Option<&JointSamples>,
    unmeasured: Option<&str>,
) -> Option<TwoValues> {
    let now = two.third.map(|third| third.value);
    let name = now.map_or("Off", derived_name);
    let help = "Each shape can also be limited by a range of this value, in the row “Shape, gradient” or “Shape, curvature”; \
                the plot then counts the voxels in that range of the chosen shape";
    let chosen = select_row(ui, "Third value", help, name, |ui| {
        let mut chosen = None;
        let mut row = |ui: &mut Ui, name: &str, value: Option<DerivedValue>| {
            let item = menu::Item::new(name).chosen(now == value);
            let item = item.disabled(unmeasured.filter(|_| value.is_some()));
            if item.show(ui) && now != value {
                chosen = Some(value);
            }
        };
        row(ui, "Off", None);
        for value in TwoValues::third_choices(two.second) {
            row(ui, derived_name(value), Some(value));
        }
        chosen
    })?;
    let third = match chosen {
        None => None,
        Some(value) => Some(ThirdValue {
            value,
            window: samples?.window(JointAxis::Own(value))?,
        }),
    };
    Some(two.with_third(third))
}

/// The limits of the chosen shape in the third value.
fn third_limit_row(
    ui: &mut Ui,
    two: &TwoValues,
    chosen: usize,
    layer: &Layer,
) -> Option<(TwoValues, Phase)> {
    let (third, shape) = (two.third?, *two.shapes.get(chosen)?);
    let name = match third.value {
        DerivedValue::Gradient => "Shape, gradient",
        DerivedValue::Curvature => "Shape, curvature",
    };
    let help = "The chosen shape shows only places with values in this range, with the same soft edge; at the ends of the \
                rail there is no limit";
    let by = scale_of(third.value, layer);
    let ends = [third.window.0, third.window.1].map(|v| f64::from(v) * by);
    let [low, high] = shape.third;
    // An open end is shown at the end of the rail, or at the other limit if that lies beyond, so that the row is in order.
    let shown = [
        if low == 0.0 { low.min(high) } else { low },
        if high == 1.0 { high.max(low) } else { high },
    ];
    let (limits, phase) = limit_row(ui, (name, help), ends.into(), shown.into(), "")?;
    let limits = <[f32; 2]>::from(limits);
    let third = [0, 1].map(|end| {
        let is_kept = (limits[end] - shown[end]).abs() < 1e-6;
        if is_kept {
            shape.third[end]
        } else {
            limits[end]
        }
    });
    let shape = TransferShape { third, ..shape }.sanitized();
    Some((with(two, chosen, shape), phase))
}

/// The second values at the ends of the plot's vertical axis.
fn window_row(
    ui: &mut Ui,
    now: (f64, f64),
    natural: (f64, f64),
    default: &dyn Fn() -> (f64, f64),
) -> Option<((f64, f64), Phase)> {
    let (first, last) = (natural.0.min(now.0), natural.1.max(now.1));
    let span = last - first;
    if !(span.is_finite() && span > 0.0) {
        return None;
    }
    let row = RangeRow {
        name: "Second range",
        values: now,
        scale: Scale {
            range: first..=last,
            logarithmic: false,
            decimals: decimals_of(span),
        },
        default,
        unit: "",
        help: "Second values at the ends of the plot's vertical axis; shapes keep their values",
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    // An empty window has no scale.
    row.show(ui).filter(|((low, high), _)| low < high)
}

fn new_shape(i: usize) -> TransferShape {
    TransferShape {
        kind: ShapeKind::Box,
        low: [0.4, 0.3],
        high: [0.8, 0.7],
        colour: theme::CATEGORIES[i % theme::CATEGORIES.len()],
        opacity: 0.4,
        softness: 0.3,
        foot: TransferShape::FOOT,
        third: TransferShape::NO_THIRD,
    }
}

/// The first shape: where gradients are low, that is within tissues, since few voxels lie at their borders.
fn first_shape(second: SecondValue) -> TransferShape {
    let shape = new_shape(0);
    match second {
        SecondValue::Gradient => TransferShape {
            low: [shape.low[0], 0.02],
            high: [shape.high[0], 0.25],
            ..shape
        },
        SecondValue::Curvature | SecondValue::Image(_) => shape,
    }
}

fn with(two: &TwoValues, i: usize, shape: TransferShape) -> TwoValues {
    let mut two = two.clone();
    if let Some(to) = two.shapes.get_mut(i) {
        *to = shape;
    }
    two
}

fn without(two: &TwoValues, i: usize) -> TwoValues {
    let mut two = two.clone();
    if i < two.shapes.len() {
        two.shapes.remove(i);
    }
    two
}

/// The limits of the chosen shape on both axes, as values.
fn limit_rows(
    ui: &mut Ui,
    two: &TwoValues,
    chosen: usize,
    (ranges, units): ([(f64, f64); 2], [&str; 2]),
) -> Option<(TwoValues, Phase)> {
    const ROWS: [(&str, &str); 2] = [
        (
            "Shape, value",
            "Limits of the chosen shape along the horizontal axis of the plot",
        ),
        (
            "Shape, second",
            "Limits of the chosen shape along the vertical axis of the plot",
        ),
    ];
    let shape = *two.shapes.get(chosen)?;
    let mut changed = None;
    for (axis, row) in ROWS.into_iter().enumerate() {
        let shares = (shape.low[axis], shape.high[axis]);
        if let Some((limits, phase)) = limit_row(ui, row, ranges[axis], shares, units[axis]) {
            let mut shape = shape;
            (shape.low[axis], shape.high[axis]) = limits;
            changed = Some((shape.sanitized(), phase));
        }
    }
    changed.map(|(shape, phase)| (with(two, chosen, shape), phase))
}

/// Limits of the chosen shape as values, given and returned as shares of a range.
fn limit_row(
    ui: &mut Ui,
    (name, help): (&str, &str),
    (first, last): (f64, f64),
    (low, high): (f32, f32),
    unit: &str,
) -> Option<((f32, f32), Phase)> {
    let span = last - first;
    // An image of one value has no scale.
    if !(span.is_finite() && span > 0.0) {
        return None;
    }
    let value = |share: f32| first + f64::from(share) * span;
    // A limit that is small on its rail is shown as it was typed, down to a thousandth of the rail.
    let sizes = [low, high].map(|share| value(share).abs().max(1e-3 * span));
    let decimals = sizes
        .map(decimals_of)
        .into_iter()
        .fold(decimals_of(span), i32::max);
    let row = RangeRow {
        name,
        values: (value(low), value(high)),
        scale: Scale {
            range: first..=last,
            logarithmic: false,
            decimals,
        },
        default: &|| (first, last),
        unit,
        help,
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    let ((low, high), phase) = row.show(ui)?;
    let share = |value: f64| ((value - first) / span) as f32;
    Some(((share(low), share(high)), phase))
}

/// The settings of the chosen shape.
fn chosen_rows(ui: &mut Ui, two: &TwoValues, chosen: usize) -> Option<(TwoValues, Phase)> {
    let shape = *two.shapes.get(chosen)?;
    let mut changed = None;
    let names = ShapeKind::ALL.map(ShapeKind::label);
    let now = ShapeKind::ALL.iter().position(|kind| *kind == shape.kind);
    let help = "Form of the chosen shape; drag it, or its corners, in the plot";
    if let Some(i) = segment_row(ui, "Shape", help, &names, now.unwrap_or(0)) {
        let kind = ShapeKind::ALL[i];
        changed = Some((TransferShape { kind, ..shape }, Phase::Done));
    }
    let named = || theme::CATEGORY_NAMES.into_iter().zip(theme::CATEGORIES);
    let name = named().find(|c| c.1 == shape.colour);
    let colours = colour_maps_and(
        ui,
        ("Shape colour", "Colour of the chosen shape"),
        (&[], Colours::Fixed(shape.colour)),
        name.map_or("Own colour", |c| c.0),
        named(),
    );
    if let Some(Colours::Fixed(colour)) = colours {
        changed = Some((TransferShape { colour, ..shape }, Phase::Done));
    }
    let percent = |name, value: f32, low: f64, default: f64, help| {
        SliderRow::new(name, f64::from(value) * 100.0, low..=100.0)
            .decimals(0)
            .default(default)
            .limits(low..=100.0)
            .unit("%")
            .help(help)
    };
    let help = "Opacity of a layer of the thickness above";
    if let Some((v, phase)) = percent("Shape opacity", shape.opacity, 0.0, 40.0, help).value(ui) {
        let opacity = v as f32 / 100.0;
        changed = Some((TransferShape { opacity, ..shape }, phase));
    }
    let low = f64::from(TransferShape::MIN_SOFTNESS) * 100.0;
    let help = "Part of the half width over which the opacity rises from the edge";
    if let Some((v, phase)) = percent("Soft edge", shape.softness, low, 30.0, help).value(ui) {
        let softness = v as f32 / 100.0;
        changed = Some((TransferShape { softness, ..shape }, phase));
    }
    if shape.kind == ShapeKind::Trapezoid {
        let default = f64::from(TransferShape::FOOT) * 100.0;
        let help = "Width of the lower side relative to the upper one; 0 makes a triangle";
        let row = percent("Lower side", shape.foot, 0.0, default, help);
        if let Some((v, phase)) = row.value(ui) {
            let foot = v as f32 / 100.0;
            changed = Some((TransferShape { foot, ..shape }, phase));
        }
    }
    changed.map(|(shape, phase)| (with(two, chosen, shape), phase))
}

fn add_and_remove(ui: &mut Ui, two: &TwoValues, chosen: usize) -> Option<TwoValues> {
    let count = two.shapes.len();
    let full = format!("At most {} shapes", TransferShape::MAX_COUNT);
    let why = (count >= TransferShape::MAX_COUNT).then_some(full.as_str());
    let mut changed = None;
    ui.horizontal(|ui| {
        ui.add_space(theme::space::INSET);
        if Button::plain("Add shape").disabled(why).show(ui).clicked() {
            let mut two = two.clone();
            two.shapes.push(new_shape(count));
            changed = Some(two);
        }
        let why = (count == 0).then_some("There is no shape");
        let remove = Button::plain("Remove shape").disabled(why);
        if remove.show(ui).clicked() {
            changed = Some(without(two, chosen));
        }
    });
    changed
}
