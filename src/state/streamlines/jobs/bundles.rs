//! Clusters of streamlines, and statistics of their groups.

use crate::compute::Control;
use crate::data::bundle_recipe::BundleRecipe;
use crate::data::{Grid, Tractogram, Volume};
use crate::io::bundle_recipe;
use crate::io::text::counted;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Saved, Slot, Unfinished, Worker,
};
use crate::solvers::bundles::{
    self, Clusters, GroupStatistics, Recognised, RecognitionParams, group_statistics, recognise,
};
use crate::state::files::jobs::WriteFile;
use crate::state::files::jobs::csv::{field, save};
use crate::state::job_end::{ended, for_command_line};
use crate::state::streamlines::GroupTable;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::edit::EDIT;
use crate::state::streamlines::jobs::table::Measure;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const GROUP_STATISTICS: Slot = Slot::latest_wins("group-statistics");

/// Divides streamlines into clusters.
#[derive(Clone, Debug)]
pub struct ClusterStreamlines {
    pub tractogram: Tractogram,
    pub params: bundles::Params,
}

impl Job for ClusterStreamlines {
    type Output = Clusters;

    fn slot(&self) -> Slot {
        EDIT
    }

    fn label(&self) -> String {
        "Clustering streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let clusters = bundles::cluster(&self.tractogram, None, &self.params, &backend, control)?;
        Ok(clusters)
    }
}

for_command_line!(ClusterStreamlines);

/// Recognises bundles by the labels that streamlines pass and end in.
#[derive(Clone, Debug)]
pub struct RecogniseBundles {
    pub tractogram: Tractogram,
    pub labels: Volume,
    /// The file of the recipe; `None`: the built-in one.
    pub recipe: Option<PathBuf>,
    pub params: RecognitionParams,
}

impl Job for RecogniseBundles {
    type Output = (BundleRecipe, Recognised);

    fn slot(&self) -> Slot {
        EDIT
    }

    fn label(&self) -> String {
        "Recognising bundles".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        self.recipe.as_deref()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let recipe = recipe(self.recipe.as_deref())?;
        let (lines, labels) = (&self.tractogram, (&self.labels, 0));
        let backend = worker.backend();
        let recognised = recognise(lines, labels, &recipe, &self.params, &backend, control)?;
        Ok((recipe, recognised))
    }
}

for_command_line!(RecogniseBundles);

/// The recipe in a file, or the built-in one.
pub(super) fn recipe(path: Option<&Path>) -> Result<BundleRecipe, JobError> {
    Ok(match path {
        Some(path) => bundle_recipe::read(path)?,
        None => bundle_recipe::freesurfer()?,
    })
}

/// Computes statistics of the groups of streamlines.
#[derive(Clone, Debug)]
pub struct ComputeGroupStatistics {
    pub among: CountedStreamlines,
    /// The value whose means count, and its name.
    pub value: Option<(Measure, String)>,
    /// The voxels of the volumes.
    pub grid: Option<Arc<Grid>>,
}

impl Job for ComputeGroupStatistics {
    type Output = GroupTable;

    fn slot(&self) -> Slot {
        GROUP_STATISTICS
    }

    fn label(&self) -> String {
        "Measuring bundles".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let tractogram = &self.among.tractogram;
        let (measure, name) = self.value.unzip();
        let values = measure.map(|v| v.values(tractogram, &backend, control));
        let values = values.transpose()?;
        let groups: Vec<&[u32]> = tractogram.groups.values().map(|group| &**group).collect();
        let statistics = group_statistics(
            tractogram,
            &groups,
            self.among.marks.as_deref(),
            (values.as_deref(), self.grid.as_ref()),
            &backend,
            control,
        )?;
        Ok(GroupTable {
            groups: tractogram.groups.keys().cloned().zip(statistics).collect(),
            value: name,
        })
    }
}

impl Receive<State> for ComputeGroupStatistics {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, table, _, _| {
            state.runtime.streamlines.groups.finish(table);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.groups.fail();
        false
    }
}

/// Saves a row for each group.
#[derive(Clone, Debug)]
pub struct SaveGroupStatistics {
    pub path: PathBuf,
    pub table: GroupTable,
}

impl WriteFile for SaveGroupStatistics {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let groups = &self.table.groups;
        let what = format!("table of {}", counted(groups.len(), "bundle"));
        let has_volumes = groups.iter().any(|(_, f)| f.volume_mm3.is_some());
        save(self.path, what, control, |to| {
            write!(to, "bundle,streamlines,length_mm,length_sd_mm")?;
            if has_volumes {
                write!(to, ",volume_mm3")?;
            }
            if let Some(name) = &self.table.value {
                write!(to, ",{}", field(&format!("{name} mean")))?;
            }
            writeln!(to)?;
            for (name, statistics) in groups.iter() {
                let GroupStatistics {
                    count,
                    length_mm,
                    length_sd_mm,
                    volume_mm3,
                    value,
                } = statistics;
                write!(to, "{},{count}", field(name))?;
                write!(to, ",{},{}", number(*length_mm), number(*length_sd_mm))?;
                let volume = volume_mm3.filter(|_| has_volumes);
                for value in volume.iter().chain(value) {
                    write!(to, ",{}", number(*value))?;
                }
                writeln!(to)?;
            }
            Ok(())
        })
    }
}

/// To a millionth; empty for a value that is not finite.
fn number(value: f64) -> String {
    match value.is_finite() {
        true => ((value * 1e6).round() / 1e6).to_string(),
        false => String::new(),
    }
}
