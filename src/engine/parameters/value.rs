//! The value of a row by itself, separate from the struct that stores it.

/// A value of any kind. Numbers are in the stored unit.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number or a text that is switched off.
    Off,
    /// A number.
    Number(f64),
    /// The index of a choice in its row.
    Choice(usize),
    /// On or off.
    Switch(bool),
    /// A text in the row's notation.
    Text(String),
}
