#!/bin/sh
# Real clients of PostgreSQL against the built `hush`: tests/clients/run.sh target/release/hush [client...]
# Each installs its library, pinned, into a directory that is removed; one whose tools are not here says so and is left out.
set -eu
hush=$(realpath "$1"); shift
here=$(dirname "$(realpath "$0")")
place=$(mktemp -d); server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; wait; rm -rf "$place"' EXIT
export K=pass:of-this-test-alone PGPASSWORD=correct-horse PGHOST=127.0.0.1 PGUSER=hush PGDATABASE=hush PGSSLMODE=require
"$hush" init "$place/instance" --key-env K --password-env PGPASSWORD
"$hush" serve "$place/instance" --key-env K --listen 127.0.0.1:0 2>"$place/log" &
server=$!
until grep -qs ready "$place/log"; do sleep 0.1; kill -0 "$server"; done
PGPORT=$(sed -n 's/.*listening on 127.0.0.1://p' "$place/log"); export PGPORT
cd "$place"
has() { command -v "$1" >/dev/null || { echo "$client: skipped, $1 is not installed"; return 1; }; }
failed=0
for client in ${*:-psql pgbench psycopg asyncpg node pgjdbc}; do
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
        [ -d venv ] || python3 -m venv venv || { echo "$client: skipped, python3 has no venv"; continue; }
        venv/bin/pip -q install 'psycopg[binary]==3.2.13' 'asyncpg==0.30.0' || { echo "$client: skipped, pip gets nothing"; continue; }
        venv/bin/python "$here/with_$client.py" ;;
    node)
        has npm || continue
        cp "$here/node.mjs" . && npm install --silent --no-save pg@8.16.3 >/dev/null 2>&1 || { echo "$client: skipped, npm gets nothing"; continue; }
        node node.mjs ;;
    pgjdbc)
        has java || continue
        [ -n "${PGJDBC_JAR:-}" ] || { echo "$client: skipped, PGJDBC_JAR does not name its jar"; continue; }
        java -cp "$PGJDBC_JAR" "$here/Pgjdbc.java" ;;
    *) echo "there is no client $client"; false ;;
    esac || { echo "$client: FAILED"; failed=1; continue; }
    echo "$client: ok"
done
exit $failed
