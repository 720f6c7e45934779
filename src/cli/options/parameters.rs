//! Options from a table of parameters: one option for each row, with the row's name, help, default and check.

use super::super::runner::Failure;
use crate::parameters::{Kind, Param, ParamError, Parameters, Value, check};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::marker::PhantomData;

/// The options of a table, flattened into those of a command; holds the values that were given.
pub struct Given<P> {
    /// Indices of rows, with their values.
    values: Vec<(usize, Value)>,
    table: PhantomData<fn() -> P>,
}

impl<P> Clone for Given<P> {
    fn clone(&self) -> Self {
        Self {
            values: self.values.clone(),
            table: PhantomData,
        }
    }
}

impl<P> std::fmt::Debug for Given<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.values.fmt(f)
    }
}

impl<P: Parameters> Given<P> {
    /// These values instead of the defaults. Refuses values beyond their limits, and options that have no effect.
    pub fn or_defaults(&self, defaults: P) -> Result<P, Failure> {
        let mut params = defaults;
        for (i, value) in &self.values {
            P::TABLE[*i].set(&mut params, value);
        }
        for (i, _) in &self.values {
            let row = &P::TABLE[*i];
            if let Some(reason) = (row.unused)(&params) {
                let key = row.key;
                return Err(refused(ParamError::Unused { key, reason }));
            }
        }
        check(&params).map_err(refused)?;
        Ok(params)
    }
}

fn refused(error: ParamError) -> Failure {
    Failure::usage(error.to_string())
}

impl<P: Parameters> clap::Args for Given<P> {
    fn augment_args(command: Command) -> Command {
        let defaults = P::defaults();
        command.args(P::TABLE.iter().map(|row| arg(row, &defaults)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: Parameters> clap::FromArgMatches for Given<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given =
            |row: &Param<P>| matches.value_source(row.key) == Some(ValueSource::CommandLine);
        let value = |(i, row): (usize, &Param<P>)| {
            let value = match &row.kind {
                Kind::Switch(switch) => Value::Switch(switch.flag),
                _ => matches.get_one::<Value>(row.key)?.clone(),
            };
            Some((i, value))
        };
        let rows = P::TABLE.iter().enumerate();
        Ok(Self {
            values: rows
                .filter(|(_, row)| given(row))
                .filter_map(value)
                .collect(),
            table: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The option of a row.
fn arg<P: Parameters>(row: &'static Param<P>, defaults: &P) -> Arg {
    let arg = Arg::new(row.key).long(row.key);
    if let Kind::Switch(_) = row.kind {
        return arg.action(ArgAction::SetTrue).help(row.help);
    }
    let default = row.text(&row.value(defaults));
    let default = match row.default_note {
        "" => default,
        note => note.replace("{}", &default),
    };
    let arg = arg
        .value_name(row.value_name)
        .help(format!("{} [default: {default}]", row.help));
    match &row.kind {
        Kind::OneOf(choices) => {
            let value = |choice: &crate::parameters::Choice<P>| {
                PossibleValue::new(choice.key).help(choice.help)
            };
            let parser = PossibleValuesParser::new(choices.iter().map(value));
            arg.value_parser(parser.try_map(move |key| parse(row, &key)))
        }
        // A sign is no option.
        Kind::Number(_) => arg
            .allow_negative_numbers(true)
            .value_parser(move |text: &str| parse(row, text)),
        _ => arg
            .allow_hyphen_values(true)
            .value_parser(move |text: &str| parse(row, text)),
    }
}

/// Reads a value; clap names the option and the text itself.
fn parse<P: Parameters>(row: &Param<P>, text: &str) -> Result<Value, String> {
    let value = row.parse(text);
    let value = value.and_then(|value| row.check_value(&value).map(|()| value));
    value.map_err(|error| match error {
        ParamError::Value {
            expected, found, ..
        } => format!("expected {expected}, found \"{found}\""),
        error => error.to_string(),
    })
}
