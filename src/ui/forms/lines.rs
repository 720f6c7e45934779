//! The look of streamlines: what their colours show, by which scale, and which parts are visible.

mod scale;

use super::display::{opacity, segment_row, select_row};
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::data::tractogram::LENGTH;
use crate::parameters::shortest_f64;
use crate::scene;
use crate::scene::draw_list::{LineColour, LineStyle};
use crate::solvers::tractogram::line_values::ValueRanges;
use crate::state::core::display::{self, DistanceFrom, LineColouring, LineScale, TUBE_RADIUS_MM};
use crate::state::filter::WEIGHT;
use crate::state::streamlines::is_tsf;
use crate::state::{Content, Display, Layer, LayerId, Phase, State};
use crate::ui::theme;
use crate::ui::widgets::slider::SliderRow;
use crate::ui::widgets::{menu, rows};
use egui::{Color32, Ui};

const COLOURINGS: [(LineColouring, &str); 8] = [
    (LineColouring::Weight, "Weight"),
    (LineColouring::Measure, "CM"),
    (LineColouring::MeasureAlong, "CM along the ray"),
    (LineColouring::Direction, "Direction"),
    (LineColouring::EndToEnd, "End to end"),
    (LineColouring::Fa, "FA"),
    (LineColouring::Length, "Length"),
    (LineColouring::StopReason, "Stop reason"),
];

const IMAGE: &str = "Image";
const VALUE: &str = "Value of the file";
const DISTANCE: &str = "Distance";
const GROUP: &str = "Group";
const FILE: &str = "File of values";

/// Menus with more rows scroll.
const TALLEST_MENU: f32 = 420.0;

/// Values for colouring that not all streamlines have.
#[derive(Clone, Default)]
pub struct AvailableValues {
    /// A connectivity measure.
    pub measure: bool,
    /// The weight: how much of the signal each explains.
    pub weight: bool,
    /// Why there is no FA along them, nor a fit to sample it from.
    pub lacks_fa: Option<&'static str>,
    pub lacks_stop_reasons: Option<&'static str>,
    /// Values that only streamlines in a layer can show.
    pub layer: Option<LayerValues>,
}

/// Values that streamlines in a layer can show, besides those of all streamlines.
#[derive(Clone)]
pub struct LayerValues {
    images: Vec<(LayerId, String)>,
    /// Values of the file.
    values: Vec<String>,
    places: Vec<(DistanceFrom, String)>,
    has_groups: bool,
    /// The shown values are those of single points, or can be.
    per_point: bool,
    /// Ranges of the shown values.
    ranges: Option<Ranges>,
    /// Why there are no values.
    problem: Option<&'static str>,
    /// Factor from stored to displayed values, and the unit.
    unit: (f32, &'static str),
}

#[derive(Clone, Copy)]
struct Ranges {
    automatic: (f32, f32),
    extent: (f32, f32),
    has_positive: bool,
}

impl AvailableValues {
    /// There is nothing to sample FA from.
    pub const NO_FIT: &str = "needs a fit";
    const NO_STOP_REASONS: &str = "file has no stop reasons";

    /// The values of a layer's streamlines; `None` if it has none.
    pub fn of_content(state: &State, layer: &Layer) -> Option<Self> {
        match &layer.content {
            Content::InPlace(own) => Some(Self::in_place(state, layer, &own.names)),
            Content::Tractogram(lines) => Some(Self::of_layer(state, layer, lines)),
            _ => None,
        }
    }

    /// The values of streamlines that stay in their file: those that are read or computed for the drawn ones.
    fn in_place(state: &State, layer: &Layer, names: &Tractogram) -> Self {
        let mut values = LayerValues::new(state, layer, names);
        values.has_groups = false;
        // The file has the measure per point, as "cm"; this name is that of the measure of a whole ray in memory.
        values.values.retain(|name| name != "measure");
        Self {
            measure: false,
            weight: names.per_streamline.contains_key(WEIGHT),
            lacks_fa: (!state.has_fa_along(names)).then_some(Self::NO_FIT),
            lacks_stop_reasons: Some(match names.per_streamline.contains_key("stop_end") {
                true => "needs all points in memory",
                false => Self::NO_STOP_REASONS,
            }),
            layer: Some(values),
        }
    }

    pub fn of_layer(state: &State, layer: &Layer, lines: &Tractogram) -> Self {
        Self {
            measure: lines.per_streamline.contains_key("measure"),
            weight: lines.per_streamline.contains_key(WEIGHT),
            lacks_fa: (!state.has_fa_along(lines)).then_some(Self::NO_FIT),
            lacks_stop_reasons: (!lines.per_streamline.contains_key("stop_end"))
                .then_some(Self::NO_STOP_REASONS),
            layer: Some(LayerValues::new(state, layer, lines)),
        }
    }

    /// Why the colours cannot show a value.
    fn why_not(&self, colouring: &LineColouring) -> Option<&'static str> {
        let layer = self.layer.as_ref();
        let known = |has: &dyn Fn(&LayerValues) -> bool| layer.is_some_and(has);
        let gone = "is no longer here";
        match colouring {
            LineColouring::Fa => self.lacks_fa,
            LineColouring::StopReason => self.lacks_stop_reasons,
            LineColouring::EndToEnd if layer.is_none() => Some("keep as layer first"),
            LineColouring::Group if !known(&|l| l.has_groups) => Some(gone),
            LineColouring::Image(id) if !known(&|l| l.images.iter().any(|i| i.0 == *id)) => {
                Some(gone)
            }
            LineColouring::Value(name) if !known(&|l| l.values.contains(name)) => Some(gone),
            LineColouring::Distance(from) if !known(&|l| l.places.iter().any(|p| p.0 == *from)) => {
                Some(gone)
            }
            _ => None,
        }
    }
}

impl LayerValues {
    fn new(state: &State, layer: &Layer, lines: &Tractogram) -> Self {
        let document = &state.document;
        let layers = || document.layers.iter().rev();
        let images = layers().filter(|l| state.has_colours_of_image(l.id));
        let masks = layers().filter(|l| matches!(l.content, Content::Mask(_)));
        let masks = masks.map(|l| (DistanceFrom::Mask(l.id), l.name.clone()));
        let regions = document.regions.iter();
        let regions = regions.map(|r| (DistanceFrom::Region(r.id), r.name.clone()));
        let own = lines.per_point.keys().chain(lines.per_streamline.keys());
        let display = &layer.display;
        let by = &display.line_colouring;
        Self {
            images: images.map(|l| (l.id, l.name.clone())).collect(),
            // The length has a row of its own.
            values: own.filter(|name| *name != LENGTH).cloned().collect(),
            places: regions.chain(masks).collect(),
            has_groups: !lines.groups.is_empty(),
            per_point: match by {
                LineColouring::Image(id) => {
                    let image = state.column_image(*id);
                    image.is_some_and(|(volume, _)| volume.labels.is_none())
                }
                LineColouring::Fa | LineColouring::Distance(_) | LineColouring::MeasureAlong => {
                    true
                }
                LineColouring::Value(name) => lines.per_point.contains_key(name),
                LineColouring::ValuesFile(path) => is_tsf(path),
                _ => false,
            },
            ranges: Ranges::shown(state, layer),
            problem: state.why_no_colours(layer),
            unit: state.line_unit(by),
        }
    }
}

impl Ranges {
    /// The ranges of the values that the colours of a layer show.
    fn shown(state: &State, layer: &Layer) -> Option<Self> {
        let drawn = scene::tractograms(state);
        let lines = state.drawn_streamlines(layer)?;
        let (lines, display) = drawn.iter().find(|(l, _)| l.id() == lines.id())?;
        let automatic = Display {
            line_scale: LineScale {
                range: None,
                ..display.line_scale.clone()
            },
            ..display.clone().into_owned()
        };
        let LineColour::Scalar { range, .. } = scene::line_colour(lines, &automatic) else {
            return None;
        };
        let computed = state.line_colours(layer).and_then(|colours| colours.ranges);
        Some(match computed {
            Some(ValueRanges {
                extent, positive, ..
            }) => Self {
                automatic: range,
                extent,
                has_positive: positive.is_some(),
            },
            None => Self {
                automatic: range,
                extent: match display.line_colouring {
                    LineColouring::Fa => (0.0, 1.0),
                    _ => range,
                },
                has_positive: range.1 > 0.0,
            },
        })
    }
}

/// Colour, shape and opacity of streamlines; whether the user wants to choose a file of values.
pub fn show(
    ui: &mut Ui,
    d: &Display,
    has: &AvailableValues,
    set: &mut impl FnMut(Display, Phase),
) -> bool {
    let asks_for_file = colour_by(ui, d, has, set);
    if has.why_not(&d.line_colouring).is_none() {
        if let Some(layer) = &has.layer {
            source(ui, d, layer, set);
            if let Some(problem) = layer.problem {
                rows::hint(ui, problem);
            }
        }
        scale::show(ui, d, has, set);
    }
    let tubes = matches!(d.line_style, LineStyle::Tubes { .. });
    let text = ["Lines", "Tubes"];
    let help = "Lines stay fast with many streamlines; tubes show depth";
    if let Some(i) = segment_row(ui, "Draw as", help, &text, usize::from(tubes)) {
        let line_style = if i == 1 {
            display::line_display().line_style
        } else {
            LineStyle::Lines { width_px: 1.5 }
        };
        set(
            Display {
                line_style,
                ..d.clone()
            },
            Phase::Done,
        );
    }
    if let LineStyle::Tubes { radius_mm } = d.line_style {
        let row = SliderRow::new("Tube radius", f64::from(radius_mm), 0.1..=1.5)
            .default(shortest_f64(TUBE_RADIUS_MM))
            .limits(0.02..=10.0)
            .unit("mm")
            .help("Radius of the tubes in 3-D; it changes no result");
        if let Some((v, phase)) = row.value(ui) {
            let line_style = LineStyle::Tubes {
                radius_mm: v as f32,
            };
            set(
                Display {
                    line_style,
                    ..d.clone()
                },
                phase,
            );
        }
    }
    opacity(ui, d, 1.0, set);
    asks_for_file
}

/// Another colouring; the scale of other values is automatic.
fn set_colouring(d: &Display, line_colouring: LineColouring, set: &mut impl FnMut(Display, Phase)) {
    if line_colouring == d.line_colouring {
        return;
    }
    set(
        Display {
            line_colouring,
            line_scale: d.line_scale.for_other_values(),
            ..d.clone()
        },
        Phase::Done,
    );
}

/// The first choice of each kind of values that a layer has, with the kind's label.
fn kinds(layer: &LayerValues) -> Vec<(&'static str, LineColouring)> {
    let image = layer.images.first().map(|i| LineColouring::Image(i.0));
    let value = layer.values.first().cloned().map(LineColouring::Value);
    let place = layer.places.first().map(|p| LineColouring::Distance(p.0));
    let group = layer.has_groups.then_some(LineColouring::Group);
    let all = [
        (IMAGE, image),
        (VALUE, value),
        (DISTANCE, place),
        (GROUP, group),
    ];
    let known = all.into_iter().filter_map(|(name, by)| Some((name, by?)));
    known.collect()
}

fn same_kind(a: &LineColouring, b: &LineColouring) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// The row of the colouring; whether a file of values is to be chosen.
fn colour_by(
    ui: &mut Ui,
    d: &Display,
    has: &AvailableValues,
    set: &mut impl FnMut(Display, Phase),
) -> bool {
    let by_file = matches!(d.line_colouring, LineColouring::ValuesFile(_));
    let mut asks_for_file = false;
    let by_measure =
        |c: &LineColouring| matches!(c, LineColouring::Measure | LineColouring::MeasureAlong);
    // Without its values, a colouring is drawn by direction.
    let drawn = match has.why_not(&d.line_colouring) {
        Some(_) => &LineColouring::Direction,
        None => &d.line_colouring,
    };
    let kinds = has.layer.as_ref().map(kinds).unwrap_or_default();
    let now = COLOURINGS.iter().find(|c| c.0 == *drawn).map(|c| c.1);
    let kind = || {
        let mut kinds = kinds.iter();
        kinds.find(|(_, by)| same_kind(by, drawn)).map(|k| k.0)
    };
    let fixed = || {
        let mut named = theme::CATEGORY_NAMES.into_iter().zip(theme::CATEGORIES);
        let is = |rgb: [u8; 3]| d.line_colouring == LineColouring::Fixed(rgb);
        named.find(|(_, rgb)| is(*rgb)).map(|(name, _)| name)
    };
    let file = by_file.then_some(FILE);
    let shown = now.or_else(kind).or(file).or_else(fixed);
    let shown = shown.unwrap_or("One colour");
    let help = "Value that the colour of a streamline shows";
    let chosen = select_row(ui, "Colour by", help, shown, |ui| {
        let mut chosen = None;
        for (colouring, name) in COLOURINGS {
            let lacks = by_measure(&colouring) && !has.measure
                || colouring == LineColouring::Weight && !has.weight;
            if lacks {
                continue;
            }
            let item = menu::Item::new(name).chosen(colouring == *drawn);
            if item.disabled(has.why_not(&colouring)).show(ui) {
                chosen = Some(colouring);
            }
        }
        for (name, first) in &kinds {
            let is_now = same_kind(first, drawn);
            if menu::Item::new(name).chosen(is_now).show(ui) {
                let now = is_now.then(|| drawn.clone());
                chosen = Some(now.unwrap_or_else(|| first.clone()));
            }
        }
        if has.layer.is_some() {
            let item = menu::Item::new("File of values…").chosen(by_file);
            asks_for_file = item.show(ui);
        }
        menu::line(ui);
        for (name, rgb) in theme::CATEGORY_NAMES.into_iter().zip(theme::CATEGORIES) {
            let colouring = LineColouring::Fixed(rgb);
            let current = colouring == d.line_colouring;
            let [r, g, b] = rgb;
            if menu::glyph_item(ui, name, "", current, |painter, at| {
                painter.circle_filled(at, 6.0, Color32::from_rgb(r, g, b));
            }) {
                chosen = Some(colouring);
            }
        }
        chosen
    });
    if let Some(colouring) = chosen {
        set_colouring(d, colouring, set);
    }
    asks_for_file
}

/// The choice among several images, values or places.
fn source(ui: &mut Ui, d: &Display, layer: &LayerValues, set: &mut impl FnMut(Display, Phase)) {
    if let LineColouring::ValuesFile(path) = &d.line_colouring {
        return rows::reading(ui, "File", &file_name(path));
    }
    let (name, help, all): (_, _, Vec<(String, LineColouring)>) = match &d.line_colouring {
        LineColouring::Image(_) => (
            IMAGE,
            "Image whose values along the streamlines their colours show, interpolated linearly",
            {
                let images = layer.images.iter();
                let named = images.map(|(id, name)| (name.clone(), LineColouring::Image(*id)));
                named.collect()
            },
        ),
        LineColouring::Value(_) => (
            "Value",
            "Value of the file for each point or for each streamline",
            {
                let values = layer.values.iter();
                let named = values.map(|name| (name.clone(), LineColouring::Value(name.clone())));
                named.collect()
            },
        ),
        LineColouring::Distance(_) => (
            "Distance from",
            "Region or mask from which the distance is measured, 0 inside; from a mask up to 60 mm",
            {
                let places = layer.places.iter();
                let named =
                    places.map(|(from, name)| (name.clone(), LineColouring::Distance(*from)));
                named.collect()
            },
        ),
        _ => return,
    };
    let now = all.iter().find(|(_, by)| *by == d.line_colouring);
    let shown = now.map_or("", |(name, _)| name.as_str());
    let chosen = select_row(ui, name, help, shown, |ui| {
        let area = egui::ScrollArea::vertical().max_height(TALLEST_MENU);
        let rows = area.show(ui, |ui| {
            let mut chosen = None;
            for (name, by) in &all {
                let item = menu::Item::new(name).chosen(*by == d.line_colouring);
                if item.show(ui) {
                    chosen = Some(by.clone());
                }
            }
            chosen
        });
        rows.inner
    });
    if let Some(colouring) = chosen {
        set_colouring(d, colouring, set);
    }
}
