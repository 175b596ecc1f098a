//! The dialects that show one turn to a person.

mod ag_ui;
mod ai_sdk;
mod cuts;
mod golden;
mod log;
mod vectors;
