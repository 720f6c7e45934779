//! Describes streamline files.

use super::super::inputs::{report_remarks, warn_of_own_grid};
use super::super::output::one_line;
use super::super::runner::{Failure, Runner};
use super::{DataKind, tenths};
use crate::data::Shared;
use crate::data::text::counted;
use crate::data::tractogram::LENGTH;
use crate::io::Reading;
use crate::io::pieces::Outline;
use crate::state::core::text::count;
use crate::state::files::jobs::open::Loaded;
use crate::state::streamlines::jobs::from_file::OpenPieces;
use crate::state::streamlines::jobs::from_file::describe::{
    DescribeStreamlines, StreamlineDescription,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Describes a streamline file, which need not fit into memory. Also returns the points by which it is compared with
/// others.
pub(super) fn describe(
    path: PathBuf,
    reported: &Reading,
    compared: bool,
    runner: &mut Runner,
) -> Result<(Value, String, Option<Loaded>), Failure> {
    let open = OpenPieces {
        path: path.clone(),
        reading: reported.clone(),
    };
    let pieces = runner.run(open)?.0;
    let (description, _) = runner.run(DescribeStreamlines { pieces, compared })?;
    let StreamlineDescription {
        summary,
        lengths,
        sample,
    } = description;
    report_remarks(&summary, &path);
    for coverage in &summary.coverages {
        warn_of_own_grid(coverage, &path);
    }
    let (value, text) = described(&path, &summary.outline, &lengths);
    Ok((value, text, sample.map(Loaded::Tractogram)))
}

/// The description of streamlines with these finite lengths, ascending, mm.
fn described(path: &Path, outline: &Outline, lengths: &[f32]) -> (Value, String) {
    let (tractogram, points, not_finite) = (&outline.empty, outline.points, outline.not_finite);
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let range = (
        lengths.first().copied().unwrap_or(0.0),
        lengths.last().copied().unwrap_or(0.0),
    );
    let names = |values: &BTreeMap<String, Shared<f32>>| {
        let names = values.keys().filter(|name| *name != LENGTH);
        names.cloned().collect::<Vec<String>>()
    };
    let (of_points, of_lines) = (
        names(&tractogram.per_point),
        names(&tractogram.per_streamline),
    );
    let groups: serde_json::Map<String, Value> = outline
        .groups
        .iter()
        .map(|(name, members)| (name.clone(), json!(members.len())))
        .collect();
    let of_groups = tractogram
        .per_group
        .values()
        .flat_map(|v| v.keys().cloned());
    let of_groups: BTreeSet<String> = of_groups.collect();
    let bounds = outline
        .bounds
        .map(|(low, high)| [low.to_array(), high.to_array()]);
    let grid = tractogram.grid.as_ref();
    let value = json!({
        "path": path, "kind": DataKind::Tractogram.key(), "streamlines": outline.streamlines,
        "points": points, "not_finite": not_finite, "median_length_mm": median, "length_mm": [range.0, range.1],
        "bounds_mm": bounds, "per_point": of_points, "per_streamline": of_lines, "groups": groups,
        "per_group": of_groups,
        "grid": grid.map(|g| json!({
            "shape": g.shape, "spacing_mm": g.spacing().to_array(), "orientation": g.orientation(),
        })),
    });
    let length = match lengths.is_empty() {
        true => "none".to_owned(),
        false => {
            let [low, high, middle] = [range.0, range.1, median].map(|v| tenths(f64::from(v)));
            format!("{low} to {high} mm, median {middle} mm")
        }
    };
    let mut text = format!(
        "  kind        tractogram\n  streamlines {}, {}\n  length      {length}\n",
        count(outline.streamlines as u64),
        counted(points, "point"),
    );
    if not_finite > 0 {
        let _ = writeln!(
            text,
            "  not finite  {} of {}; their streamlines have no length",
            count(not_finite as u64),
            counted(points, "point")
        );
    }
    if let Some([low, high]) = bounds {
        let [x, y, z] = [0, 1, 2].map(|a| format!("{} to {}", tenths(low[a]), tenths(high[a])));
        let _ = writeln!(
            text,
            "  extent      x {x}, y {y}, z {z} mm (right, front, up)"
        );
    }
    if let Some(grid) = grid {
        let ([x, y, z], spacing) = (grid.shape, grid.spacing());
        let _ = writeln!(
            text,
            "  grid        {x} × {y} × {z}, {:.3} × {:.3} × {:.3} mm, {}",
            spacing.x,
            spacing.y,
            spacing.z,
            grid.orientation()
        );
    }
    let groups = outline
        .groups
        .iter()
        .map(|(name, m)| format!("{name} ({})", count(m.len() as u64)));
    for (what, names) in [
        ("per point", of_points),
        ("per line", of_lines),
        ("groups", groups.collect()),
        ("per group", of_groups.into_iter().collect()),
    ] {
        if !names.is_empty() {
            let _ = writeln!(text, "  {what:<11} {}", one_line(&names.join(", ")));
        }
    }
    (value, text)
}
