-- Looks at many read-write locks that one client waits for: does for each what an acquire of a waiter does while the lock is held
-- against it, but neither joins the queue nor takes the lock.
--
-- KEYS[3i-2]  L of lock i, KEYS[3i-1]  Q, KEYS[3i]  S: see holds.lua and queue.lua
-- ARGV[1]     client
-- ARGV[2]     not after, server time in us: later than this the request is void
-- ARGV[2+i]   1: Q and S of lock i live another 60 s; 0: as long as they do
--
-- Reply       {now us, and for each lock three more: ttl ms, holder, rank}; the ttl is
--               -1 or more  held: the client's place is stamped, a silent entry in front of it is dropped; -1: without end
--               -2          acquire: it may be the client's turn, or it has no place, or a key is not what it should be
--               -3          too late, nothing done
--
-- Nothing here has to be undone: a look that comes late, or twice, stamps a place that is there.
local now = clock()
local late = now > tonumber(ARGV[2])
local client, queue, wants = ARGV[1], queue_at(now), wanting(ALL)
local keep

local function look()
  local rank = queue.stay(client, keep)
  local mode = mode_of()
  if not rank or not mode then
    return
  end
  local ttl, holder = in_the_way(mode)
  -- Where it could be granted, who stands in front may be dead, and only an acquire drops it then; and only an acquire drops a
  -- writer whose lease is over, and readers out of a crowd.
  if mode == 'write' and ttl == 0 or rank == 0 and is_crowded(mode) or available_in(mode) >= wants.want(client) then
    return
  end
  local stood = rank
  rank = queue.drop_silent(client, rank)
  if rank < stood then
    wants.wake(queue, available_in(mode), rank)
  end
  return ttl, holder, rank
end

local replies, at = {now}, 1
for i = 1, #KEYS, 3 do
  local ok, ttl, holder, rank = not late, -3
  if ok then
    L, Q, S = KEYS[i], KEYS[i + 1], KEYS[i + 2]
    keep = ARGV[3 + (i - 1) / 3] == '1'
    -- One bad key must not stop the others; the acquire says what is wrong with it.
    ok, ttl, holder, rank = pcall(look)
    if not ok or not ttl then
      ttl, holder, rank = -2, nil, nil
    end
  end
  replies[at + 1], replies[at + 2], replies[at + 3] = ttl, holder or 0, rank or -1
  at = at + 3
end
return replies
