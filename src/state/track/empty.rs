//! Why no streamline or ray was kept: sentences about empty results.

use crate::solvers::curves::{Match, Output, Params, SeedOutcome, Starts, StopReason};
use crate::state::core::text::{count, counted, fixed, with_unit};

/// Streamlines or rays that started: all seeds except those outside the mask or below the FA limit. Panel and status
/// count by them.
pub fn started_count(output: &Output) -> u64 {
    let all = output.seed_outcomes.iter().sum::<u64>();
    all - output.seed_outcomes[SeedOutcome::NoStart as usize]
}

/// Why no streamline was kept: the most frequent outcome, as text; `mask`: the name of the tensors' mask. `None` if one
/// was kept, or none was requested.
pub fn none_kept(output: &Output, params: &Params, mask: &str) -> Option<(String, SeedOutcome)> {
    let seeds = |outcome: SeedOutcome| output.seed_outcomes[outcome as usize];
    let all = output.seed_outcomes.iter().sum::<u64>();
    if seeds(SeedOutcome::Kept) > 0 || all == 0 {
        return None;
    }
    let outcomes = [
        SeedOutcome::EndsInCsf,
        SeedOutcome::EndsInWhite,
        SeedOutcome::MissedTargets,
        SeedOutcome::MissedInclude,
        SeedOutcome::TouchedExclude,
        SeedOutcome::TooShort,
        SeedOutcome::NoStart,
    ];
    let worst = outcomes.into_iter().max_by_key(|o| seeds(*o))?;
    let started = started_count(output);
    let share = |all: u64| format!("{} of {}", count(seeds(worst)), count(all));
    let some = (seeds(worst) < started).then(|| format!("{} streamlines", share(started)));
    let text = match (worst, some) {
        (SeedOutcome::MissedTargets, None) => "No streamline reaches a target".to_owned(),
        (SeedOutcome::MissedTargets, Some(some)) => format!("{some} reach no target"),
        (SeedOutcome::MissedInclude, None) => match params.includes {
            Match::All => "No streamline passes through every include region".to_owned(),
            Match::Any => "No streamline passes through any include region".to_owned(),
        },
        (SeedOutcome::MissedInclude, Some(some)) => format!("{some} miss an include region"),
        (SeedOutcome::TouchedExclude, None) => {
            "Every streamline touches an exclude region".to_owned()
        }
        (SeedOutcome::TouchedExclude, Some(some)) => format!("{some} touch an exclude region"),
        (SeedOutcome::EndsInCsf, None) => "Every streamline ends in CSF".to_owned(),
        (SeedOutcome::EndsInCsf, Some(some)) => format!("{some} end in CSF"),
        (SeedOutcome::EndsInWhite, None) => "Every streamline ends in white matter".to_owned(),
        (SeedOutcome::EndsInWhite, Some(some)) => format!("{some} end in white matter"),
        (SeedOutcome::TooShort, some) => {
            let min_length = with_unit(&fixed(params.min_length_mm, 0), "mm");
            match some {
                None => format!("Every streamline is shorter than {min_length}"),
                Some(some) => format!("{some} are shorter than {min_length}"),
            }
        }
        _ => {
            let begin = match started {
                0 => "No streamline starts".to_owned(),
                _ => format!("{} seeds do not start", share(all)),
            };
            format!("{begin}: {}", why_no_start(output, params.min_fa, mask))
        }
    };
    Some((text, worst))
}

/// Why nothing started, as the end of a sentence; `None` if something did, or no seed was tried.
pub fn none_started(output: &Output, min_fa: Option<f64>, mask: &str) -> Option<String> {
    let tried = output.seed_outcomes.iter().sum::<u64>();
    let none = tried > 0 && output.seed_outcomes[SeedOutcome::NoStart as usize] == tried;
    none.then(|| why_no_start(output, min_fa, mask))
}

fn why_no_start(output: &Output, min_fa: Option<f64>, mask: &str) -> String {
    match (&output.starts, min_fa) {
        (Some(starts), _) => no_start(starts, mask),
        (None, Some(fa)) => format!(
            "the seeds lie outside {mask} or where FA is below {}",
            fixed(fa, 2)
        ),
        (None, None) => format!("the seeds lie outside {mask}"),
    }
}

/// `0 of 81 920 rays reach 'Motor L'; 71 % left the mask`; targets by their names, `mask` as in [`none_kept`]; `cutoff`: the
/// least amplitude at which rays in distributions start.
pub fn none_passed(output: &Output, targets: &[&str], mask: &str, cutoff: Option<f64>) -> String {
    let all: u64 = output.seed_outcomes.iter().sum();
    if output.seed_outcomes[SeedOutcome::NoStart as usize] == all {
        let why = why_no_start(output, None, mask);
        let remedy = match cutoff {
            Some(_) => "move the seed onto fibres, or lower the cut-off",
            None => "move the seed into the brain",
        };
        return format!("No ray starts: {why}; {remedy}");
    }
    let goal = match targets {
        [] => "are kept".to_owned(),
        [name] => format!("reach “{name}”"),
        _ => "reach a target".to_owned(),
    };
    let traced = count(all);
    // Some curves reached their target and were discarded nevertheless.
    let dropped: Vec<(u64, &str)> = [
        (SeedOutcome::MissedInclude, "miss an include region"),
        (SeedOutcome::TouchedExclude, "touch an exclude region"),
        (SeedOutcome::TooShort, "are shorter than the minimum length"),
    ]
    .into_iter()
    .map(|(outcome, why)| (output.seed_outcomes[outcome as usize], why))
    .filter(|(n, _)| *n > 0)
    .collect();
    let reach: u64 = dropped.iter().map(|(n, _)| n).sum();
    match (targets, dropped.as_slice()) {
        (_, []) => format!("0 of {traced} rays {goal}{}", most_frequent_end(output)),
        ([], [(n, why)]) => format!("0 of {traced} rays {goal}: {} {why}", count(*n)),
        (_, [(n, why)]) => format!("{} of {traced} rays {goal}, but {why}", count(*n)),
        (_, all) => {
            let each: Vec<String> = all
                .iter()
                .map(|(n, why)| format!("{} {why}", count(*n)))
                .collect();
            let begin = if targets.is_empty() { 0 } else { reach };
            format!(
                "{} of {traced} rays {goal}: {}",
                count(begin),
                each.join(", ")
            )
        }
    }
}

/// `; 71 % left the mask`.
fn most_frequent_end(output: &Output) -> String {
    let ends = StopReason::ALL.into_iter();
    let ends = ends.filter(|reason| *reason != StopReason::Seed);
    let count = |reason: &StopReason| output.stops[*reason as usize];
    let total: u64 = ends.clone().map(|r| count(&r)).sum();
    let Some(reason) = ends.max_by_key(count).filter(|_| total > 0) else {
        return String::new();
    };
    let share = fixed(100.0 * count(&reason) as f64 / total as f64, 0);
    let did = match reason {
        StopReason::ReachedTarget => "reached a target",
        StopReason::Terminated => "met a terminate region",
        StopReason::LeftVolume => "left the volume",
        StopReason::LeftMask => "left the mask",
        StopReason::LowFa => "stopped at low FA",
        StopReason::Angle => "turned too sharply",
        StopReason::MaxLength => "reached the length limit",
        StopReason::MaxSteps => "reached the step limit",
        StopReason::Seed => "stayed at the seed",
        StopReason::Loop => "looped in place",
        StopReason::Indefinite => "reached a place without a metric",
        StopReason::Leap => "jumped over voxels",
        StopReason::LowAmplitude => "stopped at low amplitudes",
        StopReason::CorticalGrey => "entered cortical grey matter",
        StopReason::DeepGrey => "ended in deep grey matter",
        StopReason::BrainStem => "left at the brain stem",
        StopReason::EnteredCsf => "entered CSF",
    };
    format!("; {} {did}", with_unit(&share, "%"))
}

/// The condition at seeds of low FA, as text: `FA is below 0.15`.
fn low_fa(starts: &Starts) -> String {
    let limit = starts.min_fa;
    limit.map_or("no direction stands out".to_owned(), |fa| {
        format!("FA is below {}", fixed(fa, 2))
    })
}

/// The numbers of seeds that do not start, with their places: `outside the automatic mask`.
fn places(starts: &Starts, mask: &str) -> Vec<(u64, String)> {
    let amplitude = match starts.min_amplitude {
        Some(limit) => format!("with no amplitude of {limit} or more"),
        None => "with no amplitude large enough".to_owned(),
    };
    let own = |text: &str| text.to_owned();
    let all = [
        (starts.outside_volume, own("outside the volume")),
        (starts.outside_mask, format!("outside {mask}")),
        (starts.outside_regions, own("outside the mask regions")),
        (starts.low_fa, format!("where {}", low_fa(starts))),
        (
            starts.off_interface,
            own("away from the interface of grey and white matter"),
        ),
        (starts.outside_tissues, own("outside all tissues")),
        (starts.in_csf, own("in CSF")),
        (starts.in_cortical_grey, own("in cortical grey matter")),
        (starts.low_amplitude, amplitude),
    ];
    all.into_iter().filter(|(n, _)| *n > 0).collect()
}

/// Why seeds did not start, as text.
enum Reasons {
    /// The place of all of them.
    One(String),
    /// Places with their numbers.
    Several(String),
}

/// The reasons of all seeds that did not start: `1 200 in CSF, 298 with no amplitude of 0.1 or more`; shares if only some
/// seeds were examined; `mask` as in [`none_kept`]. `None` if all started, or the reasons are not known.
pub fn not_started(output: &Output, mask: &str) -> Option<String> {
    match reasons(output, mask)? {
        Reasons::One(place) => Some(place),
        Reasons::Several(places) => Some(places),
    }
}

/// A sentence with these reasons, without a full stop: `50 seeds outside the mask did not start`.
pub fn not_started_sentence(output: &Output, mask: &str) -> Option<String> {
    let number = output.seed_outcomes[SeedOutcome::NoStart as usize];
    let seeds = counted(number as usize, "seed");
    Some(match reasons(output, mask)? {
        Reasons::One(place) => format!("{seeds} {place} did not start"),
        Reasons::Several(places) => format!("{seeds} did not start: {places}"),
    })
}

fn reasons(output: &Output, mask: &str) -> Option<Reasons> {
    let seeds = output.seed_outcomes[SeedOutcome::NoStart as usize];
    let places = places(output.starts.as_ref().filter(|_| seeds > 0)?, mask);
    let examined: u64 = places.iter().map(|(n, _)| n).sum();
    match &places[..] {
        [] => None,
        [(_, place)] => Some(Reasons::One(place.clone())),
        _ => {
            let number = |n: u64| match examined == seeds {
                true => count(n),
                false => with_unit(&fixed(100.0 * n as f64 / examined as f64, 0), "%"),
            };
            let each = places
                .iter()
                .map(|(n, place)| format!("{} {place}", number(*n)));
            let each: Vec<String> = each.collect();
            Some(Reasons::Several(each.join(", ")))
        }
    }
}

/// Why seeds do not start: `the seeds lie outside the automatic mask`.
pub fn no_start(starts: &Starts, mask: &str) -> String {
    let some = places(starts, mask);
    let all: u64 = some.iter().map(|(n, _)| n).sum();
    match &some[..] {
        [] => "no tensor there has a metric".to_owned(),
        [_] if all == starts.low_fa => format!("{} there", low_fa(starts)),
        [(_, place)] => format!("the seeds lie {place}"),
        _ => {
            let share = |n: u64| with_unit(&fixed(100.0 * n as f64 / all as f64, 0), "%");
            let each = some
                .iter()
                .map(|(n, place)| format!("{} {place}", share(*n)));
            format!("the seeds lie {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}
