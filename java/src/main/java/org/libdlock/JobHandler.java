package org.libdlock;

/** Does the jobs of a {@link DistributedQueue}, for {@link DistributedQueue#consume}. */
@FunctionalInterface
public interface JobHandler {
    /**
     * Does one job. When it returns, the job is acknowledged; when it throws, the job is put back. It may end the delivery itself.
     *
     * @param delivery the job
     * @throws Exception whatever keeps the job from being done
     */
    void handle(Delivery delivery) throws Exception;
}
