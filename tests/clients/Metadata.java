// pgjdbc: what it asks of the catalog, generated keys, values in binary, savepoints, COPY.
import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

public class Metadata {
    static Connection c;

    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static String list(ResultSet rows, String... columns) throws Exception {
        StringJoiner all = new StringJoiner(" ");
        while (rows.next()) {
            StringJoiner row = new StringJoiner(":");
            for (String column : columns) row.add(rows.getString(column));
            all.add(row.toString());
        }
        return all.toString();
    }

    static void same(String found, String wanted) {
        check(found.equals(wanted), found + " instead of " + wanted);
    }

    public static void main(String[] arguments) throws Exception {
        Properties options = new Properties();
        options.put("user", System.getenv("PGUSER"));
        options.put("password", System.getenv("PGPASSWORD"));
        options.put("sslmode", System.getenv("PGSSLMODE"));
        options.put("prepareThreshold", "2");
        for (String option : arguments) options.put(option.split("=")[0], option.split("=")[1]);
        c = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE"), options);
        Statement s = c.createStatement();
        s.execute("DROP TABLE IF EXISTS jm");
        s.execute("CREATE TABLE jm (id SERIAL PRIMARY KEY, name VARCHAR(30) NOT NULL, n NUMERIC(10,2) DEFAULT 1.5, ts TIMESTAMP, tz TIMESTAMPTZ, "
            + "d DATE, t TIME, b BOOLEAN, f DOUBLE PRECISION, sm SMALLINT, bi BIGINT, bytes BYTEA, u UUID, tags TEXT[], ints INTEGER[], UNIQUE (name))");
        s.execute("CREATE INDEX jm_two ON jm (bi, sm)");
        catalog();
        keys();
        values();
        transactions();
        s.execute("DROP TABLE jm");
        c.close();
    }

    static void catalog() throws Exception {
        DatabaseMetaData m = c.getMetaData();
        same(list(m.getTables(null, "public", "jm%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE"), "jm:TABLE");
        String columns = list(m.getColumns(null, "public", "jm", "%"), "COLUMN_NAME", "TYPE_NAME", "NULLABLE", "IS_AUTOINCREMENT");
        // A VARCHAR has no length here, and is shown as text.
        columns = columns.replace("varchar", "text");
        check(columns.startsWith("id:serial:0:YES name:text:0:NO n:numeric:1:NO ts:timestamp:1:NO tz:timestamptz:1:NO"), columns);
        same(list(m.getPrimaryKeys(null, "public", "jm"), "COLUMN_NAME", "KEY_SEQ"), "id:1");
        String indexes = list(m.getIndexInfo(null, "public", "jm", false, false), "NON_UNIQUE", "COLUMN_NAME", "ORDINAL_POSITION", "ASC_OR_DESC");
        // In the order of the indexes' names.
        String[] sorted = indexes.split(" ");
        Arrays.sort(sorted);
        same(String.join(" ", sorted), "f:id:1:A f:name:1:A t:bi:1:A t:sm:2:A");
        same(list(m.getBestRowIdentifier(null, "public", "jm", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"), "id");
        same(list(m.getImportedKeys(null, null, "jm"), "FK_NAME"), "");
        same(list(m.getSchemas(null, "public"), "TABLE_SCHEM"), "public");
        check(list(m.getCatalogs(), "TABLE_CAT").contains(System.getenv("PGDATABASE")), "catalogs");
        check(m.getSQLKeywords().length() > 100 && m.getMaxColumnNameLength() == 63, "keywords");
        check(list(m.getTypeInfo(), "TYPE_NAME").contains("numeric"), "types");
        for (ResultSet rows : new ResultSet[] {m.getProcedures(null, null, "%"), m.getFunctions(null, null, "a%"), m.getUDTs(null, null, "%", null),
            m.getTablePrivileges(null, "public", "jm"), m.getColumnPrivileges(null, "public", "jm", "id"), m.getVersionColumns(null, "public", "jm")}) {
            while (rows.next()) check(rows.getMetaData().getColumnCount() > 2, "columns");
        }
    }

    static void keys() throws Exception {
        PreparedStatement p = c.prepareStatement("INSERT INTO jm (name, bi) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS);
        for (int i = 0; i < 5; i++) {
            p.setString(1, "k" + i);
            p.setLong(2, i);
            p.addBatch();
        }
        check(p.executeBatch().length == 5, "batch");
        same(list(p.getGeneratedKeys(), "id"), "1 2 3 4 5");
        Statement s = c.createStatement();
        s.executeUpdate("INSERT INTO jm (name) VALUES ('one')", new String[] {"id"});
        same(list(s.getGeneratedKeys(), "id"), "6");
    }

    static void values() throws Exception {
        UUID u = new UUID(1, 2);
        PreparedStatement p = c.prepareStatement("UPDATE jm SET n = ?, ts = ?, tz = ?, d = ?, t = ?, b = ?, f = ?, sm = ?, bytes = ?, u = ?, tags = ?, ints = ? WHERE id = ?");
        for (int id = 1; id <= 5; id++) {
            p.setBigDecimal(1, new BigDecimal("12.34"));
            p.setTimestamp(2, Timestamp.valueOf("2024-01-02 03:04:05.678"));
            p.setObject(3, java.time.OffsetDateTime.parse("2024-01-02T03:04:05Z"));
            p.setDate(4, java.sql.Date.valueOf("2024-02-29"));
            p.setObject(5, java.time.LocalTime.of(1, 2, 3));
            p.setBoolean(6, true);
            p.setDouble(7, 1.5);
            p.setShort(8, (short) 7);
            p.setBytes(9, new byte[] {0, -1});
            p.setObject(10, u);
            p.setArray(11, c.createArrayOf("text", new String[] {"a", null, "c,d"}));
            p.setArray(12, c.createArrayOf("integer", new Integer[] {1, 2}));
            p.setInt(13, id);
            check(p.executeUpdate() == 1, "update " + id);
        }
        PreparedStatement q = c.prepareStatement("SELECT * FROM jm WHERE id = ?");
        for (int i = 0; i < 8; i++) {
            q.setInt(1, 1 + i % 5);
            ResultSet r = q.executeQuery();
            check(r.next() && r.getBigDecimal("n").equals(new BigDecimal("12.34")), "n");
            check(r.getTimestamp("ts").equals(Timestamp.valueOf("2024-01-02 03:04:05.678")), "ts");
            check(r.getObject("tz", java.time.OffsetDateTime.class).toInstant().equals(java.time.Instant.parse("2024-01-02T03:04:05Z")), "tz");
            check(r.getDate("d").toString().equals("2024-02-29") && r.getObject("t", java.time.LocalTime.class).equals(java.time.LocalTime.of(1, 2, 3)), "d, t");
            check(r.getBoolean("b") && r.getDouble("f") == 1.5 && r.getShort("sm") == 7, "numbers");
            check(Arrays.equals(r.getBytes("bytes"), new byte[] {0, -1}) && r.getObject("u").equals(u), "bytes, u");
            check(Arrays.equals((String[]) r.getArray("tags").getArray(), new String[] {"a", null, "c,d"}), "tags");
            check(Arrays.equals((Integer[]) r.getArray("ints").getArray(), new Integer[] {1, 2}), "ints");
        }
        PreparedStatement any = c.prepareStatement("SELECT count(*) FROM jm WHERE id = ANY (?)");
        any.setArray(1, c.createArrayOf("integer", new Integer[] {1, 2, 99}));
        for (int i = 0; i < 4; i++) {
            ResultSet r = any.executeQuery();
            check(r.next() && r.getInt(1) == 2, "ANY");
        }
    }

    static void transactions() throws Exception {
        c.setAutoCommit(false);
        Statement s = c.createStatement();
        s.execute("INSERT INTO jm (name) VALUES ('s1')");
        Savepoint point = c.setSavepoint();
        try {
            s.execute("INSERT INTO jm (name) VALUES ('s1')");
            check(false, "a name is there twice");
        } catch (SQLException error) {
            same(error.getSQLState(), "23505");
        }
        c.rollback(point);
        c.releaseSavepoint(c.setSavepoint("named"));
        c.commit();
        c.setAutoCommit(true);
        for (int level : new int[] {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_READ_COMMITTED}) {
            c.setTransactionIsolation(level);
            check(c.getTransactionIsolation() == level, "level " + level);
        }
        org.postgresql.copy.CopyManager copy = c.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
        check(copy.copyIn("COPY jm (name, bi) FROM STDIN WITH (FORMAT csv)", new java.io.StringReader("c1,1\nc2,\n")) == 2, "COPY");
        java.io.StringWriter out = new java.io.StringWriter();
        copy.copyOut("COPY (SELECT name, bi FROM jm WHERE name LIKE 'c_' ORDER BY 1) TO STDOUT", out);
        same(out.toString(), "c1\t1\nc2\t\\N\n");
        s.setQueryTimeout(1);
        try {
            s.executeQuery("SELECT sum(a.i * b.i % 7) FROM generate_series(1, 100000000) a(i), generate_series(1, 1000) b(i)");
            check(false, "a query ended that takes hours");
        } catch (SQLException error) {
            same(error.getSQLState(), "57014");
        }
    }
}
