//! `snapshot.updated` and `snapshot.repaired`: the standard's words for how a reader was brought to its place.
//!
//! They are frames for one reader and no events of the log: what a reader is given is no fact about the session, and
//! two readers of one log must not see each other. The frame has the sequence of the snapshot, so a client that has the
//! snapshot knows it for one that it has. docs/decisions/0017-snapshot-frames.md has the reasons.

use riverrun_dialect::{Dialect, FramePosition, FrameWriter, Frames, ReaderOptions, SnapshotReason};
use riverrun_event::{
    Cursor, Draft, EventId, EventScope, EventType, Record, Sequence, SnapshotInfo, Timestamp, write_record,
};
use riverrun_fold::State;

use crate::hubs::Hub;

/// Appends the frame behind the snapshot that holds everything up to `to`.
pub(super) fn write_snapshot_event(
    hub: &Hub,
    dialect: Dialect,
    reason: SnapshotReason,
    to: Cursor,
    state_json: &str,
    out: &mut FrameWriter,
) {
    // An event has a sequence from 1 on.
    if to.sequence == Sequence::ZERO {
        return;
    }
    // The same for every reader: the time of the last event that the snapshot holds.
    let time = updated_at(state_json).unwrap_or_default();
    let is_repair = reason != SnapshotReason::Asked;
    let info = SnapshotInfo {
        sequence: Some(to.sequence.get()),
        reason: Some(reason.as_str().to_owned()),
        recovery_mode: Some("snapshot".to_owned()),
        unavailable: is_repair.then(|| vec!["event_log".to_owned()]),
        ..SnapshotInfo::default()
    };
    let kind = if is_repair { EventType::SnapshotRepaired } else { EventType::SnapshotUpdated };
    let mut draft = Draft::new(kind, &EventScope::default(), &info).at(time);
    draft.event_id = EventId::new(format!("evt_snapshot_{}_{}", to.sequence, reason.as_str())).ok();
    let mut bytes = Vec::new();
    write_record(&draft, time, &mut bytes);
    let Ok(record) = Record::read(&bytes) else { return };
    let Ok(event) = record.to_event(to.sequence) else { return };
    let mut frames = Frames::default();
    let mut projector = dialect.projector(&hub.dialect_session(), State::default(), ReaderOptions::default());
    projector.event(&record, &event, &mut frames);
    for frame in frames.iter() {
        out.framed(FramePosition::At(to), |out| out.push_str(frame.json));
    }
}

fn updated_at(state_json: &str) -> Option<Timestamp> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Times {
        updated_at: Option<String>,
    }
    let times: Times = serde_json::from_str(state_json).ok()?;
    Timestamp::parse(&times.updated_at?).ok()
}
