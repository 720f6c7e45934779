//! Tables as text, values parted by commas.

use super::super::fault::Fault;
use super::super::{Output, Saved};
use crate::compute::Control;
use crate::io::atomic::write_text;
use crate::solvers::connectivity::Connectome;
use crate::solvers::tracking::StopReason;
use crate::solvers::tracking::profile::Profile;
use crate::solvers::tracking::selection::NAMED_STOPS;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// A column with its name.
pub type Named = (String, Arc<[f32]>);

/// A row per streamline.
#[derive(Clone, Debug)]
pub struct SaveTable {
    pub path: PathBuf,
    pub columns: Vec<Named>,
    /// Which streamlines, in which order.
    pub order: Arc<[u32]>,
}

/// A row per node.
#[derive(Clone, Debug)]
pub struct SaveProfile {
    pub path: PathBuf,
    pub profile: Arc<Profile>,
    /// Of its tracks.
    pub names: Vec<String>,
}

/// A matrix, or a row per pair that is connected.
#[derive(Clone, Debug)]
pub struct SaveConnectome {
    pub path: PathBuf,
    pub connectome: Arc<Connectome>,
    /// Of its nodes.
    pub names: Vec<String>,
    pub what: ConnectomeTable,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectomeTable {
    Count,
    Length,
    Value,
    Pairs,
}

/// As spreadsheets read it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r', ';']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Nothing for what is no number.
fn number(value: f32) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

fn stop(value: f32) -> String {
    let found = StopReason::ALL
        .into_iter()
        .find(|r| f32::from(*r as u8) == value);
    found.map_or_else(|| number(value), StopReason::key)
}

fn saved(path: PathBuf, text: &str, what: String) -> Result<Output, Fault> {
    write_text(&path, text).map_err(|e| Fault::Said(e.to_string()))?;
    Ok(Output::Saved(Saved {
        path,
        what,
        revision: None,
    }))
}

impl SaveTable {
    pub(super) fn run(self, control: &Control) -> Result<Output, Fault> {
        let mut text = String::from("streamline");
        for (name, _) in &self.columns {
            let _ = write!(text, ",{}", field(name));
        }
        text.push('\n');
        control.begin("Writing the table", self.order.len() as u64);
        for rows in self.order.chunks(1 << 14) {
            control.check().map_err(crate::solvers::Error::from)?;
            for row in rows {
                let _ = write!(text, "{row}");
                for (name, values) in &self.columns {
                    let value = values[*row as usize];
                    text.push(',');
                    text += &match NAMED_STOPS.contains(&name.as_str()) {
                        true => stop(value),
                        false => number(value),
                    };
                }
                text.push('\n');
            }
            control.advance(rows.len() as u64);
        }
        let what = format!("table of {} streamlines", self.order.len());
        saved(self.path, &text, what)
    }
}

impl SaveProfile {
    pub(super) fn run(self) -> Result<Output, Fault> {
        let profile = &self.profile;
        let mut text = String::from("node,share,x_mm,y_mm,z_mm");
        for name in &self.names {
            let [mean, sd, count] = ["mean", "sd", "count"].map(|w| field(&format!("{name} {w}")));
            let _ = write!(text, ",{mean},{sd},{count}");
        }
        text.push('\n');
        let last = profile.centre.len().saturating_sub(1).max(1) as f32;
        for (i, [x, y, z]) in profile.centre.iter().enumerate() {
            let _ = write!(text, "{i},{},{x},{y},{z}", i as f32 / last);
            for track in &profile.tracks {
                let (mean, sd) = (number(track.mean[i]), number(track.sd[i]));
                let _ = write!(text, ",{mean},{sd},{}", track.count[i]);
            }
            text.push('\n');
        }
        let what = format!("profile of {} streamlines", profile.lines);
        saved(self.path, &text, what)
    }
}

impl SaveConnectome {
    pub(super) fn run(self) -> Result<Output, Fault> {
        let found = &self.connectome;
        let n = found.nodes.len();
        if self.what == ConnectomeTable::Value && found.value.is_empty() {
            let sentence = "No value was asked for, expected one whose mean to write";
            return Err(Fault::Said(sentence.to_owned()));
        }
        let mut text = String::new();
        if self.what == ConnectomeTable::Pairs {
            text += "number_a,name_a,number_b,name_b,count,length_mm";
            text += if found.value.is_empty() {
                "\n"
            } else {
                ",value\n"
            };
            for a in 0..n {
                for b in a..n {
                    let at = found.at(a, b);
                    if found.count[at] == 0 {
                        continue;
                    }
                    for node in [a, b] {
                        let (number, name) = (found.nodes[node], field(&self.names[node]));
                        let _ = write!(text, "{number},{name},");
                    }
                    let _ = write!(text, "{},{}", found.count[at], found.length_mm[at]);
                    if let Some(value) = found.value.get(at) {
                        let _ = write!(text, ",{value}");
                    }
                    text.push('\n');
                }
            }
        } else {
            text += "label";
            for name in &self.names {
                let _ = write!(text, ",{}", field(name));
            }
            text.push('\n');
            for a in 0..n {
                text += &field(&self.names[a]);
                for b in 0..n {
                    let at = found.at(a, b);
                    let _ = match self.what {
                        ConnectomeTable::Length => write!(text, ",{}", found.length_mm[at]),
                        ConnectomeTable::Value => write!(text, ",{}", found.value[at]),
                        _ => write!(text, ",{}", found.count[at]),
                    };
                }
                text.push('\n');
            }
        }
        let what = format!("connections of {n} labels");
        saved(self.path, &text, what)
    }
}
