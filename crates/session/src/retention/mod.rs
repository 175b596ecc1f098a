//! How long the events of finished sessions are kept, and what goes next.

mod trusted_clock;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Expired, ExpiredQuery, Log, UnixMillis};

use crate::lock::lock;
use trusted_clock::{Jump, TrustedClock};

/// How far ahead the announcement in the server's log looks.
pub const ANNOUNCED: Duration = Duration::from_secs(24 * 60 * 60);
/// How often the whole store is looked through; more often for a short retention.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How often what comes next is announced, and the time is noted.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(60 * 60);
/// Sessions that one look through the store retires at most.
const AT_ONCE: usize = 256;

/// The retention of a server.
pub struct Retention {
    age: Duration,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    clock: TrustedClock,
    looked: Option<Instant>,
    announced: Option<Instant>,
}

impl Retention {
    /// Goes on from the time that the store has noted.
    pub async fn start(log: &dyn Log, wall: u64, age: Duration) -> Result<Self, riverrun_log::LogError> {
        let noted = log.noted_time().await?.map(UnixMillis::millis);
        let (clock, jump) = TrustedClock::new(wall, 0, noted);
        if let Some(jump) = jump {
            report(jump, "while the server was stopped");
        }
        let state = Mutex::new(State { clock, looked: None, announced: None });
        Ok(Self { age, began: Instant::now(), state })
    }

    /// How long events are stored.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// The same in milliseconds.
    pub fn age_millis(&self) -> u64 {
        millis(self.age)
    }

    /// Events from before this are old. None if the reckoning has not begun.
    pub fn cutoff(&self, wall: u64) -> UnixMillis {
        let (now, _) = self.now(wall);
        UnixMillis::from_millis(now.saturating_sub(millis(self.age)))
    }

    /// The time that is believed, and how far the wall clock is ahead of it.
    pub fn now(&self, wall: u64) -> (u64, u64) {
        if seeded::is_on(Bug::RetireByWallClock) {
            return (wall, 0);
        }
        let mut state = lock(&self.state);
        if let Some(jump) = state.clock.look(wall, millis(self.began.elapsed())) {
            report(jump, "while the server ran");
        }
        (state.clock.now(), state.clock.behind())
    }

    /// Whether it is time to look through the store, and to announce what comes.
    fn due(&self) -> (bool, bool) {
        let mut state = lock(&self.state);
        let every = LOOK_EVERY.min(self.age / 2).max(Duration::from_secs(1));
        let looks = state.looked.is_none_or(|at| at.elapsed() >= every);
        if looks {
            state.looked = Some(Instant::now());
        }
        let announces = state.announced.is_none_or(|at| at.elapsed() >= ANNOUNCE_EVERY);
        if announces {
            state.announced = Some(Instant::now());
        }
        (looks, announces)
    }

    /// The finished sessions that are old by now. Announces them, and what follows within a day.
    pub async fn look(&self, log: &dyn Log, wall: u64) -> Vec<Expired> {
        let (looks, announces) = self.due();
        let cutoff = self.cutoff(wall);
        if announces {
            self.announce(log, wall, cutoff).await;
        }
        if !looks {
            return Vec::new();
        }
        let query = ExpiredQuery { tenant: None, before: cutoff, limit: AT_ONCE };
        let found = log.expired(query).await.unwrap_or_default();
        if !found.is_empty() {
            let events: u64 = found.iter().map(|session| session.events).sum();
            tracing::info!(
                sessions = found.len(),
                events,
                "retention deletes the events of finished sessions"
            );
        }
        found
    }

    async fn announce(&self, log: &dyn Log, wall: u64, cutoff: UnixMillis) {
        let (now, _) = self.now(wall);
        // It need not survive: the next one comes soon.
        let _ = log.note_time(UnixMillis::from_millis(now)).await;
        let query = ExpiredQuery { tenant: None, before: cutoff.plus(ANNOUNCED), limit: 10_000 };
        let Ok(found) = log.expired(query).await else { return };
        if !found.is_empty() {
            let events: u64 = found.iter().map(|session| session.events).sum();
            tracing::info!(
                sessions = found.len(),
                events,
                "retention will delete the events of these finished sessions within a day; GET /v1/retention lists them"
            );
        }
    }
}

fn report(jump: Jump, when: &str) {
    let seconds = jump.millis / 1000;
    tracing::warn!(
        seconds,
        "the clock was set {when}; retention deletes nothing because of that until the clock was steady for a day"
    );
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
