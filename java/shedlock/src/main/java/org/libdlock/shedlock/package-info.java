/** Keeps ShedLock's locks with libdlock. */
@NullMarked
package org.libdlock.shedlock;

import org.jspecify.annotations.NullMarked;
