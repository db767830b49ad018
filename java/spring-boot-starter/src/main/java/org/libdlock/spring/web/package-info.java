/** Rate limits over HTTP for Spring MVC. */
@NullMarked
package org.libdlock.spring.web;

import org.jspecify.annotations.NullMarked;
