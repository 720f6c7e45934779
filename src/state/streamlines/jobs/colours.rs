//! Values of streamlines for their colours.

use crate::compute::{Backend, Control};
use crate::data::tractogram::LENGTH;
use crate::data::{DataId, Mask, Sentence, Shape, Tractogram, Volume};
use crate::io::InPlace;
use crate::io::scalars::{FileValues, open_values, open_weights_for};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::solvers::region::distances_around;
use crate::solvers::tractogram::line_values::{self, LineStatistic, LineValues};
use crate::solvers::tractogram::selection::column;
use crate::state::core::colours::category_rgb;
use crate::state::core::display::LineColouring;
use crate::state::filter::WEIGHT;
use crate::state::job_end::ended;
use crate::state::streamlines::in_place::PictureOf;
use crate::state::streamlines::jobs::select::thinned_marks;
use crate::state::streamlines::update::colours;
use crate::state::streamlines::{COLOUR_VALUES, ColourKey, LineColours, Live, PACKED_COLOURS};
use crate::state::{Effect, LayerId, State};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

pub const COLOURS: Slot = Slot::latest_wins("colours");

/// Distances from a mask are measured as far as this, mm; points farther away count as this far.
const MAXIMUM_DISTANCE_MM: f64 = 60.0;

/// Where the values of colours come from.
#[derive(Clone, Debug)]
pub enum ColourSource {
    /// A value of the file; the length is measured.
    File(String),
    /// A frame of an image.
    Image(Volume, usize),
    Labels(Volume),
    /// An image of colours, and its brightness.
    ColourImage(Volume, f32),
    Distance(Arc<Shape>),
    EndToEnd,
    Group,
    /// A file with a value for each streamline of the layer, or for each of their points.
    ValuesFile {
        path: PathBuf,
        /// All streamlines of the layer; empty if they stay in their file.
        all: Tractogram,
        /// Marks the streamlines that pass the rules of the layer; every n-th of these is drawn. `None`: all are drawn.
        kept: Option<(Arc<[bool]>, usize)>,
    },
}

/// The file of drawn streamlines that stay there, and their numbers in it.
#[derive(Clone, Debug)]
pub struct DrawnFromFile {
    pub file: Arc<InPlace>,
    pub numbers: Arc<[u64]>,
    pub picture: PictureOf,
}

/// Computes the values that the colours of a layer's drawn streamlines show.
#[derive(Clone, Debug)]
pub struct ColourStreamlines {
    pub layer: LayerId,
    pub tractogram: Tractogram,
    pub colouring: LineColouring,
    pub source: ColourSource,
    pub statistic: LineStatistic,
    pub from_file: Option<DrawnFromFile>,
}

impl ColourStreamlines {
    /// The result that the job replaces.
    fn live<'a>(&self, state: &'a mut State) -> Option<&'a mut Live<ColourKey, LineColours>> {
        colours::live_mut(state, self.layer, self.picture())
    }

    pub fn slot_of(layer: LayerId, picture: PictureOf) -> Slot {
        // The colours of one layer do not replace those of another.
        COLOURS.instance(2 * layer.0 as u32 + u32::from(picture == PictureOf::View))
    }

    fn picture(&self) -> PictureOf {
        let from_file = self.from_file.as_ref();
        from_file.map_or(PictureOf::Whole, |drawn| drawn.picture)
    }
}

impl Job for ColourStreamlines {
    type Output = LineColours;

    fn slot(&self) -> Slot {
        Self::slot_of(self.layer, self.picture())
    }

    fn label(&self) -> String {
        "Colours of streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let values = match &self.from_file {
            Some(drawn) => self.values_from_file(drawn, &backend, control)?,
            None => self.values(&self.tractogram, &backend, control)?,
        };
        let is_packed = matches!(
            self.source,
            ColourSource::ColourImage(..)
                | ColourSource::Labels(_)
                | ColourSource::EndToEnd
                | ColourSource::Group
        );
        let ranges = match is_packed {
            true => None,
            false => line_values::ranges(values.values(), &backend),
        };
        let own_name = match (&self.colouring, self.statistic) {
            (LineColouring::Fa, LineStatistic::EachPoint) => Some("fa"),
            (LineColouring::Length, _) => Some("length"),
            (LineColouring::Weight, _) => Some(WEIGHT),
            _ => None,
        };
        let tractogram = match own_name {
            // Other values of the same name are drawn as such only with another id.
            Some(name) => with_values(self.tractogram, name, values).with_new_id(),
            // The name distinguishes them from others, and the points on the graphics card stay.
            None => {
                let kind = if is_packed {
                    PACKED_COLOURS
                } else {
                    COLOUR_VALUES
                };
                with_values(
                    self.tractogram,
                    &format!("{kind}{:?}", DataId::fresh()),
                    values,
                )
            }
        };
        Ok(LineColours {
            tractogram,
            colouring: self.colouring,
            statistic: self.statistic,
            is_packed,
            ranges,
        })
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![&output.tractogram]
    }
}

fn with_values(tractogram: Tractogram, name: &str, values: LineValues) -> Tractogram {
    match values {
        LineValues::PerPoint(values) => tractogram.with_per_point(name, values),
        LineValues::PerStreamline(values) => tractogram.with_per_streamline(name, values),
    }
}

impl ColourStreamlines {
    /// The values of drawn streamlines that stay in their file. The drawn curves lack some of their points: whatever
    /// depends on all of them is computed from the file.
    fn values_from_file(
        &self,
        drawn: &DrawnFromFile,
        backend: &Backend,
        control: &Control,
    ) -> Result<LineValues, JobError> {
        let (file, numbers) = (&drawn.file, &drawn.numbers);
        if let ColourSource::ValuesFile { path, .. } = &self.source {
            if FileValues::is_per_point(path) {
                return Err(ValuesOfPoints(path.clone()).into());
            }
            let stamp = file.pieces().empty().timestamp.clone();
            let all = open_weights_for(path, file.len(), stamp.as_deref())?;
            let own: Vec<f32> = numbers.iter().map(|i| all[*i as usize]).collect();
            return Ok(LineValues::PerStreamline(own.into()));
        }
        let own = match &self.source {
            ColourSource::File(name) if name == LENGTH => None,
            ColourSource::File(name) => Some(name.as_str()),
            _ => None,
        };
        if own.is_none() && self.statistic == LineStatistic::EachPoint {
            return self.values(&self.tractogram, backend, control);
        }
        let silent = control.silent();
        control.begin("Reading the drawn streamlines", numbers.len() as u64);
        let batch = |range: Range<usize>, all: Tractogram| {
            let values = match self.values(&all, backend, &silent)? {
                LineValues::PerStreamline(values) => return Ok((false, values.to_vec())),
                LineValues::PerPoint(values) => values,
            };
            let mut own = Vec::new();
            for (i, line) in range.enumerate() {
                let points = all.offsets[i] as usize..all.offsets[i + 1] as usize;
                let read = (all.streamline(i), &values[points]);
                at_drawn_points(self.tractogram.streamline(line), read, &mut own);
            }
            Ok::<_, JobError>((true, own))
        };
        let read = backend.install(|| file.map_some(numbers, own, control, batch))?;
        let are_of_points = read.iter().any(|(are_of_points, _)| *are_of_points);
        let values: Vec<f32> = read.into_iter().flat_map(|(_, values)| values).collect();
        Ok(match are_of_points {
            true => LineValues::PerPoint(values.into()),
            false => LineValues::PerStreamline(values.into()),
        })
    }

    fn values(
        &self,
        lines: &Tractogram,
        backend: &Backend,
        control: &Control,
    ) -> Result<LineValues, JobError> {
        let statistic = self.statistic;
        let values = match &self.source {
            ColourSource::ValuesFile { path, all, kept } => {
                let kept = kept.as_ref();
                let marks = kept.map(|(marks, every)| thinned_marks(marks, *every));
                let values = match open_values(path, all, control)? {
                    FileValues::PerStreamline(values) => {
                        let values = marked(values, marks.as_deref(), |line| line..line + 1);
                        return Ok(LineValues::PerStreamline(values.into()));
                    }
                    FileValues::PerPoint(values) => {
                        let points =
                            |line| all.offsets[line] as usize..all.offsets[line + 1] as usize;
                        marked(values, marks.as_deref(), points)
                    }
                };
                line_values::over(lines, &values.into(), statistic, backend, control)
            }
            ColourSource::File(name) if name == LENGTH => Ok(LineValues::PerStreamline(
                column(lines, name, backend, control)?.into(),
            )),
            ColourSource::File(name) => {
                line_values::of_file(lines, name, statistic, backend, control)
            }
            ColourSource::Image(volume, frame) => {
                line_values::of_image(lines, (volume, *frame), statistic, backend, control)
            }
            ColourSource::Labels(volume) => line_values::of_labels(lines, volume, backend, control),
            ColourSource::ColourImage(volume, brightness) => {
                line_values::of_colour_image(lines, volume, *brightness, backend, control)
            }
            ColourSource::Distance(shape) => {
                let distances = match &**shape {
                    Shape::Mask(mask) => distances(mask, backend, control)?,
                    _ => None,
                };
                let from = (&**shape, distances.as_ref());
                line_values::of_region(lines, from, statistic, backend, control)
            }
            ColourSource::EndToEnd => line_values::end_to_end(lines, backend, control),
            ColourSource::Group => Ok(line_values::of_groups(lines, category_rgb)),
        };
        Ok(values?)
    }
}

/// Appends the values at the drawn points of a curve, which are some of its points in their order.
fn at_drawn_points(
    drawn: &[[f32; 3]],
    (points, values): (&[[f32; 3]], &[f32]),
    out: &mut Vec<f32>,
) {
    let same = |a: &[f32; 3], b: &[f32; 3]| a.map(f32::to_bits) == b.map(f32::to_bits);
    let mut rest = points.iter().zip(values);
    let own = drawn.iter().map(|point| {
        let found = rest.find(|(other, _)| same(point, other));
        found.map_or(f32::NAN, |(_, value)| *value)
    });
    out.extend(own);
}

/// Values of points in a file beside streamlines that stay in theirs.
#[derive(Clone, PartialEq, Debug)]
struct ValuesOfPoints(PathBuf);

impl fmt::Display for ValuesOfPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Found a file with a value for each point, expected one number for each streamline, because these \
             streamlines stay in their file: filter and keep some of them first: {}",
            self.0.display()
        )
    }
}

impl std::error::Error for ValuesOfPoints {}

impl From<ValuesOfPoints> for JobError {
    fn from(error: ValuesOfPoints) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

/// The values of marked streamlines, each of which owns a range of them.
fn marked(
    values: Vec<f32>,
    marks: Option<&[bool]>,
    own: impl Fn(usize) -> Range<usize>,
) -> Vec<f32> {
    let Some(marks) = marks else {
        return values;
    };
    let lines = (0..marks.len()).filter(|line| marks[*line]);
    let kept = lines.flat_map(|line| values[own(line)].iter().copied());
    kept.collect()
}

fn distances(mask: &Mask, backend: &Backend, control: &Control) -> Result<Option<Volume>, Error> {
    backend.install(|| distances_around(mask, MAXIMUM_DISTANCE_MM, control))
}

impl Receive<State> for ColourStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, colours, _, _| {
            if let Some(live) = self.live(state) {
                live.finish(colours);
            }
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        if let Some(live) = self.live(state) {
            live.fail();
        }
        false
    }
}
