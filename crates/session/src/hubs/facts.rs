//! What events tell the catalogue. It commits with the events, so a query never disagrees with the log for long.

use bytes::Bytes;
use riverrun_event::{Decoded, EventType, Payload, Sequence, ThreadId, Timestamp, TurnId};
use riverrun_fold::session_status;
use riverrun_log::{Fact, NewAction, SessionChange, StatusUpdate, TaskFact, TurnFact, WorkProgress};

/// The facts of one event at its place. Deltas have none.
pub fn facts(decoded: &Decoded, sequence: Sequence, time: Timestamp, out: &mut Vec<Fact>) {
    if let Some(status) = session_status(&decoded.draft.kind) {
        let progress = if status.is_terminal() { WorkProgress::Terminal } else { WorkProgress::Open };
        out.push(Fact::Status(StatusUpdate { status: status.as_str().to_owned(), progress }));
    }
    match &decoded.payload {
        Payload::SessionCreated(info) | Payload::SessionUpdated(info) => {
            out.push(Fact::Session(SessionChange {
                status: info.status.clone(),
                title: info.title.clone(),
                agent: info.agent.clone(),
                tags: info.tags.clone(),
                metadata: info.metadata.as_ref().map(|raw| raw.get().to_owned()),
            }))
        }
        Payload::TurnSubmitted(submitted) => {
            let status = if submitted.status.as_deref() == Some("queued") { "queued" } else { "accepted" };
            turn(decoded, status, WorkProgress::Open, sequence, out);
        }
        Payload::TurnStarted(_) => turn(decoded, "running", WorkProgress::Open, sequence, out),
        Payload::TurnCompleted(_) => turn(decoded, "completed", WorkProgress::Terminal, sequence, out),
        Payload::TurnFailed(_) => turn(decoded, "failed", WorkProgress::Terminal, sequence, out),
        Payload::TurnCancelled(_) => turn(decoded, "cancelled", WorkProgress::Terminal, sequence, out),
        Payload::ActionRequired(required) => {
            let expires = required.expires_at.as_deref().and_then(|text| Timestamp::parse(text).ok());
            let after = required.timeout_seconds.map(|seconds| {
                Timestamp::from_millis(time.millis().saturating_add_unsigned(seconds.saturating_mul(1000)))
            });
            action(decoded, sequence, time, expires.or(after), out);
        }
        Payload::ActionResolved(_) => {
            if let Some(action) = &decoded.scope.action_id {
                let resolution = payload_bytes(decoded);
                out.push(Fact::ActionResolved {
                    action: action.clone(),
                    resolution,
                    resolved_at: log_time(time),
                });
            }
        }
        Payload::TaskPaused(_) => halted(decoded, true, out),
        Payload::TaskResumed(_)
        | Payload::TaskWaiting(_)
        | Payload::TaskBlocked(_)
        | Payload::TaskRetrying(_)
        | Payload::TaskCancelRequested(_) => halted(decoded, false, out),
        _ => {}
    }
    task(decoded, out);
}

fn halted(decoded: &Decoded, halted: bool, out: &mut Vec<Fact>) {
    if let Some(task) = decoded.scope.task_id.clone() {
        out.push(Fact::Halted { task, halted });
    }
}

/// Says where a task lives, when it first shows.
fn task(decoded: &Decoded, out: &mut Vec<Fact>) {
    let Some(task) = &decoded.scope.task_id else { return };
    if is_task_start(&decoded.draft.kind) {
        // A task that others run may belong to no turn; it is found all the same.
        let turn = decoded.scope.turn_id.clone();
        let turn = turn.unwrap_or_else(|| TurnId::new(task.as_str()).expect("ids share one alphabet"));
        let parent = decoded.scope.parent_task_id.clone();
        out.push(Fact::Task(TaskFact { task: task.clone(), turn, parent }));
    }
}

fn payload_bytes(decoded: &Decoded) -> Bytes {
    decoded.raw_payload.as_ref().map_or(Bytes::from_static(b"{}"), |raw| Bytes::from(raw.get().to_owned()))
}

/// The events by which a task first shows; later ones need not say again where it lives.
fn is_task_start(kind: &EventType) -> bool {
    use EventType::*;
    matches!(
        kind,
        TaskCreated
            | TaskStarted
            | TaskAttemptStarted
            | TurnSubmitted
            | TurnStarted
            | ItemStarted
            | SubagentSpawned
    )
}

fn turn(decoded: &Decoded, status: &str, progress: WorkProgress, sequence: Sequence, out: &mut Vec<Fact>) {
    let Some(turn) = decoded.scope.turn_id.clone() else { return };
    let thread = decoded.scope.thread_id.clone();
    let thread = thread.unwrap_or_else(|| ThreadId::new("main").expect("`main` fits the alphabet of ids"));
    out.push(Fact::Turn(TurnFact { turn, thread, status: status.to_owned(), progress, first: sequence }));
}

fn action(
    decoded: &Decoded,
    sequence: Sequence,
    time: Timestamp,
    expires: Option<Timestamp>,
    out: &mut Vec<Fact>,
) {
    let Some(action) = decoded.scope.action_id.clone() else { return };
    out.push(Fact::ActionOpened(NewAction {
        action,
        turn: decoded.scope.turn_id.clone(),
        task: decoded.scope.task_id.clone(),
        sequence,
        body: payload_bytes(decoded),
        opened_at: log_time(time),
        expires_at: expires.map(log_time),
    }));
}

/// The log counts milliseconds from 1970 on.
pub fn log_time(time: Timestamp) -> riverrun_log::UnixMillis {
    riverrun_log::UnixMillis::from_millis(u64::try_from(time.millis()).unwrap_or(0))
}
