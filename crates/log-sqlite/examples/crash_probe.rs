//! Appends until it is killed, or checks what a killed one left. For crash loops and fault injection by hand.
//!
//! `crash_probe write DIR` prints `session sequence` for every event that is durable, and exits 74 when the store
//! fails.
//! `crash_probe check DIR ACKS` reads the directory again and compares it with what was printed.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Sequence, SessionId, TenantId};
use riverrun_log::{
    Append, Catalogue, EventStore, LogError, Maintenance, SessionKey, SessionSpec, Shard, ShardLeases,
    UnixMillis,
};
use riverrun_log_sqlite::{SqliteLog, SqliteOptions};

const SESSIONS: usize = 8;

fn key(n: usize) -> SessionKey {
    let session = SessionId::new(format!("ses_{n}")).expect("a valid id");
    SessionKey::new(TenantId::new("acme").expect("a valid id"), session)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "write", directory] => write(directory),
        [_, "check", directory, acks] => check(directory, acks),
        _ => std::process::exit(64),
    }
}

fn open(directory: &str) -> SqliteLog {
    let on_fatal = |what: &str| {
        eprintln!("fatal: {what}");
        std::process::exit(74);
    };
    // Small, so that packing and checkpoints happen within seconds.
    let options = SqliteOptions {
        on_fatal: Some(Arc::new(on_fatal)),
        wal_bytes: 256 << 10,
        live_bytes: 128 << 10,
        reserve_bytes: 128 << 10,
        ..SqliteOptions::new(directory)
    };
    match SqliteLog::open(options) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(i32::from(error.exit_code()));
        }
    }
}

fn write(directory: &str) {
    let log = open(directory);
    let owner = "own_probe".parse().expect("a valid id");
    let epoch = log.acquire(Shard(0), &owner, Duration::from_secs(10)).wait().expect("ours").epoch;
    std::thread::scope(|scope| {
        for n in 0..SESSIONS {
            let log = &log;
            scope.spawn(move || {
                let key = key(n);
                while log.create_session(&key, SessionSpec::default()).wait().is_err() {}
                loop {
                    one(log, &key, epoch);
                }
            });
        }
    });
}

fn one(log: &SqliteLog, key: &SessionKey, epoch: riverrun_log::Epoch) {
    let Ok(Some(mut head)) = log.head(key).wait() else { return };
    let mut tickets = Vec::new();
    for _ in 0..3 {
        let Some(mut builder) = head.next_chunk(UnixMillis::from_millis(1)) else { return };
        builder.push(format!("{} {}", key.session, head.last.get() + 1).as_bytes());
        let Some(chunk) = builder.finish() else { return };
        head.advance(&chunk);
        tickets.push(log.append(Append::new(key.clone(), epoch, chunk)));
    }
    for ticket in tickets {
        match ticket.wait() {
            Ok(appended) => {
                // One write per line: a line is there whole or not at all.
                let line = format!("{} {}\n", key.session, appended.last);
                if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
                    std::process::exit(0);
                }
            }
            Err(LogError::Full) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return,
        }
    }
}

fn check(directory: &str, acks: &str) {
    let text = std::fs::read_to_string(acks).expect("readable");
    let mut acked: HashMap<&str, u64> = HashMap::new();
    for line in text.lines() {
        if let Some((session, sequence)) = line.split_once(' ')
            && let Ok(sequence) = sequence.parse::<u64>()
        {
            let last = acked.entry(session).or_default();
            *last = sequence.max(*last);
        }
    }
    let log = open(directory);
    let mut lost = 0;
    for n in 0..SESSIONS {
        let key = key(n);
        let stored = count(&log, &key);
        lost += acked.get(key.session.as_str()).copied().unwrap_or(0).saturating_sub(stored);
    }
    let found = log.verify().wait().expect("readable");
    println!(
        "acked {}, stored {}, lost {lost}, defects {}",
        acked.values().sum::<u64>(),
        found.events,
        found.defects.len()
    );
    if lost > 0 || !found.defects.is_empty() {
        println!("{:?}", found.defects);
        std::process::exit(1);
    }
}

/// How many events a session has; each must be the one that was appended there.
fn count(log: &SqliteLog, key: &SessionKey) -> u64 {
    let mut after = Sequence::ZERO;
    loop {
        let chunks = match log.read(key, after, 1 << 20).wait() {
            Ok(chunks) => chunks,
            Err(LogError::NoSession(_)) => return 0,
            Err(error) => panic!("{error}"),
        };
        let Some(last) = chunks.last() else { return after.get() };
        for (n, record) in chunks.iter().flat_map(|chunk| chunk.records_after(after)) {
            assert_eq!(record, format!("{} {n}", key.session).as_bytes());
        }
        after = last.last();
    }
}
