//! The pathway between two regions, in the metric of tensors or through fibre orientation distributions.

use crate::errors::{Failure, unknown_key};
use crate::model::{GivenModel, Model};
use crate::parameters::{Given, filled, given, is_given, split};
use crate::random_pairs::Comparison;
use crate::regions::{GivenRegion, owned, regions_of};
use crate::results::{Fact, Parts};
use crate::run::{Common, run};
use crate::solve::Fit;
use crate::tables;
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::{OdfField, Region, Role, Tractogram, Volume};
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::eikonal::{self, solve};
use arcuate_engine::solvers::lifted::{self, SensitivityTo};
use arcuate_engine::solvers::pathway::{
    Domain, JointCosts, Params, Path, Pathway, TOLERANCE, Width, not_joined, outside_tensors,
};
use arcuate_engine::solvers::{metric, tractogram};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Comparisons and maps besides the pathway itself.
#[derive(FromPyObject, Clone)]
#[pyo3(from_item_all)]
pub struct Evidence {
    /// Random pairs to compare with; 0: no comparison.
    null: usize,
    null_full: bool,
    /// The input of the voxels to which a map of the sensitivity refers, by its key.
    sensitivity: Option<String>,
}

/// Finds the pathway between the regions with the roles seed and target.
#[pyfunction]
pub fn pathway(
    py: Python<'_>,
    model: GivenModel<'_>,
    regions: Vec<GivenRegion<'_>>,
    evidence: Evidence,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Parts> {
    let given = given(arguments)?;
    let regions = owned(regions);
    let model = Model::from_given(py, &model)?;
    run(py, &common, move |backend, control| {
        model.refuse_foreign(&given, &tables::pathway_rows())?;
        let regions = regions_of(regions, |role, _| argument(role).to_owned())?;
        let has_costly = regions.iter().any(|region| region.role == Role::Costly);
        if is_given(&given, "costly_factor") && !has_costly {
            return Err(Failure::Parameter(
                "Found costly_factor without costly, expected a region where paths cost this many times as much; give \
                 it as costly, or leave out costly_factor"
                    .to_owned(),
            ));
        }
        let (of_width, rest) = split::<Width>(given);
        let search = Search {
            regions: &regions,
            epsilon: filled(Width::defaults(), &of_width, &[])?.epsilon,
            map_to: map_to(evidence.sensitivity.as_deref())?,
            comparison: Comparison::new(evidence.null, evidence.null_full)?,
            backend,
            control,
        };
        match &model {
            Model::Tensors(fit) => search.in_tensors(fit, rest),
            Model::Distributions(fibres) => search.in_distributions(&fibres.field(control)?, &rest),
        }
    })
}

/// The argument that names the regions of a role.
fn argument(role: Role) -> &'static str {
    match role {
        Role::Seed => "from_",
        Role::Target => "to",
        Role::Mask => "within",
        other => other.key(),
    }
}

/// The input with this key to which a map of the sensitivity refers.
fn map_to(key: Option<&str>) -> Result<Option<SensitivityTo>, Failure> {
    let Some(key) = key else {
        return Ok(None);
    };
    SensitivityTo::from_key(key)
        .map(Some)
        .ok_or_else(|| Failure::Parameter(unknown_key(key, "sensitivity", SensitivityTo::KEYS)))
}

/// The regions of a pathway and what is to be computed.
pub struct Search<'a> {
    pub regions: &'a [Region],
    epsilon: f64,
    map_to: Option<SensitivityTo>,
    comparison: Comparison,
    pub backend: &'a Backend,
    pub control: &'a Control,
}

/// The cheapest path: its points, and a streamline with its costs.
struct Course {
    path: Path,
    line: Tractogram,
}

impl Course {
    fn new(path: Option<Path>, costs: &JointCosts) -> Result<Self, Failure> {
        let path = path.ok_or_else(|| {
            Failure::Input(
                "Found no path through the voxel of least cost, expected one; move the regions, or widen the domain"
                    .to_owned(),
            )
        })?;
        let cost: Vec<f32> = path.cost.iter().map(|c| *c as f32).collect();
        let line = Tractogram::of_curves([path.streamline()])
            .with_per_point("cost", cost)
            .with_per_streamline("length", vec![path.total_mm() as f32])
            .with_grid(costs.places.grid.clone());
        Ok(Self { path, line })
    }
}

impl Search<'_> {
    /// The least value of the domain: the default, or 0 where regions already confine the paths.
    fn least(&self, default: f64) -> f64 {
        match self.regions.iter().any(|region| region.role == Role::Mask) {
            true => 0.0,
            false => default,
        }
    }

    fn in_tensors(&self, fit: &Fit, given: Given) -> Result<Parts, Failure> {
        let (backend, control) = (self.backend, self.control);
        let (of_metric, rest) = split::<metric::Params>(given);
        let defaults = Params::defaults();
        let defaults = Params {
            metric: filled(defaults.metric, &of_metric, &[])?,
            min_fa: self.least(defaults.min_fa),
            ..defaults
        };
        let params = filled(defaults, &rest, &[])?;
        let (field, fa) = (&fit.whole.fit.field, &fit.whole.maps.fa);
        let domain = Domain::of_tensors(fa, params.min_fa, self.regions);
        let mask = backend.install(|| domain.mask())?;
        let metric = domain.metric(field, &mask, &params, backend, control)?;
        let prepared = eikonal::Prepared::new(&metric, params.local, backend, control)?;
        let mut sources = Vec::new();
        for role in [Role::Seed, Role::Target] {
            let source = backend.install(|| domain.source(&prepared.metric, role));
            sources.push(source.map_err(|error| {
                outside_tensors(self.regions, role, field, fit.mask_name).unwrap_or(error)
            })?);
        }
        let solver = eikonal::Params {
            tolerance: TOLERANCE,
            schedule: None,
        };
        let solved = solve(&prepared, &sources, &solver, backend, control)?;
        let Ok([a, b]) = <[_; 2]>::try_from(solved) else {
            return Err(Failure::Input(
                "Found one cost field, expected one for each region; report this error".to_owned(),
            ));
        };
        let sides = [a.image(), b.image()];
        let separated = not_joined([&a, &b], self.regions);
        let pathway = Pathway::new(a, b).map_err(|error| separated.unwrap_or(error))?;
        control.check()?;
        let mut course = Course::new(pathway.minimal_path(), &pathway)?;
        let along = backend.install(|| tractogram::sample(fa, &course.line));
        course.line = course.line.with_per_point("fa", along);
        let mut parts = self.parts(&pathway, course, sides);
        if self.comparison.is_requested() {
            parts = self.comparison.in_tensors(parts, self, fit, &params)?;
        }
        match self.map_to {
            None => Ok(parts),
            Some(SensitivityTo::Amplitude) => Err(Failure::Parameter(
                "Found sensitivity=\"amplitude\" in tensors, which have no amplitudes, expected \"cost\"; choose that"
                    .to_owned(),
            )),
            Some(SensitivityTo::Cost) => {
                let sensitivity = pathway.sensitivity(backend, control)?;
                Ok(parts.image("sensitivity", sensitivity.percent(pathway.metric())))
            }
        }
    }

    fn in_distributions(&self, field: &OdfField, given: &Given) -> Result<Parts, Failure> {
        let (backend, control) = (self.backend, self.control);
        let defaults = lifted::Params::defaults();
        let defaults = lifted::Params {
            min_amplitude: self.least(defaults.min_amplitude),
            ..defaults
        };
        let params = filled(defaults, given, &[])?;
        let amplitudes = lifted::largest_amplitudes(field, backend, control)?;
        let domain = Domain::of_distributions(&amplitudes, params.min_amplitude, self.regions);
        let mask = backend.install(|| domain.mask())?;
        let prepared = lifted::Prepared::new(field, &mask, &params, backend, control)?;
        let prepared = prepared.with_costly_regions(&domain, params.costly_factor, backend);
        let sources = lifted::ends(&domain, &prepared.places, backend)?;
        let width = (self.epsilon, false);
        let (pathway, excess_limit) =
            lifted::joined(&prepared, &sources, self.regions, width, backend, control)?;
        let course = Course::new(pathway.minimal_path(), &pathway)?;
        let sides = [0, 1].map(|i: usize| backend.install(|| pathway.fields[i].image()));
        let parts = self.parts(&pathway, course, sides);
        let mut parts = parts.fact("excess_limit", Fact::Number(excess_limit));
        if self.comparison.is_requested() {
            let own = (field, &prepared);
            parts = self
                .comparison
                .in_distributions(parts, self, own, &domain, &params)?;
        }
        let Some(to) = self.map_to else {
            return Ok(parts);
        };
        let sensitivity = pathway.sensitivity(backend, control)?;
        let shown = sensitivity.to(to).ok_or_else(|| {
            Failure::Input(
                "Found costs without amplitudes, expected distributions; choose sensitivity=\"cost\"".to_owned(),
            )
        })?;
        Ok(parts.image("sensitivity", shown.percent(&pathway.places)))
    }

    fn parts(&self, costs: &JointCosts, course: Course, [u1, u2]: [Volume; 2]) -> Parts {
        let joined = costs.joining_mask(self.epsilon);
        let is_joined = joined.is_some();
        let set = joined.unwrap_or_else(|| costs.mask(self.epsilon));
        let number = |value: f64| Fact::Number(value);
        let Course { path, line } = course;
        Parts::default()
            .image("u1", u1)
            .image("u2", u2)
            .image("u", costs.image())
            .mask("pathway", &set)
            .streamlines("path", line)
            .fact("least", number(costs.min_cost))
            .fact("epsilon", number(self.epsilon))
            .fact("joined", Fact::Flag(is_joined))
            .fact("joined_from", number(costs.joining_epsilon))
            .fact("volume_ml", number(set.volume_ml()))
            .fact("cost", number(path.total_cost()))
            .fact("length_mm", number(path.total_mm()))
            .fact("cost_per_mm", number(path.mean_cost_per_mm()))
    }
}
