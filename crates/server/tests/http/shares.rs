//! Links that anybody may read by: how often.

use riverrun_server::edge::Limits;
use serde_json::json;

use crate::harness::{JSON, Server};
use crate::wire::Answer;

/// A link to a session of its own.
async fn share(server: &Server, session: &str) -> String {
    server.make(session).await;
    let made = server.call(&format!("POST /v1/sessions/{session}/shares"), &[JSON], "{}").await.json();
    made["shareId"].as_str().expect("an id").to_owned()
}

async fn read(server: &Server, share: &str) -> Answer {
    server.call(&format!("GET /share/{share}"), &[("authorization", "")], "").await
}

fn refused(answer: &Answer, quota: &str, limit: u64) {
    assert_eq!((answer.status, &answer.json()["code"]), (429, &json!("rate_limited")), "{}", answer.text());
    assert_eq!((&answer.json()["quota"], &answer.json()["limit"]), (&json!(quota), &json!(limit)));
    let wait: u64 = answer.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
}

#[tokio::test]
async fn an_address_reads_so_many_shares_in_a_minute() {
    let limits = Limits { share_reads_per_ip: 3, ..Limits::default() };
    let server = Server::with_limits(limits).await;
    let (one, two) = (share(&server, "one").await, share(&server, "two").await);
    for link in [&one, &two, &one] {
        assert_eq!(read(&server, link).await.status, 200);
    }
    for link in [&two, &one] {
        refused(&read(&server, link).await, "share_reads_per_ip", 3);
    }
    // Who has a key reads the session itself.
    assert_eq!(server.get("/v1/sessions/one").await["sessionId"], "one");
    // An absent link says nothing of the limit.
    assert_eq!(read(&server, "shr_absent").await.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_link_is_read_so_often_in_a_minute_whoever_reads() {
    let limits = Limits { share_reads_per_share: 2, ..Limits::default() };
    let server = Server::with_limits(limits).await;
    let (one, two) = (share(&server, "one").await, share(&server, "two").await);
    for _ in 0..2 {
        assert_eq!(read(&server, &one).await.status, 200);
    }
    refused(&read(&server, &one).await, "share_reads_per_share", 2);
    assert_eq!(read(&server, &two).await.status, 200, "another link has a limit of its own");
    server.stop().await;
}
