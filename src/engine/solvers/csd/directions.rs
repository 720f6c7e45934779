//! Directions in which a distribution is not negative.

use glam::DVec3;

/// Directions of a half sphere; the opposite ones are implied.
#[derive(Clone, PartialEq, Debug)]
pub struct Directions {
    representatives: Vec<DVec3>,
    mirrored: bool,
}

impl Directions {
    /// Any directions; vectors of any length but 0.
    pub fn from_list(directions: &[DVec3]) -> Self {
        Self {
            representatives: directions
                .iter()
                .map(|u| u.normalize_or(DVec3::Z))
                .collect(),
            mirrored: false,
        }
    }

    /// A set for a series of this order: 320 directions up to order 8, 512 above, so that the distribution is not
    /// notably negative in between. The set is symmetric: (±x, ±y, z) are in it for each of its representatives.
    pub fn for_order(order: usize) -> Self {
        let table: &[[f64; 2]] = if order <= 8 {
            &super::direction_tables::EIGHTY
        } else {
            &super::direction_tables::ONE_HUNDRED_AND_TWENTY_EIGHT
        };
        let direction = |&[x, y]: &[f64; 2]| DVec3::new(x, y, (1.0 - x * x - y * y).sqrt());
        Self {
            representatives: table.iter().map(direction).collect(),
            mirrored: true,
        }
    }

    /// Directions whose images make up the set.
    pub fn representatives(&self) -> &[DVec3] {
        &self.representatives
    }

    /// Whether each representative stands for (±x, ±y, z).
    pub fn is_mirrored(&self) -> bool {
        self.mirrored
    }

    /// All directions: by image, then by representative.
    pub fn all(&self) -> Vec<DVec3> {
        let images: &[DVec3] = match self.mirrored {
            false => &[DVec3::ONE],
            true => &[
                DVec3::ONE,
                DVec3::new(-1.0, 1.0, 1.0),
                DVec3::new(1.0, -1.0, 1.0),
                DVec3::new(-1.0, -1.0, 1.0),
            ],
        };
        let image = |sign: &DVec3| {
            let sign = *sign;
            self.representatives.iter().map(move |u| sign * *u)
        };
        images.iter().flat_map(image).collect()
    }
}
