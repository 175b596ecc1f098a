//! What a follower asks for.

use riverrun_event::{TaskId, TurnId};

use crate::exchange::Query;

/// How a follower wants what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Catchup {
    /// Every event.
    #[default]
    Replay,
    /// Adjacent deltas of one block as one frame.
    Coalesce,
    /// The folded state, then events.
    Snapshot,
}

impl Catchup {
    pub const fn as_str(self) -> &'static str {
        match self {
            Catchup::Replay => "replay",
            Catchup::Coalesce => "coalesce",
            Catchup::Snapshot => "snapshot",
        }
    }
}

/// What the indexes of annotations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexUnit {
    #[default]
    CodePoint,
    Utf16,
    /// Bytes.
    Utf8,
}

impl IndexUnit {
    pub const fn as_str(self) -> &'static str {
        match self {
            IndexUnit::CodePoint => "code_point",
            IndexUnit::Utf8 => "utf8",
            IndexUnit::Utf16 => "utf16",
        }
    }
}

/// Whether a follower stays after it has caught up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Until {
    /// Stay, and see events as they happen.
    #[default]
    Forever,
    /// Leave at the head of the log.
    CaughtUp,
}

#[derive(Debug, Clone, Default)]
pub struct FollowOptions {
    /// A cursor that the server gave, or a sequence in decimal; None is the start of the log.
    pub after: Option<String>,
    /// None is native. Only native streams are checked for order and gaps.
    pub dialect: Option<String>,
    pub turn: Option<TurnId>,
    pub task: Option<TaskId>,
    /// Event types, or prefixes such as `tool.*`.
    pub types: Vec<String>,
    pub catchup: Catchup,
    pub index_unit: IndexUnit,
    pub follow: Until,
    /// How many failed attempts in a row end the stream; None never gives up.
    pub max_attempts: Option<u32>,
}

impl FollowOptions {
    pub fn after(cursor: impl Into<String>) -> Self {
        Self { after: Some(cursor.into()), ..Self::default() }
    }

    pub(crate) fn is_native(&self) -> bool {
        self.dialect.as_deref().is_none_or(|dialect| dialect == "native")
    }

    /// A filtered stream has holes by design, so only its order can be checked.
    pub(crate) fn is_filtered(&self) -> bool {
        self.turn.is_some() || self.task.is_some() || !self.types.is_empty()
    }

    /// The request's path. `cursor` is where the follower stands, None before its first event.
    pub(crate) fn path(&self, session_path: &str, cursor: Option<&str>) -> String {
        // Who already holds a prefix wants what follows it, not a new snapshot.
        let catchup = match (self.catchup, cursor) {
            (Catchup::Snapshot, Some(_)) | (Catchup::Replay, _) => None,
            (Catchup::Coalesce, _) | (Catchup::Snapshot, None) => Some(self.catchup.as_str()),
        };
        let types = (!self.types.is_empty()).then(|| self.types.join(","));
        let unit = (self.index_unit != IndexUnit::default()).then(|| self.index_unit.as_str());
        let after = cursor.or(self.after.as_deref()).unwrap_or("0");
        Query::default()
            .add("after", Some(after))
            .add("dialect", self.dialect.as_deref())
            .add("turn", self.turn.as_ref().map(TurnId::as_str))
            .add("task", self.task.as_ref().map(TaskId::as_str))
            .add("types", types)
            .add("catchup", catchup)
            .add("index_unit", unit)
            .add("follow", (self.follow == Until::CaughtUp).then_some("false"))
            .after(format!("{session_path}/events"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_the_default_is_asked() {
        assert_eq!(FollowOptions::default().path("/v1/sessions/s", None), "/v1/sessions/s/events?after=0");
        let options = FollowOptions {
            after: Some("3".into()),
            types: vec!["item.*".into(), "turn.*".into()],
            follow: Until::CaughtUp,
            ..FollowOptions::default()
        };
        assert_eq!(
            options.path("/s", Some("9..a.b")),
            "/s/events?after=9..a.b&types=item.%2A%2Cturn.%2A&follow=false"
        );
    }

    #[test]
    fn a_snapshot_is_asked_once() {
        let options = FollowOptions { catchup: Catchup::Snapshot, ..FollowOptions::default() };
        assert_eq!(options.path("/s", None), "/s/events?after=0&catchup=snapshot");
        assert_eq!(options.path("/s", Some("7")), "/s/events?after=7");
    }
}
