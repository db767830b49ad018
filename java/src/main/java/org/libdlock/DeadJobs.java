package org.libdlock;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.libdlock.internal.Native;

/**
 * The dead list of a {@link DistributedQueue}, made by {@link DistributedQueue#dead()}: jobs that were delivered as often as they may be.
 *
 * <p>Each method has a form with {@code Async} behind its name, which holds up no thread. All of them throw {@link OutcomeUnknownException}
 * when no reply came.
 */
public final class DeadJobs {
    private final String name;
    private final NativeObject inner;

    DeadJobs(String name, NativeObject inner) {
        this.name = name;
        this.inner = inner;
    }

    /**
     * The first dead jobs, in the order in which they died.
     *
     * @param most 1 to 1,000
     * @return so many, or fewer where there are no more, or where they are 1 MiB together
     * @throws InvalidArgumentException for any other number
     */
    public List<ListedJob> list(int most) {
        return QueueReplies.listed(inner.call(listing(most), Object.class));
    }

    /**
     * As {@link #list}, without holding up the calling thread.
     *
     * @param most as there
     * @return as there
     */
    public CompletableFuture<List<ListedJob>> listAsync(int most) {
        return inner.start(listing(most), QueueReplies::listed);
    }

    private static NativeObject.Operation listing(int most) {
        return (port, id, queue) -> Native.queueDead(port, id, queue, most);
    }

    /**
     * Has a dead job wait again, due now, as if it had never been delivered.
     *
     * @param id the id of the job
     * @return false when no dead job has this id
     */
    public boolean requeue(String id) {
        return inner.call(requeuing(id), Boolean.class);
    }

    /**
     * As {@link #requeue}, without holding up the calling thread.
     *
     * @param id as there
     * @return as there
     */
    public CompletableFuture<Boolean> requeueAsync(String id) {
        return inner.start(requeuing(id), Replies.to(Boolean.class));
    }

    private static NativeObject.Operation requeuing(String id) {
        byte[] bytes = NewJob.idBytes(id, "requeue");
        return (port, op, queue) -> Native.queueRequeueDead(port, op, queue, bytes);
    }

    /**
     * Has all jobs that are dead now wait again.
     *
     * @return how many
     */
    public long requeueAll() {
        return inner.call(Native::queueRequeueAllDead, Long.class);
    }

    /**
     * As {@link #requeueAll}, without holding up the calling thread.
     *
     * @return how many
     */
    public CompletableFuture<Long> requeueAllAsync() {
        return inner.start(Native::queueRequeueAllDead, Replies.to(Long.class));
    }

    /**
     * Removes a dead job.
     *
     * @param id the id of the job
     * @return false when no dead job has this id
     */
    public boolean remove(String id) {
        return inner.call(removing(id), Boolean.class);
    }

    /**
     * As {@link #remove}, without holding up the calling thread.
     *
     * @param id as there
     * @return as there
     */
    public CompletableFuture<Boolean> removeAsync(String id) {
        return inner.start(removing(id), Replies.to(Boolean.class));
    }

    private static NativeObject.Operation removing(String id) {
        byte[] bytes = NewJob.idBytes(id, "remove dead");
        return (port, op, queue) -> Native.queueRemoveDead(port, op, queue, bytes);
    }

    /**
     * Removes all dead jobs.
     *
     * @return how many
     */
    public long purge() {
        return inner.call(Native::queuePurgeDead, Long.class);
    }

    /**
     * As {@link #purge}, without holding up the calling thread.
     *
     * @return how many
     */
    public CompletableFuture<Long> purgeAsync() {
        return inner.start(Native::queuePurgeDead, Replies.to(Long.class));
    }

    /** The name of the queue, for logs and debuggers. */
    @Override
    public String toString() {
        return "DeadJobs[" + name + "]";
    }
}
