//! Differences between two documents: each parameter by the label and in the form of its panel. Undo and redo name
//! with it what they changed, and the way back of a surface what it changes.

pub(in crate::state) mod looks;

use crate::parameters::{self, Kind, Parameters, Unit, shortest_f64};
use crate::state::core::words::{self, counted, fixed};
use crate::state::{Document, filter, pathways, regions, segment, streamlines, track};

/// A sentence names at most so many changes.
const NAMED: usize = 4;
/// Decimals beyond the panel's where two values differ by less than it shows.
const FINER: usize = 9;
/// The unit of diffusivities behind a number, where panels have it above the rows.
pub(in crate::state) const DIFFUSIVITY: &str = "· 10⁻³ mm²/s";

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    /// One number or several, with the decimals and the unit of the panel.
    Numbers {
        values: Vec<f64>,
        between: &'static str,
        decimals: usize,
        unit: &'static str,
    },
    /// `detail` tells values apart that have one name.
    Named { name: String, detail: String },
}

impl Value {
    fn text(&self, finer: usize) -> String {
        match self {
            Self::Numbers {
                values,
                between,
                decimals,
                unit,
            } => {
                let numbers = values.iter().map(|v| fixed(*v, decimals + finer));
                let numbers = numbers.collect::<Vec<_>>().join(between);
                match *unit {
                    "°" => format!("{numbers}°"),
                    unit => words::with_unit(&numbers, unit),
                }
            }
            Self::Named { name, .. } => name.clone(),
        }
    }
}

/// Parameters of one panel by their labels.
#[derive(Default)]
pub(in crate::state) struct Fields(Vec<(String, Value)>);

impl Fields {
    fn value(&mut self, label: &str, value: Value) {
        self.0.push((label.to_owned(), value));
    }

    /// Decimals and unit as the panel's row has them.
    pub(in crate::state) fn number(
        &mut self,
        label: &str,
        value: f64,
        decimals: usize,
        unit: &'static str,
    ) {
        self.numbers(label, &[value], "", (decimals, unit));
    }

    pub(in crate::state) fn numbers(
        &mut self,
        label: &str,
        values: &[f64],
        between: &'static str,
        (decimals, unit): (usize, &'static str),
    ) {
        let values = values.to_vec();
        let numbers = Value::Numbers {
            values,
            between,
            decimals,
            unit,
        };
        self.value(label, numbers);
    }

    pub(in crate::state) fn whole(&mut self, label: &str, value: usize) {
        self.number(label, value as f64, 0, "");
    }

    /// A number in single precision, without the digits that the conversion adds.
    fn single(&mut self, label: &str, value: f32, decimals: usize, unit: &'static str) {
        self.number(label, shortest_f64(value), decimals, unit);
    }

    pub(in crate::state) fn percent(&mut self, label: &str, share: f32) {
        self.number(label, shortest_f64(share) * 100.0, 0, "%");
    }

    /// A number that can be switched off.
    pub(in crate::state) fn or_off(
        &mut self,
        label: &str,
        value: Option<f64>,
        decimals: usize,
        unit: &'static str,
    ) {
        self.number_or(label, value, (decimals, unit), "off");
    }

    pub(in crate::state) fn number_or(
        &mut self,
        label: &str,
        value: Option<f64>,
        (decimals, unit): (usize, &'static str),
        off: &str,
    ) {
        match value {
            Some(value) => self.number(label, value, decimals, unit),
            None => self.name(label, off),
        }
    }

    /// Each row of a parameter table that has an effect, but those with these keys.
    pub(in crate::state) fn rows<P: Parameters>(&mut self, params: &P, but: &[&str]) {
        let rows = P::TABLE.iter().filter(|row| !but.contains(&row.key));
        for row in rows.filter(|row| (row.unused)(params).is_none()) {
            match (&row.kind, row.value(params)) {
                (Kind::Number(number), parameters::Value::Number(stored)) => {
                    let unit = match number.unit {
                        Unit::Diffusivity => DIFFUSIVITY,
                        unit => unit.symbol(),
                    };
                    let (shown, decimals) = (number.unit.shown(stored), number.decimals);
                    self.number(row.label, shown, decimals.into(), unit);
                }
                (Kind::OneOf(choices), parameters::Value::Choice(i)) => {
                    self.name(row.label, choices.get(i).map_or("", |choice| choice.label));
                }
                (Kind::Switch(switch), parameters::Value::Switch(on)) => match switch.labels {
                    Some(labels) => self.name(row.label, labels[usize::from(on)]),
                    None => self.check(row.label, on),
                },
                (_, value) => self.name(row.label, row.text(&value)),
            }
        }
    }

    pub(in crate::state) fn name(&mut self, label: &str, name: impl Into<String>) {
        self.detailed(label, name, String::new());
    }

    /// One of a few names by its number in their list.
    pub(in crate::state) fn choice<T: PartialEq>(
        &mut self,
        label: &str,
        now: &T,
        all: &[(T, &str)],
    ) {
        let known = all.iter().find(|(value, _)| value == now);
        self.name(label, known.map_or("another", |(_, name)| name));
    }

    pub(in crate::state) fn detailed(
        &mut self,
        label: &str,
        name: impl Into<String>,
        detail: String,
    ) {
        let name = name.into();
        self.value(label, Value::Named { name, detail });
    }

    pub(in crate::state) fn check(&mut self, label: &str, on: bool) {
        self.name(label, if on { "on" } else { "off" });
    }

    /// `Label before → after` of each that differs. What only one of both has came or went with something that is
    /// named itself.
    pub(in crate::state) fn differences(self, after: &Self) -> Vec<String> {
        let pairs = self.0.into_iter().filter_map(|(label, before)| {
            let (_, after) = after.0.iter().find(|(other, _)| *other == label)?;
            (before != *after).then(|| difference(&label, &before, after))
        });
        pairs.collect()
    }
}

fn difference(label: &str, before: &Value, after: &Value) -> String {
    let texts = (0..=FINER).map(|finer| [before.text(finer), after.text(finer)]);
    let mut texts = texts.filter(|[before, after]| before != after);
    match (texts.next(), label) {
        (Some([before, after]), "") => format!("{before} → {after}"),
        (Some([before, after]), label) => format!("{label} {before} → {after}"),
        (None, label) => format!("{label} changed"),
    }
}

/// Another name, which needs no name before it.
pub(in crate::state) fn renamed(was: &str, now: &str) -> Vec<String> {
    let of = |name: &str| {
        let mut fields = Fields::default();
        fields.name("Name", name);
        fields
    };
    of(was).differences(&of(now))
}

/// Changes of one of several things of a kind begin with its name.
pub(in crate::state) fn of_thing(name: &str, changes: Vec<String>) -> impl Iterator<Item = String> {
    let name = name.to_owned();
    changes
        .into_iter()
        .map(move |change| format!("{name}: {change}"))
}

/// By its name; several of them by their number.
pub(in crate::state) fn things(names: &[&str], kind: &str, done: &str) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!("{name} {done}")),
        many => Some(format!("{} {done}", counted(many.len(), kind))),
    }
}

/// The differences between two documents in words with values, the most important first.
pub fn between(before: &Document, after: &Document) -> Vec<String> {
    let mut all = regions::changes::changed(before, after);
    all.extend(track::changes::changed(before, after));
    all.extend(pathways::changes::changed(before, after));
    all.extend(segment::changes::segment(
        after,
        &before.segment,
        &after.segment,
    ));
    all.extend(filter::changes::changed(before, after));
    all.extend(streamlines::changes::changed(before, after));
    all.extend(looks::changed(before, after));
    if all.is_empty() {
        all.extend(regions::changes::came_or_went(before, after));
        all.extend(pathways::changes::came_or_went(before, after));
        all.extend(looks::came_or_went(before, after));
    }
    all
}

/// The first of them, and how many more there are.
pub fn listed(changes: &[String]) -> String {
    let text = changes[..changes.len().min(NAMED)].join(", ");
    match changes.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
