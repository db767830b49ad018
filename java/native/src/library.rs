//! The library's own file, which other class loaders of the process load once more.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStringExt;

use jni::objects::{JByteArray, JClass};
use jni::sys::jlong;
use jni::{EnvUnowned, jni_mangle};
use libdlock::{Error, ErrorKind};

use crate::call::{bytes, with_env};

/// Never closed: the library is never unmapped, and what is mapped can be loaded again for as long as this is there.
#[jni_mangle("org.libdlock.internal.Native")]
pub fn library_keep<'local>(env: EnvUnowned<'local>, _: JClass<'local>, path: JByteArray<'local>) -> jlong {
    with_env(env, "libraryKeep", |_, env| {
        let path = OsString::from_vec(bytes(env, &path)?);
        match File::open(path) {
            Ok(file) => Ok(file.into_raw_fd().into()),
            Err(error) => {
                Err(Error::new(ErrorKind::Internal, "load", format!("the library cannot be opened: {error}")))
            }
        }
    })
}
