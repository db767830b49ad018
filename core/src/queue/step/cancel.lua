-- Leaves the queue of those that wait for jobs: nobody in this process waits any more. Who moves up by it is told.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  client
-- ARGV[3]  not after, server time in us: later than this the request is void
--
-- Reply    {0, now us, 1 it had a place or 0}
--          {2, now us}  too late, nothing done
local now = clock()
if now > tonumber(ARGV[3]) then
  return {2, now}
end
local queue = queue_at(now)
local rank = queue.leave(ARGV[2])
if rank then
  if rank <= 1 then
    queue.moved_up(rank, false, ARGV[2])
  end
  -- Who finds that the keys are somebody else's leaves too.
  pcall(function()
    local available = ready(queue.ms)
    wanting(math.huge).wake(queue, available, rank, ARGV[2])
    if rank == 0 and available == 0 then
      tell_new_head(queue.ms, ARGV[2])
    end
  end)
end
return {0, now, rank and 1 or 0}
