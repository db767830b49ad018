/**
 * Locks, semaphores and rate limiters that processes on different machines can share, on Redis or Valkey.
 * {@link org.libdlock.Dlock#connect(String)} is the way in.
 */
@NullMarked
package org.libdlock;

import org.jspecify.annotations.NullMarked;
