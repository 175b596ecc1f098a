//! What a model was asked, read through the API.

use std::sync::Arc;

use riverrun_provider::{Provider, Scripted};
use riverrun_runner::{AgentSpec, Registry};
use riverrun_server::Agents;
use serde_json::json;

use crate::harness::Server;

#[tokio::test]
async fn the_request_of_a_model_call_is_a_blob_that_its_tenant_reads() {
    let mut registry = Registry::default();
    let scripted: Arc<dyn Provider> = Arc::new(Scripted::new());
    registry.providers.insert("scripted".to_owned(), scripted);
    let models = vec!["scripted/text".to_owned()];
    let keeper = AgentSpec { name: "keeper".to_owned(), models, keep_raw: true, ..AgentSpec::default() };
    registry.agents.insert("keeper".to_owned(), Arc::new(keeper));
    let server = Server::with_agents(Agents { registry: Arc::new(registry), ..Agents::default() }).await;
    server.make("s").await;
    server.submit("s", json!({"agent": "keeper", "input": "a rare word", "turnId": "t1"})).await;
    let events = server.turn("s", "t1").await;
    let requested = events.iter().find(|event| event["type"] == "model.requested");
    let reference = requested.and_then(|event| event["payload"]["inputRef"].as_str());
    let blob = server.get(&format!("/v1/blobs/{}", reference.expect("the request is kept"))).await;
    assert_eq!(blob["messages"][0]["content"], "a rare word", "{blob}");
    server.stop().await;
}
