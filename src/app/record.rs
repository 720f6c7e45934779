//! A record of actions and their results, one line of JSON each, for tests and bug reports.

use super::action_log::ActionLog;
use crate::state::{State, report};
use crate::ui::views::Views;
use egui::{Context, Rect};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The environment variable that names the file.
const VARIABLE: &str = "ARCUATE_TRACE";

pub struct Record {
    log: ActionLog,
    typing: bool,
    panes: usize,
}

impl Record {
    /// `None` unless the variable is set.
    pub fn from_environment() -> Option<Self> {
        let path = std::env::var_os(VARIABLE)?;
        Some(Self {
            log: ActionLog::to(path.into()),
            typing: false,
            panes: 0,
        })
    }

    /// A line of its own when the window changed without an action.
    pub fn watch(&mut self, ctx: &Context, state: &State, views: &Views) {
        let (typing, panes) = (ctx.text_edit_focused(), views.panes().len());
        if (typing, panes) != (self.typing, self.panes) {
            (self.typing, self.panes) = (typing, panes);
            self.write("Window", state, views);
        }
    }

    pub fn write(&self, action: &str, state: &State, views: &Views) {
        let corners = |r: &Rect| [r.left(), r.top(), r.right(), r.bottom()];
        let panes = views.panes().iter();
        let panes: BTreeMap<&str, Value> = panes
            .map(|(pane, rect)| (pane.name(), json!(corners(rect))))
            .collect();
        let line = json!({
            "action": action,
            "typing": self.typing,
            "panes": panes,
            "state": report::state(state),
        });
        self.log.line(line.to_string());
    }
}
