//! The dialects that show one turn, held to vectors, to recorded transcripts and to the rules of their clients.

mod anthropic_client;
mod chat_client;
mod cuts;
mod gemini_client;
mod golden;
mod log;
mod requests;
mod responses_client;
mod vectors;
