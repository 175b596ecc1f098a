//! Questions about many sessions.

use riverrun_event::{Sequence, TaskId, TenantId, TurnId};

use super::session::MemorySession;
use super::state::MemoryState;
use crate::{
    ActionQuery, ActionRecord, Chain, Defect, Expired, ExpiredQuery, Link, ListPage, LogError, PageRequest,
    SessionKey, SessionQuery, SessionRecord, Stats, TaskRecord, TurnRecord, UnixMillis, UsageChange,
    Verification, WorkProgress, WorkScope,
};

/// The most matches that are returned for one id.
const MAX_MATCHES: usize = 10;

impl MemoryState {
    pub fn list(&self, query: &SessionQuery) -> Result<ListPage<SessionRecord>, LogError> {
        let fits = |session: &&MemorySession| {
            let record = &session.record;
            record.key.tenant == query.tenant
                && query.status.as_ref().is_none_or(|status| record.status == *status)
                && query.tag.as_ref().is_none_or(|tag| record.tags.contains(tag))
                && query.updated_from.is_none_or(|from| record.updated_at >= from)
                && query.updated_before.is_none_or(|before| record.updated_at < before)
        };
        let mut found: Vec<&MemorySession> = self.sessions.values().filter(fits).collect();
        found.sort_by_key(|session| std::cmp::Reverse(session.number));
        let before = cursor(&query.page)?.unwrap_or(u64::MAX);
        let found = found.into_iter().filter(|session| session.number < before);
        Ok(page(found.map(|session| (session.number, session.record.clone())), query.page.limit))
    }

    pub fn pending_actions(&self, query: &ActionQuery) -> Result<ListPage<ActionRecord>, LogError> {
        let of_query = |session: &&MemorySession| {
            let key = &session.record.key;
            key.tenant == query.tenant && query.session.as_ref().is_none_or(|wanted| key.session == *wanted)
        };
        let sessions = self.sessions.values().filter(of_query);
        let after = cursor(&query.page)?.unwrap_or(0);
        let mut found: Vec<_> = sessions.flat_map(|session| session.actions.range(after + 1..)).collect();
        found.retain(|(_, record)| record.resolution.is_none());
        found.sort_by_key(|(number, _)| **number);
        Ok(page(found.into_iter().map(|(number, record)| (*number, record.clone())), query.page.limit))
    }

    /// Sessions in the order they were made.
    fn in_order(&self) -> Vec<&MemorySession> {
        let mut sessions: Vec<_> = self.sessions.values().collect();
        sessions.sort_by_key(|session| session.number);
        sessions
    }

    pub fn open_turns(&self, scope: &WorkScope) -> Vec<TurnRecord> {
        let mut open = Vec::new();
        for session in self.in_order() {
            if !self.is_in(scope, &session.record.key) {
                continue;
            }
            let mut turns: Vec<_> =
                session.turns.values().filter(|fact| fact.progress == WorkProgress::Open).cloned().collect();
            turns.sort_by_key(|fact| fact.first);
            let key = &session.record.key;
            open.extend(turns.into_iter().map(|fact| TurnRecord { key: key.clone(), fact }));
        }
        open
    }

    pub fn find_turn(&self, tenant: &TenantId, turn: &TurnId) -> Vec<TurnRecord> {
        let sessions = self.in_order().into_iter().filter(|session| session.record.key.tenant == *tenant);
        sessions.filter_map(|session| session.turn(turn)).take(MAX_MATCHES).collect()
    }

    pub fn find_task(&self, tenant: &TenantId, task: &TaskId) -> Vec<TaskRecord> {
        self.newest_of(tenant, |session| {
            let fact = session.tasks.get(task)?.clone();
            Some(TaskRecord { key: session.record.key.clone(), fact })
        })
    }

    fn newest_of<T>(&self, tenant: &TenantId, find: impl FnMut(&MemorySession) -> Option<T>) -> Vec<T> {
        let sessions =
            self.in_order().into_iter().rev().filter(|session| session.record.key.tenant == *tenant);
        sessions.filter_map(find).take(MAX_MATCHES).collect()
    }

    pub fn retire(
        &mut self,
        key: &SessionKey,
        through: Sequence,
        older_than: Option<UnixMillis>,
    ) -> Result<Sequence, LogError> {
        let session = self.find_mut(key)?;
        let before = session.bytes();
        let first = session.retire(through, older_than);
        let log_bytes = session.bytes() - before;
        self.change_usage(&key.tenant, UsageChange { log_bytes, ..UsageChange::default() });
        Ok(first)
    }

    pub fn expired(&self, query: &ExpiredQuery) -> Vec<Expired> {
        let is_expired = |session: &&MemorySession| {
            let record = &session.record;
            query.tenant.as_ref().is_none_or(|tenant| record.key.tenant == *tenant)
                && record.updated_at < query.before
                && record.head.first_available <= record.head.last
                && session.is_finished()
        };
        let found = self.in_order().into_iter().filter(is_expired).take(query.limit);
        let expired = found.map(|session| {
            let SessionRecord { key, updated_at, head, .. } = &session.record;
            let events = head.last.get() + 1 - head.first_available.get();
            Expired { key: key.clone(), updated_at: *updated_at, events }
        });
        expired.collect()
    }

    pub fn verify(&self) -> Verification {
        let mut result = Verification { blobs: self.blobs.len() as u64, ..Verification::default() };
        for session in self.in_order() {
            result.sessions += 1;
            result.snapshots += session.snapshots.len() as u64;
            verify_session(session, &mut result);
        }
        result
    }

    pub fn stats(&self) -> Stats {
        let chunks = self.sessions.values().flat_map(|session| session.chunks.values());
        let mut stats = Stats { sessions: self.sessions.len() as u64, ..Stats::default() };
        for chunk in chunks {
            stats.events += u64::from(chunk.count());
            stats.event_bytes += chunk.bytes().len() as u64;
        }
        stats.blob_bytes = self.blobs.values().map(|stored| stored.blob.info.size).sum();
        stats.disk_bytes = 0;
        stats
    }
}

fn verify_session(session: &MemorySession, result: &mut Verification) {
    let head = session.record.head;
    let mut chunks = session.chunks.values();
    let begin = session.chunks.values().next().map_or(Link::START, crate::Chunk::previous);
    let mut chain = Chain { last: head.first_available.previous(), link: begin };
    let mut defect = |key: &SessionKey, range, what| {
        result.defects.push(Defect { key: Some(key.clone()), range, what });
    };
    for chunk in chunks.by_ref() {
        result.chunks += 1;
        result.events += u64::from(chunk.count());
        if let Err(what) = chain.step(chunk) {
            defect(&session.record.key, Some((chunk.first(), chunk.last())), what);
        }
    }
    if chain.last != head.last {
        let range = Some((chain.last.next().unwrap_or(Sequence::MAX), head.last));
        defect(&session.record.key, range, "events are missing before the head".to_owned());
    }
}

fn cursor(page: &PageRequest) -> Result<Option<u64>, LogError> {
    let parse =
        |text: &String| text.parse().map_err(|_| LogError::Invalid { what: format!("page cursor `{text}`") });
    page.cursor.as_ref().map(parse).transpose()
}

fn page<T>(mut found: impl Iterator<Item = (u64, T)>, limit: usize) -> ListPage<T> {
    let mut last = None;
    let mut items = Vec::new();
    for (number, item) in found.by_ref().take(limit) {
        last = Some(number);
        items.push(item);
    }
    let more = found.next().is_some();
    ListPage { items, next: last.filter(|_| more).map(|number| number.to_string()) }
}
