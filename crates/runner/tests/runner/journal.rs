//! A journal over the log in memory, as the server's hubs are one over the log on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use riverrun_event::{Event, Payload, Record, Sequence, Timestamp, spill, write_record};
use riverrun_fold::{Change, State};
use riverrun_log::{
    Append, Chunk, Clock, DurableAppend, Epoch, Fact, Link, Log, LogError, LogTicket, NewAction, NewBlob,
    SealedTurnRecord, SessionKey, TaskFact, TurnFact, WorkProgress,
};
use riverrun_runner::{
    AppendOutcome, AppendedEvents, Entry, Incarnation, Journal, JournalError, JournalFuture, PendingAppend,
};
use tokio::sync::Mutex;

type Then = Box<dyn FnOnce() + Send>;

pub struct TestJournal {
    log: Arc<dyn Log>,
    epoch: Epoch,
    clock: Arc<dyn Clock>,
    order: Mutex<()>,
    /// Appends that may still happen; after that the owner counts as dead and every append is refused.
    pub left: AtomicI64,
    /// Texts that the log takes, and says a while later that it has no room for them.
    pub late: AtomicI64,
    /// What to do once the log has so many events.
    then: std::sync::Mutex<Option<(u64, Then)>>,
}

impl TestJournal {
    pub fn new(log: Arc<dyn Log>, epoch: Epoch, clock: Arc<dyn Clock>) -> Self {
        Self {
            log,
            epoch,
            clock,
            order: Mutex::new(()),
            left: AtomicI64::new(i64::MAX),
            late: AtomicI64::new(0),
            then: std::sync::Mutex::default(),
        }
    }

    pub fn at(&self, events: u64, then: impl FnOnce() + Send + 'static) {
        *self.then.lock().unwrap() = Some((events, Box::new(then)));
    }

    fn reached(&self, last: Sequence) {
        let mut then = self.then.lock().unwrap();
        if let Some((_, run)) = then.take_if(|(at, _)| *at <= last.get()) {
            run();
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now().millis() as i64)
    }

    async fn try_append(&self, of: &Incarnation, entry: &mut Entry) -> Result<AppendedEvents, JournalError> {
        const LARGEST: usize = 1 << 20;
        const SPILLS_AT: usize = 256 << 10;
        if entry.events.iter().any(|event| event.draft.size() > LARGEST) {
            return Err(JournalError::Invalid("an event is too large".to_owned()));
        }
        let _order = self.order.lock().await;
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            // Whatever was begun before it was durable has time to do its work.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            return Err(JournalError::Fenced);
        }
        let head = self.log.head(&of.key).await.map_err(failed)?.ok_or(JournalError::NoSession)?;
        let mut builder = head.next_chunk(self.clock.now()).expect("the log is not exhausted");
        let entry = std::mem::take(entry);
        let (mut record, mut facts) = (Vec::new(), entry.facts);
        for draft in entry.events.iter().map(|event| &event.draft) {
            let sequence = builder.next().expect("the log is not exhausted");
            let mut draft = draft.clone();
            for part in spill(&mut draft, SPILLS_AT).expect("it can be made to fit") {
                let (session, media_type) = (Some(of.key.session.clone()), "text/plain".to_owned());
                let blob = NewBlob { session, media_type, bytes: part.content.into() };
                self.log.put_blob(&of.key.tenant, blob).await.map_err(failed)?;
            }
            record.clear();
            write_record(&draft, self.now(), &mut record);
            builder.push(&record);
            let event =
                Record::read(&record).expect("just written").to_event(sequence).expect("just written");
            assert!(event.payload.is_ok(), "the runner wrote a payload that does not fit: {event:?}");
            facts_of(&event, &mut facts);
        }
        let chunk = builder.finish().ok_or_else(|| JournalError::Invalid("an empty entry".to_owned()))?;
        let mut append = Append::new(of.key.clone(), self.epoch, chunk);
        append.incarnation = Some(of.number);
        append.facts = facts;
        append.commands = entry.commands;
        append.idempotency = entry.idempotency;
        let appended = self.log.append(append).await.map_err(failed)?;
        drop(_order);
        self.reached(appended.last);
        tokio::task::yield_now().await;
        Ok(AppendedEvents { first: appended.first, last: appended.last, events: entry.events })
    }
}

fn failed(error: LogError) -> JournalError {
    match error {
        LogError::Fenced { .. } => JournalError::Fenced,
        LogError::NoSession(_) => JournalError::NoSession,
        LogError::CommandExists { .. } => JournalError::CommandExists,
        error => JournalError::Unavailable(error.to_string()),
    }
}

/// An entry that the log will not have taken.
struct Late {
    entry: Entry,
    ticket: LogTicket<DurableAppend>,
}

impl PendingAppend for Late {
    fn ticket(&mut self) -> &mut LogTicket<DurableAppend> {
        &mut self.ticket
    }

    fn complete(self: Box<Self>, answer: Result<DurableAppend, LogError>) -> AppendOutcome {
        assert_eq!(answer.err(), Some(LogError::Full));
        AppendOutcome::Retrying(Box::pin(std::future::ready(Err((JournalError::Full, self.entry)))))
    }
}

/// An entry that is durable already.
struct Done {
    landed: AppendedEvents,
    ticket: LogTicket<DurableAppend>,
}

impl PendingAppend for Done {
    fn ticket(&mut self) -> &mut LogTicket<DurableAppend> {
        &mut self.ticket
    }

    fn complete(self: Box<Self>, _answer: Result<DurableAppend, LogError>) -> AppendOutcome {
        AppendOutcome::Durable(self.landed)
    }
}

impl Journal for TestJournal {
    fn open<'a>(&'a self, key: &'a SessionKey) -> JournalFuture<'a, Incarnation> {
        Box::pin(async move {
            let head = self.log.head(key).await.map_err(failed)?.ok_or(JournalError::NoSession)?;
            Ok(Incarnation { key: key.clone(), number: head.incarnation })
        })
    }

    fn begin<'a>(
        &'a self,
        of: &'a Incarnation,
        entry: &'a mut Entry,
    ) -> JournalFuture<'a, Option<Box<dyn PendingAppend>>> {
        Box::pin(async move {
            if self.late.fetch_sub(1, Ordering::SeqCst) > 0 {
                let (promise, ticket) = LogTicket::pending();
                tokio::spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    promise.resolve(Err(LogError::Full));
                });
                let late: Box<dyn PendingAppend> = Box::new(Late { entry: std::mem::take(entry), ticket });
                return Ok(Some(late));
            }
            let landed = self.try_append(of, entry).await?;
            let (first, last) = (landed.first, landed.last);
            let appended = DurableAppend { first, last, link: Link::START, duplicate: false };
            let done: Box<dyn PendingAppend> =
                Box::new(Done { landed, ticket: LogTicket::ready(Ok(appended)) });
            Ok(Some(done))
        })
    }

    fn append<'a>(&'a self, of: &'a Incarnation, entry: &'a mut Entry) -> JournalFuture<'a, AppendedEvents> {
        Box::pin(self.try_append(of, entry))
    }

    fn state<'a>(&'a self, of: &'a Incarnation) -> JournalFuture<'a, State> {
        Box::pin(async move {
            let key = &of.key;
            if self.open(key).await? != *of {
                return Err(JournalError::NoSession);
            }
            let mut state = State::new(key.session.clone());
            for event in events(&self.log, key).await? {
                let mut changes = Vec::new();
                let _ = state.apply(&event, &mut changes);
                for change in changes {
                    if let Change::TurnSealed(sealed) = change {
                        self.log.put_sealed_turn(key, stored(&sealed)).await.map_err(failed)?;
                    }
                }
            }
            Ok(state)
        })
    }

    fn read<'a>(&'a self, key: &'a SessionKey, after: Sequence) -> JournalFuture<'a, Vec<Chunk>> {
        Box::pin(async move { self.log.read(key, after, usize::MAX).await.map_err(failed) })
    }

    fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }
}

fn stored(sealed: &riverrun_fold::SealedTurn) -> SealedTurnRecord {
    SealedTurnRecord {
        turn: sealed.turn.turn_id.clone(),
        task: sealed.turn.task_id.clone().expect("turns of the runner have a root task"),
        first: sealed.turn.first_sequence,
        last: sealed.turn.last_sequence,
        bytes: Bytes::from(serde_json::to_vec(sealed).expect("a sealed turn is JSON")),
    }
}

/// Everything in the log of a session.
pub async fn events(log: &Arc<dyn Log>, key: &SessionKey) -> Result<Vec<Event>, JournalError> {
    let chunks = log.read(key, Sequence::ZERO, usize::MAX).await.map_err(failed)?;
    let records = chunks.iter().flat_map(|chunk| chunk.records());
    Ok(records
        .map(|(sequence, record)| Record::read(record).expect("whole").to_event(sequence).expect("whole"))
        .collect())
}

fn facts_of(event: &Event, out: &mut Vec<Fact>) {
    let turn = |status: &str, progress| {
        Fact::Turn(TurnFact {
            turn: event.scope.turn_id.clone().expect("a turn's event names its turn"),
            thread: event.scope.thread_id.clone().expect("the runner names the thread"),
            status: status.to_owned(),
            progress,
            first: event.sequence,
        })
    };
    let time = riverrun_log::UnixMillis::from_millis(event.timestamp.millis() as u64);
    let body = || event.raw_payload.as_ref().map(|raw| Bytes::from(raw.get().to_owned())).unwrap_or_default();
    match event.payload.as_ref().expect("checked before") {
        Payload::TurnSubmitted(_) => out.push(turn("accepted", WorkProgress::Open)),
        Payload::TurnStarted(_) => out.push(turn("running", WorkProgress::Open)),
        Payload::TurnCompleted(_) => out.push(turn("completed", WorkProgress::Terminal)),
        Payload::TurnFailed(_) => out.push(turn("failed", WorkProgress::Terminal)),
        Payload::TurnCancelled(_) => out.push(turn("cancelled", WorkProgress::Terminal)),
        Payload::TaskCreated(_) => out.push(Fact::Task(TaskFact {
            task: event.scope.task_id.clone().expect("a task's event names it"),
            turn: event.scope.turn_id.clone().expect("a task's event names its turn"),
            parent: event.scope.parent_task_id.clone(),
        })),
        Payload::ActionRequired(_) => out.push(Fact::ActionOpened(NewAction {
            action: event.scope.action_id.clone().expect("an action's event names it"),
            turn: event.scope.turn_id.clone(),
            task: event.scope.task_id.clone(),
            sequence: event.sequence,
            body: body(),
            opened_at: time,
            expires_at: None,
        })),
        Payload::ActionResolved(_) => out.push(Fact::ActionResolved {
            action: event.scope.action_id.clone().expect("an action's event names it"),
            resolution: body(),
            resolved_at: time,
        }),
        _ => {}
    }
}
