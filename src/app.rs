//! The window: eframe's calls become actions, actions effects, effects jobs.

mod action_log;
pub mod autosave;
pub mod events;
pub mod offscreen;
mod parts;
mod pictures;
mod record;
pub mod rest;
mod start;
pub mod store;
pub mod window_size;

pub use start::{StartError, run};

use crate::compute::Backend;
use crate::state::{Action, Effect, State, report, update};
use crate::ui::{self, paint_callback};
use egui::{Context, Ui, ViewportCommand};
use parts::{Interface, WindowStatus, Work};

pub struct App {
    state: State,
    interface: Interface,
    work: Work,
    window: WindowStatus,
    record: Option<record::Record>,
}

impl App {
    fn new(ctx: &Context, state: State, backend: Backend, first: Vec<Action>) -> Self {
        let mut app = Self {
            state,
            interface: Interface::new(),
            work: Work::new(backend, ctx),
            window: WindowStatus::default(),
            record: record::Record::from_environment(),
        };
        app.act(first, ctx);
        app
    }

    /// Applies actions and carries out what follows from them.
    fn act(&mut self, actions: Vec<Action>, ctx: &Context) {
        for action in actions {
            let name = self.record.as_ref().map(|_| report::name(&action));
            let mut effects = update(&mut self.state, action);
            while !effects.is_empty() {
                match effects.remove(0) {
                    Effect::Submit(job) => {
                        let job = self.work.jobs.submit(job);
                        effects.extend(update(&mut self.state, Action::JobStarted(job)));
                    }
                    Effect::Cancel(slot) => self.work.jobs.cancel(slot),
                    Effect::CancelOfDocument => self.work.jobs.cancel_of_document(),
                    Effect::LimitMemory(bytes) => self.work.jobs.limit_memory(bytes),
                    Effect::CopyText(text) => ctx.copy_text(text),
                    Effect::TakePicture(picture, seen) => self.work.pictures.add(picture, seen),
                    Effect::DrawReport(views) => self.work.pictures.add_report(views),
                    Effect::Store => self.window.recent_changed = true,
                    Effect::Close => {
                        self.window.closing = true;
                        ctx.send_viewport_cmd(ViewportCommand::Close);
                    }
                }
            }
            if let (Some(record), Some(name)) = (&self.record, name) {
                record.write(&name, &self.state, &self.interface.views);
            }
            ctx.request_repaint();
        }
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, frame: &mut eframe::Frame) {
        self.work.wait_for_quick(&mut self.window);
        let events = self
            .work
            .jobs
            .poll()
            .into_iter()
            .map(Action::Event)
            .collect();
        self.act(events, ctx);
        let due = self.work.timers.due(&self.state, ctx);
        let closing = ui::quit::close_request(ctx, &self.state, self.window.closing);
        self.act(due.into_iter().chain(closing).collect(), ctx);
        self.continue_turntable(ctx);
        self.report_faults();
        if let Some(gpu) = frame.wgpu_render_state() {
            self.draw_pictures(gpu, ctx);
            if self.state.document.is_empty() && self.work.pictures.is_idle() {
                paint_callback::clear(ctx, &mut gpu.renderer.write().callback_resources);
            }
        }
        if std::mem::take(&mut self.window.recent_changed)
            && let Some(storage) = frame.storage_mut()
        {
            self.save(storage);
            storage.flush();
        }
        let title = ui::quit::title(&self.state);
        if title != self.window.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.window.title = title;
        }
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let (state, views) = (&self.state, &mut self.interface.views);
        let actions = ui::show(ui, state, &mut self.interface.memory, &mut |ui, actions| {
            views.show(ui, state, actions);
        });
        let ctx = ui.ctx().clone();
        // The picture of this frame already shows the effect of its events. egui covers development builds with a
        // warning while windows are laid out twice in a row.
        let follows = !actions.is_empty() && ctx.input(|i| !i.events.is_empty());
        if follows && !cfg!(debug_assertions) {
            ctx.request_discard("the actions of this frame");
            self.window.control_moved = true;
        }
        self.act(actions, &ctx);
        if let Some(record) = &mut self.record {
            record.watch(&ctx, &self.state, &self.interface.views);
        }
    }

    fn raw_input_hook(&mut self, ctx: &Context, input: &mut egui::RawInput) {
        if self
            .window
            .events
            .feed(input, ctx.requested_repaint_last_pass())
        {
            ctx.request_repaint();
        }
        let interval_s = self.window.events.double_click_s();
        ctx.options_mut(|o| o.input_options.max_double_click_delay = interval_s);
    }

    fn on_exit(&mut self) {
        self.work.leave_nothing(&self.state);
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        store::save(storage, &self.state);
    }
}
