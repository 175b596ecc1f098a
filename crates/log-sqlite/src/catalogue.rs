//! Questions about sessions, actions, turns and tasks. The catalogue's rows are exact; heads come from memory.

use riverrun_event::{ActionId, IdOrigin, Sequence, TaskId, TenantId, TurnId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    ActionQuery, ActionRecord, Expired, ExpiredQuery, ListPage, LogError, NewAction, PageRequest, Resolution,
    SessionHead, SessionKey, SessionQuery, SessionRecord, TaskFact, TaskRecord, TurnFact, TurnRecord,
    WorkProgress, WorkScope,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::failure::TransactionFault;
use crate::rows::{bytes_at, id_at, key_at, optional_id_at, optional_time_at, time_at};
use crate::segment::{link_at, sequence_at};
use crate::shared::Shared;
use crate::{leases, rows};

/// The most matches that are returned for one id.
const MAX_MATCHES: i64 = 10;

const SESSION: &str =
    "SELECT s.number, s.tenant, s.session, s.title, s.agent, s.status, s.metadata, s.created_at,
    h.updated_at, h.packed_last, h.packed_link, h.first_available,
    (SELECT group_concat(hex(tag)) FROM (SELECT tag FROM tags t WHERE t.session = s.number ORDER BY tag))
    FROM sessions s JOIN heads h ON h.session = s.number";

fn read_session(row: &Row<'_>, shared: &Shared) -> rusqlite::Result<SessionRecord> {
    let number: i64 = row.get(0)?;
    let tags: Option<String> = row.get(12)?;
    let mut record = SessionRecord {
        key: key_at(row, 1)?,
        title: row.get(3)?,
        agent: row.get(4)?,
        status: row.get(5)?,
        tags: tags.map(|tags| tags.split(',').filter_map(from_hex).collect()).unwrap_or_default(),
        metadata: row.get(6)?,
        created_at: time_at(row, 7)?,
        updated_at: time_at(row, 8)?,
        head: SessionHead {
            last: sequence_at(row, 9)?,
            link: link_at(row, 10)?,
            first_available: sequence_at(row, 11)?,
            incarnation: shared.incarnation_of(number),
        },
    };
    if let Some(slot) = shared.slots.get(&record.key).filter(|slot| slot.number == number) {
        let state = slot.lock();
        record.head = state.head;
        record.updated_at = state.updated_at;
    }
    Ok(record)
}

/// Tags may hold any character, so they travel as hex.
fn from_hex(hex: &str) -> Option<String> {
    let digit = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = (0..hex.len()).step_by(2).map(digit).collect::<Option<Vec<u8>>>()?;
    String::from_utf8(bytes).ok()
}

pub fn session(
    connection: &Connection,
    shared: &Shared,
    key: &SessionKey,
) -> rusqlite::Result<Option<SessionRecord>> {
    let sql = format!("{SESSION} WHERE s.tenant = ?1 AND s.session = ?2");
    let parameters = params![key.tenant.as_str(), key.session.as_str()];
    connection.prepare_cached(&sql)?.query_row(parameters, |row| read_session(row, shared)).optional()
}

pub fn sessions(
    connection: &Connection,
    shared: &Shared,
    query: &SessionQuery,
) -> Result<ListPage<SessionRecord>, TransactionFault> {
    let before = cursor(&query.page)?.unwrap_or(i64::MAX);
    let mut sql = format!("{SESSION} WHERE s.tenant = ?1 AND s.number < ?2");
    if query.status.is_some() {
        sql.push_str(" AND s.status = ?3");
    } else {
        sql.push_str(" AND ?3 IS NULL");
    }
    if query.tag.is_some() {
        sql.push_str(" AND s.number IN (SELECT session FROM tags WHERE tenant = ?1 AND tag = ?4)");
    } else {
        sql.push_str(" AND ?4 IS NULL");
    }
    sql.push_str(" ORDER BY s.number DESC");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![query.tenant.as_str(), before, query.status, query.tag])?;
    let mut page = Paging::new(query.page.limit);
    while let Some(row) = rows.next()? {
        let record = read_session(row, shared)?;
        let in_time = query.updated_from.is_none_or(|from| record.updated_at >= from)
            && query.updated_before.is_none_or(|before| record.updated_at < before);
        if in_time && page.is_full_with(row.get(0)?, record) {
            break;
        }
    }
    Ok(page.finish())
}

/// Collects one page and notices whether there is more.
struct Paging<T> {
    items: Vec<T>,
    last: Option<i64>,
    more: bool,
    limit: usize,
}

impl<T> Paging<T> {
    const fn new(limit: usize) -> Self {
        Self { items: Vec::new(), last: None, more: false, limit }
    }

    fn is_full_with(&mut self, number: i64, item: T) -> bool {
        self.more = self.items.len() == self.limit;
        if !self.more {
            self.items.push(item);
            self.last = Some(number);
        }
        self.more
    }

    fn finish(self) -> ListPage<T> {
        let next = self.last.filter(|_| self.more).map(|number| number.to_string());
        ListPage { items: self.items, next }
    }
}

fn cursor(page: &PageRequest) -> Result<Option<i64>, LogError> {
    let parse = |text: &String| {
        let number = text.parse::<i64>().ok().filter(|number| *number >= 0);
        number.ok_or_else(|| LogError::Invalid { what: format!("page cursor `{}`", text.escape_debug()) })
    };
    page.cursor.as_ref().map(parse).transpose()
}

const ACTION: &str =
    "SELECT a.number, s.tenant, s.session, a.action, a.turn, a.task, a.sequence, a.body, a.opened_at,
    a.expires_at, a.resolution, a.resolved_at FROM actions a JOIN sessions s ON s.number = a.session";

fn read_action(row: &Row<'_>) -> rusqlite::Result<ActionRecord> {
    let opened = NewAction {
        action: id_at(row, 3)?,
        turn: optional_id_at(row, 4)?,
        task: optional_id_at(row, 5)?,
        sequence: sequence_at(row, 6)?,
        body: bytes_at(row, 7)?,
        opened_at: time_at(row, 8)?,
        expires_at: optional_time_at(row, 9)?,
    };
    let resolution = match optional_time_at(row, 11)? {
        Some(resolved_at) => Some(Resolution { body: bytes_at(row, 10)?, resolved_at }),
        None => None,
    };
    Ok(ActionRecord { key: key_at(row, 1)?, opened, resolution })
}

pub fn action(
    connection: &Connection,
    key: &SessionKey,
    action: &ActionId,
) -> rusqlite::Result<Option<ActionRecord>> {
    let sql = format!("{ACTION} WHERE s.tenant = ?1 AND s.session = ?2 AND a.action = ?3");
    let parameters = params![key.tenant.as_str(), key.session.as_str(), action.as_str()];
    connection.prepare_cached(&sql)?.query_row(parameters, read_action).optional()
}

pub fn pending_actions(
    connection: &Connection,
    query: &ActionQuery,
) -> Result<ListPage<ActionRecord>, TransactionFault> {
    let after = cursor(&query.page)?.unwrap_or(0);
    let sql = format!(
        "{ACTION} WHERE a.tenant = ?1 AND a.number > ?2 AND a.resolved_at IS NULL AND (?3 IS NULL OR s.session = ?3)
         ORDER BY a.number"
    );
    let session = query.session.as_ref().map(|session| session.as_str());
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![query.tenant.as_str(), after, session])?;
    let mut page = Paging::new(query.page.limit);
    while let Some(row) = rows.next()? {
        if page.is_full_with(row.get(0)?, read_action(row)?) {
            break;
        }
    }
    Ok(page.finish())
}

const TURN: &str = "SELECT s.tenant, s.session, t.turn, t.thread, t.status, t.open, t.first
    FROM turns t JOIN sessions s ON s.number = t.session";

fn read_turn(row: &Row<'_>) -> rusqlite::Result<TurnRecord> {
    let progress = if row.get(5)? { WorkProgress::Open } else { WorkProgress::Terminal };
    let first = sequence_at(row, 6)?;
    let fact =
        TurnFact { turn: id_at(row, 2)?, thread: id_at(row, 3)?, status: row.get(4)?, progress, first };
    Ok(TurnRecord { key: key_at(row, 0)?, fact })
}

pub fn turn(
    connection: &Connection,
    key: &SessionKey,
    turn: &TurnId,
) -> rusqlite::Result<Option<TurnRecord>> {
    let sql = format!("{TURN} WHERE s.tenant = ?1 AND s.session = ?2 AND t.turn = ?3");
    let parameters = params![key.tenant.as_str(), key.session.as_str(), turn.as_str()];
    connection.prepare_cached(&sql)?.query_row(parameters, read_turn).optional()
}

pub fn turns(
    connection: &Connection,
    key: &SessionKey,
    before: Option<Sequence>,
    most: usize,
) -> rusqlite::Result<Vec<TurnRecord>> {
    let sql = format!(
        "{TURN} WHERE s.tenant = ?1 AND s.session = ?2 AND t.first < ?3 ORDER BY t.first DESC, t.turn DESC LIMIT ?4"
    );
    let before = before.map_or(i64::MAX, |before| i64::try_from(before.get()).unwrap_or(i64::MAX));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let parameters = params![key.tenant.as_str(), key.session.as_str(), before, most];
    connection.prepare_cached(&sql)?.query_map(parameters, read_turn)?.collect()
}

pub fn open_turns(connection: &Connection, scope: &WorkScope) -> rusqlite::Result<Vec<TurnRecord>> {
    if !leases::is_ours(scope) {
        return Ok(Vec::new());
    }
    let WorkScope::Session(key) = scope else {
        let sql = format!("{TURN} WHERE t.open = 1 ORDER BY t.session, t.first");
        return connection.prepare_cached(&sql)?.query_map([], read_turn)?.collect();
    };
    let Some(session) = rows::number(connection, key)? else { return Ok(Vec::new()) };
    let sql = format!("{TURN} WHERE t.open = 1 AND t.session = ?1 ORDER BY t.first");
    connection.prepare_cached(&sql)?.query_map(params![session], read_turn)?.collect()
}

pub fn find_turn(
    connection: &Connection,
    tenant: &TenantId,
    turn: &TurnId,
) -> rusqlite::Result<Vec<TurnRecord>> {
    let sql = format!("{TURN} WHERE t.tenant = ?1 AND t.turn = ?2 ORDER BY t.session LIMIT ?3");
    let parameters = params![tenant.as_str(), turn.as_str(), MAX_MATCHES];
    connection.prepare_cached(&sql)?.query_map(parameters, read_turn)?.collect()
}

pub fn find_task(
    connection: &Connection,
    tenant: &TenantId,
    task: &TaskId,
) -> rusqlite::Result<Vec<TaskRecord>> {
    let sql = "SELECT s.tenant, s.session, t.task, t.turn, t.parent FROM tasks t JOIN sessions s ON s.number = t.session
               WHERE t.tenant = ?1 AND t.task = ?2 ORDER BY t.session DESC LIMIT ?3";
    let read = |row: &Row<'_>| {
        let fact = TaskFact { task: id_at(row, 2)?, turn: id_at(row, 3)?, parent: optional_id_at(row, 4)? };
        Ok(TaskRecord { key: key_at(row, 0)?, fact })
    };
    let parameters = params![tenant.as_str(), task.as_str(), MAX_MATCHES];
    connection.prepare_cached(sql)?.query_map(parameters, read)?.collect()
}

/// Finished sessions whose last event is old, through the indexes of what is open.
pub fn expired(connection: &Connection, query: &ExpiredQuery) -> rusqlite::Result<Vec<Expired>> {
    let sql = "SELECT s.tenant, s.session, h.updated_at, h.last - h.first_available + 1
        FROM heads h JOIN sessions s ON s.number = h.session
        WHERE h.updated_at < ?1 AND h.first_available <= h.last AND (?2 IS NULL OR s.tenant = ?2)
            AND (?4 OR NOT EXISTS (SELECT 1 FROM turns INDEXED BY turns_open WHERE session = h.session AND open = 1)
            AND NOT EXISTS (SELECT 1 FROM actions WHERE session = h.session AND resolved_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM commands WHERE session = h.session AND state < 2))
        ORDER BY h.session LIMIT ?3";
    let read = |row: &Row<'_>| {
        let events = row.get::<_, i64>(3)? as u64;
        Ok(Expired { key: key_at(row, 0)?, updated_at: time_at(row, 2)?, events })
    };
    let tenant = query.tenant.as_ref().map(TenantId::as_str);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let parameters =
        params![query.before.millis() as i64, tenant, limit, seeded::is_on(Bug::RetireOpenTurns)];
    connection.prepare_cached(sql)?.query_map(parameters, read)?.collect()
}

pub fn id_origins(connection: &Connection, key: &SessionKey) -> rusqlite::Result<Vec<IdOrigin>> {
    let sql = "SELECT through, incarnation FROM origins
               WHERE session = (SELECT number FROM sessions WHERE tenant = ?1 AND session = ?2) ORDER BY through";
    let read = |row: &Row<'_>| Ok(IdOrigin { through: sequence_at(row, 0)?, incarnation: row.get(1)? });
    let parameters = params![key.tenant.as_str(), key.session.as_str()];
    connection.prepare_cached(sql)?.query_map(parameters, read)?.collect()
}
