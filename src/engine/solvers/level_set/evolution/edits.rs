//! Changes that the user makes to a run: other speeds, spheres.

use super::{Engine, Evolution, Field};
use crate::compute::Backend;
use crate::solvers::Error;
use crate::solvers::level_set::error::InputError;
use crate::solvers::level_set::parameters::Params;
use crate::solvers::level_set::run_history::{Event, ScriptEvent};
use crate::solvers::level_set::speed::{Inputs, Speeds};
use crate::solvers::level_set::start::{Sphere, edited};
use crate::solvers::level_set::stencil::Stencil;
use std::sync::Arc;

impl Evolution {
    /// Changes the parameters from the next step on.
    pub fn set(&mut self, params: &Params, backend: &Backend) -> Result<(), Error> {
        self.switch_inputs(self.inputs_index, params, backend)
    }

    /// Changes parameters and the other inputs of the same image; φ is unchanged.
    pub fn set_inputs(
        &mut self,
        inputs: &Inputs,
        params: &Params,
        backend: &Backend,
    ) -> Result<(), Error> {
        let count = self.inputs.len();
        let known = self.inputs.iter().position(|known| known.is(inputs));
        if known.is_none() {
            self.inputs.push(inputs.clone());
        }
        let turned = self.switch_inputs(known.unwrap_or(count), params, backend);
        if turned.is_err() {
            self.inputs.truncate(count);
        }
        turned
    }

    /// Switches to the inputs with this number. On failure nothing changes.
    pub(super) fn switch_inputs(
        &mut self,
        number: usize,
        params: &Params,
        backend: &Backend,
    ) -> Result<(), Error> {
        params.check()?;
        let inputs = self.inputs[number].clone();
        inputs.have_layer(params)?;
        let (moved, changed) = (number != self.inputs_index, *params != self.speeds.params);
        if !(moved || changed) {
            return Ok(());
        }
        backend.install(|| {
            let speeds = moving(&inputs, params, &self.stencil, &self.spheres())?;
            let before = std::mem::replace(&mut self.speeds, speeds);
            if let Err(error) = self.apply_speeds() {
                self.speeds = before;
                return Err(error);
            }
            self.leak_detector.record_change();
            if moved {
                self.inputs_index = number;
                self.record_event(ScriptEvent::Inputs(number));
            }
            if changed {
                self.record_event(ScriptEvent::Params(params.clone()));
            }
            Ok(())
        })
    }

    /// Adds a sphere, or cuts it away and keeps the surface out of it.
    pub fn apply_sphere(&mut self, sphere: &Sphere, backend: &Backend) -> Result<(), Error> {
        sphere.check(&self.inputs().image.grid)?;
        let before = self.field()?;
        let field = edited(&before, sphere);
        let census = field.count_voxels(0.0);
        if census.inside == 0 {
            return Err(InputError::EmptyAfterCut.into());
        }
        if census.inside == census.all {
            return Err(InputError::FullAfterSphere.into());
        }
        let (old_sum, old_inside) = self.inside();
        let mut spheres = self.spheres();
        spheres.push(*sphere);
        let cuts = spheres.iter().any(|sphere| !sphere.add);
        backend.install(|| {
            let sum = self.inputs().sum_inside(&field.mask());
            let old_speeds = self.speeds.clone();
            if cuts {
                self.speeds = moving(self.inputs(), self.params(), &self.stencil, &spheres)?;
            }
            let adopted = self.continue_from(&field, census.inside, sum, backend);
            if adopted.is_err() {
                self.speeds = old_speeds;
                self.continue_from(&before, old_inside, old_sum, backend)?;
            }
            adopted
        })?;
        let contacts = backend.install(|| [&before, &field].map(|f| self.contact(f)));
        let placed = sphere.placed(&self.like.grid);
        self.leak_detector
            .record_sphere(census.inside, placed, contacts);
        self.record_event(ScriptEvent::Sphere(*sphere));
        Ok(())
    }

    fn record_event(&mut self, event: ScriptEvent) {
        let step = self.step();
        self.script.events.push(Event { step, event });
        self.rest_checks.clear();
    }

    /// Continues from a field with this many voxels inside and this sum of grey values.
    pub(super) fn continue_from(
        &mut self,
        field: &Field,
        inside: u64,
        sum: i64,
        backend: &Backend,
    ) -> Result<(), Error> {
        self.engine = Engine::new(field, &self.stencil, &self.script.layout, backend)?;
        if let Some(last) = self.inside.last_mut() {
            *last = inside;
        }
        self.sum = sum;
        self.apply_speeds()
    }

    /// Lets the surface continue after a leak: what it touches now is allowed. The next leak pauses it again.
    pub fn continue_past_leak(&mut self, backend: &Backend) -> Result<(), Error> {
        let field = self.field()?;
        let contact = backend.install(|| self.contact(&field));
        self.leak_detector.allow_contact(contact);
        Ok(())
    }
}

/// Needs the backend's threads installed.
pub(super) fn moving(
    inputs: &Inputs,
    params: &Params,
    stencil: &Stencil,
    spheres: &[Sphere],
) -> Result<Arc<Speeds>, InputError> {
    let speeds = Speeds::new(inputs, params, stencil, spheres);
    let all = speeds.max_speed + speeds.drift + f64::from(params.smoothness + params.rescaling);
    if all > 0.0 {
        return Ok(Arc::new(speeds));
    }
    Err(InputError::NoSpeed)
}
