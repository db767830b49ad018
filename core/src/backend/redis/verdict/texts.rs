//! What scripts are refused with by Redis 6.2.14, Redis 7.0.15 and Valkey 9.1.2, word for word as they sent it. What differs
//! between commands called by `redis.call` and by `redis.pcall`, whose error the script returns, is there twice.

use super::tests::{error_of, tcp};
use super::*;

/// The verdict on this error of an acquire.
fn verdict(reply: &str) -> Verdict {
    let step = StepKind { op: "acquire", idempotent: true, reads: false, access: "+hset" };
    of(step, &error_of(format!("-{reply}\r\n").as_bytes()), &tcp())
}

#[track_caller]
fn all_are_refused(replies: &[&str], code: &str, redial: Redial) {
    for reply in replies {
        let Verdict::Refused { error, redial: is } = verdict(reply) else { panic!("not refused: {reply}") };
        assert_eq!((error.kind(), error.is_retryable(), is), (ErrorKind::Server, true, redial), "{reply}");
        assert!(error.message().starts_with(&format!("h:1 refuses for now ({code}: ")), "{reply}: {error}");
    }
}

#[track_caller]
fn all_are_fatal(replies: &[&str], kind: ErrorKind, may_be_halfway: bool, says: &str) {
    for reply in replies {
        let Verdict::Fatal { error, halfway } = verdict(reply) else { panic!("not fatal: {reply}") };
        assert_eq!((error.kind(), halfway), (kind, may_be_halfway), "{reply}");
        assert!(error.message().contains(says), "{reply}: {error}");
        assert!(!error.message().contains("user_script"), "{error}");
    }
}

#[test]
fn what_a_replica_says_leads_to_another_server() {
    all_are_refused(
        &[
            "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
            "@user_script: 1: -READONLY You can't write against a read only replica.",
            "READONLY You can't write against a read only replica. script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
            "READONLY You can't write against a read only replica.",
            "READONLY You can't write against a read only replica. script: on @user_script:1.",
        ],
        "READONLY",
        Redial::AtOnce,
    );
    let masterdown = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
    all_are_refused(&[masterdown], "MASTERDOWN", Redial::AtOnce);
}

#[test]
fn what_passes_on_this_server_is_tried_again_there() {
    all_are_refused(
        &[
            "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: @user_script: 1: -NOREPLICAS Not enough good replicas to write.",
            "@user_script: 1: -NOREPLICAS Not enough good replicas to write.",
            "NOREPLICAS Not enough good replicas to write. script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
            "NOREPLICAS Not enough good replicas to write.",
            "NOREPLICAS Not enough good replicas to write. script: on @user_script:1.",
        ],
        "NOREPLICAS",
        Redial::No,
    );
    all_are_refused(
        &[
            "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: @user_script: 1: -MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
            "@user_script: 1: -MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error. script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
            "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Valkey logs for details about the RDB error. script: on @user_script:1.",
        ],
        "MISCONF",
        Redial::No,
    );
    // Of a cluster that serves reads while it is down.
    all_are_refused(
        &[
            "ERR Error running script (call to f_9282fe9cd1ad17b421df71a1d74837df7d50241a): @user_script:1: @user_script: 1: Lua script attempted to execute a write command while the cluster is down and readonly",
            "@user_script: 1: Lua script attempted to execute a write command while the cluster is down and readonly",
            "ERR Script attempted to execute a write command while the cluster is down and readonly script: 9282fe9cd1ad17b421df71a1d74837df7d50241a, on @user_script:1.",
            "ERR Script attempted to execute a write command while the cluster is down and readonly",
            "ERR Can not execute a write command 'set' while the cluster is down and readonly script: on @user_script:1.",
            "ERR Can not execute a write command 'set' while the cluster is down and readonly",
            "CLUSTERDOWN Hash slot not served",
        ],
        "CLUSTERDOWN",
        Redial::No,
    );
}

#[test]
fn a_full_server_is_called_out_of_memory() {
    let replies = [
        "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
        "@user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
        "OOM command not allowed when used memory > 'maxmemory'. script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "OOM command not allowed when used memory > 'maxmemory'. script: on @user_script:1.",
    ];
    all_are_fatal(&replies, ErrorKind::OutOfMemory, false, "over its maxmemory");
}

#[test]
fn a_key_of_another_type_is_called_that() {
    let replies = [
        "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: WRONGTYPE Operation against a key holding the wrong kind of value",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "WRONGTYPE Operation against a key holding the wrong kind of value script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
        "WRONGTYPE Operation against a key holding the wrong kind of value script: on @user_script:1.",
    ];
    all_are_fatal(&replies, ErrorKind::WrongType, false, "does not belong to this kind of object");
}

#[test]
fn what_the_access_rules_forbid_a_script_is_called_that() {
    let replies = [
        // A command.
        "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand",
        "@user_script: 1: The user executing the script can't run this command or subcommand",
        "ERR The user executing the script can't run this command or subcommand script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
        "ERR The user executing the script can't run this command or subcommand",
        "ERR ACL failure in script: User app has no permissions to run the 'hset' command script: on @user_script:1.",
        "ERR ACL failure in script: User app has no permissions to run the 'hset' command",
        // A key: of the request, and another.
        "NOPERM this user has no permissions to access one of the keys used as arguments",
        "NOPERM No permissions to access a key",
        "ERR Error running script (call to f_dabc22ace63b26d4c41593a53c3db9eafe499aeb): @user_script:1: @user_script: 1: The user executing the script can't access at least one of the keys mentioned in the command arguments",
        "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: dabc22ace63b26d4c41593a53c3db9eafe499aeb, on @user_script:1.",
        "ERR ACL failure in script: No permissions to access a key script: on @user_script:1.",
        // A channel.
        "ERR Error running script (call to f_2320b27d03168e5ff2e0680a32b1837dc9e27bc1): @user_script:1: @user_script: 1: The user executing the script can't publish to the channel mentioned in the command",
        "@user_script: 1: The user executing the script can't publish to the channel mentioned in the command",
        "ERR The user executing the script can't publish to the channel mentioned in the command script: 2320b27d03168e5ff2e0680a32b1837dc9e27bc1, on @user_script:1.",
        "ERR ACL failure in script: No permissions to access a channel script: on @user_script:1.",
    ];
    all_are_fatal(&replies, ErrorKind::NoPermission, true, "the user needs +hset");
}

#[test]
fn a_command_that_a_server_lacks_is_unsupported() {
    let replies = [
        "ERR Error running script (call to f_8d57a764c515eeb66b6e51f86ee3b1e32cae6b59): @user_script:1: @user_script: 1: Unknown Redis command called from Lua script",
        "@user_script: 1: Unknown Redis command called from Lua script",
        "ERR Unknown Redis command called from script script: 8d57a764c515eeb66b6e51f86ee3b1e32cae6b59, on @user_script:1.",
        "ERR Unknown Redis command called from script",
        "ERR Unknown command called from script script: on @user_script:1.",
        "ERR Unknown command called from script",
    ];
    all_are_fatal(&replies, ErrorKind::Unsupported, true, "lacks a command that libdlock needs. Redis 6.2");
}

#[test]
fn an_error_without_a_meaning_of_its_own_is_told() {
    let killed = [
        "ERR Error running script (call to f_694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7): @user_script:1: Script killed by user with SCRIPT KILL...",
        "ERR Script killed by user with SCRIPT KILL... script: 694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7, on @user_script:1.",
        "ERR Script killed by user with SCRIPT KILL. script: on @user_script:1.",
    ];
    all_are_fatal(&killed, ErrorKind::Server, false, "answered ERR Script killed by user");
    // Of a bug in a script, of which only the script's author could make something.
    let bugs = [
        "ERR Error running script (call to f_d09552b0002c57f83f285026cd58b642dcdf2aca): @user_script:1: user_script:1: attempt to index local 'a' (a nil value)",
        "ERR user_script:1: attempt to index local 'a' (a nil value) script: d09552b0002c57f83f285026cd58b642dcdf2aca, on @user_script:1.",
        "ERR user_script:1: attempt to index local 'a' (a nil value) script: on @user_script:1.",
    ];
    all_are_fatal(&bugs, ErrorKind::Server, false, "h:1 answered ERR");
}

/// A name or a payload may hold anything.
#[test]
fn words_inside_of_an_error_are_not_taken_for_its_code() {
    let replies = [
        "ERR wrong number of arguments, with args beginning with: `OOM`, `-READONLY `",
        "ERR value is not an integer: @user_script: 1: -READONLY x",
        "ERR DB index is out of range",
    ];
    all_are_fatal(&replies, ErrorKind::Server, false, "answered ERR");
}
