//! What clients post, and what they are told when it is wrong.

use riverrun_dialect::ai_sdk::request::Trigger;
use riverrun_dialect::{ag_ui, ai_sdk};
use riverrun_event::Input;

#[test]
fn an_ag_ui_run_is_read() {
    let body = r#"{"threadId":"t1","runId":"r1","state":{"a":1},"tools":[{"name":"f","description":"d","parameters":{}}],"context":[],
        "messages":[{"id":"u0","role":"user","content":"old"},{"id":"a0","role":"assistant","toolCalls":[]},
        {"id":"u1","role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"url","value":"https://e.org/i.png"}}]}],
        "resume":[{"interruptId":"int_1","status":"resolved","payload":{"approved":true}},{"interruptId":"int_2","status":"cancelled"}],
        "forwardedProps":{"scenario":"text"}}"#;
    let run = ag_ui::request::decode(body.as_bytes()).expect("it is good");
    assert_eq!((run.thread_id.as_str(), run.run_id.as_str(), run.tools.len()), ("t1", "r1", 1));
    assert!(matches!(run.turn_input(), Input::Parts(parts) if parts.len() == 2));
    assert_eq!(run.resume.iter().map(|it| it.decision()).collect::<Vec<_>>(), ["approve", "reject"]);
}

#[test]
fn an_ai_sdk_chat_is_read() {
    let body = r#"{"id":"c1","trigger":"submit-message","scenario":"tool","messages":[
        {"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}]},
        {"id":"msg_r1","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-delete_file","toolCallId":"c1",
        "state":"approval-responded","input":{},"approval":{"id":"int_1","approved":false,"reason":"no"}}]}]}"#;
    let chat = ai_sdk::request::decode(body.as_bytes()).expect("it is good");
    assert_eq!((chat.trigger, chat.approvals().len(), chat.extra.len()), (Trigger::Submit, 1, 1));
    assert_eq!((chat.approvals()[0].id.as_str(), chat.approvals()[0].approved), ("int_1", false));
    assert_eq!(chat.turn_input(), Input::from("hi"));
}

#[test]
fn what_is_wrong_is_named() {
    let ag_ui = |body: &str| ag_ui::request::decode(body.as_bytes()).expect_err(body).param;
    assert_eq!(ag_ui(r#"{"runId":"r"}"#).as_deref(), Some("threadId"));
    assert_eq!(ag_ui(r#"{"threadId":"t","runId":7}"#).as_deref(), Some("runId"));
    let role = r#"{"threadId":"t","runId":"r","messages":[{"id":"a","role":"boss"}]}"#;
    assert_eq!(ag_ui(role).as_deref(), Some("messages[0].role"));
    let ai_sdk = |body: &str| ai_sdk::request::decode(body.as_bytes()).expect_err(body).param;
    assert_eq!(ai_sdk(r#"{"id":"c"}"#).as_deref(), Some("messages"));
    let approval = r#"{"id":"c","messages":[{"role":"assistant","parts":[{"type":"tool-x","toolCallId":"c","state":"approval-responded","approval":{"id":"a"}}]}]}"#;
    assert_eq!(ai_sdk(approval).as_deref(), Some("messages[0].parts[0].approval.approved"));
    assert_eq!(ai_sdk(r#"{"id":"c","trigger":"again","messages":[]}"#).as_deref(), Some("trigger"));
}
