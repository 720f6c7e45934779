//! Tables of parameters: one row for each value that a user may set.
//!
//! A solver declares its parameters once, as a table next to its `Params`. The command-line option, its help and its
//! check, the row of the form, the command text and the JSON are all derived from that row, so that none of them can
//! differ from another. The module is separate because it is independent of solvers and interfaces.
//!
//! Three units are involved. A value is *stored* in the solver's unit, *written* in the unit of options, and *shown*
//! in that of the window ([`Unit`]): an angle is stored in radians, written and shown in degrees.
//!
//! A choice may make another value unused ([`Param::unused`]). Such a value stays stored, so that it returns with the
//! choice; its row in the form states why it has no effect, and its option is refused.
//!
//! # Example
//!
//! A table with one row, from which the option, its check and the command text follow:
//!
//! ```
//! use arcuate_engine::parameters::{
//!     Kind, Limits, Number, Param, Parameters, Unit, arguments, check, row,
//! };
//!
//! #[derive(Clone, PartialEq, Debug)]
//! struct Walk {
//!     step_mm: f64,
//! }
//!
//! impl Parameters for Walk {
//!     const TABLE: &'static [Param<Self>] = &[Param::new(
//!         "step",
//!         "Step",
//!         Kind::Number(Number {
//!             unit: Unit::Mm,
//!             hard: Limits::above(0.0, 10.0),
//!             ..Number::new(
//!                 |walk: &Walk| Some(walk.step_mm),
//!                 |walk, to| walk.step_mm = to.unwrap_or(walk.step_mm),
//!             )
//!         }),
//!     )];
//!
//!     fn defaults() -> Self {
//!         Self { step_mm: 0.5 }
//!     }
//! }
//!
//! let step = row::<Walk>("step").ok_or("a row")?;
//! let mut walk = Walk::defaults();
//! step.set(&mut walk, &step.parse("0.25")?);
//! assert_eq!(arguments(&walk), " --step 0.25");
//! walk.step_mm = 20.0;
//! assert!(check(&walk).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod differing;
mod error;
mod json;
mod unit;
mod value;

pub use differing::differing;
pub use error::ParamError;
pub use json::json;
pub use unit::{Unit, number_text, shortest_f64};
pub use value::Value;

/// Values described by a table.
pub trait Parameters: Clone + PartialEq + Send + Sync + 'static {
    /// A row for each value that a user may set, in the order of options and forms.
    const TABLE: &'static [Param<Self>];

    /// The default values. Defaults that depend on data have their own constructor (`defaults_for`) and a
    /// [`DefaultText::Noted`].
    fn defaults() -> Self;

    /// Whether forms apply a value only at the end of a drag, because its consequences take long.
    const APPLIES_AFTER_DRAG: bool = false;

    /// Checks relations between values, which no single row covers.
    fn check_together(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// One parameter, with everything that its option, its form row and its command text need.
pub struct Param<P: 'static> {
    /// The option without its dashes. It never changes.
    pub key: &'static str,
    /// The name that help texts give to the value: `FA`, `MM`, `N`.
    pub value_name: &'static str,
    /// The name in the window and in sentences.
    pub label: &'static str,
    /// The effect of the parameter, for the option's help: one sentence without a full stop.
    pub help: &'static str,
    /// The reason for the default: half a sentence, shown after the default; may be empty.
    pub reason: &'static str,
    /// The window's own help text; empty if the window shows `help`.
    pub hint: &'static str,
    /// How the default appears in the help of the option and in command texts.
    pub default_text: DefaultText,
    /// The permitted values, and where they are stored.
    pub kind: Kind<P>,
    /// Why it has no effect, given the other values; its own value is kept nevertheless.
    pub unused: fn(&P) -> Option<&'static str>,
}

impl<P: 'static> Param<P> {
    /// A row that always has an effect; rows change the differing fields.
    pub const fn new(key: &'static str, label: &'static str, kind: Kind<P>) -> Self {
        Self {
            key,
            value_name: "",
            label,
            help: "",
            hint: "",
            reason: "",
            default_text: DefaultText::Stated,
            kind,
            unused: used,
        }
    }
}

/// How a default appears in the help of the option, and in command texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultText {
    /// The help states it. Command texts include every value, so that a command does the same if defaults differ.
    Stated,
    /// The help states it in this form, as it depends on data or on other options; `{}` stands for the typical default:
    /// `{}, without --within`. Command texts include every value.
    Noted(&'static str),
    /// The help of the command lists its defaults, that of the option states none. Command texts include every value.
    Listed,
    /// The help states it. Command texts include only other values.
    Implied,
    /// Neither includes it: the command without the option means the same.
    Omitted,
}

/// [`Param::unused`] of a value that always has an effect.
pub fn used<P>(_: &P) -> Option<&'static str> {
    None
}

/// The kind of a parameter's value.
pub enum Kind<P: 'static> {
    /// A number, which may be off.
    Number(Number<P>),
    /// One of a few named values.
    OneOf(&'static [Choice<P>]),
    /// On or off.
    Switch(Switch<P>),
    /// A value with its own notation, such as `random:2000`.
    Text(Text<P>),
}

/// A number. Decimals, range and limits are in the shown unit.
pub struct Number<P> {
    /// The written and the shown unit, relative to the stored one.
    pub unit: Unit,
    /// The distribution of values along a slider.
    pub scale: Scale,
    /// Decimals to which a slider rounds; typed values may have more.
    pub decimals: u8,
    /// The range of a slider.
    pub soft: (f64, f64),
    /// The permitted values.
    pub hard: Limits,
    /// The stored value; `None` if it is off.
    pub get: fn(&P) -> Option<f64>,
    /// Stores a value. `None` is passed only if [`Number::off`] allows it.
    pub set: fn(&mut P, Option<f64>),
    /// The meaning of *off*, in short; `None` for a number that cannot be off.
    pub off: Option<&'static str>,
    /// The shown value with which it is switched on if it is off by default; `None` for the middle of the range.
    pub on: Option<f64>,
}

impl<P> Number<P> {
    /// A dimensionless number from 0 to 1 that cannot be off; rows change the differing fields.
    pub const fn new(get: fn(&P) -> Option<f64>, set: fn(&mut P, Option<f64>)) -> Self {
        Self {
            unit: Unit::None,
            scale: Scale::Linear,
            decimals: 2,
            soft: (0.0, 1.0),
            hard: Limits::between(0.0, 1.0),
            get,
            set,
            off: None,
            on: None,
        }
    }

    /// The shown value that a number gets when it is switched on and is off by default.
    pub fn on_with(&self) -> f64 {
        if let Some(on) = self.on {
            return on;
        }
        let (low, high) = self.soft;
        let middle = match self.scale {
            Scale::Linear => 0.5 * (low + high),
            Scale::Logarithmic => (low * high).sqrt(),
        };
        if self.hard.whole {
            middle.round()
        } else {
            middle
        }
    }
}

/// The distribution of values along a slider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal steps add equal amounts.
    Linear,
    /// Equal steps multiply by equal factors.
    Logarithmic,
}

/// The permitted values of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// The smallest value.
    pub low: f64,
    /// The largest value; infinity if there is none.
    pub high: f64,
    /// Whether the smallest value itself is excluded.
    pub above: bool,
    /// Whether only whole numbers are permitted.
    pub whole: bool,
}

impl Limits {
    /// Limits from `low` to `high`, both permitted.
    pub const fn between(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            above: false,
            whole: false,
        }
    }

    /// More than `low`, at most `high`.
    pub const fn above(low: f64, high: f64) -> Self {
        Self {
            above: true,
            ..Self::between(low, high)
        }
    }

    /// Whole numbers from `low` to `high`.
    pub const fn whole(low: f64, high: f64) -> Self {
        Self {
            whole: true,
            ..Self::between(low, high)
        }
    }

    /// Whether a value is permitted. Infinity and NaN never are.
    pub fn contains(&self, value: f64) -> bool {
        let enough = match self.above {
            true => value > self.low,
            false => value >= self.low,
        };
        value.is_finite() && enough && value <= self.high && (!self.whole || value.fract() == 0.0)
    }

    /// The smallest permitted value with this many decimals.
    pub fn smallest(&self, decimals: u8) -> f64 {
        match self.above {
            true => self.low + 0.1f64.powi(i32::from(decimals)),
            false => self.low,
        }
    }

    /// `a number above 0 and at most 16`; `unit` converts the limits to another unit.
    fn sentence(&self, unit: impl Fn(f64) -> f64) -> String {
        let noun = match self.whole {
            true => "a whole number",
            false => "a number",
        };
        let (low, high) = (number_text(unit(self.low)), number_text(unit(self.high)));
        match (self.low.is_finite(), self.high.is_finite(), self.above) {
            (false, false, _) => noun.to_owned(),
            (false, true, _) => format!("{noun} of at most {high}"),
            (true, false, true) => format!("{noun} above {low}"),
            (true, false, false) => format!("{noun} of at least {low}"),
            (true, true, true) => format!("{noun} above {low} and at most {high}"),
            (true, true, false) => format!("{noun} from {low} to {high}"),
        }
    }
}

/// One of the named values of a [`Kind::OneOf`].
pub struct Choice<P> {
    /// The key in options; it never changes.
    pub key: &'static str,
    /// The label in the window.
    pub label: &'static str,
    /// An explanation of the choice.
    pub help: &'static str,
    /// Whether it is chosen.
    pub is: fn(&P) -> bool,
    /// Chooses it.
    pub choose: fn(&mut P),
}

impl<P> Choice<P> {
    /// A choice whose label explains itself.
    pub const fn new(
        key: &'static str,
        label: &'static str,
        is: fn(&P) -> bool,
        choose: fn(&mut P),
    ) -> Self {
        Self {
            key,
            label,
            help: "",
            is,
            choose,
        }
    }
}

/// A value that is on or off.
pub struct Switch<P> {
    /// The value that the option represents: `--one-way` switches `both ways` off.
    pub flag: bool,
    /// The labels of off and on in the window; `None` for a checkbox.
    pub labels: Option<[&'static str; 2]>,
    /// The stored value.
    pub get: fn(&P) -> bool,
    /// Stores a value.
    pub set: fn(&mut P, bool),
}

/// A value with its own notation. Its text has no blanks and nothing that a shell would interpret.
pub struct Text<P> {
    /// The notation, such as `random:COUNT or grid:MM`.
    pub expected: &'static str,
    /// Whether it is no longer than a number, so that the window gives it a field of that size.
    pub short: bool,
    /// The value as written; `None` if there is none.
    pub get: fn(&P) -> Option<String>,
    /// Parses and stores a value; returns `None` if the text does not follow the notation. `None` is passed only if
    /// [`Text::off`] allows it.
    pub set: fn(&mut P, Option<&str>) -> Option<()>,
    /// The meaning of no value, in short; `None` for a text that cannot be off.
    pub off: Option<&'static str>,
}

/// The row with this key.
pub fn row<P: Parameters>(key: &str) -> Option<&'static Param<P>> {
    P::TABLE.iter().find(|row| row.key == key)
}

/// Checks every value that has an effect, and their relations.
pub fn check<P: Parameters>(params: &P) -> Result<(), ParamError> {
    for row in P::TABLE {
        if (row.unused)(params).is_none() {
            row.check(params)?;
        }
    }
    params.check_together()
}

/// The parameters with the default in place of each value beyond its limits, whatever a file contains.
pub fn sanitized<P: Parameters>(params: &P) -> P {
    let defaults = P::defaults();
    let mut sanitized = params.clone();
    for row in P::TABLE {
        if row.check(&sanitized).is_err() {
            row.set(&mut sanitized, &row.value(&defaults));
        }
    }
    match sanitized.check_together() {
        Ok(()) => sanitized,
        Err(_) => defaults,
    }
}

/// The parameters under other defaults: each value that is a default `before` becomes the default `after`, and each that
/// the user chose stays.
pub fn carried<P: Parameters>(params: &P, before: &P, after: &P) -> P {
    let mut carried = params.clone();
    for row in P::TABLE {
        if row.value(params) == row.value(before) {
            row.set(&mut carried, &row.value(after));
        }
    }
    carried
}

/// The options that set these values, each after a space: ` --metric sharpened --alpha 3`. All that have an effect
/// are included, even at their defaults, so that the command does the same if defaults differ.
pub fn arguments<P: Parameters>(params: &P) -> String {
    let defaults = P::defaults();
    let written = P::TABLE.iter().filter(|row| (row.unused)(params).is_none());
    written.map(|row| row.argument(params, &defaults)).collect()
}

/// The options that set the values of these rows alone, as in [`arguments`].
pub fn arguments_of<P: Parameters>(params: &P, keys: &[&str]) -> String {
    let defaults = P::defaults();
    let written = P::TABLE.iter().filter(|row| keys.contains(&row.key));
    let written = written.filter(|row| (row.unused)(params).is_none());
    written.map(|row| row.argument(params, &defaults)).collect()
}

impl<P: Parameters> Param<P> {
    fn argument(&self, params: &P, defaults: &P) -> String {
        let key = self.key;
        let value = self.value(params);
        let implied = matches!(
            self.default_text,
            DefaultText::Implied | DefaultText::Omitted
        );
        if implied && value == self.value(defaults) {
            return String::new();
        }
        match (&self.kind, &value) {
            (Kind::Switch(switch), Value::Switch(on)) => match *on == switch.flag {
                true => format!(" --{key}"),
                false => String::new(),
            },
            // A command without the option means the same.
            (_, Value::Off) if self.value(defaults) == Value::Off => String::new(),
            _ => {
                let text = self.text(&value);
                match text.starts_with('-') {
                    true => format!(" --{key}={text}"),
                    false => format!(" --{key} {text}"),
                }
            }
        }
    }

    /// The value of this row.
    pub fn value(&self, params: &P) -> Value {
        match &self.kind {
            Kind::Number(number) => (number.get)(params).map_or(Value::Off, Value::Number),
            Kind::OneOf(choices) => {
                let chosen = choices.iter().position(|choice| (choice.is)(params));
                Value::Choice(chosen.unwrap_or(0))
            }
            Kind::Switch(switch) => Value::Switch((switch.get)(params)),
            Kind::Text(text) => (text.get)(params).map_or(Value::Off, Value::Text),
        }
    }

    /// Stores a value of this row's kind; other kinds change nothing.
    pub fn set(&self, params: &mut P, value: &Value) {
        match (&self.kind, value) {
            (Kind::Number(number), Value::Number(v)) => (number.set)(params, Some(*v)),
            (Kind::Number(number), Value::Off) if number.off.is_some() => {
                (number.set)(params, None);
            }
            (Kind::OneOf(choices), Value::Choice(i)) => {
                if let Some(choice) = choices.get(*i) {
                    (choice.choose)(params);
                }
            }
            (Kind::Switch(switch), Value::Switch(on)) => (switch.set)(params, *on),
            (Kind::Text(text), Value::Text(v)) => {
                // The caller has parsed it with `parse`, or taken it from a value.
                let _ = (text.set)(params, Some(v));
            }
            (Kind::Text(text), Value::Off) if text.off.is_some() => {
                let _ = (text.set)(params, None);
            }
            _ => {}
        }
    }

    /// The key as a JSON member.
    pub fn member(&self) -> String {
        self.key.replace('-', "_")
    }

    /// A value in the form of options and JSON.
    pub fn text(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (Kind::Number(number), Value::Number(v)) => number_text(number.unit.written(*v)),
            (Kind::OneOf(choices), Value::Choice(i)) => {
                choices.get(*i).map_or("", |choice| choice.key).to_owned()
            }
            (_, Value::Switch(on)) => if *on { "on" } else { "off" }.to_owned(),
            (_, Value::Text(text)) => text.clone(),
            _ => "off".to_owned(),
        }
    }

    /// Parses the output of [`Param::text`]; [`Param::check_value`] checks the limits.
    pub fn parse(&self, text: &str) -> Result<Value, ParamError> {
        let parsed = match &self.kind {
            Kind::Number(number) if text == "off" => number.off.map(|_| Value::Off),
            Kind::Number(number) => {
                let value = text.parse::<f64>().ok().filter(|v| !v.is_nan());
                value.map(|v| Value::Number(number.unit.read(v)))
            }
            Kind::OneOf(choices) => {
                let chosen = choices.iter().position(|choice| choice.key == text);
                chosen.map(Value::Choice)
            }
            Kind::Switch(_) => match text {
                "on" => Some(Value::Switch(true)),
                "off" => Some(Value::Switch(false)),
                _ => None,
            },
            Kind::Text(kind) if text == "off" && kind.off.is_some() => Some(Value::Off),
            Kind::Text(kind) => {
                let read = (kind.set)(&mut P::defaults(), Some(text));
                read.map(|()| Value::Text(text.to_owned()))
            }
        };
        parsed.ok_or_else(|| self.error(text.to_owned()))
    }

    /// Checks the value of this row alone.
    pub fn check(&self, params: &P) -> Result<(), ParamError> {
        self.check_value(&self.value(params))
    }

    /// Whether the row permits a value.
    pub fn check_value(&self, value: &Value) -> Result<(), ParamError> {
        let permitted = match (&self.kind, value) {
            (Kind::Number(number), Value::Number(v)) => {
                number.hard.contains(number.unit.displayed(*v))
            }
            (Kind::Number(number), Value::Off) => number.off.is_some(),
            _ => true,
        };
        match permitted {
            true => Ok(()),
            false => Err(self.error(self.text(value))),
        }
    }

    /// The permitted values, as text.
    pub fn expected(&self) -> String {
        match &self.kind {
            Kind::Number(number) => {
                let written = |shown: f64| number.unit.written(number.unit.stored(shown));
                let or_off = number.off.map_or("", |_| ", or off");
                format!("{}{or_off}", number.hard.sentence(written))
            }
            Kind::OneOf(choices) => {
                let keys: Vec<&str> = choices.iter().map(|choice| choice.key).collect();
                match keys.split_last() {
                    Some((last, rest)) if !rest.is_empty() => {
                        format!("{} or {last}", rest.join(", "))
                    }
                    _ => keys.concat(),
                }
            }
            Kind::Switch(_) => "on or off".to_owned(),
            Kind::Text(text) => {
                let or_off = text.off.map_or("", |_| ", or off");
                format!("{}{or_off}", text.expected)
            }
        }
    }

    /// A permitted value: the default, or the middle of the range if the default is off.
    fn example(&self) -> String {
        let value = match (&self.kind, self.value(&P::defaults())) {
            (Kind::Number(number), Value::Off) => {
                Value::Number(number.unit.stored(number.on_with()))
            }
            (_, value) => value,
        };
        self.text(&value)
    }

    fn error(&self, found: String) -> ParamError {
        ParamError::Value {
            label: self.label,
            key: self.key,
            found,
            expected: self.expected(),
            example: self.example(),
        }
    }
}
