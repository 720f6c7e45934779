//! Pictures of a view or of the window, one after the other: each is a job that the window does itself, a piece per
//! frame, so that it stays responsive.

use super::App;
use crate::jobs::JobHandle;
use crate::render::Renderer;
use crate::render::offscreen::{Error, Picture as DrawnPicture};
use crate::state::core::text::file_name;
use crate::state::files::jobs::SAVE;
use crate::state::pictures::Look;
use crate::state::pictures::jobs::{PICTURE, SavePng};
use crate::state::session_report::{
    DrawnView, REPORT_PANES, REPORT_PICTURE_POINTS, REPORT_PICTURE_SCALE, ReportAction,
    ReportPicture, ReportViews,
};
use crate::state::{Action, Pane, Picture, PictureAction, State, report};
use crate::ui::snapshot::{self, Drawing, Frame, TurnSize};
use crate::ui::views::Views;
use crate::ui::{self, Memory, paint_callback};
use egui::{Context, ViewportCommand};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After pieces of a picture have taken this long, the window is repainted and Cancel is checked.
const MAX_PIECES_TIME: Duration = Duration::from_millis(300);

const MAXIMUM_PIECES_PER_FRAME: usize = 12;

/// Units in which the progress of a picture is reported.
const SHARES: u64 = 1000;

#[derive(Default)]
pub(super) struct Pictures {
    waiting: VecDeque<WaitingPicture>,
    drawn: Option<PictureInProgress>,
    turn: TurnSize,
    /// The window was asked to close, and closes once the pictures are finished.
    closes: bool,
}

/// A picture to be drawn.
struct WaitingPicture {
    picture: Picture,
    /// Its own state, if that is not the window's.
    seen: Option<Arc<State>>,
    purpose: PicturePurpose,
}

/// Where the pixels go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PicturePurpose {
    File,
    /// A view of a report.
    Report(Pane),
}

/// A picture being drawn.
struct PictureInProgress {
    picture: Picture,
    purpose: PicturePurpose,
    drawing: Drawing,
    /// Metadata of the file about how it was made.
    metadata: Vec<(String, String)>,
    job: JobHandle,
}

impl Pictures {
    pub fn add(&mut self, picture: Picture, seen: Option<Box<State>>) {
        self.waiting.push_back(WaitingPicture {
            picture,
            seen: seen.map(Arc::from),
            purpose: PicturePurpose::File,
        });
    }

    /// Adds the views of a report.
    pub fn add_report(&mut self, views: ReportViews) {
        let ReportViews { path, seen } = views;
        let view = |pane| WaitingPicture {
            picture: Picture {
                pane: Some(pane),
                path: path.clone(),
                look: Look::default(),
            },
            seen: Some(seen.clone()),
            purpose: PicturePurpose::Report(pane),
        };
        self.waiting.extend(REPORT_PANES.map(view));
    }

    /// Drops the remaining views of a report.
    fn drop_report(&mut self) {
        self.waiting
            .retain(|waiting| waiting.purpose == PicturePurpose::File);
    }

    /// Whether no picture is being drawn or waits.
    pub fn is_idle(&self) -> bool {
        self.drawn.is_none() && self.waiting.is_empty()
    }
}

impl App {
    /// Requests the next frame of a turntable, unless the previous one is still being drawn or written.
    pub(super) fn continue_turntable(&mut self, ctx: &Context) {
        let runtime = &self.state.runtime;
        let is_busy = runtime.jobs.is_running(&[PICTURE, SAVE]);
        if runtime.turning.is_some() && !is_busy {
            self.act(vec![Action::Picture(PictureAction::NextFrame)], ctx);
        }
    }

    /// Continues the picture being drawn, with the data that the window's renderer has loaded, or begins the next. A
    /// job writes it.
    pub(super) fn draw_pictures(&mut self, gpu: &egui_wgpu::RenderState, ctx: &Context) {
        if self.work.pictures.is_idle() {
            if std::mem::take(&mut self.work.pictures.closes) {
                ctx.send_viewport_cmd(ViewportCommand::Close);
            }
            return;
        }
        if ctx.input(|i| i.viewport().close_requested()) {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            self.work.pictures.closes = true;
        }
        let resources = &mut gpu.renderer.write().callback_resources;
        let fresh = || Renderer::new(gpu.device.clone(), gpu.queue.clone());
        let mut renderer = paint_callback::take_renderer(resources).or_else(|| Some(fresh()));
        let actions = match self.work.pictures.drawn.take() {
            Some(drawn) => self.go_on(drawn, &mut renderer),
            None => self.begin(renderer.as_ref(), ctx),
        };
        // If drawing waits for the device or for the user to pause, a frame is requested for when it may continue.
        let wait = renderer.as_ref().and_then(Renderer::next_frame_in);
        ctx.request_repaint_after(wait.unwrap_or_default());
        if let Some(renderer) = renderer {
            paint_callback::put_renderer(resources, renderer);
        }
        self.act(actions, ctx);
    }

    fn begin(&mut self, renderer: Option<&Renderer>, ctx: &Context) -> Vec<Action> {
        let Some(waiting) = self.work.pictures.waiting.pop_front() else {
            return Vec::new();
        };
        let WaitingPicture {
            picture,
            seen,
            purpose,
        } = waiting;
        let state = seen.as_deref().unwrap_or(&self.state);
        let name = file_name(&picture.path);
        let label = format!("Drawing {name}");
        let drawing = renderer.ok_or(Error::NoDevice).and_then(|renderer| {
            let Some(pane) = picture.pane else {
                return of_window(renderer, state, ctx);
            };
            let mut frame = match purpose {
                PicturePurpose::Report(_) => report_frame(),
                PicturePurpose::File => frame_of(pane, picture.look, &self.interface.views, ctx),
            };
            let is_of_turn = seen.is_some() && purpose == PicturePurpose::File;
            if let (Some(turning), true) = (&self.state.runtime.turning, is_of_turn) {
                frame = self
                    .work
                    .pictures
                    .turn
                    .frame(turning.done.saturating_sub(1), frame);
            }
            Drawing::of_pane(renderer, state, pane, frame, picture.look.transparent)
        });
        let metadata = report::picture(state);
        let job = self.work.jobs.window_job(PICTURE, label);
        let (ticket, mut actions) = (job.ticket, vec![Action::JobStarted(job.clone())]);
        match drawing {
            Ok(drawing) => {
                job.control.begin("Drawing", SHARES);
                self.work.pictures.drawn = Some(PictureInProgress {
                    picture,
                    purpose,
                    drawing,
                    metadata,
                    job,
                });
            }
            Err(error) => actions.push(not_drawn(ticket, purpose, picture.path, &error)),
        }
        actions
    }

    fn go_on(
        &mut self,
        mut drawn: PictureInProgress,
        renderer: &mut Option<Renderer>,
    ) -> Vec<Action> {
        let ticket = drawn.job.ticket;
        let picture = match drawn.job.control.check() {
            Ok(()) => some(&mut drawn, renderer),
            Err(_) => {
                if let Some(renderer) = renderer {
                    drawn.drawing.release(renderer);
                }
                return vec![match drawn.purpose {
                    PicturePurpose::File => Action::Picture(PictureAction::Cancelled { ticket }),
                    PicturePurpose::Report(_) => {
                        self.work.pictures.drop_report();
                        Action::Report(ReportAction::Cancelled { ticket })
                    }
                }];
            }
        };
        match picture {
            Ok(None) => {
                let share = renderer.as_ref().map_or(0.0, |r| drawn.drawing.share(r));
                let control = &drawn.job.control;
                let now = (share * SHARES as f64) as u64;
                control.advance(now.saturating_sub(control.progress().done));
                self.work.pictures.drawn = Some(drawn);
                Vec::new()
            }
            Ok(Some(picture)) => {
                if let PicturePurpose::Report(pane) = drawn.purpose {
                    let view = DrawnView {
                        size_px: picture.size_px,
                        rgba: picture.rgba.into(),
                    };
                    return vec![view_drawn(ticket, pane, Ok(view))];
                }
                let path = drawn.picture.path;
                let request = SavePng {
                    size: picture.size_px,
                    rgba: picture.rgba,
                    metadata: drawn.metadata,
                    path: path.clone(),
                };
                let saving = self.work.jobs.submit(request);
                let writing = Ok(saving.ticket);
                let taken = Action::Picture(PictureAction::Taken {
                    ticket,
                    path,
                    writing,
                });
                vec![taken, Action::JobStarted(saving)]
            }
            Err(error) => {
                if let Some(renderer) = renderer {
                    drawn.drawing.release(renderer);
                }
                vec![not_drawn(ticket, drawn.purpose, drawn.picture.path, &error)]
            }
        }
    }
}

fn view_drawn(ticket: u64, pane: Pane, drawn: Result<DrawnView, String>) -> Action {
    let picture = ReportPicture { pane, drawn };
    Action::Report(ReportAction::Drawn { ticket, picture })
}

/// A picture cannot be drawn; a report has the reason in its place.
fn not_drawn(ticket: u64, purpose: PicturePurpose, path: PathBuf, error: &Error) -> Action {
    match purpose {
        PicturePurpose::Report(pane) => view_drawn(ticket, pane, Err(error.to_string())),
        PicturePurpose::File => Action::Picture(PictureAction::Taken {
            ticket,
            path,
            writing: Err(error.to_string().into()),
        }),
    }
}

/// Draws as many pieces as fit into [`MAX_PIECES_TIME`]: each repaint of the whole window takes as long as a short piece.
fn some(
    drawn: &mut PictureInProgress,
    renderer: &mut Option<Renderer>,
) -> Result<Option<DrawnPicture>, Error> {
    let started = Instant::now();
    // With more at a time, the window's own views would count as hidden.
    for _ in 0..MAXIMUM_PIECES_PER_FRAME {
        let picture = drawn.drawing.step(renderer)?;
        if picture.is_some()
            || started.elapsed() > MAX_PIECES_TIME
            || drawn.job.control.is_cancelled()
        {
            return Ok(picture);
        }
        match renderer {
            // Rotating or scrolling the views takes precedence.
            Some(renderer) if renderer.is_touched() => return Ok(None),
            // The next piece begins after the previous one.
            Some(renderer) => renderer.wait(),
            None => {}
        }
    }
    Ok(None)
}

fn of_window(renderer: &Renderer, state: &State, ctx: &Context) -> Result<Drawing, Error> {
    let mut memory = Memory::without_dialogs();
    let frame = Frame {
        size: ctx.content_rect().size(),
        pixels_per_point: ctx.pixels_per_point(),
    };
    Drawing::of_window(renderer, state, frame, &mut |ui, state, views| {
        ui::show(ui, state, &mut memory, views);
    })
}

/// The size of a picture of a report.
fn report_frame() -> Frame {
    Frame {
        size: REPORT_PICTURE_POINTS.map(|points| points as f32).into(),
        pixels_per_point: REPORT_PICTURE_SCALE as f32,
    }
}

/// The size of a picture of `pane`.
fn frame_of(pane: Pane, look: Look, views: &Views, ctx: &Context) -> Frame {
    let on_screen = views.panes().iter().find(|(p, _)| *p == pane);
    let size = on_screen.map_or(snapshot::DEFAULT_SIZE, |(_, rect)| rect.size());
    match look.size_px {
        // Letters keep their proportion of the picture.
        Some(px) => Frame::fitted(px, size),
        None => Frame {
            size,
            pixels_per_point: ctx.pixels_per_point() * look.scale.clamp(1, 4) as f32,
        },
    }
}
