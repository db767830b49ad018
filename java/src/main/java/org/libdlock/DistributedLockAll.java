package org.libdlock;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;

/**
 * Several locks that are acquired and released as one, made by {@link Client#lockAll(String...)}: all of them are held, or none. Two sets
 * that overlap never block each other for ever, in whatever order their names are given. Each member is an ordinary lock: a
 * {@link DistributedLock} of its name excludes the set, and the set excludes it.
 *
 * <pre>{@code
 * DistributedLockAll transfer = client.lockAll("account/7", "account/42");
 * transfer.lock();
 * try {
 *     Map<String, Long> tokens = transfer.tokens(); // send each along with the writes to its account
 * } finally {
 *     transfer.unlock();
 * }
 * }</pre>
 *
 * <p>The rules are those of a {@link DistributedLock}, for all at once: the holder is the <em>thread</em>, which may acquire again what it
 * holds. The hold is valid as long as each lock is, and is lost when one of them is: {@link #lostMember()} says which. The others are held,
 * and renewed, until they are released: {@link #unlock()} does so also after a loss, and belongs into a {@code finally} without a condition.
 *
 * <p>A thread that holds one of the locks, and would have to wait for another whose name comes before that one, gets a
 * {@link DeadlockException}: two such threads could wait for each other. Name all locks in one call.
 */
public final class DistributedLockAll extends LeasedLock<LockAllHandle> {
    private final List<String> names;

    DistributedLockAll(Client client, long handle) {
        super(client, LockCalls.ALL, lock -> new NativeLockAll(client, lock, handle));
        this.names = ((NativeLockAll) inner).names();
    }

    @Override
    LockAllHandle handle(Hold hold) {
        return new LockAllHandle(this, client.port(), hold);
    }

    /**
     * The names, each once, in the order in which the locks are waited for.
     *
     * @return without the client's key prefix
     */
    public List<String> names() {
        return names;
    }

    /**
     * The fencing token of each lock that this thread holds through this set: each counts for the resource of its name. No I/O.
     *
     * @return name and token, in the order of {@link #names()}
     * @throws NotHeldException when this thread does not hold all of them
     */
    public Map<String, Long> tokens() {
        Map<String, Long> tokens = inner.ask(NativeLockAll::tokens);
        if (tokens == null) {
            throw nothing("tokens");
        }
        return tokens;
    }

    /**
     * The fencing token of one of the locks that this thread holds through this set. No I/O.
     *
     * @param name one of {@link #names()}
     * @return as in {@link #tokens()}
     * @throws NotHeldException when this thread does not hold all of them
     * @throws InvalidArgumentException for any other name
     */
    public long token(String name) {
        Arguments.notNull(name, "name");
        Long token = inner.ask(held -> NativeLockAll.token(held, name));
        if (token == null) {
            throw nothing("token");
        }
        return token;
    }

    /**
     * The lock that this thread has lost, and with it the hold of all. No I/O.
     *
     * @return {@code null} when none was lost, when this thread holds nothing, and when it was told of the loss already: by an exception, by
     *     {@link #isValid()} or by {@link #isHeldByCurrentThread()}
     */
    public @Nullable LostMember lostMember() {
        Optional<LostMember> lost = inner.ask(NativeLockAll::lostMember);
        return lost == null ? null : lost.orElse(null);
    }

    /**
     * Gives up one level of this thread's hold of each lock; the last one ends it. Also after a loss: those that are left are released all
     * the same.
     *
     * @throws NotHeldException when this thread does not hold one of the locks, or has lost it; the message says which
     * @throws OutcomeUnknownException when no reply came; the hold is over all the same, and the leases run out
     */
    @Override
    public void unlock() {
        super.unlock();
    }

    /**
     * Whether the calling thread holds all of the locks, and has lost none. No I/O. A thread that has lost one is told so by this answer.
     *
     * @return true while it does; when it does not, {@link #unlock()} still releases those that it has
     */
    @Override
    public boolean isHeldByCurrentThread() {
        return super.isHeldByCurrentThread();
    }

    /** The names, for logs and debuggers. */
    @Override
    public String toString() {
        return "DistributedLockAll" + names;
    }
}
