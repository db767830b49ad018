@NullMarked
package org.libdlock.spring;

import org.jspecify.annotations.NullMarked;
