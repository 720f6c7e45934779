//! The steps of a protocol for a subject: those that are done and unchanged are left as they are.

use super::super::output::{one_line, report_message};
use super::super::{Failure, Runner};
use super::arguments;
use super::child;
use super::files::SubjectFiles;
use super::regions::{SubjectRegion, region};
use crate::compute::Control;
use crate::data::protocol::{
    FOLDER_NAME, InputRole, OptionValue, Part, ProtocolStep, names, owner, parts,
};
use crate::io;
use crate::io::quoted;
use crate::state::Severity;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Name of the provenance in the folder of a step.
pub const PROVENANCE: &str = "provenance.json";

/// Options of all commands that a run passes on: `--backend cpu` and so on.
#[derive(Clone, Debug, Default)]
pub struct PassedOn(pub Vec<String>);

/// How a step ended.
pub struct Finished {
    pub name: String,
    pub command: String,
    /// Whether it was done before and is unchanged.
    pub unchanged: bool,
    pub wall_s: f64,
    /// The checksum of the command and its inputs.
    pub key: String,
}

/// A step that can run.
struct Planned {
    name: String,
    line: Vec<String>,
    /// The files that it reads.
    inputs: Vec<PathBuf>,
}

/// Runs the steps of a protocol.
pub struct Steps<'a, 'b> {
    pub files: SubjectFiles<'a>,
    pub runner: &'b mut Runner,
    passed_on: &'b PassedOn,
    /// Runs every step, whether it is done or not.
    all: bool,
    /// The regions so far: as text with the files from which it comes, or as a file.
    regions: BTreeMap<String, Result<(String, Vec<PathBuf>), PathBuf>>,
    pub finished: Vec<Finished>,
}

fn failed(error: io::Error) -> Failure {
    Failure::new(error.to_string())
}

impl<'a, 'b> Steps<'a, 'b> {
    pub fn new(
        files: SubjectFiles<'a>,
        passed_on: &'b PassedOn,
        all: bool,
        runner: &'b mut Runner,
    ) -> Self {
        Self {
            files,
            runner,
            passed_on,
            all,
            regions: BTreeMap::new(),
            finished: Vec::new(),
        }
    }

    /// Runs the regions and then the step that needs them.
    pub fn run(&mut self, step: &ProtocolStep) -> Result<(), Failure> {
        let named = |failure: Failure| Failure {
            sentence: format!("{}: {}", step.name, failure.sentence),
            ..failure
        };
        let mut inputs = Vec::new();
        for name in step.texts().flat_map(names) {
            let used = self.prepare(&name).map_err(named)?;
            inputs.extend(used);
        }
        inputs.extend(step.texts().filter_map(|text| self.file_of_protocol(text)));
        inputs.sort();
        inputs.dedup();
        let mut step = step.clone();
        self.add_gradients(&mut step, &mut inputs).map_err(named)?;
        let line = arguments::command_arguments(&step, |text, region| self.expand(text, region));
        let planned = Planned {
            name: step.name.clone(),
            line: line.map_err(named)?,
            inputs,
        };
        self.carry_out(planned).map_err(named)
    }

    /// The file in the folder of the protocol that a text names, as in `{protocol}/bundles.toml`.
    fn file_of_protocol(&self, text: &str) -> Option<PathBuf> {
        let (_, rest) = text.split_once(&format!("{{{FOLDER_NAME}}}/"))?;
        // Limits may follow a file.
        let names = [rest, rest.split(':').next().unwrap_or_default()];
        let mut paths = names
            .into_iter()
            .map(|name| self.files.loaded.folder().join(name));
        paths.find(|path| path.is_file())
    }

    /// Finds or makes what a name stands for; returns the files behind it.
    fn prepare(&mut self, name: &str) -> Result<Vec<PathBuf>, Failure> {
        let own = owner(name);
        let loaded = self.files.loaded;
        if own == FOLDER_NAME {
            // The rest of the path may follow the brace.
            let path = self.files.in_protocol_folder(name);
            return Ok(if path.is_file() {
                vec![path]
            } else {
                Vec::new()
            });
        }
        if loaded.protocol.inputs.contains_key(own) {
            return Ok(vec![self.files.input(own)?]);
        }
        if let Some(given) = loaded.protocol.regions.get(own) {
            if !self.regions.contains_key(own) {
                let (found, inputs) = region(own, given, &mut self.files, self.runner)?;
                let known = match found {
                    SubjectRegion::Text(text) => Ok((text, inputs)),
                    SubjectRegion::File(path) => Err(path),
                    SubjectRegion::Command { line, file } => {
                        let name = format!("region_{own}");
                        let path = self.files.subject.out.join(&name).join(file);
                        let planned = Planned { name, line, inputs };
                        self.carry_out(planned)?;
                        Err(path)
                    }
                };
                self.regions.insert(own.to_owned(), known);
            }
            return Ok(match self.regions.get(own) {
                Some(Ok((_, inputs))) => inputs.clone(),
                Some(Err(path)) => vec![path.clone()],
                None => Vec::new(),
            });
        }
        Ok(vec![self.files.of_step(name)?])
    }

    /// Names the gradients that lie elsewhere than beside the scan, as the standard of BIDS permits; those beside it belong
    /// to the inputs.
    fn add_gradients(
        &mut self,
        step: &mut ProtocolStep,
        inputs: &mut Vec<PathBuf>,
    ) -> Result<(), Failure> {
        let loaded = self.files.loaded;
        for name in step.texts().flat_map(names).collect::<Vec<_>>() {
            let input = loaded.protocol.inputs.get(&name);
            if input.is_none_or(|input| input.role != InputRole::Scan) {
                continue;
            }
            let scan = self.files.input(&name)?;
            let gradients = SubjectFiles::gradients(&scan);
            let own = ["bval", "bvec"].map(|ending| io::with_extension(&scan, ending));
            if let [bval, bvec] = gradients.as_slice()
                && gradients != own
                && !io::with_extension(&scan, "b").is_file()
                && arguments::has_option(step, "bval")
                && ["bval", "bvec", "gradients"]
                    .iter()
                    .all(|key| !step.options.contains_key(*key))
            {
                for (key, path) in [("bval", bval), ("bvec", bvec)] {
                    let text = OptionValue::Text(path.display().to_string());
                    step.options.insert(key.to_owned(), text);
                }
            }
            inputs.extend(gradients);
        }
        Ok(())
    }

    /// A text with files and regions in place of names.
    fn expand(&mut self, text: &str, region: bool) -> Result<String, Failure> {
        let mut expanded = String::new();
        for part in parts(text)? {
            let name = match part {
                Part::Text(text) => {
                    expanded += &text;
                    continue;
                }
                Part::Name(name) => name,
            };
            let own = owner(&name);
            if own == FOLDER_NAME {
                expanded += &self.files.in_protocol_folder(&name).display().to_string();
                continue;
            }
            match self.regions.get(own) {
                Some(Ok((text, _))) if region => expanded += text,
                Some(Ok((text, _))) => {
                    return Err(Failure::new(format!(
                        "Found the region “{own}” ({text}) where a file is needed; give it by labels or as a mask"
                    )));
                }
                Some(Err(path)) => {
                    if region && expanded.is_empty() {
                        expanded += "mask:";
                    }
                    expanded += &path.display().to_string();
                }
                None if self.files.loaded.protocol.inputs.contains_key(own) => {
                    let path = self.files.input(own)?;
                    if region && expanded.is_empty() {
                        expanded += "mask:";
                    }
                    expanded += &path.display().to_string();
                }
                None => {
                    let path = self.files.of_step(&name)?;
                    if region && expanded.is_empty() {
                        expanded += "mask:";
                    }
                    expanded += &path.display().to_string();
                }
            }
        }
        Ok(expanded)
    }

    /// Runs a command in a new folder, unless its results are there and unchanged.
    fn carry_out(&mut self, planned: Planned) -> Result<(), Failure> {
        let Planned { name, line, inputs } = planned;
        let folder = self.files.subject.out.join(&name);
        let mut sums = Vec::new();
        for path in &inputs {
            sums.push((path.clone(), self.files.sum(path)?));
        }
        let key = key(&line, &sums);
        let command = line.iter().map(|word| quoted(word));
        let command = format!("arcuate {}", command.collect::<Vec<_>>().join(" "));
        let mut finished = Finished {
            name: name.clone(),
            command: command.clone(),
            unchanged: true,
            wall_s: 0.0,
            key: key.clone(),
        };
        if !self.all && is_done(&folder, &key) {
            self.runner.print_progress(&format!("{name}: unchanged"));
            self.finished.push(finished);
            return Ok(());
        }
        let staged = self.files.subject.out.join(format!(".{name}.part"));
        io::cohort::empty_folder(&staged).map_err(failed)?;
        let started = Instant::now();
        let mut all = line;
        all.extend(self.passed_on.0.iter().cloned());
        let report = child::run(&all, &staged).inspect_err(|_| {
            // The reason is that of the command.
            let _ = io::cohort::remove_folder(&staged);
        })?;
        finished.unchanged = false;
        finished.wall_s = started.elapsed().as_secs_f64();
        for sentence in report["warnings"].as_array().into_iter().flatten() {
            if let Some(sentence) = sentence.as_str() {
                let text = format!("{}, {name}: {sentence}", self.files.subject.name);
                report_message(Severity::Warning, &text);
            }
        }
        let provenance = self.provenance(&finished, (&sums, &report), &staged)?;
        let text = serde_json::to_string_pretty(&provenance).unwrap_or_default() + "\n";
        io::atomic::write_text(&staged.join(PROVENANCE), &text).map_err(failed)?;
        io::cohort::replace_folder(&staged, &folder).map_err(failed)?;
        self.runner
            .print_progress(&format!("{name}: {:.1} s", finished.wall_s));
        self.finished.push(finished);
        Ok(())
    }

    fn provenance(
        &self,
        finished: &Finished,
        (inputs, report): (&[(PathBuf, String)], &Value),
        folder: &Path,
    ) -> Result<Value, Failure> {
        let loaded = self.files.loaded;
        let inputs = inputs
            .iter()
            .map(|(path, sum)| json!({"file": path, "sha256": sum}));
        let mut outputs = Vec::new();
        for file in io::cohort::files_below(folder).map_err(failed)? {
            let path = folder.join(&file);
            let sum = io::checksum::of_file(&path, &Control::new()).map_err(failed)?;
            let bytes = io::length_of(&path);
            outputs.push(json!({"file": file, "sha256": sum, "bytes": bytes}));
        }
        let backend = match report.get("backend") {
            Some(backend) => backend.clone(),
            None => Value::from(self.runner.backend.label()),
        };
        Ok(json!({
            "step": finished.name, "command": finished.command, "key": finished.key,
            "program": {"name": "arcuate", "version": env!("CARGO_PKG_VERSION")}, "backend": backend,
            "protocol": {"file": loaded.path, "sha256": loaded.sha256, "title": loaded.protocol.title},
            "inputs": inputs.collect::<Vec<_>>(), "outputs": outputs, "wall_s": finished.wall_s, "report": report,
        }))
    }
}

/// The checksum of a command and of what its files contain, wherever they lie.
fn key(line: &[String], inputs: &[(PathBuf, String)]) -> String {
    let mut text = format!("{}\n", env!("CARGO_PKG_VERSION"));
    for word in line {
        let mut word = word.clone();
        for (path, sum) in inputs {
            word = word.replace(&path.display().to_string(), sum);
        }
        text += &one_line(&word);
        text.push('\n');
    }
    // Files that no word names, such as gradients beside a scan.
    let mut sums: Vec<&str> = inputs.iter().map(|(_, sum)| sum.as_str()).collect();
    sums.sort_unstable();
    io::checksum::of_text(&(text + &sums.join("\n")))
}

/// Reads the provenance in the folder of a step.
pub fn read_provenance(folder: &Path) -> Option<Value> {
    let text = io::text(&folder.join(PROVENANCE)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether the folder holds unchanged results of this command with these inputs.
fn is_done(folder: &Path, key: &str) -> bool {
    let Some(provenance) = read_provenance(folder) else {
        return false;
    };
    let outputs = provenance["outputs"].as_array();
    let is_unchanged = |output: &Value| {
        let (Some(file), Some(sum)) = (output["file"].as_str(), output["sha256"].as_str()) else {
            return false;
        };
        let now = io::checksum::of_file(&folder.join(file), &Control::new());
        now.is_ok_and(|now| now == sum)
    };
    provenance["key"].as_str() == Some(key)
        && outputs.is_some_and(|all| all.iter().all(is_unchanged))
}
