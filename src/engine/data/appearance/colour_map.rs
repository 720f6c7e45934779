//! Colour maps as a few control colours, from which textures and legends are made.

use crate::data::keyed;

/// Colour map of values within the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ColourMap {
    /// Black to white.
    Grey,
    /// 12–98 % of viridis, so that both ends are visible on black.
    Viridis,
    /// 22–88 % of magma.
    Magma,
    /// Blue to yellow, readable with colour-vision deficiency.
    Cividis,
    /// Blue low, red high.
    Cost,
    /// Blue negative, white 0, orange positive.
    Diverging,
    /// One colour for a mask: opaque for high values.
    Mask,
    /// Green low, red high, as in the papers on the connectivity measure; red-green blind readers
    /// cannot rank it.
    GreenRed,
    /// The stop reasons of streamlines: [`ColourMap::STOP_COLOURS`].
    Stops,
    /// Black negative, blue positive, as in Lefohn 2004.
    Speed,
    /// Dark blue to yellow with rising lightness: shares of repetitions.
    Share,
    /// Red low, grey high: distances, of which the small ones matter.
    RedGrey,
}

keyed!(ColourMap, serde {
    Grey = "grey",
    Viridis = "viridis",
    Magma = "magma",
    Cividis = "cividis",
    Cost = "cost",
    Diverging = "diverging",
    Mask = "mask",
    GreenRed = "green-red",
    Stops = "stops",
    Speed = "speed",
    Share = "share",
    RedGrey = "red-grey",
});

impl ColourMap {
    /// All maps in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::Grey,
        Self::Viridis,
        Self::Magma,
        Self::Cividis,
        Self::Cost,
        Self::Diverging,
        Self::Mask,
        Self::GreenRed,
        Self::Stops,
        Self::Speed,
        Self::Share,
        Self::RedGrey,
    ];

    /// The maps suitable for images.
    pub const FOR_IMAGES: [Self; 7] = [
        Self::Grey,
        Self::Viridis,
        Self::Magma,
        Self::Cividis,
        Self::Cost,
        Self::Diverging,
        Self::Share,
    ];

    /// The maps suitable for measures of streamlines.
    pub const FOR_MEASURES: [Self; 2] = [Self::Viridis, Self::GreenRed];

    /// One colour for each stop reason of a streamline, by its number. Desired ends are green, those within white matter
    /// orange to brown, those in CSF red, and all others violet or grey.
    pub const STOP_COLOURS: [[u8; 3]; 17] = [
        [0x2B, 0xB6, 0x8A],
        [0xC9, 0xA8, 0xFF],
        [0x9A, 0x86, 0xFF],
        [0x6A, 0x5A, 0xD6],
        [0xF5, 0xC2, 0x5A],
        [0xE6, 0x9F, 0x00],
        [0xB9, 0x6F, 0xD8],
        [0xD9, 0xC7, 0xF5],
        [0x8D, 0x95, 0xA1],
        [0xFF, 0xB0, 0x70],
        [0xA8, 0x6A, 0x1E],
        [0xD9, 0x8A, 0x3C],
        [0xC9, 0x7A, 0x14],
        [0xA8, 0xE0, 0x2A],
        [0x0F, 0x7F, 0x3A],
        [0xA6, 0xF4, 0xE0],
        [0xE5, 0x3E, 0x3E],
    ];

    /// Name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grey => "Grey",
            Self::Viridis => "Viridis",
            Self::Magma => "Magma",
            Self::Cividis => "Cividis",
            Self::Cost => "Blue to red",
            Self::Diverging => "Diverging",
            Self::Mask => "Single colour",
            Self::GreenRed => "Green to red",
            Self::Stops => "Stop reasons",
            Self::Speed => "Speed",
            Self::Share => "Blue to yellow",
            Self::RedGrey => "Red to grey",
        }
    }

    /// Evenly spaced sRGB control colours, low to high.
    fn stops(self) -> &'static [[u8; 3]] {
        match self {
            Self::Grey => &[[0, 0, 0], [255, 255, 255]],
            Self::Viridis => &[
                [0x47, 0x2A, 0x79],
                [0x3E, 0x4A, 0x89],
                [0x2F, 0x69, 0x8E],
                [0x24, 0x86, 0x8E],
                [0x21, 0xA4, 0x85],
                [0x48, 0xC1, 0x6E],
                [0x95, 0xD8, 0x40],
                [0xF3, 0xE6, 0x1E],
            ],
            Self::Magma => &[
                [0x43, 0x0F, 0x75],
                [0x72, 0x1F, 0x81],
                [0xA0, 0x2F, 0x7F],
                [0xD0, 0x41, 0x6F],
                [0xF4, 0x69, 0x5C],
                [0xFE, 0xA4, 0x6F],
                [0xFE, 0xD3, 0x95],
            ],
            Self::Cividis => &[
                [0x00, 0x22, 0x4E],
                [0x35, 0x45, 0x6C],
                [0x66, 0x69, 0x70],
                [0x94, 0x8E, 0x77],
                [0xC8, 0xB8, 0x66],
                [0xFE, 0xE8, 0x38],
            ],
            Self::Cost => &[
                [0x2B, 0x5C, 0xFF],
                [0x28, 0xB4, 0xF0],
                [0x7F, 0xDC, 0x8A],
                [0xF7, 0xD9, 0x3E],
                [0xF5, 0x80, 0x3E],
                [0xD7, 0x26, 0x3D],
            ],
            Self::Diverging => &[[0x2B, 0x6C, 0xB0], [0xE6, 0xE6, 0xE6], [0xC2, 0x41, 0x0C]],
            Self::Mask => &[[0x9A, 0xA4, 0xB2], [0x9A, 0xA4, 0xB2]],
            Self::GreenRed => &[[0x22, 0xB1, 0x4C], [0xF2, 0xE6, 0x3A], [0xE0, 0x2B, 0x20]],
            Self::Stops => &Self::STOP_COLOURS,
            Self::Speed => &[
                [0x00, 0x00, 0x00],
                [0x00, 0x00, 0x00],
                [0x06, 0x0A, 0x18],
                [0x1E, 0x4F, 0xC8],
                [0x5A, 0xA0, 0xFF],
            ],
            Self::Share => &[
                [0x0F, 0x33, 0x50],
                [0x1A, 0x6A, 0x86],
                [0x35, 0xA2, 0x9F],
                [0x6F, 0xCB, 0x7B],
                [0xBF, 0xDD, 0x3B],
                [0xFD, 0xE7, 0x25],
            ],
            Self::RedGrey => &[
                [0xE0, 0x1F, 0x2D],
                [0xE8, 0x5A, 0x3C],
                [0xE0, 0x9A, 0x76],
                [0xC4, 0xB4, 0xA8],
                [0xA9, 0xAE, 0xB6],
            ],
        }
    }

    /// sRGB at `t` in `0..=1` (clamped; NaN gives the first colour).
    pub fn at(self, t: f32) -> [u8; 3] {
        let stops = self.stops();
        let position = t.clamp(0.0, 1.0).max(0.0) * (stops.len() - 1) as f32;
        let low = (position as usize).min(stops.len() - 2);
        let share = position - low as f32;
        std::array::from_fn(|c| {
            let (a, b) = (f32::from(stops[low][c]), f32::from(stops[low + 1][c]));
            (a + (b - a) * share).round() as u8
        })
    }
}
