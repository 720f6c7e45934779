//! Parameters as JSON: numbers as numbers, choices by their keys, `null` for what is off.

use super::{Kind, ParamError, Parameters, Value, check};
use serde_json::{Map, Number};

/// All values, including those without an effect, so that reading them gives the same parameters.
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

/// Reads the output of [`json`]; a missing member has its default.
pub fn from_json<P: Parameters>(json: &serde_json::Value) -> Result<P, ParamError> {
    let Some(members) = json.as_object() else {
        return Err(ParamError::Combination {
            found: abbreviated(json),
            expected: "an object with a member for each parameter".to_owned(),
            action: "write parameters as Arcuate does".to_owned(),
        });
    };
    let known = |name: &str| P::TABLE.iter().any(|row| row.member() == name);
    if let Some(name) = members.keys().find(|name| !known(name)) {
        let known: Vec<String> = P::TABLE.iter().map(super::Param::member).collect();
        return Err(ParamError::Unknown {
            found: name.clone(),
            known: known.join(", "),
        });
    }
    let mut params = P::defaults();
    // In the order of the table: choosing a method may set values that belong to it.
    for row in P::TABLE {
        let Some(json) = members.get(&row.member()) else {
            continue;
        };
        let text = match json {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null | serde_json::Value::Bool(false) => "off".to_owned(),
            serde_json::Value::Bool(true) => "on".to_owned(),
            json => abbreviated(json),
        };
        let value = row.parse(&text)?;
        row.check_value(&value)?;
        row.set(&mut params, &value);
    }
    check(&params)?;
    Ok(params)
}

/// The first 40 characters of a value at most.
fn abbreviated(json: &serde_json::Value) -> String {
    json.to_string().chars().take(40).collect()
}
