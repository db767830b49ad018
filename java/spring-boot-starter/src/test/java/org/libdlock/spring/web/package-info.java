@NullMarked
package org.libdlock.spring.web;

import org.jspecify.annotations.NullMarked;
