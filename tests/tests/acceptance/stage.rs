//! A server of its own for each scenario.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use riverrun_tests::crash::runner::world::{World, is_terminal, kind};
use riverrun_tests::crash::{Program, Server};
use serde_json::Value;

use crate::seen::Seen;

pub struct Stage {
    pub world: World,
    pub server: Option<Server>,
    seen: Seen,
}

/// A scenario that went well has seen what `spec/scenarios.txt` says of it.
impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if self.server.is_some()
            && let Ok(events) = self.world.events("s")
        {
            self.seen.note(&events);
        }
        self.seen.check();
    }
}

/// RIVERRUN_BINARY, or that of the profile `suite`, or the one that was built with this test.
fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("RIVERRUN_BINARY") {
        return named.into();
    }
    let here = std::env::current_exe().unwrap();
    let profile = here.parent().and_then(Path::parent).unwrap();
    let found = [profile.join("riverrun"), profile.with_file_name("suite").join("riverrun")];
    found
        .into_iter()
        .find(|path| path.is_file())
        .expect("there is no binary to test: cargo build --package riverrun, or name one in RIVERRUN_BINARY")
}

impl Stage {
    pub fn new(name: &str, more: &str, scenarios: &[(&str, &str)]) -> Self {
        let world = World::with(&Program::new(binary()), name, more, scenarios).unwrap();
        let (server, _) = Server::start(&world.program, &world.place).unwrap();
        world.place.create_session("s").unwrap();
        Self { world, server: Some(server), seen: Seen::default() }
    }

    /// Kills the server and starts it again.
    pub fn restart(&mut self) {
        self.server.take().unwrap().kill().unwrap();
        self.server = Some(Server::start(&self.world.program, &self.world.place).unwrap().0);
    }

    pub fn submit(&self, turn: &str, agent: &str) {
        self.world.submit("s", turn, agent).unwrap();
    }

    pub fn events(&self) -> Vec<Value> {
        let events = self.world.events("s").unwrap();
        self.seen.note(&events);
        events
    }

    /// Counts events of another session, or frames of a stream, as seen.
    pub fn saw(&self, events: &[Value]) {
        self.seen.note(events);
    }

    /// Waits until the session has such an event; all events then.
    pub fn until(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            let events = self.events();
            if events.iter().any(&is_it) {
                return events;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{what} never came: {:#?}", self.events());
    }

    pub fn until_kind(&self, wanted: &str) -> Vec<Value> {
        self.until(wanted, |event| kind(event) == wanted)
    }

    pub fn until_ended(&self, turn: &str) -> Vec<Value> {
        self.until("the end of the turn", |event| event["turnId"] == turn && is_terminal(event))
    }
}

pub fn place(events: &[Value], wanted: &str) -> usize {
    events
        .iter()
        .position(|event| kind(event) == wanted)
        .unwrap_or_else(|| panic!("no {wanted} in {:?}", kinds(events)))
}

pub fn find<'a>(events: &'a [Value], wanted: &str) -> &'a Value {
    &events[place(events, wanted)]
}

pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(kind).collect()
}
