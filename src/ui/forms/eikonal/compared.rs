//! The live pathway compared with those of random pairs of the same head.

use crate::solvers::pathway::NoRates;
use crate::state::core::text::counted;
use crate::state::pathways::jobs::{COMPARE, PATHWAY, PathwayComparison};
use crate::state::pathways::{PathwayAction, RandomPairRank, Standing};
use crate::state::track::types::odf::Model;
use crate::state::{Action, Severity, State};
use crate::ui::format::{fixed, with_unit};
use crate::ui::theme;
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::rows;
use egui::Ui;

/// How to read the two figures, on hover; `missing`: why there are none.
fn help(compared: Option<&PathwayComparison>, is_lifted: bool) -> String {
    let pairs = match compared.map_or(0, |c| c.known_pairs.pairs.rates.len()) {
        0 => "random pairs".to_owned(),
        n => counted(n, "random pair"),
    };
    let missing = compared.and_then(|c| c.no_rates);
    let preview = if is_lifted {
        ". Both are computed as in the preview, on voxels of twice the size and in 42 directions: the figures of the full \
         pathway differ"
    } else {
        ""
    };
    let missing = match missing {
        None => "",
        Some(NoRates::NoPath) => {
            ". The comparison uses voxels of twice the size, on which no path joins seed and target"
        }
        Some(NoRates::TooShort) => {
            ". The comparison uses voxels of twice the size and leaves out one of them at each end: nothing of this \
             path is left"
        }
    };
    format!(
        "Compared with the cheapest paths of {pairs} in this head: regions of white matter as large as seed and \
         target. A bundle costs less than most of them{preview}{missing}"
    )
}

/// The least length between the regions that can be compared: a voxel beyond each of them.
fn too_short(compared: Option<&PathwayComparison>) -> String {
    let spacing = |c: &PathwayComparison| c.known_pairs.pairs.spacing_mm;
    let mm = with_unit(&fixed(2.0 * compared.map_or(0.0, spacing), 0), "mm");
    format!("under {mm} between the ends")
}

/// The two figures. Their rows exist as long as there is a pathway, so that nothing below them moves when the figures
/// arrive.
pub fn show(ui: &mut Ui, state: &State) {
    let compared = state.pathway_compared();
    let shares = compared.and_then(|c| c.shares);
    let pairs = compared.map_or(0, |c| c.known_pairs.pairs.rates.len());
    let no_rates = compared.and_then(|c| c.no_rates);
    let comparing = state.runtime.jobs.is_running(&[COMPARE]);
    let text = |share: Option<f64>| match share {
        Some(share) => RandomPairRank::cheaper_in_row(share, pairs),
        None if comparing => "comparing…".to_owned(),
        None if compared.is_some_and(|c| c.known_pairs.pairs.too_few()) => {
            "too few pairs are joined".to_owned()
        }
        None if no_rates == Some(NoRates::NoPath) => "no path in larger voxels".to_owned(),
        None if no_rates == Some(NoRates::TooShort) => too_short(compared.map(AsRef::as_ref)),
        None if state.runtime.pathways.not_compared.is_some() => "not compared".to_owned(),
        None if state.pathway_standing() == Some(Standing::Final) => "waits".to_owned(),
        None if state.runtime.jobs.is_running(&[PATHWAY]) => {
            "waiting for the full result".to_owned()
        }
        None => "needs the full result".to_owned(),
    };
    let both = ui.scope(|ui| {
        rows::reading(ui, "Weakest stretch", &text(shares.map(|s| s.weakest)));
        rows::reading(ui, "Cost per mm", &text(shares.map(|s| s.mean)));
    });
    let live = state.runtime.pathways.live.value();
    let is_lifted = live.is_some_and(|live| live.key.params.model() == Model::Distributions);
    both.response
        .on_hover_text(help(compared.map(AsRef::as_ref), is_lifted));
}

/// Why the two figures matter, and the reason when there are none.
pub fn meaning(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let text = "A path exists between almost any two regions: on its own it is no evidence of a connection";
    rows::hint(ui, text);
    if let Some(why) = &state.runtime.pathways.not_compared {
        let text = format!("Not compared with random pairs: {why}");
        let p = theme::palette(ui.style());
        let note = Note::new(p, Severity::Information, &text).action("Compare");
        if note.show(ui) == Some(NoteResponse::Accepted) {
            actions.push(Action::Pathway(PathwayAction::CompareAgain));
        }
    }
}
