//! Tables as text, with values separated by commas.

use crate::compute::Control;
use crate::data::{Sentence, Shared};
use crate::io::atomic::WriteStop;
use crate::io::text::counted;
use crate::jobs::{JobError, Saved, Worker};
use crate::solvers::connectivity::Connectome;
use crate::solvers::curves::StopReason;
use crate::solvers::score::Scores;
use crate::solvers::tractogram::profile::Profile;
use crate::solvers::tractogram::selection::NAMED_STOPS;
use crate::state::files::jobs::WriteFile;
use crate::state::files::jobs::csv::{field, save};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column with its name.
pub type NamedColumn = (String, Shared<f32>);

/// Saves one row per streamline.
#[derive(Clone, Debug)]
pub struct SaveTable {
    pub path: PathBuf,
    pub columns: Vec<NamedColumn>,
    /// The streamlines, in this order.
    pub order: Arc<[u32]>,
}

/// Saves one row per node.
#[derive(Clone, Debug)]
pub struct SaveProfile {
    pub path: PathBuf,
    pub profile: Arc<Profile>,
    /// Names of its tracks.
    pub names: Vec<String>,
}

/// Saves a matrix, or one row per connected pair.
#[derive(Clone, Debug)]
pub struct SaveConnectome {
    pub path: PathBuf,
    pub connectome: Arc<Connectome>,
    /// Names of its nodes.
    pub names: Vec<String>,
    pub table: ConnectomeTable,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectomeTable {
    Count,
    Length,
    Value,
    Pairs,
}

/// Empty for a value that is not finite.
fn number(value: f32) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

fn stop(value: f32) -> String {
    let reason = StopReason::ALL
        .into_iter()
        .find(|r| f32::from(*r as u8) == value);
    reason.map_or_else(|| number(value), |reason| reason.key().to_owned())
}

/// Number of rows between two checks for cancellation.
const ROWS: usize = 1 << 12;

impl WriteFile for SaveTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let what = format!("table of {}", counted(self.order.len(), "streamline"));
        save(self.path, what, control, |to| {
            write!(to, "streamline")?;
            for (name, _) in &self.columns {
                write!(to, ",{}", field(name))?;
            }
            writeln!(to)?;
            control.begin("Writing the table", self.order.len() as u64);
            for rows in self.order.chunks(ROWS) {
                control.check()?;
                for row in rows {
                    write!(to, "{row}")?;
                    for (name, values) in &self.columns {
                        let value = values[*row as usize];
                        let text = match NAMED_STOPS.contains(&name.as_str()) {
                            true => stop(value),
                            false => number(value),
                        };
                        write!(to, ",{text}")?;
                    }
                    writeln!(to)?;
                }
                control.advance(rows.len() as u64);
            }
            Ok(())
        })
    }
}

impl WriteFile for SaveProfile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let profile = &self.profile;
        let what = format!("profile of {}", counted(profile.used, "streamline"));
        save(self.path, what, control, |to| {
            write!(to, "node,share,x_mm,y_mm,z_mm")?;
            for name in &self.names {
                let [mean, sd, count] =
                    ["mean", "sd", "count"].map(|w| field(&format!("{name} {w}")));
                write!(to, ",{mean},{sd},{count}")?;
            }
            writeln!(to)?;
            control.begin("Writing the profile", profile.centre.len() as u64);
            let last = profile.centre.len().saturating_sub(1).max(1) as f32;
            for (i, [x, y, z]) in profile.centre.iter().enumerate() {
                control.check()?;
                write!(to, "{i},{},{x},{y},{z}", i as f32 / last)?;
                for track in &profile.curves {
                    let (mean, sd) = (number(track.mean[i]), number(track.sd[i]));
                    write!(to, ",{mean},{sd},{}", track.count[i])?;
                }
                writeln!(to)?;
                control.advance(1);
            }
            Ok(())
        })
    }
}

/// A matrix of mean values, although no value was chosen.
#[derive(Clone, PartialEq, Debug)]
struct NoValueToAverage;

impl fmt::Display for NoValueToAverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The matrix has no value to average: choose one")
    }
}

impl std::error::Error for NoValueToAverage {}

impl From<NoValueToAverage> for JobError {
    fn from(error: NoValueToAverage) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

impl WriteFile for SaveConnectome {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let n = self.connectome.nodes.len();
        if self.table == ConnectomeTable::Value && self.connectome.value.is_empty() {
            return Err(NoValueToAverage.into());
        }
        let what = format!("connections of {n} labels");
        save(self.path.clone(), what, control, |to| {
            control.begin("Writing the connections", n as u64);
            match self.table {
                ConnectomeTable::Pairs => self.pairs(to, control),
                _ => self.matrix(to, control),
            }
        })
    }
}

/// Saves one row per bundle of a truth.
#[derive(Clone, Debug)]
pub struct SaveScores {
    pub path: PathBuf,
    pub scores: Arc<Scores>,
}

impl WriteFile for SaveScores {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let bundles = &self.scores.bundles;
        let what = format!("scores of {}", counted(bundles.len(), "bundle"));
        save(self.path, what, control, |to| {
            write!(
                to,
                "bundle,valid_connections,wrong_paths,true_voxels,shared_voxels,"
            )?;
            writeln!(to, "excess_voxels,overlap,overreach,f1")?;
            for bundle in bundles {
                write!(to, "{},{},", field(&bundle.name), bundle.valid)?;
                write!(to, "{},{},", bundle.wrong_paths, bundle.true_voxels)?;
                write!(to, "{},{},", bundle.shared_voxels, bundle.excess_voxels)?;
                let volumes = [bundle.overlap(), bundle.overreach(), bundle.f1()];
                let [overlap, overreach, f1] = volumes.map(|v| format!("{v:.4}"));
                writeln!(to, "{overlap},{overreach},{f1}")?;
            }
            Ok(())
        })
    }
}

impl SaveConnectome {
    fn pairs(&self, to: &mut dyn Write, control: &Control) -> Result<(), WriteStop> {
        let connectome = &self.connectome;
        let n = connectome.nodes.len();
        write!(to, "number_a,name_a,number_b,name_b,count,length_mm")?;
        writeln!(
            to,
            "{}",
            if connectome.value.is_empty() {
                ""
            } else {
                ",value"
            }
        )?;
        for a in 0..n {
            control.check()?;
            for b in a..n {
                let at = connectome.at(a, b);
                if connectome.count[at] == 0 {
                    continue;
                }
                for node in [a, b] {
                    let (number, name) = (connectome.nodes[node], field(&self.names[node]));
                    write!(to, "{number},{name},")?;
                }
                write!(to, "{},{}", connectome.count[at], connectome.length_mm[at])?;
                if let Some(value) = connectome.value.get(at) {
                    write!(to, ",{value}")?;
                }
                writeln!(to)?;
            }
            control.advance(1);
        }
        Ok(())
    }

    fn matrix(&self, to: &mut dyn Write, control: &Control) -> Result<(), WriteStop> {
        let connectome = &self.connectome;
        let n = connectome.nodes.len();
        write!(to, "label")?;
        for name in &self.names {
            write!(to, ",{}", field(name))?;
        }
        writeln!(to)?;
        for a in 0..n {
            control.check()?;
            write!(to, "{}", field(&self.names[a]))?;
            for b in 0..n {
                let at = connectome.at(a, b);
                match self.table {
                    ConnectomeTable::Length => write!(to, ",{}", connectome.length_mm[at])?,
                    ConnectomeTable::Value => write!(to, ",{}", connectome.value[at])?,
                    _ => write!(to, ",{}", connectome.count[at])?,
                }
            }
            writeln!(to)?;
            control.advance(1);
        }
        Ok(())
    }
}
