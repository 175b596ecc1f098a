//! The API document against what the server answers.
