//! Closing the window: asks where regions would be lost. The only question that stops everything.

use super::theme::{self, size};
use super::widgets::button::Button;
use crate::state::State;
use egui::{Context, Frame, Id, Margin, Modal, RichText, Stroke, ViewportCommand};

#[derive(Default)]
pub struct Quit {
    asking: bool,
    sure: bool,
}

impl Quit {
    pub fn show(&mut self, ctx: &Context, state: &State) {
        let would_lose = state.session.unsaved && state.document.has_work();
        let closing = ctx.input(|i| i.viewport().close_requested());
        if closing && would_lose && !self.sure {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            self.asking = true;
        }
        if !self.asking {
            return;
        }
        let mut stay = false;
        let p = theme::palette(&ctx.global_style());
        let frame = Frame::new()
            .fill(p.b2)
            .stroke(Stroke::new(1.0, p.line))
            .corner_radius(theme::radius::CARD)
            .inner_margin(Margin::same(20));
        let modal = Modal::new(Id::unique("quit")).frame(frame);
        let modal = modal.show(ctx, |ui| {
            ui.set_width(340.0);
            ui.spacing_mut().item_spacing.y = 12.0;
            let n = state.document.regions.len();
            let work = match n {
                0 => "streamlines",
                1 => "a region",
                _ => "regions",
            };
            let title = format!("Quit without saving {work}?");
            let font = theme::semibold(size::BODY);
            ui.label(RichText::new(title).font(font).color(p.t1));
            ui.label("Streamlines, masks and pictures that you exported stay as they are");
            ui.horizontal(|ui| {
                if Button::primary("Keep working").show(ui).clicked() {
                    stay = true;
                }
                if Button::plain("Quit").show(ui).clicked() {
                    self.sure = true;
                    ui.ctx().send_viewport_cmd(ViewportCommand::Close);
                }
            });
        });
        if stay || self.sure || modal.should_close() {
            self.asking = false;
        }
    }
}

/// `sub-01 – Arcuate`, with a dot before it while something is not saved.
pub fn title(state: &State) -> String {
    if state.document.is_empty() {
        return "Arcuate".to_owned();
    }
    let dot = if state.session.unsaved { "• " } else { "" };
    format!("{dot}{} – Arcuate", state.document.name)
}
