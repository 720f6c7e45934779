//! The leak alarm: a surface that had come to rest and runs away. Counted in steps, never in seconds.

/// Steps whose growth is taken together.
const WINDOW: usize = 10;
/// Armed once the voxels inside grow by less than this share…
const REST: f64 = 1e-3;
/// … in so many windows.
const REST_WINDOWS: usize = 10;
/// Windows of which the median is the recent growth.
const RECENT: usize = 20;
/// A leak grows so many times as fast…
const TIMES: f64 = 5.0;
/// … in so many windows in succession.
const SUSTAINED: usize = 3;

/// Where a run leaked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leak {
    /// The last step before the rise.
    pub from: u64,
    /// When it was noticed.
    pub noticed: u64,
}

/// Hears the number of voxels inside after each step.
#[derive(Clone, Debug)]
pub struct Alarm {
    first: u64,
    /// At the ends of the windows.
    inside: Vec<u64>,
    steps: usize,
    armed: Option<usize>,
    over: usize,
    leak: Option<Leak>,
}

impl Alarm {
    /// From a step on: after a change by hand growth says nothing about leaks.
    pub fn new(step: u64, inside: u64) -> Self {
        Self {
            first: step,
            inside: vec![inside],
            steps: 0,
            armed: None,
            over: 0,
            leak: None,
        }
    }

    pub fn armed(&self) -> bool {
        self.armed.is_some()
    }

    pub fn leak(&self) -> Option<Leak> {
        self.leak
    }

    pub fn hear(&mut self, inside: u64) {
        self.steps += 1;
        if !self.steps.is_multiple_of(WINDOW) {
            return;
        }
        self.inside.push(inside);
        let last = self.inside.len() - 1;
        let growth = |k: usize| self.inside[k] as f64 - self.inside[k - 1] as f64;
        let Some(armed) = self.armed else {
            if let Some(before) = last.checked_sub(REST_WINDOWS) {
                let before = self.inside[before] as f64;
                if inside as f64 - before < REST * before {
                    self.armed = Some(last);
                }
            }
            return;
        };
        // What is being judged is no part of what is usual.
        let usual_until = last - self.over;
        let from = usual_until
            .saturating_sub(RECENT)
            .max(armed.saturating_sub(REST_WINDOWS) + 1);
        let mut recent: Vec<f64> = (from..usual_until).map(growth).collect();
        recent.sort_by(f64::total_cmp);
        let median = recent.get(recent.len() / 2).copied().unwrap_or(0.0);
        // Growth that would have armed the alarm is rest, however small its median.
        let rest = REST / REST_WINDOWS as f64 * self.inside[last - 1] as f64;
        if growth(last) > TIMES * median.max(rest) {
            self.over += 1;
        } else {
            self.over = 0;
        }
        if self.over == SUSTAINED && self.leak.is_none() {
            let step = |window: usize| self.first + (window * WINDOW) as u64;
            self.leak = Some(Leak {
                from: step(last - SUSTAINED),
                noticed: step(last),
            });
        }
    }
}
