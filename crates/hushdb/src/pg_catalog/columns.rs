//! The tables of `pg_catalog` and the views of `information_schema`: what they are called and which columns they have, as
//! PostgreSQL 15 documents them.

/// A table's name, and the line of its columns (`rows.rs`).
pub(super) type Table = (&'static str, &'static str);

/// The numbers of tables that clients know by heart.
pub(super) fn known_oid(table: &str) -> Option<i64> {
    Some(match table {
        "pg_type" => 1_247,
        "pg_attribute" => 1_249,
        "pg_proc" => 1_255,
        "pg_class" => 1_259,
        "pg_authid" => 1_260,
        "pg_database" => 1_262,
        "pg_constraint" => 2_606,
        "pg_attrdef" => 2_604,
        "pg_namespace" => 2_615,
        "pg_description" => 2_609,
        "pg_index" => 2_610,
        _ => return None,
    })
}

/// The columns of a table of one of the two schemas.
pub(super) fn of(tables: &[Table], name: &str) -> Option<Table> {
    tables.iter().find(|(table, _)| *table == name).copied()
}

/// `pg_catalog`. Those for which `tables.rs` has no rows are empty: there is nothing of the kind here.
pub(super) const TABLES: &[Table] = &[
    (
        "pg_aggregate",
        "aggfnoid oid, aggkind char, aggnumdirectargs int2, aggtransfn oid, aggfinalfn oid, aggcombinefn oid, aggserialfn oid, \
         aggdeserialfn oid, aggmtransfn oid, aggminvtransfn oid, aggmfinalfn oid, aggfinalextra bool, aggmfinalextra bool, \
         aggfinalmodify char, aggmfinalmodify char, aggsortop oid, aggtranstype oid, aggtransspace int4, aggmtranstype oid, \
         aggmtransspace int4, agginitval text, aggminitval text",
    ),
    ("pg_am", "oid oid, amname name, amhandler oid, amtype char"),
    (
        "pg_amop",
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, amoppurpose char, amopopr oid, \
         amopmethod oid, amopsortfamily oid",
    ),
    (
        "pg_amproc",
        "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, amproc oid",
    ),
    ("pg_attrdef", "oid oid, adrelid oid, adnum int2, adbin text"),
    (
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4, attcacheoff int4, \
         atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char, attnotnull bool, atthasdef bool, \
         atthasmissing bool, attidentity char, attgenerated char, attisdropped bool, attislocal bool, attinhcount int4, \
         attcollation oid, attacl text[], attoptions text[], attfdwoptions text[], attmissingval text",
    ),
    (
        "pg_auth_members",
        "roleid oid, member oid, grantor oid, admin_option bool",
    ),
    (
        "pg_authid",
        "oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, \
         rolreplication bool, rolbypassrls bool, rolconnlimit int4, rolpassword text, rolvaliduntil moment",
    ),
    (
        "pg_available_extensions",
        "name name, default_version text, installed_version text, comment text",
    ),
    (
        "pg_cast",
        "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char",
    ),
    (
        "pg_class",
        "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, relfilenode oid, \
         reltablespace oid, relpages int4, reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool, \
         relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool, \
         relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, \
         relreplident char, relispartition bool, relrewrite oid, relfrozenxid oid, relminmxid oid, relacl text[], \
         reloptions text[], relpartbound text",
    ),
    (
        "pg_collation",
        "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool, \
         collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
    ),
    (
        "pg_constraint",
        "oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, convalidated bool, \
         conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char, \
         confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey int2[], confkey int2[], \
         conpfeqop oid[], conppeqop oid[], conffeqop oid[], confdelsetcols int2[], conexclop oid[], conbin text",
    ),
    (
        "pg_conversion",
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4, conproc oid, \
         condefault bool",
    ),
    (
        "pg_database",
        "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, datallowconn bool, \
         datconnlimit int4, datfrozenxid oid, datminmxid oid, dattablespace oid, datcollate text, datctype text, \
         daticulocale text, datcollversion text, datacl text[]",
    ),
    (
        "pg_db_role_setting",
        "setdatabase oid, setrole oid, setconfig text[]",
    ),
    (
        "pg_default_acl",
        "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl text[]",
    ),
    (
        "pg_depend",
        "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
    ),
    (
        "pg_description",
        "objoid oid, classoid oid, objsubid int4, description text",
    ),
    (
        "pg_enum",
        "oid oid, enumtypid oid, enumsortorder float4, enumlabel name",
    ),
    (
        "pg_event_trigger",
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, evttags text[]",
    ),
    (
        "pg_extension",
        "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, extconfig oid[], \
         extcondition text[]",
    ),
    (
        "pg_foreign_data_wrapper",
        "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl text[], fdwoptions text[]",
    ),
    (
        "pg_foreign_server",
        "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl text[], srvoptions text[]",
    ),
    (
        "pg_foreign_table",
        "ftrelid oid, ftserver oid, ftoptions text[]",
    ),
    ("pg_group", "groname name, grosysid oid, grolist oid[]"),
    (
        "pg_index",
        "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, indnullsnotdistinct bool, \
         indisprimary bool, indisexclusion bool, indimmediate bool, indisclustered bool, indisvalid bool, indcheckxmin bool, \
         indisready bool, indislive bool, indisreplident bool, indkey int2vector, indcollation oid[], indclass oid[], \
         indoption int2vector, indexprs text, indpred text",
    ),
    (
        "pg_indexes",
        "schemaname name, tablename name, indexname name, tablespace name, indexdef text",
    ),
    (
        "pg_inherits",
        "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool",
    ),
    (
        "pg_init_privs",
        "objoid oid, classoid oid, objsubid int4, privtype char, initprivs text[]",
    ),
    (
        "pg_language",
        "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, laninline oid, \
         lanvalidator oid, lanacl text[]",
    ),
    (
        "pg_largeobject_metadata",
        "oid oid, lomowner oid, lomacl text[]",
    ),
    (
        "pg_locks",
        "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid oid, classid oid, \
         objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, fastpath bool, waitstart moment",
    ),
    (
        "pg_matviews",
        "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, ispopulated bool, \
         definition text",
    ),
    (
        "pg_namespace",
        "oid oid, nspname name, nspowner oid, nspacl text[]",
    ),
    (
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype oid, opcdefault bool, \
         opckeytype oid",
    ),
    (
        "pg_operator",
        "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool, oprcanhash bool, oprleft oid, \
         oprright oid, oprresult oid, oprcom oid, oprnegate oid, oprcode oid, oprrest oid, oprjoin oid",
    ),
    (
        "pg_opfamily",
        "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid",
    ),
    ("pg_parameter_acl", "oid oid, parname text, paracl text[]"),
    (
        "pg_partitioned_table",
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2[], partclass oid[], partcollation oid[], \
         partexprs text",
    ),
    (
        "pg_policy",
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles oid[], polqual text, \
         polwithcheck text",
    ),
    (
        "pg_prepared_xacts",
        "transaction oid, gid text, prepared moment, owner name, database name",
    ),
    (
        "pg_proc",
        "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, prorows float4, provariadic oid, \
         prosupport oid, prokind char, prosecdef bool, proleakproof bool, proisstrict bool, proretset bool, provolatile char, \
         proparallel char, pronargs int2, pronargdefaults int2, prorettype oid, proargtypes oid[], proallargtypes oid[], \
         proargmodes char[], proargnames text[], proargdefaults text, protrftypes oid[], prosrc text, probin text, \
         prosqlbody text, proconfig text[], proacl text[]",
    ),
    (
        "pg_publication",
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, pubdelete bool, \
         pubtruncate bool, pubviaroot bool",
    ),
    (
        "pg_publication_namespace",
        "oid oid, pnpubid oid, pnnspid oid",
    ),
    (
        "pg_publication_rel",
        "oid oid, prpubid oid, prrelid oid, prqual text, prattrs int2[]",
    ),
    (
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical oid, rngsubdiff oid",
    ),
    (
        "pg_replication_slots",
        "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool, active_pid int4, \
         xmin oid, catalog_xmin oid, restart_lsn text, confirmed_flush_lsn text, wal_status text, safe_wal_size int8, \
         two_phase bool",
    ),
    (
        "pg_rewrite",
        "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual text, ev_action text",
    ),
    (
        "pg_roles",
        "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, \
         rolreplication bool, rolconnlimit int4, rolpassword text, rolvaliduntil moment, rolbypassrls bool, rolconfig text[], \
         oid oid",
    ),
    (
        "pg_rules",
        "schemaname name, tablename name, rulename name, definition text",
    ),
    (
        "pg_seclabel",
        "objoid oid, classoid oid, objsubid int4, provider text, label text",
    ),
    (
        "pg_seclabels",
        "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text, provider text, label text",
    ),
    (
        "pg_sequence",
        "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, seqcache int8, seqcycle bool",
    ),
    (
        "pg_sequences",
        "schemaname name, sequencename name, sequenceowner name, data_type text, start_value int8, min_value int8, \
         max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8",
    ),
    (
        "pg_settings",
        "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, vartype text, \
         source text, min_val text, max_val text, enumvals text[], boot_val text, reset_val text, sourcefile text, \
         sourceline int4, pending_restart bool",
    ),
    (
        "pg_shdepend",
        "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char",
    ),
    (
        "pg_shdescription",
        "objoid oid, classoid oid, description text",
    ),
    (
        "pg_stat_activity",
        "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, application_name text, \
         client_addr text, client_hostname text, client_port int4, backend_start moment, xact_start moment, \
         query_start moment, state_change moment, wait_event_type text, wait_event text, state text, backend_xid oid, \
         backend_xmin oid, query_id int8, query text, backend_type text",
    ),
    (
        "pg_stat_user_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, \
         n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, \
         n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum moment, last_autovacuum moment, last_analyze moment, \
         last_autoanalyze moment, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8",
    ),
    (
        "pg_statistic_ext",
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, stxkeys int2[], \
         stxkind char[], stxexprs text",
    ),
    (
        "pg_subscription",
        "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool, subbinary bool, substream bool, \
         subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname name, subsynccommit text, \
         subpublications text[]",
    ),
    (
        "pg_tables",
        "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool, hastriggers bool, \
         rowsecurity bool",
    ),
    (
        "pg_tablespace",
        "oid oid, spcname name, spcowner oid, spcacl text[], spcoptions text[]",
    ),
    (
        "pg_timezone_names",
        "name text, abbrev text, utc_offset text, is_dst bool",
    ),
    (
        "pg_transform",
        "oid oid, trftype oid, trflang oid, trffromsql oid, trftosql oid",
    ),
    (
        "pg_trigger",
        "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, tgisinternal bool, \
         tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, \
         tgattr int2[], tgargs text, tgqual text, tgoldtable name, tgnewtable name",
    ),
    (
        "pg_ts_config",
        "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid",
    ),
    (
        "pg_ts_dict",
        "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, dictinitoption text",
    ),
    (
        "pg_ts_parser",
        "oid oid, prsname name, prsnamespace oid, prsstart oid, prstoken oid, prsend oid, prsheadline oid, prslextype oid",
    ),
    (
        "pg_ts_template",
        "oid oid, tmplname name, tmplnamespace oid, tmplinit oid, tmpllexize oid",
    ),
    ("pg_type", super::base_types::COLUMNS),
    (
        "pg_user",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, \
         valuntil moment, useconfig text[]",
    ),
    (
        "pg_user_mappings",
        "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions text[]",
    ),
    (
        "pg_views",
        "schemaname name, viewname name, viewowner name, definition text",
    ),
];

/// `information_schema`.
pub(super) const INFORMATION: &[Table] = &[
    (
        "character_sets",
        "character_set_catalog name, character_set_schema name, character_set_name name, character_repertoire name, \
         form_of_use name, default_collate_catalog name, default_collate_schema name, default_collate_name name",
    ),
    (
        "check_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, check_clause text",
    ),
    (
        "columns",
        "table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, column_default text, \
         is_nullable text, data_type text, character_maximum_length int4, character_octet_length int4, numeric_precision int4, \
         numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, \
         interval_precision int4, character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, domain_catalog name, domain_schema name, \
         domain_name name, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, \
         scope_name name, maximum_cardinality int4, dtd_identifier name, is_self_referencing text, is_identity text, \
         identity_generation text, identity_start text, identity_increment text, identity_maximum text, identity_minimum text, \
         identity_cycle text, is_generated text, generation_expression text, is_updatable text",
    ),
    (
        "constraint_column_usage",
        "table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name, \
         constraint_schema name, constraint_name name",
    ),
    (
        "key_column_usage",
        "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, \
         table_name name, column_name name, ordinal_position int4, position_in_unique_constraint int4",
    ),
    (
        "referential_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, unique_constraint_catalog name, \
         unique_constraint_schema name, unique_constraint_name name, match_option text, update_rule text, delete_rule text",
    ),
    (
        "routines",
        "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, \
         routine_name name, routine_type text, data_type text, routine_body text, routine_definition text, \
         external_language text",
    ),
    (
        "schemata",
        "catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name, \
         default_character_set_schema name, default_character_set_name name, sql_path text",
    ),
    (
        "sequences",
        "sequence_catalog name, sequence_schema name, sequence_name name, data_type text, numeric_precision int4, \
         numeric_precision_radix int4, numeric_scale int4, start_value text, minimum_value text, maximum_value text, \
         increment text, cycle_option text",
    ),
    (
        "table_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, \
         table_name name, constraint_type text, is_deferrable text, initially_deferred text, enforced text, \
         nulls_distinct text",
    ),
    (
        "tables",
        "table_catalog name, table_schema name, table_name name, table_type text, self_referencing_column_name name, \
         reference_generation text, user_defined_type_catalog name, user_defined_type_schema name, \
         user_defined_type_name name, is_insertable_into text, is_typed text, commit_action text",
    ),
    (
        "triggers",
        "trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation text, event_object_catalog name, \
         event_object_schema name, event_object_table name, action_order int4, action_condition text, action_statement text, \
         action_orientation text, action_timing text, created moment",
    ),
    (
        "views",
        "table_catalog name, table_schema name, table_name name, view_definition text, check_option text, is_updatable text, \
         is_insertable_into text, is_trigger_updatable text, is_trigger_deletable text, is_trigger_insertable_into text",
    ),
];
