//! Incarnations distinguish histories that begin alike.

use riverrun_log::Random;
use riverrun_log::seeded::{self, Bug};
use rusqlite::{Connection, OptionalExtension, params};

/// Distinguishes sessions of the same name, and histories of the same beginning.
pub fn incarnation_of(store: u64, session: i64) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&session.to_le_bytes());
    crc.update(&store.to_le_bytes());
    crc.finalize()
}

/// Notes for each session which incarnation its events got their ids in: copies of an event keep its id. What is
/// appended from now on gets ids of the next incarnation, as it does in every other copy of this history.
fn keep_origins(connection: &Connection, store: u64) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare("INSERT OR IGNORE INTO origins (session, through, incarnation) VALUES (?1, ?2, ?3)")?;
    let mut heads = connection.prepare("SELECT session, last FROM heads WHERE last > 0")?;
    let mut rows = heads.query([])?;
    while let Some(row) = rows.next()? {
        let (session, last): (i64, i64) = (row.get(0)?, row.get(1)?);
        insert.execute(params![session, last, incarnation_of(store, session)])?;
    }
    Ok(())
}

/// Makes a restored backup, or a store that lost commits, another incarnation. Answers the current one.
pub fn renew(
    connection: &mut Connection,
    random: Option<&dyn Random>,
    has_lost: bool,
) -> rusqlite::Result<u64> {
    let connection = connection.transaction()?;
    let get = |name| {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        connection.query_row(sql, params![name], |row| row.get::<_, i64>(0)).optional()
    };
    let incarnation = get("incarnation")?.unwrap_or(0);
    if get("restored")?.is_none() && !has_lost {
        return Ok(incarnation as u64);
    }
    if !seeded::is_on(Bug::FreshIdsAfterRestore) {
        keep_origins(&connection, incarnation as u64)?;
    }
    let mut bytes = [0; 8];
    match random {
        Some(random) => random.fill(&mut bytes),
        None => bytes = connection.query_row("SELECT randomblob(8)", [], |row| row.get(0))?,
    }
    // Two restores of one backup must differ too, so counting on is not enough.
    let renewed = i64::from_le_bytes(bytes) | 1;
    connection.execute("UPDATE meta SET value = ?1 WHERE name = 'incarnation'", params![renewed])?;
    // Closed is how it came here; to be marked open takes the marks into the store at once.
    connection.execute("DELETE FROM meta WHERE name IN ('restored', 'open')", [])?;
    connection.commit()?;
    Ok(renewed as u64)
}
