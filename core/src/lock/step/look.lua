-- Looks at many locks that one client waits for: does for each what an acquire of a waiter does while the lock is held, but
-- neither joins the queue nor takes the lock.
--
-- KEYS[3i-2]  L of lock i, KEYS[3i-1]  Q, KEYS[3i]  S: see queue.lua
-- ARGV[1]     client
-- ARGV[2]     not after, server time in us: later than this the request is void
-- ARGV[2+i]   1: Q and S of lock i live another 60 s; 0: as long as they do
--
-- Reply       {now us, and for each lock three more: ttl ms, holder, rank}; the ttl is
--               -1 or more  held: the client's place is stamped, a silent entry in front of it is dropped; of the holder its first
--                           256 bytes: a foreign one may be of any size
--               -2          free, and the client's place is stamped if it has one; or held, and it has none; or a key is not what
--                           it should be: acquire
--               -3          too late, nothing done
--
-- Keeps I5. Nothing here has to be undone: a look that comes late, or twice, stamps a place that is there.
local now = clock()
local late = now > tonumber(ARGV[2])
local client, queue = ARGV[1], queue_at(now)
local keep

local function look()
  local holder = redis.call('HRANDFIELD', L)
  -- Also where it is free: its acquire may have to wait for its turn among many others of the client.
  local rank = queue.stay(client, keep)
  if holder and rank then
    return redis.call('PTTL', L), string.sub(holder, 1, 256), queue.drop_silent(client, rank)
  end
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
  replies[at + 1], replies[at + 2], replies[at + 3] = ttl, holder or '', rank or -1
  at = at + 3
end
return replies
