//! Keyword arguments from the tables of parameters: one for each row, with its name, help, default and check.

use crate::errors::Failure;
use arcuate_engine::parameters::{
    DefaultText, Kind, Param, ParamError, Parameters, Value, check, number_text,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// Given values: the keyword arguments, and their texts in the notation of options.
pub type Given = Vec<(String, Text)>;

/// A given value.
#[derive(Clone, Debug)]
pub enum Text {
    Switch(bool),
    Value(String),
}

/// A parameter as Python sees it: name, kind, default, unit, permitted values, help.
pub type Row = (String, &'static str, String, &'static str, String, String);

/// The rows of a table, except those with these keys.
pub fn rows<P: Parameters>(without: &[&str]) -> Vec<Row> {
    rows_from(&P::defaults(), without)
}

/// The rows of a table with these defaults, except those with these keys.
pub fn rows_from<P: Parameters>(defaults: &P, without: &[&str]) -> Vec<Row> {
    let used = P::TABLE.iter().filter(|row| !without.contains(&row.key));
    used.map(|row| described(row, defaults)).collect()
}

fn described<P: Parameters>(row: &Param<P>, defaults: &P) -> Row {
    let text = row.text(&row.value(defaults));
    let (kind, unit) = match &row.kind {
        Kind::Number(number) => {
            let unit = match number.unit.symbol() {
                // Options and keyword arguments are in the stored unit of these.
                "%" => "fraction",
                "10⁻³ mm²/s" => "mm²/s",
                "°" => "degrees",
                symbol => symbol,
            };
            ("number", unit)
        }
        Kind::OneOf(_) => ("choice", ""),
        Kind::Switch(_) => ("switch", ""),
        Kind::Text(_) => ("text", ""),
    };
    let default = match (&row.kind, row.default_text) {
        // The argument means the flag, which is not given by default.
        (Kind::Switch(_), _) => "off".to_owned(),
        // Notes that name options are about the command line.
        (_, DefaultText::Noted(note)) if !note.contains("--") => note.replace("{}", &text),
        _ => text,
    };
    let help = row.help.to_owned();
    (row.member(), kind, default, unit, row.expected(), help)
}

/// Reads keyword arguments.
pub fn given(arguments: &Bound<'_, PyDict>) -> PyResult<Given> {
    let mut given = Vec::new();
    for (name, value) in arguments {
        let text = if value.is_none() {
            Text::Value("off".to_owned())
        } else if value.is_instance_of::<PyBool>() {
            Text::Switch(value.extract()?)
        } else if let Ok(text) = value.extract::<String>() {
            Text::Value(text)
        } else if let Ok(number) = value.extract::<i128>() {
            Text::Value(number.to_string())
        } else if let Ok(number) = value.extract::<f64>() {
            Text::Value(number_text(number))
        } else if let Ok(numbers) = value.extract::<Vec<f64>>() {
            let numbers: Vec<String> = numbers.into_iter().map(number_text).collect();
            Text::Value(numbers.join(","))
        } else {
            // A type that no row accepts: its row refuses the text.
            Text::Value(value.str()?.to_string())
        };
        given.push((name.extract()?, text));
    }
    Ok(given)
}

/// These values instead of the defaults. Refuses values beyond their limits, those without an effect, and unknown names.
pub fn filled<P: Parameters>(defaults: P, given: &Given, without: &[&str]) -> Result<P, Failure> {
    let mut params = defaults;
    let mut used = Vec::new();
    for (name, text) in given {
        let row = P::TABLE.iter().filter(|row| !without.contains(&row.key));
        let Some(row) = row.into_iter().find(|row| row.member() == *name) else {
            return Err(Failure::Parameter(format!(
                "Found the argument {name}, which this function does not have; see help() for its arguments"
            )));
        };
        let value = match (&row.kind, text) {
            (Kind::Switch(switch), Text::Switch(on)) => Value::Switch(*on == switch.flag),
            (Kind::Switch(switch), Text::Value(text)) if text == "off" => {
                Value::Switch(!switch.flag)
            }
            (_, Text::Switch(true)) => row.parse("on")?,
            (_, Text::Switch(false)) => row.parse("off")?,
            (_, Text::Value(text)) => row.parse(text)?,
        };
        row.check_value(&value)?;
        row.set(&mut params, &value);
        used.push(row);
    }
    for row in used {
        if let Some(reason) = (row.unused)(&params) {
            return Err(ParamError::Unused {
                key: row.key,
                reason,
            }
            .into());
        }
    }
    check(&params)?;
    Ok(params)
}

/// Whether an argument is given.
pub fn is_given(given: &Given, key: &str) -> bool {
    given.iter().any(|(name, _)| name == key)
}

/// The values of the arguments that are rows of this table, and the others.
pub fn split<P: Parameters>(given: Given) -> (Given, Given) {
    let is_row = |(name, _): &(String, Text)| P::TABLE.iter().any(|row| row.member() == *name);
    given.into_iter().partition(is_row)
}
