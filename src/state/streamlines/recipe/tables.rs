//! Tables of streamlines, and the commands that compute them.

use crate::data::ShellCommand;
use crate::state::core::chain::chain;
use crate::state::core::text::quoted_path;
use crate::state::streamlines::BottomPanel;
use crate::state::streamlines::recipe::StreamlineInput;
use std::path::Path;

/// A table of streamlines, a profile along them, their connections, or their scores.
#[derive(Clone, PartialEq, Debug)]
pub struct TableCommand {
    /// The streamlines that count.
    pub streamlines: StreamlineInput,
    pub table: BottomPanel,
    /// Commands that compute its inputs.
    pub needs: Vec<ShellCommand>,
    /// The argument between the streamlines and the table.
    pub input: Option<String>,
    pub options: String,
    /// An input that no file holds: an image, a region, rules.
    pub unfiled: Option<String>,
}

impl TableCommand {
    /// Why there is no command.
    pub fn no_command(&self) -> Option<String> {
        if let Some(what) = &self.unfiled {
            return Some(format!(
                "There is no command for this {}, since {what} is not in a file: export it first, and \
                 open the file",
                self.table.name().to_lowercase()
            ));
        }
        self.streamlines.no_command.clone()
    }

    /// The default file name.
    pub fn file(&self) -> &'static str {
        match self.table {
            BottomPanel::Table => "streamlines.csv",
            BottomPanel::Profile => "profile.csv",
            BottomPanel::Matrix => "connectome.csv",
            BottomPanel::Bundles => "bundles.csv",
            BottomPanel::Scores => "scores.csv",
        }
    }

    pub fn text(&self, out: &Path) -> String {
        if let Some(sentence) = self.no_command() {
            return format!("# {sentence}");
        }
        let verb = match self.table {
            BottomPanel::Table => "table",
            BottomPanel::Profile => "profile",
            BottomPanel::Matrix => "connectome",
            BottomPanel::Bundles => "bundles",
            BottomPanel::Scores => "score",
        };
        // Bundles and scores have a table only on request.
        let option = match self.table {
            BottomPanel::Scores => "--out ",
            BottomPanel::Bundles => "--groups --table ",
            _ => "",
        };
        let tracks = &self.streamlines.tracks;
        let mut commands = self.streamlines.first.clone();
        commands.extend(self.needs.iter().cloned());
        let input = self.input.iter().map(|input| format!(" {input}"));
        let input: String = input.collect();
        let options = &self.options;
        let text = format!(
            "arcuate {verb} {tracks}{input} {option}{}{options}",
            quoted_path(out)
        );
        commands.push(text.into());
        chain(commands)
    }
}
