@NullMarked
package org.libdlock.spring.boot;

import org.jspecify.annotations.NullMarked;
