/** The way to the native library. Not part of the interface: anything here may change with any version. */
@NullMarked
package org.libdlock.internal;

import org.jspecify.annotations.NullMarked;
