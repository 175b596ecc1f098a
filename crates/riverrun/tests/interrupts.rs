//! `^C` while the server is slow to answer: the user need not wait for it.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::spawn;
use std::time::Duration;

use support::{Server, Terminal};

/// Stands before a server, and keeps from it the requests whose path ends so. Each is told once.
fn before(server: &Server, kept: &'static str) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let there = server.url.trim_start_matches("http://").to_owned();
    let (tell, told) = channel();
    spawn(move || {
        for here in listener.incoming() {
            let (here, there) = (here.unwrap(), TcpStream::connect(&there).unwrap());
            let (mut from, mut to) = (there.try_clone().unwrap(), here.try_clone().unwrap());
            spawn(move || std::io::copy(&mut from, &mut to));
            let tell = tell.clone();
            spawn(move || pass_on(here, there, kept, &tell));
        }
    });
    (url, told)
}

fn pass_on(mut here: TcpStream, mut there: TcpStream, kept: &str, tell: &Sender<()>) {
    let mut bytes = [0; 65536];
    while let Ok(count @ 1..) = here.read(&mut bytes) {
        let text = String::from_utf8_lossy(&bytes[..count]);
        let path = text.strip_prefix("POST ").and_then(|rest| rest.split(' ').next());
        if path.is_some_and(|path| path.contains(kept)) {
            let _ = tell.send(());
        } else if there.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn an_interrupt_while_the_stop_is_unanswered_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    let (url, kept) = before(&server, "/cancel");
    let environment = [("RIVERRUN_URL", url.as_str()), ("RIVERRUN_KEY", &server.key)];
    let words = ["run", "scripted/slow?times=100", "weather?"];
    let mut terminal = Terminal::open(directory.path(), &words, &environment);
    terminal.see("weather");
    terminal.type_in("\x03");
    terminal.see("stopping the turn");
    kept.recv_timeout(PATIENCE).expect("the stop is asked for");
    terminal.type_in("\x03");
    let shown = terminal.see("left; a stop was asked for. Watch it: riverrun tail ");
    assert_eq!(terminal.end().0, Some(130), "{shown}");
}

#[test]
fn an_interrupt_while_the_decision_is_unanswered_is_heard() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    let (url, kept) = before(&server, "/actions/");
    let environment = [("RIVERRUN_URL", url.as_str()), ("RIVERRUN_KEY", &server.key)];
    let words = ["run", "scenario-approval", "delete x"];
    let mut terminal = Terminal::open(directory.path(), &words, &environment);
    terminal.see("r respond]");
    terminal.type_in("y\n");
    kept.recv_timeout(PATIENCE).expect("the decision is sent");
    terminal.type_in("\x03");
    terminal.see("the decision was sent, and the server has not answered");
    terminal.see("stopping the turn");
    terminal.type_in("\x03");
    let shown = terminal.see("left; the turn goes on. Watch it: riverrun tail ");
    assert_eq!(terminal.end().0, Some(130), "{shown}");
}
