//! Regions that take time to make: by threshold, flood fill, growing, smoothing, of label maps.

use super::error::JobError;
use super::{FoundPathway, Output, Saved, Slot};
use crate::compute::{Backend, Control};
use crate::data::{DataId, Grid, Mask, Role, Shape, Volume};
use crate::solvers::region::{self, Change, Combine, Found, Numbers};
use crate::{io, solvers};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Work on regions.
#[derive(Clone, Debug)]
pub enum ForRegions {
    Make(Make),
    /// Which numbers a label map has.
    Number {
        volume: Volume,
        frame: usize,
    },
    /// Masks of some of them; layer and role come back.
    Label {
        volume: Volume,
        frame: usize,
        wanted: Vec<Found>,
        layer: u64,
        role: Role,
    },
    /// The voxels of a pathway of some width; name and role come back.
    Pathway {
        found: Arc<FoundPathway>,
        epsilon: f64,
        name: String,
        role: Role,
    },
    SaveLabels(SaveLabels),
    SaveMasks(SaveMasks),
}

#[derive(Clone, Debug)]
pub enum OfRegions {
    Made(Made),
    /// A sentence where it is no label map.
    Numbered {
        of: DataId,
        frame: usize,
        numbers: Result<Arc<Numbers>, String>,
    },
    Labelled {
        layer: u64,
        role: Role,
        masks: Vec<(i64, Mask)>,
    },
    Pathway {
        /// The tensors that it was found in.
        field: DataId,
        name: String,
        role: Role,
        mask: Mask,
    },
}

/// A region to be made.
#[derive(Clone, Debug)]
pub struct Make {
    pub what: Making,
    /// Comes back with the result.
    pub serial: u64,
}

#[derive(Clone, Debug)]
pub enum Making {
    Threshold {
        volume: Volume,
        frame: usize,
        low: f32,
        high: f32,
    },
    Fill {
        volume: Volume,
        frame: usize,
        /// World mm.
        from: glam::DVec3,
        tolerance: f32,
        most_ml: f64,
        /// What it joins, or is taken from.
        base: Option<(Arc<Shape>, Combine)>,
    },
    Change {
        base: Arc<Shape>,
        /// Of what is no mask yet.
        grid: Arc<Grid>,
        change: Change,
    },
    Combine {
        how: Combine,
        base: Arc<Shape>,
        with: Arc<Shape>,
        grid: Arc<Grid>,
    },
}

#[derive(Clone, Debug)]
pub struct Made {
    pub mask: Mask,
    pub serial: u64,
    /// One sentence.
    pub note: Option<String>,
}

/// Regions as the numbers of one image.
#[derive(Clone, Debug)]
pub struct SaveLabels {
    /// Name, colour and shape.
    pub regions: Vec<(String, [u8; 3], Arc<Shape>)>,
    /// Of each its number in the label map that it is from; beyond the end: none.
    pub own: Vec<Option<u32>>,
    pub grid: Arc<Grid>,
    pub path: PathBuf,
    pub command: String,
}

/// Masks of several regions, each in its file.
#[derive(Clone, Debug)]
pub struct SaveMasks {
    pub regions: Vec<(PathBuf, Arc<Shape>, String)>,
    pub grid: Arc<Grid>,
}

impl ForRegions {
    pub(super) fn slot(&self) -> Slot {
        match self {
            Self::Make(_) => Slot::Region,
            Self::Number { .. } | Self::Label { .. } | Self::Pathway { .. } => Slot::Labels,
            Self::SaveLabels(_) | Self::SaveMasks(_) => Slot::Save,
        }
    }

    pub(super) fn label(&self) -> String {
        match self {
            Self::Make(make) => make.label().to_owned(),
            Self::Number { .. } => "Counting labels".to_owned(),
            Self::Label { .. } => "Making regions".to_owned(),
            Self::Pathway { .. } => "Making a region".to_owned(),
            Self::SaveLabels(save) => {
                let name = save.path.file_name().unwrap_or_default();
                format!("Saving {}", name.to_string_lossy())
            }
            Self::SaveMasks(_) => "Saving regions".to_owned(),
        }
    }

    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        let of_regions = match self {
            Self::Make(make) => OfRegions::Made(make.run(backend, control)?),
            Self::Number { volume, frame } => numbers(&volume, frame, control)?,
            Self::Label {
                volume,
                frame,
                wanted,
                layer,
                role,
            } => OfRegions::Labelled {
                layer,
                role,
                masks: labels(&volume, frame, &wanted, control)?,
            },
            Self::Pathway {
                found,
                epsilon,
                name,
                role,
            } => {
                let mask = backend.install(|| found.mask(epsilon));
                // Looked for here, so that the window does not have to.
                mask.bounds_inside();
                OfRegions::Pathway {
                    field: found.field,
                    name,
                    role,
                    mask,
                }
            }
            Self::SaveLabels(save) => return save.run(control),
            Self::SaveMasks(save) => return save.run(control),
        };
        Ok(Output::Regions(of_regions))
    }
}

impl Make {
    fn label(&self) -> &'static str {
        match self.what {
            Making::Threshold { .. } => "Applying the threshold",
            Making::Fill { .. } => "Filling",
            Making::Change { .. } => "Changing the region",
            Making::Combine { .. } => "Combining regions",
        }
    }

    fn run(self, backend: &Backend, control: &Control) -> Result<Made, solvers::Error> {
        let serial = self.serial;
        let (mask, note) = backend.install(|| self.what.make(control))?;
        // Looked for here, so that the window does not have to.
        mask.bounds_inside();
        Ok(Made { mask, serial, note })
    }
}

impl Making {
    fn make(self, control: &Control) -> Result<(Mask, Option<String>), solvers::Error> {
        match self {
            Self::Threshold {
                volume,
                frame,
                low,
                high,
            } => Ok((
                region::threshold(&volume, frame, (low, high), control)?,
                None,
            )),
            Self::Fill {
                volume,
                frame,
                from,
                tolerance,
                most_ml,
                base,
            } => {
                let filled = region::fill(&volume, frame, from, tolerance, most_ml, control)?;
                let note = filled.limited.then(|| {
                    format!(
                        "Stopped at {most_ml} ml: it would have gone on; lower the tolerance or raise \
                         the limit"
                    )
                });
                let mask = match base {
                    Some((base, how)) => {
                        let fresh = Shape::Mask(filled.mask);
                        region::combine(how, &base, &fresh, &volume.grid)
                    }
                    None => filled.mask,
                };
                Ok((mask, note))
            }
            Self::Change { base, grid, change } => Ok((
                region::change(&base.mask_on(&grid), &change, control)?,
                None,
            )),
            Self::Combine {
                how,
                base,
                with,
                grid,
            } => Ok((region::combine(how, &base, &with, &grid), None)),
        }
    }
}

/// Which numbers a label map has.
fn numbers(volume: &Volume, frame: usize, control: &Control) -> Result<OfRegions, JobError> {
    // What is no label map is an answer, not a failure.
    let numbers: Result<Arc<Numbers>, String> = match region::numbers(volume, frame, control) {
        Err(solvers::Error::Cancelled) => return Err(JobError::from(solvers::Error::Cancelled)),
        other => other.map(Arc::new).map_err(|e| e.to_string()),
    };
    Ok(OfRegions::Numbered {
        of: volume.id(),
        frame,
        numbers,
    })
}

/// Masks of some of them.
fn labels(
    volume: &Volume,
    frame: usize,
    wanted: &[Found],
    control: &Control,
) -> Result<Vec<(i64, Mask)>, JobError> {
    control.begin("Making regions", wanted.len() as u64);
    let mut masks = Vec::with_capacity(wanted.len());
    for found in wanted {
        control.check().map_err(solvers::Error::from)?;
        let mask = region::label(volume, frame, found);
        mask.bounds_inside();
        masks.push((found.number, mask));
        control.advance(1);
    }
    Ok(masks)
}

impl SaveLabels {
    /// Where names and colours are written.
    pub fn table(path: &Path) -> PathBuf {
        io::label_table::beside(path)
    }

    /// Of each the number, and what is said of them: their own ones where no two have the same, and then
    /// the others get what is free; else 1, 2, ….
    fn numbers(&self) -> (Vec<u16>, &'static str) {
        let own = || self.own.iter().copied().chain(std::iter::repeat(None));
        let mut taken = BTreeSet::new();
        let in_order = |why| ((1..).take(self.regions.len()).collect(), why);
        for number in own().take(self.regions.len()).flatten() {
            match u16::try_from(number) {
                Ok(number) if taken.insert(number) => {}
                Ok(_) => return in_order(" from 1, since two had the same number"),
                Err(_) => return in_order(" from 1, since the file holds numbers up to 65535"),
            }
        }
        if taken.is_empty() {
            return in_order("");
        }
        let mut free = (1..=u16::MAX).filter(|number| !taken.contains(number));
        let numbers = self.regions.iter().zip(own()).map(|(_, own)| {
            let own = own.and_then(|number| u16::try_from(number).ok());
            own.or_else(|| free.next()).unwrap_or_default()
        });
        (numbers.collect(), " of the numbers that they had")
    }

    pub(super) fn run(self, control: &Control) -> Result<Output, JobError> {
        let mut values = vec![0u16; self.grid.voxel_count()];
        let mut shared = 0usize;
        let count = self.regions.len();
        if count > usize::from(u16::MAX) {
            return Err(JobError::Sentence(format!(
                "A label map holds 65535 regions, these are {count}; save masks instead"
            )));
        }
        let (numbers, said) = self.numbers();
        control.begin("Putting regions together", count as u64);
        for (number, (_, _, shape)) in numbers.iter().zip(&self.regions) {
            control.check().map_err(solvers::Error::from)?;
            // On the voxels of the image, whatever the region was made on.
            for voxel in region::voxels(shape, &self.grid) {
                let value = &mut values[self.grid.index(voxel)];
                shared += usize::from(*value != 0);
                // Where regions overlap the first in the list stays.
                if *value == 0 {
                    *value = *number;
                }
            }
            control.advance(1);
        }
        let failed = |e: io::Error| JobError::Sentence(e.to_string());
        io::nifti::save_labels(&self.path, &self.grid, &values, &self.command, control)
            .map_err(failed)?;
        let rows = numbers.iter().zip(&self.regions);
        let rows = rows.map(|(n, (name, colour, _))| (u32::from(*n), name.as_str(), *colour));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(number, ..)| *number);
        let beside = io::label_table::save(&self.path, rows.into_iter()).map_err(failed)?;
        let name = beside.file_name().unwrap_or_default().to_string_lossy();
        let mut what = format!(
            "{} as labels{said}, with their names in {name}",
            io::words::counted(count, "region")
        );
        if shared > 0 {
            let shared = io::words::counted(shared, "voxel");
            what += &format!("; {shared} of several regions went to the first of them");
        }
        Ok(Output::Saved(Saved {
            path: self.path,
            what,
            whole: None,
            losses: Vec::new(),
        }))
    }
}

impl SaveMasks {
    /// `regions_capsule_l.nii.gz` for `regions.nii.gz`; of two regions with one name the second has a
    /// number.
    pub fn files(base: &Path, names: &[String]) -> Vec<PathBuf> {
        let file = base
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let endings = ["nii.gz", "nii"].iter();
        let ending = endings
            .into_iter()
            .find_map(|e| Some((file.strip_suffix(&format!(".{e}"))?, *e)));
        let (stem, ending) = ending.unwrap_or((&file, "nii.gz"));
        let mut taken = BTreeSet::new();
        let mut one = |name: &String| {
            let usual = |c: char| c.is_alphanumeric() || c == '-';
            let plain: String = name
                .to_lowercase()
                .chars()
                .map(|c| if usual(c) { c } else { '_' })
                .collect();
            let numbered = (2..).map(|n| format!("{plain}_{n}"));
            let mut all = std::iter::once(plain.clone()).chain(numbered);
            let own = all.find(|n| !taken.contains(n)).unwrap_or(plain.clone());
            taken.insert(own.clone());
            base.with_file_name(format!("{stem}_{own}.{ending}"))
        };
        names.iter().map(&mut one).collect()
    }

    pub(super) fn run(self, control: &Control) -> Result<Output, JobError> {
        let count = self.regions.len();
        let first = self
            .regions
            .first()
            .map(|r| r.0.clone())
            .unwrap_or_default();
        control.begin("Writing masks", count as u64);
        for (path, shape, command) in &self.regions {
            let mask = shape.mask_on(&self.grid).whole();
            io::nifti::save_mask(path, &mask, command, &control.silent())
                .map_err(|e| JobError::Sentence(e.to_string()))?;
            control.advance(1);
        }
        Ok(Output::Saved(Saved {
            path: first,
            what: format!(
                "{} as masks, the first of them",
                io::words::counted(count, "region")
            ),
            whole: None,
            losses: Vec::new(),
        }))
    }
}
