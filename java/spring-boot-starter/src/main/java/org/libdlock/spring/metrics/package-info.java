/** What a client counts, for Micrometer. */
@NullMarked
package org.libdlock.spring.metrics;

import org.jspecify.annotations.NullMarked;
