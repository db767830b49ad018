@NullMarked
package org.libdlock.spring.metrics;

import org.jspecify.annotations.NullMarked;
