//! Work behind the appends: snapshots, sealing of finished turns, retention, and sessions that nobody uses.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_event::{Sequence, TaskId};
use riverrun_fold::State;
use riverrun_log::{SealedTurn, SessionKey, Snapshot, SnapshotFound};
use tokio::sync::Notify;

use crate::app::App;
use crate::edge::Problem;
use crate::session::{Batch, Hub};

/// Events after which a session gets a snapshot even in the middle of a turn.
const SNAPSHOT_EVERY: u64 = 1024;
/// Events that stay unpacked behind a session's end.
const UNSEALED: u64 = 256;
const SWEEP_EVERY: Duration = Duration::from_secs(30);
const HUB_IDLE_MILLIS: u64 = 60_000;

/// Sessions that want a snapshot.
#[derive(Default)]
pub struct Upkeep {
    due: Mutex<HashSet<SessionKey>>,
    notify: Notify,
}

impl Upkeep {
    /// Notes an append. A turn that ended is a good place for a snapshot.
    pub fn appended(&self, hub: &Hub, batch: &Batch) {
        let since = hub.since_upkeep.fetch_add(batch.events.len() as u64, Ordering::AcqRel)
            + batch.events.len() as u64;
        let ended = batch.events.iter().any(|event| event.draft.kind.is_turn_terminal());
        if since >= SNAPSHOT_EVERY || ended && since >= SNAPSHOT_EVERY / 8 {
            hub.since_upkeep.store(0, Ordering::Release);
            crate::session::lock(&self.due).insert(hub.key.clone());
            self.notify.notify_one();
        }
    }

    fn take(&self) -> Vec<SessionKey> {
        crate::session::lock(&self.due).drain().collect()
    }
}

/// Runs until the drain. Everything it does can be done again or left undone: the log is the truth.
pub async fn run(app: App, retention: Option<Duration>) {
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            () = app.edge().drain().started() => return,
            () = app.upkeep().notify.notified() => {}
            _ = sweep.tick() => {
                app.hubs().sweep(HUB_IDLE_MILLIS);
                measure(&app).await;
            }
        }
        for key in app.upkeep().take() {
            if app.edge().drain().is_started() {
                return;
            }
            if let Err(problem) = tend(&app, &key, retention).await {
                tracing::warn!(code = %problem.code(), session = %key.session, "upkeep of a session failed");
            }
        }
    }
}

async fn measure(app: &App) {
    if let Ok(stats) = app.log().stats().await {
        app.edge().metrics().log_bytes.set(i64::try_from(stats.disk_bytes).unwrap_or(i64::MAX));
    }
}

/// Snapshots a session at its head, stores the turns that left its state, packs what is old.
async fn tend(app: &App, key: &SessionKey, retention: Option<Duration>) -> Result<(), Problem> {
    let Some(head) = app.log().head(key).await? else { return Ok(()) };
    let SnapshotFound { snapshot, .. } = app.log().snapshot(key, head.last).await?;
    let from = snapshot.and_then(|snapshot| {
        let text = std::str::from_utf8(&snapshot.bytes).ok()?;
        State::from_json(text).ok()
    });
    let mut state = from.unwrap_or_else(|| State::new(key.session.clone()));
    let mut sealed = Vec::new();
    app.fold_to(key, head.last, &mut state, |turn| sealed.push(turn)).await?;
    for turn in sealed {
        app.log().put_sealed_turn(key, stored(&turn)).await?;
    }
    app.log().put_snapshot(key, Snapshot { sequence: state.sequence, bytes: state.to_json().into() }).await?;
    let through = Sequence::new(head.last.get().saturating_sub(UNSEALED)).unwrap_or_default();
    if through.get() > 0 {
        app.log().seal(key, through).await?;
    }
    if let Some(age) = retention {
        let now = app.now().millis();
        let before = u64::try_from(now).unwrap_or(0).saturating_sub(age.as_millis() as u64);
        app.log().retire(key, through, Some(riverrun_log::Timestamp::from_millis(before))).await?;
    }
    Ok(())
}

fn stored(turn: &riverrun_fold::SealedTurn) -> SealedTurn {
    let root = turn.turn.task_id.clone().or_else(|| turn.tasks.first().map(|task| task.task_id.clone()));
    let task =
        root.unwrap_or_else(|| TaskId::new(turn.turn.turn_id.as_str()).expect("ids share one alphabet"));
    let bytes = serde_json::to_vec(turn).expect("a sealed turn has string keys and no fallible parts");
    SealedTurn {
        turn: turn.turn.turn_id.clone(),
        task,
        first: turn.turn.first_sequence,
        last: turn.turn.last_sequence,
        bytes: bytes.into(),
    }
}

/// Used by tests and by `riverrun export --sealed`: tends one session now.
pub async fn tend_now(app: &App, hub: &Arc<Hub>) -> Result<(), Problem> {
    tend(app, &hub.key, None).await
}
