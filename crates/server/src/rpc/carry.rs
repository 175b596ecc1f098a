//! Carries requests out: one after the other, in the order they came.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use riverrun_dialect::Framing;
use riverrun_event::{ErrorCode, Sequence, SessionId};
use serde::Serialize;

use super::control;
use super::following::{Following, SubscriptionId};
use super::message::{self, Call, Entry, Message};
use super::method::{self, FoundMethod, Method};
use super::params;
use crate::app::App;
use crate::deliver::open;
use crate::edge::{Caller, PageOrigin, Problem, RequestId, unauthenticated};
use crate::route;
use crate::websocket::Close;

/// Sessions for which one connection may note how far it is.
const MAX_ACKNOWLEDGED: usize = 1024;

/// Where a connection comes from.
pub struct Peering {
    pub ip: Option<IpAddr>,
    /// Of the page that opened it.
    pub origin: PageOrigin,
    /// `scheme://host[:port]` under which it came here.
    pub base_url: String,
}

/// What the requests of one connection work with and leave behind.
pub struct Desk {
    pub app: App,
    pub caller: Option<Caller>,
    pub peer: Peering,
    pub request_id: RequestId,
    /// The subscriptions that are open.
    pub live: BTreeSet<SubscriptionId>,
    pub opened: Vec<Following>,
    pub closed: Vec<SubscriptionId>,
    /// The connection ends after the answer.
    pub close: Option<Close>,
    last_subscription: SubscriptionId,
    acknowledged: HashMap<SessionId, Sequence>,
}

/// A message that was carried out.
pub struct Done {
    pub desk: Desk,
    pub answer: Option<String>,
}

impl Desk {
    pub fn new(app: App, caller: Option<Caller>, peer: Peering, request_id: RequestId) -> Self {
        Self {
            app,
            caller,
            peer,
            request_id,
            live: BTreeSet::new(),
            opened: Vec::new(),
            closed: Vec::new(),
            close: None,
            last_subscription: SubscriptionId::default(),
            acknowledged: HashMap::new(),
        }
    }

    pub async fn carry_out(mut self, message: Message) -> Done {
        let most = self.app.edge().limits().websocket_buffer_bytes;
        let (mut answers, mut bytes) = (Vec::new(), 0);
        for entry in &message.entries {
            let answer = match entry {
                Entry::Call(call) if bytes > most => self.refuse(call, most),
                Entry::Call(call) => self.answer(call).await,
                Entry::Refused(id, problem) => Some(message::error(id.as_ref(), problem, &self.request_id.0)),
            };
            bytes += answer.as_ref().map_or(0, String::len);
            answers.extend(answer);
        }
        let answer = match (message.is_batch, answers.len()) {
            (_, 0) => None,
            (true, _) => Some(format!("[{}]", answers.join(","))),
            (false, _) => answers.pop(),
        };
        Done { desk: self, answer }
    }

    /// A batch cannot make the server hold answers without bound.
    fn refuse(&self, call: &Call, most: usize) -> Option<String> {
        let detail = format!(
            "the answers of this batch are over {most} bytes; this request was not carried out, send it again"
        );
        let problem = Problem::new(ErrorCode::BodyTooLarge, detail).limit(most as u64);
        call.id.as_ref().map(|id| message::error(Some(id), &problem, &self.request_id.0))
    }

    async fn answer(&mut self, call: &Call) -> Option<String> {
        let result = self.call(call).await;
        let id = call.id.as_ref()?;
        Some(match result {
            Ok(result) => message::result(id, &result),
            Err(problem) => message::error(Some(id), &problem, &self.request_id.0),
        })
    }

    async fn call(&mut self, call: &Call) -> Result<String, Problem> {
        let found = method::find(&call.method)?;
        if matches!(found, FoundMethod::Listed(entry) if entry.method == Method::Auth) {
            return self.authenticate(&params::read::<params::Auth>(&call.params)?);
        }
        let caller = self.caller.clone().ok_or_else(unauthenticated)?;
        if let Some(scope) = found.scope() {
            caller.require(scope)?;
        }
        if !found.is_for_pages() {
            caller.require_key()?;
        }
        let (app, params) = (&self.app, call.params.as_str());
        let asked = control::Asked { app, caller: &caller, base_url: &self.peer.base_url };
        let entry = match found {
            FoundMethod::Listed(entry) => entry,
            FoundMethod::Operation(entry) => {
                let answer = control::run_operation(&asked, entry, params).await?;
                return if entry.about.name == "session.get" {
                    self.shown(params, answer)
                } else {
                    Ok(answer)
                };
            }
        };
        match entry.method {
            Method::Auth | Method::Ping => params::read::<params::Nothing>(params).map(|_| "{}".to_owned()),
            Method::Discover => {
                params::read::<params::Nothing>(params).map(|_| method::document().to_string())
            }
            Method::SessionAppend => append(app, &caller, params::read(params)?).await,
            Method::SessionFollow => self.follow(&caller, params::read(params)?).await,
            Method::SessionUnfollow => self.unfollow(&params::read(params)?),
            Method::SessionAck => self.acknowledge(&caller, params::read(params)?).await,
            Method::Control(control) => control::carry_out(&asked, control, entry.scope, params).await,
            Method::Tasks(method) => self.tasks(method, &caller, params).await,
        }
    }

    fn authenticate(&mut self, params: &params::Auth) -> Result<String, Problem> {
        if self.caller.is_some() {
            let detail = "this connection has a key already; open another one for another key";
            return Err(Problem::new(ErrorCode::InvalidRequest, detail));
        }
        let caller = self.app.edge().authenticate_text(&params.key, self.peer.ip, &self.peer.origin);
        if caller.is_err() {
            self.close = Some(Close::Unauthenticated);
        }
        self.caller = Some(caller?);
        Ok("{}".to_owned())
    }

    /// A session, with how far this connection has acknowledged it.
    fn shown(&self, params: &str, mut session: String) -> Result<String, Problem> {
        let params: params::OfSession = params::read(params)?;
        if let Some(sequence) = self.acknowledged.get(params.session_id.as_str()) {
            session.pop();
            session.push_str(&format!(",\"acknowledged\":{sequence}}}"));
        }
        Ok(session)
    }

    pub(super) async fn follow(
        &mut self,
        caller: &Caller,
        params: params::FollowParams,
    ) -> Result<String, Problem> {
        let request = params.request()?;
        let hub = self.app.hub(caller, &params.session_id).await?;
        let mut opened = open(&self.app, &hub, caller, &request, Framing::Messages).await?;
        let id = self.last_subscription.next();
        let mut answer = format!("{{\"subscription\":\"{id}\",");
        // How the stream begins is the answer; its frames follow.
        opened.plan.opened.take().inspect(|opened| opened.control().write_members(&mut answer));
        answer.push('}');
        let subscription = opened.subscribe(hub, request.follow);
        self.opened.push(Following::new(id, request.dialect, subscription));
        self.live.insert(id);
        self.last_subscription = id;
        Ok(answer)
    }

    fn unfollow(&mut self, params: &params::Unfollow) -> Result<String, Problem> {
        let id = SubscriptionId::parse(&params.subscription).filter(|id| self.live.remove(id));
        let id = id.ok_or_else(|| {
            let detail = "this connection has no such subscription, or it has ended";
            Problem::new(ErrorCode::NotFound, detail).field("subscription")
        })?;
        self.opened.retain(|following| following.id() != id);
        self.closed.push(id);
        Ok("{}".to_owned())
    }

    async fn acknowledge(&mut self, caller: &Caller, params: params::Ack) -> Result<String, Problem> {
        let head = self.app.hub(caller, params.session_id.as_str()).await?.head();
        let sequence =
            Sequence::new(params.sequence).filter(|sequence| *sequence <= head).ok_or_else(|| {
                let detail = format!(
                    "event {} is not there to be acknowledged, the log ends at {head}",
                    params.sequence
                );
                Problem::new(ErrorCode::CursorAhead, detail).field("sequence").head(head.get())
            })?;
        let known = self.acknowledged.len();
        if known >= MAX_ACKNOWLEDGED && !self.acknowledged.contains_key(&params.session_id) {
            let detail =
                format!("this connection acknowledges for {known} sessions already; open another one");
            return Err(Problem::new(ErrorCode::InvalidRequest, detail).limit(MAX_ACKNOWLEDGED as u64));
        }
        // Acknowledging an earlier event takes nothing back.
        let noted = self.acknowledged.entry(params.session_id).or_default();
        *noted = sequence.max(*noted);
        Ok(format!("{{\"acknowledged\":{noted}}}"))
    }
}

pub(super) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("answers have string keys and no fallible parts")
}

async fn append(app: &App, caller: &Caller, params: params::Append) -> Result<String, Problem> {
    let producer = params.producer()?;
    let hub = app.hub(caller, &params.session_id).await?;
    let events = route::decode_all(caller, &hub, params.events.get(), &mut route::EventReader::Native)?;
    app.edge().take_events(caller, events.len())?;
    let landed = route::store(app, &hub, events, producer).await?;
    Ok(route::answer(&hub, &landed))
}
