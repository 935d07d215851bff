//! ALTER DATABASE: the key slots and the data key of an attached database.

use super::attach::options;
use super::statement::{DatabaseChange, RekeySlot, Statement};
use super::tokens::{expect, scalar, syntax_error, word, words};
use crate::error::Result;
use crate::key_literals::KeyLiterals;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// `ALTER DATABASE name ADD SLOT (...)`, `CHANGE SLOT n (...)`, `VERIFY SLOT n (...)`, `DROP SLOT n`, `ROTATE DATA KEY`,
/// `REKEY (...)`, `SET ENCRYPTION_CIPHER name`, `SET (rekey_after = age)`, or `SET ENCRYPTION` with `ON (...)`, `OFF`, `SUSPEND` and `RESUME`.
pub(super) fn alter_database(parser: &mut Parser, keys: &KeyLiterals) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = word(parser)?;
    let ahead = words(parser, 3);
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    let next = parser.peek_token().token;
    let read = match ahead.as_slice() {
        ["ADD" | "CHANGE" | "DROP" | "VERIFY", "SLOT", ..] => 2,
        ["SET", "ENCRYPTION_CIPHER" | "REKEY_AFTER", ..] | ["SET", "(", "REKEY_AFTER"] => 2,
        ["ROTATE", "DATA", "KEY"] | ["SET", "ENCRYPTION", "SUSPEND" | "RESUME" | "ON" | "OFF"] => 3,
        ["REKEY", ..] => 1,
        _ => 0,
    };
    (0..read).for_each(|_| drop(parser.next_token()));
    let change = match ahead.as_slice() {
        ["ROTATE", "DATA", "KEY"] => DatabaseChange::RotateDataKey,
        ["SET", "ENCRYPTION", what @ ("SUSPEND" | "RESUME")] => {
            DatabaseChange::PauseRekey(*what == "SUSPEND")
        }
        ["SET", "ENCRYPTION", "ON"] => DatabaseChange::Encrypt(options(parser, keys)?),
        ["SET", "ENCRYPTION", "OFF"] => DatabaseChange::Decrypt,
        ["SET", "ENCRYPTION_CIPHER", ..] => DatabaseChange::SetCipher(set_to(parser)?),
        ["SET", "REKEY_AFTER", ..] => DatabaseChange::SetRekeyAfter(set_to(parser)?),
        ["SET", "(", "REKEY_AFTER"] => {
            parser.next_token();
            let age = set_to(parser)?;
            expect(parser, &Token::RParen)?;
            DatabaseChange::SetRekeyAfter(age)
        }
        ["REKEY", ..] => DatabaseChange::Rekey(rekey_slots(parser, keys)?),
        ["ADD", "SLOT", ..] => DatabaseChange::AddSlot(options(parser, keys)?),
        ["CHANGE", "SLOT", ..] => DatabaseChange::ChangeSlot {
            slot: number(parser)?,
            options: options(parser, keys)?,
        },
        ["VERIFY", "SLOT", ..] => DatabaseChange::VerifySlot {
            slot: number(parser)?,
            options: options(parser, keys)?,
        },
        ["DROP", "SLOT", ..] => DatabaseChange::DropSlot(number(parser)?),
        _ => return Err(syntax_error(&next)),
    };
    Ok(Statement::AlterDatabase {
        name,
        if_exists,
        change,
    })
}

/// A value, with or without `=` before it.
fn set_to(parser: &mut Parser) -> Result<String> {
    let _ = parser.consume_token(&Token::Eq);
    scalar(parser)
}

/// `(KEEP SLOT n (options), ADD SLOT (options), DROP SLOT n)`.
fn rekey_slots(parser: &mut Parser, keys: &KeyLiterals) -> Result<Vec<RekeySlot>> {
    expect(parser, &Token::LParen)?;
    let mut slots = vec![];
    loop {
        let ahead = words(parser, 2);
        let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
        let next = parser.peek_token().token;
        if matches!(ahead.as_slice(), ["KEEP" | "ADD" | "DROP", "SLOT"]) {
            (0..2).for_each(|_| drop(parser.next_token()));
        }
        slots.push(match ahead.as_slice() {
            ["KEEP", "SLOT"] => RekeySlot::Keep {
                slot: number(parser)?,
                options: options(parser, keys)?,
            },
            ["ADD", "SLOT"] => RekeySlot::Add(options(parser, keys)?),
            ["DROP", "SLOT"] => RekeySlot::Drop(number(parser)?),
            _ => return Err(syntax_error(&next)),
        });
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    expect(parser, &Token::RParen)?;
    Ok(slots)
}

/// The number of a slot.
fn number(parser: &mut Parser) -> Result<usize> {
    match parser.next_token().token {
        Token::Number(text, false) => text
            .parse()
            .map_err(|_| syntax_error(&Token::Number(text, false))),
        other => Err(syntax_error(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn change(sql: &str) -> DatabaseChange {
        match parse(sql) {
            Ok(Statement::AlterDatabase { name, change, .. }) if name == "Sales" => change,
            Ok(_) => panic!("{sql}: another statement"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    #[test]
    fn a_rotation_names_its_database() {
        for text in ["Sales ROTATE DATA KEY", "Sales rotate data key;"] {
            let changed = change(&format!("ALTER DATABASE {text}"));
            assert!(matches!(changed, DatabaseChange::RotateDataKey));
        }
        for text in [
            "Sales ROTATE",
            "Sales ROTATE KEY",
            "Sales ROTATE DATA KEY now",
        ] {
            assert!(parse(&format!("ALTER DATABASE {text}")).is_err(), "{text}");
        }
    }

    #[test]
    fn encryption_is_set() {
        for text in ["'CTR'", "= 'CTR'", "CTR"] {
            let changed = change(&format!(
                "ALTER DATABASE Sales SET ENCRYPTION_CIPHER {text}"
            ));
            assert!(matches!(changed, DatabaseChange::SetCipher(name) if name == "CTR"));
        }
        let changed = change("ALTER DATABASE Sales SET ENCRYPTION off");
        assert!(matches!(changed, DatabaseChange::Decrypt));
        let changed =
            change("ALTER DATABASE Sales SET ENCRYPTION ON (ENCRYPTION_KEY 'a', LABEL 'b')");
        let DatabaseChange::Encrypt(options) = changed else {
            panic!()
        };
        assert_eq!(options[0].secret.as_ref().unwrap().expose(), b"a");
        for text in [
            "ENCRYPTION",
            "ENCRYPTION ON",
            "ENCRYPTION OFF now",
            "ENCRYPTION ON (ENCRYPTION_KEY 'sesame'",
            "ENCRYPTION_CIPHER",
            "ENCRYPTION_CIPHER 'CTR' now",
        ] {
            let Err(error) = parse(&format!("ALTER DATABASE Sales SET {text}")) else {
                panic!("{text} parsed")
            };
            assert!(!error.to_string().contains("sesame"), "{error}");
        }
    }

    #[test]
    fn an_age_is_set_with_or_without_parentheses() {
        for text in [
            "(rekey_after = '1 year')",
            "(REKEY_AFTER '1 year')",
            "rekey_after = '1 year'",
            "REKEY_AFTER '1 year'",
        ] {
            let changed = change(&format!("ALTER DATABASE Sales SET {text}"));
            assert!(matches!(changed, DatabaseChange::SetRekeyAfter(age) if age == "1 year"));
        }
        for text in [
            "(rekey_after)",
            "(rekey_after = '1 year'",
            "(rekey_after = '1 year', x = 1)",
            "(other = 1)",
            "()",
            "rekey_after",
            "rekey_after = '1 year' now",
        ] {
            let sql = format!("ALTER DATABASE Sales SET {text}");
            assert!(parse(&sql).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rekey_says_what_becomes_of_slots() {
        let sql = "ALTER DATABASE Sales REKEY (KEEP SLOT 1 (ENCRYPTION_KEY 'a'), add slot (ENCRYPTION_KEY_ENV B, LABEL 'b'), \
                   DROP SLOT 0)";
        let DatabaseChange::Rekey(slots) = change(sql) else {
            panic!()
        };
        let [
            RekeySlot::Keep { slot: 1, options },
            RekeySlot::Add(added),
            RekeySlot::Drop(0),
        ] = slots.as_slice()
        else {
            panic!()
        };
        assert_eq!(options[0].secret.as_ref().unwrap().expose(), b"a");
        assert_eq!(added.len(), 2);
        for text in [
            "",
            "()",
            "(KEEP SLOT 1)",
            "(DROP SLOT)",
            "(ADD SLOT (ENCRYPTION_KEY 'sesame') DROP SLOT 1)",
            "(KEEP SLOT 0 (ENCRYPTION_KEY 'sesame')",
            "(CHANGE SLOT 0 (ENCRYPTION_KEY 'sesame'))",
            "(KEEP SLOT 0 (ENCRYPTION_KEY 'x')), sesame",
        ] {
            let Err(error) = parse(&format!("ALTER DATABASE Sales REKEY {text}")) else {
                panic!("{text} parsed")
            };
            assert!(!error.to_string().contains("sesame"), "{error}");
        }
    }

    #[test]
    fn slots_are_added_changed_and_dropped() {
        let added = change("ALTER DATABASE Sales ADD SLOT (ENCRYPTION_KEY 'sesame', LABEL 'a b')");
        let DatabaseChange::AddSlot(options) = added else {
            panic!()
        };
        let names: Vec<_> = options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["encryption_key", "label"]);
        let secret = options[0].secret.as_ref().unwrap();
        assert_eq!(secret.expose(), b"sesame");
        let changed = change("alter database Sales change slot 3 (encryption_key_env = NEW_KEY)");
        assert!(
            matches!(changed, DatabaseChange::ChangeSlot { slot: 3, options } if options.len() == 1)
        );
        let tried = change("ALTER DATABASE Sales VERIFY SLOT 0 (ENCRYPTION_KEY_FILE 'f')");
        assert!(matches!(tried, DatabaseChange::VerifySlot { slot: 0, .. }));
        let dropped = change("ALTER DATABASE IF EXISTS Sales DROP SLOT 7");
        assert!(matches!(dropped, DatabaseChange::DropSlot(7)));
    }

    #[test]
    fn what_is_not_known_is_refused_and_repeats_no_key() {
        for sql in [
            "ALTER DATABASE d",
            "ALTER DATABASE d ADD SLOT",
            "ALTER DATABASE d ADD SLOT ()",
            "ALTER DATABASE d ADD SLOT 1 (ENCRYPTION_KEY sesame)",
            "ALTER DATABASE d CHANGE SLOT (ENCRYPTION_KEY = 'sesame')",
            "ALTER DATABASE d CHANGE SLOT -1 (ENCRYPTION_KEY $$sesame$$)",
            "ALTER DATABASE d DROP SLOT 99999999999999999999999",
            "ALTER DATABASE d DROP SLOT 1.5",
            "ALTER DATABASE d RENAME TO sesame",
            "ALTER DATABASE d ADD SLOT (ENCRYPTION_KEY 'x') sesame",
        ] {
            let Err(error) = parse(sql) else {
                panic!("{sql} parsed")
            };
            assert_eq!(error.kind(), crate::ErrorKind::Parser, "{sql}: {error}");
            let quiet = sql.contains("ENCRYPTION_KEY");
            assert!(!quiet || !error.to_string().contains("sesame"), "{error}");
        }
    }
}
