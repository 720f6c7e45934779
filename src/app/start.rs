//! From the command `arcuate` to a window.

use super::{App, store, window_size};
use crate::compute::{Backend, BackendChoice, BackendError, BackendKind, thread};
use crate::jobs;
use crate::render::{
    Faults, Renderer, backends, device_descriptor, image_exporter, shortcoming, unsuitable,
};
use crate::state::files::types::PhantomName;
use crate::state::{
    Action, DeviceAction, FilesAction, OpenBackend, SessionAction, Severity, State, UnsavedAction,
};
use crate::ui::{Memory, paint_callback, theme};
use eframe::{CreationContext, NativeOptions};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Identifies the program to the desktop, and names the folder of its persistent data.
const APP_ID: &str = "arcuate";

/// Why there is no window: one sentence.
#[derive(Debug)]
pub enum StartError {
    Backend(BackendError),
    /// The window has no graphics device.
    NoDevice,
    /// The graphics device cannot draw the window; the sentence says why.
    Device(String),
    Window(eframe::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend(error) => error.fmt(f),
            Self::NoDevice => {
                f.write_str("The window has no graphics device: install a Vulkan driver")
            }
            Self::Device(sentence) => f.write_str(sentence),
            Self::Window(error) => f.write_str(&sentence(error)),
        }
    }
}

impl std::error::Error for StartError {}

impl From<BackendError> for StartError {
    fn from(error: BackendError) -> Self {
        Self::Backend(error)
    }
}

/// Opens the window, with files or with the demo, and returns when it is closed.
///
/// `kind` overrides the setting; it is opened first, so that there is no window if it fails.
pub fn run(
    files: Vec<PathBuf>,
    demo: bool,
    kind: Option<BackendKind>,
    threads: Option<usize>,
) -> Result<(), StartError> {
    let opened = kind.map(|kind| open(kind, threads).map(|backend| (kind, backend)));
    let opened = opened.transpose()?;
    let mut first = vec![Action::Session(SessionAction::FindRecoverable)];
    if demo {
        first.push(Action::OpenDemo { tour: true });
    }
    if let [file] = &files[..]
        && let Some(name) = PhantomName::of_path(file)
    {
        let head = UnsavedAction::Head(name.head);
        first.push(Action::Session(SessionAction::CloseDocument(head)));
    } else if !files.is_empty() {
        // A session stores the paths of its files, which must not depend on the working folder.
        let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
        let files = files.into_iter().map(absolute).collect();
        first.push(Action::Files(FilesAction::Open(files)));
    }
    let create = |cc: &CreationContext| -> Result<Box<dyn eframe::App>, _> {
        Ok(Box::new(create(cc, opened, threads, first)?))
    };
    // The list of opened files is private; without the folder nothing is stored.
    let _ = eframe::storage_dir(APP_ID).map(|folder| jobs::make_private_folder(&folder));
    eframe::run_native("Arcuate", options(), Box::new(create)).map_err(StartError::Window)
}

pub(super) fn options() -> NativeOptions {
    let mut options = NativeOptions {
        viewport: window_size::requested(egui::ViewportBuilder::default())
            .with_title("Arcuate")
            .with_app_id(APP_ID)
            .with_drag_and_drop(true),
        window_builder: Some(Box::new(window_size::within_monitor)),
        dithering: false,
        system_font_fallback: false,
        ..NativeOptions::default()
    };
    let icon = eframe::icon_data::from_png_bytes(include_bytes!("../../assets/icon.png"));
    if let Ok(icon) = icon {
        options.viewport = options.viewport.with_icon(icon);
    }
    if let egui_wgpu::WgpuSetup::CreateNew(setup) = &mut options.wgpu_options.wgpu_setup {
        setup.instance_descriptor.backends = backends();
        setup.device_descriptor = Arc::new(device_descriptor);
    }
    options
}

fn open(kind: BackendKind, threads: Option<usize>) -> Result<Backend, BackendError> {
    Backend::choose(&BackendChoice { kind, threads })
}

/// The backend of the setting; if that cannot be opened, the one that can, and a message.
fn backend_of_setting(state: &mut State, threads: Option<usize>) -> Result<Backend, BackendError> {
    let kind = state.runtime.device.setting;
    let error = match open(kind, threads) {
        Ok(backend) => return Ok(backend),
        Err(error) => error,
    };
    if let BackendError::Cuda(error) = &error {
        let sentence = format!("{}, so it is not used", jobs::sentence(error));
        state.runtime.notify(Severity::Warning, sentence);
    }
    open(BackendKind::Auto, threads)
}

pub(super) fn create(
    cc: &CreationContext,
    opened: Option<(BackendKind, Backend)>,
    threads: Option<usize>,
    mut first: Vec<Action>,
) -> Result<App, StartError> {
    theme::install(&cc.egui_ctx);
    let gpu = cc.wgpu_render_state.as_ref();
    let gpu = gpu.ok_or(StartError::NoDevice)?;
    if let Some(sentence) = shortcoming(&gpu.adapter) {
        return Err(StartError::Device(sentence));
    }
    let faults = Faults::watch(&gpu.device);
    let resources = &mut gpu.renderer.write().callback_resources;
    paint_callback::install(resources, gpu.target_format, 1);
    let info = gpu.adapter.get_info();
    if info.backend == wgpu::Backend::Gl {
        // Not every OpenGL driver accepts all shaders: this is checked before there is a window.
        let renderer = Renderer::new(gpu.device.clone(), gpu.queue.clone());
        if let Some(why) = faults.take_error() {
            return Err(StartError::Device(unsuitable(&info, &why)));
        }
        paint_callback::put_renderer(resources, renderer);
    }
    let mut state = State::new(String::new());
    if let Some(storage) = cc.storage {
        store::load(storage, &mut state);
        let settings = store::settings(storage).sanitized();
        if let Some(zoom) = settings.zoom {
            cc.egui_ctx.set_zoom_factor(zoom);
        }
        first.insert(0, Action::Set(settings));
    }
    let (kind, backend) = match opened {
        Some(opened) => opened,
        None => {
            let kind = state.runtime.device.setting;
            (kind, backend_of_setting(&mut state, threads)?)
        }
    };
    if let Some(shortage) = backend.shortage() {
        state.runtime.notify(Severity::Warning, shortage.to_owned());
    }
    let on_card = backend.accelerator().is_some();
    state.runtime.device.backend = OpenBackend {
        label: backend.label(),
        reason: backend.reason(),
        on_card,
        no_card: backend.no_card().cloned(),
    };
    state.runtime.device.kind = kind;
    let first = on_card
        .then_some(Action::Device(DeviceAction::LoadKernels))
        .into_iter()
        .chain(first);
    let first = first.collect();
    let mut app = App::new(&cc.egui_ctx, state, backend, first);
    app.window.faults = faults;
    if let Some(exporter) = image_exporter(&gpu.device, &gpu.queue) {
        app.work.jobs.set_image_exporter(exporter);
    }
    let demo = include_bytes!("../../assets/demo.png");
    if let Ok(picture) = eframe::icon_data::from_png_bytes(demo) {
        let size = [picture.width, picture.height].map(|n| n as usize);
        app.interface.memory = memory().with_demo_picture(size, &picture.rgba);
    }
    Ok(app)
}

/// The initial state that the window keeps between frames.
pub(super) fn memory() -> Memory {
    Memory::new(thread::spawn_or_run)
}

impl App {
    /// Reports errors of the device that draws the window.
    pub(super) fn report_faults(&mut self) {
        if let Some(why) = self.window.faults.take_error() {
            let sentence = format!(
                "The graphics device failed while drawing ({why}), so pictures may be wrong; save the session, then \
                 start again"
            );
            self.state.runtime.notify(Severity::Error, sentence);
        }
    }
}

/// Why no window can be opened, and what to do.
fn sentence(error: &eframe::Error) -> String {
    match error {
        eframe::Error::AppCreation(why) => why.to_string(),
        // Its own message names the source files it was built from.
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) => {
            "No window can be opened here: set DISPLAY or WAYLAND_DISPLAY, or use the commands in \
             arcuate --help"
                .to_owned()
        }
        error => {
            let why = error.to_string();
            let why = why.trim_start_matches("WGPU error: ");
            // Without any driver the message has no reason.
            let why = match why.ends_with("{}") {
                true => String::new(),
                false => format!(" ({why})"),
            };
            format!(
                "No graphics device can draw the window{why}: install a Vulkan driver \
             (mesa-vulkan-drivers draws without a graphics card), or try OpenGL with WGPU_BACKEND=gl"
            )
        }
    }
}
