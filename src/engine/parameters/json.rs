//! Parameters as JSON: numbers as numbers, choices by their keys, `null` for what is off.

use super::{Kind, Parameters, Value};
use serde_json::{Map, Number};

/// All values, including those without an effect.
pub fn json<P: Parameters>(params: &P) -> serde_json::Value {
    let member = |row: &super::Param<P>| {
        let value = row.value(params);
        let json = match (&row.kind, &value) {
            (_, Value::Off) => serde_json::Value::Null,
            (_, Value::Switch(on)) => serde_json::Value::Bool(*on),
            (Kind::Number(number), Value::Number(stored)) => {
                json_number(number.unit.written(*stored), number.hard.whole)
            }
            _ => serde_json::Value::String(row.text(&value)),
        };
        (row.member(), json)
    };
    let members: Map<_, _> = P::TABLE.iter().map(member).collect();
    serde_json::Value::Object(members)
}

/// JSON has no infinity: such a number is `null`.
fn json_number(written: f64, whole: bool) -> serde_json::Value {
    // Whole numbers up to 2⁵³ are exact.
    let number = match whole && (0.0..=9_007_199_254_740_992.0).contains(&written) {
        true => Some(Number::from(written as u64)),
        false => Number::from_f64(written),
    };
    number.map_or(serde_json::Value::Null, serde_json::Value::Number)
}
