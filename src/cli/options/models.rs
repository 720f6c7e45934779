//! Options of a command that computes with the tensors of a scan, or with another model that an option chooses.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use std::fmt;

/// A model that its option chooses instead of the scan.
#[derive(Clone, Copy, Debug)]
pub struct OtherModel {
    pub option: &'static str,
    pub name: &'static str,
}

/// The models of a command, and the parts of its sentences about them.
#[derive(Clone, Copy, Debug)]
pub struct Models {
    pub others: &'static [OtherModel],
    /// Before the name of a model: `tracking through`, `to track through`.
    pub activity: &'static str,
    pub to: &'static str,
    /// Heading of the options that only other models have.
    pub heading: &'static str,
    /// Help of the scan, which is optional here.
    pub scan_help: &'static str,
    /// Whether other models need the scan, too.
    pub need_scan: bool,
}

/// The options of tensors, and those of the other models, in the order of the help.
pub type ModelOptions = [Vec<Arg>; 2];

pub fn wrong_usage(sentence: impl fmt::Display) -> clap::Error {
    clap::Error::raw(ErrorKind::ArgumentConflict, sentence)
}

pub fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

fn has(options: &[Arg], arg: &Arg) -> bool {
    options.iter().any(|option| option.get_id() == arg.get_id())
}

/// The options of both.
pub fn options_of<Tensors: Args, Others: Args>() -> ModelOptions {
    let tensors = Tensors::augment_args(Command::new("tensors"));
    let others = Others::augment_args(Command::new("others"));
    [tensors, others].map(|command| {
        let mut options: Vec<Arg> = command.get_arguments().cloned().collect();
        options.sort_by_key(Arg::get_display_order);
        options
    })
}

impl Models {
    /// The other model that was chosen.
    pub fn chosen(&self, matches: &ArgMatches) -> Option<OtherModel> {
        let mut others = self.others.iter().copied();
        others.find(|other| is_given(matches, other.option))
    }

    /// Returns the other model that the options choose; `None`: tensors. Refuses options that name no model or two, or an
    /// option that the chosen model does not have.
    pub fn checked(
        &self,
        no_model: &str,
        options: ModelOptions,
        matches: &ArgMatches,
    ) -> Result<Option<OtherModel>, clap::Error> {
        let chosen = self.chosen(matches);
        match (matches.get_one::<String>("scan"), chosen) {
            (None, None) => return Err(wrong_usage(no_model)),
            (Some(scan), Some(other)) => return Err(self.both_given(scan, other)),
            _ => {}
        }
        self.refuse_foreign(chosen, options, matches)?;
        Ok(chosen)
    }

    /// A scan was named although another model was chosen.
    pub fn both_given(&self, scan: &str, other: OtherModel) -> clap::Error {
        let Self { to, .. } = self;
        let OtherModel { option, name } = other;
        wrong_usage(format!(
            "Found the scan {scan} and --{option}, expected one of them; leave out the scan {to} {name}, or --{option} \
             {to} the tensors of the scan"
        ))
    }

    /// Refuses options that the chosen model, or that of tensors, does not have.
    pub fn refuse_foreign(
        &self,
        chosen: Option<OtherModel>,
        [tensors, others]: ModelOptions,
        matches: &ArgMatches,
    ) -> Result<(), clap::Error> {
        let (own, foreign) = match chosen {
            Some(_) => (others, tensors),
            None => (tensors, others),
        };
        let given = foreign
            .iter()
            .find(|arg| !has(&own, arg) && is_given(matches, arg.get_id().as_str()));
        let Some(given) = given.and_then(Arg::get_long) else {
            return Ok(());
        };
        let others = self.others.iter();
        let (near, name, remedy) = match chosen {
            Some(OtherModel { option, .. }) => (
                format!("--{option}"),
                "tensors".to_owned(),
                match self.need_scan {
                    true => format!("leave out --{option} {} tensors", self.to),
                    false => format!("name a scan instead of --{option} {} its tensors", self.to),
                },
            ),
            None => {
                let names: Vec<&str> = others.clone().map(|other| other.name).collect();
                let choices = others.map(|other| format!("{} with --{}", other.name, other.option));
                let choices: Vec<String> = choices.collect();
                let instead = match self.need_scan {
                    true => "",
                    false => " instead of the scan",
                };
                (
                    "the scan".to_owned(),
                    names.join(" or "),
                    format!("choose {}{instead}", choices.join(" or ")),
                )
            }
        };
        Err(wrong_usage(format!(
            "Found --{given} beside {near}, which belongs to {} {name}; leave it out, or {remedy}",
            self.activity
        )))
    }

    /// All options in the order of the help: the choice of the model, the scan and what all models have, then the others
    /// under a heading each. `shared` changes an option that all models have.
    pub fn arguments(
        &self,
        [tensors, others]: ModelOptions,
        shared: impl Fn(Arg) -> Arg,
    ) -> Vec<Arg> {
        let chooses =
            |arg: &Arg| (self.others.iter()).any(|other| arg.get_id().as_str() == other.option);
        let (choices, others): (Vec<Arg>, Vec<Arg>) = others.into_iter().partition(chooses);
        let (common, tensors): (Vec<Arg>, Vec<Arg>) = tensors
            .into_iter()
            .partition(|arg| arg.is_positional() || has(&others, arg));
        let others = others.into_iter().filter(|arg| !has(&common, arg));
        let others: Vec<Arg> = others.map(|arg| arg.help_heading(self.heading)).collect();
        let common = common.into_iter().map(|arg| match arg.is_positional() {
            true => arg.required(false).help(self.scan_help),
            false => shared(arg),
        });
        let tensors = tensors
            .into_iter()
            .map(|arg| arg.help_heading("Options for tensors (SCAN)"));
        let choices = choices.into_iter().map(|arg| arg.required(false));
        let options = choices.chain(common).chain(tensors).chain(others);
        let options = options.enumerate().map(|(i, arg)| arg.display_order(i));
        options.collect()
    }
}
