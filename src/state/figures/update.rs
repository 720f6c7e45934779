//! Figures follow what they are measured in.

use crate::solvers::region::ValueStatistics;
use crate::state::core::layer::Content;
use crate::state::core::live::{Detail, Order, Pace, Standing};
use crate::state::figures::jobs::{FIGURES, MeasureFigures, SaveFigures};
use crate::state::figures::{FigureSubject, FigureTable, FiguresKey, Selected};
use crate::state::regions::jobs::csv::NamedStatistics;
use crate::state::{Effect, State};
use std::path::PathBuf;

/// Requests the figures that the section shows.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    follow_selection(state);
    let request = match state.runtime.figures.is_open {
        true => state.figures_request(),
        false => None,
    };
    let live = &mut state.runtime.figures.live;
    let key = request.as_ref().map(|(key, ..)| key);
    match (live.follow(key, false, Pace::InTurn), request) {
        (Order::Start(key, _), Some((_, voxels, volume))) => {
            effects.push(Effect::submit(MeasureFigures {
                key,
                voxels,
                volume,
            }));
        }
        (Order::Cancel, _) => effects.push(Effect::Cancel(FIGURES)),
        (Order::Start(..) | Order::Nothing, _) => {}
    }
}

/// A region, a mask or a pathway that is selected elsewhere is measured next.
fn follow_selection(state: &mut State) {
    let layer = state.runtime.selected_layer;
    let layer = layer.and_then(|id| state.document.layer(id));
    let now = Selected {
        region: state.runtime.regions.selected,
        layer: layer
            .filter(|l| matches!(l.content, Content::Mask(_)))
            .map(|l| l.id),
        pathway: state.runtime.pathways.selected,
    };
    let before = std::mem::replace(&mut state.runtime.figures.selected, now);
    if now == before {
        return;
    }
    let region = now.region.filter(|_| now.region != before.region);
    let layer = now.layer.filter(|_| now.layer != before.layer);
    let pathway = now.pathway.filter(|_| now.pathway != before.pathway);
    let subject = region.map(FigureSubject::Region);
    let subject = subject.or(layer.map(FigureSubject::Mask));
    let subject = subject.or(pathway.map(|id| FigureSubject::Pathway(Some(id))));
    if subject.is_some() {
        state.runtime.figures.subject = subject;
    }
}

/// Receives figures.
pub(in crate::state) fn receive(state: &mut State, key: &FiguresKey, figures: ValueStatistics) {
    let requested = state.figures_request().map(|(key, ..)| key);
    let live = &mut state.runtime.figures.live;
    live.done(key.clone(), Detail::Full, figures, requested.as_ref());
}

/// Copies the figures shown, for a spreadsheet.
pub(in crate::state) fn copy(state: &mut State, effects: &mut Vec<Effect>) {
    let image = state.figure_image();
    let name = image.map(|(layer, _, frame)| (layer.name.clone(), frame));
    let is_final = state.figures_standing() == Some(Standing::Final);
    let figures = state.shown_figures().filter(|_| is_final).cloned();
    let Some(((name, frame), figures)) = name.zip(figures) else {
        state.runtime.notices.status = "There are no figures to copy yet".into();
        return;
    };
    let row = NamedStatistics {
        name,
        volume: frame,
        statistics: figures,
    };
    let headings = NamedStatistics::HEADINGS.join("\t");
    let fields = row.fields().join("\t");
    effects.push(Effect::CopyText(format!("{headings}\n{fields}\n")));
    state.runtime.notices.status =
        "Figures copied: a row with its headings, for a spreadsheet".into();
}

/// Writes a table of the figures of all volumes.
pub(in crate::state) fn save(
    state: &mut State,
    table: FigureTable,
    path: PathBuf,
    effects: &mut Vec<Effect>,
) {
    let request = state.figures_request();
    let name = state.figure_image().map(|(layer, ..)| layer.name.clone());
    let Some(((_, voxels, volume), name)) = request.zip(name) else {
        return;
    };
    effects.push(Effect::submit(SaveFigures {
        table,
        name,
        voxels,
        volume,
        path,
    }));
}
