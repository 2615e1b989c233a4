# Sourced by tests that call a server, with the repository in $root. `start_server NAME=VALUE…` serves on a free port with these
# variables and a key of all actions, until the script ends. It sets $address, $key and $scratch, a
# directory that is removed at the end and has the server's log.
akin="$root/target/debug/akin"

start_server() {
    # Not `cargo build`: without the features of the tests it would build the dependencies once more.
    (cd "$root" && cargo test --quiet --locked --all-features --no-run --test http)
    scratch=$(mktemp -d)
    mkdir "$scratch/data"
    server=
    trap stop_server EXIT
    key=$("$akin" keys create --data-dir "$scratch/data" --name tests \
        --actions read,write,admin,metrics 2> /dev/null)
    env "$@" "$akin" serve --listen 127.0.0.1:0 --data-dir "$scratch/data" 2> "$scratch/log" &
    server=$!
    address=
    for _ in $(seq 300); do
        address=$(sed -n 's/.*"address":"\([^"]*\)".*/\1/p' "$scratch/log" | head -1)
        [ -n "$address" ] && curl -sf "http://$address/readyz" > /dev/null && return
        kill -0 "$server" || { cat "$scratch/log"; exit 1; }
        sleep 0.1
    done
}

stop_server() {
    if [ -n "$server" ]; then
        kill "$server" 2> /dev/null || true
        wait "$server" || true
    fi
    rm -rf "$scratch"
}
