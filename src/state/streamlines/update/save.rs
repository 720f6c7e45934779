//! Tables as files.

use crate::state::core::notices::Severity;
use crate::state::files::jobs::SAVE;
use crate::state::streamlines::jobs::csv::{
    ConnectomeTable, NamedColumn, SaveConnectome, SaveProfile, SaveScores, SaveTable,
};
use crate::state::streamlines::{Column, MatrixValue};
use crate::state::{Effect, State};
use std::path::PathBuf;

/// Reports why there is nothing to save.
pub(super) fn not_ready(state: &mut State, has_failed: bool) {
    let sentence = match has_failed {
        true => "It was not computed: change its settings or the filter, then export again",
        false => "It is still being computed: wait for it, then export again",
    };
    state.runtime.notify(Severity::Information, sentence);
}

/// Saves the rows as shown, with all available columns and the values that the table does not show, like `arcuate
/// table`.
pub fn table(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    let table = state.current_table().and_then(|table| {
        let (key, order) = state.runtime.streamlines.order.settled()?;
        let (lines, current) = (table.names, key.tractogram == table.id);
        let columns = state.columns(lines);
        let named_column = |c: &Column| {
            let values = state.values(table.id, c)?;
            Some((file_name(state, c), values.clone().into()))
        };
        let of_images = columns.iter().filter(|c| matches!(c, Column::Image(_)));
        let own = lines.value_names().into_iter().filter(|name| {
            // Values that the table does not show stay in the file.
            table.in_memory.is_some() || columns.contains(&Column::Value((*name).to_owned()))
        });
        let own = own.map(|name| {
            let shown = named_column(&Column::Value(name.to_owned()));
            let hidden = || {
                let values = table.in_memory?.per_streamline.get(name)?;
                Some((name.to_owned(), values.clone()))
            };
            shown.or_else(hidden)
        });
        let columns: Option<Vec<NamedColumn>> = own.chain(of_images.map(named_column)).collect();
        current.then_some((columns?, order.clone()))
    });
    let has_failed = state.runtime.streamlines.order.has_failed();
    match table {
        Some((columns, order)) => effects.push(Effect::submit(SaveTable {
            path,
            columns,
            order,
        })),
        None => not_ready(state, has_failed),
    }
}

/// Values of the streamlines under their own names, images under those of their layers.
fn file_name(state: &State, column: &Column) -> String {
    match column {
        Column::Value(name) => name.clone(),
        column => state.column_name(column),
    }
}

pub fn profile(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    let runtime = &state.runtime.streamlines.profile;
    let has_failed = runtime.has_failed();
    match runtime.settled() {
        Some((_, named)) => effects.push(Effect::submit(SaveProfile {
            path,
            profile: named.profile.clone(),
            names: named.names.clone(),
        })),
        None => not_ready(state, has_failed),
    }
}

/// Saves the values of the matrix.
pub fn matrix(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    let table = match state.document.streamlines.connect.shown {
        MatrixValue::Count => ConnectomeTable::Count,
        MatrixValue::Length => ConnectomeTable::Length,
        MatrixValue::Value => ConnectomeTable::Value,
    };
    let runtime = &state.runtime.streamlines.connect;
    let has_failed = runtime.has_failed();
    match runtime.settled() {
        Some((_, labelled)) => effects.push(Effect::submit(SaveConnectome {
            path,
            connectome: labelled.connectome.clone(),
            names: labelled.names.to_vec(),
            table,
        })),
        None => not_ready(state, has_failed),
    }
}

/// Saves the scores of each bundle.
pub fn scores(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    let runtime = &state.runtime.streamlines.scores;
    let has_failed = runtime.has_failed();
    match runtime.settled() {
        Some((_, scores)) => effects.push(Effect::submit(SaveScores {
            path,
            scores: scores.clone(),
        })),
        None => not_ready(state, has_failed),
    }
}
