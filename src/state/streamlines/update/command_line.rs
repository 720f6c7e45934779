//! The commands of the panel below the views.

use crate::data::ShellCommand;
use crate::io::quoted;
use crate::parameters::{arguments, arguments_of};
use crate::solvers::tractogram::selection::SelectionOptions;
use crate::state::command_line::StepCommand;
use crate::state::core::layer::Layer;
use crate::state::core::text::{file_stem, quoted_path};
use crate::state::filter::WEIGHT;
use crate::state::origin::commands::{file_and_command, selection_options};
use crate::state::regions::recipe::MaskWithoutFile;
use crate::state::streamlines::current::HIDDEN_VALUE;
use crate::state::streamlines::in_place::in_place;
use crate::state::streamlines::recipe::ImageOption;
use crate::state::streamlines::recipe::tables::TableCommand;
use crate::state::streamlines::update::bundles;
use crate::state::streamlines::update::follow::{applied_rules, profile_columns};
use crate::state::streamlines::{
    BottomPanel, Column, MatrixValue, StreamlineRules, streamlines_of,
};
use crate::state::{CommandLine, LayerId, State};
use std::fmt::Write as _;

/// The parts of a command as they are collected.
struct CommandParts<'a> {
    state: &'a State,
    layer: &'a Layer,
    needs: Vec<ShellCommand>,
    options: String,
    /// The first input that is in no file.
    unfiled: Option<String>,
}

/// The command line of a panel; `None` if there are no streamlines, or not all of it is known yet.
pub fn panel_command(state: &State, table: BottomPanel) -> Option<CommandLine> {
    let in_place = || state.current_in_place().map(|(l, lines)| (l, &lines.names));
    let (layer, lines) = state.current_streamlines().or_else(in_place)?;
    let mut parts = CommandParts::new(state, layer);
    let mut input = None;
    match table {
        BottomPanel::Table => {
            let columns = state.columns(lines);
            let mut sorted = None;
            let mut taken: Vec<String> = Vec::new();
            let by = state.view.table.column.as_ref();
            for column in &columns {
                let name = match column {
                    Column::Value(name) => {
                        if !parts.has(name) {
                            parts.record_missing(&format!("“{name}”"));
                        }
                        Some(name.clone())
                    }
                    Column::Image(id) => parts.image(*id).map(|stem| {
                        let own = lines.value_names().contains(&&*stem);
                        if own || taken.contains(&stem) {
                            format!("{stem} (image)")
                        } else {
                            stem
                        }
                    }),
                };
                taken.extend(name.clone());
                if by == Some(column) {
                    sorted = name;
                }
            }
            if lines.value_names().contains(&HIDDEN_VALUE) {
                let _ = write!(parts.options, " --leave-out {HIDDEN_VALUE}");
            }
            if let Some(name) = sorted {
                let _ = write!(parts.options, " --sort {}", quoted(&name));
                if state.view.table.descending {
                    parts.options += " --descending";
                }
            }
        }
        BottomPanel::Profile => {
            for column in profile_columns(state, lines) {
                parts.measure(&column);
            }
            let settings = &state.document.streamlines.profile;
            parts.options += &arguments_of(&settings.params, &["nodes"]);
            let start = settings.start.and_then(|id| state.document.region(id));
            if let Some(start) = start {
                match state.document.specs(std::slice::from_ref(start)) {
                    Ok(specs) => {
                        let shape = specs.first().map(|s| quoted(&s.shape.to_string()));
                        let _ = write!(parts.options, " --start {}", shape.unwrap_or_default());
                    }
                    Err(MaskWithoutFile(region)) => {
                        parts.record_missing(&format!("the region “{region}”"))
                    }
                }
            }
            parts.options += &arguments_of(&settings.params, &["reverse"]);
        }
        BottomPanel::Matrix => {
            let labels = state.label_map()?;
            input = match state.document.command_line(labels) {
                CommandLine::File { file, reading } => {
                    let _ = write!(parts.options, "{reading}");
                    Some(quoted(&file.to_string_lossy()))
                }
                _ => {
                    parts.record_missing(&format!("“{}”", labels.name));
                    None
                }
            };
            let settings = &state.document.streamlines.connect;
            parts.options += &arguments(&settings.params);
            if let Some(column) = &settings.value {
                parts.measure(column);
            }
            match settings.shown {
                MatrixValue::Count => {}
                MatrixValue::Length => parts.options += " --matrix length",
                MatrixValue::Value => parts.options += " --matrix value",
            }
        }
        BottomPanel::Bundles => {
            if let Some(column) = bundles::measured(state, lines) {
                parts.measure(&column);
            }
        }
        BottomPanel::Scores => {
            let truth = state.document.streamlines.truth.as_ref()?;
            let _ = write!(parts.options, " --truth {}", quoted_path(truth));
        }
    }
    let streamlines = match table {
        BottomPanel::Table => parts.rows()?,
        _ => parts.streamlines()?,
    };
    let streamlines = streamlines.as_streamline_input();
    Some(CommandLine::Table(Box::new(TableCommand {
        streamlines,
        table,
        needs: parts.needs,
        input,
        options: parts.options,
        unfiled: parts.unfiled,
    })))
}

/// The command line of the streamlines that a layer's rules keep, or of the layer itself; `None` while values that the
/// rules need are being computed.
pub fn selection_command(state: &State, layer: &Layer) -> Option<CommandLine> {
    CommandParts::new(state, layer).streamlines()
}

impl<'a> CommandParts<'a> {
    fn new(state: &'a State, layer: &'a Layer) -> Self {
        Self {
            state,
            layer,
            needs: Vec::new(),
            options: String::new(),
            unfiled: None,
        }
    }

    fn record_missing(&mut self, what: &str) {
        self.unfiled.get_or_insert_with(|| what.to_owned());
    }

    /// Whether a value is in the streamlines' own file: weights fitted here are not.
    fn has(&self, name: &str) -> bool {
        name != WEIGHT || !self.state.document.weights.contains_key(&self.layer.id)
    }

    fn measure(&mut self, column: &Column) {
        match column {
            Column::Value(name) if self.has(name) => {
                let _ = write!(self.options, " --value {}", quoted(name));
            }
            Column::Value(name) => self.record_missing(&format!("“{name}”")),
            Column::Image(id) => {
                self.image(*id);
            }
        }
    }

    /// Adds an image; returns its name in the table.
    fn image(&mut self, id: LayerId) -> Option<String> {
        let layer = self.state.document.layer(id)?;
        let Some((file, need)) = file_and_command(&self.state.document, layer) else {
            self.record_missing(&format!("“{}”", layer.name));
            return None;
        };
        self.needs.extend(need);
        let _ = write!(self.options, " --image {}", quoted(&file.to_string_lossy()));
        Some(file_stem(&file))
    }

    /// The rules of the layer as options. `None` while values for the rules are pending; `Some(None)` if a value that they
    /// use is in no file.
    fn rules(
        &mut self,
        rules: &StreamlineRules,
        image_option: ImageOption,
    ) -> Option<Option<SelectionOptions>> {
        let (state, layer) = (self.state, self.layer);
        let in_place = || in_place(layer).map(|lines| &lines.names);
        let lines = streamlines_of(layer).or_else(in_place)?;
        let applied = applied_rules(state, rules, lines)?;
        let here = applied.values.iter().all(|v| self.has(&v.name));
        let options = selection_options(&state.document, rules, &applied, image_option);
        let options = options.filter(|_| here);
        if options.is_none() {
            self.record_missing("a value that the filter uses");
        }
        Some(options)
    }

    /// All streamlines of the layer; the rules become options of the table itself, whose rows keep the numbers that the
    /// streamlines have in their file.
    fn rows(&mut self) -> Option<CommandLine> {
        let document = &self.state.document;
        let line = document.command_line(self.layer);
        if let Some(rules) = document.streamlines.rules_of(self.layer.id)
            && let Some(options) = self.rules(rules, ImageOption::Table)?
        {
            self.needs.extend(options.needs);
            self.options += &options.options;
        }
        Some(line)
    }

    /// The streamlines that count: those that the rules keep, or all. `None` while values for the rules are pending.
    fn streamlines(&mut self) -> Option<CommandLine> {
        let document = &self.state.document;
        let line = document.command_line(self.layer);
        let Some(rules) = document.streamlines.rules_of(self.layer.id) else {
            return Some(line);
        };
        let step = self.rules(rules, ImageOption::Select)?;
        let step = step.map(StepCommand::Select);
        Some(match line {
            CommandLine::Edited { base, mut steps } => {
                steps.push(step);
                CommandLine::Edited { base, steps }
            }
            line => CommandLine::Edited {
                base: Box::new(line),
                steps: vec![step],
            },
        })
    }
}
