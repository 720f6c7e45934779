//! Bundles: clusters of the current streamlines, and statistics of their groups.

use crate::data::{Grid, Tractogram};
use crate::parameters::arguments;
use crate::solvers::tractogram::selection::{Edit, SelectionOptions};
use crate::state::core::layer::Layer;
use crate::state::core::notices::Severity;
use crate::state::core::text::quoted_path;
use crate::state::files::jobs::SAVE;
use crate::state::origin::commands::file_and_command;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::bundles::{ComputeGroupStatistics, SaveGroupStatistics};
use crate::state::streamlines::jobs::edit::{EditKind, Recognition};
use crate::state::streamlines::jobs::table::Measure;
use crate::state::streamlines::update::edits::{request, selecting_step};
use crate::state::streamlines::update::follow::profile_columns;
use crate::state::streamlines::update::save::not_ready;
use crate::state::streamlines::update::select_manually;
use crate::state::streamlines::{BottomPanel, Column, GroupKey, SelectionMode};
use crate::state::{Document, Effect, State};
use std::path::PathBuf;
use std::sync::Arc;

/// Divides the current streamlines that the rules select into clusters.
pub fn cluster(state: &mut State, effects: &mut Vec<Effect>) {
    let step = Edit::Cluster(state.document.streamlines.bundles.clusters);
    divide(state, Some(step), None, effects);
}

/// Recognises bundles among the current streamlines that the rules select.
pub fn recognise(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(map) = state.label_map().cloned() else {
        let sentence =
            "Recognising bundles needs a label map: open one, such as FreeSurfer's aparc+aseg";
        return state.runtime.notify(Severity::Information, sentence);
    };
    let Some(labels) = map.content.volume().cloned() else {
        return;
    };
    let settings = &state.document.streamlines.bundles;
    let recognition = Recognition {
        labels,
        map: map.name.clone(),
        recipe: settings.recipe.clone(),
        params: settings.recognition,
        options: recognition_options(&state.document, &map),
    };
    divide(state, None, Some(Box::new(recognition)), effects);
}

/// The options of `arcuate bundles` that recognise the same bundles; `None` if the label map is in no file.
fn recognition_options(document: &Document, map: &Layer) -> Option<SelectionOptions> {
    let settings = &document.streamlines.bundles;
    let (file, need) = file_and_command(document, map)?;
    let mut options = format!(" --labels {}", quoted_path(&file));
    if let Some(recipe) = &settings.recipe {
        options += &format!(" --recipe {}", quoted_path(recipe));
    }
    options += &arguments(&settings.recognition);
    Some(SelectionOptions {
        needs: need.into_iter().collect(),
        options,
    })
}

fn divide(
    state: &mut State,
    step: Option<Edit>,
    recognition: Option<Box<Recognition>>,
    effects: &mut Vec<Effect>,
) {
    let Some((layer, lines)) = state.current_streamlines() else {
        return;
    };
    let (layer, lines) = (layer.id, lines.clone());
    let rules = state.document.streamlines.rules_of(layer).cloned();
    let selecting = rules.map(|rules| selecting_step(state, &rules, &lines));
    if let Some(None) = selecting {
        let sentence = "The filter is still being applied: wait for it, then try again";
        return state.runtime.notify(Severity::Information, sentence);
    }
    let steps = selecting.flatten().into_iter().chain(step).collect();
    state.view.bottom_panel = Some(BottomPanel::Bundles);
    request(
        state,
        layer,
        (lines, steps, recognition),
        EditKind::Group,
        effects,
    );
}

/// Selects the streamlines of a group of the current streamlines that the rules keep.
pub fn choose(state: &mut State, group: &str, mode: SelectionMode) {
    let Some((layer, lines)) = state.current_streamlines() else {
        return;
    };
    let marks = state.counted_marks(layer.id);
    let Some(members) = lines.groups.get(group) else {
        return;
    };
    let counts = |line: &u32| {
        let marks = marks.as_ref();
        marks.is_none_or(|marks| marks.0.get(*line as usize).is_some_and(|mark| *mark))
    };
    let members: Vec<u32> = members.iter().copied().filter(counts).collect();
    let anchor = members.first().copied();
    select_manually::lines(state, &members, mode, anchor);
}

/// The value whose means count, as in the profile; the mean of labels would have no meaning.
pub(in crate::state) fn measured(state: &State, lines: &Tractogram) -> Option<Column> {
    let is_measured = |column: &Column| match column {
        Column::Value(_) => true,
        Column::Image(id) => {
            let image = state.column_image(*id);
            image.is_some_and(|(volume, _)| volume.labels.is_none())
        }
    };
    profile_columns(state, lines).into_iter().find(is_measured)
}

/// Requests the figures of the groups of the current streamlines, while they are shown.
pub(super) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let subject = state
        .current_streamlines()
        .filter(|_| state.view.bottom_panel == Some(BottomPanel::Bundles));
    let Some((layer, lines)) = subject.filter(|(_, lines)| !lines.groups.is_empty()) else {
        state.runtime.streamlines.groups.ask(None);
        return;
    };
    let column = measured(state, lines);
    let marks = state.counted_marks(layer.id);
    let requested = GroupKey {
        tractogram: lines.id(),
        marks: marks.clone(),
        value: column.as_ref().and_then(|column| state.origin(column)),
    };
    let mut grid: Option<Arc<Grid>> = lines.grid.clone();
    let value = column.as_ref().and_then(|column| match column {
        Column::Value(name) => Some(Measure::Value(name.clone())),
        Column::Image(id) => {
            let (volume, frame) = state.column_image(*id)?;
            grid = Some(volume.grid.clone());
            Some(Measure::Image(volume.clone(), frame))
        }
    });
    let name = column.map(|column| state.column_name(&column));
    let tractogram = lines.clone();
    if state
        .runtime
        .streamlines
        .groups
        .ask(Some(requested))
        .is_some()
    {
        effects.push(Effect::submit(ComputeGroupStatistics {
            among: CountedStreamlines {
                tractogram,
                marks: marks.map(|marks| marks.0),
            },
            value: value.zip(name),
            grid,
        }));
    }
}

/// Saves the figures of the groups.
pub fn save(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(SAVE);
    let runtime = &state.runtime.streamlines.groups;
    let has_failed = runtime.has_failed();
    match runtime.settled() {
        Some((_, table)) => effects.push(Effect::submit(SaveGroupStatistics {
            path,
            table: table.clone(),
        })),
        None => not_ready(state, has_failed),
    }
}
