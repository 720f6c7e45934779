//! The colours of streamlines.

use super::draw_list::LineColour;
use crate::data::appearance::ColourMap;
use crate::data::{DataId, Tractogram};
use crate::state::State;
use crate::state::core::display::{Display, LineColouring, LineScale};
use crate::state::filter::WEIGHT;
use crate::state::streamlines::{COLOUR_VALUES, LineColours, PACKED_COLOURS};

/// Ends of the FA scale of streamlines: the range of white matter.
const FA_RANGE: (f32, f32) = (0.1, 0.8);

/// The drawn streamlines whose colours are those of other values than requested.
pub(super) fn stale_colours(state: &State) -> Vec<DataId> {
    let layers = state.document.layers.iter();
    let stale = layers.filter(|layer| state.has_stale_colours(layer));
    stale
        .filter_map(|layer| Some(state.drawn_streamlines(layer)?.id()))
        .collect()
}

/// The display of streamlines with these values: the colouring is theirs, and its automatic range is the window.
pub(super) fn coloured(display: &Display, colours: &LineColours) -> Display {
    let scale = &display.line_scale;
    let automatic = colours.ranges.map(|ranges| {
        let positive = ranges.positive.filter(|_| scale.logarithmic);
        positive.unwrap_or(ranges.automatic)
    });
    Display {
        line_colouring: colours.colouring.clone(),
        line_scale: LineScale {
            statistic: colours.statistic,
            ..scale.clone()
        },
        // The window of weights is that of their fit.
        window: match colours.colouring {
            LineColouring::Weight => display.window,
            _ => automatic.unwrap_or((0.0, 1.0)),
        },
        ..display.clone()
    }
}

/// The colours of streamlines; by direction if the requested values do not exist.
pub fn line_colour(tractogram: &Tractogram, display: &Display) -> LineColour {
    let scale = &display.line_scale;
    let scalar = |name: &str, automatic: (f32, f32), colour_map: ColourMap| {
        let range = scale.range.unwrap_or(automatic);
        LineColour::Scalar {
            name: name.to_owned(),
            range,
            colour_map,
            logarithmic: scale.logarithmic && range.0 > 0.0 && range.1 > range.0,
            limits: scale.limits,
        }
    };
    let map = display.line_map();
    let per_streamline = |name: &str| tractogram.per_streamline.get(name);
    let computed = computed_values(tractogram);
    match &display.line_colouring {
        LineColouring::Fixed(colour) => LineColour::Fixed(*colour),
        LineColouring::Fa if computed.is_none() && tractogram.per_point.contains_key("fa") => {
            scalar("fa", FA_RANGE, map)
        }
        LineColouring::Length => tractogram
            .length_range()
            .map_or(LineColour::Direction, |range| {
                let (low, high) = range;
                // Whole centimetres, so that the scale does not jitter while a region is dragged.
                let (low, high) = ((low / 10.0).floor() * 10.0, (high / 10.0).ceil() * 10.0);
                scalar("length", (low.min(high - 10.0).max(0.0), high), map)
            }),
        LineColouring::StopReason if per_streamline("stop_end").is_some() => {
            let last = (ColourMap::STOP_COLOURS.len() - 1) as f32;
            LineColour::Scalar {
                name: "stop_end".to_owned(),
                range: (0.0, last),
                colour_map: ColourMap::Stops,
                logarithmic: false,
                limits: None,
            }
        }
        LineColouring::Measure if per_streamline("measure").is_some() => {
            scalar("measure", display.window, map)
        }
        LineColouring::Weight if per_streamline(WEIGHT).is_some() => {
            scalar(WEIGHT, display.window, map)
        }
        LineColouring::MeasureAlong
            if computed.is_none() && tractogram.per_point.contains_key("cm") =>
        {
            scalar("cm", display.window, map)
        }
        LineColouring::Direction | LineColouring::StopReason => LineColour::Direction,
        by => match computed {
            Some((name, true)) => LineColour::Packed {
                name: name.to_owned(),
            },
            Some((name, false)) => {
                let automatic = match by {
                    LineColouring::Fa => FA_RANGE,
                    _ => display.window,
                };
                scalar(name, automatic, map)
            }
            None => LineColour::Direction,
        },
    }
}

/// The name of the values that were computed for the colours of streamlines, and whether they are colours themselves.
fn computed_values(tractogram: &Tractogram) -> Option<(&str, bool)> {
    let all = tractogram
        .per_point
        .keys()
        .chain(tractogram.per_streamline.keys());
    let mut kinds = all.filter_map(|name| {
        let is_packed = name.starts_with(PACKED_COLOURS);
        (is_packed || name.starts_with(COLOUR_VALUES)).then_some((name.as_str(), is_packed))
    });
    kinds.next()
}
