package org.libdlock.internal;

import org.jspecify.annotations.Nullable;

/**
 * An error of the core, before it becomes an exception.
 *
 * @param code its kind's number
 * @param op the operation that failed
 * @param object the name of the object it was about
 * @param message what happened, for people
 */
public record Failure(int code, String op, @Nullable String object, String message) {}
