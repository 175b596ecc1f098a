//! Reading everything and checking it against everything else.

use std::collections::HashMap;

use bytes::Bytes;
use riverrun_event::Sequence;
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{BlobId, Chain, Chunk, Defect, SessionKey, Verification};
use rusqlite::{Connection, Row, params};

use crate::rows::{blob_at, bytes_at, key_at};
use crate::segment::{link_at, sequence_at, unpack};
use crate::{group, sidecar};

/// The live chunks of each session, as its groups have them.
type Live = HashMap<i64, Vec<Chunk>>;

pub fn run(connection: &Connection) -> rusqlite::Result<Verification> {
    // One transaction: everything is checked as of one moment, however long it takes.
    let transaction = connection.unchecked_transaction()?;
    let mut result = Verification::default();
    if let Err(error) = structure(&transaction, &mut result) {
        report(&mut result, None, None, format!("the store's structure cannot be checked: {error}"));
    }
    let live = live_chunks(&transaction, &mut result)?;
    let sql = "SELECT h.session, s.tenant, s.session, h.last, h.link, h.first_available, h.base_link, h.packed_last,
               h.packed_link, h.packed_bytes FROM heads h JOIN sessions s ON s.number = h.session ORDER BY h.session";
    let mut statement = transaction.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        result.sessions += 1;
        let checked = Session::read(row).and_then(|session| session.check(&transaction, &live, &mut result));
        if let Err(error) = checked {
            report(&mut result, key_at(row, 1).ok(), None, format!("the session cannot be read: {error}"));
        }
    }
    orphans(&transaction, &mut result)?;
    blobs(&transaction, &mut result)?;
    Ok(result)
}

fn report(
    result: &mut Verification,
    key: Option<SessionKey>,
    range: Option<(Sequence, Sequence)>,
    what: String,
) {
    result.defects.push(Defect { key, range, what });
}

fn structure(connection: &Connection, result: &mut Verification) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA quick_check(1000)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            report(result, None, None, line);
        }
    }
    Ok(())
}

fn live_chunks(connection: &Connection, result: &mut Verification) -> rusqlite::Result<Live> {
    let mut live = Live::new();
    let mut statement = connection.prepare("SELECT number, bytes FROM groups ORDER BY number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let bytes = Bytes::copy_from_slice(blob_at(row, 1)?);
        let Some(parts) = group::decode(&bytes) else {
            report(result, None, None, format!("the directory of commit group {number} is damaged"));
            continue;
        };
        for (session, part) in parts {
            // A damaged one shows as a hole in its session, where its range is known.
            if let Ok(chunk) = Chunk::decode(part) {
                live.entry(session as i64).or_default().push(chunk);
            }
        }
    }
    Ok(live)
}

struct Session {
    number: i64,
    key: SessionKey,
    head: Chain,
    packed: Chain,
    base: Chain,
    packed_bytes: i64,
}

impl Session {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            key: key_at(row, 1)?,
            head: Chain { last: sequence_at(row, 3)?, link: link_at(row, 4)? },
            base: Chain { last: sequence_at(row, 5)?.previous(), link: link_at(row, 6)? },
            packed: Chain { last: sequence_at(row, 7)?, link: link_at(row, 8)? },
            packed_bytes: row.get(9)?,
        })
    }

    fn check(&self, connection: &Connection, live: &Live, result: &mut Verification) -> rusqlite::Result<()> {
        let (mut chain, known) = (self.base, result.defects.len());
        let bytes = self.check_segments(connection, &mut chain, result)?;
        self.check_end(&mut chain, self.packed, "packed", result);
        for chunk in live.get(&self.number).into_iter().flatten() {
            if chunk.first() > self.packed.last {
                self.step(&mut chain, chunk, result);
            }
        }
        self.check_end(&mut chain, self.head, "committed", result);
        // Where events are damaged, what they take is no defect of its own.
        if bytes != self.packed_bytes && result.defects.len() == known {
            let what = format!("the packed events take {bytes} bytes, not {}", self.packed_bytes);
            report(result, Some(self.key.clone()), None, what);
        }
        self.check_snapshots(connection, result)
    }

    /// Checks the packed events; answers the bytes that they take.
    fn check_segments(
        &self,
        connection: &Connection,
        chain: &mut Chain,
        result: &mut Verification,
    ) -> rusqlite::Result<i64> {
        let sql = "SELECT first, last, link, raw_bytes, bytes FROM segments WHERE session = ?1 ORDER BY last";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.number])?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let (first, last) = (sequence_at(row, 0)?, sequence_at(row, 1)?);
            bytes += row.get::<_, i64>(3)?;
            match unpack(blob_at(row, 4)?, first, last, row.get::<_, i64>(3)? as u64) {
                Ok(chunks) => {
                    let retained = chunks.iter().filter(|chunk| chunk.last() > self.base.last);
                    retained.for_each(|chunk| self.step(chain, chunk, result));
                }
                Err(what) => {
                    report(result, Some(self.key.clone()), Some((first.max(next(chain)), last)), what);
                    *chain = Chain { last, link: link_at(row, 2)? };
                }
            }
        }
        Ok(bytes)
    }

    fn step(&self, chain: &mut Chain, chunk: &Chunk, result: &mut Verification) {
        result.chunks += 1;
        result.events += u64::from(chunk.count());
        let expected = next(chain);
        if let Err(what) = chain.step(chunk) {
            let (first, last) = match chunk.first() > expected {
                true => (expected, chunk.first().previous()),
                false => (chunk.first(), chunk.last()),
            };
            report(result, Some(self.key.clone()), Some((first, last)), what);
        }
    }

    /// The walk must have come to exactly this place; it goes on from there, so that a defect is told once.
    fn check_end(&self, chain: &mut Chain, end: Chain, name: &str, result: &mut Verification) {
        if chain.last != end.last {
            let what = format!("the {name} events end at {}, not at {}", chain.last, end.last);
            let range = (next(chain).min(end.last), end.last);
            report(result, Some(self.key.clone()), Some(range), what);
        } else if chain.link != end.link && !seeded::is_on(Bug::SkipChain) {
            let what = format!("the {name} events end with {:?}, not with {:?}", chain.link, end.link);
            report(result, Some(self.key.clone()), Some((end.last, end.last)), what);
        }
        *chain = end;
    }

    fn check_snapshots(&self, connection: &Connection, result: &mut Verification) -> rusqlite::Result<()> {
        let sql = "SELECT sequence, hash, bytes FROM snapshots WHERE session = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.number])?;
        while let Some(row) = rows.next()? {
            result.snapshots += 1;
            if let Err(what) = sidecar::sound_snapshot(row) {
                report(result, Some(self.key.clone()), None, what);
            }
        }
        let sql = "SELECT turn, hash, bytes FROM sealed_turns WHERE session = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.number])?;
        while let Some(row) = rows.next()? {
            let stored: [u8; 32] = row.get(1)?;
            let bytes = sidecar::unpack(blob_at(row, 2)?);
            if bytes.is_none_or(|bytes| sidecar::hash(&bytes) != stored) {
                let turn: String = row.get(0)?;
                report(result, Some(self.key.clone()), None, format!("the sealed turn `{turn}` is damaged"));
            }
        }
        Ok(())
    }
}

fn next(chain: &Chain) -> Sequence {
    chain.last.next().unwrap_or(Sequence::MAX)
}

/// Sessions without a head, and heads or segments without a session.
fn orphans(connection: &Connection, result: &mut Verification) -> rusqlite::Result<()> {
    let questions = [
        (
            "SELECT count(*) FROM sessions WHERE number NOT IN (SELECT session FROM heads)",
            "sessions have no head",
        ),
        (
            "SELECT count(*) FROM heads WHERE session NOT IN (SELECT number FROM sessions)",
            "heads have no session",
        ),
        (
            "SELECT count(*) FROM segments WHERE session NOT IN (SELECT session FROM heads)",
            "segments have no session",
        ),
    ];
    for (sql, what) in questions {
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count > 0 {
            report(result, None, None, format!("{count} {what}"));
        }
    }
    Ok(())
}

fn blobs(connection: &Connection, result: &mut Verification) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT digest, bytes FROM blobs")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        result.blobs += 1;
        let reference = BlobId::from_digest(row.get(0)?);
        if BlobId::of(&bytes_at(row, 1)?) != reference {
            report(result, None, None, format!("the contents of blob `{reference}` are damaged"));
        }
    }
    Ok(())
}
