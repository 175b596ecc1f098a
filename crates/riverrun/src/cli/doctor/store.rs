//! Every stored event, and every snapshot against the events it stands for.

use std::collections::BTreeSet;
use std::path::Path;

use riverrun_event::{Record, Sequence, TenantId};
use riverrun_fold::State;
use riverrun_log::{Log, LogError, Maintenance, SessionKey, SessionQuery, Snapshot};
use riverrun_log_sqlite::STORE;

use super::super::exit::Exit;
use super::super::output::Output;
use super::super::store::open;
use super::Check;

const READ_BYTES: usize = 1 << 20;
/// How often a long check says how far it is, in sessions.
const SAY_EVERY: usize = 1000;
const RESTORE: &str = "restore a backup; what is not named here is good";

pub async fn checks(data_dir: &Path, output: Output) -> Vec<Check> {
    if !data_dir.join(STORE).exists() {
        return vec![Check::skipped("store", format!("{} holds no store yet", data_dir.display()))];
    }
    let log = match open(data_dir, None) {
        Ok(log) => log,
        Err(failure) if failure.exit == Exit::Locked => {
            let detail =
                format!("{} is in use; stop its server to have every event read", data_dir.display());
            return vec![Check::skipped("store", detail)];
        }
        Err(failure) if failure.exit == Exit::Corrupt => {
            return vec![Check::corrupt("store", failure.what, RESTORE)];
        }
        Err(failure) => {
            let fix = failure.hint.unwrap_or_else(|| RESTORE.to_owned());
            return vec![Check::bad("store", failure.what, fix)];
        }
    };
    output.note(&format!("reading every event of {}", data_dir.display()));
    let mut checks = vec![events(log.as_ref()).await, snapshots(log.as_ref(), output).await];
    if let Some(what) = log.recovered() {
        let detail = format!("the last commit was not whole and was dropped: {what}");
        let fix = "after a kill or a power loss nothing acknowledged was in it; otherwise check the disk";
        checks.push(Check::bad("last commit", detail, fix));
    }
    // Only read from: nothing is lost if it cannot be closed well.
    let _ = log.close().await;
    checks
}

/// Checksums, links, heads and hashes.
async fn events(log: &dyn Log) -> Check {
    let found = match log.verify().await {
        Ok(found) => found,
        Err(error) => return Check::bad("store", error.to_string(), RESTORE),
    };
    let Some(first) = found.defects.first() else {
        let detail = format!(
            "{} events in {} chunks of {} sessions, {} snapshots, {} blobs",
            found.events, found.chunks, found.sessions, found.snapshots, found.blobs
        );
        return Check::good("store", detail);
    };
    let place = match (&first.key, first.range) {
        (Some(key), Some((from, to))) => format!(" in events {from} to {to} of `{}`", key.session),
        (Some(key), None) => format!(" in `{}`", key.session),
        (None, _) => String::new(),
    };
    let more = found.defects.len() - 1;
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Check::corrupt("store", format!("{}{place}{more}", first.what), RESTORE)
}

/// How the snapshots compare with the fold of their events.
#[derive(Debug, Default, PartialEq, Eq)]
struct Compared {
    equal: usize,
    different: Vec<String>,
    /// Their first events were retired, so there is nothing to fold from.
    alone: usize,
    none: usize,
}

async fn snapshots(log: &dyn Log, output: Output) -> Check {
    let compared = match compare_all(log, output).await {
        Ok(compared) => compared,
        Err(error) => return Check::bad("snapshots", error.to_string(), RESTORE),
    };
    if let Some(first) = compared.different.first() {
        let detail =
            format!("{} are not the fold of their events, `{first}` first", compared.different.len());
        return Check::corrupt("snapshots", detail, "report it; the events are good and fold anew");
    }
    let Compared { equal, alone, none, .. } = compared;
    let retired = if alone > 0 { format!(", {alone} outlived their events") } else { String::new() };
    Check::good(
        "snapshots",
        format!("{equal} are the fold of their events{retired}; {none} sessions need none yet"),
    )
}

async fn compare_all(log: &dyn Log, output: Output) -> Result<Compared, LogError> {
    let mut compared = Compared::default();
    let mut seen = 0;
    for tenant in tenants(log).await? {
        let mut query = SessionQuery::all(tenant);
        loop {
            let page = log.sessions(query.clone()).await?;
            for session in page.items {
                compare(log, &session.key, session.head.first_available, &mut compared).await?;
                seen += 1;
                if seen % SAY_EVERY == 0 {
                    output.note(&format!("{seen} sessions folded"));
                }
            }
            query.page.cursor = page.next;
            if query.page.cursor.is_none() {
                break;
            }
        }
    }
    Ok(compared)
}

/// Whoever ever had a key.
async fn tenants(log: &dyn Log) -> Result<BTreeSet<TenantId>, LogError> {
    Ok(log.keys(None).await?.into_iter().map(|key| key.tenant).collect())
}

async fn compare(
    log: &dyn Log,
    key: &SessionKey,
    kept_from: Sequence,
    compared: &mut Compared,
) -> Result<(), LogError> {
    let Some(snapshot) = log.snapshot(key, Sequence::MAX).await?.snapshot else {
        compared.none += 1;
        return Ok(());
    };
    if kept_from.get() > 1 {
        compared.alone += 1;
        return Ok(());
    }
    match is_fold(log, key, &snapshot).await? {
        true => compared.equal += 1,
        false => compared.different.push(key.session.to_string()),
    }
    Ok(())
}

async fn is_fold(log: &dyn Log, key: &SessionKey, snapshot: &Snapshot) -> Result<bool, LogError> {
    let stored = std::str::from_utf8(&snapshot.bytes).ok().and_then(|text| State::from_json(text).ok());
    let Some(stored) = stored else { return Ok(false) };
    let mut state = State::new(key.session.clone());
    let mut changes = Vec::new();
    while state.sequence < snapshot.sequence {
        let chunks = log.read(key, state.sequence, READ_BYTES).await?;
        if chunks.is_empty() {
            return Ok(false);
        }
        for chunk in &chunks {
            for (sequence, bytes) in
                chunk.records_after(state.sequence).take_while(|(at, _)| *at <= snapshot.sequence)
            {
                let event = Record::read(bytes).and_then(|record| record.to_event(sequence));
                let Ok(event) = event else { return Ok(false) };
                let _ = state.apply(&event, &mut changes);
                changes.clear();
            }
        }
    }
    Ok(state.to_json() == stored.to_json())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use riverrun_log::memory::MemoryLog;
    use riverrun_log::{ApiKey, BlobStore, Catalogue, KeyStore, SessionSpec, SystemClock};

    use super::*;

    /// A snapshot of an empty log with this title.
    async fn check(title: Option<&str>, expected: Compared) {
        let log = MemoryLog::new(Arc::new(SystemClock));
        let key = SessionKey::new("t".parse().expect("an id"), "s".parse().expect("an id"));
        log.create_session(&key, SessionSpec::default()).await.expect("it is made");
        log.put_key(api_key(&key.tenant)).await.expect("it is stored");
        if let Some(title) = title {
            let mut state = State::new(key.session.clone());
            state.session.title = Some(title.to_owned()).filter(|title| !title.is_empty());
            let snapshot = Snapshot { sequence: Sequence::ZERO, bytes: state.to_json().into() };
            log.put_snapshot(&key, snapshot).await.expect("it is stored");
        }
        let output = Output { json: false, quiet: true, color: Default::default() };
        assert_eq!(compare_all(&log, output).await, Ok(expected));
    }

    fn api_key(tenant: &TenantId) -> ApiKey {
        let at = riverrun_log::UnixMillis::from_millis(0);
        ApiKey {
            id: "key_1".parse().expect("an id"),
            tenant: tenant.clone(),
            hash: [0; 32],
            scopes: Vec::new(),
            label: String::new(),
            created_at: at,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        }
    }

    #[tokio::test]
    async fn a_snapshot_that_is_not_the_fold_is_found() {
        check(None, Compared { none: 1, ..Compared::default() }).await;
        check(Some(""), Compared { equal: 1, ..Compared::default() }).await;
        check(Some("invented"), Compared { different: vec!["s".to_owned()], ..Compared::default() }).await;
    }
}
