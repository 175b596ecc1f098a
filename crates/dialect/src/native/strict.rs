//! The native dialect in the standard's closed vocabulary: our extensions are mapped or left out.
