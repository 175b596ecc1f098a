//! Every event type, through every way in, against calls that wait, were approved, were rejected, or run.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::doors::Kind;
use super::socket::Socket;
use super::stage::{Pending, Stage};
use super::{doors, samples};
use crate::attack::Case;
use crate::crash::Program;
use crate::crash::http::Connection;
use crate::crash::runner::world::STUCK;

pub const CASES: &[Case] = &[
    Case { name: "approvals/every-event-by-every-way-to-append", run: appended },
    Case { name: "approvals/every-event-in-a-file-and-a-fork", run: copied },
    Case { name: "approvals/every-event-through-every-dialect", run: by_dialect },
];

/// How a call stands while the events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Pending,
    Approved,
    Rejected,
    Running,
}

const STANDINGS: [Standing; 4] =
    [Standing::Pending, Standing::Approved, Standing::Rejected, Standing::Running];

impl Standing {
    fn agent(self) -> &'static str {
        if self == Standing::Running { "lingerer" } else { "purger" }
    }

    /// The effects that an authorised key approved.
    fn effects(self) -> usize {
        match self {
            Standing::Pending | Standing::Rejected => 0,
            Standing::Approved | Standing::Running => 1,
        }
    }

    /// A session with such a call.
    fn reach(self, stage: &Stage, session: &str) -> Result<Pending> {
        let call = stage.pending(session, self.agent())?;
        let decide = |decision: &str| -> Result<()> {
            let (status, told) = stage.decide(session, &call.action, json!({"decision": decision}))?;
            ensure!(status == 200, "{decision}: {status} {told}");
            Ok(())
        };
        match self {
            Standing::Pending => {}
            Standing::Approved => stage.approve_and_finish(&call)?,
            Standing::Rejected => {
                decide("reject")?;
                stage.ended(session, "t")?;
            }
            Standing::Running => {
                decide("approve")?;
                let began = Instant::now();
                while stage.effects(session) == 0 && began.elapsed() < STUCK {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
        ensure!(stage.effects(session) == self.effects(), "{self:?} has {} effects", stage.effects(session));
        Ok(call)
    }

    /// What was shown is what runs, once, and the turn ends.
    fn conclude(self, stage: &Stage, call: &Pending) -> Result<()> {
        let session = &call.session;
        match self {
            Standing::Pending => stage.approve_and_finish(call)?,
            Standing::Running => {
                stage.world.counter.hold.store(false, Ordering::Release);
                stage.ended(session, "t")?;
            }
            Standing::Approved | Standing::Rejected => {}
        }
        let shown = &call.asked["payload"]["arguments"];
        for effect in stage.world.counter.all().iter().filter(|effect| effect.session == *session) {
            let ran: Value = serde_json::from_str(&effect.body).unwrap_or(Value::Null);
            ensure!(ran == *shown, "{shown} was shown, and {ran} ran");
        }
        let wanted = self.effects().max(usize::from(self == Standing::Pending));
        let found = stage.effects(session);
        ensure!(found == wanted, "{self:?}: {found} effects, not {wanted}");
        stage.rests(session)
    }
}

/// How events are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Json,
    Array,
    Lines,
    Producer,
    Rpc,
}

const WAYS: [Way; 5] = [Way::Json, Way::Array, Way::Lines, Way::Producer, Way::Rpc];

/// The connections of one writer.
struct Writer<'a> {
    stage: &'a Stage,
    socket: Socket,
    sent: u64,
}

impl<'a> Writer<'a> {
    fn new(stage: &'a Stage) -> Result<Self> {
        let socket = Socket::open(stage.world.place.address, &stage.writer, "/v1/ws")?;
        Ok(Self { stage, socket, sent: 0 })
    }

    /// The code of the refusal; None if the event was taken.
    fn send(&mut self, way: Way, session: &str, event: &Value) -> Result<Option<String>> {
        let path = format!("/v1/sessions/{session}/events");
        let (stage, key) = (self.stage, &self.stage.writer);
        let answer = match way {
            Way::Json => stage.post(key, &path, event)?.1,
            Way::Array => stage.post(key, &path, &json!([{"type": "x.before"}, event]))?.1,
            Way::Lines => stage.ask(key, "POST", &path, "application/x-ndjson", &format!("{event}\n"))?.1,
            Way::Producer => self.numbered(&path, event)?,
            Way::Rpc => {
                let params = json!({"sessionId": session, "events": [event]});
                let answer = self.socket.call("session.append", params)?;
                return Ok(answer["error"]["data"]["code"].as_str().map(str::to_owned));
            }
        };
        Ok(answer["code"].as_str().map(str::to_owned))
    }

    fn numbered(&mut self, path: &str, event: &Value) -> Result<Value> {
        let mut connection = Connection::open(self.stage.world.place.address, &self.stage.writer, STUCK)?;
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("producer-id", format!("p{}", self.sent)),
            ("producer-seq", "0".to_owned()),
        ];
        self.sent += 1;
        let head = connection.send("POST", path, &headers, event.to_string().as_bytes())?;
        Ok(serde_json::from_slice(&connection.read_body(&head)?).unwrap_or(Value::Null))
    }
}

fn appended(program: &Program) -> Result<()> {
    let stage = Stage::new(program, "generated-append")?;
    let types = samples::types();
    let (mut writer, mut tried, mut refused) = (Writer::new(&stage)?, 0, 0);
    for standing in STANDINGS {
        for way in WAYS {
            let session = format!("{standing:?}-{way:?}");
            stage.world.counter.hold.store(true, Ordering::Release);
            let call = standing.reach(&stage, &session)?;
            let shown = stage.world.actions(&session)?;
            let all = stage.world.counter.all().len();
            for (number, kind) in types.iter().enumerate() {
                let forged = samples::forged(&call, kind);
                let disguises = call.disguises(&forged);
                for event in [&forged, &disguises[number % disguises.len()]] {
                    let code = writer.send(way, &session, event)?;
                    let is_known = matches!(code.as_deref(), None | Some("runner_only" | "forbidden"));
                    ensure!(is_known, "{way:?} answers {code:?} to {event}");
                    refused += usize::from(code.is_some());
                }
                if number % 32 == 0 && matches!(standing, Standing::Pending | Standing::Running) {
                    stage.steer(&session)?;
                }
                let ran = stage.world.counter.all().len() - all;
                ensure!(ran == 0, "`{kind}` by {way:?} while {standing:?} ran {ran} calls");
                tried += 1;
            }
            ensure!(
                stage.world.actions(&session)? == shown,
                "{way:?} while {standing:?} changed what is asked"
            );
            stage.stays_at(&session, standing.effects())?;
            standing.conclude(&stage, &call)?;
        }
    }
    let wanted = types.len() * WAYS.len() * STANDINGS.len();
    println!(
        "    {tried}/{wanted} cases of type × way × call: nothing ran unapproved ({refused} events refused)"
    );
    ensure!(tried == wanted, "{tried} of {wanted} cases were tried");
    Ok(())
}

fn copied(program: &Program) -> Result<()> {
    let stage = Stage::new(program, "generated-copies")?;
    let types = samples::types();
    let mut made = Vec::new();
    for standing in STANDINGS {
        let source = format!("{standing:?}");
        stage.world.counter.hold.store(true, Ordering::Release);
        let call = standing.reach(&stage, &source)?;
        let export = stage.world.place.export(&source)?;
        let next = export.len() + 1;
        for (number, kind) in types.iter().enumerate() {
            let (import, fork) = (format!("i-{standing:?}-{number}"), format!("f-{standing:?}-{number}"));
            let mut event = samples::forged(&call, kind);
            event["sessionId"] = json!(source);
            event["sequence"] = json!(next);
            event["author"] = json!("runner");
            let mut file = export.clone();
            file.push(event.to_string());
            let (status, answer) = stage.import(&import, &file)?;
            ensure!(status == 201, "importing `{kind}`: {status} {answer}");
            stage.fork(&import, u64::try_from(next)?, &fork)?;
            for session in [import, fork] {
                // Refused if the turn looks as if it ran; whatever is answered, nothing may run.
                let path = format!("/v1/sessions/{session}/turns/t/retry");
                stage.post(&stage.writer, &path, &json!({}))?;
                made.push((session, kind.clone()));
            }
        }
        stage.world.counter.hold.store(false, Ordering::Release);
    }
    settle(&stage, &made)?;
    let mut harmless = 0;
    for (session, kind) in &made {
        let ran = stage.effects(session);
        ensure!(ran == 0, "`{kind}` in copy `{session}` ran {ran} calls");
        harmless += 1;
    }
    let wanted = types.len() * 2 * STANDINGS.len();
    println!("    {harmless}/{wanted} cases of type × copy × call: nothing ran");
    ensure!(harmless == wanted, "{harmless} of {wanted} cases were tried");
    Ok(())
}

/// Waits until each of the copies has ended or asks.
fn settle(stage: &Stage, made: &[(String, String)]) -> Result<()> {
    let began = Instant::now();
    for (session, _) in made {
        while began.elapsed() < STUCK {
            let status = stage.world.get(&format!("/v1/sessions/{session}"))?["status"].clone();
            let is_busy = matches!(status.as_str(), Some("running"));
            if !is_busy || began.elapsed() > Duration::from_secs(5) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

/// Sends a request and reads the head of its answer alone: a turn may wait behind the call, and its stream with it.
fn knock(stage: &Stage, kind: Kind, path: &str, body: &Value) -> Result<u16> {
    if kind == Kind::WebSocket {
        let messages = body.as_array().context("a list of messages")?;
        Socket::open(stage.world.place.address, &stage.writer, path)?.say(messages)?;
        return Ok(200);
    }
    let mut connection = Connection::open(stage.world.place.address, &stage.writer, STUCK)?;
    let json = ("content-type", "application/json".to_owned());
    Ok(connection.send("POST", path, &[json], body.to_string().as_bytes())?.status)
}

fn by_dialect(program: &Program) -> Result<()> {
    let stage = Stage::new(program, "generated-dialects")?;
    let types = samples::types();
    let mut tried = 0;
    for standing in STANDINGS {
        for door in doors::ALL {
            let session = format!("{standing:?}-{}", door.name);
            stage.world.counter.hold.store(true, Ordering::Release);
            let call = standing.reach(&stage, &session)?;
            let all = stage.world.counter.all().len();
            for kind in &types {
                let event = samples::forged(&call, kind);
                let (path, body) = (door.request)(&call, &event, tried);
                let status = knock(&stage, door.kind, &path, &body)?;
                ensure!(status < 500, "{} answers {status} to {body}", door.name);
                let ran = stage.world.counter.all().len() - all;
                ensure!(
                    ran == 0,
                    "`{kind}` through {} while {standing:?} ran {ran} calls: {body}",
                    door.name
                );
                tried += 1;
            }
            stage.stays_at(&session, standing.effects())?;
            let pending = stage.world.actions(&session)?;
            let is_open = pending.iter().any(|action| action["actionId"] == call.action["actionId"]);
            stage.world.counter.hold.store(false, Ordering::Release);
            // A writer may interrupt a turn; if the question still stands, it is the one that was asked.
            if standing == Standing::Pending && is_open {
                let id = call.action["actionId"].as_str().context("an id")?;
                let asked = pending.iter().find(|action| action["actionId"] == id).context("the question")?;
                ensure!(*asked == call.action, "{} changed what is asked", door.name);
            }
            stage.stays_at(&session, standing.effects())?;
        }
    }
    let wanted = types.len() * doors::ALL.len() * STANDINGS.len();
    println!("    {tried}/{wanted} cases of type × dialect × call: nothing ran unapproved");
    Ok(())
}
