//! Reading rows back into the words of the log.

use bytes::Bytes;
use riverrun_event::{ProducerId, Sequence, SessionId, TenantId};
use riverrun_log::{Chain, ProducerState, SessionHead, SessionKey, UnixMillis};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::segment::{link_at, sequence_at};
use crate::shared::Shared;
use crate::slot::SlotState;

/// A session's row: its number and what is packed of it.
pub struct HeadRow {
    pub number: i64,
    pub state: SlotState,
}

pub fn number(connection: &Connection, key: &SessionKey) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT number FROM sessions WHERE tenant = ?1 AND session = ?2";
    let parameters = params![key.tenant.as_str(), key.session.as_str()];
    connection.prepare_cached(sql)?.query_row(parameters, |row| row.get(0)).optional()
}

/// The head as its row has it up to the packed part: what lies behind that is known only in memory.
pub fn head(connection: &Connection, key: &SessionKey, shared: &Shared) -> rusqlite::Result<Option<HeadRow>> {
    let sql = "SELECT session, packed_last, packed_link, first_available, updated_at FROM heads
               WHERE session = (SELECT number FROM sessions WHERE tenant = ?1 AND session = ?2)";
    let parameters = params![key.tenant.as_str(), key.session.as_str()];
    let read = |row: &Row<'_>| {
        let number = row.get(0)?;
        let packed = Chain { last: sequence_at(row, 1)?, link: link_at(row, 2)? };
        let head = SessionHead {
            last: packed.last,
            link: packed.link,
            first_available: sequence_at(row, 3)?,
            incarnation: shared.incarnation_of(number),
        };
        let updated_at = time_at(row, 4)?;
        Ok(HeadRow {
            number,
            state: SlotState { head, updated_at, packed, live: Default::default(), is_damaged: false },
        })
    };
    connection.prepare_cached(sql)?.query_row(parameters, read).optional()
}

pub fn producer(
    connection: &Connection,
    session: i64,
    producer: &ProducerId,
) -> rusqlite::Result<Option<ProducerState>> {
    let sql = "SELECT epoch, sequence, first, last FROM producers WHERE session = ?1 AND producer = ?2";
    let read = |row: &Row<'_>| {
        Ok(ProducerState {
            epoch: row.get::<_, i64>(0)? as u64,
            sequence: row.get::<_, i64>(1)? as u64,
            first: sequence_at(row, 2)?,
            last: sequence_at(row, 3)?,
        })
    };
    connection.prepare_cached(sql)?.query_row(params![session, producer.as_str()], read).optional()
}

pub fn time_at(row: &Row<'_>, column: usize) -> rusqlite::Result<UnixMillis> {
    Ok(UnixMillis::from_millis(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0)))
}

pub fn optional_time_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<UnixMillis>> {
    let millis: Option<i64> = row.get(column)?;
    Ok(millis.map(|millis| UnixMillis::from_millis(u64::try_from(millis).unwrap_or(0))))
}

pub const fn millis(time: UnixMillis) -> i64 {
    // At most 48 bits.
    time.millis() as i64
}

pub fn bytes_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob()?))
}

/// The bytes of a column in place. Anything else than bytes is damage.
pub fn blob_at<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    Ok(row.get_ref(column)?.as_blob()?)
}

/// An id that was checked before it was stored; one that no longer fits is damage.
pub fn id_at<T: std::str::FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    parse(text, column)
}

pub fn optional_id_at<T: std::str::FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)?.as_str_or_null()? {
        Some(text) => parse(text, column).map(Some),
        None => Ok(None),
    }
}

fn parse<T: std::str::FromStr>(text: &str, column: usize) -> rusqlite::Result<T> {
    let what = || format!("`{}` is no id", text.escape_debug());
    text.parse().map_err(|_| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, what().into())
    })
}

pub fn key_at(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionKey> {
    Ok(SessionKey::new(id_at::<TenantId>(row, column)?, id_at::<SessionId>(row, column + 1)?))
}

/// The last place of a log as a bound for queries.
pub const fn bound(sequence: Sequence) -> i64 {
    sequence.get() as i64
}

/// How far time has come by the reckoning of whoever retires events.
pub fn noted_time(connection: &Connection) -> rusqlite::Result<Option<UnixMillis>> {
    let sql = "SELECT value FROM meta WHERE name = 'noted_time'";
    connection.prepare_cached(sql)?.query_row([], |row| time_at(row, 0)).optional()
}

pub fn note_time(connection: &Connection, time: UnixMillis) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (name, value) VALUES ('noted_time', ?1) ON CONFLICT DO UPDATE SET value = ?1";
    connection.prepare_cached(sql)?.execute(params![millis(time)]).map(drop)
}
