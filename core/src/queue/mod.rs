//! The delayed queue.
#[cfg(test)]
mod model_test;
mod step;
