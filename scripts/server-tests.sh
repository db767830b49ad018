#!/usr/bin/env bash
# The Rust tests that need a server, for servers other than the one that `cargo test` runs them on:
#   scripts/servers.sh redis-6.2 scripts/server-tests.sh [brief|long] [TEST...]
# brief: what tells most within half a minute: every step of every primitive against its specification, in few sequences; every
#        kind of refusal; scripts, keys, connections and replicas.
# long:  the long tests too. With REPEATS=1 not the long sequences of the model tests: those of the normal ones differ by their seed only.
# TEST: the names of single tests.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/test-threads.sh
how=
case ${1:-} in brief | long)
    how=$1
    shift
    ;;
esac

# Chosen by their names and not by `-p`, which would build what they depend on once more, with other features.
tests=(--test={core,cli,bridge,kit,fault}-tests)
run() { cargo test --quiet --profile="${DLOCK_PROFILE:-quick}" --no-fail-fast "$@"; }
status=0
if [ "$how" = brief ]; then
    export MODEL_SEQUENCES=40
    if [ $# -gt 0 ]; then
        run --lib "${tests[@]}" -- "$@"
        exit
    fi
    run --lib -- model_test all::tests::model backend::redis || status=$?
    run --test kit-tests -- clock:: server:: || status=$?
    run --test core-tests -- server_errors:: || status=$?
    run --test fault-tests -- no_room_no_right:: rights_of_each_command:: server_refuses:: scripts_flushed:: foreign_keys:: \
        data_lost:: server_switch:: jobs:: job_input:: job_rights:: || status=$?
else
    more=()
    [ "$how" != long ] || more+=(--include-ignored)
    [ "$how" != long ] || [ "${REPEATS:-20}" != 1 ] || more+=(--skip the_scripts_do_what_the_specification_does_for_long)
    run --lib --bins "${tests[@]}" --test shuttle -- "${more[@]}" "$@" || status=$?
fi
exit $status
