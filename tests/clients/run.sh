#!/bin/sh
# Real clients of PostgreSQL against the built `hush`: tests/clients/run.sh target/release/hush [client...]
# Each installs its library, pinned, into a directory that is removed, or into the one that HUSH_CLIENTS names, which is kept for the
# next run; one whose tools are not here says so and is left out.
set -eu
hush=$(realpath "$1"); shift
here=$(dirname "$(realpath "$0")")
place=$(mktemp -d); server=
kept=${HUSH_CLIENTS:-$place/kept}; mkdir -p "$kept"; kept=$(realpath "$kept")
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; wait; rm -rf "$place"' EXIT
export K=pass:of-this-test-alone PGPASSWORD=correct-horse PGHOST=127.0.0.1 PGUSER=hush PGDATABASE=hush PGSSLMODE=require
"$hush" init "$place/instance" --key-env K --password-env PGPASSWORD
"$hush" serve "$place/instance" --key-env K --listen 127.0.0.1:0 --socket-dir "$place" 2>"$place/log" &
server=$!
until grep -qs ready "$place/log"; do sleep 0.1; kill -0 "$server"; done
PGPORT=$(sed -n 's/.*listening on 127.0.0.1://p' "$place/log"); export PGPORT
cd "$place"
has() { command -v "$1" >/dev/null || { echo "$client: skipped, $1 is not installed"; return 1; }; }
failed=0
for client in ${*:-psql pgbench psycopg asyncpg node pgjdbc pgx tokio}; do
    case $client in
    psql) has psql || continue; psql -X -v ON_ERROR_STOP=1 -f "$here/psql.sql" >/dev/null ;;
    pgbench)
        has pgbench || continue
        # Its initialisation, and every built-in workload in every mode; a transaction that fails is a failure.
        pgbench -q -i -I dtgvp 2>&1 | tail -1
        for mode in simple extended prepared; do
            for workload in tpcb-like simple-update select-only; do
                pgbench -n -M $mode -b $workload -c 4 -j 2 -t 50 --max-tries=1 | grep 'failed transactions: 0 ' || failed=1
            done
        done ;;
    psycopg | asyncpg)
        has python3 || continue
        [ -d "$kept/venv" ] || python3 -m venv "$kept/venv" || { echo "$client: skipped, python3 has no venv"; continue; }
        needs="psycopg[binary]==3.2.13 asyncpg==0.30.0"
        "$kept/venv/bin/pip" -q install $needs || { echo "$client: skipped, pip gets nothing"; continue; }
        "$kept/venv/bin/python" "$here/with_$client.py" ;;
    node)
        has npm || continue
        cp "$here/node.mjs" . && npm install --silent --no-save pg@8.16.3 >/dev/null 2>&1 || { echo "$client: skipped, npm gets nothing"; continue; }
        node node.mjs ;;
    pgjdbc)
        has java || continue
        jar=${PGJDBC_JAR:-$kept/postgresql-42.7.8.jar}
        [ -f "$jar" ] || { has mvn || continue; }
        [ -f "$jar" ] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
            -Dartifact=org.postgresql:postgresql:42.7.8 -DoutputDirectory="$kept" || { echo "$client: skipped, mvn gets nothing"; continue; }
        java -cp "$jar" "$here/Pgjdbc.java" && java -cp "$jar" "$here/Metadata.java" ;;
    pgx)
        has go || continue
        (cd "$here/pgx" && go build -o "$kept/pgx" .) || { echo "$client: skipped, go gets nothing"; continue; }
        "$kept/pgx" ;;
    tokio)
        has cargo || continue
        (cd "$here/tokio" && CARGO_TARGET_DIR="$kept/tokio" cargo build -q --locked) || { echo "$client: skipped, cargo gets nothing"; continue; }
        HUSH_SOCKETS=$place "$kept/tokio/debug/client" ;;
    *) echo "there is no client $client"; false ;;
    esac || { echo "$client: FAILED"; failed=1; continue; }
    echo "$client: ok"
done
exit $failed
