//! Gradient tables: FSL bval/bvec and MRtrix `.b`.

use super::Error;
use crate::data::gradients::B0_LIMIT_S_PER_MM2;
use crate::data::{Gradients, Grid};
use glam::{DMat3, DVec3};
use std::path::{Path, PathBuf};

/// The gradient files beside a scan: bval and bvec, or one `.b`; empty if there are none.
pub fn find_beside(scan: &Path) -> Vec<PathBuf> {
    let name = scan
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = stem.rsplit_once('.').map_or(stem, |(s, _)| s);
    let existing = |extension: &str| {
        let path = scan.with_file_name(format!("{stem}.{extension}"));
        path.is_file().then_some(path)
    };
    let bval = existing("bval").or_else(|| existing("bvals"));
    let bvec = existing("bvec").or_else(|| existing("bvecs"));
    match (bval, bvec, existing("b")) {
        (Some(bval), Some(bvec), _) => vec![bval, bvec],
        (_, _, Some(b)) => vec![b],
        _ => Vec::new(),
    }
}

/// Reads `[.b]` or `[bval, bvec]` for a scan of `volumes` volumes on `grid`; notes say what was odd.
pub fn read(
    files: &[PathBuf],
    grid: &Grid,
    volumes: usize,
) -> Result<(Gradients, Vec<String>), Error> {
    let (b, mut directions, last) = match files {
        [table] => {
            let (b, directions) = mrtrix(table)?;
            (b, directions, table)
        }
        [bval, bvec] => {
            let b = numbers(bval)?.concat();
            let directions = fsl(bvec, grid, b.len())?;
            if b.len() != volumes {
                return Err(Error::content(
                    bval,
                    count_sentence("bval", b.len(), volumes),
                ));
            }
            (b, directions, bvec)
        }
        _ => {
            let path = files.first().cloned().unwrap_or_default();
            let sentence = format!(
                "{} gradient files, expected bval and bvec, or one .b",
                files.len()
            );
            return Err(Error::content(&path, sentence));
        }
    };
    if directions.len() != volumes || b.len() != volumes {
        return Err(Error::content(
            last,
            count_sentence("The gradient table", directions.len(), volumes),
        ));
    }
    if let Some(bad) = b.iter().find(|b| !b.is_finite() || **b < 0.0) {
        return Err(Error::content(
            last,
            format!("A b-value is {bad}, expected 0 or more s/mm²"),
        ));
    }
    let mut odd = Vec::new();
    for (volume, d) in directions.iter_mut().enumerate() {
        let length = d.length();
        if b[volume] <= B0_LIMIT_S_PER_MM2 || !length.is_finite() || length < 1e-3 {
            *d = DVec3::ZERO;
            continue;
        }
        if (length - 1.0).abs() > 0.1 {
            odd.push(volume.to_string());
        }
        *d /= length;
    }
    let mut notes = Vec::new();
    if !odd.is_empty() {
        notes.push(format!(
            "Gradient directions are not of length 1 and were scaled to it, b unchanged: volumes {}",
            odd.join(", ")
        ));
    }
    Ok((
        Gradients {
            b_s_per_mm2: b,
            directions,
        },
        notes,
    ))
}

fn count_sentence(what: &str, found: usize, volumes: usize) -> String {
    format!(
        "{what} has {found} entries, the scan has {volumes} volumes: choose the files of this scan"
    )
}

/// The numbers of a text file by line; `nan` is a number, `#` starts a comment.
fn numbers(path: &Path) -> Result<Vec<Vec<f64>>, Error> {
    const LIMIT: u64 = 1 << 24;
    let system = |e: std::io::Error| Error::system("read", path, &e);
    if std::fs::metadata(path).map_err(system)?.len() > LIMIT {
        return Err(Error::content(
            path,
            "Over 16 MiB of text, expected a gradient table",
        ));
    }
    let bytes = std::fs::read(path).map_err(system)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::content(path, "Not a text file, expected a gradient table"))?;
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let words = line
            .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
            .filter(|w| !w.is_empty());
        let parsed: Result<Vec<f64>, String> = words
            .map(|w| {
                w.parse()
                    .map_err(|_| format!("\"{w}\" is no number, expected a gradient table"))
            })
            .collect();
        let parsed = parsed.map_err(|sentence| Error::content(path, sentence))?;
        if !parsed.is_empty() {
            lines.push(parsed);
        }
    }
    if lines.is_empty() {
        return Err(Error::content(
            path,
            "The file is empty, expected a gradient table",
        ));
    }
    Ok(lines)
}

/// 3 × N or N × 3; relative to the image axes, so turned into world axes here.
fn fsl(path: &Path, grid: &Grid, count: usize) -> Result<Vec<DVec3>, Error> {
    let rows = numbers(path)?;
    let width = rows[0].len();
    if rows.iter().any(|r| r.len() != width) {
        return Err(Error::content(
            path,
            "The rows of the bvec file are not equally long: it is damaged",
        ));
    }
    // A 3 × 3 table is ambiguous: rows are axes, as FSL writes it.
    let vectors: Vec<DVec3> = if rows.len() == 3 && (width != 3 || count == 3) {
        (0..width)
            .map(|i| DVec3::new(rows[0][i], rows[1][i], rows[2][i]))
            .collect()
    } else if width == 3 {
        rows.iter().map(|r| DVec3::new(r[0], r[1], r[2])).collect()
    } else {
        let sentence = format!(
            "The bvec file has {} rows of {width}, expected 3 × N or N × 3",
            rows.len()
        );
        return Err(Error::content(path, sentence));
    };
    let to_world = world_from_fsl(grid);
    Ok(vectors.into_iter().map(|v| to_world * v).collect())
}

/// FSL's rule: x is negated where the affine is right-handed; then the affine's rotation.
pub fn world_from_fsl(grid: &Grid) -> DMat3 {
    let flip = if grid.world_from_voxel.matrix3.determinant() > 0.0 {
        -1.0
    } else {
        1.0
    };
    nearest_orthogonal(grid.world_from_voxel.matrix3)
        * DMat3::from_diagonal(DVec3::new(flip, 1.0, 1.0))
}

/// The orthogonal polar factor, which is the rotation (and reflection) of a sheared affine too.
/// Newton's iteration Q ← (Q + Q⁻ᵀ) / 2 (Higham 1986).
fn nearest_orthogonal(m: DMat3) -> DMat3 {
    let unit = |v: DVec3| v.normalize_or_zero();
    let mut q = DMat3::from_cols(unit(m.x_axis), unit(m.y_axis), unit(m.z_axis));
    for _ in 0..30 {
        q = (q + q.inverse().transpose()) * 0.5;
    }
    q
}

/// x y z b a line, world axes.
fn mrtrix(path: &Path) -> Result<(Vec<f64>, Vec<DVec3>), Error> {
    let rows = numbers(path)?;
    if let Some(row) = rows.iter().find(|r| r.len() < 4) {
        let sentence = format!(
            "A row of the gradient table has {} numbers, expected x y z b",
            row.len()
        );
        return Err(Error::content(path, sentence));
    }
    Ok(rows
        .iter()
        .map(|r| (r[3], DVec3::new(r[0], r[1], r[2])))
        .unzip())
}

/// Writes bval and bvec (3 × N, FSL's axes) for a scan on `grid`.
pub fn save(bval: &Path, bvec: &Path, gradients: &Gradients, grid: &Grid) -> Result<(), Error> {
    let row = |values: Vec<String>| values.join(" ") + "\n";
    let b = row(gradients
        .b_s_per_mm2
        .iter()
        .map(ToString::to_string)
        .collect());
    super::atomic::write(bval, |out| out.write_all(b.as_bytes()))?;
    let fsl_from_world = world_from_fsl(grid).transpose();
    let vectors: Vec<DVec3> = gradients
        .directions
        .iter()
        .map(|&d| fsl_from_world * d)
        .collect();
    let rows: String = (0..3)
        .map(|axis| row(vectors.iter().map(|v| format!("{:.8}", v[axis])).collect()))
        .collect();
    super::atomic::write(bvec, |out| out.write_all(rows.as_bytes()))
}
