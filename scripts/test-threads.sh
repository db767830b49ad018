# How many Rust tests run beside one another, for scripts that source this: cargo would take one for each processor, but most tests
# wait for a lease or a server.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
