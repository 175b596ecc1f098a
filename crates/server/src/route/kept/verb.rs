//! What can be done with a task that a caller keeps, and from where.

use riverrun_fold::Status;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
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

/// Whether a task may be led along an edge.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// It is led there.
    Leads,
    /// It is there.
    Already,
    /// It is not: what to do instead.
    Refused(&'static str),
}

/// Where a task stands, as far as commands care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    New,
    Open,
    Paused,
    Ended,
    Away,
}

fn place(status: Status) -> Place {
    match status {
        Status::Unknown
        | Status::Idle
        | Status::Draft
        | Status::Accepted
        | Status::Queued
        | Status::Preparing => Place::New,
        Status::Running
        | Status::WaitingInput
        | Status::WaitingPermission
        | Status::WaitingResource
        | Status::Blocked
        | Status::Retrying
        | Status::Cancelling
        | Status::Stale => Place::Open,
        Status::Paused => Place::Paused,
        Status::Cancelled | Status::TimedOut | Status::Failed | Status::Lost | Status::Completed => {
            Place::Ended
        }
        Status::Archived => Place::Away,
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
        let place = place(status);
        let again = "try it again with `retry`";
        let ended = || if self.leads_to() == Some(status) { Edge::Already } else { Edge::Refused(again) };
        match (self, place) {
            (Verb::Archive, Place::Away) => Edge::Already,
            (Verb::Archive, Place::Ended) => Edge::Leads,
            (Verb::Archive, _) => Edge::Refused("end it first"),
            (_, Place::Away) => Edge::Refused("it was put away; create another one"),
            (Verb::Update | Verb::Link | Verb::Unlink, _) => Edge::Leads,
            (Verb::Retry, Place::Ended) => Edge::Leads,
            (Verb::Retry, Place::New | Place::Open | Place::Paused) => Edge::Refused("it has not ended"),
            (_, Place::Ended) => ended(),
            (Verb::Fail | Verb::Cancel, _) => Edge::Leads,
            (Verb::Start, Place::New) => Edge::Leads,
            (Verb::Resume, Place::Paused) => Edge::Leads,
            (Verb::Pause, Place::Paused) | (Verb::Start | Verb::Resume, Place::Open) => Edge::Already,
            (Verb::Progress | Verb::Pause | Verb::Complete, Place::Open) => Edge::Leads,
            (_, Place::New) => Edge::Refused("begin it with `start`"),
            (_, Place::Paused) => Edge::Refused("go on with `resume`"),
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
