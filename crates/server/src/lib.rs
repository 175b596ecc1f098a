//! Placeholder, being built.
