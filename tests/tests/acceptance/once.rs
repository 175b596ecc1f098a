//! A steer with an idempotency key while the server is killed: the model reads it once, whatever the sender saw.

use std::time::Duration;

use serde_json::json;

use crate::stage::{Stage, kinds};

const ROUNDS: u64 = 12;

#[test]
fn a_steer_that_is_sent_again_after_a_kill_is_read_once() {
    let mut stage = Stage::new("steer", "", &[]);
    let (mut answered, mut landed) = (0, 0);
    for round in 0..ROUNDS {
        let name = format!("r{round}");
        stage.world.place.create_session(&name).unwrap();
        stage.world.submit(&name, &name, "slow").unwrap();
        let path = format!("/v1/sessions/{name}/turns/{name}/steer");
        let body = json!({"input": "and this"}).to_string();
        let place = stage.world.place.clone();
        let send = move || {
            let headers =
                [("content-type", "application/json".to_owned()), ("idempotency-key", "one".to_owned())];
            place.ask("POST", &path, &headers, body.as_bytes())
        };
        let first = std::thread::spawn(send.clone());
        std::thread::sleep(Duration::from_millis(round));
        stage.restart();
        answered += u64::from(first.join().unwrap().is_ok_and(|(status, _)| status == 202));
        let steered = |stage: &Stage| {
            let events = stage.world.events(&name).unwrap();
            kinds(&events).iter().filter(|kind| **kind == "input.steered").count()
        };
        landed += steered(&stage) as u64;
        let (status, answer) = send().unwrap();
        assert_eq!(status, 202, "{}", String::from_utf8_lossy(&answer));
        assert_eq!(steered(&stage), 1, "round {round}");
    }
    println!("{ROUNDS} kills: {landed} steers were durable, {answered} of them answered");
}
