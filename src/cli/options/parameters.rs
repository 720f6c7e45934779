//! Options from a table of parameters: one option for each row, with the row's name, help, default and check.

use super::super::runner::Failure;
use super::ValueError;
use crate::data::text::within_sentence;
use crate::parameters::{Choice, DefaultText, Kind, Param, ParamError, Parameters, Value, check};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::marker::PhantomData;

/// How a command uses a table: which rows are its options, and their defaults.
pub trait RowSelection<P> {
    /// Values of the options that are not given.
    fn defaults() -> P;

    /// Whether the row with this key is an option.
    fn has(_key: &str) -> bool {
        true
    }
}

/// All rows, with the defaults of the table.
#[derive(Clone, Copy, Debug)]
pub struct AllRows;

impl<P: Parameters> RowSelection<P> for AllRows {
    fn defaults() -> P {
        P::defaults()
    }
}

/// The options of a table, flattened into those of a command; holds the values that were given.
pub struct GivenParameters<P, T = AllRows> {
    /// Indices of rows, with their values.
    values: Vec<(usize, Value)>,
    table: PhantomData<fn() -> (P, T)>,
}

impl<P, T> Clone for GivenParameters<P, T> {
    fn clone(&self) -> Self {
        Self {
            values: self.values.clone(),
            table: PhantomData,
        }
    }
}

impl<P, T> std::fmt::Debug for GivenParameters<P, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.values.fmt(f)
    }
}

impl<P: Parameters, T: RowSelection<P>> GivenParameters<P, T> {
    /// The defaults with the given values. Refuses values beyond their limits, and options that have no effect.
    pub fn params(&self) -> Result<P, Failure> {
        self.or_defaults(T::defaults())
    }

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
                return Err(failure(ParamError::Unused { key, reason }));
            }
        }
        check(&params).map_err(failure)?;
        Ok(params)
    }

    /// Whether the option with this key was given.
    pub fn has(&self, key: &str) -> bool {
        self.values.iter().any(|(i, _)| P::TABLE[*i].key == key)
    }

    /// The rows that are options.
    fn rows() -> impl Iterator<Item = (usize, &'static Param<P>)> {
        P::TABLE
            .iter()
            .enumerate()
            .filter(|(_, row)| T::has(row.key))
    }
}

fn failure(error: ParamError) -> Failure {
    Failure::usage(error.to_string())
}

impl<P: Parameters, T: RowSelection<P>> clap::Args for GivenParameters<P, T> {
    fn augment_args(command: Command) -> Command {
        let defaults = T::defaults();
        command.args(Self::rows().map(|(_, row)| arg(row, &defaults)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: Parameters, T: RowSelection<P>> clap::FromArgMatches for GivenParameters<P, T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut values = Vec::new();
        for (i, row) in Self::rows() {
            if matches.value_source(row.key) != Some(ValueSource::CommandLine) {
                continue;
            }
            let value = match &row.kind {
                Kind::Switch(switch) => Value::Switch(switch.flag),
                _ => {
                    // A shared option accepts what either of its tables permits.
                    let mut texts = matches.get_raw(row.key).into_iter().flatten();
                    let text = texts.next().unwrap_or_default().to_string_lossy();
                    let value = row.parse(&text);
                    let value = value.and_then(|value| row.check_value(&value).map(|()| value));
                    value.map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, e))?
                }
            };
            values.push((i, value));
        }
        Ok(Self {
            values,
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
    let arg = arg.value_name(row.value_name);
    let arg = match (row.default_text, &row.kind) {
        (DefaultText::Listed | DefaultText::Omitted, _) => arg.help(row.help),
        (DefaultText::Noted(note), _) => {
            let default = note.replace("{}", &default);
            arg.help(format!("{} [default: {default}]", row.help))
        }
        // Names that need no explanation are listed on one line, with the default above.
        (_, Kind::OneOf(choices)) if choices.iter().all(|choice| choice.help.is_empty()) => {
            let chosen = choices.iter().find(|choice| (choice.is)(defaults));
            let arg = arg.help(row.help);
            match chosen {
                Some(choice) => arg.default_value(choice.key),
                None => arg,
            }
        }
        _ => arg.help(format!("{} [default: {default}]", row.help)),
    };
    match &row.kind {
        Kind::OneOf(choices) => {
            let parser = PossibleValuesParser::new(choices.iter().map(possible_value));
            arg.value_parser(parser.try_map(move |key| parse(row, &key)))
        }
        // A minus sign does not start an option.
        Kind::Number(_) => arg
            .allow_negative_numbers(true)
            .value_parser(move |text: &str| parse(row, text)),
        _ => arg
            .allow_hyphen_values(true)
            .value_parser(move |text: &str| parse(row, text)),
    }
}

/// The option of two rows with the same key, from tables of which a command uses one: its help states both defaults, and
/// `other` names the options with which those of the second table apply. Clap accepts any value:
/// [`GivenParameters`] checks it by the row of the table in use.
pub fn shared_option<A: Parameters, B: Parameters>(
    first: (&'static Param<A>, &A),
    second: (&'static Param<B>, &B),
    other: &str,
) -> Arg {
    let (a, b) = (first.0, second.0);
    let default = |text: Option<String>| match text {
        Some(text) => format!(" [default: {text}]"),
        None => String::new(),
    };
    let defaults = (stated_default(a, first.1), stated_default(b, second.1));
    let help = match (a.help == b.help, defaults) {
        (true, (Some(x), Some(y))) if x != y => {
            format!("{} [default: {x}; {other}: {y}]", a.help)
        }
        (true, (x, y)) => format!("{}{}", a.help, default(x.or(y))),
        (false, (x, y)) => {
            let second = within_sentence(b.help);
            format!("{}{}; {other}: {second}{}", a.help, default(x), default(y))
        }
    };
    let arg = Arg::new(a.key).long(a.key).help(help);
    match (&a.kind, &b.kind) {
        (Kind::Switch(_), _) => arg.action(ArgAction::SetTrue),
        (Kind::OneOf(first), Kind::OneOf(second)) => {
            let others = second
                .iter()
                .filter(|b| first.iter().all(|a| a.key != b.key));
            let values = first.iter().map(possible_value);
            let values: Vec<_> = values.chain(others.map(possible_value)).collect();
            arg.value_name(a.value_name)
                .value_parser(PossibleValuesParser::new(values))
        }
        // A minus sign does not start an option.
        (Kind::Number(_), _) => arg.value_name(a.value_name).allow_negative_numbers(true),
        _ => arg.value_name(a.value_name).allow_hyphen_values(true),
    }
}

/// The default as the help of an option states it; `None` if it states none.
fn stated_default<P: Parameters>(row: &Param<P>, defaults: &P) -> Option<String> {
    let default = row.text(&row.value(defaults));
    match row.default_text {
        DefaultText::Omitted => None,
        DefaultText::Noted(note) => Some(note.replace("{}", &default)),
        _ => Some(default),
    }
}

fn possible_value<P>(choice: &Choice<P>) -> PossibleValue {
    let value = PossibleValue::new(choice.key);
    match choice.help {
        "" => value,
        help => value.help(help),
    }
}

/// Reads a value; clap names the option and the text itself.
fn parse<P: Parameters>(row: &Param<P>, text: &str) -> Result<Value, ValueError> {
    let value = row.parse(text);
    let value = value.and_then(|value| row.check_value(&value).map(|()| value));
    value.map_err(|error| match error {
        ParamError::Value {
            expected, found, ..
        } => ValueError::new(expected, &found),
        error => ValueError::Parameter(error),
    })
}
