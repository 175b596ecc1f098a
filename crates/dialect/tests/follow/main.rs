//! The dialects that show one turn to a person.

mod a2a;
mod ag_ui;
mod agents_sdk;
mod ai_sdk;
mod blocks;
mod blocks_hosted;
mod cuts;
mod decided;
mod golden;
mod langgraph;
mod log;
mod requests;
mod simple_run;
mod vectors;
