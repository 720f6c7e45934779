//! Numbers of gradient tables in text files.

use super::super::Error;
use super::super::source::read_text;
use glam::DVec3;
use std::path::Path;

/// A table holds numbers for at most some thousand volumes.
const TEXT_LIMIT_BYTES: u64 = 16 << 20;

/// Rows of numbers; `#` starts a comment, commas count as blanks.
pub fn rows(path: &Path) -> Result<Vec<Vec<f64>>, Error> {
    let text = read_text(path, TEXT_LIMIT_BYTES)?;
    let mut rows = Vec::new();
    for (i, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let mut row = Vec::new();
        for word in content.split(|c: char| c.is_whitespace() || c == ',') {
            if word.is_empty() {
                continue;
            }
            let number = word.parse().map_err(|_| {
                let word: String = word.chars().take(20).collect();
                Error::malformed(path, format!("“{word}” in line {}", i + 1), "numbers only")
            })?;
            row.push(number);
        }
        if !row.is_empty() {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return Err(Error::malformed(path, "no numbers", "a gradient table"));
    }
    Ok(rows)
}

/// One row or one column.
pub fn b_values(path: &Path) -> Result<Vec<f64>, Error> {
    let rows = rows(path)?;
    if is_b_values(&rows) {
        Ok(rows.concat())
    } else {
        Err(Error::malformed(
            path,
            shape_text(&rows),
            "b-values in one row or one column",
        ))
    }
}

pub fn is_b_values(rows: &[Vec<f64>]) -> bool {
    rows.len() == 1 || rows.iter().all(|r| r.len() == 1)
}

/// Three rows, or rows of three; three rows of three are FSL's own form, one column per volume.
pub fn fsl_vectors(path: &Path) -> Result<Vec<DVec3>, Error> {
    let rows = rows(path)?;
    if let [x, y, z] = rows.as_slice()
        && x.len() == y.len()
        && y.len() == z.len()
    {
        let columns = x.iter().zip(y).zip(z);
        return Ok(columns.map(|((&x, &y), &z)| DVec3::new(x, y, z)).collect());
    }
    let by_row = |r: &Vec<f64>| match r.as_slice() {
        &[x, y, z] => Some(DVec3::new(x, y, z)),
        _ => None,
    };
    rows.iter()
        .map(by_row)
        .collect::<Option<_>>()
        .ok_or_else(|| {
            Error::malformed(
                path,
                shape_text(&rows),
                "vectors in three rows of equal length or in rows of three",
            )
        })
}

pub fn mrtrix_rows(path: &Path) -> Result<(Vec<f64>, Vec<DVec3>), Error> {
    let rows = rows(path)?;
    let split = |r: &Vec<f64>| match r.as_slice() {
        &[x, y, z, b] => Some((b, DVec3::new(x, y, z))),
        _ => None,
    };
    rows.iter()
        .map(split)
        .collect::<Option<Vec<_>>>()
        .map(|rows| rows.into_iter().unzip())
        .ok_or_else(|| Error::malformed(path, shape_text(&rows), "rows of four: x y z b"))
}

pub fn shape_text(rows: &[Vec<f64>]) -> String {
    let (min_columns, max_columns) = rows.iter().fold((usize::MAX, 0), |(l, m), r| {
        (l.min(r.len()), m.max(r.len()))
    });
    match rows.len() {
        1 => format!("one row of {max_columns} numbers"),
        n if min_columns == max_columns => format!("{n} rows of {max_columns} numbers"),
        n => format!("{n} rows of {min_columns} to {max_columns} numbers"),
    }
}
