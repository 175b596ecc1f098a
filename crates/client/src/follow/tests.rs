//! A whole follower against a server made of bytes: no sockets, virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use riverrun_net::{Dialing, Io, ServerAddress, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;

/// Serves a log of `events` events. The first connection is cut after `cut` bytes of its body, the others are whole.
struct FakeServer {
    events: u64,
    cut: usize,
    /// Events of the next connections begin this far before the cursor, as an eager server's might.
    overlap: u64,
    /// What a connection does after its last event.
    ending: Ending,
    connections: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// `stream.end`, then a clean end.
    End,
    /// Only a clean end, as a proxy that gives up makes it.
    Bare,
    /// Nothing: the connection stays open and silent.
    Silence,
}

#[derive(Clone)]
struct Fake(Arc<FakeServer>);

impl Transport for Fake {
    fn dial<'a>(&'a self, _: &'a ServerAddress) -> Dialing<'a> {
        let (near, far) = tokio::io::duplex(1 << 16);
        let server = self.0.clone();
        tokio::spawn(async move { server.serve(far).await });
        Box::pin(async move { Ok(Box::new(near) as Box<dyn Io>) })
    }
}

impl FakeServer {
    async fn serve(self: Arc<Self>, mut io: DuplexStream) {
        let connection = self.connections.fetch_add(1, Ordering::SeqCst);
        let after = self.read_request(&mut io).await;
        let from = if connection == 0 { after } else { after.saturating_sub(self.overlap) };
        let ending = if connection == 0 { self.ending } else { Ending::End };
        let mut body = chunked(&self.body(from, ending));
        if ending != Ending::Silence {
            body.extend_from_slice(b"0\r\n\r\n");
        }
        if connection == 0 {
            body.truncate(self.cut);
        }
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        io.write_all(head).await.ok();
        io.write_all(&body).await.ok();
        if connection == 0 && ending == Ending::Silence {
            std::future::pending::<()>().await;
        }
    }

    async fn read_request(&self, io: &mut DuplexStream) -> u64 {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await.expect("a request"));
        }
        let line = String::from_utf8(head).expect("ascii").lines().next().expect("a line").to_owned();
        let after =
            line.split("after=").nth(1).and_then(|rest| rest.split(['.', '&', ' ']).next()).expect("after");
        let after = after.parse().expect("a number");
        self.asked.lock().expect("not poisoned").push(line);
        after
    }

    fn body(&self, after: u64, ending: Ending) -> String {
        let mut body = format!(
            "event: riverrun\ndata: {{\"type\":\"stream.opened\",\"outcome\":\"replayed\",\"after\":{after}}}\n\n"
        );
        for sequence in after + 1..=self.events {
            body.push_str(&format!(
                "id: {sequence}..t.1\ndata: {{\"type\":\"x.é\",\"sequence\":{sequence},\"payload\":{{}}}}\n\n"
            ));
        }
        body.push_str("event: riverrun\ndata: {\"type\":\"stream.caught_up\"}\n\n");
        if ending == Ending::End {
            body.push_str("event: riverrun\ndata: {\"type\":\"stream.end\"}\n\n");
        }
        body
    }
}

fn chunked(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for part in text.as_bytes().chunks(100) {
        out.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out
}

fn server(cut: usize, overlap: u64, ending: Ending) -> Arc<FakeServer> {
    let (connections, asked) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    Arc::new(FakeServer { events: 4, cut, overlap, ending, connections, asked })
}

/// Follows to the end and gives the sequences, the states and the error.
async fn check(server: &Arc<FakeServer>) -> (Vec<u64>, Vec<ConnectionState>, Option<String>) {
    let client =
        Client::with_transport("http://fake", Some("k"), Box::new(Fake(server.clone()))).expect("valid");
    let mut follow = Follow::new(client, "/v1/sessions/s".into(), FollowOptions::default());
    let (mut sequences, mut states, mut error) = (Vec::new(), Vec::new(), None);
    while let Some(update) = follow.next().await {
        match update {
            Ok(Update::Event(event)) => sequences.push(event.sequence.get()),
            Ok(Update::Connection(state)) => states.push(state),
            Ok(Update::Opened(_) | Update::Snapshot(_) | Update::Frame(_)) => {}
            Err(failure) => error = Some(failure.to_string()),
        }
    }
    (sequences, states, error)
}

#[tokio::test(start_paused = true)]
async fn a_cut_at_any_byte_loses_nothing_and_doubles_nothing() {
    let whole = chunked(&server(0, 0, Ending::End).body(0, Ending::End)).len();
    for cut in 0..whole {
        let server = server(cut, 0, Ending::End);
        let (sequences, states, error) = check(&server).await;
        assert_eq!((sequences, error), (vec![1, 2, 3, 4], None), "cut at byte {cut}");
        assert_eq!(states.last(), Some(&ConnectionState::Closed), "cut at byte {cut}");
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_come_again_are_given_out_once() {
    let (sequences, _, error) = check(&server(300, 2, Ending::End)).await;
    assert_eq!((sequences, error), (vec![1, 2, 3, 4], None));
}

#[tokio::test(start_paused = true)]
async fn a_clean_end_without_a_terminal_resumes_at_the_cursor() {
    let server = server(usize::MAX, 0, Ending::Bare);
    let (sequences, states, error) = check(&server).await;
    assert_eq!((sequences, error), (vec![1, 2, 3, 4], None));
    let last = riverrun_event::Sequence::new(4);
    use ConnectionState::*;
    assert_eq!(
        states,
        [Connecting, Live, CaughtUp, Reconnecting { attempt: 1, last }, Live, CaughtUp, Closed]
    );
    let asked = server.asked.lock().expect("not poisoned");
    assert_eq!(asked[1], "GET /v1/sessions/s/events?after=4..t.1 HTTP/1.1");
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_cut() {
    let started = tokio::time::Instant::now();
    let (sequences, _, error) = check(&server(usize::MAX, 0, Ending::Silence)).await;
    assert_eq!((sequences, error), (vec![1, 2, 3, 4], None));
    assert!(started.elapsed() >= SILENCE);
}

#[tokio::test(start_paused = true)]
async fn the_cursor_is_never_ahead_of_what_was_given_out() {
    let server = server(usize::MAX, 0, Ending::End);
    let client = Client::with_transport("http://fake", None, Box::new(Fake(server))).expect("valid");
    let mut follow = Follow::new(client, "/v1/sessions/s".into(), FollowOptions::default());
    let mut cursors = Vec::new();
    while let Some(update) = follow.next().await {
        if let Update::Event(_) = update.expect("no failure") {
            cursors.push(follow.cursor().expect("an event was given out").to_owned());
        }
    }
    assert_eq!(cursors, ["1..t.1", "2..t.1", "3..t.1", "4..t.1"]);
}
