//! Time that the device takes for a picture, measured without waiting for it.

use super::gpu::Gpu;
use super::quality::Drawn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Device time by timestamps if the device has them, else from submission to completion.
pub(super) struct Stopwatch {
    queries: Option<Queries>,
    /// A measurement is pending.
    running: Arc<AtomicBool>,
    started: bool,
    /// Kind of the picture being measured.
    drawn: Drawn,
    /// Bits of the last result, ms as f64.
    last_ms: Arc<AtomicU64>,
    results: u64,
    arrived: Arc<AtomicU64>,
}

struct Queries {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    read: Arc<Mutex<wgpu::Buffer>>,
    ns_per_tick: f32,
}

const BYTES: u64 = 16;

impl Stopwatch {
    pub fn new(gpu: &Gpu) -> Self {
        let has = gpu
            .device
            .features()
            .contains(wgpu::Features::TIMESTAMP_QUERY);
        let buffer = |usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stopwatch"),
                size: BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        use wgpu::BufferUsages as U;
        let queries = has.then(|| Queries {
            set: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stopwatch"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer(U::QUERY_RESOLVE | U::COPY_SRC),
            read: Arc::new(Mutex::new(buffer(U::MAP_READ | U::COPY_DST))),
            ns_per_tick: gpu.queue.get_timestamp_period(),
        });
        Self {
            queries,
            running: Arc::new(AtomicBool::new(false)),
            started: false,
            drawn: Drawn::Rough,
            last_ms: Arc::new(AtomicU64::new(0)),
            results: 0,
            arrived: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Called before the first pass of a picture; `drawn` is returned with the result.
    pub fn start(&mut self, drawn: Drawn) {
        self.started = !self.is_running();
        if self.started {
            self.drawn = drawn;
        }
    }

    /// The device has not finished the last measured picture.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Timestamps of a pass that is the picture's first or last, or both.
    pub fn writes(&self, first: bool, last: bool) -> Option<wgpu::RenderPassTimestampWrites<'_>> {
        let queries = self.queries.as_ref().filter(|_| self.started)?;
        (first || last).then(|| wgpu::RenderPassTimestampWrites {
            query_set: &queries.set,
            beginning_of_pass_write_index: first.then_some(0),
            end_of_pass_write_index: last.then_some(1),
        })
    }

    /// Like [`Stopwatch::writes`], for a compute pass.
    pub fn compute_writes(
        &self,
        first: bool,
        last: bool,
    ) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let queries = self.queries.as_ref().filter(|_| self.started)?;
        (first || last).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &queries.set,
            beginning_of_pass_write_index: first.then_some(0),
            end_of_pass_write_index: last.then_some(1),
        })
    }

    /// Submits the picture.
    pub fn stop(&mut self, gpu: &Gpu, mut encoder: wgpu::CommandEncoder) {
        let measured = self.started;
        self.started = false;
        if let (Some(queries), true) = (&self.queries, measured) {
            encoder.resolve_query_set(&queries.set, 0..2, &queries.resolved, 0);
            let read = queries.read.lock().unwrap_or_else(PoisonError::into_inner);
            encoder.copy_buffer_to_buffer(&queries.resolved, 0, &read, 0, BYTES);
        }
        let submitted = Instant::now();
        gpu.queue.submit([encoder.finish()]);
        if !measured {
            return;
        }
        self.running.store(true, Ordering::Release);
        let (running, last, arrived) = (
            self.running.clone(),
            self.last_ms.clone(),
            self.arrived.clone(),
        );
        let done = move |ms: f64| {
            last.store(ms.to_bits(), Ordering::Relaxed);
            arrived.fetch_add(1, Ordering::Release);
            running.store(false, Ordering::Release);
        };
        let Some(queries) = &self.queries else {
            gpu.queue
                .on_submitted_work_done(move || done(submitted.elapsed().as_secs_f64() * 1e3));
            return;
        };
        let (read, ns_per_tick) = (queries.read.clone(), f64::from(queries.ns_per_tick));
        // A lost device calls back at once: the lock must be released before.
        let mapped = queries
            .read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        mapped.map_async(wgpu::MapMode::Read, .., move |result| {
            let buffer = read.lock().unwrap_or_else(PoisonError::into_inner);
            let mut ms = 0.0;
            if result.is_ok() {
                if let Ok(range) = buffer.get_mapped_range(..) {
                    let ticks: &[u64] = bytemuck::cast_slice(&range);
                    ms = ticks[1].saturating_sub(ticks[0]) as f64 * ns_per_tick * 1e-6;
                }
                buffer.unmap();
            }
            drop(buffer);
            done(ms);
        });
    }

    /// The last result and the kind of that picture; each result is returned once.
    pub fn fresh(&mut self) -> Option<(f64, Drawn)> {
        let arrived = self.arrived.load(Ordering::Acquire);
        if arrived == self.results {
            return None;
        }
        self.results = arrived;
        Some((self.last_ms(), self.drawn))
    }

    pub fn last_ms(&self) -> f64 {
        f64::from_bits(self.last_ms.load(Ordering::Relaxed))
    }
}
