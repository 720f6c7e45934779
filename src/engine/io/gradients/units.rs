//! Units of b-values. Tables should be in s/mm²; some programs write s/m², ms/µm², or values a thousand times too
//! large.

use crate::data::gradients::B0_LIMIT_S_PER_MM2;
use crate::data::statistics::upper_median;
use glam::DVec3;
use std::fmt;

/// Largest b-value of a scanner, with a margin above published ones, s/mm².
const MAX_B: f64 = 2e5;
/// Scans of people stay below this, s/mm²; a larger value suggests another unit, or a scan of ex vivo tissue.
const MAX_B_IN_VIVO: f64 = 2e4;
/// Largest ratio of a table's maximum to its typical b-value for which the maximum determines the unit: a single
/// wrong number must not change all others.
const SPREAD: f64 = 100.0;
/// Ranges of the largest b-value of tables in other units, with the divisor that gives s/mm². Between and beyond
/// these ranges no unit is plausible.
const DIVIDED: [(f64, f64, f64, &str); 2] = [
    (3e5, 5e7, 1e3, "were divided by 1000"),
    (3e8, 5e10, 1e6, "are read as s/m²"),
];
/// Largest b-value of a table in ms/µm², and the largest of its unweighted volumes.
const MAX_MS_PER_UM2: f64 = 20.0;
const B0_MS_PER_UM2: f64 = 0.05;
/// Whole numbers above this are b-values of volumes that count as b = 0: 5 or 10 s/mm².
const WHOLE_MS_PER_UM2: f64 = 4.0;
/// Number of directions that a tensor requires.
const MIN_DIRECTIONS: usize = 6;

/// B-values that fit no unit: a part of a sentence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum UnitError {
    /// The largest b-value is far above the typical one.
    Outlier { max_b: f64, typical: f64 },
    /// No unit makes this largest b-value plausible.
    Implausible(f64),
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outlier { max_b, typical } => write!(
                f,
                "a b-value of {max_b} in a table with a typical b-value of {typical}"
            ),
            Self::Implausible(max_b) => write!(f, "b-values up to {max_b}"),
        }
    }
}

/// The b-values in s/mm², with a sentence if they were in another unit.
pub fn in_s_per_mm2(
    b: Vec<f64>,
    vectors: &[DVec3],
) -> Result<(Vec<f64>, Option<String>), UnitError> {
    let max_b = b.iter().copied().fold(0.0, f64::max);
    if max_b <= B0_LIMIT_S_PER_MM2 {
        if !is_ms_per_um2(&b, vectors, max_b) {
            return Ok((b, None));
        }
        let b: Vec<f64> = b.into_iter().map(|b| b * 1e3).collect();
        return Ok((b, Some(unit_note(max_b, max_b * 1e3, "are read as ms/µm²"))));
    }
    if max_b <= MAX_B {
        let high = max_b > MAX_B_IN_VIVO;
        let note = high.then(|| {
            format!(
                "The b-values reach {max_b} s/mm², more than the {MAX_B_IN_VIVO} that scans of people stay below; \
                 check the unit of the table"
            )
        });
        return Ok((b, note));
    }
    let typical = typical_b(&b, vectors);
    if max_b > SPREAD * typical {
        return Err(UnitError::Outlier { max_b, typical });
    }
    let row = DIVIDED
        .iter()
        .find(|(low, high, ..)| (*low..=*high).contains(&max_b));
    let Some((_, _, by, how)) = row else {
        return Err(UnitError::Implausible(max_b));
    };
    let b = b.into_iter().map(|b| b / by).collect();
    Ok((b, Some(unit_note(max_b, max_b / by, how))))
}

/// The median b-value of weighted volumes, of those with a direction if there are any.
fn typical_b(b: &[f64], vectors: &[DVec3]) -> f64 {
    let weighted = || {
        let all = b.iter().copied().zip(vectors);
        all.filter(|(b, _)| *b > B0_LIMIT_S_PER_MM2)
    };
    let directed = weighted().filter(|(_, v)| v.is_finite() && v.length() > 0.5);
    let mut candidates: Vec<f64> = directed.map(|(b, _)| b).collect();
    if candidates.is_empty() {
        candidates = weighted().map(|(b, _)| b).collect();
    }
    upper_median(&mut candidates).unwrap_or_default()
}

fn unit_note(max_b: f64, converted: f64, how: &str) -> String {
    format!(
        "The b-values reach {max_b}, which cannot be s/mm²; they {how}, which makes the largest {converted} s/mm²"
    )
}

/// Whether a table without b-values above those of b = 0 is in ms/µm².
fn is_ms_per_um2(b: &[f64], vectors: &[DVec3], max_b: f64) -> bool {
    let weighted = || b.iter().zip(vectors).filter(|(b, _)| **b > B0_MS_PER_UM2);
    let directed = weighted().filter(|(_, v)| v.is_finite() && v.length() > 0.5);
    let broken = weighted().any(|(b, _)| b.fract() != 0.0);
    let unweighted = b.iter().any(|b| *b <= B0_MS_PER_UM2);
    unweighted
        && directed.count() >= MIN_DIRECTIONS
        && max_b <= MAX_MS_PER_UM2
        && (broken || max_b <= WHOLE_MS_PER_UM2)
}

/// The expected b-values, as text for an error.
pub fn expected_b_values() -> String {
    format!("s/mm², {MAX_B} at most; write the table in s/mm²")
}
