//! What services and agents allow, told in the turn that it concerns.

use std::time::Duration;

use riverrun_event::{Event, Payload, RawJson};
use riverrun_provider::{Category, ModelError, ModelEvent, Price, RateLimit};
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::Limits;

use crate::script::{Say, Script, fails, text};
use crate::stage::{Stage, agent};

fn before(event: ModelEvent, mut say: Say) -> Say {
    say.0.insert(0, (Duration::ZERO, event));
    say
}

fn of<'a>(events: &'a [Event], kind: &str) -> &'a Event {
    let found = events.iter().find(|event| event.kind.as_str() == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind}"));
    assert_eq!(found.scope.turn_id.as_ref().unwrap().as_str(), "turn_1", "{kind} belongs to its turn");
    found
}

fn failing(category: Category, code: Option<&str>, retry_after: Option<Duration>) -> Say {
    let error = ModelError {
        code: code.map(ToOwned::to_owned),
        retry_after,
        ..ModelError::new(category, "the service said no")
    };
    Say(vec![(Duration::ZERO, ModelEvent::Failed(error))])
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_runs_out_is_told_once_little_is_left() {
    let limit = |remaining| {
        ModelEvent::RateLimited(RateLimit {
            kind: "tokens".to_owned(),
            limit: Some(1000),
            remaining: Some(remaining),
            resets_in: Some(Duration::from_secs(60)),
        })
    };
    let plenty = Stage::new(Script::new(vec![before(limit(900), text("x"))]), vec![agent()]).await;
    plenty.submit("turn_1", "go").await;
    assert_eq!(plenty.ended("turn_1").await, "completed");
    assert_eq!(plenty.count("quota.low").await, 0);
    let stage = Stage::new(Script::new(vec![before(limit(50), text("x"))]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let events = stage.events().await;
    let Ok(Payload::QuotaLow(low)) = &of(&events, "quota.low").payload else { panic!() };
    assert_eq!((low.kind.as_deref(), low.scope.as_deref()), (Some("tokens"), Some("script")));
    assert_eq!((low.limit, low.remaining), (Some(1000.0), Some(50.0)));
    let at = of(&events, "quota.low").timestamp.millis() + 60_000;
    let reset = riverrun_event::Timestamp::parse(low.reset_at.as_deref().unwrap()).unwrap();
    assert_eq!(reset.millis(), at);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_told_waited_for_and_passed() {
    let hit = failing(Category::RateLimit, Some("slow_down"), Some(Duration::from_secs(7)));
    let stage = Stage::new(Script::new(vec![hit, text("now")]), vec![agent()]).await;
    let start = tokio::time::Instant::now();
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(start.elapsed() >= Duration::from_secs(7), "the service's word is kept");
    let events = stage.events().await;
    let Ok(Payload::RateLimitHit(hit)) = &of(&events, "rate_limit.hit").payload else { panic!() };
    assert_eq!(hit.retry_after_ms, Some(7000));
    assert_eq!((hit.provider.as_deref(), hit.model.as_deref()), (Some("script"), Some("m")));
    let Ok(Payload::ModelFailed(failed)) = &of(&events, "model.failed").payload else { panic!() };
    assert_eq!(failed.error.code.as_deref(), Some("slow_down"));
}

#[tokio::test(start_paused = true)]
async fn an_empty_account_blocks_and_the_next_model_is_tried() {
    let models = vec!["script/a".to_owned(), "script/b".to_owned()];
    let script = Script::new(vec![])
        .model("a", vec![failing(Category::Quota, None, None)])
        .model("b", vec![text("from b")]);
    let stage = Stage::new(script, vec![AgentSpec { models, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "from b");
    let events = stage.events().await;
    let Ok(Payload::QuotaBlocked(blocked)) = &of(&events, "quota.blocked").payload else { panic!() };
    assert_eq!(blocked.scope.as_deref(), Some("script"));
    of(&events, "routing.fallback.applied");
}

#[tokio::test(start_paused = true)]
async fn it_is_told_that_no_model_is_left() {
    let models = vec!["script/a".to_owned(), "script/b".to_owned()];
    let empty = || vec![failing(Category::Quota, None, None)];
    let script = Script::new(vec![]).model("a", empty()).model("b", empty());
    let stage = Stage::new(script, vec![AgentSpec { models: models.clone(), ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let events = stage.events().await;
    let Ok(Payload::RoutingNotPossible(told)) = &of(&events, "routing.not_possible").payload else {
        panic!()
    };
    assert_eq!((told.requested_model.as_deref(), &told.fallback_chain), (Some("b"), &Some(models)));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_used_up_is_told_before_the_turn_fails() {
    let limits = Limits { cost: Some(0.5), ..Limits::default() };
    let price = Price { input: 1e5, ..Price::default() };
    let script = Script::new(vec![crate::script::calls(&[("c1", "nothing", "{}")]), text("never")]);
    let stage = Stage::new(script.priced(price), vec![AgentSpec { limits, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    let events = stage.events().await;
    let Ok(Payload::CostRecorded(cost)) = &of(&events, "cost.recorded").payload else { panic!() };
    assert_eq!((cost.amount, cost.currency.as_deref()), (1.0, Some("USD")));
    let Ok(Payload::LimitChanged(limit)) = &of(&events, "limit.changed").payload else { panic!() };
    assert_eq!((limit.kind.as_deref(), limit.status.as_deref()), (Some("cost"), Some("blocked")));
    assert_eq!((limit.limit, limit.used), (Some(0.5), Some(1.0)));
    let Ok(Payload::TurnFailed(failed)) = &of(&events, "turn.failed").payload else { panic!() };
    assert_eq!(failed.error.code.as_deref(), Some("max_cost_exceeded"));
    assert_eq!(stage.script.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_budget_holds_for_a_service_that_counts_nothing() {
    let limits = Limits { cost: Some(0.5), ..Limits::default() };
    let price = Price { input: 1e5, ..Price::default() };
    let mut uncounted = crate::script::calls(&[("c1", "nothing", "{}")]);
    let Some((_, ModelEvent::Completed { usage, .. })) = uncounted.0.last_mut() else { panic!() };
    *usage = Default::default();
    let script = Script::new(vec![uncounted, text("never")]);
    let stage = Stage::new(script.priced(price), vec![AgentSpec { limits, ..agent() }]).await;
    stage.submit("turn_1", &"go ".repeat(100)).await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    assert_eq!((stage.count("cost.recorded").await, stage.count("cost.estimated").await), (0, 1));
    let events = stage.events().await;
    let Ok(Payload::RuntimeWarning(warning)) = &of(&events, "runtime.warning").payload else { panic!() };
    assert_eq!(warning.code.as_deref(), Some("cost_unknown"));
    let Ok(Payload::TurnFailed(failed)) = &of(&events, "turn.failed").payload else { panic!() };
    assert_eq!(failed.error.code.as_deref(), Some("max_cost_exceeded"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_asks_for_more_than_a_minute_is_not_waited_for() {
    for (seconds, ended) in [(60, "completed"), (61, "failed")] {
        let hit = failing(Category::RateLimit, None, Some(Duration::from_secs(seconds)));
        let stage = Stage::new(Script::new(vec![hit, text("now")]), vec![agent()]).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, ended, "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_the_vendor_knows_is_kept_under_its_name() {
    let vendor = |name: &str, data: &str| ModelEvent::Vendor {
        name: name.to_owned(),
        data: RawJson::parse(data.to_owned()).unwrap(),
    };
    let say = before(vendor("odd name!", r#"{"big":12345678901234567890}"#), text("x"));
    let say = before(vendor("list", "[1,2]"), say);
    let stage = Stage::new(Script::new(vec![say]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let events = stage.events().await;
    let raw = |kind: &str| of(&events, kind).raw_payload.as_ref().unwrap().get().to_owned();
    assert_eq!(raw("x.script.odd_name_"), r#"{"big":12345678901234567890}"#, "not a digit is lost");
    assert_eq!(raw("x.script.list"), r#"{"data":[1,2]}"#);
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_shares_stands_in_the_session() {
    let state = |text: &str| ModelEvent::State(RawJson::parse(text.to_owned()).unwrap());
    let say = before(state(r#"{"step":1}"#), before(state(r#"{"step":2}"#), text("x")));
    let stage = Stage::new(Script::new(vec![say, fails("", Category::InvalidRequest)]), vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("session.updated").await, 2);
    let metadata = stage.state().await.session.metadata.unwrap();
    assert_eq!(metadata.get(), r#"{"state":{"step":2}}"#);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_its_end_and_one_that_was_mended_are_told_by_their_codes() {
    let mended = ModelEvent::Warning {
        code: "text_repaired",
        message: "half of a character",
        detail: RawJson::parse(r#"{"count":1}"#.to_owned()).unwrap(),
    };
    let script = Script::new(vec![failing(Category::Truncated, None, None), before(mended, text("x"))]);
    let stage = Stage::new(script, vec![agent()]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let events = stage.events().await;
    let Ok(Payload::ModelFailed(failed)) = &of(&events, "model.failed").payload else { panic!() };
    let words = (failed.error.code.as_deref(), failed.error.category.as_deref(), &failed.error.upstream);
    assert_eq!(words, (Some("no_terminal"), Some("truncated"), &None));
    let Ok(Payload::RuntimeWarning(warning)) = &of(&events, "runtime.warning").payload else { panic!() };
    let detail = warning.detail.as_ref().map(RawJson::get);
    assert_eq!((warning.code.as_deref(), detail), (Some("text_repaired"), Some(r#"{"count":1}"#)));
}
