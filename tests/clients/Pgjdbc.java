// pgjdbc: batches, statements that become prepared, fetch sizes, isolation, errors.
import java.math.BigDecimal;
import java.sql.*;
import java.util.Properties;

public class Pgjdbc {
    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws Exception {
        Properties options = new Properties();
        options.put("user", System.getenv("PGUSER"));
        options.put("password", System.getenv("PGPASSWORD"));
        options.put("sslmode", "require");
        options.put("options", "-c statement_timeout=60000");
        String url = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        Connection c = DriverManager.getConnection(url, options);
        Statement s = c.createStatement();
        s.execute("CREATE TABLE j (id BIGINT PRIMARY KEY, name VARCHAR, n NUMERIC(10,2), ts TIMESTAMP, b BOOLEAN)");
        PreparedStatement insert = c.prepareStatement("INSERT INTO j VALUES (?, ?, ?, ?, ?)");
        Timestamp at = Timestamp.valueOf("2024-01-02 03:04:05");
        for (int id = 0; id < 20; id++) {
            insert.setLong(1, id);
            insert.setString(2, "n" + id);
            insert.setBigDecimal(3, new BigDecimal("1.25"));
            insert.setTimestamp(4, at);
            insert.setBoolean(5, id % 2 == 0);
            insert.addBatch();
        }
        check(insert.executeBatch().length == 20, "batch");
        PreparedStatement query = c.prepareStatement("SELECT name, n, ts, b FROM j WHERE id = ?");
        for (int id = 0; id < 8; id++) {
            query.setInt(1, id);
            ResultSet row = query.executeQuery();
            check(row.next() && row.getString(1).equals("n" + id) && row.getBigDecimal(2).equals(new BigDecimal("1.25"))
                && row.getTimestamp(3).equals(at) && row.getBoolean(4) == (id % 2 == 0), "row " + id);
        }
        c.setAutoCommit(false);
        Statement pieces = c.createStatement();
        pieces.setFetchSize(5);
        ResultSet rows = pieces.executeQuery("SELECT * FROM j ORDER BY id");
        int count = 0;
        while (rows.next()) count++;
        check(count == 20, "rows in pieces");
        c.commit();
        try {
            s.execute("INSERT INTO j (id) VALUES (1)");
            check(false, "a key is there twice");
        } catch (SQLException error) {
            check(error.getSQLState().equals("23505"), error.getSQLState());
            c.rollback();
        }
        c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        s.execute("UPDATE j SET name = 'z' WHERE id = 1");
        c.commit();
        c.close();
    }
}
