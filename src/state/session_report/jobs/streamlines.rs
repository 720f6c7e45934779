//! Streamlines: numbers and lengths, bundles with the profile of each, weights, and connections of labels.

use super::contents::number;
use super::{Report, fixed};
use crate::compute::Cancelled;
use crate::data::statistics::median;
use crate::data::text::counted;
use crate::data::{Grid, Tractogram};
use crate::io::html::Column as Heading;
use crate::io::svg::{Marks, Plot, Sample};
use crate::jobs::JobError;
use crate::solvers::Error;
use crate::solvers::bundles::{GroupStatistics, group_statistics};
use crate::solvers::connectivity::connectome;
use crate::solvers::region::numbers;
use crate::solvers::tractogram::profile::{Along, Profile, Start, profile};
use crate::state::core::layer::Content;
use crate::state::streamlines::jobs::table::Measure;
use crate::state::streamlines::update::bundles::measured;
use crate::state::streamlines::{BottomPanel, Column};
use std::sync::Arc;

/// Bundles whose profiles are plotted, for each layer.
const PLOTTED: usize = 24;
/// Connected pairs of labels that are listed.
const PAIRS: usize = 20;
/// Rows of the table of a profile.
const NODES_LISTED: usize = 20;

/// The streamlines of a layer that count, or the live ones.
struct Counted<'a> {
    name: &'a str,
    lines: &'a Tractogram,
    marks: Option<Arc<[bool]>>,
}

impl Counted<'_> {
    fn counts(&self, line: usize) -> bool {
        self.marks.as_ref().is_none_or(|marks| marks[line])
    }
}

/// The value along streamlines that is measured, and its name.
struct Measured {
    name: String,
    measure: Measure,
    along: Along,
    /// The voxels of an image.
    grid: Option<Arc<Grid>>,
}

impl Report<'_> {
    /// The layers of streamlines, and the live result.
    pub(super) fn streamlines(&mut self) -> Result<(), JobError> {
        let state = self.state;
        let layers = state.document.layers.iter();
        let counted = layers.filter_map(|layer| match &layer.content {
            Content::Tractogram(lines) => Some(Counted {
                name: &layer.name,
                lines,
                marks: state.counted_marks(layer.id).map(|marks| marks.0),
            }),
            _ => None,
        });
        let live = state.final_live().map(|live| Counted {
            name: state.document.track.method.live_name(),
            lines: &live.output.kept,
            marks: None,
        });
        let all: Vec<Counted> = counted.chain(live).collect();
        // Streamlines that stay in their file have weights, too.
        if all.is_empty() && self.state.document.weights.is_empty() {
            return Ok(());
        }
        self.page.heading(2, "Streamlines");
        if !all.is_empty() {
            self.lengths(&all)?;
        }
        self.weights();
        for counted in all.iter().filter(|c| !c.lines.is_empty()) {
            self.bundles(counted)?;
        }
        self.connections()
    }

    fn lengths(&mut self, all: &[Counted]) -> Result<(), JobError> {
        let mut rows = Vec::new();
        for counted in all {
            self.control.check()?;
            let kept = (0..counted.lines.len()).filter(|line| counted.counts(*line));
            let (mut lengths, mut points) = (Vec::new(), 0);
            for line in kept {
                lengths.push(counted.lines.length_mm(line));
                points += counted.lines.streamline(line).len();
            }
            let count = lengths.len();
            lengths.retain(|mm| mm.is_finite());
            let wide = || lengths.iter().map(|mm| f64::from(*mm));
            let n = lengths.len() as f64;
            let mean = wide().sum::<f64>() / n;
            let sd = (wide().map(|mm| (mm - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
            let least = wide().fold(f64::NAN, f64::min);
            let most = wide().fold(f64::NAN, f64::max);
            let middle = match lengths.is_empty() {
                true => f64::NAN,
                false => f64::from(median(&mut lengths)),
            };
            let mut row = vec![counted.name.to_owned(), number(count), number(points)];
            row.extend([mean, sd, middle, least, most].map(|mm| fixed(mm, 1)));
            rows.push(row);
        }
        let columns = [
            Heading::text("Layer"),
            Heading::number("Streamlines"),
            Heading::number("Points"),
            Heading::number("Mean length, mm"),
            Heading::number("SD, mm"),
            Heading::number("Median, mm"),
            Heading::number("Shortest, mm"),
            Heading::number("Longest, mm"),
        ];
        let caption = match all.iter().any(|c| c.marks.is_some()) {
            true => {
                "Numbers and lengths; where a filter is active, of the streamlines that it keeps"
            }
            false => "Numbers and lengths",
        };
        self.page.table(caption, &columns, &rows);
        Ok(())
    }

    /// The COMMIT fits.
    fn weights(&mut self) {
        let document = &self.state.document;
        let mut rows = Vec::new();
        for (id, fit) in &document.weights {
            let Some(layer) = document.layer(*id) else {
                continue;
            };
            rows.push(vec![
                layer.name.clone(),
                number(fit.figures.streamlines as usize),
                number(fit.sorted.len()),
                fixed(fit.figures.objective, 6),
                fixed(fit.figures.rmse, 6),
                number(fit.iterations() as usize),
            ]);
        }
        if rows.is_empty() {
            return;
        }
        let columns = [
            Heading::text("Layer"),
            Heading::number("Streamlines"),
            Heading::number("With a weight above 0"),
            Heading::number("Objective"),
            Heading::number("RMSE"),
            Heading::number("Iterations"),
        ];
        self.page.table("COMMIT fits", &columns, &rows);
    }

    fn measured(&self, lines: &Tractogram) -> Option<Measured> {
        let column = measured(self.state, lines)?;
        let name = self.state.column_name(&column);
        let (measure, along, grid) = match column {
            Column::Value(value) => (Measure::Value(value.clone()), Along::Value(value), None),
            Column::Image(id) => {
                let (volume, frame) = self.state.column_image(id)?;
                (
                    Measure::Image(volume.clone(), frame),
                    Along::Image(volume.clone(), frame),
                    Some(volume.grid.clone()),
                )
            }
        };
        Some(Measured {
            name,
            measure,
            along,
            grid,
        })
    }

    /// The table of a layer's groups, and the profile of each; of all its streamlines where it has none.
    fn bundles(&mut self, counted: &Counted) -> Result<(), JobError> {
        let lines = counted.lines;
        let measured = self.measured(lines);
        if lines.groups.is_empty() {
            let marks = counted.marks.clone();
            let name = format!("All of {}", counted.name);
            return self.profile(counted, &name, marks.as_deref(), measured.as_ref());
        }
        let title = format!("Bundles of {}", counted.name);
        self.page.heading(3, &title);
        self.bundle_table(counted, measured.as_ref())?;
        for (name, members) in lines.groups.iter().take(PLOTTED) {
            self.control.check()?;
            let mut marks = vec![false; lines.len()];
            for line in members.iter().map(|line| *line as usize) {
                marks[line] = counted.counts(line);
            }
            self.profile(counted, name, Some(&marks), measured.as_ref())?;
        }
        let more = lines.groups.len().saturating_sub(PLOTTED);
        if more > 0 {
            let sentence = format!(
                "Profiles of the first {PLOTTED} bundles are shown; {} are left out.",
                counted_others(more)
            );
            self.page.note(&sentence);
        }
        Ok(())
    }

    fn bundle_table(
        &mut self,
        counted: &Counted,
        measured: Option<&Measured>,
    ) -> Result<(), JobError> {
        let (lines, backend, silent) =
            (counted.lines, self.worker.backend(), self.control.silent());
        let values = measured.map(|m| m.measure.values(lines, &backend, &silent));
        let values = values.transpose()?;
        let grid = measured.and_then(|m| m.grid.clone());
        let grid = grid.or_else(|| lines.grid.clone());
        let groups: Vec<&[u32]> = lines.groups.values().map(|group| &**group).collect();
        let known = group_statistics(
            lines,
            &groups,
            counted.marks.as_deref(),
            (values.as_deref(), grid.as_ref()),
            &backend,
            &silent,
        )?;
        let row = |(name, group): (&String, GroupStatistics)| {
            let mut row = vec![
                name.clone(),
                number(group.count),
                fixed(group.length_mm, 1),
                fixed(group.length_sd_mm, 1),
            ];
            row.extend(group.volume_mm3.map(|mm3| fixed(mm3, 0)));
            row.extend(group.value.map(|value| fixed(value, 4)));
            row
        };
        let rows: Vec<_> = lines.groups.keys().zip(known).map(row).collect();
        let mut columns = vec![
            Heading::text("Bundle"),
            Heading::number("Streamlines"),
            Heading::number("Length, mm"),
            Heading::number("SD, mm"),
        ];
        columns.extend(grid.map(|_| Heading::number("Volume, mm³")));
        columns.extend(measured.map(|m| Heading::number(&format!("{}, mean", m.name))));
        let caption = format!(
            "{}, as with arcuate bundles --groups",
            counted_bundles(rows.len())
        );
        self.page.table(&caption, &columns, &rows);
        Ok(())
    }

    /// The profile of a bundle: a plot and a table.
    fn profile(
        &mut self,
        counted: &Counted,
        name: &str,
        marks: Option<&[bool]>,
        measured: Option<&Measured>,
    ) -> Result<(), JobError> {
        let Some(measured) = measured else {
            return Ok(());
        };
        let settings = &self.state.document.streamlines.profile;
        let start = settings
            .start
            .and_then(|id| self.state.document.region(id))
            .map_or(Start::Axis, |region| Start::Near(region.clone()));
        let along = [measured.along.clone()];
        let (backend, silent) = (self.worker.backend(), self.control.silent());
        let found = profile(
            counted.lines,
            marks,
            &along,
            &start,
            &settings.params,
            &backend,
            &silent,
        );
        let found = match found {
            Ok(found) => found,
            Err(Error::Cancelled) => return Err(Cancelled.into()),
            Err(error) => {
                self.page.note(&format!("{name}: no profile. {error}."));
                return Ok(());
            }
        };
        self.add_profile(name, &measured.name, &found);
        Ok(())
    }

    fn add_profile(&mut self, name: &str, value: &str, found: &Profile) {
        let Some(curve) = found.curves.first() else {
            return;
        };
        self.page.heading(3, &format!("{value} along {name}"));
        let last = curve.mean.len().saturating_sub(1).max(1) as f64;
        let position = |node: usize| node as f64 / last * f64::from(found.length_mm);
        let samples = curve.mean.iter().zip(&curve.sd).enumerate();
        let samples = samples.map(|(node, (mean, sd))| Sample {
            x: position(node),
            mean: f64::from(*mean),
            sd: f64::from(*sd),
        });
        let plot = Plot {
            title: format!(
                "Mean of {value} along {name}, with one standard deviation on either side"
            ),
            x: "Position along the bundle, mm".to_owned(),
            y: value.to_owned(),
            marks: Marks::Line(samples.collect()),
        };
        let caption = format!(
            "Mean ± standard deviation over {} at {}; the bundle is {:.1} mm long on average.",
            counted_streamlines(found.used),
            counted_nodes(curve.mean.len()),
            found.length_mm
        );
        self.page.plot(&plot, &caption);
        let step = curve.mean.len().div_ceil(NODES_LISTED).max(1);
        let listed = (0..curve.mean.len()).step_by(step);
        let row = |node: usize| {
            vec![
                fixed(position(node), 1),
                fixed(f64::from(curve.mean[node]), 4),
                fixed(f64::from(curve.sd[node]), 4),
                number(curve.count[node] as usize),
            ]
        };
        let columns = [
            Heading::text("Position, mm"),
            Heading::number(&format!("{value}, mean")),
            Heading::number("SD"),
            Heading::number("Streamlines"),
        ];
        let caption = match step {
            1 => "Every node of the profile".to_owned(),
            step => format!("One node in {step} of the profile"),
        };
        let rows: Vec<_> = listed.map(row).collect();
        self.page.table(&caption, &columns, &rows);
    }

    /// The connections of the labels of the current streamlines, if a label map is chosen or the matrix is shown.
    fn connections(&mut self) -> Result<(), JobError> {
        let state = self.state;
        let settings = &state.document.streamlines.connect;
        let is_requested =
            settings.labels.is_some() || state.view.bottom_panel == Some(BottomPanel::Matrix);
        let (Some(map), Some((layer, lines))) = (state.label_map(), state.current_streamlines())
        else {
            return Ok(());
        };
        let Some(labels) = map.content.volume().filter(|_| is_requested) else {
            return Ok(());
        };
        let (backend, silent) = (self.worker.backend(), self.control.silent());
        let known = backend.install(|| numbers(labels, 0, &silent))?;
        let marks = state.counted_marks(layer.id).map(|marks| marks.0);
        let found = connectome(
            lines,
            marks.as_deref(),
            (labels, 0, &known),
            &settings.params,
            None,
            &backend,
            &silent,
        )?;
        self.page.heading(3, "Connections");
        let both = found.examined - found.one_end - found.no_end;
        let sentence = format!(
            "{both} of {} of {} connect {} of {} of {}; {} have a label at one end only, {} at neither.",
            counted_streamlines(found.examined),
            layer.name,
            counted(found.connected.len(), "pair"),
            counted(found.nodes.len(), "label"),
            map.name,
            found.one_end,
            found.no_end
        );
        self.page.paragraph(&sentence);
        let names = found.names(labels);
        let name = |row: u32| names.get(row as usize).cloned().unwrap_or_default();
        let row = |[a, b]: &[u32; 2]| {
            let at = found.at(*a as usize, *b as usize);
            vec![
                format!("{} – {}", name(*a), name(*b)),
                number(found.count[at] as usize),
                fixed(f64::from(found.length_mm[at]), 1),
            ]
        };
        let rows: Vec<_> = found.connected.iter().take(PAIRS).map(row).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let columns = [
            Heading::text("Labels"),
            Heading::number("Streamlines"),
            Heading::number("Mean length, mm"),
        ];
        let caption = match found.connected.len() > PAIRS {
            true => format!("The {PAIRS} pairs with the most streamlines"),
            false => "Connected pairs, those with the most streamlines first".to_owned(),
        };
        self.page.table(&caption, &columns, &rows);
        Ok(())
    }
}

fn counted_streamlines(n: usize) -> String {
    counted(n, "streamline")
}

fn counted_nodes(n: usize) -> String {
    counted(n, "node")
}

fn counted_bundles(n: usize) -> String {
    counted(n, "bundle")
}

fn counted_others(n: usize) -> String {
    counted(n, "other")
}
