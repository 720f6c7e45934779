//! Each layer has rules of its own: those of one layer never change what is shown of another.

use crate::data::region::RegionId;
use crate::state::core::layer::LayerId;
use crate::state::streamlines::{StreamlineRules, StreamlineSettings};

impl StreamlineSettings {
    /// The rules of all layers that have some.
    pub fn rules(&self) -> impl Iterator<Item = &StreamlineRules> {
        self.rules.iter()
    }

    pub fn rules_of(&self, layer: LayerId) -> Option<&StreamlineRules> {
        self.rules().find(|rules| rules.layer == layer)
    }

    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Sets the rules of the layer that they name.
    pub fn set_rules(&mut self, rules: StreamlineRules) {
        self.remove_rules(rules.layer);
        self.rules.push(rules);
        self.rules.sort_by_key(|rules| rules.layer);
    }

    /// Removes a layer's rules: all its streamlines are shown.
    pub fn remove_rules(&mut self, layer: LayerId) {
        self.rules.retain(|rules| rules.layer != layer);
    }

    /// Switches a layer's filter on, with the rules that it had before, or off.
    pub fn switch_filter(&mut self, layer: LayerId, on: bool) {
        if self.rules_of(layer).is_some() == on {
            return;
        }
        let known = self.rules_of(layer);
        let known = known.or_else(|| self.rules_off.iter().find(|rules| rules.layer == layer));
        let rules = known.cloned();
        self.rules_off.retain(|rules| rules.layer != layer);
        if on {
            self.set_rules(rules.unwrap_or_else(|| StreamlineRules::new(layer)));
        } else {
            self.remove_rules(layer);
            self.rules_off.extend(rules);
        }
    }

    /// Forgets a layer that is deleted.
    pub fn forget(&mut self, layer: LayerId) {
        self.remove_rules(layer);
        self.rules_off.retain(|rules| rules.layer != layer);
    }

    /// The settings with other ids for regions; settings of a region without a new id are dropped.
    pub fn renamed(&self, name: impl Fn(RegionId) -> Option<RegionId>) -> Self {
        let mut settings = self.clone();
        for rules in settings.rules.iter_mut().chain(&mut settings.rules_off) {
            let uses = rules.uses.iter();
            rules.uses = uses
                .filter_map(|(id, how)| Some((name(*id)?, *how)))
                .collect();
        }
        settings.profile.start = settings.profile.start.and_then(name);
        settings
    }
}
