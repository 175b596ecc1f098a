//! Work behind the appends: snapshots, sealing of finished turns, retention, and sessions that nobody uses.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use riverrun_event::{OutputChanged, Sequence, TaskId};
use riverrun_fold::State;
use riverrun_log::{Expired, LogError, SealedTurnRecord, SessionKey, Snapshot, SnapshotFound};

use crate::hubs::{Hub, SNAPSHOT_BYTES};
use crate::jobs::{Job, JobFailure, is_jobs};
use crate::retention::Retention;
use crate::sessions::Sessions;
use crate::state::read_state;

/// Events that stay unpacked behind the end of a session in use.
const UNSEALED: u64 = 256;
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// A session that rests this long is packed to its end.
const RESTED_MILLIS: u64 = 1_500;
/// A session that is idle with fewer new bytes than this and at most so many events in all is packed without a
/// snapshot: its whole log is read in no time.
const SMALL_REST: u64 = 16 * 1024;
const SHORT_LOG: u64 = 64;
/// How long one sweep may pack rested sessions: a fifth of the time between two sweeps, and most of it when there are
/// many in memory. Most of it is waiting for commits.
const PACKING: Duration = Duration::from_millis(200);
const PACKING_IN_CROWD: Duration = Duration::from_millis(800);
/// Sessions that one sweep looks at; more than can be packed in its time.
const LOOKED_AT: usize = 8192;
/// How long a session that nobody uses stays in memory, and how long when there are many of them.
const HUB_IDLE_MILLIS: u64 = 60_000;
const HUB_IDLE_IN_CROWD_MILLIS: u64 = 3_000;
const CROWD: usize = 1_000;
const MEASURE_EVERY: u32 = 30;
/// Sweeps between two looks at old deletions: an hour.
const DROP_DELETIONS_EVERY: u32 = 3600;

/// Runs until the drain. Everything it does can be done again or left undone: the log is the truth.
pub async fn run(sessions: Sessions, retention: Option<Duration>) {
    if let Some(age) = retention {
        let wall = u64::try_from(sessions.now().millis()).unwrap_or(0);
        match Retention::start(&**sessions.log(), wall, age).await {
            Ok(retention) => sessions.set_retention(retention),
            Err(error) => tracing::warn!(code = %error.code(), "nothing is deleted by age in this run"),
        }
    }
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut sweeps = 0_u32;
    loop {
        let mut rested = Vec::new();
        tokio::select! {
            () = sessions.drain().started() => return,
            () = sessions.due().notified() => {}
            _ = sweep.tick() => {
                sweeps = sweeps.wrapping_add(1);
                rested = sweep_once(&sessions, sweeps).await;
            }
        }
        for key in sessions.due().take() {
            if sessions.drain().is_started() {
                return;
            }
            tend_or_log(&sessions, &key, UNSEALED, TakeSnapshot::Always).await;
        }
        pack_rested(&sessions, rested).await;
        retire_expired(&sessions).await;
    }
}

/// Deletes the events of finished sessions that are old, also of those that nobody uses.
async fn retire_expired(sessions: &Sessions) {
    let Some(retention) = sessions.retention() else { return };
    let wall = u64::try_from(sessions.now().millis()).unwrap_or(0);
    let mut found = retention.look(&**sessions.log(), wall).await;
    found.sort_by(|one, other| one.key.tenant.cmp(&other.key.tenant));
    for of_tenant in found.chunk_by(|one, other| one.key.tenant == other.key.tenant) {
        if !retire_of_tenant(sessions, of_tenant).await {
            return;
        }
    }
}

/// The sessions of one tenant as one job; false if the server is about to stop. What jobs themselves left behind goes
/// without a word: it would leave more behind.
async fn retire_of_tenant(sessions: &Sessions, found: &[Expired]) -> bool {
    let (own, others): (Vec<_>, Vec<_>) = found.iter().partition(|session| is_jobs(&session.key.session));
    for expired in own {
        tend_or_log(sessions, &expired.key, 0, TakeSnapshot::Always).await;
    }
    let Some(first) = others.first() else { return true };
    let mut job = Job::begin(sessions, &first.key.tenant, "retention", Some(others.len() as u64)).await;
    for expired in others {
        if sessions.drain().is_started() {
            job.cancel("the server stops").await;
            return false;
        }
        job.begin_item(expired.key.session.as_str()).await;
        match tend(sessions, &expired.key, 0, TakeSnapshot::Always).await {
            Ok(()) => {
                let gone = OutputChanged {
                    owner: Some(expired.key.session.to_string()),
                    reason: Some(format!("retention deleted {} events", expired.events)),
                    ..OutputChanged::default()
                };
                job.end_item(Some(gone)).await;
            }
            Err(error) => {
                tracing::warn!(code = %error.code(), session = %expired.key.session, "upkeep of a session failed");
                job.fail_item(&JobFailure::from(&error)).await;
            }
        }
    }
    job.complete().await;
    true
}

/// Several at a time, so that they share syncs.
async fn pack_rested(sessions: &Sessions, rested: Vec<Arc<Hub>>) {
    const TOGETHER: usize = 128;
    let began = Instant::now();
    let time = if sessions.hubs().count() > CROWD { PACKING_IN_CROWD } else { PACKING };
    let has_time = |_: &Arc<Hub>| {
        let goes_on = began.elapsed() < time && !sessions.drain().is_started();
        std::future::ready(goes_on)
    };
    let packed = stream::iter(rested).take_while(has_time).for_each_concurrent(TOGETHER, async |hub| {
        let is_small = hub.since_upkeep.swap(0, Ordering::AcqRel) < SMALL_REST;
        let take = if is_small { TakeSnapshot::IfLong } else { TakeSnapshot::Always };
        tend_or_log(sessions, &hub.key, 0, take).await;
    });
    packed.await;
}

/// Lets go of what nobody uses, and says which sessions rest.
async fn sweep_once(sessions: &Sessions, sweeps: u32) -> Vec<Arc<Hub>> {
    let measures = sweeps.is_multiple_of(MEASURE_EVERY);
    let in_memory = i64::try_from(sessions.hubs().count()).unwrap_or(i64::MAX);
    sessions.metrics().sessions_in_memory.set(in_memory);
    if sessions.hubs().count() > CROWD {
        sessions.hubs().sweep(HUB_IDLE_IN_CROWD_MILLIS);
    } else if measures {
        sessions.hubs().sweep(HUB_IDLE_MILLIS);
    }
    if measures {
        measure(sessions).await;
    }
    if sweeps % DROP_DELETIONS_EVERY == MEASURE_EVERY {
        drop_deletions(sessions).await;
    }
    let before = u64::try_from(sessions.now().millis()).unwrap_or(0).saturating_sub(RESTED_MILLIS);
    sessions.hubs().idle(before, LOOKED_AT)
}

async fn tend_or_log(sessions: &Sessions, key: &SessionKey, unsealed: u64, take: TakeSnapshot) {
    if let Err(error) = tend(sessions, key, unsealed, take).await {
        tracing::warn!(code = %error.code(), session = %key.session, "upkeep of a session failed");
    }
}

/// Forgets old deletions, a few at a time.
async fn drop_deletions(sessions: &Sessions) {
    loop {
        match sessions.log().drop_deletions(sessions.deletions_before()).await {
            Ok(0) => return,
            Ok(_) if sessions.drain().is_started() => return,
            Ok(_) => {}
            Err(error) => return tracing::warn!(code = %error.code(), "old deletions were not dropped"),
        }
    }
}

async fn measure(sessions: &Sessions) {
    if let Ok(stats) = sessions.log().stats().await {
        sessions.metrics().log_bytes.set(i64::try_from(stats.disk_bytes).unwrap_or(i64::MAX));
    }
}

/// Whether a session's state is stored when it is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeSnapshot {
    Always,
    /// Not of a session with at most [`SHORT_LOG`] events.
    IfLong,
}

/// Snapshots a session, stores the turns that left its state, packs all but the last `unsealed` events.
async fn tend(
    sessions: &Sessions,
    key: &SessionKey,
    unsealed: u64,
    take: TakeSnapshot,
) -> Result<(), LogError> {
    // Upkeep is no use: it does not keep the session in memory.
    let hub = match sessions.hubs().known(key) {
        Some(hub) => hub,
        None => match sessions.hubs().get(key).await? {
            Some(hub) => hub,
            None => return Ok(()),
        },
    };
    let _not_deleted = hub.tending.lock().await;
    if hub.is_gone() {
        return Ok(());
    }
    let Some(head) = sessions.log().head(key).await? else { return Ok(()) };
    // Events that retention deletes stay only as part of the snapshot.
    let is_long = head.last.get() > SHORT_LOG || sessions.retention().is_some();
    if take == TakeSnapshot::Always || is_long {
        let size = snapshot(sessions, key, head.last).await?;
        hub.upkeep_after.store(SNAPSHOT_BYTES.max(size), Ordering::Relaxed);
    }
    let through = Sequence::new(head.last.get().saturating_sub(unsealed)).unwrap_or_default();
    if through.get() > 0 {
        sessions.log().seal(key, through).await?;
    }
    if let Some(retention) = sessions.retention() {
        let before = retention.cutoff(u64::try_from(sessions.now().millis()).unwrap_or(0));
        // The log keeps everything of a session in which something is open.
        sessions.log().retire(key, through, Some(before)).await?;
    }
    Ok(())
}

/// Stores the state at `head`, and the turns that left it since the last time. Answers its size.
async fn snapshot(sessions: &Sessions, key: &SessionKey, head: Sequence) -> Result<u64, LogError> {
    let SnapshotFound { snapshot, .. } = sessions.log().snapshot(key, head).await?;
    let from = match snapshot {
        Some(snapshot) => read_state(snapshot.bytes).await,
        None => None,
    };
    let mut state = from.unwrap_or_else(|| State::new(key.session.clone()));
    let mut sealed = Vec::new();
    sessions.fold_to(key, head, &mut state, |turn| sealed.push(turn)).await?;
    for turn in sealed {
        sessions.log().put_sealed_turn(key, stored(&turn)).await?;
    }
    // Writing and packing a large state takes long; the workers serve others meanwhile.
    let (log, key) = (sessions.log().clone(), key.clone());
    let stored = tokio::task::spawn_blocking(move || {
        let json = state.to_json();
        let size = json.len() as u64;
        (size, log.put_snapshot(&key, Snapshot { sequence: state.sequence, bytes: json.into() }))
    });
    let (size, ticket) = stored.await.map_err(|error| LogError::Failed(error.to_string()))?;
    ticket.await?;
    Ok(size)
}

fn stored(turn: &riverrun_fold::SealedTurn) -> SealedTurnRecord {
    let root = turn.turn.task_id.clone().or_else(|| turn.tasks.first().map(|task| task.task_id.clone()));
    let task =
        root.unwrap_or_else(|| TaskId::new(turn.turn.turn_id.as_str()).expect("ids share one alphabet"));
    let bytes = serde_json::to_vec(turn).expect("a sealed turn has string keys and no fallible parts");
    SealedTurnRecord {
        turn: turn.turn.turn_id.clone(),
        task,
        first: turn.turn.first_sequence,
        last: turn.turn.last_sequence,
        bytes: bytes.into(),
    }
}
