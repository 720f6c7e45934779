//! The participants of a dataset, and their sessions.

use super::super::cohort::files::Subject;
use super::{Failure, Options, WORK};
use crate::data::text::counted;
use crate::io;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A participant, or one session of it.
pub struct Unit {
    /// `sub-01`.
    pub participant: String,
    /// `ses-1`, if the participant has sessions.
    pub session: Option<String>,
    pub subject: Subject,
}

impl Unit {
    /// `sub-01_ses-1`.
    pub fn entities(&self) -> String {
        entities(&self.participant, self.session.as_deref())
    }

    /// The participant and its session.
    pub fn names(&self) -> (&str, Option<&str>) {
        (&self.participant, self.session.as_deref())
    }
}

/// `3 participants`, or `4 sessions of 3 participants` if there are any: of the participants and sessions of units.
pub fn counted_units<'a>(units: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let count = UnitCount::new(units);
    let participants = counted(count.participants, "participant");
    match (count.sessions, count.without_session) {
        (0, _) => participants,
        (sessions, 0) => format!("{} of {participants}", counted(sessions, "session")),
        (sessions, _) => format!("{participants} with {}", counted(sessions, "session")),
    }
}

/// How many participants and sessions there are.
pub struct UnitCount {
    pub participants: usize,
    pub sessions: usize,
    /// Participants without folders of sessions.
    without_session: usize,
}

impl UnitCount {
    pub fn new<'a>(units: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let units: Vec<_> = units.collect();
        let participants: BTreeSet<&str> = units.iter().map(|(name, _)| *name).collect();
        let sessions = units
            .iter()
            .filter(|(_, session)| session.is_some())
            .count();
        Self {
            participants: participants.len(),
            sessions,
            without_session: units.len() - sessions,
        }
    }
}

fn entities(participant: &str, session: Option<&str>) -> String {
    match session {
        Some(session) => format!("{participant}_{session}"),
        None => participant.to_owned(),
    }
}

/// The folders of this kind in a folder, by name.
fn folders(folder: &Path, start: &str) -> BTreeSet<String> {
    let names = io::names_in(folder).unwrap_or_default().into_iter();
    let names = names.filter(|path| path.is_dir()).filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        name.starts_with(start).then_some(name)
    });
    names.collect()
}

/// The labels with their prefix.
fn labels(given: &[String], prefix: &str) -> BTreeSet<String> {
    let full = |label: &String| match label.starts_with(prefix) {
        true => label.clone(),
        false => format!("{prefix}{label}"),
    };
    given.iter().map(full).collect()
}

/// The names among those that were asked for, which must exist.
fn chosen(
    all: &BTreeSet<String>,
    given: &[String],
    (prefix, noun): (&str, &str),
    folder: &Path,
) -> Result<Vec<String>, Failure> {
    let given = labels(given, prefix);
    if given.is_empty() {
        return Ok(all.iter().cloned().collect());
    }
    if let Some(missing) = given.iter().find(|label| !all.contains(*label)) {
        let some: Vec<&str> = all.iter().take(8).map(String::as_str).collect();
        return Err(Failure::new(format!(
            "There is no {noun} “{missing}”, there are {}; name one of them: {}",
            match some.is_empty() {
                true => "none".to_owned(),
                false => some.join(", "),
            },
            folder.display()
        )));
    }
    Ok(given.into_iter().collect())
}

/// The participants and sessions that are processed. `roots`: the datasets in which inputs are looked for.
pub fn units(
    bids: &Path,
    roots: &[PathBuf],
    output: &Path,
    options: &Options,
) -> Result<Vec<Unit>, Failure> {
    let mut all = folders(bids, "sub-");
    if all.is_empty() {
        all = roots
            .iter()
            .flat_map(|root| folders(root, "sub-"))
            .collect();
    }
    let participants = chosen(
        &all,
        &options.participant_label,
        ("sub-", "participant"),
        bids,
    )?;
    if participants.is_empty() {
        return Err(Failure::new(format!(
            "Found no folder of a participant, expected sub-01 and so on; name the folder of the dataset: {}",
            bids.display()
        )));
    }
    let mut units = Vec::new();
    let mut sessions_of = BTreeMap::new();
    for participant in &participants {
        let of_root = |root: &PathBuf| folders(&root.join(participant), "ses-");
        let sessions: BTreeSet<String> = roots.iter().flat_map(of_root).collect();
        sessions_of.insert(participant, sessions);
    }
    let every: BTreeSet<String> = sessions_of.values().flatten().cloned().collect();
    chosen(&every, &options.session_label, ("ses-", "session"), bids)?;
    let given = labels(&options.session_label, "ses-");
    for (participant, sessions) in sessions_of {
        let add = |session: Option<&String>| {
            let mut folders = Vec::new();
            for root in roots {
                let own = root.join(participant);
                folders.extend(session.map(|session| own.join(session)));
                folders.push(own);
            }
            let name = entities(participant, session.map(String::as_str));
            Unit {
                participant: participant.clone(),
                session: session.cloned(),
                subject: Subject {
                    out: output.join(WORK).join(&name),
                    name: name.replace('_', " "),
                    folders: folders.into_iter().filter(|f| f.is_dir()).collect(),
                    bids: true,
                    given: BTreeMap::new(),
                },
            }
        };
        match sessions.is_empty() {
            true if given.is_empty() => units.push(add(None)),
            true => {}
            false => {
                let sessions = sessions.iter();
                let sessions = sessions.filter(|s| given.is_empty() || given.contains(*s));
                units.extend(sessions.map(|session| add(Some(session))));
            }
        }
    }
    Ok(units)
}
