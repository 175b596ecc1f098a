//! One connection: messages in, answers and notifications out, on one task.

use std::collections::{HashSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use riverrun_dialect::ControlMessage;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::carry::{Desk, Done};
use super::following::{FULL, Followings};
use super::message::{Id, Message};
use crate::edge::{Edge, Fault};
use crate::websocket::{Close, End, Listening, Socket, Vigil, Words};

/// Requests that wait for the one before them; the socket is not read while there are more.
const MAX_WAITING: usize = 64;
/// What a request that is under way gets when the server goes.
const LAST_ANSWER: Duration = Duration::from_secs(5);

type Running = Pin<Box<dyn Future<Output = Done> + Send>>;

pub struct Connection<T> {
    edge: Edge,
    socket: Socket<T>,
    /// None while a request is under way, which has it.
    desk: Option<Desk>,
    running: Option<Running>,
    /// The ids of the request that is under way.
    running_ids: Vec<Id>,
    waiting: VecDeque<Message>,
    waiting_bytes: usize,
    in_flight: HashSet<Id>,
    followings: Followings,
    vigil: Vigil,
}

const WORDS: Words =
    Words { stalled: Close::Stalled, silent: None, unauthenticated: Close::Unauthenticated, auth_time: None };

/// Something happened that is not done in passing.
enum Step {
    Heard(String),
    Done(Box<Done>),
    Pulse,
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Connection<T> {
    pub fn new(io: T, fault: Option<Fault>, edge: Edge, desk: Desk) -> Self {
        let vigil = Vigil::new(edge.clone(), desk.caller.as_ref(), WORDS);
        let mut socket = Socket::new(io, vigil.bounds(), fault);
        desk.caller.iter().for_each(|caller| vigil.count(caller, &mut socket));
        Self {
            socket,
            desk: Some(desk),
            running: None,
            running_ids: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            in_flight: HashSet::new(),
            followings: Followings::default(),
            vigil,
            edge,
        }
    }

    /// From the first message to the last.
    pub async fn run(mut self) {
        let close = loop {
            let end = match poll_fn(|context| self.poll_step(context)).await {
                Ok(step) => self.take(step),
                Err(end) => Err(end),
            };
            match end {
                Ok(()) => {}
                Err(End::Lost) => return,
                Err(End::Close(close)) => break close,
            }
        };
        if close == Close::GoingAway {
            self.say_goodbye().await;
        }
        self.socket.close(close).await;
    }

    /// Writes, lets subscriptions speak, and looks what there is to do.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Step, End>> {
        if let Poll::Ready(close) = self.vigil.poll_going(context) {
            return Poll::Ready(Err(End::Close(close)));
        }
        loop {
            if let Poll::Ready(Err(end)) = self.socket.poll_flush(context) {
                return Poll::Ready(Err(end));
            }
            if self.socket.output.queued() >= FULL
                || self.followings.poll(context, &mut self.socket.output).is_pending()
            {
                break;
            }
        }
        self.start_next();
        if let Some(running) = &mut self.running
            && let Poll::Ready(done) = running.as_mut().poll(context)
        {
            self.running = None;
            return Poll::Ready(Ok(Step::Done(Box::new(done))));
        }
        if self.listens()
            && let Poll::Ready(heard) = self.socket.poll_text(context)
        {
            return Poll::Ready(match heard {
                Ok(Ok(text)) => Ok(Step::Heard(text)),
                Ok(Err(close)) => Err(End::Close(close)),
                Err(lost) => Err(lost.into()),
            });
        }
        // Answers to pings came into the output while it listened.
        if let Poll::Ready(Err(end)) = self.socket.poll_flush(context) {
            return Poll::Ready(Err(end));
        }
        self.vigil.poll_pulse(context).map(|()| Ok(Step::Pulse))
    }

    /// A peer that sends more than it is served, or takes no answers, is not listened to for a while.
    fn listens(&self) -> bool {
        let limits = self.edge.limits();
        self.waiting.len() < MAX_WAITING
            && self.waiting_bytes < limits.websocket_message_bytes
            && self.socket.output.queued() < limits.websocket_buffer_bytes
    }

    fn take(&mut self, step: Step) -> Result<(), End> {
        match step {
            Step::Heard(text) => {
                let message = Message::read(&text, &self.edge.limits().json, &mut self.in_flight);
                self.waiting_bytes += message.bytes;
                self.waiting.push_back(message);
                self.socket.set_waiting(self.waiting_bytes);
                Ok(())
            }
            Step::Done(done) => self.finish(*done),
            Step::Pulse => {
                let listening = if self.listens() { Listening::Yes } else { Listening::No };
                self.vigil.look_at_the_clock(&mut self.socket, listening)
            }
        }
    }

    /// Begins the next request, unless one is under way or its answer would have no room.
    fn start_next(&mut self) {
        if self.running.is_some() || self.socket.output.queued() >= self.edge.limits().websocket_buffer_bytes
        {
            return;
        }
        let Some(message) = self.waiting.pop_front() else { return };
        let mut desk = self.desk.take().expect("the desk is here while no request is under way");
        self.waiting_bytes -= message.bytes;
        self.socket.set_waiting(self.waiting_bytes);
        self.running_ids = message.ids();
        desk.live = self.followings.ids();
        self.running = Some(Box::pin(desk.carry_out(message)));
    }

    fn finish(&mut self, done: Done) -> Result<(), End> {
        for id in self.running_ids.drain(..) {
            self.in_flight.remove(&id);
        }
        let Done { mut desk, answer } = done;
        if let Some(answer) = answer {
            self.socket.output.text(&[&answer]);
        }
        desk.closed.drain(..).for_each(|id| self.followings.remove(id));
        desk.opened.drain(..).for_each(|following| self.followings.add(following));
        self.vigil.learn(desk.caller.as_ref(), &mut self.socket);
        let close = desk.close;
        self.desk = Some(desk);
        close.map_or(Ok(()), |close| Err(End::Close(close)))
    }

    /// The answer that is due, then the word that the server goes.
    async fn say_goodbye(&mut self) {
        if let Some(running) = self.running.take()
            && let Ok(Done { answer: Some(answer), .. }) = timeout(LAST_ANSWER, running).await
        {
            self.socket.output.text(&[&answer]);
        }
        let mut word = String::new();
        ControlMessage::Draining { retry_millis: 1000 }.write(&mut word);
        let head = "{\"jsonrpc\":\"2.0\",\"method\":\"session.stream\",\"params\":";
        self.socket.output.text(&[head, &word, "}"]);
    }
}
