//! Commands of a shell.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};

/// A command of a shell. One that writes maps keeps their list apart, so that commands which differ in nothing else can be
/// joined.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShellCommand {
    before: String,
    maps: Vec<String>,
    after: String,
}

impl ShellCommand {
    /// A command with `--maps` between these parts.
    pub fn with_maps(before: String, maps: &[&str], after: String) -> Self {
        Self {
            before,
            maps: maps.iter().map(|map| (*map).to_owned()).collect(),
            after,
        }
    }

    /// Adds options at its end.
    pub fn add_options(&mut self, options: &str) {
        self.after += options;
    }

    /// Whether it does all that another one does; it is given the other's maps if they differ in nothing else.
    pub fn includes(&mut self, other: &Self) -> bool {
        let differ = (&self.before, &self.after) != (&other.before, &other.after);
        if differ || self.maps.is_empty() != other.maps.is_empty() {
            return false;
        }
        for map in &other.maps {
            if !self.maps.contains(map) {
                self.maps.push(map.clone());
            }
        }
        true
    }
}

impl From<String> for ShellCommand {
    fn from(text: String) -> Self {
        Self::with_maps(text, &[], String::new())
    }
}

impl Display for ShellCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.before)?;
        if !self.maps.is_empty() {
            write!(f, " --maps {}", self.maps.join(","))?;
        }
        f.write_str(&self.after)
    }
}
