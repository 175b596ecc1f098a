//! Sessions made ready for a measurement: created, with an open turn, and filled as asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;

use crate::connection::ServerConnection;
use crate::error::{MeasurementError, MeasurementResult};
use crate::event::TurnIds;
use crate::request;
use crate::target::Target;

/// Connections that create sessions side by side.
const CREATORS: usize = 8;
/// Events per request while a session is filled.
const BATCH: u64 = 100;

/// A session with one open turn, whose head is the last event appended so far.
#[derive(Clone, Debug)]
pub struct LoadSession {
    pub id: String,
    pub turn: TurnIds,
    pub head: u64,
}

/// Creates `count` sessions, each with an open turn.
pub async fn create(target: &Target, count: usize) -> MeasurementResult<Vec<LoadSession>> {
    let mut creators = JoinSet::new();
    for creator in 0..CREATORS.min(count) {
        let (target, share) = (target.clone(), (creator..count).step_by(CREATORS).count());
        creators.spawn(async move {
            let mut connection = ServerConnection::open(&target).await?;
            let mut sessions = Vec::with_capacity(share);
            for _ in 0..share {
                sessions.push(create_one(&target, &mut connection).await?);
            }
            Ok(sessions)
        });
    }
    let limit = Duration::from_secs(30) + Duration::from_millis(50) * count as u32;
    Ok(join(creators, limit, "creating sessions").await?.concat())
}

/// Creates one session with an open turn.
pub async fn create_single(target: &Target) -> MeasurementResult<LoadSession> {
    create_one(target, &mut ServerConnection::open(target).await?).await
}

impl LoadSession {
    /// Appends `count` deltas to the open turn, many per request.
    pub async fn fill(&mut self, target: &Target, count: u64) -> MeasurementResult<()> {
        let mut connection = ServerConnection::open(target).await?;
        let end = self.head + count;
        while self.head < end {
            let lines = self.turn.deltas(self.head, BATCH.min(end - self.head));
            self.append(target, &mut connection, &lines).await?;
        }
        Ok(())
    }

    /// Appends `turns` finished turns of `deltas` deltas each and opens the next one.
    pub async fn fill_turns(&mut self, target: &Target, turns: u64, deltas: u64) -> MeasurementResult<()> {
        let mut connection = ServerConnection::open(target).await?;
        for _ in 0..turns {
            let lines = self.turn.deltas(self.head, deltas) + &self.turn.closing();
            self.append(target, &mut connection, &lines).await?;
            self.turn = TurnIds::new(&self.id, self.head + 1);
            let opening = self.turn.opening();
            self.append(target, &mut connection, &opening).await?;
        }
        Ok(())
    }

    async fn append(
        &mut self,
        target: &Target,
        connection: &mut ServerConnection,
        lines: &str,
    ) -> MeasurementResult<()> {
        let answer = connection.exchange(&request::append_lines(target, &self.id, lines)).await?;
        self.head = last(answer)?;
        Ok(())
    }
}

/// Waits for all tasks, and for `limit` at most.
pub async fn join<T: 'static>(
    mut tasks: JoinSet<MeasurementResult<T>>,
    limit: Duration,
    what: &'static str,
) -> MeasurementResult<Vec<T>> {
    let all = async {
        let mut results = Vec::with_capacity(tasks.len());
        while let Some(result) = tasks.join_next().await {
            results.push(result??);
        }
        Ok(results)
    };
    let seconds = limit.as_secs();
    tokio::time::timeout(limit, all).await.unwrap_or(Err(MeasurementError::Timeout { what, seconds }))
}

async fn create_one(target: &Target, connection: &mut ServerConnection) -> MeasurementResult<LoadSession> {
    let id = fresh_id();
    if let Some(request) = request::create(target, &id) {
        connection.exchange(&request).await?;
    }
    let turn = TurnIds::new(&id, 1);
    let mut session = LoadSession { id, turn: turn.clone(), head: 0 };
    session.append(target, connection, &turn.opening()).await?;
    Ok(session)
}

/// An id that no earlier run against the same server has used.
fn fresh_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("b{:07x}{number:x}", seconds & 0x0fff_ffff)
}

/// The last `"last"` of an append's answer; a streaming answer has one per line.
pub fn last(answer: &[u8]) -> MeasurementResult<u64> {
    let text = String::from_utf8_lossy(answer);
    let digits = text.rsplit_once("\"last\":").map(|(_, after)| after.trim_start());
    let digits = digits.and_then(|digits| digits.split(|c: char| !c.is_ascii_digit()).next());
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| MeasurementError::Malformed(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_the_last_of_the_answer() {
        let lines = b"{\"first\":1,\"last\":2,\"cursor\":\"2.x\"}\n{\"first\":3,\"last\":14}\n";
        assert_eq!(last(lines).expect("the answer has a last"), 14);
        assert!(last(b"{}").is_err());
    }
}
