//! Changing what there is: schemas, tables, columns, views.
//!
//! What must hold: schema `main` cannot be dropped; a table keeps at least one column; ids of tables and columns are not given
//! twice. Refuses names that are taken, in whatever case of letters, and things that are not there; the caller knows their
//! names and says them. Files from before may have names that differ in case alone: each is found by its exact name.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use hushdb_encoding::ColumnType;

use super::catalog_version::{MAIN_SCHEMA, SchemaVersion};
use super::comment::CommentKind;
use super::store::Store;
use super::transaction::{Transaction, no_such_table};
use super::view::View;
use crate::block::Role;
use crate::error::{Error, Result};
use crate::numbers::{ColumnId, TableId};
use crate::row_group::{
    Check, Column, ColumnDef, Declared, DistinctSketch, RowGroup, is_sound, raw_bytes, same_name,
};
use crate::table::{Page, TableVersion};

/// What goes by the name of a table or view.
const OF_RELATIONS: [CommentKind; 2] = [CommentKind::Relation, CommentKind::Index];

/// Bytes that a list or struct may take in the rows of a row group that are there when its column is added.
const MAX_FILLED_BYTES: u64 = 64 << 20;

impl Transaction {
    /// Makes an empty schema.
    ///
    /// # Errors
    /// InvalidInput if the name is taken.
    pub fn create_schema(&mut self, name: &str) -> Result<()> {
        if self.is_taken(self.catalog().schemas.keys(), name) {
            return Err(invalid("there is a schema of this name already"));
        }
        self.lock_definition(None)?;
        self.catalog_mut()
            .schemas
            .insert(name.to_owned(), Arc::default());
        self.changes.defines = true;
        Ok(())
    }

    /// Drops a schema with everything in it.
    ///
    /// # Errors
    /// InvalidInput if there is no such schema, or for `main`.
    pub fn drop_schema(&mut self, name: &str) -> Result<()> {
        if name == MAIN_SCHEMA {
            return Err(invalid("the schema main cannot be dropped"));
        }
        self.lock_definition(None)?;
        let schema = Arc::clone(
            self.catalog()
                .schemas
                .get(name)
                .ok_or_else(|| invalid("there is no such schema"))?,
        );
        for table in schema.tables.keys() {
            self.drop_table(name, table)?;
        }
        self.catalog_mut().schemas.remove(name);
        self.changes.defines = true;
        Ok(())
    }

    /// Makes a table without rows and returns its id.
    ///
    /// # Errors
    /// InvalidInput if the schema is not there, the name is taken, or the columns are none, unsound or not distinct.
    pub fn create_table(
        &mut self,
        schema: &str,
        name: &str,
        columns: Vec<ColumnDef>,
        checks: Vec<Check>,
    ) -> Result<TableId> {
        let blocks = Arc::clone(&self.store.blocks);
        let id = self.catalog().next_table_id;
        self.free_name(schema, name)?;
        let mut with_ids: Vec<Column> = Vec::with_capacity(columns.len());
        for (number, column) in (0..).zip(columns) {
            let taken = self.is_taken(with_ids.iter().map(|other| &other.name), &column.name);
            if taken || !is_sound(&column.ty, column.declared) {
                return Err(invalid(
                    "two columns of one name, or a decimal type that cannot be",
                ));
            }
            with_ids.push(column.with_id(ColumnId::new(number)));
        }
        if with_ids.is_empty() {
            return Err(invalid("a table has at least one column"));
        }
        let table = TableVersion::new(id, name.to_owned(), with_ids, checks, blocks);
        self.definitions_mut(schema)?
            .tables
            .insert(name.to_owned(), Arc::new(table));
        self.changes.redefined.insert(id);
        self.catalog_mut().next_table_id = id.next();
        Ok(id)
    }

    /// Drops a table with its rows.
    ///
    /// # Errors
    /// InvalidInput if there is no such table.
    pub fn drop_table(&mut self, schema: &str, name: &str) -> Result<()> {
        let id = self.catalog().table(schema, name).map(|table| table.id);
        self.lock_definition(id)?;
        if let Some(id) = id {
            self.forget_keys(schema, id)?;
        }
        let dropped = self.definitions_mut(schema)?.tables.remove(name);
        let id = dropped.ok_or_else(no_such_table)?.id;
        self.changes.redefined.insert(id);
        self.changes.rows.remove(&id);
        self.forget_comments(schema, &OF_RELATIONS, name, None)?;
        self.drop_owned(schema, id, None)
    }

    /// Gives a table another name in its schema.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or the new name is taken.
    pub fn rename_table(&mut self, schema: &str, name: &str, new_name: &str) -> Result<()> {
        let alike = self.schema_of(schema)?.relations();
        if self.is_taken(alike.filter(|other| *other != name), new_name) {
            return Err(invalid("there is a table or view of this name already"));
        }
        self.definition_mut(schema, name)?.name = new_name.to_owned();
        let tables = &mut self.definitions_mut(schema)?.tables;
        if let Some(table) = tables.remove(name) {
            tables.insert(new_name.to_owned(), table);
        }
        self.rename_comments(schema, name, None, new_name)
    }

    /// Adds a column as the last one. `fill` is one row of the column's type that all present rows get; without it
    /// they get NULL.
    ///
    /// # Errors
    /// InvalidInput if there is no such table, the name is taken or `fill` is not one row of the type; Full and Io of
    /// the file.
    pub fn add_column(
        &mut self,
        schema: &str,
        table: &str,
        column: ColumnDef,
        fill: Option<ArrayRef>,
    ) -> Result<()> {
        let target = Arc::clone(
            self.catalog()
                .table(schema, table)
                .ok_or_else(no_such_table)?,
        );
        if self.is_taken(target.columns.iter().map(|known| &known.name), &column.name)
            || !is_sound(&column.ty, column.declared)
        {
            return Err(invalid("there is a column of this name already"));
        }
        let fill = fill.filter(|fill| fill.null_count() == 0);
        if fill
            .as_ref()
            .is_some_and(|f| f.len() != 1 || f.data_type() != &column.ty.arrow())
        {
            return Err(invalid(
                "the value for present rows is not one row of the column's type",
            ));
        }
        let id = target.next_column_id;
        let next = id
            .next()
            .ok_or_else(|| Error::Unsupported("more columns".into()))?;
        let column = column.with_id(id);
        if let Some(fill) = fill {
            self.change_groups(&target, schema, table, |this, group| {
                this.fill(group, &column, &fill).map(Some)
            })?;
        }
        let target = self.definition_mut(schema, table)?;
        target.next_column_id = next;
        target.columns.make_mut().push(column);
        Ok(())
    }

    /// Drops a column with its values.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or column, or it is the last one.
    pub fn drop_column(&mut self, schema: &str, table: &str, column: &str) -> Result<()> {
        let target = Arc::clone(
            self.catalog()
                .table(schema, table)
                .ok_or_else(no_such_table)?,
        );
        let id = target.column(column).ok_or_else(no_such_column)?.id;
        if target.columns.len() == 1 {
            return Err(invalid("a table has at least one column"));
        }
        refuse_indexed(&target, id)?;
        self.change_groups(&target, schema, table, |_, group| {
            Ok(without_column(group, id))
        })?;
        self.definition_mut(schema, table)?
            .columns
            .make_mut()
            .retain(|column| column.id != id);
        let of_column = [CommentKind::Relation];
        self.forget_comments(schema, &of_column, table, Some(column))?;
        self.drop_owned(schema, target.id, Some(id))
    }

    /// Gives a column another type. `values` are asked for, row group by row group, with one for each row; what they are where
    /// a row is gone means nothing.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or column, an index needs it, the type is unsound, or the values are not as
    /// many or not of the type; those of `values`; Full and Io of the file.
    pub fn change_type(
        &mut self,
        schema: &str,
        table: &str,
        column: &str,
        (ty, declared): (ColumnType, Option<Declared>),
        values: &mut dyn FnMut(&Store, &RowGroup) -> Result<ArrayRef>,
    ) -> Result<()> {
        let target = self.catalog().table(schema, table);
        let target = Arc::clone(target.ok_or_else(no_such_table)?);
        let old = target.column(column).ok_or_else(no_such_column)?;
        refuse_indexed(&target, old.id)?;
        if !is_sound(&ty, declared) {
            return Err(invalid("a type that cannot be"));
        }
        self.lock_definition(Some(target.id))?;
        // What segments of the old type say is never asked of the new one.
        let id = target.next_column_id;
        let next = id.next();
        let next = next.ok_or_else(|| Error::Unsupported("more columns".into()))?;
        let column = Column {
            id,
            ty,
            declared,
            ..old.clone()
        };
        let (table_id, old) = (target.id, old.id);
        let store = Arc::clone(&self.store);
        self.change_groups(&target, schema, table, |this, group| {
            let values = values(&store, group)?;
            let fits = values.data_type() == &column.ty.arrow();
            if !fits || values.len() != group.rows as usize {
                return Err(invalid("the values are not one of the type for each row"));
            }
            let kept = without_column(group, old).unwrap_or_else(|| group.clone());
            this.put_column(kept, &column, values).map(Some)
        })?;
        let target = self.definition_mut(schema, table)?;
        target.next_column_id = next;
        if let Some(place) = target
            .columns
            .make_mut()
            .iter_mut()
            .find(|known| known.id == old)
        {
            *place = column;
        }
        self.reown(schema, table_id, old, id)
    }

    /// Gives a column another name.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or column, or the new name is taken.
    pub fn rename_column(
        &mut self,
        schema: &str,
        table: &str,
        column: &str,
        new_name: &str,
    ) -> Result<()> {
        let target = self
            .catalog()
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        let others = target.columns.iter().map(|known| &known.name);
        if self.is_taken(others.filter(|other| *other != column), new_name) {
            return Err(invalid("there is a column of this name already"));
        }
        self.column_mut(schema, table, column)?.name = new_name.to_owned();
        self.rename_comments(schema, table, Some(column), new_name)
    }

    /// Sets whether a column allows NULL, and its default. The caller has made sure that present rows comply.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or column.
    pub fn set_column(
        &mut self,
        schema: &str,
        table: &str,
        column: &str,
        nullable: bool,
        default: Option<String>,
    ) -> Result<()> {
        let column = self.column_mut(schema, table, column)?;
        column.nullable = nullable;
        column.default = default;
        Ok(())
    }

    /// Sets what a generated column is computed by. The caller has made sure that present rows comply.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or column, or it is not generated.
    pub fn set_generated(
        &mut self,
        schema: &str,
        table: &str,
        column: &str,
        generated: String,
    ) -> Result<()> {
        let column = self.column_mut(schema, table, column)?;
        match column.generated.replace(generated) {
            Some(_) => Ok(()),
            None => Err(invalid("the column is not generated")),
        }
    }

    /// Sets what a column's definition says of its values beyond their type. The caller has made sure that present rows comply.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or column, or its type cannot be so.
    pub fn set_declared(
        &mut self,
        schema: &str,
        table: &str,
        column: &str,
        declared: Option<Declared>,
    ) -> Result<()> {
        let column = self.column_mut(schema, table, column)?;
        if !is_sound(&column.ty, declared) {
            return Err(invalid("a column of this type cannot be so"));
        }
        column.declared = declared;
        Ok(())
    }

    /// Makes a view.
    ///
    /// # Errors
    /// InvalidInput if the schema is not there or the name is taken.
    pub fn create_view(&mut self, schema: &str, view: View) -> Result<()> {
        self.free_name(schema, &view.name)?;
        self.definitions_mut(schema)?
            .views
            .insert(view.name.clone(), Arc::new(view));
        Ok(())
    }

    /// Drops a view.
    ///
    /// # Errors
    /// InvalidInput if there is no such view.
    pub fn drop_view(&mut self, schema: &str, name: &str) -> Result<()> {
        let removed = self.definitions_mut(schema)?.views.remove(name);
        self.forget_comments(schema, &OF_RELATIONS, name, None)?;
        removed
            .map(|_| ())
            .ok_or_else(|| invalid("there is no such view"))
    }

    /// Gives a view another name in its schema.
    ///
    /// # Errors
    /// InvalidInput if there is no such view or the new name is taken.
    pub fn rename_view(&mut self, schema: &str, name: &str, new_name: &str) -> Result<()> {
        let alike = self.schema_of(schema)?.relations();
        if self.is_taken(alike.filter(|other| *other != name), new_name) {
            return Err(invalid("there is a table or view of this name already"));
        }
        let views = &mut self.definitions_mut(schema)?.views;
        let view = views.remove(name);
        let view = view.ok_or_else(|| invalid("there is no such view"))?;
        let renamed = View {
            name: new_name.to_owned(),
            ..View::clone(&view)
        };
        views.insert(new_name.to_owned(), Arc::new(renamed));
        self.rename_comments(schema, name, None, new_name)
    }

    fn is_taken<'a>(&self, mut names: impl Iterator<Item = &'a String>, name: &str) -> bool {
        names.any(|known| self.is_same(known, name))
    }

    pub(super) fn is_same(&self, known: &str, name: &str) -> bool {
        match self.names_alike {
            true => known == name,
            false => same_name(known, name),
        }
    }

    fn free_name(&self, schema: &str, name: &str) -> Result<()> {
        match self.is_taken(self.schema_of(schema)?.relations(), name) {
            true => Err(invalid("there is a table or view of this name already")),
            false => Ok(()),
        }
    }

    pub(super) fn schema_of(&self, schema: &str) -> Result<&Arc<SchemaVersion>> {
        let found = self.catalog().schema(schema);
        found.ok_or_else(|| invalid("there is no such schema"))
    }

    fn column_mut(&mut self, schema: &str, table: &str, column: &str) -> Result<&mut Column> {
        let columns = &mut self.definition_mut(schema, table)?.columns;
        columns
            .make_mut()
            .iter_mut()
            .find(|known| known.name == column)
            .ok_or_else(no_such_column)
    }

    /// The private copy of a schema, to change which tables and views there are.
    pub(super) fn definitions_mut(&mut self, schema: &str) -> Result<&mut SchemaVersion> {
        self.lock_definition(None)?;
        self.changes.defines = true;
        self.schema_mut(schema)
    }

    /// The private copy of a table, to change what it is.
    pub(super) fn definition_mut(
        &mut self,
        schema: &str,
        table: &str,
    ) -> Result<&mut TableVersion> {
        let found = self.catalog().table(schema, table);
        let id = found.ok_or_else(no_such_table)?.id;
        self.lock_definition(Some(id))?;
        self.changes.redefined.insert(id);
        self.changes.defines = true;
        let table = self.table_mut(schema, table)?;
        table.changed();
        Ok(table)
    }

    /// Replaces the row groups for which `change` gives a new one.
    fn change_groups(
        &mut self,
        target: &TableVersion,
        schema: &str,
        table: &str,
        mut change: impl FnMut(&mut Self, &RowGroup) -> Result<Option<RowGroup>>,
    ) -> Result<()> {
        self.changes.broken = true;
        let mut change_all = |this: &mut Self, groups: &[Arc<RowGroup>]| {
            let mut changed = groups.to_vec();
            let mut touched = false;
            for group in &mut changed {
                if let Some(new) = change(this, group)? {
                    *group = Arc::new(new);
                    touched = true;
                }
            }
            Ok::<_, Error>((changed, touched))
        };
        let mut pages = Vec::with_capacity(target.pages.len());
        for page in &target.pages {
            let (groups, touched) = change_all(self, target.page_groups(page)?)?;
            pages.push(match touched {
                true => Arc::new(Page::new(groups)),
                false => Arc::clone(page),
            });
        }
        let (tail, _) = change_all(self, &target.tail)?;
        self.definition_mut(schema, table)?.set_rows(pages, tail);
        self.changes.broken = false;
        Ok(())
    }

    /// The row group with values of `column` that are `fill` in every row.
    fn fill(&mut self, group: &RowGroup, column: &Column, fill: &ArrayRef) -> Result<RowGroup> {
        let bytes = raw_bytes(fill).saturating_mul(u64::from(group.rows));
        if column.ty.is_nested() && bytes > MAX_FILLED_BYTES {
            return Err(Error::Unsupported(
                "a default of that many values for rows that are there".into(),
            ));
        }
        let rows = UInt32Array::from(vec![0; group.rows as usize]);
        let values = arrow_select::take::take(fill.as_ref(), &rows, None)
            .map_err(|_| invalid("the value for present rows cannot be repeated"))?;
        self.put_column(group.clone(), column, values)
    }

    /// The row group with values of a column that it has none of.
    fn put_column(
        &mut self,
        mut changed: RowGroup,
        column: &Column,
        values: ArrayRef,
    ) -> Result<RowGroup> {
        if let Some(memory) = &changed.memory {
            let more = memory.iter().cloned().chain([(column.id, values)]);
            changed.memory = Some(more.collect());
            return Ok(changed);
        }
        let written = self.store.write_segment(column, &values, &mut self.fresh)?;
        let Some((segment, sketch)) = written else {
            return Ok(changed);
        };
        changed.segments.make_mut().push(segment);

        let mut sketches = Vec::new();
        if let Some(block) = changed.sketches {
            let bytes = self.store.blocks.read(Role::Statistics, &block)?;
            let malformed =
                |_| Error::malformed(Role::Statistics, block.sector, "distinct sketches");
            sketches = DistinctSketch::read_all(&bytes).map_err(malformed)?;
        }
        sketches.push((column.id, sketch));
        let bytes = DistinctSketch::write_all(&sketches);
        let block = self
            .store
            .write_aside(Role::Statistics, &bytes, &mut self.fresh)?;
        changed.sketches = Some(block);
        Ok(changed)
    }
}

/// The row group without values of a column; `None` if it has none.
fn without_column(group: &RowGroup, id: ColumnId) -> Option<RowGroup> {
    let mut changed = group.clone();
    changed
        .segments
        .make_mut()
        .retain(|segment| segment.column_id != id);
    if let Some(memory) = &group.memory {
        let kept = memory.iter().filter(|(column, _)| *column != id);
        changed.memory = Some(kept.cloned().collect());
    } else if changed.segments.len() == group.segments.len() {
        return None;
    }
    Some(changed)
}

fn refuse_indexed(table: &TableVersion, column_id: ColumnId) -> Result<()> {
    let mut indexes = table.indexes.iter();
    match indexes.any(|index| index.column_ids().contains(&column_id)) {
        true => Err(invalid("an index needs the column: drop the index first")),
        false => Ok(()),
    }
}

pub(super) fn invalid(what: &str) -> Error {
    Error::InvalidInput(what.to_owned())
}

pub(super) fn no_such_column() -> Error {
    invalid("there is no such column")
}
