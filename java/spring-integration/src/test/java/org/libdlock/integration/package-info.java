/** Tests of the registry against a real server. */
@NullMarked
package org.libdlock.integration;

import org.jspecify.annotations.NullMarked;
