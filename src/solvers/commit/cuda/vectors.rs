//! The vectors of a fit on a graphics card.

use super::super::solver::{Engine, Last, Penalty, Stepped};
use super::buffers::Finish;
use super::{KERNELS, OnCard, THREADS, WHAT, blocks, in_job};
use crate::compute::cuda::{self, Device};
use crate::solvers::Error;
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg as _};

/// Doubles that come back: two of rows, six of columns, and what groups cost.
const SUMS: usize = 9;
const OF_COLUMNS: usize = 2;
const OF_GROUPS: usize = 8;

/// A point, and A x − y of it.
struct Point {
    x: CudaSlice<f32>,
    r: CudaSlice<f32>,
}

/// Streamlines that are kept or left as one.
struct Groups {
    count: u32,
    begins: CudaSlice<u32>,
    fibres: CudaSlice<u32>,
    costs: CudaSlice<f32>,
}

struct Kernels {
    advance: CudaFunction,
    step: CudaFunction,
    groups: CudaFunction,
    measure: CudaFunction,
    combine: CudaFunction,
    free: CudaFunction,
    turn: CudaFunction,
    look: CudaFunction,
}

pub struct Vectors<'a> {
    card: &'a OnCard,
    kernels: Kernels,
    lasso: f32,
    groups: Option<Groups>,
    y: CudaSlice<f32>,
    h: CudaSlice<f32>,
    now: Point,
    before: Point,
    /// Kept ahead of them where there are groups.
    z: CudaSlice<f32>,
    g: CudaSlice<f32>,
    sums: CudaSlice<f64>,
    sides: (u64, u64),
    /// Of the second phase: where it has come to, then where is looked; its last step, then the way that is
    /// searched.
    moved: Point,
    direction: CudaSlice<f32>,
    a_direction: CudaSlice<f32>,
}

impl<'a> Vectors<'a> {
    /// From x.
    pub fn new(
        card: &'a OnCard,
        y: &[f32],
        penalty: &Penalty,
        h: &[f32],
        x: &[f32],
    ) -> Result<Self, Error> {
        let made = Self::made(card, y, penalty, h, x);
        made.map_err(|error| in_job(Error::Card(error)))
    }

    fn made(
        card: &'a OnCard,
        y: &[f32],
        penalty: &Penalty,
        h: &[f32],
        x: &[f32],
    ) -> Result<Self, cuda::Error> {
        let device = card.device();
        let kernel = |name: &str| device.kernel(KERNELS, &format!("commit_{name}"));
        let point = || -> Result<Point, cuda::Error> {
            Ok(Point {
                x: device.upload(x)?,
                r: device.alloc_zeros(y.len())?,
            })
        };
        Ok(Self {
            card,
            kernels: Kernels {
                advance: kernel("advance")?,
                step: kernel("step")?,
                groups: kernel("groups")?,
                measure: kernel("measure")?,
                combine: kernel("combine")?,
                free: kernel("free")?,
                turn: kernel("turn")?,
                look: kernel("look")?,
            },
            lasso: penalty.lasso,
            groups: Groups::new(device, penalty)?,
            y: device.upload(y)?,
            h: device.upload(h)?,
            now: point()?,
            before: point()?,
            z: device.upload(x)?,
            g: device.alloc_zeros(x.len())?,
            sums: device.alloc_zeros(SUMS)?,
            sides: (0, 0),
            moved: point()?,
            direction: device.alloc_zeros(x.len())?,
            a_direction: device.alloc_zeros(y.len())?,
        })
    }

    fn at<T>(&self, buffer: &CudaSlice<T>) -> u64 {
        self.card.device().address(buffer)
    }

    fn strides(&self) -> LaunchConfig {
        self.card.strides()
    }

    fn clear(&mut self) -> Result<(), cuda::Error> {
        let device = self.card.device();
        let cleared = device.stream().memset_zeros(&mut self.sums);
        device.check(WHAT, cleared)
    }

    /// Waits, and takes over what was added up.
    fn read(&self) -> Result<[f64; SUMS], cuda::Error> {
        let mut sums = [0.0; SUMS];
        self.card.device().poll_into(&self.sums, &mut sums)?;
        Ok(sums)
    }

    fn sum(&self, place: usize) -> u64 {
        self.at(&self.sums) + 8 * place as u64
    }

    /// out = a u + b v, of so many numbers.
    fn combine(
        &self,
        count: usize,
        [a, b]: [f32; 2],
        [u, v, out]: [&CudaSlice<f32>; 3],
    ) -> Result<(), cuda::Error> {
        let (count, u, v, out) = (count as u64, self.at(u), self.at(v), self.at(out));
        self.card
            .launch(&self.kernels.combine, self.strides(), |l| {
                l.arg(&count).arg(&a).arg(&u).arg(&b).arg(&v).arg(&out);
            })
    }

    /// Of x against z and the point before.
    fn measure(&self, [x, z, before]: [&CudaSlice<f32>; 3]) -> Result<(), cuda::Error> {
        let columns = self.card.columns();
        let (h, to) = (self.at(&self.h), self.sum(OF_COLUMNS));
        let (x, z, before) = (self.at(x), self.at(z), self.at(before));
        self.card
            .launch(&self.kernels.measure, self.strides(), |l| {
                l.arg(&columns).arg(&h).arg(&x).arg(&z);
                l.arg(&before).arg(&to);
            })
    }

    /// Adds what groups cost, and shrinks them first if wanted.
    fn cost(&self, x: &CudaSlice<f32>, shrinks: bool) -> Result<(), cuda::Error> {
        let Some(groups) = &self.groups else {
            return Ok(());
        };
        let columns = self.card.columns();
        let (begins, fibres) = (self.at(&groups.begins), self.at(&groups.fibres));
        let (costs, shrinks) = (self.at(&groups.costs), u32::from(shrinks));
        let (h, x, to) = (self.at(&self.h), self.at(x), self.sum(OF_GROUPS));
        let config = blocks(u64::from(groups.count) * u64::from(THREADS), THREADS);
        self.card.launch(&self.kernels.groups, config, |l| {
            l.arg(&columns).arg(&begins).arg(&fibres).arg(&costs);
            l.arg(&shrinks).arg(&h).arg(&x).arg(&to);
        })
    }

    /// The minimum of Σ g·(out − z) + ½ Σ h (out − z)² + penalty over out ≥ 0.
    fn penalised(&self, z: &CudaSlice<f32>, out: &CudaSlice<f32>) -> Result<(), cuda::Error> {
        let (columns, lasso) = (self.card.columns(), self.lasso);
        let (z, g, h, to) = (self.at(z), self.at(&self.g), self.at(&self.h), self.at(out));
        self.card.launch(&self.kernels.step, self.strides(), |l| {
            l.arg(&columns).arg(&z).arg(&g).arg(&h);
            l.arg(&lasso).arg(&to);
        })?;
        self.cost(out, true)
    }

    /// A x − y, over that of the point before the last if there is a last.
    fn residual(&self, point: &Point, last: Option<&Point>, beta: f32) -> Result<(), cuda::Error> {
        let finish = Finish {
            y: self.at(&self.y),
            last: last.map_or(0, |p| self.at(&p.r)),
            beta,
            ..Finish::product(self.at(&point.r), self.sum(0))
        };
        let buffers = &mut self.card.buffers();
        self.card.forward(buffers, self.at(&point.x), finish)
    }

    /// Into g, of (1 + β) now − β before.
    fn gradient(&self, now: &Point, before: &Point, beta: f32) -> Result<(), cuda::Error> {
        let r = [self.at(&now.r), self.at(&before.r)];
        let buffers = &mut self.card.buffers();
        self.card.backward(buffers, r, beta, self.at(&self.g))
    }

    /// From now and the point before to the next with its measures, without groups.
    fn advance(&mut self, beta: f32) -> Result<(), cuda::Error> {
        let r = [self.at(&self.now.r), self.at(&self.before.r)];
        let columns = self.card.columns();
        let (h, lasso, to) = (self.at(&self.h), self.lasso, self.sum(OF_COLUMNS));
        let (now, next) = (self.at(&self.now.x), self.at(&self.before.x));
        let buffers = &mut self.card.buffers();
        let [z, own] = self.card.gather(buffers, r, beta)?;
        self.card
            .launch(&self.kernels.advance, self.strides(), |l| {
                l.arg(&columns).arg(&z).arg(&own).arg(&h).arg(&lasso);
                l.arg(&now).arg(&beta).arg(&next).arg(&to);
            })?;
        // The point before the last made room.
        std::mem::swap(&mut self.before, &mut self.now);
        Ok(())
    }

    fn objective(&self, sums: &[f64; SUMS]) -> f64 {
        0.5 * sums[0] + f64::from(self.lasso) * sums[OF_COLUMNS + 3] + sums[OF_GROUPS]
    }
}

impl Groups {
    fn new(device: &Device, penalty: &Penalty) -> Result<Option<Self>, cuda::Error> {
        let groups = &penalty.groups;
        if groups.is_empty() {
            return Ok(None);
        }
        let mut begins = vec![0u32];
        let mut fibres: Vec<u32> = Vec::new();
        for group in groups {
            fibres.extend(&group.fibres);
            begins.push(fibres.len() as u32);
        }
        let costs: Vec<f32> = groups.iter().map(|g| g.weight).collect();
        // A buffer has at least one.
        fibres.resize(fibres.len().max(1), 0);
        Ok(Some(Self {
            count: groups.len() as u32,
            begins: device.upload(&begins)?,
            fibres: device.upload(&fibres)?,
            costs: device.upload(&costs)?,
        }))
    }
}

impl Engine for Vectors<'_> {
    fn begin(&mut self) -> Result<f64, Error> {
        self.clear()?;
        self.measure([&self.now.x; 3])?;
        self.cost(&self.now.x, false)?;
        self.residual(&self.now, None, 0.0)?;
        Ok(self.objective(&self.read()?))
    }

    fn step(&mut self, beta: f32) -> Result<Stepped, Error> {
        self.clear()?;
        if self.groups.is_some() {
            self.gradient(&self.now, &self.before, beta)?;
            // The point before the last makes room.
            std::mem::swap(&mut self.before, &mut self.now);
            self.penalised(&self.z, &self.now.x)?;
            self.measure([&self.now.x, &self.z, &self.before.x])?;
        } else {
            self.advance(beta)?;
        }
        self.residual(&self.now, Some(&self.before), beta)?;
        let sums = self.read()?;
        let [step, size, turned, _, above, moved] = std::array::from_fn(|i| sums[OF_COLUMNS + i]);
        self.sides = (above as u64, moved as u64);
        Ok(Stepped {
            objective: self.objective(&sums),
            moved: sums[1],
            step,
            size,
            turned,
        })
    }

    fn sides(&mut self) -> (u64, u64) {
        self.sides
    }

    fn grow(&mut self, factor: f32) -> Result<(), Error> {
        let h = &self.h;
        Ok(self.combine(h.len(), [factor, 0.0], [h, h, h])?)
    }

    fn take_back(&mut self) -> Result<(), Error> {
        std::mem::swap(&mut self.before, &mut self.now);
        let device = self.card.device();
        let stream = device.stream();
        device.check(WHAT, stream.memcpy_dtod(&self.now.x, &mut self.before.x))?;
        device.check(WHAT, stream.memcpy_dtod(&self.now.r, &mut self.before.r))?;
        self.follow(0.0)
    }

    fn follow(&mut self, beta: f32) -> Result<(), Error> {
        if self.groups.is_none() {
            return Ok(());
        }
        let (now, before) = (&self.now.x, &self.before.x);
        let of = [1.0 + beta, -beta];
        Ok(self.combine(now.len(), of, [now, before, &self.z])?)
    }

    fn begin_round(&mut self) -> Result<(), Error> {
        let device = self.card.device();
        let (now, moved) = (&self.now, &mut self.moved);
        device.check(WHAT, device.stream().memcpy_dtod(&now.x, &mut moved.x))?;
        device.check(WHAT, device.stream().memcpy_dtod(&now.r, &mut moved.r))?;
        Ok(())
    }

    fn slope(&mut self) -> Result<f64, Error> {
        self.gradient(&self.moved, &self.moved, 0.0)?;
        self.clear()?;
        let (columns, lasso) = (self.card.columns(), self.lasso);
        let (x, h, g) = (self.at(&self.now.x), self.at(&self.h), self.at(&self.g));
        let to = self.sum(OF_COLUMNS);
        self.card.launch(&self.kernels.free, self.strides(), |l| {
            l.arg(&columns).arg(&x).arg(&h).arg(&lasso);
            l.arg(&g).arg(&to);
        })?;
        Ok(self.read()?[OF_COLUMNS])
    }

    fn turn(&mut self, keep: f32) -> Result<[f64; 2], Error> {
        self.clear()?;
        let columns = self.card.columns();
        let (g, h, to) = (self.at(&self.g), self.at(&self.h), self.sum(OF_COLUMNS));
        let d = self.at(&self.direction);
        self.card.launch(&self.kernels.turn, self.strides(), |l| {
            l.arg(&columns).arg(&g).arg(&h).arg(&keep);
            l.arg(&d).arg(&to);
        })?;
        let finish = Finish::product(self.at(&self.a_direction), self.sum(0));
        self.card.forward(&mut self.card.buffers(), d, finish)?;
        let sums = self.read()?;
        Ok([sums[0], sums[OF_COLUMNS]])
    }

    fn walk(&mut self, step: f32) -> Result<(), Error> {
        let (x, r) = (&self.moved.x, &self.moved.r);
        self.combine(x.len(), [1.0, step], [x, &self.direction, x])?;
        Ok(self.combine(r.len(), [1.0, step], [r, &self.a_direction, r])?)
    }

    fn begin_search(&mut self) -> Result<(), Error> {
        let (from, to) = (&self.now.x, &self.moved.x);
        Ok(self.combine(to.len(), [1.0, -1.0], [to, from, &self.direction])?)
    }

    fn look(&mut self, share: f32) -> Result<f64, Error> {
        self.clear()?;
        let count = self.moved.x.len() as u64;
        let (from, way) = (self.at(&self.now.x), self.at(&self.direction));
        let to = self.at(&self.moved.x);
        self.card.launch(&self.kernels.look, self.strides(), |l| {
            l.arg(&count).arg(&from).arg(&way).arg(&share).arg(&to);
        })?;
        self.measure([&self.moved.x; 3])?;
        self.cost(&self.moved.x, false)?;
        self.residual(&self.moved, None, 0.0)?;
        Ok(self.objective(&self.read()?))
    }

    fn accept(&mut self) {
        std::mem::swap(&mut self.now, &mut self.moved);
    }

    fn finish(mut self) -> Result<Last, Error> {
        self.gradient(&self.now, &self.now, 0.0)?;
        self.clear()?;
        let (device, now) = (self.card.device(), &self.now);
        self.penalised(&now.x, &self.z)?;
        self.measure([&now.x, &self.z, &now.x])?;
        let sums = self.read()?;
        let (moved, size) = (sums[OF_COLUMNS], sums[OF_COLUMNS + 1]);
        self.combine(now.r.len(), [1.0, 1.0], [&now.r, &self.y, &now.r])?;
        Ok(Last {
            kkt: (moved / size.max(f64::MIN_POSITIVE)).sqrt(),
            x: device.download(&now.x, 0..now.x.len())?,
            predicted: device.download_wide(&now.r)?,
        })
    }
}
