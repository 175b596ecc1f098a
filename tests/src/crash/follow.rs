//! Followers: they resume with their cursor after every cut, and write down what they saw.

use std::io::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::checker::{Delivered, digest};
use super::frames::{Format, Frame, take};
use super::http::{Connection, Part};
use super::load::{Followed, Load};

/// A follower that hears nothing for so long connects anew, as a client behind a dead link would.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Sse,
    Lines,
    Task,
}

pub struct Follower<'a> {
    pub load: &'a Load,
    pub session: String,
    pub view: View,
    /// The sequence at which the stream last said that it had caught up.
    pub caught_up: &'a AtomicU64,
}

impl Follower<'_> {
    pub fn run(&self) -> Followed {
        let mut followed = Followed {
            session: self.session.clone(),
            name: format!("{:?} follower of {}", self.view, self.session),
            ..Followed::default()
        };
        let mut cursor = None;
        while self.load.is_following() {
            // A cut is what this suite is about; only a clean end would be wrong, and is noted where it happens.
            let _ = self.connect(&mut cursor, &mut followed);
            std::thread::sleep(PAUSE);
        }
        followed
    }

    fn format(&self) -> Format {
        if self.view == View::Lines { Format::Lines } else { Format::Sse }
    }

    fn connect(&self, cursor: &mut Option<String>, followed: &mut Followed) -> Result<()> {
        let mut connection = Connection::open(self.load.address, &self.load.key, PATIENCE)?;
        let mut path = format!("/v1/sessions/{}/events", self.session);
        let accept = if self.view == View::Lines { "application/x-ndjson" } else { "text/event-stream" };
        let mut headers = vec![("accept", accept.to_owned())];
        match (self.view, cursor.as_ref()) {
            (View::Lines, Some(at)) => path.push_str(&format!("?after={at}")),
            (View::Sse | View::Task, Some(at)) => headers.push(("last-event-id", at.clone())),
            (_, None) => {}
        }
        if self.view == View::Task {
            path.push_str("?dialect=task");
        }
        let head = connection.send("GET", &path, &headers, b"")?;
        if head.status != 200 {
            let answer = connection.read_body(&head)?;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            if !self.load.is_later(&answer) {
                self.load.problem(format!(
                    "{} was refused at {cursor:?}: {} {answer}",
                    followed.name, head.status
                ));
            }
            return Ok(());
        }
        followed.resumes += 1;
        self.read(&mut connection, cursor, followed)
    }

    fn read(
        &self,
        connection: &mut Connection,
        cursor: &mut Option<String>,
        followed: &mut Followed,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        loop {
            let part = connection.read_part(&mut buffer);
            for frame in take(self.format(), &mut buffer) {
                self.frame(frame, cursor, followed);
            }
            if part? == Part::CleanEnd {
                self.load.problem(format!("{} saw a clean end at {cursor:?}", followed.name));
                return Ok(());
            }
        }
    }

    fn frame(&self, frame: Frame, cursor: &mut Option<String>, followed: &mut Followed) {
        let Ok(json) = serde_json::from_str::<Value>(&frame.data) else {
            // A frame without data only sets the retry time.
            if !frame.data.is_empty() {
                self.load.problem(format!("{} was sent `{}`", followed.name, frame.data));
            }
            return;
        };
        let kind = json["type"].as_str().unwrap_or_default();
        if kind.starts_with("stream.") {
            self.control(kind, &json, followed);
        } else if self.view == View::Task {
            followed.frames.push(frame.clone());
        } else if let Some(sequence) = json["sequence"].as_u64() {
            followed.delivered.push(Delivered { sequence, digest: digest(&frame.data) });
            if self.view == View::Lines {
                *cursor = Some(sequence.to_string());
            }
        } else {
            self.load
                .problem(format!("{} was sent an event without a sequence: {}", followed.name, frame.data));
        }
        if frame.id.is_some() {
            *cursor = frame.id;
        }
    }

    fn control(&self, kind: &str, json: &Value, followed: &Followed) {
        match kind {
            "stream.caught_up" => {
                self.caught_up.store(json["sequence"].as_u64().unwrap_or(0), Ordering::Relaxed);
            }
            "stream.opened" if json["outcome"] != "replayed" => {
                self.load.problem(format!("{} was opened with {json}", followed.name));
            }
            "stream.end" | "stream.snapshot" => {
                self.load.problem(format!("{} was told {json}", followed.name))
            }
            _ => {}
        }
    }
}
