//! What the colours of a view mean.

use crate::data::VolumeKind;
use crate::render::build::{self, pathways};
use crate::render::colour_map::ColourMap;
use crate::render::draw_list::LineColour;
use crate::solvers::tracking::StopReason;
use crate::state::pathways::Shown;
use crate::state::{Layer, State};
use crate::ui::format::{fixed, measure, significant, with_unit};

/// Colours of a view in words.
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
    },
    /// One colour a word.
    Stops(Vec<(&'static str, [u8; 3])>),
}

/// Of the slices: what the topmost visible image is.
pub fn of_slices(state: &State) -> Option<Legend> {
    let top = top_image(state)?;
    let volume = top.content.volume()?;
    if volume.labels.is_some() {
        return None;
    }
    if volume.kind == VolumeKind::Rgb {
        return Some(Legend::Dec);
    }
    let map = top.display.colour_map;
    let mapped = !matches!(map, ColourMap::Grey | ColourMap::Mask | ColourMap::Stops);
    mapped.then(|| {
        let value = |v: f32| significant(f64::from(v * top.unit_scale));
        Legend::Bar {
            name: top.name.clone(),
            low: value(top.display.window.0),
            high: value(top.display.window.1),
            colour_map: map,
        }
    })
}

/// Of the cost of pathways.
fn of_cost(state: &State) -> Option<Legend> {
    let found = pathways::live(state)?;
    let side = |side: usize| {
        let (low, high) = pathways::side_window(&found.sides[side]);
        [low, high].map(|v| significant(f64::from(v)))
    };
    let percent = f64::from(pathways::EXCESS_SHOWN) * 100.0;
    let (name, [low, high]) = match state.document.pathways.shown {
        Shown::Off => return None,
        Shown::Total => {
            let high = with_unit(&fixed(percent, 0), "%");
            ("Cost", ["E*".to_owned(), format!("+{high}")])
        }
        Shown::First => ("Cost u₁", side(0)),
        Shown::Second => ("Cost u₂", side(1)),
    };
    Some(Legend::Bar {
        name: name.to_owned(),
        low,
        high,
        colour_map: ColourMap::Cost,
    })
}

/// Of the 3-D view: how its streamlines are coloured, else what the slices in it are.
pub fn of_scene(state: &State) -> Option<Legend> {
    if let Some(cost) = of_cost(state) {
        return Some(cost);
    }
    let lines = build::tractograms(state);
    let first = lines.iter().find(|(t, _)| !t.is_empty());
    let Some((tractogram, display)) = first else {
        let shown = state.view.slices_in_scene();
        return shown.then(|| of_slices(state)).flatten();
    };
    match build::line_colour(tractogram, display.as_ref()) {
        LineColour::Direction => Some(Legend::Dec),
        LineColour::Fixed(_) => None,
        LineColour::Scalar {
            colour_map: ColourMap::Stops,
            ..
        } => Some(Legend::Stops(stops(
            tractogram.per_streamline.get("stop_end")?,
        ))),
        LineColour::Scalar {
            name,
            range: (low, high),
            colour_map,
        } => {
            let (name, text) = match name.as_str() {
                "fa" => ("FA".to_owned(), [format!("{low:.2}"), format!("{high:.2}")]),
                "length" => (
                    "Length".to_owned(),
                    [low, high].map(|v| with_unit(&fixed(f64::from(v), 0), "mm")),
                ),
                "measure" => ("CM".to_owned(), [low, high].map(|v| measure(f64::from(v)))),
                "cm" => (
                    "CM along ray".to_owned(),
                    [low, high].map(|v| measure(f64::from(v))),
                ),
                _ => (name, [low, high].map(|v| significant(f64::from(v)))),
            };
            let [low, high] = text;
            Some(Legend::Bar {
                name,
                low,
                high,
                colour_map,
            })
        }
    }
}

/// The topmost visible image, masks left out.
pub fn top_image(state: &State) -> Option<&Layer> {
    let layers = state.document.layers.iter().rev();
    layers
        .map(AsRef::as_ref)
        .find(|l| l.display.visible && l.content.volume().is_some())
}

/// The reasons that occur, the most frequent first.
fn stops(ends: &[f32]) -> Vec<(&'static str, [u8; 3])> {
    let mut counts = [0usize; StopReason::COUNT];
    for &end in ends {
        if let Some(count) = counts.get_mut(end as usize) {
            *count += 1;
        }
    }
    let count = |reason: &StopReason| counts[*reason as usize];
    let mut found: Vec<StopReason> = StopReason::ALL
        .into_iter()
        .filter(|r| count(r) > 0)
        .collect();
    found.sort_by_key(|r| std::cmp::Reverse(count(r)));
    found
        .into_iter()
        .map(|r| (r.words(), ColourMap::STOP_COLOURS[r as usize]))
        .collect()
}
