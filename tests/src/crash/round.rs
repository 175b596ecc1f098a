//! A round: new sessions, clients on them, faults for a while, then judgement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::checker::{Exported, Verdict};
use super::follow::{Follower, View};
use super::frames::{Format, Frame, take};
use super::load::{Followed, Load, Produced};
use super::produce::{Producer, Shape, Stamp};
use super::server::{Place, Program, Server};

const SETTLE: Duration = Duration::from_secs(20);
const NOT_YET: u64 = u64::MAX;

/// Two producers for each session: between them every shape, with and without a stamp.
const PRODUCERS: &[[(Shape, Stamp); 2]] = &[
    [(Shape::Batch, Stamp::Numbered), (Shape::Single, Stamp::None)],
    [(Shape::Lines, Stamp::Numbered), (Shape::Batch, Stamp::None)],
    [(Shape::Single, Stamp::Numbered), (Shape::Lines, Stamp::None)],
];
const VIEWS: [View; 3] = [View::Sse, View::Lines, View::Task];

pub struct Round<'a> {
    pub program: &'a Program,
    pub place: &'a Place,
    pub number: u64,
    pub seed: u64,
}

/// What a round showed.
#[derive(Debug, Default)]
pub struct Shown {
    pub verdict: Verdict,
    pub resumes: u64,
}

impl Round<'_> {
    fn sessions(&self) -> Vec<String> {
        (0..PRODUCERS.len()).map(|n| format!("r{}-{n}", self.number)).collect()
    }

    /// Runs the clients while `faults` does its worst to the server, and judges what they saw. `faults` gets a
    /// running server and leaves one.
    pub fn run(&self, mut faults: impl FnMut(&Load, Server) -> Result<Server>) -> Result<Shown> {
        let (server, _) = Server::start(self.program, self.place)?;
        for session in self.sessions() {
            self.place.create_session(&session)?;
        }
        let load = Load::new(self.place.address, self.place.key()?, self.seed);
        let marks: Vec<AtomicU64> =
            (0..PRODUCERS.len() * VIEWS.len()).map(|_| AtomicU64::new(NOT_YET)).collect();
        std::thread::scope(|scope| {
            let producers = self.start_producers(scope, &load);
            let followers = self.start_followers(scope, &load, &marks);
            let judged = self.judge(&load, &marks, producers, || faults(&load, server));
            // Whatever happened, the clients end; without a server their reads end at once.
            load.stop_producing();
            load.stop_following();
            let (exports, replays, produced) = judged?;
            let followed = followers.into_iter().map(join).collect::<Result<Vec<_>>>()?;
            Ok(self.verdict(&load, &exports, &replays, &produced, &followed))
        })
    }

    fn start_producers<'s>(
        &self,
        scope: &'s Scope<'s, '_>,
        load: &'s Load,
    ) -> Vec<ScopedJoinHandle<'s, Produced>> {
        let mut handles = Vec::new();
        for (session, pair) in self.sessions().into_iter().zip(PRODUCERS) {
            for (shape, stamp) in *pair {
                let number = handles.len() as u32;
                let producer = Producer { load, number, session: session.clone(), shape, stamp };
                handles.push(scope.spawn(move || producer.run()));
            }
        }
        handles
    }

    fn start_followers<'s>(
        &self,
        scope: &'s Scope<'s, '_>,
        load: &'s Load,
        marks: &'s [AtomicU64],
    ) -> Vec<ScopedJoinHandle<'s, Followed>> {
        let sessions = self.sessions();
        let all = sessions.iter().flat_map(|session| VIEWS.iter().map(move |view| (session.clone(), *view)));
        all.zip(marks)
            .map(|((session, view), caught_up)| {
                let follower = Follower { load, session, view, caught_up };
                scope.spawn(move || follower.run())
            })
            .collect()
    }

    /// Faults, then quiet: the producers end, the server starts once more, every follower comes to the end.
    #[expect(clippy::type_complexity, reason = "the three parts of the evidence, taken apart at once")]
    fn judge(
        &self,
        load: &Load,
        marks: &[AtomicU64],
        producers: Vec<ScopedJoinHandle<'_, Produced>>,
        faults: impl FnOnce() -> Result<Server>,
    ) -> Result<(Vec<Vec<String>>, Vec<Vec<Frame>>, Vec<Produced>)> {
        let server = faults()?;
        load.stop_producing();
        let produced = producers.into_iter().map(join).collect::<Result<Vec<_>>>()?;
        marks.iter().for_each(|mark| mark.store(NOT_YET, Ordering::Relaxed));
        server.kill()?;
        let (server, _) = Server::start(self.program, self.place)?;
        let (mut exports, mut replays) = (Vec::new(), Vec::new());
        for session in self.sessions() {
            exports.push(self.place.export(&session)?);
            replays.push(self.replay(&session)?);
        }
        let heads: Vec<u64> = exports.iter().map(|lines| lines.len() as u64).collect();
        let began = Instant::now();
        let is_there =
            |(n, mark): (usize, &AtomicU64)| mark.load(Ordering::Relaxed) == heads[n / VIEWS.len()];
        while !marks.iter().enumerate().all(is_there) && began.elapsed() < SETTLE {
            std::thread::sleep(Duration::from_millis(2));
        }
        load.stop_following();
        server.kill()?;
        Ok((exports, replays, produced))
    }

    /// The task dialect from the beginning, to compare resumed followers with.
    fn replay(&self, session: &str) -> Result<Vec<Frame>> {
        let accept = ("accept", "text/event-stream".to_owned());
        let path = format!("/v1/sessions/{session}/events?dialect=task&follow=false");
        let (status, mut body) = self.place.ask("GET", &path, &[accept], b"")?;
        if status != 200 {
            bail!("replaying {session}: {status} {}", String::from_utf8_lossy(&body));
        }
        let frames = take(Format::Sse, &mut body).into_iter();
        Ok(frames
            .filter(|frame| !frame.data.is_empty() && frame.event.as_deref() != Some("riverrun"))
            .collect())
    }

    fn verdict(
        &self,
        load: &Load,
        exports: &[Vec<String>],
        replays: &[Vec<Frame>],
        produced: &[Produced],
        followed: &[Followed],
    ) -> Shown {
        let mut shown = Shown::default();
        let verdict = &mut shown.verdict;
        load.problems().into_iter().for_each(|what| verdict.problem(what));
        for (n, session) in self.sessions().iter().enumerate() {
            let exported = Exported::read(session, &exports[n], verdict);
            for one in produced.iter().filter(|one| one.session == *session) {
                exported.check_acked(&one.acked, verdict);
            }
            for one in followed.iter().filter(|one| one.session == *session) {
                shown.resumes += one.resumes;
                match one.name.starts_with("Task") {
                    false => exported.check_delivered(&one.name, &one.delivered, verdict),
                    true => compare(&one.name, &one.frames, &replays[n], verdict),
                }
            }
        }
        let said = self.place.said();
        if said.contains("panicked") {
            verdict.problem(format!("the server panicked:\n{said}"));
        }
        shown
    }
}

/// A resumed follower of a dialect saw what a fresh one sees.
fn compare(name: &str, seen: &[Frame], fresh: &[Frame], verdict: &mut Verdict) {
    verdict.delivered += seen.len() as u64;
    if seen == fresh {
        return;
    }
    let at =
        seen.iter().zip(fresh).position(|(seen, fresh)| seen != fresh).unwrap_or(seen.len().min(fresh.len()));
    verdict.changed += 1;
    verdict.problem(format!(
        "{name} differs from a fresh replay at frame {at} of {} and {}:\n  saw   {:?}\n  fresh {:?}",
        seen.len(),
        fresh.len(),
        seen.get(at),
        fresh.get(at)
    ));
}

fn join<T>(handle: ScopedJoinHandle<'_, T>) -> Result<T> {
    handle.join().map_err(|_| anyhow::anyhow!("a client of the suite panicked"))
}
