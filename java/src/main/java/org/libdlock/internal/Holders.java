package org.libdlock.internal;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Which threads may hold something through a client. The core knows who holds what; this knows which threads are still alive, keeps the
 * objects of which they hold something reachable, and keeps at hand what does not change about a hold.
 *
 * <p>A thread is entered before it asks for an object and removed when it has left all of them. What stands under a thread is touched by
 * that thread alone, and after its death by the one that looks for the dead.
 */
public final class Holders {
    private static final ThreadLocal<Long> THIS_THREAD = ThreadLocal.withInitial(Native::holderFresh);

    private final long client;
    private final Map<Long, Holder> holders = new ConcurrentHashMap<>();
    private final Views views = new Views();

    /**
     * Nobody yet.
     *
     * @param client the client's handle
     */
    public Holders(long client) {
        this.client = client;
    }

    /** The native handles that threads have, to be freed with the client by one that must not keep it alive. */
    public static final class Views {
        private final Set<Long> handles = ConcurrentHashMap.newKeySet();

        private Views() {}

        private void free(Hold hold) {
            if (handles.remove(hold.handle())) {
                Native.free(hold.handle());
            }
        }

        /** Frees what is left. */
        public void free() {
            handles.removeIf(handle -> {
                Native.free(handle);
                return true;
            });
        }
    }

    /**
     * What is to be freed with the client.
     *
     * @return knows nothing of locks and threads
     */
    public Views views() {
        return views;
    }

    /**
     * What can be held: two objects of one client are the same when these are equal.
     *
     * @param kind what it is, "lock"
     * @param name its name
     */
    public record Key(String kind, String name) {}

    private static final class Holder {
        final WeakReference<Thread> thread = new WeakReference<>(Thread.currentThread());
        final Map<Key, Levels> held = new HashMap<>();
    }

    /** How often a thread holds an object. */
    public static final class Levels {
        @SuppressWarnings("UnusedVariable") // it is there to keep the object from the garbage collector
        private final Object object;

        private final long holder;
        private int count;

        private @Nullable Hold hold;

        private Levels(Object object, long holder) {
            this.object = object;
            this.holder = holder;
        }

        /**
         * Whose they are.
         *
         * @return the thread's number
         */
        public long holder() {
            return holder;
        }

        /** The calling thread, whose they are, has acquired once more. */
        public void add() {
            count++;
        }

        /**
         * The calling thread, whose they are, has released one that is not the last.
         *
         * @return false, and nothing has changed, when it is the last that is counted here
         */
        public boolean take() {
            if (count <= 1) {
                return false;
            }
            count--;
            return true;
        }
    }

    /**
     * The calling thread as a holder.
     *
     * @return a number that no other thread of this JVM ever has
     */
    public static long thisThread() {
        return THIS_THREAD.get();
    }

    /**
     * The calling thread is about to ask for an object.
     *
     * @param key what it is
     * @param object kept reachable until the thread has left
     */
    public void enter(Key key, Object object) {
        long id = thisThread();
        Holder holder = holders.computeIfAbsent(id, unknown -> new Holder());
        holder.held.computeIfAbsent(key, unknown -> new Levels(object, id)).count++;
    }

    /**
     * The calling thread got it.
     *
     * @param key what it is
     * @param granted what it got; its handle is kept or given back
     */
    public void granted(Key key, Hold granted) {
        views.handles.add(granted.handle());
        Levels levels = levels(key);
        Hold known = levels == null ? null : levels.hold;
        if (levels == null || (known != null && known.token() == granted.token())) {
            views.free(granted);
            return;
        }
        if (known != null) {
            // That one was lost, and its levels with it.
            views.free(known);
            levels.count = 1;
        }
        levels.hold = granted;
    }

    /**
     * The calling thread holds nothing of the object any more, whatever it has released: it knows of a loss.
     *
     * @param key what it is
     */
    public void forget(Key key) {
        Levels levels = levels(key);
        if (levels != null) {
            levels.count = 1;
            leave(key);
        }
    }

    /**
     * What the calling thread got last.
     *
     * @param key what it is
     * @return null when it has left
     */
    public @Nullable Hold hold(Key key) {
        Levels levels = levels(key);
        return levels == null ? null : levels.hold;
    }

    /**
     * The calling thread did not get it after all, or released it once.
     *
     * @param key what it is
     */
    public void leave(Key key) {
        Holder holder = holders.get(thisThread());
        Levels levels = holder == null ? null : holder.held.get(key);
        if (holder == null || levels == null || --levels.count > 0) {
            return;
        }
        holder.held.remove(key);
        if (holder.held.isEmpty()) {
            holders.remove(thisThread());
        }
        if (levels.hold != null) {
            views.free(levels.hold);
        }
    }

    /**
     * How often the calling thread holds an object.
     *
     * @param key what it is
     * @return null when it does not
     */
    public @Nullable Levels levels(Key key) {
        Holder holder = holders.get(thisThread());
        return holder == null ? null : holder.held.get(key);
    }

    /** Stops the renewal of what threads hold that have ended; the core warns. */
    void abandonDead() {
        holders.forEach((id, holder) -> {
            Thread thread = holder.thread.get();
            if (thread != null && thread.isAlive()) {
                return;
            }
            holders.remove(id);
            try {
                Native.clientAbandon(client, id);
            } catch (RuntimeException closed) {
                // The client is gone, and its holds with it.
                Log.debug("nothing to abandon", closed);
            } finally {
                for (Levels levels : holder.held.values()) {
                    if (levels.hold != null) {
                        views.free(levels.hold);
                    }
                }
            }
        });
    }
}
