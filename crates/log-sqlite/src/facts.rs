//! Facts become rows, in the transaction of their append.

use riverrun_log::{Fact, NewAction, SessionChange, SessionKey, TaskFact, TurnFact, WorkProgress};
use rusqlite::{Connection, params};

use crate::rows::{bound, millis};
use crate::standing;

pub fn apply(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    facts: &[Fact],
) -> rusqlite::Result<()> {
    let mut newest = None;
    for fact in facts {
        match fact {
            Fact::Session(SessionChange { status: Some(_), .. }) => newest = None,
            Fact::Status(update) => newest = Some(update.clone()),
            Fact::Halted { task, halted } => {
                newest = standing::halt(connection, session, task, *halted)?.or(newest);
            }
            _ => {}
        }
        apply_one(connection, session, key, fact)?;
    }
    // The session's status is derived once, after all facts.
    newest.map_or(Ok(()), |update| standing::weigh(connection, session, &update))
}

fn apply_one(connection: &Connection, session: i64, key: &SessionKey, fact: &Fact) -> rusqlite::Result<()> {
    match fact {
        Fact::Status(_) | Fact::Halted { .. } => Ok(()),
        Fact::Session(change) => change_session(connection, session, key, change),
        Fact::ActionOpened(action) => open_action(connection, session, key, action),
        Fact::ActionResolved { action, resolution, resolved_at } => {
            let sql = "UPDATE actions SET resolution = ?3, resolved_at = ?4
                       WHERE session = ?1 AND action = ?2 AND resolved_at IS NULL";
            let parameters = params![session, action.as_str(), &resolution[..], millis(*resolved_at)];
            connection.prepare_cached(sql)?.execute(parameters).map(drop)
        }
        Fact::Turn(turn) => store_turn(connection, session, key, turn),
        Fact::Task(task) => store_task(connection, session, key, task),
        Fact::Blob(reference) => {
            let sql = "INSERT OR IGNORE INTO blob_uses (session, blob)
                       SELECT ?1, number FROM blobs WHERE tenant = ?2 AND digest = ?3";
            let parameters = params![session, key.tenant.as_str(), &reference.digest()[..]];
            connection.prepare_cached(sql)?.execute(parameters).map(drop)
        }
    }
}

fn change_session(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    change: &SessionChange,
) -> rusqlite::Result<()> {
    let sql = "UPDATE sessions SET status = coalesce(?2, status), title = coalesce(?3, title),
                   agent = coalesce(?4, agent), metadata = coalesce(?5, metadata) WHERE number = ?1";
    let parameters = params![session, change.status, change.title, change.agent, change.metadata];
    connection.prepare_cached(sql)?.execute(parameters)?;
    if let Some(tags) = &change.tags {
        connection.prepare_cached("DELETE FROM tags WHERE session = ?1")?.execute(params![session])?;
        store_tags(connection, session, key, tags)?;
    }
    Ok(())
}

pub fn store_tags(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    tags: &[String],
) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO tags (tenant, tag, session) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare_cached(sql)?;
    tags.iter().try_for_each(|tag| insert.execute(params![key.tenant.as_str(), tag, session]).map(drop))
}

fn open_action(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    action: &NewAction,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO actions (session, tenant, action, turn, task, sequence, body, opened_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![
        session,
        key.tenant.as_str(),
        action.action.as_str(),
        action.turn.as_ref().map(|turn| turn.as_str()),
        action.task.as_ref().map(|task| task.as_str()),
        bound(action.sequence),
        &action.body[..],
        millis(action.opened_at),
        action.expires_at.map(millis)
    ])?;
    Ok(())
}

fn store_turn(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    turn: &TurnFact,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO turns (session, turn, tenant, thread, status, open, first)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT (session, turn) DO UPDATE SET thread = ?4, status = ?5, open = ?6";
    connection.prepare_cached(sql)?.execute(params![
        session,
        turn.turn.as_str(),
        key.tenant.as_str(),
        turn.thread.as_str(),
        turn.status,
        turn.progress == WorkProgress::Open,
        bound(turn.first)
    ])?;
    Ok(())
}

fn store_task(
    connection: &Connection,
    session: i64,
    key: &SessionKey,
    task: &TaskFact,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO tasks (session, task, tenant, turn, parent) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute(params![
        session,
        task.task.as_str(),
        key.tenant.as_str(),
        task.turn.as_str(),
        task.parent.as_ref().map(|parent| parent.as_str())
    ])?;
    Ok(())
}
