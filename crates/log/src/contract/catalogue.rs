//! What can be asked without reading logs.

use bytes::Bytes;

use super::Case;
use super::bench::*;
use crate::{
    ActionQuery, Append, Epoch, Fact, Log, LogError, NewAction, PageRequest, SessionChange, SessionKey,
    SessionQuery, SessionSpec, TaskFact, TurnFact, WorkProgress,
};

pub const CASES: &[Case] = &[
    ("creating_a_session_again_changes_nothing", creating_a_session_again_changes_nothing),
    ("session_facts_commit_with_their_append", session_facts_commit_with_their_append),
    ("facts_of_a_refused_append_are_not_kept", a_refused_append_stores_no_facts),
    ("sessions_are_listed_newest_first_and_filtered", sessions_are_listed_newest_first_and_filtered),
    ("paging_neither_skips_nor_repeats", paging_neither_skips_nor_repeats),
    ("a_foreign_page_cursor_is_refused", a_foreign_page_cursor_is_refused),
    ("actions_are_pending_until_resolved_once", actions_are_pending_until_resolved_once),
    ("actions_of_another_tenant_are_not_shown", actions_of_another_tenant_are_not_shown),
    ("turns_are_listed_newest_first_from_any_place", turns_are_listed_newest_first_from_any_place),
    ("open_turns_are_found_until_terminal", open_turns_are_found_until_terminal),
    ("a_turn_is_found_in_its_oldest_session_first", a_turn_is_found_in_its_oldest_session_first),
    ("a_task_is_found_in_its_own_tenant_only", a_task_is_found_in_its_own_tenant_only),
];

/// Appends one event with these facts.
#[track_caller]
pub(super) fn with_facts(log: &dyn Log, key: &SessionKey, epoch: Epoch, at: u64, facts: Vec<Fact>) {
    let chunk = chunk_after(&head(log, key), time(at), &[b"x"]);
    ok(log.append(Append { facts, ..Append::new(key.clone(), epoch, chunk) }));
}

fn status(status: &str) -> Fact {
    Fact::Session(SessionChange { status: Some(status.to_owned()), ..SessionChange::default() })
}

fn creating_a_session_again_changes_nothing(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = key("s");
    let new = SessionSpec {
        title: Some("first".to_owned()),
        agent: Some("helper".to_owned()),
        status: "idle".to_owned(),
        tags: vec!["b".to_owned(), "a".to_owned(), "b".to_owned()],
        metadata: Some(r#"{"k":1}"#.to_owned()),
        created_at: time(7),
        start_after: seq(0),
    };
    assert_eq!(ok(log.session(&key)), None);
    let created = ok(log.create_session(&key, new.clone()));
    assert!(created.new);
    assert_eq!(created.record.tags, ["a", "b"]);
    let again = ok(log.create_session(&key, SessionSpec { title: Some("second".to_owned()), ..new }));
    assert!(!again.new);
    assert_eq!(again.record, created.record);
    assert_eq!(ok(log.session(&key)), Some(created.record));
}

fn session_facts_commit_with_their_append(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let change = SessionChange {
        status: Some("running".to_owned()),
        title: Some("a title".to_owned()),
        tags: Some(vec!["x".to_owned()]),
        ..SessionChange::default()
    };
    with_facts(&*log, &key, epoch, 5_000, vec![Fact::Session(change)]);
    with_facts(&*log, &key, epoch, 6_000, vec![status("idle")]);
    let record = ok(log.session(&key)).unwrap_or_else(|| panic!("the session is there"));
    assert_eq!(
        (record.status.as_str(), record.title.as_deref(), record.tags, record.updated_at, record.head.last),
        ("idle", Some("a title"), vec!["x".to_owned()], time(6_000), seq(2))
    );
}

fn a_refused_append_stores_no_facts(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let mut other = head(&*log, &key);
    other.link = crate::Link([1; 8]);
    let chunk = chunk_after(&other, time(1), &[b"x"]);
    refused(log.append(Append { facts: vec![status("lost")], ..Append::new(key.clone(), epoch, chunk) }));
    assert_eq!(ok(log.session(&key)).map(|record| record.status).as_deref(), Some("idle"));
}

fn names(log: &dyn Log, query: SessionQuery) -> Vec<String> {
    ok(log.sessions(query)).items.into_iter().map(|record| record.key.session.to_string()).collect()
}

fn sessions_are_listed_newest_first_and_filtered(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let keys: Vec<_> = ["a", "b", "c"].map(|name| made(&*log, name)).into();
    let mut foreign = key("d");
    foreign.tenant = id("other");
    ok(log.create_session(&foreign, new_session()));
    let tag = Fact::Session(SessionChange { tags: Some(vec!["t".to_owned()]), ..SessionChange::default() });
    with_facts(&*log, &keys[0], epoch, 10_000, vec![status("running")]);
    with_facts(&*log, &keys[1], epoch, 20_000, vec![status("running"), tag]);
    with_facts(&*log, &keys[2], epoch, 30_000, vec![]);
    let all = SessionQuery::all(id("acme"));
    assert_eq!(names(&*log, all.clone()), ["c", "b", "a"]);
    assert_eq!(names(&*log, SessionQuery { status: Some("running".to_owned()), ..all.clone() }), ["b", "a"]);
    assert_eq!(names(&*log, SessionQuery { tag: Some("t".to_owned()), ..all.clone() }), ["b"]);
    let since = SessionQuery { updated_from: Some(time(20_000)), ..all.clone() };
    assert_eq!(names(&*log, since.clone()), ["c", "b"]);
    assert_eq!(names(&*log, SessionQuery { updated_before: Some(time(30_000)), ..since.clone() }), ["b"]);
    let both = SessionQuery { status: Some("running".to_owned()), tag: Some("t".to_owned()), ..since };
    assert_eq!(names(&*log, both), ["b"]);
    assert_eq!(names(&*log, SessionQuery::all(id("nobody"))), Vec::<String>::new());
}

fn paging_neither_skips_nor_repeats(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let keys: Vec<_> = (0..7).map(|n| made(&*log, &format!("s{n}"))).collect();
    let mut query = SessionQuery::all(id("acme"));
    query.page.limit = 2;
    let mut seen = Vec::new();
    loop {
        let page = ok(log.sessions(query.clone()));
        seen.extend(page.items.iter().map(|record| record.key.session.to_string()));
        // Changes and additions between two pages do not move what comes later.
        with_facts(&*log, &keys[0], epoch, 90_000, vec![status("running")]);
        made(&*log, &format!("later{}", seen.len()));
        query.page.cursor = page.next;
        if query.page.cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
}

fn a_foreign_page_cursor_is_refused(bench: &mut dyn Bench) {
    let log = bench.log();
    let page = PageRequest { cursor: Some("no such".to_owned()), limit: 1 };
    let sessions = SessionQuery { page: page.clone(), ..SessionQuery::all(id("acme")) };
    assert!(matches!(refused(log.sessions(sessions)), LogError::Invalid { .. }));
    let actions = ActionQuery { tenant: id("acme"), session: None, page };
    assert!(matches!(refused(log.pending_actions(actions)), LogError::Invalid { .. }));
}

pub(super) fn action(name: &str, sequence: u64) -> NewAction {
    NewAction {
        action: id(name),
        turn: Some(id("turn_1")),
        task: None,
        sequence: seq(sequence),
        body: Bytes::from_static(b"{}"),
        opened_at: time(5),
        expires_at: Some(time(300_000)),
    }
}

fn pending(log: &dyn Log, session: Option<&str>) -> Vec<String> {
    let mut query = ActionQuery {
        tenant: id("acme"),
        session: session.map(id),
        page: PageRequest { cursor: None, limit: 2 },
    };
    let mut found = Vec::new();
    loop {
        let page = ok(log.pending_actions(query.clone()));
        found.extend(page.items.iter().map(|record| record.opened.action.to_string()));
        query.page.cursor = page.next;
        if query.page.cursor.is_none() {
            return found;
        }
    }
}

fn actions_are_pending_until_resolved_once(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    with_facts(&*log, &a, epoch, 1, vec![Fact::ActionOpened(action("act_1", 1))]);
    with_facts(&*log, &b, epoch, 2, vec![Fact::ActionOpened(action("act_2", 1))]);
    with_facts(&*log, &a, epoch, 3, vec![Fact::ActionOpened(action("act_3", 2))]);
    assert_eq!(pending(&*log, None), ["act_1", "act_2", "act_3"]);
    assert_eq!(pending(&*log, Some("a")), ["act_1", "act_3"]);
    for (body, at) in [("yes", 9), ("no", 10)] {
        let (action, resolution) = (id("act_1"), Bytes::from_static(body.as_bytes()));
        with_facts(
            &*log,
            &a,
            epoch,
            at,
            vec![Fact::ActionResolved { action, resolution, resolved_at: time(at) }],
        );
    }
    let record = ok(log.action(&a, &id("act_1"))).unwrap_or_else(|| panic!("the action is there"));
    assert_eq!(record.opened, action("act_1", 1));
    let resolution = record.resolution.map(|resolution| (resolution.body, resolution.resolved_at));
    assert_eq!(resolution, Some((Bytes::from_static(b"yes"), time(9))), "the first decision wins");
    assert_eq!(pending(&*log, None), ["act_2", "act_3"]);
    assert_eq!(ok(log.action(&b, &id("act_1"))), None);
}

fn actions_of_another_tenant_are_not_shown(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let mut foreign = key("a");
    foreign.tenant = id("other");
    ok(log.create_session(&foreign, new_session()));
    with_facts(&*log, &foreign, epoch, 1, vec![Fact::ActionOpened(action("act_1", 1))]);
    assert_eq!(pending(&*log, None), Vec::<String>::new());
    assert_eq!(pending(&*log, Some("a")), Vec::<String>::new());
}

pub(super) fn turn(name: &str, first: u64, progress: WorkProgress) -> TurnFact {
    TurnFact { turn: id(name), thread: id("main"), status: "running".to_owned(), progress, first: seq(first) }
}

fn turns_are_listed_newest_first_from_any_place(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    for (at, name) in [(1, "turn_z"), (2, "turn_m"), (3, "turn_a")] {
        with_facts(&*log, &a, epoch, at, vec![Fact::Turn(turn(name, at, WorkProgress::Open))]);
    }
    with_facts(&*log, &a, epoch, 4, vec![Fact::Turn(turn("turn_z", 4, WorkProgress::Terminal))]);
    let turns = |key: &SessionKey, before: Option<u64>, most: usize| -> Vec<String> {
        let found = ok(log.turns(key, before.map(seq), most));
        found.into_iter().map(|record| record.fact.turn.to_string()).collect()
    };
    assert_eq!(turns(&a, None, 9), ["turn_a", "turn_m", "turn_z"], "a turn stays where it began");
    assert_eq!(turns(&a, None, 2), ["turn_a", "turn_m"]);
    assert_eq!(turns(&a, Some(2), 9), ["turn_z"]);
    assert_eq!(turns(&a, Some(1), 9), Vec::<String>::new());
    assert_eq!(turns(&b, None, 9), Vec::<String>::new());
    assert_eq!(turns(&key("nobody"), None, 9), Vec::<String>::new());
}

fn open_turns_are_found_until_terminal(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    with_facts(&*log, &b, epoch, 1, vec![Fact::Turn(turn("turn_b", 1, WorkProgress::Open))]);
    with_facts(&*log, &a, epoch, 1, vec![Fact::Turn(turn("turn_z", 1, WorkProgress::Open))]);
    with_facts(&*log, &a, epoch, 1, vec![Fact::Turn(turn("turn_a", 2, WorkProgress::Open))]);
    let open = || {
        // In one shard the turns of `a`, which is older, come first.
        let (mut all, older) = (all_open_turns(&*log), a.clone());
        all.sort_by_key(|turn| turn.key != older);
        all.iter().map(|turn| turn.fact.turn.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(open(), ["turn_z", "turn_a", "turn_b"]);
    let done = TurnFact { status: "completed".to_owned(), ..turn("turn_z", 1, WorkProgress::Terminal) };
    with_facts(&*log, &a, epoch, 1, vec![Fact::Turn(done.clone())]);
    assert_eq!(open(), ["turn_a", "turn_b"]);
    assert_eq!(ok(log.turn(&a, &id("turn_z"))).map(|record| record.fact), Some(done));
    assert_eq!(ok(log.turn(&b, &id("turn_z"))), None);
    let found = ok(log.find_turn(&id("acme"), &id("turn_b")));
    assert_eq!(found.into_iter().map(|record| record.key).collect::<Vec<_>>(), [b]);
    assert_eq!(ok(log.find_turn(&id("other"), &id("turn_b"))), []);
}

fn a_turn_is_found_in_its_oldest_session_first(bench: &mut dyn Bench) {
    let log = bench.log();
    let epoch = own(&*log);
    let keys: Vec<_> = (0..12).rev().map(|at| made(&*log, &format!("s{at:02}"))).collect();
    for key in keys.iter().rev() {
        with_facts(&*log, key, epoch, 1, vec![Fact::Turn(turn("turn_1", 1, WorkProgress::Terminal))]);
    }
    let found = ok(log.find_turn(&id("acme"), &id("turn_1")));
    assert_eq!(found.into_iter().map(|record| record.key).collect::<Vec<_>>(), keys[..10]);
}

fn a_task_is_found_in_its_own_tenant_only(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, a, b) = (own(&*log), made(&*log, "a"), made(&*log, "b"));
    let task = |turn: &str| TaskFact { task: id("call_1"), turn: id(turn), parent: Some(id("task_0")) };
    with_facts(&*log, &a, epoch, 1, vec![Fact::Task(task("turn_1")), Fact::Task(task("turn_2"))]);
    with_facts(&*log, &b, epoch, 1, vec![Fact::Task(task("turn_3"))]);
    let found: Vec<_> = ok(log.find_task(&id("acme"), &id("call_1")))
        .into_iter()
        .map(|found| (found.key, found.fact))
        .collect();
    assert_eq!(found, [(b, task("turn_3")), (a, task("turn_1"))], "newest session first, first word stays");
    assert_eq!(ok(log.find_task(&id("other"), &id("call_1"))), []);
}
