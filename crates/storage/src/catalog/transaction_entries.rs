//! Changing what a schema has beside tables and views: sequences, macros and types.
//!
//! What must hold: of one kind no two have one name in a schema, in whatever case of letters. Ids are not given twice, and no
//! table has one of them.

use std::sync::Arc;

use super::comment::{self, CommentKind, CommentOn};
use super::sequence::{Sequence, SequenceDef, SequenceOwner, SequenceUse};
use super::transaction::{Transaction, no_such_table};
use super::transaction_ddl::{invalid, no_such_column};
use super::user_macro::Macro;
use super::user_type::UserType;
use crate::error::Result;
use crate::numbers::{ColumnId, TableId};

impl Transaction {
    /// Makes a sequence.
    ///
    /// # Errors
    /// InvalidInput if the schema is not there, the name is taken, or the options contradict each other.
    pub fn create_sequence(&mut self, schema: &str, def: SequenceDef) -> Result<()> {
        let known = &self.schema_of(schema)?.sequences;
        if known.keys().any(|known| self.is_same(known, &def.name)) {
            return Err(invalid("there is a sequence of this name already"));
        }
        let id = self.changes.catalog.next_table_id;
        let name = def.name.clone();
        let sequence = Sequence::new(id, def);
        let sequence = sequence.ok_or_else(|| invalid("a sequence that cannot be"))?;
        self.definitions_mut(schema)?
            .sequences
            .insert(name, Arc::new(sequence));
        self.catalog_mut().next_table_id = id.next();
        Ok(())
    }

    /// Has a sequence dropped with a table of its schema, or with a column of it; `None`: with neither.
    ///
    /// # Errors
    /// InvalidInput if there is no such sequence, table or column.
    pub fn set_sequence_owner(
        &mut self,
        schema: &str,
        name: &str,
        owner: Option<(&str, Option<&str>)>,
        used: SequenceUse,
    ) -> Result<()> {
        let owner = match owner {
            None => None,
            Some((table, column)) => {
                let table = self.catalog().table(schema, table);
                let table = table.ok_or_else(no_such_table)?;
                let id = |name: &str| -> Result<ColumnId> {
                    Ok(table.column(name).ok_or_else(no_such_column)?.id)
                };
                Some(SequenceOwner {
                    table_id: table.id,
                    column_id: column.map(id).transpose()?,
                    used,
                })
            }
        };
        let sequences = &mut self.definitions_mut(schema)?.sequences;
        let sequence = sequences.get_mut(name);
        let sequence = sequence.ok_or_else(|| invalid("there is no such sequence"))?;
        *sequence = Arc::new(sequence.owned_by(owner));
        Ok(())
    }

    /// Says something of what is there under a name in a schema; `None` takes back what was said.
    ///
    /// # Errors
    /// InvalidInput if the schema is not there, or there can be nothing like that.
    pub fn set_comment(&mut self, schema: &str, on: CommentOn, text: Option<&str>) -> Result<()> {
        if !on.is_sound() {
            return Err(invalid("there is nothing like that to comment on"));
        }
        let comments = &mut self.definitions_mut(schema)?.comments;
        match text {
            Some(text) => comments.insert(on, text.into()),
            None => comments.remove(&on),
        };
        Ok(())
    }

    /// Forgets what is said of something that is dropped, or of a part of it.
    pub(super) fn forget_comments(
        &mut self,
        schema: &str,
        kinds: &[CommentKind],
        name: &str,
        part: Option<&str>,
    ) -> Result<()> {
        if !self.schema_of(schema)?.comments.is_empty() {
            comment::forget(&mut self.schema_mut(schema)?.comments, kinds, name, part);
        }
        Ok(())
    }

    /// Gives what is said of a table or view, or of a column of it, to a new name.
    pub(super) fn rename_comments(
        &mut self,
        schema: &str,
        name: &str,
        part: Option<&str>,
        new: &str,
    ) -> Result<()> {
        if !self.schema_of(schema)?.comments.is_empty() {
            comment::rename(&mut self.schema_mut(schema)?.comments, name, part, new);
        }
        Ok(())
    }

    /// Drops the sequences of a table that is dropped, or of a column of it.
    pub(super) fn drop_owned(
        &mut self,
        schema: &str,
        table_id: TableId,
        column_id: Option<ColumnId>,
    ) -> Result<()> {
        let is_owned = |sequence: &Sequence| {
            sequence.owner.is_some_and(|owner| {
                owner.table_id == table_id && (column_id.is_none() || owner.column_id == column_id)
            })
        };
        if self
            .schema_of(schema)?
            .sequences
            .values()
            .any(|s| is_owned(s))
        {
            let schema = self.schema_mut(schema)?;
            schema.sequences.retain(|name, sequence| {
                let is_owned = is_owned(sequence);
                if is_owned {
                    let kinds = [CommentKind::Sequence];
                    comment::forget(&mut schema.comments, &kinds, name, None);
                }
                !is_owned
            });
        }
        Ok(())
    }

    /// Has sequences of a column dropped with another one of its table.
    pub(super) fn reown(
        &mut self,
        schema: &str,
        table_id: TableId,
        from: ColumnId,
        to: ColumnId,
    ) -> Result<()> {
        for sequence in self.schema_mut(schema)?.sequences.values_mut() {
            let owner = sequence.owner;
            let owner = owner.filter(|o| (o.table_id, o.column_id) == (table_id, Some(from)));
            if let Some(owner) = owner {
                let owner = SequenceOwner {
                    column_id: Some(to),
                    ..owner
                };
                *sequence = Arc::new(sequence.owned_by(Some(owner)));
            }
        }
        Ok(())
    }

    /// Makes a macro, of tables or of expressions.
    ///
    /// # Errors
    /// InvalidInput if the schema is not there, the name is taken, or two overloads have the same types of parameters.
    pub fn create_macro(&mut self, schema: &str, new: Macro, of_tables: bool) -> Result<()> {
        let known = self.schema_of(schema)?.macros_of(of_tables);
        if known.keys().any(|known| self.is_same(known, &new.name)) {
            return Err(invalid("there is a macro of this name already"));
        }
        if !new.is_sound() {
            return Err(invalid("two overloads that cannot be told apart, or none"));
        }
        let within = self.definitions_mut(schema)?;
        let macros = match of_tables {
            true => &mut within.table_macros,
            false => &mut within.macros,
        };
        macros.insert(new.name.clone(), Arc::new(new));
        Ok(())
    }

    /// Drops a macro.
    ///
    /// # Errors
    /// InvalidInput if there is no such macro.
    pub fn drop_macro(&mut self, schema: &str, name: &str, of_tables: bool) -> Result<()> {
        let within = self.definitions_mut(schema)?;
        let removed = match of_tables {
            true => within.table_macros.remove(name),
            false => within.macros.remove(name),
        };
        let kind = match of_tables {
            true => CommentKind::TableMacro,
            false => CommentKind::Macro,
        };
        self.forget_comments(schema, &[kind], name, None)?;
        removed
            .map(|_| ())
            .ok_or_else(|| invalid("there is no such macro"))
    }

    /// Makes a type.
    ///
    /// # Errors
    /// InvalidInput if the schema is not there, the name is taken, or no column can have the type.
    pub fn create_type(&mut self, schema: &str, new: UserType) -> Result<()> {
        let known = &self.schema_of(schema)?.types;
        if known.keys().any(|known| self.is_same(known, &new.name)) {
            return Err(invalid("there is a type of this name already"));
        }
        if !new.ty.is_valid() {
            return Err(invalid("a type that no column can have"));
        }
        let types = &mut self.definitions_mut(schema)?.types;
        types.insert(new.name.clone(), Arc::new(new));
        Ok(())
    }

    /// Drops a type. Columns keep it.
    ///
    /// # Errors
    /// InvalidInput if there is no such type.
    pub fn drop_type(&mut self, schema: &str, name: &str) -> Result<()> {
        let removed = self.definitions_mut(schema)?.types.remove(name);
        self.forget_comments(schema, &[CommentKind::Type], name, None)?;
        removed
            .map(|_| ())
            .ok_or_else(|| invalid("there is no such type"))
    }

    /// Drops a sequence. Defaults that name it stay.
    ///
    /// # Errors
    /// InvalidInput if there is no such sequence.
    pub fn drop_sequence(&mut self, schema: &str, name: &str) -> Result<()> {
        let removed = self.definitions_mut(schema)?.sequences.remove(name);
        self.forget_comments(schema, &[CommentKind::Sequence], name, None)?;
        removed
            .map(|_| ())
            .ok_or_else(|| invalid("there is no such sequence"))
    }
}
