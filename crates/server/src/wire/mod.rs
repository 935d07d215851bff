//! PostgreSQL's protocol 3.0 as bytes: frames under limits, messages, values by type, COPY formats. No socket, no engine.
//!
//! What must hold: no byte of a client panics, is read twice, or is read as part of another message; nothing is allocated because a
//! length says so, only because its bytes have come.

pub(crate) mod back;
pub(crate) mod body;
pub(crate) mod copy_binary;
pub(crate) mod copy_csv;
pub(crate) mod copy_options;
pub(crate) mod copy_rows;
pub(crate) mod copy_text;
pub(crate) mod frame;
pub(crate) mod front;
pub(crate) mod moments;
pub(crate) mod oids;
pub(crate) mod parameter;
pub(crate) mod row;
pub(crate) mod startup;
