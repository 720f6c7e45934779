//! Differences between two values of one panel: each parameter by its label, in the format of its row.

use crate::data::appearance::Transfer;
use crate::parameters::{self, Kind, Param, Parameters, Unit, shortest_f64};
use crate::state::core::colours::{CATEGORIES, CATEGORY_NAMES};
use crate::state::core::text::{self, counted, fixed};
use crate::state::core::volume_look::VolumeCut;
use glam::DVec3;

/// Largest number of decimals added if two values differ by less than the panel displays.
const FINER: usize = 9;

/// The unit of diffusivities after a number; panels show it above the rows.
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
    /// `detail` distinguishes values with the same name.
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
                    unit => text::with_unit(&numbers, unit),
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

    /// A number with the decimals and unit of the panel's row.
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
    pub(in crate::state) fn single(
        &mut self,
        label: &str,
        value: f32,
        decimals: usize,
        unit: &'static str,
    ) {
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

    /// Each row of a parameter table that has an effect, except those with these keys.
    pub(in crate::state) fn rows<P: Parameters>(&mut self, params: &P, but: &[&str]) {
        let rows = P::TABLE.iter().filter(|row| !but.contains(&row.key));
        for row in rows.filter(|row| (row.unused)(params).is_none()) {
            self.row(row.label, row, params);
        }
    }

    /// The row with this key under another label, since a panel may have the same parameter for several things.
    pub(in crate::state) fn row_named<P: Parameters>(
        &mut self,
        label: &str,
        params: &P,
        key: &str,
    ) {
        if let Some(row) = parameters::row(key) {
            self.row(label, row, params);
        }
    }

    fn row<P: Parameters>(&mut self, label: &str, row: &Param<P>, params: &P) {
        match (&row.kind, row.value(params)) {
            (Kind::Number(number), parameters::Value::Number(stored)) => {
                let unit = match number.unit {
                    Unit::Diffusivity => DIFFUSIVITY,
                    unit => unit.symbol(),
                };
                let (shown, decimals) = (number.unit.displayed(stored), number.decimals);
                self.number(label, shown, decimals.into(), unit);
            }
            (Kind::OneOf(choices), parameters::Value::Choice(i)) => {
                self.name(label, choices.get(i).map_or("", |choice| choice.label));
            }
            (Kind::Switch(switch), parameters::Value::Switch(on)) => match switch.labels {
                Some(labels) => self.name(label, labels[usize::from(on)]),
                None => self.check(label, on),
            },
            (_, value) => self.name(label, row.text(&value)),
        }
    }

    pub(in crate::state) fn name(&mut self, label: &str, name: impl Into<String>) {
        self.detailed(label, name, String::new());
    }

    /// One of several names, by its index.
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

    /// `Label before → after` for each difference. A field present in only one of the two belongs to an object that is
    /// named itself.
    pub(in crate::state) fn differences(self, after: &Self) -> Vec<String> {
        let pairs = self.0.into_iter().filter_map(|(label, before)| {
            let (_, after) = after.0.iter().find(|(other, _)| *other == label)?;
            (before != *after).then(|| difference(&label, &before, after))
        });
        pairs.collect()
    }
}

/// The label of the row with this key.
pub(in crate::state) fn label<P: Parameters>(key: &str) -> &'static str {
    parameters::row::<P>(key).map_or("", |row| row.label)
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

/// A new name, without an object name before it.
pub(in crate::state) fn renamed(was: &str, now: &str) -> Vec<String> {
    let name_fields = |name: &str| {
        let mut fields = Fields::default();
        fields.name("Name", name);
        fields
    };
    name_fields(was).differences(&name_fields(now))
}

/// Changes of one of several objects of a kind begin with its name.
pub(in crate::state) fn prefixed(name: &str, changes: Vec<String>) -> impl Iterator<Item = String> {
    let name = name.to_owned();
    changes
        .into_iter()
        .map(move |change| format!("{name}: {change}"))
}

/// A single object by its name; several by their number.
pub(in crate::state) fn event_text(names: &[&str], kind: &str, done: &str) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!("{name} {done}")),
        many => Some(format!("{} {done}", counted(many.len(), kind))),
    }
}

/// An opacity curve, by the name of its preset.
pub(in crate::state) fn curve(fields: &mut Fields, presets: &[(&str, Transfer)], now: &Transfer) {
    let known = presets.iter().find(|(_, preset)| preset == now);
    let name = known.map_or("Own curve", |(name, _)| name);
    fields.detailed("Curve", name, format!("{now:?}"));
}

/// The part that is cut away.
pub(in crate::state) fn cut(fields: &mut Fields, cut: VolumeCut) {
    let sides = [
        (DVec3::X, "Right"),
        (DVec3::NEG_X, "Left"),
        (DVec3::Y, "Front"),
        (DVec3::NEG_Y, "Back"),
        (DVec3::Z, "Top"),
        (DVec3::NEG_Z, "Bottom"),
    ];
    let name = match cut {
        VolumeCut::Nothing => "Nothing",
        VolumeCut::Side(normal) => {
            let side = sides.iter().find(|side| side.0 == normal);
            side.map_or("A side", |side| side.1)
        }
        VolumeCut::Facing => "The half facing you",
        VolumeCut::Corner => "The corner facing you",
        VolumeCut::Plane { .. } => "At a fixed plane",
    };
    fields.detailed("Cut away", name, format!("{cut:?}"));
}

/// A colour, by its name if it has one.
pub(in crate::state) fn colour(rgb: [u8; 3]) -> String {
    let mut named = CATEGORY_NAMES.into_iter().zip(CATEGORIES);
    let [r, g, b] = rgb;
    named.find(|(_, known)| *known == rgb).map_or_else(
        || format!("#{r:02X}{g:02X}{b:02X}"),
        |(name, _)| name.to_owned(),
    )
}
