//! Manual selection of streamlines: with the mouse, in the table, in the matrix.

use crate::data::text::counted;
use crate::solvers::tractogram::pick::{PickQuery, Screen};
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::pick::PickStreamlines;
use crate::state::streamlines::update::in_place;
use crate::state::streamlines::{ManualSelection, SameArc, SelectionMode};
use crate::state::{Effect, LayerId, State};

pub fn pick(
    state: &mut State,
    screen: Screen,
    requested: PickQuery,
    how: SelectionMode,
    effects: &mut Vec<Effect>,
) {
    if in_place::refuse(state) {
        return;
    }
    let Some((layer, lines)) = state.current_streamlines() else {
        return;
    };
    let (id, tractogram) = (layer.id, lines.id());
    let among = CountedStreamlines {
        tractogram: lines.clone(),
        marks: state.counted_marks(id).map(|m| m.0),
    };
    let visible = state.visible_values(layer);
    state.runtime.streamlines.pending_pick = Some((id, tractogram, how));
    effects.push(Effect::submit(PickStreamlines {
        among,
        visible,
        screen,
        target: requested,
    }));
}

pub fn picked(state: &mut State, picked_lines: &[u32]) {
    let Some((layer, shown, how)) = state.runtime.streamlines.pending_pick.take() else {
        return;
    };
    let subject = state
        .current_streamlines()
        .map(|(l, lines)| (l.id, lines.id()));
    if subject == Some((layer, shown)) {
        lines(state, picked_lines, how, picked_lines.first().copied());
        report_count(state);
    }
}

fn report_count(state: &mut State) {
    let chosen = state.manual_selection().map_or(0, |c| c.count);
    let message = match chosen {
        0 => String::new(),
        n => format!("{} chosen", counted(n, "streamline")),
    };
    state.runtime.notices.status = message.into();
}

/// Selects streamlines of the layer by their numbers.
pub fn lines(state: &mut State, lines: &[u32], how: SelectionMode, anchor: Option<u32>) {
    if in_place::refuse(state) {
        return;
    }
    let Some((layer, tractogram)) = state.current_streamlines() else {
        return;
    };
    let (id, shown, len) = (layer.id, tractogram.id(), tractogram.len());
    let before = state
        .manual_selection()
        .filter(|c| c.layer == id && how != SelectionMode::Replace);
    let mut marks = before.map_or_else(|| vec![false; len], |c| c.marks.0.to_vec());
    for line in lines {
        if let Some(mark) = marks.get_mut(*line as usize) {
            *mark = how != SelectionMode::Toggle || !*mark;
        }
    }
    set_selection(state, (id, shown), marks, anchor);
}

fn set_selection(
    state: &mut State,
    (layer, tractogram): (LayerId, crate::data::DataId),
    marks: Vec<bool>,
    anchor: Option<u32>,
) {
    let count = marks.iter().filter(|m| **m).count();
    state.runtime.streamlines.manual_selection = (count > 0).then(|| ManualSelection {
        layer,
        tractogram,
        marks: SameArc(marks.into()),
        count,
        anchor,
    });
    if count > 0 {
        // The target of Delete and Esc.
        state.runtime.regions.selected = None;
        state.runtime.selected_layer = Some(layer);
    }
}

/// Among the streamlines that the rules keep.
fn choose_each(state: &mut State, choose: impl Fn(bool) -> bool) {
    let Some((layer, tractogram)) = state.current_streamlines() else {
        return;
    };
    let (id, tractogram_id, len) = (layer.id, tractogram.id(), tractogram.len());
    let among = state.counted_marks(id);
    let before = state
        .manual_selection()
        .filter(|c| c.layer == id)
        .map(|c| c.marks.clone());
    let marks = (0..len).map(|i| {
        let shown = among.as_ref().is_none_or(|m| m.0[i]);
        shown && choose(before.as_ref().is_some_and(|m| m.0[i]))
    });
    let marks = marks.collect();
    set_selection(state, (id, tractogram_id), marks, None);
    report_count(state);
}

pub fn all(state: &mut State) {
    choose_each(state, |_| true);
}

pub fn invert(state: &mut State) {
    choose_each(state, |was| !was);
}

/// Selects the streamlines that connect two labels.
pub fn pair(state: &mut State, row: usize, column: usize, how: SelectionMode) {
    if in_place::refuse(state) {
        return;
    }
    let subject = state.current_streamlines().map(|(_, lines)| lines.id());
    let pair_lines = match state.runtime.streamlines.connect.shown() {
        Some((key, connected)) if Some(key.tractogram) == subject => {
            let members = connected.connectome.members(row, column);
            let members = members.iter().enumerate().filter(|(_, m)| **m);
            members.map(|(i, _)| i as u32).collect::<Vec<u32>>()
        }
        _ => return,
    };
    lines(state, &pair_lines, how, None);
    report_count(state);
}
