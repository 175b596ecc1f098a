//! Commands and stored answers.

use bytes::Bytes;
use riverrun_event::{CommandId, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    CommandChange, CommandState, Digest, Enqueued, IdempotencyRecord, LogError, NewCommand, Remembered,
    SessionKey, StoredCommand, UnixMillis, WorkScope,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::TransactionFault;
use crate::leases;
use crate::rows::{bytes_at, id_at, key_at, millis, time_at};

/// Stored states. A number is never reused.
const PENDING: i64 = 0;
const CLAIMED: i64 = 1;
const DONE: i64 = 2;

const COLUMNS: &str =
    "SELECT c.number, c.id, c.idempotency_key, c.digest, c.body, c.created_at, c.state, c.outcome,
    s.tenant, s.session FROM commands c JOIN sessions s ON s.number = c.session";

fn read(row: &Row<'_>) -> rusqlite::Result<StoredCommand> {
    let state = match row.get::<_, i64>(6)? {
        PENDING => CommandState::Pending,
        CLAIMED => CommandState::Claimed,
        _ => CommandState::Done { outcome: bytes_at(row, 7)? },
    };
    let request = NewCommand {
        id: id_at(row, 1)?,
        key: key_at(row, 8)?,
        idempotency_key: row.get(2)?,
        digest: row.get::<_, Digest>(3)?,
        body: bytes_at(row, 4)?,
        created_at: time_at(row, 5)?,
    };
    Ok(StoredCommand { number: row.get::<_, i64>(0)? as u64, request, state })
}

pub fn enqueue(
    connection: &Connection,
    session: i64,
    command: NewCommand,
) -> Result<Enqueued, TransactionFault> {
    if let Some(command) = with_key(connection, session, &command.idempotency_key)? {
        return Ok(Enqueued { command, new: false });
    }
    check_id(connection, session, &command.id)?;
    let number = store(connection, session, &command)?;
    Ok(Enqueued {
        command: StoredCommand { number, request: command, state: CommandState::Pending },
        new: true,
    })
}

fn with_key(
    connection: &Connection,
    session: i64,
    idempotency_key: &str,
) -> rusqlite::Result<Option<StoredCommand>> {
    let sql = format!("{COLUMNS} WHERE c.session = ?1 AND c.idempotency_key = ?2");
    connection.prepare_cached(&sql)?.query_row(params![session, idempotency_key], read).optional()
}

fn store(connection: &Connection, session: i64, command: &NewCommand) -> rusqlite::Result<u64> {
    let sql = "INSERT INTO commands (session, id, idempotency_key, digest, body, created_at, state)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)";
    connection.prepare_cached(sql)?.execute(params![
        session,
        command.id.as_str(),
        command.idempotency_key,
        &command.digest[..],
        &command.body[..],
        millis(command.created_at)
    ])?;
    Ok(connection.last_insert_rowid() as u64)
}

/// Whether the changes of an append can be made, one after the other; nothing is written yet.
pub fn check(
    connection: &Connection,
    session: i64,
    changes: &[CommandChange],
) -> Result<(), TransactionFault> {
    let mut enqueued: Vec<&NewCommand> = Vec::new();
    for change in changes {
        match change {
            CommandChange::Enqueue(command) => {
                let same = |earlier: &&&NewCommand| earlier.idempotency_key == command.idempotency_key;
                if let Some(known) = enqueued.iter().find(same) {
                    return Err(LogError::CommandExists(known.id.clone()).into());
                }
                check_new(connection, session, command)?;
                enqueued.push(command);
            }
            CommandChange::Claim(id) | CommandChange::Complete { id, .. } => {
                if !enqueued.iter().any(|command| command.id == *id) {
                    check_not_done(connection, session, id)?;
                }
            }
        }
    }
    Ok(())
}

/// Neither the idempotency key nor the id may be in use.
fn check_new(connection: &Connection, session: i64, command: &NewCommand) -> Result<(), TransactionFault> {
    if let Some(known) = with_key(connection, session, &command.idempotency_key)? {
        return Err(LogError::CommandExists(known.request.id).into());
    }
    check_id(connection, session, &command.id)
}

fn check_id(connection: &Connection, session: i64, id: &CommandId) -> Result<(), TransactionFault> {
    let sql = "SELECT 1 FROM commands WHERE session = ?1 AND id = ?2";
    if connection.prepare_cached(sql)?.exists(params![session, id.as_str()])? {
        return Err(LogError::Immutable { kind: "command", id: id.to_string() }.into());
    }
    Ok(())
}

fn check_not_done(connection: &Connection, session: i64, id: &CommandId) -> Result<(), TransactionFault> {
    let sql = "SELECT state FROM commands WHERE session = ?1 AND id = ?2";
    let parameters = params![session, id.as_str()];
    let state: Option<i64> =
        connection.prepare_cached(sql)?.query_row(parameters, |row| row.get(0)).optional()?;
    match state {
        None => Err(LogError::NotFound { kind: "command", id: id.to_string() }.into()),
        Some(DONE) if !seeded::is_on(Bug::ForgetCommand) => {
            Err(LogError::Immutable { kind: "command", id: id.to_string() }.into())
        }
        Some(_) => Ok(()),
    }
}

pub fn apply(connection: &Connection, session: i64, changes: &[CommandChange]) -> rusqlite::Result<()> {
    changes.iter().try_for_each(|change| match change {
        CommandChange::Enqueue(command) => store(connection, session, command).map(drop),
        CommandChange::Claim(id) => set_state(connection, session, id, CLAIMED, None),
        CommandChange::Complete { id, outcome } => set_state(connection, session, id, DONE, Some(outcome)),
    })
}

fn set_state(
    connection: &Connection,
    session: i64,
    id: &CommandId,
    state: i64,
    outcome: Option<&Bytes>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE commands SET state = ?3, outcome = ?4 WHERE session = ?1 AND id = ?2";
    let outcome = outcome.map(|outcome| &outcome[..]);
    connection.prepare_cached(sql)?.execute(params![session, id.as_str(), state, outcome]).map(drop)
}

pub fn complete(
    connection: &Connection,
    session: i64,
    id: &CommandId,
    outcome: &Bytes,
) -> Result<(), TransactionFault> {
    check_not_done(connection, session, id)?;
    Ok(set_state(connection, session, id, DONE, Some(outcome))?)
}

pub fn pending(connection: &Connection, scope: &WorkScope) -> rusqlite::Result<Vec<StoredCommand>> {
    if !leases::is_ours(scope) {
        return Ok(Vec::new());
    }
    let WorkScope::Session(key) = scope else {
        let sql = format!("{COLUMNS} WHERE c.state < 2 ORDER BY c.number");
        return connection.prepare_cached(&sql)?.query_map([], read)?.collect();
    };
    let sql = format!("{COLUMNS} WHERE c.state < 2 AND s.tenant = ?1 AND s.session = ?2 ORDER BY c.number");
    let parameters = params![key.tenant.as_str(), key.session.as_str()];
    connection.prepare_cached(&sql)?.query_map(parameters, read)?.collect()
}

pub fn get(
    connection: &Connection,
    key: &SessionKey,
    id: &CommandId,
) -> rusqlite::Result<Option<StoredCommand>> {
    let sql = format!("{COLUMNS} WHERE s.tenant = ?1 AND s.session = ?2 AND c.id = ?3");
    let parameters = params![key.tenant.as_str(), key.session.as_str(), id.as_str()];
    connection.prepare_cached(&sql)?.query_row(parameters, read).optional()
}

pub fn answer(
    connection: &Connection,
    tenant: &TenantId,
    scope: &str,
    now: UnixMillis,
) -> rusqlite::Result<Option<IdempotencyRecord>> {
    let sql = "SELECT digest, response, created_at, expires_at FROM answers
               WHERE tenant = ?1 AND scope = ?2 AND expires_at > ?3";
    let read = |row: &Row<'_>| {
        Ok(IdempotencyRecord {
            tenant: tenant.clone(),
            scope: scope.to_owned(),
            digest: row.get::<_, Digest>(0)?,
            response: bytes_at(row, 1)?,
            created_at: time_at(row, 2)?,
            expires_at: time_at(row, 3)?,
        })
    };
    connection.prepare_cached(sql)?.query_row(params![tenant.as_str(), scope, millis(now)], read).optional()
}

pub fn check_answers(
    connection: &Connection,
    records: &[IdempotencyRecord],
    now: UnixMillis,
) -> Result<(), TransactionFault> {
    records.iter().try_for_each(|record| match answer(connection, &record.tenant, &record.scope, now)? {
        Some(_) => Err(LogError::IdempotencyExists(record.scope.clone()).into()),
        None => Ok(()),
    })
}

/// Stores answers in place of expired ones, and clears a few expired ones away.
pub fn store_answers(connection: &Connection, records: &[IdempotencyRecord]) -> rusqlite::Result<()> {
    for record in records {
        let sql = "INSERT OR REPLACE INTO answers (tenant, scope, digest, response, created_at, expires_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        connection.prepare_cached(sql)?.execute(params![
            record.tenant.as_str(),
            record.scope,
            &record.digest[..],
            &record.response[..],
            millis(record.created_at),
            millis(record.expires_at)
        ])?;
        let sql = "DELETE FROM answers WHERE rowid IN
                   (SELECT rowid FROM answers WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 2)";
        connection.prepare_cached(sql)?.execute(params![millis(record.created_at)])?;
    }
    Ok(())
}

pub fn remember(
    connection: &Connection,
    record: IdempotencyRecord,
    now: UnixMillis,
) -> Result<Remembered, TransactionFault> {
    if let Some(record) = answer(connection, &record.tenant, &record.scope, now)? {
        return Ok(Remembered { record, new: false });
    }
    store_answers(connection, std::slice::from_ref(&record))?;
    Ok(Remembered { record, new: true })
}
