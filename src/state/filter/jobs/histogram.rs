//! Writes the histogram of weights as a table or as a picture.

use crate::compute::Control;
use crate::io::svg::{Marks, Plot};
use crate::io::text::counted;
use crate::jobs::{JobError, Saved, Worker};
use crate::state::files::jobs::csv::save;
use crate::state::files::jobs::{WriteFile, saved};
use crate::state::filter::WeightHistogram;
use std::path::{Path, PathBuf};

/// Writes how many streamlines have which weight: a table (.csv), else a picture (.svg, .png).
#[derive(Clone, Debug)]
pub struct SaveHistogram {
    pub histogram: WeightHistogram,
    pub path: PathBuf,
}

impl SaveHistogram {
    /// The picture, on the logarithmic scale of the window.
    fn plot(&self) -> Plot {
        let WeightHistogram {
            zero,
            range: (low, high),
            counts,
        } = &self.histogram;
        let all: u32 = counts.iter().sum();
        let title = format!(
            "Weights of {}; {} without a weight",
            counted(all as usize, "streamline"),
            counted(*zero, "other")
        );
        Plot {
            title,
            x: "log10 of the weight".to_owned(),
            y: "Streamlines".to_owned(),
            marks: Marks::Bars {
                range: (f64::from(*low).log10(), f64::from(*high).log10()),
                counts: counts.iter().map(|n| u64::from(*n)).collect(),
            },
        }
    }
}

impl WriteFile for SaveHistogram {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let is_table = self
            .path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        if !is_table {
            self.plot().save(&self.path)?;
            return Ok(saved(self.path, "histogram of weights", None));
        }
        let histogram = self.histogram;
        let what = "histogram of weights".to_owned();
        save(self.path, what, control, |to| {
            writeln!(to, "from,to,streamlines")?;
            writeln!(to, "0,0,{}", histogram.zero)?;
            for (bar, count) in histogram.counts.iter().enumerate() {
                let (from, until) = histogram.limits(bar);
                writeln!(to, "{from:e},{until:e},{count}")?;
            }
            Ok(())
        })
    }
}
