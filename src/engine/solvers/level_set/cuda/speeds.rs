//! Speeds on the card, for all bricks, independent of the surface.

use super::tables::{KernelRules, State, pointer};
use super::{Engine, Graphs, LESS, OPERATION};
use crate::solvers::Error;
use crate::solvers::level_set::speed::{PLANES, Speeds};

impl Engine {
    /// Uploads changed speeds; `inside`: voxels inside and the sum of their quanta. Needs the backend's threads
    /// installed.
    pub fn upload_speeds(
        &mut self,
        speeds: &Speeds,
        dt: f32,
        inside: (i64, u64),
        all: (i64, u64),
    ) -> Result<(), Error> {
        let extra = speeds.params.extra();
        let planes = if extra { PLANES } else { 1 };
        let region = speeds.region();
        let data = speeds.bricks(8, extra);
        let quanta = (region > 0.0).then(|| speeds.inputs.quanta(8));
        self.wait()?;
        let device = self.device();
        let numbers = data.len() + quanta.as_ref().map_or(0, Vec::len);
        device.needs(4 * numbers as u64, OPERATION, LESS)?;
        // Nothing has changed if this fails for lack of memory.
        let data = device.upload(&data)?;
        let quanta = quanta.map(|quanta| device.upload(&quanta)).transpose()?;
        (self.speeds, self.quanta) = (data, quanta);
        let params = &speeds.params;
        self.mode = params.mode;
        let (low, high) = speeds.inputs.bounds();
        self.rules = KernelRules {
            dt,
            curvature: params.smoothness,
            rescaling: params.rescaling,
            advection: params.advection(),
            low,
            high,
            region,
            voxels: all.1 as i64,
            total: all.0,
            ..self.rules
        };
        self.state = State {
            inside: inside.1 as i64,
            sum: inside.0,
            region: speeds.region_rule(inside, all),
            ..self.state
        };
        self.upload_state()?;
        self.device().synchronize(OPERATION)?;
        self.tables.speeds = pointer(&self.speeds, &self.stream);
        self.tables.quanta = self.quanta.as_ref().map_or(0, |q| pointer(q, &self.stream));
        self.tables.extent.planes = planes as i32;
        self.graphs = Graphs::default();
        self.reshape()
    }

    /// Writes rules and state to the addresses that the graphs use.
    pub(super) fn upload_state(&mut self) -> Result<(), Error> {
        let rules = self
            .stream
            .memcpy_htod(&[self.rules], &mut self.buffers.rules);
        self.device().check(OPERATION, rules)?;
        let state = self
            .stream
            .memcpy_htod(&[self.state], &mut self.buffers.state);
        self.device().check(OPERATION, state)?;
        self.wait()
    }
}
