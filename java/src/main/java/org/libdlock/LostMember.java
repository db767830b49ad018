package org.libdlock;

/**
 * The lock of a {@link DistributedLockAll} that was lost, and with it the hold of all.
 *
 * @param name the name of the lock, as it was given
 * @param reason why it was lost
 */
public record LostMember(String name, LossReason reason) {}
