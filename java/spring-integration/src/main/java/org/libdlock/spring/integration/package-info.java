/** Keeps Spring Integration's locks with libdlock. */
@NullMarked
package org.libdlock.spring.integration;

import org.jspecify.annotations.NullMarked;
