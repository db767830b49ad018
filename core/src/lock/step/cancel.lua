-- Leaves the queue of a lock: nobody in this process waits any more. Who moves up by it is told.
--
-- KEYS[1]  L, the lock, for its name only
-- KEYS[2]  Q, KEYS[3]  S: see queue.lua
-- ARGV[1]  client
-- ARGV[2]  not after, server time in us: later than this the request is void
--
-- Reply    {0, now us, 1 it had a place or 0}
--          {2, now us}  too late, nothing done
--
-- A new head is told `free` also while the lock is held: the holder may be one whose release it has to listen for.
local now = clock()
if now > tonumber(ARGV[2]) then
  return {2, now}
end
local queue = queue_at(now)
local rank = queue.leave(ARGV[1])
if rank and rank <= 1 then
  queue.moved_up(rank, true, ARGV[1])
end
return {0, now, rank and 1 or 0}
