use arrow_array::*;
use arrow_schema::DataType;
use hushdb_keys::providers::KeyText;
use hushdb_storage::*;
use std::sync::Arc;
use std::time::Instant;
#[test]
fn lineitem() {
    let gen_ = tpchgen::generators::LineItemGenerator::new(1.0, 1, 1);
    let it = tpchgen_arrow::LineItemArrow::new(gen_).with_batch_size(8192);
    let schema = tpchgen_arrow::RecordBatchIterator::schema(&it).clone();
    let cols: Vec<Column> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(i, f)| Column {
            id: i as u32,
            name: f.name().clone(),
            ty: match f.data_type() {
                DataType::Int64 => ColumnType::Int64,
                DataType::Int32 => ColumnType::Int32,
                DataType::Decimal128(p, s) => ColumnType::Decimal {
                    precision: *p,
                    scale: *s,
                },
                DataType::Date32 => ColumnType::Date,
                DataType::Utf8View => ColumnType::Varchar,
                t => panic!("{t}"),
            },
            nullable: true,
            default: None,
        })
        .collect();
    let mut b = RowGroupBuilder::new(&cols, 122_880);
    let mut groups = vec![];
    let t = Instant::now();
    for batch in it {
        let arrays: Vec<ArrayRef> = batch
            .columns()
            .iter()
            .zip(&cols)
            .map(|(a, c)| arrow_cast::cast(a, &c.ty.arrow()).unwrap())
            .collect();
        let s = Arc::new(arrow_schema::Schema::new(
            cols.iter()
                .map(|c| arrow_schema::Field::new(&c.name, c.ty.arrow(), true))
                .collect::<Vec<_>>(),
        ));
        groups.extend(b.push(&RecordBatch::try_new(s, arrays).unwrap()).unwrap());
    }
    groups.extend(b.finish().unwrap());
    eprintln!("gen {:?} groups {}", t.elapsed(), groups.len());
    let file = Arc::new(MemFile::new());
    let o = StoreOptions {
        pool: Arc::new(BufferPool::new(1 << 30)),
        ..Default::default()
    };
    let key = KeyText::new(format!("hex:{}", "5a".repeat(32)));
    let store = Store::create(file.clone(), Some(&key), &o).unwrap();
    let mut txn = store.begin().unwrap();
    txn.create_table(
        "main",
        "lineitem",
        cols.iter()
            .map(|c| ColumnDef {
                name: c.name.clone(),
                ty: c.ty.clone(),
                nullable: true,
                default: None,
            })
            .collect(),
        vec![],
    )
    .unwrap();
    let columns = txn
        .catalog()
        .table("main", "lineitem")
        .unwrap()
        .columns
        .clone();
    let t = Instant::now();
    let pend: Vec<_> = groups
        .iter()
        .map(|g| store.write_row_group(&columns, g).unwrap())
        .collect();
    eprintln!("write {:?}", t.elapsed());
    txn.append("main", "lineitem", pend).unwrap();
    txn.commit().unwrap();
    eprintln!("file {:.1} MiB", store.info().file_bytes as f64 / 1048576.0);
    // codec alone per column
    let codec = VortexCodec::new();
    for (i, c) in columns.iter().enumerate() {
        let t = Instant::now();
        let enc: Vec<bytes::Bytes> = groups
            .iter()
            .map(|g| bytes::Bytes::from(codec.encode(&c.ty, &g[i]).unwrap().to_vec()))
            .collect();
        let te = t.elapsed();
        let size: usize = enc.iter().map(|e| e.len()).sum();
        let mut best = std::time::Duration::MAX;
        for _ in 0..3 {
            let t = Instant::now();
            for (e, g) in enc.iter().zip(&groups) {
                std::hint::black_box(codec.decode(&c.ty, g[i].len() as u32, e, None).unwrap());
            }
            best = best.min(t.elapsed());
        }
        eprintln!(
            "{:18} {:8.2} MiB enc {:6.0} ms dec {:6.1} ms",
            c.name,
            size as f64 / 1048576.0,
            te.as_secs_f64() * 1e3,
            best.as_secs_f64() * 1e3
        );
    }
    drop(store);
    let t = Instant::now();
    let store = Store::open(file.clone(), Some(&key), &o).unwrap();
    eprintln!("open {:?}", t.elapsed());
    let snap = store.snapshot();
    let table = snap.table("main", "lineitem").unwrap();
    let t = Instant::now();
    table.row_groups().unwrap();
    eprintln!("row_groups {:?}", t.elapsed());
    for pass in 0..3 {
        let t = Instant::now();
        for g in table.row_groups().unwrap() {
            for c in &table.columns {
                std::hint::black_box(store.read_column(g, c, None).unwrap());
            }
        }
        eprintln!("scan pass {pass} {:?}", t.elapsed());
    }
    let t = Instant::now();
    for c in &table.columns {
        eprint!("{} ", table.distinct_count(c.id).unwrap().unwrap());
    }
    eprintln!("distinct {:?}", t.elapsed());
    let t = Instant::now();
    let r = store.check(&mut |_, _| {}).unwrap();
    eprintln!(
        "check {:?} {} blocks {:?} {:?}",
        t.elapsed(),
        r.blocks,
        r.by_role,
        r.findings.len()
    );
}
