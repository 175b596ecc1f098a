//! `GET /v1/responses/{id}/input_items`.

use riverrun_event::{Block, Input, Part};
use riverrun_fold::Turn;

use super::item::write_plain;
use crate::members::{Members, write_list};

/// What the turn was asked, as a list of one message.
pub fn input_items(turn: &Turn) -> String {
    let id = format!("msg_in_{}", turn.turn_id);
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("object", "list");
    members.with("data", |out| {
        write_list(out, turn.input.iter(), |out, input| write_input(out, &id, input));
    });
    match turn.input {
        Some(_) => {
            members.text("first_id", &id);
            members.text("last_id", &id);
        }
        None => {
            members.raw("first_id", "null");
            members.raw("last_id", "null");
        }
    }
    members.flag("has_more", false);
    members.close();
    out
}

fn write_input(out: &mut String, id: &str, input: &Input) {
    let mut members = Members::open(out);
    members.text("type", "message");
    members.text("id", id);
    members.text("role", "user");
    members.text("status", "completed");
    members.with("content", |out| match input {
        Input::Text(text) => {
            out.push('[');
            write_plain(out, "input_text", text);
            out.push(']');
        }
        Input::Parts(parts) => write_list(out, parts, write_part),
    });
    members.close();
}

fn write_part(out: &mut String, part: &Part) {
    match part {
        Block::Image(image) => {
            let mut members = Members::open(out);
            members.text("type", "input_image");
            members.text(
                "detail",
                image.image_url.as_ref().and_then(|it| it.detail.as_deref()).unwrap_or("auto"),
            );
            members.maybe_text("image_url", image.image_url.as_ref().map(|it| it.url.as_str()));
            members.close();
        }
        Block::File(file) => {
            let mut members = Members::open(out);
            members.text("type", "input_file");
            members.maybe_text("filename", file.name.as_deref());
            members.maybe_text("file_url", file.url.as_deref());
            members.maybe_text("file_data", file.data.as_deref());
            members.close();
        }
        part => write_plain(out, "input_text", part.text().unwrap_or_default()),
    }
}
