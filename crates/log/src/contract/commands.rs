//! Commands and stored answers.

use bytes::Bytes;

use super::Case;
use super::bench::*;
use crate::{
    Append, CommandChange, CommandState, IdempotencyRecord, LogError, NewCommand, SessionKey, WorkScope,
};

pub const CASES: &[Case] = &[
    ("an_idempotency_key_gives_the_first_command", an_idempotency_key_gives_the_first_command),
    ("commands_are_pending_in_order_until_done", commands_are_pending_in_order_until_done),
    ("a_command_and_its_effects_commit_together", a_command_and_its_effects_commit_together),
    ("a_command_is_done_once", a_command_is_done_once),
    ("a_command_enqueued_with_an_append_exists_or_refuses_it", a_command_enqueued_with_an_append),
    ("a_command_can_begin_and_end_in_one_append", a_command_can_begin_and_end_in_one_append),
    ("a_command_needs_its_session", a_command_needs_its_session),
    ("the_first_answer_to_a_scope_stays_until_it_expires", the_first_answer_stays_until_it_expires),
    ("an_answer_commits_with_its_append_once", an_answer_commits_with_its_append_once),
];

fn command(key: &SessionKey, name: &str, idempotency_key: &str) -> NewCommand {
    NewCommand {
        id: id(name),
        key: key.clone(),
        idempotency_key: idempotency_key.to_owned(),
        digest: [3; 32],
        body: Bytes::from_static(b"do it"),
        created_at: time(9),
    }
}

fn an_idempotency_key_gives_the_first_command(bench: &mut dyn Bench) {
    let log = bench.log();
    let (a, b) = (made(&*log, "a"), made(&*log, "b"));
    let first = ok(log.enqueue(command(&a, "cmd_1", "k")));
    assert!(first.new);
    assert_eq!(first.command.state, CommandState::Pending);
    let again = ok(log.enqueue(NewCommand { digest: [4; 32], ..command(&a, "cmd_2", "k") }));
    assert!(!again.new);
    assert_eq!(again.command, first.command, "with the digest of the first");
    assert!(ok(log.enqueue(command(&b, "cmd_3", "k"))).new, "keys are unique in a session");
}

fn commands_are_pending_in_order_until_done(bench: &mut dyn Bench) {
    let log = bench.log();
    let (a, b) = (made(&*log, "a"), made(&*log, "b"));
    for (key, name) in [(&a, "cmd_1"), (&b, "cmd_2"), (&a, "cmd_3")] {
        ok(log.enqueue(command(key, name, name)));
    }
    let pending = |key: Option<&SessionKey>| -> Vec<String> {
        let found = match key {
            Some(key) => ok(log.pending_commands(WorkScope::Session(key.clone()))),
            None => all_pending_commands(&*log),
        };
        found.iter().map(|command| command.request.id.to_string()).collect()
    };
    assert_eq!(pending(None), ["cmd_1", "cmd_2", "cmd_3"]);
    assert_eq!(pending(Some(&a)), ["cmd_1", "cmd_3"]);
    ok(log.complete_command(&a, &id("cmd_1"), Bytes::from_static(b"refused")));
    assert_eq!(pending(None), ["cmd_2", "cmd_3"]);
    let done = ok(log.command(&a, &id("cmd_1"))).map(|command| command.state);
    assert_eq!(done, Some(CommandState::Done { outcome: Bytes::from_static(b"refused") }));
}

fn a_command_and_its_effects_commit_together(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    ok(log.enqueue(command(&key, "cmd_1", "k")));
    let state = || ok(log.command(&key, &id("cmd_1"))).map(|command| command.state);
    let attempt = |change: CommandChange, link: Option<crate::Link>| {
        let mut head = head(&*log, &key);
        head.link = link.unwrap_or(head.link);
        let chunk = chunk_after(&head, time(1), &[b"effect"]);
        log.append(Append { commands: vec![change], ..Append::new(key.clone(), epoch, chunk) })
    };
    let complete = || CommandChange::Complete { id: id("cmd_1"), outcome: Bytes::from_static(b"ok") };
    refused(attempt(complete(), Some(crate::Link([8; 8]))));
    assert_eq!(state(), Some(CommandState::Pending), "a refused append changes no command");
    ok(attempt(CommandChange::Claim(id("cmd_1")), None));
    assert_eq!(state(), Some(CommandState::Claimed));
    assert_eq!(all_pending_commands(&*log).len(), 1, "a claimed command is still pending");
    ok(attempt(complete(), None));
    assert_eq!(state(), Some(CommandState::Done { outcome: Bytes::from_static(b"ok") }));
    let twice = refused(attempt(complete(), None));
    assert_eq!(twice, LogError::Immutable { kind: "command", id: "cmd_1".to_owned() });
    assert_eq!(head(&*log, &key).last, seq(2), "an effect is not applied twice");
}

fn a_command_is_done_once(bench: &mut dyn Bench) {
    let log = bench.log();
    let key = made(&*log, "s");
    ok(log.enqueue(command(&key, "cmd_1", "k")));
    ok(log.complete_command(&key, &id("cmd_1"), Bytes::from_static(b"one")));
    let again = refused(log.complete_command(&key, &id("cmd_1"), Bytes::from_static(b"two")));
    assert_eq!(again, LogError::Immutable { kind: "command", id: "cmd_1".to_owned() });
    let absent = refused(log.complete_command(&key, &id("cmd_9"), Bytes::new()));
    assert_eq!(absent, LogError::NotFound { kind: "command", id: "cmd_9".to_owned() });
}

fn a_command_enqueued_with_an_append(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let attempt = |name: &str| {
        let chunk = chunk_after(&head(&*log, &key), time(1), &[b"turn.submitted"]);
        let commands = vec![CommandChange::Enqueue(command(&key, name, "k"))];
        log.append(Append { commands, ..Append::new(key.clone(), epoch, chunk) })
    };
    ok(attempt("cmd_1"));
    assert_eq!(refused(attempt("cmd_2")), LogError::CommandExists(id("cmd_1")));
    assert_eq!(head(&*log, &key).last, seq(1));
    assert_eq!(ok(log.pending_commands(WorkScope::Session(key.clone()))).len(), 1);
}

fn a_command_can_begin_and_end_in_one_append(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let attempt = |changes: Vec<CommandChange>| {
        let chunk = chunk_after(&head(&*log, &key), time(1), &[b"x"]);
        log.append(Append { commands: changes, ..Append::new(key.clone(), epoch, chunk) })
    };
    let outcome = Bytes::from_static(b"ok");
    ok(attempt(vec![
        CommandChange::Enqueue(command(&key, "cmd_1", "k1")),
        CommandChange::Claim(id("cmd_1")),
        CommandChange::Complete { id: id("cmd_1"), outcome: outcome.clone() },
    ]));
    let state = ok(log.command(&key, &id("cmd_1"))).map(|command| command.state);
    assert_eq!(state, Some(CommandState::Done { outcome }));
    let twice = vec![
        CommandChange::Enqueue(command(&key, "cmd_2", "k2")),
        CommandChange::Enqueue(command(&key, "cmd_3", "k2")),
    ];
    assert_eq!(refused(attempt(twice)), LogError::CommandExists(id("cmd_2")));
    let taken = LogError::Immutable { kind: "command", id: "cmd_1".to_owned() };
    assert_eq!(refused(attempt(vec![CommandChange::Enqueue(command(&key, "cmd_1", "k3"))])), taken);
    assert_eq!(refused(log.enqueue(command(&key, "cmd_1", "k4"))), taken);
    assert_eq!(head(&*log, &key).last, seq(1));
}

fn a_command_needs_its_session(bench: &mut dyn Bench) {
    let log = bench.log();
    let absent = key("absent");
    let error = refused(log.enqueue(command(&absent, "cmd_1", "k")));
    assert_eq!(error, LogError::NoSession(absent.session));
}

fn answer(response: &'static str, expires: u64) -> IdempotencyRecord {
    IdempotencyRecord {
        tenant: id("acme"),
        scope: "POST /v1/sessions k".to_owned(),
        digest: [5; 32],
        response: Bytes::from_static(response.as_bytes()),
        created_at: time(1_700_000_000_000),
        expires_at: time(expires),
    }
}

fn the_first_answer_stays_until_it_expires(bench: &mut dyn Bench) {
    let log = bench.log();
    let first = answer("201 a", 1_700_000_010_000);
    assert_eq!(ok(log.remembered(&first.tenant, &first.scope)), None);
    assert!(ok(log.remember(first.clone())).new);
    let again = ok(log.remember(IdempotencyRecord { digest: [6; 32], ..answer("201 b", 1_700_000_010_000) }));
    assert!(!again.new);
    assert_eq!(again.record, first);
    assert_eq!(ok(log.remembered(&first.tenant, &first.scope)), Some(first.clone()));
    assert_eq!(ok(log.remembered(&id("other"), &first.scope)), None);
    bench.clock().advance(TTL);
    assert_eq!(ok(log.remembered(&first.tenant, &first.scope)), None);
    assert!(ok(log.remember(answer("201 c", 1_700_000_090_000))).new);
}

fn an_answer_commits_with_its_append_once(bench: &mut dyn Bench) {
    let log = bench.log();
    let (epoch, key) = (own(&*log), made(&*log, "s"));
    let record = answer("202", 1_800_000_000_000);
    let attempt = |records: &[&[u8]]| {
        let chunk = chunk_after(&head(&*log, &key), time(1), records);
        log.append(Append { idempotency: vec![record.clone()], ..Append::new(key.clone(), epoch, chunk) })
    };
    ok(attempt(&[b"a"]));
    assert_eq!(refused(attempt(&[b"b"])), LogError::IdempotencyExists(record.scope.clone()));
    assert_eq!(head(&*log, &key).last, seq(1));
    assert_eq!(ok(log.remembered(&record.tenant, &record.scope)), Some(record.clone()));
}
