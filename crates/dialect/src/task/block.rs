//! Blocks in AgentLin's spelling.

use riverrun_event::{
    AudioBlock, BlobRef, Block, DataBlock, FileBlock, ImageBlock, ItemBlock, Part, TextBlock, json,
};

use super::annotation::write_annotations;
use super::item::{Audience, ItemForm, write_item};
use crate::OffsetUnit;
use crate::members::{Members, write_list};

/// Where a block stands; it decides what AgentLin writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPlace {
    /// In a message: its blocks cite, they are not cited, so they have no `id`.
    Message,
    /// In a tool result: `id` is the number by which the block is cited.
    ToolResult,
    /// In the part for the model: pictures are `image_url` there.
    Content,
}

pub(super) fn write_block(out: &mut String, block: &Block, block_place: BlockPlace, unit: OffsetUnit) {
    match block {
        Block::Text(text) => write_text(out, "text", text, block_place, unit),
        Block::Html(text) => write_text(out, "html", text, block_place, unit),
        Block::Image(image) => write_image(out, image, block_place),
        Block::File(file) => write_file(out, file, block_place),
        Block::Audio(audio) => write_audio(out, audio, block_place),
        Block::Table(data) => write_data(out, "table", data, block_place),
        Block::Json(data) => write_data(out, "json", data, block_place),
        Block::Item(embedded) => write_embedded(out, embedded, unit),
        Block::Other(opaque) => out.push_str(opaque.with_ref_id_as("id").get()),
    }
}

/// A part of a reasoning summary is its text and nothing else. `shown` cuts it, in bytes.
pub(super) fn write_summary_part(out: &mut String, part: &Part, shown: usize, unit: OffsetUnit) {
    let Block::Text(block) = part else { return write_block(out, part, BlockPlace::Content, unit) };
    let mut members = Members::open(out);
    members.text("type", "text");
    members.text("text", block.text.get(..shown).unwrap_or(&block.text));
    members.close();
}

/// The block with the first part of its text, and no annotations: they come with the rest of it.
pub(super) fn write_begun(
    out: &mut String,
    block: &Block,
    shown: &str,
    block_place: BlockPlace,
    unit: OffsetUnit,
) {
    let begun = |block: &TextBlock| TextBlock { text: shown.to_owned(), annotations: None, ..block.clone() };
    match block {
        Block::Text(text) => write_text(out, "text", &begun(text), block_place, unit),
        Block::Html(text) => write_text(out, "html", &begun(text), block_place, unit),
        Block::Image(_)
        | Block::File(_)
        | Block::Audio(_)
        | Block::Table(_)
        | Block::Json(_)
        | Block::Item(_)
        | Block::Other(_) => write_block(out, block, block_place, unit),
    }
}

fn write_text(out: &mut String, tag: &str, block: &TextBlock, block_place: BlockPlace, unit: OffsetUnit) {
    let mut members = Members::open(out);
    members.text("type", tag);
    members.text("text", &block.text);
    write_id(&mut members, block.ref_id, block_place);
    if let Some(annotations) = block.annotations.as_ref().filter(|annotations| !annotations.is_empty()) {
        members.with("annotations", |out| write_annotations(out, &block.text, annotations, unit));
    }
    write_tags(&mut members, &block.tags);
    members.close();
}

fn write_image(out: &mut String, block: &ImageBlock, block_place: BlockPlace) {
    let mut members = Members::open(out);
    members.text("type", if block_place == BlockPlace::Content { "image_url" } else { "image" });
    if let Some(image) = &block.image_url {
        members.with("image_url", |out| {
            let mut members = Members::open(out);
            members.text("url", &image.url);
            members.maybe_text("detail", image.detail.as_deref());
            members.close();
        });
    }
    write_blob(&mut members, block.file_ref.as_ref());
    members.maybe_text("media_type", block.media_type.as_deref());
    write_id(&mut members, block.ref_id, block_place);
    write_tags(&mut members, &block.tags);
    members.close();
}

fn write_file(out: &mut String, block: &FileBlock, block_place: BlockPlace) {
    let mut members = Members::open(out);
    members.text("type", "file");
    members.maybe_text("name", block.name.as_deref());
    members.maybe_text("media_type", block.media_type.as_deref());
    members.maybe_text("url", block.url.as_deref());
    write_blob(&mut members, block.file_ref.as_ref());
    members.maybe_text("data", block.data.as_deref());
    members.maybe_number("size", block.size);
    write_id(&mut members, block.ref_id, block_place);
    write_tags(&mut members, &block.tags);
    members.close();
}

fn write_audio(out: &mut String, block: &AudioBlock, block_place: BlockPlace) {
    let mut members = Members::open(out);
    members.text("type", "audio");
    members.maybe_text("data", block.data.as_deref());
    members.maybe_text("media_type", block.media_type.as_deref());
    members.maybe_text("url", block.url.as_deref());
    write_blob(&mut members, block.file_ref.as_ref());
    members.maybe_text("transcript", block.transcript.as_deref());
    write_id(&mut members, block.ref_id, block_place);
    write_tags(&mut members, &block.tags);
    members.close();
}

fn write_data(out: &mut String, tag: &str, block: &DataBlock, block_place: BlockPlace) {
    let mut members = Members::open(out);
    members.text("type", tag);
    if let Some(data) = &block.data {
        members.raw("data", data.get());
    }
    members.maybe_text("text", block.text.as_deref());
    write_id(&mut members, block.ref_id, block_place);
    write_tags(&mut members, &block.tags);
    members.close();
}

/// A child's item that a producer put into its parent's result as a block.
fn write_embedded(out: &mut String, embedded: &ItemBlock, unit: OffsetUnit) {
    let form = ItemForm { child_of: embedded.task_id.as_deref(), ..ItemForm::whole(Audience::User, unit) };
    write_item(out, &embedded.item, &form);
}

fn write_id(members: &mut Members<'_>, ref_id: Option<u64>, block_place: BlockPlace) {
    match block_place {
        BlockPlace::Message => {}
        BlockPlace::ToolResult | BlockPlace::Content => members.maybe_number("id", ref_id),
    }
}

fn write_tags(members: &mut Members<'_>, tags: &Option<Vec<String>>) {
    if let Some(tags) = tags {
        members.with("tags", |out| write_list(out, tags, |out, tag| json::write_string(out, tag)));
    }
}

fn write_blob(members: &mut Members<'_>, blob: Option<&BlobRef>) {
    match blob {
        None => {}
        Some(BlobRef::Bare(reference)) => members.text("file_ref", reference),
        Some(BlobRef::Described(blob)) => members.with("file_ref", |out| {
            let mut members = Members::open(out);
            members.text("ref", &blob.r#ref);
            members.maybe_text("media_type", blob.media_type.as_deref());
            members.maybe_text("encoding", blob.encoding.as_deref());
            members.maybe_number("size", blob.size);
            members.maybe_text("digest", blob.digest.as_deref());
            members.maybe_text("owner", blob.owner.as_deref());
            write_flag(&mut members, "truncated", blob.truncated);
            write_flag(&mut members, "redacted", blob.redacted);
            members.maybe_text("expires_at", blob.expires_at.as_deref());
            members.close();
        }),
    }
}

pub(super) fn write_flag(members: &mut Members<'_>, name: &str, flag: Option<bool>) {
    if let Some(flag) = flag {
        members.raw(name, if flag { "true" } else { "false" });
    }
}
