//! Payloads that bracket and fill items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::macros::payload;
use crate::catalogue::{Block, Item, ItemPatch};

payload! {
    /// An item began.
    ItemStarted {
        /// The item with what is known so far; its long fields are empty.
        item: Item,
        /// Its place in the task's output.
        output_index "output_index": u32,
    };

    /// A block of an item came, was replaced as a whole, or is final.
    ItemUpdated {
        /// The item.
        item_id "item_id": String,
        /// The item's place in the task's output.
        output_index "output_index": u32,
        /// The block's place in the item.
        block_index "block_index": u32,
        /// The whole block.
        block: Block,
        /// What happened to the block.
        change: BlockChange,
    } optional {
        /// Which draft of the block this is, from 0.
        partial_index "partial_index": u32,
    };

    /// An item is final.
    ItemCompleted {
        /// What changed in the item: absent keeps, `null` clears, present replaces.
        item: ItemPatch,
        /// Its place in the task's output.
        output_index "output_index": u32,
    };

    /// An item was taken back after it was shown.
    ItemRetracted {
        /// The item.
        item_id "item_id": String,
        /// Its place in the task's output.
        output_index "output_index": u32,
        /// Why.
        reason: String,
    };
}

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockChange {
    /// The block came.
    #[default]
    Added,
    /// The block was replaced as a whole; it may be replaced again.
    Replaced,
    /// The block is final.
    Done,
}
