//! Outcomes of traced curves, as JSON and as text.

use crate::data::text::{counted, within_sentence};
use crate::data::{Region, Role};
use crate::solvers::curves::{self, SeedOutcome, StopReason};
use crate::state::core::text::{self, count};
use crate::state::track::empty;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Curves whose outcomes are reported.
pub struct CountedCurves<'a> {
    pub output: &'a curves::Output,
    pub regions: &'a [Region],
    pub wall_ms: f64,
    /// Whether the reasons of distributions and tissues apply.
    pub in_distributions: bool,
}

impl CountedCurves<'_> {
    /// Counts as JSON, and as text with this name for one of the curves.
    pub fn summary(&self, curve: &str) -> (Value, String) {
        let output = self.output;
        let seeds: u64 = output.seed_outcomes.iter().sum();
        let targets: Vec<_> = self
            .regions
            .iter()
            .filter(|r| r.role == Role::Target)
            .collect();
        let per_target: Vec<Value> = targets
            .iter()
            .zip(&output.per_target)
            .map(|(region, n)| json!({"name": region.name, "streamlines": n}))
            .collect();
        let with_outcome = |outcome: SeedOutcome| output.seed_outcomes[outcome as usize];
        let stopped_by = |reason: StopReason| output.stops[reason as usize];
        let outcome_counts: serde_json::Map<String, Value> = SeedOutcome::ALL
            .iter()
            .filter(|outcome| self.in_distributions || !outcome.is_of_tissues())
            .map(|outcome| (outcome.key().to_owned(), json!(with_outcome(*outcome))))
            .collect();
        let stop_counts: serde_json::Map<String, Value> = StopReason::ALL
            .iter()
            .filter(|reason| self.in_distributions || !reason.is_of_distributions())
            .map(|reason| (reason.key().to_owned(), json!(stopped_by(*reason))))
            .collect();
        let codes = output.kept.codes.iter();
        let codes: BTreeMap<&String, &[String]> =
            codes.map(|(name, codes)| (name, &**codes)).collect();
        let mut value = json!({
            "command": "track",
            "seeds": seeds,
            "kept": output.kept.len(),
            "points": output.kept.points.len(),
            "outcomes": outcome_counts,
            "stops": stop_counts,
            "targets": per_target,
            "codes": codes,
            "steps": output.steps,
            "track_ms": self.wall_ms,
        });
        if let Some(starts) = output.starts.filter(|_| self.in_distributions) {
            let failed = starts.failed().into_iter().filter(|(_, seeds)| *seeds > 0);
            let failed = failed.map(|(key, seeds)| (key.to_owned(), json!(seeds)));
            value["not_started"] = failed.collect::<serde_json::Map<_, _>>().into();
        }
        let mut text = format!(
            "Kept {} of {} in {}\n",
            count(output.kept.len() as u64),
            counted(seeds as usize, curve),
            text::duration_text(self.wall_ms)
        );
        let numbered =
            |label: &str, number: u64| format!("{} {}", within_sentence(label), count(number));
        let dropped: Vec<String> = SeedOutcome::ALL
            .into_iter()
            .filter(|outcome| *outcome != SeedOutcome::Kept && with_outcome(*outcome) > 0)
            .map(|outcome| numbered(outcome.label(), with_outcome(outcome)))
            .collect();
        if !dropped.is_empty() {
            text += &format!("Discarded: {}\n", dropped.join(", "));
        }
        // In tensors the error gives the reason.
        let not_started = empty::not_started(output, "the mask");
        if let Some(reasons) = not_started.filter(|_| self.in_distributions) {
            text += &format!("Not started: {reasons}\n");
        }
        // If only one half was requested, the other end is the seed: nothing stopped there.
        let ends: Vec<String> = StopReason::ALL
            .into_iter()
            .filter(|reason| *reason != StopReason::Seed && stopped_by(*reason) > 0)
            .map(|reason| numbered(reason.label(), stopped_by(reason)))
            .collect();
        if !ends.is_empty() {
            text += &format!("Ends: {}\n", ends.join(", "));
        }
        for (region, n) in targets.iter().zip(&output.per_target) {
            let reached = counted(*n as usize, curve);
            text += &format!("{}: reached by {reached}\n", region.name);
        }
        (value, text)
    }
}
