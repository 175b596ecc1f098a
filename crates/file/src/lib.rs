//! What a file is, and its text, from its bytes alone.
//!
//! This crate fetches nothing, starts nothing and keeps nothing. Every file may be hostile: what is unpacked, how many
//! pages are read, how long that takes and how much text comes out of it is bounded by [`ReadLimits`]. A parser of
//! another crate may still panic; [`read`] turns that into a [`FileError`].

mod docx;
mod error;
mod html;
mod kind;
mod pdf;
mod read;
mod sink;
mod text;

pub use error::{FileError, FileErrorCode};
pub use kind::{FileKind, FileType, detect};
pub use read::{FileText, Hints, ReadFile, ReadLimits, count, read};

#[cfg(test)]
mod tests;
