//! Keeps the rules of a layer's streamlines unchanged: a region placed for tracking takes no part in them.

use crate::data::Role;
use crate::data::region::RegionId;
use crate::state::streamlines::{RegionRule, StreamlineRules};
use crate::state::{Action, Layer, State, Task};
use std::sync::Arc;

/// The rules before an action, and the regions that take part in them.
pub struct RulesBefore {
    rules: StreamlineRules,
    layer: Arc<Layer>,
    part: Vec<RegionId>,
    /// Whether the user works on that layer rather than on the live result.
    user_works_on_layer: bool,
}

/// Empty if the action may change the rules freely: there are none, or it is undo or redo.
pub fn rules_before(state: &State, action: &Action) -> Vec<RulesBefore> {
    if matches!(
        action,
        Action::Undo | Action::Redo | Action::AbandonDrag(_) | Action::Streamline(_)
    ) {
        return Vec::new();
    }
    let mut regions = state.document.regions.iter();
    let seeded = regions.any(|r| r.role == Role::Seed);
    let in_place = || state.current_in_place().map(|(layer, _)| layer.id);
    let subject = state.current_streamlines().map(|(layer, _)| layer.id);
    let subject = subject.or_else(in_place);
    // In the other tasks regions are ends of pathways, obstacles, or bundles of their own.
    let by_task = matches!(state.view.task, Task::View | Task::Track);
    let rules_before = |rules: &StreamlineRules| {
        let layer = state.document.layer(rules.layer)?.clone();
        let regions = state.document.regions.iter();
        let part = regions.filter(|r| rules.region_rule(r.id, r.role) != RegionRule::Nothing);
        let part = part.map(|r| r.id).collect();
        Some(RulesBefore {
            rules: rules.clone(),
            layer,
            part,
            user_works_on_layer: by_task && subject == Some(rules.layer) && !seeded,
        })
    };
    state
        .document
        .streamlines
        .rules()
        .filter_map(rules_before)
        .collect()
}

/// Regions that took no part before, or did not exist, still take none, whatever their role, unless the user is working
/// on the filter's layer. Targets always belong to tracking.
pub fn exclude_new_regions(state: &mut State, before: Vec<RulesBefore>) {
    for before in before {
        exclude_new_from(state, before);
    }
}

fn exclude_new_from(state: &mut State, before: RulesBefore) {
    let document = &state.document;
    let layer = document.layer(before.rules.layer);
    let same = layer.is_some_and(|layer| Arc::ptr_eq(layer, &before.layer))
        && document.streamlines.rules_of(before.rules.layer) == Some(&before.rules);
    if !same {
        return;
    }
    let mut rules = before.rules;
    for region in &document.regions {
        let joins = rules.region_rule(region.id, region.role) != RegionRule::Nothing;
        let is_chosen = before.user_works_on_layer && region.role != Role::Target;
        if joins && !is_chosen && !before.part.contains(&region.id) {
            rules = rules.using(region.id, region.role, RegionRule::Nothing);
        }
    }
    state.document.streamlines.set_rules(rules);
}
