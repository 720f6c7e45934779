//! Settings that the sentences of a methods text do not state.

use crate::parameters::{Parameters, differing};

/// A sentence with the settings that differ from `defaults` and are not `stated` by other sentences, by the keys of
/// their rows; empty if there are none.
pub fn other_settings<P: Parameters>(params: &P, defaults: &P, stated: &[&str]) -> String {
    listed_settings(&differing(params, defaults, stated))
}

/// The sentence of [`other_settings`], from the settings of several tables.
pub fn listed_settings(others: &[String]) -> String {
    match others {
        [] => String::new(),
        [one] => format!(" One other setting differed from its default: {one}."),
        several => format!(
            " Other settings that differed from their defaults: {}.",
            several.join(", ")
        ),
    }
}
