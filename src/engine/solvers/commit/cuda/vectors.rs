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
            each: each.map_err(|error| in_job(Error::Card(error)))?,
        })
    }

    /// Waits for all cards and adds their sums.
    fn read(&self) -> Result<[f64; SUMS], cuda::Error> {
        let mut all = [0.0; SUMS];
        for vectors in &self.each {
            let mut sums = [0.0; SUMS];
            vectors.part.device().poll_into(&vectors.sums, &mut sums)?;
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
        self.cards.forward(self.each.iter().map(|vectors| {
            let (point, last) = (point(vectors), last.map(|last| last(vectors)));
            let finish = Finish {
                y: vectors.address_of(&vectors.y),
                last: last.map_or(0, |p| vectors.address_of(&p.r)),
                beta,
                ..Finish::product(vectors.address_of(&point.r), vectors.sum_address(0))
            };
            (vectors.address_of(&point.x), finish)
        }))
    }

    /// Writes the gradient at (1 + β) now − β before to g.
    fn gradient(
        &self,
        points: for<'b> fn(&'b DeviceVectors) -> [&'b Point; 2],
        beta: f32,
    ) -> Result<(), cuda::Error> {
        let g: Vec<u64> = self
            .each
            .iter()
            .map(|vectors| vectors.address_of(&vectors.g))
            .collect();
        let r = self.each.iter();
        let r = r.map(|vectors| points(vectors).map(|point| vectors.address_of(&point.r)));
        self.cards.backward(r, beta, &g)
    }

    /// Steps from the last two points to the next one and measures it, without groups.
    fn advance(&mut self, beta: f32) -> Result<(), cuda::Error> {
        let r = self.each.iter();
        let r = r.map(|vectors| {
            [&vectors.now, &vectors.before].map(|point| vectors.address_of(&point.r))
        });
        self.cards
            .gather(r, beta, |i, _, buffers| self.each[i].advance(buffers, beta))?;
        // The slot of the point before the last is free.
        self.swap();
        Ok(())
    }

    fn swap(&mut self) {
        for vectors in &mut self.each {
            std::mem::swap(&mut vectors.before, &mut vectors.now);
        }
    }
}

impl Engine for Vectors<'_> {
    fn begin(&mut self) -> Result<f64, Error> {
        for vectors in &mut self.each {
            vectors.clear()?;
            vectors.measure([&vectors.now.x; 3])?;
            vectors.add_penalty(&vectors.now.x, false)?;
        }
        self.residual(|vectors| &vectors.now, None, 0.0)?;
        Ok(self.objective(&self.read()?))
    }

    fn step(&mut self, beta: f32) -> Result<StepMeasures, Error> {
        self.each.iter_mut().try_for_each(DeviceVectors::clear)?;
        if self.each[0].groups.is_some() {
            self.gradient(|vectors| [&vectors.now, &vectors.before], beta)?;
            // The slot of the point before the last becomes free.
            self.swap();
            for vectors in &self.each {
                vectors.penalised(&vectors.z, &vectors.now.x)?;
                vectors.measure([&vectors.now.x, &vectors.z, &vectors.before.x])?;
            }
        } else {
            self.advance(beta)?;
        }
        self.residual(
            |vectors| &vectors.now,
            Some(|vectors| &vectors.before),
            beta,
        )?;
        let sums = self.read()?;
        let [step, size, turned] = std::array::from_fn(|i| sums[OF_COLUMNS + i]);
        Ok(StepMeasures {
            objective: self.objective(&sums),
            moved: sums[1],
            step,
            size,
            turned,
        })
    }

    fn scale_metric(&mut self, factor: f32) -> Result<(), Error> {
        for vectors in &self.each {
            vectors.combine(vectors.h.len(), [factor, 0.0], [&vectors.h; 3])?;
        }
        Ok(())
    }

    fn undo_step(&mut self) -> Result<(), Error> {
        self.swap();
        for vectors in &mut self.each {
            vectors.before.copy(&vectors.now, vectors.part.device())?;
        }
        self.extrapolate(0.0)
    }

    fn extrapolate(&mut self, beta: f32) -> Result<(), Error> {
        for vectors in self.each.iter().filter(|vectors| vectors.groups.is_some()) {
            let (now, before) = (&vectors.now.x, &vectors.before.x);
            vectors.combine(now.len(), [1.0 + beta, -beta], [now, before, &vectors.z])?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<EndPoint, Error> {
        self.gradient(|vectors| [&vectors.now; 2], 0.0)?;
        for vectors in &mut self.each {
            vectors.clear()?;
            vectors.penalised(&vectors.now.x, &vectors.z)?;
            vectors.measure([&vectors.now.x, &vectors.z, &vectors.now.x])?;
        }
        let sums = self.read()?;
        let (moved, size) = (sums[OF_COLUMNS], sums[OF_COLUMNS + 1]);
        let shape = self.cards.shape;
        let mut last = EndPoint {
            kkt: (moved / size.max(f64::MIN_POSITIVE)).sqrt(),
            x: vec![0.0; shape.columns()],
            predicted: vec![0.0; shape.rows()],
        };
        for vectors in &self.each {
            let r = &vectors.now.r;
            vectors.combine(r.len(), [1.0, 1.0], [r, &vectors.y, r])?;
            let to = &mut last.predicted[vectors.part.rows.clone()];
            vectors.part.device().download_wide_into(r, to)?;
        }
        let x = self.each.iter().map(|vectors| &vectors.now.x);
        self.cards.columns_into(x, &mut last.x)?;
        Ok(last)
    }
}
