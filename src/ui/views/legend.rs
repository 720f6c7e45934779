//! Legends of the colours of a view.

use crate::data::appearance::ColourMap;
use crate::data::odf_field::Tissue;
use crate::data::{Tractogram, VolumeKind};
use crate::scene::draw_list::{Colours, LineColour, MarkShape, SurfaceColours, VolumeStyle};
use crate::scene::{self, noise, pathways};
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::state::core::colours::{category_rgb, tissue_rgb};
use crate::state::core::display::LineColouring;
use crate::state::core::ends::EndKind;
use crate::state::core::glyph_look::GlyphContent;
use crate::state::core::volume_look::VolumeStyle as LayerStyle;
use crate::state::filter::{ShownStreamlines, WEIGHT};
use crate::state::pathways::{SHARE_OF_REPETITIONS, ShownCost};
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::{Display, Layer, LayerId, State};
use crate::ui::format::{fixed, measure, range_texts, with_unit};
use std::borrow::Cow;

const WEIGHT_NAME: &str = "Weight";
/// The streamlines that a cut of weights removes.
const DIFFERENCE_NAME: &str = "Weight of those cut";

/// A legend of a view.
#[derive(Clone, PartialEq, Debug)]
pub enum Legend {
    /// Directions: red, green, blue.
    Dec,
    /// A colour bar.
    Bar {
        name: String,
        low: String,
        high: String,
        colour_map: ColourMap,
        /// The colours are those of stale values, and dimmed like them.
        is_stale: bool,
    },
    /// The colour of the voxels, or lines and marks, of each text, and the shape of the marks; `None`: it has no mark.
    Classes(Vec<(Cow<'static, str>, [u8; 3], Option<MarkShape>)>),
}

impl Legend {
    /// `Whole brain · Weight 0 to 0.2`; `None` unless it is a colour bar.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Self::Bar {
                name, low, high, ..
            } => Some(format!("{name} {low} to {high}")),
            Self::Dec | Self::Classes(_) => None,
        }
    }
}

/// Legend of the slices: the cost of pathways over them, else the topmost visible image.
pub fn of_slices(state: &State) -> Option<Legend> {
    if let Some(cost) = of_cost(state) {
        return Some(cost);
    }
    let top = top_image(state)?;
    let volume = top.content.volume()?;
    if volume.labels.is_some() {
        let is_of_responses = state.document.origin(top).fod_map() == Some(FodMap::ResponseVoxels);
        return is_of_responses.then(|| tissues(state));
    }
    if volume.kind == VolumeKind::Rgb {
        return Some(Legend::Dec);
    }
    let map = top.display.colour_map;
    let mapped = !matches!(map, ColourMap::Grey | ColourMap::Mask | ColourMap::Stops);
    mapped.then(|| {
        let (low, high) = top.display.window;
        let [low, high] = range_texts([low, high].map(|v| f64::from(v * top.unit_scale)));
        let weights = state.document.weight_map_recipe(top.id);
        let is_stale = weights.is_some_and(|map| Some(map.layer) == state.layer_of_stale_weights());
        Legend::Bar {
            name: named(&top.name, is_stale),
            low: with_unit(&low, top.unit),
            high: with_unit(&high, top.unit),
            colour_map: map,
            is_stale,
        }
    })
}

/// The tissues in whose voxels response functions were measured.
fn tissues(state: &State) -> Legend {
    let result = state.document.distributions.result.as_ref();
    let measured = result.map_or(&[][..], |result| &result.fods.measured);
    let tissues = measured.iter().map(|measured| measured.tissue);
    let class = |tissue: Tissue| {
        let square = Some(MarkShape::Square);
        (tissue.label().into(), tissue_rgb(tissue), square)
    };
    Legend::Classes(tissues.map(class).collect())
}

/// Legend of the cost of pathways on slices.
fn of_cost(state: &State) -> Option<Legend> {
    if let Some((share, image)) = noise::shown_share(state).zip(noise::image(state)) {
        return Some(share_of_repetitions(share.is_stale)).filter(|_| image.opacity > 0.0);
    }
    let image = pathways::image(state).filter(|i| i.opacity > 0.0)?;
    let (low, high) = image.window;
    let [low, high] = range_texts([low, high].map(f64::from));
    Some(match state.document.pathways.shown {
        ShownCost::Off => return None,
        ShownCost::Total => excess(image.window, image.colour_map, state.pathway_is_stale()),
        shown @ (ShownCost::First | ShownCost::Second) => Legend::Bar {
            name: format!("Cost {}", shown.name()),
            low,
            high,
            colour_map: image.colour_map,
            is_stale: state.pathway_is_stale(),
        },
    })
}

/// Legend of the cloud of cost in the 3-D view, if there is one.
fn of_cloud(state: &State) -> Option<Legend> {
    let drawn = pathways::volumes(state, &state.view.camera);
    let cloud = drawn.iter().find(|v| v.style == VolumeStyle::Cloud)?;
    if let Some(share) = noise::shown_share(state) {
        return Some(share_of_repetitions(share.is_stale));
    }
    match cloud.transfer.colours {
        Colours::Map(map) => Some(excess(cloud.window, map, state.pathway_is_stale())),
        Colours::Fixed(_) => None,
    }
}

/// The share of the repetitions whose pathway or streamlines pass a voxel.
fn share_of_repetitions(is_stale: bool) -> Legend {
    let percent = |value: &str| with_unit(value, "%");
    Legend::Bar {
        name: SHARE_OF_REPETITIONS.to_owned(),
        low: percent("0"),
        high: percent("100"),
        colour_map: ColourMap::Share,
        is_stale,
    }
}

/// Costs above E*, over a window of fractions of it.
fn excess((low, high): (f32, f32), colour_map: ColourMap, is_stale: bool) -> Legend {
    let above = |share: f32| match fixed(f64::from(share) * 100.0, 0) {
        percent if share > 0.0 => format!("+{}", with_unit(&percent, "%")),
        _ => "E*".to_owned(),
    };
    Legend::Bar {
        name: "Cost".to_owned(),
        low: above(low),
        high: above(high),
        colour_map,
        is_stale,
    }
}

/// Legends of the 3-D view: the cloud of cost and the cost on its slices; else one per kind of colouring of its
/// streamlines; else those of its slices.
pub fn of_scene(state: &State) -> Vec<Legend> {
    let mut all = of_lines_and_costs(state);
    all.extend(of_projections(state));
    all.extend(noise::surface_colours(state).map(|colours| of_distances(&colours)));
    all
}

/// The projections: a picture says which value along each line of sight it shows, in grey, too.
fn of_projections(state: &State) -> Vec<Legend> {
    let shown = state.document.layers.iter().rev();
    let shown = shown.filter(|layer| state.shows(layer) && scene::volume_of(layer).is_some());
    let bar = |layer: &std::sync::Arc<Layer>| {
        let look = layer.display.volume.as_ref()?;
        let values = match look.style {
            LayerStyle::Maximum => "largest values",
            LayerStyle::Minimum => "smallest values",
            LayerStyle::Hidden | LayerStyle::Cloud | LayerStyle::Surface => return None,
        };
        let Colours::Map(colour_map) = look.transfer.colours else {
            return None;
        };
        let (low, high) = layer.display.window;
        let [low, high] = range_texts([low, high].map(|v| f64::from(v * layer.unit_scale)));
        Some(Legend::Bar {
            name: format!("{}, {values}", layer.name),
            low: with_unit(&low, layer.unit),
            high: with_unit(&high, layer.unit),
            colour_map,
            is_stale: false,
        })
    };
    shown.filter_map(bar).collect()
}

/// The distances by which a surface is coloured.
fn of_distances(colours: &SurfaceColours) -> Legend {
    let [low, high] =
        [colours.window.0, colours.window.1].map(|mm| with_unit(&fixed(f64::from(mm), 0), "mm"));
    Legend::Bar {
        name: "Distance from the path".to_owned(),
        low,
        high: format!("{high} or more"),
        colour_map: colours.colour_map,
        is_stale: false,
    }
}

fn of_lines_and_costs(state: &State) -> Vec<Legend> {
    let on_slices = || Some(state).filter(|s| s.view.slices_in_scene());
    let mut costs: Vec<Legend> = of_cloud(state).into_iter().collect();
    let cost = on_slices().and_then(of_cost);
    costs.extend(cost.filter(|cost| !costs.contains(cost)));
    if !costs.is_empty() {
        // Streamlines have colours of their own beside the share of their repetitions.
        if noise::streamline_share(state).is_some() {
            costs.extend(of_lines_on_slices(state));
        }
        return costs;
    }
    match of_all_lines(state) {
        None => on_slices().and_then(of_slices).into_iter().collect(),
        Some(all) => all,
    }
}

/// The colour bars of the streamlines on the slices.
pub fn of_lines_on_slices(state: &State) -> Vec<Legend> {
    let mut all = of_all_lines(state).unwrap_or_default();
    all.retain(|legend| matches!(legend, Legend::Bar { .. }));
    all
}

/// Legends of all drawn streamlines; `None` if there are none.
fn of_all_lines(state: &State) -> Option<Vec<Legend>> {
    let lines = scene::tractograms(state);
    let mut lines = lines.iter().filter(|(t, _)| !t.is_empty()).peekable();
    lines.peek()?;
    let stale = state.layer_of_stale_weights();
    // Layers that look alike share a legend.
    let mut all: Vec<(Legend, Vec<&Layer>)> = Vec::new();
    for (tractogram, display) in lines {
        let layer = layer_of(state, tractogram);
        let shown = layer.map(|layer| state.document.shown_by_weight(layer.id));
        let has_stale = Stale {
            weights: layer.is_some_and(|layer| stale == Some(layer.id)),
            colours: layer.is_some_and(|layer| state.has_stale_colours(layer)),
        };
        let lines = (*tractogram, &**display);
        let Some(legend) = of_lines(state, lines, shown, has_stale) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == legend) {
            Some((_, layers)) => layers.extend(layer),
            None => all.push((legend, Vec::from_iter(layer))),
        }
    }
    let is_bar = |legend: &Legend| matches!(legend, Legend::Bar { .. });
    let several = all.iter().filter(|(legend, _)| is_bar(legend)).count() > 1;
    let named = all.into_iter().map(|(mut legend, layers)| {
        if let Legend::Bar { name, .. } = &mut legend
            && let Some(layers) = names(&layers).filter(|_| several)
        {
            *name = format!("{layers} · {name}");
        }
        legend
    });
    Some(named.collect())
}

/// `A`, `A and B` or `A and 2 more`: the layers that have the colours of one bar.
fn names(layers: &[&Layer]) -> Option<String> {
    match layers {
        [] => None,
        [layer] => Some(layer.name.clone()),
        [layer, second] => Some(format!("{} and {}", layer.name, second.name)),
        [layer, more @ ..] => Some(format!("{} and {} more", layer.name, more.len())),
    }
}

/// The layer of these streamlines; `None` for live ones.
fn layer_of<'a>(state: &'a State, tractogram: &Tractogram) -> Option<&'a Layer> {
    let is = |layer: &&std::sync::Arc<Layer>| {
        let drawn = state.drawn_streamlines(layer);
        drawn.is_some_and(|drawn| drawn.id() == tractogram.id())
    };
    let layer = state.document.layers.iter().find(is);
    layer.map(AsRef::as_ref)
}

/// The parts of the colours of streamlines that are out of date.
#[derive(Clone, Copy)]
struct Stale {
    weights: bool,
    colours: bool,
}

fn of_lines(
    state: &State,
    (tractogram, display): (&Tractogram, &Display),
    shown: Option<ShownStreamlines>,
    stale: Stale,
) -> Option<Legend> {
    match scene::line_colour(tractogram, display) {
        LineColour::Direction => Some(Legend::Dec),
        LineColour::Fixed(_) => None,
        LineColour::Packed { .. } => Some(match &display.line_colouring {
            LineColouring::Group => Legend::Classes(groups(tractogram)),
            // Labels have the colours of their image.
            LineColouring::Image(id) if is_label_map(state, *id) => return None,
            _ => Legend::Dec,
        }),
        LineColour::Scalar {
            colour_map: ColourMap::Stops,
            ..
        } => Some(Legend::Classes(stops(tractogram.stop_counts()))),
        LineColour::Scalar {
            name,
            range: (low, high),
            colour_map,
            logarithmic,
            ..
        } => {
            let is_stale = stale.weights && name == WEIGHT || stale.colours;
            let (name, text) = match name.as_str() {
                "fa" => ("FA".to_owned(), [format!("{low:.2}"), format!("{high:.2}")]),
                "length" => (
                    "Length".to_owned(),
                    [low, high].map(|v| with_unit(&fixed(f64::from(v), 0), "mm")),
                ),
                "measure" => ("CM".to_owned(), [low, high].map(|v| measure(f64::from(v)))),
                WEIGHT => (
                    match shown {
                        Some(ShownStreamlines::Difference) => named(DIFFERENCE_NAME, is_stale),
                        _ => named(WEIGHT_NAME, is_stale),
                    },
                    range_texts([low, high].map(f64::from)),
                ),
                "cm" => (
                    "CM along ray".to_owned(),
                    [low, high].map(|v| measure(f64::from(v))),
                ),
                _ => {
                    let name = value_name(state, display);
                    (
                        named(&name, is_stale),
                        value_texts(state, display, low, high),
                    )
                }
            };
            let name = match logarithmic {
                true => format!("{name}, logarithmic"),
                false => name,
            };
            let [low, high] = text;
            Some(Legend::Bar {
                name,
                low,
                high,
                colour_map,
                is_stale,
            })
        }
    }
}

/// The name of values that were computed for the colours, with what is shown of those along a streamline.
fn value_name(state: &State, display: &Display) -> String {
    let name = state.document.colouring_name(&display.line_colouring);
    match display.line_scale.statistic {
        LineStatistic::EachPoint => name,
        LineStatistic::Mean => format!("{name}, mean"),
        LineStatistic::Minimum => format!("{name}, smallest"),
        LineStatistic::Maximum => format!("{name}, largest"),
    }
}

/// The ends of a scale of such values: those of an image in its unit, distances in mm.
fn value_texts(state: &State, display: &Display, low: f32, high: f32) -> [String; 2] {
    let (scale, unit) = state.line_unit(&display.line_colouring);
    let texts = range_texts([low, high].map(|v| f64::from(v * scale)));
    texts.map(|text| with_unit(&text, unit))
}

fn is_label_map(state: &State, layer: LayerId) -> bool {
    let layer = state.document.layer(layer);
    let volume = layer.and_then(|layer| layer.content.volume());
    volume.is_some_and(|volume| volume.labels.is_some())
}

/// The groups of streamlines, in the order of their names; with many, the first and the number of the others.
fn groups(tractogram: &Tractogram) -> Vec<(Cow<'static, str>, [u8; 3], Option<MarkShape>)> {
    const SHOWN: usize = 12;
    const OTHERS: [u8; 3] = [0x80; 3];
    let all = tractogram.groups.len();
    let shown = if all > SHOWN { SHOWN - 1 } else { all };
    let names = tractogram.groups.keys().take(shown).enumerate();
    let mut classes: Vec<_> = names
        .map(|(number, name)| (Cow::Owned(name.clone()), category_rgb(number), None))
        .collect();
    if all > shown {
        let more = format!("{} more", all - shown);
        classes.push((Cow::Owned(more), OTHERS, None));
    }
    classes
}

/// A name that says whether its values are stale.
fn named(name: &str, is_stale: bool) -> String {
    match is_stale {
        true => format!("{name}, out of date"),
        false => name.to_owned(),
    }
}

/// The topmost visible image, ignoring masks.
fn top_image(state: &State) -> Option<&Layer> {
    let layers = state.document.layers.iter().rev();
    layers
        .map(AsRef::as_ref)
        .find(|l| state.shows(l) && has_colours(state, l))
}

/// Whether a layer is an image whose colours are on a slice; fixels have those of their values or of directions.
fn has_colours(state: &State, layer: &Layer) -> bool {
    let Some(volume) = layer.content.volume() else {
        return false;
    };
    let glyphs = state.view.glyphs;
    let is_drawn = || {
        let content = state.document.glyph_content(glyphs.content);
        let shown = state.document.shown_peaks(glyphs.peaks);
        let is_shown = shown.is_some_and(|shown| shown.id == layer.id);
        glyphs.shown && content == Some(GlyphContent::Peaks) && is_shown
    };
    match &volume.fixels {
        Some(fixels) => fixels.has_values() && glyphs.peaks.by_value && is_drawn(),
        None => true,
    }
}

/// The reasons that are drawn, the most frequent first: of the ends that have marks, and of last ends, which colour the
/// lines.
fn stops(counts: &[Vec<u64>; 2]) -> Vec<(Cow<'static, str>, [u8; 3], Option<MarkShape>)> {
    let kinds = EndKind::by_reason();
    let count = |reason: StopReason| {
        let at = |end: usize| counts[end].get(reason as usize).copied().unwrap_or(0);
        let is_marked = kinds[reason as usize].is_some();
        at(1) + if is_marked { at(0) } else { 0 }
    };
    let reasons = StopReason::ALL.into_iter();
    let mut reasons: Vec<StopReason> = reasons.filter(|r| count(*r) > 0).collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(count(*r)));
    reasons
        .into_iter()
        .map(|r| {
            let colour = ColourMap::STOP_COLOURS[r as usize];
            let shape = kinds[r as usize].map(scene::end_shape);
            (r.label().into(), colour, shape)
        })
        .collect()
}
