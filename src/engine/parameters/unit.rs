//! Units: how a stored number is written in options, and shown in the window.

/// The unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A number without a unit.
    None,
    /// Millimetres.
    Mm,
    /// A change per millimetre.
    PerMm,
    /// A number of steps.
    Steps,
    /// Stored in radians, written and shown in degrees.
    Degrees,
    /// Stored and written as a fraction, shown in percent.
    Percent,
    /// Millilitres.
    Ml,
    /// Milliseconds.
    Ms,
    /// Micrometres.
    Um,
    /// A diffusivity: stored and written in mm²/s, shown in 10⁻³ mm²/s.
    Diffusivity,
}

impl Unit {
    /// The unit symbol that is shown.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Mm => "mm",
            Self::PerMm => "/mm",
            Self::Steps => "steps",
            Self::Degrees => "°",
            Self::Percent => "%",
            Self::Ml => "ml",
            Self::Ms => "ms",
            Self::Um => "µm",
            Self::Diffusivity => "10⁻³ mm²/s",
        }
    }

    /// A stored number in the unit of the window.
    pub fn displayed(self, stored: f64) -> f64 {
        match self {
            Self::None | Self::Mm | Self::PerMm | Self::Steps | Self::Ml | Self::Ms | Self::Um => {
                stored
            }
            // Rounded to a billionth: 45° stay 45°.
            Self::Degrees => {
                let degrees = stored.to_degrees();
                let rounded = (degrees * 1e9).round() / 1e9;
                if rounded.is_finite() {
                    rounded
                } else {
                    degrees
                }
            }
            Self::Percent => without_last_digits(stored * 100.0),
            Self::Diffusivity => without_last_digits(stored * 1000.0),
        }
    }

    /// The stored number for a shown one.
    pub fn stored(self, shown: f64) -> f64 {
        match self {
            Self::None | Self::Mm | Self::PerMm | Self::Steps | Self::Ml | Self::Ms | Self::Um => {
                shown
            }
            Self::Degrees => shown.to_radians(),
            Self::Percent => without_last_digits(shown / 100.0),
            Self::Diffusivity => without_last_digits(shown / 1000.0),
        }
    }

    /// A stored number in the unit of options.
    pub fn written(self, stored: f64) -> f64 {
        match self {
            Self::Degrees => self.displayed(stored),
            _ => stored,
        }
    }

    /// The stored number for one in options.
    pub fn read(self, written: f64) -> f64 {
        match self {
            Self::Degrees => self.stored(written),
            _ => written,
        }
    }
}

/// The value without the last digits, which result from a change of unit.
fn without_last_digits(value: f64) -> f64 {
    let text = format!("{value:.11e}");
    text.parse().unwrap_or(value)
}

/// A number in single precision as its shortest decimals: 0.1 instead of 0.10000000149.
pub fn shortest_f64(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// A number with all its digits; below 1e-6 and from 1e9 on as a power of ten.
pub fn number_text(value: f64) -> String {
    match value != 0.0 && value.is_finite() && !(1e-6..1e9).contains(&value.abs()) {
        true => format!("{value:e}"),
        false => value.to_string(),
    }
}
