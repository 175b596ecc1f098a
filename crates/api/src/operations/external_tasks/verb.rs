//! What can be done with an external task, and from which status.

use riverrun_fold::Status;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Update,
    Start,
    Progress,
    Pause,
    Resume,
    Complete,
    Fail,
    Cancel,
    Retry,
    Archive,
    Link,
    Unlink,
}

/// Whether the status of a task lets a command through.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The command takes effect.
    Leads,
    /// The task has the status already that the command leads to.
    Already,
    /// The command is refused: what to do instead.
    Refused(&'static str),
}

/// The status of a task, as far as commands distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Open,
    Paused,
    Ended,
    Archived,
}

fn stage(status: Status) -> Stage {
    match status {
        Status::Unknown
        | Status::Idle
        | Status::Draft
        | Status::Accepted
        | Status::Queued
        | Status::Preparing => Stage::New,
        Status::Running
        | Status::WaitingInput
        | Status::WaitingPermission
        | Status::WaitingResource
        | Status::Blocked
        | Status::Retrying
        | Status::Cancelling
        | Status::Stale => Stage::Open,
        Status::Paused => Stage::Paused,
        Status::Cancelled | Status::TimedOut | Status::Failed | Status::Lost | Status::Completed => {
            Stage::Ended
        }
        Status::Archived => Stage::Archived,
    }
}

impl Verb {
    #[cfg(test)]
    const ALL: [Verb; 12] = [
        Verb::Update,
        Verb::Start,
        Verb::Progress,
        Verb::Pause,
        Verb::Resume,
        Verb::Complete,
        Verb::Fail,
        Verb::Cancel,
        Verb::Retry,
        Verb::Archive,
        Verb::Link,
        Verb::Unlink,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::Update => "update",
            Verb::Start => "start",
            Verb::Progress => "progress",
            Verb::Pause => "pause",
            Verb::Resume => "resume",
            Verb::Complete => "complete",
            Verb::Fail => "fail",
            Verb::Cancel => "cancel",
            Verb::Retry => "retry",
            Verb::Archive => "archive",
            Verb::Link => "link",
            Verb::Unlink => "unlink",
        }
    }

    /// The status that the command leads to; None if it leaves the status alone.
    pub(super) const fn leads_to(self) -> Option<Status> {
        match self {
            Verb::Update | Verb::Progress | Verb::Link | Verb::Unlink => None,
            Verb::Start | Verb::Resume | Verb::Retry => Some(Status::Running),
            Verb::Pause => Some(Status::Paused),
            Verb::Complete => Some(Status::Completed),
            Verb::Fail => Some(Status::Failed),
            Verb::Cancel => Some(Status::Cancelled),
            Verb::Archive => Some(Status::Archived),
        }
    }

    pub(super) fn edge(self, status: Status) -> Edge {
        let stage = stage(status);
        let again = "try it again with `retry`";
        let ended = || if self.leads_to() == Some(status) { Edge::Already } else { Edge::Refused(again) };
        match (self, stage) {
            (Verb::Archive, Stage::Archived) => Edge::Already,
            (Verb::Archive, Stage::Ended) => Edge::Leads,
            (Verb::Archive, _) => Edge::Refused("end it first"),
            (_, Stage::Archived) => Edge::Refused("it was put away; create another one"),
            (Verb::Update | Verb::Link | Verb::Unlink, _) => Edge::Leads,
            (Verb::Retry, Stage::Ended) => Edge::Leads,
            (Verb::Retry, Stage::New | Stage::Open | Stage::Paused) => Edge::Refused("it has not ended"),
            (_, Stage::Ended) => ended(),
            (Verb::Fail | Verb::Cancel, _) => Edge::Leads,
            (Verb::Start, Stage::New) => Edge::Leads,
            (Verb::Resume, Stage::Paused) => Edge::Leads,
            (Verb::Pause, Stage::Paused) | (Verb::Start | Verb::Resume, Stage::Open) => Edge::Already,
            (Verb::Progress | Verb::Pause | Verb::Complete, Stage::Open) => Edge::Leads,
            (_, Stage::New) => Edge::Refused("begin it with `start`"),
            (_, Stage::Paused) => Edge::Refused("go on with `resume`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_moves_along_these_edges_and_no_others() {
        use Status::*;
        let columns = [Accepted, Running, Blocked, Paused, Completed, Failed, Cancelled, Archived];
        let table = [
            (Verb::Update, "+++++++."),
            (Verb::Start, "+==....."),
            (Verb::Progress, ".++....."),
            (Verb::Pause, ".++=...."),
            (Verb::Resume, ".==+...."),
            (Verb::Complete, ".++.=..."),
            (Verb::Fail, "++++.=.."),
            (Verb::Cancel, "++++..=."),
            (Verb::Retry, "....+++."),
            (Verb::Archive, "....+++="),
            (Verb::Link, "+++++++."),
            (Verb::Unlink, "+++++++."),
        ];
        assert_eq!(table.map(|(verb, _)| verb), Verb::ALL);
        for (verb, row) in table {
            let found: String = columns
                .iter()
                .map(|status| match verb.edge(*status) {
                    Edge::Leads => '+',
                    Edge::Already => '=',
                    Edge::Refused(_) => '.',
                })
                .collect();
            assert_eq!(found, row, "{verb:?}");
        }
    }
}
