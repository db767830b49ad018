-- Leaves the queue of a counting semaphore: nobody in this process waits any more. Who moves up by it, and whose turn it is by it,
-- is told.
--
-- KEYS     L, D, T, Q, S: see counting.lua
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
-- Who finds that the keys are somebody else's leaves too.
local is_ours, available = pcall(counted)
local rank = queue.leave(ARGV[1])
if rank then
  if rank <= 1 then
    queue.moved_up(rank, false, ARGV[1])
  end
  pcall(wanting(math.huge).wake, queue, is_ours and tonumber(available) or 0, rank, ARGV[1])
end
return {0, now, rank and 1 or 0}
