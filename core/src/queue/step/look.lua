-- Looks at many queues whose jobs one client waits for: does for each what a take of a waiter does while nothing is due, but neither joins
-- the queue of waiters nor takes anything.
--
-- KEYS[4i-3]  R of queue i, KEYS[4i-2]  F, KEYS[4i-1]  Q, KEYS[4i]  S: see jobs.lua
-- ARGV[1]     client
-- ARGV[2]     not after, server time in us: later than this the request is void
-- ARGV[1+2i]  the name of queue i
-- ARGV[2+2i]  1: Q and S of queue i live another 60 s; 0: as long as they do
--
-- Reply       {now us, and for each queue three more: ttl ms, 0, rank}; the ttl is
--               -1 or more  nothing is due: the client's place is stamped, a silent entry in front of it is dropped
--               -2          take: it may be the client's turn, or it has no place, or a key is not what it should be
--               -3          too late, nothing done
local now = clock()
local late, ms = now > tonumber(ARGV[2]), math.floor(now / 1000)
local client, queue = ARGV[1], queue_at(now)
local R, F, keep

local function look()
  local rank = queue.stay(client, keep)
  if not rank then
    return
  end
  local first = tonumber(redis.call('ZRANGE', R, 0, 0, 'WITHSCORES')[2] or math.huge)
  local over = tonumber(redis.call('ZRANGE', F, 0, 0, 'WITHSCORES')[2] or math.huge)
  first = math.min(first, over)
  -- Only a take takes back what is over, and drops who stands in front and may be dead where a job is due.
  if first <= ms then
    return
  end
  rank = queue.drop_silent(client, rank)
  return rank == 0 and first < math.huge and first - ms or -1, rank
end

local replies, at = {now}, 1
for i = 1, #KEYS, 4 do
  local ok, ttl, rank = not late, -3
  if ok then
    R, F, Q, S = KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3]
    L, keep = ARGV[3 + (i - 1) / 2], ARGV[4 + (i - 1) / 2] == '1'
    -- One bad key must not stop the others; the take says what is wrong with it.
    ok, ttl, rank = pcall(look)
    if not ok or not ttl then
      ttl, rank = -2, nil
    end
  end
  replies[at + 1], replies[at + 2], replies[at + 3] = ttl, 0, rank or -1
  at = at + 3
end
return replies
