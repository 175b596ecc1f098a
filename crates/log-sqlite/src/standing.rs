//! A session's status, derived from its open work.

use riverrun_event::TaskId;
use riverrun_log::{AT_WORK, HALTED, OpenWork, StatusUpdate, WorkProgress};
use rusqlite::{Connection, params};

/// Halts the turn whose outermost task this is, or lets it go on. None if that changes nothing.
pub fn halt(
    connection: &Connection,
    session: i64,
    task: &TaskId,
    halted: bool,
) -> rusqlite::Result<Option<StatusUpdate>> {
    let sql = "UPDATE turns SET status = ?4 WHERE session = ?1 AND open = 1 AND status = ?3
                   AND turn = (SELECT turn FROM tasks WHERE session = ?1 AND task = ?2 AND parent IS NULL)";
    let (from, to) = if halted { (AT_WORK, HALTED) } else { (HALTED, AT_WORK) };
    let changed = connection.prepare_cached(sql)?.execute(params![session, task.as_str(), from, to])?;
    Ok((changed > 0).then(|| StatusUpdate { status: to.to_owned(), progress: WorkProgress::Open }))
}

/// What is open, through the indexes of what is open: the cost does not grow with the session's past.
const OPEN: &str = "SELECT
    EXISTS (SELECT 1 FROM actions a WHERE a.session = ?1 AND a.resolved_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM turns t
            WHERE t.session = ?1 AND t.turn = a.turn AND t.open = 1 AND t.status = ?3)),
    EXISTS (SELECT 1 FROM turns INDEXED BY turns_open WHERE session = ?1 AND open = 1 AND status = ?2),
    EXISTS (SELECT 1 FROM turns INDEXED BY turns_open WHERE session = ?1 AND open = 1 AND status = ?3)";

pub fn weigh(connection: &Connection, session: i64, update: &StatusUpdate) -> rusqlite::Result<()> {
    let open = connection.prepare_cached(OPEN)?.query_row(params![session, AT_WORK, HALTED], |row| {
        Ok(OpenWork { waits: row.get(0)?, works: row.get(1)?, is_halted: row.get(2)? })
    })?;
    let sql = "UPDATE sessions SET status = ?2 WHERE number = ?1 AND status <> ?2";
    connection.prepare_cached(sql)?.execute(params![session, open.weigh(update)]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{TABLES, WAITING};

    #[test]
    fn nothing_of_the_past_is_read() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&format!("{TABLES} {WAITING}")).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {OPEN}")).unwrap();
        let steps = plan.query_map(params![1, AT_WORK, HALTED], |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> =
            steps.map(|step| step.unwrap()).filter(|step| step.starts_with("SEARCH")).collect();
        let expected = [
            "SEARCH a USING INDEX actions_waiting (session=?)",
            "SEARCH t USING PRIMARY KEY (session=? AND turn=?)",
            "SEARCH turns USING INDEX turns_open (session=?)",
            "SEARCH turns USING INDEX turns_open (session=?)",
        ];
        assert_eq!(steps, expected);
    }
}
