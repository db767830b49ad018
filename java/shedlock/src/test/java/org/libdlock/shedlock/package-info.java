/** Tests of the provider against a real server. */
@NullMarked
package org.libdlock.shedlock;

import org.jspecify.annotations.NullMarked;
