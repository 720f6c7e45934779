//! A scrolled panel in which nothing moves under the pointer. When rows appear or disappear above the control under
//! the pointer, the panel scrolls by their height; once the pointer has left, it scrolls back. A block that a click
//! opens is scrolled into view.

use egui::{Context, Id, LayerId, Order, Rangef, Rect, ScrollArea, Ui, WidgetRect};
use std::fmt::Debug;
use std::hash::Hash;

/// State kept from one pass to the next.
#[derive(Clone, Copy, Default)]
struct AnchorState {
    pass: u64,
    /// Top of the rows, from the top of the panel.
    origin: f32,
    /// Empty space above and below the rows, for scrolling beyond them.
    room: [f32; 2],
    /// How far the panel scrolled for the pointer, and the offset it scrolled to.
    scrolled: f32,
    offset: f32,
    /// The offset for the next pass.
    next_offset: Option<f32>,
    /// The request that the panel scrolled for, and how often: heights settle within a few passes.
    followed: Option<(u64, u8)>,
    /// Height of the panel: until its heights have settled, nothing counts as hidden.
    height: f32,
    /// Height of all rows.
    natural: f32,
    unfolded: Option<Unfolded>,
}

/// A block that a click has opened, and that the panel scrolls to.
#[derive(Clone, Copy)]
struct Unfolded {
    /// The row that was clicked, from the top of all rows.
    row: Rangef,
    /// Height of all rows without the block.
    natural: f32,
    /// Number of passes that have checked whether it is in view.
    times: u8,
}

impl AnchorState {
    /// Scrolls to a block that a click has just opened. `view`: what is in sight; `top`: where the rows begin.
    fn show_unfolded(
        &mut self,
        ctx: &Context,
        before: Option<Self>,
        (view, top, offset): (Rect, f32, f32),
        settled: bool,
    ) {
        if let Some((row, before)) = take_unfolded_row(ctx).zip(before) {
            self.unfolded = Some(Unfolded {
                row: Rangef::new(row.min - top, row.max - top),
                natural: before.natural,
                times: 0,
            });
            ctx.request_repaint();
            return;
        }
        let Some(mut block) = self.unfolded.take() else {
            return;
        };
        // The border of the panel may first move to make room.
        if settled {
            block.times += 1;
            let added = (self.natural - block.natural).max(0.0);
            let rows = Rangef::new(top + block.row.min, top + block.row.max + added);
            if let Some(to) = into_sight(view, rows, offset) {
                self.next_offset = Some(to);
            }
        }
        self.unfolded = Some(block).filter(|block| block.times < FOLLOWS);
        ctx.request_repaint();
    }
}

/// The axis of a scroll area's bar, which is a part of the bar's id.
const VERTICAL: usize = 1;
/// Passes in which the panel scrolls for one request.
const FOLLOWS: u8 = 3;

fn requested_rows_id() -> Id {
    Id::unique("the row that a sentence asks for")
}

/// Requests that these rows be visible: the panel scrolls to them once for each number, unless the pointer is on it.
pub fn scroll_to(ui: &Ui, number: u64, rows: Rangef) {
    ui.data_mut(|d| d.insert_temp(requested_rows_id(), Some((number, rows))));
}

fn opened_rows_id() -> Id {
    Id::unique("rows that the user has opened")
}

/// The user has opened rows above: the panel shows them, even if what is under the pointer then moves.
pub fn opened(ui: &Ui) {
    ui.data_mut(|d| d.insert_temp(opened_rows_id(), true));
}

fn unfolded_row_id() -> Id {
    Id::unique("the row of a block that a click has opened")
}

/// A click on this row has opened the block below it: the panel scrolls until the block is in sight.
pub fn unfolded(ui: &Ui, row: Rangef) {
    ui.data_mut(|d| d.insert_temp(unfolded_row_id(), Some(row)));
}

/// Removes the row of the block just opened.
fn take_unfolded_row(ctx: &Context) -> Option<Rangef> {
    let row: Option<Option<Rangef>> = ctx.data_mut(|d| d.remove_temp(unfolded_row_id()));
    row.flatten()
}

/// The offset at which the rows are visible; `None` if they already are.
fn into_sight(panel: Rect, rows: Rangef, offset: f32) -> Option<f32> {
    const MARGIN: f32 = 6.0;
    let by = if rows.max > panel.bottom() {
        (rows.max - panel.bottom() + MARGIN).min(rows.min - panel.top())
    } else if rows.min < panel.top() {
        rows.min - panel.top() - MARGIN
    } else {
        return None;
    };
    Some((offset + by).max(0.0))
}

/// The control of a layer under the pointer, and the height of its centre when it was last drawn; the centre because a
/// field is higher while the user types into it. Controls of other layers, such as notes over the panel, do not count;
/// those covered by an open menu do: the choice that closes the menu may add rows, and the next click is for the
/// control below.
fn under(ctx: &Context, panel: Rect, layer: LayerId) -> Option<(Id, f32)> {
    let pointer = ctx.input(|i| i.pointer.latest_pos());
    let at = pointer.filter(|at| panel.contains(*at))?;
    ctx.viewport(|viewport| {
        let hits = &viewport.hits;
        let hit = hits.click.or(hits.drag);
        let widgets = &viewport.prev_pass.widgets;
        let menu = hits.contains_pointer.iter().chain(&hit);
        let menu = menu.map(|hit| hit.layer_id).find(|l| is_menu(*l));
        let id = match hit.filter(|hit| hit.layer_id == layer) {
            Some(hit) => hit.id,
            None => {
                menu?;
                // The scrolled area itself is dragged, not clicked, and comes after its content.
                let is = |w: &&WidgetRect| w.sense.senses_click() && w.interact_rect.contains(at);
                widgets.get_layer(layer).filter(is).last()?.id
            }
        };
        let before = widgets.get(id)?;
        panel
            .intersects(before.rect)
            .then_some((id, before.rect.center().y))
    })
}

/// Whether this pass has drawn a widget: of one that is gone, egui returns the previous place.
fn is_drawn(ctx: &Context, id: Id) -> bool {
    ctx.viewport(|viewport| viewport.this_pass.widgets.get(id).is_some())
}

/// Menus lie over notes and panels.
fn is_menu(layer: LayerId) -> bool {
    layer.order == Order::Foreground
}

/// Returns the height of all rows.
pub fn scroll(ui: &mut Ui, name: impl Hash + Debug, add: impl FnOnce(&mut Ui)) -> f32 {
    let ctx = ui.ctx().clone();
    let panel = ui.available_rect_before_wrap();
    let id = ui.make_persistent_id(("anchored", &name));
    let pass = ctx.cumulative_pass_nr();
    let before: Option<AnchorState> = ctx.data(|d| d.get_temp(id));
    let before = before.filter(|kept| kept.pass + 1 == pass);
    let under_pointer = under(&ctx, panel, ui.layer_id());
    let mut kept = before.unwrap_or_default();
    // egui's spring pulls an offset back to the content of the previous pass, which lacks the space that this pass
    // adds. Without the spring egui limits the offset to the content of this pass.
    let spring = std::mem::take(&mut ui.spacing_mut().scroll.kinetic.rubber_band);
    let mut area = ScrollArea::vertical().id_salt(name).auto_shrink(false);
    if let Some(offset) = kept.next_offset.take() {
        area = area.vertical_scroll_offset(offset);
    }
    let mut origin = 0.0;
    // A panel that is scrolled otherwise may have left one.
    take_unfolded_row(&ctx);
    let shown = area.show(ui, |ui| {
        ui.spacing_mut().scroll.kinetic.rubber_band = spring;
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.add_space(kept.room[0]);
        origin = ui.cursor().top() - panel.top();
        add(ui);
        ui.add_space(kept.room[1]);
    });
    ui.spacing_mut().scroll.kinetic.rubber_band = spring;
    let natural = shown.content_size.y - kept.room[0] - kept.room[1];
    // The offset at which this pass was drawn: if rows disappeared, egui has limited its own to the remaining content.
    let offset = kept.room[0] - origin;
    // Scrolling does not move the scroll bar: following it would scroll the panel again in every pass.
    let bar = shown.id.with(VERTICAL);
    let opened: Option<bool> = ctx.data_mut(|d| d.remove_temp(opened_rows_id()));
    let moved = under_pointer
        .filter(|(id, _)| opened.is_none() && *id != bar && is_drawn(&ctx, *id))
        .zip(before)
        .and_then(|((id, middle), before)| {
            let now = ctx.read_response(id)?.rect.center().y;
            // Scrolling by the wheel also moves the origin and does not count.
            Some(now - middle - (origin - before.origin))
        });
    (kept.pass, kept.origin) = (pass, origin);
    let pointer = ctx.input(|i| i.pointer.latest_pos());
    if !pointer.is_some_and(|at| panel.contains(at)) {
        if kept.scrolled != 0.0 {
            // Scrolls back so that new rows are seen, unless the user has scrolled since.
            let stays = (offset - kept.offset).abs() < 0.5;
            let back = (offset - kept.room[0] - kept.scrolled).max(0.0);
            kept.next_offset = stays.then_some(back);
            ctx.request_repaint();
        }
        (kept.room, kept.scrolled) = ([0.0; 2], 0.0);
    } else if let Some(moved) = moved.filter(|moved| moved.abs() > 0.5) {
        let max_offset = shown.content_size.y - shown.inner_rect.height();
        let above = kept.room[0];
        let requested = offset - above + moved;
        let to = requested.max(0.0);
        kept.room[0] = (-requested).max(0.0);
        kept.room[1] += (to - (max_offset - above + kept.room[0])).max(0.0);
        kept.next_offset = Some(to);
        kept.offset = to;
        kept.scrolled += moved;
        // The pass with the control in the wrong place is not shown.
        ctx.request_discard("rows came or went above the pointer");
    } else if kept.scrolled != 0.0 && (offset - kept.offset).abs() < 0.5 {
        // The panel has grown to fit its content: without extra space egui would scroll it back.
        let max_offset = (shown.content_size.y - shown.inner_rect.height()).max(0.0);
        if kept.offset - max_offset > 0.5 {
            kept.room[1] += kept.offset - max_offset;
            kept.next_offset = Some(kept.offset);
            ctx.request_discard("the panel grew below the pointer");
        }
    }
    let query: Option<(u64, Rangef)> = ctx
        .data_mut(|d| d.remove_temp(requested_rows_id()))
        .flatten();
    let times = match (query, kept.followed) {
        (Some((number, _)), Some((followed, times))) if number == followed => times,
        _ => 0,
    };
    kept.followed = query.map(|(number, _)| (number, times));
    let settled = before.is_some_and(|before| before.height == panel.height());
    kept.height = panel.height();
    if query.is_some() && !settled {
        ctx.request_repaint();
    }
    if let Some((number, rows)) = query.filter(|_| settled)
        && times < FOLLOWS
        && !pointer.is_some_and(|at| panel.contains(at))
    {
        kept.followed = Some((number, times + 1));
        if let Some(to) = into_sight(shown.inner_rect, rows, offset) {
            kept.next_offset = Some(to);
        }
        ctx.request_repaint();
    }
    kept.natural = natural;
    let place = (shown.inner_rect, panel.top() + origin, offset);
    kept.show_unfolded(&ctx, before, place, settled);
    ctx.data_mut(|d| d.insert_temp(id, kept));
    natural
}
