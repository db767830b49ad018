// The verbs of queues in Node.

import { number } from "./words.mjs";

const listed = (jobs) => ({
  ids: jobs.map(({ id }) => id).join(","),
  attempts: jobs.map(({ attempts }) => attempts).join(","),
  reasons: jobs
    .map(({ reason }) => reason)
    .filter((reason) => reason !== undefined)
    .join(","),
});

const textOf = ({ payload }) => payload.toString();

export const verbs = (clients, things) => {
  const came = (name, delivery) => {
    if (delivery === null) return { came: false };
    things.set(name, delivery);
    const { id, attempt, priority, token } = delivery;
    return { came: true, payload: textOf(delivery), id, attempt, priority, token };
  };
  return {
    queue([client, name, queue], { lease_ms, max_attempts, max_payload, max_length }) {
      const options = {
        leaseMs: number(lease_ms),
        maxAttempts: number(max_attempts),
        maxPayload: number(max_payload),
        maxLength: number(max_length),
      };
      things.set(queue, clients.get(client).queue(name, options));
    },
    follow([queue, other, both]) {
      things.set(both, things.get(queue).followedBy(things.get(other)));
    },
    job_queue: ([delivery]) => ({ queue: things.get(delivery).queue.name }),
    async put([queue], { payload, id, delay_ms, at_ms, priority }) {
      const options = { id, delayMs: number(delay_ms), at: number(at_ms), priority: number(priority) };
      const put = await things.get(queue).put(payload, options);
      return { id: put.id, is_new: put.isNew };
    },
    async put_all([queue], { payloads }) {
      const puts = await things.get(queue).putMany(payloads.split(","));
      return { put: puts.filter(({ isNew }) => isNew).length };
    },
    async next([queue, delivery], { wait_ms }) {
      return came(delivery, await things.get(queue).take({ waitMs: number(wait_ms) }));
    },
    begin_next([queue, take], { wait_ms }) {
      // What it rejects with is for `end_next`.
      const begun = things.get(queue).take({ waitMs: number(wait_ms) });
      begun.catch(() => undefined);
      things.set(take, begun);
    },
    async end_next([take, delivery]) {
      return came(delivery, await things.get(take));
    },
    async do_all([queue], { most, wait_ms }) {
      const taken = await things.get(queue).takeMany(Number(most), { waitMs: number(wait_ms) });
      for (const delivery of taken) await delivery.ack();
      return { payloads: taken.map(textOf).join(",") };
    },
    async ack([delivery]) {
      await things.get(delivery).ack();
    },
    async nack([delivery], { delay_ms, reason }) {
      await things.get(delivery).nack({ delayMs: number(delay_ms), reason });
    },
    async prolong([delivery], { lease_ms }) {
      await things.get(delivery).extend(Number(lease_ms));
    },
    async job_lost([name], { wait_ms }) {
      const delivery = things.get(name);
      if (!delivery.signal.aborted) {
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, Number(wait_ms));
          delivery.signal.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      return { lost: delivery.lossReason };
    },
    async jobs([queue]) {
      const { ready, delayed, inFlight, dead, waiters } = await things.get(queue).counts();
      return { ready, delayed, in_flight: inFlight, dead, waiters };
    },
    async list_jobs([queue], { most }) {
      return listed(await things.get(queue).peek(number(most)));
    },
    async list_dead([queue], { most }) {
      return listed(await things.get(queue).dead.list(number(most)));
    },
    async cancel_job([queue], { id }) {
      return { cancelled: await things.get(queue).cancel(id) };
    },
    async purge([queue]) {
      return { purged: await things.get(queue).purge() };
    },
    async requeue([queue], { id }) {
      return { requeued: await things.get(queue).dead.requeue(id) };
    },
    async requeue_all([queue]) {
      return { requeued: await things.get(queue).dead.requeueAll() };
    },
    async remove_dead([queue], { id }) {
      return { removed: await things.get(queue).dead.remove(id) };
    },
    async purge_dead([queue]) {
      return { purged: await things.get(queue).dead.purge() };
    },
  };
};
