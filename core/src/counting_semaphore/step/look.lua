-- Looks at many counting semaphores that one client waits for: does for each what an acquire of a waiter does while too few permits
-- are available, but neither joins the queue nor takes any.
--
-- KEYS[5i-4]  L of semaphore i, KEYS[5i-3]  D, KEYS[5i-2]  T, KEYS[5i-1]  Q, KEYS[5i]  S: see counting.lua
-- ARGV[1]     client
-- ARGV[2]     not after, server time in us: later than this the request is void
-- ARGV[2+i]   1: Q and S of semaphore i live another 60 s; 0: as long as they do
--
-- Reply       {now us, and for each semaphore three more: ttl ms, available, rank}; the ttl is
--               -1  too few are available, and no lease brings any: the client's place is stamped, a silent entry in front of it
--                   is dropped
--               -2  acquire: it may be the client's turn, or it has no place, or a key is not what it should be
--               -3  too late, nothing done
--
-- Nothing here has to be undone: a look that comes late, or twice, stamps a place that is there.
local now = clock()
local late = now > tonumber(ARGV[2])
local client, queue, crowd = ARGV[1], queue_at(now), wanting(math.huge)
local keep

local function look()
  local rank = queue.stay(client, keep)
  local available = counted()
  if not rank or available == 'foreign' then
    return
  end
  available = available or 0
  -- Only an acquire drops who stands in front and may be dead where so many are available.
  if available >= crowd.want(client) then
    return
  end
  local stood = rank
  rank = queue.drop_silent(client, rank)
  if rank < stood then
    crowd.wake(queue, available, rank)
  end
  return available, rank
end

local replies, at = {now}, 1
for i = 1, #KEYS, 5 do
  local ok, available, rank = not late
  local ttl = late and -3 or -1
  if ok then
    L, T, Q, S = KEYS[i], KEYS[i + 2], KEYS[i + 3], KEYS[i + 4]
    keep = ARGV[3 + (i - 1) / 5] == '1'
    -- One bad key must not stop the others; the acquire says what is wrong with it.
    ok, available, rank = pcall(look)
    if not ok or not available then
      ttl, available, rank = -2, nil, nil
    end
  end
  replies[at + 1], replies[at + 2], replies[at + 3] = ttl, available or 0, rank or -1
  at = at + 3
end
return replies
