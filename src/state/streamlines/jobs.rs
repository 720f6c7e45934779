//! Work on the streamlines of one layer: filtering, values, picking, profiles, connections.

#[path = "jobs/csv.rs"]
mod csv;

pub use csv::{ConnectomeTable, Named, SaveConnectome, SaveProfile, SaveTable};

use super::error::JobError;
use super::request::memory_for_curves;
use super::{Output, Slot};
use crate::compute::{Backend, Control, DataId};
use crate::data::{Tractogram, Volume};
use crate::solvers::connectivity::{Connectome, connectome};
use crate::solvers::curves::StopReason;
use crate::solvers::region::numbers;
use crate::solvers::tractogram::pick;
use crate::solvers::tractogram::profile::{Along, Profile, Sense, Start, profile};
use crate::solvers::tractogram::selection::{
    Edit, Rules, Selection, apply, column, copied, means, moved, select,
};
use glam::DAffine3;
use std::sync::Arc;

/// One value for each streamline.
#[derive(Clone, Debug)]
pub enum Measure {
    /// `length`, a value per streamline, or the mean of one per point.
    Value(String),
    /// The mean of an image's frame along it.
    Image(Volume, usize),
}

/// Streamlines, and which of them count.
#[derive(Clone, Debug)]
pub struct Among {
    pub tractogram: Tractogram,
    pub marks: Option<Arc<[bool]>>,
}

#[derive(Clone, Debug)]
pub enum ForBundle {
    /// The streamlines that rules keep; where they are more than `most_shown`, one in a fixed number comes back to
    /// be drawn.
    Filter {
        tractogram: Tractogram,
        rules: Rules,
        most_shown: usize,
    },
    Columns {
        tractogram: Tractogram,
        wanted: Vec<Measure>,
    },
    /// The rows of a table, sorted by values (NaN last), else as they are.
    Order {
        count: usize,
        among: Option<Arc<[bool]>>,
        values: Option<Arc<[f32]>>,
        descending: bool,
    },
    Pick {
        among: Among,
        screen: pick::Screen,
        wanted: pick::Wanted,
    },
    /// Some of them, to be drawn.
    Extract {
        tractogram: Tractogram,
        marks: Arc<[bool]>,
    },
    /// What is left after a step; `fresh`: for a new layer.
    Edit {
        layer: u64,
        tractogram: Tractogram,
        edit: Edit,
        fresh: bool,
    },
    /// Of live curves, kept and missed, those of which an end stopped for a reason.
    Stopped {
        curves: [Tractogram; 2],
        reason: StopReason,
    },
    /// All of them, moved from where their file says.
    Shift {
        layer: u64,
        tractogram: Tractogram,
        by: DAffine3,
    },
    Profile {
        among: Among,
        along: Vec<Along>,
        nodes: usize,
        start: Start,
        sense: Sense,
    },
    Connect {
        among: Among,
        labels: Volume,
        frame: usize,
        radius_mm: f64,
        value: Option<Measure>,
    },
    SaveTable(SaveTable),
    SaveProfile(SaveProfile),
    SaveConnectome(SaveConnectome),
}

#[derive(Clone, Debug)]
pub enum OfBundle {
    Filtered {
        selection: Selection,
        shown: Tractogram,
        /// One in this many is shown.
        every: usize,
    },
    /// In the order asked for.
    Columns(Vec<Arc<[f32]>>),
    Ordered(Arc<[u32]>),
    Picked(Vec<u32>),
    Extracted(Tractogram),
    Edited {
        layer: u64,
        of: DataId,
        edit: Edit,
        tractogram: Tractogram,
        fresh: bool,
    },
    Stopped([Tractogram; 2]),
    Shifted {
        layer: u64,
        of: DataId,
        by: DAffine3,
        tractogram: Tractogram,
    },
    Profiled(Arc<Profile>),
    Connected(Arc<Connectome>),
}

impl ForBundle {
    pub(super) fn slot(&self) -> Slot {
        match self {
            Self::Filter { .. } => Slot::Select,
            Self::Columns { .. } => Slot::Columns,
            Self::Order { .. } => Slot::Order,
            Self::Pick { .. } => Slot::Pick,
            Self::Extract { .. } => Slot::Extract,
            Self::Edit { .. } => Slot::Edit,
            Self::Stopped { .. } => Slot::Stopped,
            Self::Shift { .. } => Slot::Shift,
            Self::Profile { .. } => Slot::Profile,
            Self::Connect { .. } => Slot::Connect,
            Self::SaveTable(_) | Self::SaveProfile(_) | Self::SaveConnectome(_) => Slot::Save,
        }
    }

    pub(super) fn label(&self) -> String {
        let file = |path: &std::path::Path| {
            let name = path.file_name().unwrap_or_default();
            format!("Saving {}", name.to_string_lossy())
        };
        match self {
            Self::Filter { .. } => "Filtering streamlines".to_owned(),
            Self::Columns { .. } => "Values of streamlines".to_owned(),
            Self::Order { .. } => "Sorting streamlines".to_owned(),
            Self::Pick { .. } => "Looking for streamlines".to_owned(),
            Self::Extract { .. } => "Showing chosen streamlines".to_owned(),
            Self::Edit { fresh: true, .. } => "Keeping streamlines".to_owned(),
            Self::Edit { fresh: false, .. } => "Deleting streamlines".to_owned(),
            Self::Stopped { .. } => "Looking why curves stopped".to_owned(),
            Self::Shift { .. } => "Moving streamlines".to_owned(),
            Self::Profile { .. } => "Profile along the bundle".to_owned(),
            Self::Connect { .. } => "Connections of labels".to_owned(),
            Self::SaveTable(save) => file(&save.path),
            Self::SaveProfile(save) => file(&save.path),
            Self::SaveConnectome(save) => file(&save.path),
        }
    }

    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        Ok(Output::Bundle(match self {
            Self::Filter {
                tractogram,
                rules,
                most_shown,
            } => {
                let selection = select(&tractogram, &rules, backend, control)?;
                let (shown, every) = thinned(&tractogram, &selection.marks, most_shown)?;
                // Looked for here, so that the window does not have to.
                shown.bounds();
                OfBundle::Filtered {
                    selection,
                    shown,
                    every,
                }
            }
            Self::Columns { tractogram, wanted } => {
                let one = |measure: &Measure| measure.values(&tractogram, backend, control);
                let columns: Result<_, JobError> = wanted.iter().map(one).collect();
                OfBundle::Columns(columns?)
            }
            Self::Order {
                count,
                among,
                values,
                descending,
            } => OfBundle::Ordered(order(
                count,
                among.as_deref(),
                values.as_deref(),
                descending,
            )),
            Self::Pick {
                among,
                screen,
                wanted,
            } => {
                let marks = among.marks.as_deref();
                let found =
                    pick::pick(&among.tractogram, marks, &screen, &wanted, backend, control);
                OfBundle::Picked(found?)
            }
            Self::Extract { tractogram, marks } => {
                let some = match marks.iter().all(|m| *m) {
                    // They are on the graphics card already.
                    true => tractogram,
                    false => copied(&tractogram.bare(), &marks, memory_for_curves())?,
                };
                some.bounds();
                OfBundle::Extracted(some)
            }
            Self::Edit {
                layer,
                tractogram,
                edit,
                fresh,
            } => {
                let steps = std::slice::from_ref(&edit);
                let left = apply(&tractogram, steps, memory_for_curves(), backend, control)?;
                left.bounds();
                OfBundle::Edited {
                    layer,
                    of: tractogram.id(),
                    edit,
                    tractogram: left,
                    fresh,
                }
            }
            Self::Stopped { curves, reason } => {
                OfBundle::Stopped(curves.map(|curves| reason.only(&curves)))
            }
            Self::Shift {
                layer,
                tractogram,
                by,
            } => {
                let there = moved(&tractogram, by, memory_for_curves())?;
                there.bounds();
                OfBundle::Shifted {
                    layer,
                    of: tractogram.id(),
                    by,
                    tractogram: there,
                }
            }
            Self::Profile {
                among,
                along,
                nodes,
                start,
                sense,
            } => {
                let marks = among.marks.as_deref();
                let how = (nodes, &start, sense);
                let found = profile(&among.tractogram, marks, &along, how, backend, control)?;
                OfBundle::Profiled(Arc::new(found))
            }
            Self::Connect {
                among,
                labels,
                frame,
                radius_mm,
                value,
            } => {
                let known = backend.install(|| numbers(&labels, frame, control))?;
                let value = value.map(|v| v.values(&among.tractogram, backend, control));
                let value = value.transpose()?;
                let found = connectome(
                    &among.tractogram,
                    among.marks.as_deref(),
                    (&labels, frame, &known),
                    radius_mm,
                    value.as_deref(),
                    backend,
                    control,
                )?;
                OfBundle::Connected(Arc::new(found))
            }
            Self::SaveTable(save) => return save.run(control),
            Self::SaveProfile(save) => return save.run(control),
            Self::SaveConnectome(save) => return save.run(control),
        }))
    }
}

impl Measure {
    fn values(
        &self,
        tractogram: &Tractogram,
        backend: &Backend,
        control: &Control,
    ) -> Result<Arc<[f32]>, JobError> {
        Ok(match self {
            Self::Value(name) => column(tractogram, name, backend, control)?,
            Self::Image(volume, frame) => means(tractogram, volume, *frame, backend, control)?,
        }
        .into())
    }
}

/// The marked streamlines, thinned to about `most`, and the thinning factor.
fn thinned(
    tractogram: &Tractogram,
    marks: &[bool],
    most: usize,
) -> Result<(Tractogram, usize), JobError> {
    let kept = marks.iter().filter(|m| **m).count();
    let every = kept.div_ceil(most.max(1)).max(1);
    if every == 1 {
        let all = kept == tractogram.len();
        let shown = if all {
            tractogram.clone()
        } else {
            copied(tractogram, marks, memory_for_curves())?
        };
        return Ok((shown, 1));
    }
    let mut nth = 0;
    let some: Vec<bool> = marks
        .iter()
        .map(|m| {
            nth += usize::from(*m);
            *m && nth % every == 1
        })
        .collect();
    Ok((tractogram.filtered(&some), every))
}

fn order(
    count: usize,
    among: Option<&[bool]>,
    values: Option<&[f32]>,
    descending: bool,
) -> Arc<[u32]> {
    let shown = |i: &u32| among.is_none_or(|marks| marks[*i as usize]);
    let mut rows: Vec<u32> = (0..count as u32).filter(shown).collect();
    match values {
        None if descending => rows.reverse(),
        None => {}
        Some(values) => {
            // Equal ones in their own order, so that sorting twice changes nothing.
            let key = |row: u32| values[row as usize];
            rows.sort_unstable_by(|a, b| {
                let (x, y) = (key(*a), key(*b));
                let by = match (x.is_nan(), y.is_nan()) {
                    (false, false) if descending => y.total_cmp(&x),
                    (false, false) => x.total_cmp(&y),
                    (x, y) => x.cmp(&y),
                };
                by.then(a.cmp(b))
            });
        }
    }
    rows.into()
}
