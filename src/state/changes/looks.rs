//! Display of layers and of the live result, and transforms of layers.

use crate::data::appearance::{ColourMap, Colours, Interpolation, LineStyle, Transfer};
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::state::alignment::Nudge;
use crate::state::core::fields::{Fields, colour, curve, cut, event_text, prefixed, renamed};
use crate::state::core::text::decimals_of;
use crate::state::core::volume_look::{SecondValue, VolumeLook, VolumeStyle};
use crate::state::{Content, Display, Document, Layer};
use std::sync::Arc;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let mut all = Vec::new();
    let live = |document: &Document| {
        [
            document.track.streamline_display.clone(),
            document.track.ray_display.clone(),
        ]
    };
    for (was, now) in live(before).iter().zip(&live(after)) {
        all.extend(lines(before, was).differences(&lines(after, now)));
    }
    for layer in &after.layers {
        let Some(was) = before.layer(layer.id) else {
            continue;
        };
        if !Arc::ptr_eq(was, layer) {
            all.extend(renamed(&was.name, &layer.name));
            let changes = of_layer((before, was), (after, layer));
            all.extend(prefixed(&layer.name, changes));
        }
        let changes = moved(before, was).differences(&moved(after, layer));
        all.extend(prefixed(&layer.name, changes));
    }
    all
}

fn of_layer((before, was): (&Document, &Layer), (after, now): (&Document, &Layer)) -> Vec<String> {
    let mut all = Vec::new();
    // Another image, as after another fit, has a display of its own.
    let data = |layer: &Layer| layer.content.volume().map(|v| v.id());
    if data(was) == data(now) && was.display != now.display {
        // The row's decimals depend on the image's range, which takes a pass over its values.
        let differ =
            was.display.window != now.display.window || level(&was.display) != level(&now.display);
        let decimals = if differ { decimals(now) } else { 0 };
        let fields = display(before, was, decimals);
        all.extend(fields.differences(&display(after, now, decimals)));
    }
    all
}

fn level(display: &Display) -> Option<f32> {
    display.volume.as_ref().map(|look| look.level)
}

/// Decimals of rows that show values of an image.
fn decimals(layer: &Layer) -> usize {
    let Some(volume) = layer.content.volume() else {
        return 0;
    };
    let (low, high) = volume.range(layer.display.frame.min(volume.frames.saturating_sub(1)));
    let span = f64::from(high - low) * f64::from(layer.unit_scale);
    decimals_of(span).max(0) as usize
}

fn display(document: &Document, layer: &Layer, decimals: usize) -> Fields {
    let display = &layer.display;
    if matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_)) {
        return lines(document, display);
    }
    let mut fields = Fields::default();
    let scale = f64::from(layer.unit_scale);
    let unit = match layer.unit.chars().count() <= 3 {
        true => layer.unit,
        false => "",
    };
    let (low, high) = display.window;
    let ends = [low, high].map(|v| super::shortest_f64(v) * scale);
    fields.numbers("Window", &ends, "–", (decimals, unit));
    fields.whole("Volume", display.frame);
    fields.single("Brightness", display.brightness, 1, "");
    fields.single("Hide below FA", display.hide_below_fa, 2, "");
    fields.name("Colour map", display.colour_map.name());
    fields.percent("Opacity", display.opacity);
    let smoothing = [
        (Interpolation::Nearest, "Nearest"),
        (Interpolation::Linear, "Linear"),
        (Interpolation::Cubic, "Cubic"),
    ];
    fields.choice("Smoothing", &display.interpolation, &smoothing);
    visible(&mut fields, display);
    let volume = display.volume.as_ref();
    let style = volume.map_or(VolumeStyle::Hidden, |look| look.style);
    let styles = [
        (VolumeStyle::Hidden, "Off"),
        (VolumeStyle::Cloud, "Cloud"),
        (VolumeStyle::Surface, "Surface"),
        (VolumeStyle::Maximum, "Maximum"),
        (VolumeStyle::Minimum, "Minimum"),
    ];
    fields.choice("In 3-D", &style, &styles);
    if let Some(look) = volume {
        in_scene(&mut fields, look, (scale, decimals));
    }
    fields
}

fn visible(fields: &mut Fields, display: &Display) {
    fields.name("", if display.visible { "shown" } else { "hidden" });
}

fn in_scene(fields: &mut Fields, look: &VolumeLook, (scale, decimals): (f64, usize)) {
    fields.check("Lighting", look.lit);
    curve(fields, &Transfer::presets(), &look.transfer);
    fields.name("Colours", colours(look.transfer.colours));
    fields.single("Layer thickness", look.reference_mm, 2, "mm");
    fields.number(
        "Value",
        super::shortest_f64(look.level) * scale,
        decimals,
        "",
    );
    let sides = [(false, "Above"), (true, "Below")];
    fields.choice("Inside is", &look.below, &sides);
    let opacity = match look.style.is_projection() {
        true => "Projection opacity",
        false => "Surface opacity",
    };
    fields.percent(opacity, look.opacity);
    cut(fields, look.cut);
    fields.choice(
        "Cut face",
        &look.face,
        &[(false, "Hollow"), (true, "Image")],
    );
    let fade = look.fade_mm.map(super::shortest_f64);
    fields.or_off("Fade beyond the cut", fade, 2, "mm");
    two_values(fields, look);
}

fn two_values(fields: &mut Fields, look: &VolumeLook) {
    let two = look.two_values.as_ref();
    let second = two.map(|two| two.second);
    let (name, detail) = match second {
        None => ("off", String::new()),
        Some(SecondValue::Gradient) => ("gradient", String::new()),
        Some(SecondValue::Curvature) => ("curvature", String::new()),
        Some(SecondValue::Image(id)) => ("another image", format!("{id:?}")),
    };
    fields.detailed("Second value", name, detail);
    if let Some(two) = two {
        let ends = [two.window.0, two.window.1].map(super::shortest_f64);
        fields.numbers("Range of the second value", &ends, "–", (4, ""));
        let third = two.third.map_or("off", |third| third.value.key());
        fields.name("Third value", third);
        let count = two.shapes.len();
        let shapes = match count {
            1 => "1 shape".to_owned(),
            _ => format!("{count} shapes"),
        };
        fields.detailed("Shapes", shapes, format!("{:?}", two.shapes));
    }
}

/// Display of the live streamlines, of rays, or of a layer of them.
fn lines(document: &Document, display: &Display) -> Fields {
    let mut fields = Fields::default();
    let by = &display.line_colouring;
    fields.name("Colour by", document.colouring_name(by));
    if by.has_scale() {
        scale(&mut fields, display);
    }
    match display.line_style {
        LineStyle::Lines { .. } => fields.name("Draw as", "Lines"),
        LineStyle::Tubes { radius_mm } => {
            fields.name("Draw as", "Tubes");
            fields.single("Tube radius", radius_mm, 2, "mm");
        }
    }
    fields.percent("Opacity", display.opacity);
    visible(&mut fields, display);
    fields
}

/// The scale of values, where the colours show numbers.
fn scale(fields: &mut Fields, display: &Display) {
    let scale = &display.line_scale;
    let statistics = [
        (LineStatistic::EachPoint, "Each point"),
        (LineStatistic::Mean, "Mean"),
        (LineStatistic::Minimum, "Smallest"),
        (LineStatistic::Maximum, "Largest"),
    ];
    fields.choice("Value shown", &scale.statistic, &statistics);
    fields.name("Colour map", display.line_map().name());
    let ends = |range: Option<(f32, f32)>, none: &str| {
        let text = range.map(|(low, high)| {
            // Four significant digits of the larger end.
            let size = low.abs().max(high.abs()).max(f32::MIN_POSITIVE);
            let digits = (3.0 - f64::from(size).log10().floor()).clamp(0.0, 8.0) as i32;
            let rounded = |v: f32| (f64::from(v) * 10f64.powi(digits)).round() / 10f64.powi(digits);
            format!("{}–{}", rounded(low), rounded(high))
        });
        text.unwrap_or_else(|| none.to_owned())
    };
    fields.name("Range", ends(scale.range, "automatic"));
    let scales = [(false, "Linear"), (true, "Logarithmic")];
    fields.choice("Scale", &scale.logarithmic, &scales);
    fields.name("Show only", ends(scale.limits, "all"));
}

fn colours(colours: Colours) -> String {
    match colours {
        Colours::Map(map) => ColourMap::name(map).to_owned(),
        Colours::Fixed(rgb) => colour(rgb),
    }
}

/// Transform of a layer, in the rows of its alignment.
fn moved(document: &Document, layer: &Layer) -> Fields {
    let mut fields = Fields::default();
    let by = document.moved_by(layer.id);
    let original = layer.unmoved.as_ref().unwrap_or(&layer.content);
    let Some((low, high)) = original.bounds() else {
        return fields;
    };
    match Nudge::from_transform(by, (low + high) * 0.5) {
        Some(nudge) => {
            fields.rows(&nudge, &[]);
            fields.name("Moved", "rigidly");
        }
        None => fields.detailed("Moved", "scaled or sheared", format!("{by:?}")),
    }
    fields
}

pub fn added_or_removed(before: &Document, after: &Document) -> Vec<String> {
    let missing = |document: &Document, from: &Document| -> Vec<Arc<Layer>> {
        let layers = from.layers.iter();
        layers
            .filter(|l| document.layer(l.id).is_none())
            .cloned()
            .collect()
    };
    let names = |layers: &[Arc<Layer>], done| {
        let names: Vec<&str> = layers.iter().map(|l| l.name.as_str()).collect();
        event_text(&names, "layer", done)
    };
    let (gone, back) = (missing(after, before), missing(before, after));
    let both = [names(&gone, "removed"), names(&back, "restored")];
    both.into_iter().flatten().collect()
}
