//! The tests of the models, each file a module: one program, because each would compile the search for itself.

mod draft;
mod happens;
mod holds;
mod jobs;
mod latch;
mod once;
mod permits_happens;
mod permits_holds;
mod permits_removed;
mod quorum_happens;
mod quorum_holds;
mod quorum_removed;
mod removed;
mod sets;
mod worker;
