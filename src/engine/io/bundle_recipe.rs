//! Recipes of bundles: text in TOML, with a table `[[bundle]]` for each bundle.

use super::source::read_text;
use super::{Error, json};
use crate::data::bundle_recipe::{BundleRecipe, BundleRule};
use crate::data::text::counted;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 1 << 22;
const EXPECTED: &str = "a recipe of bundles in TOML: a table [[bundle]] for each, with name, through, avoid, ends, length_mm and citation";
/// Bundles of a recipe: more would be no bundles of a brain.
const MAX_BUNDLES: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    #[serde(default)]
    bundle: Vec<Rule>,
}

/// The members of `[[bundle]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    #[serde(default)]
    through: Vec<Vec<u32>>,
    #[serde(default)]
    avoid: Vec<u32>,
    #[serde(default)]
    ends: Vec<Vec<u32>>,
    length_mm: Option<[f64; 2]>,
    citation: Option<String>,
}

/// The name of the built-in recipe, wherever the file of another one is named.
pub const FREESURFER: &str = "freesurfer";

/// The built-in recipe: twelve bundles by the labels of FreeSurfer.
pub fn freesurfer() -> Result<BundleRecipe, Error> {
    let text = include_str!("../../../assets/bundles/freesurfer.toml");
    parse(text, Path::new(FREESURFER))
}

/// Reads a recipe.
pub fn read(path: &Path) -> Result<BundleRecipe, Error> {
    parse(&read_text(path, TEXT_LIMIT_BYTES)?, path)
}

/// The recipe in a text; errors name the path.
pub fn parse(text: &str, path: &Path) -> Result<BundleRecipe, Error> {
    let recipe: Result<Recipe, _> = toml::from_str(text);
    let recipe = recipe.map_err(|e| {
        let line = e
            .span()
            .map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map_or(String::new(), |line| format!(" in line {line}"));
        let what = json::of_data(e.message());
        Error::malformed(path, format!("{what}{place}"), EXPECTED)
    })?;
    let malformed = |found: String| Error::malformed(path, found, EXPECTED);
    if recipe.bundle.is_empty() || recipe.bundle.len() > MAX_BUNDLES {
        return Err(malformed(counted(recipe.bundle.len(), "bundle")));
    }
    let mut names = BTreeSet::new();
    let mut bundles = Vec::with_capacity(recipe.bundle.len());
    for rule in recipe.bundle {
        let name = rule.name.trim().to_owned();
        if name.is_empty() {
            return Err(malformed("a bundle without a name".to_owned()));
        }
        if !names.insert(name.clone()) {
            return Err(malformed(format!("two bundles named “{name}”")));
        }
        let lists = || rule.through.iter().chain(&rule.ends);
        let problem = match &rule {
            rule if rule.through.is_empty() && rule.ends.is_empty() => {
                Some("neither through nor ends")
            }
            rule if rule.ends.len() > 2 => Some("more than two lists of ends"),
            _ if lists().any(Vec::is_empty) => Some("a list without labels"),
            rule if lists()
                .flatten()
                .chain(&rule.avoid)
                .any(|label| *label == 0) =>
            {
                Some("label 0, which is background")
            }
            rule if rule.length_mm.is_some_and(|[low, high]| !(low <= high)) => {
                Some("a smallest length above the largest one")
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(malformed(format!("{problem} in the bundle “{name}”")));
        }
        bundles.push(BundleRule {
            name,
            through: rule.through,
            avoid: rule.avoid,
            ends: rule.ends,
            length_mm: rule.length_mm.map(|[low, high]| (low, high)),
            citation: rule.citation,
        });
    }
    Ok(BundleRecipe { bundles })
}
