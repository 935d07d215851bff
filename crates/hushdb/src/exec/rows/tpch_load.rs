//! `CALL dbgen(sf = 1)`: makes the eight TPC-H tables, in parallel, as one statement. Column types are DuckDB's.

use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::sql::sqlparser::ast::{Expr, Value};
use hushdb_query::heed::of_task;
use hushdb_query::scan::ScanProgress;
use hushdb_sql as sql;
use hushdb_sql::sqlstate;
use hushdb_sql::type_names::column_type;
use hushdb_sql::{Error, Result};
use hushdb_storage::{Column, ColumnDef, PendingRowGroup, RowGroupBuilder, Store};
use std::sync::Arc;
use tpchgen::generators as tpch;
use tpchgen_arrow as arrow_tpch;

/// Rows that a generator makes at a time.
const BATCH_ROWS: usize = 8192;
/// Largest scale factor; row keys past it would leave 32 bits in the generator.
const MAX_SCALE: f64 = 1000.0;

type Batches = Box<dyn Iterator<Item = RecordBatch> + Send>;

/// One table: its columns, its rows at scale factor 1, and a generator of part `n` of `m`.
struct TableSpec {
    name: &'static str,
    columns: &'static str,
    rows: f64,
    /// Nation and region have the same rows at every scale.
    scales: bool,
    generate: fn(f64, i32, i32) -> Batches,
}

macro_rules! generator {
    ($generator:ident, $arrow:ident) => {
        |sf, part, parts| {
            let generator = tpch::$generator::new(sf, part, parts);
            Box::new(arrow_tpch::$arrow::new(generator).with_batch_size(BATCH_ROWS))
        }
    };
}

const TABLES: [TableSpec; 8] = [
    TableSpec {
        name: "region",
        columns: "r_regionkey INTEGER, r_name VARCHAR, r_comment VARCHAR",
        rows: 5.0,
        scales: false,
        generate: generator!(RegionGenerator, RegionArrow),
    },
    TableSpec {
        name: "nation",
        columns: "n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER, n_comment VARCHAR",
        rows: 25.0,
        scales: false,
        generate: generator!(NationGenerator, NationArrow),
    },
    TableSpec {
        name: "supplier",
        columns: "s_suppkey BIGINT, s_name VARCHAR, s_address VARCHAR, s_nationkey INTEGER, s_phone VARCHAR, \
                  s_acctbal DECIMAL(15,2), s_comment VARCHAR",
        rows: 10_000.0,
        scales: true,
        generate: generator!(SupplierGenerator, SupplierArrow),
    },
    TableSpec {
        name: "part",
        columns: "p_partkey BIGINT, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, \
                  p_container VARCHAR, p_retailprice DECIMAL(15,2), p_comment VARCHAR",
        rows: 200_000.0,
        scales: true,
        generate: generator!(PartGenerator, PartArrow),
    },
    TableSpec {
        name: "partsupp",
        columns: "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost DECIMAL(15,2), \
                  ps_comment VARCHAR",
        rows: 800_000.0,
        scales: true,
        generate: generator!(PartSuppGenerator, PartSuppArrow),
    },
    TableSpec {
        name: "customer",
        columns: "c_custkey BIGINT, c_name VARCHAR, c_address VARCHAR, c_nationkey INTEGER, c_phone VARCHAR, \
                  c_acctbal DECIMAL(15,2), c_mktsegment VARCHAR, c_comment VARCHAR",
        rows: 150_000.0,
        scales: true,
        generate: generator!(CustomerGenerator, CustomerArrow),
    },
    TableSpec {
        name: "orders",
        columns: "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus VARCHAR, o_totalprice DECIMAL(15,2), \
                  o_orderdate DATE, o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, \
                  o_comment VARCHAR",
        rows: 1_500_000.0,
        scales: true,
        generate: generator!(OrderGenerator, OrderArrow),
    },
    TableSpec {
        name: "lineitem",
        columns: "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT, \
                  l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), \
                  l_tax DECIMAL(15,2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, \
                  l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR, \
                  l_comment VARCHAR",
        rows: 6_000_000.0,
        scales: true,
        generate: generator!(LineItemGenerator, LineItemArrow),
    },
];

impl TableSpec {
    fn column_defs(&self) -> Result<Vec<ColumnDef>> {
        self.columns
            .split(", ")
            .map(|text| {
                let (name, ty) = text
                    .split_once(' ')
                    .ok_or_else(|| Error::internal("a TPC-H column has no type"))?;
                let ty = column_type(&sql::parse_data_type(ty)?)?;
                Ok(ColumnDef {
                    name: name.to_string(),
                    ty,
                    nullable: false,
                    default: None,
                    generated: None,
                    declared: None,
                })
            })
            .collect()
    }

    fn rows_at(&self, sf: f64) -> u64 {
        if self.scales {
            (self.rows * sf) as u64
        } else {
            self.rows as u64
        }
    }
}

/// Arguments of the call.
struct Arguments {
    sf: f64,
    database: String,
    schema: String,
    overwrite: bool,
}

fn arguments(
    statement: &Statement<'_>,
    args: &[Expr],
    named: &[(String, Expr)],
) -> Result<Arguments> {
    let session = statement.session.settings.lock();
    let mut parsed = Arguments {
        sf: 1.0,
        database: session.database.clone(),
        schema: session.schema.clone(),
        overwrite: false,
    };
    drop(session);
    if !args.is_empty() {
        return Err(Error::binder(
            "dbgen takes named arguments: CALL dbgen(sf = 1)",
        ));
    }
    for (name, value) in named {
        let literal = match value {
            Expr::Value(value) => value.value.clone(),
            _ => {
                return Err(Error::binder(format!(
                    "the argument {name} of dbgen must be a constant"
                )));
            }
        };
        match (name.as_str(), literal) {
            ("sf", Value::Number(text, _)) => {
                parsed.sf = text
                    .parse()
                    .map_err(|_| Error::binder("sf must be a number"))?;
            }
            ("catalog", Value::SingleQuotedString(text)) => parsed.database = text,
            ("schema", Value::SingleQuotedString(text)) => parsed.schema = text,
            ("overwrite", Value::Boolean(flag)) => parsed.overwrite = flag,
            ("sf" | "catalog" | "schema" | "overwrite", _) => {
                return Err(Error::binder(format!(
                    "the argument {name} of dbgen has the wrong type"
                )));
            }
            _ => {
                return Err(Error::binder(format!(
                    "dbgen has no argument {name}; it takes sf, catalog, schema, overwrite"
                )));
            }
        }
    }
    if !(parsed.sf >= 0.0 && parsed.sf <= MAX_SCALE) {
        return Err(Error::binder(format!(
            "sf must be between 0 and {MAX_SCALE}"
        )));
    }
    Ok(parsed)
}

pub(in crate::exec) fn dbgen(
    statement: &Statement<'_>,
    args: &[Expr],
    named: &[(String, Expr)],
) -> Result<QueryResult> {
    let arguments = arguments(statement, args, named)?;
    let mut write = statement.write(&arguments.database)?;
    for table in &TABLES {
        if write
            .catalog()
            .table(&arguments.schema, table.name)
            .is_some()
        {
            if !arguments.overwrite {
                return Err(Error::catalog(format!(
                    "Table with name \"{}\" already exists!",
                    table.name
                ))
                .with_sqlstate(sqlstate::DUPLICATE_TABLE));
            }
            write.drop_table(&arguments.schema, table.name)?;
        }
        write.create_table(&arguments.schema, table.name, table.column_defs()?, vec![])?;
    }
    if arguments.sf > 0.0 {
        statement
            .progress
            .plan(TABLES.iter().map(|t| t.rows_at(arguments.sf)).sum());
        for table in &TABLES {
            let columns: Arc<[Column]> = match write.catalog().table(&arguments.schema, table.name)
            {
                Some(version) => version.columns.to_vec().into(),
                None => return Err(Error::internal("a TPC-H table was not created")),
            };
            let groups = generate(statement, write.store(), table, arguments.sf, &columns)?;
            write.append(&arguments.schema, table.name, groups)?;
        }
    }
    write.commit()?;
    Ok(QueryResult::done())
}

/// Generates, compresses and writes one table, a contiguous part on each thread.
fn generate(
    statement: &Statement<'_>,
    store: &Arc<Store>,
    table: &'static TableSpec,
    sf: f64,
    columns: &Arc<[Column]>,
) -> Result<Vec<PendingRowGroup>> {
    let threads = statement.session.engine().threads as i32;
    let parts = if table.rows_at(sf) > 2 * store.row_group_rows() as u64 {
        threads
    } else {
        1
    };
    statement.block_on(async {
        let mut tasks = vec![];
        for part in 1..=parts {
            let (store, columns, progress) = (
                Arc::clone(store),
                Arc::clone(columns),
                Arc::clone(statement.progress),
            );
            tasks.push(tokio::task::spawn_blocking(move || {
                let batches = (table.generate)(sf, part, parts);
                let heeds = progress.heeds();
                heeds.watch(|| write_part(&store, batches, &columns, &progress))
            }));
        }
        let mut groups = vec![];
        for task in tasks {
            groups.extend(task.await.map_err(|e| of_task(&e))??);
        }
        Ok(groups)
    })
}

fn write_part(
    store: &Store,
    batches: Batches,
    columns: &[Column],
    progress: &ScanProgress,
) -> Result<Vec<PendingRowGroup>> {
    let mut builder = RowGroupBuilder::new(columns, store.row_group_rows());
    let mut groups = vec![];
    let schema = Arc::new(datafusion::arrow::datatypes::Schema::new(
        columns
            .iter()
            .map(|c| hushdb_sql::type_names::arrow_field(&c.name, &c.ty, c.nullable))
            .collect::<Vec<_>>(),
    ));
    for batch in batches {
        progress.check()?;
        let arrays = batch
            .columns()
            .iter()
            .zip(columns)
            .map(|(array, column)| Ok(cast(array, &column.ty.arrow())?))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let rows = batch.num_rows();
        for full in builder.push(&RecordBatch::try_new(Arc::clone(&schema), arrays)?)? {
            groups.push(store.write_gathered(columns, full)?);
        }
        progress.done(rows as u64);
    }
    if let Some(rest) = builder.cut() {
        groups.push(store.write_gathered(columns, rest)?);
    }
    Ok(groups)
}
