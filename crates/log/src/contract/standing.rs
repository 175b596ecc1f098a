//! A session's status follows from the newest update and from its open work.

use bytes::Bytes;

use super::Case;
use super::bench::*;
use super::catalogue::{action, turn, with_facts};
use crate::{Epoch, Fact, Log, SessionChange, SessionKey, StatusUpdate, TaskFact, TurnFact, WorkProgress};

pub const CASES: &[Case] = &[
    ("a_halted_turn_halts_its_session", a_halted_turn_halts_its_session),
    ("a_halted_child_halts_nothing_else", a_halted_child_halts_nothing_else),
    ("a_session_waits_until_all_is_decided", a_session_waits_until_all_is_decided),
    ("the_end_of_a_turn_leaves_what_else_is_open", the_end_of_a_turn_leaves_what_else_is_open),
];

struct Desk {
    log: std::sync::Arc<dyn Log>,
    key: SessionKey,
    epoch: Epoch,
    at: u64,
}

impl Desk {
    /// A session with two turns at work, each with its task.
    fn new(bench: &mut dyn Bench) -> Self {
        let log = bench.log();
        let (epoch, key) = (own(&*log), made(&*log, "s"));
        let mut desk = Self { log, key, epoch, at: 0 };
        for name in ["1", "2"] {
            desk.then(vec![open(name), task(name, None), reported("running")], "running");
        }
        desk
    }

    #[track_caller]
    fn then(&mut self, facts: Vec<Fact>, expected: &str) {
        self.at += 1;
        with_facts(&*self.log, &self.key, self.epoch, self.at, facts);
        let status = ok(self.log.session(&self.key)).map(|record| record.status);
        assert_eq!(status.as_deref(), Some(expected), "step {}", self.at);
    }

    fn turn(&self, name: &str) -> Option<TurnFact> {
        ok(self.log.turn(&self.key, &id(&format!("turn_{name}")))).map(|record| record.fact)
    }
}

fn reported(status: &str) -> Fact {
    let is_end = !matches!(status, "running" | "waiting_permission");
    let progress = if is_end { WorkProgress::Terminal } else { WorkProgress::Open };
    Fact::Status(StatusUpdate { status: status.to_owned(), progress })
}

fn open(name: &str) -> Fact {
    Fact::Turn(turn(&format!("turn_{name}"), 1, WorkProgress::Open))
}

fn ended(name: &str) -> Fact {
    let turn = turn(&format!("turn_{name}"), 1, WorkProgress::Terminal);
    Fact::Turn(TurnFact { status: "completed".to_owned(), ..turn })
}

fn task(name: &str, parent: Option<&str>) -> Fact {
    let turn = parent.unwrap_or(name);
    Fact::Task(TaskFact {
        task: id(&format!("task_{name}")),
        turn: id(&format!("turn_{turn}")),
        parent: parent.map(|parent| id(&format!("task_{parent}"))),
    })
}

fn halted(name: &str, halted: bool) -> Fact {
    Fact::Halted { task: id(&format!("task_{name}")), halted }
}

fn resolved(name: &str) -> Fact {
    Fact::ActionResolved { action: id(name), resolution: Bytes::from_static(b"{}"), resolved_at: time(9) }
}

fn a_halted_turn_halts_its_session(bench: &mut dyn Bench) {
    let mut desk = Desk::new(bench);
    desk.then(vec![halted("1", true)], "running");
    desk.then(vec![halted("2", true)], "paused");
    assert_eq!(desk.turn("1").map(|turn| turn.status).as_deref(), Some("paused"));
    // What is asked and decided meanwhile changes nothing of that.
    desk.then(vec![Fact::ActionOpened(action("act_1", 1)), reported("waiting_permission")], "paused");
    desk.then(vec![resolved("act_1"), reported("running")], "paused");
    desk.then(vec![reported("running")], "paused");
    desk.then(vec![halted("2", false)], "running");
    desk.then(vec![ended("2"), reported("completed")], "paused");
    desk.then(vec![ended("1"), reported("completed")], "completed");
    // A turn that has ended is not halted, and not opened again.
    desk.then(vec![halted("1", true)], "completed");
    assert_eq!(desk.turn("1").map(|turn| turn.progress), Some(WorkProgress::Terminal));
    let closed = SessionChange { status: Some("closed".to_owned()), ..SessionChange::default() };
    desk.then(vec![reported("running"), Fact::Session(closed)], "closed");
}

fn a_halted_child_halts_nothing_else(bench: &mut dyn Bench) {
    let mut desk = Desk::new(bench);
    desk.then(vec![task("child", Some("1"))], "running");
    desk.then(vec![halted("child", true)], "running");
    desk.then(vec![halted("nobody", true)], "running");
    assert_eq!(desk.turn("1").map(|turn| turn.status).as_deref(), Some("running"));
}

fn a_session_waits_until_all_is_decided(bench: &mut dyn Bench) {
    let mut desk = Desk::new(bench);
    let two = ["act_1", "act_2"].map(|name| Fact::ActionOpened(action(name, 1)));
    desk.then([two.to_vec(), vec![reported("waiting_permission")]].concat(), "waiting_permission");
    desk.then(vec![resolved("act_1"), reported("running")], "waiting_permission");
    desk.then(vec![halted("1", true)], "running");
    desk.then(vec![halted("1", false)], "waiting_permission");
    desk.then(vec![resolved("act_2"), reported("running")], "running");
}

fn the_end_of_a_turn_leaves_what_else_is_open(bench: &mut dyn Bench) {
    let mut desk = Desk::new(bench);
    desk.then(vec![ended("2"), reported("completed")], "running");
    desk.then(
        vec![Fact::ActionOpened(action("act_1", 1)), reported("waiting_permission")],
        "waiting_permission",
    );
    // Updates after the end are weighed with it.
    desk.then(vec![ended("1"), reported("completed"), resolved("act_1")], "completed");
}
