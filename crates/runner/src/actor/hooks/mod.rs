//! Hooks: what they are asked, and what their answers change.

pub(super) mod held_output;
pub(super) mod input;
pub(super) mod runs;

use foldhash::HashMap;
use riverrun_event::{BlobRef, TaskId};

use crate::actor::Actor;
use crate::actor::session::HostedSession;
use crate::drive::HookTarget;
use crate::hook::HookUse;
use crate::view::{HookView, TaskView};

/// An input that is longer is shown by its beginning and a reference.
pub(crate) const INLINE: usize = 4096;

const TEXT: &str = "text/plain; charset=utf-8";

/// Texts that hooks brought, by their references: arguments, context and outputs that are too long for an event.
#[derive(Default)]
pub(crate) struct HookTexts {
    pub texts: HashMap<String, String>,
}

/// The hooks that were asked about this.
pub(crate) fn hooks_at<'a>(view: &'a TaskView, target: &HookTarget) -> &'a [HookView] {
    match target {
        HookTarget::Prompt | HookTarget::Stop => &view.hooks,
        HookTarget::Before(call) | HookTarget::After(call) => {
            view.call(call).map(|call| call.hooks.as_slice()).unwrap_or_default()
        }
    }
}

impl HostedSession {
    pub(crate) fn hook_use(&self, task: &TaskId, name: &str) -> Option<HookUse> {
        self.persona(task)?.spec.hooks.iter().find(|hook| hook.name == name).cloned()
    }
}

impl Actor {
    /// Keeps a text with what is written next, and at hand.
    pub(crate) fn keep_text(&mut self, text: String, media_type: &str) -> BlobRef {
        let reference = riverrun_log::BlobId::of(text.as_bytes()).to_string();
        self.blobs.keep(&self.session, text.clone().into_bytes(), media_type);
        self.hooks.texts.insert(reference.clone(), text);
        BlobRef::Bare(reference)
    }
}
