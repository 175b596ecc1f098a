//! The one path by which events come into a log.

use std::sync::Arc;

use riverrun_event::{Decoded, Draft, EventId, Sequence, Timestamp, record_length, write_record};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{
    ActionQuery, Append, AppendStamp, Chunk, ChunkBuilder, CommandChange, DurableAppend, Epoch, Fact,
    IdempotencyRecord, Log, LogError, LogTicket, PageRequest, SessionHead, Urgency,
};

use super::facts::{facts, log_time};
use super::hub::Hub;
use crate::AppendError;

/// How often a chunk is built anew when another one took its place in the log.
const TRIES: usize = 8;

/// Events that are appended together: all of them become durable, or none.
#[derive(Debug, Default)]
pub struct Batch {
    /// The events, in order.
    pub events: Vec<Decoded>,
    /// The producer's stamp, which makes the append idempotent.
    pub producer: Option<AppendStamp>,
    /// An empty response is filled with [`Batch::answer`].
    pub idempotency: Vec<IdempotencyRecord>,
    /// What is stored as the answer to the request that brought the events. It may name where they went.
    pub answer: Option<StoredAnswer>,
    /// Facts beside those that the events tell.
    pub facts: Vec<Fact>,
    /// What becomes of commands with these events.
    pub commands: Vec<CommandChange>,
    /// Reserved for what ends work, though not all of its events are ends.
    pub urgency: Urgency,
}

/// Makes the stored answer to a request, once it is known where its events went.
pub type StoredAnswer = fn(&Hub, &Landed) -> bytes::Bytes;

/// Where a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landed {
    /// The first and the last event. None if that is no longer known: of a producer's appends the log remembers the
    /// place of the newest alone, of those before it only that they are stored.
    pub place: Option<(Sequence, Sequence)>,
    /// True if the producer had sent it before.
    pub duplicate: bool,
}

impl Hub {
    /// Appends a batch; resolves when it is durable. `now` is the time of events that bring none.
    pub async fn append(
        &self,
        log: &Arc<dyn Log>,
        epoch: Epoch,
        now: Timestamp,
        batch: &Batch,
    ) -> Result<Landed, AppendError> {
        let ending = self.abandoned_actions(log, batch).await?;
        for attempt in 1.. {
            let (ticket, built_on) = self.submit(log, epoch, now, batch, &ending).await?;
            let error = match ticket.await {
                Ok(DurableAppend { first, last, duplicate, .. }) => {
                    return Ok(Landed { place: Some((first, last)), duplicate });
                }
                Err(error) => error,
            };
            // What was built on this chunk fails too; the next append asks the log where it stands.
            self.reset(built_on).await;
            match error {
                LogError::Conflict { .. } if attempt < TRIES => tokio::task::yield_now().await,
                LogError::ProducerDuplicate { sequence, last, .. } => {
                    let is_newest = sequence == last.sequence;
                    let place = is_newest.then_some((last.first, last.last));
                    return Ok(Landed { place, duplicate: true });
                }
                error => return Err(error.into()),
            }
        }
        unreachable!("the loop returns at its last attempt")
    }

    /// Appends batches in order, each of which stands for itself. They are handed over together, so that they can
    /// share a sync; what is refused because of one before it is handed over again by itself. The first that fails
    /// ends the run: its error comes with those that went before it.
    pub async fn append_run(
        &self,
        log: &Arc<dyn Log>,
        epoch: Epoch,
        now: Timestamp,
        batches: &[Batch],
    ) -> (Vec<Landed>, Option<AppendError>) {
        let mut landed = Vec::with_capacity(batches.len());
        while landed.len() < batches.len() {
            let rest = &batches[landed.len()..];
            // The end of a turn asks the log what is open in it, so all before it must be there.
            let together = rest.iter().take_while(|batch| ended_turns(batch).is_empty()).count();
            self.append_together(log, epoch, now, &rest[..together], &mut landed).await;
            let Some(alone) = batches.get(landed.len()) else { break };
            match self.append(log, epoch, now, alone).await {
                Ok(one) => landed.push(one),
                Err(error) => return (landed, Some(error)),
            }
        }
        (landed, None)
    }

    /// Hands over all of the batches before it waits for the first. Stops at the first that is refused: those behind
    /// it name it as the chunk before them, so they are refused too.
    async fn append_together(
        &self,
        log: &Arc<dyn Log>,
        epoch: Epoch,
        now: Timestamp,
        batches: &[Batch],
        landed: &mut Vec<Landed>,
    ) {
        let mut tickets = Vec::with_capacity(batches.len());
        for batch in batches {
            match self.submit(log, epoch, now, batch, &[]).await {
                Ok(submitted) => tickets.push(submitted),
                Err(_) => break,
            }
        }
        let mut refused = false;
        for (ticket, built_on) in tickets {
            match ticket.await {
                Ok(DurableAppend { first, last, duplicate, .. }) if !refused => {
                    landed.push(Landed { place: Some((first, last)), duplicate });
                }
                Ok(_) => {}
                Err(_) => {
                    refused = true;
                    self.reset(built_on).await;
                }
            }
        }
    }

    /// Builds the chunk at the end of the log and hands it over, in order. Nobody waits here for the disk.
    pub(crate) async fn submit(
        &self,
        log: &Arc<dyn Log>,
        epoch: Epoch,
        now: Timestamp,
        batch: &Batch,
        ending: &[Fact],
    ) -> Result<(LogTicket<DurableAppend>, SessionHead), AppendError> {
        let mut owner = self.owner.lock().await;
        let gone = || LogError::NoSession(self.key.session.clone());
        if self.is_gone() {
            return Err(gone().into());
        }
        let mut head = match *owner {
            Some(head) => head,
            None => log.head(&self.key).await?.ok_or_else(gone)?,
        };
        self.check_authors(log, &head, batch).await?;
        let built_on = head;
        let (chunk, mut all) = build(&head, self.stamp.at(now), batch, &self.key.session)?;
        let opened_here: Vec<Fact> = abandoned_here(&all, batch);
        all.extend_from_slice(ending);
        all.extend(opened_here);
        all.extend_from_slice(&batch.facts);
        head.advance(&chunk);
        let mut append = Append::new(self.key.clone(), epoch, chunk);
        // The log refuses it if the session was made anew meanwhile.
        append.incarnation = Some(self.incarnation());
        append.urgency = urgency(batch);
        append.facts = all;
        append.producer.clone_from(&batch.producer);
        append.commands.clone_from(&batch.commands);
        let answers = batch.idempotency.iter().map(|record| self.answered(batch, record, &append.chunk));
        append.idempotency = answers.collect();
        let ticket = log.append(append);
        *owner = Some(head);
        Ok((ticket, built_on))
    }

    /// The stored answer to an append names the place of its events, which is known only now.
    fn answered(&self, batch: &Batch, record: &IdempotencyRecord, chunk: &Chunk) -> IdempotencyRecord {
        match batch.answer.filter(|_| record.response.is_empty()) {
            Some(answer) => {
                let landed = Landed { place: Some((chunk.first(), chunk.last())), duplicate: false };
                IdempotencyRecord { response: answer(self, &landed), ..record.clone() }
            }
            None => record.clone(),
        }
    }

    /// Forgets the owner's place if it still rests on the chunk that failed.
    pub(crate) async fn reset(&self, built_on: SessionHead) {
        let mut owner = self.owner.lock().await;
        if owner.is_some_and(|head| head.last > built_on.last) {
            *owner = None;
        }
    }

    /// Actions that wait in a turn which this batch ends can no longer be decided.
    async fn abandoned_actions(&self, log: &Arc<dyn Log>, batch: &Batch) -> Result<Vec<Fact>, AppendError> {
        let ended = ended_turns(batch);
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let query = ActionQuery {
                tenant: self.key.tenant.clone(),
                session: Some(self.key.session.clone()),
                page: PageRequest { cursor, limit: 1000 },
            };
            let page = log.pending_actions(query).await?;
            let of_ended = page
                .items
                .into_iter()
                .filter(|action| action.opened.turn.as_ref().is_some_and(|turn| ended.contains(turn)));
            found.extend(of_ended.map(|action| abandoned(action.opened)));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }
}

/// Actions that one batch opens and, with the end of their turn, leaves open.
fn abandoned_here(facts: &[Fact], batch: &Batch) -> Vec<Fact> {
    let resolved = |action| {
        facts.iter().any(|fact| matches!(fact, Fact::ActionResolved { action: other, .. } if other == action))
    };
    let ended = ended_turns(batch);
    let opened = facts.iter().filter_map(|fact| match fact {
        Fact::ActionOpened(opened) if opened.turn.as_ref().is_some_and(|turn| ended.contains(turn)) => {
            Some(opened)
        }
        _ => None,
    });
    opened.filter(|opened| !resolved(&opened.action)).map(|opened| abandoned(opened.clone())).collect()
}

fn ended_turns(batch: &Batch) -> Vec<riverrun_event::TurnId> {
    let ended = batch.events.iter().filter(|event| event.draft.kind.is_turn_terminal());
    ended.filter_map(|event| event.scope.turn_id.clone()).collect()
}

fn abandoned(opened: riverrun_log::NewAction) -> Fact {
    let resolution = bytes::Bytes::from_static(b"{\"decision\":\"abandoned\",\"source\":\"turn_ended\"}");
    Fact::ActionResolved { action: opened.action, resolution, resolved_at: opened.opened_at }
}

fn build(
    head: &SessionHead,
    now: Timestamp,
    batch: &Batch,
    session: &riverrun_event::SessionId,
) -> Result<(Chunk, Vec<Fact>), AppendError> {
    let exhausted = || LogError::SequenceExhausted(session.clone());
    // A length takes up to three bytes of its own where the events are as large as they usually are.
    let room = batch.events.iter().map(|event| record_length(&event.draft) + 3).sum();
    let mut builder = head.next_chunk_with_room(log_time(now), room).ok_or_else(exhausted)?;
    let mut all = Vec::new();
    let push = |builder: &mut ChunkBuilder, draft: &Draft| {
        builder.push_with(record_length(draft), |out| write_record(draft, now, out));
    };
    for event in &batch.events {
        let sequence = builder.next().ok_or_else(exhausted)?;
        if seeded::is_on(Bug::IdIsMilliseconds) {
            let mut draft = event.draft.clone();
            draft.event_id = EventId::new(format!("evt_{}", now.millis())).ok();
            push(&mut builder, &draft);
        } else {
            push(&mut builder, &event.draft);
        }
        facts(event, sequence, event.draft.timestamp.unwrap_or(now), &mut all);
    }
    let chunk = builder.finish().ok_or(AppendError::TooLarge)?;
    Ok((chunk, all))
}

/// What ends work may use the space that is kept back on a full disk.
fn urgency(batch: &Batch) -> Urgency {
    use riverrun_event::EventType::*;
    let ends = |kind: &riverrun_event::EventType| {
        kind.is_turn_terminal()
            || matches!(kind, ActionResolved | TaskCancelRequested | TaskCancelled | ToolCancelled)
    };
    let only_ends = !batch.events.is_empty() && batch.events.iter().all(|event| ends(&event.draft.kind));
    if only_ends { Urgency::Reserved } else { batch.urgency }
}
