//! Maps the values of a slider to its track.

use super::super::format;
use super::typed::with_unit;
use std::ops::RangeInclusive;

/// Mapping of values to a track.
#[derive(Clone)]
pub struct Scale {
    pub range: RangeInclusive<f64>,
    pub logarithmic: bool,
    /// Values are rounded to this many decimals; negative: to tens, hundreds, ….
    pub decimals: i32,
}

impl Scale {
    /// The hint of a row: what it sets, and the range of its slider.
    pub fn hint(&self, help: &str, unit: &str) -> String {
        let end = |value: f64| {
            let text = self.text(value);
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        };
        let (low, high) = (end(*self.range.start()), end(*self.range.end()));
        let range = with_unit(&format!("{low}–{high}"), unit);
        match help {
            "" => range,
            _ => format!("{help}\n{range}"),
        }
    }

    pub(super) fn share(&self, value: f64) -> f32 {
        let (low, high) = (*self.range.start(), *self.range.end());
        let share = if self.logarithmic {
            (value.max(low).ln() - low.ln()) / (high.ln() - low.ln())
        } else {
            (value - low) / (high - low)
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0) as f32
        } else {
            0.0
        }
    }

    pub(super) fn value(&self, share: f32) -> f64 {
        let (low, high) = (*self.range.start(), *self.range.end());
        let share = f64::from(share.clamp(0.0, 1.0));
        if self.logarithmic {
            let value = (low.ln() + share * (high.ln() - low.ln())).exp();
            // Two significant digits are enough for a slider that spans decades.
            let unit = 10f64.powf(value.log10().floor() - 1.0);
            self.rounded((value / unit).round() * unit)
        } else {
            self.rounded(low + share * (high - low))
        }
    }

    pub(super) fn rounded(&self, value: f64) -> f64 {
        let unit = 10f64.powi(self.decimals);
        (value * unit).round() / unit
    }

    /// The value one press of an arrow key away.
    pub(super) fn stepped(&self, value: f64, steps: f64) -> f64 {
        let (low, high) = (*self.range.start(), *self.range.end());
        if self.logarithmic {
            let next = self.value(self.share(value) + 0.02 * steps as f32);
            let unit = 10f64.powi(-self.decimals);
            let moved = if next == value {
                value + steps * unit
            } else {
                next
            };
            moved.clamp(low, high)
        } else {
            let unit = 10f64.powi(-self.decimals);
            let step = unit.max(((high - low) / 100.0 / unit).round() * unit);
            self.rounded((value + steps * step).clamp(low, high))
        }
    }

    pub(super) fn text(&self, value: f64) -> String {
        format::fixed(value, self.decimals.max(0) as usize)
    }
}
