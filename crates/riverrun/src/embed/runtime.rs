//! A runtime: agents over a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use riverrun_event::{Input, SessionId, TenantId, TurnId};
use riverrun_log::{Clock, SessionKey, SessionSpec, SystemClock};
use riverrun_runner::{Runner, Submit};
use riverrun_session::{DEFAULT_TENANT, Sessions, log_time, run_upkeep};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Agent, Builder, Error, RunStream, input_list};

const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Runs an agent in memory. The run lives as long as its stream: keep it, or build a [`Riverrun`].
pub async fn run_streamed(agent: Agent, input: impl Into<Input>) -> Result<RunStream, Error> {
    let name = agent.name().to_owned();
    let runtime = Riverrun::builder().agent(agent).start().await?;
    runtime.run_streamed(&name, input).await
}

/// Agents over a store. Clones share everything; a run's stream holds one too.
///
/// When the last of them is dropped, work stops where it is. A data directory has it, and the next start goes on; a
/// runtime in memory is gone.
#[derive(Clone)]
pub struct Riverrun(Arc<Inner>);

struct Inner {
    sessions: Sessions,
    runner: Runner,
    closed: AtomicBool,
    behind: JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // It holds the sessions, and with them the store.
        self.behind.abort();
    }
}

impl Riverrun {
    /// A runtime with what is configured on the builder.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn new(sessions: Sessions, runner: Runner) -> Self {
        let of_both = sessions.clone();
        let behind = tokio::spawn(async move {
            tokio::join!(run_upkeep(of_both.clone(), None), of_both.renew_leases(|| {}));
        });
        Self(Arc::new(Inner { sessions, runner, closed: AtomicBool::new(false), behind }))
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub(super) fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Runs an agent in a session of its own.
    pub async fn run_streamed(&self, agent: &str, input: impl Into<Input>) -> Result<RunStream, Error> {
        let session = SessionId::from_bytes(fresh_id(&SystemClock)?);
        self.run_in(&session, agent, input).await
    }

    /// Runs an agent in a session, which is made if it is not there. The agent reads what was said there before.
    pub async fn run_in(
        &self,
        session: &SessionId,
        agent: &str,
        input: impl Into<Input>,
    ) -> Result<RunStream, Error> {
        let submit = Submit { agent: Some(agent.to_owned()), input: Some(input.into()), ..Submit::default() };
        self.submit(session, submit).await
    }

    /// Runs an agent in a session of its own on a list of items of the Responses API, such as
    /// [`RunStream::to_input_list`] gives. Behind the result of a call nothing new needs to be said: the model reads it
    /// and goes on.
    pub async fn run_list(&self, agent: &str, list: &[Value]) -> Result<RunStream, Error> {
        let submit = input_list::submit_of(agent, list).map_err(Error::InputList)?;
        self.submit(&SessionId::from_bytes(fresh_id(&SystemClock)?), submit).await
    }

    /// Runs an agent in a session, with everything that can be said of a turn: its id, its thread, what to do if the thread is busy.
    pub async fn submit(&self, session: &SessionId, submit: Submit) -> Result<RunStream, Error> {
        let key = key(session);
        let new = SessionSpec {
            agent: submit.agent.clone(),
            status: "idle".to_owned(),
            created_at: log_time(self.sessions().now()),
            ..SessionSpec::default()
        };
        self.sessions().log().create_session(&key, new).await?;
        let submitted = self.runner().submit(&key, submit).await?;
        Ok(RunStream::new(self.clone(), key, submitted.turn_id, submitted.first))
    }

    /// A run that is in the store, from its first event on.
    pub async fn run(&self, session: &SessionId, turn: &TurnId) -> Result<RunStream, Error> {
        let key = key(session);
        let absent = || Error::NoRun { session: session.to_string(), turn: turn.to_string() };
        let record = self.sessions().log().turn(&key, turn).await?.ok_or_else(absent)?;
        Ok(RunStream::new(self.clone(), key, turn.clone(), record.fact.first))
    }

    /// The runs without an end: those that work and those that wait for a decision. After a start with a data
    /// directory these are what the former process left.
    pub async fn open_runs(&self) -> Result<Vec<RunStream>, Error> {
        let open = self.sessions().open_turns().await?;
        let runs = open
            .into_iter()
            .map(|turn| RunStream::new(self.clone(), turn.key, turn.fact.turn, turn.fact.first));
        Ok(runs.collect())
    }

    /// Stops where everything is and closes the store. The directory is free for another process once the streams of
    /// this runtime are dropped too.
    pub async fn close(self) -> Result<(), Error> {
        const LOOKS: u32 = 200;
        let sessions = self.sessions().clone();
        self.runner().drain(DRAIN_TIME).await;
        self.0.closed.store(true, Ordering::Release);
        sessions.hubs().wake_all();
        self.0.behind.abort();
        let log = sessions.log().clone();
        sessions.ownership().release(&*log).await;
        log.close().await?;
        // What still runs down holds the store's lock for a moment.
        let held = Arc::downgrade(&log);
        drop((log, sessions, self));
        for _ in 0..LOOKS {
            if held.strong_count() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

pub(super) fn key(session: &SessionId) -> SessionKey {
    let tenant = TenantId::new(DEFAULT_TENANT).expect("the default tenant's name fits the alphabet of ids");
    SessionKey::new(tenant, session.clone())
}

/// Sorts by time: 48 bits of milliseconds, then 80 of chance.
pub(super) fn fresh_id(clock: &dyn Clock) -> Result<[u8; 16], Error> {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&clock.now().millis().to_be_bytes()[2..]);
    let failed = |error| Error::Store(format!("this machine gives no random bytes: {error}"));
    getrandom::fill(&mut bytes[6..]).map_err(failed)?;
    Ok(bytes)
}
