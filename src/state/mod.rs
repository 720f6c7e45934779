//! What the user has, changed only by [`update()`].
//!
//! One direction: pointer → [`Action`] → [`update()`] → [`Effect`] → jobs → event → [`update()`] → draw
//! list → pixels. The [`Document`] is what undo restores; the [`View`] is where the user looks; the
//! [`Session`] is what happens meanwhile.

pub mod action;
pub mod camera;
pub mod defaults;
pub mod document;
pub mod history;
pub mod recipe;
pub mod report;
pub mod session;
pub mod update;
pub mod view;
pub mod words;

pub use crate::jobs::{BackendKind, Job, Slot, Values, Which};
pub use action::{Action, Effect, Phase, Shot};
pub use camera::Camera;
pub use document::{Content, Display, Document, Layer, LayerId, Method, Rays, Tensors};
pub use history::History;
pub use recipe::{Recipe, Source};
pub use session::{Live, Message, Session, Severity};
pub use update::update;
pub use view::{Convention, Layout, Pane, Task, Tool, View};

/// Everything the window shows.
#[derive(Clone, Debug)]
pub struct State {
    pub document: Document,
    pub history: History,
    pub view: View,
    pub session: Session,
}

impl State {
    /// An empty window; `backend` is the text of the status line's last field.
    pub fn new(backend: String) -> Self {
        Self {
            document: Document::default(),
            history: History::default(),
            view: View::default(),
            session: Session::new(backend),
        }
    }

    /// The live result, unless it is coarse or waits for its cut.
    pub fn final_live(&self) -> Option<&Live> {
        let cut = |live: &Live| {
            live.rays
                .as_ref()
                .is_none_or(|r| r.cut == self.document.rays.cut)
        };
        let live = self.session.live.as_ref();
        live.filter(|live| !live.coarse && cut(live))
    }
}
