//! Syncs: that they happen, and that a failed one is the end.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{SESSION, Sequential, check};
use crate::crash::server::{Place, Program, Server};
use crate::crash::strace;

const APPENDS: u32 = 20;
const EXIT: i32 = 74;

fn notice(name: &str) {
    println!("{name}: SKIPPED, strace is missing or tracing is not permitted here");
}

/// Every acknowledged append was preceded by a sync of its own, and the directory of new files was synced.
/// False, with a notice, where it cannot be seen.
pub fn discipline(program: &Program) -> Result<bool> {
    if !strace::is_permitted() {
        notice("sync discipline");
        return Ok(false);
    }
    let folder = tempfile::tempdir()?;
    let (place, trace) = (Place::new(folder.path())?, folder.path().join("trace"));
    let (server, _) = Server::start(&strace::under(program, &trace, None), &place)?;
    place.create_session(SESSION)?;
    let before = strace::read(&trace).len();
    let mut producer = Sequential::new(&place)?;
    for _ in 0..APPENDS {
        ensure!(producer.append()?, "an append was refused");
    }
    // A trace is written through at once, a line a call.
    let all = strace::read(&trace);
    server.kill()?;
    let of_log = all[before..].iter().filter(|sync| sync.call.contains("log.db-wal")).count();
    ensure!(
        of_log >= APPENDS as usize,
        "{APPENDS} appends were acknowledged after {of_log} syncs of the log"
    );
    let directory = format!("<{}>", place.data.display());
    // A file that was made is synced with all that belongs to it, and then its name must be.
    let made =
        all.iter().position(|sync| sync.call.starts_with("fsync(") && sync.call.contains("log.db-wal"));
    let named = made.and_then(|at| all.get(at + 1)).is_some_and(|sync| sync.call.contains(&directory));
    ensure!(named, "the directory was not synced after the write-ahead file was made");
    println!("sync discipline: {APPENDS} appends, {of_log} syncs of the log, its directory synced");
    Ok(true)
}

/// Fails one sync after the other, from the first of the start to the `after`-th behind it.
pub fn failing_sync(program: &Program, after: u64) -> Result<bool> {
    if !strace::is_permitted() {
        notice("failing sync");
        return Ok(false);
    }
    let at_start = syncs_at_start(program)?;
    let (mut swept, mut acked, mut before_ready) = (0, 0, 0);
    for failing in 1..=at_start + after {
        let survived = fail_one(program, failing).with_context(|| format!("sync {failing} failed"))?;
        swept += 1;
        match survived {
            Some(count) => acked += count,
            None => before_ready += 1,
        }
    }
    println!(
        "failing sync: {swept}/{swept} syncs failed in turn ({before_ready} during start), exit code {EXIT} each \
         time, acks after the first EIO 0, acked {acked}, lost 0"
    );
    Ok(true)
}

fn syncs_at_start(program: &Program) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let (place, trace) = (Place::new(folder.path())?, folder.path().join("trace"));
    let (server, _) = Server::start(&strace::under(program, &trace, None), &place)?;
    server.kill()?;
    Ok(strace::read(&trace).len() as u64)
}

/// What was acknowledged, or None if the failure came before the server was ready.
fn fail_one(program: &Program, failing: u64) -> Result<Option<u64>> {
    let folder = tempfile::tempdir()?;
    let (place, trace) = (Place::new(folder.path())?, folder.path().join("trace"));
    let mut server = Server::spawn(&strace::under(program, &trace, Some(failing)), &place)?;
    let mut producer = None;
    if server.wait_ready().is_ok() && place.create_session(SESSION).is_ok() {
        let mut sequential = Sequential::new(&place)?;
        // Every append syncs, so the failing one comes soon.
        for _ in 0..failing + 20 {
            if !sequential.append().unwrap_or(false) {
                break;
            }
        }
        producer = Some(sequential);
    }
    let status = server.wait(Duration::from_secs(10))?;
    let Some(status) = status else { bail!("the server went on after a failed sync") };
    ensure!(status.code() == Some(EXIT), "the server ended with {status}, not {EXIT}:\n{}", place.said());
    let injected = strace::read(&trace).into_iter().find(|sync| sync.call.contains("INJECTED"));
    let injected = injected.context("no sync was made to fail")?;
    let late =
        producer.iter().flat_map(|producer| &producer.sent).filter(|sent| **sent > injected.at).count();
    ensure!(late == 0, "{late} appends were taken and acknowledged after the failed sync");
    let (_server, _) = Server::start(program, &place).context("starting again")?;
    let Some(producer) = producer else { return Ok(None) };
    check(&place, &producer.acked).map(|verdict| Some(verdict.acked))
}
