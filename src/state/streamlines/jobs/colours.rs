//! Values of streamlines for their colours.

use crate::compute::{Backend, Control};
use crate::data::{DataId, Mask, Shape, Tractogram, Volume};
use crate::io::scalars::{FileValues, open_values};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::solvers::region::distances_around;
use crate::solvers::tractogram::line_values::{self, LineStatistic, LineValues};
use crate::solvers::tractogram::selection::column;
use crate::state::core::colours::category_rgb;
use crate::state::core::display::LineColouring;
use crate::state::job_end::ended;
use crate::state::streamlines::jobs::select::thinned_marks;
use crate::state::streamlines::{COLOUR_VALUES, LineColours, PACKED_COLOURS};
use crate::state::{Effect, LayerId, State};
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
        /// All streamlines of the layer.
        all: Tractogram,
        /// Marks the streamlines that pass the rules of the layer; every n-th of these is drawn. `None`: all are drawn.
        kept: Option<(Arc<[bool]>, usize)>,
    },
}

/// Computes the values that the colours of a layer's drawn streamlines show.
#[derive(Clone, Debug)]
pub struct ColourStreamlines {
    pub layer: LayerId,
    pub tractogram: Tractogram,
    pub colouring: LineColouring,
    pub source: ColourSource,
    pub statistic: LineStatistic,
}

impl Job for ColourStreamlines {
    type Output = LineColours;

    fn slot(&self) -> Slot {
        // The colours of one layer do not replace those of another.
        COLOURS.instance(self.layer.0 as u32)
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
        let values = self.values(&backend, control)?;
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
    fn values(&self, backend: &Backend, control: &Control) -> Result<LineValues, JobError> {
        let (lines, statistic) = (&self.tractogram, self.statistic);
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
            ColourSource::File(name) if name == crate::data::tractogram::LENGTH => Ok(
                LineValues::PerStreamline(column(lines, name, backend, control)?.into()),
            ),
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
            if let Some(live) = state.runtime.streamlines.colours.get_mut(&self.layer) {
                live.finish(colours);
            }
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        if let Some(live) = state.runtime.streamlines.colours.get_mut(&self.layer) {
            live.fail();
        }
        false
    }
}
