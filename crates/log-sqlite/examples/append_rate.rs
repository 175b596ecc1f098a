//! Measures the engine alone: appends per second, stored bytes per event, events read per second.
//!
//! `cargo run --release -p riverrun-log-sqlite --example append_rate [directory] [part of a case's name] [divisor]`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use riverrun_event::{Sequence, SessionId, TenantId};
use riverrun_log::{
    Append, Catalogue, Epoch, EventStore, LogTicket, Maintenance, SessionHead, SessionKey, SessionSpec,
    Shard, ShardLeases, UnixMillis,
};
use riverrun_log_sqlite::{SqliteLog, SqliteOptions};

const WORDS: &[&str] = &[
    "river", "stream", "token", "session", "the", "of", "and", "model", "answer", "durable", "a", "in", "to",
    "is", "that", "event", "sequence", "cursor", "resume", "client", "log", "state", "for", "with", "as",
    "on", "fold",
];

/// A record like those of `model.delta`: about 197 bytes, the text different each time.
fn record(n: u64) -> Vec<u8> {
    let mut seed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    while text.len() < 24 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        text.push_str(WORDS[(seed % WORDS.len() as u64) as usize]);
        text.push(' ');
    }
    let mut record = format!(
        r#"{{"type":"model.delta","turnId":"turn_01k9xqz6f2e8","taskId":"task_01k9xqz6f2e9","stepId":"step_{}","payload":{{"delta":"{text}","itemId":"item_01k9xqz6"}},"at":{n}}}"#,
        n / 400
    );
    while record.len() < 197 {
        record.push(' ');
    }
    record.into_bytes()
}

/// Fewer events, for tools that count instructions.
fn divisor() -> u64 {
    std::env::args().nth(3).and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Made before the clock starts: what is measured is the log.
fn records() -> &'static [Vec<u8>] {
    static RECORDS: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    RECORDS.get_or_init(|| (0..100_000).map(record).collect())
}

/// Processor time of this process so far, in microseconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks * 10_000.0
}

struct Bench {
    log: Arc<SqliteLog>,
    epoch: Epoch,
}

fn main() {
    let base = std::env::args().nth(1).map_or_else(|| PathBuf::from("target/append_rate"), PathBuf::from);
    let wanted = std::env::args().nth(2).unwrap_or_default();
    records();
    for (name, sessions, events, batch, threads) in [
        ("1 event per append, 1 session, one at a time", 1, 5_000, 1, 1),
        ("1 event per append, 100 sessions, one at a time each", 100, 300_000, 1, 100),
        ("1 event per append, 1,000 sessions, one at a time each", 1_000, 600_000, 1, 2),
        ("100 events per append, 10 sessions", 10, 2_000_000, 100, 2),
        ("1 event per append, 10,000 sessions", 10_000, 600_000, 1, 2),
    ] {
        if !name.contains(&wanted) {
            continue;
        }
        let directory = base.join("data");
        let _ = std::fs::remove_dir_all(&directory);
        let bench = Bench::open(&directory);
        bench.appends(name, sessions, events / divisor(), batch, threads);
    }
    let _ = std::fs::remove_dir_all(base.join("data"));
    if "growth".contains(&wanted) {
        growth(&base.join("data"));
    }
    if "reads".contains(&wanted) {
        reads(&base.join("data"));
    }
}

fn key(n: usize) -> SessionKey {
    let session = SessionId::new(format!("ses_{n:06}")).expect("a valid id");
    SessionKey::new(TenantId::new("acme").expect("a valid id"), session)
}

impl Bench {
    fn open(directory: &Path) -> Self {
        let log = Arc::new(SqliteLog::open(SqliteOptions::new(directory)).expect("a directory of our own"));
        let owner = "own_bench".parse().expect("a valid id");
        let lease = log.acquire(Shard(0), &owner, Duration::from_secs(10)).wait().expect("the lease is free");
        Self { log, epoch: lease.epoch }
    }

    fn create(&self, sessions: usize) {
        let tickets: Vec<_> =
            (0..sessions).map(|n| self.log.create_session(&key(n), SessionSpec::default())).collect();
        tickets.into_iter().for_each(|ticket| drop(ticket.wait().expect("created")));
    }

    /// Each session has one append under way; its next one is handed over when that is durable.
    fn appends(&self, name: &str, sessions: usize, events: u64, batch: u64, threads: usize) {
        self.create(sessions);
        let per_session = events / sessions as u64 / batch;
        let (start, cpu_before) = (Instant::now(), cpu());
        let mut waits: Vec<Duration> = std::thread::scope(|scope| {
            let spawn = |thread: usize| {
                let mine: Vec<usize> = (0..sessions).filter(|n| n % threads == thread).collect();
                scope.spawn(move || self.drive(&mine, per_session, batch))
            };
            let threads: Vec<_> = (0..threads).map(spawn).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        let seconds = start.elapsed().as_secs_f64();
        waits.sort();
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        let rate = (per_session * sessions as u64 * batch) as f64 / seconds;
        let events = per_session * sessions as u64 * batch;
        let cpu = (cpu() - cpu_before) / events as f64;
        println!(
            "{name}: {rate:.0} events/s, p50 {:.2} ms, p99 {:.2} ms, {cpu:.2} µs CPU each",
            at(0.5),
            at(0.99)
        );
        self.sizes(events);
    }

    fn drive(&self, sessions: &[usize], rounds: u64, batch: u64) -> Vec<Duration> {
        let start = |n: &usize| (key(*n), self.log.head(&key(*n)).wait().expect("readable").expect("there"));
        let mut heads: Vec<(SessionKey, SessionHead)> = sessions.iter().map(start).collect();
        let mut waits = Vec::new();
        for round in 0..rounds {
            let mut tickets: Vec<(Instant, LogTicket<_>)> = Vec::new();
            for (key, head) in &mut heads {
                let append = next(key, head, self.epoch, round * batch, batch);
                tickets.push((Instant::now(), self.log.append(append)));
            }
            for (start, ticket) in tickets {
                ticket.wait().expect("durable");
                waits.push(start.elapsed());
            }
        }
        waits
    }

    fn sizes(&self, events: u64) {
        let stats = self.log.stats().wait().expect("readable");
        let (stored, disk) =
            (stats.event_bytes as f64 / events as f64, stats.disk_bytes as f64 / events as f64);
        println!(
            "    {stored:.0} bytes per event in rows, {disk:.0} on disk with free pages and the write-ahead file"
        );
    }
}

fn next(key: &SessionKey, head: &mut SessionHead, epoch: Epoch, from: u64, count: u64) -> Append {
    let now = UnixMillis::from_millis(1_700_000_000_000 + from);
    let mut builder = head.next_chunk(now).expect("not exhausted");
    (from..from + count).for_each(|n| builder.push(&records()[(n % 100_000) as usize]));
    let chunk = builder.finish().expect("in range");
    head.advance(&chunk);
    Append::new(key.clone(), epoch, chunk)
}

/// One session grows to a million events: the cost of an append must not.
fn growth(directory: &Path) {
    let bench = Bench::open(directory);
    bench.create(1);
    let mut head = bench.log.head(&key(0)).wait().expect("readable").expect("there");
    for part in 0..4 {
        let (start, cpu_before) = (Instant::now(), cpu());
        let mut tickets = Vec::new();
        for n in 0..250_000 {
            let append = next(&key(0), &mut head, bench.epoch, part * 250_000 + n, 1);
            tickets.push(bench.log.append(append));
            if tickets.len() == 1_000 {
                tickets.drain(..).for_each(|ticket| assert!(ticket.wait().is_ok()));
            }
        }
        let rate = 250_000.0 / start.elapsed().as_secs_f64();
        let (from, to) = (part * 250_000 + 1, (part + 1) * 250_000);
        let cpu = (cpu() - cpu_before) / 250_000.0;
        println!("one session, events {from} to {to}: {rate:.0} events/s, {cpu:.2} µs CPU each");
    }
    bench.sizes(1_000_000);
}

fn reads(directory: &Path) {
    let _ = std::fs::remove_dir_all(directory);
    let bench = Bench::open(directory);
    bench.create(1);
    let mut head = bench.log.head(&key(0)).wait().expect("readable").expect("there");
    let tickets: Vec<_> =
        (0..100_000).map(|n| bench.log.append(next(&key(0), &mut head, bench.epoch, n, 1))).collect();
    tickets.into_iter().for_each(|ticket| assert!(ticket.wait().is_ok()));
    read_all(&bench, "live");
    bench.sizes(100_000);
    let sealed = bench.log.seal(&key(0), Sequence::MAX).wait().expect("sealed");
    println!("sealed: {:.0} bytes per event", sealed.bytes_after as f64 / sealed.events as f64);
    read_all(&bench, "sealed");
    let start = Instant::now();
    drop(bench);
    let log = SqliteLog::open(SqliteOptions::new(directory)).expect("ours");
    println!("close and open: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    let found = log.verify().wait().expect("readable");
    println!("verify: {} events, {} defects", found.events, found.defects.len());
}

/// The best of many rounds: the first ones meet cold memory, others a busy machine.
fn read_all(bench: &Bench, name: &str) {
    let best = (0..20).map(|_| read_once(bench)).min().unwrap_or_default();
    println!("read 100000 {name} events: {:.1} M events/s", 0.1 / best.as_secs_f64());
}

fn read_once(bench: &Bench) -> Duration {
    let start = Instant::now();
    let (mut after, mut events) = (Sequence::ZERO, 0u64);
    loop {
        let chunks = bench.log.read(&key(0), after, 1 << 20).wait().expect("readable");
        let Some(last) = chunks.last() else { break };
        after = last.last();
        events +=
            chunks.iter().flat_map(|chunk| chunk.records()).filter(|(_, record)| !record.is_empty()).count()
                as u64;
    }
    assert_eq!(events, 100_000);
    start.elapsed()
}
