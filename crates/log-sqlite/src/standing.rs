//! How a session stands, of what is open in it.

use riverrun_event::TaskId;
use riverrun_log::{AT_WORK, HALTED, OpenWork, Progress, SessionKey, Told};
use rusqlite::{Connection, params};

/// Halts the turn whose outermost task this is, or lets it go on. None if that changes nothing.
pub fn halt(
    connection: &Connection,
    session: i64,
    task: &TaskId,
    halted: bool,
) -> rusqlite::Result<Option<Told>> {
    let sql = "UPDATE turns SET status = ?4 WHERE session = ?1 AND open = 1 AND status = ?3
                   AND turn = (SELECT turn FROM tasks WHERE session = ?1 AND task = ?2 AND parent IS NULL)";
    let (from, to) = if halted { (AT_WORK, HALTED) } else { (HALTED, AT_WORK) };
    let changed = connection.prepare_cached(sql)?.execute(params![session, task.as_str(), from, to])?;
    Ok((changed > 0).then(|| Told { status: to.to_owned(), progress: Progress::Open }))
}

pub fn weigh(connection: &Connection, session: i64, key: &SessionKey, told: &Told) -> rusqlite::Result<()> {
    let sql = "SELECT
        EXISTS (SELECT 1 FROM actions a WHERE a.tenant = ?2 AND a.resolved_at IS NULL AND a.session = ?1
            AND NOT EXISTS (SELECT 1 FROM turns t
                WHERE t.session = ?1 AND t.turn = a.turn AND t.open = 1 AND t.status = ?4)),
        EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND open = 1 AND status = ?3),
        EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND open = 1 AND status = ?4)";
    let parameters = params![session, key.tenant.as_str(), AT_WORK, HALTED];
    let open = connection.prepare_cached(sql)?.query_row(parameters, |row| {
        Ok(OpenWork { waits: row.get(0)?, works: row.get(1)?, is_halted: row.get(2)? })
    })?;
    let sql = "UPDATE sessions SET status = ?2 WHERE number = ?1 AND status <> ?2";
    connection.prepare_cached(sql)?.execute(params![session, open.weigh(told)]).map(drop)
}
