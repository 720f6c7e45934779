//! The border between the controls of a task and its results below. If both do not fit, each scrolls in a part of its
//! own, so that results are always visible.

use crate::state::Task;
use egui::{Id, Rect, Ui, pos2};

/// Height of the row under the pointer and a little more: the border never covers it.
const UNDER: f32 = 40.0;

#[derive(Clone, Copy)]
pub(super) struct Split {
    /// Heights of all inputs and controls, and of all results, in the last pass.
    natural: (f32, f32),
    /// Height of inputs and controls down to the last row that must be visible.
    needed_height: f32,
    /// Height of the results as shown, and the height that they would have without a pointer.
    pub results: f32,
    preferred: f32,
    /// A line separates the results from the controls.
    pub divided: bool,
    /// The heights were known when the border was chosen.
    settled: bool,
    pass: u64,
}

/// The lowest row that must be visible, in the window's points.
fn needed_id() -> Id {
    Id::unique("the last row that has to be in sight")
}

/// Results shrink in favour of the rows above this call.
pub fn in_sight(ui: &Ui) {
    let y = ui.cursor().top();
    ui.data_mut(|d| {
        let lowest: &mut f32 = d.get_temp_mut_or(needed_id(), f32::NEG_INFINITY);
        *lowest = lowest.max(y);
    });
}

impl Split {
    /// If both do not fit, results take at most this share, enough for a chart and a table.
    const SHARE: f32 = 0.48;
    const ENOUGH: f32 = 330.0;
    /// Smallest height of results: a heading and a histogram.
    const MINIMUM_RESULTS_HEIGHT: f32 = 150.0;
    /// Height that results leave to inputs and controls: down to a first control. Notes above both reduce both.
    const CONTROLS: f32 = 180.0;
    const LEFT: f32 = 0.6;

    fn id(task: Task) -> Id {
        Id::unique(("where results begin", task.name()))
    }

    /// `fits`: whether there is a scan to fit tensors to; `panel`: the body with the notes above it.
    pub fn new(ui: &Ui, task: Task, fits: bool, panel: Rect, body: Rect) -> Self {
        let pass = ui.ctx().cumulative_pass_nr();
        let known: Option<Self> = ui.data(|d| d.get_temp(Self::id(task)));
        let natural = known.map_or((f32::INFINITY, f32::INFINITY), |k| k.natural);
        let needed_height = known.map_or(0.0, |k| k.needed_height);
        let (above, below) = natural;
        let overflows = above + below > body.height();
        let left = Self::CONTROLS.min(Self::LEFT * body.height());
        let share = (Self::SHARE * panel.height()).min(Self::ENOUGH);
        let share = share.min(body.height() - left);
        let max_height = share.max(body.height() - above);
        let gives =
            (body.height() - needed_height).max(Self::MINIMUM_RESULTS_HEIGHT.min(max_height));
        // A map has other controls than a scan. The checks of a fit stay at the foot, so that they do not move when the
        // fit ends.
        let at_foot = task == Task::View && fits && below.is_finite();
        let preferred = match overflows {
            true => below.min(max_height).min(gives).round(),
            false if at_foot => below.round(),
            false => body.height() - above,
        };
        let settled = above.is_finite();
        let shown = known.filter(|k| k.settled && k.pass + 1 == pass);
        let results = match shown {
            Some(shown) => shown.settled_height(ui, body, preferred),
            None => preferred,
        };
        Self {
            natural,
            needed_height,
            results,
            preferred,
            divided: overflows || at_foot || results + 0.5 < below,
            settled,
            pass,
        }
    }

    /// Height of the results at which no control that may be under the pointer moves or is covered.
    fn settled_height(&self, ui: &Ui, body: Rect, requested: f32) -> f32 {
        let now = self.results.min(body.height());
        let (down, at) = ui.input(|i| (i.pointer.any_down(), i.pointer.latest_pos()));
        let Some(at) = at.filter(|at| body.contains(*at)) else {
            // A drag elsewhere changes the heights at every step.
            return if down { now } else { requested };
        };
        let border = body.bottom() - now;
        if down || at.y >= border {
            return now;
        }
        // Only when heights change: the border does not follow a pointer that moves up.
        let changed = (requested - self.preferred).abs() > 0.5;
        let covers = body.bottom() - requested < at.y + UNDER;
        match requested > now && (covers || !changed) {
            true => now,
            false => requested,
        }
    }

    /// The rectangles of inputs and controls, and of results.
    pub fn places(&self, body: Rect) -> (Rect, Rect) {
        let y = body.bottom() - self.results;
        (
            Rect::from_min_max(body.min, pos2(body.right(), y)),
            Rect::from_min_max(pos2(body.left(), y), body.max),
        )
    }

    /// Stores the heights; the next frame uses them, and a first pass without heights is never shown. `top`: where the
    /// rows of inputs and controls begin.
    pub fn remember(mut self, ui: &Ui, task: Task, natural: (f32, f32), top: f32) {
        let lowest: Option<f32> = ui.data_mut(|d| d.remove_temp(needed_id()));
        let needed = lowest.map_or(0.0, |y| y - top);
        if self.natural.0.is_infinite() {
            ui.ctx()
                .request_discard("the heights of a task's panel are known now");
        } else if (self.natural, self.needed_height) != (natural, needed) {
            ui.ctx().request_repaint();
        }
        (self.natural, self.needed_height) = (natural, needed);
        ui.data_mut(|d| d.insert_temp(Self::id(task), self));
    }
}
