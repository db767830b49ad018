package org.libdlock;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Hold;
import org.libdlock.internal.Native;

/**
 * The native half of several locks as one. What a thread has of them the core alone knows, because it may have acquired some of them by
 * themselves: here it is only counted, for the end of the thread.
 */
final class NativeLockAll extends NativeLock<LockAllHandle> {
    /** No name has one. */
    private static final String BETWEEN = "\0";

    private final List<String> names;

    NativeLockAll(Client client, LeasedLock<LockAllHandle> lock, long handle) {
        this(client, lock, namesOf(handle), handle);
    }

    private NativeLockAll(Client client, LeasedLock<LockAllHandle> lock, List<String> names, long handle) {
        super(client, LockCalls.ALL, lock, String.join(BETWEEN, names), handle);
        this.names = names;
    }

    /** Each once, in the order of their keys. */
    List<String> names() {
        return names;
    }

    @Override
    String name() {
        return String.join(", ", names);
    }

    private static List<String> namesOf(long handle) {
        return words(Native.lockAllNames(handle));
    }

    private static List<String> words(byte[] text) {
        return List.of(new String(text, StandardCharsets.UTF_8).split(BETWEEN, -1));
    }

    /** The token of each lock, in the order of the names. */
    static Map<String, Long> tokens(long held) {
        List<String> words = words(Native.heldTokens(held));
        Map<String, Long> tokens = new LinkedHashMap<>();
        for (int i = 0; i + 1 < words.size(); i += 2) {
            tokens.put(words.get(i), Long.valueOf(words.get(i + 1)));
        }
        return Collections.unmodifiableMap(tokens);
    }

    /** The token of the lock of this name. */
    static long token(long held, String name) {
        return Native.heldTokenOf(held, Arguments.nameBytes(name, "token"));
    }

    /** The lock that was lost, if one was. */
    static Optional<LostMember> lostMember(long held) {
        byte[] text = Native.heldLostMember(held);
        if (text == null) {
            return Optional.empty();
        }
        List<String> words = words(text);
        return Optional.of(new LostMember(words.get(0), LossReason.of(words.get(1))));
    }

    @Override
    <T> @Nullable T ask(Question<T> question) {
        return ask(LockCalls.ALL.held(), question);
    }

    @Override
    void keep(Hold granted) {
        Native.free(granted.handle());
    }

    /** The other locks are still held, and renewed: their thread has them until it releases them. */
    @Override
    void told() {}
}
