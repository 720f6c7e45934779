//! Settings that the sentences of a methods text do not state.

use crate::parameters::{Parameters, differing};

/// A sentence with the settings that differ from `defaults` and are not `stated` by other sentences, by the keys of
/// their rows; empty if there are none.
pub fn other_settings<P: Parameters>(params: &P, defaults: &P, stated: &[&str]) -> String {
    let others = differing(params, defaults, stated);
    match others.as_slice() {
        [] => String::new(),
        [one] => format!(" One other setting differed from its default: {one}."),
        several => format!(
            " Other settings that differed from their defaults: {}.",
            several.join(", ")
        ),
    }
}
