//! The common part of the two VTK formats: points, lines through them, and values of both.

use super::source::{ALWAYS_ALLOWED_BYTES, MAX_EXPANSION};
use super::streamlines::{FibreInfo, MAX_LISTS, free_name};
use super::{Error, Space};
use crate::data::Tractogram;
use crate::data::text::singular_or_plural;
use crate::data::tractogram::column_name;
use std::path::Path;

/// A named array with `columns` numbers per value.
#[derive(Debug)]
pub(super) struct Array {
    pub name: String,
    pub columns: usize,
    pub values: Vec<f32>,
}

/// Point indices: the initial run 0, 1, 2 and so on, which takes no memory, followed by the rest as stored.
#[derive(Debug, Default)]
pub(super) struct Order {
    counted: u64,
    others: Vec<u64>,
}

impl Order {
    pub fn push(&mut self, index: u64) {
        if self.others.is_empty() && index == self.counted {
            self.counted += 1;
        } else {
            self.others.push(index);
        }
    }

    pub fn len(&self) -> usize {
        self.counted as usize + self.others.len()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let others = self.others.iter();
        (0..self.counted as usize).chain(others.map(|&i| usize::try_from(i).unwrap_or(usize::MAX)))
    }
}

/// A data set as stored in a file.
#[derive(Debug, Default)]
pub(super) struct Polydata {
    pub points: Vec<[f32; 3]>,
    /// The points of line after line.
    pub connectivity: Order,
    /// The start of each line in them, and the end of the last.
    pub offsets: Vec<u64>,
    /// Cells that are not lines (vertices, polygons, strips): before and after the lines.
    pub cells_before: usize,
    pub cells_behind: usize,
    pub of_points: Vec<Array>,
    /// Values of all cells.
    pub of_cells: Vec<Array>,
    /// Whether any of its numbers are in float64.
    pub has_doubles: bool,
    /// RAS or LPS, if the file states it.
    pub space: Option<String>,
}

impl Polydata {
    pub fn lines(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The streamlines, with points in the order in which the lines use them.
    pub fn tractogram(
        mut self,
        path: &Path,
        file_bytes: usize,
        reported: Option<Space>,
        info: &mut FibreInfo,
    ) -> Result<Tractogram, Error> {
        let remedy = "write the file again";
        let malformed =
            |found: String, expected: &str| Err(Error::malformed(path, found, (expected, remedy)));
        let points = self.points.len();
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let uses = self.connectivity.len();
        let valid = self.offsets[0] == 0
            && self.offsets.windows(2).all(|w| w[0] <= w[1])
            && self.offsets.last() == Some(&(uses as u64));
        if !valid {
            return malformed(
                "line offsets that do not match the list of points".to_owned(),
                "offsets that rise from 0 to its length",
            );
        }
        if let Some(index) = self.connectivity.iter().find(|&i| i >= points) {
            return malformed(
                format!("a line through point {index} of {points}"),
                "points that exist",
            );
        }
        let arrays = self.of_points.iter().chain(&self.of_cells);
        let lists = arrays.fold(0usize, |sum, a| sum.saturating_add(a.columns));
        if lists > MAX_LISTS {
            return Err(Error::malformed(
                path,
                format!("{lists} numbers for each point or line"),
                (format!("at most {MAX_LISTS}"), "leave some out"),
            ));
        }
        // Lines may use a point repeatedly; the total is limited.
        let numbers: usize = self.of_points.iter().map(|a| a.columns).sum();
        let bytes = (uses as u64).saturating_mul(4 * (3 + numbers as u64));
        let allowed = (file_bytes as u64).saturating_mul(MAX_EXPANSION) + ALWAYS_ALLOWED_BYTES;
        if bytes > allowed {
            return malformed(
                format!("lines that use {points} points {uses} times"),
                "lines with points of their own",
            );
        }
        self.convert_to_ras(reported, info);
        let in_order = self.connectivity.others.is_empty();
        let used = if in_order {
            uses
        } else {
            let mut used = vec![false; points];
            self.connectivity.iter().for_each(|i| used[i] = true);
            used.iter().filter(|&&u| u).count()
        };
        if used < points {
            let unused = points - used;
            info.warn_unread(format!(
                "{unused} {} to no line; {} not used",
                singular_or_plural(unused, "point belongs", "points belong"),
                singular_or_plural(unused, "it was", "they were")
            ));
        }
        let adjacent = self.cells_before + self.cells_behind;
        if adjacent > 0 {
            info.warn_unread(format!(
                "{adjacent} {} beside the lines {} not used",
                singular_or_plural(adjacent, "vertex or surface", "vertices or surfaces"),
                singular_or_plural(adjacent, "was", "were")
            ));
        }
        let lines = self.lines();
        let mut gathered = std::mem::take(&mut self.points);
        if in_order {
            gathered.truncate(used);
        } else {
            gathered = self.connectivity.iter().map(|i| gathered[i]).collect();
        }
        let mut tractogram = Tractogram::new(gathered, std::mem::take(&mut self.offsets));
        for array in std::mem::take(&mut self.of_points) {
            let name = free_name(&array.name, &tractogram.per_point);
            for c in 0..array.columns {
                let value = |i: usize| array.values[i * array.columns + c];
                let values: Vec<f32> = self.connectivity.iter().map(value).collect();
                let name = free_name(&column_name(&name, c, array.columns), &tractogram.per_point);
                tractogram = tractogram.with_per_point(&name, values);
            }
        }
        for array in &self.of_cells {
            let name = free_name(&array.name, &tractogram.per_streamline);
            for c in 0..array.columns {
                let value =
                    |line: usize| array.values[(self.cells_before + line) * array.columns + c];
                let values: Vec<f32> = (0..lines).map(value).collect();
                let name = column_name(&name, c, array.columns);
                let name = free_name(&name, &tractogram.per_streamline);
                tractogram = tractogram.with_per_streamline(&name, values);
            }
        }
        info.is_rounded = self.has_doubles;
        info.check(&tractogram, None);
        Ok(tractogram)
    }

    /// Converts LPS coordinates to RAS; records which space was assumed if the file does not state it.
    fn convert_to_ras(&mut self, reported: Option<Space>, info: &mut FibreInfo) {
        let named = self.space.as_deref().and_then(Space::named);
        let space = named.or(reported).unwrap_or(Space::Ras);
        if named.is_some() {
            info.add("space", space.name());
        } else {
            info.taken = Some(space);
            if reported.is_none() {
                info.warn(
                    "The file does not name its space; RAS was assumed. If left and right are swapped, it is \
                     LPS: choose that with --vtk-space lps or the layer's switch",
                );
            }
        }
        if space == Space::Lps {
            for point in &mut self.points {
                point[0] = -point[0];
                point[1] = -point[1];
            }
        }
    }
}

/// Parses numbers in text, one after the other.
pub(super) fn parsed_numbers<T: std::str::FromStr>(text: &[u8]) -> impl Iterator<Item = Option<T>> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}
