package org.libdlock;

/**
 * What {@link DistributedQueue#put(NewJob)} has done.
 *
 * @param id the id of the job: the given one, or a new one
 * @param isNew false when a job with this id was there already: nothing was put
 */
public record PutResult(String id, boolean isNew) {}
