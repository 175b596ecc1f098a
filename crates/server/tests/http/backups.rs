//! A copy of the store while it is in use.

use serde_json::json;

use crate::harness::{Server, sqlite};

#[tokio::test]
async fn a_backup_is_a_store_that_opens() {
    let server = Server::on_disk().await;
    server.make("s1").await;
    server.tell("s1", &[json!({"type": "x.a"}), json!({"type": "x.b"})]).await;
    let answer = server.call("POST /v1/backups", &[], "").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let (file, size) =
        (answer.json()["file"].as_str().expect("a name").to_owned(), answer.json()["size"].clone());
    let path = server.directory.path().join("backups").join(&file);
    assert_eq!(json!(std::fs::metadata(&path).expect("it is there").len()), size);
    let elsewhere = tempfile::TempDir::new().expect("a directory");
    std::fs::copy(&path, elsewhere.path().join(riverrun_log_sqlite::STORE)).expect("a copy");
    let restored = Server::on(sqlite(elsewhere.path()), elsewhere, Default::default()).await;
    let api = crate::harness::Api { key: server.key.clone(), ..restored.api.clone() };
    assert_eq!(api.get("/v1/sessions/s1").await["head"], 2);
    restored.assert_no_panic().await;
    server.stop().await;
}

#[tokio::test]
async fn a_store_without_files_says_so() {
    let server = Server::start().await;
    assert_eq!(server.call("POST /v1/backups", &[], "").await.refusal(), (400, "invalid_request".to_owned()));
    server.stop().await;
}
