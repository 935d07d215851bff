//! What reads bytes of clients, for fuzz targets and tests: each must end without a panic, whatever the bytes are. No part of the
//! interface for programs.

use crate::auth::scram::{Exchange, SCRAM, SCRAM_PLUS};
use crate::auth::verifier::Verifier;
use crate::wire::copy_binary::Tuples;
use crate::wire::copy_options::CopyOptions;
use crate::wire::copy_rows::{Copied, Gathered};
use crate::wire::copy_text::Lines;
use crate::wire::frame::{Expected, Frames};
use crate::wire::front::{self, Format};
use crate::wire::{oids, parameter, startup};
use crate::words::{Words, tokens};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use hushdb::crypto::CryptoProvider;
use std::sync::Arc;

/// Types that values have on the wire, and one that is not there.
const TYPES: [u32; 20] = [
    oids::BOOL,
    oids::BYTEA,
    oids::INT8,
    oids::INT2,
    oids::INT4,
    oids::TEXT,
    oids::OID,
    oids::FLOAT4,
    oids::FLOAT8,
    oids::DATE,
    oids::TIME,
    oids::TIMESTAMP,
    oids::TIMESTAMPTZ,
    oids::TIMETZ,
    oids::VARBIT,
    oids::INTERVAL,
    oids::NUMERIC,
    oids::UUID,
    1007,
    0,
];

/// What a connection sends, in each of its states: the first packet, an answer to a request for a password, messages of a session. It comes
/// in pieces, as it may.
pub fn frames(bytes: &[u8]) {
    let mut packets = Frames::default();
    let mut from = bytes;
    while packets.fill(&mut from).is_ok() {
        while let Ok(Some(packet)) = packets.take_startup() {
            let _ = startup::read(&packet);
        }
    }
    for state in [Expected::Password, Expected::Command] {
        let mut messages = Frames::default();
        for mut piece in bytes.chunks(7) {
            let _ = messages.fill(&mut piece);
            while let Ok(Some(message)) = messages.take(state) {
                let _ = front::read(message);
            }
        }
    }
}

/// What COPY FROM STDIN takes: as text, as CSV and in binary, in pieces.
pub fn copy(bytes: &[u8]) {
    let lists = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let columns = [
        DataType::Int32,
        DataType::Utf8View,
        DataType::BinaryView,
        lists,
    ];
    let fields = columns.into_iter().map(|ty| Field::new("c", ty, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    for options in [
        "",
        "CSV HEADER",
        "(FORMAT csv, QUOTE '''', ESCAPE '\\', NULL 'x')",
    ] {
        let words = tokens(options).unwrap_or_default();
        let Ok(options) = CopyOptions::read(&mut Words::new(&words), true) else {
            continue;
        };
        let mut rows = Gathered::new(&schema);
        let (mut lines, mut copied) = (Lines::default(), Copied::default());
        let quote = options.csv.then_some(options.quote);
        for piece in bytes.chunks(5) {
            lines.push(piece);
            let _ = lines.each(quote, false, |line| copied.line(line, &options, &mut rows));
        }
        let _ = lines.each(quote, true, |line| copied.line(line, &options, &mut rows));
        let _ = rows.take();
    }
    tuples(bytes);
}

fn tuples(bytes: &[u8]) {
    let moments = DataType::Timestamp(TimeUnit::Microsecond, None);
    let columns = [DataType::Int32, DataType::Utf8View, moments];
    let fields = columns.into_iter().map(|ty| Field::new("c", ty, true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let Ok(mut rows) = Gathered::binary(&Arc::new(schema)) else {
        return;
    };
    let mut tuples = Tuples::default();
    for piece in bytes.chunks(5) {
        if tuples.push(piece).is_err() {
            return;
        }
        while let Ok(Some(values)) = tuples.next(&[oids::INT4, oids::TEXT, oids::TIMESTAMP]) {
            let _ = rows.push_values(values);
        }
    }
    let _ = (tuples.end(), rows.take());
}

/// A value of Bind or COPY, as each type, in text and in binary.
pub fn values(bytes: &[u8]) {
    for oid in TYPES {
        for format in [Format::Text, Format::Binary] {
            let _ = parameter::read(oid, format, Some(bytes));
        }
    }
}

/// A verifier of a password that nobody knows.
const VERIFIER: &str = "SCRAM-SHA-256$4096:c2FsdHNhbHQ=$\
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// Messages of SCRAM: the first line is the client's first one, what is behind it its last one, where `NONCE` stands for that of the
/// exchange; and a verifier, as CREATE ROLE takes it.
pub fn scram(bytes: &[u8]) {
    let crypto = CryptoProvider::portable();
    let text = String::from_utf8_lossy(bytes);
    let (first, last) = text.split_once('\n').unwrap_or((&text, ""));
    drop(Verifier::parse(first));
    let certificate = Some([7; 32]);
    for (mechanism, certificate) in [
        (SCRAM, None),
        (SCRAM, certificate),
        (SCRAM_PLUS, certificate),
    ] {
        let Some(verifier) = Verifier::parse(VERIFIER) else {
            return;
        };
        let first = first.as_bytes();
        if let Ok(exchange) = Exchange::begin(crypto, verifier, mechanism, certificate, first) {
            let nonce = exchange.server_first().split(',').next();
            let nonce = nonce.and_then(|field| field.strip_prefix("r="));
            let last = last.replace("NONCE", nonce.unwrap_or_default());
            let _ = exchange.finish(last.as_bytes());
        }
    }
}
