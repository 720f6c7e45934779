//! The views of a report are drawn one after the other; then a job computes its figures and writes it.

use crate::data::text::{file_name, within_sentence};
use crate::state::State;
use crate::state::action::Effect;
use crate::state::core::notices::Severity;
use crate::state::files::jobs::SAVE;
use crate::state::session_report::jobs::SaveReport;
use crate::state::session_report::{REPORT_PANES, ReportPicture, ReportProgress, ReportViews};
use std::path::PathBuf;
use std::sync::Arc;

/// Begins a report of what is open.
pub fn save(
    state: &mut State,
    path: PathBuf,
    methods: fn(&State) -> String,
    effects: &mut Vec<Effect>,
) {
    if state.document.is_empty() {
        let sentence = "A report describes open data: open a scan or a session first";
        return state.runtime.notify(Severity::Information, sentence);
    }
    if let Some(drawn) = &state.runtime.sessions.report {
        let name = file_name(&drawn.path);
        let sentence =
            format!("The views of {name} are being drawn: wait for it, or cancel it first");
        return state.runtime.notify(Severity::Information, sentence);
    }
    state.runtime.forget_failures(SAVE);
    state.runtime.notices.status.clear();
    let seen = Arc::new(state.clone());
    effects.push(Effect::DrawReport(ReportViews {
        path: path.clone(),
        seen: seen.clone(),
    }));
    state.runtime.sessions.report = Some(ReportProgress {
        path,
        methods: methods(&seen),
        seen,
        pictures: Vec::new(),
    });
}

/// A view was drawn, or cannot be; after the last one, the page is written.
pub fn drawn(state: &mut State, ticket: u64, picture: ReportPicture, effects: &mut Vec<Effect>) {
    state.runtime.jobs.running.retain(|j| j.ticket != ticket);
    let Some(mut progress) = state.runtime.sessions.report.take() else {
        return;
    };
    progress.pictures.push(picture);
    if progress.pictures.len() < REPORT_PANES.len() {
        state.runtime.sessions.report = Some(progress);
        return;
    }
    effects.push(Effect::submit(SaveReport {
        path: progress.path,
        methods: progress.methods,
        state: progress.seen,
        pictures: progress.pictures,
    }));
}

/// The report whose views were being drawn is not written.
pub fn cancelled(state: &mut State, ticket: u64) {
    state.runtime.sessions.report = None;
    let jobs = &mut state.runtime.jobs.running;
    let job = jobs.extract_if(.., |j| j.ticket == ticket).next();
    if let Some(job) = job {
        state.runtime.notices.status = format!("Stopped: {}", within_sentence(&job.label)).into();
    }
}
