//! Label maps: the meaning of the integers in an image.
//!
//! # Example
//!
//! The name of a label:
//!
//! ```
//! use arcuate_engine::data::labels::{Label, Labels};
//! use std::collections::BTreeMap;
//!
//! let thalamus = Label {
//!     name: "Thalamus".to_owned(),
//!     colour: None,
//! };
//! let labels = Labels {
//!     table: BTreeMap::from([(10, thalamus)]),
//! };
//! assert_eq!(labels.name(10), Some("Thalamus"));
//! assert_eq!(labels.name(11), None);
//! ```

use std::collections::BTreeMap;

/// Above this, float32 represents only some integers: 2²⁴ is also the rounded value of 2²⁴ + 1.
pub const LARGEST_WHOLE: f32 = 16_777_215.0;

/// Entry of a label table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Name of the structure.
    pub name: String,
    /// sRGB; `None`: derived from the number.
    pub colour: Option<[u8; 3]>,
}

/// Names and colours by number. 0 is the background; a number without an entry has a colour, too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Labels {
    /// Entries by number; numbers without an entry are permitted.
    pub table: BTreeMap<u32, Label>,
}

impl Labels {
    /// Name of a number; `None` without an entry.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.table.get(&number).map(|l| l.name.as_str())
    }

    /// sRGB.
    pub fn colour(&self, number: u32) -> [u8; 3] {
        let entry = self.table.get(&number).and_then(|l| l.colour);
        entry.unwrap_or_else(|| generated_colour(number))
    }

    /// `12 Left-Putamen`, or the number alone.
    pub fn described(&self, number: u32) -> String {
        match self.name(number) {
            Some(name) => format!("{number} {name}"),
            None => number.to_string(),
        }
    }
}

/// A colour that differs from those of lower numbers: hues a golden section apart, with alternating lightness, so
/// that no colour is close to its neighbour's.
fn generated_colour(number: u32) -> [u8; 3] {
    if number == 0 {
        return [0; 3];
    }
    let hue = (f64::from(number) * 0.618_033_988_749_895).fract() * 6.0;
    let (value, saturation) = [(0.95, 0.65), (0.75, 0.8), (0.9, 0.45)][number as usize % 3];
    // HSV to RGB: each primary rises and falls along the circle.
    let channel = |centre: f64| {
        let away = (hue - centre).abs();
        let away = away.min(6.0 - away);
        let share = (2.0 - away).clamp(0.0, 1.0);
        let level = value * (1.0 - saturation * (1.0 - share));
        (level * 255.0).round() as u8
    };
    [channel(0.0), channel(2.0), channel(4.0)]
}
