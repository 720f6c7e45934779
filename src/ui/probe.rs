//! The value of every layer at the crosshair.

mod fibres;

pub use fibres::direction;

use super::format;
use super::views::path_at_pointer;
use crate::data::gradients::Weighting;
use crate::data::statistics::wilson_interval;
use crate::data::{AffineSource, Gradients, Mask, Tensor, Volume, VolumeKind};
use crate::solvers::tensor_fit::FitMap;
use crate::state::filter::WeightMap;
use crate::state::{Content, Layer, LayerId, Method, State, Task};
use glam::{DMat3, DVec3};

#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    pub quantity: Quantity,
    pub name: String,
    pub value: String,
    /// The layer whose value it is; names may occur twice.
    layer: Option<LayerId>,
    /// Why there is no value.
    missing: Option<NoValue>,
}

/// Why a reading has no value at the crosshair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NoValue {
    /// It lies outside the grid of the layer.
    OutsideGrid,
    /// The fit has no result outside its mask.
    OutsideMask,
}

/// The quantity of a reading, if code depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    Fa,
    Md,
    /// Principal direction of the tensor.
    Direction,
    /// Peaks of the distribution of fibres.
    Peaks,
    /// Cost of the cheapest path through the voxel.
    Cost,
    Connectivity,
    /// Sum of the weights in the voxel.
    Weights,
    Speed,
    SignedDistance,
    /// The label of a visible label map.
    Label,
    Other,
}

fn reading(name: impl Into<String>, value: impl Into<String>) -> Reading {
    reading_of(Quantity::Other, name, value)
}

fn reading_of(quantity: Quantity, name: impl Into<String>, value: impl Into<String>) -> Reading {
    Reading {
        quantity,
        name: name.into(),
        value: value.into(),
        layer: None,
        missing: None,
    }
}

impl Reading {
    /// A reading without a value: the crosshair lies outside the grid.
    fn outside(quantity: Quantity, name: impl Into<String>) -> Self {
        Self {
            missing: Some(NoValue::OutsideGrid),
            ..reading_of(quantity, name, OUTSIDE)
        }
    }

    fn or_outside(quantity: Quantity, name: impl Into<String>, value: Option<String>) -> Self {
        match value {
            Some(value) => reading_of(quantity, name, value),
            None => Self::outside(quantity, name),
        }
    }
}

/// Name of the principal direction of the tensor.
pub const DIRECTION: &str = "Tensor direction";

/// The peaks of the distribution, then one reading per layer, topmost first, and the principal direction if there are
/// tensors.
pub fn readings(state: &State) -> Vec<Reading> {
    let at = state.view.crosshair;
    let mut all: Vec<Reading> = state
        .document
        .layers
        .iter()
        .rev()
        .flat_map(|layer| {
            let fractions = fibres::fractions(state, layer);
            let all = fractions.unwrap_or_else(|| Vec::from_iter(of_layer(state, layer, at)));
            all.into_iter().map(|reading| {
                let reading = within_mask(state, layer, reading);
                Reading {
                    layer: Some(layer.id),
                    ..within_weight_fit(state, layer, reading)
                }
            })
        })
        .collect();
    if let Some(tensors) = &state.document.tensors {
        let direction = tensors
            .field
            .nearest(at)
            .as_ref()
            .and_then(principal_direction);
        let guessed = tensors.field.grid.source == AffineSource::Pixdim;
        let value = match direction.and_then(|d| fibres::direction(d, guessed)) {
            Some(text) => text,
            None if tensors.field.grid.nearest(at).is_none() => OUTSIDE.to_owned(),
            None if !tensors.mask.contains(at) => OUTSIDE_MASK.to_owned(),
            None => NO_TENSOR.to_owned(),
        };
        let md = all.iter().position(|r| r.quantity == Quantity::Md);
        let place = md.map_or(0, |i| i + 1);
        all.insert(place, reading_of(Quantity::Direction, DIRECTION, value));
    }
    all.splice(0..0, fibres::peaks(state));
    all.extend(passing(state));
    all.extend(repetitions(state.track_noise_at_crosshair()));
    all.extend(costs(state));
    all.extend(surface(state));
    all.extend(weight_readings(state));
    if let Some(id) = state.runtime.regions.selected
        && let Some(region) = state.document.region(id)
        && !matches!(*region.shape, crate::data::Shape::Mask(_))
    {
        let mm = region.shape.centre().distance(at);
        let value = format!(
            "{} from centre",
            format::with_unit(&format::fixed(mm, 1), "mm")
        );
        all.push(reading(region.name.clone(), value));
    }
    all
}

/// Shown outside the grid of a layer.
pub const OUTSIDE: &str = "outside";
/// Shown where a fit has no tensor, and an estimation no distribution.
pub const OUTSIDE_MASK: &str = "outside the mask";
/// Shown within the mask where the tensor could not be repaired.
const NO_TENSOR: &str = "no tensor";

/// Maps of tensors and of distributions are 0 outside the mask; that is not a measured value.
fn within_mask(state: &State, layer: &Layer, reading: Reading) -> Reading {
    let at = state.view.crosshair;
    let origin = state.document.origin(layer);
    let outside_mask = |reading: Reading| Reading {
        value: OUTSIDE_MASK.to_owned(),
        missing: Some(NoValue::OutsideMask),
        ..reading
    };
    // A voxel without a tensor may have a distribution, which has a mask of its own.
    if origin.fod_map().is_some() {
        let result = state.document.distributions.result.as_ref();
        let mask = result.map(|result| &result.fods.mask);
        let outside = |mask: &Mask| mask.frame().nearest(at).is_some() && !mask.contains(at);
        return match mask.is_some_and(outside) {
            true => outside_mask(reading),
            false => reading,
        };
    }
    let Some(tensors) = &state.document.tensors else {
        return reading;
    };
    let of_fit = origin.is_recomputed_from_scan() && layer.content.volume().is_some();
    let in_volume = tensors.fa.grid.nearest(at).is_some();
    if !of_fit || !in_volume || tensors.field.nearest(at).is_some() {
        return reading;
    }
    match tensors.mask.contains(at) {
        true => Reading {
            value: NO_TENSOR.to_owned(),
            ..reading
        },
        false => outside_mask(reading),
    }
}

/// Shown where COMMIT has fitted no signal.
pub const NOT_FITTED: &str = "not fitted";

/// Maps of a COMMIT fit are 0 in voxels without a fit, where the error is 0 as well; that is not a measured value.
fn within_weight_fit(state: &State, layer: &Layer, reading: Reading) -> Reading {
    let document = &state.document;
    let errors = document
        .weight_map_recipe(layer.id)
        .and_then(|recipe| document.weight_map(recipe.layer, &WeightMap::Error))
        .and_then(|error| error.content.volume());
    let error = errors.and_then(|errors| errors.nearest(0, state.view.crosshair));
    match error {
        Some(0.0) => Reading {
            value: NOT_FITTED.to_owned(),
            ..reading
        },
        _ => reading,
    }
}

/// The connectivity measure of the rays through the voxel.
pub const CONNECTIVITY: &str = "Connectivity (CM)";

/// Live curves through the voxel.
fn passing(state: &State) -> Vec<Reading> {
    let Some(passing) = &state.runtime.track.at_crosshair else {
        return Vec::new();
    };
    let name = match state.document.track.method {
        Method::Streamlines => "Streamlines in voxel",
        Method::Rays => "Rays in voxel",
    };
    let measure = passing.measure.map(|m| format::fixed(m, 2));
    let measure = measure.map(|m| reading_of(Quantity::Connectivity, CONNECTIVITY, m));
    let count = reading(name, format::count(passing.count as u64));
    measure.into_iter().chain([count]).collect()
}

/// Costs of the live pathway at the crosshair.
fn costs(state: &State) -> Vec<Reading> {
    let Some(result) = crate::scene::pathways::live_with_cost(state) else {
        return Vec::new();
    };
    if state.pathway_is_stale() {
        return vec![reading_of(Quantity::Cost, COST, "updating…")];
    }
    let pathway = &result.pathway;
    let places = &pathway.places;
    let Some(voxel) = places.grid.nearest(state.view.crosshair) else {
        return vec![Reading::outside(Quantity::Cost, COST)];
    };
    let place = places.place_of(voxel.map(|i| i as i64));
    let beyond = result.excess_limit.filter(|_| place.is_some());
    let Some((place, excess)) = place.zip(place.and_then(|p| result.excess_at(p))) else {
        let text = beyond.map_or_else(|| "no path".to_owned(), path_at_pointer::beyond);
        return vec![reading_of(Quantity::Cost, COST, text)];
    };
    let value = |v: f32| format::significant(f64::from(v));
    let name = |side: usize| format!("{} from {}", ["u₁", "u₂"][side], pathway.ends[side].name);
    let at = places.grid.index(voxel);
    let side = |i: usize| reading(name(i), value(result.sides[i].values[at]));
    let percent = format::with_unit(&format::fixed(100.0 * excess, 1), "%");
    let total = format!("{} (+{percent})", value(pathway.total[place]));
    let repetitions = repetitions(state.pathway_noise_at_crosshair()).into_iter();
    let costs = [side(0), side(1), reading_of(Quantity::Cost, COST, total)];
    repetitions.chain(costs).collect()
}

/// In how many repetitions the pathway or a streamline passes the voxel: `40 of 64 (50–73 %)`, with the 95 % confidence
/// interval.
fn repetitions(counts: Option<(usize, usize)>) -> Option<Reading> {
    let (some, all) = counts?;
    let range = format::interval_text(wilson_interval(some, all));
    let [some, all] = [some, all].map(|n| format::count(n as u64));
    Some(reading(
        "In repetitions",
        format!("{some} of {all} ({range})"),
    ))
}

/// The speed of the surface.
const SPEED: &str = "Speed";
/// Signed distance from the surface, positive inside.
pub const PHI: &str = "Signed distance φ";

/// Speed and signed distance at the crosshair.
fn surface(state: &State) -> Vec<Reading> {
    let at = state.view.crosshair;
    let signed = |v: f64, digits: usize| {
        let sign = if v > 0.0 { "+" } else { "" };
        format!("{sign}{}", format::fixed(v, digits))
    };
    let speed = state.runtime.segment.speed.as_ref();
    // With region means the speed depends on the surface, and is known once the surface rests.
    let means = state.document.segment.settings.params.region > 0.0;
    let older = means && state.runtime.segment.running;
    let speed = speed
        .filter(|_| state.shows_speed() && !older)
        .and_then(|s| s.nearest(0, at));
    let speed = speed.map(|v| reading_of(Quantity::Speed, SPEED, signed(f64::from(v), 2)));
    let live = crate::scene::segment::live(state);
    // Between updates the distance would be that of an earlier step: none is shown.
    let phi = live.filter(|l| l.measured.step == l.step).and_then(|l| {
        let field = &l.measured.field;
        let phi = f64::from(field.value(field.grid.nearest(at)?));
        // At the band's end φ levels off before the clamp, and beyond it only the side is known: neither is a distance.
        (phi.abs() < 0.8 * f64::from(field.clamp)).then(|| {
            let mm = signed(phi * field.h_mm, 1);
            reading_of(Quantity::SignedDistance, PHI, format::with_unit(&mm, "mm"))
        })
    });
    speed.into_iter().chain(phi).collect()
}

/// Streamlines with a weight in the crosshair's voxel.
fn weight_readings(state: &State) -> Vec<Reading> {
    let course = state.course().filter(|_| state.view.task == Task::Filter);
    let Some((course, weights)) = course else {
        return Vec::new();
    };
    const COUNT: &str = "Fitted streamlines in voxel";
    let Some(voxel) = course.grid.nearest(state.view.crosshair) else {
        return vec![
            Reading::outside(Quantity::Other, COUNT),
            Reading::outside(Quantity::Weights, WEIGHTS),
        ];
    };
    let number = course.grid.index(voxel) as u32;
    let place = course.voxels.binary_search(&number).ok();
    // Records of one streamline are adjacent.
    let segments = place.map_or(&[][..], |place| course.in_voxel(place));
    let mut streamlines: Vec<u32> = segments.iter().map(|s| s.streamline).collect();
    streamlines.dedup();
    let weights = streamlines.iter().map(|f| weights[*f as usize]);
    let above: Vec<f64> = weights.filter(|w| *w > 0.0).map(f64::from).collect();
    let count = format::count(above.len() as u64);
    let sum = format::significant(above.iter().sum());
    vec![
        reading(COUNT, count),
        reading_of(Quantity::Weights, WEIGHTS, sum),
    ]
}

/// Sum of the weights of the streamlines through the voxel.
pub const WEIGHTS: &str = "Sum of weights in voxel";

/// The sum of both costs.
pub const COST: &str = "u₁ + u₂";

/// The most informative readings, for the status line: the segmented image and its surface; FA and MD, costs, CM,
/// weights or a visible label before MD; else, or outside the tensors' grid, the topmost layers.
pub fn brief_readings<'a>(state: &State, all: &'a [Reading], max_count: usize) -> Vec<&'a Reading> {
    let segmented = state.document.segmented_image();
    let segmented = segmented.filter(|_| state.view.task == Task::Segment);
    let id = segmented.map(|(layer, _)| layer.id);
    if let Some(image) = all.iter().find(|r| id.is_some() && r.layer == id) {
        let quantities = [Quantity::Speed, Quantity::SignedDistance];
        let others = quantities.map(|quantity| all.iter().find(|r| r.quantity == quantity));
        return std::iter::once(image)
            .chain(others.into_iter().flatten())
            .collect();
    }
    let on_grid = |r: &Reading| r.missing != Some(NoValue::OutsideGrid);
    let has = |quantity: Quantity| all.iter().any(|r| r.quantity == quantity && on_grid(r));
    let before_md = [
        Quantity::Cost,
        Quantity::Connectivity,
        Quantity::Weights,
        Quantity::Label,
    ];
    let second = before_md.into_iter().find(|q| has(*q));
    let second = second.unwrap_or(Quantity::Md);
    let telling = |r: &&Reading| (r.quantity == Quantity::Fa || r.quantity == second) && on_grid(r);
    let mut chosen: Vec<&Reading> = all.iter().filter(telling).take(max_count).collect();
    chosen.sort_by_key(|r| r.quantity != Quantity::Fa);
    // Shown only once.
    let outside_mask = |r: &Reading| r.missing == Some(NoValue::OutsideMask);
    if chosen.first().is_some_and(|r| outside_mask(r)) {
        let mut first = true;
        chosen.retain(|r| std::mem::take(&mut first) || !outside_mask(r));
    }
    if chosen.is_empty() {
        let others = || all.iter().filter(|r| r.quantity != Quantity::Direction);
        chosen = others().filter(|r| on_grid(r)).take(max_count).collect();
        // Outside every grid, the same quantities as elsewhere.
        let fallback = |r: &&Reading| matches!(r.quantity, Quantity::Fa | Quantity::Md);
        if chosen.is_empty() {
            chosen = others().filter(fallback).take(max_count).collect();
        }
        if chosen.is_empty() {
            chosen = others().take(max_count).collect();
        }
    }
    chosen
}

/// The voxel under the crosshair, in the grid used for tracking (else in that of the first image).
pub fn voxel(state: &State) -> Option<[usize; 3]> {
    let tensors = state
        .document
        .tensors
        .as_ref()
        .map(|t| t.field.grid.clone());
    let images = state
        .document
        .layers
        .iter()
        .find_map(|l| l.content.volume());
    let grid = tensors.or_else(|| images.map(|v| v.grid.clone()))?;
    grid.nearest(state.view.crosshair)
}

fn of_layer(state: &State, layer: &Layer, at: DVec3) -> Option<Reading> {
    match &layer.content {
        Content::Scan { dwi, gradients } => {
            let b0 = gradients.as_ref().and_then(|g| mean_b0(dwi, g, at));
            let (name, value) = match b0 {
                Some(value) => (format!("{} b{}0", layer.name, format::THIN), Some(value)),
                None => (layer.name.clone(), dwi.nearest(layer.display.frame, at)),
            };
            let value = value.map(|v| scalar(layer, v));
            Some(Reading::or_outside(Quantity::Other, name, value))
        }
        Content::Image(volume) if volume.kind == VolumeKind::Rgb => None,
        Content::Image(volume) if volume.fixels.is_some() => {
            let values = fibres::fixel_values(volume, at);
            let name = layer.name.clone();
            Some(Reading::or_outside(Quantity::Other, name, values))
        }
        Content::Image(volume) if volume.labels.is_some() => {
            let number = volume.nearest(0, at).map(|v| v as u32);
            let text = number.map(|number| match (number, &volume.labels) {
                (0, _) => "none".to_owned(),
                (n, Some(labels)) => labels.described(n),
                (n, None) => n.to_string(),
            });
            let named = number.is_some_and(|n| n > 0) && layer.display.visible;
            let quantity = match named {
                true => Quantity::Label,
                false => Quantity::Other,
            };
            Some(Reading::or_outside(quantity, layer.name.clone(), text))
        }
        Content::Image(volume) => {
            let frame = layer.display.frame.min(volume.frames.saturating_sub(1));
            let quantity = match state.document.origin(layer).fit_map() {
                Some(FitMap::Fa) => Quantity::Fa,
                Some(FitMap::Md) => Quantity::Md,
                _ => Quantity::Other,
            };
            let value = volume.nearest(frame, at).map(|v| scalar(layer, v));
            Some(Reading::or_outside(quantity, layer.name.clone(), value))
        }
        Content::Mask(mask) => {
            let marks_repaired = state.document.origin(layer).fit_map() == Some(FitMap::Repaired);
            let tensors = state.document.tensors.as_ref();
            let is_fitted = || tensors.is_some_and(|tensors| tensors.mask.contains(at));
            let side = match (mask.contains(at), marks_repaired) {
                (true, false) => "inside the mask",
                (true, true) => "repaired here",
                (false, true) if is_fitted() => "not repaired here",
                (false, _) => OUTSIDE_MASK,
            };
            Some(reading(layer.name.clone(), side))
        }
        Content::Tractogram(_) | Content::InPlace(_) => None,
    }
}

fn scalar(layer: &Layer, value: f32) -> String {
    let value = f64::from(value) * f64::from(layer.unit_scale);
    format::with_unit(&format::significant(value), layer.unit)
}

fn mean_b0(dwi: &Volume, gradients: &Gradients, at: DVec3) -> Option<f32> {
    let frames =
        (0..dwi.frames.min(gradients.len())).filter(|&v| gradients.weighting(v) == Weighting::B0);
    let values: Vec<f32> = frames.filter_map(|v| dwi.nearest(v, at)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f32>() / values.len() as f32)
}

/// Unit eigenvector of the largest eigenvalue, its sign chosen for a positive last component.
///
/// Repeated squaring: each product doubles the exponent of the ratio of the eigenvalues, so that 2^24 separates
/// eigenvalues that differ by more than rounding.
pub fn principal_direction(tensor: &Tensor) -> Option<DVec3> {
    let mut power = tensor.matrix();
    for _ in 0..24 {
        let size = power
            .to_cols_array()
            .iter()
            .fold(0f64, |m, v| m.max(v.abs()));
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        power = DMat3::from_cols_array(&power.to_cols_array().map(|v| v / size));
        power = power * power;
    }
    let columns = [power.x_axis, power.y_axis, power.z_axis];
    let longest = columns
        .into_iter()
        .max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()))?;
    let direction = longest.try_normalize()?;
    let last = [direction.z, direction.y, direction.x]
        .into_iter()
        .find(|v| v.abs() > 1e-9)?;
    Some(direction * last.signum())
}
