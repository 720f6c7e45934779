//! Files of all regions: one label map, or one mask each.

use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::{DataId, Grid, Sentence, Shape};
use crate::io;
use crate::jobs::{CompleteData, JobError, Saved, Worker};
use crate::solvers::{self, region};
use crate::state::files::jobs::{WriteFile, saved};
use crate::state::regions::jobs::mask_id;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Saves regions as the numbers of one image.
#[derive(Clone, Debug)]
pub struct SaveLabels {
    /// Name, colour and shape.
    pub regions: Vec<(String, [u8; 3], Arc<Shape>)>,
    /// Number of each region in the label map that it comes from; regions beyond the end have none.
    pub own: Vec<Option<u32>>,
    pub grid: Arc<Grid>,
    pub path: PathBuf,
    pub command: String,
}

/// Saves masks of several regions, each to its file.
#[derive(Clone, Debug)]
pub struct SaveMasks {
    pub regions: Vec<(PathBuf, Arc<Shape>, String)>,
    pub grid: Arc<Grid>,
}

impl SaveLabels {
    /// The file of names and colours.
    pub fn table(path: &Path) -> PathBuf {
        io::label_table::table_path(path)
    }

    /// The masks, if the file holds each of them in full as long as none overlaps another.
    fn masks_on_grid(&self) -> Option<Vec<DataId>> {
        let id = |shape: &Shape| match shape {
            Shape::Mask(mask) if self.grid.matches(&mask.grid) => Some(mask.id()),
            _ => None,
        };
        self.regions.iter().map(|(_, _, shape)| id(shape)).collect()
    }

    /// Number of each region, and a note about them. Regions keep their own numbers if these are distinct, and the
    /// others get free numbers; otherwise all are numbered 1, 2, ….
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
        (numbers.collect(), " with their previous numbers")
    }
}

/// More regions than a label map has numbers for. Their number.
#[derive(Clone, PartialEq, Debug)]
struct TooManyRegions(usize);

impl fmt::Display for TooManyRegions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, found) = (u16::MAX, self.0);
        write!(
            f,
            "A label map holds at most {most} regions, found {found}; save masks instead"
        )
    }
}

impl std::error::Error for TooManyRegions {}

impl From<TooManyRegions> for JobError {
    fn from(error: TooManyRegions) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

impl WriteFile for SaveLabels {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let mut values = vec![0u16; self.grid.voxel_count()];
        let mut shared = 0usize;
        let count = self.regions.len();
        if count > usize::from(u16::MAX) {
            return Err(TooManyRegions(count).into());
        }
        let (numbers, note) = self.numbers();
        let masks = self.masks_on_grid();
        control.begin("Combining regions", count as u64);
        for (number, (_, _, shape)) in numbers.iter().zip(&self.regions) {
            control.check().map_err(solvers::Error::from)?;
            // On the voxels of the image, whatever grid the region was made on.
            for voxel in region::voxels(shape, &self.grid) {
                let value = &mut values[self.grid.index(voxel)];
                shared += usize::from(*value != 0);
                // Where regions overlap, the first in the list wins.
                if *value == 0 {
                    *value = *number;
                }
            }
            control.advance(1);
        }
        io::image::save_labels(&self.path, &self.grid, &values, &self.command, control)?;
        let rows = numbers.iter().zip(&self.regions);
        let rows = rows.map(|(n, (name, colour, _))| (u32::from(*n), name.as_str(), *colour));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(number, ..)| *number);
        let table = io::label_table::save(&self.path, rows.into_iter())?;
        let name = file_name(&table);
        let mut what = format!(
            "{} as labels{note}, with their names in {name}",
            io::text::counted(count, "region")
        );
        if shared > 0 {
            let shared = io::text::counted(shared, "voxel");
            what += &format!("; {shared} in several regions went to the first of them");
        }
        let complete = masks.filter(|_| shared == 0).map(CompleteData::from);
        Ok(saved(self.path, what, complete))
    }
}

impl SaveMasks {
    /// `regions_capsule_l.nii.gz` for `regions.nii.gz`; the second of two regions with one name gets a number.
    pub fn files(base: &Path, names: &[String]) -> Vec<PathBuf> {
        let file = file_name(base);
        let mut endings = io::Format::SAVED_IMAGE_ENDINGS.into_iter();
        let ending = endings.find_map(|e| Some((file.strip_suffix(&format!(".{e}"))?, e)));
        let (stem, ending) = ending.unwrap_or((&file, "nii.gz"));
        let mut taken = BTreeSet::new();
        let mut path = |name: &String| {
            let is_plain = |c: char| c.is_alphanumeric() || c == '-';
            let plain: String = name
                .to_lowercase()
                .chars()
                .map(|c| if is_plain(c) { c } else { '_' })
                .collect();
            let numbered = (2..).map(|n| format!("{plain}_{n}"));
            let mut all = std::iter::once(plain.clone()).chain(numbered);
            let own = all.find(|n| !taken.contains(n)).unwrap_or(plain.clone());
            taken.insert(own.clone());
            base.with_file_name(format!("{stem}_{own}.{ending}"))
        };
        names.iter().map(&mut path).collect()
    }
}

impl WriteFile for SaveMasks {
    /// The first file.
    fn path(&self) -> &Path {
        self.regions.first().map_or(Path::new(""), |r| &r.0)
    }

    fn title(&self) -> String {
        "Saving regions".to_owned()
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let count = self.regions.len();
        let first = self.path().to_owned();
        control.begin("Writing masks", count as u64);
        for (path, shape, command) in &self.regions {
            let mask = shape.mask_on(&self.grid).on_whole_grid();
            io::image::save_mask(path, &mask, command, &control.silent())?;
            control.advance(1);
        }
        let what = format!(
            "{} as masks, the first of them",
            io::text::counted(count, "region")
        );
        let masks = self.regions.iter();
        let masks = masks.map(|(path, shape, _)| (path.clone(), mask_id(shape)));
        Ok(Saved {
            masks: masks.collect(),
            ..saved(first, what, None)
        })
    }
}
