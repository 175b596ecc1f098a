//! Fuzz targets: one program, whose target is named by `RIVERRUN_FUZZ_TARGET`. Run it with `cargo xtask fuzz`.
//!
//! A target does more than not to panic: it reads the same bytes in two ways and compares, or writes what it read and
//! reads it again.

#![no_main]

mod events;
mod requests;
mod websocket_frames;
mod wire;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

/// `cargo xtask fuzz` reads the names from these lines.
const TARGETS: &[(&str, Target)] = &[
    ("json", events::json),
    ("event", events::event),
    ("record", events::record),
    ("cursor", events::cursor),
    ("fold", events::fold),
    ("chunk", wire::chunk),
    ("chunk-builder", wire::chunk_builder),
    ("sse", wire::sse),
    ("websocket", wire::websocket),
    ("request-responses", requests::responses),
    ("request-chat", requests::chat),
    ("request-anthropic", requests::anthropic),
    ("request-gemini", requests::gemini),
    ("request-ag-ui", requests::ag_ui),
    ("request-ai-sdk", requests::ai_sdk),
    ("request-blocks", requests::blocks),
    ("request-task", requests::task),
];

fn target() -> Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("RIVERRUN_FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("RIVERRUN_FUZZ_TARGET names no target: `{name}`")).1
    })
}

fuzz_target!(|bytes: &[u8]| target()(bytes));
