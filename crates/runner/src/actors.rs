//! Starts the actors of sessions: for a command, and when a timer is due.

use std::sync::Arc;
use std::time::Duration;

use riverrun_log::SessionKey;
use tokio_util::sync::CancellationToken;

use crate::actor::run;
use crate::mailbox::{Delivery, SessionCommand};
use crate::shared::RunnerShared;

/// The longest that the timers are not looked at.
const MAX_WAIT_MILLIS: i64 = 3_600_000;

/// Hands a command to the session's actor, which is started if there is none. The token is cancelled when that actor is
/// ended because its session is deleted.
pub(crate) fn send(
    shared: &Arc<RunnerShared>,
    key: &SessionKey,
    command: SessionCommand,
) -> CancellationToken {
    let Delivery { ended, new_mail } = shared.mailboxes.send(key, command);
    if let Some(mail) = new_mail {
        tokio::spawn(run(shared.clone(), key.clone(), mail));
    }
    ended
}

/// Wakes the sessions whose timers are due, until the runner stops.
pub(crate) async fn wake_due_sessions(shared: Arc<RunnerShared>) {
    loop {
        for key in shared.timers.take(shared.now().millis()) {
            send(&shared, &key, SessionCommand::Wake);
        }
        let now = shared.now().millis();
        let wait = shared.timers.first().map_or(MAX_WAIT_MILLIS, |at| at.saturating_sub(now));
        let wait = Duration::from_millis(wait.clamp(1, MAX_WAIT_MILLIS) as u64);
        tokio::select! {
            () = shared.timers.changed() => {}
            () = tokio::time::sleep(wait) => {}
            () = shared.stop.cancelled() => return,
        }
    }
}
