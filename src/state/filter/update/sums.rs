//! Bundles that are not groups in the streamlines' file: those that pass a region, and those that the rules keep.

use crate::data::{Region, Role, Tractogram};
use crate::solvers::tractogram::selection::SelectionRules;
use crate::state::filter::jobs::SumBundles;
use crate::state::filter::update::{request, share_survey};
use crate::state::filter::{ExtraBundle, FitInputs, SumKey, weight};
use crate::state::streamlines::in_place::in_place;
use crate::state::streamlines::update::{applied_rules, regions};
use crate::state::streamlines::{RegionRule, SameShape, StreamlineRules};
use crate::state::{Document, Effect, LayerId, State};

/// Requests their sums, and the course of the streamlines, once there are weights.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    if state.is_filtering() {
        return;
    }
    let document = &state.document;
    let looked_at = document.filtered();
    let fitted_layer = looked_at.and_then(|(layer, _)| {
        let (fitted, weights) = document.weights_of_layer(layer)?;
        let from = document.fit_inputs(fitted)?;
        let fit = request(document, layer.id, &from).ok()?;
        Some((layer.id, from, weights.clone(), fit))
    });
    let Some((id, from, weights, mut fit)) = fitted_layer else {
        state.runtime.filter.sums.ask(None);
        return;
    };
    let Some((key, rules)) = rows(state, id, &fit.tractogram, &from) else {
        return;
    };
    let runtime = &mut state.runtime.filter;
    let previous = runtime.previous_fit.as_ref();
    let previous =
        previous.filter(|h| h.layer == id && h.key.tractogram.same_lines(&fit.tractogram));
    let summed = runtime.sums.shown();
    let summed = summed
        .filter(|(known, _)| (known.tractogram, &known.inputs) == (key.tractogram, &key.inputs));
    let course = previous.map(|h| h.prepared.dictionary.clone());
    let course = course.or(summed.map(|(_, sums)| sums.course.clone()));
    if runtime.sums.ask(Some(key)).is_some() {
        // Without a course, the sums read the file as a fit does.
        share_survey(runtime, &mut fit);
        effects.push(Effect::submit(SumBundles {
            fit,
            weights,
            course,
            rules,
        }));
    }
}

/// The bundles, and what each is; `None` while values that the rules need are being computed.
fn rows(
    state: &State,
    id: LayerId,
    lines: &Tractogram,
    from: &FitInputs,
) -> Option<(SumKey, Vec<SelectionRules>)> {
    let document = &state.document;
    let mut key = SumKey {
        tractogram: lines.id(),
        inputs: from.clone(),
        rows: Vec::new(),
        regions: Vec::new(),
        rules: None,
    };
    let mut all = Vec::new();
    for region in document.regions.iter().filter(|r| r.role != Role::Mask) {
        key.rows.push(ExtraBundle::Region(region.id));
        let shape = SameShape(region.shape.clone());
        key.regions.push((region.id, RegionRule::Include, shape));
        all.push(SelectionRules {
            regions: vec![Region {
                role: Role::Include,
                ..(**region).clone()
            }],
            ..SelectionRules::default()
        });
    }
    if let Some(streamline_rules) = rules_without_weights(document, id) {
        let in_file = document.layer(id).and_then(|l| in_place(l));
        let names = in_file.map_or(lines, |own| &own.names);
        let rules = applied_rules(state, &streamline_rules, names)?;
        // Streamlines that pass one region already have a row.
        let has_one_region = rules.regions.len() < 2 && !rules.by_ends;
        let same = |r: &Region| matches!(r.role, Role::Include | Role::Target);
        let plain = SelectionRules {
            regions: Vec::new(),
            by_ends: false,
            ..rules.clone()
        };
        if !(plain.is_empty() && has_one_region && rules.regions.iter().all(same)) {
            let used = regions(state, &streamline_rules).into_iter();
            key.regions
                .extend(used.map(|(how, r)| (r.id, how, SameShape(r.shape.clone()))));
            key.rows.push(ExtraBundle::Filter);
            key.rules = Some(streamline_rules);
            all.push(rules);
        }
    }
    Some((key, all))
}

/// The rules of a layer's streamlines without their weights and a single group.
fn rules_without_weights(document: &Document, layer: LayerId) -> Option<StreamlineRules> {
    let mut rules = document.streamlines.rules_of(layer)?.clone();
    rules.limits.retain(|l| l.column != weight());
    rules.group = None;
    Some(rules)
}
