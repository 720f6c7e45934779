//! A protocol on one subject: lock, steps, session, pictures, and how it ended.

use super::super::output::report_message;
use super::super::{Failure, Runner};
use super::LoadedProtocol;
use super::files::{Subject, SubjectFiles};
use super::session;
use super::steps::{Finished, PassedOn, Steps};
use crate::io;
use crate::state::Severity;
use serde_json::{Value, json};
use std::path::Path;

/// Name of the file that states how a run ended.
pub const STATUS: &str = "status.json";

/// Choices of a run besides its steps.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Runs every step, whether it is done or not.
    pub all: bool,
    /// Draws pictures for reports.
    pub pictures: bool,
}

/// Runs a protocol on a subject; the status file states how it ended.
pub fn run(
    loaded: &LoadedProtocol,
    subject: &Subject,
    (options, passed_on): (RunOptions, &PassedOn),
    runner: &mut Runner,
) -> Result<Value, Failure> {
    let failed = |e: io::Error| Failure::new(e.to_string());
    // Only folders of this subject are replaced, while they are locked.
    io::atomic::keep_what_exists(false);
    let Some(_lock) = io::cohort::lock(&subject.out).map_err(failed)? else {
        return Err(Failure::new(format!(
            "Another process is working on {}, expected one at a time; wait until it has ended: {}",
            subject.name,
            subject.out.display()
        )));
    };
    let files = SubjectFiles::new(loaded, subject);
    let mut steps = Steps::new(files, passed_on, options.all, runner);
    // A step may take hours: an input that a later one lacks is known before.
    let found = steps.files.find_all();
    let ran = found.and_then(|()| {
        let mut all = loaded.protocol.steps.iter();
        all.try_for_each(|step| steps.run(step))
    });
    let Steps {
        files, finished, ..
    } = steps;
    let mut status = json!({
        "subject": subject.name, "folder": subject.out, "state": if ran.is_ok() { "done" } else { "failed" },
        "program": {"name": "arcuate", "version": env!("CARGO_PKG_VERSION")},
        "protocol": {"file": loaded.path, "sha256": loaded.sha256, "title": loaded.protocol.title},
        "steps": finished.iter().map(step).collect::<Vec<_>>(),
    });
    match &ran {
        Err(failure) => status["sentence"] = json!(failure.sentence),
        Ok(()) => {
            let keys: Vec<&str> = finished.iter().map(|step| step.key.as_str()).collect();
            let key = io::checksum::of_text(&keys.join("\n"));
            let kept = kept_session(&subject.out, &key, options);
            let session = match kept {
                Some(session) => Ok(session),
                None => session::save(&files, &finished, options.pictures, &key, runner),
            };
            match session {
                Ok(session) => status["session"] = session,
                // The results are complete without it.
                Err(failure) => report_message(
                    Severity::Warning,
                    &format!("{} has no session: {}", subject.name, failure.sentence),
                ),
            }
        }
    }
    let text = serde_json::to_string_pretty(&status).unwrap_or_default() + "\n";
    io::atomic::write_text(&subject.out.join(STATUS), &text).map_err(failed)?;
    // Results of earlier steps are kept in any case, and the folders of unfinished ones are gone.
    io::atomic::record_written_files();
    ran.map(|()| status)
}

fn step(finished: &Finished) -> Value {
    json!({
        "name": finished.name, "command": finished.command, "unchanged": finished.unchanged,
        "wall_s": finished.wall_s,
    })
}

/// How the last run in a folder ended; `None` if none did.
pub fn read_status(folder: &Path) -> Option<Value> {
    let text = io::text(&folder.join(STATUS)).ok()?;
    serde_json::from_str(&text).ok()
}

/// The session of the same results, if it still has its checksum.
fn kept_session(out: &Path, key: &str, options: RunOptions) -> Option<Value> {
    if options.all {
        return None;
    }
    let session = read_status(out)?.get("session")?.clone();
    let file = session["file"].as_str()?;
    let sum = io::checksum::of_file(&out.join(file), &crate::compute::Control::new()).ok()?;
    let has = |key: &str| {
        session[key].as_array().is_some_and(|all| {
            let mut all = all.iter().filter_map(|file| file.as_str());
            all.all(|file| out.join(file).is_file())
        })
    };
    let has_pictures = !options.pictures || ["pictures", "thumbnails"].into_iter().all(has);
    let same = session["key"].as_str() == Some(key) && session["sha256"].as_str() == Some(&sum);
    (same && has_pictures).then_some(session)
}
