/** Locks and rate limits on methods of Spring beans. */
@NullMarked
package org.libdlock.spring;

import org.jspecify.annotations.NullMarked;
