/** What the tests stand on. */
@NullMarked
package org.libdlock.support;

import org.jspecify.annotations.NullMarked;
