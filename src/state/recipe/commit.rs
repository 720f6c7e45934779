//! A fit of weights, and the command that makes it.

use super::{Recipe, Source, path, streamlines};
use crate::solvers::commit;
use crate::solvers::commit::Params;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::operator::{Precision, Way};
use crate::state::filter::Times;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where weights and their maps come from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitRecipe {
    /// The recipe of the streamlines.
    pub of: Box<Recipe>,
    pub scan: Source,
    pub mask: Option<PathBuf>,
    pub peaks: Option<PathBuf>,
    pub times: Times,
    pub params: Params,
    /// Shells of the scan, on which defaults depend.
    pub shells: usize,
    /// The least weight of the streamlines that stay.
    pub least: f32,
    /// What it needs and no file holds: a mask, peaks.
    pub unfiled: Option<String>,
}

impl CommitRecipe {
    /// Why there is no command.
    pub fn no_command(&self) -> Option<String> {
        if let Some(what) = &self.unfiled {
            return Some(format!(
                "There is no command for these weights, since \"{what}\" is in no file: export that first, \
                 or save the session, whose command makes all of it again"
            ));
        }
        self.of.no_command()
    }

    pub fn command(&self, out: &Path) -> String {
        let (made, tracks) = streamlines(&self.of);
        let made: String = made.map(|made| format!("{made} && ")).unwrap_or_default();
        let mut text = format!("{made}arcuate commit {tracks} {}", self.scan.arguments());
        if let Some(mask) = &self.mask {
            let _ = write!(text, " --mask {}", path(mask));
        }
        if let Some(peaks) = &self.peaks {
            let _ = write!(text, " --peaks {}", path(peaks));
        }
        text += &self.of_params();
        if self.least > 0.0 {
            text += " --filtered kept.trx";
        }
        // Without the option any weight counts.
        if self.least > f32::MIN_POSITIVE {
            let _ = write!(text, " --threshold {}", self.least);
        }
        text + &format!(" --out {}", path(out))
    }

    /// What is not as usual is said.
    fn of_params(&self) -> String {
        let (p, usual) = (&self.params, commit::Params::defaults_for(self.shells));
        let mut text = String::new();
        let list = |values: &mut dyn Iterator<Item = f64>| {
            let each: Vec<String> = values.map(|v| v.to_string()).collect();
            each.join(",")
        };
        let (name, along) = match &p.model.intra {
            Intra::Stick { along } => ("stick", Some(*along)),
            Intra::Cylinders { along, .. } => ("cylinder", Some(*along)),
            Intra::GammaCylinders { along, .. } => ("gamma-cylinder", Some(*along)),
            Intra::Density => ("density", None),
        };
        if name != "stick" {
            let _ = write!(text, " --model {name}");
        }
        if let Some(along) =
            along.filter(|along| usual.model.intra != Intra::Stick { along: *along })
        {
            let _ = write!(text, " --along {along}");
        }
        match &p.model.intra {
            Intra::Cylinders { radii_um, .. } => {
                if *radii_um != commit::DEFAULT_RADII_UM {
                    let _ = write!(text, " --radii {}", list(&mut radii_um.iter().copied()));
                }
            }
            Intra::GammaCylinders { radii, .. } => {
                for radius in radii {
                    let _ = write!(text, " --gamma {},{}", radius.shape, radius.scale_um);
                }
            }
            Intra::Stick { .. } | Intra::Density => {}
        }
        if name != "density" {
            let across = |m: &crate::solvers::commit::model::Model| -> Vec<f64> {
                m.extra.iter().map(|z| z.across).collect()
            };
            let (own, usual_across) = (across(&p.model), across(&usual.model));
            if own.is_empty() && !usual_across.is_empty() {
                text += " --across 0";
            } else if own != usual_across {
                let _ = write!(text, " --across {}", list(&mut own.iter().copied()));
            }
            if p.model.free.is_empty() && !usual.model.free.is_empty() {
                text += " --free 0";
            } else if p.model.free != usual.model.free {
                let _ = write!(text, " --free {}", list(&mut p.model.free.iter().copied()));
            }
        }
        match &self.times {
            Times::Unknown => {}
            Times::Both(t) => {
                let _ = write!(text, " --pulse {} --between {}", t.pulse_ms, t.between_ms);
            }
            Times::Scheme { path: file, .. } => {
                let _ = write!(text, " --scheme {}", path(file));
            }
        }
        if p.force_model {
            text += " --force-model";
        }
        if let Some(mm) = p.blur_mm {
            let _ = write!(text, " --blur {mm}");
        }
        for (option, value) in [("lasso", p.lasso), ("group", p.group)] {
            if value > 0.0 {
                let _ = write!(text, " --{option} {value}");
            }
        }
        let switches = [
            (p.switches.merge_b0, "keep-b0"),
            (p.switches.normalise_signal, "raw-signal"),
            (p.switches.normalise_kernels, "raw-kernels"),
        ];
        for (_, option) in switches.iter().filter(|(on, _)| !on) {
            let _ = write!(text, " --{option}");
        }
        if p.stop.iterations != usual.stop.iterations {
            let _ = write!(text, " --iterations {}", p.stop.iterations);
        }
        if p.stop.objective != usual.stop.objective {
            let _ = write!(text, " --tolerance {}", p.stop.objective);
        }
        if p.precision != usual.precision {
            text += match p.precision {
                Precision::Exact => " --precision exact",
                Precision::Fast => " --precision fast",
            };
        }
        text += match p.way {
            None => "",
            Some(Way::Factorised) => " --operator factorised",
            Some(Way::Dense { side: 64 }) => " --operator coarse",
            Some(Way::Dense { .. }) => " --operator dense",
        };
        text
    }
}
