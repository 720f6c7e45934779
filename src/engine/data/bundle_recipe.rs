//! Recipes of bundles: which labels of a map the streamlines of each pass, avoid and end in.
//!
//! # Example
//!
//! A bundle between two labels:
//!
//! ```
//! use arcuate_engine::data::bundle_recipe::{BundleRecipe, BundleRule};
//!
//! let rule = BundleRule {
//!     name: "a bundle".to_owned(),
//!     ends: vec![vec![1024], vec![16]],
//!     ..BundleRule::default()
//! };
//! let recipe = BundleRecipe { bundles: vec![rule] };
//! assert_eq!(recipe.labels(), [16, 1024]);
//! ```

use std::collections::BTreeSet;

/// The rule of a bundle. A streamline belongs to it if it meets all of these conditions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BundleRule {
    /// Its name, unique in a recipe.
    pub name: String,
    /// It passes at least one label of each list.
    pub through: Vec<Vec<u32>>,
    /// It passes none of these labels.
    pub avoid: Vec<u32>,
    /// One list: an end lies in one of its labels. Two lists: one end in each of them.
    pub ends: Vec<Vec<u32>>,
    /// Limits of its length, mm, inclusive.
    pub length_mm: Option<(f64, f64)>,
    /// The work that describes the bundle.
    pub citation: Option<String>,
}

impl BundleRule {
    /// The lists of labels of which a streamline needs at least one each.
    pub fn required(&self) -> impl Iterator<Item = &[u32]> {
        self.through.iter().chain(&self.ends).map(Vec::as_slice)
    }
}

/// Rules of bundles.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BundleRecipe {
    /// In the order of the file.
    pub bundles: Vec<BundleRule>,
}

impl BundleRecipe {
    /// All labels that the rules name, ascending.
    pub fn labels(&self) -> Vec<u32> {
        let lists = self.bundles.iter().flat_map(|rule| {
            let avoided = std::iter::once(rule.avoid.as_slice());
            rule.required().chain(avoided)
        });
        let labels: BTreeSet<u32> = lists.flatten().copied().collect();
        labels.into_iter().collect()
    }
}
