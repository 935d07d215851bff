//! Functions in FROM, and what a process and its catalogs say of themselves as tables: DESCRIBE, SHOW, SUMMARIZE and PRAGMA, too.

pub(super) mod about_tables;
mod arrays;
pub(super) mod catalog_tables;
pub(super) mod dependency_table;
pub(super) mod function_table;
pub(super) mod index_tables;
mod numbered;
pub(super) mod pragma;
pub(super) mod process_tables;
pub(super) mod series;
pub(super) mod session_functions;
pub(super) mod show;
pub(super) mod storage_table;
pub(super) mod summarize;
pub(super) mod system_tables;
pub(super) mod table_functions;
pub(super) mod type_table;
