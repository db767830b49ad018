package org.libdlock.internal;

/**
 * A hold as it was granted.
 *
 * @param handle to ask about it; to be given back with {@link Native#heldFree}
 * @param token the fencing token
 * @param owner the owner on the wire
 */
public record Hold(long handle, long token, String owner) {}
