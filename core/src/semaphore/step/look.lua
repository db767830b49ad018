-- Looks at many semaphores that one client waits for: does for each what an acquire of a waiter does while too few permits are
-- available, but neither joins the queue nor takes any.
--
-- KEYS[4i-3]  L of semaphore i, KEYS[4i-2]  P, KEYS[4i-1]  Q, KEYS[4i]  S: see permits.lua and queue.lua
-- ARGV[1]     client
-- ARGV[2]     not after, server time in us: later than this the request is void
-- ARGV[2+i]   1: Q and S of semaphore i live another 60 s; 0: as long as they do
--
-- Reply       {now us, and for each semaphore three more: ttl ms, available, rank}; the ttl is
--               -1 or more  too few are available: the client's place is stamped, a silent entry in front of it is dropped
--               -2          acquire: it may be the client's turn, or it has no place, or a key is not what it should be
--               -3          too late, nothing done
--
-- Nothing here has to be undone: a look that comes late, or twice, stamps a place that is there.
local now = clock()
local late, ms = now > tonumber(ARGV[2]), math.floor(now / 1000)
local client, queue, crowd = ARGV[1], queue_at(now), crowded()
local keep

local function look()
  local rank = queue.stay(client, keep)
  local available = count()
  if not rank or not available then
    return
  end
  local ttl = crowd.first_expiry(ms)
  -- Only an acquire takes back what has expired, and drops who stands in front and may be dead where so many are available.
  if ttl == 0 or available >= crowd.want(client) then
    return
  end
  local stood = rank
  rank = queue.drop_silent(client, rank)
  if rank < stood then
    crowd.wake(queue, available, rank)
  end
  return ttl, available, rank
end

local replies, at = {now}, 1
for i = 1, #KEYS, 4 do
  local ok, ttl, available, rank = not late, -3
  if ok then
    L, P, Q, S = KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3]
    keep = ARGV[3 + (i - 1) / 4] == '1'
    -- One bad key must not stop the others; the acquire says what is wrong with it.
    ok, ttl, available, rank = pcall(look)
    if not ok or not ttl then
      ttl, available, rank = -2, nil, nil
    end
  end
  replies[at + 1], replies[at + 2], replies[at + 3] = ttl, available or 0, rank or -1
  at = at + 3
end
return replies
