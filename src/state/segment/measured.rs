//! Objects of distances from the surface: streamlines and pathways as drawn, and those left out.

use crate::solvers::curves::SeedOutcome;
use crate::state::core::layer::Content;
use crate::state::core::text::count;
use crate::state::segment::jobs::{PathwayVoxels, Proximity, ProximityTarget};
use crate::state::{State, Task};

const LIVE_PATHWAY: &str = "Live pathway";

impl State {
    /// Objects whose distances are measured: the streamlines and pathways that are drawn.
    pub fn proximity_targets(&self) -> Vec<ProximityTarget> {
        let document = &self.document;
        let mut targets: Vec<ProximityTarget> = Vec::new();
        let display = document.live_display();
        let shown = display.visible && display.opacity > 0.0;
        if let Some(live) = self.final_live().filter(|_| shown) {
            let kept = match self.stopped() {
                Some((_, [kept, _])) => kept,
                None => &live.output.kept,
            };
            let name = document.track.method.live_name();
            targets.push(ProximityTarget::Streamlines(name.to_owned(), kept.clone()));
        }
        for layer in &document.layers {
            let Content::Tractogram(all) = &layer.content else {
                continue;
            };
            if !layer.display.visible || layer.display.opacity <= 0.0 {
                continue;
            }
            // While rules are dragged only some are drawn: until they rest, all are measured.
            let selection = self.selection(layer.id).filter(|s| s.every == 1);
            let drawn = selection.map_or(all, |s| &s.shown);
            targets.push(ProximityTarget::Streamlines(
                layer.name.clone(),
                drawn.clone(),
            ));
        }
        // That of an earlier surface is measured until the one of this surface is solved.
        let live = self.runtime.pathways.live.value();
        if let Some(live) = live.filter(|_| self.shows_pathway_in_segment()) {
            targets.push(ProximityTarget::Pathway(PathwayVoxels {
                name: match live.coarse {
                    true => format!("{LIVE_PATHWAY}, coarse"),
                    false => LIVE_PATHWAY.to_owned(),
                },
                excess: live.excess.clone(),
                level: document.pathways.epsilon as f32,
                is_live: true,
            }));
        }
        for kept in document.kept_pathways.iter().filter(|k| k.visible) {
            if let Some(pathway) = &kept.result {
                targets.push(ProximityTarget::Pathway(PathwayVoxels {
                    name: kept.name.clone(),
                    excess: pathway.excess.clone(),
                    level: kept.epsilon as f32,
                    is_live: false,
                }));
            }
        }
        targets.retain(
            |target| !matches!(target, ProximityTarget::Streamlines(_, lines) if lines.is_empty()),
        );
        targets
    }

    /// Whether a distance belongs to the live pathway of an earlier surface, because the pathway of this surface, or
    /// its distance, is still being computed.
    pub fn is_of_earlier_pathway(&self, near: &Proximity) -> bool {
        let Some(measured) = near.live else {
            return false;
        };
        let live = self.runtime.pathways.live.value();
        let is_same = live.is_some_and(|live| live.excess.id() == measured);
        !(is_same && self.is_pathway_current())
    }

    /// Names of the streamlines and pathways that distances leave out because they are hidden.
    pub fn hidden_from_distances(&self) -> Vec<String> {
        let document = &self.document;
        let live = self.runtime.track.live.value();
        let live = live.filter(|live| {
            let display = document.live_display();
            let empty = live.output.kept.is_empty() && live.output.missed.is_empty();
            !empty && (!display.visible || display.opacity <= 0.0)
        });
        let layers = document.layers.iter().filter(|layer| {
            let Content::Tractogram(lines) = &layer.content else {
                return false;
            };
            let hidden = !layer.display.visible || layer.display.opacity <= 0.0;
            hidden && !lines.is_empty()
        });
        let pathways = document.kept_pathways.iter().filter(|k| !k.visible);
        let live = live.map(|_| document.track.method.live_name().to_owned());
        let layers = layers.map(|layer| layer.name.clone());
        let pathways = pathways.map(|kept| kept.name.clone());
        live.into_iter().chain(layers).chain(pathways).collect()
    }

    /// Shown streamlines and pathways that distances leave out, each with the reason.
    pub fn not_measured(&self) -> Vec<String> {
        let document = &self.document;
        let mut all = self.live_not_measured();
        for layer in &document.layers {
            let Content::Tractogram(lines) = &layer.content else {
                continue;
            };
            let name = &layer.name;
            if !layer.display.visible || layer.display.opacity <= 0.0 {
                continue;
            }
            let selection = self.selection(layer.id).filter(|s| s.every == 1);
            let gone = selection.map_or(0, |s| lines.len() - s.shown.len());
            if gone > 0 {
                all.push(filtered(name, gone, lines.len()));
            }
        }
        let pathway = self.runtime.pathways.live.value();
        if pathway.is_some() && self.view.task != Task::Pathways && !self.shows_pathway_in_segment()
        {
            all.push(format!("{LIVE_PATHWAY} (not drawn here)"));
        }
        all
    }

    fn live_not_measured(&self) -> Vec<String> {
        let Some(live) = self.runtime.track.live.value() else {
            return Vec::new();
        };
        let output = &live.output;
        let display = self.document.live_display();
        if output.kept.is_empty() && output.missed.is_empty() {
            return Vec::new();
        }
        if !display.visible || display.opacity <= 0.0 {
            return Vec::new();
        }
        let name = self.document.track.method.live_name();
        if self.final_live().is_none() {
            return vec![format!("{name} (not final)")];
        }
        let mut all = Vec::new();
        let gone = match self.stopped() {
            Some((_, [kept, _])) => output.kept.len() - kept.len(),
            None => 0,
        };
        if gone > 0 {
            all.push(filtered(name, gone, output.kept.len()));
        }
        let missed = output.seed_outcomes[SeedOutcome::MissedTargets as usize];
        if missed > 0 {
            all.push(format!("{} of {name} (miss the targets)", count(missed)));
        }
        all
    }
}

fn filtered(name: &str, gone: usize, total: usize) -> String {
    let [gone, total] = [gone, total].map(|n| count(n as u64));
    format!("{gone} of {total} of {name} (filtered out)")
}
