//! Rows whose values differ from the defaults, for texts.

use super::{Kind, Param, Parameters, Unit, Value, number_text};

/// The rows that have an effect and another value than `defaults`, without those whose keys are `stated`: each as its
/// label and its value, with the unit of the window. A text that states some rows in its own words takes the others,
/// later ones included, from here.
pub fn differing<P: Parameters>(params: &P, defaults: &P, stated: &[&str]) -> Vec<String> {
    let rows = P::TABLE.iter().filter(|row| !stated.contains(&row.key));
    let rows = rows.filter(|row| (row.unused)(params).is_none());
    let rows = rows.filter(|row| row.value(params) != row.value(defaults));
    rows.map(|row| row.sentence_part(params)).collect()
}

impl<P: Parameters> Param<P> {
    /// The label, as within a sentence, and the value as in the window: `minimum length 10 mm`.
    fn sentence_part(&self, params: &P) -> String {
        let mut label = self.label.to_owned();
        let mut letters = self.label.chars();
        // Abbreviations keep their capitals.
        if let (Some(first), Some(second)) = (letters.next(), letters.next())
            && !second.is_uppercase()
            && second != ' '
        {
            label = first.to_lowercase().to_string() + &self.label[first.len_utf8()..];
        }
        let value = self.shown_value(params);
        match self.kind {
            Kind::OneOf(_) => format!("{label} “{value}”"),
            _ => format!("{label} {value}"),
        }
    }

    /// The value as in the window, with its unit; a choice by its label.
    pub fn shown_value(&self, params: &P) -> String {
        match (&self.kind, self.value(params)) {
            (Kind::Number(number), Value::Number(stored)) => {
                let shown = number_text(number.unit.displayed(stored));
                match number.unit {
                    Unit::None => shown,
                    Unit::Degrees => shown + number.unit.symbol(),
                    unit => format!("{shown} {}", unit.symbol()),
                }
            }
            (Kind::OneOf(choices), Value::Choice(i)) => {
                choices.get(i).map_or("", |choice| choice.label).to_owned()
            }
            (_, value) => self.text(&value),
        }
    }
}
