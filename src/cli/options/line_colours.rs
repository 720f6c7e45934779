//! Options of the colours of streamlines.

use super::ValueError;
use super::common::limits;
use crate::cli::headless::Headless;
use crate::cli::runner::Failure;
use crate::data::Tractogram;
use crate::data::appearance::ColourMap;
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::state::core::display::{DistanceFrom, LineColouring, LineScale};
use crate::state::filter::WEIGHT;
use crate::state::{Content, Display, LayerAction, LayerId, Phase, State};
use std::path::Path;
use std::sync::Arc;

/// Values beyond this are not drawn differently: an open limit.
const OPEN: f32 = 3e38;

#[derive(clap::Args, Clone, Debug)]
pub struct LineColourOptions {
    /// Colour streamlines by direction, end-to-end, fa, length, stop-reason, weight, group, value:NAME (of the file),
    /// file:FILE (values as TSF, or as text with one for each streamline), image:LAYER, distance:REGION (or a layer that
    /// is a mask), or one colour as #RRGGBB
    #[arg(long, value_name = "BY", value_parser = line_colour)]
    pub line_colour: Option<LineColour>,
    /// Value that a streamline shows: those of its points, or their mean, minimum or maximum
    #[arg(long, value_name = "VALUE", value_parser = statistic, requires = "line_colour")]
    pub line_value: Option<LineStatistic>,
    /// Colour map of these values: viridis, magma, cividis, share, cost, green-red, diverging or grey
    #[arg(long, value_name = "MAP", value_parser = map, requires = "line_colour")]
    pub line_map: Option<ColourMap>,
    /// Values of the first and the last colour (default: their 2nd and 98th percentile)
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = range, requires = "line_colour")]
    pub line_range: Option<(f32, f32)>,
    /// Colours by the logarithm of the values
    #[arg(long, requires = "line_colour")]
    pub line_log: bool,
    /// Hide points, or streamlines that have one value, outside these limits; either limit may be omitted
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = limits, requires = "line_colour")]
    pub line_show: Option<(f32, f32)>,
}

/// A colouring whose image, region or value is still a name.
#[derive(Clone, PartialEq, Debug)]
pub enum LineColour {
    Known(LineColouring),
    Image(String),
    Distance(String),
}

fn line_colour(text: &str) -> Result<LineColour, ValueError> {
    let known = match text {
        "direction" => Some(LineColouring::Direction),
        "end-to-end" => Some(LineColouring::EndToEnd),
        "fa" => Some(LineColouring::Fa),
        "length" => Some(LineColouring::Length),
        "stop-reason" => Some(LineColouring::StopReason),
        "weight" => Some(LineColouring::Weight),
        "group" => Some(LineColouring::Group),
        _ => None,
    };
    let named = || {
        let (kind, name) = text.split_once(':').filter(|(_, name)| !name.is_empty())?;
        let name = name.to_owned();
        Some(match kind {
            "value" => LineColour::Known(LineColouring::Value(name)),
            "file" => LineColour::Known(LineColouring::ValuesFile(name.into())),
            "image" => LineColour::Image(name),
            "distance" => LineColour::Distance(name),
            _ => return None,
        })
    };
    let fixed = || {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, r, g, b] = number.to_be_bytes();
        Some(LineColour::Known(LineColouring::Fixed([r, g, b])))
    };
    let known = known.map(LineColour::Known).or_else(named).or_else(fixed);
    let expected = "direction, end-to-end, fa, length, stop-reason, weight, group, value:NAME, file:FILE, image:LAYER, \
                    distance:REGION or #RRGGBB";
    known.ok_or_else(|| ValueError::new(expected, text))
}

fn statistic(text: &str) -> Result<LineStatistic, ValueError> {
    LineStatistic::from_key(text)
        .ok_or_else(|| ValueError::new("points, mean, minimum or maximum", text))
}

fn map(text: &str) -> Result<ColourMap, ValueError> {
    let suitable = |map: &ColourMap| {
        use ColourMap::{Mask, RedGrey, Speed, Stops};
        !matches!(map, Mask | RedGrey | Speed | Stops)
    };
    ColourMap::from_key(text).filter(suitable).ok_or_else(|| {
        ValueError::new(
            "viridis, magma, cividis, share, cost, green-red, diverging or grey",
            text,
        )
    })
}

fn range(text: &str) -> Result<(f32, f32), ValueError> {
    let (low, high) = limits(text)?;
    let is_range = low.is_finite() && high.is_finite() && low < high;
    is_range
        .then_some((low, high))
        .ok_or_else(|| ValueError::new("LOW..HIGH with two different numbers", text))
}

impl LineColourOptions {
    /// Applies the options to all open layers of streamlines.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        let Some(by) = &self.line_colour else {
            return Ok(());
        };
        let line_colouring = resolved(by, &window.state)?;
        let layers = window.state.document.layers.iter();
        let lines = layers.filter_map(|l| match &l.content {
            Content::Tractogram(lines) => Some((l.id, lines.clone())),
            _ => None,
        });
        let lines: Vec<(LayerId, Tractogram)> = lines.collect();
        if lines.is_empty() {
            return Err(Failure::usage(
                "Found no streamlines to colour, expected a file of them; add one, or leave --line-colour out",
            ));
        }
        for (layer, lines) in lines {
            self.check(&line_colouring, &lines, &window.state)?;
            let Some(known) = window.state.document.layer(layer) else {
                continue;
            };
            let end = |v: f32| v.clamp(-OPEN, OPEN);
            let display = Display {
                line_colouring: line_colouring.clone(),
                line_scale: LineScale {
                    statistic: self.line_value.unwrap_or_default(),
                    colour_map: self.line_map.unwrap_or(ColourMap::Viridis),
                    range: self.line_range,
                    logarithmic: self.line_log,
                    limits: self.line_show.map(|(low, high)| (end(low), end(high))),
                },
                ..known.display.clone()
            };
            let phase = Phase::Done;
            window.act(LayerAction::SetDisplay {
                layer,
                display,
                phase,
            })?;
        }
        Ok(())
    }

    /// Refuses values that streamlines do not have.
    fn check(&self, by: &LineColouring, lines: &Tractogram, state: &State) -> Result<(), Failure> {
        let own = lines.per_point.keys().chain(lines.per_streamline.keys());
        let own: Vec<&str> = own.map(String::as_str).collect();
        let lacks = |what: &str, expected: &str| {
            Err(Failure::usage(format!(
                "The streamlines have no {what}, expected {expected}; choose another --line-colour"
            )))
        };
        match by {
            LineColouring::Value(name) if !own.contains(&name.as_str()) => {
                let known = match own.as_slice() {
                    [] => "a file with values".to_owned(),
                    known => format!("one of {}", known.join(", ")),
                };
                lacks(&format!("value “{name}”"), &known)
            }
            LineColouring::Group if lines.groups.is_empty() => {
                lacks("groups", "a file with groups (TRX)")
            }
            LineColouring::Weight if !own.contains(&WEIGHT) => {
                lacks("weights", "streamlines of a COMMIT fit")
            }
            LineColouring::StopReason if !own.contains(&"stop_end") => {
                lacks("stop reasons", "streamlines tracked with Arcuate")
            }
            LineColouring::Fa if !state.has_fa_along(lines) => {
                lacks("FA", "a scan with gradients beside them, or values of FA")
            }
            _ => Ok(()),
        }
    }
}

/// The colouring with the layers and regions of these names.
fn resolved(by: &LineColour, state: &State) -> Result<LineColouring, Failure> {
    let layers = &state.document.layers;
    // A file is known by its name in the window, without its folder and its ending.
    let is = |layer: &str, name: &str| {
        let file = Path::new(name).file_name().map(|f| f.to_string_lossy());
        layer.eq_ignore_ascii_case(name)
            || file.is_some_and(|file| {
                let rest = file.strip_prefix(layer);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
    };
    let unknown = |what: &str, name: &str, known: Vec<&str>| {
        let known = match known.as_slice() {
            [] => format!(
                "one among the opened files; add its file, or leave --line-colour out: {name}"
            ),
            known => format!("one of {}", known.join(", ")),
        };
        Err(Failure::usage(format!(
            "There is no {what} “{name}”, expected {known}"
        )))
    };
    match by {
        LineColour::Known(by) => Ok(by.clone()),
        LineColour::Image(name) => {
            let images = layers.iter().filter(|l| state.has_colours_of_image(l.id));
            let images: Vec<&Arc<crate::state::Layer>> = images.collect();
            match images.iter().find(|l| is(&l.name, name)) {
                Some(layer) => Ok(LineColouring::Image(layer.id)),
                None => {
                    let known = images.iter().map(|l| l.name.as_str()).collect();
                    unknown("image", name, known)
                }
            }
        }
        LineColour::Distance(name) => {
            let masks = layers
                .iter()
                .filter(|l| matches!(l.content, Content::Mask(_)));
            let masks: Vec<&Arc<crate::state::Layer>> = masks.collect();
            let regions = &state.document.regions;
            let region = regions.iter().find(|r| is(&r.name, name));
            let mask = masks.iter().find(|l| is(&l.name, name));
            let from = region.map(|r| DistanceFrom::Region(r.id));
            match from.or_else(|| mask.map(|l| DistanceFrom::Mask(l.id))) {
                Some(from) => Ok(LineColouring::Distance(from)),
                None => {
                    let regions = regions.iter().map(|r| r.name.as_str());
                    let known = regions.chain(masks.iter().map(|l| l.name.as_str()));
                    unknown("region or mask", name, known.collect())
                }
            }
        }
    }
}
