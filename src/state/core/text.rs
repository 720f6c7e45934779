//! Numbers in sentences, and sentences about empty results.

pub use crate::data::text::{THIN, count, counted, grouped, plural};

use crate::io::quoted;
use crate::solvers::curves::{Match, Output, Params, SeedOutcome, Starts, StopReason};
use std::path::Path;

/// `1 streamline`, `81 920 streamlines`.
pub fn streamlines(n: u64) -> String {
    counted(n as usize, "streamline")
}

/// `a, b, c and 5 more`: lists at most `most` names.
pub fn some_of(names: &[&str], most: usize) -> String {
    let named = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {} more", count(more as u64)),
    }
}

/// The value with this many decimals: `−21.0`, `1 184`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "not a number"
        } else {
            "∞"
        }
        .to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    // −0.0 is displayed as 0.0.
    let negative = value < 0.0 && text.chars().any(|c| ('1'..='9').contains(&c));
    let (whole, rest) = text.split_once('.').map_or((&*text, ""), |(w, r)| (w, r));
    let sign = if negative { "−" } else { "" };
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{sign}{}{dot}{rest}", grouped(whole))
}

/// Three significant digits: `0.578`, `12.3`, `1 184`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return fixed(value, 0);
    }
    let digits_before = value.abs().log10().floor() as i32 + 1;
    if value.abs() < 1e-4 {
        return format!("{value:.2e}").replace('-', "−");
    }
    fixed(value, (3 - digits_before).clamp(0, 6) as usize)
}

/// A duration: `42 ms`, `13.4 s`.
pub fn took(ms: f64) -> String {
    // A value that rounds to 1 000 ms is shown as a second.
    match ms.round() {
        whole if whole < 1e3 => with_unit(&fixed(whole.max(1.0), 0), "ms"),
        _ => with_unit(&fixed(ms / 1e3, 1), "s"),
    }
}

/// `121 mm`.
pub fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() {
        value.to_owned()
    } else {
        format!("{value}{THIN}{unit}")
    }
}

/// A connectivity measure, as in scales and tables: `0.80`, `12.3`, `380`.
pub fn measure(value: f64) -> String {
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    fixed(value, decimals)
}

/// `2.8 ml`; a volume too small for these decimals is `<0.1 ml`, not zero.
pub fn ml(value: f64, decimals: usize) -> String {
    let least = 0.1f64.powi(decimals as i32);
    if value > 0.0 && value < 0.5 * least {
        return with_unit(&format!("<{}", fixed(least, decimals)), "ml");
    }
    with_unit(&fixed(value, decimals), "ml")
}

/// Decimals that give about three significant digits of a range.
pub fn decimals_of(range: f64) -> i32 {
    (2.0 - range.max(1e-30).log10().round()).clamp(-3.0, 8.0) as i32
}

/// Why no streamline was kept: the most frequent outcome, as text; `mask`: the name of the tensors' mask. `None` if one
/// was kept, or none was requested.
pub fn none_kept(output: &Output, params: &Params, mask: &str) -> Option<(String, SeedOutcome)> {
    let fate = |fate: SeedOutcome| output.seed_outcomes[fate as usize];
    let all = output.seed_outcomes.iter().sum::<u64>();
    if fate(SeedOutcome::Kept) > 0 || all == 0 {
        return None;
    }
    let fates = [
        SeedOutcome::MissedTargets,
        SeedOutcome::MissedInclude,
        SeedOutcome::TouchedExclude,
        SeedOutcome::TooShort,
        SeedOutcome::NoStart,
    ];
    let worst = fates.into_iter().max_by_key(|f| fate(*f))?;
    let started = all - fate(SeedOutcome::NoStart);
    let of = |all: u64| format!("{} of {}", count(fate(worst)), count(all));
    let some = (fate(worst) < started).then(|| format!("{} streamlines", of(started)));
    let text = match (worst, some) {
        (SeedOutcome::MissedTargets, None) => "No streamline reaches a target".to_owned(),
        (SeedOutcome::MissedTargets, Some(of)) => format!("{of} reach no target"),
        (SeedOutcome::MissedInclude, None) => match params.includes {
            Match::All => "No streamline passes through every include region".to_owned(),
            Match::Any => "No streamline passes through any include region".to_owned(),
        },
        (SeedOutcome::MissedInclude, Some(of)) => format!("{of} miss an include region"),
        (SeedOutcome::TouchedExclude, None) => {
            "Every streamline touches an exclude region".to_owned()
        }
        (SeedOutcome::TouchedExclude, Some(of)) => format!("{of} touch an exclude region"),
        (SeedOutcome::TooShort, some) => {
            let least = with_unit(&fixed(params.min_length_mm, 0), "mm");
            match some {
                None => format!("Every streamline is shorter than {least}"),
                Some(of) => format!("{of} are shorter than {least}"),
            }
        }
        _ => {
            let begin = match started {
                0 => "No streamline starts".to_owned(),
                _ => format!("{} seeds do not start", of(all)),
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

/// `0 of 81 920 rays reach 'Motor L'; 71 % left the mask`; targets by their names, `mask` as in [`none_kept`].
pub fn none_passed(output: &Output, targets: &[&str], mask: &str) -> String {
    let all: u64 = output.seed_outcomes.iter().sum();
    if output.seed_outcomes[SeedOutcome::NoStart as usize] == all {
        let why = why_no_start(output, None, mask);
        return format!("No ray starts: {why}; move the seed into the brain");
    }
    let goal = match targets {
        [] => "are kept".to_owned(),
        [name] => format!("reach '{name}'"),
        _ => "reach a target".to_owned(),
    };
    let shot = count(all);
    // Some curves reached their target and were discarded nevertheless.
    let dropped: Vec<(u64, &str)> = [
        (SeedOutcome::MissedInclude, "miss an include region"),
        (SeedOutcome::TouchedExclude, "touch an exclude region"),
        (
            SeedOutcome::TooShort,
            "are shorter than the smallest length",
        ),
    ]
    .into_iter()
    .map(|(fate, why)| (output.seed_outcomes[fate as usize], why))
    .filter(|(n, _)| *n > 0)
    .collect();
    let reach: u64 = dropped.iter().map(|(n, _)| n).sum();
    match (targets, dropped.as_slice()) {
        (_, []) => format!("0 of {shot} rays {goal}{}", most_frequent_end(output)),
        ([], [(n, why)]) => format!("0 of {shot} rays {goal}: {} {why}", count(*n)),
        (_, [(n, why)]) => format!("{} of {shot} rays {goal}, but {why}", count(*n)),
        (_, all) => {
            let each: Vec<String> = all
                .iter()
                .map(|(n, why)| format!("{} {why}", count(*n)))
                .collect();
            let begin = if targets.is_empty() { 0 } else { reach };
            format!(
                "{} of {shot} rays {goal}: {}",
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
        StopReason::MaxLength => "got too long",
        StopReason::MaxSteps => "took too many steps",
        StopReason::Seed => "stayed at the seed",
        StopReason::Loop => "circled on the spot",
        StopReason::Indefinite => "met a tensor without a metric",
        StopReason::Leap => "leapt over voxels",
    };
    format!("; {} {did}", with_unit(&share, "%"))
}

/// A path as an argument of a command line.
pub(in crate::state) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Why seeds do not start: `the seeds lie outside the automatic mask`.
pub fn no_start(starts: &Starts, mask: &str) -> String {
    let fa = starts
        .min_fa
        .map_or("no direction stands out".to_owned(), |fa| {
            format!("FA is below {}", fixed(fa, 2))
        });
    let reasons = [
        (starts.outside_volume, "outside the volume".to_owned()),
        (starts.outside_mask, format!("outside {mask}")),
        (
            starts.outside_regions,
            "outside the mask regions".to_owned(),
        ),
        (starts.low_fa, format!("where {fa}")),
    ];
    let all: u64 = reasons.iter().map(|(n, _)| n).sum();
    let some: Vec<&(u64, String)> = reasons.iter().filter(|(n, _)| *n > 0).collect();
    match some[..] {
        [] => "no tensor there has a metric".to_owned(),
        [_] if all == starts.low_fa => format!("{fa} there"),
        [(_, place)] => format!("the seeds lie {place}"),
        _ => {
            let share = |n: u64| with_unit(&fixed(100.0 * n as f64 / all as f64, 0), "%");
            let each: Vec<String> = some
                .iter()
                .map(|(n, place)| format!("{} {place}", share(*n)))
                .collect();
            format!("the seeds lie {}", each.join(", "))
        }
    }
}
