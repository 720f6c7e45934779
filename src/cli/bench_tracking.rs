//! stand-in
use crate::compute::Backend;
pub fn run(_: bool, _: &Backend) -> Vec<serde_json::Value> {
    vec![]
}
