//! The vectors of a fit on graphics cards.

use super::super::solver::{EndPoint, Engine, Penalty, StepMeasures};
use super::buffers::Finish;
use super::device_vectors::{DeviceVectors, OF_COLUMNS, OF_GROUPS, Point, SUMS};
use super::{MultiDeviceOperator, in_job};
use crate::compute::cuda;
use crate::solvers::Error;

pub struct Vectors<'a> {
    cards: &'a MultiDeviceOperator,
    lasso: f32,
    sides: (u64, u64),
    each: Vec<DeviceVectors<'a>>,
}

impl<'a> Vectors<'a> {
    /// Starts at x.
    pub fn new(
        cards: &'a MultiDeviceOperator,
        y: &[f32],
        penalty: &Penalty,
        h: &[f32],
        x: &[f32],
    ) -> Result<Self, Error> {
        let each = cards.parts.iter();
        let each: Result<_, cuda::Error> = each
            .map(|part| {
                let [h, x] = [h, x].map(|v| part.columns_of(v));
                DeviceVectors::new(part, &y[part.rows.clone()], penalty, &h, &x)
            })
            .collect();
        Ok(Self {
            cards,
            lasso: penalty.lasso,
            sides: (0, 0),
            each: each.map_err(|error| in_job(Error::Card(error)))?,
        })
    }

    /// Waits for all cards and adds their sums.
    fn read(&self) -> Result<[f64; SUMS], cuda::Error> {
        let mut all = [0.0; SUMS];
        for of in &self.each {
            let mut sums = [0.0; SUMS];
            of.part.device().poll_into(&of.sums, &mut sums)?;
            all.iter_mut().zip(sums).for_each(|(all, s)| *all += s);
        }
        Ok(all)
    }

    fn objective(&self, sums: &[f64; SUMS]) -> f64 {
        0.5 * sums[0] + f64::from(self.lasso) * sums[OF_COLUMNS + 3] + sums[OF_GROUPS]
    }

    /// A x − y of a point, which replaces the residual of the point before the last if there is one.
    fn residual(
        &self,
        point: for<'b> fn(&'b DeviceVectors) -> &'b Point,
        last: Option<for<'b> fn(&'b DeviceVectors) -> &'b Point>,
        beta: f32,
    ) -> Result<(), cuda::Error> {
        self.cards.forward(self.each.iter().map(|of| {
            let (point, last) = (point(of), last.map(|last| last(of)));
            let finish = Finish {
                y: of.address_of(&of.y),
                last: last.map_or(0, |p| of.address_of(&p.r)),
                beta,
                ..Finish::product(of.address_of(&point.r), of.sum_address(0))
            };
            (of.address_of(&point.x), finish)
        }))
    }

    /// Writes the gradient at (1 + β) now − β before to g.
    fn gradient(
        &self,
        points: for<'b> fn(&'b DeviceVectors) -> [&'b Point; 2],
        beta: f32,
    ) -> Result<(), cuda::Error> {
        let g: Vec<u64> = self.each.iter().map(|of| of.address_of(&of.g)).collect();
        let r = self.each.iter();
        let r = r.map(|of| points(of).map(|point| of.address_of(&point.r)));
        self.cards.backward(r, beta, &g)
    }

    /// Steps from the last two points to the next one and measures it, without groups.
    fn advance(&mut self, beta: f32) -> Result<(), cuda::Error> {
        let r = self.each.iter();
        let r = r.map(|of| [&of.now, &of.before].map(|point| of.address_of(&point.r)));
        self.cards
            .gather(r, beta, |i, _, buffers| self.each[i].advance(buffers, beta))?;
        // The slot of the point before the last is free.
        self.swap();
        Ok(())
    }

    fn swap(&mut self) {
        for of in &mut self.each {
            std::mem::swap(&mut of.before, &mut of.now);
        }
    }
}

impl Engine for Vectors<'_> {
    fn begin(&mut self) -> Result<f64, Error> {
        for of in &mut self.each {
            of.clear()?;
            of.measure([&of.now.x; 3])?;
            of.add_penalty(&of.now.x, false)?;
        }
        self.residual(|of| &of.now, None, 0.0)?;
        Ok(self.objective(&self.read()?))
    }

    fn step(&mut self, beta: f32) -> Result<StepMeasures, Error> {
        self.each.iter_mut().try_for_each(DeviceVectors::clear)?;
        if self.each[0].groups.is_some() {
            self.gradient(|of| [&of.now, &of.before], beta)?;
            // The slot of the point before the last becomes free.
            self.swap();
            for of in &self.each {
                of.penalised(&of.z, &of.now.x)?;
                of.measure([&of.now.x, &of.z, &of.before.x])?;
            }
        } else {
            self.advance(beta)?;
        }
        self.residual(|of| &of.now, Some(|of| &of.before), beta)?;
        let sums = self.read()?;
        let [step, size, turned, _, above, moved] = std::array::from_fn(|i| sums[OF_COLUMNS + i]);
        self.sides = (above as u64, moved as u64);
        Ok(StepMeasures {
            objective: self.objective(&sums),
            moved: sums[1],
            step,
            size,
            turned,
        })
    }

    fn count_positive(&mut self) -> (u64, u64) {
        self.sides
    }

    fn scale_metric(&mut self, factor: f32) -> Result<(), Error> {
        for of in &self.each {
            of.combine(of.h.len(), [factor, 0.0], [&of.h; 3])?;
        }
        Ok(())
    }

    fn undo_step(&mut self) -> Result<(), Error> {
        self.swap();
        for of in &mut self.each {
            of.before.copy(&of.now, of.part.device())?;
        }
        self.extrapolate(0.0)
    }

    fn extrapolate(&mut self, beta: f32) -> Result<(), Error> {
        for of in self.each.iter().filter(|of| of.groups.is_some()) {
            let (now, before) = (&of.now.x, &of.before.x);
            of.combine(now.len(), [1.0 + beta, -beta], [now, before, &of.z])?;
        }
        Ok(())
    }

    fn begin_round(&mut self) -> Result<(), Error> {
        for of in &mut self.each {
            of.moved.copy(&of.now, of.part.device())?;
        }
        Ok(())
    }

    fn scaled_gradient_square(&mut self) -> Result<f64, Error> {
        self.gradient(|of| [&of.moved; 2], 0.0)?;
        for of in &mut self.each {
            of.clear()?;
            of.measure_free()?;
        }
        Ok(self.read()?[OF_COLUMNS])
    }

    fn update_direction(&mut self, keep: f32) -> Result<[f64; 2], Error> {
        for of in &mut self.each {
            of.clear()?;
            of.update_direction(keep)?;
        }
        self.cards.forward(self.each.iter().map(|of| {
            let finish = Finish::product(of.address_of(&of.a_direction), of.sum_address(0));
            (of.address_of(&of.direction), finish)
        }))?;
        let sums = self.read()?;
        Ok([sums[0], sums[OF_COLUMNS]])
    }

    fn move_along_direction(&mut self, step: f32) -> Result<(), Error> {
        for of in &self.each {
            let (x, r) = (&of.moved.x, &of.moved.r);
            of.combine(x.len(), [1.0, step], [x, &of.direction, x])?;
            of.combine(r.len(), [1.0, step], [r, &of.a_direction, r])?;
        }
        Ok(())
    }

    fn begin_search(&mut self) -> Result<(), Error> {
        for of in &self.each {
            let (from, to) = (&of.now.x, &of.moved.x);
            of.combine(to.len(), [1.0, -1.0], [to, from, &of.direction])?;
        }
        Ok(())
    }

    fn evaluate_at(&mut self, share: f32) -> Result<f64, Error> {
        for of in &mut self.each {
            of.clear()?;
            of.set_trial_point(share)?;
            of.measure([&of.moved.x; 3])?;
            of.add_penalty(&of.moved.x, false)?;
        }
        self.residual(|of| &of.moved, None, 0.0)?;
        Ok(self.objective(&self.read()?))
    }

    fn accept_trial_point(&mut self) {
        for of in &mut self.each {
            std::mem::swap(&mut of.now, &mut of.moved);
        }
    }

    fn finish(mut self) -> Result<EndPoint, Error> {
        self.gradient(|of| [&of.now; 2], 0.0)?;
        for of in &mut self.each {
            of.clear()?;
            of.penalised(&of.now.x, &of.z)?;
            of.measure([&of.now.x, &of.z, &of.now.x])?;
        }
        let sums = self.read()?;
        let (moved, size) = (sums[OF_COLUMNS], sums[OF_COLUMNS + 1]);
        let shape = self.cards.shape;
        let mut last = EndPoint {
            kkt: (moved / size.max(f64::MIN_POSITIVE)).sqrt(),
            x: vec![0.0; shape.columns()],
            predicted: vec![0.0; shape.rows()],
        };
        for of in &self.each {
            let r = &of.now.r;
            of.combine(r.len(), [1.0, 1.0], [r, &of.y, r])?;
            let to = &mut last.predicted[of.part.rows.clone()];
            of.part.device().download_wide_into(r, to)?;
        }
        let x = self.each.iter().map(|of| &of.now.x);
        self.cards.columns_into(x, &mut last.x)?;
        Ok(last)
    }
}
