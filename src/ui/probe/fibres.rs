//! Fibres at the crosshair: peaks, directions in anatomical letters, and fractions of tissues.

use super::{OUTSIDE_MASK, Quantity, Reading, reading_of};
use crate::data::odf_field::Tissue;
use crate::data::text::counted;
use crate::data::{AffineSource, Fixels, PeakField, Volume};
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::view::letter;
use crate::state::{Layer, State};
use crate::ui::format;
use glam::DVec3;

/// Smaller components of a direction are left out: they change it by less than 3°.
const SMALLEST_COMPONENT: f64 = 0.05;

/// A direction along either of its senses, the largest component first: `S 0.89 A 0.45`. The letters are those of the
/// patient's sides, whatever the convention of the views; `guessed` marks left and right that no header states.
pub fn direction(along: DVec3, guessed: bool) -> Option<String> {
    let unit = along.try_normalize()?;
    let mut axes = [0, 1, 2];
    axes.sort_by(|&a, &b| unit[b].abs().total_cmp(&unit[a].abs()));
    // Opposite directions are the same axis: its largest component is named to the right, front or top.
    let unit = unit * unit[axes[0]].signum();
    let components = axes
        .iter()
        .filter(|&&axis| unit[axis].abs() >= SMALLEST_COMPONENT);
    let components = components.map(|&axis| {
        let side = letter(DVec3::AXES[axis] * unit[axis].signum());
        let mark = if guessed && axis == 0 { "?" } else { "" };
        format!("{side}{mark} {}", format::fixed(unit[axis].abs(), 2))
    });
    Some(components.collect::<Vec<_>>().join(" "))
}

/// The angle between two axes, degrees.
fn angle_deg(a: DVec3, b: DVec3) -> f64 {
    // Opposite directions are the same.
    let cosine = a.normalize().dot(b.normalize()).abs().min(1.0);
    cosine.acos().to_degrees()
}

/// `3, the two largest are 70° apart`.
fn count_text(peaks: &[DVec3]) -> String {
    let count = format::count(peaks.len() as u64);
    let [first, second, rest @ ..] = peaks else {
        return count;
    };
    let angle = format::fixed(angle_deg(*first, *second), 0);
    match rest {
        [] => format!("{count}, {angle}° apart"),
        _ => format!("{count}, the two largest are {angle}° apart"),
    }
}

/// `2 and 3: 88°`, of all pairs but the two largest.
fn other_angles(peaks: &[DVec3]) -> Option<String> {
    let pairs = (0..peaks.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let others = pairs.filter(|pair| *pair != (0, 1));
    let others = others.map(|(a, b)| {
        let angle = format::fixed(angle_deg(peaks[a], peaks[b]), 0);
        format!("{} and {}: {angle}°", a + 1, b + 1)
    });
    let others: Vec<String> = others.collect();
    (!others.is_empty()).then(|| others.join(", "))
}

/// The peaks of the distribution in the voxel: their number, and each with its amplitude and its direction.
pub fn peaks(state: &State) -> Vec<Reading> {
    let at = state.view.crosshair;
    let result = state.document.distributions.result.as_ref();
    let Some(peaks) = result.and_then(|result| result.fods.peaks.as_ref()) else {
        return Vec::new();
    };
    let Some(voxel) = peaks.grid.nearest(at) else {
        return vec![Reading::outside(Quantity::Peaks, PEAKS)];
    };
    if result.is_some_and(|result| !result.fods.mask.contains(at)) {
        return vec![reading_of(Quantity::Peaks, PEAKS, OUTSIDE_MASK)];
    }
    let guessed = peaks.grid.source == AffineSource::Pixdim;
    let peaks: Vec<DVec3> = peaks.peaks(peaks.grid.index(voxel)).collect();
    let mut all = vec![reading_of(Quantity::Peaks, PEAKS, count_text(&peaks))];
    for (number, peak) in (1..).zip(&peaks) {
        let amplitude = format::fixed(peak.length(), 2);
        let value = match direction(*peak, guessed) {
            Some(direction) => format!("{amplitude} along {direction}"),
            None => amplitude,
        };
        all.push(reading_of(Quantity::Peaks, format!("Peak {number}"), value));
    }
    let angles = other_angles(&peaks);
    all.extend(angles.map(|angles| reading_of(Quantity::Peaks, "Angles of peaks", angles)));
    all
}

/// The values of the fixels in the voxel at a place, or how many there are if they have no values; `None` outside the
/// grid.
pub fn fixel_values(volume: &Volume, at: DVec3) -> Option<String> {
    let voxel = volume.grid.index(volume.grid.nearest(at)?);
    let field = PeakField::from_volume(volume)?;
    let n = volume.grid.voxel_count();
    let all = (0..field.count()).filter_map(|peak| {
        let length = field.peak(voxel, peak)?.length();
        let value = |fixels: &Fixels| fixels.value(peak * n + voxel, length);
        let value = volume.fixels.as_deref().map_or(length, value);
        Some(format::measure(value))
    });
    let all: Vec<String> = all.collect();
    let has_values = volume.fixels.as_ref().is_none_or(|f| f.has_values());
    Some(match (all.len(), has_values) {
        (0, _) => "no fixel".to_owned(),
        (_, true) => all.join(", "),
        // Lengths of 1 are not values.
        (n, false) => counted(n, "fixel"),
    })
}

const PEAKS: &str = "Peaks";

/// The fraction of each tissue in the voxel, if the layer is the map of fractions.
pub fn fractions(state: &State, layer: &Layer) -> Option<Vec<Reading>> {
    let is_map = state.document.origin(layer).fod_map() == Some(FodMap::Fractions);
    let volume = layer.content.volume().filter(|_| is_map)?;
    let result = state.document.distributions.result.as_ref()?;
    let tissues = result.fods.responses.iter().map(|(tissue, _)| *tissue);
    let fraction = |(frame, tissue): (usize, Tissue)| {
        let value = volume.nearest(frame, state.view.crosshair);
        let value = value.map(|value| format::significant(f64::from(value)));
        let name = format!("Fraction of {}", tissue.name());
        Reading::or_outside(Quantity::Other, name, value)
    };
    Some(tissues.enumerate().map(fraction).collect())
}
