/** Auto-configuration for Spring Boot. */
@NullMarked
package org.libdlock.spring.boot;

import org.jspecify.annotations.NullMarked;
