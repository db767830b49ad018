-- Leaves the queue of a read-write lock: nobody in this process waits any more. Who moves up by it, and whose turn it is by it, is
-- told.
--
-- KEYS     L, Q, S: see holds.lua and queue.lua
-- ARGV[1]  client
-- ARGV[2]  not after, server time in us: later than this the request is void
--
-- Reply    {0, now us, 1 it had a place or 0}
--          {2, now us}  too late, nothing done
local now = clock()
if now > tonumber(ARGV[2]) then
  return {2, now}
end
local queue = queue_at(now)
-- Who finds that the key is somebody else's leaves too.
local known, mode = pcall(mode_of)
local rank = queue.leave(ARGV[1])
if rank then
  if rank <= 1 then
    queue.moved_up(rank, false, ARGV[1])
  end
  pcall(wanting(ALL).wake, queue, known and available_in(mode) or 0, rank, ARGV[1])
end
return {0, now, rank and 1 or 0}
