/** Keeps Spring Integration's locks with libdlock. */
@NullMarked
package org.libdlock.integration;

import org.jspecify.annotations.NullMarked;
