//! What a server tells without being asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use rmcp::ClientHandler;
#[expect(deprecated, reason = "servers log until the protocol does without it")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{
    ClientConfig, Implementation, NotificationMetaObject, ProgressNotificationParam, ProgressToken, RequestId,
};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::watch;

use super::{draft, log_line};
use crate::{CallProgress, ProgressSink};

/// Progress that came before its call was known here.
const EARLY: usize = 64;

pub(super) struct Handler {
    /// Counts the changes of the server's list.
    changes: watch::Sender<u64>,
    /// Those that came over this connection.
    own_changes: AtomicU64,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// Calls that were sent, or are about to be.
    open: usize,
    known: Vec<Known>,
    early: VecDeque<(Whose, CallProgress)>,
}

struct Known {
    token: ProgressToken,
    id: RequestId,
    sink: ProgressSink,
}

/// The call that something is about.
#[derive(PartialEq)]
enum Whose {
    Token(ProgressToken),
    Id(RequestId),
    /// That of the only call; if there are several, of none.
    Only,
}

impl Whose {
    fn is(&self, call: &Known, open: usize) -> bool {
        match self {
            Whose::Token(token) => *token == call.token,
            Whose::Id(id) => *id == call.id,
            Whose::Only => open == 1,
        }
    }
}

/// A call that the server may have.
pub(super) struct Open<'a>(&'a Handler);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut calls = self.0.calls();
        calls.open -= 1;
        calls.early.retain(|(whose, _)| *whose != Whose::Only);
    }
}

impl Handler {
    pub fn new(changes: watch::Sender<u64>) -> Self {
        Self { changes, own_changes: AtomicU64::new(0), calls: Mutex::default() }
    }

    /// How often the server said over this connection that its list changed.
    pub fn list_changes(&self) -> u64 {
        self.own_changes.load(Ordering::Acquire)
    }

    /// Before the call is sent: what the server says of it may be here first.
    pub fn open(&self) -> Open<'_> {
        self.calls().open += 1;
        Open(self)
    }

    pub fn watch(&self, token: ProgressToken, id: RequestId, sink: ProgressSink) {
        let mut calls = self.calls();
        let Calls { open, known, early } = &mut *calls;
        let call = Known { token, id, sink };
        early.retain(|(whose, progress)| {
            let is_meant = whose.is(&call, *open);
            if is_meant {
                (call.sink)(progress.clone());
            }
            !is_meant
        });
        known.push(call);
    }

    pub fn unwatch(&self, token: &ProgressToken) {
        self.calls().known.retain(|call| call.token != *token);
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn send_progress(&self, whose: Whose, progress: CallProgress) {
        let mut calls = self.calls();
        let open = calls.open;
        if let Some(call) = calls.known.iter().find(|call| whose.is(call, open)) {
            return (call.sink)(progress);
        }
        if whose != Whose::Only || open == 1 {
            calls.early.push_back((whose, progress));
            let beyond = calls.early.len().saturating_sub(EARLY);
            calls.early.drain(..beyond);
        }
    }
}

impl ClientHandler for Handler {
    async fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        context: NotificationContext<RoleClient>,
    ) {
        let meta = context.extensions.get::<NotificationMetaObject>().unwrap_or(&context.meta);
        let progress = draft::progress(&notification, meta);
        self.send_progress(Whose::Token(notification.progress_token), progress);
    }

    #[expect(deprecated, reason = "servers log until the protocol does without it")]
    async fn on_logging_message(
        &self,
        notification: LoggingMessageNotificationParam,
        context: NotificationContext<RoleClient>,
    ) {
        let Some(message) = log_line::words(&notification) else { return };
        // The SDK leaves what stands in `_meta` among the extensions.
        let meta = context.extensions.get::<NotificationMetaObject>().unwrap_or(&context.meta);
        let call = log_line::call_of(meta);
        let whose = call.map_or(Whose::Only, Whose::Id);
        self.send_progress(whose, CallProgress { message: Some(message), ..CallProgress::default() });
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.own_changes.fetch_add(1, Ordering::AcqRel);
        self.changes.send_modify(|changes| *changes += 1);
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(Default::default(), Implementation::new("riverrun", env!("CARGO_PKG_VERSION")))
    }
}
